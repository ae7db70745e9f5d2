#pragma once

// What symbfact found and what it was called with, in memory of this process or in memory that the
// processes of a node share.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gsofa/gsofa.hpp"
#include "harness/library/superlu/node_share.hpp"
#include "harness/library/superlu/superlu_headers.hpp"

namespace gsofa::superlu {

/// Most columns of a relaxed supernode and of any.
using supernode_limits = std::array<int, 2>;

/// What symbfact is called with: the columns of A, an elimination tree, limits.
struct question {
  const SuperMatrix* a;
  const int_t* etree;
  supernode_limits limits;
};

/// gsofa::supernodal_factors elsewhere.
struct factor_view {
  std::span<const std::int32_t> first_column;
  std::span<const std::int64_t> row_begin;
  std::span<const std::int32_t> rows;
  std::span<const std::int64_t> segment_begin;
  std::span<const std::int32_t> segments;

  [[nodiscard]] std::size_t supernodes() const { return first_column.size() - 1; }
};

class symbolic_result {
 public:
  /// how: at most 200 printable characters that say who found the result
  symbolic_result(const question& q, gsofa::supernodal_factors&& factors, std::string_view how);
  /// Reads what give_to() wrote; no value for no bytes.
  static std::optional<symbolic_result> of_memory(shared_bytes memory);

  /// Gives the result to the processes that wait for it.
  void give_to(node_share& share) const;
  /// True if this result answers q: compares every entry of the pattern and of the tree.
  [[nodiscard]] bool answers(const question& q) const;

  [[nodiscard]] const factor_view& factors() const { return factors_; }
  [[nodiscard]] std::string_view how() const { return how_; }

 private:
  symbolic_result() = default;

  supernode_limits limits_{};
  std::span<const int_t> etree_, rows_;
  std::span<const std::uint64_t> end_;  // of the columns among the rows
  factor_view factors_;
  std::string_view how_;
  std::shared_ptr<const void> owner_;
};

/// Name of the segment in which the processes of a job share the answer of q: equal for equal
/// questions, made from a few of their entries.
std::string share_name(const question& q, std::string_view job);

}  // namespace gsofa::superlu
