#pragma once

/// KLU of SuiteSparse (Davis & Palamadai Natarajan, ACM TOMS 37(3), 2010): block triangular form,
/// minimum degree, partial pivoting with a preference for the diagonal; klu_refactor keeps the
/// pivots of the first factorization. On one core of the host.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "experiments/supplement_numeric/refactor_plan.hpp"

namespace refactor {

class klu_peer {
 public:
  /// Analyses and factors. With `given` the order and the rows are those of the plan, in one block,
  /// else KLU's own. Throws std::runtime_error with one line. nullptr in a build without KLU.
  static std::unique_ptr<klu_peer> create(const static_lu::matrix& a, const plan* given);

  virtual ~klu_peer() = default;
  [[nodiscard]] virtual std::int64_t entries() const = 0;   ///< of L + U, the diagonal once
  [[nodiscard]] virtual double flops() const = 0;           ///< of the factorization
  [[nodiscard]] virtual double factor_seconds() const = 0;  ///< klu_factor
  /// Seconds of klu_refactor; values of A in the order of its rows. Throws where a pivot is zero.
  virtual double refactor(std::span<const double> values) = 0;
  /// Seconds of klu_solve with as many refinements as the device makes; x replaces b.
  virtual double solve(const static_lu::matrix& a, int refinements, std::vector<double>& b) = 0;
};

}  // namespace refactor
