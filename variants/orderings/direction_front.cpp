// Exact elimination of a node and of its boundary, on bit sets.

#include "variants/orderings/direction_front.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "variants/support/processors.hpp"

namespace gsofa::orders {

namespace {

bool has_bit(const std::uint64_t* bits, index_t i) { return bits[i / 64] >> (i % 64) & 1; }

// Calls body(i) for the bits of `bits` & `mask` below `limit`.
template <class Body>
void for_each_bit(const std::uint64_t* bits, const std::uint64_t* mask, index_t limit,
                  Body&& body) {
  for (index_t base = 0; base < limit; base += 64) {
    std::uint64_t word = bits[base / 64] & mask[base / 64];
    if (limit - base < 64) word &= (std::uint64_t{1} << (limit - base)) - 1;
    for (; word != 0; word &= word - 1) body(base + std::countr_zero(word));
  }
}

// Rows of `f` by row merging. A row takes row k of U for every entry k of L that it gets, up to
// the first symmetric match j < i of k, U(k, j) and L(j, k): row j of U, which the row takes too,
// has all of row k beyond j (Eisenstat & Liu 1992).
GSOFA_FOR_PROCESSORS
void merge_rows(std::uint64_t* bits, std::size_t words, index_t own, index_t size, index_t* match,
                index_t* l) noexcept {
  for (index_t k = 0; k < own; ++k) match[k] = -1, l[k] = 0;
  for (index_t i = 0; i < size; ++i) {
    std::uint64_t* row = bits + at(i) * words;
    const index_t last = std::min(i, own);
    for (index_t base = 0; base < last; base += 64) {
      const std::uint64_t below =
          last - base < 64 ? (std::uint64_t{1} << (last - base)) - 1 : ~std::uint64_t{0};
      std::uint64_t done = 0;
      for (;;) {
        const std::uint64_t left = row[base / 64] & below & ~done;
        if (left == 0) break;
        const index_t k = base + std::countr_zero(left);
        done |= left & (~left + 1);
        ++l[k];
        const std::uint64_t* other = bits + at(k) * words;
        const auto first = static_cast<std::size_t>(k / 64);
        // Columns up to k of row k are those of L.
        const std::uint64_t of_u = ~((std::uint64_t{2} << (k % 64)) - 1);
        if (match[k] < 0) {
          if (i < own && has_bit(other, i)) match[k] = i;
          row[first] |= other[first] & of_u;
          for (std::size_t w = first + 1; w < words; ++w) row[w] |= other[w];
          continue;
        }
        const auto end = static_cast<std::size_t>(match[k] / 64);
        const std::uint64_t to_match = (std::uint64_t{2} << (match[k] % 64)) - 1;
        row[first] |= other[first] & of_u & (first == end ? to_match : ~std::uint64_t{0});
        for (std::size_t w = first + 1; w < end; ++w) row[w] |= other[w];
        if (first < end) row[end] |= other[end] & to_match;
      }
    }
  }
}

GSOFA_FOR_PROCESSORS
void count_above(const std::uint64_t* bits, std::size_t words, index_t own, index_t* u) noexcept {
  for (index_t k = 0; k < own; ++k) {
    const std::uint64_t* row = bits + at(k) * words;
    const auto first = static_cast<std::size_t>(k / 64);
    index_t count = std::popcount(row[first] & ~((std::uint64_t{2} << (k % 64)) - 1));
    for (std::size_t w = first + 1; w < words; ++w) count += std::popcount(row[w]);
    u[k] = count;
  }
}

constexpr offset_t eliminated = std::numeric_limits<offset_t>::max();

// Rows and columns of the vertices of a node that are left, and their numbers of entries.
struct pivots {
  std::uint64_t* rows;
  std::uint64_t* columns;
  std::uint64_t* live;
  std::size_t words;
  index_t own;
  index_t* in_row;     // with the diagonal
  index_t* in_column;  // with the diagonal
  offset_t* product;   // Markowitz product; `eliminated` if the vertex is not live

  void set_product(index_t k) const { product[k] = offset_t{in_row[k] - 1} * (in_column[k] - 1); }
  index_t merge(std::uint64_t* to, const std::uint64_t* from) const {
    index_t count = 0;
    for (std::size_t w = 0; w < words; ++w) {
      to[w] |= from[w];
      count += std::popcount(to[w] & live[w]);
    }
    return count;
  }
};

GSOFA_FOR_PROCESSORS
void count_all(const pivots& p) noexcept {
  for (index_t k = 0; k < p.own; ++k) {
    p.in_row[k] = p.in_column[k] = 0;
    for (std::size_t w = 0; w < p.words; ++w) {
      p.in_row[k] += std::popcount(p.rows[at(k) * p.words + w]);
      p.in_column[k] += std::popcount(p.columns[at(k) * p.words + w]);
    }
    p.set_product(k);
  }
}

GSOFA_FOR_PROCESSORS
void eliminate_pivot(const pivots& p, index_t k) noexcept {
  const std::uint64_t* row = p.rows + at(k) * p.words;
  const std::uint64_t* column = p.columns + at(k) * p.words;
  p.live[k / 64] &= ~(std::uint64_t{1} << (k % 64));
  p.product[k] = eliminated;
  for_each_bit(column, p.live, p.own, [&](index_t i) {
    p.in_row[i] = p.merge(p.rows + at(i) * p.words, row);
    p.set_product(i);
  });
  for_each_bit(row, p.live, p.own, [&](index_t j) {
    p.in_column[j] = p.merge(p.columns + at(j) * p.words, column);
    p.set_product(j);
  });
}

// Entries that the elimination of k adds to rows of the node, and to columns of the node in rows of
// the boundary. Other entries do not depend on the order.
GSOFA_FOR_PROCESSORS
offset_t fill_of(const pivots& p, index_t k) noexcept {
  const std::uint64_t* row = p.rows + at(k) * p.words;
  const std::uint64_t* column = p.columns + at(k) * p.words;
  const auto first = at(p.own / 64);
  const std::uint64_t of_node = (std::uint64_t{1} << (p.own % 64)) - 1;
  offset_t sum = 0;
  for_each_bit(column, p.live, p.own, [&](index_t i) {
    const std::uint64_t* other = p.rows + at(i) * p.words;
    for (std::size_t w = 0; w < p.words; ++w) {
      sum += std::popcount(row[w] & ~other[w] & p.live[w]);
    }
  });
  if (first == p.words) return sum;
  for_each_bit(row, p.live, p.own, [&](index_t j) {
    const std::uint64_t* other = p.columns + at(j) * p.words;
    sum += std::popcount(column[first] & ~other[first] & ~of_node);
    for (std::size_t w = first + 1; w < p.words; ++w) {
      sum += std::popcount(column[w] & ~other[w]);
    }
  });
  return sum;
}

GSOFA_FOR_PROCESSORS
index_t least_product(const pivots& p) noexcept {
  offset_t least = eliminated;
  for (index_t k = 0; k < p.own; ++k) least = std::min(least, p.product[k]);
  return static_cast<index_t>(std::find(p.product, p.product + p.own, least) - p.product);
}

// The vertex of least fill among `candidates` with the least products.
index_t least_fill(const pivots& p, int candidates,
                   std::vector<std::pair<offset_t, index_t>>& ranks) {
  ranks.clear();
  for (index_t k = 0; k < p.own; ++k) {
    if (p.product[k] != eliminated) ranks.emplace_back(p.product[k], k);
  }
  const auto end = ranks.begin() + std::min<std::ptrdiff_t>(candidates, std::ssize(ranks));
  std::ranges::partial_sort(ranks, end);
  index_t best = -1;
  offset_t least = std::numeric_limits<offset_t>::max();
  for (auto r = ranks.begin(); r != end && least > 0; ++r) {
    const offset_t fill = fill_of(p, r->second);
    if (fill < least) best = r->second, least = fill;
  }
  return best;
}

// Whether all live vertices are in the row and in the column of k, and have the same rows and
// columns as k.
GSOFA_FOR_PROCESSORS
bool are_equal(const pivots& p, index_t k) noexcept {
  const std::uint64_t* row = p.rows + at(k) * p.words;
  const std::uint64_t* column = p.columns + at(k) * p.words;
  for (index_t base = 0; base < p.own; base += 64) {
    const auto w = at(base / 64);
    const std::uint64_t of_node =
        p.own - base < 64 ? (std::uint64_t{1} << (p.own - base)) - 1 : ~std::uint64_t{0};
    if ((~(row[w] & column[w]) & p.live[w] & of_node) != 0) return false;
  }
  for (index_t i = 0; i < p.own; ++i) {
    if (p.product[i] == eliminated) continue;
    if (p.in_row[i] != p.in_row[k] || p.in_column[i] != p.in_column[k]) return false;
  }
  bool equal = true;
  for_each_bit(p.live, p.live, p.own, [&](index_t i) {
    const std::uint64_t* other_row = p.rows + at(i) * p.words;
    const std::uint64_t* other_column = p.columns + at(i) * p.words;
    for (std::size_t w = 0; w < p.words && equal; ++w) {
      equal = (((row[w] ^ other_row[w]) | (column[w] ^ other_column[w])) & p.live[w]) == 0;
    }
  });
  return equal;
}

}  // namespace

front::front(index_t node, index_t boundary) : own(node), size(node + boundary) {
  rows.assign(size, size);
  for (index_t i = 0; i < size; ++i) rows.set(i, i);
}

void front::add(const bit_rows& other, std::span<const index_t> to) {
  std::vector<std::uint64_t> mask(rows.words);
  const std::uint64_t* last = nullptr;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::uint64_t* row = other.row(static_cast<index_t>(i));
    // Rows of strongly connected vertices are equal: translated once.
    if (last == nullptr || !std::equal(row, row + other.words, last)) {
      std::ranges::fill(mask, 0);
      for (std::size_t w = 0; w < other.words; ++w) {
        for (std::uint64_t word = row[w]; word != 0; word &= word - 1) {
          const index_t j = to[64 * w + at(std::countr_zero(word))];
          mask[at(j / 64)] |= std::uint64_t{1} << (j % 64);
        }
      }
      last = row;
    }
    std::uint64_t* mine = rows.row(to[i]);
    for (std::size_t w = 0; w < mask.size(); ++w) mine[w] |= mask[w];
  }
}

double front::eliminate() {
  std::vector<index_t> match(at(own));
  std::vector<index_t> l(at(own));
  std::vector<index_t> u(at(own));
  merge_rows(rows.bits.data(), rows.words, own, size, match.data(), l.data());
  count_above(rows.bits.data(), rows.words, own, u.data());
  double flops = 0;
  for (std::size_t k = 0; k < l.size(); ++k) flops += pivot_flops(l[k], u[k]);
  return flops;
}

bit_rows front::boundary_rows() const {
  bit_rows left;
  left.assign(size - own, size - own);
  const auto first = at(own / 64);
  const int shift = own % 64;
  for (index_t i = 0; i < size - own; ++i) {
    const std::uint64_t* from = rows.row(own + i) + first;
    std::uint64_t* to = left.row(i);
    for (std::size_t w = 0; w < left.words; ++w) {
      to[w] = from[w] >> shift;
      if (shift > 0 && first + w + 1 < rows.words) to[w] |= from[w + 1] << (64 - shift);
    }
  }
  return left;
}

markowitz::markowitz(const front& f) : own_(f.own), in_row_(at(f.own)), in_column_(at(f.own)) {
  rows_.words = f.rows.words;
  rows_.bits.assign(f.rows.bits.begin(), f.rows.bits.begin() + (f.rows.row(own_) - f.rows.row(0)));
  columns_.assign(own_, f.size);
  live_.assign(1, f.size);
  for (index_t i = 0; i < f.size; ++i) live_.set(0, i);
  for (index_t i = 0; i < f.size; ++i) {
    for_each_bit(f.rows.row(i), live_.row(0), own_, [&](index_t k) { columns_.set(k, i); });
  }
}

markowitz_order markowitz::order(double limit, int candidates) {
  std::vector<offset_t> product(at(own_));
  const pivots p{rows_.bits.data(), columns_.bits.data(), live_.bits.data(), rows_.words, own_,
                 in_row_.data(),    in_column_.data(),    product.data()};
  count_all(p);
  markowitz_order result;
  std::vector<std::pair<offset_t, index_t>> ranks;
  bool is_natural = true;  // so far
  for (index_t done = 0; done < own_ && result.flops < limit; ++done) {
    index_t k = least_product(p);
    if (are_equal(p, k)) {
      if (is_natural) return {};  // so is the rest
      const index_t u = in_row_[at(k)] - 1;
      const index_t l = in_column_[at(k)] - 1;
      for (index_t gone = 0; gone < own_ - done; ++gone) {
        result.flops += pivot_flops(l - gone, u - gone);
      }
      for_each_bit(p.live, p.live, own_, [&](index_t v) { result.order.push_back(v); });
      break;
    }
    if (candidates > 1 && product[at(k)] > 0) k = least_fill(p, candidates, ranks);
    is_natural = is_natural && k == done;
    result.order.push_back(k);
    result.flops += pivot_flops(in_column_[at(k)] - 1, in_row_[at(k)] - 1);
    eliminate_pivot(p, k);
  }
  return result.flops < limit ? result : markowitz_order{};
}

}  // namespace gsofa::orders
