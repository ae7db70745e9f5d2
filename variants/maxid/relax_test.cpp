// labels: unit
// program: emulated
// The steps of relax.cuh on the paper's worked example, source 8.
#include "variants/maxid/relax.cuh"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "reference/worked_example.hpp"

// A namespace of its own: unity builds compile the test next to files with a `source` and a
// `search`.
namespace gsofa::maxid::relax_test {

using reference::worked::source;

namespace {

constexpr index_t unreached = reference::worked::order;
using vertices = std::vector<index_t>;

// The value of `step`, run by one lane of the emulator.
template <class Step>
auto on_a_lane(Step&& step) {
  decltype(step()) value{};
  simt::emulator::run_grid(1, 32, 0, false, [&] {
    if (simt::thread_index() == 0) value = step();
  });
  return value;
}

// What relaxing an edge changes.
struct outcome {
  bool enqueued = false;
  std::uint32_t new_l = 0;
  std::uint32_t new_u = 0;
  bool operator==(const outcome&) const = default;
};
constexpr outcome nothing{};
constexpr outcome frontier{true, 0, 0};
constexpr outcome entry_of_l{true, 1, 0};
constexpr outcome entry_of_u{false, 0, 1};

// The search from one source, an edge at a time, in a value window with larger values above it.
template <bool Line95>
struct search {
  explicit search(index_t from) : state{from, 1000, maxid.data(), fill.data()} {}

  index_t proposal(index_t v) {
    return static_cast<index_t>(on_a_lane([&] { return proposal_of(state, v); }) - state.base);
  }
  edge_check check(index_t w, index_t proposal) {
    return on_a_lane([&] { return check_edge<Line95>(state, w, state.value(proposal)); });
  }
  outcome relaxed(index_t w, index_t proposal, const edge_check& edge) {
    return on_a_lane([&] {
      outcome found{false, 0, edge.new_u};
      found.enqueued = relax<false>(state, w, state.value(proposal), edge, found.new_l);
      return found;
    });
  }
  outcome along(index_t v, index_t w) {
    const index_t through = proposal(v);
    const edge_check edge = check(w, through);
    return edge.improves ? relaxed(w, through, edge) : outcome{false, 0, edge.new_u};
  }
  // maxId(0), ..., maxId(7), or `unreached`.
  [[nodiscard]] vertices values() const {
    vertices out;
    for (index_t v = 0; v < source; ++v) {
      const std::uint32_t m = maxid[static_cast<std::size_t>(v)] - state.base;
      out.push_back(std::min(static_cast<index_t>(m), unreached));
    }
    return out;
  }
  [[nodiscard]] vertices filled() const {
    vertices out;
    for (index_t v = 0; v < unreached; ++v) {
      if (fill[static_cast<std::size_t>(v)] == state.stamp()) out.push_back(v);
    }
    return out;
  }

  std::vector<std::uint32_t> maxid = std::vector<std::uint32_t>(source, 5000);  // an earlier window
  std::vector<std::uint32_t> fill = std::vector<std::uint32_t>(unreached, 3);   // another source
  source_search state;
};

template <class Search>
void begin(Search& s) {
  CHECK(s.proposal(source) == 0);
  for (const index_t w : {1, 2, 7}) CHECK(s.along(source, w) == entry_of_l);
  for (const index_t w : {8, 9}) CHECK(s.along(source, w) == entry_of_u);
  CHECK(s.along(source, 9) == nothing);
  CHECK(s.values() == vertices{unreached, 0, 0, unreached, unreached, unreached, unreached, 0});
  CHECK(s.filled() == vertices{1, 2, 7, 8, 9});
}

// Level by level, each frontier in the given order; returns the frontiers of each level, ascending.
template <class Search, class Order>
std::vector<vertices> levels(Search& s, const pattern& a, Order&& order) {
  std::vector<vertices> out;
  for (vertices now = {1, 2, 7}; !now.empty();) {
    std::ranges::sort(now);
    out.push_back(now);
    order(now);
    vertices next;
    for (const index_t v : now) {
      for (const index_t w : a.row(v)) {
        if (s.along(v, w).enqueued) next.push_back(w);
      }
    }
    now = std::move(next);
  }
  return out;
}

template <bool Line95>
void check_both_orders(index_t maxid_of_5) {
  const pattern a = reference::worked_example();
  for (const bool descending : {false, true}) {
    CAPTURE(descending);
    search<Line95> s(source);
    begin(s);
    const auto found = levels(s, a, [&](vertices& now) {
      if (descending) std::ranges::reverse(now);
    });
    CHECK(found == std::vector<vertices>{{1, 2, 7}, {0, 3, 4, 5}, {4}});
    CHECK(s.values() == vertices{1, 0, 0, 2, 3, maxid_of_5, unreached, 0});
    CHECK(s.filled() == vertices{1, 2, 3, 4, 5, 7, 8, 9});
  }
}

}  // namespace

TEST_CASE("source 8: every edge of the ascending order does what the paper's text says") {
  search<false> s(source);
  begin(s);
  // Iteration 1: the frontiers 1, 2, 7.
  CHECK(s.proposal(1) == 1);
  CHECK(s.along(1, 0) == frontier);  // 8 -> 1 -> 0: maxId 1, and 0 < 1 is no fill-in
  CHECK(s.proposal(2) == 2);
  CHECK(s.along(2, 3) == entry_of_l);   // fill-in (8, 3)
  CHECK(s.along(2, 5) == entry_of_l);   // fill-in (8, 5)
  CHECK(s.along(2, 7) == nothing);      // a direct neighbour has maxId 0
  CHECK_FALSE(s.check(3, 2).improves);  // an equally good path does not improve maxId(3) = 2
  CHECK(s.proposal(7) == 7);
  CHECK(s.along(7, 2) == nothing);
  CHECK(s.along(7, 4) == frontier);  // 8 -> 7 -> 4: maxId 7, no fill-in yet
  CHECK(s.values() == vertices{1, 0, 0, 2, 7, 2, unreached, 0});
  CHECK(s.filled() == vertices{1, 2, 3, 5, 7, 8, 9});
  // Iteration 2: the frontiers 0, 3, 4, 5.
  CHECK(s.proposal(0) == 1);
  CHECK(s.along(0, 5) == nothing);  // lowers maxId(5), which is a fill-in already
  CHECK(s.values()[5] == 1);
  CHECK(s.proposal(4) == 7);  // vertex 4 is read before vertex 3 has lowered its maxId
  CHECK(s.proposal(3) == 3);
  CHECK(s.along(3, 4) == entry_of_l);  // fill-in (8, 4), which fill2 in this order would miss
  CHECK(s.along(4, 7) == nothing);
  CHECK(s.proposal(5) == 5);
  CHECK(s.along(5, 3) == nothing);
  // Iteration 3: the frontier 4.
  CHECK(s.proposal(4) == 4);
  CHECK(s.along(4, 7) == nothing);
  CHECK(s.values() == vertices{1, 0, 0, 2, 3, 1, unreached, 0});
}

TEST_CASE("source 8: both orders of a frontier find the same levels, maxId and fill-ins") {
  check_both_orders<false>(1);
}

TEST_CASE("source 8 with line 9.5: maxId of the fill-in 5 is not lowered again") {
  check_both_orders<true>(2);
}

TEST_CASE("source 8: an outdated test of an edge neither raises maxId nor enqueues twice") {
  search<false> s(source);
  begin(s);
  const edge_check from_7 = s.check(4, 7);
  const edge_check from_3 = s.check(4, 3);
  const edge_check again = s.check(4, 2);
  CHECK(from_7.improves);
  CHECK(s.relaxed(4, 7, from_7) == frontier);
  CHECK(s.relaxed(4, 7, from_7) == nothing);  // an equally good path was faster
  CHECK(s.relaxed(4, 3, from_3) == entry_of_l);
  CHECK(s.relaxed(4, 7, from_7) == nothing);  // a better path was faster
  CHECK(s.relaxed(4, 2, again) == nothing);   // a better path, but vertex 4 is marked by now
  CHECK(s.values()[4] == 2);
}

TEST_CASE("vertex 0 as a direct neighbour is an entry of L") {
  search<false> s(source);
  CHECK(s.along(source, 0) == entry_of_l);
  CHECK(s.values()[0] == 0);
}

}  // namespace gsofa::maxid::relax_test
