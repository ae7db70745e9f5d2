#include "reference/supernodes.hpp"

#include <algorithm>

namespace gsofa::reference {

namespace {

void check_input(index_t n_rows, index_t n_cols, index_t chunk_size) {
  if (n_rows != n_cols) throw input_error("supernodes: the filled pattern is not square");
  if (chunk_size < 0) throw input_error("supernodes: the chunk size is negative");
}

// u_count(i) is |U(i,:)|; in_l(s, r) returns whether L(s,r) is structurally nonzero.
template <class Count, class Lookup>
std::vector<index_t> detect(index_t n, index_t chunk_size, Count u_count, Lookup in_l) {
  std::vector<index_t> starts;
  for (index_t s = 0; s < n; ++s) {
    const bool joins = s > 0 && (chunk_size == 0 || s % chunk_size != 0) &&
                       u_count(s) == u_count(s - 1) - 1 && in_l(s, starts.back());
    if (!joins) starts.push_back(s);
  }
  return starts;
}

}  // namespace

std::vector<index_t> t3_supernodes(const pattern_view& filled, index_t chunk_size) {
  check_input(filled.n_rows, filled.n_cols, chunk_size);
  return detect(
      filled.n_rows, chunk_size,
      [&](index_t i) {
        return std::ranges::count_if(filled.row(i), [i](index_t j) { return j >= i; });
      },
      [&](index_t s, index_t r) { return std::ranges::binary_search(filled.row(s), r); });
}

std::vector<index_t> t3_supernodes(const pattern_view& l, const pattern_view& u,
                                   index_t chunk_size) {
  check_input(u.n_rows, u.n_cols, chunk_size);
  if (l.n_rows != u.n_rows || l.n_cols != u.n_cols) {
    throw input_error("supernodes: L and U differ in order");
  }
  return detect(
      u.n_rows, chunk_size, [&](index_t i) { return std::ssize(u.row(i)); },
      [&](index_t s, index_t r) { return std::ranges::binary_search(l.row(s), r); });
}

}  // namespace gsofa::reference
