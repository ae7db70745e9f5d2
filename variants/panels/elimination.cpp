#include "variants/panels/elimination.hpp"

#include <algorithm>
#include <atomic>

#include "variants/support/counting.hpp"

namespace gsofa::detail {

namespace {
// Boundaries shorter than this do not repay the closure of the diagonal block.
constexpr index_t few_positions = 32;

// relaxed: a set bit is never cleared, and no bit is read before its panel is factored; the thread
// that factors it has acquired the counter that every updating thread released after its updates.
template <bool Shared>
void join(mask_t& word, mask_t bits) {
  if constexpr (Shared) {
    if (bits != 0) std::atomic_ref(word).fetch_or(bits, std::memory_order_relaxed);
  } else {
    word |= bits;
  }
}
}  // namespace

void panel_eliminator::factor(index_t j) {
  const int w = s_->width(j);
  const index_t length = s_->length(j);
  mask_pair* const masks = s_->masks.data() + s_->position_begin[at(j)];

  bit_matrix block;
  for (int z = 0; z < w; ++z) block[z] = masks[z].upper;
  for (int z = w; z < mask_bits; ++z) block[z] = 0;
  transpose(block);  // now row r holds the columns of U(r, :)
  for (int z = 0; z < w; ++z) block[z] |= masks[z].lower;
  eliminate(block, w);
  bit_matrix columns = block;
  transpose(columns);
  for (int k = 0; k < w; ++k) {
    masks[k].lower = block[k] & below(k);
    masks[k].upper = columns[k] & below(k);
  }
  if (length == w) return;
  mask_t pruned = 0;
  for (int k = 0; k < mask_bits; ++k) {
    d_.u_reach[k] = block[k] & above(k);
    d_.l_reach[k] = columns[k] & above(k);
    pruned |= mask_t{(d_.u_reach[k] & d_.l_reach[k]) != 0} << k;
  }
  d_.unpruned = ~pruned;
  if (length - w < few_positions) {
    for (index_t z = w; z < length; ++z) {
      masks[z].upper = closure_by_edges(masks[z].upper, d_.l_reach);
      masks[z].lower = closure_by_edges(masks[z].lower, d_.u_reach);
    }
    return;
  }
  close_ascending(d_.u_reach, w);
  close_ascending(d_.l_reach, w);
  for (index_t z = w; z < length; ++z) {
    masks[z].upper = closure(masks[z].upper, d_.l_reach);
    masks[z].lower = closure(masks[z].lower, d_.u_reach);
  }
}

void panel_eliminator::routes::add(mask_t sources, mask_t target) {
  for (; sources != 0; sources &= sources - 1) {
    const int r = lowest(sources);
    if ((active & bit(r)) == 0) {
      active |= bit(r);
      targets[r] = 0;
    }
    targets[r] |= target;
  }
}

template <mask_t mask_pair::*Side>
void panel_eliminator::routes::apply(const mask_pair* masks, index_t from, index_t to,
                                     mask_t* words) const {
  if (active == 0) {
    std::fill(words, words + (to - from), 0);
    return;
  }
  if (std::has_single_bit(active)) {
    const int r = lowest(active);
    const mask_t all = targets[r];
    for (index_t z = from; z < to; ++z) {
      words[z - from] = (mask_t{0} - (masks[z].*Side >> r & 1U)) & all;
    }
    return;
  }
  for (index_t z = from; z < to; ++z) {
    mask_t found = 0;
    for (mask_t m = masks[z].*Side & active; m != 0; m &= m - 1) found |= targets[lowest(m)];
    words[z - from] = found;
  }
}

// Makes where_[z], z in [y, length), positions in the list of `target_panel`, an ancestor of the
// panel that they refer to now.
void panel_eliminator::locate(index_t target_panel, index_t y, index_t length) {
  while (at_ != target_panel) {
    const index_t* const next = s_->in_parent.data() + s_->position_begin[at(at_)];
    for (index_t z = y; z < length; ++z) where_[at(z)] = next[where_[at(z)]];
    at_ = s_->parent[at(at_)];
  }
}

template <bool Shared>
void panel_eliminator::update(index_t j) {
  const panel_set& s = *s_;
  const index_t w = s.width(j);
  const index_t length = s.length(j);
  if (length == w) return;
  const offset_t first = s.position_begin[at(j)];
  const mask_pair* const masks = s.masks.data() + first;
  const index_t* const list = s.columns.data() + first;
  if (where_.size() < at(length)) {
    where_.resize(at(length));
    upper_words_.resize(at(length));
    lower_words_.resize(at(length));
  }
  at_ = s.parent[at(j)];
  std::copy(s.in_parent.data() + first + w, s.in_parent.data() + first + length,
            where_.begin() + w);

  // Bit k: no s before the current target has L(s, k) != 0 and U(k, s) != 0.
  mask_t unpruned = d_.unpruned;
  for (index_t y = w; y < length && unpruned != 0;) {
    const index_t target = s.panel_of[at(list[y])];
    const index_t target_begin = s.begin[at(target)];
    const index_t target_end = s.begin[at(target) + 1];
    upper_.clear();
    lower_.clear();
    index_t end = y;
    for (; end < length && list[end] < target_end; ++end) {
      const mask_pair m = masks[end];
      const mask_t own = bit(list[end] - target_begin);
      if ((m.lower & unpruned) != 0) {
        upper_.add(uncovered(m.lower & unpruned, m.lower, d_.l_reach), own);
      }
      if ((m.upper & unpruned) != 0) {
        lower_.add(uncovered(m.upper & unpruned, m.upper, d_.u_reach), own);
      }
      unpruned &= ~(m.lower & m.upper);
    }
    if ((upper_.active | lower_.active) != 0) {
      locate(target, y, length);
      upper_.apply<&mask_pair::upper>(masks, y, length, upper_words_.data());
      lower_.apply<&mask_pair::lower>(masks, y, length, lower_words_.data());
      mask_pair* const out = s_->masks.data() + s.position_begin[at(target)];
      for (index_t z = y; z < end; ++z) {
        // Among the targets themselves: U(t, f) and L(f, t) with t < f only.
        const mask_t before = below(list[z] - target_begin);
        mask_pair& m = out[list[z] - target_begin];
        join<Shared>(m.upper, upper_words_[at(z - y)] & before);
        join<Shared>(m.lower, lower_words_[at(z - y)] & before);
      }
      for (index_t z = end; z < length; ++z) {
        mask_pair& m = out[where_[at(z)]];
        join<Shared>(m.upper, upper_words_[at(z - y)]);
        join<Shared>(m.lower, lower_words_[at(z - y)]);
      }
      if constexpr (counting) {
        ++work_.updates;
        work_.targets += end - y;
        work_.words_read += length - y;
        for (index_t z = y; z < length; ++z) {
          work_.words_or += (upper_words_[at(z - y)] | lower_words_[at(z - y)]) != 0 ? 1 : 0;
        }
      }
    }
    y = end;
  }
}

template void panel_eliminator::update<false>(index_t j);
template void panel_eliminator::update<true>(index_t j);

}  // namespace gsofa::detail
