#pragma once

#include <filesystem>
#include <string>

#include "common/preparation_key.hpp"

namespace gsofa {

/// As load_matrix(), but kept in `folder`, if that is not empty: a file that was made from the same
/// source (its sha256, or the spec and version of its generator) in the same way (key_of()) is
/// read; any other is made again, with a line on stderr. Throws input_error as load_matrix() does,
/// if `folder` cannot be written, and if the file exists and is no prepared matrix.
prepared_pattern load_kept_matrix(const std::filesystem::path& folder, const std::string& spec,
                                  const prepare_options& how);

/// The file in `folder` that keeps a matrix prepared in this way: SPEC.ORDER.bin, and other names
/// for other specs and orders.
std::filesystem::path kept_file(const std::filesystem::path& folder, const std::string& spec,
                                const prepare_options& how);

}  // namespace gsofa
