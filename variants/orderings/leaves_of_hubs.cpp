#include "variants/orderings/leaves_of_hubs.hpp"

#include <algorithm>

namespace gsofa::orders {

namespace {

constexpr index_t most_neighbours = 32;  // of a leaf
constexpr index_t least_ratio = 4;       // of the neighbours of a hub to those of its leaf
constexpr offset_t most_growth = 4;      // of the entries

enum class role : std::uint8_t { core, leaf, long_row };

class hub_search {
 public:
  hub_search(const weighted_rows& rows, offset_t longest)
      : rows_(rows), n_(static_cast<index_t>(rows.begin.size()) - 1), role_(at(n_), role::core) {
    set_long_rows_aside(longest);
  }

  std::optional<hub_core> run() {
    hub_core core;
    if (!find_leaves(core)) return std::nullopt;
    std::vector<index_t> number(at(n_), -1);
    for (index_t v = 0; v < n_; ++v) {
      if (role_[at(v)] == role::long_row) core.long_rows.push_back(v);
      if (role_[at(v)] != role::core) continue;
      number[at(v)] = static_cast<index_t>(core.vertices.size());
      core.vertices.push_back(v);
      core.weight.push_back(weight_of(v));
      core.halo.push_back(in_halo(v) ? 1 : 0);
    }
    if (!join_neighbours(core, number)) return std::nullopt;
    return core;
  }

 private:
  [[nodiscard]] std::span<const index_t> row(index_t v) const {
    return rows_.adj.subspan(at(rows_.begin[at(v)]),
                             at(rows_.begin[at(v) + 1] - rows_.begin[at(v)]));
  }
  [[nodiscard]] bool in_halo(index_t v) const {
    return !rows_.halo.empty() && rows_.halo[at(v)] != 0;
  }
  [[nodiscard]] index_t weight_of(index_t v) const {
    return rows_.weight.empty() ? 1 : rows_.weight[at(v)];
  }

  // length_: of the rows without the long ones.
  void set_long_rows_aside(offset_t longest) {
    length_.resize(at(n_));
    for (index_t v = 0; v < n_; ++v) {
      length_[at(v)] = static_cast<index_t>(row(v).size());
      if (length_[at(v)] > longest && !in_halo(v)) role_[at(v)] = role::long_row;
    }
    for (index_t v = 0; v < n_; ++v) {
      if (role_[at(v)] != role::long_row) continue;
      for (const index_t u : row(v)) --length_[at(u)];
    }
  }

  // Whether v hangs on vertices with many more neighbours.
  [[nodiscard]] bool is_leaf(index_t v) const {
    const index_t own = length_[at(v)];
    if (own > most_neighbours || role_[at(v)] != role::core || in_halo(v)) return false;
    return std::ranges::all_of(row(v), [&](index_t u) {
      return role_[at(u)] == role::long_row || length_[at(u)] >= least_ratio * std::max(own, 1);
    });
  }

  // False if there are too few.
  bool find_leaves(hub_core& core) {
    for (index_t v = 0; v < n_; ++v) {
      if (is_leaf(v)) core.leaves.push_back(v);
    }
    if (2 * core.leaves.size() < at(n_)) return false;
    std::ranges::stable_sort(core.leaves, {}, [&](index_t v) { return length_[at(v)]; });
    for (const index_t v : core.leaves) {
      role_[at(v)] = role::leaf;
      index_t degree = 0;
      for (const index_t u : row(v)) degree += role_[at(u)] == role::long_row ? 0 : weight_of(u);
      core.leaf_degrees.push_back(degree);
    }
    return true;
  }

  // The neighbours of a leaf become adjacent; false if they have too many entries.
  bool join_neighbours(hub_core& core, std::span<const index_t> number) const {
    std::vector<index_t> seen(core.vertices.size(), -1);
    core.begin.push_back(0);
    for (std::size_t i = 0; i < core.vertices.size(); ++i) {
      const auto own = static_cast<index_t>(i);
      seen[i] = own;
      const auto add = [&](index_t u) {
        const index_t j = number[at(u)];
        if (j < 0 || seen[at(j)] == own) return;
        seen[at(j)] = own;
        core.adj.push_back(j);
      };
      for (const index_t u : row(core.vertices[i])) {
        if (role_[at(u)] != role::leaf) {
          add(u);
        } else {
          for (const index_t w : row(u)) add(w);
        }
      }
      core.begin.push_back(static_cast<offset_t>(core.adj.size()));
      if (core.begin.back() > most_growth * rows_.begin.back()) return false;
    }
    return true;
  }

  const weighted_rows& rows_;
  index_t n_;
  std::vector<role> role_;
  std::vector<index_t> length_;
};

}  // namespace

std::optional<hub_core> eliminate_leaves_of_hubs(const weighted_rows& rows, offset_t longest) {
  return hub_search(rows, longest).run();
}

}  // namespace gsofa::orders
