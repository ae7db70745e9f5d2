#include "variants/panels/elimination.hpp"

#include <algorithm>
#include <atomic>

#include "variants/support/counting.hpp"

namespace gsofa::detail {

namespace {
// Narrow blocks have few entries.
constexpr index_t narrow = 16;

// relaxed: a set bit is never cleared, and no bit is read before its panel is factored; the thread
// that factors it has acquired the counter that every updating thread released after its updates.
template <bool Shared>
void join(mask_t& word, mask_t bits) {
  if constexpr (Shared) {
    std::atomic_ref shared(word);
    // Most bits have been set by others.
    if ((bits & ~shared.load(std::memory_order_relaxed)) != 0) {
      shared.fetch_or(bits, std::memory_order_relaxed);
    }
  } else {
    word |= bits;
  }
}

void transpose_block(bit_matrix& m, index_t w) {
  w <= narrow ? transpose_entries(m, w) : transpose(m);
}
}  // namespace

void panel_eliminator::factor(index_t j) {
  const int w = s_->width(j);
  const index_t length = s_->length(j);
  mask_pair* const masks = s_->masks.data() + s_->position_begin[at(j)];

  bit_matrix block;
  const int rows = w <= narrow ? w : mask_bits;
  for (int z = 0; z < w; ++z) block[z] = masks[z].upper;
  for (int z = w; z < rows; ++z) block[z] = 0;
  transpose_block(block, w);  // now row r holds the columns of U(r, :)
  for (int z = 0; z < w; ++z) block[z] |= masks[z].lower;
  for (int z = w; z % 8 != 0; ++z) block[z] = 0;
  eliminate(block, w);
  bit_matrix columns = block;
  transpose_block(columns, w);
  for (int k = 0; k < w; ++k) {
    masks[k].lower = block[k] & below(k);
    masks[k].upper = columns[k] & below(k);
  }
  if (length == w) return;
  mask_t pruned = 0;
  for (int k = 0; k < w; ++k) {
    d_.u_reach[k] = block[k] & above(k);
    d_.l_reach[k] = columns[k] & above(k);
    pruned |= mask_t{(d_.u_reach[k] & d_.l_reach[k]) != 0} << k;
  }
  d_.unpruned = ~pruned;
  close_boundary(masks, w, length);
}

void panel_eliminator::close_boundary(mask_pair* masks, index_t w, index_t length) {
  // A boundary shorter than this does not repay the closure of the diagonal block.
  if (length - w < w / 4) {
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

mask_t panel_eliminator::routes::of(mask_t m) const {
  mask_t found = 0;
  for (m &= active; m != 0; m &= m - 1) found |= targets[lowest(m)];
  return found;
}

// Bit k of `unpruned`: no s before the current target has L(s, k) != 0 and U(k, s) != 0.
mask_t panel_eliminator::find_routes(const column_block& b, const mask_pair* masks,
                                     mask_t unpruned) {
  upper_.clear();
  lower_.clear();
  const mask_pair* next = masks + b.base;
  for (mask_t left = b.members; left != 0; left &= left - 1) {
    const mask_pair m = *next++;
    const mask_t own = left & -left;
    if ((m.lower & unpruned) != 0) {
      upper_.add(uncovered(m.lower & unpruned, m.lower, d_.l_reach), own);
    }
    if ((m.upper & unpruned) != 0) {
      lower_.add(uncovered(m.upper & unpruned, m.upper, d_.u_reach), own);
    }
    unpruned &= ~(m.lower & m.upper);
  }
  return unpruned;
}

template <bool Shared>
void panel_eliminator::push_run(const mask_pair* from, index_t length, mask_pair* to) {
  if (upper_.single() && lower_.single()) {
    const int r = upper_.row();
    const int q = lower_.row();
    const mask_t upper = upper_.targets_of_row();
    const mask_t lower = lower_.targets_of_row();
    for (index_t z = 0; z < length; ++z) {
      join<Shared>(to[z].upper, (mask_t{0} - (from[z].upper >> r & 1U)) & upper);
      join<Shared>(to[z].lower, (mask_t{0} - (from[z].lower >> q & 1U)) & lower);
    }
    return;
  }
  for (index_t z = 0; z < length; ++z) {
    join<Shared>(to[z].upper, upper_.of(from[z].upper));
    join<Shared>(to[z].lower, lower_.of(from[z].lower));
  }
}

// The targets are the members of a block of j, and are updated with their own positions and those
// after them.
template <bool Shared>
void panel_eliminator::push(index_t j, std::size_t block) {
  const panel_set& s = *s_;
  const auto blocks = s.blocks[at(j)];
  const mask_pair* const masks = s.masks.data() + s.position_begin[at(j)];
  const index_t target = blocks[block].panel;
  mask_pair* const out = s_->masks.data() + s.position_begin[at(target)];
  // Among the targets themselves: U(t, f) and L(f, t) with t < f only.
  const mask_pair* next = masks + blocks[block].base;
  for (mask_t left = blocks[block].members; left != 0; left &= left - 1) {
    const mask_pair m = *next++;
    const int c = lowest(left);
    join<Shared>(out[c].upper, upper_.of(m.upper) & below(c));
    join<Shared>(out[c].lower, lower_.of(m.lower) & below(c));
  }
  // All later vertices of the list are in that of the target panel.
  const column_block* there = s.blocks[at(target)].data();
  for (const column_block& b : blocks.subspan(block + 1)) {
    while (there->panel != b.panel) ++there;
    // Members that have no other between them there are a run in both lists.
    mask_t left = b.members;
    for (index_t base = b.base; left != 0;) {
      const int c = lowest(left);
      const mask_t others = there->members & ~b.members & above(c);
      const mask_t run = others == 0 ? left : left & below(lowest(others));
      const index_t length = count(run);
      push_run<Shared>(masks + base, length, out + there->base + count(there->members & below(c)));
      base += length;
      left &= ~run;
    }
  }
  if constexpr (counting) {
    const mask_pair* const end = masks + s.length(j);
    ++work_.updates;
    work_.targets += count(blocks[block].members);
    work_.words_read += end - (masks + blocks[block].base);
    for (const mask_pair* m = masks + blocks[block].base; m != end; ++m) {
      work_.words_or += (upper_.of(m->upper) | lower_.of(m->lower)) != 0 ? 1 : 0;
    }
  }
}

void panel_eliminator::update(index_t j, index_t own) {
  const auto blocks = s_->blocks[at(j)];
  const mask_pair* const masks = s_->masks.data() + s_->position_begin[at(j)];
  mask_t unpruned = d_.unpruned;
  for (std::size_t b = 1; b < blocks.size() && unpruned != 0; ++b) {
    unpruned = find_routes(blocks[b], masks, unpruned);
    if ((upper_.active | lower_.active) == 0) continue;
    blocks[b].panel > own ? push<true>(j, b) : push<false>(j, b);
  }
}

}  // namespace gsofa::detail
