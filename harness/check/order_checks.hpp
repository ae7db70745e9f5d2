#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/ordering.hpp"
#include "harness/check/check_suite.hpp"

namespace gsofa {

/// The outcome of one ordering method.
struct order_tally {
  const order_info* info = nullptr;
  std::string unavailable;
  std::int64_t runs = 0;
  std::string failure{};  ///< of the first one, with the pattern; empty: none
  pattern counterexample{};
  std::string again{};  ///< the command that checks the counterexample again, which is saved
};

/// Checks ordering methods (options.orders; empty: all, planted ones included) on the patterns of
/// the plan and on the bundled matrices, with every tested value of their options (on every second
/// random pattern the values rotate): each order is a permutation, its separator tree separates, it
/// equals the order of the method named in same_as, and it is found again with one host thread and
/// with three. Methods without a separator tree run on every eighth random pattern. Throws
/// input_error for an unknown method.
std::vector<order_tally> check_orders(const check_options& options, const check_plan& plan);

}  // namespace gsofa
