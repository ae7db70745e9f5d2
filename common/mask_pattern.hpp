#pragma once

#include <cstdint>
#include <vector>

#include "common/pattern.hpp"

namespace gsofa {

/// L + U compressed: panels of at most 64 consecutive vertices b, b + 1, ..., each with an
/// ascending list of vertices that begins with the panel's own vertices, and two masks per vertex f
/// of the list: bit c of the upper mask is U(b + c, f) != 0, bit c of the lower mask is L(f, b + c)
/// != 0, both only for b + c < f. Every off-diagonal entry is one bit; the diagonal has no bits.
struct mask_pattern {
  std::vector<index_t> begin{0};            ///< panels + 1: first vertex of each, ends with n
  std::vector<offset_t> position_begin{0};  ///< panels + 1: positions of each
  std::vector<index_t> vertices;            ///< of each position
  std::vector<std::uint64_t> masks;         ///< two per position: upper, lower

  [[nodiscard]] index_t panels() const { return static_cast<index_t>(begin.size()) - 1; }
};

/// Panels of 64 vertices (the last may have fewer) of L (strictly lower) and U (with the diagonal),
/// both by rows. O(nnz log nnz).
mask_pattern masks_of(const pattern_view& l, const pattern_view& u);

/// A variant that can deliver L + U of its last run as masks. prepare() must have received
/// run_settings::supernodal.
class gives_masks {
 public:
  gives_masks() = default;
  gives_masks(const gives_masks&) = delete;
  gives_masks& operator=(const gives_masks&) = delete;
  virtual ~gives_masks() = default;
  /// False if the run has no masks, or masks of another numbering; collect() then has the rows.
  virtual bool masks_into(mask_pattern& out) = 0;
};

}  // namespace gsofa
