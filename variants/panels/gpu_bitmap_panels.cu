// gpu_bitmap_panels: symbolic LU by elimination over panels of the elimination tree of A + A^T,
// every panel a list of positions with two bit masks each, on one GPU. Everything behind the
// prepared CSR runs on the device; exact for every input order.
//
// Source: Rose & Tarjan 1978; Liu 1990; Eisenstat & Liu 1992. README.md has the algorithm, the
// proofs and the terms; cpu_bitmap_panels.cpp is the same on host threads.
//
// Invariant: a panel has at most panel_width consecutive vertices, whose parents outside are one
// vertex q(J), the parent of the last, or none. The masks are as in cpu_bitmap_panels.cpp.
//
// Encoding (panel_view in gpu_panels.hpp). The boundary of a panel is held twice: as column blocks,
// (panel T, mask of its vertices in T), 16 bytes each with the position of the first vertex; and as
// positions, 24 bytes each: two masks, the vertex, its place in the parent panel. In addition, a
// vertex has 92 bytes and what is wanted of its row, and a panel has 36 bytes for its next eight
// ancestors. The result is the masks with the position lists; rows are read off on demand.
//
// Launches of a run, in order; [h]: the host waits for what a kernel notes in its memory. One
// before them sets all arrays that have to be zero, or no vertex, at first.
// Nearly every launch begins while the one before it ends (simt::after_earlier_launches).
//   1  leftmost         a lane per entry of A: the least neighbour of every vertex
//   2  minima           of groups of 32, of groups of these, and so on, two of these a launch
//   3  nearest parents  a thread per vertex: the forest that is the elimination tree if the
//                       numbering is a postorder of it
//   4  subtree          a thread per vertex: its subtree, up to panel_width
//   5-6 cut             reduce and scan: runs, panels, depths
//   7  panel tree       children of panels, lists of siblings
//   8  justify          a lane per entry of A, in the first launch of 9: do all siblings have an
//                       edge from their parent?
//   9  boundary         two launches: column blocks of entries of A are gathered in shared memory,
//                       then in a hash table; every column block climbs the panel tree, four panels
//                       at a time, adding its bits until it meets what another one added. From
//                       400,000 vertices on the table has A's entries alone, and the host waits for
//                       sizes while boundaries are found target by target (gpu_boundaries.cu)
//   10 lengths          column blocks and positions of each panel
//   11-12 offsets       reduce and scan, one launch where panels are known to be few [h: panels,
//                       column blocks, positions, three flags]
//   13 collect          column blocks of each panel side by side
//   14 sort             rank sort, the position where each column block begins; the next eight
//                       panels above each panel
//   15 positions        lists, places in the parent's list, empty masks
//   16 scatter          bits of A
//   17 warp panels      elimination, from the leaves up to the first panel of > warp_positions;
//                       with few panels, none
//   18 block panels     elimination of the rest, except panels of > cluster_positions if there are
//                       to be clusters: then a launch for these. Behind each of them, where
//                       panels are long, a launch of workers that hand over far targets, which
//                       does nothing unless the one before has left panels to it
//  [17 closure          two launches, instead of 17 and 18 where A is symmetric, see below; rows
//                       are counted by the second unless digests are wanted]
//   19 counts           and digests
//   20 supernodes       if wanted: a thread per row gathers its L inside the chunk, one thread then
//                       walks over the rows
//   21- sorted rows     if wanted: where rows begin, reduce and scan [h: sizes]; column blocks are
//                       listed and sorted by target, a row of L reads the list of its panel; rows
//                       of U come from tiles of positions, whose entries by row are counted before,
//                       by other blocks of the same launch.
//                       Where they do not fit, or vertices were relabelled, batches of rows by way
//                       of bitmaps instead.
// Where 8 says no, edges are spliced into the elimination tree without locks, a postorder of it is
// found by pointer doubling, and 4 to 12 except 8 run again on labels. Where the table of 9 is too
// small, 9 to 12 run again with four times the places. Of many vertices 13 and 14 are a stable sort
// by panel.
//
// Symmetric patterns: the masks follow from the position lists, panel by panel, in two passes
// without a critical path (gpu_symmetric.cu). A sum of hashes in 1 tells whether A is symmetric;
// the passes themselves find out where it is not, and the run begins anew, with elimination.
//
// Counts, and T3 supernodes, alone of a symmetric pattern in a postorder take none of this: they
// follow from the elimination tree (gpu_symmetric_counts.cu), which is tried first. Where its tests
// fail, the launches above are made, in this run and all later ones of the prepared matrix.
//
// Waves: where the budget does not admit all positions, and neither rows nor supernodes of columns
// are wanted, panels are eliminated in waves, consecutive panels one after another, of as many
// panels as fit with the ancestors that they update (waves.hpp). 15 to 19 run for each wave; the
// host plans the waves from the lengths and parents of the panels and uploads the places of those
// that are new. A wave's counts, digests, and for supernodes the length of the run of entries below
// the diagonal of each column of L, are taken from its masks; its places are free then. The least
// memory is that of the longest path of panels to a root, instead of all panels.
//
// Critical path: 16 launches with little work each, and what the host needs to allocate; in 9 a
// quarter of the height of the panel tree in steps of two dependent accesses. In 17-18, for each
// panel on the longest path: the diagonal block, 63 dependent steps of one shuffle in registers,
// between two transpositions; its routes, that is, the closure of one column block by each warp and
// the transposition of what its targets take; ceil(boundary / (4 threads)) steps of the sweep, in
// each of which a thread factors four positions and updates the targets of the first round by them;
// update rounds of routes and sweeps for the targets behind these; in addition, barriers and one
// increment. Where the panel above has no other child, two warps factor its diagonal block and one
// reads its head during the sweep. One or two targets per panel are usual; where structural
// symmetry is low there are many.
//
// Fall back: rows are searched for as in gpu_fill2_bitparallel, whose memory does not depend on the
// fill, where memory_budget_mb admits neither the positions nor waves (known before any is
// written; the user is told beforehand if the search is to take more than a minute), and
// where the work of the update rounds, counted as they are made, passes that of the search, |V|
// nnz(A) times a constant: never where the pattern is symmetric, and then about twice the time of
// the search.
//
// Cost with P positions, W column blocks: O(nnz) for 1; atomics in 9, O(nnz) and for every column
// block as many as there are threads that have bits for it, of many vertices two; the sum over
// panels of the squares of their column blocks in 14, of many vertices a sort by radix; in 17-18 a
// closure of two words per position and about one OR of two words per position for the updates.
// Memory: 24 P + 16 W bytes; while it is built 16 W or twice to eight times as much for the table.

#include "variants/panels/eliminate/eliminate.hpp"
#include "variants/panels/gpu_panels.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>
#include <limits>
#include <memory>

#include "common/mask_pattern.hpp"
#include "common/thread_device.hpp"
#include "variants/device/caller_memory.hpp"
#include "variants/device/host_copies.hpp"
#include "variants/device/tile_scan.hpp"

namespace gsofa::gpu {

namespace {

#if defined(__CUDACC__)
constexpr int panel_threads = 256;
#else
constexpr int panel_threads = 64;
#endif

/// Counts rows, and sums up their digests if that array is not null. A block takes a panel, a warp
/// 64 positions at a time: transposed, the masks of U are a word per row of the panel.
GSOFA_KERNEL void count_kernel(panel_view p, panel_range wave, std::uint32_t* l_counts,
                               std::uint32_t* u_counts, unsigned long long* digests) {
  simt::after_earlier_launches();
  const auto lane = static_cast<index_t>(lane_index());
  const auto warp = static_cast<index_t>(simt::thread_index() / 32);
  const auto stride = static_cast<index_t>(simt::block_size()) * 2;
  for (unsigned panel = simt::block_index(); panel < static_cast<unsigned>(wave.end - wave.begin);
       panel += simt::grid_size()) {
    const index_t j = wave.begin + static_cast<index_t>(panel);
    if (!p.owns(j)) continue;
    const index_t begin = p.begin[j];
    const index_t w = p.width(j);
    const index_t length = p.length(j);
    const offset_t first = p.position_begin[j];
    // Of the rows lane and lane + 32 of the panel.
    std::uint32_t u[2] = {0, 0};
    unsigned long long digest[2] = {0, 0};
    for (index_t tile = warp * 64; tile < length; tile += stride) {
      row_pair by_row[1] = {{0, 0}};
      for (index_t half = 0; half < 2; ++half) {
        const index_t z = tile + half * 32 + lane;
        if (z >= length) continue;
        const mask_pair m = p.masks[first + z];
        (half == 0 ? by_row[0].low : by_row[0].high) = m.upper;
        if (m.lower == 0) continue;
        const index_t target = p.caller(p.columns[first + z]);
        simt::atomic_add(l_counts + target, static_cast<std::uint32_t>(simt::population(m.lower)));
        if (digests == nullptr) continue;
        unsigned long long sum = 0;
        for (mask_t bits = m.lower; bits != 0; bits &= bits - 1) {
          sum += entry_hash(target, p.caller(begin + static_cast<index_t>(simt::lowest_bit(bits))));
        }
        simt::atomic_add(digests + target, sum);
      }
      transpose(by_row);
      for (index_t half = 0; half < 2; ++half) {
        const index_t row = half * 32 + lane;
        mask_t mine = half == 0 ? by_row[0].low : by_row[0].high;
        u[half] += static_cast<std::uint32_t>(simt::population(mine));
        if (digests == nullptr || mine == 0) continue;
        const index_t source = p.caller(begin + row);
        for (; mine != 0; mine &= mine - 1) {
          const index_t z = tile + static_cast<index_t>(simt::lowest_bit(mine));
          digest[half] += entry_hash(source, p.caller(p.columns[first + z]));
        }
      }
    }
    for (index_t half = 0; half < 2; ++half) {
      const index_t row = half * 32 + lane;
      if (row >= w) continue;
      const index_t source = p.caller(begin + row);
      if (warp == 0) {
        // The diagonal.
        ++u[half];
        if (digests != nullptr) digest[half] += entry_hash(source, source);
      }
      if (u[half] != 0) simt::atomic_add(u_counts + source, u[half]);
      if (digest[half] != 0) simt::atomic_add(digests + source, digest[half]);
    }
  }
}

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

/// The row behind the chunk of a row.
GSOFA_DEVICE index_t end_of_chunk(index_t row, index_t chunk, index_t n) {
  if (chunk == 0) return n;
  const offset_t end = (offset_t{row} / chunk + 1) * chunk;
  return end < n ? static_cast<index_t>(end) : n;
}

/// Sets the last rows of the runs in the columns of panels that were not relabelled, as far as the
/// chunk of the panel's last column. A warp takes a panel, 32 positions at a time.
GSOFA_KERNEL void column_runs_kernel(panel_view p, panel_range wave, index_t n, index_t chunk,
                                     index_t* last) {
  simt::after_earlier_launches();
  const auto lane = static_cast<index_t>(lane_index());
  const unsigned warps = simt::block_size() / 32;
  for (unsigned panel = simt::block_index() * warps + simt::thread_index() / 32;
       panel < static_cast<unsigned>(wave.end - wave.begin); panel += simt::grid_size() * warps) {
    const index_t j = wave.begin + static_cast<index_t>(panel);
    if (!p.owns(j)) continue;
    const index_t begin = p.begin[j];
    const index_t w = p.width(j);
    const offset_t first = p.position_begin[j];
    const index_t rows = end_of_chunk(begin + w - 1, chunk, n) - begin;
    const index_t length = p.length(j) < rows ? p.length(j) : rows;
    mask_t running = w < mask_bits ? below(w) : ~mask_t{0};
    for (index_t base = 0; running != 0; base += 32) {
      const index_t z = base + lane;
      // The columns whose runs may go on at row begin + z, or have not begun.
      mask_t on = 0;
      if (z < length && p.columns[first + z] == begin + z) {
        on = p.masks[first + z].lower | (z < w ? ~below(z) : mask_t{0});
      }
      for (unsigned step = 1; step < 32; step *= 2) {
        const mask_t before = simt::shuffle_up(on, step);
        if (lane >= static_cast<index_t>(step)) on &= before;
      }
      const mask_t before = simt::shuffle_up(on, 1);
      for (mask_t ended = running & (lane == 0 ? ~mask_t{0} : before) & ~on; ended != 0;
           ended &= ended - 1) {
        last[begin + static_cast<index_t>(simt::lowest_bit(ended))] = begin + z - 1;
      }
      running &= simt::shuffle(on, 31);
    }
  }
}

/// The same in the caller's numbering, where vertices were relabelled: a thread takes a column.
/// Both ends of an entry are in the same order in either numbering.
GSOFA_KERNEL void relabelled_runs_kernel(panel_view p, panel_range wave, index_t n, index_t chunk,
                                         index_t* last) {
  simt::after_earlier_launches();
  for (offset_t k = p.begin[wave.begin] + offset_t{simt::block_index()} * simt::block_size() +
                    simt::thread_index();
       k < p.begin[wave.end]; k += offset_t{simt::grid_size()} * simt::block_size()) {
    const auto v = static_cast<index_t>(k);
    const index_t j = p.panel_of[v];
    if (!p.owns(j)) continue;
    const index_t column = p.caller(v);
    const index_t end = end_of_chunk(column, chunk, n);
    index_t row = column + 1;
    for (; row < end; ++row) {
      const index_t f = p.vertex(row);
      const index_t z = f < v ? -1 : p.position(j, f);
      if (z < 0) break;
      if ((p.masks[p.position_begin[j] + z].lower >> (v - p.begin[j]) & 1U) == 0) break;
    }
    last[column] = row - 1;
  }
}

constexpr index_t supernode_rows = 128;  // of a chunk at most, and threads

/// Finds T3 supernodes of chunks of up to supernode_rows rows, a block for each chunk. A thread
/// gathers the entries of its row of L in the columns of the chunk, panel by panel; one thread then
/// walks over the rows. Not for relabelled panels.
GSOFA_KERNEL void panel_supernodes_kernel(panel_view p, const std::uint32_t* u_counts,
                                          index_t chunk, unsigned char* is_start) {
  simt::after_earlier_launches();
  auto* const low = simt::shared_memory<mask_t>();  // columns 0..63 of the chunk; zero: not flagged
  auto* const high = low + supernode_rows;
  const auto thread = static_cast<index_t>(simt::thread_index());
  const auto begin = static_cast<offset_t>(simt::block_index()) * chunk;
  const offset_t end = begin + chunk < p.n ? begin + chunk : p.n;
  mask_t columns[2] = {0, 0};
  if (begin + thread < end) {
    const auto row = static_cast<index_t>(begin + thread);
    if (thread > 0 && u_counts[row] + 1 == u_counts[row - 1]) {
      const index_t last = p.panel_of[row];
      for (index_t j = p.panel_of[begin]; j <= last; ++j) {
        const index_t z = p.position(j, row);
        if (z < 0) continue;
        const mask_t lower = p.masks[p.position_begin[j] + z].lower;
        const auto at = static_cast<index_t>(p.begin[j] - begin);  // of the panel in the chunk
        if (at < 0) {
          columns[0] |= lower >> -at;
        } else if (at < mask_bits) {
          columns[0] |= lower << at;
          if (at > 0) columns[1] |= lower >> (mask_bits - at);
        } else {
          columns[1] |= lower << (at - mask_bits);
        }
      }
    }
  }
  low[thread] = columns[0];
  high[thread] = columns[1];
  simt::sync_block();
  if (thread != 0) return;
  index_t first = 0;
  is_start[begin] = 1;
  for (index_t k = 1; begin + k < end; ++k) {
    const mask_t word = first < mask_bits ? low[k] : high[k];
    if ((word >> (first % mask_bits) & 1U) != 0) continue;
    first = k;
    is_start[begin + k] = 1;
  }
}

/// Sets the bits of the rows begin .. begin + sources - 1 in a zeroed bitmap.
GSOFA_KERNEL void rows_of_panels_kernel(panel_view p, index_t begin, index_t sources,
                                        std::size_t words, std::uint32_t* bits) {
  simt::after_earlier_launches();
  const auto set = [&](index_t row, index_t column) {
    if (row < begin || row - begin >= sources) return;
    simt::atomic_or(bits + static_cast<std::size_t>(row - begin) * words +
                        static_cast<std::size_t>(column / 32),
                    std::uint32_t{1} << (column % 32));
  };
  for (unsigned panel = simt::block_index(); panel < static_cast<unsigned>(p.panels);
       panel += simt::grid_size()) {
    const auto j = static_cast<index_t>(panel);
    const index_t length = p.length(j);
    for (index_t z = static_cast<index_t>(simt::thread_index()); z < length;
         z += static_cast<index_t>(simt::block_size())) {
      const mask_pair m = p.masks[p.position_begin[j] + z];
      const index_t f = p.caller(p.columns[p.position_begin[j] + z]);
      for (mask_t r = m.lower; r != 0; r &= r - 1) {
        set(f, p.caller(p.begin[j] + static_cast<index_t>(simt::lowest_bit(r))));
      }
      for (mask_t r = m.upper; r != 0; r &= r - 1) {
        set(p.caller(p.begin[j] + static_cast<index_t>(simt::lowest_bit(r))), f);
      }
      if (z < p.width(j)) set(f, f);
    }
  }
}

class bitmap_panels final : public variant,
                            public takes_device_rows,
                            public leaves_device_results,
                            public gives_masks {
 public:
  explicit bitmap_panels(const panel_tuning& tuning = {}) : tuning_(tuning) {}

  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    clear();
    on_host_ = a;
    budget_.set_limit(std::numeric_limits<offset_t>::max());
    matrix_.upload(a, budget_);
    prepare_rows(settings, context);
  }

  void prepare_device(const device_rows& a, const run_settings& settings,
                      run_context& context) override {
    clear();
    on_host_ = {};
    matrix_.refer_to(a);
    prepare_rows(settings, context);
  }

  void run(run_context& context) override {
    clear();
    refuted_ = false;
    if (tries_tree_ && has_tree_arrays() && count_by_tree(context)) return;
    run_panels(context);
  }

  void run_panels(run_context& context) {
    phases_.start(context, phase_id::schedule);
    rows_.start();
    if (!structure_.build(matrix_, matrix_.rows().nnz, limits(), budget_, context)) {
      phases_.finish(context);
      predict_search(context);
      search(context);
      return;
    }
    const bool rows_wanted =
        settings_.wants.has(want::pattern) || (settings_.supernodal && structure_.relabelled());
    const bool in_waves = structure_.waves() > 1;
    eliminate(context);
    const panel_view panels = structure_.view();
    phases_.mark(context, phase_id::supernode);
    if (!rows_wanted && !in_waves) find_supernodes(panels);
    if (in_waves) rows_.find_supernodes(column_runs{.last = runs_.data(), .sources = n_});
    phases_.finish(context);
    if (closure_.refuted()) {
      refuted_ = true;
      context.derived["refuted"] = 1;
      clear();
      run_panels(context);
      return;
    }
    if (elimination_.fell_back()) {
      structure_.release();
      search(context);
      context.derived["gave_up"] = 1;
      return;
    }
    if (rows_wanted) {
      if (!expand(panels, context)) {
        rows_by_bitmaps(panels, context);
      } else {
        rows_.add(panel_rows{.p = panels, .n = n_, .sources = n_}, context, true, true);
      }
    }
    report(context);
  }

  result collect(want_set wants) override {
    return searched_ != nullptr ? searched_->collect(wants) : rows_.collect(wants);
  }

  supernodal_pattern supernodal(const supernode_rule& rule) override {
    supernodal_pattern out;
    supernodal_into(rule, out);
    return out;
  }

  void supernodal_into(const supernode_rule& rule, supernodal_pattern& out) override {
    // Masks of relabelled vertices tell nothing of neighbours in the caller's numbering.
    if (searched_ != nullptr || structure_.relabelled()) {
      out = variant::supernodal(rule);
      return;
    }
    supernodal_to_host(structure_.view(), {structure_.positions(), structure_.column_blocks()},
                       rule, settings_.threads, budget_, out);
  }

  bool masks_into(mask_pattern& out) override {
    if (counted_) {
      run_context unused;
      tree_counts_.release();
      clear();
      run_panels(unused);
    }
    if (searched_ != nullptr || structure_.relabelled() || structure_.waves() > 1) return false;
    const panel_view p = structure_.view();
    const offset_t positions = structure_.positions();
    static_assert(sizeof(mask_pair) == 2 * sizeof(std::uint64_t));
    host_copies copies(settings_.threads);
    copies.run(mask_bytes(), [&] {
      copies.add(out.masks, reinterpret_cast<const std::uint64_t*>(p.masks), 2 * positions);
      add_lists(copies, p, out);
    });
    take_masks(out);
    return true;
  }

  void rows_on_device(const device_destination& to, device_rows& l, device_rows& u) override {
    const caller_memory memory(to);
    if (!holds_rows_) {
      const result& rows = rows_on_host();
      l = memory.uploaded(rows.l);
      u = memory.uploaded(rows.u);
      synchronize();
      return;
    }
    const auto copied = [&](const device_rows& a) -> device_rows {
      return {n_, a.nnz, memory.copied(a.row_ptr, offset_t{n_} + 1),
              memory.copied(a.col_idx, a.nnz)};
    };
    l = copied(expansion_.l_there(n_));
    u = copied(expansion_.u_there(n_));
    synchronize();
  }

  device_supernodal_pattern supernodal_on_device(const supernode_rule& rule,
                                                 const device_destination& to) override {
    const caller_memory memory(to);
    if (searched_ != nullptr || structure_.relabelled()) {
      const result& rows = rows_on_host();
      const device_supernodal_pattern left = memory.uploaded(supernodal_of(rows.l, rows.u, rule));
      synchronize();
      return left;
    }
    const supernodal_arrays s = panel_supernodes(rule);
    const device_supernodal_pattern left{
        .supernodes = s.supernodes,
        .row_count = s.rows.size(),
        .segment_count = s.segments.size(),
        .begin = memory.copied<index_t>(s.begin.data(), offset_t{s.supernodes} + 1),
        .row_begin = memory.copied<offset_t>(s.row_begin.data(), s.row_begin.size()),
        .rows = memory.copied<index_t>(s.rows.data(), s.rows.size()),
        .segment_begin = memory.copied<offset_t>(s.segment_begin.data(), s.segment_begin.size()),
        .segments = memory.copied<index_t>(s.segments.data(), s.segments.size())};
    synchronize();
    return left;
  }

  device_supernodal_pattern expanded_on_device(const supernode_rule& rule,
                                               std::span<const column_range> of,
                                               const device_destination& to,
                                               std::vector<std::uint32_t>& added) override {
    const caller_memory memory(to);
    device_supernodal_pattern left;
    if (searched_ != nullptr || structure_.relabelled()) {
      const result& rows = rows_on_host();
      const supernodal_pattern s = supernodal_of(rows.l, rows.u, rule);
      added = added_columns(s, of);
      left = memory.uploaded(gsofa::expand_leaves(s, of));
    } else {
      left = expand_leaves(panel_supernodes(rule), of, budget_, memory, added);
    }
    synchronize();
    return left;
  }

 private:
  void prepare_rows(const run_settings& settings, run_context& context) {
    settings_ = settings;
    told_ = false;
    n_ = matrix_.rows().n;
    const option_set& o = settings.options;
    const std::int64_t megabytes = o.integer("memory_budget_mb");
    const offset_t limit = megabytes > 0 ? megabytes << 20 : current_limits().free_bytes / 4 * 3;
    budget_.set_limit(limit + budget_.used());
    run_settings of_rows = settings;
    if (settings.supernodal) of_rows.wants |= want::pattern;  // where vertices are relabelled
    rows_.prepare(n_, of_rows, budget_);
    structure_.prepare(n_, budget_);
    elimination_settings elimination = tuning_.elimination;
    elimination.blocks_per_cluster = static_cast<int>(o.integer("blocks_per_cluster"));
    if (o.choice("hand_over") != "auto") {
      elimination.far_targets =
          o.choice("hand_over") == "on" ? handing_over::on : handing_over::off;
    }
    if (tuning_.search) elimination.most_update_work = work_of_search(n_, matrix_.rows().nnz);
    elimination_.prepare(n_, elimination, budget_);
    closure_.prepare();
    tree_counts_.release();
    const bool counts_alone =
        settings.wants.without(want_set(want::counts) | want::supernodes) == want_set() &&
        !settings.supernodal && !settings.leaves_on_device;
    tries_tree_ = counts_alone && o.choice("counts") == "tree" &&
                  tuning_.closing == closing_masks::where_symmetric;
    if (tries_tree_) tree_counts_.prepare(n_, budget_);
    context.predicted_bytes["vertex_arrays"] = budget_.used() - matrix_.bytes();
  }

  void report(run_context& context) {
    context.check_deadline();
    const panel_view panels = structure_.view();
    if (!closes()) elimination_.report(context);
    context.derived["symmetric"] = closes() ? 1 : 0;
    context.derived["panels"] = panels.panels;
    context.derived["positions"] = structure_.positions();
    context.derived["words"] = structure_.column_blocks();
    context.derived["longest_panel"] = structure_.longest();
    context.derived["relabelled"] = structure_.relabelled() ? 1 : 0;
    context.derived["waves"] = structure_.waves();
    context.derived["positions_held"] = structure_.positions_held();
    context.device_peak_bytes = budget_.peak();
    context.device_bytes = budget_.by_structure();
  }

  [[nodiscard]] bool has_tree_arrays() {
    return tree_counts_.prepared() || tree_counts_.prepare(n_, budget_);
  }

  // Counts from the elimination tree. Returns false, and gives back what it has taken, where the
  // pattern does not admit it. Panels are found then.
  bool count_by_tree(run_context& context) {
    phases_.start(context, phase_id::traverse);
    rows_.start();
    tree_counts_.run(matrix_.rows(), {rows_.l_counts(), rows_.u_counts()},
                     {rows_.supernode_starts(), settings_.chunk_size});
    phases_.finish(context);
    counted_ = tree_counts_.exact();
    if (!counted_) {
      tree_counts_.release();
      return false;
    }
    context.check_deadline();
    context.derived["symmetric"] = context.derived["counted_by_tree"] = 1;
    context.device_peak_bytes = budget_.peak();
    context.device_bytes = budget_.by_structure();
    return true;
  }

  // Eliminates the panels and counts their rows, wave by wave. Digests and runs of columns are read
  // off the masks of a wave before they are released.
  void eliminate(run_context& context) {
    const index_t waves = structure_.waves();
    const bool runs = waves > 1 && settings_.wants.has(want::supernodes);
    if (runs) runs_ = {budget_, "column_runs", n_};
    elimination_.expect();
    closure_.expect();
    for (index_t k = 0; k < waves && (k == 0 || !elimination_.fell_back()); ++k) {
      if (k > 0) phases_.mark(context, phase_id::schedule);
      const panel_range wave = structure_.begin_wave(k, matrix_, matrix_.rows().nnz);
      context.check_deadline(k, waves);
      const panel_view panels = structure_.view();
      phases_.mark(context, phase_id::traverse);
      // The closure counts rows in passing; digests of rows take a pass of their own.
      const bool counts = closes() && rows_.digests() == nullptr;
      if (closes()) {
        closure_.run(structure_, wave,
                     counts ? row_counts{rows_.l_counts(), rows_.u_counts()} : row_counts{});
      } else {
        elimination_.run({panels, structure_.children(), structure_.finished(),
                          structure_.control(), structure_.longest()},
                         wave);
      }
      if (!counts) {
        phases_.mark(context, phase_id::compact);
        count_rows(panels, wave, rows_);
      }
      if (!runs) continue;
      phases_.mark(context, phase_id::supernode);
      find_column_runs(panels, wave, n_, settings_.chunk_size, runs_.data());
    }
  }

  // Bytes of the compressed result.
  [[nodiscard]] std::size_t mask_bytes() const {
    return static_cast<std::size_t>(structure_.positions()) * (sizeof(mask_pair) + sizeof(index_t));
  }

  void add_lists(host_copies& copies, const panel_view& p, mask_pattern& out) const {
    copies.add(out.vertices, p.columns, structure_.positions());
    copies.add(out.begin, p.begin, offset_t{p.panels} + 1);
    copies.add(out.position_begin, p.position_begin, offset_t{p.panels} + 1);
  }

  void take_masks(mask_pattern& out) const {
    const auto panels = static_cast<std::size_t>(structure_.view().panels) + 1;
    take_written(out.masks, static_cast<std::size_t>(2 * structure_.positions()));
    take_written(out.vertices, static_cast<std::size_t>(structure_.positions()));
    take_written(out.begin, panels);
    take_written(out.position_begin, panels);
  }

  // Whether the masks are completed as those of a symmetric pattern.
  [[nodiscard]] bool closes() const {
    if (refuted_ || tuning_.closing == closing_masks::never) return false;
    return structure_.symmetric() || tuning_.closing == closing_masks::always;
  }

  // The rows that are not on the device, which collect() hands over once.
  const result& rows_on_host() {
    if (!handed_over_) handed_over_ = collect(want::pattern);
    return *handed_over_;
  }

  [[nodiscard]] supernodal_arrays panel_supernodes(const supernode_rule& rule) {
    return supernodal_of_panels(structure_.view(), structure_.column_blocks(), rule, budget_);
  }

  void clear() {
    searched_ = nullptr;
    handed_over_.reset();
    holds_rows_ = counted_ = false;
    bits_ = {};
    runs_ = {};
    expansion_.release();
    structure_.release();
  }
  [[nodiscard]] panel_limits limits() const {
    // Counts, digests and T3 supernodes are taken from a panel once; rows need all masks.
    const bool keeps = settings_.wants.has(want::pattern) || settings_.supernodal;
    const offset_t runs = settings_.wants.has(want::supernodes) ? 4 * offset_t{n_} : 0;
    return {.width = static_cast<index_t>(settings_.options.integer("panel_width")),
            .most_positions = tuning_.most_positions,
            .reserve = keeps ? row_bytes() : 0,
            .reserve_of_waves = runs,
            .waves = tuning_.waves && !keeps,
            .many_vertices = tuning_.many_vertices};
  }
  [[nodiscard]] offset_t row_words() const { return (offset_t{n_} + 31) / 32; }
  [[nodiscard]] offset_t row_bytes() const { return 4 * row_words(); }

  void find_supernodes(const panel_view& panels) {
    const index_t chunk = settings_.chunk_size;
    if (!settings_.wants.has(want::supernodes)) return;
    if (structure_.relabelled() || chunk < 1 || chunk > supernode_rows) {
      rows_.find_supernodes(panel_rows{.p = panels, .n = n_, .sources = n_});
      return;
    }
    launch_overlapping(panel_supernodes_kernel, (n_ - 1) / chunk + 1, supernode_rows,
                       2 * supernode_rows * sizeof(mask_t), panels,
                       static_cast<const std::uint32_t*>(rows_.u_counts()), chunk,
                       rows_.supernode_starts());
  }

  // Finds all sorted rows at once; false where they do not fit or vertices were relabelled.
  bool expand(const panel_view& panels, run_context& context) {
    if (structure_.relabelled()) return false;
    {
      const phase timed(context, phase_id::expand);
      if (!expansion_.run(panels, rows_.l_counts(), rows_.u_counts(), structure_.column_blocks(),
                          budget_)) {
        return false;
      }
      synchronize();
    }
    context.derived["expanded"] = 1;
    holds_rows_ = settings_.leaves_on_device;
    if (holds_rows_) return true;
    const phase timed(context, phase_id::d2h);
    pattern l, u;
    expansion_.to_host(n_, settings_.threads, l, u);
    rows_.set_pattern(std::move(l), std::move(u));
    return true;
  }

  // Finds sorted rows by way of bitmaps, as many at a time as the budget holds.
  void rows_by_bitmaps(const panel_view& panels, run_context& context) {
    const index_t n = n_;
    const offset_t fit = (budget_.limit() - budget_.used()) / row_bytes();
    const auto batch = static_cast<index_t>(std::clamp<offset_t>(fit, 1, n));
    bits_ = {budget_, "row_bitmaps", row_words() * batch};
    for (index_t begin = 0; begin < n;) {
      context.check_deadline();
      const index_t sources = std::min(n - begin, batch);
      const auto words = static_cast<std::size_t>(row_words());
      {
        const phase timed(context, phase_id::compact);
        fill_bytes(bits_.data(), 0, row_words() * sources);
        launch(rows_of_panels_kernel, std::min(panels.panels, 1 << 16), panel_threads, 0, panels,
               begin, sources, words, bits_.data());
        synchronize();
      }
      rows_.add(bitmap_rows{bits_.data(), words, n, begin, sources}, context, true);
      begin += sources;
    }
  }

  // Tells the user, once, of a search that will take more than a minute, and of the budget that
  // would do without one.
  void predict_search(const run_context& context) {
    const double pairs = static_cast<double>(n_) * static_cast<double>(matrix_.rows().nnz);
    const double seconds = pairs / searched_pairs_per_second;
    if (told_ || !context.say || seconds < tuning_.longest_silent_search) return;
    told_ = true;
    const offset_t missing = structure_.bytes_missing() - matrix_.bytes();
    context.say("panels do not fit in device memory: rows are searched, which takes about " +
                std::to_string(static_cast<std::int64_t>(seconds) + 1) + " s for " +
                std::to_string(n_) + " rows and " + std::to_string(matrix_.rows().nnz) +
                " entries; memory_budget_mb=" + std::to_string((missing >> 20) + 1) +
                " or more would avoid that");
  }

  // Falls back to a search of the rows of L+U, whose memory does not depend on chol(A + A^T).
  void search(run_context& context) {
    const variant_info& by_rows = find_variant("gpu_fill2_bitparallel");
    const auto& specs = by_rows.options;
    run_settings settings = settings_;
    if (settings.supernodal) settings.wants |= want::pattern;
    settings.options = option_set(specs);
    const offset_t megabytes = (budget_.limit() - budget_.used() - matrix_.bytes()) >> 20;
    settings.options.set(specs, "memory_budget_mb",
                         std::to_string(std::clamp<offset_t>(megabytes, 1, 1 << 20)));
    searched_ = by_rows.create();
    {
      const phase timed(context, phase_id::init);
      if (on_host_.row_ptr.empty()) download();
      searched_->prepare(on_host_, settings, context);
    }
    searched_->run(context);
    // The search counts its own memory only.
    context.device_peak_bytes =
        std::max(budget_.peak(), budget_.used() + context.device_peak_bytes);
    for (const auto& [structure, bytes] : budget_.by_structure()) {
      context.device_bytes[structure] += bytes;
    }
    context.derived["searched"] = 1;
  }

  // The search takes rows on the host alone.
  void download() {
    const device_rows& a = matrix_.rows();
    copied_.n_rows = copied_.n_cols = a.n;
    copied_.row_ptr.resize(at(a.n) + 1);
    copied_.col_idx.resize(at(a.nnz));
    copy_to_host(copied_.row_ptr.data(), a.row_ptr, offset_t{a.n} + 1);
    copy_to_host(copied_.col_idx.data(), a.col_idx, a.nnz);
    on_host_ = copied_;
  }

  // Pairs of a row and an entry of A; between 1e11 and 1e13 on one H200, 1e12 in the middle.
  static constexpr double searched_pairs_per_second = 1e12;

  panel_tuning tuning_;
  index_t n_ = 0;
  bool told_ = false;     // predict_search() has
  pattern_view on_host_;  // of the caller; empty where the matrix was on the device
  pattern copied_;
  run_settings settings_;
  memory_budget budget_;
  device_matrix matrix_;
  row_results rows_;
  panel_structure structure_;
  panels::panel_elimination elimination_;
  symmetric_closure closure_;
  bool refuted_ = false;     // closed masks of this run
  bool tries_tree_ = false;  // counts alone are requested, and may come from the tree
  symmetric_counts tree_counts_;
  bool counted_ = false;  // the results are those of tree_counts_, and there are no panels
  panel_expansion expansion_;
  bool holds_rows_ = false;  // expansion_ has the rows, which nobody has copied yet
  std::optional<result> handed_over_;
  device_phases phases_;
  device_array<std::uint32_t> bits_;
  device_array<index_t> runs_;  // column_runs
  std::unique_ptr<variant> searched_;
};

}  // namespace

void count_rows(const panel_view& panels, panel_range wave, const row_results& rows) {
  launch_overlapping(count_kernel, std::min(wave.end - wave.begin, 1 << 16), panel_threads, 0,
                     panels, wave, rows.l_counts(), rows.u_counts(),
                     reinterpret_cast<unsigned long long*>(rows.digests()));
}

void find_column_runs(const panel_view& panels, panel_range wave, index_t n, index_t chunk,
                      index_t* last) {
  launch_overlapping(panels.label == nullptr ? column_runs_kernel : relabelled_runs_kernel,
                     blocks_for(offset_t{wave.end - wave.begin} * 32), threads_per_block, 0, panels,
                     wave, n, chunk, last);
}

// A unit takes about as long as 105,000 pairs of a row and an entry of A (measured on small inputs
// in their natural order), and a search has some work that does not depend on either. Where the
// elimination propagates updates from panel to panel for longer than that, which no symmetric
// pattern makes it do, rows are searched: at most twice the time of the search.
std::int64_t work_of_search(index_t n, offset_t nnz) {
  constexpr double pairs_per_unit = 105e3;
  const double pairs = static_cast<double>(n) * static_cast<double>(nnz);
  return 1900 + static_cast<std::int64_t>(std::min(pairs / pairs_per_unit, 4e18));
}

std::unique_ptr<variant> make_bitmap_panels(const panel_tuning& tuning) {
  return std::make_unique<bitmap_panels>(tuning);
}

}  // namespace gsofa::gpu

#endif

GSOFA_REGISTER_VARIANT({
    .name = "gpu_bitmap_panels",
    .device = "gpu",
    .summary = "elimination over etree panels of up to 64 columns, held as bit masks",
    .citation = "Rose & Tarjan 1978; Liu 1990; Eisenstat & Liu 1992",
    .options = {{.name = "panel_width",
                 .default_value = std::int64_t{64},
                 .help = "most columns of a panel",
                 .minimum = 1,
                 .maximum = 64,
                 .tested = {"64", "8", "1", "3", "16", "33", "2", "5"}},
                {.name = "blocks_per_cluster",
                 .default_value = std::int64_t{4},
                 .help = "blocks of a cluster, from 2 on where the device has them; 1: blocks "
                         "eliminate all",
                 .minimum = 1,
                 .maximum = 8,
                 .tested = {"4", "1", "3"}},
                {.name = "hand_over",
                 .default_value = std::string("auto"),
                 .help = "updates of far panels are handed over to idle workers; auto: from the "
                         "point on where counted work says that the pattern is that unsymmetric",
                 .choices = {"auto", "on", "off"},
                 .tested = {"auto", "on", "off", "on"}},
                {.name = "counts",
                 .default_value = std::string("tree"),
                 .help =
                     "counts and T3 supernodes alone of a symmetric pattern in a postorder: from "
                     "the elimination tree, without any structure, or from panels as all else",
                 .choices = {"tree", "panels"},
                 .tested = {"tree", "panels", "tree"}},
                gsofa::gpu::memory_budget_option()},
    .supernodal = true,
    .unavailable = gsofa::gpu::unavailable,
    .create = GSOFA_GPU_CREATE(bitmap_panels),
});
