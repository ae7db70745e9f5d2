#include "common/augment.hpp"

#include <algorithm>

namespace gsofa::matchings {

namespace {

// One phase: layers of rows by breadth-first search from the unmatched ones, then disjoint shortest
// paths by depth-first search.
class phases {
 public:
  phases(const pattern_view& a, pairs& m)
      : a_(a), m_(m), layer_(at(a.n_rows)), next_(at(a.n_rows)) {}

  bool augment_once() {
    if (!find_layers()) return false;
    for (index_t i = 0; i < a_.n_rows; ++i) next_[at(i)] = a_.row_ptr[at(i)];
    for (const index_t i : roots_) search(i);
    return true;
  }

 private:
  // False if no unmatched column is reached.
  bool find_layers() {
    std::ranges::fill(layer_, -1);
    roots_.clear();
    for (index_t i = 0; i < a_.n_rows; ++i) {
      if (m_.col_of_row[at(i)] == -1 && !a_.row(i).empty()) roots_.push_back(i);
    }
    queue_ = roots_;
    for (const index_t i : queue_) layer_[at(i)] = 0;
    bool found = false;
    index_t last = max_layer;
    for (std::size_t k = 0; k < queue_.size(); ++k) {
      const index_t i = queue_[k];
      if (layer_[at(i)] >= last) break;
      for (const index_t j : a_.row(i)) {
        const index_t r = m_.row_of_col[at(j)];
        if (r == -1) {
          found = true;
          last = layer_[at(i)];
        } else if (layer_[at(r)] == -1) {
          layer_[at(r)] = layer_[at(i)] + 1;
          queue_.push_back(r);
        }
      }
    }
    return found;
  }

  void search(index_t root) {
    stack_.assign(1, root);
    while (!stack_.empty()) {
      const index_t i = stack_.back();
      offset_t& p = next_[at(i)];
      if (p == a_.row_ptr[at(i) + 1]) {
        layer_[at(i)] = visited;
        stack_.pop_back();
        if (!stack_.empty()) ++next_[at(stack_.back())];
        continue;
      }
      const index_t j = a_.col_idx[at(p)];
      const index_t r = m_.row_of_col[at(j)];
      if (r == -1) {
        // Row stack_[k] takes the column that it was leaving for the next row.
        for (const index_t taker : stack_) m_.match(taker, a_.col_idx[at(next_[at(taker)])]);
        for (const index_t taker : stack_) layer_[at(taker)] = visited;
        return;
      }
      if (layer_[at(r)] == layer_[at(i)] + 1) {
        stack_.push_back(r);
      } else {
        ++p;
      }
    }
  }

  static constexpr index_t visited = -2;
  static constexpr index_t max_layer = static_cast<index_t>(max_index);
  const pattern_view& a_;
  pairs& m_;
  std::vector<index_t> layer_, roots_, queue_, stack_;
  std::vector<offset_t> next_;
};

}  // namespace

void augment(const pattern_view& a, pairs& m) {
  phases p(a, m);
  while (p.augment_once()) {
  }
}

}  // namespace gsofa::matchings
