// From the matrix to panels, position lists and masks set to A, on the device. README.md has the
// proofs.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>
#include <limits>

#include "common/random.hpp"
#include "variants/device/elimination_tree.hpp"
#include "variants/device/matrix_entries.hpp"
#include "variants/device/postorder.hpp"
#include "variants/device/tile_scan.hpp"
#include "variants/panels/gpu_panels.hpp"

namespace gsofa::gpu {

/// What the device reports to the host.
struct structure_totals {
  offset_t column_blocks;
  offset_t positions;
  offset_t longest;  ///< positions of the longest panel
  std::uint32_t panels;
  std::uint32_t overflow;   ///< nonzero: the table of column blocks was too small
  std::uint32_t siblings;   ///< vertices with siblings in the forest of nearest parents
  std::uint32_t justified;  ///< those of them in whose subtree the parent has a neighbour
  /// Sum of a hash of every entry of A above the diagonal less those of the partners of the entries
  /// below: zero where A is symmetric, and hardly anywhere else.
  unsigned long long unbalance;

  /// Whether that forest is the elimination tree.
  GSOFA_DEVICE bool is_etree() const { return siblings == justified; }
};

/// A copy of the totals in memory of the host.
struct structure_note {
  structure_totals totals;
  std::uint32_t number;  ///< 1 as soon as the totals are there
};

namespace {

constexpr std::uint64_t no_key = 0;
// On the emulator small patterns must have tables that are too small.
#if defined(__CUDACC__)
// Most inputs have fewer column blocks than vertices.
constexpr offset_t least_capacity = 1024;
constexpr offset_t first_blocks_per_vertex = 2;
#else
constexpr offset_t least_capacity = 8;
constexpr offset_t first_blocks_per_vertex = 0;
#endif
constexpr std::uint32_t most_probes = 128;
constexpr offset_t bytes_per_column_block = 16;  // in the table, loose, or sorted
// Listed by targets it has 20 bytes until it is sorted, with 12 more for the sort, and spare ones.
constexpr offset_t bytes_while_sorted = 52;

/// Sets all words of some arrays: one launch in place of a fill for each.
struct fill_list {
  static constexpr int most = 3;
  word_fill of[most];
};
GSOFA_KERNEL void fill_kernel(fill_list fills) {
  simt::after_earlier_launches();
  const offset_t thread = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
  const offset_t threads = offset_t{simt::grid_size()} * simt::block_size();
  for (const word_fill& f : fills.of) {
    // Arrays begin at multiples of 16 bytes.
    struct alignas(16) four {
      std::uint32_t word[4];
    };
    auto* const fours = reinterpret_cast<four*>(f.words);
    const std::uint32_t v = f.value;
    for (offset_t k = thread; k < f.count / 4; k += threads) fours[k] = {{v, v, v, v}};
    for (offset_t k = f.count / 4 * 4 + thread; k < f.count; k += threads) f.words[k] = v;
  }
}

// ------------------------------------------------------------------------------- entries of A

/// Returns the OR over each run of equal keys in the first lane of the run, and 0 in the others.
GSOFA_DEVICE mask_t or_of_run(std::uint64_t key, mask_t mask) {
  const unsigned lane = lane_index();
  const std::uint64_t before = simt::shuffle_up(key, 1);
  for (unsigned step = 1; step < 32; step *= 2) {
    const std::uint64_t other_key = simt::shuffle_down(key, step);
    const mask_t other = simt::shuffle_down(mask, step);
    if (lane + step < 32 && other_key == key) mask |= other;
  }
  return lane == 0 || before != key ? mask : 0;
}

/// Adds one number of each thread to the total.
GSOFA_DEVICE void add_to(std::uint32_t* total, std::uint32_t mine) {
  for (unsigned step = 16; step > 0; step /= 2) mine += simt::shuffle_xor(mine, step);
  if (lane_index() == 0 && mine != 0) simt::atomic_add(total, mine);
}

// ------------------------------------------------------------------------------ elimination tree

// Where the numbering is a postorder of the elimination tree, as in prepared inputs, the tree
// follows from one number per vertex: f(u), the least neighbour of u in A + A^T. It is then the
// forest of nearest parents, P(v) = min{ u > v : f(u) <= v }. P is the elimination tree if every v
// with a parent has an edge from P(v) into its subtree (README.md, "Nearest parents", has the
// proofs). An only child has one: only vertices with siblings are looked at. Where one of them is
// not justified, etree_kernel finds the tree and the vertices are relabelled.

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
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < n; k += offset_t{simt::grid_size()} * simt::block_size()) {
    // no_parent is -1 in as many bits.
    parent[k] = static_cast<std::uint32_t>(m.nearest(static_cast<index_t>(k)));
  }
}

/// The parents of panels, mirrored, for first_panels: beyond a panel are those before it, and a
/// panel that is not below J has a parent beyond J, or none.
GSOFA_KERNEL void mirrored_parents_kernel(const index_t* parent, index_t panels,
                                          std::uint32_t* mirrored) {
  simt::after_earlier_launches();
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < panels; k += offset_t{simt::grid_size()} * simt::block_size()) {
    const index_t p = parent[panels - 1 - static_cast<index_t>(k)];
    mirrored[k] = p < 0 ? 0 : static_cast<std::uint32_t>(panels - p);
  }
}

/// Counts the children of every vertex, and those of them whose subtree has more than `width`
/// vertices. Sets low[v] to the first vertex of v's subtree if it has at most `width` vertices,
/// else to -1, and root[u], zero before, to the root of the largest such small subtree that begins
/// at u. In a postorder the subtree of v begins behind the last u < v with parent[u] > v.
GSOFA_KERNEL void subtree_kernel(index_t n, index_t width, const std::uint32_t* parent,
                                 std::uint32_t* children, std::uint32_t* big_children, index_t* low,
                                 std::uint32_t* root) {
  simt::after_earlier_launches();
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < n; k += offset_t{simt::grid_size()} * simt::block_size()) {
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

/// label[order[k]] = k.
GSOFA_KERNEL void label_kernel(index_t n, const index_t* order, index_t* label) {
  simt::after_earlier_launches();
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < n; k += offset_t{simt::grid_size()} * simt::block_size()) {
    label[order[k]] = static_cast<index_t>(k);
  }
}

/// The parents by label.
GSOFA_KERNEL void relabel_kernel(index_t n, const index_t* order, const index_t* label,
                                 const std::uint32_t* parent, std::uint32_t* out) {
  simt::after_earlier_launches();
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < n; k += offset_t{simt::grid_size()} * simt::block_size()) {
    const std::uint32_t p = parent[order[k]];
    out[k] = p == no_parent ? no_parent : static_cast<std::uint32_t>(label[p]);
  }
}

// --------------------------------------------------------------------------------------- panels

/// Cuts a postordered forest into panels of at most `width` vertices. Subtrees of at most `width`
/// vertices that no other such subtree holds are panels; neighbours of them under one parent (or
/// two roots) are joined if both have at most width/2 vertices and their roots lie in one of the
/// windows [k width/2, (k+1) width/2): so a joint panel has less than width/2 + width/2 vertices.
/// Of the other vertices, v goes on with the run of v-1 if parent[v-1] == v and v has no other
/// child with a subtree so large; runs are cut every `width` vertices. Of each panel all parents
/// outside are one vertex, or none: the parent of its last vertex.
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

/// Lists of the children of vertices that have several, ascending; the list of vertex p begins at
/// first_child(p). depth[v] is the number of vertices up to v whose parents are behind v: the place
/// of v on a stack where each vertex takes the place of its children.
struct sibling_lists {
  const std::uint32_t* children;
  const index_t* depth;
  index_t* list;

  /// Vertices up to p less depth[p] - 1 are the children of p and of all before it.
  GSOFA_DEVICE offset_t first_child(index_t p) const {
    return offset_t{p} + 1 - depth[p] - children[p];
  }
};

GSOFA_KERNEL void panel_tree_kernel(index_t n, const std::uint32_t* parent, sibling_lists siblings,
                                    bool is_etree, const index_t* panel_of, const index_t* begin,
                                    index_t* panel_parent, std::uint32_t* panel_children,
                                    structure_totals* totals) {
  simt::after_earlier_launches();
  const std::uint32_t panels = totals->panels;
  std::uint32_t with_siblings = 0;
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < n; k += offset_t{simt::grid_size()} * simt::block_size()) {
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

/// Counts the vertices with siblings that have an edge from their parent into their subtree. The
/// child of j above its neighbour i < j is the first that is not before i.
struct justification {
  sibling_lists siblings;
  std::uint32_t* marks;  ///< n zeros; null: nothing is counted

  /// Looks at an entry; returns 1 if it is the first found of a vertex.
  GSOFA_DEVICE std::uint32_t visit(index_t row, index_t column) const {
    const index_t i = row < column ? row : column;
    const index_t j = row < column ? column : row;
    if (i == j || siblings.children[j] < 2) return 0;
    offset_t low = siblings.first_child(j);
    for (offset_t high = low + siblings.children[j] - 1; low < high;) {
      const offset_t middle = (low + high) / 2;
      if (siblings.list[middle] < i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const index_t child = siblings.list[low];
    std::uint32_t* const mark = marks + child;
    return simt::load_shared_state(mark) == 0 && simt::atomic_exchange(mark, std::uint32_t{1}) == 0
               ? 1
               : 0;
  }
};

GSOFA_KERNEL void justify_kernel(matrix_view a, justification by, structure_totals* totals) {
  simt::after_earlier_launches();
  std::uint32_t justified = 0;
  for_each_entry(a, [&](index_t i, index_t j) { justified += by.visit(i, j); });
  add_to(&totals->justified, justified);
}

// -------------------------------------------------------------------------------- column blocks

/// An open-addressing hash table of column blocks. A key never changes once set, a mask belongs to
/// its slot and only grows, so that relaxed accesses to either suffice.
struct column_block_table {
  column_block* slots;
  std::uint32_t capacity;  // a power of 2
};

/// Adds members to the column blocks (path[b], t), b < count, all at once, so that the round trips
/// to memory overlap. Returns the members that the last of these column blocks did not have.
template <int Batch>
GSOFA_DEVICE mask_t insert(const column_block_table& table, const index_t* path, int count,
                           index_t t, mask_t members, structure_totals* totals) {
  column_block found[Batch];
  std::uint64_t key[Batch];
  std::uint32_t place[Batch]{};
  const auto look = [&](int b) {
    found[b] = {simt::load_shared_state(&table.slots[place[b]].key),
                simt::load_shared_state(&table.slots[place[b]].mask)};
  };
  GSOFA_UNROLL for (int b = 0; b < Batch; ++b) {
    key[b] = column_block_key(path[b], t);
    place[b] = static_cast<std::uint32_t>(mix64(key[b])) & (table.capacity - 1);
    found[b] = {key[b], members};
    if (b < count) look(b);
  }
  GSOFA_UNROLL for (int b = 0; b < Batch; ++b) {
    for (std::uint32_t probe = 1; found[b].key != key[b]; ++probe) {
      if (found[b].key == no_key) {
        found[b] = {simt::atomic_cas(&table.slots[place[b]].key, no_key, key[b]), 0};
        if (found[b].key == no_key || found[b].key == key[b]) break;
      }
      if (probe >= most_probes || probe >= table.capacity) {
        simt::atomic_exchange(&totals->overflow, std::uint32_t{1});
        return 0;
      }
      place[b] = (place[b] + 1) & (table.capacity - 1);
      look(b);
    }
  }
  mask_t before = members;
  GSOFA_UNROLL for (int b = 0; b < Batch; ++b) {
    if (b >= count) break;
    before = found[b].mask;
    if ((members & ~before) != 0) before = simt::atomic_or(&table.slots[place[b]].mask, members);
  }
  return members & ~before;
}

struct cut_view {
  const index_t* label;  // null: vertices are rows
  const index_t* begin;
  const index_t* panel_of;
  const index_t* panel_parent;
  const panel_kind* kind;  // null: all are held

  GSOFA_DEVICE bool holds(index_t k) const {
    return kind == nullptr || kind[k] != panel_kind::foreign;
  }
};

// Boundaries of all panels. A vertex i is in the boundary of J iff J lies below panel(i) on the way
// up from a panel K that holds a neighbour of i in A + A^T: every boundary vertex of a child is in
// the panel or in its boundary. The column blocks of the panels K are found first; then every
// column block goes up the panel tree with all its members. Panels ascend along the way, which ends
// at panel(i), an ancestor of K.

// On the emulator small patterns must have more column blocks than fit.
#if defined(__CUDACC__)
constexpr std::uint32_t near_slots = 512;
#else
constexpr std::uint32_t near_slots = 4;
#endif

GSOFA_DEVICE std::uint32_t near_slot(std::uint64_t key) {
  const std::uint32_t mixed = static_cast<std::uint32_t>(key >> 32) * 0x9e3779b1U +
                              static_cast<std::uint32_t>(key) * 0x85ebca6bU;
  return (mixed >> 16) % near_slots;
}

/// A table of the column blocks of some entries in shared memory. Entries of rows that lie near
/// each other have few column blocks.
struct near_table {
  std::uint64_t key[near_slots];
  std::uint32_t mask[near_slots][2];

  GSOFA_DEVICE void clear() {
    for (unsigned k = simt::thread_index(); k < near_slots; k += simt::block_size()) {
      key[k] = no_key;
      mask[k][0] = mask[k][1] = 0;
    }
  }
  /// Returns false if there is no free place near the place of the key.
  GSOFA_DEVICE bool insert(std::uint64_t wanted, index_t member) {
    constexpr unsigned most = 4;
    std::uint32_t place = near_slot(wanted);
    for (unsigned probe = 0; probe < most; ++probe, place = (place + 1) % near_slots) {
      std::uint64_t found = simt::load_shared_state(key + place);
      if (found == no_key) found = simt::atomic_cas(key + place, no_key, wanted);
      if (found != no_key && found != wanted) continue;
      std::uint32_t* const half = mask[place] + member / 32;
      const std::uint32_t here = 1U << (member % 32);
      if ((simt::load_shared_state(half) & here) == 0) simt::atomic_or(half, here);
      return true;
    }
    return false;
  }
};

/// Enters the column blocks of the entries of A in the table. Those of a chunk of entries are
/// gathered in shared memory first. Needs sizeof(near_table) bytes of it behind those of
/// for_each_lane(). In the same pass over A it counts what is justified, if `by` has marks: nobody
/// reads the table then unless the tree is the elimination tree.
GSOFA_KERNEL void first_column_blocks_kernel(matrix_view a, cut_view c, column_block_table table,
                                             justification by, structure_totals* totals) {
  simt::after_earlier_launches();
  if (by.marks == nullptr && !totals->is_etree()) return;
  std::uint32_t justified = 0;
  near_table& near = *reinterpret_cast<near_table*>(simt::shared_memory<row_window>() + 1);
  near.clear();
  simt::sync_block();
  const auto visit = [&](bool is_entry, index_t row, index_t column) {
    if (!is_entry || row == column) return;
    if (by.marks != nullptr) justified += by.visit(row, column);
    const index_t i = c.label == nullptr ? row : c.label[row];
    const index_t j = c.label == nullptr ? column : c.label[column];
    const index_t high = i < j ? j : i;
    const index_t k = c.panel_of[i < j ? i : j];
    const index_t target = c.panel_of[high];
    if (k == target || !c.holds(k)) return;
    const index_t member = high - c.begin[target];
    if (!near.insert(column_block_key(k, target), member)) {
      insert<1>(table, &k, 1, target, bit(member), totals);
    }
  };
  for_each_lane(a, visit, [&] {
    for (unsigned q = simt::thread_index(); q < near_slots; q += simt::block_size()) {
      const column_block block{near.key[q],
                               static_cast<mask_t>(near.mask[q][1]) << 32 | near.mask[q][0]};
      if (block.key == no_key) continue;
      const index_t k = block.panel();
      insert<1>(table, &k, 1, block.target(), block.mask, totals);
    }
    simt::sync_block();
    near.clear();
    simt::sync_block();
  });
  if (by.marks != nullptr) add_to(&totals->justified, justified);
}

/// A thread per column block goes up the panel tree as long as it adds members; members that it
/// finds there have been added by other threads. A step adds the members to several panels,
/// whatever it finds in them, and the thread that adds a member to the last panel of a step goes on
/// with that member. So, by induction down from the target, where a member has been added it will
/// be added everywhere above. It does not matter whether a thread meets column blocks that are
/// added meanwhile.
GSOFA_KERNEL void boundary_kernel(cut_view c, column_block_table table, structure_totals* totals) {
  simt::after_earlier_launches();
  if (!totals->is_etree()) return;
  for (std::uint64_t slot =
           std::uint64_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       slot < table.capacity; slot += std::uint64_t{simt::grid_size()} * simt::block_size()) {
    const column_block block{simt::load_shared_state(&table.slots[slot].key),
                             simt::load_shared_state(&table.slots[slot].mask)};
    if (block.key == no_key) continue;
    const index_t target = block.target();
    mask_t members = block.mask;
    for (index_t k = c.panel_parent[block.panel()]; members != 0 && k >= 0 && k < target;) {
      constexpr int batch = 4;
      index_t path[batch]{};
      int count = 0;
      for (; count < batch && k >= 0 && k < target; ++count, k = c.panel_parent[k]) {
        path[count] = k;
      }
      members = insert<batch>(table, path, count, target, members, totals);
    }
  }
}

/// Enters the column blocks of packed panels in the table. A block takes a panel.
GSOFA_KERNEL void join_kernel(packed_panels::view_type part, column_block_table table,
                              structure_totals* totals) {
  simt::after_earlier_launches();
  for (auto i = static_cast<index_t>(simt::block_index()); i < part.panels;
       i += static_cast<index_t>(simt::grid_size())) {
    const index_t j = part.panel[i];
    for (offset_t q = part.block_begin[i] + simt::thread_index(); q < part.block_begin[i + 1];
         q += simt::block_size()) {
      insert<1>(table, &j, 1, part.block_target[q], part.block_mask[q], totals);
    }
  }
}

/// Counts the column blocks and the boundary positions of each panel.
GSOFA_KERNEL void length_kernel(column_block_table table, std::uint32_t* column_block_count,
                                unsigned long long* length) {
  simt::after_earlier_launches();
  for (std::uint64_t k =
           std::uint64_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < table.capacity; k += std::uint64_t{simt::grid_size()} * simt::block_size()) {
    const column_block block = table.slots[k];
    if (block.key == no_key) continue;
    simt::atomic_add(column_block_count + block.panel(), std::uint32_t{1});
    simt::atomic_add(length + block.panel(),
                     static_cast<unsigned long long>(simt::population(block.mask)));
  }
}

/// Computes where the column blocks and the positions of each panel begin.
struct length_scan {
  struct value {
    offset_t column_blocks, positions, longest;
  };
  const index_t* begin;
  const panel_kind* kind;  ///< null: all panels are held
  const std::uint32_t* column_block_count;
  const unsigned long long* length;
  offset_t* column_block_begin;
  offset_t* position_begin;
  index_t* lengths;
  structure_totals* totals;
  structure_note* note;

  GSOFA_DEVICE offset_t count() const { return totals->panels; }
  GSOFA_DEVICE static value identity() { return {0, 0, 0}; }
  GSOFA_DEVICE value combine(const value& a, const value& b) const {
    return {a.column_blocks + b.column_blocks, a.positions + b.positions,
            a.longest < b.longest ? b.longest : a.longest};
  }
  GSOFA_DEVICE offset_t positions(index_t j) const {
    if (kind != nullptr && kind[j] == panel_kind::foreign) return 0;
    return begin[j + 1] - begin[j] + static_cast<offset_t>(length[j]);
  }
  GSOFA_DEVICE value item(index_t j) const {
    return {column_block_count[j], positions(j), positions(j)};
  }
  GSOFA_DEVICE void emit(index_t j, const value& upto) const {
    if (j == 0) column_block_begin[0] = position_begin[0] = 0;
    column_block_begin[j + 1] = upto.column_blocks;
    position_begin[j + 1] = upto.positions;
    lengths[j] = static_cast<index_t>(positions(j));
    if (j + 1 == static_cast<index_t>(totals->panels)) {
      totals->column_blocks = upto.column_blocks;
      totals->positions = upto.positions;
      totals->longest = upto.longest;
      // Earlier launches have set the others.
      note->totals = *totals;
      simt::store_to_host(&note->number, 1);
    }
  }
};

GSOFA_KERNEL void collect_kernel(column_block_table table, const offset_t* column_block_begin,
                                 std::uint32_t* cursor, loose_column_blocks out) {
  simt::after_earlier_launches();
  for (std::uint64_t k =
           std::uint64_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < table.capacity; k += std::uint64_t{simt::grid_size()} * simt::block_size()) {
    const column_block block = table.slots[k];
    if (block.key == no_key) continue;
    const index_t j = block.panel();
    out.column_blocks[column_block_begin[j] + simt::atomic_add(cursor + j, std::uint32_t{1})] =
        block;
  }
}

/// The next panels above each of `panels` panels.
struct ancestor_lists {
  index_t panels;
  const index_t* parent;
  const std::uint32_t* children;
  index_t* above;
  index_t* single_child_steps;
};

/// Finds the next panels above each panel, and sorts the column blocks of each panel by their
/// target. The place of a column block is the number of column blocks with a smaller target; its
/// first position is the number of their members, behind the panel's own vertices.
GSOFA_KERNEL void sort_kernel(ancestor_lists a, offset_t column_blocks, loose_column_blocks loose,
                              const index_t* begin, const offset_t* column_block_begin,
                              index_t* column_block_panel, mask_t* column_block_mask,
                              index_t* column_block_first) {
  simt::after_earlier_launches();
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < a.panels; k += offset_t{simt::grid_size()} * simt::block_size()) {
    index_t alone = 0;
    index_t at = a.parent[k];
    for (index_t step = 0; step < most_steps; ++step) {
      a.above[k * most_steps + step] = at;
      if (at < 0) continue;
      if (alone == step && a.children[at] == 1) ++alone;
      at = a.parent[at];
    }
    a.single_child_steps[k] = alone;
  }
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < column_blocks; k += offset_t{simt::grid_size()} * simt::block_size()) {
    const column_block block = loose.column_blocks[k];
    const index_t j = block.panel();
    offset_t place = column_block_begin[j];
    index_t first = begin[j + 1] - begin[j];
    for (offset_t q = column_block_begin[j]; q < column_block_begin[j + 1]; ++q) {
      const column_block other = loose.column_blocks[q];
      if (other.key >= block.key) continue;
      ++place;
      first += static_cast<index_t>(simt::population(other.mask));
    }
    column_block_panel[place] = block.target();
    column_block_mask[place] = block.mask;
    column_block_first[place] = first;
    loose.first[k] = first;
  }
}

/// The column block of a panel's parent with a target of the panel.
struct parent_block {
  mask_t members;  ///< all, if the target is the parent itself
  index_t first;   ///< position of the lowest member
};

GSOFA_DEVICE parent_block block_in_parent(const panel_view& p, index_t j, index_t target) {
  // A panel with a boundary has a parent.
  const index_t parent = p.parent[j];
  if (target == parent) return {~mask_t{0}, 0};
  offset_t low = p.column_block_begin[parent];
  for (offset_t high = p.column_block_begin[parent + 1]; low < high;) {
    const offset_t middle = low + (high - low) / 2;
    if (p.column_block_panel[middle] < target) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {p.column_block_mask[low], p.column_block_first[low]};
}

/// A column block as the positions that it stands for.
struct block_positions {
  mask_t members;
  parent_block there;  ///< the same block in the parent
  index_t vertices;    ///< the first of the target
  offset_t to;         ///< place of the lowest member
};

/// Writes the positions of `count` column blocks, one in each of the first lanes of a warp, one
/// block after another.
GSOFA_DEVICE void write_column_blocks(const block_positions& mine, unsigned count, index_t* columns,
                                      index_t* in_parent, mask_pair* masks) {
  for (unsigned block = 0; block < count; ++block) {
    const mask_t m = simt::shuffle(mine.members, block);
    const mask_t t = simt::shuffle(mine.there.members, block);
    const index_t begin = simt::shuffle(mine.vertices, block);
    const index_t above = simt::shuffle(mine.there.first, block);
    const offset_t out = simt::shuffle(mine.to, block);
    for (unsigned half = 0; half < 2; ++half) {
      const auto inside = static_cast<index_t>(half * 32 + lane_index());
      if ((m >> inside & 1U) == 0) continue;
      const offset_t at = out + static_cast<offset_t>(simt::population(m & below(inside)));
      columns[at] = begin + inside;
      in_parent[at] = above + static_cast<index_t>(simt::population(t & below(inside)));
      masks[at] = {0, 0};
    }
  }
}

/// Writes the position lists, the places in the parents' lists, and empty masks. A warp finds the
/// place of up to 32 column blocks in the parents of their panels, then writes the positions of one
/// after another; then a thread per vertex writes the position in its own panel.
GSOFA_KERNEL void positions_kernel(panel_view p, offset_t column_blocks, unsigned per_warp,
                                   loose_column_blocks loose, index_t* columns, index_t* in_parent,
                                   mask_pair* masks) {
  simt::after_earlier_launches();
  const unsigned lane = lane_index();
  const offset_t threads = offset_t{simt::grid_size()} * simt::block_size();
  const offset_t thread = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
  for (offset_t base = thread / 32 * per_warp; base < column_blocks;
       base += threads / 32 * per_warp) {
    const offset_t k = base + lane;
    block_positions mine{0, {~mask_t{0}, 0}, 0, 0};
    if (lane < per_warp && k < column_blocks) {
      const column_block block = loose.column_blocks[k];
      const index_t j = block.panel();
      const index_t target = block.target();
      mine = {block.mask, block_in_parent(p, j, target), p.begin[target],
              p.position_begin[j] + loose.first[k]};
    }
    write_column_blocks(mine, per_warp, columns, in_parent, masks);
  }
  for (offset_t k = thread; k < p.n; k += threads) {
    const auto v = static_cast<index_t>(k);
    const index_t j = p.panel_of[v];
    if (!p.holds(j)) continue;
    const offset_t to = p.position_begin[j] + (v - p.begin[j]);
    columns[to] = v;
    in_parent[to] = -1;
    masks[to] = {0, 0};
  }
}

/// Panels that are assigned a place, and the places.
struct fresh_panels {
  index_t count;
  const index_t* panel;
  const offset_t* begin;
};

/// Assigns places to panels and writes their position lists, places in the parents' lists, and
/// empty masks. A block takes a panel, a warp 32 of its column blocks at a time.
GSOFA_KERNEL void wave_positions_kernel(panel_view p, fresh_panels fresh, offset_t* position_begin,
                                        index_t* columns, index_t* in_parent, mask_pair* masks) {
  simt::after_earlier_launches();
  const unsigned thread = simt::thread_index();
  for (unsigned k = simt::block_index(); k < static_cast<unsigned>(fresh.count);
       k += simt::grid_size()) {
    const index_t j = fresh.panel[k];
    const offset_t first = fresh.begin[k];
    if (thread == 0) position_begin[j] = first;
    for (auto v = static_cast<index_t>(thread); v < p.width(j);
         v += static_cast<index_t>(simt::block_size())) {
      columns[first + v] = p.begin[j] + v;
      in_parent[first + v] = -1;
      masks[first + v] = {0, 0};
    }
    const offset_t begin = p.column_block_begin[j];
    const auto count = static_cast<index_t>(p.column_block_begin[j + 1] - begin);
    const unsigned lane = lane_index();
    for (auto base = static_cast<index_t>(thread - lane); base < count;
         base += static_cast<index_t>(simt::block_size())) {
      // A lane finds the place of a column block in the parent; the warp writes one after another.
      const offset_t q = begin + base + static_cast<index_t>(lane);
      block_positions mine{0, {~mask_t{0}, 0}, 0, 0};
      if (base + static_cast<index_t>(lane) < count) {
        const index_t target = p.column_block_panel[q];
        mine = {p.column_block_mask[q], block_in_parent(p, j, target), p.begin[target],
                first + p.column_block_first[q]};
      }
      const index_t left = count - base;
      write_column_blocks(mine, left < 32 ? static_cast<unsigned>(left) : 32U, columns, in_parent,
                          masks);
    }
  }
}

/// A table of the column blocks of some entries in shared memory, with the place of the first
/// position of each. A key is set after the rest of its slot; no slot changes then.
struct place_table {
  static constexpr std::uint64_t taken = ~std::uint64_t{0};  // a slot that is being set; no key
  std::uint64_t key[near_slots];
  mask_t members[near_slots];
  std::uint64_t first[near_slots];

  GSOFA_DEVICE void clear() {
    for (unsigned k = simt::thread_index(); k < near_slots; k += simt::block_size()) {
      key[k] = no_key;
    }
  }
  /// The place of the position of f in the list of panel j, which has f.
  GSOFA_DEVICE offset_t place(const panel_view& p, index_t j, index_t f) {
    const index_t t = p.panel_of[f];
    const index_t inside = f - p.begin[t];
    if (t == j) return p.position_begin[j] + inside;
    const std::uint64_t wanted = column_block_key(j, t);
    const std::uint32_t slot = near_slot(wanted);
    const std::uint64_t found = simt::load_shared_state(key + slot);
    block_place here{};
    if (found == wanted) {
      // Pairs with the fence before the key was set.
      simt::fence_block();
      here = {simt::load_shared_state(members + slot),
              static_cast<offset_t>(simt::load_shared_state(first + slot))};
    } else {
      here = sought(p, j, t);
      if (found == no_key && simt::atomic_cas(key + slot, no_key, taken) == no_key) {
        // The key and the fences order these stores; racecheck, which does not know fences, reports
        // plain stores.
        simt::atomic_exchange(members + slot, here.members);
        simt::atomic_exchange(first + slot, static_cast<std::uint64_t>(here.first));
        simt::fence_block();
        simt::atomic_cas(key + slot, taken, wanted);
      }
    }
    return here.first + static_cast<offset_t>(simt::population(here.members & below(inside)));
  }

 private:
  struct block_place {
    mask_t members;
    offset_t first;
  };
  static GSOFA_DEVICE block_place sought(const panel_view& p, index_t j, index_t t) {
    offset_t low = p.column_block_begin[j];
    for (offset_t high = p.column_block_begin[j + 1]; low < high;) {
      const offset_t middle = low + (high - low) / 2;
      if (p.column_block_panel[middle] < t) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return {p.column_block_mask[low], p.position_begin[j] + p.column_block_first[low]};
  }
};

/// Sets the bits of A; entry (i, j) belongs to the panel of the smaller of the two. Entries of one
/// row left of the diagonal that lie in one panel share a mask: one lane sets them all. Needs
/// sizeof(place_table) bytes of shared memory behind those of for_each_lane().
///
/// In waves: in the panels from `from` on that have a place. A panel that had one in the wave
/// before is not factored yet, and has these bits already.
GSOFA_KERNEL void scatter_kernel(matrix_view a, panel_view p, bool in_waves, index_t from) {
  simt::after_earlier_launches();
  place_table& places = *reinterpret_cast<place_table*>(simt::shared_memory<row_window>() + 1);
  places.clear();
  simt::sync_block();
  const auto visit = [&](bool is_entry, index_t row, index_t column) {
    const index_t i = p.vertex(row);
    const index_t j = p.vertex(column);
    const bool upper = i < j;
    const index_t k = upper ? i : j;
    const index_t f = upper ? j : i;
    const index_t panel = p.panel_of[k];
    const auto key = static_cast<std::uint64_t>(static_cast<std::uint32_t>(panel)) << 33 |
                     static_cast<std::uint64_t>(static_cast<std::uint32_t>(f)) << 1 |
                     (upper ? 1U : 0U);
    const bool here = is_entry && row != column && p.holds(panel) &&
                      (!in_waves || (panel >= from && p.position_begin[panel] >= 0));
    const mask_t set = or_of_run(key, here ? bit(k - p.begin[panel]) : mask_t{0});
    if (set == 0) return;
    mask_pair& m = p.masks[places.place(p, panel, f)];
    simt::atomic_or(upper ? &m.upper : &m.lower, set);
  };
  for_each_lane(a, visit, [&] {
    places.clear();
    simt::sync_block();
  });
}

}  // namespace

constexpr offset_t totals_words = sizeof(structure_totals) / 4;
constexpr offset_t header_words = totals_words + panel_structure::control_words;
static_assert(header_words % 2 == 0);

void panel_structure::prepare(index_t n, memory_budget& budget, int parts) {
  n_ = n;
  zeroed_ = {budget, "tree", header_words + offset_t{zero_arrays} * n};
  tree_parent_ = {budget, "tree", n};
  hint_ = {budget, "tree", n};
  note_.assign(sizeof(structure_note), 0);
  slots_ = {};
  first_capacity_ = 1;
  while (first_capacity_ < least_capacity + first_blocks_per_vertex * n / parts) {
    first_capacity_ *= 2;
  }
  capacity_ = first_capacity_;
  for (auto* indices : {&low_, &depth_, &panel_of_, &panel_parent_, &siblings_}) {
    *indices = {budget, "tree", n};
  }
  minima_ = {budget, "tree", offset_t{n} / (minima::group - 1) + minima::most_levels};
  begin_ = {budget, "tree", offset_t{n} + 1};
  column_block_begin_ = {budget, "tree", offset_t{n} + 1};
  position_begin_ = {budget, "tree", offset_t{n} + 1};
  constexpr std::size_t most = std::max(sizeof(cut_scan::value), sizeof(length_scan::value));
  partial_ = {budget, "control", static_cast<offset_t>(most) * threads_per_block};
}

structure_totals* panel_structure::totals() const {
  return reinterpret_cast<structure_totals*>(zeroed_.data());
}
std::uint32_t* panel_structure::control() const { return zeroed_.data() + totals_words; }
std::uint32_t* panel_structure::zeros(zero_array which) const {
  return zeroed_.data() + header_words + offset_t{which} * n_;
}
unsigned long long* panel_structure::length() const {
  return reinterpret_cast<unsigned long long*>(zeros(in_length));
}
const std::uint32_t* panel_structure::children() const { return zeros(in_panel_children); }
std::uint32_t* panel_structure::finished() const { return zeros(in_finished); }

void panel_structure::release() {
  relabelled_ = by_targets_ = too_many_ = false;
  boundaries_.clear();
  slots_ = {};
  capacity_ = first_capacity_;
  loose_ = {};
  waves_.clear();
  kind_ = {};
  ranges_.clear();
  fresh_ = {};
  fresh_begin_ = {};
  order_ = {};
  label_ = {};
  by_panel_ = {};
  by_column_block_ = {};
  drop_positions();
}

void panel_structure::drop_positions() {
  by_position_ = {};
  masks_ = {};
}

namespace {

matrix_view view_of(const device_matrix& a, index_t n, offset_t nnz) {
  return entries_of(a.row_ptr(), a.col_idx(), n, nnz);
}

/// Launches a kernel on entries that has a table in shared memory.
template <class Table, class... P, class... A>
void launch_with_table(void (*kernel)(matrix_view, P...), const matrix_view& a, A... arguments) {
  launch_overlapping(kernel, blocks_for((a.nnz - a.begin - 1) / a.per_thread + 1),
                     threads_per_block, sizeof(row_window) + sizeof(Table), a, arguments...);
}

}  // namespace

namespace {

/// Bytes of the budget that a structure may take.
offset_t bytes_left(const panel_limits& limits, const memory_budget& budget) {
  return budget.limit() - budget.used() - limits.reserve;
}

offset_t most_positions(const panel_limits& limits) {
  return limits.most_positions > 0 ? limits.most_positions : std::numeric_limits<offset_t>::max();
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

void panel_structure::nearest_parents(const device_matrix& a, offset_t nnz) {
  // hint_ has the least neighbours.
  launch_on_entries(leftmost_kernel, view_of(a, n_, nnz), hint_.data(), totals());
  find_nearest(hint_.data(), n_, minima_.data(), tree_parent_.data());
}

// The least neighbours and the lists of siblings have been read.
void panel_structure::find_first_panels() {
  launch_overlapping(mirrored_parents_kernel, blocks_for(panels_), threads_per_block, 0,
                     static_cast<const index_t*>(panel_parent_.data()), panels_, hint_.data());
  find_nearest(hint_.data(), panels_, minima_.data(),
               reinterpret_cast<std::uint32_t*>(siblings_.data()));
}

void panel_structure::cut(index_t width, bool is_etree) {
  const std::uint32_t* const parent = tree_parent_.data();
  const std::uint32_t* const children = zeros(in_children);
  launch_overlapping(subtree_kernel, blocks_for(n_), threads_per_block, 0, n_, width, parent,
                     zeros(in_children), zeros(in_big_children), low_.data(), zeros(in_root));
  scan(cut_scan{n_, width, parent, children, zeros(in_big_children), low_.data(), zeros(in_root),
                panel_of_.data(), begin_.data(), depth_.data(), totals()},
       n_, reinterpret_cast<cut_scan::value*>(partial_.data()), threads_of_scan(n_));
  launch_overlapping(panel_tree_kernel, blocks_for(n_), threads_per_block, 0, n_, parent,
                     sibling_lists{children, depth_.data(), siblings_.data()}, is_etree,
                     static_cast<const index_t*>(panel_of_.data()),
                     static_cast<const index_t*>(begin_.data()), panel_parent_.data(),
                     zeros(in_panel_children), totals());
}

// Vertices are labels from here on.
void panel_structure::relabel(const device_matrix& a, offset_t nnz, memory_budget& budget) {
  fill_bytes(tree_parent_.data(), 0xff, n_);
  fill_bytes(hint_.data(), 0, n_);
  launch_on_entries(etree_kernel, view_of(a, n_, nnz), tree_parent_.data(), hint_.data());
  // no_parent is -1 in as many bits.
  order_ = postorder(n_, reinterpret_cast<const index_t*>(tree_parent_.data()), budget);
  label_ = {budget, "labels", n_};
  launch_overlapping(label_kernel, blocks_for(n_), threads_per_block, 0, n_,
                     static_cast<const index_t*>(order_.data()), label_.data());
  launch_overlapping(relabel_kernel, blocks_for(n_), threads_per_block, 0, n_,
                     static_cast<const index_t*>(order_.data()),
                     static_cast<const index_t*>(label_.data()),
                     static_cast<const std::uint32_t*>(tree_parent_.data()), hint_.data());
  std::swap(tree_parent_, hint_);
  relabelled_ = true;
}

// Launches all steps up to the lengths of the position lists of a numbering that is a postorder.
void panel_structure::first_pass(const device_matrix& a, offset_t nnz, const panel_limits& limits,
                                 memory_budget& budget) {
  clear_for_tree({reinterpret_cast<std::uint32_t*>(slots_.data()), capacity_ * 4, 0});
  find_tree(a, nnz, limits.width);
  find_column_blocks(a, nnz, limits, budget, true);
}

void panel_structure::clear_for_tree(word_fill table) {
  const offset_t words = zeroed_.size() + n_ + table.count;
  launch_overlapping(
      fill_kernel, blocks_for((words - 1) / 4 + 1), threads_per_block, 0,
      fill_list{{table, {zeroed_.data(), zeroed_.size(), 0}, {hint_.data(), n_, no_parent}}});
}

// Launches all steps up to the panels.
void panel_structure::find_tree(const device_matrix& a, offset_t nnz, index_t width) {
  nearest_parents(a, nnz);
  cut(width, false);
}

// Counts whether the tree is the elimination tree.
void panel_structure::justify(const device_matrix& a, offset_t nnz) {
  launch_on_entries(
      justify_kernel, view_of(a, n_, nnz),
      justification{{zeros(in_children), depth_.data(), siblings_.data()}, zeros(in_marks)},
      totals());
}

// Finds the column blocks of all panels that are held, and their lengths. Where there are many
// panels, the host waits for the sizes. `justifies`: and counts whether the tree is the elimination
// tree.
void panel_structure::find_column_blocks(const device_matrix& a, offset_t nnz,
                                         const panel_limits& limits, memory_budget& budget,
                                         bool justifies) {
  const justification by{{zeros(in_children), depth_.data(), siblings_.data()},
                         justifies ? zeros(in_marks) : nullptr};
  const column_block_table table{slots_.data(), static_cast<std::uint32_t>(capacity_)};
  const cut_view cut_panels{label_.data(), begin_.data(), panel_of_.data(), panel_parent_.data(),
                            kind_.data()};
  for_each_range(a, nnz, [&](const matrix_view& entries) {
    launch_with_table<near_table>(first_column_blocks_kernel, entries, cut_panels, table, by,
                                  totals());
  });
  if (n_ >= limits.many_vertices) return climb_by_targets(limits, budget);
  launch_overlapping(boundary_kernel, blocks_for(capacity_), threads_per_block, 0, cut_panels,
                     table, totals());
  measure();
}

// The table has the column blocks of A's entries unless it was too small or the tree is another
// one, which the note then tells.
void panel_structure::climb_by_targets(const panel_limits& limits, memory_budget& budget) {
  auto* const note = reinterpret_cast<structure_note*>(note_.data());
  copy_to_host(&note->totals, static_cast<const structure_totals*>(totals()), 1);
  structure_totals& found = note->totals;
  by_targets_ = true;
  const bool is_etree = found.siblings == found.justified;
  if (!is_etree || found.overflow != 0) {
    found.column_blocks = found.overflow != 0 ? capacity_ : 0;
    note->number = 1;
    return;
  }
  panels_ = static_cast<index_t>(found.panels);
  boundaries_.list_first(slots_.data(), capacity_, panels_, budget);
  slots_ = {};
  find_first_panels();
  const first_panels subtrees{panels_, reinterpret_cast<const std::uint32_t*>(siblings_.data())};
  const boundary_sizes sizes{zeros(in_column_block_count), length()};
  too_many_ = !boundaries_.climb(panel_parent_.data(), subtrees, sizes, budget);
  bytes_missing_ = budget.used() + limits.reserve;
  place_lists();
}

// Calls visit(entries) for all entries of A that may belong to panels that are held.
template <class Visit>
void panel_structure::for_each_range(const device_matrix& a, offset_t nnz, Visit&& visit) const {
  if (ranges_.empty()) visit(view_of(a, n_, nnz));
  for (const row_range& r : ranges_) {
    visit(entries_of(a.row_ptr(), a.col_idx(), n_, r.first_entry, r.end_of_entries));
  }
}

// Finds the lengths of the position lists of a table that has all column blocks.
void panel_structure::measure() {
  const column_block_table table{slots_.data(), static_cast<std::uint32_t>(capacity_)};
  launch_overlapping(length_kernel, blocks_for(capacity_), threads_per_block, 0, table,
                     zeros(in_column_block_count), length());
  place_lists();
}

// Finds where the lists begin, from the sizes of the boundaries.
void panel_structure::place_lists() {
  scan(length_scan{begin_.data(), kind_.data(), zeros(in_column_block_count), length(),
                   column_block_begin_.data(), position_begin_.data(), lengths(), totals(),
                   reinterpret_cast<structure_note*>(note_.data())},
       by_targets_ ? panels_ : n_, reinterpret_cast<length_scan::value*>(partial_.data()));
}

bool panel_structure::build(const device_matrix& a, offset_t nnz, const panel_limits& limits,
                            memory_budget& budget, run_context& context) {
  release();
  bytes_missing_ = 0;
  bool built = false;
  try {
    built = find_structure(a, nnz, limits, budget, context) &&
            fill_structure(limits, budget, [&] { place(a, nnz); });
  } catch (const budget_error&) {
    // The device itself may have less than the budget.
  }
  if (!built) release();
  return built;
}

// The table of column blocks must be reached by 32-bit places.
bool panel_structure::make_table(const panel_limits& limits, memory_budget& budget) {
  slots_ = {};
  bytes_missing_ = budget.used() + limits.reserve + capacity_ * bytes_per_column_block;
  if (capacity_ > offset_t{1} << 31) return false;
  if (bytes_left(limits, budget) / bytes_per_column_block < capacity_) return false;
  slots_ = {budget, "word_table", capacity_};
  return true;
}

// After a table was too small for the column blocks, so many of which have found a place. One that
// is far from full had many keys near each other.
void panel_structure::grow_table(offset_t found, const panel_limits& limits,
                                 const memory_budget& budget) {
  slots_ = {};
  const offset_t fit = bytes_left(limits, budget) / bytes_per_column_block;
  capacity_ *= fit >= 4 * capacity_ && found > capacity_ / 4 * 3 ? 4 : 2;
  fill_bytes(&totals()->overflow, 0, 1);
  fill_bytes(zeros(in_length), 0, 3 * offset_t{n_});
}

// Finds the panels, by label where the numbering is no postorder, and calls divide() when they are
// known: once more where they change. Returns false where the limits do not admit the labels. Where
// parts share `top` of a symmetric matrix, whether the numbering is a postorder is left open.
bool panel_structure::find_panels(const device_matrix& a, const panel_limits& limits,
                                  memory_budget& budget, const std::function<void()>& divide) {
  const offset_t nnz = a.rows().nnz;
  structure_totals found{};
  clear_for_tree({});
  find_tree(a, nnz, limits.width);
  copy_to_host(&found, static_cast<const structure_totals*>(totals()), 1);
  panels_ = static_cast<index_t>(found.panels);
  symmetric_ = found.unbalance == 0;
  fetch_tree();
  // The device goes on while the host divides.
  justify(a, nnz);
  divide();
  copy_to_host(&found, static_cast<const structure_totals*>(totals()), 1);
  if (found.siblings == found.justified) return true;
  return relabel_panels(a, limits, budget, divide);
}

// Finds the panels by label. Returns false where the limits do not admit the labels.
bool panel_structure::relabel_panels(const device_matrix& a, const panel_limits& limits,
                                     memory_budget& budget, const std::function<void()>& divide) {
  if (bytes_left(limits, budget) < 8 * offset_t{n_}) return false;
  relabel(a, a.rows().nnz, budget);
  fill_bytes(zeroed_.data(), 0, zeroed_.size());
  cut(limits.width, true);
  structure_totals found{};
  copy_to_host(&found, static_cast<const structure_totals*>(totals()), 1);
  panels_ = static_cast<index_t>(found.panels);
  fetch_tree();
  divide();
  return true;
}

// Finds the column blocks of the panels that a part holds, and lengths. Returns false where the
// limits do not admit the table.
bool panel_structure::count_part(const device_matrix& a, const panel_limits& limits,
                                 memory_budget& budget, run_context& context) {
  if (is_empty_part()) return true;
  structure_note& note = *reinterpret_cast<structure_note*>(note_.data());
  for (;;) {
    if (!make_table(limits, budget)) return false;
    note.number = 0;
    fill_bytes(slots_.data(), 0, capacity_);
    find_column_blocks(a, a.rows().nnz, limits, budget);
    wait_for_note(&note.number, 1);
    context.check_deadline();
    if (note.totals.overflow == 0) break;
    grow_table(note.totals.column_blocks, limits, budget);
  }
  adopt(note.totals);
  return true;
}

// Enters the column blocks of the panels of `top` that any part holds, and finds lengths. Returns
// false where the limits do not admit the table.
bool panel_structure::join_column_blocks(std::span<const packed_panels* const> parts,
                                         const panel_limits& limits, memory_budget& budget) {
  auto* const note = reinterpret_cast<structure_note*>(note_.data());
  structure_totals known{};
  known.panels = static_cast<std::uint32_t>(panels_);
  copy_to_device(totals(), &known, 1);
  offset_t blocks = 0;
  for (const packed_panels* part : parts) blocks += part->blocks();
  while (capacity_ < least_capacity + 2 * blocks) capacity_ *= 2;
  for (;;) {
    if (!make_table(limits, budget)) return false;
    note->number = 0;
    fill_bytes(slots_.data(), 0, capacity_);
    for (const packed_panels* part : parts) {
      const packed_panels::view_type view = part->view();
      launch_overlapping(join_kernel, std::min(view.panels, 1 << 16), threads_per_block, 0, view,
                         column_block_table{slots_.data(), static_cast<std::uint32_t>(capacity_)},
                         totals());
    }
    measure();
    wait_for_note(&note->number, 1);
    if (note->totals.overflow == 0) break;
    grow_table(note->totals.column_blocks, limits, budget);
  }
  adopt(note->totals);
  return true;
}

// Finds tree, panels, column blocks and lengths. After: the table holds all column blocks, the
// totals are known. Returns false where the limits do not admit the table or the labels.
bool panel_structure::find_structure(const device_matrix& a, offset_t nnz,
                                     const panel_limits& limits, memory_budget& budget,
                                     run_context& context) {
  auto* const note = reinterpret_cast<structure_note*>(note_.data());
  note->number = 0;
  if (!make_table(limits, budget)) return false;
  first_pass(a, nnz, limits, budget);
  structure_totals found{};
  for (bool is_first = true;; is_first = false) {
    wait_for_note(&note->number, 1);
    found = note->totals;
    // Labels come after the pass over A that tells.
    if (is_first) symmetric_ = found.unbalance == 0;
    context.check_deadline();
    const bool is_etree = found.siblings == found.justified;
    if (is_etree && found.overflow == 0) break;
    slots_ = {};
    if (!is_etree) {
      if (bytes_left(limits, budget) < 8 * offset_t{n_}) return false;
      relabel(a, nnz, budget);
      fill_bytes(zeroed_.data(), 0, zeroed_.size());
      cut(limits.width, true);
    } else {
      // The positions found so far are a part of all positions.
      if (!limits.waves && found.positions > most_positions(limits)) return false;
      grow_table(found.column_blocks, limits, budget);
    }
    if (!make_table(limits, budget)) return false;
    note->number = 0;
    fill_bytes(slots_.data(), 0, capacity_);
    find_column_blocks(a, nnz, limits, budget);
  }
  adopt(found);
  return true;
}

void panel_structure::adopt(const structure_totals& found) {
  panels_ = static_cast<index_t>(found.panels);
  column_blocks_ = found.column_blocks;
  positions_ = found.positions;
  longest_ = static_cast<index_t>(found.longest);
}

// Sorts the column blocks of the table, and writes the position lists and the masks by set_masks(),
// or plans waves. Returns false where the limits do not admit them.
bool panel_structure::fill_structure(const panel_limits& limits, memory_budget& budget,
                                     const std::function<void()>& set_masks) {
  if (by_targets_) return sort_boundaries(limits, budget, set_masks);
  const auto left = [&] { return bytes_left(limits, budget); };
  constexpr offset_t bytes_per_loose_block = sizeof(column_block) + sizeof(index_t);
  const offset_t sorted_bytes =
      column_blocks_ * bytes_per_column_block + offset_t{panels_} * (most_steps + 1) * 4;
  bytes_missing_ = budget.used() + limits.reserve + sorted_bytes + positions_ * bytes_per_position;
  if (left() / bytes_per_loose_block < column_blocks_) return false;
  take_loose(budget);
  collect_column_blocks();
  slots_ = {};
  const bool at_once = positions_ <= most_positions(limits) &&
                       (left() - sorted_bytes) / bytes_per_position >= positions_;
  if (!at_once && (!limits.waves || left() < sorted_bytes)) return false;
  take_column_blocks(budget);
  if (at_once) take_positions(positions_, budget);
  sort_column_blocks(column_blocks_);
  if (at_once) set_masks();
  loose_ = {};
  return at_once || plan(limits, budget);
}

// The same where the column blocks are listed by targets.
bool panel_structure::sort_boundaries(const panel_limits& limits, memory_budget& budget,
                                      const std::function<void()>& set_masks) {
  bytes_missing_ = budget.used() + limits.reserve + column_blocks_ * bytes_while_sorted +
                   positions_ * bytes_per_position;
  if (too_many_ || bytes_left(limits, budget) / bytes_while_sorted < column_blocks_) return false;
  take_loose(budget);
  take_column_blocks(budget);
  sort_column_blocks(0);
  boundaries_.sort(begin_.data(), loose(), column_block_panel(), by_column_block_.data(),
                   column_block_first(), budget);
  const offset_t left = bytes_left(limits, budget);
  const bool at_once =
      positions_ <= most_positions(limits) && left / bytes_per_position >= positions_;
  if (!at_once && !limits.waves) return false;
  if (at_once) {
    take_positions(positions_, budget);
    set_masks();
  }
  loose_ = {};
  return at_once || plan(limits, budget);
}

// One allocation holds several arrays.
void panel_structure::take_loose(memory_budget& budget) {
  constexpr offset_t per_slot = sizeof(column_block) / sizeof(index_t);
  loose_ = {budget, "loose_words", column_blocks_ + column_blocks_ / per_slot + 1};
}

void panel_structure::take_column_blocks(memory_budget& budget) {
  by_panel_ = {budget, "tree", offset_t{panels_} * (most_steps + 1)};
  by_column_block_ = {budget, "words", column_blocks_ * 2};
}

void panel_structure::take_positions(offset_t positions, memory_budget& budget) {
  drop_positions();
  held_ = positions;
  by_position_ = {budget, "positions", held_ * 2};
  masks_ = {budget, "masks", held_};
}

loose_column_blocks panel_structure::loose() const {
  return {loose_.data(), reinterpret_cast<index_t*>(loose_.data() + column_blocks_)};
}

void panel_structure::collect_column_blocks() {
  const column_block_table table{slots_.data(), static_cast<std::uint32_t>(capacity_)};
  launch_overlapping(collect_kernel, blocks_for(capacity_), threads_per_block, 0, table,
                     static_cast<const offset_t*>(column_block_begin_.data()), zeros(in_cursor),
                     loose());
}

// Sorts so many column blocks, and lists the ancestors of panels.
void panel_structure::sort_column_blocks(offset_t count) {
  launch_overlapping(
      sort_kernel, blocks_for(count + panels_), threads_per_block, 0,
      ancestor_lists{panels_, panel_parent_.data(), children(), above(), single_child_steps()},
      count, loose(), static_cast<const index_t*>(begin_.data()),
      static_cast<const offset_t*>(column_block_begin_.data()), column_block_panel(),
      by_column_block_.data(), column_block_first());
}

// Writes the position lists and empty masks for all panels that are held.
void panel_structure::write_positions() {
  // A warp writes as few column blocks one after another as leave some for every warp.
  const offset_t warps = offset_t{multiprocessors()} * 64;
  const auto per_warp = static_cast<unsigned>(std::clamp<offset_t>(column_blocks_ / warps, 4, 32));
  launch_overlapping(positions_kernel, blocks_for(column_blocks_ / per_warp * 32 + n_),
                     threads_per_block, 0, view(), column_blocks_, per_warp, loose(), columns(),
                     in_parent(), masks_.data());
}

// The same with the masks of A.
void panel_structure::place(const device_matrix& a, offset_t nnz) {
  write_positions();
  for_each_range(a, nnz, [&](const matrix_view& entries) {
    launch_with_table<place_table>(scatter_kernel, entries, view(), false, index_t{0});
  });
}

// Divides the panels into waves, for which the host waits. Returns false where the limits do not
// admit a panel and its ancestors.
bool panel_structure::plan(const panel_limits& limits, memory_budget& budget) {
  drop_positions();
  std::vector<index_t> lengths(at(panels_));
  std::vector<index_t> parent(at(panels_));
  copy_to_host(lengths.data(), this->lengths(), panels_);
  copy_to_host(parent.data(), static_cast<const index_t*>(panel_parent_.data()), panels_);
  // Every panel may be assigned its place in one wave.
  const offset_t fresh_bytes = offset_t{panels_} * (sizeof(index_t) + sizeof(offset_t));
  const offset_t others = fresh_bytes + limits.reserve_of_waves;
  const offset_t room =
      std::min(most_positions(limits), (bytes_left(limits, budget) - others) / bytes_per_position);
  bytes_missing_ =
      budget.used() + limits.reserve + others + longest_path(lengths, parent) * bytes_per_position;
  auto waves = plan_waves(lengths, parent, room);
  if (!waves) return false;
  waves_ = std::move(*waves);
  std::size_t most = 0;
  for (const panel_wave& w : waves_) most = std::max(most, w.fresh.size());
  fresh_ = {budget, "waves", static_cast<offset_t>(most)};
  fresh_begin_ = {budget, "waves", static_cast<offset_t>(most)};
  take_positions(room, budget);
  fill_bytes(position_begin_.data(), 0xff, panels_);
  return true;
}

panel_range panel_structure::begin_wave(index_t k, const device_matrix& a, offset_t nnz) {
  if (waves_.empty()) return {0, panels_};
  const panel_wave& wave = waves_[at(k)];
  const auto count = static_cast<index_t>(wave.fresh.size());
  copy_to_device(fresh_.data(), wave.fresh.data(), count);
  copy_to_device(fresh_begin_.data(), wave.place.data(), count);
  launch_overlapping(wave_positions_kernel, std::min(count, multiprocessors() * 32),
                     threads_per_block, 0, view(),
                     fresh_panels{count, fresh_.data(), fresh_begin_.data()},
                     position_begin_.data(), columns(), in_parent(), masks_.data());
  launch_with_table<place_table>(scatter_kernel, view_of(a, n_, nnz), view(), true,
                                 wave.panels.begin);
  // Tickets and lists are those of one wave, the work of update rounds that of all.
  if (k > 0) fill_bytes(control(), 0, panels::elimination_control::words_of_wave);
  return wave.panels;
}

index_t* panel_structure::lengths() const { return low_.data(); }
index_t* panel_structure::above() const { return by_panel_.data(); }
index_t* panel_structure::single_child_steps() const {
  return by_panel_.data() + offset_t{panels_} * most_steps;
}
index_t* panel_structure::column_block_panel() const {
  return reinterpret_cast<index_t*>(by_column_block_.data() + column_blocks_);
}
index_t* panel_structure::column_block_first() const {
  return column_block_panel() + column_blocks_;
}
index_t* panel_structure::columns() const { return by_position_.data(); }
index_t* panel_structure::in_parent() const { return by_position_.data() + held_; }

panel_view panel_structure::view() const {
  return {n_,
          panels_,
          order_.data(),
          label_.data(),
          begin_.data(),
          panel_of_.data(),
          panel_parent_.data(),
          above(),
          single_child_steps(),
          column_block_begin_.data(),
          position_begin_.data(),
          lengths(),
          column_block_panel(),
          by_column_block_.data(),
          column_block_first(),
          columns(),
          in_parent(),
          masks_.data(),
          kind_.data()};
}

}  // namespace gsofa::gpu

#endif
