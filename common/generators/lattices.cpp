// Meshes: unknowns at the nodes of an nx x ny x nz lattice, coupled over a set of displacements.

#include "common/generators/families.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace gsofa::generator {

namespace {

struct displacement {
  int dx = 0, dy = 0, dz = 0;
  probability present{1.0};  // decided per unordered pair of nodes
};

/// Displacements in ascending order of the neighbour's number.
void sort_by_number(std::vector<displacement>& s) {
  std::ranges::sort(s, {}, [](const displacement& d) { return std::array{d.dz, d.dy, d.dx}; });
}

/// Cube of the given radius, thinned to those for which `take` holds.
template <class Take>
std::vector<displacement> stencil_where(int radius, bool planar, Take take) {
  std::vector<displacement> s;
  const int rz = planar ? 0 : radius;
  for (int dz = -rz; dz <= rz; ++dz) {
    for (int dy = -radius; dy <= radius; ++dy) {
      for (int dx = -radius; dx <= radius; ++dx) {
        if (take(dx, dy, dz)) s.push_back({dx, dy, dz, probability(1.0)});
      }
    }
  }
  return s;
}

std::vector<displacement> star(int radius, bool planar) {
  return stencil_where(radius, planar, [](int dx, int dy, int dz) {
    return (dx != 0) + (dy != 0) + (dz != 0) <= 1;
  });
}

std::vector<displacement> box(int radius, bool planar) {
  return stencil_where(radius, planar, [](int, int, int) { return true; });
}

/// Linear tetrahedra of Kuhn's subdivision: neighbours differ by +1 (or all by -1) in a nonempty
/// set of coordinates. 15 points.
std::vector<displacement> kuhn() {
  return stencil_where(1, false, [](int dx, int dy, int dz) {
    return std::min({dx, dy, dz}) >= 0 || std::max({dx, dy, dz}) <= 0;
  });
}

/// Removes the dependence on the farthest node downstream: row (x, y, z) keeps no neighbour at
/// distance `radius` in the positive direction of the flow.
void make_upwind(std::vector<displacement>& s, const std::string& direction, int radius) {
  const bool all = direction == "all";
  std::erase_if(s, [&](const displacement& d) {
    return ((all || direction == "x") && d.dx == radius) ||
           ((all || direction == "y") && d.dy == radius) ||
           ((all || direction == "z") && d.dz == radius);
  });
}

/// Pattern of the leading n unknowns of a lattice with `dof` unknowns per node, numbered node by
/// node, x fastest. couples(a, b) tells whether unknown a of a node depends on unknown b of a
/// neighbour; unknowns of one node are all coupled if `dense_node`, else as couples() says.
template <class Couples>
pattern lattice_matrix(const arguments& args, const lattice& grid,
                       const std::vector<displacement>& stencil, index_t dof, bool dense_node,
                       probability thin, const entry_filter& filter, Couples couples) {
  const index_t n =
      args.leading(args.order({grid.nx, grid.ny, grid.nz, static_cast<offset_t>(dof)}));
  const std::uint64_t pair_seed = args.seed() ^ 0x7468696eULL;
  const std::uint64_t wide_seed = args.seed() ^ 0x77696465ULL;
  offset_t expected = 0;
  for (const displacement& d : stencil) {
    expected += std::max<offset_t>(0, grid.nx - std::abs(d.dx)) *
                std::max<offset_t>(0, grid.ny - std::abs(d.dy)) *
                std::max<offset_t>(0, grid.nz - std::abs(d.dz));
    args.check_entries(expected / 64 * dof * dof);
  }
  expected *= offset_t{dof} * dof;
  args.check_entries(expected);

  std::vector<std::vector<index_t>> coupled(at(dof)), coupled_here(at(dof));
  for (index_t a = 0; a < dof; ++a) {
    for (index_t b = 0; b < dof; ++b) {
      if (couples(a, b)) coupled[at(a)].push_back(b);
      if (a == b || dense_node || couples(a, b)) coupled_here[at(a)].push_back(b);
    }
  }
  row_writer rows(n, expected);
  std::vector<offset_t> neighbours;
  offset_t node = 0;
  for (offset_t z = 0; z < grid.nz; ++z) {
    for (offset_t y = 0; y < grid.ny; ++y) {
      for (offset_t x = 0; x < grid.nx; ++x, ++node) {
        if (node * dof >= n) return rows.take();
        neighbours.clear();
        for (const displacement& d : stencil) {
          const offset_t xx = x + d.dx;
          const offset_t yy = y + d.dy;
          const offset_t zz = z + d.dz;
          if (xx < 0 || xx >= grid.nx || yy < 0 || yy >= grid.ny || zz < 0 || zz >= grid.nz) {
            continue;
          }
          const offset_t other = (zz * grid.ny + yy) * grid.nx + xx;
          const auto low = static_cast<std::uint64_t>(std::min(node, other));
          const auto high = static_cast<std::uint64_t>(std::max(node, other));
          if (other != node && ((!thin.never() && thin.holds(keyed_random(pair_seed, low, high))) ||
                                !d.present.holds(keyed_random(wide_seed, low, high)))) {
            continue;
          }
          neighbours.push_back(other);
        }
        for (index_t a = 0; a < dof && node * dof + a < n; ++a) {
          const auto i = static_cast<index_t>(node * dof + a);
          for (const offset_t other : neighbours) {
            for (const index_t b : other == node ? coupled_here[at(a)] : coupled[at(a)]) {
              const auto j = static_cast<index_t>(other * dof + b);
              if (i == j || filter.keeps(i, j)) rows.add(j);
            }
          }
          rows.end_row();
        }
      }
    }
  }
  return rows.take();
}

}  // namespace

lattice lattice_from(const arguments& args, bool planar) {
  const lattice grid{args.integer("nx"), args.integer("ny"), planar ? 1 : args.integer("nz")};
  static_cast<void>(args.order({grid.nx, grid.ny, grid.nz}));
  return grid;
}

namespace {

std::vector<displacement> named_stencil(const std::string& points) {
  if (points == "5") return star(1, true);
  if (points == "9") return box(1, true);
  if (points == "7") return star(1, false);
  if (points == "15") return kuhn();
  return box(1, false);
}

}  // namespace

std::vector<std::array<int, 3>> stencil_offsets(const std::string& points) {
  std::vector<std::array<int, 3>> offsets;
  for (const displacement& d : named_stencil(points)) offsets.push_back({d.dx, d.dy, d.dz});
  return offsets;
}

pattern make_grid(const arguments& args, const std::string& points) {
  const bool planar = points == "5" || points == "9";
  std::vector<displacement> stencil = named_stencil(points);
  make_upwind(stencil, args.word("upwind"), 1);
  return lattice_matrix(args, lattice_from(args, planar), stencil, 1, true, args.chance("thin"),
                        entry_filter::from(args), [](index_t, index_t) { return true; });
}

pattern make_elasticity(const arguments& args) {
  const lattice grid = lattice_from(args, false);
  std::vector<displacement> stencil = named_stencil(args.word("stencil"));
  const probability wide = args.chance("wide");
  if (!wide.never()) {
    for (const int r : {-2, 2}) {
      stencil.push_back({r, 0, 0, wide});
      stencil.push_back({0, r, 0, wide});
      stencil.push_back({0, 0, r, wide});
    }
    sort_by_number(stencil);
  }
  return lattice_matrix(args, grid, stencil, args.integer("dof"), true, args.chance("thin"),
                        entry_filter{}, [](index_t, index_t) { return true; });
}

pattern make_channel(const arguments& args) {
  const lattice grid = lattice_from(args, false);
  const bool planar = grid.nz == 1;
  const int radius = args.integer("radius");
  std::vector<displacement> stencil =
      args.word("stencil") == "star" ? star(radius, planar) : box(radius, planar);
  make_upwind(stencil, args.word("upwind"), radius);
  const std::string& coupling = args.word("coupling");
  const bool full = coupling == "full";
  const bool oneway = coupling == "oneway";
  // One-way coupling: field a is driven by the fields before it and not the other way round.
  return lattice_matrix(args, grid, stencil, args.integer("fields"), true, args.chance("thin"),
                        entry_filter::from(args),
                        [=](index_t a, index_t b) { return a == b || full || (oneway && b < a); });
}

/// Linear elements on a grid whose points move by less than a quarter of the spacing, so that all
/// cells stay convex. Each cell is cut by the diagonal of Delaunay: the opposite corner is outside
/// the circle of a triangle. Points inside the `holes`, discs, are left out.
pattern make_triangles(const arguments& args) {
  const index_t nx = args.integer("nx"), ny = args.integer("ny"), count = args.order({nx, ny});
  args.check_entries(7 * offset_t{count});
  constexpr offset_t spacing = 1024, reach = spacing / 4 - 1;
  using point = std::array<offset_t, 2>;
  const auto squared = [](const point& p, const point& q) {
    return (p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]);
  };
  random_source random(args.seed());
  std::vector<std::pair<point, offset_t>> holes;  // centre and radius
  for (index_t k = 0; k < args.integer("holes"); ++k) {
    const point centre{random.between(0, nx * spacing), random.between(0, ny * spacing)};
    holes.emplace_back(centre, random.between(1, std::min(nx, ny) * spacing / 6));
  }
  std::vector<point> points;
  std::vector<index_t> number;  // -1: inside a hole
  index_t n = 0;
  for (index_t k = 0; k < count; ++k) {
    points.push_back({k % nx * spacing + random.between(-reach, reach),
                      k / nx * spacing + random.between(-reach, reach)});
    const bool out = std::ranges::any_of(holes, [&](const auto& hole) {
      return squared(points.back(), hole.first) < hole.second * hole.second;
    });
    number.push_back(out ? -1 : n++);
  }
  symmetric_entries a(n);
  const auto link = [&](index_t k, index_t l) {
    if (number[at(k)] >= 0 && number[at(l)] >= 0) a.couple(number[at(k)], {number[at(l)]});
  };
  const auto inside = [&](index_t corner, index_t right, index_t top, index_t opposite) {
    offset_t sum = 0;
    const std::array<index_t, 3> ring{corner, right, top};
    for (std::size_t k = 0; k < 3; ++k) {
      const point &o = points[at(opposite)], &p = points[at(ring[k])];
      const point &q = points[at(ring[(k + 1) % 3])], &r = points[at(ring[(k + 2) % 3])];
      sum += squared(p, o) * ((q[0] - o[0]) * (r[1] - o[1]) - (r[0] - o[0]) * (q[1] - o[1]));
    }
    return sum > 0;
  };
  for (index_t k = 0; k < count; ++k) {
    const bool last = k % nx == nx - 1, top = k / nx == ny - 1;
    if (!last) link(k, k + 1);
    if (!top) link(k, k + nx);
    if (last || top) continue;
    if (inside(k, k + 1, k + nx, k + nx + 1)) {
      link(k, k + nx + 1);
    } else {
      link(k + 1, k + nx);
    }
  }
  return a.take();
}

}  // namespace gsofa::generator
