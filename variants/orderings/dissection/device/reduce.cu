// Reductions in rounds on a device: finds what reduce() of host/reduce.cpp finds.
//
// A vertex has the round of its removal, 0 while it is live. Rounds follow each other without the
// host: their numbers of vertices are on the device, and the launches of a round that should not
// take place do nothing. The host reads the numbers after every few rounds.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <bit>
#include <vector>

#include "variants/device/matrix_entries.hpp"
#include "variants/device/sorted_words.hpp"
#include "variants/orderings/dissection/arithmetic.hpp"
#include "variants/orderings/dissection/device/rows.hpp"
#include "variants/orderings/dissection/device/stages.hpp"

namespace gsofa::orders::device {

namespace {

using patterns::device_pattern;

constexpr std::uint8_t many = 0xff;  // neighbours, more than the largest degree that is removed

/// Numbers of a round.
struct round_counts {
  std::uint32_t going;    ///< vertices that are removed
  std::uint32_t changed;  ///< vertices whose neighbours have changed
  std::uint32_t most;     ///< second kind of rounds: the degree up to which vertices go
};

/// What the kernels of all rounds see.
struct graph_view {
  pattern_rows s;
  index_t present;        ///< vertices with neighbours
  std::uint32_t* round;   ///< by vertex: of its removal; 0 while it is live
  index_t* going;         ///< list of the round
  index_t* changed;       ///< list of the round
  std::uint32_t* listed;  ///< by vertex: the last round that has listed it as changed
  // Of vertices of small degree:
  std::uint32_t last_simplicial;  ///< round; vertices of later rounds are elements
  int degree;                     ///< largest degree
  const index_t* number;          ///< by vertex: number among the vertices with neighbours
  index_t* into;                  ///< by element: the element that has absorbed it, or itself
  index_t* near;                  ///< by vertex: `degree` places for its neighbours
  std::uint8_t* near_count;       ///< by vertex: their number, or `many`

  GSOFA_DEVICE bool may_go(index_t v) const {
    const offset_t length = s.degree(v);
    return round[v] == 0 && length > 0 && length <= longest_reduced;
  }
  GSOFA_DEVICE bool are_adjacent(index_t u, index_t v) const {
    return s.degree(v) < s.degree(u) ? s.has(v, u) : s.has(u, v);
  }
  GSOFA_DEVICE bool is_element(index_t v) const { return round[v] > last_simplicial; }
  GSOFA_DEVICE index_t root(index_t e) const {
    while (into[e] != e) e = into[e];
    return e;
  }
};

/// Calls body(is_item, k) for all k below count, in steps that all threads of a warp take together.
template <class Body>
GSOFA_DEVICE void for_items(offset_t count, Body&& body) {
  const offset_t step = offset_t{simt::grid_size()} * simt::block_size();
  for (offset_t base = offset_t{simt::block_index()} * simt::block_size(); base < count;
       base += step) {
    const offset_t k = base + simt::thread_index();
    body(k < count, k);
  }
}

/// Appends the vertices of a warp whose flag is set.
GSOFA_DEVICE void append_of_warp(bool flag, index_t v, index_t* list, std::uint32_t* count) {
  const unsigned set = simt::ballot(flag);
  if (set == 0) return;
  std::uint32_t first = 0;
  if (lane_index() == 0) {
    first = simt::atomic_add(count, static_cast<std::uint32_t>(simt::population(set)));
  }
  first = simt::shuffle(first, 0);
  if (flag) list[first + simt::population(set & ((1U << lane_index()) - 1))] = v;
}

// ------------------------------------------------------------------------- simplicial vertices

/// Whether the neighbours of v that are live when round r begins are a clique of at most
/// most_simplicial vertices. Vertices that this round has removed already count as live.
GSOFA_DEVICE bool is_simplicial(const graph_view& g, index_t v, std::uint32_t r) {
  if (!g.may_go(v)) return false;
  index_t near[most_simplicial];
  index_t count = 0;
  for (offset_t e = g.s.row_ptr[v]; e < g.s.row_ptr[v + 1]; ++e) {
    const index_t w = g.s.col_idx[e];
    if (g.round[w] != 0 && g.round[w] != r) continue;
    if (count == most_simplicial || (count > 0 && !g.are_adjacent(near[0], w))) return false;
    near[count++] = w;
  }
  for (index_t i = 2; i < count; ++i) {
    for (index_t j = 1; j < i; ++j) {
      if (!g.are_adjacent(near[i], near[j])) return false;
    }
  }
  return true;
}

/// Vertices that the first round looks at.
struct first_counts {
  std::uint32_t present;  ///< with neighbours
  std::uint32_t small;    ///< of degree 2, not simplicial
};

/// The first round: looks at all vertices.
GSOFA_KERNEL void first_kernel(graph_view g, first_counts* first, round_counts* counts) {
  simt::after_earlier_launches();
  for_items(g.s.n, [&](bool is_item, offset_t k) {
    const auto v = static_cast<index_t>(k);
    const offset_t degree = is_item ? g.s.degree(v) : 0;
    const bool goes = is_item && is_simplicial(g, v, 1);
    if (goes) g.round[v] = 1;
    append_of_warp(goes, v, g.going, &counts->going);
    const unsigned present = simt::ballot(degree > 0);
    const unsigned small = simt::ballot(degree == 2 && !goes);
    if (lane_index() != 0) return;
    if (present != 0) {
      simt::atomic_add(&first->present, static_cast<std::uint32_t>(simt::population(present)));
    }
    if (small != 0) {
      simt::atomic_add(&first->small, static_cast<std::uint32_t>(simt::population(small)));
    }
  });
}

/// A later round r; `before` has the numbers of the round before.
GSOFA_KERNEL void simplicial_kernel(graph_view g, std::uint32_t r, const round_counts* before,
                                    round_counts* counts) {
  simt::after_earlier_launches();
  if (is_slow_round(before->going, g.present)) return;
  for_items(before->changed, [&](bool is_item, offset_t k) {
    const index_t v = is_item ? g.changed[k] : 0;
    const bool goes = is_item && is_simplicial(g, v, r);
    if (goes) g.round[v] = r;
    append_of_warp(goes, v, g.going, &counts->going);
  });
}

/// Lists the neighbours of the vertices that round r has removed.
GSOFA_KERNEL void changed_kernel(graph_view g, std::uint32_t r, round_counts* counts) {
  simt::after_earlier_launches();
  for_items(counts->going, [&](bool is_item, offset_t k) {
    if (!is_item) return;
    const index_t v = g.going[k];
    for (offset_t e = g.s.row_ptr[v]; e < g.s.row_ptr[v + 1]; ++e) {
      const index_t w = g.s.col_idx[e];
      if (g.round[w] != 0 || simt::atomic_max(g.listed + w, r) >= r) continue;
      g.changed[simt::atomic_add(&counts->changed, std::uint32_t{1})] = w;
    }
  });
}

// -------------------------------------------------------------------- vertices of small degree

/// Numbers of the vertices with neighbours.
struct present_op {
  using value = index_t;
  pattern_rows s;
  index_t* number;

  GSOFA_DEVICE static value identity() { return 0; }
  GSOFA_DEVICE static value combine(value a, value b) { return a + b; }
  GSOFA_DEVICE offset_t count() const { return s.n; }
  GSOFA_DEVICE value item(index_t v) const { return s.degree(v) > 0 ? 1 : 0; }
  GSOFA_DEVICE void emit(index_t v, value upto) const { number[v] = upto - item(v); }
};

/// Adds u to the neighbours of v; false if there are too many.
GSOFA_DEVICE bool add_near(const graph_view& g, index_t v, index_t u, index_t* near, int& count) {
  if (u == v) return true;
  for (int k = 0; k < count; ++k) {
    if (near[k] == u) return true;
  }
  if (count == g.degree) return false;
  near[count++] = u;
  return true;
}

/// Finds the neighbours of v in the elimination graph if there are at most `degree`.
GSOFA_DEVICE void find_near(const graph_view& g, index_t v) {
  index_t* const near = g.near + offset_t{v} * g.degree;
  int count = 0;
  g.near_count[v] = many;
  if (!g.may_go(v)) return;
  for (offset_t e = g.s.row_ptr[v]; e < g.s.row_ptr[v + 1]; ++e) {
    const index_t w = g.s.col_idx[e];
    if (g.round[w] == 0) {
      if (!add_near(g, v, w, near, count)) return;
    } else if (g.is_element(w)) {
      const index_t element = g.root(w);
      const index_t* const members = g.near + offset_t{element} * g.degree;
      for (int k = 0; k < g.near_count[element]; ++k) {
        if (!add_near(g, v, members[k], near, count)) return;
      }
    }
  }
  g.near_count[v] = static_cast<std::uint8_t>(count);
}

GSOFA_KERNEL void all_near_kernel(graph_view g) {
  simt::after_earlier_launches();
  for_items(g.s.n, [&](bool is_item, offset_t k) {
    if (is_item) find_near(g, static_cast<index_t>(k));
  });
}

/// Whether v is eliminated before its neighbour u.
GSOFA_DEVICE bool precedes(const graph_view& g, index_t v, index_t u) {
  if (g.near_count[v] != g.near_count[u]) return g.near_count[v] < g.near_count[u];
  const std::uint32_t hash_v = vertex_hash(0, g.number[v]);
  const std::uint32_t hash_u = vertex_hash(0, g.number[u]);
  return hash_v != hash_u ? hash_v < hash_u : v < u;
}

/// Removes an independent set: the vertices of at most `most` neighbours that precede them.
GSOFA_KERNEL void independent_kernel(graph_view g, std::uint32_t r, const round_counts* before,
                                     round_counts* counts) {
  simt::after_earlier_launches();
  const std::uint32_t most =
      before->most + (is_last_round_of_degree(before->going, g.present) ? 1 : 0);
  if (simt::block_index() == 0 && simt::thread_index() == 0) counts->most = most;
  if (most > static_cast<std::uint32_t>(g.degree)) return;
  for_items(g.s.n, [&](bool is_item, offset_t k) {
    const auto v = static_cast<index_t>(k);
    bool goes = is_item && g.round[v] == 0 && g.near_count[v] <= most;
    if (goes) {
      const index_t* const near = g.near + offset_t{v} * g.degree;
      for (int i = 0; i < g.near_count[v] && goes; ++i) goes = precedes(g, v, near[i]);
    }
    if (goes) g.round[v] = r;
    append_of_warp(goes, v, g.going, &counts->going);
  });
}

/// The vertices that round r has removed become elements and absorb those in their rows; lists
/// their neighbours. Elements in the row of v have v as a member, so that no other vertex of an
/// independent set meets them.
GSOFA_KERNEL void eliminate_kernel(graph_view g, std::uint32_t r, round_counts* counts) {
  simt::after_earlier_launches();
  for_items(counts->going, [&](bool is_item, offset_t k) {
    if (!is_item) return;
    const index_t v = g.going[k];
    g.into[v] = v;
    for (offset_t e = g.s.row_ptr[v]; e < g.s.row_ptr[v + 1]; ++e) {
      const index_t w = g.s.col_idx[e];
      if (g.is_element(w)) g.into[g.root(w)] = v;
    }
    const index_t* const near = g.near + offset_t{v} * g.degree;
    for (int i = 0; i < g.near_count[v]; ++i) {
      if (simt::atomic_max(g.listed + near[i], r) >= r) continue;
      g.changed[simt::atomic_add(&counts->changed, std::uint32_t{1})] = near[i];
    }
  });
}

GSOFA_KERNEL void changed_near_kernel(graph_view g, const round_counts* counts) {
  simt::after_earlier_launches();
  for_items(counts->changed, [&](bool is_item, offset_t k) {
    if (is_item) find_near(g, g.changed[k]);
  });
}

/// Vertices removed after round `last` are live again.
GSOFA_KERNEL void undo_kernel(index_t n, std::uint32_t last, std::uint32_t* round) {
  simt::after_earlier_launches();
  for_items(n, [&](bool is_item, offset_t v) {
    if (is_item && round[v] > last) round[v] = 0;
  });
}

// ------------------------------------------------------------------------------------- result

/// Lists kept vertices and numbers them; the removed ones become words, round and vertex.
struct vertex_op {
  struct value {
    index_t kept;
    index_t removed;
  };
  index_t n;
  const std::uint32_t* round;
  index_t* id;    ///< out: number among the kept vertices, none for others
  index_t* kept;  ///< out
  coding code;
  word_t* removed;  ///< out

  GSOFA_DEVICE static value identity() { return {0, 0}; }
  GSOFA_DEVICE static value combine(const value& a, const value& b) {
    return {a.kept + b.kept, a.removed + b.removed};
  }
  GSOFA_DEVICE offset_t count() const { return n; }
  GSOFA_DEVICE value item(index_t v) const { return round[v] == 0 ? value{1, 0} : value{0, 1}; }
  GSOFA_DEVICE void emit(index_t v, const value& upto) const {
    id[v] = round[v] == 0 ? upto.kept - 1 : none;
    if (round[v] == 0) {
      kept[upto.kept - 1] = v;
    } else {
      removed[upto.removed - 1] = code.word(static_cast<index_t>(round[v]), v);
    }
  }
};

/// Calls body(u) for the neighbours of v, removed in this order, at its elimination.
template <class Body>
GSOFA_DEVICE void for_front(const graph_view& g, index_t v, Body&& body) {
  const std::uint32_t r = g.round[v];
  if (g.is_element(v)) {
    const index_t* const near = g.near + offset_t{v} * g.degree;
    for (int k = 0; k < g.near_count[v]; ++k) body(near[k]);
    return;
  }
  for (offset_t e = g.s.row_ptr[v]; e < g.s.row_ptr[v + 1]; ++e) {
    const index_t w = g.s.col_idx[e];
    const std::uint32_t other = g.round[w];
    if (other == 0 || other > r || (other == r && w > v)) body(w);
  }
}

/// Lists the removed vertices in order; begins of their fronts, and of the words of elements that
/// none has absorbed.
struct front_op {
  struct value {
    offset_t front;
    offset_t words;
  };
  graph_view g;
  index_t removed;
  coding code;
  const word_t* order;
  index_t* vertex;       ///< out
  offset_t* start;       ///< out: removed + 1
  offset_t* word_start;  ///< out: removed + 1

  GSOFA_DEVICE static value identity() { return {0, 0}; }
  GSOFA_DEVICE static value combine(const value& a, const value& b) {
    return {a.front + b.front, a.words + b.words};
  }
  GSOFA_DEVICE offset_t count() const { return removed; }
  GSOFA_DEVICE value item(index_t k) const {
    const index_t v = code.column(order[k]);
    offset_t size = 0;
    for_front(g, v, [&](index_t) { ++size; });
    return {size, g.is_element(v) && g.into[v] == v ? size * (size - 1) : 0};
  }
  GSOFA_DEVICE void emit(index_t k, const value& upto) const {
    vertex[k] = code.column(order[k]);
    start[k + 1] = upto.front;
    word_start[k + 1] = upto.words;
  }
};

GSOFA_KERNEL void front_kernel(graph_view g, index_t removed, const index_t* vertex,
                               const offset_t* start, index_t* front) {
  simt::after_earlier_launches();
  for_items(removed, [&](bool is_item, offset_t k) {
    if (!is_item) return;
    index_t* next = front + start[k];
    for_front(g, vertex[k], [&](index_t u) { *next++ = u; });
  });
}

/// Words of the entries that join kept vertices; other places get row n.
GSOFA_KERNEL void kept_entries_kernel(matrix_view a, const index_t* id, coding code,
                                      word_t* words) {
  simt::after_earlier_launches();
  for_each_place(
      a,
      [&](bool is_entry, offset_t e, index_t i, index_t j) {
        if (!is_entry) return;
        const bool are_kept = id[i] != none && id[j] != none;
        words[e] = are_kept ? code.word(id[i], id[j]) : code.row_begin(code.n);
      },
      [] {});
}

/// Words of the pairs of members of the elements that none has absorbed.
GSOFA_KERNEL void element_kernel(graph_view g, index_t removed, const index_t* vertex,
                                 const offset_t* word_start, const index_t* id, coding code,
                                 word_t* words) {
  simt::after_earlier_launches();
  for_items(removed, [&](bool is_item, offset_t k) {
    if (!is_item || word_start[k] == word_start[k + 1]) return;
    const index_t v = vertex[k];
    const index_t* const near = g.near + offset_t{v} * g.degree;
    word_t* next = words + word_start[k];
    for (int i = 0; i < g.near_count[v]; ++i) {
      for (int j = 0; j < g.near_count[v]; ++j) {
        if (i != j) *next++ = code.word(id[near[i]], id[near[j]]);
      }
    }
  });
}

class reducer {
 public:
  reducer(const device_pattern& s, int degree, memory_budget& budget)
      : budget_(budget),
        s_(s),
        round_(budget, "reduction", s.n),
        going_(budget, "reduction", s.n),
        changed_(budget, "reduction", s.n),
        listed_(budget, "reduction", s.n),
        counts_(budget, "reduction", most_rounds),
        first_(budget, "reduction", 1) {
    fill_bytes(round_.data(), 0, s.n);
    fill_bytes(listed_.data(), 0, s.n);
    fill_bytes(counts_.data(), 0, most_rounds);
    fill_bytes(first_.data(), 0, 1);
    g_.s = {s.n, s.row_ptr.data(), s.col_idx.data()};
    g_.round = round_.data();
    g_.going = going_.data();
    g_.changed = changed_.data();
    g_.listed = listed_.data();
    g_.degree = degree;
  }

  /// Removes vertices; false if there are none to remove. always: also where few can be removed.
  bool run(bool always) {
    if (!begin(always)) return false;
    remove_simplicial();
    if (g_.degree > 1) remove_small();
    return removed_ > 0;
  }

  /// Whether run() has removed vertices of small degree.
  [[nodiscard]] bool leaves_core() const { return leaves_core_; }

  reduction result(device_pattern& rest) {
    reduction r;
    const auto kept = g_.s.n - removed_;
    const device_array<index_t> id(budget_, "reduction", g_.s.n);
    const coding code(g_.s.n);
    sorted_words order(removed_, budget_);
    const device_array<vertex_op::value> sums(budget_, "scan_buffer", threads_per_block);
    // The lists of rounds are not needed any more.
    scan(vertex_op{g_.s.n, g_.round, id.data(), g_.going, code, order.data()}, g_.s.n, sums.data());
    r.kept.resize(at(kept));
    copy_to_host(r.kept.data(), g_.going, kept);
    order.sort(code.bits + std::bit_width(most_rounds));
    const device_array<offset_t> start(budget_, "reduction", removed_ + offset_t{1});
    const device_array<offset_t> word_start(budget_, "reduction", removed_ + offset_t{1});
    const device_array<front_op::value> front_sums(budget_, "scan_buffer", threads_per_block);
    fill_bytes(start.data(), 0, 1);
    fill_bytes(word_start.data(), 0, 1);
    scan(front_op{g_, removed_, code, order.data(), g_.changed, start.data(), word_start.data()},
         removed_, front_sums.data());
    list_removed(r, start.data());
    offset_t words = 0;
    copy_to_host(&words, word_start.data() + removed_, 1);
    make_rest(kept, id.data(), word_start.data(), words, rest);
    return r;
  }

 private:
  static constexpr std::uint32_t most_rounds = 1200;
  static constexpr std::uint32_t rounds_of_batch = 8;

  [[nodiscard]] round_counts* counts_of(std::uint32_t round) const {
    return counts_.data() + round;
  }
  [[nodiscard]] int blocks() const { return blocks_for(g_.s.n); }

  /// The first round. Most graphs end here.
  bool begin(bool always) {
    launch_overlapping(first_kernel, blocks(), threads_per_block, 0, g_, first_.data(),
                       counts_of(1));
    first_counts first{};
    round_counts going{};
    copy_to_host(&first, first_.data(), 1);
    copy_to_host(&going, counts_of(1), 1);
    g_.present = static_cast<index_t>(first.present);
    const offset_t small = g_.degree > 1 ? first.small : 0;
    return always ? going.going > 0 : is_reducible(small + going.going, g_.present);
  }

  /// Launches rounds in batches until ends(numbers of a round) is true for one; adds the vertices
  /// that they remove. Returns the number of the last round.
  template <class Launch, class Ends>
  std::uint32_t run_rounds(std::uint32_t round, Launch&& launch_round, Ends&& ends) {
    for (;;) {
      const std::uint32_t first = round;
      for (; round < first + rounds_of_batch; ++round) launch_round(round);
      round_counts counts[rounds_of_batch];
      copy_to_host(counts, counts_of(first), rounds_of_batch);
      for (const round_counts& c : counts) {
        removed_ += static_cast<index_t>(c.going);
        if (ends(c)) return round - 1;
      }
    }
  }

  void remove_simplicial() {
    const auto launch_round = [&](std::uint32_t r) {
      if (r > 1) {
        launch_overlapping(simplicial_kernel, blocks(), threads_per_block, 0, g_, r,
                           static_cast<const round_counts*>(counts_of(r - 1)), counts_of(r));
      }
      launch_overlapping(changed_kernel, blocks(), threads_per_block, 0, g_, r, counts_of(r));
    };
    g_.last_simplicial = run_rounds(
        1, launch_round, [&](const round_counts& c) { return is_slow_round(c.going, g_.present); });
  }

  void remove_small() {
    const index_t n = g_.s.n;
    const index_t before = removed_;
    number_ = {budget_, "reduction", n};
    into_ = {budget_, "reduction", n};
    near_ = {budget_, "reduction", offset_t{n} * g_.degree};
    near_count_ = {budget_, "reduction", n};
    g_.number = number_.data();
    g_.into = into_.data();
    g_.near = near_.data();
    g_.near_count = near_count_.data();
    const device_array<index_t> sums(budget_, "scan_buffer", threads_per_block);
    scan(present_op{g_.s, number_.data()}, n, sums.data());
    launch_overlapping(all_near_kernel, blocks(), threads_per_block, 0, g_);
    // The numbers before the first round: vertices of degree 2 go first.
    const round_counts none_yet{static_cast<std::uint32_t>(g_.present), 0, 2};
    copy_to_device(counts_of(g_.last_simplicial), &none_yet, 1);
    const auto launch_round = [&](std::uint32_t r) {
      launch_overlapping(independent_kernel, blocks(), threads_per_block, 0, g_, r,
                         static_cast<const round_counts*>(counts_of(r - 1)), counts_of(r));
      launch_overlapping(eliminate_kernel, blocks(), threads_per_block, 0, g_, r, counts_of(r));
      launch_overlapping(changed_near_kernel, blocks(), threads_per_block, 0, g_,
                         static_cast<const round_counts*>(counts_of(r)));
    };
    run_rounds(g_.last_simplicial + 1, launch_round, [&](const round_counts& c) {
      return c.most > static_cast<std::uint32_t>(g_.degree);
    });
    leaves_core_ = is_core(g_.present - removed_, g_.present - before);
    if (leaves_core_) return;
    launch_overlapping(undo_kernel, blocks(), threads_per_block, 0, n, g_.last_simplicial,
                       g_.round);
    removed_ = before;
  }

  void list_removed(reduction& r, const offset_t* start) {
    r.removed.resize(at(removed_));
    copy_to_host(r.removed.data(), g_.changed, removed_);
    r.front_start.resize(at(removed_) + 1);
    copy_to_host(r.front_start.data(), start, removed_ + offset_t{1});
    const device_array<index_t> front(budget_, "reduction", r.front_start.back());
    launch_overlapping(front_kernel, blocks_for(removed_), threads_per_block, 0, g_, removed_,
                       static_cast<const index_t*>(g_.changed), start, front.data());
    r.front.resize(at(r.front_start.back()));
    copy_to_host(r.front.data(), front.data(), r.front_start.back());
  }

  void make_rest(index_t kept, const index_t* id, const offset_t* word_start,
                 offset_t words_of_elements, device_pattern& rest) {
    const coding code(kept);
    sorted_words words(s_.nnz + words_of_elements, budget_);
    launch_on_entries(kept_entries_kernel,
                      entries_of(s_.row_ptr.data(), s_.col_idx.data(), s_.n, s_.nnz), id, code,
                      words.data());
    if (words_of_elements > 0) {
      launch_overlapping(element_kernel, blocks_for(removed_), threads_per_block, 0, g_, removed_,
                         static_cast<const index_t*>(g_.changed), word_start, id, code,
                         words.data() + s_.nnz);
    }
    rest = patterns::pattern_of(words, code, true, budget_);
  }

  memory_budget& budget_;
  const device_pattern& s_;
  graph_view g_{};
  index_t removed_ = 0;
  bool leaves_core_ = false;
  device_array<std::uint32_t> round_;
  device_array<index_t> going_, changed_;
  device_array<std::uint32_t> listed_;
  device_array<round_counts> counts_;
  device_array<first_counts> first_;
  device_array<index_t> number_, into_, near_;
  device_array<std::uint8_t> near_count_;
};

/// Reduces once: `rest` gets the graph that is left if vertices are removed.
reduction reduce_once(const device_pattern& graph, int degree, bool always, memory_budget& budget,
                      device_pattern& rest, bool& leaves_core) {
  reducer own(graph, degree, budget);
  if (!own.run(always)) return {};
  leaves_core = own.leaves_core();
  return own.result(rest);
}

}  // namespace

reduction reduce(device_pattern& graph, int degree, memory_budget& budget) {
  if (degree == 0 || graph.n == 0) return {};
  bool leaves_core = false;
  device_pattern rest;
  reduction r = reduce_once(graph, degree, false, budget, rest, leaves_core);
  if (r.removed.empty()) return r;
  if (leaves_core && rest.n > 0) {
    device_pattern core;
    reduction next = reduce_once(rest, 1, true, budget, core, leaves_core);
    if (!next.removed.empty()) rest = std::move(core);
    append(r, std::move(next));
  }
  graph = std::move(rest);
  return r;
}

}  // namespace gsofa::orders::device

#endif
