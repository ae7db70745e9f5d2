#include "variants/panels/elimination.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "variants/support/counting.hpp"

namespace gsofa::panels {

namespace {
// Blocks of at most this width have few entries: transposing entry by entry is faster.
constexpr int narrow = 16;

// word |= bits.
// relaxed: a set bit is never cleared, and no bit is read before its panel is factored; the thread
// that factors the panel has acquired the counter that every updating thread released.
template <bool Shared>
void join(mask_t& word, mask_t bits) {
  if constexpr (Shared) {
    std::atomic_ref shared(word);
    // Most bits are set already.
    if ((bits & ~shared.load(std::memory_order_relaxed)) != 0) {
      shared.fetch_or(bits, std::memory_order_relaxed);
    }
  } else {
    word |= bits;
  }
}

mask_couple couple(const mask_pair& m) {
  mask_couple both;
  std::memcpy(&both, &m, sizeof both);
  return both;
}

template <bool Shared>
void join(mask_pair& position, mask_couple bits) {
  if constexpr (Shared) {
    join<true>(position.upper, bits[0]);
    join<true>(position.lower, bits[1]);
  } else {
    bits |= couple(position);
    std::memcpy(&position, &bits, sizeof bits);
  }
}

// What a position adds to its targets by some rows and columns.
mask_couple found_by(std::span<const source_pair> sources, mask_couple position) {
  mask_couple found{0, 0};
  for (const source_pair& p : sources) found |= p.of(position);
  return found;
}

void transpose_block(bit_matrix& m, int w) { w <= narrow ? transpose_entries(m, w) : transpose(m); }

// Row r: the columns of U(r, :) in the panel.
bit_matrix rows_of_upper(const mask_pair* masks, int w) {
  bit_matrix block;
  for (int z = 0; z < w; ++z) block[z] = masks[z].upper;
  for (int z = w; z < mask_bits; ++z) block[z] = 0;
  transpose_block(block, w);
  return block;
}
}  // namespace

const factored_panel& panel_eliminator::factor(index_t j, index_t limit) {
  const int w = s_->width(j);
  const auto blocks = s_->blocks[at(j)];
  const index_t boundary = s_->length(j) - w;
  f_.panel = j;
  f_.found.clear();
  f_.complete = 1;
  f_.unpruned = 0;
  // A shorter boundary does not repay closing the diagonal block.
  f_.closed = symmetric_ || boundary >= w / 4;
  if (symmetric_) {
    factor_symmetric_diagonal(s_->begin[at(j)], masks_of(j), w);
    // q(J), the first vertex of the boundary, takes all rows; no other target takes any.
    if (boundary > 0) f_.found.updates.push_back({.block = 1, .first = 0, .count = 0});
    return f_;
  }
  const mask_t unpruned = factor_diagonal(masks_of(j), w);
  if (boundary == 0) return f_;
  if (f_.closed) {
    close_ascending(f_.u_reach, w);
    close_ascending(f_.l_reach, w);
  }
  f_.unpruned = unpruned;
  if (limit >= s_->length(j)) {
    find_remaining_updates();
  } else {
    const auto end = std::ranges::lower_bound(blocks, limit, {}, &list_block::base);
    f_.complete = find_updates(f_, 1, at(end - blocks.begin()), f_.unpruned, f_.found);
  }
  return f_;
}

// Eliminates the diagonal block. Returns the rows k that no s in the panel prunes: L(s, k) == 0 or
// U(k, s) == 0 for all s.
GSOFA_FOR_PROCESSORS
mask_t panel_eliminator::factor_diagonal(mask_pair* masks, int w) noexcept {
  bit_matrix block = rows_of_upper(masks, w);
  for (int z = 0; z < w; ++z) block[z] |= masks[z].lower;
  eliminate(block, w);
  bit_matrix columns = block;
  transpose_block(columns, w);
  mask_t pruned = 0;
  for (int k = 0; k < w; ++k) {
    masks[k].lower = block[k] & below(k);
    masks[k].upper = columns[k] & below(k);
    f_.u_reach[k] = block[k] & above(k);
    f_.l_reach[k] = columns[k] & above(k);
    pruned |= mask_t{(f_.u_reach[k] & f_.l_reach[k]) != 0} << k;
  }
  return ~pruned;
}

// Row z of L consists of the vertices on the paths up the tree to z from the vertices that A or a
// descendant's update has set (Liu 1990, row subtrees).
GSOFA_FOR_PROCESSORS
void panel_eliminator::factor_symmetric_diagonal(index_t begin, mask_pair* masks, int w) noexcept {
  for (int k = w - 1; k >= 0; --k) {
    const index_t parent = parent_[at(begin + k)] - begin;
    const bool inside = parent >= 0 && parent < w;
    f_.u_reach[k] = inside ? bit(parent) | f_.u_reach[parent] : 0;
  }
  for (int z = 0; z < w; ++z) {
    const mask_t row = closure(masks[z].upper, f_.u_reach) & below(z);
    masks[z] = {row, row};
  }
}

void route::add(mask_t sources, mask_t target) {
  for (; sources != 0; sources &= sources - 1) {
    const int r = lowest(sources);
    if ((active & bit(r)) == 0) {
      active |= bit(r);
      targets[r] = 0;
    }
    targets[r] |= target;
  }
}

void update_list::clear() {
  updates.clear();
  sources.clear();
}

void update_list::add(std::size_t block, const target_routes& routes) {
  const std::size_t first = sources.size();
  mask_t of_u = routes.upper.active;
  mask_t of_l = routes.lower.active;
  while ((of_u | of_l) != 0) {
    const mask_t row = of_u & -of_u;
    const mask_t column = of_l & -of_l;
    sources.push_back(
        {.source = mask_couple{row, column},
         .targets = mask_couple{row == 0 ? 0 : routes.upper.targets[lowest(row)],
                                column == 0 ? 0 : routes.lower.targets[lowest(column)]}});
    of_u ^= row;
    of_l ^= column;
  }
  updates.push_back({.block = block, .first = first, .count = sources.size() - first});
}

void update_list::add(const update_list& later, mask_t pruned) {
  for (const update& u : later.updates) {
    const std::size_t first = sources.size();
    // Rows and columns are next to each other, each without gaps.
    std::array<std::size_t, 2> next{first, first};
    for (const source_pair& p : later.sources_of(u)) {
      for (std::size_t side = 0; side < 2; ++side) {
        if ((p.source[side] & ~pruned) == 0) continue;
        if (next[side] == sources.size()) sources.push_back({mask_couple{0, 0}, mask_couple{0, 0}});
        source_pair& to = sources[next[side]++];
        to.source[side] = p.source[side];
        to.targets[side] = p.targets[side];
      }
    }
    if (first == sources.size()) continue;
    updates.push_back({.block = u.block, .first = first, .count = sources.size() - first});
  }
}

// Finds the routes to the targets of block b, which is closed. Bit k of `unpruned`: no s before the
// current target has L(s, k) != 0 and U(k, s) != 0. Returns `unpruned` after the block.
mask_t panel_eliminator::find_routes(const factored_panel& f, const list_block& b,
                                     mask_t unpruned) {
  routes_.clear();
  const mask_pair* next = masks_of(f.panel) + b.base;
  for (mask_t left = b.members; left != 0; left &= left - 1) {
    const mask_pair m = *next++;
    const mask_t own = left & -left;
    if ((m.lower & unpruned) != 0) {
      routes_.upper.add(uncovered(m.lower & unpruned, m.lower, f.l_reach), own);
    }
    if ((m.upper & unpruned) != 0) {
      routes_.lower.add(uncovered(m.upper & unpruned, m.upper, f.u_reach), own);
    }
    unpruned &= ~(m.lower & m.upper);
  }
  return unpruned;
}

// Closes blocks and finds their updates as long as any row is unpruned. Returns the first block
// that it has not looked at.
std::size_t panel_eliminator::find_updates(const factored_panel& f, std::size_t from,
                                           std::size_t to, mask_t& unpruned, update_list& found) {
  const auto blocks = s_->blocks[at(f.panel)];
  std::size_t b = from;
  for (; b < to && unpruned != 0; ++b) {
    factor_boundary(f, blocks[b]);
    unpruned = find_routes(f, blocks[b], unpruned);
    if (!routes_.empty()) found.add(b, routes_);
  }
  return b;
}

void panel_eliminator::find_remaining_updates() {
  const std::size_t blocks = s_->blocks[at(f_.panel)].size();
  f_.complete = find_updates(f_, f_.complete, blocks, f_.unpruned, f_.found);
}

void panel_eliminator::find_updates_of_piece(const factored_panel& f, std::size_t from,
                                             std::size_t to, update_piece& out) {
  out.found.clear();
  out.unpruned = f.unpruned;
  const auto blocks = s_->blocks[at(f.panel)];
  for (std::size_t b = find_updates(f, from, to, out.unpruned, out.found); b < to; ++b) {
    factor_boundary(f, blocks[b]);
  }
}

// The first block with an s that has L(s, k) != 0 and U(k, s) != 0 prunes row k, whatever other
// rows have. So a piece finds too much only by rows that earlier pieces prune.
void panel_eliminator::join_pieces(std::span<const update_piece> pieces) {
  mask_t pruned = 0;
  for (const update_piece& p : pieces) {
    f_.found.add(p.found, pruned);
    pruned |= ~p.unpruned;
  }
  f_.unpruned = 0;
  f_.complete = s_->blocks[at(f_.panel)].size();
}

// The masks of a column block become the closures of their members.
GSOFA_FOR_PROCESSORS
void panel_eliminator::factor_boundary(const factored_panel& f,
                                       const list_block& b) const noexcept {
  mask_pair* const begin = masks_of(f.panel) + b.base;
  mask_pair* const end = begin + count(b.members);
  if (symmetric_) {
    for (mask_pair* m = begin; m != end; ++m) m->lower = m->upper = closure(m->upper, f.u_reach);
  } else if (f.closed) {
    for (mask_pair* m = begin; m != end; ++m) {
      *m = {closure(m->upper, f.l_reach), closure(m->lower, f.u_reach)};
    }
  } else {
    for (mask_pair* m = begin; m != end; ++m) {
      *m = {closure_by_edges(m->upper, f.l_reach), closure_by_edges(m->lower, f.u_reach)};
    }
  }
}

// Updates the targets at the targets' own positions f: U(t, f) and L(f, t) with t < f only.
template <bool Shared>
void panel_eliminator::update_among_targets(const factored_panel& f,
                                            const update_list::update& u) const {
  const list_block& b = s_->blocks[at(f.panel)][u.block];
  const mask_pair* next = masks_of(f.panel) + b.base;
  mask_pair* const out = masks_of(b.panel);
  const mask_t first = b.members & -b.members;
  for (mask_t left = b.members; left != 0; left &= left - 1) {
    const int c = lowest(left);
    if (symmetric_) {
      join<Shared>(out[c].upper, first & below(c));
      continue;
    }
    const mask_t before = below(c);
    join<Shared>(out[c],
                 found_by(f.found.sources_of(u), couple(*next++)) & mask_couple{before, before});
  }
}

// Calls update(from, to) for every position of a later block and its place in the list of the
// target panel, which contains all vertices of the block. `there`: a block of that list, not after
// the block of the same panel.
template <class Update>
void panel_eliminator::for_each_place(const factored_panel& f, const update_list::update& u,
                                      std::size_t block, const list_block*& there,
                                      const Update& update) const {
  const auto blocks = s_->blocks[at(f.panel)];
  const list_block& b = blocks[block];
  while (there->panel != b.panel) ++there;
  const mask_pair* from = masks_of(f.panel) + b.base;
  mask_pair* const out = masks_of(blocks[u.block].panel) + there->base;
  const mask_t members = there->members;
  const int first = lowest(b.members);
  if ((members & ~b.members & above(first) & below(highest(b.members))) == 0) {
    // The vertices of the block are at consecutive positions there.
    const mask_pair* const end = from + count(b.members);
    for (mask_pair* to = out + count(members & below(first)); from != end;) update(*from++, *to++);
    return;
  }
  for (mask_t left = b.members; left != 0; left &= left - 1) {
    update(*from++, out[count(members & below(lowest(left)))]);
  }
}

// Updates the targets with a later block, by Count source pairs; 0: by any number.
template <bool Shared, std::size_t Count>
void panel_eliminator::update_block(const factored_panel& f, const update_list::update& u,
                                    std::size_t block, const list_block*& there) const {
  const auto sources = f.found.sources_of(u);
  if constexpr (Count == 0) {
    for_each_place(f, u, block, there, [&](const mask_pair& from, mask_pair& to) {
      join<Shared>(to, found_by(sources, couple(from)));
    });
  } else {
    std::array<source_pair, Count> kept;
    std::copy_n(sources.begin(), Count, kept.begin());
    for_each_place(f, u, block, there, [&](const mask_pair& from, mask_pair& to) {
      join<Shared>(to, found_by(kept, couple(from)));
    });
  }
}

template <bool Shared>
void panel_eliminator::update_block(const factored_panel& f, const update_list::update& u,
                                    std::size_t block, const list_block*& there) const {
  if (symmetric_) {
    const mask_t members = s_->blocks[at(f.panel)][u.block].members;
    const mask_t target = members & -members;
    for_each_place(f, u, block, there,
                   [target](const mask_pair&, mask_pair& to) { join<Shared>(to.upper, target); });
    return;
  }
  switch (u.count) {
    case 1:
      update_block<Shared, 1>(f, u, block, there);
      break;
    case 2:
      update_block<Shared, 2>(f, u, block, there);
      break;
    case 3:
      update_block<Shared, 3>(f, u, block, there);
      break;
    case 4:
      update_block<Shared, 4>(f, u, block, there);
      break;
    default:
      update_block<Shared, 0>(f, u, block, there);
      break;
  }
}

void panel_eliminator::count_work(const factored_panel& f, const update_list::update& u,
                                  std::size_t block) {
  const list_block& b = s_->blocks[at(f.panel)][block];
  if (block == u.block) {
    ++work_.updates;
    work_.targets += symmetric_ ? 1 : count(b.members);
  }
  const mask_pair* m = masks_of(f.panel) + b.base;
  const index_t length = count(b.members);
  work_.positions += length;
  for (index_t z = 0; z < length; ++z) {
    const mask_couple found = found_by(f.found.sources_of(u), couple(m[z]));
    work_.nonzero += symmetric_ || (found[0] | found[1]) != 0 ? 1 : 0;
  }
}

void panel_eliminator::factor_boundary_and_update(const factored_panel& f, std::size_t from,
                                                  std::size_t to, index_t own) {
  const auto blocks = s_->blocks[at(f.panel)];
  from = std::max<std::size_t>(from, 1);
  if (from >= to) return;
  there_.resize(f.found.updates.size());
  for (std::size_t k = 0; k < there_.size(); ++k) {
    const std::size_t block = f.found.updates[k].block;
    const auto list = s_->blocks[at(blocks[block].panel)];
    const index_t first = blocks[std::max(from, block)].panel;
    there_[k] = &*std::ranges::lower_bound(list, first, {}, &list_block::panel);
  }
  for (std::size_t b = from; b < to; ++b) {
    if (b >= f.complete) factor_boundary(f, blocks[b]);
    update_targets(f, b, own);
  }
}

// Updates all targets by block b, whose boundary is factored. Before: there_[k] is a block in the
// list of update k's target panel, not after the block of the same panel as block b.
GSOFA_FOR_PROCESSORS
void panel_eliminator::update_targets(const factored_panel& f, std::size_t b,
                                      index_t own) noexcept {
  const auto blocks = s_->blocks[at(f.panel)];
  for (std::size_t k = 0; k < f.found.updates.size() && f.found.updates[k].block <= b; ++k) {
    const update_list::update& u = f.found.updates[k];
    const bool shared = blocks[u.block].panel > own;
    if (b == u.block) {
      shared ? update_among_targets<true>(f, u) : update_among_targets<false>(f, u);
    } else {
      shared ? update_block<true>(f, u, b, there_[k]) : update_block<false>(f, u, b, there_[k]);
    }
    if constexpr (detail::counting) count_work(f, u, b);
  }
}

}  // namespace gsofa::panels
