// A postorder on the device, of any forest.

#include "variants/device/postorder.hpp"

#if defined(GSOFA_GPU)

#include <bit>

#include "variants/device/sorted_words.hpp"

namespace gsofa::gpu {

namespace {

constexpr std::uint32_t none = 0xffffffffU;  // no vertex

/// The lists of children of a forest, as rows: row p has the vertices with parent p in ascending
/// order, row n those without (parent -1).
struct child_lists {
  device_array<offset_t> row_ptr;  ///< n + 2
  device_array<index_t> child;     ///< n
};

GSOFA_KERNEL void parents_kernel(index_t n, coding code, const index_t* parent, word_t* words) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(n)) {
    const index_t p = parent[k];
    words[k] = code.word(p < 0 ? n : p, static_cast<index_t>(k));
  }
}

child_lists children_of(index_t n, const index_t* parent, memory_budget& budget) {
  const coding code(n);
  sorted_words words(n, budget);
  if (n > 0) {
    launch_overlapping(parents_kernel, blocks_for(n), threads_per_block, 0, n, code, parent,
                       words.data());
  }
  words.sort(code.word_bits());
  child_lists out{{budget, "tree", offset_t{n} + 2}, {budget, "tree", n}};
  launch_overlapping(row_begins_kernel, blocks_for(offset_t{n} + 1), threads_per_block, 0,
                     words.data(), offset_t{n}, code, offset_t{n} + 1, out.row_ptr.data());
  const offset_t all = n;
  copy_to_device(out.row_ptr.data() + n + 1, &all, 1);
  if (n > 0) {
    launch_overlapping(columns_kernel, blocks_for(n), threads_per_block, 0, words.data(),
                       offset_t{n}, code, out.child.data());
  }
  return out;
}

/// leaf[v]: the first child of v, v itself where there is none.
GSOFA_KERNEL void first_child_kernel(index_t n, const offset_t* row_ptr, const index_t* child,
                                     index_t* leaf) {
  simt::after_earlier_launches();
  for (const offset_t v : grid_items(n)) {
    leaf[v] = row_ptr[v] < row_ptr[v + 1] ? child[row_ptr[v]] : static_cast<index_t>(v);
  }
}

/// After k calls leaf[v] is the vertex 2^k first children below v, or the last on that way.
GSOFA_KERNEL void double_leaf_kernel(index_t n, const index_t* leaf, index_t* next) {
  simt::after_earlier_launches();
  for (const offset_t v : grid_items(n)) {
    next[v] = leaf[leaf[v]];
  }
}

/// A place in a list: the vertex a number of steps behind this one (upper half), and the number of
/// steps (lower half). `none` in the upper half: the list ends after this number of steps.
using link_t = std::uint64_t;
GSOFA_DEVICE link_t link(std::uint32_t next, std::uint32_t steps) {
  return static_cast<link_t>(next) << 32 | steps;
}

/// Behind v in the postorder comes the first leaf below the next sibling of v, or the parent of v
/// where v is the last child. Roots are the children of vertex n, which ends the list.
GSOFA_KERNEL void successor_kernel(index_t n, const offset_t* row_ptr, const index_t* child,
                                   const index_t* parent, const index_t* leaf, link_t* links) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(n)) {
    const index_t v = child[k];
    const index_t p = parent[v] < 0 ? n : parent[v];
    std::uint32_t next = p == n ? none : static_cast<std::uint32_t>(p);
    if (k + 1 < row_ptr[p + offset_t{1}]) next = static_cast<std::uint32_t>(leaf[child[k + 1]]);
    links[v] = link(next, 1);
  }
}

GSOFA_KERNEL void double_link_kernel(index_t n, const link_t* links, link_t* next) {
  simt::after_earlier_launches();
  for (const offset_t v : grid_items(n)) {
    const link_t mine = links[v];
    const auto behind = static_cast<std::uint32_t>(mine >> 32);
    if (behind == none) {
      next[v] = mine;
      continue;
    }
    const link_t other = links[behind];
    next[v] = link(static_cast<std::uint32_t>(other >> 32),
                   static_cast<std::uint32_t>(mine) + static_cast<std::uint32_t>(other));
  }
}

/// The number of steps to the end is the number of vertices from v on.
GSOFA_KERNEL void place_kernel(index_t n, const link_t* links, index_t* order) {
  simt::after_earlier_launches();
  for (const offset_t v : grid_items(n)) {
    order[n - static_cast<index_t>(static_cast<std::uint32_t>(links[v]))] = static_cast<index_t>(v);
  }
}

}  // namespace

device_array<index_t> postorder(index_t n, const index_t* parent, memory_budget& budget) {
  device_array<index_t> order(budget, "order", n);
  if (n == 0) return order;
  const child_lists lists = children_of(n, parent, budget);
  device_array<index_t> leaf(budget, "tree", n);
  device_array<index_t> next_leaf(budget, "tree", n);
  const int blocks = blocks_for(n);
  launch_overlapping(first_child_kernel, blocks, threads_per_block, 0, n, lists.row_ptr.data(),
                     lists.child.data(), leaf.data());
  // 2^rounds >= n, and no way is longer than n - 1 steps.
  const int rounds = std::bit_width(static_cast<std::uint32_t>(n - 1));
  for (int k = 0; k < rounds; ++k) {
    launch_overlapping(double_leaf_kernel, blocks, threads_per_block, 0, n, leaf.data(),
                       next_leaf.data());
    std::swap(leaf, next_leaf);
  }
  device_array<link_t> links(budget, "tree", n);
  device_array<link_t> next_links(budget, "tree", n);
  launch_overlapping(successor_kernel, blocks, threads_per_block, 0, n, lists.row_ptr.data(),
                     lists.child.data(), parent, leaf.data(), links.data());
  for (int k = 0; k < rounds; ++k) {
    launch_overlapping(double_link_kernel, blocks, threads_per_block, 0, n, links.data(),
                       next_links.data());
    std::swap(links, next_links);
  }
  launch_overlapping(place_kernel, blocks, threads_per_block, 0, n, links.data(), order.data());
  return order;
}

}  // namespace gsofa::gpu

#endif
