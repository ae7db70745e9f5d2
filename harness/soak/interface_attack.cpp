// All functions of gsofa.h. soak_test.py compares the names that were called with exports.txt.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "harness/soak/interface_calls.hpp"

namespace gsofa::soak {

namespace {

// A + A^T with the diagonal.
dense_matrix symmetric(const dense_matrix& a) {
  dense_matrix s = a;
  for (std::size_t i = 0; i < a.size(); ++i) {
    s[i].set(i);
    for (std::size_t j = 0; j < a.size(); ++j) {
      if (a[i][j]) s[j].set(i);
    }
  }
  return s;
}

// Entries of L + U of a + a^T.
dense_matrix cholesky(const dense_matrix& a) {
  dense_matrix s = symmetric(a);
  eliminate(s);
  return s;
}

// Parents in the elimination tree of a filled symmetric matrix, -1 for roots.
indices tree_of(const dense_matrix& filled) {
  indices parent(filled.size(), -1);
  for (std::size_t j = 0; j < filled.size(); ++j) {
    for (std::size_t i = j + 1; i < filled.size() && parent[j] < 0; ++i) {
      if (filled[i][j]) parent[j] = static_cast<std::int32_t>(i);
    }
  }
  return parent;
}

// Entries of each column below the diagonal; of each row from the diagonal on.
indices lower_columns(const dense_matrix& b) {
  indices count(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) count[j] += b[i][j] ? 1 : 0;
  }
  return count;
}
indices upper_rows(const dense_matrix& b) {
  indices count;
  for (std::size_t i = 0; i < b.size(); ++i) {
    count.push_back(static_cast<std::int32_t>((b[i] >> i).count()));
  }
  return count;
}
double operations(const dense_matrix& b) {
  const indices l = lower_columns(b), u = upper_rows(b);
  double flops = 0;
  for (std::size_t k = 0; k < l.size(); ++k) flops += l[k] + 2.0 * l[k] * (u[k] - 1);
  return flops;
}

indices array_of(const std::int32_t* p, std::size_t n) {
  return n == 0 ? indices{} : indices(p, p + n);
}

// Compressed rows (or columns) of the lower or upper triangle of b.
struct triangle {
  std::vector<std::int64_t> ptr{0};
  indices idx;
  bool operator==(const triangle&) const = default;
};
triangle triangle_of(const dense_matrix& b, bool lower, bool columns) {
  triangle t;
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t m = 0; m < n; ++m) {
      const std::size_t i = columns ? m : k, j = columns ? k : m;
      if (b[i][j] && (lower ? j < i : j >= i)) t.idx.push_back(static_cast<std::int32_t>(m));
    }
    t.ptr.push_back(static_cast<std::int64_t>(t.idx.size()));
  }
  return t;
}
triangle triangle_of(const std::int64_t* ptr, const std::int32_t* idx, std::size_t n) {
  triangle t;
  t.ptr.assign(ptr, ptr + n + 1);
  t.idx.assign(idx, idx + t.ptr.back());
  return t;
}

/// One analysis and what elimination says of it.
struct checked_case {
  const call& c;
  const gsofa_result& r;
  const answer& found;
  dense_matrix b;  // permuted, filled
};

void check_numbers(const checked_case& k) {
  const auto n = at(k.c.n);
  const gsofa_result& r = k.r;
  require(r.n == k.c.n, "n");
  require(r.nnz_l == k.found.nnz_l && r.nnz_u == k.found.nnz_u && r.nnz_a == k.found.nnz_a &&
              r.diagonal_added == k.found.diagonal_added,
          "numbers of entries change");
  require(array_of(r.row_order, n) == k.found.row_order &&
              array_of(r.col_order, n) == k.found.col_order,
          "orders change");
  require(array_of(r.l_row_counts, n) == k.found.l_counts &&
              array_of(r.u_row_counts, n) == upper_rows(k.b),
          "counts change");
  for (const double s : {r.order_seconds, r.setup_seconds, r.analysis_seconds, r.output_seconds}) {
    require(s >= 0 && s < 1e5, "seconds are negative or absurd");
  }
  require(k.found.variant == r.variant, "the name of the variant changes");
  require(k.found.order == r.order, "the name of the order changes");
  require(*r.fallback == '\0', "the host falls back");
  const bool has_supernodes = k.c.options.supernodes != 0;
  require((r.supernode_starts != nullptr) == has_supernodes, "supernode_starts");
  if (!has_supernodes) return;
  require(array_of(r.supernode_starts, at(r.supernode_count)) == k.found.starts,
          "supernode_starts changes");
}

void check_factor(const checked_case& k, const gsofa_factor& f, bool lower, bool columns) {
  const bool requested = (columns ? k.c.options.factor_columns : k.c.options.factors) != 0;
  const std::string name = std::string(lower ? "l" : "u") + (columns ? "_columns" : "");
  require((f.pointers != nullptr) == requested, name + " is absent, or nobody requested it");
  if (!requested) return;
  require(triangle_of(f.pointers, f.indices, k.b.size()) == triangle_of(k.b, lower, columns),
          name + " differs");
}

void check_factors(const checked_case& k) {
  check_factor(k, k.r.l, true, false);
  check_factor(k, k.r.u, false, false);
  check_factor(k, k.r.l_columns, true, true);
  check_factor(k, k.r.u_columns, false, true);
}

void check_tree(const checked_case& k, const dense_matrix& unfilled) {
  const auto n = at(k.c.n);
  const gsofa_result& r = k.r;
  if (k.c.options.tree == 0) {
    require(r.parent == nullptr && r.l_col_counts == nullptr && r.flops == 0,
            "a tree nobody requested");
    return;
  }
  require(array_of(r.parent, n) == tree_of(cholesky(unfilled)), "parent differs");
  require(array_of(r.l_col_counts, n) == lower_columns(k.b), "l_col_counts differs");
  require(r.flops == operations(k.b), "flops differs");
}

// Rows of column j of L from row `from` on.
dense_row column_from(const dense_matrix& b, std::size_t j, std::size_t from) {
  dense_row rows;
  for (std::size_t i = from; i < b.size(); ++i) rows[i] = b[i][j];
  return rows;
}

void check_supernodal(const checked_case& k) {
  const gsofa_supernodal_view& v = k.r.supernodal;
  const bool requested = k.c.options.supernodal != 0;
  require((v.first_column != nullptr) == requested, "supernodal");
  if (!requested) return;
  const dense_matrix& b = k.b;
  const std::size_t n = b.size();
  const auto joins = [&](std::size_t j) {
    return b[j][j - 1] && column_from(b, j, j + 1) == column_from(b, j - 1, j + 1);
  };
  require(v.first_column[0] == 0 && v.first_column[v.supernodes] == k.c.n && v.row_begin[0] == 0 &&
              v.segment_begin[0] == 0,
          "supernodes of columns do not cover the columns");
  std::vector<std::size_t> own(n);
  for (std::int32_t s = 0; s < v.supernodes; ++s) {
    const auto begin = at(v.first_column[s]), end = at(v.first_column[s + 1]);
    require(begin < end && end <= n, "a supernode of columns is empty");
    require(k.c.options.most_columns == 0 || end - begin <= at(k.c.options.most_columns),
            "a supernode has more columns than most_columns");
    for (std::size_t j = begin; j < end; ++j) {
      own[j] = at(s);
      require(j == begin || joins(j), "a column is in a supernode that it does not belong to");
    }
    require(begin == 0 || k.c.options.most_columns > 0 || !joins(begin), "a supernode is cut");
    indices rows{static_cast<std::int32_t>(begin)};
    for (std::size_t i = begin + 1; i < n; ++i) {
      if (b[i][begin]) rows.push_back(static_cast<std::int32_t>(i));
    }
    require(rows == indices(v.rows + v.row_begin[s], v.rows + v.row_begin[s + 1]),
            "the rows of a supernode differ");
  }
  for (std::size_t j = 0; j < n; ++j) {
    indices segments;
    for (std::size_t i = 0; i < at(v.first_column[own[j]]); ++i) {
      if (b[i][j] && (i == 0 || own[i] != own[i - 1] || !b[i - 1][j])) {
        segments.push_back(static_cast<std::int32_t>(i));
      }
    }
    require(
        segments == indices(v.segments + v.segment_begin[j], v.segments + v.segment_begin[j + 1]),
        "the segments of a column of U differ");
  }
}

void check_masks(const checked_case& k) {
  const gsofa_masks_view& v = k.r.masks;
  const bool requested = k.c.options.masks != 0;
  require((v.first_vertex != nullptr) == requested, "masks");
  if (!requested) return;
  const std::size_t n = k.b.size();
  dense_matrix held(n);
  for (std::size_t i = 0; i < n; ++i) held[i].set(i);
  require(v.first_vertex[0] == 0 && v.first_vertex[v.panels] == k.c.n, "panels do not cover A");
  for (std::int32_t p = 0; p < v.panels; ++p) {
    const std::int32_t begin = v.first_vertex[p];
    require(begin < v.first_vertex[p + 1] && v.first_vertex[p + 1] - begin <= 64, "panel widths");
    for (std::int64_t q = v.position_begin[p]; q < v.position_begin[p + 1]; ++q) {
      const std::int32_t f = v.vertices[q];
      require(f >= 0 && f < k.c.n && (q == v.position_begin[p] || v.vertices[q - 1] < f),
              "vertices of a panel do not ascend");
      for (std::int32_t c = 0; c < 64; ++c) {
        const bool u = (v.masks[2 * q] >> c & 1) != 0, l = (v.masks[2 * q + 1] >> c & 1) != 0;
        if (!u && !l) continue;
        require(begin + c < f && begin + c < v.first_vertex[p + 1], "a mask has a bit too many");
        if (u) held[at(begin + c)].set(at(f));
        if (l) held[at(f)].set(at(begin + c));
      }
    }
  }
  require(held == k.b, "the masks hold another pattern");
}

void check_device_results(const checked_case& k) {
  require(k.r.device_l.n == 0 && k.r.device_u.n == 0 && k.r.device_supernodal.supernodes == 0,
          "results in device memory nobody requested");
}

// A structure of any size is filled, and no byte beyond it.
void check_sized_result(dice& d, const gsofa_analysis* f) {
  alignas(gsofa_result) unsigned char room[sizeof(gsofa_result) + 64];
  std::memset(room, 0xa5, sizeof room);
  const std::size_t size = at(d.below(sizeof room));
  auto* const r = reinterpret_cast<gsofa_result*>(room);
  require_status(CALL(gsofa_get_result_sized)(f, r, size), GSOFA_OK, "gsofa_get_result_sized");
  for (std::size_t k = size; k < sizeof room; ++k) {
    require(room[k] == 0xa5, "gsofa_get_result_sized writes beyond the size");
  }
}

void check_other_integers(dice& d, const checked_case& k) {
  const stored_pattern a(k.c, d.below(2), d.below(3));
  handle h;
  const gsofa_status status = CALL(gsofa_analyze_pattern)(&a.view, &k.c.options, &h.a);
  answer other = copy(k.c, status, h);
  require(other == k.found, "the pattern in other integers or by columns has another answer");
}

void check_analyzer(dice& d, const checked_case& k) {
  const stored_pattern a(k.c, d.below(2), d.below(3));
  gsofa_analyzer* by = nullptr;
  require_status(CALL(gsofa_analyzer_create)(&by), GSOFA_OK, "gsofa_analyzer_create");
  struct release {
    gsofa_analyzer* by;
    ~release() { CALL(gsofa_analyzer_free)(by); }
  } const frees{by};
  const gsofa_analysis* f = nullptr;
  for (int round = 0; round < 2; ++round) {
    require_status(CALL(gsofa_analyzer_analyze)(by, &a.view, &k.c.options, &f), GSOFA_OK,
                   "gsofa_analyzer_analyze");
    const gsofa_result r = result_of(f);
    require(r.nnz_l == k.found.nnz_l && r.nnz_u == k.found.nnz_u &&
                array_of(r.row_order, at(k.c.n)) == k.found.row_order,
            "an analyzer finds something else");
  }
}

// No device: unavailable. With one, memory of the host must not be taken for its memory here.
void check_device_patterns(const call& c, const abilities& can) {
  gsofa_device_pattern a{
      c.n, c.row_ptr.back(), c.row_ptr.data(), c.col_idx.data(), GSOFA_INDEX_64_32, nullptr};
  if (can.gpu) a.index_type = 99;
  const gsofa_status expected = can.gpu ? GSOFA_INVALID_INPUT : GSOFA_UNAVAILABLE;
  handle h;
  require_status(CALL(gsofa_analyze_device)(&a, &c.options, &h.a), expected,
                 "gsofa_analyze_device");
  gsofa_analyzer* by = nullptr;
  require_status(CALL(gsofa_analyzer_create)(&by), GSOFA_OK, "gsofa_analyzer_create");
  const gsofa_analysis* f = nullptr;
  gsofa_status status = CALL(gsofa_analyzer_analyze_device)(by, &a, &c.options, &f);
  require(status == expected && f == nullptr, "gsofa_analyzer_analyze_device");
  status = CALL(gsofa_analyzer_update_device)(by, &a, nullptr, &c.options, &f);
  CALL(gsofa_analyzer_free)(by);
  require(status == expected && f == nullptr, "gsofa_analyzer_update_device");
}

void check_forest(const indices& parent) {
  const auto n = static_cast<std::int32_t>(parent.size());
  indices begin(parent.size() + 1), vertices(parent.size()), order(parent.size());
  std::int32_t levels = -1;
  require_status(CALL(gsofa_level_sets)(n, parent.data(), begin.data(), vertices.data(), &levels),
                 GSOFA_OK, "gsofa_level_sets");
  indices height(parent.size());
  for (std::size_t v = 0; v < parent.size(); ++v) {
    if (parent[v] >= 0) height[at(parent[v])] = std::max(height[at(parent[v])], height[v] + 1);
  }
  require(levels == 1 + std::ranges::max(height), "the number of levels differs");
  std::int32_t next = 0;
  for (std::int32_t h = 0; h < levels; ++h) {
    require(begin[at(h)] == next, "a level does not begin where the one before ends");
    for (std::int32_t v = 0; v < n; ++v) {
      if (height[at(v)] == h) require(vertices[at(next++)] == v, "a level has another vertex");
    }
  }
  require(begin[at(levels)] == n, "levels do not hold all vertices");
  require_status(CALL(gsofa_tree_postorder)(n, parent.data(), order.data()), GSOFA_OK,
                 "gsofa_tree_postorder");
  indices position(parent.size(), -1), size(parent.size(), 1), relabelled(parent.size(), -1);
  for (std::int32_t p = 0; p < n; ++p) {
    require(order[at(p)] >= 0 && order[at(p)] < n && position[at(order[at(p)])] < 0,
            "a postorder is no permutation");
    position[at(order[at(p)])] = p;
  }
  for (std::size_t v = 0; v < parent.size(); ++v) {
    if (parent[v] >= 0) size[at(parent[v])] += size[v];
  }
  for (std::size_t v = 0; v < parent.size(); ++v) {
    if (parent[v] < 0) continue;
    const std::int32_t of_parent = position[at(parent[v])];
    require(position[v] < of_parent && position[v] > of_parent - size[at(parent[v])],
            "a subtree is not contiguous");
    relabelled[at(position[v])] = of_parent;
  }
  // Maximal subtrees of at most `relax` vertices.
  for (const std::int32_t relax : {1, 2, 5, n + 1}) {
    std::vector<gsofa_range> ranges(parent.size());
    std::int32_t count = -1;
    require_status(
        CALL(gsofa_relaxed_supernodes)(n, relabelled.data(), relax, ranges.data(), &count),
        GSOFA_OK, "gsofa_relaxed_supernodes");
    std::int32_t k = 0;
    for (std::int32_t p = 0; p < n; ++p) {
      const std::int32_t v = order[at(p)], up = parent[at(v)];
      if (size[at(v)] > relax || (up >= 0 && size[at(up)] <= relax)) continue;
      require(k < count && ranges[at(k)].begin == p + 1 - size[at(v)] && ranges[at(k)].end == p + 1,
              "a relaxed supernode differs");
      ++k;
    }
    require(k == count, "there are more relaxed supernodes than subtrees");
  }
}

void check_pattern_functions(dice& d, const call& c, const dense_matrix& a) {
  const stored_pattern p(c, d.below(2), d.below(3));
  const std::size_t n = a.size();
  const indices parent = tree_of(cholesky(a));
  indices found(n);
  require_status(CALL(gsofa_elimination_tree)(&p.view, found.data()), GSOFA_OK,
                 "gsofa_elimination_tree");
  require(found == parent, "gsofa_elimination_tree differs");
  check_forest(parent);
  dense_matrix b = a;
  for (std::size_t i = 0; i < n; ++i) b[i].set(i);
  eliminate(b);
  gsofa_profile* profile = nullptr;
  const std::int32_t asked = d.below(2 * c.n + 1);
  require_status(CALL(gsofa_profile_pattern)(&p.view, asked, 1 + d.below(3), &profile), GSOFA_OK,
                 "gsofa_profile_pattern");
  struct release {
    gsofa_profile* p;
    ~release() { CALL(gsofa_profile_free)(p); }
  } const frees{profile};
  require(profile->n == c.n, "profile: n");
  require(array_of(profile->parent, n) == parent, "profile: parent");
  require(array_of(profile->l_col_counts, n) == lower_columns(b), "profile: l_col_counts");
  require(array_of(profile->u_row_counts, n) == upper_rows(b), "profile: u_row_counts");
  require(profile->flops == operations(b), "profile: flops");
  const std::int32_t cells = profile->cells;
  require(cells == std::min(asked, c.n), "profile: cells");
  std::vector<std::int64_t> density(at(cells) * at(cells));
  for (std::size_t i = 0; i < n && cells > 0; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      density[i * at(cells) / n * at(cells) + j * at(cells) / n] += b[i][j] ? 1 : 0;
    }
  }
  require(std::equal(density.begin(), density.end(), profile->density), "profile: density");
}

void check_estimate(dice& d, const checked_case& k, const dense_matrix& unfilled) {
  const stored_pattern a(k.c, d.below(2), d.below(3));
  gsofa_fill_estimate e{};
  indices order(at(k.c.n));
  require_status(CALL(gsofa_estimate)(&a.view, &k.c.options, &e, order.data()), GSOFA_OK,
                 "gsofa_estimate");
  const dense_matrix filled = cholesky(unfilled);
  std::int64_t lower = 0;
  for (const std::int32_t count : lower_columns(filled)) lower += count;
  require(e.nnz_a == k.found.nnz_a && e.nnz_l == lower && e.nnz_u == lower + k.c.n,
          "an estimate is not that of chol(A + A^T)");
  require((e.symmetric != 0) == (symmetric(unfilled) == unfilled), "symmetric is wrong");
  require(e.flops == operations(filled) && e.result_bytes > 0 && e.working_bytes >= 0,
          "operations or bytes of an estimate are wrong");
  indices sorted = order;
  std::ranges::sort(sorted);
  for (std::int32_t v = 0; v < k.c.n; ++v) require(sorted[at(v)] == v, "no permutation");
}

// The whole of a pattern padded to relaxed supernodes holds what the pattern itself has.
void check_relaxed(dice& d, const call& plain, const dense_matrix& a) {
  call c = plain;
  c.permutation.clear();
  c.options.permutation = nullptr;
  c.options.order = GSOFA_ORDER_AMD;
  c.options.match = 0;
  c.options.relax = 2 + d.below(6);
  c.options.factors = c.options.supernodal = 1;
  handle h;
  require_status(analyze(c, h), GSOFA_OK, "relaxed supernodes");
  const answer found = copy(c, GSOFA_OK, h);
  dense_matrix b = permuted(a, found.row_order, found.col_order);
  const indices parent = tree_of(cholesky(b));
  std::vector<gsofa_range> ranges(b.size());
  std::int32_t count = 0;
  require_status(
      CALL(gsofa_relaxed_supernodes)(c.n, parent.data(), c.options.relax, ranges.data(), &count),
      GSOFA_OK, "gsofa_relaxed_supernodes");
  eliminate(b);
  dense_matrix held(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (std::int64_t p = found.l_ptr[i]; p < found.l_ptr[i + 1]; ++p) {
      held[i].set(at(found.l_idx[at(p)]));
    }
    for (std::int64_t p = found.u_ptr[i]; p < found.u_ptr[i + 1]; ++p) {
      held[i].set(at(found.u_idx[at(p)]));
    }
    require((b[i] & ~held[i]).none(), "a relaxed factor lacks an entry");
  }
  const gsofa_supernodal_view v = result_of(h.a).supernodal;
  for (std::int32_t r = 0; r < count; ++r) {
    const auto* const end = v.first_column + v.supernodes + 1;
    const auto* const begin = std::find(v.first_column, end, ranges[at(r)].begin);
    // A range of one column begins a supernode, which later columns may join.
    const bool ends = ranges[at(r)].end - ranges[at(r)].begin > 1;
    const bool whole =
        begin != end && (!ends || (begin + 1 != end && begin[1] == ranges[at(r)].end));
    require(whole, "a relaxed supernode is none of the analysis");
  }
  // The same supernodes by their ranges.
  call given = plain;
  given.options = c.options;
  given.options.relax = 1;
  given.options.order = GSOFA_ORDER_GIVEN;
  given.permutation = found.col_order;
  given.options.permutation = given.permutation.data();
  given.options.relaxed = ranges.data();
  given.options.relaxed_count = count;
  handle again;
  require_status(analyze(given, again), GSOFA_OK, "relaxed supernodes by their ranges");
  const answer same = copy(given, GSOFA_OK, again);
  require(same.l_idx == found.l_idx && same.u_idx == found.u_idx,
          "relaxed supernodes by their ranges give something else");
}

// A pattern comes back from a file, its entries by rows and once each.
void check_file(const call& c, const dense_matrix& a) {
  const pattern_file file(c);
  gsofa_pattern p{};
  require_status(CALL(gsofa_read_pattern)(file.name(), &p), GSOFA_OK, "gsofa_read_pattern");
  require(p.n == c.n && p.index_type == GSOFA_INDEX_64_32 && p.format == GSOFA_CSR, "another form");
  const auto* const ptr = static_cast<const std::int64_t*>(p.pointers);
  const auto* const idx = static_cast<const std::int32_t*>(p.indices);
  for (std::size_t i = 0; i < a.size(); ++i) {
    indices row;
    for (std::size_t j = 0; j < a.size(); ++j) {
      if (a[i][j]) row.push_back(static_cast<std::int32_t>(j));
    }
    require(row == indices(idx + ptr[i], idx + ptr[i + 1]), "a row of a file differs");
  }
  CALL(gsofa_pattern_free)(&p);
  require(p.pointers == nullptr && p.indices == nullptr, "gsofa_pattern_free");
  CALL(gsofa_pattern_free)(&p);
  CALL(gsofa_pattern_free)(nullptr);
  for (const char* const wrong : {static_cast<const char*>(nullptr), "", "/dev/null/none", "/"}) {
    p.n = 7;
    require_status(CALL(gsofa_read_pattern)(wrong, &p), GSOFA_INVALID_INPUT, "no file");
    require(p.n == 0 && p.pointers == nullptr && p.indices == nullptr, "a pattern of no file");
  }
  require_status(CALL(gsofa_read_pattern)(file.name(), nullptr), GSOFA_INVALID_INPUT, "no pattern");
}

void check_order_0() {
  const std::int64_t none = 0;
  const gsofa_pattern p{0, &none, nullptr, GSOFA_INDEX_64_32, GSOFA_CSR};
  handle h;
  require_status(CALL(gsofa_analyze)(0, &none, nullptr, nullptr, &h.a), GSOFA_OK, "order 0");
  const gsofa_result r = result_of(h.a);
  require(r.n == 0 && r.nnz_u == 0, "entries of order 0");
  gsofa_fill_estimate e{};
  require_status(CALL(gsofa_estimate)(&p, nullptr, &e, nullptr), GSOFA_OK, "order 0: estimate");
  gsofa_profile* profile = nullptr;
  require_status(CALL(gsofa_profile_pattern)(&p, 4, 1, &profile), GSOFA_OK, "order 0: profile");
  CALL(gsofa_profile_free)(profile);
}

void check_constants(const abilities& can) {
  const gsofa_variant* variants = nullptr;
  std::int32_t count = 0;
  require_status(CALL(gsofa_variants)(&variants, &count), GSOFA_OK, "gsofa_variants");
  bool found = false;
  for (std::int32_t k = 0; k < count; ++k) {
    require(k == 0 || std::strcmp(variants[k - 1].name, variants[k].name) < 0,
            "names do not ascend");
    require(*variants[k].summary != '\0', "a variant without a summary");
    found = found || std::string_view(variants[k].name) == "cpu_bitmap_panels";
  }
  require(found, "there is no cpu_bitmap_panels");
  require((CALL(gsofa_has_metis)() != 0) == can.metis, "gsofa_has_metis");
  const std::string_view version = CALL(gsofa_version)();
  require(std::ranges::count(version, '.') == 2, "gsofa_version");
}

call make_interface_call(dice& d) {
  call c;
  c.n = 1 + d.below(d.one_in(6) ? 70 : 24);
  fill_rows(d, c);
  gsofa_options& o = c.options;
  gsofa_options_init(&o);
  o.device = GSOFA_CPU;
  o.order = d.below(8);
  if (o.order == GSOFA_ORDER_GIVEN) {
    for (std::int32_t v = 0; v < c.n; ++v) c.permutation.push_back(v);
    std::ranges::shuffle(c.permutation, d.engine());
    o.permutation = c.permutation.data();
  }
  o.threads = d.below(3);
  o.match = d.one_in(3) ? 1 : 0;
  o.factors = d.below(2);
  o.factor_columns = d.below(2);
  o.supernodes = d.below(2);
  o.chunk_size = d.one_in(2) ? 0 : 1 + d.below(c.n);
  o.supernodal = d.below(2);
  o.most_columns = d.one_in(2) ? 0 : 1 + d.below(8);
  o.tree = d.below(2);
  o.masks = d.below(2);
  return c;
}

}  // namespace

void attack_c_interface(std::uint64_t seed, std::uint64_t number, const abilities& can) {
  dice d(seed + 1, number);
  const call c = make_interface_call(d);
  const dense_matrix a = dense(c);
  check_constants(can);
  check_options_init(d);
  check_pattern_functions(d, c, a);
  check_device_patterns(c, can);
  check_relaxed(d, c, a);
  check_file(c, a);
  check_order_0();
  handle h;
  const gsofa_status status =
      CALL(gsofa_analyze)(c.n, c.row_ptr.data(), c.col_idx.data(), &c.options, &h.a);
  const answer found = copy(c, status, h);
  check_answer(c, found, can);
  check_refusals(d, c, h.a);
  if (status != GSOFA_OK) return;
  const dense_matrix unfilled = permuted(a, found.row_order, found.col_order);
  check_sized_result(d, h.a);
  const gsofa_result r = result_of(h.a);
  checked_case k{c, r, found, unfilled};
  eliminate(k.b);
  check_numbers(k);
  check_factors(k);
  check_tree(k, unfilled);
  check_supernodal(k);
  check_masks(k);
  check_device_results(k);
  check_other_integers(d, k);
  check_analyzer(d, k);
  check_updates(d, c);
  check_estimate(d, k, unfilled);
  check_order(d, c);
  check_match(d, c);
}

}  // namespace gsofa::soak
