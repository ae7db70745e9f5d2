#include "variants/panels/lists.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "variants/panels/schedule.hpp"

namespace gsofa::panels {

std::vector<index_t> panel_set::list(index_t j) const {
  std::vector<index_t> all;
  all.reserve(at(length(j)));
  for (const list_block& b : blocks[at(j)]) {
    for (mask_t m = b.members; m != 0; m &= m - 1) all.push_back(begin[at(b.panel)] + lowest(m));
  }
  return all;
}

index_t panel_set::place(index_t j, index_t v) const {
  const index_t panel = panel_of[at(v)];
  const auto found = std::ranges::lower_bound(blocks[at(j)], panel, {}, &list_block::panel);
  if (found == blocks[at(j)].end() || found->panel != panel) return -1;
  const int c = v - begin[at(panel)];
  if ((found->members & bit(c)) == 0) return -1;
  return found->base + count(found->members & below(c));
}

namespace {
// Setting the masks of a list with at least this many positions takes longer than finding its
// blocks, so panels above do not wait for it.
constexpr index_t long_list = 256;
// Elements per memory block of one thread's masks. There is at least one position per vertex: a
// large page if the thread is likely to fill a quarter of it.
std::size_t least_block(index_t n, int threads) {
  const std::size_t share = at(n) / at(threads) + 1;
  const std::size_t page = large_page / sizeof(mask_pair);
  return share < page / 4 ? share : std::max(share, page);
}
constexpr std::uint64_t below_diagonal = std::uint64_t{1} << 40;
}  // namespace

void position_builder::worker::resize(index_t panels) {
  items = 0;
  if (std::exchange(is_clear, false) && of_panel.size() == at(panels)) return;
  of_panel.resize(at(panels));
  for (index_t p = 0; p < panels; ++p) of_panel[at(p)] = {.members = 0, .panel = p, .base = 0};
  summary.assign(at(panels) / 64 + 1, 0);
  top.assign(summary.size() / 64 + 1, 0);
}

void position_builder::worker::insert(index_t panel, mask_t members) {
  const auto p = at(panel);
  if (of_panel[p].members == 0) {
    top[p / 4096] |= bit(static_cast<int>(p / 64 % 64));
    summary[p / 64] |= bit(static_cast<int>(p % 64));
  }
  of_panel[p].members |= members;
}

index_t position_builder::worker::take(index_t j, index_t width) {
  list.assign(1, {.members = first_bits(width), .panel = j, .base = 0});
  index_t base = width;
  for (std::size_t t = at(j) / 4096; t < top.size(); ++t) {
    for (; top[t] != 0; top[t] &= top[t] - 1) {
      const std::size_t u = t * 64 + at(lowest(top[t]));
      for (; summary[u] != 0; summary[u] &= summary[u] - 1) {
        list_block& b = of_panel[u * 64 + at(lowest(summary[u]))];
        b.base = base;
        base += count(b.members);
        list.push_back(b);
      }
    }
  }
  return base;
}

void position_builder::worker::load(const panel_set& s, index_t j) {
  list.assign(s.blocks[at(j)].begin(), s.blocks[at(j)].end());
  for (std::size_t b = 1; b < list.size(); ++b) of_panel[at(list[b].panel)] = list[b];
}

void position_builder::worker::clear() {
  for (std::size_t b = 1; b < list.size(); ++b) of_panel[at(list[b].panel)].members = 0;
}

// Collects A in the rows and columns begin .. end - 1. Nothing branches except the ends of rows.
void position_builder::worker::collect(const ordered_graph& g, index_t begin, index_t end) {
  entries.resize(at(g.entries_of(begin, end)) + 1);
  std::fill_n(inner.begin(), end - begin, mask_pair{0, 0});
  outer_entry* next = entries.data();
  // The two unused elements of `inner` alternate: a store to one need not wait for the last store.
  index_t none = mask_bits;
  const auto take = [&](index_t v, index_t c, outer_entry side, mask_t mask_pair::*which) {
    inner[at(std::min(v - begin, none))].*which |= bit(c - begin);
    none ^= 1;
    *next = outer_entry{static_cast<std::uint32_t>(c - begin)} << 32 | side |
            static_cast<std::uint32_t>(v);
    next += v >= end ? 1 : 0;
  };
  for (index_t c = begin; c < end; ++c) {
    for (const index_t v : g.row_above(c)) take(v, c, 0, &mask_pair::upper);
  }
  if (!g.symmetric()) {
    for (const auto entries_below : g.columns_below(begin, end)) {
      for (const auto& [v, c] : entries_below) take(v, c, below_diagonal, &mask_pair::lower);
    }
  }
  outer = at(next - entries.data());
}

void position_builder::worker::insert_entries(const panel_set& s) {
  for (std::size_t k = 0; k < outer; ++k) {
    const auto v = static_cast<index_t>(entries[k]);
    const index_t panel = s.panel_of[at(v)];
    insert(panel, bit(v - s.begin[at(panel)]));
  }
}

GSOFA_FOR_PROCESSORS
void position_builder::worker::set_masks(const panel_set& s, index_t j, bool symmetric) noexcept {
  const index_t width = s.width(j);
  mask_pair* const masks = s.masks[at(j)].data();
  std::copy_n(inner.begin(), width, masks);
  std::fill(masks + width, masks + s.masks[at(j)].size(), mask_pair{0, 0});
  for (std::size_t k = 0; k < outer; ++k) {
    const outer_entry e = entries[k];
    const auto v = static_cast<index_t>(e);
    const index_t panel = s.panel_of[at(v)];
    const list_block& b = of_panel[at(panel)];
    mask_pair& m = masks[b.base + count(b.members & below(v - s.begin[at(panel)]))];
    ((e & below_diagonal) == 0 ? m.upper : m.lower) |= bit(e >> 32 & 63);
  }
  if (symmetric) {
    for (mask_pair& m : s.masks[at(j)]) m.lower = m.upper;
  }
  clear();
}

index_t position_builder::find_blocks(const ordered_graph& g, panel_set& s, index_t j, int thread) {
  worker& mine = workers_[at(thread)];
  const index_t begin = s.begin[at(j)];
  const index_t end = s.begin[at(j) + 1];
  // A boundary vertex of a child is in this panel or in its boundary; so is every neighbour in A.
  // The first two blocks of a child are the child's and this panel's.
  s.for_each_child(j, [&](index_t child) {
    for (const list_block& b : s.blocks[at(child)].subspan(2)) mine.insert(b.panel, b.members);
  });
  mine.collect(g, begin, end);
  mine.insert_entries(s);
  const index_t length = mine.take(j, end - begin);
  s.blocks[at(j)] = s.storage[at(thread)].blocks.keep(mine.list);
  return length;
}

idle_result position_builder::set_postponed_masks(const ordered_graph& g, panel_set& s,
                                                  int thread) {
  const index_t j = without_masks_.take();
  if (j < 0) return idle_result::nothing;
  worker& mine = workers_[at(thread)];
  mine.load(s, j);
  mine.collect(g, s.begin[at(j)], s.begin[at(j) + 1]);
  // position_begin still holds lengths.
  s.masks[at(j)] = s.storage[at(thread)].masks.room(at(s.position_begin[at(j) + 1]));
  mine.set_masks(s, j, g.symmetric());
  return idle_result::worked;
}

bool position_builder::build(const ordered_graph& g, panel_set& s, offset_t limit, int threads) {
  const index_t panels = s.panels();
  threads = std::max(1, useful_threads(threads, panels));
  workers_.resize(at(threads));
  resize_to_write(s.position_begin, at(panels) + 1);
  s.position_begin[0] = 0;
  s.blocks.resize(at(panels));
  s.masks.resize(at(panels));
  if (s.storage.size() < at(threads)) s.storage.resize(at(threads));
  for (panel_set::memory& m : s.storage) {
    m.blocks.clear();
    m.masks.clear(least_block(g.n, threads));
  }
  parallel_ranges<int>(threads, threads, 1,
                       [&](int, int t, int) { workers_[at(t)].resize(panels); });
  // The sum so far passes the limit only if the sum over all panels does. Threads add to it in
  // portions, since they share the word.
  // relaxed: a hint while threads run; the verdict is read after they have joined.
  std::atomic<offset_t> items{0};
  const offset_t at_a_time = std::min<offset_t>(limit / (offset_t{16} * threads), 1 << 14);
  if (threads > 1) {
    tickets_.build(
        threads, s.parent, [&](index_t j) { return s.first[at(j)]; },
        [&](index_t j) {
          const index_t v = s.begin[at(j)];
          return g.entries_before(v) + v;
        });
    without_masks_.start(tickets_.panels_above());
  }
  const auto find_list = [&](int thread, const panel_task& task) {
    if (items.load(std::memory_order_relaxed) > limit) return;
    const index_t j = task.panel;
    const index_t length = find_blocks(g, s, j, thread);
    s.position_begin[at(j) + 1] = length;
    worker& mine = workers_[at(thread)];
    mine.items += length + std::ssize(s.blocks[at(j)]);
    if (mine.items > at_a_time) {
      const offset_t found = std::exchange(mine.items, 0);
      if (items.fetch_add(found, std::memory_order_relaxed) + found > limit) return;
    }
    if (task.above && length >= long_list) {
      // Panels above wait for the list, not for the masks.
      mine.clear();
      without_masks_.add(j);
      return;
    }
    s.masks[at(j)] = s.storage[at(thread)].masks.room(at(length));
    mine.set_masks(s, j, g.symmetric());
  };
  for_each_panel(threads, s.parent, tickets_, find_list,
                 [&](int thread) { return set_postponed_masks(g, s, thread); });
  offset_t total = items.load(std::memory_order_relaxed);
  for (const worker& w : workers_) total += w.items;
  if (total > limit) return false;
  for (worker& w : workers_) w.is_clear = true;
  for (index_t j = 0; j < panels; ++j) s.position_begin[at(j) + 1] += s.position_begin[at(j)];
  return true;
}

}  // namespace gsofa::panels
