// Graphs of nested dissection on the device: coarsening and splitting.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>
#include <limits>

#include "variants/device/lent.hpp"
#include "variants/orderings/gpu_dissection.hpp"
#include "variants/orderings/gpu_dissection_rows.hpp"
#include "variants/orderings/nested_dissection_arithmetic.hpp"

namespace gsofa::gpu::dissection {

// Not anonymous, since a type that the header names has members of these types.
namespace graph_kernels {

using namespace orderings;  // NOLINT(google-build-using-namespace)

constexpr index_t unmatched = -1;
constexpr index_t nobody = -1;
constexpr index_t unknown = -2;
constexpr index_t isolated = -3;  // the meeting place of isolated vertices

// On the emulator small graphs must be matched by the whole grid and have rows larger than tables.
#if defined(__CUDACC__)
constexpr index_t small_graph = 2048;  // vertices of a graph that one block matches
constexpr unsigned table_slots = 128;  // of a group, for the row of a coarse vertex
constexpr unsigned bitmap_words = 1024;
#else
constexpr index_t small_graph = 100;
constexpr unsigned table_slots = 32;
constexpr unsigned bitmap_words = 2;
#endif

/// Page-locked memory is slow to get: there is room for many at once, and it grows by factors.
template <class T>
void reserve(pinned_vector<T>& host, std::size_t size) {
  constexpr std::size_t least = 2048;
  if (host.size() < size) host.resize(std::max({least, size, 2 * host.size()}));
}

// --------------------------------------------------------------------------------- matching

/// A coarsening as kernels see it. The vertices of the parent have numbers first .. last - 1 among
/// those of all coarsenings: `virtual` numbers.
struct task {
  std::uint64_t key;
  offset_t most;
  index_t parent;
  index_t first, last;
};

/// What the host learns of a coarsening.
struct task_result {
  index_t vertices;
  offset_t room;
};

/// The vertices that one matching sees: low .. high - 1, vertex i there is i + to_fine of the fine
/// level and has virtual number i + to_virtual.
struct scope {
  index_t task;
  index_t parent;
  index_t to_fine, to_virtual;
  index_t low, high;
  offset_t most;
};

/// All coarsenings, in virtual numbers.
struct all_tasks {
  const task* tasks;
  const index_t* owner;
  const index_t* first;  ///< of the fine level

  GSOFA_DEVICE scope of(index_t i) const {
    const index_t k = owner[i];
    const task t = tasks[k];
    return {k, t.parent, first[t.parent] - t.first, 0, t.first, t.last, t.most};
  }
};

/// One coarsening, in local numbers.
struct one_task {
  scope all;
  GSOFA_DEVICE scope of(index_t) const { return all; }
};

struct matching {
  std::uint64_t* seen;  ///< what neighbours see of a vertex: seen_word()
  index_t* match;
  index_t* proposal;
  std::uint32_t* guests;    ///< vertices that have chosen a vertex as their meeting place
  std::uint32_t* isolated;  ///< of the whole device: not 0 if a vertex is isolated
};
/// Set in the word of a matched vertex: a weight that is more than any.
constexpr std::uint64_t taken = std::uint64_t{0xffffffffU} << 32;
/// The weight of a vertex, and the hash that breaks ties of its edges.
GSOFA_DEVICE std::uint64_t seen_word(index_t weight, std::uint32_t tie) {
  return (static_cast<std::uint64_t>(weight) << 32) | tie;
}
GSOFA_DEVICE std::uint32_t tie_of(std::uint64_t seen) { return static_cast<std::uint32_t>(seen); }

template <class Tasks>
struct matching_op {
  static constexpr offset_t longest = long_row;
  level_view g;
  matching m;
  Tasks tasks;

  GSOFA_DEVICE offset_t degree(index_t i) const {
    const index_t v = i + tasks.of(i).to_fine;
    return g.end[v] - g.begin[v];
  }
  GSOFA_DEVICE void pair(index_t i, index_t j) const {
    const scope s = tasks.of(i);
    if (offset_t{g.weight[i + s.to_fine]} + g.weight[j + s.to_fine] > s.most) return;
    m.match[i] = j;
    m.match[j] = i;
  }
  GSOFA_DEVICE void finish() const {}
};

/// Free vertices propose to their best neighbours.
template <class Tasks>
struct propose_op : matching_op<Tasks> {
  using matching_op<Tasks>::g;
  using matching_op<Tasks>::m;

  GSOFA_DEVICE offset_t length(index_t i) const {
    if (m.match[i] != unmatched) return -1;
    const index_t p = m.proposal[i];
    if (p == nobody || (p >= 0 && m.match[p] == unmatched)) return -1;
    return this->degree(i);
  }
  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t i, offset_t length) const {
    best_edge mine{0, nobody};
    if (length > 0) {
      const scope s = this->tasks.of(i);
      const index_t v = i + s.to_fine;
      const offset_t begin = g.begin[v];
      const std::uint32_t tie = tie_of(m.seen[i]);
      const offset_t most = s.most - g.weight[v];
      for (offset_t e = begin + team.rank(); e < begin + length; e += team.size()) {
        const index_t u = g.adj[e] - s.to_fine;
        const index_t w = g.edge == nullptr ? 1 : g.edge[e];
        const std::uint64_t seen = m.seen[u];
        const bool fits = static_cast<offset_t>(seen >> 32) <= most;
        const best_edge other{edge_rank_of(w, tie, tie_of(seen)), u};
        if (fits && mine.below(other)) mine = other;
      }
    }
    mine = team.best(mine);
    if (length >= 0 && team.rank() == 0) m.proposal[i] = mine.u;
  }
};

/// Matches i if it and its best neighbour have chosen each other.
GSOFA_DEVICE bool accept(const matching& m, index_t i) {
  if (m.match[i] != unmatched) return false;
  const index_t p = m.proposal[i];
  if (p < 0 || m.proposal[p] != i) return false;
  m.match[i] = p;
  m.seen[i] |= taken;
  return true;
}

/// Free vertices choose meeting places; the others have none.
template <class Tasks>
struct meet_op : matching_op<Tasks> {
  using matching_op<Tasks>::g;
  using matching_op<Tasks>::m;

  GSOFA_DEVICE offset_t length(index_t i) const {
    if (m.match[i] == unmatched) return this->degree(i);
    m.proposal[i] = nobody;
    return -1;
  }
  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t i, offset_t length) const {
    best_edge mine{0, nobody};
    if (length > 0) {
      const index_t to_fine = this->tasks.of(i).to_fine;
      const offset_t begin = g.begin[i + to_fine];
      const std::uint32_t tie = tie_of(m.seen[i]);
      for (offset_t e = begin + team.rank(); e < begin + length; e += team.size()) {
        const index_t u = g.adj[e] - to_fine;
        const index_t w = g.edge == nullptr ? 1 : g.edge[e];
        const best_edge other{edge_rank_of(w, tie, tie_of(m.seen[u])), u};
        if (mine.below(other)) mine = other;
      }
    }
    mine = team.best(mine);
    if (i == none || team.rank() != 0) return;
    index_t place = nobody;
    if (length == 0) {
      place = isolated;
      if (m.isolated != nullptr && *m.isolated == 0) simt::atomic_or(m.isolated, 1U);
    } else {
      const scope s = this->tasks.of(i);
      const offset_t widest = widest_meeting_place(g.entries[s.parent], s.high - s.low);
      if (length == 1 || this->degree(mine.u) <= widest) place = mine.u;
      if (place != nobody) simt::atomic_add(m.guests + place, std::uint32_t{1});
    }
    m.proposal[i] = place;
  }
};

/// The number of items of a run of vertices, and the last one.
struct run {
  index_t count;
  index_t last;

  GSOFA_DEVICE void append(const run& o) {
    count += o.count;
    if (o.count > 0) last = o.last;
  }
};

/// Exclusive scan over the block: `mine` becomes the run of all threads before; returns that of
/// all.
GSOFA_DEVICE run scan_runs(run& mine, run* values) {
  const unsigned thread = simt::thread_index();
  const unsigned threads = simt::block_size();
  unsigned side = 0;
  values[thread] = mine;
  simt::sync_block();
  for (unsigned step = 1; step < threads; step *= 2, side ^= 1U) {
    run sum = values[side * threads + thread];
    if (thread >= step) {
      run before = values[side * threads + thread - step];
      before.append(sum);
      sum = before;
    }
    values[(side ^ 1U) * threads + thread] = sum;
    simt::sync_block();
  }
  mine = thread == 0 ? run{0, none} : values[side * threads + thread - 1];
  const run all = values[side * threads + threads - 1];
  simt::sync_block();
  return all;
}

/// What pairs of guests need in shared memory, for blocks of so many threads.
constexpr std::size_t guest_bytes(int threads) {
  return bitmap_words * sizeof(std::uint32_t) + 2 * at(threads) * sizeof(run);
}

/// The guests of each meeting place pair up in order of their numbers: the first with the second,
/// the third with the fourth. They are neighbours of the place.
template <class Tasks>
struct pair_op : matching_op<Tasks> {
  std::uint32_t bitmap_at;  ///< byte of shared memory

  GSOFA_DEVICE offset_t length(index_t i) const {
    return this->m.guests[i] < 2 ? -1 : this->degree(i);
  }
  GSOFA_DEVICE void row(lane_group& team, index_t place, offset_t length) const {
    if (length <= 0) return;
    const index_t* const proposal = this->m.proposal;
    const index_t to_fine = this->tasks.of(place).to_fine;
    const offset_t begin = this->g.begin[place + to_fine];
    for (offset_t e = begin + team.rank(); e < begin + length; e += lane_group::size()) {
      const index_t u = this->g.adj[e] - to_fine;
      if (proposal[u] != place) continue;
      run before{0, none};
      for (offset_t f = begin; f < begin + length; ++f) {
        const index_t w = this->g.adj[f] - to_fine;
        if (w >= u || proposal[w] != place) continue;
        ++before.count;
        if (w > before.last) before.last = w;
      }
      if (before.count % 2 == 1) this->pair(u, before.last);
    }
  }
  /// Guests are bits of windows of the vertices.
  GSOFA_DEVICE void row(whole_block& team, index_t place, offset_t length) const {
    auto* const bitmap =
        reinterpret_cast<std::uint32_t*>(simt::shared_memory<unsigned char>() + bitmap_at);
    auto* const values = reinterpret_cast<run*>(bitmap + bitmap_words);
    const index_t* const proposal = this->m.proposal;
    const scope s = this->tasks.of(place);
    const offset_t begin = this->g.begin[place + s.to_fine];
    constexpr offset_t window = 32 * offset_t{bitmap_words};
    const unsigned per_thread = (bitmap_words - 1) / team.size() + 1;
    run earlier{0, none};
    for (offset_t low = s.low; low < s.high; low += window) {
      for (unsigned k = team.rank(); k < bitmap_words; k += team.size()) bitmap[k] = 0;
      simt::sync_block();
      for (offset_t e = begin + team.rank(); e < begin + length; e += team.size()) {
        const index_t u = this->g.adj[e] - s.to_fine;
        if (u < low || u >= low + window || proposal[u] != place) continue;
        const auto k = static_cast<unsigned>(u - low);
        simt::atomic_or(bitmap + k / 32, std::uint32_t{1} << (k % 32));
      }
      simt::sync_block();
      const unsigned first = team.rank() * per_thread;
      const unsigned last = first + per_thread < bitmap_words ? first + per_thread : bitmap_words;
      run mine{0, none};
      for (unsigned k = first; k < last; ++k) {
        if (bitmap[k] == 0) continue;
        mine.count += static_cast<index_t>(simt::population(bitmap[k]));
        mine.last = static_cast<index_t>(low + offset_t{32} * k + simt::highest_bit(bitmap[k]));
      }
      const run all = scan_runs(mine, values);
      run before = earlier;
      before.append(mine);
      for (unsigned k = first; k < last; ++k) {
        for (std::uint32_t bits = bitmap[k]; bits != 0; bits &= bits - 1) {
          const auto u = static_cast<index_t>(low + offset_t{32} * k + simt::lowest_bit(bits));
          if (before.count % 2 == 1) this->pair(u, before.last);
          before.append({1, u});
        }
      }
      earlier.append(all);
      simt::sync_block();
    }
  }
};

/// Pairs the isolated vertices of each coarsening, by a scan: their number since the first vertex
/// of the coarsening, and the last two.
template <class Tasks>
struct isolated_op : matching_op<Tasks> {
  struct value {
    index_t count, last, previous;
    std::uint32_t starts;
  };
  index_t n;

  GSOFA_DEVICE static value identity() { return {0, none, none, 0}; }
  GSOFA_DEVICE static value combine(const value& a, const value& b) {
    if (b.starts != 0) return b;
    if (b.count == 0) return a;
    return {a.count + b.count, b.last, b.count > 1 ? b.previous : a.last, a.starts};
  }
  GSOFA_DEVICE offset_t count() const {
    return this->m.isolated != nullptr && *this->m.isolated == 0 ? 0 : n;
  }
  GSOFA_DEVICE value item(index_t i) const {
    const bool is = this->m.proposal[i] == isolated;
    return {is ? 1 : 0, is ? i : none, none, this->tasks.of(i).low == i ? 1U : 0U};
  }
  GSOFA_DEVICE void emit(index_t i, const value& upto) const {
    if (this->m.proposal[i] == isolated && upto.count % 2 == 0) this->pair(i, upto.previous);
  }
};

/// Numbers of the coarse vertices within their graphs and places for their rows, by virtual number.
struct numbering {
  index_t* id;      ///< coarse vertex of a vertex
  index_t* one;     ///< by coarse vertex: its smaller fine vertex
  index_t* two;     ///< and the other, or none
  offset_t* place;  ///< of its row, in the room of its graph
  task_result* results;
};

/// Numbers the pairs by their smaller vertices.
template <class Tasks>
struct number_op : matching_op<Tasks> {
  struct value {
    offset_t room;
    index_t vertices;
    std::uint32_t starts;
  };
  numbering to;
  index_t n;

  GSOFA_DEVICE static value identity() { return {0, 0, 0}; }
  GSOFA_DEVICE static value combine(const value& a, const value& b) {
    if (b.starts != 0) return b;
    return {a.room + b.room, a.vertices + b.vertices, a.starts};
  }
  GSOFA_DEVICE offset_t count() const { return n; }
  GSOFA_DEVICE value item(index_t i) const {
    const std::uint32_t starts = this->tasks.of(i).low == i ? 1 : 0;
    const index_t j = this->m.match[i];
    if (j != unmatched && j < i) return {0, 0, starts};
    return {this->degree(i) + (j == unmatched ? 0 : this->degree(j)), 1, starts};
  }
  GSOFA_DEVICE void emit(index_t i, const value& upto) const {
    const scope s = this->tasks.of(i);
    const index_t j = this->m.match[i];
    if (j == unmatched || j > i) {
      const index_t id = upto.vertices - 1;
      const index_t slot = s.low + s.to_virtual + id;
      const offset_t room = this->degree(i) + (j == unmatched ? 0 : this->degree(j));
      to.id[i + s.to_virtual] = id;
      if (j != unmatched) to.id[j + s.to_virtual] = id;
      to.one[slot] = i + s.to_fine;
      to.two[slot] = j == unmatched ? none : j + s.to_fine;
      to.place[slot] = upto.room - room;
    }
    if (i + 1 == s.high) to.results[s.task] = {upto.vertices, upto.room};
  }
};

/// The coarsening of a virtual number.
GSOFA_DEVICE index_t task_of(const task* tasks, index_t count, index_t x) {
  index_t low = 0;
  for (index_t high = count - 1; low < high;) {
    const index_t middle = low + (high - low) / 2;
    if (tasks[middle].last <= x) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

GSOFA_KERNEL void begin_matching_kernel(level_view g, const task* tasks, index_t count, index_t n,
                                        matching m, index_t* owner, task_result* results,
                                        offset_t* entries) {
  simt::after_earlier_launches();
  const auto step = offset_t{simt::grid_size()} * simt::block_size();
  const auto thread = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
  if (thread == 0) *m.isolated = 0;
  for (offset_t k = thread; k < count; k += step) {
    entries[k] = 0;
    if (tasks[k].first == tasks[k].last) results[k] = {0, 0};
  }
  for (offset_t k = thread; k < n; k += step) {
    const auto x = static_cast<index_t>(k);
    const index_t own = task_of(tasks, count, x);
    owner[x] = own;
    m.match[x] = unmatched;
    m.proposal[x] = unknown;
    m.guests[x] = 0;
    const task& t = tasks[own];
    const index_t v = x - t.first;
    m.seen[x] = seen_word(g.weight[g.first[t.parent] + v], vertex_hash(t.key, v));
  }
}

GSOFA_KERNEL void accept_kernel(matching m, index_t n) {
  simt::after_earlier_launches();
  const auto step = offset_t{simt::grid_size()} * simt::block_size();
  for (auto k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index(); k < n;
       k += step) {
    accept(m, static_cast<index_t>(k));
  }
}

/// Scans the items of one block in order.
template <class Op>
GSOFA_DEVICE void scan_by_block(const Op& op, typename Op::value* values) {
  const unsigned threads = simt::block_size();
  const auto count = static_cast<index_t>(op.count());
  auto carry = Op::identity();
  for (index_t base = 0; base < count; base += static_cast<index_t>(threads)) {
    const index_t k = base + static_cast<index_t>(simt::thread_index());
    const auto mine = block_scan(op, k < count ? op.item(k) : Op::identity(), values);
    if (k < count) op.emit(k, Op::combine(carry, mine));
    unsigned side = 0;
    for (unsigned step = 1; step < threads; step *= 2) side ^= 1U;
    carry = Op::combine(carry, values[side * threads + threads - 1]);
    simt::sync_block();
  }
}

/// Shared memory of match_kernel for graphs of up to so many vertices.
constexpr std::size_t match_bytes(int threads, index_t most) {
  return sizeof(some_rows_memory) + 20 * (at(most) + at(most) % 2) +
         std::max({guest_bytes(threads), scan_bytes<number_op<one_task>>(threads),
                   scan_bytes<isolated_op<one_task>>(threads)});
}

/// One block matches and numbers each graph; `most` is a bound on their vertices.
GSOFA_KERNEL void match_kernel(level_view g, const task* tasks, index_t most, numbering to,
                               index_t* owner, offset_t* entries) {
  simt::after_earlier_launches();
  const auto k = static_cast<index_t>(simt::block_index());
  const task t = tasks[k];
  const index_t n = t.last - t.first;
  const auto thread = static_cast<index_t>(simt::thread_index());
  const auto threads = static_cast<index_t>(simt::block_size());
  auto* const team = simt::shared_memory<some_rows_memory>();
  auto* const seen = reinterpret_cast<std::uint64_t*>(team + 1);
  const auto size = at(most) + at(most) % 2;
  auto* const words = reinterpret_cast<std::uint32_t*>(seen + size);
  const matching m{seen, reinterpret_cast<index_t*>(words),
                   reinterpret_cast<index_t*>(words + size), words + 2 * size, nullptr};
  auto* const rest = reinterpret_cast<unsigned char*>(words + 3 * size);
  if (thread == 0) {
    entries[k] = 0;
    if (n == 0) to.results[k] = {0, 0};
  }
  for (index_t i = thread; i < n; i += threads) {
    owner[t.first + i] = k;
    m.match[i] = unmatched;
    m.proposal[i] = unknown;
    m.guests[i] = 0;
    m.seen[i] = seen_word(g.weight[g.first[t.parent] + i], vertex_hash(t.key, i));
  }
  const one_task all{{k, t.parent, g.first[t.parent], t.first, 0, n, t.most}};
  simt::sync_block();
  propose_op<one_task> propose{{g, m, all}};
  for (int round = 0; round < handshake_rounds; ++round) {
    for_some_rows(propose, 0, n, &team->block, &team->longs);
    simt::sync_block();
    bool any = false;
    for (index_t i = thread; i < n; i += threads) any |= accept(m, i);
    if (!simt::sync_block_or(any)) break;
  }
  meet_op<one_task> meet{{g, m, all}};
  for_some_rows(meet, 0, n, &team->block, &team->longs);
  simt::sync_block();
  pair_op<one_task> pair{{g, m, all},
                         static_cast<std::uint32_t>(rest - simt::shared_memory<unsigned char>())};
  for_some_rows(pair, 0, n, &team->block, &team->longs);
  simt::sync_block();
  bool any_isolated = false;
  for (index_t i = thread; i < n; i += threads) any_isolated |= m.proposal[i] == isolated;
  using isolated_type = isolated_op<one_task>;
  if (simt::sync_block_or(any_isolated))
    scan_by_block(isolated_type{{g, m, all}, n},
                  reinterpret_cast<typename isolated_type::value*>(rest));
  simt::sync_block();
  using number_type = number_op<one_task>;
  scan_by_block(number_type{{g, m, all}, to, n},
                reinterpret_cast<typename number_type::value*>(rest));
}

// -------------------------------------------------------------------------------- contraction

/// Where the graph of a coarsening goes.
struct kept_task {
  index_t graph;  ///< none: it is dropped
  index_t first;  ///< vertex
  index_t vertices;
  offset_t room;  ///< first place of adj
  offset_t map;   ///< first place of the map
};

/// Where the graphs that have shrunk go: one after the other, by one block.
struct plan_op {
  struct value {
    offset_t room, map;
    index_t graphs, vertices;
  };
  const task* tasks;
  const task_result* results;
  index_t tasks_count;
  kept_task* kept;
  task_result* for_host;  ///< gets the results

  GSOFA_DEVICE static value identity() { return {0, 0, 0, 0}; }
  GSOFA_DEVICE static value combine(const value& a, const value& b) {
    return {a.room + b.room, a.map + b.map, a.graphs + b.graphs, a.vertices + b.vertices};
  }
  GSOFA_DEVICE offset_t count() const { return tasks_count; }
  GSOFA_DEVICE index_t size(index_t k) const { return tasks[k].last - tasks[k].first; }
  GSOFA_DEVICE value item(index_t k) const {
    const task_result r = results[k];
    if (!has_shrunk(size(k), r.vertices)) return identity();
    return {r.room, size(k), 1, r.vertices};
  }
  GSOFA_DEVICE void emit(index_t k, const value& upto) const {
    const task_result r = results[k];
    for_host[k] = r;
    kept[k] = {none, 0, 0, 0, 0};
    if (!has_shrunk(size(k), r.vertices)) return;
    kept[k] = {upto.graphs - 1, upto.vertices - r.vertices, r.vertices, upto.room - r.room,
               upto.map - size(k)};
  }
};

GSOFA_KERNEL void plan_kernel(plan_op op, std::uint32_t* note, std::uint32_t stamp) {
  simt::after_earlier_launches();
  scan_by_block(op, simt::shared_memory<plan_op::value>());
  simt::sync_block();
  if (simt::thread_index() == 0) simt::store_to_host(note, stamp);
}

constexpr std::uint32_t empty_slot = 0xffffffffU;

struct alignas(16) four_slots {
  std::uint32_t word[4];
};

/// Rows of coarse vertices: the neighbours of both fine vertices, in a table of distinct ones. The
/// table of a group of lanes has as many slots as the row has entries, or more.
struct contract_op {
  static constexpr offset_t longest = table_slots;
  struct alignas(16) memory {
    std::uint32_t key[row_groups * table_slots];
    std::uint32_t weight[row_groups * table_slots];
    std::uint8_t slot[row_groups * table_slots];  ///< of the k-th distinct neighbour
    entry_sum::memory sums;
  };
  level_view g;
  const task* tasks;
  const kept_task* kept;
  index_t tasks_count;
  const index_t* task_of_vertex;
  numbering from;
  // The coarse level.
  index_t graphs;
  index_t n;
  offset_t map_size;
  index_t *first, *owner, *adj, *edge, *weight, *parent, *map;
  offset_t *begin, *end, *total, *entries, *map_first;
  entry_sum sum;

  GSOFA_DEVICE offset_t length(index_t x) const {
    const index_t k = task_of_vertex[x];
    const kept_task& to = kept[k];
    if (to.graph == none) return -1;
    const index_t local = x - tasks[k].first;
    map[to.map + local] = to.first + from.id[x];
    if (local >= to.vertices) return -1;
    const index_t v = from.one[x];
    const index_t u = from.two[x];
    return g.end[v] - g.begin[v] + (u == none ? 0 : g.end[u] - g.begin[u]);
  }

  /// Where the entries of a row are: those of the one fine vertex, then those of the other.
  struct source {
    offset_t of_one, begin_one, begin_two;
    index_t to_virtual, local;

    GSOFA_DEVICE offset_t at(offset_t e) const { return (e < of_one ? begin_one : begin_two) + e; }
  };
  GSOFA_DEVICE source source_of(index_t x, index_t k) const {
    const index_t v = from.one[x];
    const index_t u = from.two[x];
    const offset_t begin_v = g.begin[v];
    const offset_t of_v = g.end[v] - begin_v;
    return {of_v, begin_v, u == none ? 0 : g.begin[u] - of_v,
            tasks[k].first - g.first[tasks[k].parent], x - tasks[k].first};
  }
  /// The neighbour of an entry, or the vertex itself.
  GSOFA_DEVICE index_t neighbour(const source& s, offset_t e) const {
    return from.id[g.adj[s.at(e)] + s.to_virtual];
  }
  GSOFA_DEVICE std::uint32_t weight_of(const source& s, offset_t e) const {
    return g.edge == nullptr ? 1U : static_cast<std::uint32_t>(g.edge[s.at(e)]);
  }

  GSOFA_DEVICE void row(lane_group& team, index_t x, offset_t length) {
    memory* const shared = shared_of_some_rows<memory>();
    const unsigned table = lane_group::index() * table_slots;
    std::uint32_t* const key = shared->key + table;
    std::uint32_t* const sums = shared->weight + table;
    std::uint8_t* const slot = shared->slot + table;
    const unsigned rank = lane_group::rank();
    unsigned slots = 4 * lanes;
    while (slots < length) slots *= 2;
    for (unsigned s = 4 * rank; s < slots; s += 4 * lanes) {
      *reinterpret_cast<four_slots*>(key + s) = {empty_slot, empty_slot, empty_slot, empty_slot};
      *reinterpret_cast<four_slots*>(sums + s) = {};
    }
    source of{};
    kept_task to{none, 0, 0, 0, 0};
    offset_t place = 0;
    if (length >= 0) {
      const index_t k = task_of_vertex[x];
      to = kept[k];
      of = source_of(x, k);
      place = to.room + from.place[x];
    }
    simt::sync_warp();
    offset_t found = 0;
    const offset_t steps = team.most_steps(length < 0 ? 0 : (length + lanes - 1) / lanes);
    for (offset_t step = 0; step < steps; ++step) {
      const offset_t e = step * lanes + rank;
      const index_t c = e < length ? neighbour(of, e) : of.local;
      const std::uint32_t w = e < length ? weight_of(of, e) : 0;
      entry at{0, false};
      if (c != of.local) at = insert(key, sums, slots, static_cast<std::uint32_t>(c), w);
      const offset_t there = team.place(at.is_new, found);
      if (!at.is_new) continue;
      slot[there] = static_cast<std::uint8_t>(at.slot);
      adj[place + there] = to.first + c;
    }
    simt::sync_warp();
    for (offset_t k = rank; k < found; k += lanes) {
      edge[place + k] = static_cast<index_t>(sums[slot[k]]);
    }
    if (length >= 0 && rank == 0) end_row(x, to, of.local, place, found);
    simt::sync_warp();
  }

  /// Of long rows. The table has twice as many slots as keys, or as many where rows are longer
  /// still: then it is the row itself.
  GSOFA_DEVICE void row(whole_block& team, index_t x, offset_t length) {
    memory* const shared = shared_of_some_rows<memory>();
    constexpr offset_t block_slots = offset_t{row_groups} * table_slots;
    const index_t k = task_of_vertex[x];
    const kept_task to = kept[k];
    const source of = source_of(x, k);
    const offset_t place = to.room + from.place[x];
    offset_t slots = team.size();
    while (slots < 2 * length && slots < block_slots) slots *= 2;
    std::uint32_t* key = shared->key;
    std::uint32_t* sums = shared->weight;
    if (slots < length) {
      slots = length;
      key = reinterpret_cast<std::uint32_t*>(adj + place);
      sums = reinterpret_cast<std::uint32_t*>(edge + place);
    }
    for (offset_t s = team.rank(); s < slots; s += team.size()) {
      key[s] = empty_slot;
      sums[s] = 0;
    }
    simt::sync_block();
    for (offset_t e = team.rank(); e < length; e += team.size()) {
      const index_t c = neighbour(of, e);
      if (c == of.local) continue;
      insert(key, sums, slots, static_cast<std::uint32_t>(c), weight_of(of, e));
    }
    simt::sync_block();
    offset_t found = 0;
    const offset_t steps = (slots + team.size() - 1) / team.size();
    for (offset_t step = 0; step < steps; ++step) {
      const offset_t s = step * team.size() + team.rank();
      const std::uint32_t c = s < slots ? key[s] : empty_slot;
      const std::uint32_t w = s < slots ? sums[s] : 0;
      // In a table that is the row itself, entries move only after all of the step are read.
      const offset_t at = place + team.place(c != empty_slot, found);
      if (c == empty_slot) continue;
      adj[at] = to.first + static_cast<index_t>(c);
      edge[at] = static_cast<index_t>(w);
    }
    if (team.rank() == 0) end_row(x, to, of.local, place, found);
    simt::sync_block();
  }

  GSOFA_DEVICE void end_row(index_t x, const kept_task& to, index_t local, offset_t place,
                            offset_t found) {
    const index_t u = from.two[x];
    const index_t c = to.first + local;
    begin[c] = place;
    end[c] = place + found;
    owner[c] = to.graph;
    weight[c] = g.weight[from.one[x]] + (u == none ? 0 : g.weight[u]);
    sum.add(entries, to.graph, found);
  }

  /// Where an entry has come to.
  struct entry {
    std::uint32_t slot;
    bool is_new;
  };
  GSOFA_DEVICE static entry insert(std::uint32_t* key, std::uint32_t* sums, offset_t slots,
                                   std::uint32_t c, std::uint32_t w) {
    const std::uint32_t hash = c * 0x9e3779b1U;
    const auto last = static_cast<std::uint32_t>(slots - 1);
    auto s =
        static_cast<std::uint32_t>((std::uint64_t{hash} * static_cast<std::uint64_t>(slots)) >> 32);
    std::uint32_t held = empty_slot;
    for (;;) {
      held = simt::load_shared_state(key + s);
      if (held == empty_slot) held = simt::atomic_cas(key + s, empty_slot, c);
      if (held == empty_slot || held == c) break;
      s = s == last ? 0 : s + 1;
    }
    simt::atomic_add(sums + s, w);
    return {s, held == empty_slot};
  }

  /// The data by graph, and the sums.
  GSOFA_DEVICE void finish() {
    sum.finish(entries, &shared_of_some_rows<memory>()->sums);
    const auto step = offset_t{simt::grid_size()} * simt::block_size();
    const auto thread = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
    if (thread == 0) {
      first[graphs] = n;
      map_first[graphs] = map_size;
    }
    for (offset_t i = thread; i < tasks_count; i += step) {
      const kept_task k = kept[i];
      if (k.graph == none) continue;
      first[k.graph] = k.first;
      parent[k.graph] = tasks[i].parent;
      map_first[k.graph] = k.map;
      total[k.graph] = g.total[tasks[i].parent];
    }
  }
};

// ---------------------------------------------------------------------------------- splitting

/// A graph that ends, as kernels see it.
struct ending_view {
  std::uint64_t winner;
  index_t position;
  std::uint32_t splits;
};

struct side_counts {
  index_t count[3];
  offset_t room[2];
};

/// Where the vertices of a graph go.
struct sides_view {
  std::uint64_t winner;
  index_t position[3];  ///< of sides A, B and S; of a leaf in A
  index_t child;        ///< none: a leaf
  index_t first[2];     ///< vertex of each child
  offset_t room[2];     ///< first place of adj
  offset_t total[2];
};

constexpr index_t no_child = std::numeric_limits<index_t>::min();

/// Numbers the vertices of each side.
struct side_op {
  struct value {
    offset_t room[2];
    index_t count[3];
    std::uint32_t starts;
  };
  level_view g;
  const std::uint8_t* side;
  const ending_view* endings;
  index_t* number;  ///< out: that of a vertex of A, the complement of that of one of B, no_child
  index_t* rank;    ///< out: number within its side
  offset_t* place;  ///< out: of its row, in the room of its child
  side_counts* counts;  ///< in memory of the host

  GSOFA_DEVICE static value identity() { return {{0, 0}, {0, 0, 0}, 0}; }
  GSOFA_DEVICE static value combine(const value& a, const value& b) {
    if (b.starts != 0) return b;
    return {{a.room[0] + b.room[0], a.room[1] + b.room[1]},
            {a.count[0] + b.count[0], a.count[1] + b.count[1], a.count[2] + b.count[2]},
            a.starts};
  }
  GSOFA_DEVICE offset_t count() const { return g.n; }
  GSOFA_DEVICE int side_of(index_t v, index_t i) const {
    const ending_view& e = endings[i];
    if (e.splits == 0) return 0;
    return side[e.winner + static_cast<std::uint64_t>(v - g.first[i])];
  }
  GSOFA_DEVICE value item(index_t v) const {
    const index_t i = g.owner[v];
    const int s = side_of(v, i);
    const offset_t length = g.end[v] - g.begin[v];
    return {{s == 0 ? length : 0, s == 1 ? length : 0},
            {s == 0 ? 1 : 0, s == 1 ? 1 : 0, s == 2 ? 1 : 0},
            v == g.first[i] ? 1U : 0U};
  }
  GSOFA_DEVICE void emit(index_t v, const value& upto) const {
    const index_t i = g.owner[v];
    const int s = side_of(v, i);
    const index_t k = (s == 0 ? upto.count[0] : s == 1 ? upto.count[1] : upto.count[2]) - 1;
    rank[v] = k;
    number[v] = s == 0 ? k : s == 1 ? ~k : no_child;
    if (s < 2) place[v] = (s == 0 ? upto.room[0] : upto.room[1]) - (g.end[v] - g.begin[v]);
    if (v + 1 == g.first[i + 1]) {
      counts[i] = {{upto.count[0], upto.count[1], upto.count[2]}, {upto.room[0], upto.room[1]}};
    }
  }
};

/// Positions of all vertices, and rows of the sides.
struct split_op {
  static constexpr offset_t longest = long_row;
  level_view g;
  const sides_view* graphs;
  const index_t* number;
  const index_t* rank;
  const offset_t* place;
  const index_t* vertex;
  index_t* order;
  // The level of the sides.
  index_t children;
  index_t n;
  index_t *first, *owner, *adj, *weight, *next_vertex;
  offset_t *begin, *end, *total, *entries;
  entry_sum sum_a, sum_b;

  GSOFA_DEVICE offset_t length(index_t v) const { return g.end[v] - g.begin[v]; }

  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t v, offset_t length) {
    int s = 2;
    const sides_view* to = nullptr;
    if (v != none) {
      to = graphs + g.owner[v];
      const index_t own = number[v];
      s = own == no_child ? 2 : own >= 0 ? 0 : 1;
      if (team.rank() == 0) order[to->position[s] + rank[v]] = vertex[v];
      if (to->child == none) s = 2;
    }
    const offset_t from = s == 2 ? 0 : g.begin[v];
    const offset_t count = s == 2 ? 0 : length;
    const offset_t at = s == 2 ? 0 : to->room[s] + place[v];
    const index_t shift = s == 2 ? 0 : to->first[s];
    offset_t found = 0;
    const offset_t steps = team.most_steps((count + team.size() - 1) / team.size());
    for (offset_t step = 0; step < steps; ++step) {
      const offset_t e = step * team.size() + team.rank();
      const index_t u = e < count ? number[g.adj[from + e]] : no_child;
      const bool same = u != no_child && (u >= 0) == (s == 0);
      const offset_t there = team.place(same, found);
      if (same) adj[at + there] = shift + (u >= 0 ? u : ~u);
    }
    if (s == 2 || team.rank() != 0) return;
    const index_t c = shift + rank[v];
    begin[c] = at;
    end[c] = at + found;
    weight[c] = g.weight[v];
    owner[c] = to->child + s;
    next_vertex[c] = vertex[v];
    if (s == 0) {
      sum_a.add(entries, to->child, found);
    } else {
      sum_b.add(entries, to->child + 1, found);
    }
  }

  GSOFA_DEVICE void finish() {
    auto* const shared = shared_of_rows<entry_sum::memory>();
    sum_a.finish(entries, shared);
    sum_b.finish(entries, shared);
    const auto step = offset_t{simt::grid_size()} * simt::block_size();
    const auto thread = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
    if (thread == 0) first[children] = n;
    for (offset_t i = thread; i < g.graphs; i += step) {
      if (graphs[i].child == none) continue;
      for (int s = 0; s < 2; ++s) {
        first[graphs[i].child + s] = graphs[i].first[s];
        total[graphs[i].child + s] = graphs[i].total[s];
      }
    }
  }
};

}  // namespace graph_kernels

using namespace graph_kernels;  // NOLINT(google-build-using-namespace)

// --------------------------------------------------------------------------------- the host

level::level(memory_budget& budget)
    : d_first(budget, "graphs"),
      d_owner(budget, "graphs"),
      d_adj(budget, "edges"),
      d_edge(budget, "edges"),
      d_weight(budget, "graphs"),
      d_parent(budget, "graphs"),
      d_map(budget, "maps"),
      d_begin(budget, "graphs"),
      d_end(budget, "graphs"),
      d_total(budget, "graphs"),
      d_entries(budget, "graphs"),
      d_map_first(budget, "maps") {}

level_view level::view() const {
  return {graphs(),        first.back(),   d_first.data(),  d_owner.data(),
          d_begin.data(),  d_end.data(),   d_adj.data(),    weighted ? d_edge.data() : nullptr,
          d_weight.data(), d_total.data(), d_entries.data()};
}

void level::clear() {
  first.assign(1, 0);
  total.clear();
  parent.clear();
  map_first.clear();
  room = 0;
}

namespace graph_kernels {

/// What host and device tell each other.
struct messages {
  pinned_vector<task> tasks;
  pinned_vector<task_result> results;
  device_note note;
  pinned_vector<ending_view> endings;
  pinned_vector<side_counts> counts;
  pinned_vector<sides_view> sides;
};

}  // namespace graph_kernels

struct graph_steps::space {
  explicit space(memory_budget& budget)
      : d_tasks(budget, "matching"),
        d_results(budget, "matching"),
        d_kept(budget, "matching"),
        d_owner(budget, "matching"),
        d_match(budget, "matching"),
        d_proposal(budget, "matching"),
        d_id(budget, "matching"),
        d_one(budget, "matching"),
        d_two(budget, "matching"),
        d_seen(budget, "matching"),
        d_guests(budget, "matching"),
        d_isolated(budget, "matching"),
        d_place(budget, "matching"),
        d_endings(budget, "splitting"),
        d_sides(budget, "splitting"),
        d_number_sums(budget, "scan_buffer"),
        d_isolated_sums(budget, "scan_buffer"),
        d_side_sums(budget, "scan_buffer") {
    d_number_sums.resize(threads_per_block);
    d_isolated_sums.resize(threads_per_block);
    d_side_sums.resize(threads_per_block);
  }

  lent<messages> lent_host;
  messages& host = *lent_host;
  pinned_vector<task>& tasks = host.tasks;
  pinned_vector<task_result>& results = host.results;
  pinned_vector<ending_view>& endings = host.endings;
  pinned_vector<side_counts>& counts = host.counts;
  pinned_vector<sides_view>& sides = host.sides;
  growing_array<task> d_tasks;
  growing_array<task_result> d_results;
  growing_array<kept_task> d_kept;
  growing_array<index_t> d_owner, d_match, d_proposal, d_id, d_one, d_two;
  growing_array<std::uint64_t> d_seen;
  growing_array<std::uint32_t> d_guests, d_isolated;
  growing_array<offset_t> d_place;
  growing_array<ending_view> d_endings;
  growing_array<sides_view> d_sides;
  growing_array<number_op<all_tasks>::value> d_number_sums;
  growing_array<isolated_op<all_tasks>::value> d_isolated_sums;
  growing_array<side_op::value> d_side_sums;

  /// Plans the coarse level on the device, which then notes the results.
  void plan(index_t count) {
    const plan_op op{d_tasks.data(), d_results.data(), count, d_kept.resize(count), results.data()};
#if defined(__CUDACC__)
    const int threads = count <= 32 ? 32 : count <= 128 ? 128 : 512;
#else
    const int threads = 32;
#endif
    launch_overlapping(plan_kernel, 1, threads, scan_bytes<plan_op>(threads), op, host.note.word(),
                       host.note.next());
  }

  /// Matches each graph by one block.
  void match_small(const level_view& g, index_t count, index_t largest, const numbering& to,
                   offset_t* entries) {
#if defined(__CUDACC__)
    const bool few = count <= multiprocessors();
    const int threads = largest > 512 ? (few ? 1024 : 512) : largest > 128 ? 256 : 128;
#else
    const int threads = row_threads;
#endif
    const std::size_t bytes = match_bytes(threads, largest);
    allow_shared(match_kernel, bytes);
    launch_overlapping(match_kernel, count, threads, bytes, g, d_tasks.data(), largest, to,
                       d_owner.data(), entries);
  }

  /// Matches all graphs by the whole device.
  void match_large(const level_view& g, index_t count, index_t n, const numbering& to,
                   offset_t* entries) {
    const matching m{d_seen.resize(n), d_match.resize(n), d_proposal.resize(n), d_guests.resize(n),
                     d_isolated.resize(1)};
    launch_overlapping(begin_matching_kernel, blocks_for(std::max(n, count)), threads_per_block, 0,
                       g, d_tasks.data(), count, n, m, d_owner.data(), to.results, entries);
    const matching_op<all_tasks> op{g, m, {d_tasks.data(), d_owner.data(), g.first}};
    for (int round = 0; round < handshake_rounds; ++round) {
      launch_some_rows(propose_op<all_tasks>{op}, n);
      launch_overlapping(accept_kernel, blocks_for(n), threads_per_block, 0, m, n);
    }
    launch_some_rows(meet_op<all_tasks>{op}, n);
    launch_some_rows(pair_op<all_tasks>{op, sizeof(some_rows_memory)}, n, guest_bytes(row_threads));
    scan(isolated_op<all_tasks>{op, n}, n, d_isolated_sums.data());
    scan(number_op<all_tasks>{op, to, n}, n, d_number_sums.data());
  }
};

namespace graph_kernels {

/// Makes room for a coarse level of `count` graphs from n vertices of the finer one, about as much
/// as it will take: allocations take the host as long as many launches, and the device works
/// meanwhile.
void expect(level& coarse, const level& fine, offset_t count, offset_t n) {
  const offset_t vertices = n / 2 + n / 8;
  // Rows of weighted graphs leave gaps: neighbours that were merged.
  const double copies = static_cast<double>(n) / std::max<index_t>(1, fine.first.back());
  const double share = fine.weighted ? 0.65 : 1.0;
  const auto room = static_cast<offset_t>(share * copies * static_cast<double>(fine.room));
  coarse.d_first.resize(count + 1);
  coarse.d_map_first.resize(count + 1);
  coarse.d_parent.resize(count);
  coarse.d_total.resize(count);
  coarse.d_map.resize(n);
  coarse.d_owner.resize(vertices);
  coarse.d_weight.resize(vertices);
  coarse.d_begin.resize(vertices);
  coarse.d_end.resize(vertices);
  coarse.d_adj.resize(room);
  coarse.d_edge.resize(room);
}

}  // namespace graph_kernels

graph_steps::graph_steps(memory_budget& budget) : space_(std::make_unique<space>(budget)) {}
graph_steps::~graph_steps() = default;

std::vector<index_t> graph_steps::coarsen(const level& fine, std::span<const coarsening> wanted,
                                          level& coarse) {
  space& s = *space_;
  coarse.clear();
  coarse.map_first.assign(1, 0);
  coarse.weighted = true;
  const auto count = narrow<index_t>(wanted.size(), "graphs to be coarsened");
  if (count == 0) return {};
  reserve(s.tasks, wanted.size());
  reserve(s.results, wanted.size());
  offset_t n = 0;
  index_t largest = 0;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const coarsening& w = wanted[k];
    const index_t size = fine.size_of(w.parent);
    largest = std::max(largest, size);
    const offset_t first = n;
    n += size;
    if (n > max_index) throw budget_error("nested dissection: too many vertices of replicas");
    s.tasks[k] = {w.key, w.most, w.parent, static_cast<index_t>(first), static_cast<index_t>(n)};
  }
  const auto vertices = static_cast<index_t>(n);
  upload_words(s.d_tasks.resize(count), s.tasks, count);
  s.d_owner.resize(n);
  const numbering to{s.d_id.resize(n), s.d_one.resize(n), s.d_two.resize(n), s.d_place.resize(n),
                     s.d_results.resize(count)};
  offset_t* const entries = coarse.d_entries.resize(count);
  const level_view g = fine.view();
  if (largest <= small_graph) {
    s.match_small(g, count, largest, to, entries);
  } else {
    s.match_large(g, count, vertices, to, entries);
  }
  s.plan(count);
  expect(coarse, fine, count, n);
  s.host.note.wait_for();
  std::vector<index_t> places;
  for (index_t k = 0; k < count; ++k) {
    const coarsening& w = wanted[at(k)];
    const task_result r = s.results[at(k)];
    const index_t size = fine.size_of(w.parent);
    if (!has_shrunk(size, r.vertices)) continue;
    places.push_back(k);
    coarse.room += r.room;
    coarse.first.push_back(coarse.first.back() + r.vertices);
    coarse.total.push_back(fine.total[at(w.parent)]);
    coarse.parent.push_back(w.parent);
    coarse.map_first.push_back(coarse.map_first.back() + size);
  }
  if (places.empty()) return places;
  const index_t graphs = coarse.graphs();
  const index_t coarse_n = coarse.first.back();
  const offset_t map_size = coarse.map_first.back();
  const contract_op op{g,
                       s.d_tasks.data(),
                       s.d_kept.data(),
                       count,
                       s.d_owner.data(),
                       to,
                       graphs,
                       coarse_n,
                       map_size,
                       coarse.d_first.resize(offset_t{graphs} + 1),
                       coarse.d_owner.resize(coarse_n),
                       coarse.d_adj.resize(coarse.room),
                       coarse.d_edge.resize(coarse.room),
                       coarse.d_weight.resize(coarse_n),
                       coarse.d_parent.resize(graphs),
                       coarse.d_map.resize(map_size),
                       coarse.d_begin.resize(coarse_n),
                       coarse.d_end.resize(coarse_n),
                       coarse.d_total.resize(graphs),
                       entries,
                       coarse.d_map_first.resize(offset_t{graphs} + 1),
                       {}};
  launch_some_rows(op, n, sizeof(contract_op::memory));
  return places;
}

void graph_steps::split(const level& whole, const std::uint8_t* side, std::span<ending> endings,
                        const index_t* vertex, index_t* order, level& sides,
                        growing_array<index_t>& next_vertex) {
  space& s = *space_;
  sides.clear();
  sides.weighted = false;
  const index_t graphs = whole.graphs();
  const level_view g = whole.view();
  if (graphs == 0) return;
  reserve(s.endings, at(graphs));
  reserve(s.counts, at(graphs));
  for (std::size_t i = 0; i < endings.size(); ++i) {
    s.endings[i] = {endings[i].winner, endings[i].position, endings[i].splits ? 1U : 0U};
  }
  upload_words(s.d_endings.resize(graphs), s.endings, graphs);
  index_t* const number = s.d_id.resize(g.n);
  index_t* const rank = s.d_one.resize(g.n);
  offset_t* const place = s.d_place.resize(g.n);
  if (g.n > 0) {
    scan(side_op{g, side, s.d_endings.data(), number, rank, place, s.counts.data()}, g.n,
         s.d_side_sums.data());
  }
  s.host.note.wait();
  reserve(s.sides, at(graphs));
  for (index_t i = 0; i < graphs; ++i) {
    ending& e = endings[at(i)];
    const side_counts c = whole.size_of(i) == 0 ? side_counts{} : s.counts[at(i)];
    std::copy_n(c.count, 3, e.count);
    sides_view& to = s.sides[at(i)];
    to = {};
    to.position[0] = e.position;
    to.position[1] = e.position + c.count[0];
    to.position[2] = to.position[1] + c.count[1];
    to.child = none;
    if (!e.splits) continue;
    to.child = sides.graphs();
    for (int k = 0; k < 2; ++k) {
      to.first[k] = sides.first.back();
      to.room[k] = sides.room;
      to.total[k] = e.weight[k];
      sides.first.push_back(sides.first.back() + c.count[k]);
      sides.total.push_back(e.weight[k]);
      sides.room += c.room[k];
    }
  }
  const index_t children = sides.graphs();
  const index_t n = sides.first.back();
  upload_words(s.d_sides.resize(graphs), s.sides, graphs, sides.d_entries.resize(children),
               children);
  const split_op op{g,
                    s.d_sides.data(),
                    number,
                    rank,
                    place,
                    vertex,
                    order,
                    children,
                    n,
                    sides.d_first.resize(offset_t{children} + 1),
                    sides.d_owner.resize(n),
                    sides.d_adj.resize(sides.room),
                    sides.d_weight.resize(n),
                    next_vertex.resize(n),
                    sides.d_begin.resize(n),
                    sides.d_end.resize(n),
                    sides.d_total.resize(children),
                    sides.d_entries.data(),
                    {},
                    {}};
  launch_rows(op, g.n, sizeof(entry_sum::memory));
}

}  // namespace gsofa::gpu::dissection

#endif
