#include "variants/detail/bitmap_panels/panels.hpp"

#include <algorithm>

namespace gsofa::detail {

namespace {
std::size_t at(offset_t i) { return static_cast<std::size_t>(i); }
}  // namespace

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

void position_builder::insert(index_t v) {
  const auto w = static_cast<std::size_t>(v) / 64;
  if (word_[w] == 0) {
    if (summary_[w / 64] == 0) top_[w / 4096] |= bit(static_cast<int>(w / 64 % 64));
    summary_[w / 64] |= bit(static_cast<int>(w % 64));
  }
  word_[w] |= bit(v % 64);
}

// Visits the members in ascending order and sets rank_; clears the two levels above the words.
template <class Visit>
void position_builder::scan(Visit&& visit) {
  nonzero_.clear();
  index_t count = 0;
  for (std::size_t t = 0; t < top_.size(); ++t) {
    for (; top_[t] != 0; top_[t] &= top_[t] - 1) {
      const std::size_t u = t * 64 + static_cast<std::size_t>(lowest(top_[t]));
      for (; summary_[u] != 0; summary_[u] &= summary_[u] - 1) {
        const std::size_t w = u * 64 + static_cast<std::size_t>(lowest(summary_[u]));
        rank_[w] = count;
        nonzero_.push_back(static_cast<index_t>(w));
        for (mask_t m = word_[w]; m != 0; m &= m - 1) {
          visit(count++, static_cast<index_t>(w * 64) + lowest(m));
        }
      }
    }
  }
}

index_t position_builder::rank(index_t v) const {
  const auto w = static_cast<std::size_t>(v) / 64;
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
      for (const index_t v : s.list(child).subspan(at(s.width(child)))) {
        if (v >= end) insert(v);
      }
    }
    for (index_t c = begin; c < end; ++c) {
      for (const index_t v : g.row(c)) {
        if (v >= end) insert(v);
      }
      for (const index_t v : g.column(c)) {
        if (v >= end) insert(v);
      }
    }
    const offset_t first = s.position_begin.back();
    index_t boundary = 0;
    bool fits = true;
    s.columns.resize(at(first + width));
    for (index_t c = begin; c < end; ++c) s.columns[at(first + c - begin)] = c;
    scan([&](index_t k, index_t v) {
      boundary = k + 1;
      if (k % 1024 == 0) {
        fits = fits && first + width + k <= limit;
        if (fits) s.columns.resize(at(first + width + k) + 1024);
      }
      if (fits) s.columns[at(first + width + k)] = v;
    });
    const offset_t last = first + width + boundary;
    if (!fits || last > limit) return false;
    s.columns.resize(at(last));
    s.in_parent.resize(at(last));
    s.masks.resize(at(last));
    s.position_begin.push_back(last);
    std::fill(&s.masks[at(first)], &s.masks[at(first)] + (last - first), mask_pair{0, 0});

    const auto position = [&](index_t v) { return v < end ? v - begin : width + rank(v); };
    for (index_t child = first_child_[at(j)]; child >= 0; child = sibling_[at(child)]) {
      const offset_t from = s.position_begin[at(child)];
      const offset_t to = s.position_begin[at(child) + 1];
      for (offset_t p = from + s.width(child); p < to; ++p) {
        s.in_parent[at(p)] = position(s.columns[at(p)]);
      }
    }
    for (index_t c = begin; c < end; ++c) {
      const mask_t mine = bit(c - begin);
      for (const index_t v : g.row(c)) {
        if (v > c) s.masks[at(first + position(v))].upper |= mine;
      }
      for (const index_t v : g.column(c)) {
        if (v > c) s.masks[at(first + position(v))].lower |= mine;
      }
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
