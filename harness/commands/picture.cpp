#include "harness/commands/picture.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "common/error.hpp"
#include "harness/record/table.hpp"

namespace gsofa {

namespace {

// Entries of A are dark blue, fill-ins orange, which is light in grey too.
constexpr std::array<double, 3> entry_colour{0.09, 0.20, 0.38};
constexpr std::array<double, 3> fill_colour{0.95, 0.58, 0.22};
constexpr const char* supernode_colour = "#30b48a";

// A panel of a document, and the square in it.
constexpr int square = 400;
constexpr int margin_left = 76;
constexpr int margin_top = 52;
constexpr int margin_bottom = 84;
constexpr int gap = 24;
constexpr int panel = margin_left + square + gap;
constexpr int height = margin_top + square + margin_bottom;

std::string hex_of(const std::array<double, 3>& c) {
  return fmt::format("#{:02x}{:02x}{:02x}", std::lround(255 * c[0]), std::lround(255 * c[1]),
                     std::lround(255 * c[2]));
}

// Text as XML has it.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out.push_back(c);
  }
  return out;
}

// Steps of 1, 2 or 5 times a power of ten, so that [0, n) has at most five.
offset_t step_of(offset_t n) {
  for (offset_t power = 1;; power *= 10) {
    for (const offset_t factor : {1, 2, 5}) {
      if (n <= 5 * factor * power) return factor * power;
    }
  }
}

// The begin of a document with `panels` panels in a row; "</svg>\n" ends it.
std::string begin_document(int panels) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<style>.frame{{fill:none;stroke:#000;stroke-width:0.8}}.title{{font-size:14px}}</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      panels * panel, height);
}

// The begin of panel k, at the corner of its square, with its title; "</g>\n" ends it.
std::string begin_panel(int k, const std::array<std::string, 2>& title) {
  return fmt::format(
      "<g transform=\"translate({},{})\">\n"
      "<text class=\"title\" x=\"0\" y=\"-28\">{}</text><text class=\"title\" x=\"0\" "
      "y=\"-11\">{}</text>\n",
      k * panel + margin_left, margin_top, escaped(title[0]), escaped(title[1]));
}

// From 0 to 1; a cell with any entry can be seen.
double strength(offset_t count, offset_t places) {
  if (count == 0) return 0;
  return 0.22 + 0.78 * std::pow(static_cast<double>(count) / static_cast<double>(places), 0.35);
}

std::string four_bytes(std::uint32_t x) {
  std::string out;
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>(x >> shift & 255U));
  return out;
}

std::string png_chunk(std::string_view kind, std::string_view data) {
  std::string body(kind);
  body += data;
  const uLong crc =
      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return four_bytes(static_cast<std::uint32_t>(data.size())) + body +
         four_bytes(static_cast<std::uint32_t>(crc));
}

std::string base64_of(std::string_view bytes) {
  static constexpr char letters[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t k = 0; k < bytes.size(); k += 3) {
    std::uint32_t group = 0;
    const std::size_t size = std::min<std::size_t>(3, bytes.size() - k);
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < size ? static_cast<unsigned char>(bytes[k + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out.push_back(i <= size ? letters[group >> (18 - 6 * i) & 63U] : '=');
    }
  }
  return out;
}

// The diagonal squares of the supernodes that a reader can tell apart.
std::string squares_of(const drawn_pattern& p) {
  constexpr double least = 4;
  const double scale = static_cast<double>(square) / p.n;
  std::string out;
  for (std::size_t k = 0; k < p.supernode_starts.size(); ++k) {
    const index_t begin = p.supernode_starts[k];
    const index_t end = k + 1 < p.supernode_starts.size() ? p.supernode_starts[k + 1] : p.n;
    const double size = (end - begin) * scale;
    if (size < least) continue;
    out += fmt::format("M{0:.2f} {0:.2f}h{1:.2f}v{1:.2f}h{2:.2f}z", begin * scale, size, -size);
  }
  return out;
}

std::string svg_pattern(const drawn_pattern& p, int k) {
  const double scale = static_cast<double>(square) / p.n;
  std::string out =
      begin_panel(k, p.title) +
      fmt::format(
          "<image width=\"{0}\" height=\"{0}\" preserveAspectRatio=\"none\" "
          "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{1}\"/>\n",
          square, base64_of(png_of(p.image)));
  const std::string squares = squares_of(p);
  if (!squares.empty()) {
    out += fmt::format("<path fill=\"none\" stroke-width=\"1.6\" stroke=\"{}\" d=\"{}\"/>\n",
                       supernode_colour, squares);
  }
  out += fmt::format("<rect class=\"frame\" width=\"{}\" height=\"{}\"/>\n", square, square);
  for (offset_t v = 0; v < p.n; v += step_of(p.n)) {
    const double at_cell = (static_cast<double>(v) + 0.5) * scale;
    const std::string label = with_commas(v);
    out += fmt::format(
        "<path class=\"frame\" d=\"M{0:.2f} {1}v5M0 {0:.2f}h-5\"/><text x=\"{0:.2f}\" y=\"{2}\" "
        "text-anchor=\"middle\">{4}</text><text x=\"-9\" y=\"{3:.2f}\" "
        "text-anchor=\"end\">{4}</text>\n",
        at_cell, square, square + 19, at_cell + 4, label);
  }
  return out + "</g>\n";
}

}  // namespace

std::vector<offset_t> density_of(const pattern_view& a, index_t cells) {
  std::vector<offset_t> out(at(cells) * at(cells), 0);
  for (index_t i = 0; i < a.n_rows; ++i) {
    offset_t* const row = out.data() + offset_t{cell_of(i, a.n_rows, cells)} * cells;
    for (const index_t j : a.row(i)) ++row[cell_of(j, a.n_rows, cells)];
  }
  return out;
}

raster picture_of(index_t n, index_t cells, const std::vector<offset_t>& entries,
                  const std::vector<offset_t>& factors) {
  raster out{.width = cells, .height = cells};
  out.pixels.reserve(at(cells) * at(cells));
  const auto size_of = [&](index_t c) {
    return offset_t{first_of_cell(c + 1, n, cells)} - first_of_cell(c, n, cells);
  };
  for (index_t i = 0; i < cells; ++i) {
    const offset_t rows = size_of(i);
    for (index_t j = 0; j < cells; ++j) {
      const std::size_t k = at(i) * at(cells) + at(j);
      const offset_t places = rows * size_of(j);
      double dark = strength(entries[k], places);
      double light = 0;
      if (!factors.empty()) {
        light = strength(factors[k], places);
        // Where most entries of a cell are fill-ins, A's are a shade of it.
        const double share = static_cast<double>(entries[k]) /
                             static_cast<double>(std::max<offset_t>(factors[k], 1));
        dark *= std::pow(share, 0.25);
      }
      std::array<std::uint8_t, 3> pixel{};
      for (std::size_t c = 0; c < 3; ++c) {
        const double below = 1 - light + fill_colour[c] * light;
        pixel[c] = static_cast<std::uint8_t>(
            std::lround(255 * (below * (1 - dark) + entry_colour[c] * dark)));
      }
      out.pixels.push_back(pixel);
    }
  }
  return out;
}

std::string png_of(const raster& r) {
  std::string rows;
  rows.reserve(at(r.height) * (3 * at(r.width) + 1));
  for (int y = 0; y < r.height; ++y) {
    rows.push_back('\0');  // no filter
    for (int x = 0; x < r.width; ++x) {
      for (const std::uint8_t c : r.pixels[at(y) * at(r.width) + at(x)]) {
        rows.push_back(static_cast<char>(c));
      }
    }
  }
  uLongf size = compressBound(static_cast<uLong>(rows.size()));
  std::string packed(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                reinterpret_cast<const Bytef*>(rows.data()), static_cast<uLong>(rows.size()),
                Z_BEST_COMPRESSION) != Z_OK) {
    throw error(exit_code::run_failed, "zlib could not compress a picture");
  }
  packed.resize(size);
  const std::string head = four_bytes(static_cast<std::uint32_t>(r.width)) +
                           four_bytes(static_cast<std::uint32_t>(r.height)) +
                           std::string("\x08\x02\0\0\0", 5);  // 8 bits, RGB
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", head) + png_chunk("IDAT", packed) +
         png_chunk("IEND", "");
}

std::string svg_of(const std::vector<drawn_pattern>& patterns) {
  std::string out = begin_document(static_cast<int>(patterns.size()));
  bool borders = false;
  for (std::size_t k = 0; k < patterns.size(); ++k) {
    out += svg_pattern(patterns[k], static_cast<int>(k));
    borders = borders || !squares_of(patterns[k]).empty();
  }
  int x = margin_left;
  const int y = height - 26;
  const auto mark = [&](const std::string& colour, bool filled, const char* name, int advance) {
    out += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"16\" height=\"12\" fill=\"{}\" stroke=\"{}\"/>"
        "<text x=\"{}\" y=\"{}\">{}</text>\n",
        x, y - 10, filled ? colour : "none", colour, x + 22, y, name);
    x += advance;
  };
  mark(hex_of(entry_colour), true, "entry of A", 110);
  mark(hex_of(fill_colour), true, "fill-in", 90);
  if (borders) mark(supernode_colour, false, "supernode", 100);
  return out + "</svg>\n";
}

raster side_by_side(const std::vector<drawn_pattern>& patterns) {
  raster out;
  for (const drawn_pattern& p : patterns) {
    out.width += p.image.width;
    out.height = std::max(out.height, p.image.height);
  }
  const int space = std::max(1, out.height / 20);
  out.width += space * (static_cast<int>(patterns.size()) - 1);
  out.pixels.assign(at(out.width) * at(out.height), {255, 255, 255});
  int x0 = 0;
  for (const drawn_pattern& p : patterns) {
    for (int y = 0; y < p.image.height; ++y) {
      std::copy_n(p.image.pixels.begin() + std::ptrdiff_t{y} * p.image.width, p.image.width,
                  out.pixels.begin() + std::ptrdiff_t{y} * out.width + x0);
    }
    x0 += p.image.width + space;
  }
  return out;
}

}  // namespace gsofa
