// Finite elements given by the unknowns of each cell.

#include "common/generators/families.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace gsofa::generator {

namespace {

/// Pattern of the leading n unknowns, two unknowns being coupled iff they share a cell. `cells`
/// holds `per_cell` entities each; every entity carries `dof` unknowns, numbered together.
pattern assemble(index_t n, index_t entities, index_t dof, const std::vector<index_t>& cells,
                 std::size_t per_cell) {
  std::vector<offset_t> ptr(at(entities) + 1, 0);
  for (const index_t e : cells) ++ptr[at(e) + 1];
  for (std::size_t e = 0; e < at(entities); ++e) ptr[e + 1] += ptr[e];
  std::vector<index_t> cell_of(cells.size());
  {
    std::vector<offset_t> next(ptr.begin(), ptr.end() - 1);
    for (std::size_t k = 0; k < cells.size(); ++k) {
      cell_of[at(next[at(cells[k])]++)] = static_cast<index_t>(k / per_cell);
    }
  }
  std::vector<index_t> neighbours;
  const auto collect = [&](index_t e) {
    neighbours.clear();
    for (offset_t p = ptr[at(e)]; p < ptr[at(e) + 1]; ++p) {
      const std::size_t first = at(cell_of[at(p)]) * per_cell;
      neighbours.insert(neighbours.end(), cells.begin() + static_cast<std::ptrdiff_t>(first),
                        cells.begin() + static_cast<std::ptrdiff_t>(first + per_cell));
    }
    std::ranges::sort(neighbours);
    neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
  };
  offset_t expected = 0;
  for (index_t e = 0; e < entities; ++e) {
    collect(e);
    expected += static_cast<offset_t>(neighbours.size()) * dof * dof;
  }
  row_writer rows(n, expected);
  for (index_t e = 0; e < entities && offset_t{e} * dof < n; ++e) {
    collect(e);
    for (index_t a = 0; a < dof && offset_t{e} * dof + a < n; ++a) {
      for (const index_t f : neighbours) {
        for (index_t b = 0; b < dof; ++b) rows.add(f * dof + b);
      }
      rows.end_row();
    }
  }
  return rows.take();
}

}  // namespace

/// Nedelec elements on an nx x ny x nz block of cubes. hex1: an unknown per cube edge; tet1: an
/// unknown per edge of the six Kuhn tetrahedra of each cube; tet2: two per edge and two per face.
/// Source: Nedelec, Mixed finite elements in R^3, Numer. Math. 35 (1980).
pattern make_edge_elements(const arguments& args) {
  const lattice grid = lattice_from(args, false);
  const lattice vertices{grid.nx + 1, grid.ny + 1, grid.nz + 1};
  const std::string& element = args.word("element");
  const bool hex = element == "hex1";
  const bool faces = element == "tet2";
  const index_t dof = faces ? 2 : 1;
  // An edge runs from its base vertex v to v + d, d a nonempty set of axes (bits); a face is
  // {v, v + a, v + b} with a a proper subset of b. Cube edges have a single axis.
  std::vector<std::pair<int, int>> kinds;
  for (int d = 1; d < 8; ++d) {
    if (!hex || std::has_single_bit(static_cast<unsigned>(d))) kinds.emplace_back(0, d);
  }
  if (faces) {
    for (int b = 1; b < 8; ++b) {
      for (int a = 1; a < b; ++a) {
        if ((a & b) == a) kinds.emplace_back(a, b);
      }
    }
  }
  const auto slots = static_cast<offset_t>(kinds.size());
  std::array<std::array<int, 8>, 8> slot_of{};
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    slot_of[at(kinds[k].first)][at(kinds[k].second)] = static_cast<int>(k);
  }
  static_cast<void>(args.order({vertices.nx, vertices.ny, vertices.nz, slots, dof}));

  std::vector<index_t> id(at(vertices.nodes() * slots), -1);
  index_t entities = 0;
  for (offset_t z = 0, v = 0; z < vertices.nz; ++z) {
    for (offset_t y = 0; y < vertices.ny; ++y) {
      for (offset_t x = 0; x < vertices.nx; ++x, ++v) {
        for (offset_t k = 0; k < slots; ++k) {
          const int top = kinds[at(k)].second;
          if (x + (top & 1) < vertices.nx && y + ((top >> 1) & 1) < vertices.ny &&
              z + ((top >> 2) & 1) < vertices.nz) {
            id[at(v * slots + k)] = entities++;
          }
        }
      }
    }
  }
  const index_t n = args.leading(args.order({entities, dof}));

  // The entity that joins the corners p < q (< r) of a cube, each a set of axes.
  const auto shift = [&](int corner) {
    return offset_t{corner & 1} + ((corner >> 1) & 1) * vertices.nx +
           ((corner >> 2) & 1) * vertices.nx * vertices.ny;
  };
  std::vector<std::pair<offset_t, int>> members;  // base vertex relative to the cell's, slot
  std::size_t per_cell = 0;
  std::size_t cells_per_cube = 1;
  if (hex) {
    for (const int d : {1, 2, 4}) {
      for (int base = 0; base < 8; ++base) {
        if ((base & d) == 0) members.emplace_back(shift(base), slot_of[0][at(d)]);
      }
    }
    per_cell = members.size();
  } else {
    cells_per_cube = 6;
    for (const int a : {1, 2, 4}) {
      for (const int b : {3, 5, 6}) {
        if ((a & b) != a) continue;
        const std::array<int, 4> corner{0, a, b, 7};
        for (std::size_t p = 0; p < 4; ++p) {
          for (std::size_t q = p + 1; q < 4; ++q) {
            members.emplace_back(shift(corner[p]), slot_of[0][at(corner[q] ^ corner[p])]);
            for (std::size_t r = q + 1; faces && r < 4; ++r) {
              members.emplace_back(shift(corner[p]),
                                   slot_of[at(corner[q] ^ corner[p])][at(corner[r] ^ corner[p])]);
            }
          }
        }
      }
    }
    per_cell = members.size() / 6;
  }
  const offset_t cubes = grid.nodes();
  args.check_entries(cubes * static_cast<offset_t>(members.size() * per_cell) * dof * dof / 4);
  static_cast<void>(args.order({cubes, static_cast<offset_t>(cells_per_cube)}));
  std::vector<index_t> cells;
  cells.reserve(at(cubes) * members.size());
  for (offset_t z = 0; z < grid.nz; ++z) {
    for (offset_t y = 0; y < grid.ny; ++y) {
      for (offset_t x = 0; x < grid.nx; ++x) {
        const offset_t v = (z * vertices.ny + y) * vertices.nx + x;
        for (const auto& [base, slot] : members) {
          cells.push_back(id[at((v + base) * slots + slot)]);
        }
      }
    }
  }
  id = {};
  return assemble(n, entities, dof, cells, per_cell);
}

}  // namespace gsofa::generator
