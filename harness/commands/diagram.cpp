#include "harness/commands/diagram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/commands/svg.hpp"
#include "harness/record/table.hpp"

namespace gsofa {

namespace {

using namespace svg;

// 1 for leaves, else one more than the highest of the children.
std::vector<index_t> heights_of(std::span<const index_t> parent) {
  std::vector<index_t> height(parent.size(), 1);
  for (std::size_t v = 0; v < parent.size(); ++v) {
    if (parent[v] < 0) continue;
    index_t& above = height[at(parent[v])];
    above = std::max(above, height[v] + 1);
  }
  return height;
}

// Vertices of the heights that at most `most` vertices reach or pass. Parents of kept vertices are
// kept.
std::vector<unsigned char> highest(const std::vector<index_t>& height, index_t most) {
  std::vector<unsigned char> keep(height.size(), 1);
  if (std::ssize(height) <= most) return keep;
  std::vector<index_t> sorted = height;
  const auto first_out = sorted.begin() + most;
  std::ranges::nth_element(sorted, first_out, std::greater<>());
  const index_t below = *first_out;
  for (std::size_t v = 0; v < height.size(); ++v) keep[v] = height[v] > below ? 1 : 0;
  return keep;
}

// The shape of the kept part of a forest.
struct layout {
  std::vector<double> place;      // mean position of the leaves below, numbered in order
  std::vector<index_t> children;  // kept ones
  index_t leaves = 0;
};

layout lay_out(std::span<const index_t> parent, const std::vector<unsigned char>& keep) {
  layout out;
  const std::size_t n = parent.size();
  out.place.assign(n, 0);
  out.children.assign(n, 0);
  std::vector<double> below(n, 0);
  for (std::size_t v = 0; v < n; ++v) {
    if (keep[v] == 0) continue;
    if (below[v] == 0) {
      below[v] = 1;
      out.place[v] = out.leaves++;
    }
    if (parent[v] >= 0) {
      below[at(parent[v])] += below[v];
      out.place[at(parent[v])] += out.place[v];
      ++out.children[at(parent[v])];
    }
    out.place[v] /= below[v];
  }
  return out;
}

std::string ticks(double end, bool along_x) {
  std::string out;
  const offset_t last = static_cast<offset_t>(end);
  for (offset_t v = 0; v <= last; v += step_of(std::max<offset_t>(last, 1))) {
    const double where = square * static_cast<double>(v) / end;
    if (along_x) {
      out += fmt::format(
          "<path class=\"frame\" d=\"M{0:.2f} {1}v5\"/><text x=\"{0:.2f}\" y=\"{2}\" "
          "text-anchor=\"middle\">{3}</text>\n",
          where, square, square + 19, with_commas(v));
    } else {
      out += fmt::format(
          "<path class=\"frame\" d=\"M0 {0:.2f}h-5\"/><text x=\"-9\" y=\"{1:.2f}\" "
          "text-anchor=\"end\">{2}</text>\n",
          square - where, square - where + 4, with_commas(v));
    }
  }
  return out;
}

std::string svg_line(const drawn_line& line, const diagram& d) {
  std::string path;
  for (const auto& [x, y] : line.points) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', square * x / d.right,
                        square - square * y / d.top);
  }
  return fmt::format("<path d=\"{}\" stroke=\"{}\" stroke-width=\"{:.2g}\"/>\n", path,
                     hex_of(line.light ? fill_colour : entry_colour), line.width);
}

std::string legend(const diagram& d) {
  std::string out;
  int x = 0;
  for (const std::size_t k : {0, 1}) {
    if (d.names[k].empty()) continue;
    out += fmt::format(
        "<path d=\"M{0} {1}h22\" stroke=\"{2}\" stroke-width=\"2\" fill=\"none\"/><text x=\"{3}\" "
        "y=\"{4}\">{5}</text>\n",
        x, square + 62, hex_of(k == 0 ? entry_colour : fill_colour), x + 28, square + 66,
        escaped(d.names[k]));
    x += 130;
  }
  return out;
}

std::string svg_diagram(const diagram& d, int k) {
  std::string out = begin_panel(k, d.title);
  out += "<g fill=\"none\" stroke-linejoin=\"round\">\n";
  for (const drawn_line& line : d.lines) out += svg_line(line, d);
  out += "</g>\n";
  out += fmt::format("<path class=\"frame\" d=\"M0 0v{0}h{0}\"/>\n", square);
  if (d.has_x_ticks) out += ticks(d.right, true);
  out += ticks(d.top, false);
  out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", square / 2,
                     square + 40, escaped(d.labels[0]));
  out += fmt::format(
      "<text transform=\"translate(-62,{}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      square / 2, escaped(d.labels[1]));
  return out + legend(d) + "</g>\n";
}

// By group of pivots, the most.
drawn_line line_of(std::span<const index_t> counts, bool light) {
  constexpr std::size_t groups = 1000;
  const std::size_t step = (counts.size() + groups - 1) / groups;
  drawn_line out{.width = light ? 2.4 : 0.9, .light = light};
  for (std::size_t k = 0; k < counts.size(); k += step) {
    const auto group = counts.subspan(k, std::min(step, counts.size() - k));
    out.points.push_back({static_cast<double>(k), static_cast<double>(std::ranges::max(group))});
  }
  return out;
}

}  // namespace

diagram diagram_of_tree(const std::string& name, std::span<const index_t> parent,
                        std::span<const double> work, index_t most) {
  const std::vector<index_t> height = heights_of(parent);
  const std::vector<unsigned char> keep = highest(height, most);
  const layout l = lay_out(parent, keep);
  const double largest = work.empty() ? 0 : std::ranges::max(work);
  const auto kept = std::ranges::count(keep, 1);
  const index_t top = height.empty() ? 0 : std::ranges::max(height);
  diagram out{.title = {fmt::format("elimination tree, {}: height {}", name, with_commas(top)),
                        fmt::format("{} columns", with_commas(std::ssize(parent)))},
              .right = std::max(1.0, static_cast<double>(l.leaves) - 1),
              .top = std::max(1.0, static_cast<double>(top)),
              .has_x_ticks = false,
              .labels = {"leaves", "columns on the longest path from a leaf"}};
  if (kept < std::ssize(parent)) {
    out.title[1] +=
        fmt::format("; the lowest {} are left out", with_commas(std::ssize(parent) - kept));
  }
  for (std::size_t v = 0; v < parent.size(); ++v) {
    // A path begins at a leaf or where others join, and ends where it joins others.
    if (keep[v] == 0 || l.children[v] == 1) continue;
    drawn_line path{.points = {{l.place[v], static_cast<double>(height[v])}}};
    double heaviest = work[v];
    std::size_t end = v;
    while (parent[end] >= 0) {
      end = at(parent[end]);
      if (l.children[end] != 1) break;
      heaviest = std::max(heaviest, work[end]);
      // A chain is straight: its last vertex stands for all.
      if (path.points.size() > 1) path.points.pop_back();
      path.points.push_back({l.place[end], static_cast<double>(height[end])});
    }
    if (end != v && l.children[end] != 1) {
      path.points.push_back({l.place[end], static_cast<double>(height[end])});
    }
    path.width = 0.4 + (largest > 0 ? 3.6 * std::sqrt(heaviest / largest) : 0);
    if (path.points.size() > 1) out.lines.push_back(std::move(path));
  }
  return out;
}

diagram diagram_of_counts(const std::string& name, std::span<const index_t> l_col_counts,
                          std::span<const index_t> u_row_counts) {
  diagram out{.title = {fmt::format("entries by pivot, {}", name), ""},
              .right = static_cast<double>(u_row_counts.size()),
              .labels = {"pivot", "entries"},
              .names = {"column of L", "row of U"}};
  out.lines = {line_of(u_row_counts, true), line_of(l_col_counts, false)};
  for (const drawn_line& line : out.lines) {
    for (const auto& point : line.points) out.top = std::max(out.top, point[1]);
  }
  return out;
}

diagram diagram_of_work(const std::string& name, std::span<const double> work) {
  const double all = std::accumulate(work.begin(), work.end(), 0.0);
  diagram out{.title = {fmt::format("{:.3g} operations, {}", all, name), ""},
              .right = static_cast<double>(work.size()),
              .top = 100,
              .labels = {"pivot", "operations done, % of all"}};
  const std::size_t step = work.size() / 1000 + 1;
  drawn_line line{.width = 1.5};
  double done = 0;
  line.points.push_back({0, 0});
  for (std::size_t k = 0; k < work.size(); ++k) {
    done += work[k];
    if ((k + 1) % step != 0 && k + 1 != work.size()) continue;
    line.points.push_back({static_cast<double>(k + 1), all > 0 ? 100 * done / all : 100});
  }
  out.lines.push_back(std::move(line));
  return out;
}

std::string svg_of(const std::vector<diagram>& diagrams) {
  std::string out = begin_document(static_cast<int>(diagrams.size()));
  for (std::size_t k = 0; k < diagrams.size(); ++k) {
    out += svg_diagram(diagrams[k], static_cast<int>(k));
  }
  return out + "</svg>\n";
}

}  // namespace gsofa
