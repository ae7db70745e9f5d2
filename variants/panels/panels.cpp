#include "variants/panels/panels.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

#include "variants/panels/schedule.hpp"

namespace gsofa::detail {

namespace {}  // namespace

void cut_panels(const ordered_graph& g, int width, panel_set& s, int threads) {
  const index_t n = g.n;
  s.begin.clear();
  // parent holds q(J) until all panels are known.
  s.parent.clear();
  for (index_t v = 0; v < n; ++v) {
    const index_t q = g.parent[at(v)];
    const bool leaf = v == 0 || g.parent[at(v) - 1] != v;
    if (!leaf && v - s.begin.back() < width) {
      // v is q of the panel before it: with v inside, its parent takes that place.
      s.parent.back() = q;
    } else {
      s.begin.push_back(v);
      s.parent.push_back(q);
    }
    // Ranges side by side with the same q are one panel if they fit.
    while (s.begin.size() > 1 && s.parent[s.parent.size() - 2] == q &&
           v + 1 - s.begin[s.begin.size() - 2] <= width) {
      s.begin.pop_back();
      s.parent.pop_back();
    }
  }
  s.begin.push_back(n);
  s.panel_of.resize(at(n));
  parallel_ranges<index_t>(threads, s.panels(), 1024, [&](int, index_t first, index_t last) {
    for (index_t j = first; j < last; ++j) {
      std::fill(s.panel_of.begin() + s.begin[at(j)], s.panel_of.begin() + s.begin[at(j) + 1], j);
    }
  });
  for (index_t& q : s.parent) q = q < 0 ? -1 : s.panel_of[at(q)];
}

void position_builder::vertex_set::resize(index_t n) {
  word_.assign(at(n) / 64 + 1, 0);
  summary_.assign(word_.size() / 64 + 1, 0);
  top_.assign(summary_.size() / 64 + 1, 0);
  rank_.resize(word_.size());
  nonzero_.clear();
}

void position_builder::vertex_set::insert(index_t word, mask_t members) {
  const auto w = at(word);
  if (word_[w] == 0) {
    if (summary_[w / 64] == 0) top_[w / 4096] |= bit(static_cast<int>(w / 64 % 64));
    summary_[w / 64] |= bit(static_cast<int>(w % 64));
  }
  word_[w] |= members;
}

void position_builder::vertex_set::insert_list(std::span<const index_t> list, index_t end) {
  index_t word = 0;
  mask_t members = 0;
  for (const index_t v : list) {
    if (v < end) continue;
    if (v / 64 != word) {
      if (members != 0) insert(word, members);
      word = v / 64;
      members = 0;
    }
    members |= bit(v % 64);
  }
  if (members != 0) insert(word, members);
}

index_t position_builder::vertex_set::scan() {
  nonzero_.clear();
  index_t count = 0;
  for (std::size_t t = 0; t < top_.size(); ++t) {
    for (; top_[t] != 0; top_[t] &= top_[t] - 1) {
      const std::size_t u = t * 64 + at(lowest(top_[t]));
      for (; summary_[u] != 0; summary_[u] &= summary_[u] - 1) {
        const std::size_t w = u * 64 + at(lowest(summary_[u]));
        rank_[w] = count;
        count += std::popcount(word_[w]);
        nonzero_.push_back(static_cast<index_t>(w));
      }
    }
  }
  return count;
}

index_t position_builder::vertex_set::rank(index_t v) const {
  const auto w = at(v / 64);
  return rank_[w] + static_cast<index_t>(std::popcount(word_[w] & below(v % 64)));
}

void position_builder::vertex_set::write(index_t* next) const {
  for (const index_t w : nonzero_) {
    for (mask_t m = word_[at(w)]; m != 0; m &= m - 1) *next++ = w * 64 + lowest(m);
  }
}

void position_builder::vertex_set::clear() {
  for (const index_t w : nonzero_) word_[at(w)] = 0;
}

index_t* position_builder::list_blocks::allocate(index_t length) {
  constexpr index_t block = 1 << 14;
  if (length > room_) {
    room_ = std::max(block, length);
    blocks_.push_back(std::make_unique_for_overwrite<index_t[]>(at(room_)));
    free_ = blocks_.back().get();
  }
  room_ -= length;
  return std::exchange(free_, free_ + length);
}

void position_builder::insert_entries(const ordered_graph& g, const panel_set& s, index_t j,
                                      vertex_set& set) {
  const index_t end = s.begin[at(j) + 1];
  for (index_t c = s.begin[at(j)]; c < end; ++c) {
    set.insert_list(g.row_above(c), end);
    if (!g.symmetric()) set.insert_list(g.column_above(c), end);
  }
}

void position_builder::fill(const ordered_graph& g, panel_set& s, index_t j,
                            const vertex_set& set) const {
  const index_t begin = s.begin[at(j)];
  const index_t end = s.begin[at(j) + 1];
  const index_t width = end - begin;
  const auto position = [&](index_t v) {
    const index_t inside = v - begin;
    const index_t outside = width + set.rank(v);
    return v < end ? inside : outside;
  };
  for (index_t child = first_child_[at(j)]; child >= 0; child = sibling_[at(child)]) {
    const offset_t from = s.position_begin[at(child)];
    const offset_t to = s.position_begin[at(child) + 1];
    for (offset_t p = from + s.width(child); p < to; ++p) {
      s.in_parent[at(p)] = position(s.columns[at(p)]);
    }
  }
  mask_pair* const masks = s.masks.data() + s.position_begin[at(j)];
  std::fill(masks, masks + s.length(j), mask_pair{0, 0});
  for (index_t c = begin; c < end; ++c) {
    const mask_t mine = bit(c - begin);
    if (g.symmetric()) {
      for (const index_t v : g.row_above(c)) {
        mask_pair& m = masks[position(v)];
        m = {m.upper | mine, m.lower | mine};
      }
      continue;
    }
    for (const index_t v : g.row_above(c)) masks[position(v)].upper |= mine;
    for (const index_t v : g.column_above(c)) masks[position(v)].lower |= mine;
  }
}

bool position_builder::build(const ordered_graph& g, panel_set& s, offset_t limit, int threads) {
  const index_t panels = s.panels();
  threads = std::max(1, useful_threads(threads, panels));
  sets_.resize(at(threads));
  first_child_.assign(at(panels), -1);
  sibling_.resize(at(panels));
  for (index_t j = 0; j < panels; ++j) {
    if (const index_t p = s.parent[at(j)]; p >= 0) {
      sibling_[at(j)] = first_child_[at(p)];
      first_child_[at(p)] = j;
    }
  }
  s.position_begin.assign(1, 0);
  s.position_begin.reserve(at(panels) + 1);
  s.columns.clear();
  s.in_parent.clear();
  s.masks.clear();
  return threads > 1 ? build_parallel(g, s, limit, threads) : build_serial(g, s, limit);
}

bool position_builder::build_serial(const ordered_graph& g, panel_set& s, offset_t limit) {
  vertex_set& set = sets_.front();
  set.resize(g.n);
  for (index_t j = 0; j < s.panels(); ++j) {
    const index_t begin = s.begin[at(j)];
    const index_t end = s.begin[at(j) + 1];
    // A boundary vertex of a child is in this panel or in its boundary; so is each neighbour in A.
    for (index_t child = first_child_[at(j)]; child >= 0; child = sibling_[at(child)]) {
      set.insert_list(s.list(child).subspan(at(s.width(child))), end);
    }
    insert_entries(g, s, j, set);
    const offset_t first = s.position_begin.back();
    const offset_t last = first + (end - begin) + set.scan();
    if (last > limit) return false;
    s.columns.resize(at(last));
    s.in_parent.resize(at(last));
    s.masks.resize(at(last));
    s.position_begin.push_back(last);
    index_t* const list = s.columns.data() + first;
    std::iota(list, list + (end - begin), begin);
    set.write(list + (end - begin));
    fill(g, s, j, set);
    set.clear();
  }
  return true;
}

bool position_builder::build_parallel(const ordered_graph& g, panel_set& s, offset_t limit,
                                      int threads) {
  const index_t panels = s.panels();
  std::vector<std::span<const index_t>> boundary(at(panels));
  std::vector<list_blocks> blocks(at(threads));
  // The sum of what is found so far passes the limit only if the sum over all panels does.
  // relaxed: a hint while threads run; the verdict is read after they have joined.
  std::atomic<offset_t> positions{0};
  parallel_ranges<int>(threads, threads, 1, [&](int, int t, int) { sets_[at(t)].resize(g.n); });
  for_each_panel(threads, s.parent, [&](int thread, index_t j) {
    if (positions.load(std::memory_order_relaxed) > limit) return;
    vertex_set& set = sets_[at(thread)];
    const index_t end = s.begin[at(j) + 1];
    for (index_t child = first_child_[at(j)]; child >= 0; child = sibling_[at(child)]) {
      set.insert_list(boundary[at(child)], end);
    }
    insert_entries(g, s, j, set);
    const index_t length = set.scan();
    positions.fetch_add(length + s.width(j), std::memory_order_relaxed);
    index_t* const list = blocks[at(thread)].allocate(length);
    set.write(list);
    set.clear();
    boundary[at(j)] = {list, at(length)};
  });
  if (positions.load(std::memory_order_relaxed) > limit) return false;

  for (index_t j = 0; j < panels; ++j) {
    s.position_begin.push_back(s.position_begin.back() + s.width(j) +
                               static_cast<offset_t>(boundary[at(j)].size()));
  }
  const auto total = at(s.positions());
  s.columns.resize(total);
  parallel_ranges<index_t>(threads, panels, 64, [&](int, index_t first, index_t last) {
    for (index_t j = first; j < last; ++j) {
      index_t* const list = s.columns.data() + s.position_begin[at(j)];
      std::iota(list, list + s.width(j), s.begin[at(j)]);
      std::ranges::copy(boundary[at(j)], list + s.width(j));
    }
  });
  // The blocks make room before the larger arrays are written.
  blocks.clear();
  s.in_parent.resize(total);
  s.masks.resize(total);
  parallel_ranges<index_t>(threads, panels, 16, [&](int thread, index_t first, index_t last) {
    vertex_set& set = sets_[at(thread)];
    for (index_t j = first; j < last; ++j) {
      set.insert_list(s.list(j).subspan(at(s.width(j))), s.begin[at(j) + 1]);
      set.scan();
      fill(g, s, j, set);
      set.clear();
    }
  });
  return true;
}

}  // namespace gsofa::detail
