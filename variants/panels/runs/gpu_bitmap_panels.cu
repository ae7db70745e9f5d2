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

#include "variants/device/gpu_variant.hpp"

#if defined(GSOFA_GPU)

#include <memory>
#include <optional>

#include "common/mask_pattern.hpp"
#include "variants/device/caller_memory.hpp"
#include "variants/device/host_copies.hpp"
#include "variants/panels/runs/one_gpu.hpp"

namespace gsofa::panels {

namespace {

/// The runs of one GPU as a variant: hands over what they have left.
class bitmap_panels final : public variant,
                            public takes_device_rows,
                            public leaves_device_results,
                            public gives_masks,
                            private one_gpu {
 public:
  explicit bitmap_panels(const panel_tuning& tuning) : one_gpu(tuning) {}

  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    take(a);
    one_gpu::prepare(settings, context);
  }

  void prepare_device(const device_rows& a, const run_settings& settings,
                      run_context& context) override {
    take(a);
    one_gpu::prepare(settings, context);
  }

  void run(run_context& context) override {
    handed_over_.reset();
    one_gpu::run(context);
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
    if (rows_alone()) {
      out = variant::supernodal(rule);
      return;
    }
    supernodal_to_host(panels_.view(), {panels_.positions, panels_.column_blocks}, rule,
                       settings_.threads, budget_, out);
  }

  bool masks_into(mask_pattern& out) override {
    complete_panels();
    if (rows_alone() || waves_.count() > 1) return false;
    const panel_view p = panels_.view();
    const offset_t positions = panels_.positions;
    static_assert(sizeof(mask_pair) == 2 * sizeof(std::uint64_t));
    host_copies copies(settings_.threads);
    copies.run(static_cast<std::size_t>(positions) * (sizeof(mask_pair) + sizeof(index_t)), [&] {
      copies.add(out.masks, reinterpret_cast<const std::uint64_t*>(p.masks), 2 * positions);
      copies.add(out.vertices, p.columns, positions);
      copies.add(out.begin, p.begin, offset_t{p.panels} + 1);
      copies.add(out.position_begin, p.position_begin, offset_t{p.panels} + 1);
    });
    take_written(out.masks, static_cast<std::size_t>(2 * positions));
    take_written(out.vertices, static_cast<std::size_t>(positions));
    take_written(out.begin, at(p.panels) + 1);
    take_written(out.position_begin, at(p.panels) + 1);
    return true;
  }

  void rows_on_device(const device_destination& to, device_rows& l, device_rows& u) override {
    const caller_memory memory(to);
    if (holds_rows_) {
      const auto copied = [&](const device_rows& a) -> device_rows {
        return {n_, a.nnz, memory.copied(a.row_ptr, offset_t{n_} + 1),
                memory.copied(a.col_idx, a.nnz)};
      };
      l = copied(expansion_.l_there(n_));
      u = copied(expansion_.u_there(n_));
    } else {
      const result& rows = rows_on_host();
      l = memory.uploaded(rows.l);
      u = memory.uploaded(rows.u);
    }
    synchronize();
  }

  device_supernodal_pattern supernodal_on_device(const supernode_rule& rule,
                                                 const device_destination& to) override {
    const caller_memory memory(to);
    device_supernodal_pattern left;
    if (rows_alone()) {
      const result& rows = rows_on_host();
      left = memory.uploaded(supernodal_of(rows.l, rows.u, rule));
      synchronize();
      return left;
    }
    const supernodal_arrays s =
        supernodal_of_panels(panels_.view(), panels_.column_blocks, rule, budget_);
    left = {
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
    if (rows_alone()) {
      const result& rows = rows_on_host();
      const supernodal_pattern s = supernodal_of(rows.l, rows.u, rule);
      added = added_columns(s, of);
      left = memory.uploaded(gsofa::expand_leaves(s, of));
    } else {
      left =
          expand_leaves(supernodal_of_panels(panels_.view(), panels_.column_blocks, rule, budget_),
                        of, budget_, memory, added);
    }
    synchronize();
    return left;
  }

 private:
  // The rows that are not on the device. collect() hands them over once.
  const result& rows_on_host() {
    if (!handed_over_) handed_over_ = collect(want::pattern);
    return *handed_over_;
  }

  std::optional<result> handed_over_;
};

}  // namespace

std::unique_ptr<variant> make_bitmap_panels(const panel_tuning& tuning) {
  return std::make_unique<bitmap_panels>(tuning);
}

}  // namespace gsofa::panels

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
    .create = GSOFA_GPU_MAKE(gsofa::panels::make_bitmap_panels({})),
});
