// Where the numbering is a postorder of the elimination tree, as in prepared inputs, the tree
// follows from one number per vertex: f(u), the least neighbour of u in A + A^T. It is then the
// forest of nearest parents, P(v) = min{ u > v : f(u) <= v }. P is the elimination tree if every v
// with a parent has an edge from P(v) into its subtree (PROOFS.md, "Nearest parents", has the
// proofs). An only child has one: only vertices with siblings are looked at. Where one of them is
// not justified, etree_kernel finds the tree and the vertices are relabelled.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "common/random.hpp"
#include "variants/device/elimination_tree.hpp"
#include "variants/device/postorder.hpp"
#include "variants/device/tile_scan.hpp"
#include "variants/panels/stages_device.hpp"

namespace gsofa::panels {

namespace {

/// Words that are all set to one value; they begin at a multiple of 16 bytes.
struct word_fill {
  std::uint32_t* words = nullptr;
  offset_t count = 0;
  std::uint32_t value = 0;
};

/// Sets all words of some arrays: one launch in place of a fill for each.
struct fill_list {
  static constexpr int most = 3;
  word_fill of[most];
};
GSOFA_KERNEL void fill_kernel(fill_list fills) {
  simt::after_earlier_launches();
  for (const word_fill& f : fills.of) {
    // Arrays begin at multiples of 16 bytes.
    struct alignas(16) four {
      std::uint32_t word[4];
    };
    auto* const fours = reinterpret_cast<four*>(f.words);
    const std::uint32_t v = f.value;
    for (const offset_t k : grid_items(f.count / 4)) fours[k] = {{v, v, v, v}};
    for (const offset_t k : grid_items(f.count % 4)) f.words[f.count / 4 * 4 + k] = v;
  }
}

/// Sets least[u] to f(u) if that is less than u, and adds up what A lacks to be symmetric.
GSOFA_KERNEL void leftmost_kernel(matrix_view a, std::uint32_t* least, structure_totals* totals) {
  simt::after_earlier_launches();
  unsigned long long unbalance = 0;
  for_each_entry(a, [&](index_t i, index_t j) {
    if (i == j) return;
    const auto low = static_cast<std::uint64_t>(static_cast<std::uint32_t>(i < j ? i : j));
    const std::uint64_t hash = mix64(low << 32 | static_cast<std::uint32_t>(i < j ? j : i));
    unbalance += i < j ? hash : ~hash + 1;
    std::uint32_t* const of = least + (i < j ? j : i);
    const auto neighbour = static_cast<std::uint32_t>(i < j ? i : j);
    if (simt::load_shared_state(of) > neighbour) simt::atomic_min(of, neighbour);
  });
  for (unsigned step = 16; step > 0; step /= 2) unbalance += simt::shuffle_xor(unbalance, step);
  if (lane_index() == 0 && unbalance != 0) simt::atomic_add(&totals->unbalance, unbalance);
}

/// The minima of groups of 32, of groups of these groups, and so on; level 0 is the array itself.
struct minima {
  static constexpr int group_bits = 5;
  static constexpr index_t group = 1 << group_bits;
  static constexpr int most_levels = 7;  // 32^6 < 2^31 <= 32^7
  const std::uint32_t* level[most_levels];
  index_t size[most_levels];
  int levels;

  /// The first place from `at` on, before `end`, with a value up to `bound`; `end`: there is none.
  GSOFA_DEVICE static index_t first_up_to(const std::uint32_t* values, index_t at, index_t end,
                                          std::uint32_t bound) {
    constexpr index_t batch = 8;  // loads that overlap
    for (; at < end; at += batch) {
      std::uint32_t found = 0;
      GSOFA_UNROLL for (index_t q = 0; q < batch; ++q) {
        const std::uint32_t value = q < end - at ? values[at + q] : no_parent;
        found |= (value <= bound ? std::uint32_t{1} : 0) << q;
      }
      if (found != 0) return at + static_cast<index_t>(simt::lowest_bit(found));
    }
    return end;
  }

  /// The first u > v with a value up to v; -1: there is none.
  GSOFA_DEVICE index_t nearest(index_t v) const {
    const auto bound = static_cast<std::uint32_t>(v);
    index_t at = v + 1;
    int k = 0;
    for (;; ++k, at >>= group_bits) {
      index_t end = size[k];
      if (k + 1 < levels) {
        const index_t next = at + (group - at % group) % group;
        end = next < end ? next : end;
      }
      at = first_up_to(level[k], at, end, bound);
      if (at < end) break;
      if (at == size[k]) return -1;
    }
    while (k > 0) {
      --k;
      at = first_up_to(level[k], at << group_bits, size[k], bound);
    }
    return at;
  }
};

/// A warp computes the minima of 32 groups; if `of_groups` is not null, also that of these minima.
GSOFA_KERNEL void minima_kernel(const std::uint32_t* in, index_t size, std::uint32_t* out,
                                std::uint32_t* of_groups) {
  simt::after_earlier_launches();
  constexpr index_t batch = 8;  // loads that overlap
  const auto lane = static_cast<index_t>(lane_index());
  const index_t groups = (size - 1) / minima::group + 1;
  const index_t chunks = (groups - 1) / minima::group + 1;
  const auto warps = static_cast<index_t>(simt::grid_size() * (simt::block_size() / 32));
  for (auto k = static_cast<index_t>(simt::block_index() * (simt::block_size() / 32) +
                                     simt::thread_index() / 32);
       k < chunks; k += warps) {
    std::uint32_t mine = no_parent;  // of group `lane` of the chunk
    GSOFA_KEEP_LOOP for (index_t first = 0; first < minima::group; first += batch) {
      std::uint32_t least[batch];
      GSOFA_UNROLL for (index_t q = 0; q < batch; ++q) {
        const offset_t at = (offset_t{k} * minima::group + first + q) * minima::group + lane;
        least[q] = at < size ? in[at] : no_parent;
      }
      for (unsigned step = 1; step < 32; step *= 2) {
        GSOFA_UNROLL for (index_t q = 0; q < batch; ++q) {
          const std::uint32_t other = simt::shuffle_xor(least[q], step);
          least[q] = other < least[q] ? other : least[q];
        }
      }
      GSOFA_UNROLL for (index_t q = 0; q < batch; ++q) {
        if (lane == first + q) mine = least[q];
      }
    }
    const offset_t group = offset_t{k} * minima::group + lane;
    if (group < groups) out[group] = mine;
    if (of_groups == nullptr) continue;
    for (unsigned step = 1; step < 32; step *= 2) {
      const std::uint32_t other = simt::shuffle_xor(mine, step);
      mine = other < mine ? other : mine;
    }
    if (lane == 0) of_groups[k] = mine;
  }
}

GSOFA_KERNEL void nearest_parent_kernel(minima m, index_t n, std::uint32_t* parent) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(n)) {
    // no_parent is -1 in as many bits.
    parent[k] = static_cast<std::uint32_t>(m.nearest(static_cast<index_t>(k)));
  }
}

/// The parents of panels, mirrored, for first_panels: beyond a panel are those before it, and a
/// panel that is not below J has a parent beyond J, or none.
GSOFA_KERNEL void mirrored_parents_kernel(const index_t* parent, index_t panels,
                                          std::uint32_t* mirrored) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(panels)) {
    const index_t p = parent[panels - 1 - static_cast<index_t>(k)];
    mirrored[k] = p < 0 ? 0 : static_cast<std::uint32_t>(panels - p);
  }
}

/// label[order[k]] = k.
GSOFA_KERNEL void label_kernel(index_t n, const index_t* order, index_t* label) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(n)) {
    label[order[k]] = static_cast<index_t>(k);
  }
}

/// The parents by label.
GSOFA_KERNEL void relabel_kernel(index_t n, const index_t* order, const index_t* label,
                                 const std::uint32_t* parent, std::uint32_t* out) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(n)) {
    const std::uint32_t p = parent[order[k]];
    out[k] = p == no_parent ? no_parent : static_cast<std::uint32_t>(label[p]);
  }
}

}  // namespace

void find_nearest(const std::uint32_t* values, index_t size, std::uint32_t* spare,
                  std::uint32_t* nearest) {
  minima m{{values}, {size}, 1};
  const auto add_level = [&] {
    const index_t groups = (m.size[m.levels - 1] - 1) / minima::group + 1;
    m.level[m.levels] = spare;
    m.size[m.levels] = groups;
    ++m.levels;
    spare += groups;
    return groups > minima::group;
  };
  // Two levels by a launch.
  while (m.size[m.levels - 1] > minima::group) {
    const int from = m.levels - 1;
    std::uint32_t* const groups = spare;
    std::uint32_t* const of_groups = add_level() ? spare : nullptr;
    launch_overlapping(minima_kernel, blocks_for(m.size[from + 1]), threads_per_block, 0,
                       m.level[from], m.size[from], groups, of_groups);
    if (of_groups != nullptr) add_level();
  }
  launch_overlapping(nearest_parent_kernel, blocks_for(size), threads_per_block, 0, m, size,
                     nearest);
}

void clear_for_forest(const panel_arrays& p) {
  const word_fill table{reinterpret_cast<std::uint32_t*>(p.table.data()), p.table.size() * 4, 0};
  const offset_t words = p.zeroed.size() + p.n + table.count;
  launch_overlapping(
      fill_kernel, blocks_for((words - 1) / 4 + 1), threads_per_block, 0,
      fill_list{{table, {p.zeroed.data(), p.zeroed.size(), 0}, {p.hint.data(), p.n, no_parent}}});
}

void find_forest(const matrix_view& a, const panel_arrays& p) {
  launch_on_entries(leftmost_kernel, a, p.hint.data(), p.totals());
  find_nearest(p.hint.data(), p.n, p.minima.data(), p.tree_parent.data());
}

void relabel(const matrix_view& a, panel_arrays& p, memory_budget& budget) {
  fill_bytes(p.tree_parent.data(), 0xff, p.n);
  fill_bytes(p.hint.data(), 0, p.n);
  launch_on_entries(etree_kernel, a, p.tree_parent.data(), p.hint.data());
  // no_parent is -1 in as many bits.
  p.order = postorder(p.n, reinterpret_cast<const index_t*>(p.tree_parent.data()), budget);
  p.label = {budget, "labels", p.n};
  const index_t* const order = p.order.data();
  launch_overlapping(label_kernel, blocks_for(p.n), threads_per_block, 0, p.n, order,
                     p.label.data());
  launch_overlapping(relabel_kernel, blocks_for(p.n), threads_per_block, 0, p.n, order,
                     static_cast<const index_t*>(p.label.data()),
                     static_cast<const std::uint32_t*>(p.tree_parent.data()), p.hint.data());
  std::swap(p.tree_parent, p.hint);
  p.relabelled = true;
  fill_bytes(p.zeroed.data(), 0, p.zeroed.size());
}

// The least neighbours and the lists of siblings have been read.
first_panels find_first_panels(const panel_arrays& p) {
  auto* const first = reinterpret_cast<std::uint32_t*>(p.siblings.data());
  launch_overlapping(mirrored_parents_kernel, blocks_for(p.panels), threads_per_block, 0,
                     static_cast<const index_t*>(p.panel_parent.data()), p.panels, p.hint.data());
  find_nearest(p.hint.data(), p.panels, p.minima.data(), first);
  return {p.panels, first};
}

}  // namespace gsofa::panels

#endif
