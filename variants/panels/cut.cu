// Panels of a postordered forest. README.md says what a panel is, PROOFS.md why the forest is the
// elimination tree where all vertices with siblings are justified.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "variants/device/elimination_tree.hpp"
#include "variants/device/tile_scan.hpp"
#include "variants/panels/stages_device.hpp"

namespace gsofa::panels {

namespace {

/// Counts the children of every vertex, and those of them whose subtree has more than `width`
/// vertices. Sets low[v] to the first vertex of v's subtree if it has at most `width` vertices,
/// else to -1, and root[u], zero before, to the root of the largest such small subtree that begins
/// at u. In a postorder the subtree of v begins behind the last u < v with parent[u] > v.
GSOFA_KERNEL void subtree_kernel(index_t n, index_t width, const std::uint32_t* parent,
                                 std::uint32_t* children, std::uint32_t* big_children, index_t* low,
                                 std::uint32_t* root) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(n)) {
    const auto v = static_cast<index_t>(k);
    const std::uint32_t p = parent[v];
    index_t first = v;
    for (bool ends = false; !ends && first > 0 && v - first < width;) {
      constexpr index_t batch = 8;  // loads that overlap
      std::uint32_t others = 0;
      GSOFA_UNROLL for (index_t q = 0; q < batch; ++q) {
        const bool inside = q < first && parent[first - 1 - q] <= static_cast<std::uint32_t>(v);
        others |= (inside ? 0 : std::uint32_t{1}) << q;
      }
      ends = others != 0;
      first -= ends ? static_cast<index_t>(simt::lowest_bit(others)) : batch;
    }
    const bool small = v - first < width;
    low[v] = small ? first : -1;
    if (small) simt::atomic_max(root + first, static_cast<std::uint32_t>(v));
    if (p == no_parent) continue;
    simt::atomic_add(children + p, std::uint32_t{1});
    if (!small) simt::atomic_add(big_children + p, std::uint32_t{1});
  }
}

/// Cuts a postordered forest into panels of at most `width` vertices. Subtrees of at most `width`
/// vertices that no other such subtree holds are panels; neighbours of them under one parent (or
/// two roots) are joined if both have at most width/2 vertices and their roots lie in one of the
/// windows [k width/2, (k+1) width/2): so a joint panel has less than width/2 + width/2 vertices.
/// Any other vertex v continues the run of v-1 if v-1 is the only child of v with a subtree of more
/// than `width` vertices; runs are cut every `width` vertices. All parents outside a panel are one
/// vertex, the parent of the panel's last vertex, or there are none.
///
/// Every v needs only its neighbourhood to know whether it begins a run; the scan counts the panels
/// before it. Value of a piece of vertices: `head` vertices before its first run begins, panels of
/// the runs that begin and end inside, `tail` vertices of the last one; `open`: vertices of the
/// piece less children of its vertices. Up to v, `open` is the number of vertices up to v whose
/// parent is beyond v.
struct cut_scan {
  struct value {
    std::uint32_t runs, head, panels, tail;
    index_t open;
  };
  index_t n;
  index_t width;
  const std::uint32_t* parent;
  const std::uint32_t* children;
  const std::uint32_t* big_children;
  const index_t* low;
  const std::uint32_t* root;
  index_t* panel_of;
  index_t* begin;
  index_t* depth;  ///< number of open vertices
  structure_totals* totals;

  GSOFA_DEVICE offset_t count() const { return n; }
  GSOFA_DEVICE static value identity() { return {0, 0, 0, 0, 0}; }
  GSOFA_DEVICE std::uint32_t panels_of(std::uint32_t vertices) const {
    return (vertices - 1) / static_cast<std::uint32_t>(width) + 1;
  }
  GSOFA_DEVICE value combine(const value& a, const value& b) const {
    const index_t open = a.open + b.open;
    if (a.runs == 0) return {b.runs, a.head + b.head, b.panels, b.tail, open};
    if (b.runs == 0) return {a.runs, a.head, a.panels, a.tail + b.head, open};
    return {1, a.head, a.panels + panels_of(a.tail + b.head) + b.panels, b.tail, open};
  }
  GSOFA_DEVICE bool small(std::uint32_t v) const { return v != no_parent && low[v] >= 0; }
  GSOFA_DEVICE bool begins_run(index_t v) const {
    if (v == 0) return true;
    const index_t u = v - 1;
    const std::uint32_t p = parent[u];
    if (low[v] < 0) {
      return low[u] >= 0 || p != static_cast<std::uint32_t>(v) || big_children[v] != 1;
    }
    if (low[u] < 0) return true;
    if (small(p)) return false;
    // u is the root of a largest small subtree; the next one begins at v.
    const auto next = static_cast<index_t>(root[v]);
    const index_t half = width / 2;
    const bool join = half > 0 && parent[next] == p && u - low[u] < half && next - v < half &&
                      u / half == next / half;
    return !join;
  }
  GSOFA_DEVICE value item(index_t v) const {
    const index_t open = 1 - static_cast<index_t>(children[v]);
    return begins_run(v) ? value{1, 0, 0, 1, open} : value{0, 1, 0, 0, open};
  }
  GSOFA_DEVICE void emit(index_t v, const value& upto) const {
    const std::uint32_t in_run = upto.tail - 1;
    const auto panel =
        static_cast<index_t>(upto.panels + in_run / static_cast<std::uint32_t>(width));
    panel_of[v] = panel;
    depth[v] = upto.open;
    if (in_run % static_cast<std::uint32_t>(width) == 0) begin[panel] = v;
    if (v == n - 1) {
      begin[panel + 1] = n;
      totals->panels = static_cast<std::uint32_t>(panel) + 1;
    }
  }
};

static_assert(sizeof(cut_scan::value) <= most_scanned);

GSOFA_KERNEL void panel_tree_kernel(index_t n, const std::uint32_t* parent, sibling_lists siblings,
                                    bool is_etree, const index_t* panel_of, const index_t* begin,
                                    index_t* panel_parent, std::uint32_t* panel_children,
                                    structure_totals* totals) {
  simt::after_earlier_launches();
  const std::uint32_t panels = totals->panels;
  std::uint32_t with_siblings = 0;
  for (const offset_t k : grid_items(n)) {
    const auto v = static_cast<index_t>(k);
    const std::uint32_t p = parent[v];
    if (!is_etree && p != no_parent && siblings.children[p] > 1) {
      const auto above = static_cast<index_t>(p);
      siblings.list[siblings.first_child(above) + siblings.depth[v] - siblings.depth[above]] = v;
      ++with_siblings;
    }
    if (k < panels) {
      const std::uint32_t q = parent[begin[k + 1] - 1];
      panel_parent[k] = q == no_parent ? -1 : panel_of[q];
      if (q != no_parent) simt::atomic_add(panel_children + panel_of[q], std::uint32_t{1});
    }
  }
  add_to(&totals->siblings, with_siblings);
}

}  // namespace

void cut_panels(const panel_arrays& p, index_t width, bool is_etree) {
  const std::uint32_t* const parent = p.tree_parent.data();
  const std::uint32_t* const children = p.zeros(p.in_children);
  launch_overlapping(subtree_kernel, blocks_for(p.n), threads_per_block, 0, p.n, width, parent,
                     p.zeros(p.in_children), p.zeros(p.in_big_children), p.low.data(),
                     p.zeros(p.in_root));
  scan(cut_scan{p.n, width, parent, children, p.zeros(p.in_big_children), p.low.data(),
                p.zeros(p.in_root), p.panel_of.data(), p.begin.data(), p.depth.data(), p.totals()},
       p.n, reinterpret_cast<cut_scan::value*>(p.partial.data()), threads_of_scan(p.n));
  launch_overlapping(panel_tree_kernel, blocks_for(p.n), threads_per_block, 0, p.n, parent,
                     sibling_lists{children, p.depth.data(), p.siblings.data()}, is_etree,
                     static_cast<const index_t*>(p.panel_of.data()),
                     static_cast<const index_t*>(p.begin.data()), p.panel_parent.data(),
                     p.zeros(p.in_panel_children), p.totals());
}

justification justification_of(const panel_arrays& p, bool counts) {
  return {{p.zeros(p.in_children), p.depth.data(), p.siblings.data()},
          counts ? p.zeros(p.in_marks) : nullptr};
}

}  // namespace gsofa::panels

#endif
