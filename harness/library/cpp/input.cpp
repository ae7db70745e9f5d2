#include "harness/library/cpp/input.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <type_traits>

#include "common/parallel.hpp"
#include "common/preprocess.hpp"

namespace gsofa::library {

namespace {

// How messages name what the caller gave.
struct input_names {
  const char* pointers;
  const char* indices;
  const char* major;
  const char* minor;
  int first = 0;  // analysis_options::first_index
};
constexpr input_names by_rows{"row_ptr", "col_idx", "row", "column"};
constexpr input_names by_columns{"col_ptr", "row_idx", "column", "row"};

struct checked_rows {
  bool in_range = true;   ///< every column
  bool ascending = true;  ///< strictly, in every row
  index_t missing = 0;    ///< zeros on the diagonal
};

template <class Offset, class Index>
checked_rows look_at_rows(Index begin, Index end, std::span<const Offset> ptr,
                          std::span<const Index> idx, Index n) {
  checked_rows found;
  for (Index i = begin; i < end; ++i) {
    const auto row = idx.subspan(at(ptr[at(i)]), at(ptr[at(i) + 1] - ptr[at(i)]));
    const bool ascends = std::ranges::adjacent_find(row, std::greater_equal()) == row.end();
    found.ascending = found.ascending && ascends;
    const auto in_range = [&](Index j) { return j >= 0 && j < n; };
    found.in_range =
        found.in_range && (ascends ? row.empty() || (in_range(row.front()) && in_range(row.back()))
                                   : std::ranges::all_of(row, in_range));
    const bool has_diagonal =
        ascends ? std::ranges::binary_search(row, i) : std::ranges::find(row, i) != row.end();
    found.missing += has_diagonal ? 0 : 1;
  }
  return found;
}

// Sizes, monotone pointers, ranges.
template <class Offset, class Index>
checked_rows check_entries(Index n, std::span<const Offset> ptr, std::span<const Index> idx,
                           const input_names& names, int threads) {
  const auto text = [](auto value) { return std::to_string(value); };
  const auto index = [&](auto value) { return std::to_string(value + names.first); };
  const auto fail = [](const std::string& why) { throw input_error("pattern: " + why); };
  const std::string pointers = names.pointers;
  if (n < 0) fail("order " + text(n) + " is negative");
  narrow<index_t>(n, "pattern: order");
  if (ptr.size() != at(n) + 1) {
    fail(pointers + " has " + text(ptr.size()) + " entries; order " + text(n) + " needs " +
         text(at(n) + 1));
  }
  if (ptr[0] != 0) fail(pointers + " begins with " + index(ptr[0]) + ", not " + index(0));
  for (Index i = 0; i < n; ++i) {
    if (ptr[at(i) + 1] < ptr[at(i)]) {
      fail(pointers + " decreases from " + index(ptr[at(i)]) + " to " + index(ptr[at(i) + 1]) +
           " at " + names.major + " " + index(i));
    }
  }
  if (ptr.back() != static_cast<offset_t>(idx.size())) {
    fail(pointers + " ends with " + index(ptr.back()) + "; " + names.indices + " has " +
         text(idx.size()) + " entries");
  }
  std::vector<checked_rows> found(at(std::max(threads, 1)));
  parallel_ranges<Index>(threads, n, 4096, [&](int thread, Index begin, Index end) {
    const checked_rows rows = look_at_rows(begin, end, ptr, idx, n);
    checked_rows& all = found[at(thread)];
    all = {all.in_range && rows.in_range, all.ascending && rows.ascending,
           all.missing + rows.missing};
  });
  checked_rows all;
  for (const checked_rows& rows : found) {
    all = {all.in_range && rows.in_range, all.ascending && rows.ascending,
           all.missing + rows.missing};
  }
  for (Index i = 0; i < n && !all.in_range; ++i) {
    for (Offset p = ptr[at(i)]; p < ptr[at(i) + 1]; ++p) {
      const Index j = idx[at(p)];
      if (j >= 0 && j < n) continue;
      fail(std::string(names.major) + " " + index(i) + ": " + names.minor + " " + index(j) +
           " is outside [" + index(0) + ", " + index(n) + ")");
    }
  }
  return all;
}

template <class Offset, class Index>
checked_input check_input(Index n, std::span<const Offset> ptr, std::span<const Index> idx,
                          const input_names& names, input_arrays& arrays, int threads) {
  const auto [in_range, ascending, missing] = check_entries(n, ptr, idx, names, threads);
  checked_input in;
  in.a.n_rows = in.a.n_cols = static_cast<index_t>(n);
  if constexpr (std::is_same_v<Index, index_t>) in.a.col_idx = idx;
  if constexpr (std::is_same_v<Offset, offset_t>) in.a.row_ptr = ptr;
  if (!ascending || !std::is_same_v<Index, index_t>) {
    arrays.col_idx.resize(idx.size());
    std::ranges::transform(idx, arrays.col_idx.begin(),
                           [](Index j) { return static_cast<index_t>(j); });
    in.a.col_idx = arrays.col_idx;
  }
  if (!ascending || !std::is_same_v<Offset, offset_t>) {
    arrays.row_ptr.assign(ptr.begin(), ptr.end());
    in.a.row_ptr = arrays.row_ptr;
  }
  if (!ascending) {
    auto& columns = arrays.col_idx;
    auto end = columns.begin();
    for (index_t i = 0; i < in.a.n_rows; ++i) {
      const auto first = columns.begin() + static_cast<offset_t>(ptr[at(i)]);
      const auto last = columns.begin() + static_cast<offset_t>(ptr[at(i) + 1]);
      if (!std::is_sorted(first, last)) std::sort(first, last);
      arrays.row_ptr[at(i)] = end - columns.begin();
      end = std::copy(first, std::unique(first, last), end);
    }
    arrays.row_ptr.back() = end - columns.begin();
    columns.erase(end, columns.end());
    in.a.col_idx = columns;
  }
  in.missing = missing;
  return in;
}

}  // namespace

checked_input read(const given_pattern& a, input_arrays& arrays, int threads) {
  input_names names = a.of == given_pattern::form::columns ? by_columns : by_rows;
  names.first = a.first_index;
  const auto check = [&]<class Offset, class Index>(Offset, Index) {
    return check_input(
        static_cast<Index>(a.n), std::span(static_cast<const Offset*>(a.pointers), a.pointer_count),
        std::span(static_cast<const Index*>(a.indices), at(a.index_count)), names, arrays, threads);
  };
  if (!a.long_pointers) return check(std::int32_t(), std::int32_t());
  return a.long_indices ? check(std::int64_t(), std::int64_t())
                        : check(std::int64_t(), std::int32_t());
}

input_rows::input_rows(const given_pattern& a) : in(read(a, arrays)) {
  if (a.of != given_pattern::form::columns) return;
  transposed = transpose(in.a);
  in.a = transposed;
  arrays = {};
}

namespace {

// The first row with an entry above (below) the diagonal; n if there is none. Rows are ascending.
index_t first_row_with_entry(const pattern_view& a, bool above) {
  for (index_t i = 0; i < a.n_rows; ++i) {
    const auto row = a.row(i);
    if (!row.empty() && (above ? row.back() > i : row.front() < i)) return i;
  }
  return a.n_rows;
}

}  // namespace

checked_input whole_matrix(const checked_input& in, const analysis_options& options,
                           pattern& whole) {
  if (options.symmetric == stored_triangle::both) return in;
  const bool lower = options.symmetric == stored_triangle::lower;
  const index_t i = first_row_with_entry(in.a, lower);
  if (i < in.a.n_rows) {
    const index_t j = lower ? in.a.row(i).back() : in.a.row(i).front();
    throw invalid_input("symmetric: " + std::string(lower ? "lower" : "upper") + ", but row " +
                        std::to_string(i + options.first_index) + " has column " +
                        std::to_string(j + options.first_index) + ", " +
                        (lower ? "above" : "below") + " the diagonal");
  }
  whole = symmetrized(in.a, diagonal::keep);
  return {whole, in.missing};
}

std::string triangle_warning(const pattern_view& a) {
  const bool upper = first_row_with_entry(a, false) == a.n_rows;
  const bool lower = first_row_with_entry(a, true) == a.n_rows;
  if (upper == lower) return {};
  const std::string name = lower ? "lower" : "upper";
  return "the pattern is " + name + " triangular; symmetric = " + name +
         " analyzes the symmetric matrix with this triangle";
}

}  // namespace gsofa::library
