#pragma once

#include <cstdint>
#include <vector>

#include "common/pattern.hpp"

namespace gsofa {

/// L + U compressed: panels of at most 64 consecutive vertices b, b + 1, ..., each with an
/// ascending list of vertices, its own first, and two masks for each vertex f of the list: bit c of
/// the upper one is U(b + c, f) != 0, of the lower one L(f, b + c) != 0, for b + c < f alone. Every
/// entry off the diagonal is one bit, the diagonal has none.
struct mask_pattern {
  std::vector<index_t> begin{0};            ///< panels + 1: first vertex of each, ends with n
  std::vector<offset_t> position_begin{0};  ///< panels + 1: positions of each
  std::vector<index_t> vertices;            ///< of each position
  std::vector<std::uint64_t> masks;         ///< two of each position: upper, lower

  [[nodiscard]] index_t panels() const { return static_cast<index_t>(begin.size()) - 1; }
};

/// Panels of 64 vertices (the last may have fewer) of L (strictly lower) and U (with the diagonal),
/// both by rows. O(nnz log nnz).
mask_pattern masks_of(const pattern_view& l, const pattern_view& u);

/// A variant that has L + U of its last run as masks. prepare() must have been asked for
/// run_settings::supernodal.
class gives_masks {
 public:
  gives_masks() = default;
  gives_masks(const gives_masks&) = delete;
  gives_masks& operator=(const gives_masks&) = delete;
  virtual ~gives_masks() = default;
  /// False if the run had no masks, or those of another numbering: then collect() has the rows.
  virtual bool masks_into(mask_pattern& out) = 0;
  /// Has each run() from now on write masks to *out as it comes to know them, if it can: from then
  /// on until masks_into(*out) has returned true nothing is known of what *out holds. *out lives
  /// until the next call; null: runs keep their masks.
  virtual void leave_masks_in(mask_pattern* /*out*/) {}
};

}  // namespace gsofa
