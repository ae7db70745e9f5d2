#pragma once

/// Counts of symmetric patterns from the elimination tree alone.

#include "common/device_rows.hpp"
#include "variants/panels/stages_device.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// Where first rows of T3 supernodes are marked, zeros before; null: they are not. chunk: 0:
/// unlimited.
struct supernode_marks {
  unsigned char* is_start = nullptr;
  index_t chunk = 0;
};

/// Counts the rows of L and U of a symmetric pattern from its elimination tree alone, where the
/// numbering is a postorder of it; finds out where either is not so (tree_counts.cu).
class symmetric_counts {
 public:
  /// Takes the arrays; returns false, with nothing held, where the budget does not admit them.
  bool prepare(index_t n, memory_budget& budget);
  void release();
  [[nodiscard]] bool prepared() const { return zeroed_.size() > 0; }
  /// Adds to counts of zero. Asynchronous; launches less where broken() becomes true meanwhile.
  void run(const device_rows& rows, row_counts counts, supernode_marks supernodes = {});
  /// Whether the counts of the last run() are those of L and U, once the device has done what it
  /// launched. If not, they are void.
  [[nodiscard]] bool exact() const { return note_[is_exact] != 0; }
  /// True once the device has found an entry without its mirror image: the counts are void.
  [[nodiscard]] bool broken() const { return holds(note_[is_broken]); }

 private:
  device_array<std::uint32_t> zeroed_, first_, parent_, maxima_, minima_, partial_;
  offset_t header_ = 0;
  enum : std::size_t { is_exact, is_broken, notes };
  pinned_vector<std::uint32_t> note_;  // words that the device sets
};

#endif

}  // namespace gsofa::panels
