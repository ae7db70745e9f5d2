// Elimination tree on the device, for any numbering; composition of orders.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "variants/analysis/gpu_analysis.hpp"
#include "variants/device/elimination_tree.hpp"
#include "variants/device/tile_scan.hpp"

namespace gsofa::gpu::analysis {

namespace {

GSOFA_KERNEL void compose_kernel(index_t n, const index_t* order, const index_t* post,
                                 index_t* out) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(n)) {
    out[k] = order[post[k]];
  }
}

}  // namespace

device_array<index_t> elimination_tree(const rows_view& a, memory_budget& budget) {
  device_array<index_t> parent(budget, "tree", a.n);
  fill_bytes(parent.data(), 0xff, a.n);
  if (a.nnz == 0) return parent;
  const device_array<std::uint32_t> hint(budget, "tree", a.n);
  fill_bytes(hint.data(), 0, a.n);
  // no_parent is -1 in as many bits.
  launch_on_entries(etree_kernel, entries_of(a.row_ptr, a.col_idx, a.n, a.nnz),
                    reinterpret_cast<std::uint32_t*>(parent.data()), hint.data());
  return parent;
}

device_array<index_t> composed(index_t n, const index_t* order, const index_t* post,
                               memory_budget& budget) {
  device_array<index_t> out(budget, "order", n);
  if (n == 0) return out;
  launch_overlapping(compose_kernel, blocks_for(n), threads_per_block, 0, n, order, post,
                     out.data());
  return out;
}

}  // namespace gsofa::gpu::analysis

#endif
