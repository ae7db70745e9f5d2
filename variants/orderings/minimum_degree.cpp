// Minimum degree and minimum fill by elimination on a quotient graph.
//
// A step selects the vertex whose score is least and eliminates it: its neighbours become a clique.
// The graph is never formed. An eliminated vertex is an *element*, the clique of its neighbours at
// that time; a vertex that remains, a *variable*, is adjacent to the variables in its list and to
// all variables of the elements in its list (George & Liu 1989). The new element L contains the
// elements of its pivot, which are absorbed, so the lists never need more room than the graph plus
// one element. What makes a step fast (Amestoy, Davis & Duff 1996):
//  * One pass over the elements e of the variables of L finds |e \ L| for all e. An e with
//    |e \ L| = 0 is absorbed too (aggressive absorption).
//  * The degree of a variable i of L is at most |L \ i| + sum |e \ L| + its variables outside L.
//  * Variables of L with equal lists are indistinguishable from now on: they merge. A variable
//    without neighbours outside L is eliminated together with the pivot.
//
// Scores. Degree: that bound. Fill: an estimate of the pairs of neighbours of i that elimination of
// i would join, divided by the square root of the weight of i. With d = |L \ i|, x = the rest of
// the bound, y = the part of x that is no element's, s = |e \ L| and t = |e|,
//
//     2 fill = x (x - 1) + 2 x d - (y (y - 1) + sum over e of s (2 t - s - 1)) / 2
//
// because L covers all pairs inside L, and e covers s (s - 1) / 2 + s (t - s) pairs that are not
// inside L. These pairs count half, since several elements may cover the same pair; pairs of
// variables count half, since they may be adjacent. A negative estimate counts as 0. Rothberg &
// Eisenstat (1998) subtract L alone and divide by the weight; MUMPS subtracts all elements.
//
// Encoding. All vertices live in arrays of n entries:
//   weight_   > 0: a variable, with the weight of all variables merged into it, or an element with
//             the weight of its pivots; < 0: a variable of L; 0: merged, or eliminated with a pivot
//   lists_    list of v at begin_[v]: first elements_[v] elements, then variables, length_[v] in
//             all; of an element, its variables
//   degree_   of a variable the bound; of an element the weight of its variables
//   stamp_    of an element 0: absorbed; >= tag_: tag_ + |e \ L|
//   parent_   the variable or element that absorbed v; -1: none. A postorder of this forest is the
//             order of elimination.

#include "variants/orderings/minimum_degree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "common/error.hpp"
#include "variants/orderings/leaves_of_hubs.hpp"

namespace gsofa::orders {

namespace {

constexpr index_t no_vertex = -1;
constexpr index_t is_element = -1;                          // in elements_
constexpr std::int64_t covers_all = std::int64_t{1} << 62;  // no more pairs than this exist

// Variables by score in doubly linked lists; the last that was added comes out first.
class score_queue {
 public:
  score_queue(index_t n, offset_t buckets)
      : head_(at(buckets), no_vertex), next_(at(n)), prev_(at(n)) {}

  void add(index_t v, index_t bucket) {
    const index_t first = head_[at(bucket)];
    next_[at(v)] = first;
    prev_[at(v)] = ~bucket;  // negative: v is the first of this bucket
    if (first != no_vertex) prev_[at(first)] = v;
    head_[at(bucket)] = v;
    least_ = std::min(least_, bucket);
  }

  void remove(index_t v) {
    const index_t next = next_[at(v)];
    const index_t prev = prev_[at(v)];
    if (next != no_vertex) prev_[at(next)] = prev;
    if (prev >= 0) {
      next_[at(prev)] = next;
    } else {
      head_[at(~prev)] = next;
    }
  }

  // The variable to eliminate; the queue must not be empty.
  index_t take() {
    while (head_[at(least_)] == no_vertex) ++least_;
    const index_t v = head_[at(least_)];
    remove(v);
    return v;
  }

 private:
  std::vector<index_t> head_;  // of each bucket
  std::vector<index_t> next_, prev_;
  index_t least_ = 0;  // buckets below are empty
};

// A bucket for each score below 2^score_bits, and 2^score_bits buckets for each power of two above.
constexpr int score_bits = 6;
constexpr offset_t fill_buckets = offset_t{65 - score_bits} << score_bits;

index_t bucket_of(std::uint64_t score) {
  const int shift = std::max(0, static_cast<int>(std::bit_width(score)) - 1 - score_bits);
  return static_cast<index_t>((static_cast<std::uint64_t>(shift) << score_bits) + (score >> shift));
}

// The bucket of a variable of this weight; fill counts every pair twice.
index_t bucket_of_fill(std::int64_t fill, index_t weight) {
  constexpr double fraction = 16;  // keeps scores apart that differ by less than 1
  constexpr double most = 0x1p63;
  const double score = fraction * static_cast<double>(std::max<std::int64_t>(fill, 0));
  return bucket_of(static_cast<std::uint64_t>(std::min(score / std::sqrt(weight), most)));
}

class quotient_graph {
 public:
  /// Rows of more than `longest` entries come last.
  quotient_graph(const weighted_rows& rows, const minimum_degree_settings& settings,
                 offset_t longest);
  std::vector<index_t> order();

 private:
  void load(const weighted_rows& rows, offset_t longest);
  void make_room(index_t pivot);
  void form_element(index_t pivot);
  void measure_elements();
  void update_variable(index_t i);
  void merge_variables();
  bool merge_if_equal(index_t i, index_t j);
  void finish_element();
  void add_cost();
  [[nodiscard]] index_t height_of(std::span<const index_t> order) const;
  void add_to_queue(index_t i);
  [[nodiscard]] index_t first_bucket(index_t v) const;
  [[nodiscard]] std::vector<index_t> postorder() const;

  void begin_group();

  [[nodiscard]] bool in_halo(index_t v) const { return !halo_.empty() && halo_[at(v)] != 0; }
  // Whether v stays until its group begins, or to the end.
  [[nodiscard]] bool waits(index_t v) const {
    return in_halo(v) || (!group_.empty() && group_[at(v)] > now_);
  }

  index_t n_;
  pivot_score score_;
  const std::atomic<bool>* stop_;
  std::vector<index_t>* bounds_;
  elimination_cost* cost_;
  std::span<const std::uint8_t> halo_;
  std::span<const index_t> group_;

  std::vector<index_t> lists_;
  std::vector<offset_t> begin_;
  std::vector<index_t> length_, elements_, weight_, degree_, parent_;
  std::vector<std::int64_t> stamp_;
  std::vector<std::int64_t> covered_;  // of a variable of L: what its fill subtracts
  std::vector<index_t> hash_head_, hash_next_, hash_;
  score_queue queue_;
  std::vector<index_t> dense_;
  std::vector<index_t> waiting_;  // vertices that are not dense, the lowest group last
  std::vector<index_t> bucket_;   // of a vertex that waits
  index_t now_ = 0;               // the group whose variables are in the queue

  offset_t free_ = 0;         // lists_ is unused from here on
  index_t left_ = 0;          // weight of all variables, halo included
  index_t to_eliminate_ = 0;  // weight of the variables outside the halo
  std::int64_t tag_ = 1;
  index_t largest_ = 0;  // weight of the largest element so far

  // The element that the current step forms: its variables are lists_[first_ .. last_).
  index_t pivot_ = no_vertex;
  offset_t first_ = 0, last_ = 0;
  index_t element_weight_ = 0;  // of its variables
  index_t pivot_weight_ = 0;
};

quotient_graph::quotient_graph(const weighted_rows& rows, const minimum_degree_settings& settings,
                               offset_t longest)
    : n_(static_cast<index_t>(rows.begin.size()) - 1),
      score_(settings.score),
      stop_(settings.stop),
      bounds_(settings.degree_bounds),
      cost_(settings.cost),
      halo_(rows.halo),
      group_(rows.group),
      begin_(at(n_)),
      length_(at(n_)),
      elements_(at(n_)),
      weight_(at(n_), 1),
      degree_(at(n_)),
      parent_(at(n_), no_vertex),
      stamp_(at(n_), 1),
      covered_(score_ == pivot_score::fill ? at(n_) : 0),
      hash_head_(at(n_), no_vertex),
      hash_next_(at(n_)),
      hash_(at(n_)),
      queue_(n_, 0),
      bucket_(group_.empty() ? 0 : at(n_)) {
  load(rows, longest);
  if (group_.empty()) return;
  std::ranges::stable_sort(waiting_, std::greater{}, [&](index_t v) { return group_[at(v)]; });
  begin_group();
}

// The variables of the next group enter the queue.
void quotient_graph::begin_group() {
  now_ = group_[at(waiting_.back())];
  for (; !waiting_.empty() && group_[at(waiting_.back())] == now_; waiting_.pop_back()) {
    const index_t v = waiting_.back();
    if (weight_[at(v)] == 0) continue;  // merged
    to_eliminate_ += weight_[at(v)];
    queue_.add(v, bucket_[at(v)]);
  }
}

// Copies the rows, sets dense rows aside and computes the first scores.
void quotient_graph::load(const weighted_rows& rows, offset_t longest) {
  const offset_t entries = rows.begin.back();
  if (!rows.weight.empty()) std::ranges::copy(rows.weight, weight_.begin());
  left_ = narrow<index_t>(std::accumulate(weight_.begin(), weight_.end(), offset_t{0}),
                          "sum of the vertex weights");
  queue_ = score_queue(n_, score_ == pivot_score::fill ? fill_buckets : offset_t{left_} + 1);
  for (index_t v = 0; v < n_; ++v) {
    if (in_halo(v) || rows.begin[at(v) + 1] - rows.begin[at(v)] <= longest) continue;
    dense_.push_back(v);
    left_ -= weight_[at(v)];
    weight_[at(v)] = 0;
  }
  lists_.resize(at(entries + entries / 5 + n_));
  for (index_t v = 0; v < n_; ++v) {
    begin_[at(v)] = free_;
    if (weight_[at(v)] == 0) continue;
    for (offset_t k = rows.begin[at(v)]; k < rows.begin[at(v) + 1]; ++k) {
      const index_t u = rows.adj[at(k)];
      if (weight_[at(u)] == 0 || (in_halo(v) && in_halo(u))) continue;
      lists_[at(free_++)] = u;
      degree_[at(v)] += weight_[at(u)];
    }
    length_[at(v)] = static_cast<index_t>(free_ - begin_[at(v)]);
    if (in_halo(v)) continue;
    if (!group_.empty()) {
      waiting_.push_back(v);
      bucket_[at(v)] = first_bucket(v);
      continue;
    }
    to_eliminate_ += weight_[at(v)];
    queue_.add(v, first_bucket(v));
  }
}

// The bucket of a variable without elements.
index_t quotient_graph::first_bucket(index_t v) const {
  const std::int64_t d = degree_[at(v)];
  if (score_ == pivot_score::degree) return degree_[at(v)];
  return bucket_of_fill(d * (d - 1) / 2, weight_[at(v)]);
}

// Moves all lists to the front if the element of `pivot` may not fit behind them.
void quotient_graph::make_room(index_t pivot) {
  if (free_ + degree_[at(pivot)] <= static_cast<offset_t>(lists_.size())) return;
  // The first entry of each list is exchanged for the mark of its owner.
  for (index_t v = 0; v < n_; ++v) {
    const bool live = elements_[at(v)] == is_element ? stamp_[at(v)] != 0 : weight_[at(v)] > 0;
    if (!live || length_[at(v)] == 0) continue;
    index_t& front = lists_[at(begin_[at(v)])];
    begin_[at(v)] = front;
    front = ~v;
  }
  offset_t to = 0;
  for (offset_t from = 0; from < free_;) {
    const index_t v = ~lists_[at(from++)];
    if (v < 0) continue;
    lists_[at(to)] = static_cast<index_t>(begin_[at(v)]);
    begin_[at(v)] = to++;
    for (index_t k = 1; k < length_[at(v)]; ++k) lists_[at(to++)] = lists_[at(from++)];
  }
  free_ = to;
}

// L: the variables of the pivot's list and of its elements, without the pivot.
void quotient_graph::form_element(index_t pivot) {
  make_room(pivot);
  pivot_ = pivot;
  pivot_weight_ = weight_[at(pivot)];
  element_weight_ = 0;
  weight_[at(pivot)] = -pivot_weight_;
  const auto append = [&](offset_t from, index_t count) {
    for (const offset_t end = from + count; from < end; ++from) {
      const index_t i = lists_[at(from)];
      const index_t weight = weight_[at(i)];
      if (weight <= 0) continue;
      weight_[at(i)] = -weight;
      element_weight_ += weight;
      lists_[at(last_++)] = i;
      if (!waits(i)) queue_.remove(i);
    }
  };
  const offset_t list = begin_[at(pivot)];
  const index_t count = elements_[at(pivot)];
  if (count == 0) {
    // L is a part of the pivot's list and takes its place.
    first_ = last_ = list;
    append(list, length_[at(pivot)]);
  } else {
    first_ = last_ = free_;
    for (index_t k = 0; k < count; ++k) {
      const index_t e = lists_[at(begin_[at(pivot)] + k)];
      append(begin_[at(e)], length_[at(e)]);
      parent_[at(e)] = pivot;
      stamp_[at(e)] = 0;
    }
    append(begin_[at(pivot)] + count, length_[at(pivot)] - count);
    free_ = last_;
  }
  begin_[at(pivot)] = first_;
  length_[at(pivot)] = static_cast<index_t>(last_ - first_);
  elements_[at(pivot)] = is_element;
  degree_[at(pivot)] = element_weight_;
}

// |e \ L| of every element e of the variables of L.
void quotient_graph::measure_elements() {
  for (offset_t k = first_; k < last_; ++k) {
    const index_t i = lists_[at(k)];
    const index_t weight = -weight_[at(i)];
    const offset_t list = begin_[at(i)];
    for (offset_t p = list; p < list + elements_[at(i)]; ++p) {
      const index_t e = lists_[at(p)];
      std::int64_t& stamp = stamp_[at(e)];
      if (stamp >= tag_) {
        stamp -= weight;
      } else if (stamp != 0) {
        stamp = tag_ + degree_[at(e)] - weight;
      }
    }
  }
}

// Removes from the list of a variable of L what L covers, bounds its degree, and files it by a hash
// of its list.
void quotient_graph::update_variable(index_t i) {
  const offset_t list = begin_[at(i)];
  const offset_t variables = list + elements_[at(i)];
  const offset_t end = list + length_[at(i)];
  offset_t to = list;
  std::int64_t outside = 0;
  std::int64_t covered = 0;
  std::uint32_t hash = 0;
  for (offset_t p = list; p < variables; ++p) {
    const index_t e = lists_[at(p)];
    const std::int64_t stamp = stamp_[at(e)];
    if (stamp == 0) continue;
    const std::int64_t s = stamp - tag_;
    if (s == 0) {
      parent_[at(e)] = pivot_;
      stamp_[at(e)] = 0;
      continue;
    }
    outside += s;
    covered = std::min(covered + s * (std::int64_t{2} * degree_[at(e)] - s - 1), covers_all);
    hash += static_cast<std::uint32_t>(e);
    lists_[at(to++)] = e;
  }
  const std::int64_t in_elements = outside;
  const offset_t kept = to;
  for (offset_t p = variables; p < end; ++p) {
    const index_t j = lists_[at(p)];
    const index_t weight = weight_[at(j)];
    if (weight <= 0) continue;
    outside += weight;
    hash += static_cast<std::uint32_t>(j);
    lists_[at(to++)] = j;
  }
  if (outside == 0 && !waits(i)) {
    // Eliminated together with the pivot: L covers all its neighbours.
    const index_t weight = -weight_[at(i)];
    parent_[at(i)] = pivot_;
    weight_[at(i)] = 0;
    elements_[at(i)] = 0;
    pivot_weight_ += weight;
    element_weight_ -= weight;
    return;
  }
  if (score_ == pivot_score::fill) {
    const std::int64_t in_list = outside - in_elements;
    covered_[at(i)] = (covered + in_list * (in_list - 1)) / 2;
  }
  degree_[at(i)] = static_cast<index_t>(std::min<std::int64_t>(degree_[at(i)], outside));
  // L comes first. At least one entry was removed: the pivot, or an element that it absorbed.
  lists_[at(to)] = lists_[at(kept)];
  lists_[at(kept)] = lists_[at(list)];
  lists_[at(list)] = pivot_;
  elements_[at(i)] = static_cast<index_t>(kept - list) + 1;
  length_[at(i)] = static_cast<index_t>(to - list) + 1;
  hash %= static_cast<std::uint32_t>(n_);
  hash_[at(i)] = static_cast<index_t>(hash);
  hash_next_[at(i)] = hash_head_[at(hash)];
  hash_head_[at(hash)] = i;
}

// Merges variables of L with equal lists.
void quotient_graph::merge_variables() {
  for (offset_t k = first_; k < last_; ++k) {
    const index_t some = lists_[at(k)];
    if (weight_[at(some)] == 0) continue;
    index_t i = std::exchange(hash_head_[at(hash_[at(some)])], no_vertex);
    for (; i != no_vertex && hash_next_[at(i)] != no_vertex; i = hash_next_[at(i)]) {
      const offset_t list = begin_[at(i)];
      ++tag_;
      for (index_t p = 1; p < length_[at(i)]; ++p) stamp_[at(lists_[at(list + p)])] = tag_;
      index_t before = i;
      for (index_t j = hash_next_[at(i)]; j != no_vertex; j = hash_next_[at(j)]) {
        if (merge_if_equal(i, j)) {
          hash_next_[at(before)] = hash_next_[at(j)];
        } else {
          before = j;
        }
      }
    }
  }
}

// The entries of the list of i have the stamp tag_.
bool quotient_graph::merge_if_equal(index_t i, index_t j) {
  if (length_[at(i)] != length_[at(j)] || elements_[at(i)] != elements_[at(j)]) return false;
  if (in_halo(i) != in_halo(j)) return false;
  if (!group_.empty() && group_[at(i)] != group_[at(j)]) return false;
  const offset_t list = begin_[at(j)];
  for (index_t p = 1; p < length_[at(j)]; ++p) {
    if (stamp_[at(lists_[at(list + p)])] != tag_) return false;
  }
  parent_[at(j)] = i;
  weight_[at(i)] += weight_[at(j)];
  weight_[at(j)] = 0;
  elements_[at(j)] = 0;
  return true;
}

// The variables of L that remain go back to the queue.
void quotient_graph::finish_element() {
  offset_t to = first_;
  for (offset_t k = first_; k < last_; ++k) {
    const index_t i = lists_[at(k)];
    const index_t weight = -weight_[at(i)];
    if (weight == 0) continue;
    weight_[at(i)] = weight;
    lists_[at(to++)] = i;
    add_to_queue(i);
  }
  if (free_ == last_) free_ = to;
  weight_[at(pivot_)] = pivot_weight_;
  degree_[at(pivot_)] = element_weight_;
  length_[at(pivot_)] = static_cast<index_t>(to - first_);
  if (to == first_) stamp_[at(pivot_)] = 0;
}

void quotient_graph::add_to_queue(index_t i) {
  const index_t weight = weight_[at(i)];
  const std::int64_t inside = element_weight_ - weight;
  const std::int64_t outside = std::min<std::int64_t>(degree_[at(i)], left_ - weight - inside);
  degree_[at(i)] = static_cast<index_t>(outside + inside);
  if (in_halo(i)) return;
  index_t bucket = degree_[at(i)];
  if (score_ == pivot_score::fill) {
    const std::int64_t fill = outside * (outside - 1 + 2 * inside) - covered_[at(i)];
    bucket = bucket_of_fill(fill, weight);
  }
  if (!waits(i)) return queue_.add(i, bucket);
  bucket_[at(i)] = bucket;
}

// The columns of the pivots: each has the variables of L and the pivots behind it.
void quotient_graph::add_cost() {
  for (double c = element_weight_, end = c + pivot_weight_; c < end; ++c) {
    cost_->entries += static_cast<offset_t>(c);
    cost_->operations += c + 2 * c * c;
  }
}

std::vector<index_t> quotient_graph::order() {
  for (;;) {
    while (to_eliminate_ == 0 && !waiting_.empty()) begin_group();
    if (to_eliminate_ == 0) break;
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) throw cancelled_error();
    const index_t pivot = queue_.take();
    if (bounds_ != nullptr) (*bounds_)[at(pivot)] = degree_[at(pivot)];
    form_element(pivot);
    measure_elements();
    for (offset_t k = first_; k < last_; ++k) update_variable(lists_[at(k)]);
    left_ -= pivot_weight_;
    to_eliminate_ -= pivot_weight_;
    largest_ = std::max(largest_, degree_[at(pivot_)]);
    tag_ += largest_;
    if (cost_ != nullptr) add_cost();
    merge_variables();
    finish_element();
    ++tag_;
  }
  std::vector<index_t> order = postorder();
  if (cost_ != nullptr) {
    if (!dense_.empty()) cost_->entries = -1;
    cost_->height = height_of(order);
  }
  return order;
}

// Of the tree of elements, each with the weight of its pivots; an element follows its children.
index_t quotient_graph::height_of(std::span<const index_t> order) const {
  std::vector<index_t> height(at(n_), 0);
  index_t most = 0;
  for (const index_t e : order) {
    if (elements_[at(e)] != is_element) continue;
    height[at(e)] += weight_[at(e)];
    most = std::max(most, height[at(e)]);
    const index_t parent = parent_[at(e)];
    if (parent != no_vertex) height[at(parent)] = std::max(height[at(parent)], height[at(e)]);
  }
  return most;
}

std::vector<index_t> quotient_graph::postorder() const {
  std::vector<index_t> child(at(n_), no_vertex), sibling(at(n_), no_vertex);
  // Elements come before the variables that were merged into their parent.
  for (const bool elements : {false, true}) {
    for (index_t v = n_; v-- > 0;) {
      const index_t parent = parent_[at(v)];
      if (parent == no_vertex || (elements_[at(v)] == is_element) != elements) continue;
      sibling[at(v)] = child[at(parent)];
      child[at(parent)] = v;
    }
  }
  std::vector<index_t> order;
  order.reserve(at(n_));
  std::vector<index_t> path;
  for (index_t root = 0; root < n_; ++root) {
    if (parent_[at(root)] != no_vertex || elements_[at(root)] != is_element) continue;
    path.push_back(root);
    while (!path.empty()) {
      const index_t v = path.back();
      const index_t next = child[at(v)];
      if (next == no_vertex) {
        order.push_back(v);
        path.pop_back();
      } else {
        child[at(v)] = sibling[at(next)];
        path.push_back(next);
      }
    }
  }
  order.insert(order.end(), dense_.begin(), dense_.end());
  // No vertex has a descendant of a later group, so that each still follows its descendants.
  if (!group_.empty())
    std::ranges::stable_sort(order, {}, [&](index_t v) { return group_[at(v)]; });
  return order;
}

// Leaves, the core, long rows.
std::vector<index_t> order_with_core(const hub_core& core,
                                     const minimum_degree_settings& settings) {
  std::vector<index_t> order = core.leaves;
  std::vector<index_t> bounds(core.vertices.size(), no_vertex);
  minimum_degree_settings own = settings;
  if (settings.degree_bounds != nullptr) own.degree_bounds = &bounds;
  if (settings.cost != nullptr) *std::exchange(own.cost, nullptr) = {.entries = -1};
  if (!core.vertices.empty()) {
    const auto any = static_cast<offset_t>(core.adj.size());  // long rows are not in the core
    for (const index_t i : quotient_graph(core.rows(), own, any).order()) {
      order.push_back(core.vertices[at(i)]);
    }
  }
  order.insert(order.end(), core.long_rows.begin(), core.long_rows.end());
  if (settings.degree_bounds != nullptr) {
    std::vector<index_t>& to = *settings.degree_bounds;
    for (std::size_t i = 0; i < core.leaves.size(); ++i) {
      to[at(core.leaves[i])] = core.leaf_degrees[i];
    }
    for (std::size_t i = 0; i < bounds.size(); ++i) to[at(core.vertices[i])] = bounds[i];
  }
  return order;
}

}  // namespace

std::vector<index_t> minimum_degree(const weighted_rows& rows,
                                    const minimum_degree_settings& settings) {
  if (settings.degree_bounds != nullptr) {
    settings.degree_bounds->assign(rows.begin.empty() ? 0 : rows.begin.size() - 1, no_vertex);
  }
  if (rows.begin.size() < 2) return {};
  const auto n = static_cast<double>(rows.begin.size() - 1);
  const auto longest = std::max<offset_t>(16, static_cast<offset_t>(10 * std::sqrt(n)));
  std::optional<hub_core> core;
  if (rows.group.empty()) core = eliminate_leaves_of_hubs(rows, longest);
  return core ? order_with_core(*core, settings) : quotient_graph(rows, settings, longest).order();
}

}  // namespace gsofa::orders
