#include "variants/panels/parts.hpp"

#include <algorithm>
#include <cstdlib>

namespace gsofa {

namespace {

// Vertices of all proper ancestors of some consecutive panels. The parent of one of them that is
// not one itself is an ancestor of the last one, since its subtree is contiguous.
class vertices_above {
 public:
  vertices_above(std::span<const index_t> begin, std::span<const index_t> parent, index_t first,
                 index_t last)
      : first_(first), above_(at(last - first) + 1) {
    std::vector<index_t> path;
    for (index_t j = parent[at(last)]; j >= 0; j = parent[at(j)]) path.push_back(j);
    std::vector<offset_t> upto(path.size() + 1, 0);  // [i]: vertices from path[i] on
    for (std::size_t i = path.size(); i-- > 0;) upto[i] = upto[i + 1] + width(begin, path[i]);
    for (index_t j = last; j >= first; --j) {
      const index_t p = parent[at(j)];
      offset_t& above = above_[at(j - first)];
      if (p < 0) {
        above = 0;
      } else if (p <= last) {
        above = above_[at(p - first)] + width(begin, p);
      } else {
        above = upto[at(std::ranges::lower_bound(path, p) - path.begin())];
      }
    }
  }
  [[nodiscard]] offset_t of(index_t j) const { return above_[at(j - first_)]; }

 private:
  static index_t width(std::span<const index_t> begin, index_t j) {
    return begin[at(j) + 1] - begin[at(j)];
  }

  index_t first_;
  std::vector<offset_t> above_;
};

// The panel that a cut before vertex `ideal`, or not far from it, is best made before.
index_t best_cut(std::span<const index_t> begin, std::span<const index_t> parent, offset_t ideal,
                 offset_t most_off) {
  const auto panels = static_cast<index_t>(parent.size());
  const auto is_near = [&](index_t j) { return std::abs(begin[at(j)] - ideal) <= most_off; };
  const auto middle =
      static_cast<index_t>(std::lower_bound(begin.begin(), begin.end() - 1, ideal) - begin.begin());
  // The panels on both sides of the place are always considered.
  index_t first = std::max(middle - 1, index_t{0});
  while (first > 0 && first < middle && is_near(first)) --first;
  index_t last = std::min(middle + 1, panels - 1);
  while (last + 1 < panels && last > middle && is_near(last)) ++last;
  const vertices_above above(begin, parent, std::max(first - 1, index_t{0}), last);
  const auto cost = [&](index_t j) {
    return std::abs(begin[at(j)] - ideal) + (j > 0 ? 8 * above.of(j - 1) : 0);
  };
  index_t best = middle;
  for (index_t j = middle - 1; j >= first; --j) {
    if (cost(j) < cost(best)) best = j;
  }
  for (index_t j = middle + 1; j <= last; ++j) {
    if (cost(j) < cost(best)) best = j;
  }
  return best;
}

}  // namespace

panel_parts divide_panels(std::span<const index_t> begin, std::span<const index_t> parent,
                          int parts) {
  const auto panels = static_cast<index_t>(parent.size());
  const offset_t n = begin.back();
  panel_parts out;
  out.cut.push_back(0);
  for (int k = 1; k < parts; ++k) {
    const index_t best = best_cut(begin, parent, n * k / parts, n / (offset_t{parts} * 8));
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

std::vector<index_t> share_top(const panel_parts& parts, std::span<const index_t> parent) {
  const std::size_t count = parts.top.size();
  const auto last = static_cast<index_t>(parts.cut.size()) - 2;
  // The first and the last part that hold each panel.
  std::vector<index_t> from(count, last);
  std::vector<index_t> upto(count, last);
  std::vector<index_t> takers;  // parts with panels
  const auto place = [&](index_t j) {
    return at(std::ranges::lower_bound(parts.top, j) - parts.top.begin());
  };
  for (index_t k = last; k >= 0; --k) {
    const index_t begin = parts.cut[at(k)];
    const index_t end = parts.cut[at(k) + 1];
    if (begin == end) continue;
    takers.insert(takers.begin(), k);
    for (std::size_t i = place(begin); i < count && parts.top[i] < end; ++i) from[i] = upto[i] = k;
    std::size_t i = place(end);
    for (index_t j = parent[at(end) - 1]; j >= 0; j = parent[at(j)]) {
      while (parts.top[i] != j) ++i;
      from[i] = k;
    }
  }
  std::vector<index_t> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = std::ranges::lower_bound(takers, from[i]);
    const auto holders = std::ranges::upper_bound(takers, upto[i]) - first;
    out[i] = first[static_cast<std::ptrdiff_t>(i) % holders];
  }
  return out;
}

top_panels top_of(const panel_parts& parts, std::span<const index_t> begin,
                  std::span<const index_t> parent) {
  top_panels out;
  out.panel = parts.top;
  out.begin.push_back(0);
  for (const index_t j : parts.top) {
    out.begin.push_back(out.begin.back() + begin[at(j) + 1] - begin[at(j)]);
    const index_t p = parent[at(j)];
    // Ancestors of panels of `top` are in it.
    out.parent.push_back(
        p < 0 ? -1
              : static_cast<index_t>(std::ranges::lower_bound(parts.top, p) - parts.top.begin()));
  }
  return out;
}

}  // namespace gsofa
