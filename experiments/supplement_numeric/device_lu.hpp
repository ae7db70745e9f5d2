#pragma once

/// Factorization, triangular solves and refinement on the device for one plan and many values.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "experiments/supplement_numeric/refactor_plan.hpp"

namespace refactor {

struct device_options {
  int threads = 0;  ///< of the block that owns a row: 32, 64, .., 512; 0: chosen
  /// Most MiB for the places of updates, 2 bytes each; where they need more, or a row has more than
  /// 65,536 entries, each update searches its place in the row.
  std::int64_t schedule_mb = 8192;
  int shared_entries = 0;  ///< of a row that is held in shared memory, at most; 0: chosen
};

/// Of one factorization.
struct step_report {
  double norm = 0;              ///< largest row sum of |Ã|
  std::int64_t replaced = 0;    ///< pivots below sqrt(eps) norm
  std::int64_t not_finite = 0;  ///< values of A that are NaN or infinite; the factors are then void
};

/// Calls that are not said to wait are asynchronous; each is ordered after those before it. Throws
/// gsofa::error with one line.
class device_lu {
 public:
  device_lu(const plan& s, const device_options& options);  ///< `s` must outlive this object
  ~device_lu();
  device_lu(const device_lu&) = delete;
  device_lu& operator=(const device_lu&) = delete;

  [[nodiscard]] int blocks() const;
  [[nodiscard]] int threads() const;
  [[nodiscard]] bool scheduled() const;      ///< the places of updates are kept
  [[nodiscard]] std::int64_t bytes() const;  ///< of device memory
  /// Entries of Ã and updates (i, j), k < min(i, j), L(i, k) and U(k, j) in the pattern, that have
  /// no place in it.
  [[nodiscard]] std::int64_t outside() const;

  void set_values(std::span<const double> values);  ///< of A, in the order of its rows; waits
  void set_right_side(std::span<const double> b);   ///< in A's numbering; waits
  step_report factorize();                          ///< waits; throws if outside() != 0
  /// x = 0, then 1 + refinements times x += correction by L and U of the residual of A x = b.
  void solve(int refinements);
  [[nodiscard]] std::vector<double> solution() const;  ///< x in A's numbering; waits
  [[nodiscard]] std::vector<double> factors() const;   ///< L + U as plan::column lists it; waits
  static void wait();

  /// For another solver of Ã z = d, pointers to device memory.
  double* scaled_values();  ///< those of Ã, as plan::a_column lists them
  void clear_solution();    ///< x = 0
  double* residual();       ///< d = R P (b - A x)
  void add_correction();    ///< x += Q C d

 private:
  struct arrays;
  std::unique_ptr<arrays> a_;
};

}  // namespace refactor
