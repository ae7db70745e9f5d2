// labels: oracle
// program: emulated
// Which rows and columns of a factored panel update which targets: blocks of one to five warps
// against rules (a) and (b) of PROOFS.md, "No entry is lost".
#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "common/random.hpp"
#include "variants/panels/bits.hpp"
#include "variants/panels/eliminate/factor.cuh"
#include "variants/panels/eliminate/find_routes.cuh"

using namespace gsofa;
using namespace gsofa::panels::elimination;
namespace host = gsofa::panels;
using panels::mask_pair;

namespace {

// A factored panel of width w, and the column blocks of its boundary: panel 0, whose target panels
// 1, 2, ... have 64 vertices each.
struct panel_case {
  index_t w;
  diagonal_block block{};
  std::vector<index_t> begin{0}, column_block_panel, column_block_first;
  std::vector<offset_t> position_begin, column_block_begin;
  std::vector<std::uint64_t> column_block_mask;
  std::vector<mask_pair> masks;

  panel_case(index_t width, index_t targets, random_source& random) : w(width) {
    const int n = w;
    host::bit_matrix rows{};
    const std::uint64_t odds = random.below(20);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) rows[i] |= i != j && random.below(100) < odds ? host::bit(j) : 0;
    }
    host::eliminate(rows, n);
    host::bit_matrix columns = rows;
    host::transpose(columns);
    set_side(block.rows, block.l, rows, columns);
    set_side(block.cols, block.u, columns, rows);
    masks.resize(static_cast<std::size_t>(w));
    begin.push_back(w);
    for (index_t t = 1; t <= targets; ++t) {
      std::uint64_t members = random() & random();
      if (members == 0) members = 1;
      column_block_panel.push_back(t);
      column_block_first.push_back(static_cast<index_t>(masks.size()));
      column_block_mask.push_back(members);
      for (; members != 0; members &= members - 1) {
        const auto sparse = [&] { return random() & random() & random() & host::first_bits(n); };
        masks.push_back({sparse(), sparse()});
      }
      begin.push_back(begin.back() + 64);
    }
    // Positions of targets do not matter here.
    position_begin.assign(static_cast<std::size_t>(targets) + 1, 0);
    column_block_begin.assign(static_cast<std::size_t>(targets) + 2, targets);
    column_block_begin[0] = 0;
  }

  [[nodiscard]] panels::panel_view view() {
    panels::panel_view p{};
    p.begin = begin.data();
    p.position_begin = position_begin.data();
    p.column_block_begin = column_block_begin.data();
    p.column_block_panel = column_block_panel.data();
    p.column_block_mask = column_block_mask.data();
    p.column_block_first = column_block_first.data();
    p.masks = masks.data();
    return p;
  }

 private:
  void set_side(std::uint64_t* out, reach& r, const host::bit_matrix& rows,
                const host::bit_matrix& columns) const {
    host::bit_matrix from{};
    for (int k = 0; k < w; ++k) from[k] = columns[k] & host::above(k);
    host::close_ascending(from, w);
    host::bit_matrix to = from;
    host::transpose(to);
    for (int k = 0; k < w; ++k) {
      out[k] = rows[k];
      r.from[k] = from[k];
      r.to[k] = to[k];
    }
  }
};

// The routes to each target panel, as the kernels find them with blocks of so many warps.
std::vector<target_routes> found_routes(panel_case& a, unsigned warps) {
  std::vector<target_routes> out(a.column_block_panel.size());
  elimination_view view{};
  view.panels = a.view();
  const panel_place place{0, 0, static_cast<offset_t>(out.size()), a.w,
                          static_cast<index_t>(a.masks.size())};
  using memory = worker_memory<tier::block>;
  simt::emulator::run_grid(1, warps * 32, sizeof(memory), false, [&] {
    const current_panel panel =
        current_panel_of<tier::block>(view, 0, place, *simt::shared_memory<memory>());
    if (panel.leads) {
      panel.diagonal = a.block;
      panel.head.single_child_steps = 0;
      for (offset_t& above : panel.head.above_begin) above = -1;
    }
    simt::sync_block();
    std::uint64_t unpruned = unpruned_inside(panel.diagonal, a.w);
    for (offset_t round = 0; round < place.column_block_end; round += warps) {
      const column_block_head target = target_of_warp<tier::block>(panel, round);
      const lane_masks m = load_targets(panel, target);
      set_target<tier::block>(panel, target);
      const std::uint32_t active = find_routes<tier::block>(panel, m, round, unpruned);
      for (unsigned k = 0; panel.leads && k < warps; ++k) {
        if ((active >> k & 1U) != 0) {
          out.at(static_cast<std::size_t>(round) + k) = panel.routes[k];
        }
      }
      simt::sync_block();
    }
  });
  return out;
}

// Row j of U updates target t, L(t, j) != 0, unless (a) it reaches an i with L(t, i) != 0 along
// edges of L, or (b) an s < t has L(s, j) != 0 and U(j, s) != 0. Columns of L likewise.
struct expected_routes {
  std::array<std::uint64_t, 64> upper{}, lower{};  // [j]: the targets that take row, column j
};

std::vector<expected_routes> expected(const panel_case& a) {
  std::vector<expected_routes> out(a.column_block_panel.size());
  std::uint64_t pruned = 0;
  for (int j = 0; j < a.w; ++j) {
    const std::uint64_t both = a.block.rows[j] & a.block.cols[j] & host::above(j);
    pruned |= both != 0 ? host::bit(j) : 0;
  }
  for (std::size_t q = 0; q < out.size(); ++q) {
    auto z = static_cast<std::size_t>(a.column_block_first[q]);
    for (std::uint64_t left = a.column_block_mask[q]; left != 0; left &= left - 1, ++z) {
      const std::uint64_t target = left & -left;
      const mask_pair m = a.masks[z];
      for (int j = 0; j < a.w; ++j) {
        if ((pruned >> j & 1U) != 0) continue;
        const auto at = static_cast<std::size_t>(j);
        const bool in_l = (m.lower >> j & 1U) != 0;
        const bool in_u = (m.upper >> j & 1U) != 0;
        if (in_l && (a.block.l.from[j] & m.lower) == 0) out[q].upper[at] |= target;
        if (in_u && (a.block.u.from[j] & m.upper) == 0) out[q].lower[at] |= target;
      }
      pruned |= m.lower & m.upper;
    }
  }
  return out;
}

bool same(const route& r, const std::array<std::uint64_t, 64>& expected_targets) {
  for (int j = 0; j < 64; ++j) {
    const std::uint64_t found = (r.active >> j & 1U) != 0 ? r.targets[j] : 0;
    if (found != expected_targets[static_cast<std::size_t>(j)]) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("routes follow the two rules, whatever the number of warps") {
  random_source random(13);
  int updates = 0, pairs = 0;
  for (int k = 0; k < 120; ++k) {
    const auto w = static_cast<index_t>(1 + random.below(64));
    const auto targets = static_cast<index_t>(1 + random.below(9));
    const auto warps = static_cast<unsigned>(1 + random.below(5));
    CAPTURE(w);
    CAPTURE(targets);
    CAPTURE(warps);
    panel_case a(w, targets, random);
    const auto found = found_routes(a, warps);
    const auto truth = expected(a);
    for (std::size_t q = 0; q < truth.size(); ++q) {
      CAPTURE(q);
      CHECK(same(found[q].upper, truth[q].upper));
      CHECK(same(found[q].lower, truth[q].lower));
      updates += found[q].upper.active != 0 ? 1 : 0;
      ++pairs;
    }
  }
  CHECK(updates > pairs / 10);
  CHECK(updates < pairs);
}
