#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/factor_profile.hpp"

namespace gsofa {

/// Pixels of a picture, three bytes each, by rows from the top.
struct raster {
  int width = 0;
  int height = 0;
  std::vector<std::array<std::uint8_t, 3>> pixels{};
};

/// cells x cells by rows: number of entries of `a` in each cell, laid out as
/// factor_profile::density.
std::vector<offset_t> density_of(const pattern_view& a, index_t cells);

/// A picture of a matrix of order n: its entries dark, the other entries that `factors` counts
/// light below them. The more places of a cell are entries, the darker the cell. `factors` may be
/// empty.
raster picture_of(index_t n, index_t cells, const std::vector<offset_t>& entries,
                  const std::vector<offset_t>& factors);

/// The raster as a file of the PNG format (ISO/IEC 15948).
std::string png_of(const raster& r);

/// One pattern of a drawing.
struct drawn_pattern {
  index_t n = 0;
  raster image{};
  std::array<std::string, 2> title{};       ///< two lines
  std::vector<index_t> supernode_starts{};  ///< their squares are drawn where they are large enough
};

/// Patterns side by side with titles, ticks and a legend, as an SVG document.
std::string svg_of(const std::vector<drawn_pattern>& patterns);

/// The patterns side by side as one raster, without text.
raster side_by_side(const std::vector<drawn_pattern>& patterns);

}  // namespace gsofa
