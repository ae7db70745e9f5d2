// Matching of many graphs at once: handshakes by heavy edges, then pairs of free vertices with a
// common neighbour (two hops), then numbers of the pairs. One block matches a small graph, the
// whole device large ones. Device form of host/match.cpp.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "variants/orderings/dissection/arithmetic.hpp"
#include "variants/orderings/dissection/device/coarsen.hpp"
#include "variants/orderings/dissection/device/tuning.hpp"

namespace gsofa::orders::device {

namespace {

constexpr index_t unmatched = -1;
constexpr index_t nobody = -1;
constexpr index_t unknown = -2;
constexpr index_t isolated = -3;  // the meeting place of isolated vertices

/// The vertices that one matching sees: low .. high - 1. Vertex i of them is vertex i + to_fine of
/// the fine level and has virtual number i + to_virtual.
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

/// Bytes of shared memory for pairs of guests, in blocks of `threads` threads.
constexpr std::size_t guest_bytes(int threads) {
  return match_tuning::bitmap_words * sizeof(std::uint32_t) + 2 * at(threads) * sizeof(run);
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
    auto* const values = reinterpret_cast<run*>(bitmap + match_tuning::bitmap_words);
    const index_t* const proposal = this->m.proposal;
    const scope s = this->tasks.of(place);
    const offset_t begin = this->g.begin[place + s.to_fine];
    constexpr offset_t window = 32 * offset_t{match_tuning::bitmap_words};
    const unsigned per_thread = (match_tuning::bitmap_words - 1) / team.size() + 1;
    run earlier{0, none};
    for (offset_t low = s.low; low < s.high; low += window) {
      for (unsigned k = team.rank(); k < match_tuning::bitmap_words; k += team.size())
        bitmap[k] = 0;
      simt::sync_block();
      for (offset_t e = begin + team.rank(); e < begin + length; e += team.size()) {
        const index_t u = this->g.adj[e] - s.to_fine;
        if (u < low || u >= low + window || proposal[u] != place) continue;
        const auto k = static_cast<unsigned>(u - low);
        simt::atomic_or(bitmap + k / 32, std::uint32_t{1} << (k % 32));
      }
      simt::sync_block();
      const unsigned first = team.rank() * per_thread;
      const unsigned last = first + per_thread < match_tuning::bitmap_words
                                ? first + per_thread
                                : match_tuning::bitmap_words;
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
  using value = isolated_sum;
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

/// Numbers the pairs by their smaller vertices.
template <class Tasks>
struct number_op : matching_op<Tasks> {
  using value = number_sum;
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
                                        matching m, index_t* owner, task_result* results) {
  simt::after_earlier_launches();
  const auto step = offset_t{simt::grid_size()} * simt::block_size();
  const auto thread = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
  if (thread == 0) *m.isolated = 0;
  for (offset_t k = thread; k < count; k += step) {
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

/// Bytes of shared memory of match_kernel for graphs of at most `most` vertices.
constexpr std::size_t match_bytes(int threads, index_t most) {
  return sizeof(row_memory) + 20 * (at(most) + at(most) % 2) +
         std::max({guest_bytes(threads), scan_bytes<number_op<one_task>>(threads),
                   scan_bytes<isolated_op<one_task>>(threads)});
}

/// One block matches and numbers each graph; `most` is a bound on their vertices.
GSOFA_KERNEL void match_kernel(level_view g, const task* tasks, index_t most, numbering to,
                               index_t* owner) {
  simt::after_earlier_launches();
  const auto k = static_cast<index_t>(simt::block_index());
  const task t = tasks[k];
  const index_t n = t.last - t.first;
  const auto thread = static_cast<index_t>(simt::thread_index());
  const auto threads = static_cast<index_t>(simt::block_size());
  auto* const team = simt::shared_memory<row_memory>();
  auto* const seen = reinterpret_cast<std::uint64_t*>(team + 1);
  const auto size = at(most) + at(most) % 2;
  auto* const words = reinterpret_cast<std::uint32_t*>(seen + size);
  const matching m{seen, reinterpret_cast<index_t*>(words),
                   reinterpret_cast<index_t*>(words + size), words + 2 * size, nullptr};
  auto* const rest = reinterpret_cast<unsigned char*>(words + 3 * size);
  if (thread == 0 && n == 0) to.results[k] = {0, 0};
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
    for_rows(propose, 0, n, team);
    simt::sync_block();
    bool any = false;
    for (index_t i = thread; i < n; i += threads) any |= accept(m, i);
    if (!simt::sync_block_or(any)) break;
  }
  meet_op<one_task> meet{{g, m, all}};
  for_rows(meet, 0, n, team);
  simt::sync_block();
  pair_op<one_task> pair{{g, m, all},
                         static_cast<std::uint32_t>(rest - simt::shared_memory<unsigned char>())};
  for_rows(pair, 0, n, team);
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

/// Matches each graph by one block.
void match_small(const matching_space& s, const level_view& g, index_t count, index_t largest,
                 const numbering& to) {
  int threads = row_threads;
  if (!is_emulated) {
    const bool few = count <= multiprocessors();
    threads = largest > 512 ? (few ? 1024 : 512) : largest > 128 ? 256 : 128;
  }
  const std::size_t bytes = match_bytes(threads, largest);
  allow_shared(match_kernel, bytes);
  launch_overlapping(match_kernel, count, threads, bytes, g, s.d_tasks.data(), largest, to,
                     s.d_owner.data());
}

/// Matches all graphs by the whole device.
void match_large(matching_space& s, const level_view& g, index_t count, index_t n,
                 const numbering& to) {
  const matching m{s.d_seen.resize(n), s.d_match.resize(n), s.d_proposal.resize(n),
                   s.d_guests.resize(n), s.d_isolated.resize(1)};
  launch_overlapping(begin_matching_kernel, blocks_for(std::max(n, count)), threads_per_block, 0, g,
                     s.d_tasks.data(), count, n, m, s.d_owner.data(), to.results);
  const matching_op<all_tasks> op{g, m, {s.d_tasks.data(), s.d_owner.data(), g.first}};
  for (int round = 0; round < handshake_rounds; ++round) {
    launch_rows(propose_op<all_tasks>{op}, n);
    launch_overlapping(accept_kernel, blocks_for(n), threads_per_block, 0, m, n);
  }
  launch_rows(meet_op<all_tasks>{op}, n);
  launch_rows(pair_op<all_tasks>{op, sizeof(row_memory)}, n, guest_bytes(row_threads));
  scan(isolated_op<all_tasks>{op, n}, n, s.d_isolated_sums.data());
  scan(number_op<all_tasks>{op, to, n}, n, s.d_number_sums.data());
}

}  // namespace

pairs match(host_link& link, matching_space& s, const level& fine,
            std::span<const coarsening> wanted) {
  const auto count = static_cast<index_t>(wanted.size());
  task* const tasks = link.room<task>(wanted.size());
  offset_t n = 0;
  index_t largest = 0;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const coarsening& w = wanted[k];
    const index_t size = fine.size_of(w.parent);
    largest = std::max(largest, size);
    const offset_t first = n;
    n += size;
    if (n > max_index) throw budget_error("nested dissection: too many vertices of replicas");
    tasks[k] = {w.key, w.most, w.parent, static_cast<index_t>(first), static_cast<index_t>(n)};
  }
  const auto vertices = static_cast<index_t>(n);
  link.upload(s.d_tasks.resize(count), tasks, wanted.size());
  s.d_owner.resize(n);
  const numbering to{s.d_id.resize(n), s.d_one.resize(n), s.d_two.resize(n), s.d_place.resize(n),
                     link.room<task_result>(wanted.size())};
  const level_view g = fine.view();
  if (largest <= match_tuning::small_graph) {
    match_small(s, g, count, largest, to);
  } else {
    match_large(s, g, count, vertices, to);
  }
  return {s.d_tasks.data(), count, vertices, s.d_owner.data(), to};
}

}  // namespace gsofa::orders::device

#endif
