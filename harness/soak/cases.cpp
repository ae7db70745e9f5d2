#include "harness/soak/cases.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>
#include <utility>

namespace gsofa::soak {

static constexpr std::int32_t extremes[] = {-1,
                                            -2,
                                            std::numeric_limits<std::int32_t>::min(),
                                            std::numeric_limits<std::int32_t>::max(),
                                            std::numeric_limits<std::int32_t>::max() - 1,
                                            1 << 30};

// Entries of one row, unsorted, some of them repeated.
static std::vector<std::int32_t> random_row(dice& d, std::int32_t i, std::int32_t n, int kind) {
  std::vector<std::int32_t> row;
  const auto add_random = [&](std::int32_t count) {
    for (std::int32_t k = 0; k < count; ++k) row.push_back(d.below(n));
  };
  switch (kind) {
    case 0:  // sparse
      row.push_back(i);
      add_random(d.below(4));
      break;
    case 1:  // sparse, without its diagonal
      add_random(1 + d.below(4));
      break;
    case 2:  // may be empty
      add_random(d.below(3));
      break;
    case 3:  // banded
      for (std::int32_t j = i - 2; j <= i + 2; ++j) {
        if (j >= 0 && j < n && !d.one_in(4)) row.push_back(j);
      }
      break;
    case 4:  // an arrow: first columns and the diagonal
      row.push_back(i);
      row.push_back(d.below(std::min(n, 3)));
      if (i < 2) add_random(n);
      break;
    case 5:  // blocks
      row.push_back(i);
      for (std::int32_t k = 0; k < 3; ++k) row.push_back(std::min(n - 1, i / 8 * 8 + d.below(8)));
      if (d.one_in(6)) add_random(1);
      break;
    case 6:  // the other diagonal
      row.push_back(n - 1 - i);
      add_random(d.below(3));
      break;
    default:  // about full
      add_random(2 * n);
      break;
  }
  return row;
}

void fill_rows(dice& d, call& c) {
  const int kind = d.below(8);
  const std::int32_t dense_row_at = d.one_in(4) ? d.below(c.n) : -1;
  const std::int32_t dense_column = d.one_in(4) ? d.below(c.n) : -1;
  const bool mixed = d.one_in(3);
  for (std::int32_t i = 0; i < c.n; ++i) {
    std::vector<std::int32_t> row = random_row(d, i, c.n, mixed ? d.below(8) : kind);
    if (i == dense_row_at) {
      for (std::int32_t j = 0; j < c.n; ++j) row.push_back(j);
    }
    if (dense_column >= 0) row.push_back(dense_column);
    if (d.one_in(8) && !row.empty()) row.push_back(row.front());
    if (d.one_in(2)) std::ranges::sort(row);
    c.col_idx.insert(c.col_idx.end(), row.begin(), row.end());
    c.row_ptr.push_back(static_cast<std::int64_t>(c.col_idx.size()));
  }
}

static void choose_options(dice& d, call& c) {
  gsofa_options& o = c.options;
  gsofa_options_init(&o);
  o.order = d.below(8);
  if (o.order == GSOFA_ORDER_GIVEN) {
    for (std::int32_t k = 0; k < c.n; ++k) c.permutation.push_back(k);
    std::ranges::shuffle(c.permutation, d.engine());
    o.permutation = c.permutation.data();
  }
  constexpr const char* variants[] = {nullptr, nullptr, "cpu_bitmap_panels", "gpu_bitmap_panels"};
  o.variant = variants[d.below(4)];
  o.device = o.variant == nullptr ? d.below(2) : GSOFA_AUTOMATIC;
  o.threads = d.below(4);
  o.memory_budget_mb = d.one_in(4) ? 1 + d.below(3) : -1;
  o.match = d.one_in(3) ? 0 : 1;
  o.factors = d.below(2);
  o.supernodes = d.below(2);
  o.chunk_size = d.one_in(2) ? 0 : 1 + d.below(std::max(c.n, 2));
}

// Makes one thing wrong with the pattern or an option.
static void damage(dice& d, call& c) {
  c.faulty = true;
  gsofa_options& o = c.options;
  switch (d.below(9)) {
    case 0: {  // a column out of range
      if (c.col_idx.empty()) break;
      const std::int32_t wrong = extremes[d.below(6)];
      c.col_idx[at(d.below(static_cast<std::int64_t>(c.col_idx.size())))] =
          d.one_in(3) ? c.n : wrong;
      return;
    }
    case 1: {  // a row pointer that decreases or lies beyond the end; the last one stays
      if (c.n < 2) break;
      const std::int64_t wrong = d.one_in(2)   ? -1 - d.below(5)
                                 : d.one_in(2) ? std::numeric_limits<std::int64_t>::max()
                                               : c.row_ptr.back() + 1 + d.below(1 << 20);
      c.row_ptr[at(1 + d.below(c.n - 1))] = wrong;
      return;
    }
    case 2:  // a first row pointer that is not 0
      c.row_ptr[0] = d.one_in(2) ? -1 : 1 + d.below(3);
      return;
    case 3:
      c.n = extremes[d.below(3)];
      return;
    case 4:
      o.order = d.one_in(2) ? 8 : extremes[d.below(6)];
      return;
    case 5:
      o.device = d.one_in(2) ? 3 : extremes[d.below(6)];
      return;
    case 6:
      o.threads = extremes[d.below(3)];
      return;
    case 7:
      o.memory_budget_mb = d.one_in(2) ? -2 : std::numeric_limits<std::int64_t>::min() + d.below(2);
      return;
    default:
      if (o.order == GSOFA_ORDER_GIVEN && c.n > 1) {
        c.permutation[at(d.below(c.n))] = d.one_in(2) ? c.permutation[0] : extremes[d.below(6)];
        // A repeated value may have hit its own place.
        std::vector<std::int32_t> sorted = c.permutation;
        std::ranges::sort(sorted);
        bool whole = true;
        for (std::int32_t k = 0; k < c.n; ++k) whole = whole && sorted[at(k)] == k;
        c.faulty = !whole;
        return;
      }
      break;
  }
  o.chunk_size = extremes[d.below(3)];
}

call make_call(std::uint64_t seed, std::uint64_t number) {
  dice d(seed, number);
  call c;
  c.n = d.one_in(8) ? 1 + d.below(2) : 1 + d.below(d.one_in(3) ? static_cast<int>(largest) : 40);
  fill_rows(d, c);
  choose_options(d, c);
  if (d.one_in(6)) damage(d, c);
  return c;
}

pattern_file::pattern_file(const call& c)
    : name_((std::filesystem::temp_directory_path() / "gsofa-soak-XXXXXX").string()) {
  const int descriptor = mkstemp(name_.data());
  require(descriptor >= 0, "there is no room for a temporary file");
  close(descriptor);
  std::ofstream out(name_);
  out << "%%MatrixMarket matrix coordinate pattern general\n"
      << c.n << ' ' << c.n << ' ' << c.col_idx.size() << '\n';
  for (std::int32_t i = 0; i < c.n; ++i) {
    for (std::int64_t p = c.row_ptr[at(i)]; p < c.row_ptr[at(i) + 1]; ++p) {
      out << i + 1 << ' ' << c.col_idx[at(p)] + 1 << '\n';
    }
  }
}
pattern_file::~pattern_file() { std::remove(name_.c_str()); }

dense_matrix dense(const call& c) {
  dense_matrix a(at(c.n));
  for (std::int32_t i = 0; i < c.n; ++i) {
    for (std::int64_t p = c.row_ptr[at(i)]; p < c.row_ptr[at(i) + 1]; ++p) {
      a[at(i)].set(at(c.col_idx[at(p)]));
    }
  }
  return a;
}

dense_matrix permuted(const dense_matrix& a, const std::vector<std::int32_t>& row_order,
                      const std::vector<std::int32_t>& col_order) {
  dense_matrix b(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a.size(); ++j) b[i][j] = a[at(row_order[i])][at(col_order[j])];
    b[i].set(i);
  }
  return b;
}

void eliminate(dense_matrix& a) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    const dense_row right = a[k] >> (k + 1) << (k + 1);
    for (std::size_t i = k + 1; i < a.size(); ++i) {
      if (a[i][k]) a[i] |= right;
    }
  }
}

// Kuhn's augmenting paths.
static bool augment(const dense_matrix& a, std::size_t i, dense_row& seen,
                    std::vector<std::int32_t>& row_of) {
  for (std::size_t j = 0; j < row_of.size(); ++j) {
    if (!a[i][j] || seen[j]) continue;
    seen.set(j);
    if (row_of[j] < 0 || augment(a, at(row_of[j]), seen, row_of)) {
      row_of[j] = static_cast<std::int32_t>(i);
      return true;
    }
  }
  return false;
}

std::size_t structural_rank(const dense_matrix& a) {
  std::vector<std::int32_t> row_of(a.size(), -1);
  std::size_t rank = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    dense_row seen;
    rank += augment(a, i, seen, row_of) ? 1 : 0;
  }
  return rank;
}

static void copy_factor(const gsofa_factor& f, std::int32_t n, std::vector<std::int64_t>& ptr,
                        std::vector<std::int32_t>& idx) {
  require(f.pointers != nullptr, "requested factors are absent");
  ptr.assign(f.pointers, f.pointers + n + 1);
  require(ptr.front() == 0 && std::ranges::is_sorted(ptr), "row pointers do not ascend");
  idx.assign(f.indices, f.indices + ptr.back());
}

gsofa_result result_of(const gsofa_analysis* f) {
  gsofa_result r;
  require(gsofa_get_result(f, &r) == GSOFA_OK && r.size == sizeof r, "gsofa_get_result");
  return r;
}

gsofa_status analyze(const call& c, handle& h) {
  return gsofa_analyze(c.n, c.row_ptr.data(), c.col_idx.data(), &c.options, &h.a);
}

answer copy(const call& c, gsofa_status status, const handle& h) {
  answer out;
  out.status = status;
  require((h.a != nullptr) == (status == GSOFA_OK), "handle and status do not agree");
  if (status != GSOFA_OK) {
    out.message = gsofa_last_error();
    require(!out.message.empty() && out.message.find('\n') == std::string::npos,
            "an error is not one line");
    require(status >= GSOFA_INVALID_INPUT && status <= GSOFA_INTERNAL_ERROR, "unknown status");
    return out;
  }
  const gsofa_result r = result_of(h.a);
  out.n = r.n;
  require(out.n == c.n, "the order is another one");
  out.diagonal_added = r.diagonal_added;
  out.nnz_l = r.nnz_l;
  out.nnz_u = r.nnz_u;
  out.nnz_a = r.nnz_a;
  const auto copied = [&](const std::int32_t* p) {
    return std::vector<std::int32_t>(p, p + out.n);
  };
  out.row_order = copied(r.row_order);
  out.col_order = copied(r.col_order);
  out.l_counts = copied(r.l_row_counts);
  out.u_counts = copied(r.u_row_counts);
  out.variant = r.variant;
  out.order = r.order;
  if (c.options.factors != 0) {
    copy_factor(r.l, out.n, out.l_ptr, out.l_idx);
    copy_factor(r.u, out.n, out.u_ptr, out.u_idx);
  } else {
    require(r.l.pointers == nullptr && r.u.pointers == nullptr, "factors nobody requested");
  }
  if (c.options.supernodes != 0) {
    out.starts.assign(r.supernode_starts, r.supernode_starts + r.supernode_count);
  } else {
    require(r.supernode_starts == nullptr, "supernodes nobody requested");
  }
  return out;
}

static void check_permutation(const std::vector<std::int32_t>& order, const std::string& name) {
  std::vector<bool> seen(order.size());
  for (const std::int32_t v : order) {
    require(v >= 0 && at(v) < order.size() && !seen[at(v)], name + " is no permutation");
    seen[at(v)] = true;
  }
}

static void check_row(const std::vector<std::int64_t>& ptr, const std::vector<std::int32_t>& idx,
                      std::size_t i, const dense_row& row, std::size_t begin, std::size_t end,
                      const std::string& name) {
  std::vector<std::int32_t> expected;
  for (std::size_t j = begin; j < end; ++j) {
    if (row[j]) expected.push_back(static_cast<std::int32_t>(j));
  }
  const std::vector<std::int32_t> found(idx.begin() + ptr[i], idx.begin() + ptr[i + 1]);
  require(found == expected, name + ": row " + std::to_string(i) + " differs");
}

void check_filled(const call& c, const dense_matrix& a, const answer& found) {
  check_permutation(found.row_order, "row order");
  check_permutation(found.col_order, "column order");
  const std::size_t n = a.size();
  dense_matrix b = permuted(a, found.row_order, found.col_order);
  std::int32_t added = 0;
  std::int64_t entries = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!a[at(found.row_order[i])][at(found.col_order[i])]) ++added;
    entries += static_cast<std::int64_t>(b[i].count());
  }
  require(added == found.diagonal_added, "diagonal_added is wrong");
  require(c.options.match == 0 || added == 0, "the matching left a zero on the diagonal");
  require(entries == found.nnz_a, "nnz_a is wrong");
  eliminate(b);
  std::int64_t nnz_l = 0, nnz_u = 0;
  std::vector<std::int32_t> starts;
  std::int32_t before = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto u = static_cast<std::int32_t>((b[i] >> i).count());
    const auto l = static_cast<std::int32_t>(b[i].count()) - u;
    require(found.l_counts[i] == l && found.u_counts[i] == u,
            "counts of row " + std::to_string(i) + " differ");
    nnz_l += l;
    nnz_u += u;
    const bool cut = c.options.chunk_size > 0 && i % at(c.options.chunk_size) == 0;
    if (i == 0 || cut || u != before - 1 || !b[i][at(starts.back())]) {
      starts.push_back(static_cast<std::int32_t>(i));
    }
    before = u;
    if (c.options.factors != 0) {
      check_row(found.l_ptr, found.l_idx, i, b[i], 0, i, "L");
      check_row(found.u_ptr, found.u_idx, i, b[i], i, n, "U");
    }
  }
  require(nnz_l == found.nnz_l && nnz_u == found.nnz_u,
          "nnz_l or nnz_u is not the sum of its rows");
  require(c.options.supernodes == 0 || starts == found.starts, "supernodes differ");
  require(c.options.order != GSOFA_ORDER_GIVEN || found.col_order == c.permutation,
          "the given order was not taken");
}

abilities find_abilities() {
  abilities can;
  const std::vector<std::int64_t> ptr{0, 1, 2};
  const std::vector<std::int32_t> idx{1, 0};
  const auto status = [&](auto&& set) {
    gsofa_options o;
    gsofa_options_init(&o);
    o.device = GSOFA_CPU;
    o.order = GSOFA_ORDER_NATURAL;
    o.match = 0;
    set(o);
    handle h;
    return gsofa_analyze(2, ptr.data(), idx.data(), &o, &h.a);
  };
  can.matching = status([](gsofa_options& o) { o.match = 1; }) == GSOFA_OK;
  can.metis = status([](gsofa_options& o) { o.order = GSOFA_ORDER_METIS; }) == GSOFA_OK;
  can.gpu = status([](gsofa_options& o) { o.device = GSOFA_GPU; }) == GSOFA_OK;
  return can;
}

void check_answer(const call& c, const answer& found, const abilities& can) {
  if (c.faulty) {
    require(found.status == GSOFA_INVALID_INPUT || found.status == GSOFA_UNAVAILABLE,
            "bad input gave status " + std::to_string(found.status) + ": " + found.message);
    return;
  }
  const dense_matrix a = dense(c);
  bool zero_on_diagonal = false;
  for (std::size_t i = 0; i < a.size(); ++i) zero_on_diagonal = zero_on_diagonal || !a[i][i];
  const bool matched = c.options.match != 0 && zero_on_diagonal;
  const std::string variant = c.options.variant == nullptr ? "" : c.options.variant;
  const bool lacking = (matched && !can.matching) ||
                       (c.options.order == GSOFA_ORDER_METIS && !can.metis) ||
                       (variant.starts_with("gpu") && !can.gpu);
  if (lacking) {
    require(found.status == GSOFA_UNAVAILABLE, "something that is lacking was not refused as such");
    return;
  }
  if (matched && structural_rank(a) < a.size()) {
    require(found.status == GSOFA_INVALID_INPUT, "a structurally singular pattern was taken");
    return;
  }
  // A budget may be too small for any analysis.
  if (c.options.memory_budget_mb > 0 && found.status == GSOFA_OUT_OF_MEMORY) return;
  require(found.status == GSOFA_OK,
          "status " + std::to_string(found.status) + ": " + found.message);
  check_filled(c, a, found);
}

}  // namespace gsofa::soak
