#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/ordering.hpp"
#include "harness/check/check_suite.hpp"

namespace gsofa {

/// What became of one ordering method.
struct order_tally {
  const order_info* info = nullptr;
  std::string unavailable;
  std::int64_t runs = 0;
  std::string failure{};  ///< of the first one, with the pattern; empty: none
  pattern counterexample{};
  std::string again{};  ///< the command that checks the counterexample again, which is saved
};

/// Checks ordering methods (options.orders; empty: all, planted ones included) on the patterns of
/// the plan and on the bundled matrices, with every value of their options that tests take, which
/// take turns on random patterns (every second one): each order is a permutation, its separator
/// tree separates, it is that of the method that it names as finding the same, and the same again,
/// for three host threads as for one. Methods without a separator tree run on every eighth random
/// pattern. Throws input_error for an unknown method.
std::vector<order_tally> check_orders(const check_options& options, const check_plan& plan);

}  // namespace gsofa
