// Reductions in rounds. All simplicial vertices go in one round. Vertices of small degree go in
// independent sets: a vertex goes if it has the least degree (ties: hash) among its neighbours of
// small degree.
//
// A vertex of small degree that is eliminated becomes an element of a quotient graph (George & Liu
// 1980): the rows of its neighbours keep their entry for it, which then means its front. It absorbs
// the elements in its own row, so that no row grows. Fronts of simplicial vertices are cliques
// already, so these vertices simply disappear.

#include "variants/orderings/dissection/host/reduce.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <tuple>
#include <utility>

#include "variants/orderings/dissection/arithmetic.hpp"

namespace gsofa::orders {

namespace {

class reducer {
 public:
  reducer(team& crew, const pattern_view& s, int degree)
      : crew_(crew),
        s_(s),
        degree_(degree),
        state_(at(s.n_rows), live),
        number_(at(s.n_rows)),
        listed_(at(s.n_rows), 0),
        pooled_(at(s.n_rows), 0) {
    for (index_t v = 0; v < s.n_rows; ++v) {
      number_[at(v)] = present_;
      if (!s.row(v).empty()) ++present_;
    }
  }

  // always: also where few vertices can be removed.
  reduction run(bool always) {
    if (degree_ == 0) return {};
    std::vector<index_t> eligible = select_simplicial();
    if (always || is_reducible(count_small() + static_cast<offset_t>(eligible.size()), present_)) {
      remove_simplicial(std::move(eligible));
      if (degree_ > 1) remove_small();
    }
    if (!result_.removed.empty()) make_rest();
    return std::move(result_);
  }
  /// Whether run() has removed vertices of small degree.
  [[nodiscard]] bool leaves_core() const { return leaves_core_; }

 private:
  // States of vertices. An element's state is the element that absorbed it, or itself.
  static constexpr index_t live = -1;
  static constexpr index_t gone = -2;  // simplicial, eliminated
  [[nodiscard]] bool is_live(index_t v) const { return state_[at(v)] == live; }
  [[nodiscard]] bool is_element(index_t v) const { return state_[at(v)] >= 0; }

  [[nodiscard]] std::size_t row_length(index_t v) const { return s_.row(v).size(); }
  [[nodiscard]] bool may_go(index_t v) const {
    return is_live(v) && row_length(v) > 0 && row_length(v) <= at(longest_reduced);
  }

  // ------------------------------------------------------------------- simplicial vertices

  [[nodiscard]] bool are_adjacent(index_t u, index_t v) const {
    if (row_length(v) < row_length(u)) std::swap(u, v);
    return std::ranges::binary_search(s_.row(u), v);
  }

  // Whether the live neighbours of v are a clique of at most most_simplicial vertices.
  [[nodiscard]] bool is_simplicial(index_t v) const {
    if (!may_go(v)) return false;
    index_t near[most_simplicial];
    index_t count = 0;
    for (const index_t w : s_.row(v)) {
      if (!is_live(w)) continue;
      if (count == most_simplicial || (count > 0 && !are_adjacent(near[0], w))) return false;
      near[count++] = w;
    }
    for (index_t i = 2; i < count; ++i) {
      for (index_t j = 1; j < i; ++j) {
        if (!are_adjacent(near[i], near[j])) return false;
      }
    }
    return true;
  }

  // All simplicial vertices, before any is gone. The neighbours of such a vertex are a clique, so
  // one that has no other neighbours is simplicial as well, and is not tested.
  std::vector<index_t> select_simplicial() {
    std::vector<std::atomic<bool>> known(at(s_.n_rows));
    return select(vertices(), [&](index_t v) {
      if (known[at(v)].load(std::memory_order_relaxed)) return true;
      if (row_length(v) > at(most_simplicial) || !is_simplicial(v)) return false;
      for (const index_t w : s_.row(v)) {
        if (row_length(w) == row_length(v)) known[at(w)].store(true, std::memory_order_relaxed);
      }
      return true;
    });
  }

  // The vertices of a list, or of all, for which test(v) is true, ascending if the list is.
  template <class Test>
  std::vector<index_t> select(std::span<const index_t> list, Test&& test) {
    passes_.resize(list.size());
    crew_.ranges(static_cast<offset_t>(list.size()), vertex_grain,
                 [&](int, offset_t from, offset_t to) {
                   for (offset_t i = from; i < to; ++i) passes_[at(i)] = test(list[at(i)]) ? 1 : 0;
                 });
    std::vector<index_t> selected;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (passes_[i] != 0) selected.push_back(list[i]);
    }
    return selected;
  }
  [[nodiscard]] std::vector<index_t> vertices() const {
    std::vector<index_t> all(at(s_.n_rows));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  // Vertices of degree 2 that are not simplicial, if their removal is asked for.
  [[nodiscard]] offset_t count_small() const {
    offset_t count = 0;
    for (index_t v = 0; v < s_.n_rows && degree_ > 1; ++v) {
      const auto row = s_.row(v);
      if (row.size() == 2 && !are_adjacent(row[0], row[1])) ++count;
    }
    return count;
  }

  // Appends vertices whose degree has changed to a list, each once until clear_listed().
  void list(index_t v, std::vector<index_t>& out) {
    if (std::exchange(listed_[at(v)], 1) == 0) out.push_back(v);
  }
  void clear_listed(std::span<const index_t> of) {
    for (const index_t v : of) listed_[at(v)] = 0;
  }

  void end_front() { result_.front_start.push_back(static_cast<offset_t>(result_.front.size())); }

  // going: all simplicial vertices, ascending.
  void remove_simplicial(std::vector<index_t> going) {
    while (!going.empty()) {
      for (const index_t v : going) {
        state_[at(v)] = gone;
        result_.removed.push_back(v);
        for (const index_t w : s_.row(v)) {
          if (is_live(w)) result_.front.push_back(w);
        }
        end_front();
      }
      if (is_slow_round(static_cast<offset_t>(going.size()), present_)) return;
      // A vertex becomes simplicial only when it loses a neighbour.
      std::vector<index_t> changed;
      const auto first = result_.front_start[result_.removed.size() - going.size()];
      for (const index_t w : std::span(result_.front).subspan(at(first))) {
        if (is_live(w)) list(w, changed);
      }
      clear_listed(changed);
      std::ranges::sort(changed);
      going = select(changed, [&](index_t v) { return is_simplicial(v); });
    }
  }

  // -------------------------------------------------------------- vertices of small degree

  [[nodiscard]] index_t root(index_t e) const {
    while (state_[at(e)] != e) e = state_[at(e)];
    return e;
  }
  [[nodiscard]] std::span<const index_t> near(index_t v) const {
    return std::span(near_).subspan(at(v) * at(degree_), near_count_[at(v)]);
  }

  // Finds the neighbours of v in the elimination graph if there are at most degree_.
  void find_near(index_t v) {
    index_t* const own = near_.data() + at(v) * at(degree_);
    int count = 0;
    const auto add = [&](index_t u) {
      if (u == v || std::find(own, own + count, u) != own + count) return true;
      if (count == degree_) return false;
      own[count++] = u;
      return true;
    };
    near_count_[at(v)] = many;
    if (!may_go(v)) return;
    for (const index_t w : s_.row(v)) {
      if (is_live(w) && !add(w)) return;
      if (is_element(w) && !std::ranges::all_of(near(root(w)), add)) return;
    }
    near_count_[at(v)] = static_cast<std::uint8_t>(count);
  }

  // Whether v is eliminated before its neighbour u, both candidates.
  [[nodiscard]] bool precedes(index_t v, index_t u) const {
    const auto rank = [&](index_t x) {
      return std::tuple(near_count_[at(x)], vertex_hash(0, number_[at(x)]), x);
    };
    return rank(v) < rank(u);
  }

  // Eliminates vertices that are not neighbours: each becomes an element and absorbs the elements
  // in its row. No element is in two of these rows, since their vertices would be neighbours.
  void eliminate(std::span<const index_t> going, std::vector<index_t>& changed) {
    const std::size_t first = result_.removed.size();
    const auto front = at(result_.front_start.back());
    result_.removed.insert(result_.removed.end(), going.begin(), going.end());
    for (const index_t v : going) {
      result_.front_start.push_back(result_.front_start.back() + near_count_[at(v)]);
    }
    result_.front.resize(at(result_.front_start.back()));
    crew_.ranges(std::ssize(going), vertex_grain, [&](int, offset_t from, offset_t to) {
      for (offset_t i = from; i < to; ++i) {
        const index_t v = going[at(i)];
        state_[at(v)] = v;
        for (const index_t w : s_.row(v)) {
          if (is_element(w)) state_[at(root(w))] = v;
        }
        std::ranges::copy(near(v), result_.front.begin() + result_.front_start[first + at(i)]);
      }
    });
    for (const index_t u : std::span(result_.front).subspan(front)) list(u, changed);
  }

  void find_near(std::span<const index_t> of) {
    crew_.ranges(static_cast<offset_t>(of.size()), vertex_grain,
                 [&](int, offset_t from, offset_t to) {
                   for (offset_t i = from; i < to; ++i) find_near(of[at(i)]);
                 });
  }

  void remove_small() {
    const std::size_t before = result_.removed.size();
    near_.resize(at(s_.n_rows) * at(degree_));
    near_count_.assign(at(s_.n_rows), many);
    const std::vector<index_t> all = select(vertices(), [&](index_t v) { return may_go(v); });
    find_near(all);
    for (int most = 2; most <= degree_; ++most) {
      std::vector<index_t> pool =
          select(all, [&](index_t v) { return is_live(v) && near_count_[at(v)] <= most; });
      for (const index_t v : pool) pooled_[at(v)] = 1;
      while (!is_last_round_of_degree(remove_independent(most, pool), present_)) {
      }
      for (const index_t v : pool) pooled_[at(v)] = 0;
    }
    const auto kept = present_ - static_cast<index_t>(result_.removed.size());
    leaves_core_ = is_core(kept, present_ - static_cast<index_t>(before));
    if (!leaves_core_) undo(before);
  }

  // Removes the vertices of the pool, which are all of at most `most` neighbours, that precede
  // their neighbours in it. Returns their number.
  offset_t remove_independent(int most, std::vector<index_t>& pool) {
    std::vector<index_t> going = select(pool, [&](index_t v) {
      return std::ranges::all_of(near(v), [&](index_t u) {
        return near_count_[at(u)] > near_count_[at(v)] || precedes(v, u);
      });
    });
    std::ranges::sort(going);
    std::vector<index_t> changed;
    eliminate(going, changed);
    clear_listed(changed);
    find_near(changed);
    std::erase_if(pool, [&](index_t v) {
      if (is_live(v) && near_count_[at(v)] <= most) return false;
      pooled_[at(v)] = 0;
      return true;
    });
    for (const index_t v : changed) {
      if (near_count_[at(v)] <= most && std::exchange(pooled_[at(v)], 1) == 0) pool.push_back(v);
    }
    return static_cast<offset_t>(going.size());
  }

  // Only the first `count` vertices stay removed, which are simplicial ones.
  void undo(std::size_t count) {
    for (std::size_t k = count; k < result_.removed.size(); ++k) {
      state_[at(result_.removed[k])] = live;
    }
    result_.removed.resize(count);
    result_.front_start.resize(count + 1);
    result_.front.resize(at(result_.front_start.back()));
  }

  // ------------------------------------------------------------------------------- result

  void make_rest() {
    for (index_t v = 0; v < s_.n_rows; ++v) {
      number_[at(v)] = static_cast<index_t>(result_.kept.size());
      if (is_live(v)) result_.kept.push_back(v);
    }
    const auto kept = static_cast<offset_t>(result_.kept.size());
    pattern& rest = result_.rest;
    rest.n_rows = rest.n_cols = static_cast<index_t>(kept);
    rest.row_ptr.assign(at(kept) + 1, 0);
    std::vector<std::vector<index_t>> parts(at((kept + vertex_grain - 1) / vertex_grain));
    crew_.ranges(kept, vertex_grain, [&](int, offset_t from, offset_t to) {
      // A team of one has a single range.
      std::vector<index_t>& part = parts[at(from / vertex_grain)];
      for (offset_t i = from; i < to; ++i) {
        const std::size_t before = part.size();
        append_row(result_.kept[at(i)], part);
        rest.row_ptr[at(i) + 1] = static_cast<offset_t>(part.size() - before);
      }
    });
    std::partial_sum(rest.row_ptr.begin(), rest.row_ptr.end(), rest.row_ptr.begin());
    rest.col_idx.reserve(at(rest.row_ptr.back()));
    for (const auto& part : parts) {
      rest.col_idx.insert(rest.col_idx.end(), part.begin(), part.end());
    }
  }

  // Appends the row of a kept vertex.
  void append_row(index_t v, std::vector<index_t>& out) const {
    const auto first = static_cast<offset_t>(out.size());
    bool has_elements = false;
    for (const index_t w : s_.row(v)) {
      if (is_live(w)) out.push_back(number_[at(w)]);
      if (!is_element(w)) continue;
      has_elements = true;
      for (const index_t u : near(root(w))) {
        if (u != v) out.push_back(number_[at(u)]);
      }
    }
    if (!has_elements) return;  // numbers ascend with vertices
    std::sort(out.begin() + first, out.end());
    out.erase(std::unique(out.begin() + first, out.end()), out.end());
  }

  static constexpr std::uint8_t many = 0xff;  // more than degree_

  team& crew_;
  pattern_view s_;
  int degree_;
  bool leaves_core_ = false;
  index_t present_ = 0;  // vertices with neighbours
  std::vector<index_t> state_;
  std::vector<index_t> number_;  // among the vertices with neighbours; later in `rest`
  std::vector<std::uint8_t> listed_, pooled_, passes_;
  std::vector<index_t> near_;             // degree_ places for each vertex
  std::vector<std::uint8_t> near_count_;  // many: more neighbours
  reduction result_;
};

}  // namespace

reduction reduce(team& crew, const pattern_view& s, int degree) {
  reducer whole(crew, s, degree);
  reduction r = whole.run(false);
  if (whole.leaves_core()) append(r, reducer(crew, r.rest, 1).run(true));
  return r;
}

reduction reduce(const pattern_view& s, int degree, int threads) {
  reduction result;
  team::run(threads, [&](team& crew) { result = reduce(crew, s, degree); });
  return result;
}

void append(reduction& r, reduction next) {
  if (next.removed.empty()) return;
  for (auto* of : {&next.removed, &next.front, &next.kept}) {
    for (index_t& v : *of) v = r.kept[at(v)];
  }
  const offset_t before = r.front_start.back();
  for (const offset_t start : std::span(next.front_start).subspan(1)) {
    r.front_start.push_back(before + start);
  }
  r.removed.insert(r.removed.end(), next.removed.begin(), next.removed.end());
  r.front.insert(r.front.end(), next.front.begin(), next.front.end());
  r.kept = std::move(next.kept);
  r.rest = std::move(next.rest);
}

namespace {

// Positions: removed vertices in their order, then the order of the rest.
class expander {
 public:
  expander(const reduction& r, const dissection& rest)
      : r_(r),
        rest_(rest),
        removed_(static_cast<index_t>(r.removed.size())),
        kept_(static_cast<index_t>(r.kept.size())),
        nodes_(static_cast<index_t>(rest.tree.parent.size())) {}

  dissection run() {
    dissection result;
    result.order.resize(at(removed_) + at(kept_));
    if (nodes_ == 0) {
      std::ranges::copy(r_.removed, result.order.begin());
      for (index_t k = 0; k < kept_; ++k) result.order[at(removed_ + k)] = kept_at(k);
      if (kept_ == 0) result.tree = {.start = {0, removed_}, .parent = {-1}};
      return result;
    }
    find_nodes();
    const std::vector<index_t> first = make_tree(result);
    std::vector<index_t> next = first;
    for (index_t k = 0; k < removed_; ++k) {
      result.order[at(next[at(node_[at(k)])]++)] = r_.removed[at(k)];
    }
    return result;
  }

 private:
  [[nodiscard]] index_t kept_at(index_t k) const { return r_.kept[at(rest_.order[at(k)])]; }

  // Finds the node of each removed vertex, `nodes_` if no kept vertex follows it. The front is a
  // clique in the elimination graph, so that its vertices are on one path to the root, and the
  // first of them in the order is the lowest.
  void find_nodes() {
    std::vector<index_t> position(at(removed_) + at(kept_));
    for (index_t k = 0; k < removed_; ++k) position[at(r_.removed[at(k)])] = k;
    for (index_t k = 0; k < kept_; ++k) position[at(kept_at(k))] = removed_ + k;
    node_.assign(position.size() + 1, nodes_);
    for (index_t k = 0; k < nodes_; ++k) {
      std::fill(node_.begin() + removed_ + rest_.tree.start[at(k)],
                node_.begin() + removed_ + rest_.tree.start[at(k) + 1], k);
    }
    count_.assign(at(nodes_) + 1, 0);
    for (index_t k = removed_; k-- > 0;) {
      index_t lowest = removed_ + kept_;
      for (auto e = r_.front_start[at(k)]; e < r_.front_start[at(k) + 1]; ++e) {
        lowest = std::min(lowest, position[at(r_.front[at(e)])]);
      }
      node_[at(k)] = node_[at(lowest)];
      ++count_[at(node_[at(k)])];
    }
  }

  // Makes the tree and orders the kept vertices. Returns the first position of the removed vertices
  // of each node.
  std::vector<index_t> make_tree(dissection& result) const {
    std::vector<std::uint8_t> is_inner(at(nodes_), 0);
    for (const index_t p : rest_.tree.parent) {
      if (p >= 0) is_inner[at(p)] = 1;
    }
    separator_tree& tree = result.tree;
    std::vector<index_t> first(at(nodes_) + 1, 0);
    std::vector<index_t> renumbered(at(nodes_));
    index_t filled = 0;
    const auto end_node = [&](index_t parent) {
      tree.start.push_back(filled);
      tree.parent.push_back(parent);
    };
    for (index_t k = 0; k < nodes_; ++k) {
      first[at(k)] = filled;
      filled += count_[at(k)];
      if (is_inner[at(k)] != 0 && count_[at(k)] > 0) {
        end_node(static_cast<index_t>(tree.parent.size()) + 1);
      }
      for (index_t i = rest_.tree.start[at(k)]; i < rest_.tree.start[at(k) + 1]; ++i) {
        result.order[at(filled++)] = kept_at(i);
      }
      renumbered[at(k)] = static_cast<index_t>(tree.parent.size());
      end_node(-1);
    }
    for (index_t k = 0; k < nodes_; ++k) {
      const index_t p = rest_.tree.parent[at(k)];
      if (p >= 0) tree.parent[at(renumbered[at(k)])] = renumbered[at(p)];
    }
    first[at(nodes_)] = filled;
    filled += count_[at(nodes_)];
    if (count_[at(nodes_)] > 0) end_node(-1);
    return first;
  }

  const reduction& r_;
  const dissection& rest_;
  index_t removed_, kept_, nodes_;
  std::vector<index_t> node_;   // by position
  std::vector<index_t> count_;  // of the removed vertices of each node
};

}  // namespace

dissection expand(const reduction& r, dissection rest) {
  return r.removed.empty() ? std::move(rest) : expander(r, rest).run();
}

}  // namespace gsofa::orders
