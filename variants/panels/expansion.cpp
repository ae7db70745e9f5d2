#include "variants/panels/expansion.hpp"

#include <algorithm>
#include <atomic>

#include "common/digest.hpp"

namespace gsofa::detail {

namespace {
// relaxed: sums are read after all threads have joined.
template <bool Shared>
void add(index_t& sum, index_t value) {
  if constexpr (Shared) {
    if (value != 0) std::atomic_ref(sum).fetch_add(value, std::memory_order_relaxed);
  } else {
    sum += value;
  }
}

// Row c: the number of masks that have bit c.
template <mask_t mask_pair::*Side>
bit_matrix counts_of_bits(const mask_pair* masks, index_t length, int w) {
  bit_counter counter(at(length));
  std::array<mask_t, 8> words;
  index_t z = 0;
  for (; z + 8 <= length; z += 8) {
    for (index_t k = 0; k < 8; ++k) words[at(k)] = masks[z + k].*Side;
    counter.add(words);
  }
  words.fill(0);
  for (index_t k = 0; z + k < length; ++k) words[at(k)] = masks[z + k].*Side;
  counter.add(words);
  return counter.counts(w);
}

template <bool Shared>
void add_rows(const ordered_graph& g, const panel_set& s, const column_block& b,
              const mask_pair* masks, std::vector<index_t>& l_row_counts) {
  const index_t begin = s.begin[at(b.panel)];
  const mask_pair* next = masks + b.base;
  for (mask_t left = b.members; left != 0; left &= left - 1) {
    add<Shared>(l_row_counts[at(g.caller(begin + lowest(left)))], count(next++->lower));
  }
}
}  // namespace

GSOFA_FOR_PROCESSORS
void count_blocks(const ordered_graph& g, const panel_set& s, index_t j, std::size_t from,
                  std::size_t to, index_t own, std::vector<index_t>& l_row_counts,
                  std::vector<index_t>& u_row_counts) noexcept {
  if (from >= to) return;
  const mask_pair* const masks = s.masks[at(j)].data();
  const auto blocks = s.blocks[at(j)];
  for (std::size_t b = from; b < to; ++b) {
    blocks[b].panel > own ? add_rows<true>(g, s, blocks[b], masks, l_row_counts)
                          : add_rows<false>(g, s, blocks[b], masks, l_row_counts);
  }
  const index_t end = blocks[to - 1].base + count(blocks[to - 1].members);
  const index_t begin = blocks[from].base;
  const bit_matrix u_counts =
      counts_of_bits<&mask_pair::upper>(masks + begin, end - begin, s.width(j));
  for (int c = 0; c < s.width(j); ++c) {
    index_t& sum = u_row_counts[at(g.caller(s.begin[at(j)] + c))];
    const auto found = static_cast<index_t>(u_counts[c]);
    j > own ? add<true>(sum, found) : add<false>(sum, found);
  }
}

bool has_l(const panel_set& s, index_t i, index_t k) {
  const index_t j = s.panel_of[at(k)];
  const index_t place = s.place(j, i);
  if (place < 0) return false;
  return (s.masks[at(j)][at(place)].lower >> (k - s.begin[at(j)]) & 1U) != 0;
}

void expand(const ordered_graph& g, const panel_set& s, std::span<const index_t> l_row_counts,
            std::span<const index_t> u_row_counts, want_set wants, result& out) {
  const bool keep = wants.has(want::pattern);
  const bool hash = wants.has(want::digest);
  const auto reserve = [&](pattern& p, std::span<const index_t> counts) {
    p.n_rows = p.n_cols = g.n;
    p.row_ptr.assign(1, 0);
    p.row_ptr.reserve(at(g.n) + 1);
    for (const index_t c : counts) p.row_ptr.push_back(p.row_ptr.back() + c);
    p.col_idx.resize(at(p.nnz()));
  };
  if (keep) {
    reserve(out.l, l_row_counts);
    reserve(out.u, u_row_counts);
  }
  if (hash) out.row_digests.assign(at(g.n), 0);
  // While rows fill, row_ptr[i] is where the next entry of row i goes; in the end it is where row
  // i + 1 begins.
  const auto entry = [&](index_t i, index_t k, pattern& p) {
    if (hash) out.row_digests[at(i)] += entry_hash(i, k);
    if (keep) p.col_idx[at(p.row_ptr[at(i)]++)] = k;
  };
  // Panels, positions and bits ascend, so that rows of either factor fill in ascending order.
  for (index_t j = 0; j < s.panels(); ++j) {
    const index_t begin = s.begin[at(j)];
    const index_t w = s.width(j);
    const auto list = s.list(j);
    const mask_pair* const masks = s.masks[at(j)].data();
    for (std::size_t z = 0; z < list.size(); ++z) {
      const index_t f = g.caller(list[z]);
      for (mask_t m = masks[z].lower; m != 0; m &= m - 1) {
        entry(f, g.caller(begin + lowest(m)), out.l);
      }
      for (mask_t m = masks[z].upper; m != 0; m &= m - 1) {
        entry(g.caller(begin + lowest(m)), f, out.u);
      }
      if (static_cast<index_t>(z) < w) entry(f, f, out.u);
    }
  }
  if (keep) {
    for (pattern* p : {&out.l, &out.u}) {
      std::copy_backward(p->row_ptr.begin(), p->row_ptr.end() - 1, p->row_ptr.end());
      p->row_ptr.front() = 0;
    }
  }
  if (hash) {
    for (const std::uint64_t d : out.row_digests) out.digest += d;
  }
  if (keep && !g.order.empty()) {
    for (pattern* p : {&out.l, &out.u}) {
      for (index_t i = 0; i < g.n; ++i) {
        std::sort(p->col_idx.begin() + p->row_ptr[at(i)],
                  p->col_idx.begin() + p->row_ptr[at(i) + 1]);
      }
    }
  }
}

namespace {

// Bits [begin, end) of a mask, 0 <= begin < end <= 64.
mask_t bits_between(index_t begin, index_t end) {
  return (~mask_t{0} >> (mask_bits - (end - begin))) << begin;
}

// Adds the entries of panel j to the cells. Columns b + c of one cell are one range of bits, and
// where the caller relabelled the vertices, one bit.
void add_density(const ordered_graph& g, const panel_set& s, index_t j, factor_profile& out) {
  const index_t begin = s.begin[at(j)];
  const index_t end = s.begin[at(j) + 1];
  const auto list = s.list(j);
  const mask_pair* const masks = s.masks[at(j)].data();
  const auto count = [&](index_t row, index_t column) -> offset_t& {
    return out.density[at(offset_t{row} * out.cells + column)];
  };
  for (index_t v = begin; v < end;) {
    const index_t cell = cell_of(g.caller(v), g.n, out.cells);
    const index_t next =
        g.order.empty() ? std::min(end, first_of_cell(cell + 1, g.n, out.cells)) : v + 1;
    const mask_t range = bits_between(v - begin, next - begin);
    for (std::size_t z = 0; z < list.size(); ++z) {
      const index_t f = cell_of(g.caller(list[z]), g.n, out.cells);
      count(f, cell) += std::popcount(masks[z].lower & range);
      count(cell, f) += std::popcount(masks[z].upper & range);
    }
    count(cell, cell) += next - v;
    v = next;
  }
}

}  // namespace

factor_profile profile_panels(const ordered_graph& g, const panel_set& s, index_t cells) {
  factor_profile out{.l_col_counts = std::vector<index_t>(at(g.n), 0),
                     .cells = cells,
                     .density = std::vector<offset_t>(at(cells) * at(cells), 0)};
  for (index_t j = 0; j < s.panels(); ++j) {
    const mask_pair* const masks = s.masks[at(j)].data();
    const auto counts = counts_of_bits<&mask_pair::lower>(masks, s.length(j), s.width(j));
    for (int c = 0; c < s.width(j); ++c) {
      out.l_col_counts[at(g.caller(s.begin[at(j)] + c))] = static_cast<index_t>(counts[c]);
    }
    if (cells > 0) add_density(g, s, j, out);
  }
  return out;
}

}  // namespace gsofa::detail
