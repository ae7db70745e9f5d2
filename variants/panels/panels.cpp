#include "variants/panels/panels.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "variants/panels/schedule.hpp"

namespace gsofa::detail {

namespace {

struct cuts {
  std::vector<index_t> begin, outer;  // of each panel: first vertex, q(J)
};

// Cuts the vertices first .. last - 1, where no panel may hold vertices on both sides of `first`.
void cut_range(std::span<const index_t> parent, index_t first, index_t last, index_t width,
               cuts& out) {
  out.begin.clear();
  out.outer.clear();
  for (index_t v = first; v < last; ++v) {
    const index_t q = parent[at(v)];
    const bool leaf = v == first || parent[at(v) - 1] != v;
    if (!leaf && v - out.begin.back() < width) {
      // v is q of the panel before it: with v inside, its parent takes that place.
      out.outer.back() = q;
    } else {
      out.begin.push_back(v);
      out.outer.push_back(q);
    }
    // Ranges side by side with the same q are one panel if they fit.
    while (out.begin.size() > 1 && out.outer[out.outer.size() - 2] == q &&
           v + 1 - out.begin[out.begin.size() - 2] <= width) {
      out.begin.pop_back();
      out.outer.pop_back();
    }
  }
}

// The least v >= `from` with which a panel begins whatever is before it: a subtree of more than
// `width` vertices begins with v. A panel with v - 1 that goes on, or is joined, beyond v would
// have all of the largest such subtree, as the parent of v - 1 is beyond that.
index_t next_cut(const ordered_graph& g, index_t from, index_t width) {
  const auto begin = g.subtree_begin();
  for (index_t v = from; v < g.n; ++v) {
    if (begin[at(v)] != v) continue;
    index_t x = v;
    while (x - v < width) {
      const index_t p = g.parent[at(x)];
      if (p < 0 || begin[at(p)] != v) break;
      x = p;
    }
    if (x - v >= width) return v;
  }
  return g.n;
}

}  // namespace

void cut_panels(const ordered_graph& g, int width, panel_set& s, int threads) {
  const index_t n = g.n;
  const int parts = g.subtree_begin().empty() ? 1 : threads;
  std::vector<index_t> first(at(parts) + 1, n);
  first[0] = 0;
  for (int t = 1; t < parts; ++t) {
    const auto from = static_cast<index_t>(offset_t{n} * t / parts);
    first[at(t)] = next_cut(g, std::max(from, first[at(t) - 1]), width);
  }
  std::vector<cuts> of(at(parts));
  on_threads(parts,
             [&](int t) { cut_range(g.parent, first[at(t)], first[at(t) + 1], width, of[at(t)]); });
  s.begin.clear();
  s.parent.clear();
  for (const cuts& c : of) {
    s.begin.insert(s.begin.end(), c.begin.begin(), c.begin.end());
    s.parent.insert(s.parent.end(), c.outer.begin(), c.outer.end());
  }
  s.begin.push_back(n);
  s.panel_of.resize(at(n));
  parallel_ranges<index_t>(threads, s.panels(), 256, [&](int, index_t begin, index_t end) {
    for (index_t j = begin; j < end; ++j) {
      std::fill(s.panel_of.begin() + s.begin[at(j)], s.panel_of.begin() + s.begin[at(j) + 1], j);
    }
  });
  for (index_t& q : s.parent) q = q < 0 ? -1 : s.panel_of[at(q)];
}

std::vector<index_t> panel_set::list(index_t j) const {
  std::vector<index_t> all;
  all.reserve(at(length(j)));
  for (const column_block& b : blocks[at(j)]) {
    for (mask_t m = b.members; m != 0; m &= m - 1) all.push_back(begin[at(b.panel)] + lowest(m));
  }
  return all;
}

index_t panel_set::place(index_t j, index_t v) const {
  const index_t panel = panel_of[at(v)];
  const auto found = std::ranges::lower_bound(blocks[at(j)], panel, {}, &column_block::panel);
  if (found == blocks[at(j)].end() || found->panel != panel) return -1;
  const int c = v - begin[at(panel)];
  if ((found->members & bit(c)) == 0) return -1;
  return found->base + count(found->members & below(c));
}

void position_builder::boundary_set::resize(index_t panels) {
  members_.assign(at(panels), 0);
  summary_.assign(members_.size() / 64 + 1, 0);
  top_.assign(summary_.size() / 64 + 1, 0);
}

void position_builder::boundary_set::insert(index_t panel, mask_t members) {
  const auto p = at(panel);
  if (members_[p] == 0) {
    if (summary_[p / 64] == 0) top_[p / 4096] |= bit(static_cast<int>(p / 64 % 64));
    summary_[p / 64] |= bit(static_cast<int>(p % 64));
  }
  members_[p] |= members;
}

index_t position_builder::boundary_set::take(std::vector<column_block>& out, index_t base) {
  for (std::size_t t = 0; t < top_.size(); ++t) {
    for (; top_[t] != 0; top_[t] &= top_[t] - 1) {
      const std::size_t u = t * 64 + at(lowest(top_[t]));
      for (; summary_[u] != 0; summary_[u] &= summary_[u] - 1) {
        const std::size_t p = u * 64 + at(lowest(summary_[u]));
        const mask_t members = std::exchange(members_[p], 0);
        out.push_back({.members = members, .panel = static_cast<index_t>(p), .base = base});
        base += count(members);
      }
    }
  }
  return base;
}

void position_builder::find_blocks(const ordered_graph& g, panel_set& s, index_t j, int thread) {
  worker& mine = workers_[at(thread)];
  boundary_set& set = mine.set;
  const index_t begin = s.begin[at(j)];
  const index_t end = s.begin[at(j) + 1];
  // A boundary vertex of a child is in this panel or in its boundary; so is each neighbour in A.
  // The first two blocks of a child are its own and that of this panel.
  for (index_t child = first_child_[at(j)]; child >= 0; child = sibling_[at(child)]) {
    for (const column_block& b : s.blocks[at(child)].subspan(2)) set.insert(b.panel, b.members);
  }
  const auto insert = [&](std::span<const index_t> neighbours) {
    for (const index_t v : neighbours) {
      if (v < end) continue;
      const index_t panel = s.panel_of[at(v)];
      set.insert(panel, bit(v - s.begin[at(panel)]));
    }
  };
  for (index_t c = begin; c < end; ++c) {
    insert(g.row_above(c));
    if (!g.symmetric()) insert(g.column_above(c));
  }
  const index_t width = end - begin;
  mine.list.assign(1, {.members = first_bits(width), .panel = j, .base = 0});
  s.position_begin[at(j) + 1] = set.take(mine.list, width);
  s.blocks[at(j)] = s.storage[at(thread)].keep(mine.list);
}

GSOFA_FOR_PROCESSORS
void position_builder::fill(const ordered_graph& g, panel_set& s, index_t j,
                            places& where) noexcept {
  const index_t begin = s.begin[at(j)];
  const index_t end = s.begin[at(j) + 1];
  for (const column_block& b : s.blocks[at(j)]) where.of_panel[at(b.panel)] = b;
  mask_pair* const masks = s.masks.data() + s.position_begin[at(j)];
  std::fill(masks, masks + s.length(j), mask_pair{0, 0});
  const auto mask_of = [&](index_t v) -> mask_pair& {
    if (v < end) return masks[v - begin];
    const index_t panel = s.panel_of[at(v)];
    return masks[where.position(panel, v - s.begin[at(panel)])];
  };
  for (index_t c = begin; c < end; ++c) {
    const mask_t mine = bit(c - begin);
    if (g.symmetric()) {
      for (const index_t v : g.row_above(c)) {
        mask_pair& m = mask_of(v);
        m = {m.upper | mine, m.lower | mine};
      }
      continue;
    }
    for (const index_t v : g.row_above(c)) mask_of(v).upper |= mine;
    for (const index_t v : g.column_above(c)) mask_of(v).lower |= mine;
  }
}

bool position_builder::build(const ordered_graph& g, panel_set& s, offset_t limit, int threads) {
  const index_t panels = s.panels();
  threads = std::max(1, useful_threads(threads, panels));
  workers_.resize(at(threads));
  first_child_.assign(at(panels), -1);
  sibling_.resize(at(panels));
  for (index_t j = 0; j < panels; ++j) {
    if (const index_t p = s.parent[at(j)]; p >= 0) {
      sibling_[at(j)] = first_child_[at(p)];
      first_child_[at(p)] = j;
    }
  }
  s.position_begin.resize(at(panels) + 1);
  s.position_begin[0] = 0;
  s.blocks.resize(at(panels));
  if (s.storage.size() < at(threads)) s.storage.resize(at(threads));
  parallel_ranges<int>(threads, threads, 1, [&](int, int t, int) {
    s.storage[at(t)].clear();
    workers_[at(t)].set.resize(panels);
    workers_[at(t)].where.of_panel.resize(at(panels));
  });
  // The sum of what is found so far passes the limit only if the sum over all panels does.
  // relaxed: a hint while threads run; the verdict is read after they have joined.
  std::atomic<offset_t> items{0};
  const auto weight = [&](index_t j) {
    const index_t v = s.begin[at(j)];
    return g.entries_before(v) + v;
  };
  for_each_panel(threads, s.parent, weight, [&](int thread, index_t j, index_t) {
    if (items.load(std::memory_order_relaxed) > limit) return;
    find_blocks(g, s, j, thread);
    const offset_t found = s.position_begin[at(j) + 1] + std::ssize(s.blocks[at(j)]);
    if (threads == 1) {
      items.store(items.load(std::memory_order_relaxed) + found, std::memory_order_relaxed);
    } else {
      items.fetch_add(found, std::memory_order_relaxed);
    }
  });
  if (items.load(std::memory_order_relaxed) > limit) return false;

  for (index_t j = 0; j < panels; ++j) s.position_begin[at(j) + 1] += s.position_begin[at(j)];
  s.masks.resize(at(s.positions()));
  parallel_ranges<index_t>(threads, panels, 16, [&](int thread, index_t first, index_t last) {
    for (index_t j = first; j < last; ++j) fill(g, s, j, workers_[at(thread)].where);
  });
  return true;
}

}  // namespace gsofa::detail
