// Transport along a recirculating flow, and fields that depend on one another one way: patterns of
// low structural symmetry.

#include "common/generators/families.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace gsofa::generator {

namespace {

using vector3 = std::array<offset_t, 3>;

offset_t dot(const vector3& a, const vector3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// A flow without divergence that is tangential to the sides of the box [0, nx] x [0, ny] x
/// [0, nz], in integers: with x, y, z scaled to [0, 1] and p = 1 - 2x, q = 1 - 2y, r = 1 - 2z,
///   in space (x (1 - x) (q - r), y (1 - y) (r - p), z (1 - z) (p - q)),
///   in the plane (x (1 - x) q, -y (1 - y) p, 0).
/// Its divergence is p (q - r) + q (r - p) + r (p - q) = 0, in the plane p q - q p = 0; its
/// streamlines are closed or turn about in the box.
struct recirculation {
  vector3 size;  ///< of the box; 0 in z: the plane

  static constexpr offset_t one = offset_t{1} << 14;

  /// The direction of the flow at (point / parts), of any length.
  [[nodiscard]] vector3 at(const vector3& point, offset_t parts) const {
    vector3 s{}, odd{};  // s (1 - s) and 1 - 2 s
    for (std::size_t k = 0; k < 3; ++k) {
      if (size[k] == 0) continue;
      const offset_t x = point[k] * one / (parts * size[k]);
      s[k] = x * (one - x);
      odd[k] = one - 2 * x;
    }
    if (size[2] == 0) return {s[0] * odd[1], -s[1] * odd[0], 0};
    return {s[0] * (odd[1] - odd[2]), s[1] * (odd[2] - odd[0]), s[2] * (odd[0] - odd[1])};
  }
};

/// Elements of one kind, as corners of the unit cube (or square) and faces as places among these.
struct element_kind {
  std::vector<std::vector<int>> of_cell;  ///< for each element of a cell: corners, sets of axes
  std::vector<std::vector<int>> faces;    ///< for each face: indices into the corners
};

/// Kuhn's subdivision into simplices, or cells as they are.
element_kind kind_of(bool simplices, bool planar) {
  if (simplices) {
    if (planar) return {{{0, 1, 3}, {0, 2, 3}}, {{0, 1}, {0, 2}, {1, 2}}};
    return {{{0, 1, 3, 7}, {0, 1, 5, 7}, {0, 2, 3, 7}, {0, 2, 6, 7}, {0, 4, 5, 7}, {0, 4, 6, 7}},
            {{0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2, 3}}};
  }
  if (planar) return {{{0, 1, 2, 3}}, {{0, 2}, {1, 3}, {0, 1}, {2, 3}}};
  return {{{0, 1, 2, 3, 4, 5, 6, 7}},
          {{0, 2, 4, 6}, {1, 3, 5, 7}, {0, 1, 4, 5}, {2, 3, 6, 7}, {0, 1, 2, 3}, {4, 5, 6, 7}}};
}

/// Whether the flow leaves an element through a face: the sign of velocity times outward normal at
/// the face's centre.
int outflow(const std::vector<vector3>& corners, const std::vector<int>& face,
            const recirculation& flow) {
  vector3 middle{}, centre{};
  for (const int c : face) {
    for (std::size_t k = 0; k < 3; ++k) middle[k] += corners[at(c)][k];
  }
  for (const vector3& c : corners) {
    for (std::size_t k = 0; k < 3; ++k) centre[k] += c[k];
  }
  std::array<vector3, 2> edge{};
  for (std::size_t e = 0; e < 2 && e + 1 < face.size(); ++e) {
    for (std::size_t k = 0; k < 3; ++k) {
      edge[e][k] = corners[at(face[e + 1])][k] - corners[at(face[0])][k];
    }
  }
  if (face.size() == 2) edge[1] = {0, 0, 1};
  const auto& [a, b] = edge;
  const vector3 normal{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                       a[0] * b[1] - a[1] * b[0]};
  const auto in_face = static_cast<offset_t>(face.size());
  const auto in_element = static_cast<offset_t>(corners.size());
  vector3 outward{};
  for (std::size_t k = 0; k < 3; ++k) outward[k] = middle[k] * in_element - centre[k] * in_face;
  const offset_t flux = dot(flow.at(middle, in_face), normal) * (dot(normal, outward) > 0 ? 1 : -1);
  return flux > 0 ? 1 : flux < 0 ? -1 : 0;
}

/// One side of a face: the numbers of its corners, ascending, tell which two belong together.
struct half_face {
  std::array<offset_t, 4> corners{-1, -1, -1, -1};
  index_t element;
  int outflow;
};

std::vector<half_face> half_faces(const lattice& grid, const element_kind& kind, bool planar) {
  const recirculation flow{{grid.nx, grid.ny, planar ? 0 : grid.nz}};
  std::vector<half_face> faces;
  faces.reserve(at(grid.nodes()) * kind.of_cell.size() * kind.faces.size());
  std::vector<vector3> corners;
  index_t element = 0;
  for (offset_t z = 0; z < grid.nz; ++z) {
    for (offset_t y = 0; y < grid.ny; ++y) {
      for (offset_t x = 0; x < grid.nx; ++x) {
        for (const std::vector<int>& shape : kind.of_cell) {
          corners.clear();
          for (const int c : shape) {
            corners.push_back({x + (c & 1), y + ((c >> 1) & 1), z + ((c >> 2) & 1)});
          }
          for (const std::vector<int>& face : kind.faces) {
            half_face h{.element = element, .outflow = outflow(corners, face, flow)};
            for (std::size_t k = 0; k < face.size(); ++k) {
              const vector3& p = corners[at(face[k])];
              const offset_t number = (p[2] * (grid.ny + 1) + p[1]) * (grid.nx + 1) + p[0];
              std::size_t place = k;
              for (; place > 0 && h.corners[place - 1] > number; --place) {
                h.corners[place] = h.corners[place - 1];
              }
              h.corners[place] = number;
            }
            faces.push_back(h);
          }
          ++element;
        }
      }
    }
  }
  return faces;
}

}  // namespace

/// Discontinuous Galerkin of degree 1 for transport along a recirculating flow: 3 (in the plane)
/// or 4 unknowns per element, a dense block for each element, and one for each face from the
/// element upwind of it to the one downwind. nx, ny, nz count cells; of simplices a cell has 2
/// or 6. Source: Reed & Hill, Triangular mesh methods for the neutron transport equation,
/// LA-UR-73-479.
pattern make_dg(const arguments& args) {
  const lattice grid = lattice_from(args, false);
  const bool planar = grid.nz == 1;
  const element_kind kind = kind_of(args.word("element") == "simplex", planar);
  const offset_t dof = planar ? 3 : 4;
  const auto per_cell = static_cast<offset_t>(kind.of_cell.size());
  const auto sides = static_cast<offset_t>(kind.faces.size());
  const index_t n = args.order({grid.nodes(), per_cell, dof});
  args.check_entries(offset_t{n} * dof * (sides + 1));
  const index_t elements = args.order({grid.nodes(), per_cell});

  std::vector<half_face> faces = half_faces(grid, kind, planar);
  std::ranges::sort(faces, {}, [](const half_face& h) { return std::pair(h.corners, h.element); });
  // What an element depends on: itself and the elements upwind of its faces.
  std::vector<std::array<index_t, 7>> upwind(at(elements));
  std::vector<std::size_t> count(at(elements), 1);
  for (index_t e = 0; e < elements; ++e) upwind[at(e)][0] = e;
  offset_t entries = elements;
  for (std::size_t k = 0; k + 1 < faces.size(); ++k) {
    if (faces[k].corners != faces[k + 1].corners || faces[k].outflow == 0) continue;
    const bool forward = faces[k].outflow > 0;
    const index_t from = faces[forward ? k : k + 1].element;
    const index_t to = faces[forward ? k + 1 : k].element;
    upwind[at(to)][count[at(to)]++] = from;
    ++entries;
  }
  const entry_filter filter = entry_filter::from(args);
  row_writer rows(n, entries * dof * dof);
  for (index_t e = 0; e < elements; ++e) {
    for (offset_t a = 0; a < dof; ++a) {
      const auto i = static_cast<index_t>(e * dof + a);
      for (std::size_t k = 0; k < count[at(e)]; ++k) {
        for (offset_t b = 0; b < dof; ++b) {
          const auto j = static_cast<index_t>(upwind[at(e)][k] * dof + b);
          if (i == j || filter.keeps(i, j)) rows.add(j);
        }
      }
      rows.end_row();
    }
  }
  return rows.take();
}

/// Transport of a scalar along a recirculating flow by upwind differences, with conduction where
/// y < conductive * ny: there a node depends on all neighbours of its stencil, elsewhere on those
/// upwind of it. An edge with one end in the conductive part couples both ways.
pattern make_convection(const arguments& args) {
  const lattice grid = lattice_from(args, false);
  const bool planar = grid.nz == 1;
  const std::vector<std::array<int, 3>> stencil = stencil_offsets(args.word("stencil"));
  const index_t n = args.order({grid.nx, grid.ny, grid.nz});
  args.check_entries(offset_t{n} * static_cast<offset_t>(stencil.size()));
  const recirculation flow{{grid.nx, grid.ny, planar ? 0 : grid.nz}};
  const auto conductive =
      static_cast<offset_t>(args.real("conductive") * static_cast<double>(grid.ny));
  const entry_filter filter = entry_filter::from(args);
  row_writer rows(n, offset_t{n} * static_cast<offset_t>(stencil.size()));
  index_t i = 0;
  for (offset_t z = 0; z < grid.nz; ++z) {
    for (offset_t y = 0; y < grid.ny; ++y) {
      for (offset_t x = 0; x < grid.nx; ++x, ++i) {
        for (const auto& [dx, dy, dz] : stencil) {
          const offset_t xx = x + dx;
          const offset_t yy = y + dy;
          const offset_t zz = z + dz;
          if (xx < 0 || xx >= grid.nx || yy < 0 || yy >= grid.ny || zz < 0 || zz >= grid.nz) {
            continue;
          }
          const auto j = static_cast<index_t>((zz * grid.ny + yy) * grid.nx + xx);
          if (i != j) {
            // Nodes are the centres of cells: the middle of an edge in halves of a cell.
            const vector3 middle{x + xx + 1, y + yy + 1, z + zz + 1};
            const bool conducts = std::min(y, yy) < conductive;
            if (!conducts && dot(flow.at(middle, 2), {dx, dy, dz}) >= 0) continue;
            if (!filter.keeps(i, j)) continue;
          }
          rows.add(j);
        }
        rows.end_row();
      }
    }
  }
  return rows.take();
}

/// Several fields on a grid, unknowns node by node, each coupled with itself over the stencil. One
/// of two fields depends on the other: the later one on the earlier, at the node (coupling node) or
/// over the stencil; with coupling random, over the stencil and at each node one of the two, as the
/// seed has it. With coupling last, only the last field depends on the others, at the node, and
/// these are coupled with one another both ways over the stencil.
pattern make_fields(const arguments& args) {
  const lattice grid = lattice_from(args, false);
  const std::vector<std::array<int, 3>> stencil = stencil_offsets(args.word("stencil"));
  const index_t fields = args.integer("fields");
  const index_t n = args.order({grid.nodes(), fields});
  const offset_t expected = offset_t{n} * static_cast<offset_t>(stencil.size()) * fields;
  args.check_entries(expected);
  const std::string& coupling = args.word("coupling");
  const bool last = coupling == "last";
  const bool random = coupling == "random";
  const bool far = random || coupling == "stencil";
  const std::uint64_t seed = args.seed() ^ 0x6669656cULL;
  const auto depends = [&](index_t node, index_t f, index_t on, bool here) {
    if (f == on) return true;
    if (last && f + 1 < fields && on + 1 < fields) return true;
    const auto pair = static_cast<std::uint64_t>(std::min(f, on) * fields + std::max(f, on));
    const bool turned =
        random && (keyed_random(seed, static_cast<std::uint64_t>(node), pair) & 1U) != 0;
    return (on < f) != turned && (here || far);
  };
  const entry_filter filter = entry_filter::from(args);
  row_writer rows(n, expected);
  index_t node = 0;
  for (offset_t z = 0; z < grid.nz; ++z) {
    for (offset_t y = 0; y < grid.ny; ++y) {
      for (offset_t x = 0; x < grid.nx; ++x, ++node) {
        for (index_t f = 0; f < fields; ++f) {
          const index_t i = node * fields + f;
          for (const auto& [dx, dy, dz] : stencil) {
            const offset_t xx = x + dx;
            const offset_t yy = y + dy;
            const offset_t zz = z + dz;
            if (xx < 0 || xx >= grid.nx || yy < 0 || yy >= grid.ny || zz < 0 || zz >= grid.nz) {
              continue;
            }
            const auto other = static_cast<index_t>((zz * grid.ny + yy) * grid.nx + xx);
            for (index_t on = 0; on < fields; ++on) {
              const index_t j = other * fields + on;
              if (depends(node, f, on, other == node) && (i == j || filter.keeps(i, j)))
                rows.add(j);
            }
          }
          rows.end_row();
        }
      }
    }
  }
  return rows.take();
}

}  // namespace gsofa::generator
