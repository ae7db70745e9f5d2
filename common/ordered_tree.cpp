#include "common/ordered_tree.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

#include "common/parallel.hpp"
#include "common/preprocess.hpp"

namespace gsofa {

namespace {

// A subtree with fewer vertices is no piece of work.
constexpr index_t least_piece = 64;

// Parents of a pattern in an order, before the postorder.
class parent_finder {
 public:
  parent_finder(const pattern_view& s, std::span<const index_t> order)
      : s_(s),
        order_(order),
        place_(inverse_permutation(order)),
        parent_(order.size(), -1),
        ancestor_(order.size(), -1) {}

  std::vector<index_t> find(const known_subtrees& known, int threads) {
    if (!known.kept.empty()) return find(known.kept, *known.before);
    std::span<const index_range> apart = known.apart;
    if (threads <= 1) apart = {};
    // relaxed: read after the threads have joined.
    std::atomic<bool> joined{false};
    parallel_ranges<std::size_t>(threads, apart.size(), 1, [&](int, std::size_t k, std::size_t) {
      for (index_t p = apart[k].begin; p < apart[k].end; ++p) {
        if (!find(p, apart[k].begin)) joined.store(true, std::memory_order_relaxed);
      }
    });
    if (joined.load()) {
      std::ranges::fill(parent_, -1);
      std::ranges::fill(ancestor_, -1);
      apart = {};
    }
    auto next = apart.begin();
    const auto n = static_cast<index_t>(order_.size());
    for (index_t p = 0; p < n; ++p) {
      if (next != apart.end() && next->begin == p) {
        p = next++->end - 1;
      } else {
        find(p, 0);
      }
    }
    return std::move(parent_);
  }

 private:
  // Rows above kept subtrees climb from the root of each at once.
  std::vector<index_t> find(std::span<const kept_subtree> kept, const ordered_tree& before) {
    index_t p = 0;
    const auto find_until = [&](index_t end) {
      for (; p < end; ++p) find(p, 0);
    };
    for (const kept_subtree& t : kept) {
      find_until(t.begin);
      for (; p < t.end - 1; ++p) {
        parent_[at(p)] = before.parent[at(p - t.begin + t.before)] - t.before + t.begin;
        ancestor_[at(p)] = t.end - 1;
      }
      p = t.end;
    }
    find_until(static_cast<index_t>(order_.size()));
    return std::move(parent_);
  }

  // Row p, with the vertices from `least` on alone. Returns whether it has no others.
  bool find(index_t p, index_t least) {
    bool all = true;
    for (const index_t u : s_.row(order_[at(p)])) {
      index_t k = place_[at(u)];
      if (k >= p) continue;
      if (k < least) {
        all = false;
        continue;
      }
      // Climb from k towards p; every vertex passed gets p as its ancestor.
      while (k != -1 && k < p) {
        const index_t next = std::exchange(ancestor_[at(k)], p);
        if (next == -1) parent_[at(k)] = p;
        k = next;
      }
    }
    return all;
  }

  const pattern_view& s_;
  std::span<const index_t> order_;
  std::vector<index_t> place_, parent_, ancestor_;
};

// Counts of the rows and columns of the Cholesky factor of a pattern in a postorder of its tree.
// Vertex j is a leaf of the row subtree of i iff A(i, j) != 0 and no vertex of the subtree of j is
// a neighbour of i. Column j gains one entry for each such i; where two leaves of one row meet, at
// their lowest common ancestor, it loses one. Row i has the vertices of its row subtree.
class factor_counter {
 public:
  factor_counter(const pattern_view& s, ordered_tree& t)
      : s_(s),
        t_(t),
        n_(static_cast<index_t>(t.order.size())),
        place_(inverse_permutation(t.order)),
        first_(identity_order(n_)),
        level_(at(n_), 0),
        ancestor_(identity_order(n_)),
        last_(at(n_)) {
    for (index_t j = 0; j < n_; ++j) {
      const index_t up = t.parent[at(j)];
      if (up != -1) first_[at(up)] = std::min(first_[at(up)], first_[at(j)]);
    }
    for (index_t j = n_ - 1; j >= 0; --j) {
      const index_t up = t.parent[at(j)];
      if (up != -1) level_[at(j)] = level_[at(up)] + 1;
    }
    t.row_counts.assign(at(n_), 0);
    // An inner vertex is itself a row of its children's columns.
    t.counts.resize(at(n_));
    for (index_t j = 0; j < n_; ++j) t.counts[at(j)] = first_[at(j)] == j ? 0 : -1;
  }

  void count(const known_subtrees& known, int threads) {
    if (!known.kept.empty()) return count(known.kept, *known.before);
    const std::vector<index_t> roots =
        threads > 1 ? pieces(piece_of_tree(n_, threads)) : std::vector<index_t>();
    std::vector<std::vector<outside_row>> outside(roots.size());
    std::vector<std::vector<outside_row>> rows(roots.empty() ? 0 : at(threads));
    parallel_ranges<std::size_t>(threads, roots.size(), 1,
                                 [&](int thread, std::size_t k, std::size_t) {
                                   rows[at(thread)].resize(at(above_));
                                   count_piece(roots[k], rows[at(thread)], outside[k]);
                                 });
    std::size_t next = 0;
    for (index_t j = 0; j < n_; ++j) {
      if (next < roots.size() && first_[at(roots[next])] == j) {
        j = roots[next];
        for (const outside_row& row : outside[next++]) join(row);
      } else {
        for_rows(j, [&](index_t i) { count_leaf(i, j); });
      }
      finish(j);
    }
    add_operations();
  }

 private:
  void add_operations() {
    for (const double c : t_.counts) t_.operations += c + 2 * c * c;
  }

  // An entry of a row above a kept subtree.
  struct entry_above {
    index_t row, column;
  };

  // Columns of kept subtrees have their counts; rows above find what they have of each subtree from
  // the leaves among their entries in it.
  void count(std::span<const kept_subtree> kept, const ordered_tree& before) {
    const std::vector<std::vector<entry_above>> entries = copy_counts(kept, before);
    std::size_t next = 0;
    for (index_t j = 0; j < n_; ++j) {
      if (next < kept.size() && kept[next].begin == j) {
        j = kept[next].end - 1;
        join(entries[next++], j);
      } else {
        for_rows(j, [&](index_t i) { count_leaf(i, j); });
      }
      finish(j);
    }
    add_operations();
  }
  // Returns the entries of rows above each subtree, row by row, each from left to right.
  std::vector<std::vector<entry_above>> copy_counts(std::span<const kept_subtree> kept,
                                                    const ordered_tree& before) {
    std::vector<index_t> subtree(at(n_), -1);
    for (std::size_t k = 0; k < kept.size(); ++k) {
      const kept_subtree& t = kept[k];
      const auto copy = [&](const std::vector<index_t>& from, std::vector<index_t>& to) {
        std::copy_n(from.begin() + t.before, t.end - t.begin, to.begin() + t.begin);
      };
      copy(before.counts, t_.counts);
      copy(before.row_counts, t_.row_counts);
      std::fill(ancestor_.begin() + t.begin, ancestor_.begin() + t.end, t.end - 1);
      std::fill(subtree.begin() + t.begin, subtree.begin() + t.end, static_cast<index_t>(k));
    }
    std::vector<std::vector<entry_above>> entries(kept.size());
    for (index_t i = 0; i < n_; ++i) {
      if (subtree[at(i)] != -1) {
        i = kept[at(subtree[at(i)])].end - 1;
        continue;
      }
      for (const index_t u : s_.row(t_.order[at(i)])) {
        const index_t j = place_[at(u)];
        if (j < i && subtree[at(j)] != -1) entries[at(subtree[at(j)])].push_back({i, j});
      }
    }
    for (auto& of_subtree : entries) {
      std::ranges::sort(of_subtree, {}, [](entry_above e) { return std::pair(e.row, e.column); });
    }
    return entries;
  }
  void join(std::span<const entry_above> entries, index_t root) {
    for (std::size_t k = 0; k < entries.size();) {
      const index_t i = entries[k].row;
      outside_row row{i, {root, first_[at(root)]}, level_[at(entries[k].column)]};
      for (index_t leaf = entries[k++].column; k < entries.size() && entries[k].row == i; ++k) {
        const index_t j = entries[k].column;
        if (first_[at(j)] <= leaf) continue;
        index_t q = j;
        while (first_[at(q)] > leaf) q = t_.parent[at(q)];
        row.entries += level_[at(j)] - level_[at(q)];
        leaf = j;
      }
      join(row);
    }
  }

  struct leaf_note {
    index_t leaf = -1;
    index_t first = -1;  // of the subtree of that leaf
  };
  // A row above a piece: its leaves in the piece.
  struct outside_row {
    index_t row = -1;
    leaf_note last{};
    index_t entries = 0;  // of the row, and the level of the first common ancestor outside
  };

  // The roots of the maximal subtrees of at most `most` vertices that are worth a thread. Numbers
  // the vertices outside.
  std::vector<index_t> pieces(index_t most) {
    std::vector<index_t> roots;
    above_number_.assign(at(n_), -1);
    for (index_t j = n_ - 1; j >= 0; --j) {
      const index_t size = j - first_[at(j)] + 1;
      if (size <= most && size >= least_piece) {
        roots.push_back(j);
        j = first_[at(j)];
      } else {
        above_number_[at(j)] = above_++;
      }
    }
    std::ranges::reverse(roots);
    return roots;
  }

  // Once all of the subtree of j is counted.
  void finish(index_t j) {
    const index_t up = t_.parent[at(j)];
    if (up == -1) return;
    t_.counts[at(up)] += t_.counts[at(j)];
    ancestor_[at(j)] = up;
  }

  // Calls leaf(i) for the rows i of which j may be a leaf.
  template <class Body>
  void for_rows(index_t j, const Body& body) const {
    for (const index_t u : s_.row(t_.order[at(j)])) {
      const index_t i = place_[at(u)];
      if (i > j) body(i);
    }
  }

  void count_leaf(index_t i, index_t j) {
    leaf_note& last = last_[at(i)];
    if (first_[at(j)] <= last.first) return;
    ++t_.counts[at(j)];
    t_.row_counts[at(i)] += level_[at(j)] - level_[at(meet(last, i))];
    last = {j, first_[at(j)]};
  }
  // The vertex at which the path from the next leaf ends: row i has those before.
  index_t meet(const leaf_note& last, index_t i) {
    if (last.leaf == -1) return i;
    const index_t q = root_of(last.leaf);
    --t_.counts[at(q)];
    return q;
  }
  index_t root_of(index_t v) {
    while (ancestor_[at(v)] != v) {
      ancestor_[at(v)] = ancestor_[at(ancestor_[at(v)])];
      v = ancestor_[at(v)];
    }
    return v;
  }

  // A subtree, all of whose columns end with rows outside that are noted in `out`. `rows` has an
  // element for each vertex outside, and is left as it was.
  void count_piece(index_t root, std::span<outside_row> rows, std::vector<outside_row>& out) {
    for (index_t j = first_[at(root)]; j <= root; ++j) {
      for_rows(j, [&](index_t i) {
        if (i <= root) return count_leaf(i, j);
        outside_row& row = rows[at(above_number_[at(i)])];
        if (first_[at(j)] <= row.last.first) return;
        ++t_.counts[at(j)];
        row.entries += level_[at(j)];
        if (row.row == -1) {
          row.row = i;
          out.push_back({i});
        } else {
          row.entries -= level_[at(meet(row.last, i))];
        }
        row.last = {j, first_[at(j)]};
      });
      if (j < root) finish(j);
    }
    for (outside_row& row : out) {
      row = std::exchange(rows[at(above_number_[at(row.row)])], outside_row());
    }
  }
  void join(const outside_row& row) {
    leaf_note& last = last_[at(row.row)];
    t_.row_counts[at(row.row)] += row.entries - level_[at(meet(last, row.row))];
    last = row.last;
  }

  const pattern_view& s_;
  ordered_tree& t_;
  index_t n_;
  std::vector<index_t> place_, first_, level_, ancestor_;
  std::vector<leaf_note> last_;        // of each row
  std::vector<index_t> above_number_;  // of vertices outside the pieces
  index_t above_ = 0;
};

}  // namespace

index_t piece_of_tree(index_t n, int threads) {
  return static_cast<index_t>(n / (offset_t{4} * threads));
}

ordered_tree tree_of_order(const pattern_view& s, std::vector<index_t> order, known_subtrees known,
                           int threads) {
  offset_t others = s.n_rows;
  for (const kept_subtree& t : known.kept) others -= t.end - t.begin;
  // Copies and searches pay where few rows are left; the other way has several threads.
  if (others * (threads > 1 ? 8 : 4) > s.n_rows) known.kept.clear();
  const std::vector<index_t> parent = parent_finder(s, order).find(known, threads);
  const std::vector<index_t> post = postorder(parent);
  const std::vector<index_t> place = inverse_permutation(post);
  ordered_tree t;
  t.order.reserve(post.size());
  t.parent.reserve(post.size());
  for (const index_t v : post) {
    t.order.push_back(order[at(v)]);
    t.parent.push_back(parent[at(v)] == -1 ? -1 : place[at(parent[at(v)])]);
  }
  for (kept_subtree& k : known.kept) {
    // A postorder of it already.
    const index_t root = place[at(k.end - 1)];
    k.begin += root + 1 - k.end;
    k.end = root + 1;
  }
  std::ranges::sort(known.kept, {}, &kept_subtree::begin);
  factor_counter(s, t).count(known, threads);
  return t;
}

}  // namespace gsofa
