#include "variants/panels/panels.hpp"

#include <algorithm>

namespace gsofa::detail {

namespace {}  // namespace

void cut_panels(const ordered_graph& g, int width, panel_set& s) {
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
  for (index_t j = 0; j < s.panels(); ++j) {
    std::fill(s.panel_of.begin() + s.begin[at(j)], s.panel_of.begin() + s.begin[at(j) + 1], j);
  }
  for (index_t& q : s.parent) q = q < 0 ? -1 : s.panel_of[at(q)];
}

void position_builder::insert(index_t word, mask_t members) {
  const auto w = at(word);
  if (word_[w] == 0) {
    if (summary_[w / 64] == 0) top_[w / 4096] |= bit(static_cast<int>(w / 64 % 64));
    summary_[w / 64] |= bit(static_cast<int>(w % 64));
  }
  word_[w] |= members;
}

void position_builder::insert_list(std::span<const index_t> list, index_t end) {
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

index_t position_builder::scan() {
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

index_t position_builder::rank(index_t v) const {
  const auto w = at(v / 64);
  return rank_[w] + static_cast<index_t>(std::popcount(word_[w] & below(v % 64)));
}

bool position_builder::build(const ordered_graph& g, panel_set& s, offset_t limit) {
  const index_t panels = s.panels();
  word_.assign(at(g.n) / 64 + 1, 0);
  summary_.assign(word_.size() / 64 + 1, 0);
  top_.assign(summary_.size() / 64 + 1, 0);
  rank_.resize(word_.size());
  first_child_.assign(at(panels), -1);
  sibling_.resize(at(panels));
  s.position_begin.assign(1, 0);
  s.position_begin.reserve(at(panels) + 1);
  s.columns.clear();
  s.in_parent.clear();
  s.masks.clear();

  for (index_t j = 0; j < panels; ++j) {
    const index_t begin = s.begin[at(j)];
    const index_t end = s.begin[at(j) + 1];
    const index_t width = end - begin;
    // A boundary vertex of a child is in this panel or in its boundary; so is each neighbour in A.
    for (index_t child = first_child_[at(j)]; child >= 0; child = sibling_[at(child)]) {
      insert_list(s.list(child).subspan(at(s.width(child))), end);
    }
    for (index_t c = begin; c < end; ++c) {
      insert_list(g.row_above(c), end);
      if (!g.symmetric()) insert_list(g.column_above(c), end);
    }
    const offset_t first = s.position_begin.back();
    const offset_t last = first + width + scan();
    if (last > limit) return false;
    s.columns.resize(at(last));
    s.in_parent.resize(at(last));
    s.masks.resize(at(last));
    s.position_begin.push_back(last);

    index_t* next = s.columns.data() + first;
    for (index_t c = begin; c < end; ++c) *next++ = c;
    for (const index_t w : nonzero_) {
      for (mask_t m = word_[at(w)]; m != 0; m &= m - 1) *next++ = w * 64 + lowest(m);
    }
    const auto position = [&](index_t v) {
      const index_t inside = v - begin;
      const index_t outside = width + rank(v);
      return v < end ? inside : outside;
    };
    for (index_t child = first_child_[at(j)]; child >= 0; child = sibling_[at(child)]) {
      const offset_t from = s.position_begin[at(child)];
      const offset_t to = s.position_begin[at(child) + 1];
      for (offset_t p = from + s.width(child); p < to; ++p) {
        s.in_parent[at(p)] = position(s.columns[at(p)]);
      }
    }
    mask_pair* const masks = s.masks.data() + first;
    std::fill(masks, masks + (last - first), mask_pair{0, 0});
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
    for (const index_t w : nonzero_) word_[at(w)] = 0;
    if (const index_t p = s.parent[at(j)]; p >= 0) {
      sibling_[at(j)] = first_child_[at(p)];
      first_child_[at(p)] = j;
    }
  }
  return true;
}

}  // namespace gsofa::detail
