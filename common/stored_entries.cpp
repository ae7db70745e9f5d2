#include "common/stored_entries.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/process.hpp"

namespace gsofa {

namespace {

// Scatters entries (k = 0, 1, ...) given in an order that leaves every row ascending, and their
// mirror images if the storage is symmetric.
template <class Row, class Column>
pattern scatter(index_t n_rows, index_t n_cols, std::size_t count, bool mirrored, const Row& row,
                const Column& column) {
  pattern a;
  a.n_rows = n_rows;
  a.n_cols = n_cols;
  a.row_ptr.assign(at(n_rows) + 1, 0);
  for (std::size_t k = 0; k < count; ++k) ++a.row_ptr[at(row(k))];
  if (mirrored) {
    for (std::size_t k = 0; k < count; ++k) {
      if (row(k) != column(k)) ++a.row_ptr[at(column(k))];
    }
  }
  offset_t total = 0;
  for (offset_t& begin : a.row_ptr) total += std::exchange(begin, total);
  a.col_idx.resize(at(total));
  // Each row's pointer moves from its beginning to its end, which is where the next row begins.
  for (std::size_t k = 0; k < count; ++k) {
    const index_t i = row(k);
    const index_t j = column(k);
    a.col_idx[at(a.row_ptr[at(i)]++)] = j;
    if (mirrored && i != j) a.col_idx[at(a.row_ptr[at(j)]++)] = i;
  }
  std::copy_backward(a.row_ptr.begin(), a.row_ptr.end() - 1, a.row_ptr.end());
  a.row_ptr.front() = 0;
  return a;
}

}  // namespace

void stored_entries::begin(index_t n_rows, index_t n_cols, bool mirrored, offset_t likely) {
  entries_.n_rows = n_rows;
  entries_.n_cols = n_cols;
  mirrored_ = mirrored;
  reserve(likely);
}

// While the entries move, both places are taken.
void stored_entries::reserve(offset_t size) {
  check_memory(4 * (2 * size + count()));
  entries_.rows.reserve(at(size));
  entries_.cols.reserve(at(size));
}

void stored_entries::check_memory(offset_t bytes) const {
  require_memory(name_, entries_.n_rows, entries_.n_cols,
                 bound_.per_row * (offset_t{entries_.n_rows} + 1) + held_ + bytes, bound_.bytes);
}

pattern stored_entries::assemble() {
  const index_t n_rows = entries_.n_rows;
  const index_t n_cols = entries_.n_cols;
  const std::size_t stored = entries_.rows.size();
  const offset_t pointers = 8 * (offset_t{n_rows} + 1);
  // In addition to the pointers of the result, which the bound counts.
  const offset_t result = 8 * count() + 4 * (mirrored_ ? 2 * count() : count());
  // Ordered by column or by row, the stored lower triangle of row i comes before its mirrored
  // upper part: the entries (i, j), j <= i, precede every (k, i), k > i, in both orders.
  if (by_column_ || by_row_) {
    check_memory(result);
    return scatter(
        n_rows, n_cols, stored, mirrored_, [&](std::size_t k) { return entries_.rows[k]; },
        [&](std::size_t k) { return entries_.cols[k]; });
  }
  check_memory(result + pointers + 8 * (offset_t{n_cols} + 1) + 8 * count());
  pattern sorted = from_triplets(entries_, duplicates::merge);
  if (!mirrored_) return sorted;
  // magnitudes() still needs the rows.
  std::vector<index_t> separate(values_.empty() ? 0 : stored);
  std::vector<index_t>& row_of = values_.empty() ? entries_.rows : separate;
  for (index_t i = 0; i < n_rows; ++i) {
    std::fill(row_of.begin() + sorted.row_ptr[at(i)], row_of.begin() + sorted.row_ptr[at(i) + 1],
              i);
  }
  return scatter(
      n_rows, n_cols, at(sorted.nnz()), true, [&](std::size_t k) { return row_of[k]; },
      [&](std::size_t k) { return sorted.col_idx[k]; });
}

std::vector<double> stored_entries::magnitudes(const pattern_view& a) const {
  check_memory(40 * a.nnz());
  std::vector<std::complex<double>> sums(at(a.nnz()));
  const auto add = [&](index_t i, index_t j, std::complex<double> value) {
    const auto row = a.row(i);
    sums[at(a.row_ptr[at(i)] + (std::ranges::lower_bound(row, j) - row.begin()))] += value;
  };
  for (std::size_t k = 0; k < values_.size(); ++k) {
    const index_t i = entries_.rows[k];
    const index_t j = entries_.cols[k];
    add(i, j, values_[k]);
    if (mirrored_ && i != j) add(j, i, values_[k]);
  }
  std::vector<double> out(sums.size());
  std::ranges::transform(sums, out.begin(), [](std::complex<double> v) { return std::abs(v); });
  return out;
}

}  // namespace gsofa
