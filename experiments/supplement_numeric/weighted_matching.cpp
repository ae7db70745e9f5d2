#include "experiments/supplement_numeric/weighted_matching.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace supplement {

namespace {

using static_lu::at;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int32_t none = -1;

class assignment {
 public:
  explicit assignment(const static_lu::matrix& a)
      : a_(a),
        cost_(a.values.size(), infinity),
        row_dual_(at(a.n()), infinity),
        col_dual_(at(a.n()), infinity),
        column_of_(at(a.n()), none),
        row_of_(at(a.n()), none),
        distance_(at(a.n()), infinity),
        reached_from_(at(a.n()), none) {
    find_costs();
    find_duals();
    match_tight_entries();
    for (std::int32_t i = 0; i < a.n(); ++i) {
      if (column_of_[at(i)] == none) augment(i);
    }
  }

  [[nodiscard]] weighted_matching result() const {
    weighted_matching out{row_of_, std::vector<double>(at(a_.n())),
                          std::vector<double>(at(a_.n()))};
    for (size_t i = 0; i < at(a_.n()); ++i) {
      out.row_scale[i] = std::exp(row_dual_[i]) / largest_[i];
      out.col_scale[i] = std::exp(col_dual_[i]);
    }
    return out;
  }

 private:
  using size_t = std::size_t;

  // action(column, position) for the entries of row i.
  template <class Action>
  void each(std::int32_t i, Action&& action) const {
    const auto begin = at(a_.pattern.row_ptr[at(i)]);
    const auto end = at(a_.pattern.row_ptr[at(i) + 1]);
    for (size_t p = begin; p < end; ++p) action(a_.pattern.col_idx[p], p);
  }

  [[noreturn]] static void refuse(const std::string& what) {
    throw std::runtime_error("numerically singular: " + what);
  }

  void find_costs() {
    for (std::int32_t i = 0; i < a_.n(); ++i) {
      double largest = 0;
      each(i, [&](std::int32_t, size_t p) { largest = std::max(largest, std::abs(a_.values[p])); });
      if (largest == 0) refuse("row " + std::to_string(i + 1) + " has no nonzero value");
      each(i, [&](std::int32_t, size_t p) {
        const double magnitude = std::abs(a_.values[p]);
        if (magnitude > 0) cost_[p] = std::log(largest) - std::log(magnitude);
      });
      largest_.push_back(largest);
    }
  }

  // v_j = min_i c_ij and u_i = min_j c_ij - v_j: reduced costs are nonnegative.
  void find_duals() {
    for (std::int32_t i = 0; i < a_.n(); ++i) {
      each(i, [&](std::int32_t j, size_t p) {
        col_dual_[at(j)] = std::min(col_dual_[at(j)], cost_[p]);
      });
    }
    for (std::int32_t j = 0; j < a_.n(); ++j) {
      if (col_dual_[at(j)] == infinity) {
        refuse("column " + std::to_string(j + 1) + " has no nonzero value");
      }
    }
    for (std::int32_t i = 0; i < a_.n(); ++i) {
      each(i, [&](std::int32_t j, size_t p) {
        row_dual_[at(i)] = std::min(row_dual_[at(i)], cost_[p] - col_dual_[at(j)]);
      });
    }
  }

  [[nodiscard]] double reduced(std::int32_t i, std::int32_t j, size_t p) const {
    // In this order it is exactly 0 where find_duals() took the minimum.
    return std::max(0.0, cost_[p] - col_dual_[at(j)] - row_dual_[at(i)]);
  }

  void match(std::int32_t i, std::int32_t j) {
    column_of_[at(i)] = j;
    row_of_[at(j)] = i;
  }

  // Diagonal entries first: a permutation that is not needed may cost symmetry, and so fill.
  void match_tight_entries() {
    for (const bool diagonal : {true, false}) {
      for (std::int32_t i = 0; i < a_.n(); ++i) {
        each(i, [&](std::int32_t j, size_t p) {
          if ((i == j || !diagonal) && column_of_[at(i)] == none && row_of_[at(j)] == none &&
              cost_[p] < infinity && reduced(i, j, p) == 0) {
            match(i, j);
          }
        });
      }
    }
  }

  // Dijkstra from row `start` over alternating paths to the nearest column without a row.
  void augment(std::int32_t start) {
    std::priority_queue<std::pair<double, std::int32_t>,
                        std::vector<std::pair<double, std::int32_t>>, std::greater<>>
        queue;
    std::vector<std::int32_t> touched;
    std::vector<std::int32_t> settled;  // columns with a row, by distance
    double here = 0;
    double shortest = infinity;  // to a column without a row, so far
    std::int32_t end = none;
    for (std::int32_t i = start; end == none;) {
      each(i, [&](std::int32_t j, size_t p) {
        if (cost_[p] == infinity) return;
        const double d = here + reduced(i, j, p);
        if (d >= distance_[at(j)] || d >= shortest) return;
        if (distance_[at(j)] == infinity) touched.push_back(j);
        distance_[at(j)] = d;
        reached_from_[at(j)] = i;
        if (row_of_[at(j)] == none) shortest = d;
        queue.emplace(d, j);
      });
      while (!queue.empty() && queue.top().first > distance_[at(queue.top().second)]) queue.pop();
      if (queue.empty()) refuse("no row permutation gives a diagonal without zeros");
      std::int32_t j = none;
      std::tie(here, j) = queue.top();
      queue.pop();
      if (row_of_[at(j)] == none) {
        end = j;
      } else {
        settled.push_back(j);
        i = row_of_[at(j)];
      }
    }
    update_duals(start, settled, here);
    for (std::int32_t j = end, i = none; i != start;) {
      i = reached_from_[at(j)];
      const std::int32_t before = column_of_[at(i)];
      match(i, j);
      j = before;
    }
    for (const std::int32_t j : touched) distance_[at(j)] = infinity;
  }

  // Reduced costs stay nonnegative, those of matched entries 0, and those of the path become 0.
  void update_duals(std::int32_t start, const std::vector<std::int32_t>& settled, double length) {
    row_dual_[at(start)] += length;
    for (const std::int32_t j : settled) {
      const double slack = length - distance_[at(j)];
      col_dual_[at(j)] -= slack;
      row_dual_[at(row_of_[at(j)])] += slack;
    }
  }

  const static_lu::matrix& a_;
  std::vector<double> cost_;     // by entry; infinite for zeros
  std::vector<double> largest_;  // magnitude of each row
  std::vector<double> row_dual_, col_dual_;
  std::vector<std::int32_t> column_of_, row_of_;  // -1: not matched
  std::vector<double> distance_;                  // by column, of the current search
  std::vector<std::int32_t> reached_from_;        // by column: the row before it
};

}  // namespace

weighted_matching maximum_product_matching(const static_lu::matrix& a) {
  return assignment(a).result();
}

}  // namespace supplement
