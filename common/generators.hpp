#pragma once

#include <string>
#include <vector>

#include "common/pattern.hpp"

namespace gsofa {

/// One family of generated matrices, for `gsofa info --help` and the docs.
struct generator_info {
  std::string name;        ///< the word after `gen:`
  std::string summary;     ///< what it models, in one line
  std::string parameters;  ///< "nx=.. ny=.. drop=.." with defaults
};
const std::vector<generator_info>& generators();

/// Generates the pattern described by `spec`: `NAME:key=value,key=value` (without the leading
/// "gen:"), or `exchanged_rows:NAME:...`, the rows of this pattern in a random order. Deterministic
/// for a given spec on every platform. Throws input_error for an unknown family or key (the message
/// lists the known ones), a value out of range, or a size that would overflow index_t.
pattern generate(const std::string& spec);

}  // namespace gsofa
