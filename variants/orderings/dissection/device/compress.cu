// The graph that is dissected: without isolated vertices and hubs, and with one vertex for all that
// have one closed neighbourhood. Device form of host/compress.cpp.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>
#include <limits>
#include <vector>

#include "variants/orderings/dissection/arithmetic.hpp"
#include "variants/orderings/dissection/device/rows.hpp"
#include "variants/orderings/dissection/device/stages.hpp"

namespace gsofa::orders::device {

namespace {

/// Adds the vertices without neighbours.
GSOFA_KERNEL void isolated_kernel(pattern_rows s, std::uint32_t* isolated) {
  simt::after_earlier_launches();
  std::uint32_t found = 0;
  const auto step = offset_t{simt::grid_size()} * simt::block_size();
  for (auto k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index(); k < s.n;
       k += step) {
    if (s.degree(static_cast<index_t>(k)) == 0) ++found;
  }
  if (found > 0) simt::atomic_add(isolated, found);
}

/// hub[v]: 1 for a hub, 2 for an isolated vertex, 0 for a vertex of a class.
GSOFA_KERNEL void hub_kernel(pattern_rows s, const std::uint32_t* isolated, std::uint8_t* hub) {
  simt::after_earlier_launches();
  const index_t others = s.n - static_cast<index_t>(*isolated);
  const auto step = offset_t{simt::grid_size()} * simt::block_size();
  for (auto k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index(); k < s.n;
       k += step) {
    const offset_t degree = s.degree(static_cast<index_t>(k));
    hub[k] = degree == 0 ? 2 : is_hub(degree, others) ? 1 : 0;
  }
}

struct compress_op {
  static constexpr offset_t longest = long_row;
  pattern_rows s;
  const std::uint8_t* hub;

  GSOFA_DEVICE offset_t length(index_t v) const { return hub[v] != 0 ? -1 : s.degree(v); }
  GSOFA_DEVICE void finish() const {}
};

/// Hashes of closed neighbourhoods without hubs, and the numbers of neighbours in them.
struct hash_op : compress_op {
  std::uint64_t* hash;
  index_t* size;

  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t v, offset_t length) const {
    std::uint64_t sum = 0;
    index_t count = 0;
    if (length > 0) {
      const index_t* const adj = s.col_idx + s.row_ptr[v];
      for (offset_t e = team.rank(); e < length; e += team.size()) {
        if (hub[adj[e]] != 0) continue;
        sum += mix64(static_cast<std::uint64_t>(adj[e]) + 1);
        ++count;
      }
    }
    const auto plus = [](auto a, auto b) { return a + b; };
    sum = team.reduce(sum, plus);
    count = team.reduce(count, plus);
    if (length < 0 || team.rank() != 0) return;
    hash[v] = sum + mix64(static_cast<std::uint64_t>(v) + 1);
    size[v] = count;
  }
};

/// The smallest neighbour of equal closed neighbourhood, or the vertex itself.
struct twin_op : compress_op {
  const std::uint64_t* hash;
  const index_t* size;
  index_t* twin;

  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t v, offset_t length) const {
    constexpr index_t no_vertex = std::numeric_limits<index_t>::max();
    const auto less = [](index_t a, index_t b) { return a < b ? a : b; };
    bool searches = length > 0;
    index_t result = v;
    for (index_t after = -1; team.any_group(searches);) {
      index_t found = no_vertex;
      if (searches) {
        const index_t* const adj = s.col_idx + s.row_ptr[v];
        for (offset_t e = team.rank(); e < length; e += team.size()) {
          const index_t u = adj[e];
          if (u >= v) break;
          if (u <= after || hub[u] != 0 || hash[u] != hash[v] || size[u] != size[v]) continue;
          found = u;
          break;
        }
      }
      found = team.reduce(found, less);
      // Of equal sizes, a neighbourhood that holds the other equals it.
      bool equal = true;
      if (searches && found != no_vertex) {
        const index_t* const adj = s.col_idx + s.row_ptr[found];
        const offset_t count = s.degree(found);
        for (offset_t e = team.rank(); e < count && equal; e += team.size()) {
          const index_t u = adj[e];
          equal = u == v || hub[u] != 0 || s.has(v, u);
        }
      }
      equal = team.all(equal);
      if (found == no_vertex || equal) {
        if (searches && found != no_vertex) result = found;
        searches = false;
      }
      after = found;
    }
    if (v != none && team.rank() == 0) twin[v] = result;
  }
};

/// Numbers of classes, hubs and isolated vertices, and places of the rows of classes.
struct class_op {
  struct value {
    offset_t room;
    index_t classes;
    index_t hubs;
    index_t isolated;
  };
  pattern_rows s;
  const std::uint8_t* hub;
  const index_t* twin;
  index_t* id;      ///< out: class by its smallest vertex, none for others
  index_t* hubs;    ///< out, n: the hubs, and from the end on the isolated vertices, downwards
  index_t* weight;  ///< out: 1 for each class
  offset_t* begin;  ///< out: by class
  value* counts;    ///< out: the totals

  GSOFA_DEVICE static value identity() { return {0, 0, 0, 0}; }
  GSOFA_DEVICE static value combine(const value& a, const value& b) {
    return {a.room + b.room, a.classes + b.classes, a.hubs + b.hubs, a.isolated + b.isolated};
  }
  GSOFA_DEVICE offset_t count() const { return s.n; }
  GSOFA_DEVICE value item(index_t v) const {
    if (hub[v] != 0) return {0, 0, hub[v] == 1 ? 1 : 0, hub[v] == 2 ? 1 : 0};
    return twin[v] == v ? value{s.degree(v), 1, 0, 0} : value{0, 0, 0, 0};
  }
  GSOFA_DEVICE void emit(index_t v, const value& upto) const {
    const bool first = hub[v] == 0 && twin[v] == v;
    id[v] = first ? upto.classes - 1 : none;
    if (hub[v] == 1) hubs[upto.hubs - 1] = v;
    if (hub[v] == 2) hubs[s.n - upto.isolated] = v;
    if (first) {
      begin[upto.classes - 1] = upto.room - s.degree(v);
      weight[upto.classes - 1] = 1;
    }
    if (v + 1 == s.n) *counts = upto;
  }
};

/// Sizes of classes and places of vertices in them: the members of a class are adjacent.
struct member_op : compress_op {
  const index_t* twin;
  const index_t* id;
  index_t* weight;
  index_t* rank;

  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t v, offset_t length) const {
    index_t before = 0;
    index_t others = 0;
    if (length > 0) {
      const index_t* const adj = s.col_idx + s.row_ptr[v];
      const index_t own = twin[v];
      for (offset_t e = team.rank(); e < length; e += team.size()) {
        const index_t u = adj[e];
        if (hub[u] != 0 || twin[u] != own) continue;
        ++others;
        if (u < v) ++before;
      }
    }
    const auto plus = [](index_t a, index_t b) { return a + b; };
    before = team.reduce(before, plus);
    others = team.reduce(others, plus);
    if (length < 0 || team.rank() != 0) return;
    rank[v] = before;
    if (id[v] != none) weight[id[v]] = 1 + others;
  }
};

/// start[i + 1]: members of classes 0 .. i; start[0] is 0.
struct start_op {
  using value = index_t;
  index_t classes;
  const index_t* weight;
  index_t* start;

  GSOFA_DEVICE static value identity() { return 0; }
  GSOFA_DEVICE static value combine(value a, value b) { return a + b; }
  GSOFA_DEVICE offset_t count() const { return classes; }
  GSOFA_DEVICE value item(index_t i) const { return weight[i]; }
  GSOFA_DEVICE void emit(index_t i, value upto) const { start[i + 1] = upto; }
};

GSOFA_KERNEL void member_kernel(index_t n, const std::uint8_t* hub, const index_t* twin,
                                const index_t* id, const index_t* rank, const index_t* start,
                                index_t* members) {
  simt::after_earlier_launches();
  const auto step = offset_t{simt::grid_size()} * simt::block_size();
  for (auto k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index(); k < n;
       k += step) {
    if (hub[k] == 0) members[start[id[twin[k]]] + rank[k]] = static_cast<index_t>(k);
  }
}

/// Rows of the compressed graph.
struct class_row_op : compress_op {
  const index_t* id;
  const offset_t* begin;
  offset_t* end;
  index_t* owner;
  index_t* adj;
  offset_t* entries;
  entry_sum sum;

  GSOFA_DEVICE offset_t length(index_t v) const { return id[v] == none ? -1 : s.degree(v); }
  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t v, offset_t length) {
    const index_t* const row = length > 0 ? s.col_idx + s.row_ptr[v] : nullptr;
    const offset_t to = length >= 0 ? begin[id[v]] : 0;
    offset_t found = 0;
    const offset_t steps =
        team.most_steps(length > 0 ? (length + team.size() - 1) / team.size() : 0);
    for (offset_t step = 0; step < steps; ++step) {
      const offset_t e = step * team.size() + team.rank();
      const index_t u = e < length ? id[row[e]] : none;
      const offset_t place = team.place(u != none, found);
      if (u != none) adj[to + place] = u;
    }
    if (length < 0 || team.rank() != 0) return;
    end[id[v]] = to + found;
    owner[id[v]] = 0;
    sum.add(entries, 0, found);
  }
  GSOFA_DEVICE void finish() { sum.finish(entries, shared_of_rows<entry_sum::memory>()); }
};

/// Arrays of a compression.
struct compression {
  compression(memory_budget& budget, index_t n)
      : hub(budget, "compression", n),
        hash(budget, "compression", n),
        size(budget, "compression", n),
        twin(budget, "compression", n),
        id(budget, "compression", n) {}

  device_array<std::uint8_t> hub;
  device_array<std::uint64_t> hash;
  device_array<index_t> size, twin, id;
  // Sizes are not needed any more when hubs are listed.
  [[nodiscard]] index_t* hubs() const { return size.data(); }
};

/// Finds hubs and classes; returns the numbers of both, and begins the rows of g.
class_op::value find_classes(const pattern_rows& s, const compression& c, memory_budget& budget,
                             level& g) {
  const device_array<std::uint32_t> isolated(budget, "compression", 1);
  const device_array<class_op::value> sums(budget, "scan_buffer", threads_per_block + 1);
  fill_bytes(isolated.data(), 0, 1);
  launch_overlapping(isolated_kernel, blocks_for(s.n), threads_per_block, 0, s, isolated.data());
  launch_overlapping(hub_kernel, blocks_for(s.n), threads_per_block, 0, s,
                     static_cast<const std::uint32_t*>(isolated.data()), c.hub.data());
  const compress_op op{s, c.hub.data()};
  launch_rows(hash_op{op, c.hash.data(), c.size.data()}, s.n);
  launch_rows(twin_op{op, c.hash.data(), c.size.data(), c.twin.data()}, s.n);
  class_op::value* const total = sums.data() + threads_per_block;
  scan(class_op{s, c.hub.data(), c.twin.data(), c.id.data(), c.hubs(), g.d_weight.resize(s.n),
                g.d_begin.resize(s.n), total},
       s.n, sums.data());
  class_op::value counts{};
  copy_to_host(&counts, total, 1);
  return counts;
}

/// Makes g the graph of the classes.
void make_rows(const pattern_rows& s, const compression& c, const class_op::value& counts,
               level& g) {
  g.first.push_back(counts.classes);
  g.total.push_back(s.n - counts.hubs - counts.isolated);
  g.room = counts.room;
  g.d_weight.resize(counts.classes);
  g.d_begin.resize(counts.classes);
  copy_to_device(g.d_first.resize(2), g.first.data(), 2);
  copy_to_device(g.d_total.resize(1), g.total.data(), 1);
  fill_bytes(g.d_entries.resize(1), 0, 1);
  const class_row_op op{{s, c.hub.data()},
                        c.id.data(),
                        g.d_begin.data(),
                        g.d_end.resize(counts.classes),
                        g.d_owner.resize(counts.classes),
                        g.d_adj.resize(g.room),
                        g.d_entries.data(),
                        {}};
  if (s.n > 0) launch_rows(op, s.n, sizeof(entry_sum::memory));
}

/// Lists hubs, isolated vertices and the members of classes; sets the weights of g.
vertex_classes list_members(const pattern_rows& s, const compression& c,
                            const class_op::value& counts, memory_budget& budget, level& g) {
  const index_t classes = counts.classes;
  vertex_classes result;
  result.hubs.resize(at(counts.hubs));
  copy_to_host(result.hubs.data(), c.hubs(), counts.hubs);
  result.isolated.resize(at(counts.isolated));
  copy_to_host(result.isolated.data(), c.hubs() + (s.n - counts.isolated), counts.isolated);
  std::ranges::reverse(result.isolated);
  auto* const rank = reinterpret_cast<index_t*>(c.hash.data());  // hashes are not needed any more
  index_t* const list = rank + s.n;
  const device_array<index_t> start(budget, "compression", offset_t{classes} + 1);
  const device_array<index_t> sums(budget, "scan_buffer", threads_per_block);
  fill_bytes(start.data(), 0, 1);
  if (classes > 0) {
    launch_rows(member_op{{s, c.hub.data()}, c.twin.data(), c.id.data(), g.d_weight.data(), rank},
                s.n);
    scan(start_op{classes, g.d_weight.data(), start.data()}, classes, sums.data());
    launch_overlapping(member_kernel, blocks_for(s.n), threads_per_block, 0, s.n,
                       static_cast<const std::uint8_t*>(c.hub.data()), c.twin.data(), c.id.data(),
                       rank, start.data(), list);
  }
  result.member_start.resize(at(classes) + 1);
  copy_to_host(result.member_start.data(), start.data(), offset_t{classes} + 1);
  result.members.resize(at(g.total[0]));
  copy_to_host(result.members.data(), static_cast<const index_t*>(list), g.total[0]);
  return result;
}

}  // namespace

vertex_classes compress(index_t n, const offset_t* row_ptr, const index_t* col_idx,
                        memory_budget& budget, level& g) {
  g.clear();
  g.weighted = false;
  const pattern_rows s{n, row_ptr, col_idx};
  const compression c(budget, n);
  const class_op::value counts =
      n > 0 ? find_classes(s, c, budget, g) : class_op::value{0, 0, 0, 0};
  make_rows(s, c, counts, g);
  if (counts.classes == n) return {};
  return list_members(s, c, counts, budget, g);
}

}  // namespace gsofa::orders::device

#endif
