#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "common/digest.hpp"
#include "common/variant.hpp"
#include "variants/support/supernodes.hpp"

namespace gsofa::detail {

/// The filled rows of a run in the order in which the run finds their entries: for every row one
/// contiguous list, L part first, then the U part with the diagonal, each in order of discovery.
/// Rows may be added in any order and by several threads, each row by one. Memory: 4 bytes per
/// entry of L+U if entries are kept, else only the counts.
class row_store {
 public:
  /// Forgets everything. `keep_entries`: lists are stored, not only counted.
  void reset(index_t n, int threads, bool keep_entries) {
    rows_.assign(static_cast<std::size_t>(n), {});
    arenas_.clear();
    arenas_.resize(static_cast<std::size_t>(threads));
    keep_ = keep_entries;
  }

  /// Stores row i, found by `thread`: columns < i, and columns >= i (including i).
  void add(int thread, index_t i, std::span<const index_t> lower, std::span<const index_t> upper) {
    row& r = rows_[static_cast<std::size_t>(i)];
    r.lower = static_cast<index_t>(lower.size());
    r.upper = static_cast<index_t>(upper.size());
    if (!keep_) return;
    index_t* const out =
        arenas_[static_cast<std::size_t>(thread)].allocate(lower.size() + upper.size());
    std::ranges::copy(upper, std::ranges::copy(lower, out).out);
    r.entries = out;
  }

  [[nodiscard]] std::span<const index_t> lower(index_t i) const {
    const row& r = rows_[static_cast<std::size_t>(i)];
    return {r.entries, static_cast<std::size_t>(r.lower)};
  }
  [[nodiscard]] std::span<const index_t> upper(index_t i) const {
    const row& r = rows_[static_cast<std::size_t>(i)];
    return {r.entries + r.lower, static_cast<std::size_t>(r.upper)};
  }
  [[nodiscard]] bool has_l(index_t s, index_t r) const {
    const auto l = lower(s);
    return std::ranges::find(l, r) != l.end();
  }
  [[nodiscard]] std::vector<index_t> u_counts() const {
    std::vector<index_t> counts;
    counts.reserve(rows_.size());
    for (const row& r : rows_) counts.push_back(r.upper);
    return counts;
  }

  /// Everything of `wants` except the supernodes, which a variant finds within the timed part.
  [[nodiscard]] result collect(want_set wants) const;

 private:
  struct row {
    const index_t* entries = nullptr;
    index_t lower = 0;
    index_t upper = 0;
  };
  // Allocates contiguous pieces of blocks that never move; each thread has its own object, on its
  // own cache lines.
  class alignas(128) arena {
   public:
    index_t* allocate(std::size_t size) {
      if (blocks_.empty() || capacity_ - used_ < size) {
        capacity_ = std::max(size, block_entries);
        blocks_.push_back(std::make_unique_for_overwrite<index_t[]>(capacity_));
        used_ = 0;
      }
      index_t* const out = blocks_.back().get() + used_;
      used_ += size;
      return out;
    }

   private:
    static constexpr std::size_t block_entries = std::size_t{1} << 20;
    std::vector<std::unique_ptr<index_t[]>> blocks_;
    std::size_t capacity_ = 0;
    std::size_t used_ = 0;
  };

  std::vector<row> rows_;
  std::vector<arena> arenas_;
  bool keep_ = true;
};

/// True if `wants` needs the entries themselves and not only their number.
inline bool needs_entries(want_set wants) {
  return wants.has(want::digest) || wants.has(want::pattern) || wants.has(want::supernodes);
}

}  // namespace gsofa::detail
