#include "harness/check/fill_path.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "common/types.hpp"

namespace gsofa {

namespace {

constexpr index_t not_reached = -1;

std::size_t place(index_t v) { return static_cast<std::size_t>(v); }

// By vertex its predecessor on a shortest path from i by inner vertices less than `bound`.
std::vector<index_t> search(const pattern_view& a, index_t i, index_t bound) {
  std::vector<index_t> from(place(a.n_rows), not_reached);
  std::vector<index_t> queue{i};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const index_t v = queue[head];
    for (const index_t w : a.row(v)) {
      if (w == i || from[place(w)] != not_reached) continue;
      from[place(w)] = v;
      if (w < bound) queue.push_back(w);
    }
  }
  return from;
}

// Row and column of the first "(ROW,COLUMN) is missing" or "... is not in the fill" of a text.
std::optional<std::pair<index_t, index_t>> wrong_entry(const std::string& reason) {
  for (std::size_t at = reason.find('('); at != std::string::npos; at = reason.find('(', at + 1)) {
    int row = -1;
    int column = -1;
    int length = 0;
    std::sscanf(reason.c_str() + at, "(%9d,%9d) is %n", &row, &column, &length);
    if (length == 0 || row < 0 || column < 0) continue;
    const auto said = std::string_view(reason).substr(at + static_cast<std::size_t>(length));
    if (said.starts_with("missing") || said.starts_with("not in the fill")) {
      return std::pair<index_t, index_t>(row, column);
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<index_t> fill_path(const pattern_view& a, index_t i, index_t j) {
  const std::vector<index_t> from = search(a, i, std::min(i, j));
  if (i == j || from[place(j)] == not_reached) return {};
  std::vector<index_t> path{j};
  while (path.back() != i) path.push_back(from[place(path.back())]);
  std::ranges::reverse(path);
  return path;
}

std::string explain_entry(const pattern_view& a, const std::string& reason) {
  const auto named = wrong_entry(reason);
  if (!named) return "";
  const auto [i, j] = *named;
  if (i >= a.n_rows || j >= a.n_cols) return "";
  const index_t bound = std::min(i, j);
  if (i == j) return fmt::format("({},{}) is in L+U: it is on the diagonal\n", i, j);
  const std::vector<index_t> path = fill_path(a, i, j);
  if (path.size() == 2) return fmt::format("({},{}) is in L+U: it is an entry of A\n", i, j);
  if (!path.empty()) {
    return fmt::format("({},{}) is in L+U: the inner vertices of the path {} are less than {}\n", i,
                       j, fmt::join(path, " -> "), bound);
  }
  std::vector<index_t> inner;
  const std::vector<index_t> from = search(a, i, bound);
  for (index_t v = 0; v < bound; ++v) {
    if (from[place(v)] != not_reached) inner.push_back(v);
  }
  if (inner.empty()) {
    return fmt::format(
        "({0},{1}) is not in L+U: it is not in A, and row {0} of A has no vertex "
        "less than {2} that a path to {1} could lead through\n",
        i, j, bound);
  }
  return fmt::format(
      "({},{}) is not in L+U: from {} paths lead through {} vertices less than {} "
      "({}), none of which has {} in its row\n",
      i, j, i, inner.size(), bound,
      fmt::join(inner.begin(), inner.begin() + std::min<std::ptrdiff_t>(20, std::ssize(inner)),
                ", "),
      j);
}

}  // namespace gsofa
