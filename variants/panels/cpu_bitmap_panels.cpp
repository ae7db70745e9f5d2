// cpu_bitmap_panels: symbolic LU by elimination over panels of the elimination tree of A + A^T,
// every panel a list of positions with two bit masks each. One core or several; exact.
//
// Rule (Rose & Tarjan 1978): U(k, >k) is A(k, >k) and the U(j, >k) of all j < k with L(k, j) != 0;
// L by columns likewise. Schedule: the etree of A + A^T (Liu 1990), because L(k, j) or U(j, k) != 0
// only if k is an ancestor of j. Reduction: symmetric pruning (Eisenstat & Liu 1992), and its
// counterpart inside a panel. Nothing is searched for: an entry's place is known beforehand, in the
// structure of chol(A + A^T), and elimination is OR, AND and shifts of words.
//
// Steps of a run, each in a file of this folder, each on flat arrays:
//  1. forest    etree; if the numbering is no postorder, vertices are relabelled by one (exact:
//               forest.hpp). Columns of A by transposition, unless A is symmetric.
//  2. panels    cut_panels: ranges of at most panel_width vertices with one parent outside.
//  3. panels    position_builder: F_J = columns of panel J, then its boundary, the union of the
//               children's boundaries and of A's entries beyond J; every boundary position's place
//               in the parent's F; masks set to A.
//  4. elimination, for J ascending or, on threads, by tickets from the leaves (schedule.hpp):
//       close(J): the diagonal block by Gaussian elimination on 64 words; then every boundary
//         position z on its own: row k of the panel reaches rows i > k with L(i, k) != 0, so the
//         mask of U(:, F[z]) becomes all rows that its members reach; L(F[z], :) likewise along U.
//       push(J): for each run of boundary positions that are columns of one panel P (the targets),
//         find which rows j of J each target t takes, and OR, for every later position z of J, the
//         set of targets with such a j in the mask of z into the masks of P at the place of F[z].
//  5. expansion counts: population counts of the masks (by columns of 64 x 64 blocks for U).
//               Digests and sorted rows only when asked for, outside the run.
// Supernodes: variants/support/supernodes.hpp on the caller's rows; L(s, r) by binary search in F
// and one bit.
//
// Row j of panel J (closed; b + j its vertex) need not go to target t, L(t, j) != 0, when a row i,
// j < i < t, does whose U(i, >t) holds U(j, >t):
//  a. i in J, L(t, i) != 0 and L(i, j) != 0, or a chain of such steps from j to i: U(j, >i) is in
//     U(i, :) by the rule for k = i. (`uncovered`)
//  b. s < t with L(s, j) != 0 and U(j, s) != 0: U(j, >s) is in U(s, :), and L(t, s) != 0 by the
//     rule for L, so that s has or will have passed it on to t. (`unpruned`)
// Both name a larger index below t; the largest of a chain of them is not dropped. By induction on
// t no entry is lost, and nothing is ever added that the rule does not add. Columns of L: the same
// with L and U exchanged; b is its own mirror image.
//
// Invariants: bit c of masks[p].upper (lower), p a position of panel J with vertex f = F_J[p], is
// U(b + c, f) (L(f, b + c)), and only bits with b + c < f are ever set. Before close(J): bits of A
// and of pushes, all of them entries of L+U; after it all bits that there are. Bits are never
// cleared. Encoding: 16 bytes of masks, 4 of F and 4 of in_parent per position, panels in ascending
// order.
//
// Cost: with P positions, O(nnz log n) for 1, O(P + nnz) words for 3 and 5, one closure of two
// words per position in 4 (rounds: members not reached by smaller ones, mostly 1 to 3) and about
// one OR of two words per position for the pushes. 24 P bytes + 4 to 28 per entry of A + 40 |V|. P
// is the sum over panels of |F|, about 1/64 of |chol(A + A^T)| where that is dense. Where P passes
// 2^18 + 16 nnz(A), a search of rows (gilbert_peierls.hpp) of bounded length is tried first, and
// where it passes memory_budget_mb, rows are all there is: memory is that of L+U in supernodal
// lists then.

#include <algorithm>
#include <memory>

#include "variants/panels/elimination.hpp"
#include "variants/panels/expansion.hpp"
#include "variants/panels/schedule.hpp"
#include "variants/support/counting.hpp"
#include "variants/support/gilbert_peierls.hpp"
#include "variants/support/supernodes.hpp"

namespace gsofa {
namespace {

// List entries that a search of rows passes in the time that one position takes, about.
constexpr offset_t edges_per_position = 8;

class cpu_bitmap_panels final : public variant {
 public:
  void prepare(const pattern_view& a, const run_settings& settings, execution& exec) override {
    a_ = a;
    settings_ = settings;
    rows_.prepare(a, settings);
    limit_ = settings.options.integer("memory_budget_mb") * (1 << 20) / detail::bytes_per_position;
    exec.predicted_bytes["vertex_arrays"] = offset_t{a.n_rows} * 36 + a.nnz() * 4;
  }

  void run(execution& exec) override {
    // More positions than this: try rows first.
    const offset_t few = (offset_t{1} << 18) + 16 * a_.nnz();
    {
      const phase timed(exec, phase_id::schedule);
      graph_.build(a_);
      exec.check_deadline();
      detail::cut_panels(graph_, static_cast<int>(settings_.options.integer("panel_width")),
                         panels_);
    }
    {
      const phase timed(exec, phase_id::init);
      by_rows_ = !builder_.build(graph_, panels_, std::min(few, limit_));
    }
    if (by_rows_) {
      exec.check_deadline();
      if (limit_ <= few) {
        rows_.run(exec);
        return;
      }
      // chol(A + A^T) is large, L+U perhaps not: whichever way is shorter costs at most a
      // constant factor more than alone.
      if (rows_.run(exec, edges_per_position * few)) return;
      const phase timed(exec, phase_id::init);
      by_rows_ = !builder_.build(graph_, panels_, limit_);
    }
    if (by_rows_) {
      rows_.run(exec);
      return;
    }
    settings_.threads > 1 ? factor<true>(exec) : factor<false>(exec);
    if (settings_.wants.has(want::supernodes)) {
      const phase timed(exec, phase_id::supernode);
      if (!graph_.order.empty()) label_ = inverse_permutation(graph_.order);
      t3_starts_ = detail::t3_post_pass(u_counts_, settings_.chunk_size, [&](index_t s, index_t r) {
        return detail::has_l(panels_, vertex(s), vertex(r));
      });
    }
  }

  result collect(want_set wants) override {
    if (by_rows_) return rows_.collect(wants);
    result out;
    for (const index_t c : l_counts_) out.nnz_l += c;
    for (const index_t c : u_counts_) out.nnz_u += c;
    if (wants.has(want::counts)) {
      out.l_row_counts = l_counts_;
      out.u_row_counts = u_counts_;
    }
    if (wants.has(want::supernodes)) out.supernode_starts = t3_starts_;
    if (wants.has(want::digest) || wants.has(want::pattern)) {
      detail::expand(graph_, panels_, l_counts_, u_counts_, wants, out);
    }
    return out;
  }

 private:
  template <bool Shared>
  void factor(execution& exec) {
    const auto n = static_cast<std::size_t>(a_.n_rows);
    const int threads = useful_threads(settings_.threads, panels_.panels());
    std::vector<detail::panel_eliminator> workers(static_cast<std::size_t>(threads),
                                                  detail::panel_eliminator(panels_));
    detail::for_each_panel(threads, panels_.parent, [&](int thread, index_t j) {
      if ((j & 15) == 0) exec.check_deadline();
      detail::panel_eliminator& mine = workers[static_cast<std::size_t>(thread)];
      mine.close(j);
      mine.push<Shared>(j);
    });
    const phase timed(exec, phase_id::compact);
    l_counts_.assign(n, 0);
    u_counts_.assign(n, 0);
    parallel_ranges<index_t>(threads, panels_.panels(), 16, [&](int, index_t begin, index_t end) {
      for (index_t j = begin; j < end; ++j) {
        detail::count_panel<Shared>(graph_, panels_, j, l_counts_, u_counts_);
      }
    });
    if constexpr (detail::counting) {
      auto& totals = exec.counters.totals;
      totals["panels"] = panels_.panels();
      totals["positions"] = panels_.positions();
      for (const auto& w : workers) {
        totals["pushes"] += w.work().pushes;
        totals["push_targets"] += w.work().targets;
        totals["push_positions"] += w.work().words_read;
        totals["push_words"] += w.work().words_or;
      }
    }
  }

  [[nodiscard]] index_t vertex(index_t row) const {
    return graph_.order.empty() ? row : label_[static_cast<std::size_t>(row)];
  }

  pattern_view a_;
  run_settings settings_;
  offset_t limit_ = 0;
  bool by_rows_ = false;
  detail::ordered_graph graph_;
  detail::panel_set panels_;
  detail::position_builder builder_;
  detail::gilbert_peierls rows_;
  std::vector<index_t> l_counts_, u_counts_, t3_starts_, label_;
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "cpu_bitmap_panels",
    .device = "cpu",
    .summary = "elimination over etree panels of up to 64 columns, held as bit masks",
    .citation = "Rose & Tarjan 1978; Liu 1990; Eisenstat & Liu 1992",
    .options = {{.name = "panel_width",
                 .default_value = std::int64_t{64},
                 .help = "most columns of a panel",
                 .minimum = 1,
                 .maximum = 64},
                {.name = "memory_budget_mb",
                 .default_value = std::int64_t{4096},
                 .help = "most MiB for the bit masks and their position lists; where "
                         "chol(A + A^T) needs more, rows are searched as in cpu_gilbert_peierls",
                 .minimum = 0,
                 .maximum = std::int64_t{1} << 30}},
    .multithreaded = true,
    .create = [] { return std::make_unique<gsofa::cpu_bitmap_panels>(); },
});
