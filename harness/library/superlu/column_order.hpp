#pragma once

// A column order that the processes of a node share.

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
  std::string how;                        ///< who found it
};

/// A digest of every column pointer and row index of A, and of the method.
std::uint64_t key_of(const SuperMatrix& a, const std::string& method);

/// Gives an order to the processes that wait for it.
void give_to(node_share& share, const column_order& order);

/// Reads what give_to() wrote. No value for no bytes, for another key or number of columns.
std::optional<column_order> order_of_memory(const shared_bytes& memory, std::uint64_t key,
                                            std::size_t columns);

}  // namespace gsofa::superlu
