#pragma once

/// Stage 7 on the device: masks of L + U -> counts, digests, supernodes, rows. Twin: results.hpp.

#include <optional>

#include "common/device_rows.hpp"
#include "common/supernodal.hpp"
#include "variants/device/batch_rows.hpp"
#include "variants/device/caller_memory.hpp"
#include "variants/panels/panel_view.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// Counts the entries of the panels of a wave by row, and adds up their hashes if digests are
/// requested. Asynchronous, as all calls here are.
void count_rows(const panel_view& panels, panel_range wave, const row_results& rows);

/// Where panels are not kept, a number per column tells what T3 supernodes have to know of L: the
/// last row of the run of entries below the diagonal. The walk along the rows asks for L(s, r) only
/// where L(r + 1, r) to L(s - 1, r) are entries.
struct column_runs {
  const index_t* last;
  index_t begin = 0;
  index_t sources;

  GSOFA_DEVICE bool has(index_t slot, index_t v) const { return last[v] >= slot; }
};

/// Sets, for the columns of the panels of the wave, the last rows of column_runs, as far as the
/// chunk of the panel's last column.
void find_column_runs(const panel_view& panels, panel_range wave, index_t n, index_t chunk,
                      index_t* last);

/// Finds T3 supernodes of rows from panels that were all kept.
void find_supernodes(const panel_view& panels, row_results& rows, index_t chunk);

/// All rows as bits, read off the masks.
struct panel_rows {
  panel_view p;
  index_t n;
  index_t begin = 0;
  index_t sources;

  GSOFA_DEVICE bool has(index_t slot, index_t v) const {
    const index_t i = p.vertex(begin + slot);
    const index_t k = p.vertex(v);
    if (i == k) return true;
    const index_t low = i < k ? i : k;
    const index_t j = p.panel_of[low];
    const index_t z = p.position(j, i < k ? k : i);
    if (z < 0) return false;
    const mask_pair m = p.masks[p.position_begin[j] + z];
    return ((i < k ? m.upper : m.lower) >> (low - p.begin[j]) & 1U) != 0;
  }
};

/// Sets the bits of the rows begin .. begin + sources - 1 in a zeroed bitmap of `words` words a
/// row.
void set_row_bits(const panel_view& panels, index_t begin, index_t sources, std::size_t words,
                  std::uint32_t* bits);

/// L and U by sorted rows on the device, in the caller's numbering.
class panel_expansion {
 public:
  /// Expands factored panels that were not relabelled (a row's columns ascend with panels and
  /// positions then). The counts are those of all rows, u_counts with the diagonal. Returns false,
  /// with nothing held, if the budget does not admit the result. Asynchronous at its end.
  bool run(const panel_view& panels, const std::uint32_t* l_counts, const std::uint32_t* u_counts,
           offset_t column_blocks, memory_budget& budget);
  void release();
  /// Copies both to the host, on at most `threads` host threads.
  void to_host(index_t n, int threads, pattern& l, pattern& u) const;
  /// Where they are on the device, valid until release().
  [[nodiscard]] device_rows l_there(index_t n) const { return there(n, l_ptr_, l_idx_); }
  [[nodiscard]] device_rows u_there(index_t n) const { return there(n, u_ptr_, u_idx_); }

 private:
  static device_rows there(index_t n, const device_array<offset_t>& ptr,
                           const device_array<index_t>& idx) {
    return {n, idx.size(), ptr.data(), idx.data()};
  }
  device_array<offset_t> l_ptr_, u_ptr_;
  device_array<index_t> l_idx_, u_idx_;
};

/// supernodal_pattern on the device.
struct supernodal_arrays {
  index_t supernodes = 0;
  device_array<index_t> begin{}, rows{}, segments{};
  device_array<offset_t> row_begin{}, segment_begin{};
};

/// L + U by supernodes of columns, from factored panels that were not relabelled. Throws
/// budget_error if the budget does not admit it, input_error for a fault of `rule`.
supernodal_arrays supernodal_of_panels(const panel_view& panels, offset_t column_blocks,
                                       const supernode_rule& rule, memory_budget& budget);

/// The same of the padded pattern, where each vertex of these panels stands for the columns `of` of
/// it and `s` was cut with contraction::fixed, in memory of the caller; `added` becomes
/// added_columns(). Asynchronous at its end.
device_supernodal_pattern expand_leaves(const supernodal_arrays& s,
                                        std::span<const column_range> of, memory_budget& budget,
                                        const caller_memory& memory,
                                        std::vector<std::uint32_t>& added);

/// Sizes of a structure.
struct panel_sizes {
  offset_t positions = 0;
  offset_t column_blocks = 0;
};
/// The same on the host, in the memory that `out` has as far as it reaches; copied by at most
/// `threads` host threads, the rows while the device finds the segments.
void supernodal_to_host(const panel_view& panels, const panel_sizes& sizes,
                        const supernode_rule& rule, int threads, memory_budget& budget,
                        supernodal_pattern& out);

#endif

}  // namespace gsofa::panels
