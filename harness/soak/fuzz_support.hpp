#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/pattern.hpp"
#include "common/prepared.hpp"
#include "harness/soak/fuzz_targets.hpp"

namespace gsofa::soak {

using texts = std::vector<std::string>;

/// Ends the process with the name of the property if it does not hold.
void require(bool holds, const char* property);

/// Writes `content` to a file in memory, always the same one, and returns its path.
const std::filesystem::path& scratch_file(std::string_view content);
/// A folder that is removed when the process ends.
const std::filesystem::path& scratch_folder();
std::string content_of(const std::filesystem::path& file);

/// A number that depends on the bytes only: chooses the costlier checks.
std::size_t chance(std::string_view bytes);
/// The message of an error, which must say something.
std::string checked(const std::exception& e);

/// A small pattern of order 6 and its provenance.
const pattern& sample();
provenance sample_origin();

/// Readers of matrices; of what the program writes; of specs, records and command lines.
std::vector<fuzz_target> matrix_targets();
std::vector<fuzz_target> file_targets();
std::vector<fuzz_target> text_targets();

}  // namespace gsofa::soak
