#pragma once

// A column order in memory that the processes of a node share.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/library/superlu/node_share.hpp"
#include "harness/library/superlu/superlu_headers.hpp"

namespace gsofa::superlu {

struct column_order {
  std::uint64_t key = 0;                  ///< key_of() of the matrix and the method
  std::vector<std::int32_t> permutation;  ///< old column by new position
  std::string how;                        ///< who found it: at most 200 printable characters
};

/// A digest of every column pointer and row index of A, and of the method.
std::uint64_t key_of(const SuperMatrix& a, const std::string& method);

/// Sealed memory with the order; empty if memory is short. Calls `still_working` every few
/// megabytes.
descriptor to_memory(
    const column_order& o, const std::function<void()>& still_working = [] {});

/// Reads memory that to_memory() made. No value for any other memory, for another key or number of
/// columns, and for what is no permutation; a digest of all bytes is checked.
std::optional<column_order> order_of_memory(const descriptor& memory, std::uint64_t key,
                                            std::size_t columns);

}  // namespace gsofa::superlu
