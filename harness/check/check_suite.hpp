#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/prepared.hpp"
#include "harness/check/test_patterns.hpp"
#include "reference/verify_result.hpp"

namespace gsofa {

/// The options of `gsofa check`.
struct check_options {
  std::string program = "gsofa";  ///< as it was called
  std::string suite = "small";
  std::vector<std::string> variants;  ///< empty: all, unless orders are named
  std::vector<std::string> orders;    ///< ordering methods; empty: all, unless variants are named
  std::int64_t seed = 1;
  std::int64_t patterns =
      -1;        ///< special and random ones each, none of large order; -1: the suite's
  int jobs = 0;  ///< variants (in process: patterns) checked at once; 0: by the machine
  /// settings per random pattern in addition to the defaults, rotating from pattern to pattern; of
  /// the patterns of large order, every second one is checked; 0: all settings and patterns
  int rotate = 0;
  double timeout = 20;             ///< seconds for a run on a small pattern
  std::filesystem::path prepared;  ///< folder of prepared files; empty: the bundled matrices
  std::string matrix;              ///< check this pattern only, as it is; empty: the suite
  std::string setting;             ///< check this setting only, a check_setting::text; empty: all
  std::filesystem::path save = "counterexamples";
  bool in_process = false;
  std::filesystem::path shared;  ///< worker: folder of share_matrices()
};

struct check_suite {
  std::size_t random_patterns;
  index_t largest_bundled;          ///< order up to which bundled matrices are run
  std::vector<std::string> orders;  ///< of bundled matrices
  double timeout;                   ///< seconds for a run on a bundled matrix
  double large_timeout;             ///< seconds for a run on a pattern of large order
};
/// Throws input_error for an unknown name.
check_suite find_suite(const std::string& name);

/// The patterns of a check, numbered: special shapes, random patterns, those of large order; or one
/// matrix alone.
class check_plan {
 public:
  enum class kind { special, random, large, given };

  /// Reads the matrix if one was named; throws input_error if it cannot.
  explicit check_plan(const check_options& options);

  [[nodiscard]] std::size_t size() const { return special_ + random_ + large_; }
  [[nodiscard]] kind kind_of(std::size_t k) const;
  [[nodiscard]] named_pattern at(std::size_t k) const;
  /// Whether setting number `s` of `count` is run on pattern k. Random patterns are run with the
  /// defaults and, where settings take turns, with those that follow the settings of the previous
  /// pattern; patterns of large order with the defaults.
  [[nodiscard]] bool includes(std::size_t k, std::size_t s, std::size_t count) const;
  /// Whether a variant is run on bundled matrix `number`, a matrix in an order: in all orders or,
  /// where settings take turns, in one, which the next variant and the next matrix change.
  [[nodiscard]] bool includes_matrix(std::size_t number, const variant_info& v) const;
  /// Seconds for a run on pattern k.
  [[nodiscard]] double time_limit(std::size_t k) const;

 private:
  check_options options_;
  check_suite suite_;
  std::vector<named_pattern> specials_;  // or the one matrix
  std::size_t special_ = 0, random_ = 0, large_ = 0;
};

/// A bundled or prepared matrix of a check, and what is known of it.
struct check_matrix {
  std::size_t number = 0;
  std::string name;
  prepared_pattern a;
  std::filesystem::path known;  ///< L+U as a prepared file, named by how it was verified; or empty
};

/// Calls visit(matrix) for each matrix from number `first` on, until it returns false. Collective.
void for_each_matrix(const check_options& options, std::size_t first,
                     const std::function<bool(check_matrix&)>& visit);

/// Prepares the bundled matrices once for several workers, and finds their fill: files in `folder`,
/// the `shared` of the workers' options.
void share_matrices(const check_options& options, const std::filesystem::path& folder);

}  // namespace gsofa
