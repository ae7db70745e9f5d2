#pragma once

/// cuSOLVER's refactorization (cusolverRf.h, deprecated in CUDA 13 in favour of cuDSS), given the L
/// and U of this example.

#include <memory>
#include <vector>

#include "experiments/supplement_numeric/device_lu.hpp"
#include "experiments/supplement_numeric/refactor_plan.hpp"

namespace refactor {

class rf_peer {
 public:
  /// Loads libcusolver and sets it up with the pattern and the values that `lu` holds, factored.
  /// `smallest`: pivots below it become it. Throws std::runtime_error with one line where there is
  /// no libcusolver or it refuses. nullptr in a build without CUDA.
  static std::unique_ptr<rf_peer> create(const plan& s, device_lu& lu, double smallest);

  virtual ~rf_peer() = default;
  [[nodiscard]] virtual double setup_seconds() const = 0;
  /// Seconds from the values of A that `lu` has on the device to new factors.
  virtual double refactor() = 0;
  /// Seconds; the solution is then lu.solution().
  virtual double solve(int refinements) = 0;
};

}  // namespace refactor
