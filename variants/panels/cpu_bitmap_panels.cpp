// cpu_bitmap_panels: symbolic LU by elimination over panels of the elimination tree of A + A^T, on
// one host thread or several. Exact for every pattern and order.
//
// Source: Rose & Tarjan 1978 (the rule), Liu 1990 (the elimination tree), Eisenstat & Liu 1992
// (symmetric pruning). README.md has the algorithm and the terms, PROOFS.md the proofs.
//
// Stages of a run, each in a file of this folder:
//  1. forest       elimination tree; relabelled A if the numbering is no postorder of it
//  2. cut          panels of at most panel_width vertices with one parent outside
//  3. lists        the position list of every panel, and its masks, set to A
//  4. elimination  factor and update, panel by panel: ascending on one thread, subtree by
//                  subtree on several; idle threads take pieces of large panels
//                  (schedule.hpp)
//  5. results      row counts while panels are factored; digests and sorted rows outside the run
// T3 supernodes: variants/support/supernodes.hpp, with L(s, r) from one bit of a mask.
//
// Invariant: bit c of masks[J][z].upper (lower), f = F_J[z], is U(b + c, f) (L(f, b + c)); only
// bits with b + c < f are ever set. Before factor(J) the masks hold bits of A and of updates, all
// of them entries of L + U; after factor_boundary_and_update(J) they hold all entries. Bits are
// never cleared. Encoding: 16 bytes of masks per position, 16 bytes per block of a list (members,
// panel, position of the first member).
//
// Cost, with P positions in B blocks: O(nnz log n) for 1; O(P + B + nnz) words for 3 and 5; in 4
// one closure of two words per position (usually 1 to 3 rounds) and about one OR of two words per
// position. Memory: 16 (P + B) bytes, 55 n, and 8 per entry of A below the diagonal unless A is
// symmetric; several threads add 8 n, and each 16 bytes per panel and 8 per vertex above the small
// subtrees. P is the sum of |F_J|, about |chol(A + A^T)| / 64 where that is dense; B is about P /
// 12 in nested dissection.
//
// Row search: if P + B passes 2^18 + 16 nnz(A), a row search of bounded length runs first
// (gilbert_peierls.hpp); if P + B passes the limit of memory_budget_mb, an unbounded one.

#include <algorithm>
#include <memory>
#include <numeric>

#include "common/mask_pattern.hpp"
#include "variants/panels/elimination.hpp"
#include "variants/panels/results.hpp"
#include "variants/panels/schedule.hpp"
#include "variants/panels/supernodal.hpp"
#include "variants/support/counting.hpp"
#include "variants/support/gilbert_peierls.hpp"
#include "variants/support/supernodes.hpp"

namespace gsofa::panels {
namespace {

// A row search passes about this many list entries in the time of one position.
constexpr offset_t edges_per_position = 8;

// Idle threads take blocks of a panel in pieces of about this many positions.
constexpr index_t positions_of_a_piece = 256;

// Entries of A or positions: each thread must have at least `of_one` to repay its start. Further
// threads are started from `of_several` on, about a millisecond of work for one thread.
struct work_of_threads {
  offset_t of_one, of_several;
};
constexpr work_of_threads entries_of_threads{.of_one = offset_t{1} << 15,
                                             .of_several = offset_t{5} << 15};
constexpr work_of_threads positions_of_threads{.of_one = offset_t{1} << 13,
                                               .of_several = offset_t{1} << 16};

// The number of threads, 1 .. `threads`, for this amount of work.
int threads_for(offset_t work, work_of_threads of, int threads, bool started = false) {
  if (work < of.of_several && !started) return 1;
  return static_cast<int>(std::clamp<offset_t>(work / of.of_one, 1, threads));
}

// Factors panels and updates their ancestors, on one thread or several. Idle threads take pieces
// (consecutive blocks) of large panels above the small subtrees.
class panel_workers {
 public:
  panel_workers(const ordered_graph& g, panel_set& s, row_counter& counter, int threads)
      : s_(&s), counter_(&counter), board_(threads), pieces_(at(threads)) {
    const std::span<const index_t> tree =
        g.symmetric() ? std::span<const index_t>(g.parent) : std::span<const index_t>();
    of_.assign(at(threads), panel_eliminator(s, tree));
  }

  void work(int thread, const panel_task& task) {
    const index_t j = task.panel;
    const bool is_large = task.above && s_->length(j) >= 2 * positions_of_a_piece;
    panel_eliminator& mine = of_[at(thread)];
    const factored_panel& f = is_large ? mine.factor(j, positions_of_a_piece) : mine.factor(j);
    if (is_large) find_updates(thread, f);
    const job all{.factored = &f, .task = task, .first = 0, .blocks = s_->blocks[at(j)].size()};
    const std::uint32_t pieces = is_large ? share(thread, all, s_->length(j)) : 1;
    if (pieces == 1) take(thread, all, 0);
    if (task.above) counter_->finish_panel(j, pieces > 1);
  }

  // Work for a thread without a panel.
  idle_result help(int thread) {
    const auto found =
        board_.help(thread, [&](const job& of, std::uint32_t k) { take(thread, of, k); });
    return found == idle_result::nothing ? counter_->add_sums() : found;
  }

  [[nodiscard]] std::span<const panel_eliminator> of_threads() const { return of_; }

 private:
  // The blocks of a factored panel from `first` on; piece k begins at block
  // first + k * (blocks - first) / pieces.
  struct job {
    const factored_panel* factored = nullptr;
    panel_task task{};
    std::size_t first = 0;
    std::size_t blocks = 0;
    std::uint32_t pieces = 1;
    update_piece* found = nullptr;  // where the updates of each piece go; null: factor and update
  };

  void take(int thread, const job& of, std::uint32_t k) {
    const std::size_t blocks = of.blocks - of.first;
    const std::size_t from = of.first + blocks * k / of.pieces;
    const std::size_t to = of.first + blocks * (k + 1) / of.pieces;
    if (of.found != nullptr) {
      of_[at(thread)].find_updates_of_piece(*of.factored, from, to, of.found[k]);
      return;
    }
    of_[at(thread)].factor_boundary_and_update(*of.factored, from, to, of.task.own);
    counter_->count(thread, of.task, from, to, of.pieces > 1);
  }

  // Shares blocks with this many positions. Returns the number of pieces; 1: nothing is done, and
  // the caller takes all blocks.
  std::uint32_t share(int thread, job of, index_t positions) {
    if (positions < 2 * positions_of_a_piece || board_.helpers() == 0) return 1;
    const std::size_t pieces = std::min(at(positions / positions_of_a_piece), 4 * of_.size());
    of.pieces = static_cast<std::uint32_t>(std::min<std::size_t>(pieces, most_pieces));
    board_.share(thread, of, of.pieces, [&](std::uint32_t k) { take(thread, of, k); });
    return of.pieces;
  }

  // Finds the updates that factor() has left to find.
  void find_updates(int thread, const factored_panel& f) {
    const auto blocks = s_->blocks[at(f.panel)];
    if (f.complete == blocks.size() || f.unpruned == 0) return;
    std::vector<update_piece>& found = pieces_[at(thread)];
    found.resize(4 * of_.size());
    const job rest{
        .factored = &f, .first = f.complete, .blocks = blocks.size(), .found = found.data()};
    const index_t positions = s_->length(f.panel) - blocks[f.complete].base;
    const std::uint32_t pieces = share(thread, rest, positions);
    if (pieces == 1) {
      of_[at(thread)].find_remaining_updates();
    } else {
      of_[at(thread)].join_pieces(std::span(found).first(pieces));
    }
  }

  panel_set* s_;
  row_counter* counter_;
  std::vector<panel_eliminator> of_;
  help_board<job> board_;
  std::vector<std::vector<update_piece>> pieces_;  // of the panel of each thread
};

class cpu_bitmap_panels final : public variant, public gives_masks {
 public:
  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    a_ = a;
    settings_ = settings;
    rows_.prepare(a, settings);
    limit_ = settings.options.integer("memory_budget_mb") * (1 << 20) / bytes_per_item;
    context.predicted_bytes["vertex_arrays"] = settings.threads > 1
                                                   ? offset_t{a.n_rows} * 63 + a.nnz() * 8
                                                   : offset_t{a.n_rows} * 55 + a.nnz() * 4;
  }

  void run(run_context& context) override {
    // With more positions and blocks than this, a row search is tried first.
    const offset_t few = (offset_t{1} << 18) + 16 * a_.nnz();
    const int threads = threads_for(a_.nnz(), entries_of_threads, settings_.threads);
    const kept_threads kept(settings_.threads);
    {
      const phase timed(context, phase_id::schedule);
      graph_.build(a_, threads);
      context.check_deadline();
      cut_panels(graph_, static_cast<int>(settings_.options.integer("panel_width")), panels_,
                 threads);
    }
    {
      const phase timed(context, phase_id::init);
      by_rows_ = !builder_.build(graph_, panels_, std::min(few, limit_), threads);
    }
    if (by_rows_) {
      context.check_deadline();
      if (limit_ <= few) {
        rows_.run(context);
        return;
      }
      // chol(A + A^T) is large, L + U perhaps not. Trying the bounded search first costs at most a
      // constant factor more than the faster of the two.
      if (rows_.run(context, edges_per_position * few)) return;
      const phase timed(context, phase_id::init);
      by_rows_ = !builder_.build(graph_, panels_, limit_, threads);
    }
    if (by_rows_) {
      rows_.run(context);
      return;
    }
    eliminate(context, threads > 1);
    if (settings_.wants.has(want::supernodes)) {
      const phase timed(context, phase_id::supernode);
      if (!graph_.order.empty()) label_ = inverse_permutation(graph_.order);
      t3_starts_ = detail::t3_post_pass(
          u_counts_, settings_.chunk_size,
          [&](index_t s, index_t r) { return has_l(panels_, vertex(s), vertex(r)); }, threads);
    }
  }

  result collect(want_set wants) override {
    result out;
    collect_into(wants, out);
    return out;
  }

  void collect_into(want_set wants, result& out) override {
    if (by_rows_) {
      out = rows_.collect(wants);
      return;
    }
    out.nnz_l = std::accumulate(l_counts_.begin(), l_counts_.end(), offset_t{0});
    out.nnz_u = std::accumulate(u_counts_.begin(), u_counts_.end(), offset_t{0});
    if (wants.has(want::counts)) {
      out.l_row_counts = l_counts_;
      out.u_row_counts = u_counts_;
    }
    if (wants.has(want::supernodes)) out.supernode_starts = t3_starts_;
    if (wants.has(want::digest) || wants.has(want::pattern)) {
      expand(graph_, panels_, l_counts_, u_counts_, wants, out);
    }
  }

  factor_profile profile(index_t cells) override {
    if (!by_rows_) return profile_panels(graph_, panels_, cells);
    const result r = rows_.collect(want::pattern);
    return profile_of(r.l, r.u, cells);
  }

  supernodal_pattern supernodal(const supernode_rule& rule) override {
    supernodal_pattern out;
    supernodal_into(rule, out);
    return out;
  }

  void supernodal_into(const supernode_rule& rule, supernodal_pattern& out) override {
    // Neighbours of relabelled vertices are not neighbours in the caller's numbering.
    if (by_rows_ || !graph_.order.empty()) {
      out = variant::supernodal(rule);
    } else {
      supernodal_of_panels(panels_, rule, scratch_, out);
    }
  }

  bool masks_into(mask_pattern& out) override {
    if (by_rows_ || !graph_.order.empty()) return false;
    out.begin = panels_.begin;
    out.position_begin = panels_.position_begin;
    out.vertices.clear();
    out.vertices.reserve(at(panels_.positions()));
    for (index_t j = 0; j < panels_.panels(); ++j) {
      const std::vector<index_t> list = panels_.list(j);
      out.vertices.insert(out.vertices.end(), list.begin(), list.end());
    }
    out.masks.clear();
    out.masks.reserve(2 * out.vertices.size());
    for (const auto& of_panel : panels_.masks) {
      for (const mask_pair& m : of_panel) {
        out.masks.push_back(m.upper);
        out.masks.push_back(m.lower);
      }
    }
    return true;
  }

 private:
  void eliminate(run_context& context, bool started) {
    const int threads = useful_threads(
        threads_for(panels_.positions(), positions_of_threads, settings_.threads, started),
        panels_.panels());
    if (threads > 1) {
      tickets_.build(
          threads, panels_.parent, [&](index_t j) { return panels_.first[at(j)]; },
          [&](index_t j) { return panels_.position_begin[at(j)]; });
    }
    counter_.start(graph_, panels_, tickets_, threads, l_counts_, u_counts_);
    panel_workers workers(graph_, panels_, counter_, threads);
    const auto work = [&](int thread, const panel_task& task) {
      if (const index_t j = task.panel; (j & 15) == 0) {
        // Panel numbers show progress for one thread only.
        threads > 1 ? context.check_deadline() : context.check_deadline(j, panels_.panels());
      }
      workers.work(thread, task);
    };
    for_each_panel(threads, panels_.parent, tickets_, work,
                   [&](int thread) { return workers.help(thread); });
    if constexpr (detail::counting) {
      auto& totals = context.counters.totals;
      totals["panels"] = panels_.panels();
      totals["positions"] = panels_.positions();
      for (const auto& w : workers.of_threads()) {
        totals["pushes"] += w.work().updates;
        totals["push_targets"] += w.work().targets;
        totals["push_positions"] += w.work().positions;
        totals["push_words"] += w.work().nonzero;
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
  ordered_graph graph_;
  panel_set panels_;
  position_builder builder_;
  detail::gilbert_peierls rows_;
  supernodal_scratch scratch_;
  subtree_tickets tickets_;
  row_counter counter_;
  std::vector<index_t> l_counts_, u_counts_, t3_starts_, label_;
};

}  // namespace
}  // namespace gsofa::panels

GSOFA_REGISTER_VARIANT({
    .name = "cpu_bitmap_panels",
    .device = "cpu",
    .summary = "elimination over etree panels of up to 64 columns, held as bit masks",
    .citation = "Rose & Tarjan 1978; Liu 1990; Eisenstat & Liu 1992",
    .options = {{.name = "panel_width",
                 .default_value = std::int64_t{64},
                 .help = "maximum number of columns in a panel",
                 .minimum = 1,
                 .maximum = 64},
                {.name = "memory_budget_mb",
                 .default_value = std::int64_t{4096},
                 .help = "maximum MiB for bit masks and position lists; if chol(A + A^T) needs "
                         "more, the run searches rows as cpu_gilbert_peierls does",
                 .minimum = 0,
                 .maximum = std::int64_t{1} << 30}},
    .multithreaded = true,
    .supernodal = true,
    .create = [] { return std::make_unique<gsofa::panels::cpu_bitmap_panels>(); },
});
