// gpu_bitmap_panels: cpu_bitmap_panels on the device. Symbolic LU by elimination over panels of the
// elimination tree of A + A^T, every panel a list of positions with two bit masks each. Everything
// behind the prepared CSR runs on the device, but for the postorder of an input that has none;
// exact for every input order.
//
// The rule, the two reductions (symmetric pruning, and its counterpart inside a panel), the
// relabelling and their proofs are in cpu_bitmap_panels.cpp and detail/bitmap_panels/. Panels are
// cut by another rule, which looks at neighbourhoods instead of sweeping over the vertices:
// cut_scan in detail/gpu/bitmap_panels_structure.cu. Invariant: at most panel_width consecutive
// vertices, whose parents outside are one vertex q(J), the parent of the last, or none.
//
// Encoding (panel_view in detail/gpu/bitmap_panels.hpp). The boundary of a panel is held twice: as
// words, (panel T, mask of its vertices in T), 16 bytes each with the place of the first; and as
// positions, 24 bytes each: two masks, the vertex, its place in the parent panel. A vertex has 80
// bytes beside, and what is wanted of its row. The result is the masks with the position lists;
// rows are read off on demand.
//
// Launches of a run, in order; [h]: the host waits for one small copy. Fills are not counted.
//   1  etree            a thread per entry of A; lock-free edge splicing
//   2  subtree          a thread per vertex: its subtree, up to panel_width
//   3-4 cut             reduce and scan: runs, panels, depths
//   5  panel tree       children of panels; checks that the numbering is a postorder
//   6  boundary         a thread per entry of A climbs the panel tree, adding bits to a hash table
//                       of words until it meets what another one added
//   7  lengths          words and positions of each panel
//   8-9 offsets         reduce and scan [h: panels, words, positions, two flags]
//   10 collect          words of each panel side by side
//   11 sort             rank sort, and the position where each word begins
//   12 positions        lists, and places in the parent's
//   13 scatter          bits of A
//   14 warp panels      elimination, from the leaves up to the first panel of > warp_positions
//   15 block panels     elimination of the rest
//   16 counts           and digests
//   17 supernodes       if wanted
//   18-23 sorted rows   if wanted: pieces of rows of L counted, scanned (two) and collected
//                       [h: sizes], rows of L, rows of U. Where they do not fit, or vertices were
//                       relabelled, batches of rows by way of bitmaps instead.
// Where the numbering is no postorder (a flag of 5), the host computes one, and 2 to 9 run again on
// labels. Where the table of 6 is too small, 6 to 9 run again with four times the places.
//
// Critical path: 14 launches with little work each, the latency of two copies; in 6 the height of
// the panel tree in steps of two dependent accesses. In 14-15, for each panel on the longest path:
// three passes over 64 words of shared memory, 63 dependent steps of four shuffles (block and its
// reach in one), ceil(boundary / threads) rounds of closures, then per round of as many targets as
// the block has warps three barriers, and per target that takes anything ceil(boundary / threads)
// rounds of ORs; seven barriers and one decrement beside. One or two targets per panel are usual;
// where structural symmetry is low there are many, and one block pushes to all of them.
//
// Cost with P positions, W words: O(nnz log n) for 1; O(P + nnz) atomics in 6; sum of squares of
// words per panel in 11; in 14-15 a closure of two words per position and about one OR of two words
// per position for the pushes. Memory: 24 P + 16 W bytes; while it is built 16 W or twice to eight
// times as much for the table. Where memory_budget_mb or most_positions do not admit that, rows are
// searched for as in gpu_fill2_bitparallel, whose memory does not depend on the fill.

#include "variants/detail/gpu/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "gpu_bitmap_panels",
    .device = "gpu",
    .summary = "elimination over etree panels of up to 64 columns, held as bit masks",
    .citation = "Rose & Tarjan 1978; Liu 1990; Eisenstat & Liu 1992",
    .options = gsofa::gpu::bitmap_panels_options(),
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_bitmap_panels(); },
});
