// From the matrix to panels, position lists and masks set to A, on the device.

#include "variants/detail/gpu/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>
#include <limits>

#include "common/preprocess.hpp"
#include "common/random.hpp"
#include "variants/detail/gpu/bitmap_panels.hpp"
#include "variants/detail/gpu/tile_scan.hpp"

namespace gsofa::gpu {

namespace {

constexpr std::uint32_t no_parent = 0xffffffffU;
constexpr std::uint64_t no_key = ~std::uint64_t{0};
// On the emulator small patterns must have tables that are too small.
#if defined(__CUDACC__)
// Most inputs have fewer words than vertices.
constexpr offset_t least_capacity = 1024;
constexpr offset_t first_words_per_vertex = 2;
#else
constexpr offset_t least_capacity = 8;
constexpr offset_t first_words_per_vertex = 0;
#endif
constexpr std::uint32_t most_probes = 128;
constexpr offset_t bytes_per_word = 16;  // in the table, loose, or sorted

/// What the host reads back; one copy.
struct structure_totals {
  offset_t words;
  offset_t positions;
  std::uint32_t panels;
  std::uint32_t crossing;  ///< the numbering is no postorder
  std::uint32_t overflow;  ///< the table of words was too small
  std::uint32_t unused;
};

// ------------------------------------------------------------------------------- entries of A

struct matrix_view {
  const offset_t* row_ptr;
  const index_t* col_idx;
  index_t n;
  offset_t nnz;
};

/// Largest row in [low, high] that begins at or before entry e.
GSOFA_DEVICE index_t row_of(const offset_t* row_ptr, offset_t e, index_t low, index_t high) {
  while (low < high) {
    const index_t middle = high - (high - low) / 2;
    if (simt::load_constant(row_ptr + middle) <= e) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// Calls visit(i, j) for all entries of A, a thread each, however long the rows are. Needs 8 bytes
/// of shared memory.
template <class Visit>
GSOFA_DEVICE void for_each_entry(const matrix_view& a, Visit&& visit) {
  auto* const rows = simt::shared_memory<index_t>();
  const auto threads = static_cast<offset_t>(simt::block_size());
  const auto thread = static_cast<offset_t>(simt::thread_index());
  for (offset_t first = simt::block_index() * threads; first < a.nnz;
       first += simt::grid_size() * threads) {
    if (thread < 2) {
      const offset_t last = first + threads < a.nnz ? first + threads - 1 : a.nnz - 1;
      rows[thread] = row_of(a.row_ptr, thread == 0 ? first : last, 0, a.n - 1);
    }
    simt::sync_block();
    const offset_t e = first + thread;
    if (e < a.nnz) visit(row_of(a.row_ptr, e, rows[0], rows[1]), a.col_idx[e]);
    simt::sync_block();
  }
}

// ------------------------------------------------------------------------------ elimination tree

/// Elimination tree of A + A^T without locks. At any time M is the multiset of the edges
/// (v, parent[v]) and of those that threads hold, each with its smaller end first; at first the
/// edges of A. One step of a thread with edge (r, t):
///   parent[r] empty: the edge moves there;         parent[r] == t: a repeated edge is dropped;
///   parent[r] == s < t: (r, t) becomes (s, t);     parent[r] == s > t: (r, t) stays, the thread
///                                                  goes on with (t, s).
/// With a < b the last two replace (r, a), (r, b) by (r, a), (a, b). For no u does that change what
/// is connected in M restricted to 0..u: b <= u has a and r inside. The etree depends on nothing
/// else: parent(v) is the least u > v adjacent to v's component of 0..v. At the end every v has at
/// most one larger neighbour, and of such a graph the etree is the graph. Each step raises the
/// smaller end of the thread's edge: it ends, and the outcome depends on no order.
///
/// hint[r] = h > 0: h is an ancestor of r in the etree, that is, connected to r within 0..h; a
/// fact about M that no step changes. Where h < t, the edge (r, t), no part of 0..h, may become
/// (h, t). Hints are halved paths, as in union-find.
///
/// All accesses are single words, relaxed; what holds of M holds in the modification order of each.
GSOFA_KERNEL void etree_kernel(matrix_view a, std::uint32_t* parent, std::uint32_t* hint) {
  for_each_entry(a, [&](index_t i, index_t j) {
    if (i == j) return;
    auto r = static_cast<std::uint32_t>(i < j ? i : j);
    auto t = static_cast<std::uint32_t>(i < j ? j : i);
    std::uint32_t before = r;  // a descendant of r, or r
    for (;;) {
      std::uint32_t next = simt::load_shared_state(hint + r);
      if (next <= r || next >= t) {
        const std::uint32_t old = simt::atomic_min(parent + r, t);
        if (old == no_parent || old == t) break;
        next = old < t ? old : t;
        t = old < t ? t : old;
      }
      if (before != r) simt::atomic_max(hint + before, next);
      before = r;
      r = next;
    }
  });
}

/// Number of children of every vertex; low[v]: first vertex of v's subtree if it has at most
/// `width` vertices, else -1; of larger subtrees, how many each parent has. In a postorder the
/// subtree of v begins behind the last u < v with parent[u] > v.
GSOFA_KERNEL void subtree_kernel(index_t n, index_t width, const std::uint32_t* parent,
                                 std::uint32_t* children, std::uint32_t* big_children,
                                 index_t* low) {
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < n; k += offset_t{simt::grid_size()} * simt::block_size()) {
    const auto v = static_cast<index_t>(k);
    const std::uint32_t p = parent[v];
    index_t first = v;
    while (first > 0 && v - first < width && parent[first - 1] <= static_cast<std::uint32_t>(v)) {
      --first;
    }
    const bool small = v - first < width;
    low[v] = small ? first : -1;
    if (p == no_parent) continue;
    simt::atomic_add(children + p, std::uint32_t{1});
    if (!small) simt::atomic_add(big_children + p, std::uint32_t{1});
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
  index_t* panel_of;
  index_t* begin;
  index_t* depth;  ///< open vertices
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
    // u is the root of a largest small subtree; the next one begins at v, its root is:
    index_t root = v;
    for (index_t step = 0; step < width && small(parent[root]); ++step) {
      root = static_cast<index_t>(parent[root]);
    }
    const index_t half = width / 2;
    const bool join = half > 0 && parent[root] == p && u - low[u] < half &&
                      root - low[root] < half && u / half == root / half;
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

/// Panel tree, and whether the numbering is a postorder of the forest `parent`.
///
/// The second: put vertices on a stack one by one, each taking the place of as many as it has
/// children; depth[v] is the place of v. The forest R in which v's parent is the vertex that takes
/// v away has the numbering as a postorder. It is `parent` if for every p with c children these
/// have the places depth[p] .. depth[p] + c - 1, each once. For let v be the least vertex whose
/// parent p is not its parent p' in R (or that has none in one of the two). p' is the first vertex
/// behind v with depth[p'] <= depth[v]; so p, if there is one, comes behind p', and there is a p'.
/// One child u of p' has the place of v. At p' that place is v's, so that u < v, and v or an
/// earlier vertex took u away: a vertex less than v differs.
GSOFA_KERNEL void panel_tree_kernel(index_t n, const std::uint32_t* parent,
                                    const std::uint32_t* children, const index_t* depth,
                                    const index_t* panel_of, const index_t* begin,
                                    index_t* panel_parent, std::uint32_t* panel_children,
                                    std::uint32_t* places, structure_totals* totals) {
  const std::uint32_t panels = totals->panels;
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < n; k += offset_t{simt::grid_size()} * simt::block_size()) {
    const auto v = static_cast<index_t>(k);
    if (const std::uint32_t p = parent[v]; p != no_parent) {
      const index_t place = depth[v] - depth[p];
      const auto count = static_cast<index_t>(children[p]);
      // Children of vertices before p: p + 1 - depth[p] are those of p and of all before it.
      const index_t first = static_cast<index_t>(p) + 1 - depth[p] - count;
      if (place < 0 || place >= count ||
          simt::atomic_exchange(places + first + place, std::uint32_t{1}) != 0) {
        simt::atomic_exchange(&totals->crossing, std::uint32_t{1});
      }
    }
    if (k < panels) {
      const std::uint32_t q = parent[begin[k + 1] - 1];
      panel_parent[k] = q == no_parent ? -1 : panel_of[q];
      if (q != no_parent) simt::atomic_add(panel_children + panel_of[q], std::uint32_t{1});
    }
  }
}

// ---------------------------------------------------------------------------------------- words

/// An open-addressing hash table of words: key J << 32 | T, and the mask of the vertices of panel T
/// in the boundary of panel J. A key never changes once set, and a mask belongs to its place, so
/// that relaxed accesses to either suffice.
struct word_table {
  std::uint64_t* keys;
  mask_t* masks;
  std::uint32_t capacity;  // a power of 2
};

enum class insertion { added, present, overflow };

/// Adds a member to the words (path[b], t), b < count, all at once, so that the round trips to
/// memory overlap. Tells whether the last one had it.
template <int Batch>
GSOFA_DEVICE insertion insert(const word_table& table, const index_t* path, int count, index_t t,
                              mask_t member) {
  std::uint64_t key[Batch];
  std::uint64_t found[Batch];
  std::uint32_t place[Batch];
  for (int b = 0; b < Batch; ++b) {
    key[b] = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(path[b])) << 32) |
             static_cast<std::uint32_t>(t);
    place[b] = static_cast<std::uint32_t>(mix64(key[b])) & (table.capacity - 1);
    found[b] = no_key;
    if (b < count) found[b] = simt::atomic_cas(table.keys + place[b], no_key, key[b]);
  }
  for (int b = 0; b < Batch; ++b) {
    if (b >= count) break;
    for (std::uint32_t probe = 1; found[b] != no_key && found[b] != key[b]; ++probe) {
      if (probe >= most_probes || probe >= table.capacity) return insertion::overflow;
      place[b] = (place[b] + 1) & (table.capacity - 1);
      found[b] = simt::atomic_cas(table.keys + place[b], no_key, key[b]);
    }
  }
  mask_t old = 0;
  for (int b = 0; b < Batch; ++b) {
    if (b < count) old = simt::atomic_or(table.masks + place[b], member);
  }
  return (old & member) != 0 ? insertion::present : insertion::added;
}

struct cut_view {
  const index_t* label;  // null: vertices are rows
  const index_t* begin;
  const index_t* panel_of;
  const index_t* panel_parent;
};

/// Boundaries of all panels. i is in the boundary of J iff J lies below panel(i) on the way up from
/// a panel K that holds a neighbour of i in A + A^T: every boundary vertex of a child is in the
/// panel or in its boundary. A thread per entry of A goes up from K as long as it adds i; who finds
/// i there leaves the rest to the one who added it. Panels ascend along the way, which ends at
/// panel(i), an ancestor of K.
///
/// Several panels of the way are one step, which adds i to all of them whatever it finds. Who adds
/// i to the last of a step goes on; so, by induction down from panel(i), where i has been added it
/// is added everywhere above.
GSOFA_KERNEL void boundary_kernel(matrix_view a, cut_view c, word_table table,
                                  structure_totals* totals) {
  for_each_entry(a, [&](index_t row, index_t column) {
    if (row == column) return;
    const index_t i = c.label == nullptr ? row : c.label[row];
    const index_t j = c.label == nullptr ? column : c.label[column];
    const index_t high = i < j ? j : i;
    const index_t target = c.panel_of[high];
    const mask_t member = bit(high - c.begin[target]);
    index_t k = c.panel_of[i < j ? i : j];
    // Most ways end at their first panel.
    if (k >= target) return;
    insertion outcome = insert<1>(table, &k, 1, target, member);
    k = c.panel_parent[k];
    while (outcome == insertion::added && k >= 0 && k < target) {
      constexpr int batch = 4;
      index_t path[batch]{};
      int count = 0;
      for (; count < batch && k >= 0 && k < target; ++count, k = c.panel_parent[k]) {
        path[count] = k;
      }
      outcome = insert<batch>(table, path, count, target, member);
    }
    if (outcome == insertion::overflow) {
      simt::atomic_exchange(&totals->overflow, std::uint32_t{1});
    }
  });
}

/// Words and boundary positions of each panel.
GSOFA_KERNEL void length_kernel(word_table table, std::uint32_t* word_count,
                                unsigned long long* length) {
  for (std::uint64_t k =
           std::uint64_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < table.capacity; k += std::uint64_t{simt::grid_size()} * simt::block_size()) {
    if (table.keys[k] == no_key) continue;
    const auto j = static_cast<std::uint32_t>(table.keys[k] >> 32);
    simt::atomic_add(word_count + j, std::uint32_t{1});
    simt::atomic_add(length + j, static_cast<unsigned long long>(simt::population(table.masks[k])));
  }
}

/// Where the words and positions of each panel begin.
struct length_scan {
  struct value {
    offset_t words, positions;
  };
  const index_t* begin;
  const std::uint32_t* word_count;
  const unsigned long long* length;
  offset_t* word_begin;
  offset_t* position_begin;
  structure_totals* totals;

  GSOFA_DEVICE offset_t count() const { return totals->panels; }
  GSOFA_DEVICE static value identity() { return {0, 0}; }
  GSOFA_DEVICE value combine(const value& a, const value& b) const {
    return {a.words + b.words, a.positions + b.positions};
  }
  GSOFA_DEVICE value item(index_t j) const {
    return {word_count[j], begin[j + 1] - begin[j] + static_cast<offset_t>(length[j])};
  }
  GSOFA_DEVICE void emit(index_t j, const value& upto) const {
    if (j == 0) word_begin[0] = position_begin[0] = 0;
    word_begin[j + 1] = upto.words;
    position_begin[j + 1] = upto.positions;
    if (j + 1 == static_cast<index_t>(totals->panels)) {
      totals->words = upto.words;
      totals->positions = upto.positions;
    }
  }
};

/// Words of each panel side by side, in no order.
struct loose_words {
  std::uint64_t* keys;
  mask_t* masks;
};

GSOFA_KERNEL void collect_kernel(word_table table, const offset_t* word_begin,
                                 std::uint32_t* cursor, loose_words out) {
  for (std::uint64_t k =
           std::uint64_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < table.capacity; k += std::uint64_t{simt::grid_size()} * simt::block_size()) {
    const std::uint64_t key = table.keys[k];
    if (key == no_key) continue;
    const auto j = static_cast<std::uint32_t>(key >> 32);
    const offset_t to = word_begin[j] + simt::atomic_add(cursor + j, std::uint32_t{1});
    out.keys[to] = key;
    out.masks[to] = table.masks[k];
  }
}

/// Sorts the words of each panel by their target: a word's place is the number of words with a
/// smaller one, its first position the number of their members behind the panel's own vertices.
GSOFA_KERNEL void sort_kernel(offset_t words, loose_words in, const index_t* begin,
                              const offset_t* word_begin, index_t* word_panel, mask_t* word_mask,
                              index_t* word_first) {
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < words; k += offset_t{simt::grid_size()} * simt::block_size()) {
    const std::uint64_t key = in.keys[k];
    const auto j = static_cast<index_t>(key >> 32);
    offset_t place = word_begin[j];
    index_t first = begin[j + 1] - begin[j];
    for (offset_t q = word_begin[j]; q < word_begin[j + 1]; ++q) {
      if (in.keys[q] >= key) continue;
      ++place;
      first += static_cast<index_t>(simt::population(in.masks[q]));
    }
    word_panel[place] = static_cast<index_t>(key & 0xffffffffU);
    word_mask[place] = in.masks[k];
    word_first[place] = first;
  }
}

/// The panel that word w belongs to.
GSOFA_DEVICE index_t owner_of(const offset_t* word_begin, index_t panels, offset_t w) {
  index_t low = 0;
  for (index_t high = panels - 1; low < high;) {
    const index_t middle = high - (high - low) / 2;
    if (word_begin[middle] <= w) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// Writes the position lists and the places in the parent's: a thread per word, then one per
/// vertex.
GSOFA_KERNEL void positions_kernel(panel_view p, offset_t words, index_t* columns,
                                   index_t* in_parent) {
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < words + p.n; k += offset_t{simt::grid_size()} * simt::block_size()) {
    if (k >= words) {
      const auto v = static_cast<index_t>(k - words);
      const index_t j = p.panel_of[v];
      const offset_t to = p.position_begin[j] + (v - p.begin[j]);
      columns[to] = v;
      in_parent[to] = -1;
      continue;
    }
    const index_t j = owner_of(p.word_begin, p.panels, k);
    const index_t target = p.word_panel[k];
    const index_t parent = p.parent[j];
    // A panel with a boundary has a parent; a word of the parent's own vertices is full there.
    mask_t there = ~mask_t{0};
    index_t first = 0;
    if (target != parent) {
      offset_t low = p.word_begin[parent];
      for (offset_t high = p.word_begin[parent + 1]; low < high;) {
        const offset_t middle = low + (high - low) / 2;
        if (p.word_panel[middle] < target) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      there = p.word_mask[low];
      first = p.word_first[low];
    }
    offset_t to = p.position_begin[j] + p.word_first[k];
    for (mask_t m = p.word_mask[k]; m != 0; m &= m - 1, ++to) {
      const auto inside = static_cast<index_t>(simt::lowest_bit(m));
      columns[to] = p.begin[target] + inside;
      in_parent[to] = first + static_cast<index_t>(simt::population(there & below(inside)));
    }
  }
}

/// Sets the bits of A: entry (i, j) in the panel of the smaller of the two.
GSOFA_KERNEL void scatter_kernel(matrix_view a, panel_view p) {
  for_each_entry(a, [&](index_t row, index_t column) {
    if (row == column) return;
    const index_t i = p.vertex(row);
    const index_t j = p.vertex(column);
    const index_t k = i < j ? i : j;
    const index_t panel = p.panel_of[k];
    mask_pair& m = p.masks[p.position_begin[panel] + p.position(panel, i < j ? j : i)];
    simt::atomic_or(i < j ? &m.upper : &m.lower, bit(k - p.begin[panel]));
  });
}

}  // namespace

void panel_structure::prepare(index_t n, memory_budget& budget) {
  n_ = n;
  for (auto* words : {&tree_parent_, &hint_, &children_, &big_children_, &panel_children_,
                      &word_count_, &cursor_}) {
    *words = {budget, "tree", n};
  }
  for (auto* indices : {&low_, &depth_, &panel_of_, &panel_parent_}) {
    *indices = {budget, "tree", n};
  }
  begin_ = {budget, "tree", offset_t{n} + 1};
  length_ = {budget, "tree", n};
  word_begin_ = {budget, "tree", offset_t{n} + 1};
  position_begin_ = {budget, "tree", offset_t{n} + 1};
  control_ = {budget, "control", sizeof(structure_totals) / 4};
  constexpr std::size_t most = std::max(sizeof(cut_scan::value), sizeof(length_scan::value));
  partial_ = {budget, "control", static_cast<offset_t>(most) * threads_per_block};
}

void panel_structure::release() {
  relabelled_ = false;
  order_ = {};
  label_ = {};
  word_panel_ = {};
  word_first_ = {};
  word_mask_ = {};
  columns_ = {};
  in_parent_ = {};
  masks_ = {};
}

void panel_structure::cut(index_t width) {
  auto* const totals = reinterpret_cast<structure_totals*>(control_.data());
  const std::uint32_t* const parent = tree_parent_.data();
  const std::uint32_t* const children = children_.data();
  fill_bytes(totals, 0, 1);
  fill_bytes(children_.data(), 0, n_);
  fill_bytes(big_children_.data(), 0, n_);
  fill_bytes(panel_children_.data(), 0, n_);
  launch(subtree_kernel, blocks_for(n_), threads_per_block, 0, n_, width, parent, children_.data(),
         big_children_.data(), low_.data());
  scan(cut_scan{n_, width, parent, children, big_children_.data(), low_.data(), panel_of_.data(),
                begin_.data(), depth_.data(), totals},
       n_, reinterpret_cast<cut_scan::value*>(partial_.data()));
  fill_bytes(hint_.data(), 0, n_);
  launch(panel_tree_kernel, blocks_for(n_), threads_per_block, 0, n_, parent, children,
         static_cast<const index_t*>(depth_.data()), static_cast<const index_t*>(panel_of_.data()),
         static_cast<const index_t*>(begin_.data()), panel_parent_.data(), panel_children_.data(),
         hint_.data(), totals);
}

// On the host: such inputs are the exception. Vertices are labels from here on.
void panel_structure::relabel(memory_budget& budget) {
  std::vector<index_t> parent(static_cast<std::size_t>(n_));
  copy_to_host(parent.data(), reinterpret_cast<const index_t*>(tree_parent_.data()), n_);
  const std::vector<index_t> order = postorder(parent);
  const std::vector<index_t> label = inverse_permutation(order);
  std::vector<index_t> renamed(parent.size());
  for (std::size_t v = 0; v < order.size(); ++v) {
    const index_t p = parent[static_cast<std::size_t>(order[v])];
    renamed[v] = p < 0 ? -1 : label[static_cast<std::size_t>(p)];
  }
  order_ = {budget, "labels", n_};
  label_ = {budget, "labels", n_};
  copy_to_device(order_.data(), order.data(), n_);
  copy_to_device(label_.data(), label.data(), n_);
  copy_to_device(reinterpret_cast<index_t*>(tree_parent_.data()), renamed.data(), n_);
  relabelled_ = true;
}

bool panel_structure::build(const device_matrix& a, offset_t nnz, const panel_limits& limits,
                            memory_budget& budget, execution& exec) {
  release();
  const bool built = try_build(a, nnz, limits, budget, exec);
  if (!built) release();
  return built;
}

bool panel_structure::try_build(const device_matrix& a, offset_t nnz, const panel_limits& limits,
                                memory_budget& budget, execution& exec) {
  const matrix_view matrix{a.row_ptr(), a.col_idx(), n_, nnz};
  auto* const totals = reinterpret_cast<structure_totals*>(control_.data());
  const auto left = [&] { return budget.limit() - budget.used() - limits.reserve; };
  const offset_t most =
      limits.most_positions > 0 ? limits.most_positions : std::numeric_limits<offset_t>::max();
  fill_bytes(tree_parent_.data(), 0xff, n_);
  fill_bytes(hint_.data(), 0, n_);
  launch(etree_kernel, blocks_for(nnz), threads_per_block, 8, matrix, tree_parent_.data(),
         hint_.data());
  cut(limits.width);

  structure_totals found{};
  word_table table{};
  device_array<std::uint64_t> keys;
  device_array<mask_t> masks;
  offset_t capacity = 1;
  while (capacity < least_capacity + first_words_per_vertex * n_) capacity *= 2;
  for (;;) {
    if (capacity > offset_t{1} << 31 || left() / bytes_per_word < capacity) return false;
    keys = {budget, "word_table", capacity};
    masks = {budget, "word_table", capacity};
    table = {keys.data(), masks.data(), static_cast<std::uint32_t>(capacity)};
    fill_bytes(keys.data(), 0xff, capacity);
    fill_bytes(masks.data(), 0, capacity);
    fill_bytes(word_count_.data(), 0, n_);
    fill_bytes(length_.data(), 0, n_);
    launch(boundary_kernel, blocks_for(nnz), threads_per_block, 8, matrix,
           cut_view{label_.data(), begin_.data(), panel_of_.data(), panel_parent_.data()}, table,
           totals);
    launch(length_kernel, blocks_for(capacity), threads_per_block, 0, table, word_count_.data(),
           length_.data());
    scan(length_scan{begin_.data(), word_count_.data(), length_.data(), word_begin_.data(),
                     position_begin_.data(), totals},
         n_, reinterpret_cast<length_scan::value*>(partial_.data()));
    copy_to_host(&found, static_cast<const structure_totals*>(totals), 1);
    exec.check_deadline();
    if (found.crossing == 0 && found.overflow == 0) break;
    keys = {};
    masks = {};
    if (found.crossing != 0) {
      if (left() < 8 * offset_t{n_}) return false;
      relabel(budget);
      cut(limits.width);
    } else {
      // The positions found so far are a part of all.
      if (found.positions > most) return false;
      capacity *= 4;
      fill_bytes(&totals->overflow, 0, 1);
    }
  }
  panels_ = static_cast<index_t>(found.panels);
  words_ = found.words;
  positions_ = found.positions;
  if (positions_ > most || left() / bytes_per_word < words_) return false;
  {
    const device_array<std::uint64_t> loose_keys(budget, "loose_words", words_);
    const device_array<mask_t> loose_masks(budget, "loose_words", words_);
    const loose_words loose{loose_keys.data(), loose_masks.data()};
    fill_bytes(cursor_.data(), 0, n_);
    launch(collect_kernel, blocks_for(capacity), threads_per_block, 0, table,
           static_cast<const offset_t*>(word_begin_.data()), cursor_.data(), loose);
    keys = {};
    masks = {};
    const offset_t word_bytes = words_ * bytes_per_word;
    if ((left() - word_bytes) / bytes_per_position < positions_) return false;
    word_panel_ = {budget, "words", words_};
    word_first_ = {budget, "words", words_};
    word_mask_ = {budget, "words", words_};
    columns_ = {budget, "positions", positions_};
    in_parent_ = {budget, "positions", positions_};
    masks_ = {budget, "masks", positions_};
    fill_bytes(masks_.data(), 0, positions_);
    if (words_ > 0) {
      launch(sort_kernel, blocks_for(words_), threads_per_block, 0, words_, loose,
             static_cast<const index_t*>(begin_.data()),
             static_cast<const offset_t*>(word_begin_.data()), word_panel_.data(),
             word_mask_.data(), word_first_.data());
    }
  }
  launch(positions_kernel, blocks_for(words_ + n_), threads_per_block, 0, view(), words_,
         columns_.data(), in_parent_.data());
  launch(scatter_kernel, blocks_for(nnz), threads_per_block, 8, matrix, view());
  return true;
}

panel_view panel_structure::view() const {
  return {n_,
          panels_,
          order_.data(),
          label_.data(),
          begin_.data(),
          panel_of_.data(),
          panel_parent_.data(),
          word_begin_.data(),
          position_begin_.data(),
          word_panel_.data(),
          word_mask_.data(),
          word_first_.data(),
          columns_.data(),
          in_parent_.data(),
          masks_.data()};
}

}  // namespace gsofa::gpu

#endif
