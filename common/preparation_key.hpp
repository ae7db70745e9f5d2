#pragma once

#include <map>
#include <string>

#include "common/preprocess.hpp"

namespace gsofa {

/// What decides a prepared pattern, each part under its name: kept in provenance::made_from, so
/// that a file is used again only for what it was made from.
using preparation_key = std::map<std::string, std::string>;

/// The part of the key that `options` decide: `match` and `order` with their libraries' versions
/// where this build has them, `permutation` (sha256 of the order file), `seed`, and `code`, the
/// version of the code that reads, matches, orders and permutes. Empty if the order is to come from
/// something else than a regular file, which can be read once only. Throws input_error if the order
/// file cannot be read.
preparation_key key_of(const prepare_options& options);

/// Version of the code of the generators: one spec with another version may give another matrix.
std::string generator_version();

/// Names of the parts of `wanted` that `found` lacks or has otherwise, separated by ", "; empty if
/// there are none. What a build cannot know (the version of a library that it lacks) is not wanted.
std::string difference(const preparation_key& wanted, const preparation_key& found);

}  // namespace gsofa
