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
};

/// Checks ordering methods (options.orders; empty: all, planted ones included) on the patterns of
/// the plan and on the bundled matrices (those without a separator tree on every eighth random
/// pattern), with every value of their options that tests take: each
/// order is a permutation, its separator tree separates, and it is the same again, for three host
/// threads as for one. Throws input_error for an unknown method.
std::vector<order_tally> check_orders(const check_options& options, const check_plan& plan);

}  // namespace gsofa
