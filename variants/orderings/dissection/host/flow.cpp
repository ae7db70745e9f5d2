// The minimum separator in a band around S, by a maximum flow. Refinement ends in a local minimum;
// no separator in the band weighs less than the result.
//
// The band is S and the vertices within band_layers edges of S. What is left of the lighter side is
// the source of the flow, what is left of the heavier side is its sink. Each vertex of the band is
// an arc from its entrance to its exit, as wide as its weight; each edge of the band joins the exit
// of either end to the entrance of the other end, without limit. Arcs of vertices that cut source
// from sink are a separator, and a maximum flow is as large as the least of these cuts (Ford &
// Fulkerson 1956; Ashcraft & Liu 1998 on separators). Of all minimum separators one is next to the
// sink, the same for every maximum flow (PROOFS.md), so that the device may find another flow.
//
// The flow is a preflow (Karzanov 1974). First the source fills the arcs next to it. Each wave then
// finds the distances to the sink and moves the excess of all nodes down by these levels, until no
// excess can reach the sink.

#include <algorithm>

#include "variants/orderings/dissection/host/stages.hpp"

namespace gsofa::orders {

namespace {

constexpr index_t no_level = -1;

class band_flow {
 public:
  band_flow(trial& t, flow_space& s)
      : t_(t), g_(*t.g), s_(s), from_(source_side(t.weight[side_a], t.weight[side_b])) {}

  void run() {
    s_.number.resize(std::max(s_.number.size(), at(g_.n)), outside);
    find_band();
    fill();
    while (find_levels()) {
      for (std::size_t k = s_.queue.size(); k-- > 0;) push(s_.queue[k]);
    }
    take_cut();
    for (const index_t v : s_.band) s_.number[at(v)] = outside;
  }

 private:
  static constexpr index_t outside = -1;
  // A node of the network: the entrance or the exit of vertex i of the band.
  static index_t entrance(index_t i) { return 2 * i; }
  static index_t exit(index_t i) { return 2 * i + 1; }

  [[nodiscard]] index_t size() const { return static_cast<index_t>(s_.band.size()); }
  [[nodiscard]] index_t weight(index_t i) const { return g_.weight[at(s_.band[at(i)])]; }
  [[nodiscard]] bool is_next_to_source(index_t i) const { return (s_.next_to[at(i)] & 1) != 0; }
  [[nodiscard]] bool is_next_to_sink(index_t i) const { return (s_.next_to[at(i)] & 2) != 0; }

  void find_band() {
    s_.band.clear();
    for (const index_t v : t_.members) add(v);
    std::size_t first = 0;
    for (int layer = 0; layer < band_layers; ++layer) {
      const std::size_t last = s_.band.size();
      for (; first < last; ++first) {
        for (const index_t u : g_.row(s_.band[first])) add(u);
      }
    }
  }
  void add(index_t v) {
    if (s_.number[at(v)] != outside) return;
    s_.number[at(v)] = size();
    s_.band.push_back(v);
  }

  // No flow but from the source into the vertices next to it. Their entrances belong to the source,
  // as the exits next to the sink belong to the sink.
  void fill() {
    s_.next_to.resize(at(size()));
    s_.through.assign(at(size()), 0);
    s_.excess.assign(2 * at(size()), 0);
    s_.level.resize(2 * at(size()));
    s_.first_entry.assign(1, 0);
    s_.neighbours.clear();
    for (index_t i = 0; i < size(); ++i) {
      unsigned next_to = 0;
      for (const index_t u : g_.row(s_.band[at(i)])) {
        if (const index_t j = s_.number[at(u)]; j != outside) {
          s_.neighbours.push_back(j);
        } else {
          next_to |= t_.side[at(u)] == from_ ? 1U : 2U;
        }
      }
      s_.next_to[at(i)] = static_cast<std::uint8_t>(next_to);
      if (is_next_to_source(i)) s_.through[at(i)] = s_.excess[at(exit(i))] = weight(i);
      s_.first_entry.push_back(s_.neighbours.size());
    }
    s_.flow.assign(s_.neighbours.size(), 0);
  }

  // Finds the levels of the nodes that reach the sink, and lists these nodes in s_.queue; false if
  // none of them has excess.
  bool find_levels() {
    std::ranges::fill(s_.level, no_level);
    s_.queue.clear();
    bool any = false;
    const auto reach = [&](index_t node, index_t level) {
      if (s_.level[at(node)] != no_level) return;
      s_.level[at(node)] = level;
      s_.queue.push_back(node);
      any = any || s_.excess[at(node)] > 0;
    };
    for (index_t i = 0; i < size(); ++i) {
      if (is_next_to_sink(i)) reach(exit(i), 1);
    }
    for (std::size_t k = 0; k < s_.queue.size(); ++k) {
      const index_t node = s_.queue[k];
      const index_t level = s_.level[at(node)] + 1;
      const index_t i = node / 2;
      if (node == exit(i)) {
        const bool has_room = s_.through[at(i)] < weight(i);
        if (has_room && !is_next_to_source(i)) reach(entrance(i), level);
        for_row(i, [&](index_t j, std::size_t e) {
          if (s_.flow[e] > 0) reach(entrance(j), level);
        });
      } else {
        if (s_.through[at(i)] > 0) reach(exit(i), level);
        for_row(i, [&](index_t j, std::size_t) { reach(exit(j), level); });
      }
    }
    return any;
  }
  // body(neighbour of i in the band, entry of the row of i).
  template <class Body>
  void for_row(index_t i, Body&& body) {
    const std::size_t end = s_.first_entry[at(i) + 1];
    for (std::size_t e = s_.first_entry[at(i)]; e < end; ++e) body(s_.neighbours[e], e);
  }

  // Moves the excess of a node to nodes of the level below.
  void push(index_t node) {
    index_t& excess = s_.excess[at(node)];
    if (excess == 0) return;
    const index_t i = node / 2;
    const index_t below = s_.level[at(node)] - 1;
    const auto move = [&](index_t to, index_t room) {
      if (s_.level[at(to)] != below) return 0;
      const index_t moved = std::clamp(room, 0, excess);
      excess -= moved;
      s_.excess[at(to)] += moved;
      return moved;
    };
    if (node == entrance(i)) {
      s_.through[at(i)] += move(exit(i), weight(i) - s_.through[at(i)]);
      for_row(i, [&](index_t j, std::size_t) {
        if (excess == 0 || s_.level[at(exit(j))] != below) return;
        index_t& flow = s_.flow[entry_of(j, i)];
        flow -= move(exit(j), flow);
      });
    } else if (below == 0) {
      excess = 0;
    } else {
      // No more than the vertex lets through: what is left may go another way.
      for_row(i, [&](index_t j, std::size_t e) {
        s_.flow[e] += move(entrance(j), weight(j) - s_.excess[at(entrance(j))]);
      });
      s_.through[at(i)] -= move(entrance(i), s_.through[at(i)]);
    }
  }
  // The entry of i in the row of its neighbour j.
  [[nodiscard]] std::size_t entry_of(index_t j, index_t i) const {
    return static_cast<std::size_t>(
        std::find(s_.neighbours.begin() + static_cast<offset_t>(s_.first_entry[at(j)]),
                  s_.neighbours.end(), i) -
        s_.neighbours.begin());
  }

  // Takes the separator next to the sink, if it is better than S.
  void take_cut() {
    offset_t weights[3] = {t_.weight[0], t_.weight[1], t_.weight[2]};
    const auto side_of = [&](index_t i) {
      const bool enters = s_.level[at(entrance(i))] != no_level;
      const bool leaves = s_.level[at(exit(i))] != no_level;
      return cut_side(from_, enters, leaves);
    };
    for (index_t i = 0; i < size(); ++i) {
      weights[t_.side[at(s_.band[at(i)])]] -= weight(i);
      weights[side_of(i)] += weight(i);
    }
    if (!cost_function(g_.total).takes_minimum(weights, t_.weight)) return;
    for (index_t i = 0; i < size(); ++i) t_.side[at(s_.band[at(i)])] = side_of(i);
    collect_separator(t_);
  }

  trial& t_;
  const graph& g_;
  flow_space& s_;
  std::uint8_t from_;  // the side that has the source
};

}  // namespace

void minimum_separator(trial& t, flow_space& s) { band_flow(t, s).run(); }

}  // namespace gsofa::orders
