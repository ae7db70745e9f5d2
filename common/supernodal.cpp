#include "common/supernodal.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "common/error.hpp"

namespace gsofa {

namespace {

// Throws unless the ranges are ascending, disjoint, not empty and within [0, n).
void validate_ranges(std::span<const column_range> ranges, index_t n) {
  index_t end = 0;
  for (const column_range& r : ranges) {
    if (r.begin < end || r.end <= r.begin || r.end > n) {
      throw input_error("columns " + std::to_string(r.begin) + " to " + std::to_string(r.end) +
                        ": ranges must be ascending, disjoint and within [0, " + std::to_string(n) +
                        ")");
    }
    end = r.end;
  }
}

}  // namespace

std::vector<index_t> cut_supernodes(std::span<const std::uint8_t> joins,
                                    const supernode_rule& rule) {
  const auto n = static_cast<index_t>(joins.size());
  validate_ranges(rule.fixed, n);
  std::vector<index_t> begin;
  auto next = rule.fixed.begin();
  bool closed = true;  // nothing joins the supernode before j
  for (index_t j = 0; j < n;) {
    if (next != rule.fixed.end() && next->begin == j) {
      begin.push_back(j);
      j = next->end;
      closed = next->end - next->begin > 1;
      ++next;
      continue;
    }
    const bool full =
        rule.most_columns > 0 && !begin.empty() && j - begin.back() >= rule.most_columns;
    if (closed || full || joins[at(j)] == 0) begin.push_back(j);
    closed = false;
    ++j;
  }
  begin.push_back(n);
  return begin;
}

supernodal_pattern supernodal_of(const pattern_view& l, const pattern_view& u,
                                 const supernode_rule& rule) {
  const index_t n = u.n_rows;
  const pattern columns = transpose(l);
  std::vector<std::uint8_t> joins(at(n), 0);
  for (index_t j = 1; j < n; ++j) {
    const auto before = columns.row(j - 1);
    joins[at(j)] = !before.empty() && before.front() == j &&
                   std::ranges::equal(before.subspan(1), columns.row(j));
  }
  supernodal_pattern out;
  out.begin = cut_supernodes(joins, rule);
  std::vector<index_t> supernode(at(n));
  for (index_t s = 0; s < out.supernodes(); ++s) {
    const index_t first = out.begin[at(s)];
    std::fill(supernode.begin() + first, supernode.begin() + out.begin[at(s) + 1], s);
    out.rows.push_back(first);
    const auto below = columns.row(first);
    out.rows.insert(out.rows.end(), below.begin(), below.end());
    out.row_begin.push_back(static_cast<offset_t>(out.rows.size()));
  }
  const pattern upper = transpose(u);
  out.segment_begin.reserve(at(n) + 1);
  for (index_t j = 0; j < n; ++j) {
    index_t last = -1;
    for (const index_t i : upper.row(j)) {
      const index_t s = supernode[at(i)];
      if (s == supernode[at(j)]) break;
      if (s != last) out.segments.push_back(i);
      last = s;
    }
    out.segment_begin.push_back(static_cast<offset_t>(out.segments.size()));
  }
  return out;
}

std::vector<column_range> relaxed_leaves(std::span<const index_t> parent, index_t most) {
  const auto n = static_cast<index_t>(parent.size());
  if (most < 1) throw input_error("relax: " + std::to_string(most) + " is not 1 or more");
  auto is_root = [&](index_t v) { return parent[at(v)] < 0 || parent[at(v)] >= n; };
  // first[v]: the least vertex of the subtree of v, which in a postorder is first[v] .. v.
  std::vector<index_t> first(at(n));
  std::iota(first.begin(), first.end(), 0);
  std::vector<index_t> below(at(n), 0);  // descendants
  for (index_t v = 0; v < n; ++v) {
    if (below[at(v)] != v - first[at(v)]) {
      throw input_error("the elimination tree is not postordered at vertex " + std::to_string(v));
    }
    if (is_root(v)) continue;
    const index_t p = parent[at(v)];
    if (p <= v) {
      throw input_error("the elimination tree is not postordered: the parent of " +
                        std::to_string(v) + " is " + std::to_string(p));
    }
    below[at(p)] += below[at(v)] + 1;
    first[at(p)] = std::min(first[at(p)], first[at(v)]);
  }
  std::vector<column_range> out;
  for (index_t v = 0; v < n; ++v) {
    const bool small = below[at(v)] < most;
    const bool maximal = is_root(v) || below[at(parent[at(v)])] >= most;
    if (small && maximal) out.push_back({first[at(v)], v + 1});
  }
  return out;
}

pattern pad_leaves(const pattern_view& a, std::span<const column_range> ranges) {
  const index_t n = a.n_rows;
  validate_ranges(ranges, n);
  // of[v]: the range of several columns that v is in; -1: none.
  std::vector<index_t> of(at(n), -1);
  for (std::size_t k = 0; k < ranges.size(); ++k) {
    const column_range r = ranges[k];
    if (r.end - r.begin == 1) continue;
    std::fill(of.begin() + r.begin, of.begin() + r.end, static_cast<index_t>(k));
  }
  auto fail = [&](index_t i, index_t j, const column_range& r) {
    throw input_error("entry (" + std::to_string(i) + ", " + std::to_string(j) +
                      ") of A: columns " + std::to_string(r.begin) + " to " +
                      std::to_string(r.end - 1) + " are no subtree of the elimination tree");
  };
  pattern out;
  out.n_rows = n;
  out.n_cols = a.n_cols;
  out.row_ptr.reserve(at(n) + 1);
  out.col_idx.reserve(static_cast<std::size_t>(a.nnz()));
  std::vector<index_t> seen(at(n), -1);
  std::vector<index_t> beyond;
  for (index_t i = 0; i < n; ++i) {
    if (const index_t mine = of[at(i)]; mine >= 0) {
      const column_range r = ranges[at(mine)];
      if (i == r.begin) {
        beyond.clear();
        for (index_t v = r.begin; v < r.end; ++v) {
          for (const index_t j : a.row(v)) {
            if (j < r.begin) fail(v, j, r);
            if (j < r.end || seen[at(j)] == mine) continue;
            seen[at(j)] = mine;
            beyond.push_back(j);
          }
        }
        std::ranges::sort(beyond);
      }
      for (index_t j = r.begin; j < r.end; ++j) out.col_idx.push_back(j);
      out.col_idx.insert(out.col_idx.end(), beyond.begin(), beyond.end());
    } else {
      index_t done = 0;  // columns before it are there
      for (const index_t j : a.row(i)) {
        if (j < done) continue;
        const index_t k = of[at(j)];
        if (k < 0) {
          out.col_idx.push_back(j);
          continue;
        }
        const column_range r = ranges[at(k)];
        if (i < r.begin) fail(i, j, r);
        for (done = r.begin; done < r.end; ++done) out.col_idx.push_back(done);
      }
    }
    out.row_ptr.push_back(static_cast<offset_t>(out.col_idx.size()));
  }
  return out;
}

}  // namespace gsofa
