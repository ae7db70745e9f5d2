#include "common/mask_pattern.hpp"

#include <algorithm>

namespace gsofa {

namespace {

constexpr index_t panel_width = 64;

}  // namespace

mask_pattern masks_of(const pattern_view& l, const pattern_view& u) {
  const index_t n = l.n_rows;
  mask_pattern out;
  const pattern columns = transpose(l);
  std::vector<index_t> place(at(n));  // in the list of the panel
  for (index_t b = 0; b < n; b += panel_width) {
    const index_t end = std::min(n, b + panel_width);
    const std::size_t first = out.vertices.size();
    for (index_t v = b; v < end; ++v) out.vertices.push_back(v);
    for (index_t v = b; v < end; ++v) {
      for (const auto& entries : {columns.row(v), u.row(v)}) {
        const auto beyond = std::ranges::lower_bound(entries, end);
        out.vertices.insert(out.vertices.end(), beyond, entries.end());
      }
    }
    const auto own = out.vertices.begin() + static_cast<std::ptrdiff_t>(first);
    std::sort(own, out.vertices.end());
    out.vertices.erase(std::unique(own, out.vertices.end()), out.vertices.end());
    for (std::size_t p = first; p < out.vertices.size(); ++p) {
      place[at(out.vertices[p])] = static_cast<index_t>(p - first);
    }
    out.masks.resize(2 * out.vertices.size());
    for (index_t v = b; v < end; ++v) {
      const std::uint64_t bit = std::uint64_t{1} << (v - b);
      for (const index_t f : columns.row(v)) out.masks[2 * (first + at(place[at(f)])) + 1] |= bit;
      for (const index_t f : u.row(v)) {
        if (f > v) out.masks[2 * (first + at(place[at(f)]))] |= bit;
      }
    }
    out.begin.push_back(end);
    out.position_begin.push_back(static_cast<offset_t>(out.vertices.size()));
  }
  return out;
}

}  // namespace gsofa
