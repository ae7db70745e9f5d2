// Strong components first. Let C be a component without edges from vertices that are left: no path
// of two vertices outside C passes through C, so its elimination makes no entry outside the rows of
// C. The same holds for columns if C has no edges to vertices that are left.

#include "variants/orderings/direction_components.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "variants/orderings/direction_front.hpp"

namespace gsofa::orders {

namespace {

// Components of at most this many vertices are ordered by Markowitz products.
constexpr index_t most_of_small = 128;
// If they have at most this many neighbours in other components.
constexpr std::size_t most_of_boundary = 2048;

// Numbers components when their search ends: all that they reach have numbers then.
struct component_search {
  std::vector<index_t> of;  // component by vertex
  index_t count = 0;

  explicit component_search(const pattern_view& a)
      : of(at(a.n_rows), -1),
        a_(a),
        number_(at(a.n_rows), -1),
        low_(at(a.n_rows)),
        next_(a.row_ptr.begin(), a.row_ptr.end()) {
    for (index_t v = 0; v < a.n_rows; ++v) {
      if (number_[at(v)] < 0) search(v);
    }
  }

 private:
  void search(index_t root) {
    enter(root);
    while (!path_.empty()) {
      const index_t v = path_.back();
      if (!advance(v)) leave(v);
    }
  }
  void enter(index_t v) {
    number_[at(v)] = low_[at(v)] = seen_++;
    path_.push_back(v);
    open_.push_back(v);
  }
  // Follows an edge of v to a vertex that is new; false if there is none.
  bool advance(index_t v) {
    while (next_[at(v)] < a_.row_ptr[at(v) + 1]) {
      const index_t w = a_.col_idx[at(next_[at(v)]++)];
      if (number_[at(w)] < 0) {
        enter(w);
        return true;
      }
      if (of[at(w)] < 0) low_[at(v)] = std::min(low_[at(v)], number_[at(w)]);
    }
    return false;
  }
  void leave(index_t v) {
    path_.pop_back();
    if (!path_.empty()) {
      low_[at(path_.back())] = std::min(low_[at(path_.back())], low_[at(v)]);
    }
    if (low_[at(v)] != number_[at(v)]) return;
    index_t w = -1;
    do {
      w = open_.back();
      open_.pop_back();
      of[at(w)] = count;
    } while (w != v);
    ++count;
  }

  pattern_view a_;

  std::vector<index_t> number_, low_;
  std::vector<offset_t> next_;
  std::vector<index_t> path_, open_;
  index_t seen_ = 0;
};

class component_order {
 public:
  component_order(const pattern_view& a, strong_components c, index_t most,
                  const order_method& method)
      : a_(a),
        t_(transpose(a)),
        most_(most),
        method_(method),
        c_(std::move(c)),
        in_(at(c_.count()), 0),
        out_(at(c_.count()), 0),
        state_(at(c_.count()), state::inner),
        local_(at(a.n_rows), -1) {}

  ordering run() {
    for (index_t v = 0; v < a_.n_rows; ++v) {
      for (const index_t w : a_.row(v)) {
        if (c_.of[at(v)] == c_.of[at(w)]) continue;
        ++out_[at(c_.of[at(v)])];
        ++in_[at(c_.of[at(w)])];
      }
    }
    for (index_t c = c_.count(); c-- > 0;) take_if_end(c);
    for (std::size_t k = 0; k < ends_.size(); ++k) eliminate(ends_[k]);
    std::vector<index_t> rest;
    for (index_t v = 0; v < a_.n_rows; ++v) {
      if (state_[at(c_.of[at(v)])] == state::inner) rest.push_back(v);
    }
    if (!rest.empty()) append(rest);
    return std::move(result_);
  }

 private:
  enum class state : std::uint8_t { inner, end, eliminated };

  void take_if_end(index_t c) {
    const bool is_inner = in_[at(c)] > 0 && out_[at(c)] > 0;
    if (is_inner || c_.size(c) > most_ || state_[at(c)] != state::inner) return;
    state_[at(c)] = state::end;
    ends_.push_back(c);
  }

  void eliminate(index_t c) {
    const auto members = std::span(c_.vertices).subspan(at(c_.begin[at(c)]), at(c_.size(c)));
    state_[at(c)] = state::eliminated;
    if (members.size() == 1) {
      result_.order.push_back(members[0]);
    } else if (c_.size(c) <= most_of_small) {
      append_small(members);
    } else {
      append(members);
    }
    for (const index_t v : members) {
      for (const index_t w : a_.row(v)) {
        const index_t other = c_.of[at(w)];
        if (other != c && --in_[at(other)] == 0) take_if_end(other);
      }
      for (const index_t w : t_.row(v)) {
        const index_t other = c_.of[at(w)];
        if (other != c && --out_[at(other)] == 0) take_if_end(other);
      }
    }
  }

  // By Markowitz products. The boundary: neighbours in components that are left.
  void append_small(std::span<const index_t> members) {
    const auto own = static_cast<index_t>(members.size());
    for (index_t k = 0; k < own; ++k) local_[at(members[at(k)])] = k;
    std::vector<index_t> boundary;
    const auto add = [&](std::span<const index_t> list) {
      for (const index_t v : list) {
        if (local_[at(v)] >= 0 || state_[at(c_.of[at(v)])] == state::eliminated) continue;
        local_[at(v)] = own + static_cast<index_t>(boundary.size());
        boundary.push_back(v);
      }
    };
    for (const index_t v : members) add(a_.row(v)), add(t_.row(v));
    markowitz_order best;
    if (boundary.size() <= most_of_boundary) {
      front f(own, static_cast<index_t>(boundary.size()));
      for (const index_t v : members) {
        for (const index_t w : a_.row(v)) {
          if (local_[at(w)] >= 0) f.rows.set(local_[at(v)], local_[at(w)]);
        }
        for (const index_t w : t_.row(v)) {
          if (local_[at(w)] >= 0) f.rows.set(local_[at(w)], local_[at(v)]);
        }
      }
      best = markowitz(f).order(std::numeric_limits<double>::infinity(), 1);
    }
    for (const index_t v : boundary) local_[at(v)] = -1;
    for (const index_t v : members) local_[at(v)] = -1;
    for (index_t k = 0; k < own; ++k) {
      result_.order.push_back(members[at(best.order.empty() ? k : best.order[at(k)])]);
    }
  }

  void append(std::span<const index_t> members) {
    pattern part;
    part.n_rows = part.n_cols = static_cast<index_t>(members.size());
    for (std::size_t k = 0; k < members.size(); ++k) {
      local_[at(members[k])] = static_cast<index_t>(k);
    }
    for (const index_t v : members) {
      for (const index_t w : a_.row(v)) {
        if (local_[at(w)] >= 0) part.col_idx.push_back(local_[at(w)]);
      }
      part.row_ptr.push_back(static_cast<offset_t>(part.col_idx.size()));
    }
    for (const index_t v : members) local_[at(v)] = -1;
    const ordering o = method_(part);
    for (const index_t k : o.order) result_.order.push_back(members[at(k)]);
  }

  pattern_view a_;
  pattern t_;
  index_t most_;
  const order_method& method_;
  strong_components c_;
  std::vector<offset_t> in_, out_;  // entries of A from and to components that are left
  std::vector<state> state_;
  std::vector<index_t> ends_;   // eliminated, in this order
  std::vector<index_t> local_;  // -1 between calls
  ordering result_;
};

}  // namespace

strong_components strong_components_of(const pattern_view& a) {
  component_search s(a);
  strong_components c;
  c.begin.assign(at(s.count) + 1, 0);
  for (const index_t k : s.of) ++c.begin[at(k) + 1];
  std::partial_sum(c.begin.begin(), c.begin.end(), c.begin.begin());
  std::vector<index_t> next(c.begin.begin(), c.begin.end() - 1);
  c.vertices.resize(s.of.size());
  for (std::size_t v = 0; v < s.of.size(); ++v) {
    c.vertices[at(next[at(s.of[v])]++)] = static_cast<index_t>(v);
  }
  c.of = std::move(s.of);
  return c;
}

ordering order_by_components(const pattern_view& a, index_t most, const order_method& method) {
  if (a.n_rows != a.n_cols) throw input_error("strong components: the pattern is not square");
  strong_components c = strong_components_of(a);
  if (c.count() == 1) return method(a);
  return component_order(a, std::move(c), most, method).run();
}

}  // namespace gsofa::orders
