#include "variants/panels/parts.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

namespace gsofa::panels {

namespace {

// Finds the best panel to cut before, near vertex `ideal`.
class cut_search {
 public:
  cut_search(std::span<const index_t> begin, std::span<const index_t> parent, offset_t ideal,
             offset_t most_off)
      : begin_(begin), parent_(parent), ideal_(ideal) {
    const auto panels = static_cast<index_t>(parent.size());
    middle_ = static_cast<index_t>(std::lower_bound(begin.begin(), begin.end() - 1, ideal) -
                                   begin.begin());
    // The panels on both sides of the ideal place are always candidates.
    first_ = std::max(middle_ - 1, index_t{0});
    while (first_ > 0 && first_ < middle_ && off(first_) <= most_off) --first_;
    last_ = std::min(middle_ + 1, panels - 1);
    while (last_ + 1 < panels && last_ > middle_ && off(last_) <= most_off) ++last_;
  }

  // The candidate with the least cost. Ties: the middle one, else the nearest before it.
  [[nodiscard]] index_t best() const {
    const index_t lowest = std::max(first_ - 1, index_t{0});
    // The vertices of all proper ancestors of each panel. A parent beyond the last candidate is an
    // ancestor of the last candidate, since its subtree is contiguous.
    std::vector<index_t> above(at(last_ - lowest) + 1);
    const auto [path, upto] = path_above(last_);
    offset_t least[3] = {0, most_cost, most_cost};  // of the middle, before it, beyond it
    index_t where[3] = {middle_, middle_, middle_};
    for (index_t j = last_; j >= lowest; --j) {
      const index_t p = parent_[at(j)];
      index_t& mine = above[at(j - lowest)];
      if (p < 0) {
        mine = 0;
      } else if (p <= last_) {
        mine = above[at(p - lowest)] + width(p);
      } else {
        mine = upto[at(std::ranges::lower_bound(path, p) - path.begin())];
      }
      // A cut before the next panel.
      const index_t next = j + 1;
      if (next < first_ || next > std::max(middle_, last_)) continue;
      const offset_t cost = off(next) + 8 * offset_t{mine};
      const int side = next == middle_ ? 0 : next < middle_ ? 1 : 2;
      if (side == 0 || cost < least[side] || (side == 2 && cost == least[side])) {
        least[side] = cost;
        where[side] = next;
      }
    }
    if (middle_ == 0) least[0] = off(0);
    if (first_ == 0 && middle_ > 0 && off(0) < least[1]) least[1] = off(0), where[1] = 0;
    int side = 0;
    for (const int other : {1, 2}) {
      if (least[other] < least[side]) side = other;
    }
    return where[side];
  }

 private:
  static constexpr offset_t most_cost = std::numeric_limits<offset_t>::max();

  [[nodiscard]] index_t width(index_t j) const { return begin_[at(j) + 1] - begin_[at(j)]; }
  [[nodiscard]] offset_t off(index_t j) const { return std::abs(begin_[at(j)] - ideal_); }
  // The proper ancestors of a panel, and for each of them its vertices plus those of its ancestors.
  [[nodiscard]] std::pair<std::vector<index_t>, std::vector<index_t>> path_above(index_t j) const {
    std::vector<index_t> path;
    for (index_t p = parent_[at(j)]; p >= 0; p = parent_[at(p)]) path.push_back(p);
    std::vector<index_t> upto(path.size() + 1, 0);
    for (std::size_t i = path.size(); i-- > 0;) upto[i] = upto[i + 1] + width(path[i]);
    return {std::move(path), std::move(upto)};
  }

  std::span<const index_t> begin_, parent_;
  offset_t ideal_;
  index_t middle_ = 0, first_ = 0, last_ = 0;
};

}  // namespace

panel_parts divide_panels(std::span<const index_t> begin, std::span<const index_t> parent,
                          int parts) {
  const auto panels = static_cast<index_t>(parent.size());
  const offset_t n = begin.back();
  panel_parts out;
  out.cut.push_back(0);
  for (int k = 1; k < parts; ++k) {
    index_t best = 0;
    if (panels > 0) {
      best = cut_search(begin, parent, n * k / parts, n / (offset_t{parts} * 8)).best();
    }
    out.cut.push_back(std::max(best, out.cut.back()));
  }
  out.cut.push_back(panels);
  std::vector<bool> is_top(parent.size(), false);
  for (std::size_t k = 1; k + 1 < out.cut.size(); ++k) {
    if (out.cut[k] == 0) continue;
    for (index_t j = parent[at(out.cut[k]) - 1]; j >= 0 && !is_top[at(j)]; j = parent[at(j)]) {
      is_top[at(j)] = true;
      out.top.push_back(j);
    }
  }
  std::ranges::sort(out.top);
  return out;
}

std::vector<panel_kind> kinds_of_part(const panel_parts& parts, std::span<const index_t> parent,
                                      std::size_t k) {
  std::vector<panel_kind> kind(parent.size(), panel_kind::foreign);
  const index_t begin = parts.cut[k];
  const index_t end = parts.cut[k + 1];
  if (begin == end) return kind;
  std::fill(kind.begin() + begin, kind.begin() + end, panel_kind::own);
  const auto first = std::lower_bound(parts.top.begin(), parts.top.end(), begin);
  for (auto t = first; t != parts.top.end() && *t < end; ++t) kind[at(*t)] = panel_kind::top;
  for (index_t j = parent[at(end) - 1]; j >= 0; j = parent[at(j)]) kind[at(j)] = panel_kind::top;
  return kind;
}

top_panels top_of(const panel_parts& parts, std::span<const index_t> begin,
                  std::span<const index_t> parent) {
  top_panels out;
  out.panel = parts.top;
  out.begin.push_back(0);
  for (const index_t j : parts.top) {
    out.begin.push_back(out.begin.back() + begin[at(j) + 1] - begin[at(j)]);
    const index_t p = parent[at(j)];
    // Ancestors of panels in `top` are in `top`.
    out.parent.push_back(
        p < 0 ? -1
              : static_cast<index_t>(std::ranges::lower_bound(parts.top, p) - parts.top.begin()));
  }
  return out;
}

}  // namespace gsofa::panels
