#include "variants/panels/parts.hpp"

#include <algorithm>
#include <cstdlib>

namespace gsofa {

namespace {

// Vertices of all proper ancestors of each panel.
std::vector<offset_t> vertices_above(std::span<const index_t> begin,
                                     std::span<const index_t> parent) {
  std::vector<offset_t> above(parent.size(), 0);
  for (std::size_t j = parent.size(); j-- > 0;) {
    if (parent[j] < 0) continue;
    const std::size_t p = at(parent[j]);
    above[j] = above[p] + begin[p + 1] - begin[p];
  }
  return above;
}

}  // namespace

panel_parts divide_panels(std::span<const index_t> begin, std::span<const index_t> parent,
                          int parts) {
  const auto panels = static_cast<index_t>(parent.size());
  const offset_t n = begin.back();
  const std::vector<offset_t> above = vertices_above(begin, parent);
  panel_parts out;
  out.cut.push_back(0);
  for (int k = 1; k < parts; ++k) {
    const offset_t ideal = n * k / parts;
    const offset_t most_off = n / (offset_t{parts} * 8);
    // The panels on both sides of the place are always considered.
    const auto middle = static_cast<index_t>(
        std::lower_bound(begin.begin(), begin.end() - 1, ideal) - begin.begin());
    const auto cost = [&](index_t j) {
      const offset_t off = std::abs(begin[at(j)] - ideal);
      return off + (j > 0 ? 8 * above[at(j) - 1] : 0);
    };
    index_t best = middle;
    const auto consider = [&](index_t j) {
      if (cost(j) < cost(best)) best = j;
      return std::abs(begin[at(j)] - ideal) <= most_off;
    };
    for (index_t j = middle - 1; j >= 0 && consider(j); --j) {
    }
    for (index_t j = middle + 1; j < panels && consider(j); ++j) {
    }
    out.cut.push_back(std::max(best, out.cut.back()));
  }
  out.cut.push_back(panels);
  std::vector<bool> is_top(parent.size(), false);
  for (std::size_t k = 1; k + 1 < out.cut.size(); ++k) {
    if (out.cut[k] == 0) continue;
    for (index_t j = parent[at(out.cut[k]) - 1]; j >= 0 && !is_top[at(j)]; j = parent[at(j)]) {
      is_top[at(j)] = true;
    }
  }
  for (index_t j = 0; j < panels; ++j) {
    if (is_top[at(j)]) out.top.push_back(j);
  }
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
    // Ancestors of panels of `top` are in it.
    out.parent.push_back(
        p < 0 ? -1
              : static_cast<index_t>(std::ranges::lower_bound(parts.top, p) - parts.top.begin()));
  }
  return out;
}

}  // namespace gsofa
