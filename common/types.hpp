#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "common/error.hpp"

namespace gsofa {

/// A vertex: a row or column number, 0-based.
using index_t = std::int32_t;

/// A number of edges, nonzeros or fill-ins; exceeds 32 bits on larger inputs.
using offset_t = std::int64_t;

inline constexpr offset_t max_index = std::numeric_limits<index_t>::max();

/// Converts between integer types; throws overflow_error naming `what` if the value does not fit.
template <class To, class From>
To narrow(From value, const char* what) {
  if (!std::in_range<To>(value)) {
    throw overflow_error(std::string(what) + ": " + std::to_string(value) + " does not fit in " +
                         std::to_string(8 * sizeof(To)) + " bits");
  }
  return static_cast<To>(value);
}

/// i >= 0 as a subscript or size for the standard library.
constexpr std::size_t at(offset_t i) { return static_cast<std::size_t>(i); }

}  // namespace gsofa
