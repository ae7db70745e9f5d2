#pragma once

#include <array>
#include <string>
#include <string_view>

#include "common/types.hpp"

namespace gsofa::svg {

/// Of A dark blue, of L + U only orange, which is light in grey too.
inline constexpr std::array<double, 3> entry_colour{0.09, 0.20, 0.38};
inline constexpr std::array<double, 3> fill_colour{0.95, 0.58, 0.22};

/// A panel of a document, and the square in it.
inline constexpr int square = 400;
inline constexpr int margin_left = 76;
inline constexpr int margin_top = 52;
inline constexpr int margin_bottom = 84;
inline constexpr int gap = 24;
inline constexpr int panel = margin_left + square + gap;
inline constexpr int height = margin_top + square + margin_bottom;

std::string hex_of(const std::array<double, 3>& colour);
/// Text as XML has it.
std::string escaped(std::string_view text);
/// Steps of 1, 2 or 5 times a power of ten, so that [0, n) has at most five.
offset_t step_of(offset_t n);
/// The begin of a document with so many panels in a row; "</svg>\n" ends it.
std::string begin_document(int panels);
/// The begin of panel k, at the corner of its square, with its title; "</g>\n" ends it.
std::string begin_panel(int k, const std::array<std::string, 2>& title);

}  // namespace gsofa::svg
