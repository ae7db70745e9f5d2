// Circuits.

#include "common/generators/families.hpp"

#include <algorithm>

namespace gsofa::generator {

namespace {

struct link {
  index_t u = 0, v = 0;
};

/// Connections of a circuit whose nodes are placed on a square: every node draws about `degree` / 2
/// partners in a window whose half-width doubles with probability `reach`, and with probability
/// `supply` one of `hubs` supply nets, low-numbered ones far more often (density of the rank ~
/// rank^(-2/3)).
std::vector<link> place_and_route(random_source& random, index_t nodes, double degree,
                                  probability reach, index_t hubs, probability supply) {
  std::vector<link> links;
  links.reserve(at(static_cast<offset_t>(static_cast<double>(nodes) * (degree / 2 + 1))));
  offset_t width = 1;
  while (width * width < nodes) ++width;
  const auto whole = static_cast<index_t>(degree / 2);
  const probability rest(degree / 2 - whole);
  for (index_t u = 0; u < nodes; ++u) {
    const offset_t x = u % width;
    const offset_t y = u / width;
    const index_t draws = whole + (random.chance(rest) ? 1 : 0);
    for (index_t k = 0; k < draws; ++k) {
      offset_t half = 1;
      while (half < width && random.chance(reach)) half *= 2;
      // A draw outside the square or on the node itself is repeated.
      for (int tries = 0; tries < 64; ++tries) {
        const offset_t xx = x + random.between(-half, half);
        const offset_t yy = y + random.between(-half, half);
        const offset_t v = yy * width + xx;
        if (xx < 0 || xx >= width || yy < 0 || v >= nodes || v == u) continue;
        links.push_back({u, static_cast<index_t>(v)});
        break;
      }
    }
    if (hubs > 0 && random.chance(supply)) {
      // The cube of a uniform number; 21 bits, so that the cube fits in 64.
      const std::uint64_t r = random.below(std::uint64_t{1} << 21);
      const std::uint64_t rank = ((r * r * r) >> 42) * static_cast<std::uint64_t>(hubs) >> 21;
      // Hubs are spread over the numbering.
      const auto hub = static_cast<index_t>((static_cast<offset_t>(rank) * 2 + 1) * nodes /
                                            (offset_t{hubs} * 2));
      if (hub != u) links.push_back({u, hub});
    }
  }
  return links;
}

}  // namespace

pattern make_circuit(const arguments& args) {
  const index_t n = args.integer("n");
  const double degree = args.real("degree");
  args.check_entries(static_cast<offset_t>(static_cast<double>(n) * (degree + 3)));
  random_source random(args.seed());
  const std::vector<link> links =
      place_and_route(random, n, degree, args.chance("reach"), std::min(args.integer("hubs"), n),
                      args.chance("supply"));
  const entry_filter filter = entry_filter::from(args);
  triplets t{n, n, {}, {}};
  t.rows.reserve(at(n) + 2 * links.size());
  t.cols.reserve(at(n) + 2 * links.size());
  const auto put = [&](index_t i, index_t j) {
    t.rows.push_back(i);
    t.cols.push_back(j);
  };
  for (index_t i = 0; i < n; ++i) put(i, i);
  for (const auto& [u, v] : links) {
    if (filter.keeps(u, v)) put(u, v);
    if (filter.keeps(v, u)) put(v, u);
  }
  return from_triplets(t, duplicates::merge);
}

/// Jacobian of harmonic balance: each circuit node has one unknown per harmonic; a linear device
/// couples equal harmonics, a nonlinear one all of them.
/// Source: Kundert & Sangiovanni-Vincentelli, IEEE Trans. CAD 5 (1986), 521-535.
pattern make_harmonic(const arguments& args) {
  const index_t nodes = args.integer("nodes");
  const index_t h = args.integer("harmonics");
  const index_t n = args.leading(args.order({nodes, h}));
  const double degree = args.real("degree");
  args.check_entries(static_cast<offset_t>(static_cast<double>(nodes) * (degree + 3)) * h * h);
  random_source random(args.seed());
  std::vector<link> links =
      place_and_route(random, nodes, degree, args.chance("reach"),
                      std::min(args.integer("hubs"), nodes), args.chance("supply"));
  const entry_filter filter = entry_filter::from(args);
  const probability nonlinear = args.chance("nonlinear");
  const std::uint64_t device_seed = args.seed() ^ 0x646576ULL;
  // Nonlinear devices sit at nonlinear nodes: a link is nonlinear iff its controlling node is.
  const auto is_nonlinear = [&](index_t u) {
    return nonlinear.holds(keyed_random(device_seed, static_cast<std::uint64_t>(u), 0));
  };
  triplets t{nodes, nodes, {}, {}};
  const auto put = [&](index_t i, index_t j) {
    t.rows.push_back(i);
    t.cols.push_back(j);
  };
  for (index_t i = 0; i < nodes; ++i) put(i, i);
  for (const auto& [u, v] : links) {
    if (filter.keeps(u, v)) put(u, v);
    if (filter.keeps(v, u)) put(v, u);
  }
  links = {};
  const pattern blocks = from_triplets(t, duplicates::merge);
  t = {};
  offset_t expected = 0;
  for (const index_t j : blocks.col_idx) expected += is_nonlinear(j) ? offset_t{h} * h : h;
  args.check_entries(expected);
  row_writer rows(n, expected);
  for (index_t u = 0; u < nodes && offset_t{u} * h < n; ++u) {
    for (index_t k = 0; k < h && offset_t{u} * h + k < n; ++k) {
      for (const index_t v : blocks.row(u)) {
        if (is_nonlinear(v)) {
          for (index_t m = 0; m < h; ++m) rows.add(v * h + m);
        } else {
          rows.add(v * h + k);
        }
      }
      rows.end_row();
    }
  }
  return rows.take();
}

}  // namespace gsofa::generator
