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
}  // namespace

template <bool Shared>
void count_panel(const ordered_graph& g, const panel_set& s, index_t j,
                 std::vector<index_t>& l_row_counts, std::vector<index_t>& u_row_counts) {
  const index_t begin = s.begin[at(j)];
  const index_t w = s.width(j);
  const index_t length = s.length(j);
  const offset_t first = s.position_begin[at(j)];
  const mask_pair* const masks = s.masks.data() + first;
  const index_t* const list = s.columns.data() + first;
  for (index_t z = 0; z < length; ++z) {
    add<Shared>(l_row_counts[at(g.caller(list[z]))], std::popcount(masks[z].lower));
  }
  std::array<index_t, mask_bits> u_counts{};
  bit_matrix block;
  for (index_t z = 0; z < length; z += mask_bits) {
    const index_t size = std::min<index_t>(mask_bits, length - z);
    for (index_t k = 0; k < size; ++k) block[k] = masks[z + k].upper;
    for (index_t k = size; k < mask_bits; ++k) block[k] = 0;
    transpose(block);
    for (index_t c = 0; c < mask_bits; ++c) u_counts[at(c)] += std::popcount(block[c]);
  }
  for (index_t c = 0; c < w; ++c) u_row_counts[at(g.caller(begin + c))] = u_counts[at(c)] + 1;
}

template void count_panel<false>(const ordered_graph&, const panel_set&, index_t,
                                 std::vector<index_t>&, std::vector<index_t>&);
template void count_panel<true>(const ordered_graph&, const panel_set&, index_t,
                                std::vector<index_t>&, std::vector<index_t>&);

bool has_l(const panel_set& s, index_t i, index_t k) {
  const index_t j = s.panel_of[at(k)];
  const auto list = s.list(j);
  const auto found = std::ranges::lower_bound(list, i);
  if (found == list.end() || *found != i) return false;
  const mask_t lower = s.masks[at(s.position_begin[at(j)] + (found - list.begin()))].lower;
  return (lower >> (k - s.begin[at(j)]) & 1U) != 0;
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
    return std::vector<offset_t>(p.row_ptr.begin(), p.row_ptr.end() - 1);
  };
  std::vector<offset_t> l_next, u_next;
  if (keep) {
    l_next = reserve(out.l, l_row_counts);
    u_next = reserve(out.u, u_row_counts);
  }
  if (hash) out.row_digests.assign(at(g.n), 0);
  const auto entry = [&](index_t i, index_t k, pattern& p, std::vector<offset_t>& next) {
    if (hash) out.row_digests[at(i)] += entry_hash(i, k);
    if (keep) p.col_idx[at(next[at(i)]++)] = k;
  };
  // Panels, positions and bits ascend, so that rows of either factor fill in ascending order.
  for (index_t j = 0; j < s.panels(); ++j) {
    const index_t begin = s.begin[at(j)];
    const index_t w = s.width(j);
    const auto list = s.list(j);
    const mask_pair* const masks = s.masks.data() + s.position_begin[at(j)];
    for (std::size_t z = 0; z < list.size(); ++z) {
      const index_t f = g.caller(list[z]);
      for (mask_t m = masks[z].lower; m != 0; m &= m - 1) {
        entry(f, g.caller(begin + lowest(m)), out.l, l_next);
      }
      for (mask_t m = masks[z].upper; m != 0; m &= m - 1) {
        entry(g.caller(begin + lowest(m)), f, out.u, u_next);
      }
      if (static_cast<index_t>(z) < w) entry(f, f, out.u, u_next);
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

}  // namespace gsofa::detail
