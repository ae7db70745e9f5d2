#include "variants/panels/results.hpp"

#include <algorithm>
#include <array>

#include "common/digest.hpp"

namespace gsofa::panels {

namespace {
// Row c: the number of masks with bit c.
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

}  // namespace

void row_counter::start(const ordered_graph& g, const panel_set& s, const subtree_tickets& of,
                        int threads, std::vector<index_t>& l_row_counts,
                        std::vector<index_t>& u_row_counts) {
  g_ = &g;
  s_ = &s;
  resize_to_write(l_row_counts, at(g.n));
  resize_to_write(u_row_counts, at(g.n));
  l_counts_ = l_row_counts.data();
  u_counts_ = u_row_counts.data();
  threads_ = threads;
  size_ = 0;
  if (threads > 1) {
    rows_.resize(at(s.panels()));
    of.for_each_above([&](index_t begin, index_t end) {
      const index_t place = size_ - s.begin[at(begin)];
      std::fill(rows_.begin() + begin, rows_.begin() + end,
                sum_rows{.place = place, .of_u = false});
      size_ += s.begin[at(end)] - s.begin[at(begin)];
    });
    finished_.start(of.panels_above());
  }
  if (sums_.size() < at(threads)) sums_.resize(at(threads));
  clear(threads);
}

void row_counter::clear(int threads) {
  const offset_t n = g_->n;
  parallel_parts(threads, [&](int t) {
    const offset_t begin = n * t / threads;
    const offset_t end = n * (t + 1) / threads;
    std::fill(l_counts_ + begin, l_counts_ + end, 0);
    std::fill(u_counts_ + begin, u_counts_ + end, 1);
    sums_[at(t)].resize(2 * at(size_));
    std::fill_n(sums_[at(t)].data(), 2 * at(size_), 0);
  });
}

GSOFA_FOR_PROCESSORS
void row_counter::count(int thread, const panel_task& task, std::size_t from, std::size_t to,
                        bool in_pieces) noexcept {
  if (from >= to) return;
  const index_t j = task.panel;
  const mask_pair* const masks = s_->masks[at(j)].data();
  const auto blocks = s_->blocks[at(j)];
  index_t* const sums = sums_[at(thread)].data();
  for (std::size_t b = from; b < to; ++b) {
    const index_t begin = s_->begin[at(blocks[b].panel)];
    const mask_pair* next = masks + blocks[b].base;
    if (blocks[b].panel > task.own) {
      index_t* const rows = sums + (rows_[at(blocks[b].panel)].place + begin);
      for (mask_t left = blocks[b].members; left != 0; left &= left - 1) {
        rows[lowest(left)] += panels::count(next++->lower);
      }
    } else {
      for (mask_t left = blocks[b].members; left != 0; left &= left - 1) {
        l_counts_[g_->caller(begin + lowest(left))] += panels::count(next++->lower);
      }
    }
  }
  const index_t end = blocks[to - 1].base + panels::count(blocks[to - 1].members);
  const index_t begin = blocks[from].base;
  const int w = s_->width(j);
  const index_t first = s_->begin[at(j)];
  const bit_matrix u_counts = counts_of_bits<&mask_pair::upper>(masks + begin, end - begin, w);
  if (in_pieces) {
    index_t* const rows = sums + size_ + (rows_[at(j)].place + first);
    for (int c = 0; c < w; ++c) rows[c] += static_cast<index_t>(u_counts[c]);
  } else {
    for (int c = 0; c < w; ++c) {
      u_counts_[g_->caller(first + c)] += static_cast<index_t>(u_counts[c]);
    }
  }
}

void row_counter::finish_panel(index_t panel, bool in_pieces) {
  rows_[at(panel)].of_u = in_pieces;
  finished_.add(panel);
}

idle_result row_counter::add_sums() {
  const index_t j = finished_.take();
  if (j < 0) return idle_result::nothing;
  const sum_rows own = rows_[at(j)];
  const index_t begin = s_->begin[at(j)];
  const index_t w = s_->width(j);
  std::array<index_t, mask_bits> l{};
  std::array<index_t, mask_bits> u{};
  for (int t = 0; t < threads_; ++t) {
    const index_t* const sums = sums_[at(t)].data() + (own.place + begin);
    for (index_t c = 0; c < w; ++c) l[at(c)] += sums[c];
    if (!own.of_u) continue;
    for (index_t c = 0; c < w; ++c) u[at(c)] += sums[size_ + c];
  }
  for (index_t c = 0; c < w; ++c) {
    const index_t row = g_->caller(begin + c);
    l_counts_[row] += l[at(c)];
    u_counts_[row] += u[at(c)];
  }
  return idle_result::worked;
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
  // While rows fill, row_ptr[i] is the place of the next entry of row i; at the end, the begin of
  // row i + 1.
  const auto entry = [&](index_t i, index_t k, pattern& p) {
    if (hash) out.row_digests[at(i)] += entry_hash(i, k);
    if (keep) p.col_idx[at(p.row_ptr[at(i)]++)] = k;
  };
  // Panels, positions and bits ascend, so the rows of both factors fill in ascending order.
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

// Adds the entries of panel j to the cells. The columns of one cell are a range of bits, or a
// single bit if vertices were relabelled.
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

}  // namespace gsofa::panels
