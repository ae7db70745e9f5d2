// labels: oracle
// program: emulated
// gpu_bitmap_panels on the emulator.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "common/generators.hpp"
#include "common/mask_pattern.hpp"
#include "common/ordering.hpp"
#include "common/preprocess.hpp"
#include "common/random.hpp"
#include "variants/device/emulated_cases.hpp"
#include "variants/panels/eliminate/eliminate.hpp"
#include "variants/panels/forest.hpp"
#include "variants/panels/runs/build.hpp"
#include "variants/panels/runs/settings.hpp"

using namespace gsofa;
using namespace gsofa::testing;

namespace {

// `count` grids of nx x 10 vertices in an order of nested dissection, one after the other on the
// diagonal.
pattern dissected_grids(int count, int nx, const std::string& filters) {
  pattern out;
  for (int k = 0; k < count; ++k) {
    const pattern grid = generate("dissected:nx=" + std::to_string(nx + k % 3) + ",ny=10,nz=1" +
                                  filters + ",seed=" + std::to_string(k));
    const index_t begin = out.n_rows;
    out.n_rows = out.n_cols = begin + grid.n_rows;
    for (index_t i = 0; i < grid.n_rows; ++i) {
      for (const index_t j : grid.row(i)) out.col_idx.push_back(begin + j);
      out.row_ptr.push_back(static_cast<offset_t>(out.col_idx.size()));
    }
  }
  return out;
}

}  // namespace

TEST_CASE("panels of all widths, for warps, blocks and clusters, in many orders of the threads") {
  const auto patterns = subjects(60, 120);
  const variant_info& info = find_variant("gpu_bitmap_panels");
  const std::vector<std::string> widths{"8", "64", "1", "2", "3", "5", "16", "33"};
  const std::vector<index_t> warp_positions{0, 12, 256};
  std::map<std::string, int> seen;
  std::uint64_t runs = 0;
  std::size_t turn = 0;
  for (const subject& s : patterns) {
    CAPTURE(s.name);
    // Every fifth combination, others of the next pattern. Five patterns have 24 of these, and one
    // number is left out for each: 29 is prime, so a combination meets all values of the settings.
    ++runs;
    for (std::size_t k = turn++ % 5; k < 24; k += 5) {
      CAPTURE(k);
      run_settings settings = settings_with(info, want::counts, {{"panel_width", widths[k % 8]}});
      panels::panel_tuning tuning;
      panels::elimination_settings& elimination = tuning.elimination;
      elimination.warp_positions = warp_positions[k / 8];
      elimination.warps_per_block = static_cast<int>(1 + runs % 5);
      elimination.cluster_positions = k % 3 == 0 ? 0 : 20;
      elimination.few_panels = runs % 5 == 0 ? 16 : 0;
      elimination.far_targets = static_cast<panels::handing_over>(runs % 5 % 3);
      elimination.most_far_work = static_cast<std::int64_t>(runs % 4 * 30);
      elimination.sharing_positions = 0;
      elimination.near_steps_of_blocks = elimination.near_steps_of_clusters =
          static_cast<index_t>(runs % 7 % 2);
      if (runs % 6 == 0) elimination.most_tasks = static_cast<index_t>(runs / 6 % 4);
      // Symmetric patterns are eliminated, too.
      if (runs / 3 % 2 == 0) tuning.closing = panels::closing_masks::never;
      const bool clusters = runs % 4 != 0;
      settings.options.set(info.options, "blocks_per_cluster", std::to_string(1 + runs % 4));
      settings.options.set(info.options, "memory_budget_mb", "40");
      // Sorted rows take another way to the supernodes than the masks.
      settings.wants = k % 2 == 0 ? info.gives : info.gives.without(want::pattern);
      settings.chunk_size = static_cast<index_t>(k % 5);
      simt::emulator::set_seed(++runs);
      run_context context;
      const auto v = panels::make_bitmap_panels(tuning);
      CHECK(fault(*v, s, settings, context) == "");
      seen["several panels"] += context.derived["panels"] > 3 ? 1 : 0;
      seen["boundaries"] += context.derived["words"] > 3 ? 1 : 0;
      seen["relabelled"] += context.derived["relabelled"] != 0 ? 1 : 0;
      seen["as they are"] += context.derived["relabelled"] == 0 ? 1 : 0;
      seen["searched"] += context.derived["searched"] != 0 ? 1 : 0;
      const index_t others = std::max(elimination.cluster_positions, elimination.warp_positions);
      seen["clusters"] += clusters && context.derived["longest_panel"] > others ? 1 : 0;
      seen["expanded"] += context.derived["expanded"] != 0 ? 1 : 0;
    }
  }
  CHECK(seen["expanded"] > 80);
  CHECK(seen["clusters"] > 80);
  CHECK(seen["several panels"] > 200);
  CHECK(seen["boundaries"] > 160);
  CHECK(seen["relabelled"] > 80);
  CHECK(seen["as they are"] > 80);
  CHECK(seen["searched"] == 0);
}

// Panels of a pattern whose masks hold A.
struct built_panels {
  built_panels(const pattern& a, const panels::panel_limits& limits) {
    budget.set_limit(offset_t{1} << 28);
    matrix.upload(a, budget);
    structure.prepare(a.n_rows, budget);
    run_context context;
    REQUIRE(panels::build(panels::view_of(matrix), structure, waves, limits, budget, context));
  }

  gpu::memory_budget budget;
  gpu::device_matrix matrix;
  panels::panel_arrays structure;
  panels::wave_places waves;
};

TEST_CASE("panels, position lists, relative places and first masks are what they are said to be") {
  const auto patterns = subjects(60, 150);
  int several = 0;
  unsigned several_ways = 0;
  for (const subject& s : patterns) {
    CAPTURE(s.name);
    for (const index_t width : {1, 2, 5, 16, 64}) {
      CAPTURE(width);
      simt::emulator::set_seed(static_cast<std::uint64_t>(width) + 100);
      const index_t n = s.a.n_rows;
      // Boundaries by way of a table, and target by target.
      const index_t many = (++several_ways & 1) != 0 ? 1 : n + 1;
      built_panels built(s.a, {.width = width, .many_vertices = many});
      const panels::panel_arrays& structure = built.structure;
      // Device memory is host memory here.
      const panels::panel_view p = structure.view();
      panels::ordered_graph g;
      g.build(s.a);
      CHECK(structure.relabelled == !g.order.empty());
      bool right = true;
      const auto require = [&](bool fact) { right = right && fact; };
      std::vector<std::set<index_t>> boundary(static_cast<std::size_t>(p.panels));
      require(p.begin[0] == 0 && p.begin[p.panels] == n);
      std::vector<std::uint32_t> children(static_cast<std::size_t>(p.panels), 0);
      for (index_t j = 0; j < p.panels; ++j) {
        std::set<index_t>& mine = boundary[static_cast<std::size_t>(j)];
        const index_t end = p.begin[j + 1];
        require(p.width(j) >= 1 && p.width(j) <= width);
        std::set<index_t> outside;
        for (index_t v = p.begin[j]; v < end; ++v) {
          require(p.panel_of[v] == j && p.caller(v) == g.caller(v));
          if (const index_t q = g.parent[static_cast<std::size_t>(v)]; q < 0 || q >= end) {
            outside.insert(q);
          }
          for (const index_t f : g.row_above(v)) mine.insert(f);
          if (g.symmetric()) continue;
          for (const auto entries : g.columns_below(v, v + 1)) {
            for (const auto& e : entries) mine.insert(e.row);
          }
        }
        require(outside.size() == 1);
        const index_t q = *outside.begin();
        require(p.parent[j] == (q < 0 ? -1 : p.panel_of[q]));
        if (q >= 0) ++children[static_cast<std::size_t>(p.parent[j])];
        mine.erase(mine.begin(), mine.lower_bound(end));
        std::vector<index_t> list;
        for (index_t v = p.begin[j]; v < end; ++v) list.push_back(v);
        list.insert(list.end(), mine.begin(), mine.end());
        require(p.length(j) == static_cast<index_t>(list.size()));
        if (!right) break;
        for (index_t z = 0; z < p.length(j); ++z) {
          const offset_t at = p.position_begin[j] + z;
          const index_t f = p.columns[at];
          require(f == list[static_cast<std::size_t>(z)] && p.position(j, f) == z);
          panels::mask_pair expected{0, 0};
          for (index_t v = p.begin[j]; v < end && v < f; ++v) {
            const auto has = [&](index_t row, index_t column) {
              return std::ranges::binary_search(s.a.row(p.caller(row)), p.caller(column));
            };
            expected.upper |= has(v, f) ? panels::bit(v - p.begin[j]) : 0;
            expected.lower |= has(f, v) ? panels::bit(v - p.begin[j]) : 0;
          }
          require(p.masks[at].upper == expected.upper && p.masks[at].lower == expected.lower);
        }
        if (q >= 0) boundary[static_cast<std::size_t>(p.parent[j])].merge(std::set(mine));
      }
      for (index_t j = 0; right && j < p.panels; ++j) {
        require(structure.children()[j] == children[static_cast<std::size_t>(j)]);
        for (index_t z = p.width(j); z < p.length(j); ++z) {
          const offset_t at = p.position_begin[j] + z;
          const index_t parent = p.parent[j];
          require(p.columns[p.position_begin[parent] + p.in_parent[at]] == p.columns[at]);
        }
      }
      CHECK(right);
      several += p.panels > 3 ? 1 : 0;
    }
  }
  CHECK(several > 200);
}

TEST_CASE("far targets are handed over where structures are unsymmetric, and nowhere else") {
  const auto tasks_of = [](const pattern& a, panels::handing_over far_targets, bool clusters,
                           std::int64_t most_far_work = -1, index_t fair_work = 1 << 20) {
    built_panels built(a, {.width = 4});
    panels::panel_arrays& structure = built.structure;
    panels::panel_elimination elimination;
    elimination.prepare(a.n_rows,
                        {.warps_per_block = 4,
                         .warp_positions = fair_work < 0 ? 24 : 8,
                         .few_panels = 0,
                         .cluster_positions = clusters ? 16 : 1 << 20,
                         .blocks_per_cluster = 2,
                         .far_targets = far_targets,
                         .most_far_work = most_far_work,
                         .fair_work = fair_work,
                         .sharing_positions = 0,
                         .near_steps_of_blocks = 0,
                         .near_steps_of_clusters = 0},
                        built.budget);
    elimination.run({structure.view(), structure.children(), structure.finished(),
                     structure.control(), structure.longest},
                    {0, structure.view().panels});
    return elimination.tasks();
  };
  using enum panels::handing_over;
  const pattern one_way = generate("grid7:nx=7,oneway=1");
  const pattern upwind = generate("dg:nx=4,nz=1");
  for (const bool clusters : {false, true}) {
    CAPTURE(clusters);
    for (const auto far_targets : {automatic, on}) {
      CHECK(tasks_of(one_way, far_targets, clusters) > 20);
      CHECK(tasks_of(upwind, far_targets, clusters) > 0);
      CHECK(tasks_of(generate("grid7:nx=7"), far_targets, clusters) == 0);
      CHECK(tasks_of(generate("elasticity3d:nx=4"), far_targets, clusters) == 0);
    }
    CHECK(tasks_of(one_way, off, clusters) == 0);
    CHECK(tasks_of(one_way, automatic, clusters, 1 << 20) == 0);
    CHECK(tasks_of(one_way, automatic, clusters, 1 << 20, -1) > 20);
  }
}

TEST_CASE("patterns of low symmetry with more column blocks than a worker lists") {
  const variant_info& info = find_variant("gpu_bitmap_panels");
  int turn = 0;
  for (const auto& [spec, width] :
       std::vector<std::pair<std::string, std::string>>{{"random:n=400,degree=3,seed=2", "1"},
                                                        {"random:n=500,degree=3,seed=3", "2"},
                                                        {"grid7:nx=9,oneway=1", "4"},
                                                        {"dg:nx=3", "3"},
                                                        {"convection:nx=8,conductive=0.3", "5"},
                                                        {"fields:nx=6,coupling=random", "7"}}) {
    CAPTURE(spec);
    const pattern a = generate(spec);
    const auto truth = reference::make_truth(reference::row_union(a));
    // Workers hand over from the beginning on, or from a point on in the launches of blocks or of
    // clusters; near targets are one, some or all. A setting for each pattern.
    const int k = turn++;
    CAPTURE(k);
    run_settings settings = settings_with(info, info.gives, {{"panel_width", width}});
    run_context context;
    const auto v = panels::make_bitmap_panels(
        {.elimination = {
             .warps_per_block = 2 + 2 * (k % 2),
             .warp_positions = 16,
             .few_panels = 0,
             .cluster_positions = k < 3 ? 2048 : 40,
             .blocks_per_cluster = 2,
             .far_targets = k % 3 == 0 ? panels::handing_over::on : panels::handing_over::automatic,
             .most_far_work = k % 3 * 100,
             .sharing_positions = 0,
             .near_steps_of_blocks = k % 3,
             .near_steps_of_clusters = k % 2}});
    simt::emulator::set_seed(static_cast<std::uint64_t>(k));
    v->prepare(a, settings, context);
    const result r = run_once(*v, settings.wants, context);
    CHECK(context.derived["searched"] == 0);
    CHECK(reference::compare(truth, r, settings.wants, settings.chunk_size).reason == "");
  }
}

TEST_CASE("where the positions are not admitted, rows are searched, and every run begins anew") {
  const variant_info& info = find_variant("gpu_bitmap_panels");
  int searched = 0;
  for (const subject& s : subjects(60, 60)) {
    CAPTURE(s.name);
    run_settings settings =
        settings_with(info, info.gives, {{"panel_width", "4"}, {"memory_budget_mb", "40"}});
    run_context context;
    const auto v = panels::make_bitmap_panels({.most_positions = 12, .waves = false});
    CHECK(fault(*v, s, settings, context) == "");
    CHECK((context.derived["searched"] != 0 || context.derived["positions"] <= 12));
    searched += context.derived["searched"] != 0 ? 1 : 0;
  }
  CHECK(searched > 20);
}

TEST_CASE("panels are released wave by wave where the positions are not admitted at once") {
  const variant_info& info = find_variant("gpu_bitmap_panels");
  const std::vector<std::string> widths{"8", "64", "1", "3", "16"};
  std::map<std::string, int> seen;
  std::uint64_t runs = 0;
  std::uint64_t turn = 0;
  std::vector<subject> patterns = subjects(40, 60);
  // Grids in an order of nested dissection, one and several.
  for (int k = 0; k < 20; ++k) {
    const int count = 1 + k % 3 * 8;
    const int nx = count == 1 ? 10 + k / 3 % 4 * 2 : 1 + k / 3 % 2;
    patterns.push_back(subject_of(dissected_grids(count, nx, ",drop=0.2,oneway=0.3"),
                                  std::to_string(count) + " grids, " + std::to_string(k)));
  }
  for (const subject& s : patterns) {
    CAPTURE(s.name);
    for (const offset_t quarters : {1, 2, 3, 5, 8, 12, 20}) {
      // Every other budget, the others of the next pattern.
      if (++turn % 2 == 0) continue;
      ++runs;
      CAPTURE(runs);
      run_settings settings = settings_with(info, info.gives.without(want::pattern),
                                            {{"panel_width", widths[runs % widths.size()]},
                                             {"blocks_per_cluster", std::to_string(1 + runs % 3)},
                                             {"memory_budget_mb", "40"}});
      settings.chunk_size = static_cast<index_t>(runs % 7 == 6 ? 150 : runs % 7);
      panels::panel_tuning tuning;
      tuning.most_positions = std::max<offset_t>(1, quarters * s.a.n_rows / 4);
      tuning.elimination.warp_positions = static_cast<index_t>(runs % 3 * 3);
      tuning.elimination.cluster_positions = 8;
      tuning.elimination.warps_per_block = static_cast<int>(1 + runs % 5);
      tuning.elimination.few_panels = runs % 5 == 0 ? 16 : 0;
      tuning.elimination.far_targets = static_cast<panels::handing_over>(runs % 5 % 3);
      tuning.elimination.most_far_work = static_cast<std::int64_t>(runs % 4 * 30);
      tuning.elimination.sharing_positions = 0;
      tuning.elimination.near_steps_of_blocks = tuning.elimination.near_steps_of_clusters =
          static_cast<index_t>(runs % 7 % 2);
      if (runs / 7 % 2 == 0) tuning.closing = panels::closing_masks::never;
      simt::emulator::set_seed(runs);
      run_context context;
      const auto v = panels::make_bitmap_panels(tuning);
      CHECK(fault(*v, s, settings, context) == "");
      if (context.derived["searched"] != 0) {
        ++seen["searched"];
        continue;
      }
      const auto waves = context.derived["waves"];
      CHECK((waves > 1) == (context.derived["positions"] > tuning.most_positions));
      CHECK(context.derived["positions_held"] <= tuning.most_positions);
      seen["in one"] += waves == 1 ? 1 : 0;
      seen["in several"] += waves > 1 ? 1 : 0;
      seen["in many"] += waves > 4 ? 1 : 0;
      seen["relabelled"] += waves > 1 && context.derived["relabelled"] != 0 ? 1 : 0;
      seen["clusters"] += waves > 1 && runs % 3 > 0 && context.derived["longest_panel"] > 8;
    }
  }
  CHECK(seen["searched"] > 10);
  CHECK(seen["in one"] > 25);
  CHECK(seen["in several"] > 25);
  CHECK(seen["in many"] > 5);
  CHECK(seen["relabelled"] > 5);
  CHECK(seen["clusters"] > 5);
}

TEST_CASE("panels whose masks are asked for are not released: rows are searched for instead") {
  const variant_info& info = find_variant("gpu_bitmap_panels");
  const pattern a = dissected_grids(4, 2, "");
  const auto truth = reference::make_truth(reference::row_union(a));
  for (const bool masks : {false, true}) {
    run_settings settings =
        settings_with(info, want::counts,
                      {{"panel_width", "4"}, {"memory_budget_mb", "40"}, {"counts", "panels"}});
    settings.supernodal = masks;
    run_context context;
    const auto v = panels::make_bitmap_panels({.most_positions = a.n_rows});
    v->prepare(a, settings, context);
    const result r = run_once(*v, settings.wants, context);
    CHECK(reference::compare(truth, r, settings.wants, settings.chunk_size).reason == "");
    CHECK((context.derived["waves"] > 1) == !masks);
    CHECK((context.derived["searched"] != 0) == masks);
    mask_pattern out;
    CHECK_FALSE(dynamic_cast<gives_masks&>(*v).masks_into(out));
    if (!masks) continue;
    const result rows = v->collect(want::pattern);
    CHECK(rows.l.nnz() == truth.nnz_l);
    CHECK(rows.u.nnz() == truth.nnz_u);
  }
}

TEST_CASE("a search is announced once, with the budget that would avoid it") {
  const variant_info& info = find_variant("gpu_bitmap_panels");
  const pattern a = generate("grid5:nx=9");
  const run_settings settings =
      settings_with(info, want::counts, {{"memory_budget_mb", "40"}, {"counts", "panels"}});
  run_context context;
  std::vector<std::string> said;
  context.say = [&](const std::string& line) { said.push_back(line); };
  const auto v = panels::make_bitmap_panels({.most_positions = 1});
  v->prepare(a, settings, context);
  for (int k = 0; k < 2; ++k) run_timed(*v, context);
  CHECK(context.derived["searched"] == 1);
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("the host searches 81 rows; memory_budget_mb=1 ") != std::string::npos);
}

TEST_CASE("orders above 2^15 on the emulator, where the work is linear") {
  const named_pattern p = large_pattern(2);
  REQUIRE(p.a.n_rows == 32769);
  const auto truth = reference::make_truth(reference::row_union(p.a));
  const variant_info& info = find_variant("gpu_bitmap_panels");
  run_settings settings = settings_with(info, info.gives);
  run_context context;
  const auto v = info.create();
  v->prepare(p.a, settings, context);
  const result r = run_once(*v, settings.wants, context);
  CHECK(reference::compare(truth, r, settings.wants, settings.chunk_size).reason == "");
}

TEST_CASE("a run takes nothing from the run before: another pattern in the same arrays") {
  const variant_info& info = find_variant("gpu_bitmap_panels");
  random_source random(11);
  for (const subject& s : subjects(60, 90)) {
    CAPTURE(s.name);
    // Another pattern of as many entries.
    std::vector<index_t> order = identity_order(s.a.n_rows);
    for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random.below(k)]);
    const pattern other = permute(s.a, order, order);
    const auto other_truth = reference::make_truth(reference::row_union(other));
    gpu::memory_budget budget;
    budget.set_limit(offset_t{1} << 28);
    gpu::device_matrix matrix;
    matrix.upload(s.a, budget);
    run_settings settings = settings_with(info, info.gives.without(want::pattern),
                                          {{"panel_width", "6"}, {"memory_budget_mb", "40"}});
    settings.chunk_size = 7;
    const auto v = panels::make_bitmap_panels({.many_vertices = 1 << 20});
    run_context context;
    dynamic_cast<takes_device_rows&>(*v).prepare_device(matrix.rows(), settings, context);
    const auto is_right = [&](const reference::truth& truth) {
      const result r = run_once(*v, settings.wants, context);
      return reference::compare(truth, r, settings.wants, settings.chunk_size).reason == "";
    };
    for (int k = 0; k < 2; ++k) CHECK(is_right(s.truth));
    gpu::copy_to_device(const_cast<offset_t*>(matrix.row_ptr()), other.row_ptr.data(),
                        offset_t{other.n_rows} + 1);
    gpu::copy_to_device(const_cast<index_t*>(matrix.col_idx()), other.col_idx.data(), other.nnz());
    for (int k = 0; k < 2; ++k) CHECK(is_right(other_truth));
  }
}

TEST_CASE(
    "explicit rows of more entries than a warp gathers, of masks with one run and with many") {
  const variant_info& info = find_variant("gpu_bitmap_panels");
  std::uint64_t seed = 0;
  int longer = 0;
  for (const char* spec :
       {"grid27:nx=7,drop=0.3", "grid7:nx=8,oneway=1", "random:n=350,degree=5"}) {
    CAPTURE(spec);
    const subject s = subject_of(generate(spec), spec);
    // A warp of the emulator gathers 64 entries and a mask.
    if (std::ranges::max(s.truth.l_row_counts) > 128) ++longer;
    for (const char* width : {"64", "7"}) {
      CAPTURE(width);
      run_settings settings = settings_with(info, want_set(want::counts) | want::pattern,
                                            {{"panel_width", width}, {"memory_budget_mb", "80"}});
      simt::emulator::set_seed(++seed);
      run_context context;
      const auto v = panels::make_bitmap_panels({});
      CHECK(fault(*v, s, settings, context) == "");
    }
  }
  CHECK(longer > 0);
}

TEST_CASE("an object that is prepared again has the budget of a new one") {
  const variant_info& info = find_variant("gpu_bitmap_panels");
  const pattern a = generate("dissected:nx=24");
  const pattern smaller = generate("dissected:nx=9");
  run_settings settings = settings_with(info, want::counts, {{"counts", "panels"}});
  const auto v = panels::make_bitmap_panels({});
  for (const char* megabytes : {"3", "40"}) {
    CAPTURE(megabytes);
    settings.options.set(info.options, "memory_budget_mb", megabytes);
    std::vector<std::int64_t> waves;
    for (const pattern* p : {&a, &a, &smaller, &a}) {
      run_context context;
      v->prepare(*p, settings, context);
      run_timed(*v, context);
      if (p == &a) waves.push_back(context.derived["searched"] != 0 ? 0 : context.derived["waves"]);
    }
    CHECK(waves == std::vector<std::int64_t>(3, waves[0]));
    CHECK((waves[0] == 1) == (std::string(megabytes) == "40"));
  }
}
