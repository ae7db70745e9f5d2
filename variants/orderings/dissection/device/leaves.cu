// Leaves of the separator tree: minimum fill on bit sets, one block for each leaf. The halo of a
// leaf is a clique, so its vertices need no rows. PROOFS.md has the formula of the deficiency.
// Device form of host/leaves.cpp.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "variants/device/tile_scan.hpp"
#include "variants/orderings/dissection/arithmetic.hpp"
#include "variants/orderings/dissection/device/stages.hpp"
#include "variants/orderings/dissection/device/tuning.hpp"

namespace gsofa::orders::device {

namespace {

constexpr std::uint64_t ordered = ~std::uint64_t{0};
constexpr unsigned halo_slots = 4096;  // for 2049 vertices, and those of threads under way
static_assert(halo_slots >= 3 * most_leaf_bits / 2);
constexpr offset_t most_global_words = offset_t{16} << 20;  // of all blocks
constexpr unsigned most_warps = 32;

/// A leaf as kernels see it.
struct leaf_task {
  index_t first, last;
  index_t halo;             ///< vertices of the halo that count
  std::uint32_t truncated;  ///< nonzero: there are more
};

/// Words of a leaf's rows, and the slots of the table of its halo.
struct leaf_shape {
  unsigned vertices;
  unsigned leaf_words, words;  ///< of a row: bits of the leaf, then of the halo
  unsigned slots;
};

constexpr leaf_shape shape_of(index_t vertices, index_t halo) {
  const auto n = static_cast<unsigned>(vertices);
  const auto h = static_cast<unsigned>(halo);
  unsigned slots = 32;
  while (3 * slots < 4 * h + 4) slots *= 2;
  const unsigned leaf_words = (n + 31) / 32;
  return {n, leaf_words, leaf_words + (h + 31) / 32, slots};
}

/// Words of shared memory: what is always there, then the table or what replaces it, then the rows.
struct leaf_layout {
  unsigned out, list, changed, table, rows, end;  ///< first words; vertices come first
};

constexpr unsigned counter_word = 2 * most_warps;  // behind a word of 64 bits for each warp
constexpr unsigned fixed_words = counter_word + 4;

constexpr leaf_layout layout_of(const leaf_shape& s) {
  const unsigned vertices = fixed_words;
  const unsigned out = vertices + s.vertices;
  const unsigned list = out + s.vertices;
  const unsigned changed = list + s.vertices;
  const unsigned table = (changed + s.leaf_words + 1) / 2 * 2;  // holds words of 64 bits
  const unsigned rows = table + 2 * (s.slots > s.vertices ? s.slots : s.vertices);
  return {out, list, changed, table, rows, rows + s.vertices * s.words};
}

struct leaf_graphs {
  level_view g;
  const index_t* where;  ///< position of each vertex in the order
};

/// Calls visit(i, u) for all neighbours u of each vertex number i of a leaf. The whole block calls
/// it, but visit() is no place for barriers.
template <class Visit>
GSOFA_DEVICE void for_neighbours(const level_view& g, const index_t* vertices, index_t count,
                                 Visit&& visit) {
  const unsigned group = simt::thread_index() / lanes;
  bool any_long = false;
  for (auto i = static_cast<index_t>(group); i < count;
       i += static_cast<index_t>(simt::block_size() / lanes)) {
    const offset_t begin = g.begin[vertices[i]];
    const offset_t end = g.end[vertices[i]];
    if (end - begin > leaf_tuning::long_row) {
      any_long = true;
      continue;
    }
    for (offset_t e = begin + simt::thread_index() % lanes; e < end; e += lanes) visit(i, g.adj[e]);
  }
  if (!simt::sync_block_or(any_long)) return;
  for (index_t i = 0; i < count; ++i) {
    const offset_t begin = g.begin[vertices[i]];
    const offset_t end = g.end[vertices[i]];
    if (end - begin <= leaf_tuning::long_row) continue;
    for (offset_t e = begin + simt::thread_index(); e < end; e += simt::block_size()) {
      visit(i, g.adj[e]);
    }
  }
}

/// The vertices of a halo.
struct halo_table {
  std::uint32_t* key;
  std::uint32_t* number;  ///< null if the caller needs no numbers
  unsigned slots;         ///< a power of two

  GSOFA_DEVICE void clear() const {
    for (unsigned s = simt::thread_index(); s < slots; s += simt::block_size()) key[s] = empty_slot;
  }
  GSOFA_DEVICE unsigned first_slot(index_t u) const {
    return ((static_cast<std::uint32_t>(u) * 0x9e3779b1U) >> 16) & (slots - 1);
  }
  /// The slot of u if it is new, else `slots`.
  GSOFA_DEVICE unsigned insert(index_t u) const {
    const auto mine = static_cast<std::uint32_t>(u);
    for (unsigned s = first_slot(u);; s = (s + 1) & (slots - 1)) {
      std::uint32_t held = simt::load_shared_state(key + s);
      if (held == empty_slot) {
        held = simt::atomic_cas(key + s, empty_slot, mine);
        if (held == empty_slot) return s;
      }
      if (held == mine) return slots;
    }
  }
  /// The slot of u; `slots`: u is not there.
  GSOFA_DEVICE unsigned find(index_t u) const {
    for (unsigned s = first_slot(u);; s = (s + 1) & (slots - 1)) {
      if (key[s] == static_cast<std::uint32_t>(u)) return s;
      if (key[s] == empty_slot) return slots;
    }
  }
};

GSOFA_KERNEL void where_kernel(const index_t* order, index_t n, index_t* where) {
  simt::after_earlier_launches();
  const auto step = offset_t{simt::grid_size()} * simt::block_size();
  for (auto k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index(); k < n;
       k += step) {
    where[order[k]] = static_cast<index_t>(k);
  }
}

/// Counts the halo of each leaf, one block each; more vertices than count are told as one more.
GSOFA_KERNEL void halo_kernel(leaf_graphs l, const leaf* leaves, const index_t* order,
                              index_t* halo) {
  simt::after_earlier_launches();
  const leaf own = leaves[simt::block_index()];
  const index_t n = own.last - own.first;
  const auto most = static_cast<std::uint32_t>(most_leaf_bits - n);
  auto* const count = simt::shared_memory<std::uint32_t>();
  const halo_table table{count + 1, nullptr, halo_slots};
  table.clear();
  if (simt::thread_index() == 0) *count = 0;
  simt::sync_block();
  for_neighbours(l.g, order + own.first, n, [&](index_t, index_t u) {
    const index_t position = l.where[u];
    if (position >= own.first && position < own.last) return;
    if (simt::load_shared_state(count) > most) return;
    if (table.insert(u) != table.slots) simt::atomic_add(count, std::uint32_t{1});
  });
  simt::sync_block();
  if (simt::thread_index() == 0) {
    halo[simt::block_index()] = static_cast<index_t>(*count > most ? most + 1 : *count);
  }
}

/// One leaf and the block that orders it.
struct leaf_block {
  const level_view& g;
  const index_t* where;
  leaf_task task;
  leaf_shape shape;
  std::uint32_t* words;  ///< shared memory
  leaf_layout layout;
  std::uint32_t* rows;

  GSOFA_DEVICE std::uint64_t* best() const { return reinterpret_cast<std::uint64_t*>(words); }
  GSOFA_DEVICE std::uint32_t& counter() const { return words[counter_word]; }
  GSOFA_DEVICE index_t* vertices() const { return reinterpret_cast<index_t*>(words + fixed_words); }
  GSOFA_DEVICE std::uint32_t* out() const { return words + layout.out; }
  GSOFA_DEVICE std::uint32_t* list() const { return words + layout.list; }
  GSOFA_DEVICE std::uint32_t* changed() const { return words + layout.changed; }
  GSOFA_DEVICE std::uint64_t* keys() const {
    return reinterpret_cast<std::uint64_t*>(words + layout.table);
  }
  GSOFA_DEVICE halo_table table() const {
    return {words + layout.table, words + layout.table + shape.slots, shape.slots};
  }
  GSOFA_DEVICE std::uint32_t* row(unsigned v) const { return rows + std::size_t{v} * shape.words; }
  GSOFA_DEVICE bool inside(index_t u) const {
    return where[u] >= task.first && where[u] < task.last;
  }

  /// Numbers the halo in any order.
  GSOFA_DEVICE void number_halo() const {
    const halo_table t = table();
    for_neighbours(g, vertices(), static_cast<index_t>(shape.vertices), [&](index_t, index_t u) {
      if (inside(u)) return;
      const unsigned slot = t.insert(u);
      if (slot != t.slots) t.number[slot] = simt::atomic_add(&counter(), std::uint32_t{1});
    });
  }

  /// Numbers those vertices of the halo that come first by vertices of the leaf and their rows.
  GSOFA_DEVICE void number_first_of_halo() const {
    const halo_table t = table();
    const unsigned warp = simt::thread_index() / 32;
    const unsigned threads = simt::block_size();
    std::uint64_t* const found = best();
    const auto most = static_cast<unsigned>(task.halo);
    unsigned count = 0;
    for (unsigned i = 0; i < shape.vertices && count < most; ++i) {
      const offset_t end = g.end[vertices()[i]];
      for (offset_t base = g.begin[vertices()[i]]; base < end && count < most; base += threads) {
        const offset_t e = base + simt::thread_index();
        const index_t u = e < end ? g.adj[e] : -1;
        const bool is_new = u >= 0 && !inside(u) && t.find(u) == t.slots;
        const unsigned set = simt::ballot(is_new);
        if (lane_index() == 0) found[warp] = simt::population(set);
        simt::sync_block();
        unsigned number = count + simt::population(set & lower_lanes());
        for (unsigned w = 0; w < threads / 32; ++w) {
          if (w < warp) number += static_cast<unsigned>(found[w]);
          count += static_cast<unsigned>(found[w]);
        }
        if (is_new && number < most) t.number[t.insert(u)] = number;
        simt::sync_block();
      }
    }
  }

  GSOFA_DEVICE void build(const index_t* order) const {
    const unsigned thread = simt::thread_index();
    const unsigned threads = simt::block_size();
    for (unsigned i = thread; i < shape.vertices; i += threads) {
      vertices()[i] = order[static_cast<unsigned>(task.first) + i];
    }
    for (unsigned k = thread; k < layout.end - layout.rows; k += threads) rows[k] = 0;
    for (unsigned k = thread; k < shape.leaf_words; k += threads) changed()[k] = 0;
    table().clear();
    if (thread == 0) counter() = 0;
    simt::sync_block();
    if (task.truncated != 0) {
      number_first_of_halo();
    } else {
      number_halo();
    }
    simt::sync_block();
    const halo_table t = table();
    for_neighbours(g, vertices(), static_cast<index_t>(shape.vertices), [&](index_t i, index_t u) {
      unsigned bit = static_cast<unsigned>(where[u] - task.first);
      if (!inside(u)) {
        const unsigned slot = t.find(u);
        if (slot == t.slots) return;
        bit = 32 * shape.leaf_words + t.number[slot];
      }
      simt::atomic_or(row(static_cast<unsigned>(i)) + bit / 32, std::uint32_t{1} << (bit % 32));
    });
    simt::sync_block();
  }

  /// Lanes that share a row, by its words.
  GSOFA_DEVICE unsigned lanes_of_row() const {
    return shape.words <= 8 ? 8 : shape.words <= 16 ? 16 : 32;
  }

  /// Sets the keys of the first `count` vertices of the list: deficiency, degree, number.
  GSOFA_DEVICE void set_keys(unsigned count) const {
    const unsigned share = lanes_of_row();
    const unsigned lane = simt::thread_index() % share;
    const unsigned teams = simt::block_size() / share;
    for (unsigned base = 0; base < count; base += teams) {
      const unsigned k = base + simt::thread_index() / share;
      std::uint32_t sum = 0;
      std::uint32_t degree = 0;
      unsigned u = 0;
      if (k < count) {
        u = list()[k];
        const std::uint32_t* const own = row(u);
        for (unsigned word = lane; word < shape.words; word += share) {
          const std::uint32_t mine = own[word];
          const std::uint32_t weight = word < shape.leaf_words ? 1 : 2;
          degree += simt::population(mine);
          std::uint32_t missing = 0;
          for (unsigned j = 0; j < shape.leaf_words; ++j) {
            for (std::uint32_t bits = own[j]; bits != 0; bits &= bits - 1) {
              const unsigned w = 32 * j + simt::lowest_bit(bits);
              missing += simt::population(mine & ~row(w)[word]);
            }
          }
          sum += weight * missing;
          if (word < shape.leaf_words) sum -= simt::population(mine);
        }
      }
      for (unsigned step = share / 2; step > 0; step /= 2) {
        sum += simt::shuffle_xor(sum, step);
        degree += simt::shuffle_xor(degree, step);
      }
      if (k < count && lane == 0) {
        keys()[u] =
            static_cast<std::uint64_t>(sum) << 24 | static_cast<std::uint64_t>(degree) << 12 | u;
      }
    }
  }

  GSOFA_DEVICE std::uint64_t smallest_key() const {
    std::uint64_t mine = ordered;
    for (unsigned v = simt::thread_index(); v < shape.vertices; v += simt::block_size()) {
      if (keys()[v] < mine) mine = keys()[v];
    }
    for (unsigned step = 16; step > 0; step /= 2) {
      const std::uint64_t other = simt::shuffle_xor(mine, step);
      if (other < mine) mine = other;
    }
    if (lane_index() == 0) best()[simt::thread_index() / 32] = mine;
    simt::sync_block();
    for (unsigned w = 0; w < simt::block_size() / 32; ++w) {
      if (best()[w] < mine) mine = best()[w];
    }
    return mine;
  }

  /// Joins the neighbours of v. `changed` gets those in the leaf and, unless v was simplicial,
  /// theirs in the leaf: only there deficiencies change, as each new edge has an end in the leaf.
  GSOFA_DEVICE void eliminate(unsigned v, bool simplicial) const {
    const std::uint32_t* const own = row(v);
    const unsigned share = lanes_of_row();
    const unsigned lane = simt::thread_index() % share;
    const unsigned teams = simt::block_size() / share;
    for (unsigned k = simt::thread_index(); k < shape.leaf_words; k += simt::block_size()) {
      if (own[k] != 0) simt::atomic_or(changed() + k, own[k]);
    }
    if (simplicial) {
      for (unsigned u = simt::thread_index(); u < shape.vertices; u += simt::block_size()) {
        if ((own[u / 32] >> (u % 32) & 1U) != 0) row(u)[v / 32] &= ~(1U << (v % 32));
      }
      return;
    }
    for (unsigned u = simt::thread_index() / share; u < shape.vertices; u += teams) {
      if ((own[u / 32] >> (u % 32) & 1U) == 0) continue;
      for (unsigned k = lane; k < shape.words; k += share) {
        std::uint32_t joined = row(u)[k] | own[k];
        if (k == u / 32) joined &= ~(1U << (u % 32));
        if (k == v / 32) joined &= ~(1U << (v % 32));
        row(u)[k] = joined;
        if (k < shape.leaf_words && joined != 0) simt::atomic_or(changed() + k, joined);
      }
    }
  }

  GSOFA_DEVICE void order_vertices() const {
    const unsigned thread = simt::thread_index();
    const unsigned threads = simt::block_size();
    for (unsigned v = thread; v < shape.vertices; v += threads) list()[v] = v;
    simt::sync_block();
    set_keys(shape.vertices);
    simt::sync_block();
    for (unsigned step = 0; step < shape.vertices; ++step) {
      if (thread == 0) counter() = 0;
      const std::uint64_t key = smallest_key();
      const auto v = static_cast<unsigned>(key & 0xfffU);
      const bool simplicial = key >> 24 == 0;
      if (thread == 0) out()[step] = v;
      if (simplicial) {
        unsigned neighbours = 0;
        for (unsigned k = 0; k < shape.leaf_words; ++k) neighbours += simt::population(row(v)[k]);
        if (step + 1 + neighbours == shape.vertices) {
          // What is left is a clique.
          for (unsigned u = thread; u < shape.vertices; u += threads) {
            const std::uint32_t word = row(v)[u / 32];
            if ((word >> (u % 32) & 1U) == 0) continue;
            unsigned place = step + 1 + simt::population(word & ((1U << (u % 32)) - 1));
            for (unsigned k = 0; k < u / 32; ++k) place += simt::population(row(v)[k]);
            out()[place] = u;
          }
          return;
        }
      }
      if (thread == 0) keys()[v] = ordered;
      eliminate(v, simplicial);
      simt::sync_block();
      for (unsigned u = thread; u < shape.vertices; u += threads) {
        if ((changed()[u / 32] >> (u % 32) & 1U) != 0) {
          list()[simt::atomic_add(&counter(), std::uint32_t{1})] = u;
        }
      }
      simt::sync_block();
      for (unsigned k = thread; k < shape.leaf_words; k += threads) changed()[k] = 0;
      set_keys(counter());
      simt::sync_block();
    }
  }
};

/// Orders leaves by minimum fill. Rows are in shared memory or, if InGlobal, in global_rows, which
/// has words_of_block words for each block.
template <bool InGlobal>
GSOFA_KERNEL void leaf_kernel(leaf_graphs l, const leaf_task* tasks, index_t count, index_t* order,
                              std::uint32_t* global_rows, offset_t words_of_block) {
  simt::after_earlier_launches();
  auto* const words = simt::shared_memory<std::uint32_t>();
  for (auto k = offset_t{simt::block_index()}; k < count; k += simt::grid_size()) {
    const leaf_task task = tasks[k];
    const leaf_shape shape = shape_of(task.last - task.first, task.halo);
    const leaf_layout layout = layout_of(shape);
    std::uint32_t* rows = words + layout.rows;
    if constexpr (InGlobal) rows = global_rows + words_of_block * simt::block_index();
    const leaf_block block{l.g, l.where, task, shape, words, layout, rows};
    block.build(order);
    block.order_vertices();
    simt::sync_block();
    for (unsigned i = simt::thread_index(); i < shape.vertices; i += simt::block_size()) {
      order[static_cast<unsigned>(task.first) + i] = block.vertices()[block.out()[i]];
    }
    simt::sync_block();
  }
}

/// Orders large leaves on the host.
void order_large_leaves(const level_view& view, std::span<const leaf> leaves, index_t* order,
                        const std::atomic<bool>* stop) {
  graph g;
  g.n = view.n;
  const auto download = [](auto& to, const auto* from, offset_t count) {
    to.resize(at(count));
    copy_to_host(to.data(), from, count);
  };
  download(g.begin, view.begin, view.n);
  download(g.end, view.end, view.n);
  download(g.weight, view.weight, view.n);
  download(g.adj, view.adj, *std::ranges::max_element(g.end));
  scratch s;
  s.local.assign(at(g.n), -1);
  std::vector<index_t> vertices;
  for (const leaf& l : leaves) {
    download(vertices, order + l.first, l.last - l.first);
    order_leaf(g, vertices, s, stop);
    copy_to_device(order + l.first, vertices.data(), l.last - l.first);
  }
}

/// Shared memory that a block can have.
std::size_t most_shared_bytes() {
#if defined(__CUDACC__)
  int device = 0;
  int bytes = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "device attributes");
  return std::min(static_cast<std::size_t>(bytes), leaf_tuning::shared_classes.back());
#else
  return leaf_tuning::shared_classes.back();
#endif
}

/// Leaves with about the same need of shared memory.
struct leaf_class {
  std::vector<leaf_task> tasks;
  std::size_t bytes = 0;      ///< of shared memory, the most that one takes
  offset_t global_words = 0;  ///< for rows in global memory, the most that one takes
};

// The last class has its rows in global memory.
constexpr std::size_t in_global = leaf_tuning::shared_classes.size();
using leaf_classes = std::array<leaf_class, in_global + 1>;

/// Sizes of the halos; of a halo with more vertices than count one more than count.
std::vector<index_t> count_halos(const leaf_graphs& graphs, std::span<const leaf> leaves,
                                 const index_t* order, memory_budget& budget) {
  const auto count = static_cast<index_t>(leaves.size());
  const device_array<leaf> d_leaves(budget, "leaves", count);
  const device_array<index_t> d_halo(budget, "leaves", count);
  copy_to_device(d_leaves.data(), leaves.data(), count);
  launch_overlapping(halo_kernel, count, leaf_tuning::threads,
                     (halo_slots + 1) * sizeof(std::uint32_t), graphs, d_leaves.data(), order,
                     d_halo.data());
  std::vector<index_t> halo(leaves.size());
  copy_to_host(halo.data(), d_halo.data(), count);
  return halo;
}

leaf_classes classify(std::span<const leaf> leaves, std::span<const index_t> halo) {
  leaf_classes classes;
  const std::size_t most_shared = most_shared_bytes();
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const leaf l = leaves[k];
    const index_t most = most_leaf_bits - (l.last - l.first);
    const leaf_task task{l.first, l.last, std::min(halo[k], most), halo[k] > most ? 1U : 0U};
    const leaf_layout layout = layout_of(shape_of(l.last - l.first, task.halo));
    std::size_t bytes = layout.end * sizeof(std::uint32_t);
    const auto has_room = [&](std::size_t room) { return bytes <= std::min(room, most_shared); };
    const auto which =
        static_cast<std::size_t>(std::ranges::find_if(leaf_tuning::shared_classes, has_room) -
                                 leaf_tuning::shared_classes.begin());
    leaf_class& to = classes[which];
    if (which == in_global) {
      bytes = layout.rows * sizeof(std::uint32_t);
      to.global_words = std::max<offset_t>(to.global_words, layout.end - layout.rows);
    }
    to.bytes = std::max(to.bytes, bytes);
    to.tasks.push_back(task);
  }
  return classes;
}

}  // namespace

void order_leaves(const level& g, std::span<const leaf> leaves, index_t* order,
                  memory_budget& budget, const std::atomic<bool>* stop) {
  const level_view view = g.view();
  std::vector<leaf> small, large;
  for (const leaf& l : leaves) {
    const index_t n = l.last - l.first;
    if (n > 1) (n > largest_first_cut ? large : small).push_back(l);
  }
  if (!large.empty()) order_large_leaves(view, large, order, stop);
  const auto count = narrow<index_t>(small.size(), "leaves");
  if (count == 0) return;
  const device_array<index_t> where(budget, "leaves", view.n);
  launch_overlapping(where_kernel, blocks_for(view.n), threads_per_block, 0, order, view.n,
                     where.data());
  const leaf_graphs graphs{view, where.data()};
  const leaf_classes classes = classify(small, count_halos(graphs, small, order, budget));

  const device_array<leaf_task> d_tasks(budget, "leaves", count);
  std::vector<leaf_task> tasks;
  for (const leaf_class& c : classes) tasks.insert(tasks.end(), c.tasks.begin(), c.tasks.end());
  copy_to_device(d_tasks.data(), tasks.data(), count);
  device_array<std::uint32_t> rows;
  offset_t next = count;
  for (std::size_t which = in_global + 1; which-- > 0;) {
    const leaf_class& c = classes[which];
    const auto size = static_cast<index_t>(c.tasks.size());
    next -= size;
    if (size == 0) continue;
    if (which == in_global) {
      const auto blocks =
          static_cast<int>(std::clamp<offset_t>(most_global_words / c.global_words, 1, size));
      rows = {budget, "leaves", blocks * c.global_words};
      allow_shared(leaf_kernel<true>, c.bytes);
      launch_overlapping(leaf_kernel<true>, blocks, leaf_tuning::threads_of_large, c.bytes, graphs,
                         d_tasks.data() + next, size, order, rows.data(), c.global_words);
    } else {
      allow_shared(leaf_kernel<false>, c.bytes);
      launch_overlapping(leaf_kernel<false>, size,
                         which < 2 ? leaf_tuning::threads : leaf_tuning::threads_of_large, c.bytes,
                         graphs, d_tasks.data() + next, size, order, nullptr, 0);
    }
  }
}

}  // namespace gsofa::orders::device

#endif
