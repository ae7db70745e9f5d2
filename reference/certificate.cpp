#include "reference/certificate.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "common/parallel.hpp"

// Why (a), (b) and (c) characterise the fill closure C, the smallest set that satisfies (a), (b).
//   C is in F: C is the smallest of the sets that satisfy (a) and (b), and F is one.
//   F is in C: by induction on m = min(i,j). Let (i,j) be in F. If i = j or (i,j) is in A, it is in
//   C by (a). Else (c) gives k < m with (i,k) and (k,j) in F. As min(i,k) = min(k,j) = k < m, both
//   are in C by induction, and (b), with k < i and j > k, puts (i,j) into C.
// The induction needs k < m strictly: with k = j admitted, the diagonal would make (i,j), j < i,
// its own reason, and every closed superset of C would pass.

namespace gsofa::reference {

namespace {

std::string entry(index_t i, index_t j) {
  return std::string("(") + std::to_string(i) + "," + std::to_string(j) + ")";
}

verdict fault(std::string reason) { return {false, std::move(reason)}; }

// Fault in the shape of one factor, empty if none; rows are looked at only if it is empty.
std::string shape_fault(const pattern_view& f, index_t n) {
  if (f.n_rows != n || f.n_cols != n) {
    return "is " + std::to_string(f.n_rows) + " x " + std::to_string(f.n_cols) + ", expected " +
           std::to_string(n) + " x " + std::to_string(n);
  }
  if (f.row_ptr.size() != at(n) + 1) {
    return "has " + std::to_string(f.row_ptr.size()) + " row pointers, expected " +
           std::to_string(offset_t{n} + 1);
  }
  if (f.row_ptr[0] != 0) return "row pointers begin with " + std::to_string(f.row_ptr[0]);
  for (index_t i = 0; i < n; ++i) {
    if (f.row_ptr[at(i) + 1] < f.row_ptr[at(i)]) {
      return "row pointers decrease at row " + std::to_string(i);
    }
  }
  if (f.row_ptr.back() != static_cast<offset_t>(f.col_idx.size())) {
    return "row pointers end with " + std::to_string(f.row_ptr.back()) + ", but there are " +
           std::to_string(f.col_idx.size()) + " entries";
  }
  return {};
}

// Fault in row i of one factor, whose columns must lie in [first, last]; empty if none.
std::string row_fault(const pattern_view& f, index_t i, index_t first, index_t last,
                      const char* part) {
  const auto row = f.row(i);
  for (std::size_t p = 0; p < row.size(); ++p) {
    const index_t j = row[p];
    if (j < 0 || j >= f.n_cols) return "column out of range: " + entry(i, j);
    if (j < first || j > last) return entry(i, j) + " is not in the " + part;
    if (p > 0 && j == row[p - 1]) return "duplicate entry " + entry(i, j);
    if (p > 0 && j < row[p - 1]) {
      return "row " + std::to_string(i) + " is not sorted: " + std::to_string(j) + " after " +
             std::to_string(row[p - 1]);
    }
  }
  return {};
}

enum mark : std::uint8_t { absent = 0, present = 1, justified = 2 };

// Fault of row i under (a), (b) or (c), empty if none. All of `marks` is absent before and after.
std::string closure_fault(const pattern_view& a, const pattern_view& l, const pattern_view& u,
                          index_t i, std::vector<std::uint8_t>& marks) {
  const auto l_row = l.row(i);
  const auto u_row = u.row(i);
  for (const index_t j : l_row) marks[at(j)] = present;
  for (const index_t j : u_row) marks[at(j)] = present;
  std::string reason;
  for (const index_t j : a.row(i)) {
    if (marks[at(j)] == absent) {
      reason = "not contained: " + entry(i, j) + " is in A but not in F";
      break;
    }
    marks[at(j)] = justified;
  }
  // The diagonal is in F by check_structure and needs no reason.
  marks[at(i)] = justified;
  for (std::size_t p = 0; p < l_row.size() && reason.empty(); ++p) {
    const index_t k = l_row[p];
    // k < i as k is in L(i,:), and j > k: k < min(i,j) for (b) and for (c).
    for (const index_t j : u.row(k).subspan(1)) {
      if (marks[at(j)] == absent) {
        reason = "not closed: " + entry(i, k) + " and " + entry(k, j) + " are in F but " +
                 entry(i, j) + " is not";
        break;
      }
      marks[at(j)] = justified;
    }
  }
  auto unjustified = [&](std::span<const index_t> row) {
    for (const index_t j : row) {
      if (reason.empty() && marks[at(j)] != justified) {
        reason = "not justified: " + entry(i, j) + " is in F but not in A, and no k < " +
                 std::to_string(std::min(i, j)) + " has (" + std::to_string(i) + ",k) and (k," +
                 std::to_string(j) + ") in F";
      }
      marks[at(j)] = absent;
    }
  };
  unjustified(l_row);
  unjustified(u_row);
  return reason;
}

}  // namespace

verdict check_structure(const pattern_view& l, const pattern_view& u, index_t n) {
  if (const std::string why = shape_fault(l, n); !why.empty()) return fault("L: " + why);
  if (const std::string why = shape_fault(u, n); !why.empty()) return fault("U: " + why);
  for (index_t i = 0; i < n; ++i) {
    if (const std::string why = row_fault(l, i, 0, i - 1, "strictly lower part"); !why.empty()) {
      return fault("L: " + why);
    }
  }
  for (index_t i = 0; i < n; ++i) {
    if (const std::string why = row_fault(u, i, i, n - 1, "upper part"); !why.empty()) {
      return fault("U: " + why);
    }
    // Sorted and in the upper part: the diagonal, if there, comes first.
    if (u.row(i).empty() || u.row(i).front() != i) {
      return fault("U: diagonal entry " + entry(i, i) + " is missing");
    }
  }
  return {};
}

verdict check_certificate(const pattern_view& a, const pattern_view& l, const pattern_view& u,
                          int threads) {
  validate(a, "certificate");
  if (a.n_rows != a.n_cols) throw input_error("certificate: the matrix is not square");
  const index_t n = a.n_rows;
  if (verdict structure = check_structure(l, u, n); !structure.ok) return structure;

  // parallel_ranges gives out ranges in ascending order, and a thread skips only rows beyond a
  // known fault, so that some thread always examines the smallest faulty row.
  threads = useful_threads(threads, n);
  std::vector<std::vector<std::uint8_t>> marks(static_cast<std::size_t>(threads));
  std::atomic<index_t> first{n};
  std::mutex guard;
  verdict out;
  parallel_ranges(threads, n, index_t{16}, [&](int t, index_t begin, index_t end) {
    auto& mine = marks[static_cast<std::size_t>(t)];
    if (mine.empty()) mine.resize(at(n), absent);
    for (index_t i = begin; i < end && i < first.load(std::memory_order_relaxed); ++i) {
      std::string reason = closure_fault(a, l, u, i, mine);
      if (reason.empty()) continue;
      const std::scoped_lock lock(guard);
      if (i < first.load(std::memory_order_relaxed)) {
        first.store(i, std::memory_order_relaxed);
        out = {false, std::move(reason), i};
      }
    }
  });
  return out;
}

double certificate_cost(const pattern_view& l, const pattern_view& u) {
  double steps = 0;
  for (const index_t k : l.col_idx) steps += static_cast<double>(u.row(k).size());
  return steps;
}

}  // namespace gsofa::reference
