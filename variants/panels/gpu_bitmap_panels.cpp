// gpu_bitmap_panels: cpu_bitmap_panels on the device. Symbolic LU by elimination over panels of the
// elimination tree of A + A^T, every panel a list of positions with two bit masks each. Everything
// behind the prepared CSR runs on the device, but for the postorder of an input that has none;
// exact for every input order.
//
// The rule, the two reductions (symmetric pruning, and its counterpart inside a panel), the
// relabelling and their proofs are in cpu_bitmap_panels.cpp and the files that it names. Panels are
// cut by another rule, which looks at neighbourhoods instead of sweeping over the vertices:
// cut_scan in variants/panels/gpu_structure.cu. Invariant: at most panel_width consecutive
// vertices, whose parents outside are one vertex q(J), the parent of the last, or none.
//
// Encoding (panel_view in variants/panels/gpu_panels.hpp). The boundary of a panel is held twice:
// as words, (panel T, mask of its vertices in T), 16 bytes each with the place of the first; and as
// positions, 24 bytes each: two masks, the vertex, its place in the parent panel. A vertex has 92
// bytes beside, and what is wanted of its row; a panel has 36 for its next eight ancestors. The
// result is the masks with the position lists; rows are read off on demand.
//
// Launches of a run, in order; [h]: the host waits for what a kernel notes in its memory. Fills are
// not counted. 1 to 12 depend on nothing that is found: they are recorded when a matrix is prepared
// and repeated by one call (`recorded_launches`). Nearly all begin while the one before ends
// (simt::after_earlier_launches).
//   1  leftmost         a lane per entry of A: the least neighbour of every vertex
//   2  minima           of groups of 32, and of groups of these, and so on
//   3  nearest parents  a thread per vertex: the forest that is the elimination tree if the
//                       numbering is a postorder of it (proof in bitmap_panels_structure.cu)
//   4  subtree          a thread per vertex: its subtree, up to panel_width
//   5-6 cut             reduce and scan: runs, panels, depths
//   7  panel tree       children of panels, lists of siblings
//   8  justify          a lane per entry of A: do all siblings have an edge from their parent?
//   9  boundary         two launches: words of entries of A are gathered in shared memory, then in
//                       a hash table; every word climbs the panel tree, four panels at a time,
//                       adding its bits until it meets what another one added
//   10 lengths          words and positions of each panel
//   11-12 offsets       reduce and scan [h: panels, words, positions, three flags]
//   13 collect          words of each panel side by side
//   14 sort             rank sort, the position where each word begins; the next eight panels above
//   15 positions        lists, places in the parent's, empty masks
//   16 scatter          bits of A
//   17 warp panels      elimination, from the leaves up to the first panel of > warp_positions;
//                       or, with few panels, none
//   18 block panels     elimination of the rest, but for panels of > cluster_positions if there are
//                       to be clusters: then a launch for these
//   19 counts           and digests
//   20 supernodes       if wanted: a thread per row gathers its L inside the chunk, one then walks
//                       over them
//   21- sorted rows     if wanted: where rows begin, reduce and scan [h: sizes]; words listed and
//                       sorted by target, a row of L reads the list of its panel; rows of U from
//                       tiles of positions, by other blocks of the same launch. Where they do not
//                       fit, or vertices were relabelled, batches of rows by way of bitmaps
//                       instead.
// Where 8 says no, edges are spliced into the elimination tree without locks, the host computes a
// postorder of it, and 4 to 12 but for 8 run again on labels. Where the table of 9 is too small, 9
// to 12 run again with four times the places.
//
// Critical path: 16 launches with little work each, what the host needs to allocate; in 9 a quarter
// of the height of the panel tree in steps of two dependent accesses. In 17-18, for each panel on
// the longest path: the diagonal block, 63 dependent steps of one shuffle in registers, between two
// transpositions; its routes, the closure of one word by each warp and the transposition of what
// its targets take; ceil(boundary / (4 threads)) sweeps, each of which closes four positions of a
// thread and passes them on to the targets of the first words; for targets behind those, further
// rounds of routes and sweeps; barriers and one increment beside. Where the panel above has no
// other child, two warps close its diagonal block and one reads what is known of it during the
// sweep. One or two targets per panel are usual; where structural symmetry is low there are many.
//
// Choice: rows are searched for as in gpu_fill2_bitparallel, whose memory does not depend on the
// fill, where memory_budget_mb or most_positions do not admit the positions (known before any
// is written), and where the rounds behind the first, counted in predicted cycles as they are made,
// pass the time that the search is predicted to take, |V| nnz(A) times a constant: never where the
// pattern is symmetric, and then about twice the time of the search.
//
// Cost with P positions, W words: O(nnz) for 1; O(W + nnz) atomics in 9; sum of squares of words
// per panel in 14; in 17-18 a closure of two words per position and about one OR of two words per
// position for the pushes. Memory: 24 P + 16 W bytes; while it is built 16 W or twice to eight
// times as much for the table.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "gpu_bitmap_panels",
    .device = "gpu",
    .summary = "elimination over etree panels of up to 64 columns, held as bit masks",
    .citation = "Rose & Tarjan 1978; Liu 1990; Eisenstat & Liu 1992",
    .options = gsofa::gpu::bitmap_panels_options(),
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_bitmap_panels(); },
});
