// labels: oracle
#include "variants/panels/elimination.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/digest.hpp"
#include "common/generators.hpp"
#include "common/variant.hpp"
#include "harness/check/test_patterns.hpp"
#include "reference/gaussian_elimination.hpp"
#include "variants/panels/results.hpp"
#include "variants/panels/schedule.hpp"
#include "variants/panels/stage_cases.hpp"

using namespace gsofa;

namespace {

// Searches for updates at once, first up to some position, or in pieces, by panels.
const panels::factored_panel& factor_in_parts(const panels::panel_set& s,
                                              panels::panel_eliminator& by, index_t j) {
  if (j % 3 == 0) return by.factor(j);
  const panels::factored_panel& f = by.factor(j, s.width(j) + j % 5);
  const std::size_t blocks = s.blocks[at(j)].size();
  if (f.complete == blocks || f.unpruned == 0) return f;
  if (j % 3 == 1) {
    by.find_remaining_updates();
    return f;
  }
  std::array<panels::update_piece, 3> pieces;
  const std::size_t left = blocks - f.complete;
  for (const std::size_t k : {std::size_t{2}, std::size_t{0}, std::size_t{1}}) {
    by.find_updates_of_piece(f, f.complete + left * k / 3, f.complete + left * (k + 1) / 3,
                             pieces[k]);
  }
  by.join_pieces(pieces);
  return f;
}

struct factored {
  panels::ordered_graph g;
  panels::panel_set s;
  panels::position_builder builder;
  std::vector<index_t> l_counts, u_counts;

  pattern operator()(const pattern& a, int width, int threads) {
    g.build(a);
    panels::cut_panels(g, width, s);
    REQUIRE(builder.build(g, s, max_index));
    const auto tree =
        g.symmetric() ? std::span<const index_t>(g.parent) : std::span<const index_t>();
    std::vector<panels::panel_eliminator> workers(static_cast<std::size_t>(threads),
                                                  panels::panel_eliminator(s, tree));
    panels::subtree_tickets of;
    of.build(
        threads, s.parent, [&](index_t j) { return s.first[at(j)]; },
        [&](index_t j) { return s.position_begin[at(j)]; });
    panels::row_counter counter;
    counter.start(g, s, of, threads, l_counts, u_counts);
    const auto work = [&](int t, const panels::panel_task& task) {
      panels::panel_eliminator& mine = workers[static_cast<std::size_t>(t)];
      const panels::factored_panel& f = factor_in_parts(s, mine, task.panel);
      // In two parts, the first of which may have no block of the boundary.
      const std::size_t blocks = s.blocks[at(task.panel)].size();
      const std::size_t middle = at(task.panel) % (blocks + 1);
      for (const auto& [from, to] :
           {std::pair{middle, blocks}, std::pair{std::size_t{0}, middle}}) {
        mine.factor_boundary_and_update(f, from, to, task.own);
        counter.count(t, task, from, to, task.above);
      }
      if (task.above) counter.finish_panel(task.panel, true);
    };
    panels::for_each_panel(threads, s.parent, of, work, [&](int) { return counter.add_sums(); });
    result out;
    panels::expand(g, s, l_counts, u_counts, want_set(want::pattern) | want::digest, out);
    // L and U side by side are the rows of L+U, sorted
    pattern f;
    f.n_rows = f.n_cols = a.n_rows;
    for (index_t i = 0; i < a.n_rows; ++i) {
      const auto l = out.l.row(i);
      const auto u = out.u.row(i);
      CHECK(std::ranges::equal(
          std::vector<index_t>{l_counts[static_cast<std::size_t>(i)],
                               u_counts[static_cast<std::size_t>(i)]},
          std::vector<index_t>{static_cast<index_t>(l.size()), static_cast<index_t>(u.size())}));
      f.col_idx.insert(f.col_idx.end(), l.begin(), l.end());
      f.col_idx.insert(f.col_idx.end(), u.begin(), u.end());
      f.row_ptr.push_back(static_cast<offset_t>(f.col_idx.size()));
    }
    CHECK(out.digest == pattern_digest(f));
    return f;
  }
};

}  // namespace

TEST_CASE("masks are L and U by Gaussian elimination: thousands of patterns, narrow panels") {
  const std::vector<named_pattern> patterns = panels::stage_cases(200, 2500);
  factored factor;
  for (const auto& [name, a] : patterns) {
    CAPTURE(name);
    const pattern expected = reference::eliminate_boolean(a);
    for (const int width : {1, 2, 3, 4, 8, 16, 32, 64}) {
      CAPTURE(width);
      CHECK(factor(a, width, 1) == expected);
    }
    CHECK(factor(a, 3, 3) == expected);
  }
}

TEST_CASE("single entries of L are found in the masks") {
  factored factor;
  for (std::uint64_t k = 0; k < 60; ++k) {
    const auto [name, a] = random_pattern(17, k);
    CAPTURE(name);
    const pattern expected = reference::eliminate_boolean(a);
    factor(a, 4, 1);
    for (index_t i = 0; i < a.n_rows; ++i) {
      for (index_t j = 0; j < i; ++j) {
        // both in the panels' numbering; a descendant keeps the smaller number
        const bool found = panels::has_l(factor.s, i, j);
        CHECK(found ==
              (std::ranges::binary_search(expected.row(factor.g.caller(i)), factor.g.caller(j)) &&
               factor.g.caller(j) < factor.g.caller(i)));
      }
    }
  }
}

TEST_CASE("updates that are found in pieces are those of one search") {
  panels::ordered_graph g;
  panels::panel_set s;
  panels::position_builder builder;
  const pattern a = generate("grid27:nx=10,drop=0.6,oneway=0.5,seed=1");
  g.build(a);
  panels::cut_panels(g, 16, s);
  REQUIRE(builder.build(g, s, max_index));
  panels::panel_eliminator worker(s);
  std::array<panels::update_piece, 5> pieces;
  int pruned = 0;
  for (index_t j = 0; j < s.panels(); ++j) {
    const std::size_t blocks = s.blocks[at(j)].size();
    const panels::update_list expected = worker.factor(j).found;
    // Closed masks stay as they are.
    const panels::factored_panel& f = worker.factor(j, s.width(j) + 1);
    if (f.complete < blocks && f.unpruned != 0) {
      const std::size_t left = blocks - f.complete;
      std::size_t sources = f.found.sources.size();
      for (std::size_t k = 0; k < 5; ++k) {
        worker.find_updates_of_piece(f, f.complete + left * k / 5, f.complete + left * (k + 1) / 5,
                                     pieces[k]);
        sources += pieces[k].found.sources.size();
      }
      worker.join_pieces(pieces);
      CHECK(f.complete == blocks);
      pruned += sources > expected.sources.size() ? 1 : 0;
    }
    REQUIRE(f.found.updates.size() == expected.updates.size());
    REQUIRE(f.found.sources.size() == expected.sources.size());
    for (std::size_t u = 0; u < expected.updates.size(); ++u) {
      const auto& [block, first, count] = f.found.updates[u];
      CHECK(block == expected.updates[u].block);
      CHECK(first == expected.updates[u].first);
      CHECK(count == expected.updates[u].count);
    }
    for (std::size_t r = 0; r < expected.sources.size(); ++r) {
      for (std::size_t side = 0; side < 2; ++side) {
        CHECK(f.found.sources[r].source[side] == expected.sources[r].source[side]);
        CHECK(f.found.sources[r].targets[side] == expected.sources[r].targets[side]);
      }
    }
    worker.factor_boundary_and_update(f, 0, blocks, s.panels() - 1);
  }
  CHECK(pruned > 10);
}

TEST_CASE("few entries are updated twice: pruned and covered rows stay behind") {
  // A dense matrix in panels of 8: only the last row of each panel updates, and only the next
  // panel.
  pattern a;
  a.n_rows = a.n_cols = 64;
  for (index_t i = 0; i < 64; ++i) {
    for (index_t j = 0; j < 64; ++j) a.col_idx.push_back(j);
    a.row_ptr.push_back(static_cast<offset_t>(a.col_idx.size()));
  }
  panels::ordered_graph g;
  panels::panel_set s;
  panels::position_builder builder;
  g.build(a);
  panels::cut_panels(g, 8, s);
  REQUIRE(builder.build(g, s, max_index));
  REQUIRE(s.panels() == 8);
  // As if it were unsymmetric.
  panels::panel_eliminator worker(s);
  // All of A but its first row and column is fill that the updates have to carry on.
  for (std::size_t j = 1; j < 8; ++j) std::ranges::fill(s.masks[j], panels::mask_pair{0, 0});
  for (index_t j = 0; j < 8; ++j) {
    const panels::factored_panel& f = worker.factor(j);
    worker.factor_boundary_and_update(f, 0, s.blocks[at(j)].size(), s.panels() - 1);
    // the first target after the panel takes the row and the column over; later ones get nothing
    if (j + 1 < 8) {
      CHECK(s.masks[at(j) + 1][1].upper == 1);
      CHECK(s.masks[at(j) + 1][1].lower == 1);
    }
    if (j + 2 < 8) {
      CHECK(s.masks[at(j) + 2][1].upper == 0);
    }
  }
}

namespace {

result found_by(const char* variant, const pattern& a, int threads) {
  const variant_info& info = find_variant(variant);
  run_settings settings = settings_with(info, want::counts);
  settings.threads = threads;
  run_context context;
  const auto v = info.create();
  v->prepare(a, settings, context);
  // What a run leaves may not change the next one.
  for (int run = 0; run < 3; ++run) run_timed(*v, context);
  return v->collect(want_set(want::counts) | want::digest);
}

}  // namespace

TEST_CASE("threads that help with large panels find what a search of rows finds") {
  for (const char* spec :
       {"grid7:nx=36,drop=0.1,seed=1", "grid7:nx=34", "grid7:nx=30,oneway=0.5"}) {
    CAPTURE(spec);
    const pattern a = generate(spec);
    const result expected = found_by("cpu_gilbert_peierls", a, 1);
    for (const int threads : {1, 2, 5}) {
      const result r = found_by("cpu_bitmap_panels", a, threads);
      CHECK(r.digest == expected.digest);
      CHECK(r.l_row_counts == expected.l_row_counts);
      CHECK(r.u_row_counts == expected.u_row_counts);
    }
  }
}
