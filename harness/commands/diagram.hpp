#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "common/types.hpp"

namespace gsofa {

/// A line of a diagram.
struct drawn_line {
  std::vector<std::array<double, 2>> points{};
  double width = 1;
  bool light = false;  ///< in the colour of fill-ins, not in that of entries
};

/// Lines over the axes of one panel.
struct diagram {
  std::array<std::string, 2> title{};
  double right = 1, top = 1;            ///< ends of the axes, which begin at 0
  bool has_x_ticks = true;              ///< whole numbers along the axis of x
  std::array<std::string, 2> labels{};  ///< of the axes of x and y
  std::vector<drawn_line> lines{};
  std::array<std::string, 2> names{};  ///< of dark and light lines; empty: not told
};

/// The elimination tree whose parents (-1: none) are larger than their children: leaves along the
/// bottom, a column above its children at its height; the wider a path, the larger the most of
/// `work` of its columns. Chains are vertical lines, so that separators are the long ones near the
/// top. Of the highest columns, at most `most`; the title says how many are left out.
diagram diagram_of_tree(const std::string& name, std::span<const index_t> parent,
                        std::span<const double> work, index_t most = 20000);

/// Entries of columns of L below and of rows of U with the diagonal, by pivot: the most of each of
/// at most 1,000 groups.
diagram diagram_of_counts(const std::string& name, std::span<const index_t> l_col_counts,
                          std::span<const index_t> u_row_counts);

/// The share of all operations that is done after each pivot, in percent.
diagram diagram_of_work(const std::string& name, std::span<const double> work);

/// Diagrams side by side as an SVG document.
std::string svg_of(const std::vector<diagram>& diagrams);

}  // namespace gsofa
