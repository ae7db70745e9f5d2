#include "variants/orderings/order_update.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "common/parallel.hpp"
#include "common/preprocess.hpp"

namespace gsofa {

namespace {

// The vertex that each of `before` earlier vertices is now, -1 if it is gone.
std::vector<index_t> vertices_now(std::span<const index_t> previous, index_t before) {
  std::vector<index_t> now(previous.empty() ? 0 : at(before), -1);
  for (std::size_t v = 0; v < previous.size(); ++v) {
    if (previous[v] != -1) now[at(previous[v])] = static_cast<index_t>(v);
  }
  return now;
}

}  // namespace

std::vector<index_t> changed_rows(const pattern_view& a, const pattern_view& before,
                                  std::span<const index_t> previous, int threads) {
  const std::vector<index_t> now = vertices_now(previous, before.n_rows);
  std::vector<char> differs(at(a.n_rows));
  std::vector<std::vector<index_t>> seen(
      at(std::max(threads, 1)));  // the last row with each column
  parallel_ranges<index_t>(threads, a.n_rows, 4096, [&](int thread, index_t begin, index_t end) {
    std::vector<index_t>& in_row = seen[at(thread)];
    if (!previous.empty()) in_row.resize(at(a.n_rows), -1);
    for (index_t v = begin; v < end; ++v) {
      const auto row = a.row(v);
      const index_t p = previous.empty() ? v : previous[at(v)];
      if (p == -1 || before.row(p).size() != row.size()) {
        differs[at(v)] = 1;
      } else if (previous.empty()) {
        differs[at(v)] = std::ranges::equal(row, before.row(p)) ? 0 : 1;
      } else {
        for (const index_t u : row) in_row[at(u)] = v;
        differs[at(v)] =
            std::ranges::all_of(
                before.row(p),
                [&](index_t u) { return now[at(u)] != -1 && in_row[at(now[at(u)])] == v; })
                ? 0
                : 1;
      }
    }
  });
  std::vector<index_t> changed;
  for (index_t v = 0; v < a.n_rows; ++v) {
    if (differs[at(v)] != 0) changed.push_back(v);
  }
  return changed;
}

namespace {

// The places of an earlier tree `t`, which outlives them. Place n is a root above all trees of the
// forest.
class tree_places {
 public:
  explicit tree_places(const ordered_tree& t)
      : parent_(t.parent),
        root_(static_cast<index_t>(t.parent.size())),
        first_(at(root_) + 1, 0),
        entries_(at(root_) + 1, 0) {
    for (index_t p = 0; p < root_; ++p) first_[at(p)] = p;
    for (index_t p = 0; p < root_; ++p) {
      first_[at(up(p))] = std::min(first_[at(up(p))], first_[at(p)]);
    }
    for (index_t p = root_ - 1; p >= 0; --p)
      entries_[at(p)] = entries_[at(up(p))] + t.counts[at(p)];
  }

  [[nodiscard]] index_t root() const { return root_; }
  /// Whether one place is the other or its ancestor.
  [[nodiscard]] bool are_related(index_t p, index_t q) const {
    return first_[at(std::max(p, q))] <= std::min(p, q);
  }
  /// The lowest common ancestor of two places. All calls climb n parents, and then each call takes
  /// O(log n) steps.
  [[nodiscard]] index_t common_ancestor(index_t p, index_t q) {
    const index_t low = std::min(p, q);
    index_t w = std::max(p, q);
    while (first_[at(w)] > low) {
      if (steps_++ == root_) find_jumps();
      w = !jump_.empty() && first_[at(jump_[at(w)])] > low ? jump_[at(w)] : up(w);
    }
    return w;
  }
  /// Entries of the columns from place p to its ancestor w.
  [[nodiscard]] offset_t entries(index_t p, index_t w) const {
    return entries_[at(p)] - entries_[at(w)];
  }

 private:
  [[nodiscard]] index_t up(index_t p) const {
    return parent_[at(p)] == -1 ? root_ : parent_[at(p)];
  }
  // One jump from each place to an ancestor, of the lengths of skew binary numbers: Myers, An
  // applicative random-access stack, 1983.
  void find_jumps() {
    jump_.assign(at(root_) + 1, root_);
    std::vector<index_t> depth(at(root_) + 1, 0);
    for (index_t p = root_ - 1; p >= 0; --p) {
      const index_t above = up(p);
      const index_t far = jump_[at(above)];
      depth[at(p)] = depth[at(above)] + 1;
      const bool are_equal =
          depth[at(above)] - depth[at(far)] == depth[at(far)] - depth[at(jump_[at(far)])];
      jump_[at(p)] = are_equal ? jump_[at(far)] : above;
    }
  }

  std::span<const index_t> parent_;
  index_t root_;
  std::vector<index_t> first_;     // of the subtree of each place
  std::vector<offset_t> entries_;  // of the columns up to the root
  std::vector<index_t> jump_;      // empty: not found yet
  offset_t steps_ = 0;             // of common_ancestor()
};

// An end of an edge that joins unrelated places.
struct crossing_end {
  index_t vertex, other, common;
};

// All ends of such edges, those of one vertex in sequence.
std::vector<crossing_end> crossing_ends(const pattern_view& s, tree_places& places,
                                        std::span<const index_t> place,
                                        std::span<const index_t> changed) {
  std::vector<crossing_end> ends;
  for (const index_t v : changed) {
    for (const index_t u : s.row(v)) {
      if (places.are_related(place[at(u)], place[at(v)])) continue;
      const index_t w = places.common_ancestor(place[at(u)], place[at(v)]);
      ends.push_back({v, u, w});
      ends.push_back({u, v, w});
    }
  }
  const auto key = [](const crossing_end& e) { return std::pair(e.vertex, e.other); };
  std::ranges::sort(ends, {}, key);
  const auto repeated = std::ranges::unique(ends, {}, key);
  ends.erase(repeated.begin(), repeated.end());
  return ends;
}

// Moves vertices to ancestors of their places until no edge joins unrelated places. Lists those
// that leave vertex_at.
void move_up(std::span<const crossing_end> ends, const tree_places& places,
             std::span<const index_t> vertex_at, std::span<index_t> place,
             std::vector<index_t>& moved) {
  struct candidate {
    double cost;
    std::size_t begin, end;
  };
  std::vector<candidate> candidates;
  for (std::size_t k = 0; k < ends.size();) {
    candidate c{0, k, k};
    index_t top = 0;
    for (; c.end < ends.size() && ends[c.end].vertex == ends[k].vertex; ++c.end) {
      top = std::max(top, ends[c.end].common);
    }
    c.cost = static_cast<double>(places.entries(place[at(ends[k].vertex)], top)) /
             static_cast<double>(c.end - c.begin);
    candidates.push_back(c);
    k = c.end;
  }
  std::ranges::stable_sort(candidates, {}, &candidate::cost);
  std::vector<bool> is_moved(place.size(), false);
  for (const candidate& c : candidates) {
    index_t top = -1;
    for (std::size_t k = c.begin; k < c.end; ++k) {
      if (!is_moved[at(ends[k].other)]) top = std::max(top, ends[k].common);
    }
    if (top == -1) continue;
    const index_t v = ends[c.begin].vertex;
    is_moved[at(v)] = true;
    const index_t from = std::exchange(place[at(v)], top);
    if (from < places.root() && vertex_at[at(from)] == v) moved.push_back(v);
  }
}

// Gives each new vertex the least place of its neighbours that have one, the root if none has.
void place_new(const pattern_view& s, std::span<const index_t> changed, index_t root,
               std::span<index_t> place, std::vector<index_t>& moved) {
  const auto place_next = [&](index_t v) {
    if (place[at(v)] != -1) return;
    index_t least = root;
    for (const index_t u : s.row(v)) {
      if (place[at(u)] != -1) least = std::min(least, place[at(u)]);
    }
    if (least == root) return;
    place[at(v)] = least;
    moved.push_back(v);
  };
  const std::size_t begin = moved.size();
  for (const index_t v : changed) place_next(v);
  // New vertices with new neighbours only: breadth first from the new vertices that have a place.
  for (std::size_t k = begin; k < moved.size(); ++k) {
    for (const index_t u : s.row(moved[k])) place_next(u);
  }
  for (const index_t v : changed) {
    if (place[at(v)] != -1) continue;
    place[at(v)] = root;
    moved.push_back(v);
  }
}

}  // namespace

repaired repaired_order(const pattern_view& s, const ordered_tree& before,
                        std::span<const index_t> previous, std::span<const index_t> changed) {
  tree_places places(before);
  std::vector<index_t> place = inverse_permutation(before.order);
  std::vector<index_t> vertex_at = before.order;  // of this pattern; -1: it is elsewhere or gone
  std::vector<index_t> moved;
  if (!previous.empty()) {
    std::vector<index_t> now(previous.size(), -1);
    std::ranges::fill(vertex_at, -1);
    for (std::size_t v = 0; v < previous.size(); ++v) {
      if (previous[v] == -1) continue;
      now[v] = place[at(previous[v])];
      vertex_at[at(now[v])] = static_cast<index_t>(v);
    }
    place = std::move(now);
    place_new(s, changed, places.root(), place, moved);
  }
  move_up(crossing_ends(s, places, place, changed), places, vertex_at, place, moved);
  std::ranges::stable_sort(moved, {}, [&](index_t v) { return place[at(v)]; });
  repaired out;
  out.order.reserve(place.size());
  std::size_t next = 0;
  for (index_t p = 0; p <= places.root(); ++p) {
    for (; next < moved.size() && place[at(moved[next])] == p; ++next) {
      out.order.push_back(moved[next]);
    }
    if (p == places.root()) break;
    const index_t v = vertex_at[at(p)];
    if (v != -1 && place[at(v)] == p) out.order.push_back(v);
  }
  out.moved = std::move(moved);
  return out;
}

bool needs_comparison(index_t n, offset_t rows_changed, double operations, double operations_then) {
  constexpr double most_rows = 0.02;
  constexpr double most_operations = 0.05;
  return static_cast<double>(rows_changed) > most_rows * n ||
         std::abs(operations - operations_then) > most_operations * operations_then;
}

}  // namespace gsofa
