#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace gsofa {

/// The order with the fewest operations that the project knows for a matrix of a suite: a row of
/// experiments/suites/best/best.tsv, which improve.py writes.
struct best_order {
  double operations = 0;       ///< of a matrix with the matching of --match auto
  std::string made_by;         ///< options of `gsofa order` that compute it
  std::filesystem::path file;  ///< of the permutation; empty if the repository lacks it
};

/// By the sha256 of the matrix; nothing if no order is known.
std::optional<best_order> best_known_order(const std::string& sha256);

}  // namespace gsofa
