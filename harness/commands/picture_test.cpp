#include "harness/commands/picture.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include "harness/check/test_patterns.hpp"

using namespace gsofa;

namespace {

std::uint32_t number_at(const std::string& s, std::size_t k) {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<unsigned char>(s.at(k + i));
  return out;
}

// The raster of a PNG file that has one IDAT chunk and no filters.
raster decoded(const std::string& png) {
  REQUIRE(png.substr(0, 8) == "\x89PNG\r\n\x1a\n");
  raster r;
  std::string rows;
  for (std::size_t k = 8; k < png.size();) {
    const std::size_t size = number_at(png, k);
    const std::string kind = png.substr(k + 4, 4);
    const std::string data = png.substr(k + 8, size);
    const std::string body = kind + data;
    CHECK(crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())) ==
          number_at(png, k + 8 + size));
    if (kind == "IHDR") {
      r.width = static_cast<int>(number_at(data, 0));
      r.height = static_cast<int>(number_at(data, 4));
      rows.resize(at(r.height) * (3 * at(r.width) + 1));
    }
    if (kind == "IDAT") {
      uLongf length = static_cast<uLongf>(rows.size());
      REQUIRE(uncompress(reinterpret_cast<Bytef*>(rows.data()), &length,
                         reinterpret_cast<const Bytef*>(data.data()),
                         static_cast<uLong>(size)) == Z_OK);
      REQUIRE(length == rows.size());
    }
    k += 12 + size;
  }
  for (std::size_t k = 0; k < rows.size(); k += 3) {
    if (k % (3 * at(r.width) + 1) == 0) {
      CHECK(rows[k] == 0);
      ++k;
    }
    r.pixels.push_back({static_cast<std::uint8_t>(rows[k]), static_cast<std::uint8_t>(rows[k + 1]),
                        static_cast<std::uint8_t>(rows[k + 2])});
  }
  return r;
}

}  // namespace

TEST_CASE("a raster is what its PNG file says") {
  raster r{.width = 5, .height = 3};
  for (int k = 0; k < 15; ++k) {
    r.pixels.push_back({static_cast<std::uint8_t>(k), static_cast<std::uint8_t>(255 - k),
                        static_cast<std::uint8_t>(17 * k)});
  }
  const raster back = decoded(png_of(r));
  CHECK(back.width == 5);
  CHECK(back.height == 3);
  CHECK(back.pixels == r.pixels);
}

TEST_CASE("entries are dark, fill-ins light, other places white") {
  // A = [1 1; 0 1] and fill at (1, 0).
  const std::vector<offset_t> entries{1, 1, 0, 1};
  const std::vector<offset_t> factors{1, 1, 1, 1};
  const raster r = picture_of(2, 2, entries, factors);
  const auto sum = [&](std::size_t k) { return r.pixels[k][0] + r.pixels[k][1] + r.pixels[k][2]; };
  CHECK(r.pixels[0] == r.pixels[1]);
  CHECK(r.pixels[0] == r.pixels[3]);
  CHECK(sum(0) < 200);
  CHECK(sum(2) > 300);
  CHECK(sum(2) < 700);
  const raster alone = picture_of(2, 2, entries, {});
  CHECK(alone.pixels[2] == std::array<std::uint8_t, 3>{255, 255, 255});
}

TEST_CASE("the density of a pattern has all of its entries") {
  for (std::uint64_t k = 0; k < 50; ++k) {
    const auto [name, a] = random_pattern(31, k);
    CAPTURE(name);
    for (const index_t cells : {1, 2, 5}) {
      if (cells > a.n_rows) continue;
      offset_t sum = 0;
      for (const offset_t c : density_of(a, cells)) sum += c;
      CHECK(sum == a.nnz());
    }
  }
}

TEST_CASE("patterns stand side by side, with their titles escaped") {
  drawn_pattern p{.n = 2,
                  .image = picture_of(2, 2, {1, 0, 0, 1}, {}),
                  .title = {"a < b & c", "2 entries"},
                  .supernode_starts = {0, 1}};
  const std::string svg = svg_of({p, p});
  CHECK(svg.find("a &lt; b &amp; c") != svg.npos);
  CHECK(svg.find("supernode") != svg.npos);
  CHECK(svg.substr(0, 4) == "<svg");
  const raster both = side_by_side({p, p});
  CHECK(both.width == 5);
  CHECK(both.height == 2);
  CHECK(both.pixels[0] == both.pixels[3]);
  CHECK(both.pixels[2] == std::array<std::uint8_t, 3>{255, 255, 255});
}
