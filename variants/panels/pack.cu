// Panels divided among devices: the structure of a part, and of the panels above all parts.
//
// A part holds its own panels, their ancestors, and the panels of `top` in its range (parts.hpp).
// It finds the column blocks of these panels as a single device does, from A's entries (i, j) whose
// smaller vertex lies in a panel that the part holds. The entries of a panel, and of the panels
// below it, add the vertices of its boundary on their way up the tree. So
//  * the part finds the complete boundary of each of its own panels, since it has all panels below;
//  * the part finds a subset of F_P for a panel P of `top`. The subset contains the boundary of
//    every panel below P that the part holds, so it has a place for all that own panels add to P;
//  * all parts together find all of F_P: some part holds each panel below P, and this part holds P,
//    too. (The part in whose range a panel of `top` lies holds that panel.)
// The masks of P on a part have A's bits of the entries in the part's list, and the bits that own
// panels have added. Every entry and every own panel is in some part. A mask is a set of entries of
// L + U that only grows, and nothing is derived from P's masks before P itself is eliminated. So
// the OR of P's masks over all parts, at their places in the joint list, equals the masks on a
// single device after all panels below P that are not in `top`. The panels of `top` are then a
// forest by themselves, and are eliminated as any other forest.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "variants/device/devices.hpp"
#include "variants/device/tile_scan.hpp"
#include "variants/panels/pack.hpp"

namespace gsofa::panels {

namespace {

constexpr std::uint32_t without_parent = 0xffffffffU;  // in the tree

/// The place of a value that an ascending list has.
GSOFA_DEVICE index_t place_in_list(const index_t* list, index_t count, index_t value) {
  index_t low = 0;
  for (index_t high = count; low < high;) {
    const index_t middle = low + (high - low) / 2;
    if (list[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Column blocks of a panel, and masks that are not empty.
struct packed_size {
  offset_t blocks;
  unsigned long long masks;  ///< zero before
};

/// Calls visit(z, m, before, count) by whole warps of a block for all masks of a panel, in groups
/// of up to 32: `count` of a group are not empty, `before` of them before this lane's.
template <class Visit>
GSOFA_DEVICE void for_each_mask(const panel_view& p, index_t j, Visit&& visit) {
  const auto lane = static_cast<index_t>(lane_index());
  const index_t length = p.length(j);
  for (index_t base = static_cast<index_t>(simt::thread_index()) - lane; base < length;
       base += static_cast<index_t>(simt::block_size())) {
    const index_t z = base + lane;
    mask_pair m{0, 0};
    if (z < length) m = p.masks[p.position_begin[j] + z];
    const unsigned used = simt::ballot((m.upper | m.lower) != 0);
    visit(z, m, simt::population(used & lower_lanes()), simt::population(used));
  }
}

/// A block takes a panel of the list.
GSOFA_KERNEL void packed_size_kernel(panel_view p, const index_t* list, index_t count,
                                     packed_size* out) {
  simt::after_earlier_launches();
  for (auto i = static_cast<index_t>(simt::block_index()); i < count;
       i += static_cast<index_t>(simt::grid_size())) {
    const index_t j = list[i];
    unsigned long long masks = 0;
    for_each_mask(p, j, [&](index_t, const mask_pair&, unsigned, unsigned used) { masks += used; });
    if (lane_index() == 0 && masks != 0) simt::atomic_add(&out[i].masks, masks);
    if (simt::thread_index() == 0) {
      out[i].blocks = p.column_block_begin[j + 1] - p.column_block_begin[j];
    }
  }
}

/// Copies the column blocks and masks of panels of `top`, which is ascending; packed: a zero for
/// each panel. A block takes a panel.
GSOFA_KERNEL void pack_kernel(panel_view p, const index_t* top, index_t tops, std::uint32_t* packed,
                              packed_view out) {
  simt::after_earlier_launches();
  for (auto i = static_cast<index_t>(simt::block_index()); i < out.panels;
       i += static_cast<index_t>(simt::grid_size())) {
    const index_t j = top[out.panel[i]];
    for_each_mask(p, j, [&](index_t z, const mask_pair& m, unsigned before, unsigned used) {
      std::uint32_t place = 0;
      if (lane_index() == 0 && used != 0) {
        place = simt::atomic_add(packed + i, static_cast<std::uint32_t>(used));
      }
      const offset_t to = out.mask_begin[i] + simt::shuffle(place, 0) + before;
      if ((m.upper | m.lower) == 0) return;
      out.masks[to] = m;
      out.position[to] = z;
    });
    const offset_t from = p.column_block_begin[j];
    const auto blocks = static_cast<index_t>(p.column_block_begin[j + 1] - from);
    for (auto q = static_cast<index_t>(simt::thread_index()); q < blocks;
         q += static_cast<index_t>(simt::block_size())) {
      const offset_t to = out.block_begin[i] + q;
      out.block_target[to] = place_in_list(top, tops, p.column_block_panel[from + q]);
      out.block_mask[to] = p.column_block_mask[from + q];
      out.block_first[to] = p.column_block_first[from + q];
    }
  }
}

/// What the vertices of the panels of `top` are by themselves.
struct top_vertices {
  const index_t* panel;  ///< of all panels
  index_t panels;
  const index_t* begin;  ///< first vertices by themselves
  index_t* order;        ///< caller's number
  index_t* label;        ///< of the caller's numbers
  index_t* panel_of;
  std::uint32_t* tree_parent;

  GSOFA_DEVICE index_t number(const panel_view& all, index_t v) const {
    const index_t j = all.panel_of[v];
    return begin[place_in_list(panel, panels, j)] + v - all.begin[j];
  }
};

/// A block takes a panel.
GSOFA_KERNEL void top_vertices_kernel(panel_view all, const std::uint32_t* tree_parent,
                                      top_vertices top) {
  simt::after_earlier_launches();
  for (auto i = static_cast<index_t>(simt::block_index()); i < top.panels;
       i += static_cast<index_t>(simt::grid_size())) {
    const index_t first = all.begin[top.panel[i]];
    const index_t w = top.begin[i + 1] - top.begin[i];
    for (auto c = static_cast<index_t>(simt::thread_index()); c < w;
         c += static_cast<index_t>(simt::block_size())) {
      const index_t v = top.begin[i] + c;
      const index_t caller = all.caller(first + c);
      top.order[v] = caller;
      top.label[caller] = v;
      top.panel_of[v] = i;
      const std::uint32_t parent = tree_parent[first + c];
      // Ancestors of vertices of `top` are in it.
      top.tree_parent[v] =
          parent == without_parent
              ? without_parent
              : static_cast<std::uint32_t>(top.number(all, static_cast<index_t>(parent)));
    }
  }
}

/// Member number k of a set.
GSOFA_DEVICE index_t nth_member(mask_t set, index_t k) {
  for (; k > 0; --k) set &= set - 1;
  return static_cast<index_t>(simt::lowest_bit(set));
}

// Blocks that share a panel: those of `top` are few and long.
constexpr int blocks_per_top_panel = 8;

/// ORs the masks of packed panels into those of the same panels, whose lists have all of their
/// vertices. Several blocks take a panel.
GSOFA_KERNEL void join_masks_kernel(panel_view p, packed_view part) {
  simt::after_earlier_launches();
  constexpr auto sharing = static_cast<unsigned>(blocks_per_top_panel);
  const offset_t thread =
      offset_t{simt::block_index() % sharing} * simt::block_size() + simt::thread_index();
  for (auto i = static_cast<index_t>(simt::block_index() / sharing); i < part.panels;
       i += static_cast<index_t>(simt::grid_size() / sharing)) {
    const index_t j = part.panel[i];
    const index_t w = p.width(j);
    const offset_t begin = p.column_block_begin[j];
    const auto blocks = static_cast<index_t>(p.column_block_begin[j + 1] - begin);
    const auto mine = static_cast<index_t>(part.block_begin[i + 1] - part.block_begin[i]);
    for (offset_t e = part.mask_begin[i] + thread; e < part.mask_begin[i + 1];
         e += offset_t{simt::block_size()} * sharing) {
      index_t z = part.position[e];
      if (z >= w) {
        // The last column block that begins at or before z has it.
        const offset_t q = part.block_begin[i] - 1 +
                           place_in_list(part.block_first + part.block_begin[i], mine, z + 1);
        const index_t c = nth_member(part.block_mask[q], z - part.block_first[q]);
        const offset_t there =
            begin + place_in_list(p.column_block_panel + begin, blocks, part.block_target[q]);
        z = p.column_block_first[there] +
            static_cast<index_t>(simt::population(p.column_block_mask[there] & below(c)));
      }
      mask_pair& to = p.masks[p.position_begin[j] + z];
      to = {to.upper | part.masks[e].upper, to.lower | part.masks[e].lower};
    }
  }
}

}  // namespace

packed_panels::packed_panels(const packed_on_host& from, memory_budget& budget)
    : packed_panels(from.panels, from.blocks, from.masks, budget) {
  copy_to_device(words_.data(), from.words.data(), static_cast<offset_t>(from.words.size()));
}

packed_on_host packed_panels::on_host() const {
  packed_on_host out{panels_, blocks_, masks_, {}};
  out.words.resize(static_cast<std::size_t>(words_.size()));
  copy_to_host(out.words.data(), static_cast<const mask_pair*>(words_.data()), words_.size());
  return out;
}

packed_panels::packed_panels(index_t panels, offset_t blocks, offset_t masks, memory_budget& budget)
    : panels_(panels), blocks_(blocks), masks_(masks) {
  const offset_t bytes =
      20 * masks + 16 * blocks + 16 * (offset_t{panels} + 1) + 4 * offset_t{panels};
  words_ = {budget, "top", bytes / offset_t{sizeof(mask_pair)} + 1};
}

packed_view packed_panels::view() const {
  packed_view v{};
  v.panels = panels_;
  v.masks = words_.data();
  v.block_mask = reinterpret_cast<mask_t*>(v.masks + masks_);
  v.block_begin = reinterpret_cast<offset_t*>(v.block_mask + blocks_);
  v.mask_begin = v.block_begin + panels_ + 1;
  v.block_target = reinterpret_cast<index_t*>(v.mask_begin + panels_ + 1);
  v.block_first = v.block_target + blocks_;
  v.position = v.block_first + blocks_;
  v.panel = v.position + masks_;
  return v;
}

packed_panels packed_panels::fetched(int from, int to, memory_budget& budget) const {
  packed_panels copy(panels_, blocks_, masks_, budget);
  copy_between_devices(copy.words_.data(), to, static_cast<const mask_pair*>(words_.data()), from,
                       words_.size());
  return copy;
}

packed_panels pack(const panel_arrays& p, const top_panels& top, std::span<const panel_kind> kind,
                   memory_budget& budget) {
  std::vector<index_t> numbers;
  std::vector<index_t> held;
  for (std::size_t i = 0; i < top.panel.size(); ++i) {
    if (kind[at(top.panel[i])] != panel_kind::top) continue;
    numbers.push_back(static_cast<index_t>(i));
    held.push_back(top.panel[i]);
  }
  const auto count = static_cast<index_t>(held.size());
  if (count == 0) return {0, 0, 0, budget};
  const auto tops = static_cast<index_t>(top.panel.size());
  const device_array<index_t> list{budget, "top", count};
  const device_array<index_t> all{budget, "top", tops};
  const device_array<packed_size> sizes{budget, "top", count};
  const device_array<std::uint32_t> packed_masks{budget, "top", count};
  copy_to_device(list.data(), held.data(), count);
  copy_to_device(all.data(), top.panel.data(), tops);
  fill_bytes(sizes.data(), 0, count);
  fill_bytes(packed_masks.data(), 0, count);
  launch_overlapping(packed_size_kernel, std::min(count, 1 << 16), threads_per_block, 0, p.view(),
                     list.data(), count, sizes.data());
  std::vector<packed_size> found(held.size());
  copy_to_host(found.data(), static_cast<const packed_size*>(sizes.data()), count);
  std::vector<offset_t> blocks{0};
  std::vector<offset_t> masks{0};
  for (const packed_size& s : found) {
    blocks.push_back(blocks.back() + s.blocks);
    masks.push_back(masks.back() + static_cast<offset_t>(s.masks));
  }
  packed_panels packed(count, blocks.back(), masks.back(), budget);
  const packed_view out = packed.view();
  copy_to_device(out.panel, numbers.data(), count);
  copy_to_device(out.block_begin, blocks.data(), offset_t{count} + 1);
  copy_to_device(out.mask_begin, masks.data(), offset_t{count} + 1);
  launch_overlapping(pack_kernel, std::min(count, 1 << 16), threads_per_block, 0, p.view(),
                     all.data(), tops, packed_masks.data(), out);
  synchronize();
  return packed;
}

void take_top(panel_arrays& p, const panel_arrays& all, const top_panels& top,
              memory_budget& budget) {
  if (p.n != top.vertices()) p.prepare(top.vertices(), budget);
  p.panels = static_cast<index_t>(top.panel.size());
  p.symmetric = all.symmetric;
  p.relabelled = true;
  fill_bytes(p.zeroed.data(), 0, p.zeroed.size());
  std::vector<std::uint32_t> children(at(p.panels), 0);
  for (const index_t parent : top.parent) {
    if (parent >= 0) ++children[at(parent)];
  }
  copy_to_device(p.zeros(p.in_panel_children), children.data(), p.panels);
  copy_to_device(p.begin.data(), top.begin.data(), offset_t{p.panels} + 1);
  copy_to_device(p.panel_parent.data(), top.parent.data(), p.panels);
  p.order = {budget, "labels", p.n};
  p.label = {budget, "labels", all.n};
  fill_bytes(p.label.data(), 0xff, all.n);
  const device_array<index_t> list{budget, "top", p.panels};
  copy_to_device(list.data(), top.panel.data(), p.panels);
  launch_overlapping(top_vertices_kernel, std::min(p.panels, 1 << 16), threads_per_block, 0,
                     all.view(), static_cast<const std::uint32_t*>(all.tree_parent.data()),
                     top_vertices{list.data(), p.panels, p.begin.data(), p.order.data(),
                                  p.label.data(), p.panel_of.data(), p.tree_parent.data()});
  structure_totals known{};
  known.panels = static_cast<std::uint32_t>(p.panels);
  copy_to_device(p.totals(), &known, 1);
  synchronize();
}

void join_masks(const packed_panels& part, const panel_arrays& p) {
  const packed_view from = part.view();
  launch_overlapping(join_masks_kernel, std::min(from.panels, 1 << 16) * blocks_per_top_panel,
                     threads_per_block, 0, p.view(), from);
}

}  // namespace gsofa::panels

#endif
