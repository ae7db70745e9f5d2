#include "variants/panels/supernodal.hpp"

#include <algorithm>

#include "common/supernode_cut.hpp"

namespace gsofa::panels {

namespace {

// Bits 0 .. c-1 of a word, 0 <= c <= 64.
mask_t bits_below(index_t c) { return c >= 64 ? ~mask_t{0} : bit(c) - 1; }

// Bit c: column b + c + 1 of panel j does not join column b + c, for b + c + 1 < end of the panel.
mask_t bounds_within(const panel_set& s, index_t j) {
  const index_t width = s.width(j);
  const mask_pair* masks = s.masks[at(j)].data();
  mask_t differ = 0;
  // In rows of the panel only columns before the row count, and column t - 1 must have row t.
  for (index_t t = 1; t < width; ++t) {
    const mask_t lower = masks[t].lower;
    differ |= (lower ^ lower >> 1) & bits_below(t - 1);
    differ |= ~lower & bit(t - 1);
  }
  const index_t length = s.length(j);
  for (index_t z = width; z < length; ++z) differ |= masks[z].lower ^ masks[z].lower >> 1;
  return differ;
}

// Whether the first column of panel j + 1 joins the last column of panel j.
bool joins_across(const panel_set& s, index_t j) {
  if (s.parent[at(j)] != j + 1) return false;
  const mask_t last = bit(s.width(j) - 1);
  const index_t first = s.begin[at(j) + 1];
  const auto mine = s.list(j);
  const auto its = s.list(j + 1);
  const mask_pair* masks = s.masks[at(j)].data();
  const mask_pair* its_masks = s.masks[at(j) + 1].data();
  const auto has = [](const mask_pair* m, std::size_t z, mask_t bit) {
    return (m[z].lower & bit) != 0;
  };
  std::size_t z = at(s.width(j));
  while (z < mine.size() && !has(masks, z, last)) ++z;
  if (z == mine.size() || mine[z] != first) return false;
  std::size_t y = 0;
  for (;;) {
    for (++z; z < mine.size() && !has(masks, z, last);) ++z;
    for (++y; y < its.size() && !has(its_masks, y, 1);) ++y;
    if (z == mine.size() || y == its.size()) return z == mine.size() && y == its.size();
    if (mine[z] != its[y]) return false;
  }
}

// Calls visit(f, k) for every column f and every first row k of a segment of column f in an earlier
// supernode, k ascending.
template <class Visit>
void for_each_segment(const panel_set& s, std::span<const index_t> begin,
                      std::span<const index_t> supernode, std::vector<index_t>& last,
                      const Visit& visit) {
  last.assign(supernode.size(), -1);
  for (index_t j = 0; j < s.panels(); ++j) {
    const index_t b = s.begin[at(j)];
    const index_t end = s.begin[at(j) + 1];
    const index_t width = end - b;
    const index_t first_of = supernode[at(b)];
    const index_t last_of = supernode[at(end) - 1];
    mask_t starts = 1;
    for (index_t of = first_of + 1; of <= last_of; ++of) starts |= bit(begin[at(of)] - b);
    // A supernode that continues beyond a panel has its first row in the first panel with a bit.
    const bool goes_on = begin[at(first_of)] < b;
    const int second = lowest(starts & ~mask_t{1});  // 64 if there is none
    const index_t stop = begin[at(last_of) + 1];
    const auto visit_segments = [&](index_t f, mask_t m) {
      while (m != 0) {
        const int c = lowest(m);
        if (!goes_on || c >= second || last[at(f)] != first_of) visit(f, b + c);
        const mask_t after = starts & above(c);
        if (after == 0) {
          if (stop > end) last[at(f)] = last_of;
          return;
        }
        m &= ~below(lowest(after));
      }
    };
    // The rows of a column's own supernode are not a segment but its diagonal block.
    const mask_t others = bits_below(std::max(begin[at(last_of)] - b, index_t{0}));
    const auto list = s.list(j);
    const mask_pair* masks = s.masks[at(j)].data();
    for (index_t z = 1; z < width; ++z) {
      const index_t own = begin[at(supernode[at(b + z)])] - b;
      visit_segments(b + z, masks[z].upper & bits_below(std::max(own, index_t{0})));
    }
    index_t z = width;
    const index_t length = s.length(j);
    for (; z < length && list[at(z)] < stop; ++z)
      visit_segments(list[at(z)], masks[z].upper & others);
    for (; z < length; ++z) visit_segments(list[at(z)], masks[z].upper);
  }
}

}  // namespace

void supernodal_of_panels(const panel_set& s, const supernode_rule& rule,
                          supernodal_scratch& scratch, supernodal_pattern& out) {
  const auto n = static_cast<std::size_t>(s.begin.back());
  std::vector<std::uint8_t>& joins = scratch.joins;
  joins.assign(n, 0);
  for (index_t j = 0; j < s.panels(); ++j) {
    const mask_t bounds = bounds_within(s, j);
    const index_t b = s.begin[at(j)];
    for (index_t c = 0; c + 1 < s.width(j); ++c) {
      joins[at(b + c + 1)] = (bounds & bit(c)) == 0 ? 1 : 0;
    }
    if (j + 1 < s.panels()) joins[at(s.begin[at(j) + 1])] = joins_across(s, j) ? 1 : 0;
  }
  cut_supernodes_into(joins, rule, out.begin);
  std::vector<index_t>& supernode = scratch.supernode;
  supernode.resize(n);
  out.rows.clear();
  out.row_begin.assign(1, 0);
  out.row_begin.reserve(out.begin.size());
  std::vector<index_t> list;
  index_t list_of = -1;
  for (index_t k = 0; k < out.supernodes(); ++k) {
    const index_t first = out.begin[at(k)];
    std::fill(supernode.begin() + first, supernode.begin() + out.begin[at(k) + 1], k);
    const index_t j = s.panel_of[at(first)];
    const index_t c = first - s.begin[at(j)];
    if (j != list_of) list = s.list(j);
    list_of = j;
    const mask_pair* masks = s.masks[at(j)].data();
    out.rows.push_back(first);
    for (std::size_t z = at(c) + 1; z < list.size(); ++z) {
      if ((masks[z].lower & bit(c)) != 0) out.rows.push_back(list[z]);
    }
    out.row_begin.push_back(static_cast<offset_t>(out.rows.size()));
  }
  out.segment_begin.assign(n + 1, 0);
  for_each_segment(s, out.begin, supernode, scratch.last,
                   [&](index_t f, index_t) { ++out.segment_begin[at(f) + 1]; });
  for (std::size_t j = 0; j < n; ++j) out.segment_begin[j + 1] += out.segment_begin[j];
  out.segments.resize(at(out.segment_begin.back()));
  std::vector<offset_t>& next = scratch.next;
  next.assign(out.segment_begin.begin(), out.segment_begin.end() - 1);
  for_each_segment(s, out.begin, supernode, scratch.last,
                   [&](index_t f, index_t k) { out.segments[at(next[at(f)]++)] = k; });
}

}  // namespace gsofa::panels
