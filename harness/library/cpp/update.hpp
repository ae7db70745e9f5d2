#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gsofa/gsofa.hpp"
#include "variants/orderings/order_update.hpp"

namespace gsofa::library {

/// What analyzer::update() keeps of the pattern of its last result: matched, without an order.
struct update_history {
  ordered_tree tree;
  pattern rows;                   ///< that pattern
  std::int64_t rows_changed = 0;  ///< since the last comparison with a new order
  double operations = 0;          ///< of the order that the last comparison took
  std::string name;               ///< analysis::order
  order_choice order{};           ///< options of the order
  bool match = true;
  compute_device device{};
};

/// The updates of an analyzer.
struct updating {
  bool on = false;                           ///< the analysis is an update
  std::span<const std::int32_t> previous;    ///< by the caller
  std::int32_t rows_before = -1;             ///< of the last result; -1: there is none
  std::optional<update_history> last, next;  ///< of the last result, and of this one
  bool counts = false;                       ///< next->tree has all that is requested of L and U
};

/// Throws invalid_input unless u.previous is empty or has `n` different rows of the last result, or
/// -1. Before the first result `n` rows count as those of the last one.
void check_previous(const updating& u, std::int32_t n);

/// Copies the counts of u.next->tree to `out`. u.counts must be set.
void give_counts(const analysis_options& options, const updating& u, analysis& out);

/// Sets u.next and u.counts for the matched pattern `a`, with u.next->tree the order adapted from
/// u.last or the order of new_order(), and says which. check_previous() has been called.
order_update update_order(const pattern_view& a, const analysis_options& options, updating& u,
                          const std::function<std::vector<index_t>()>& new_order);

}  // namespace gsofa::library
