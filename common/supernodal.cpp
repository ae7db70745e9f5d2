#include "common/supernodal.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "common/error.hpp"
#include "common/supernode_cut.hpp"

namespace gsofa {

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

std::vector<index_t> cut_supernodes(std::span<const std::uint8_t> joins,
                                    const supernode_rule& rule) {
  std::vector<index_t> begin;
  cut_supernodes_into(joins, rule, begin);
  return begin;
}

void cut_supernodes_into(std::span<const std::uint8_t> joins, const supernode_rule& rule,
                         std::vector<index_t>& begin) {
  const auto n = static_cast<index_t>(joins.size());
  validate_ranges(rule.fixed, n);
  begin.clear();
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
    const index_t p = parent[at(v)];
    if (p < -1 || p > n) {
      throw input_error("parent: vertex " + std::to_string(v) + " has " + std::to_string(p) +
                        ", which is neither a vertex of " + std::to_string(n) +
                        ", nor -1 or that number");
    }
    if (is_root(v)) continue;
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

namespace {

// Which range of several columns each vertex is in; -1: none.
std::vector<index_t> ranges_of(std::span<const column_range> ranges, index_t n) {
  validate_ranges(ranges, n);
  std::vector<index_t> of(at(n), -1);
  for (std::size_t k = 0; k < ranges.size(); ++k) {
    const column_range r = ranges[k];
    if (r.end - r.begin == 1) continue;
    std::fill(of.begin() + r.begin, of.begin() + r.end, static_cast<index_t>(k));
  }
  return of;
}

[[noreturn]] void refuse(index_t i, index_t j, const column_range& r) {
  throw input_error("entry (" + std::to_string(i) + ", " + std::to_string(j) + ") of A: columns " +
                    std::to_string(r.begin) + " to " + std::to_string(r.end - 1) +
                    " are no subtree of the elimination tree");
}

// The columns beyond a range that its rows have, ascending. Ranges are disjoint subtrees: what is
// beyond one is in no other. seen[j] is `mark` for those it takes.
void union_beyond(const pattern_view& a, std::span<const column_range> ranges,
                  std::span<const index_t> of, const column_range& r, index_t mark,
                  std::vector<index_t>& seen, std::vector<index_t>& beyond) {
  beyond.clear();
  for (index_t v = r.begin; v < r.end; ++v) {
    for (const index_t j : a.row(v)) {
      if (j < r.begin) refuse(v, j, r);
      if (j < r.end || seen[at(j)] == mark) continue;
      if (of[at(j)] >= 0) refuse(v, j, ranges[at(of[at(j)])]);
      seen[at(j)] = mark;
      beyond.push_back(j);
    }
  }
  std::ranges::sort(beyond);
}

}  // namespace

pattern pad_leaves(const pattern_view& a, std::span<const column_range> ranges) {
  const index_t n = a.n_rows;
  const std::vector<index_t> of = ranges_of(ranges, n);
  pattern out;
  out.n_rows = n;
  out.n_cols = n;
  out.row_ptr.reserve(at(n) + 1);
  out.col_idx.reserve(static_cast<std::size_t>(a.nnz()));
  std::vector<index_t> seen(at(n), -1);
  std::vector<index_t> beyond;
  for (index_t i = 0; i < n; ++i) {
    if (const index_t mine = of[at(i)]; mine >= 0) {
      const column_range r = ranges[at(mine)];
      if (i == r.begin) union_beyond(a, ranges, of, r, mine, seen, beyond);
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
        if (i < r.begin) refuse(i, j, r);
        for (done = r.begin; done < r.end; ++done) out.col_idx.push_back(done);
      }
    }
    out.row_ptr.push_back(static_cast<offset_t>(out.col_idx.size()));
  }
  return out;
}

contraction contract_leaves(const pattern_view& a, std::span<const column_range> ranges) {
  const index_t n = a.n_rows;
  const std::vector<index_t> of = ranges_of(ranges, n);
  contraction out;
  std::vector<index_t> vertex(at(n));
  auto next = ranges.begin();
  for (index_t v = 0; v < n;) {
    const auto k = static_cast<index_t>(out.of.size());
    column_range r{v, v + 1};
    if (next != ranges.end() && next->begin == v) {
      r = *next++;
      out.fixed.push_back({k, k + 1});
    } else if (k > 0 && out.of.back().end - out.of.back().begin > 1) {
      out.fixed.push_back({k, k + 1});  // it does not join the range
    }
    std::fill(vertex.begin() + r.begin, vertex.begin() + r.end, k);
    out.of.push_back(r);
    v = r.end;
  }
  out.a.n_rows = out.a.n_cols = static_cast<index_t>(out.of.size());
  out.a.row_ptr.reserve(out.of.size() + 1);
  std::vector<index_t> seen(at(n), -1);
  std::vector<index_t> beyond;
  for (index_t k = 0; k < out.a.n_rows; ++k) {
    const column_range r = out.of[at(k)];
    if (r.end - r.begin > 1) {
      union_beyond(a, ranges, of, r, k, seen, beyond);
      out.a.col_idx.push_back(k);
      for (const index_t j : beyond) out.a.col_idx.push_back(vertex[at(j)]);
    } else {
      index_t last = -1;
      for (const index_t j : a.row(r.begin)) {
        const index_t v = vertex[at(j)];
        if (v == last) continue;
        if (v > k && of[at(j)] >= 0) refuse(r.begin, j, ranges[at(of[at(j)])]);
        out.a.col_idx.push_back(v);
        last = v;
      }
    }
    out.a.row_ptr.push_back(static_cast<offset_t>(out.a.col_idx.size()));
  }
  return out;
}

supernodal_pattern expand_leaves(const supernodal_pattern& s, std::span<const column_range> of) {
  const index_t n = of.empty() ? 0 : of.back().end;
  supernodal_pattern out;
  out.begin.clear();
  for (index_t k = 0; k < s.supernodes(); ++k) out.begin.push_back(of[at(s.begin[at(k)])].begin);
  out.begin.push_back(n);
  out.row_begin.reserve(s.row_begin.size());
  out.rows.reserve(s.rows.size() + at(n));
  for (index_t k = 0; k < s.supernodes(); ++k) {
    for (offset_t q = s.row_begin[at(k)]; q < s.row_begin[at(k) + 1]; ++q) {
      const column_range r = of[at(s.rows[at(q)])];
      for (index_t i = r.begin; i < r.end; ++i) out.rows.push_back(i);
    }
    out.row_begin.push_back(static_cast<offset_t>(out.rows.size()));
  }
  out.segment_begin.reserve(at(n) + 1);
  out.segments.reserve(s.segments.size());
  for (std::size_t v = 0; v < of.size(); ++v) {
    for (offset_t q = s.segment_begin[v]; q < s.segment_begin[v + 1]; ++q) {
      out.segments.push_back(of[at(s.segments[at(q)])].begin);
    }
    // Of a range of several columns no supernode is before its own.
    for (index_t j = of[v].begin; j < of[v].end; ++j) {
      out.segment_begin.push_back(static_cast<offset_t>(out.segments.size()));
    }
  }
  return out;
}

row_counts expand_leaves(const row_counts& counts, const supernodal_pattern& s,
                         std::span<const column_range> of) {
  return expand_leaves(counts, added_columns(s, of), of);
}

row_counts expand_leaves(const row_counts& counts, std::span<const std::uint32_t> added,
                         std::span<const column_range> of) {
  const auto n = static_cast<std::size_t>(of.empty() ? 0 : of.back().end);
  row_counts out{std::vector<index_t>(n), std::vector<index_t>(n)};
  for (std::size_t v = 0; v < of.size(); ++v) {
    const column_range r = of[v];
    for (index_t i = r.begin; i < r.end; ++i) {
      out.l[at(i)] = counts.l[v] + static_cast<index_t>(added[v]) + (i - r.begin);
      out.u[at(i)] = counts.u[v] + (r.end - 1 - i);
    }
  }
  return out;
}

std::vector<std::uint32_t> added_columns(const supernodal_pattern& s,
                                         std::span<const column_range> of) {
  std::vector<std::uint32_t> added(of.size(), 0);
  for (index_t k = 0; k < s.supernodes(); ++k) {
    const column_range r = of[at(s.begin[at(k)])];
    for (offset_t q = s.row_begin[at(k)] + 1; q < s.row_begin[at(k) + 1]; ++q) {
      added[at(s.rows[at(q)])] += static_cast<std::uint32_t>(r.end - r.begin - 1);
    }
  }
  return added;
}

}  // namespace gsofa
