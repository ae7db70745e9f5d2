#pragma once

#include <map>
#include <string>

#include "common/preprocess.hpp"

namespace gsofa {

/// Everything that determines a prepared pattern, as named parts. provenance::made_from keeps the
/// key, so that a file is reused only for equal inputs.
using preparation_key = std::map<std::string, std::string>;

/// The parts of the key that `options` determine: `match` and `order` with their libraries'
/// versions where this build has them, `permutation` (sha256 of the order file), `seed`, and
/// `code`, the version of the code that reads, matches, orders and permutes. Empty if the order
/// comes from something other than a regular file, which can be read only once. Throws input_error
/// if the order file cannot be read.
preparation_key key_of(const prepare_options& options);

/// Version of the code of the generators: one spec with another version may give another matrix.
std::string generator_version();

/// Names of the parts of `wanted` that are missing or different in `found`, separated by ", ";
/// empty if there are none. Parts that a build cannot know (the version of a library that it lacks)
/// are not compared.
std::string difference(const preparation_key& wanted, const preparation_key& found);

}  // namespace gsofa
