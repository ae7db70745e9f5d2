#pragma once

#include <filesystem>
#include <string>

#include "common/pattern.hpp"

namespace gsofa {

/// Writes `a` as `matrix coordinate pattern general`, 1-based, rows ascending; each line of
/// `comment` becomes a comment line. The file appears completely or not at all (atomic_file),
/// gzip'd if its name ends in .gz. Throws input_error naming the file if it cannot be written.
/// read_matrix_file() reads it.
void write_matrix_market(const std::filesystem::path& file, const pattern_view& a,
                         const std::string& comment);

}  // namespace gsofa
