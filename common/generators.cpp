#include "common/generators.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <new>
#include <string_view>
#include <utility>

#include "common/file.hpp"
#include "common/random.hpp"

namespace gsofa {

namespace {

/// More entries than this are refused before anything is allocated.
constexpr offset_t max_entries = offset_t{1} << 32;

/// One `key=value` that a family understands.
struct parameter {
  enum class kind { integer, real, word };
  std::string key;
  kind type = kind::integer;
  std::string default_value;  // empty: required; "@other": the value of the key `other`
  offset_t minimum = 0;       // integers only; reals lie in [minimum, maximum] too
  offset_t maximum = max_index;
  std::vector<std::string> choices{};
};

parameter required(std::string key, offset_t minimum, offset_t maximum = max_index) {
  return {std::move(key), parameter::kind::integer, "", minimum, maximum};
}
parameter integer(std::string key, std::string value, offset_t minimum,
                  offset_t maximum = max_index) {
  return {std::move(key), parameter::kind::integer, std::move(value), minimum, maximum};
}
parameter real(std::string key, std::string value, offset_t maximum = 1) {
  return {std::move(key), parameter::kind::real, std::move(value), 0, maximum};
}
parameter word(std::string key, std::string value, std::vector<std::string> choices) {
  return {std::move(key), parameter::kind::word, std::move(value), 0, 0, std::move(choices)};
}

/// The checked values of one spec.
class arguments {
 public:
  arguments(std::string spec, const std::vector<parameter>& known, std::string_view text)
      : spec_(std::move(spec)) {
    std::map<std::string, std::string> given;
    while (!text.empty()) {
      const std::size_t comma = text.find(',');
      const std::string_view item = text.substr(0, comma);
      const std::size_t equals = item.find('=');
      if (equals == std::string_view::npos || equals == 0) {
        fail("expected key=value, found \"" + std::string(item) + "\"");
      }
      const std::string key(item.substr(0, equals));
      if (std::ranges::find(known, key, &parameter::key) == known.end()) {
        std::string list;
        for (const parameter& p : known) list += (list.empty() ? "" : ", ") + p.key;
        fail("unknown key \"" + key + "\" (known: " + list + ")");
      }
      if (!given.emplace(key, item.substr(equals + 1)).second) {
        fail("key \"" + key + "\" is repeated");
      }
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 1);
      if (text.empty()) fail("expected key=value after the last comma");
    }
    for (const parameter& p : known) {
      const auto found = given.find(p.key);
      std::string value = found != given.end() ? found->second : p.default_value;
      if (found == given.end() && value.empty()) fail("key \"" + p.key + "\" is required");
      if (found == given.end() && value.front() == '@') {
        value = std::to_string(integer(value.substr(1)));
      }
      set(p, value);
    }
  }

  [[nodiscard]] index_t integer(const std::string& key) const { return integers_.at(key); }
  [[nodiscard]] double real(const std::string& key) const { return reals_.at(key); }
  [[nodiscard]] probability chance(const std::string& key) const {
    return probability(reals_.at(key));
  }
  [[nodiscard]] const std::string& word(const std::string& key) const { return words_.at(key); }
  [[nodiscard]] std::uint64_t seed() const {
    return static_cast<std::uint64_t>(integers_.at("seed"));
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw input_error("generator spec \"" + spec_ + "\": " + why);
  }

  /// The product of sizes as an order; refuses what index_t cannot hold.
  [[nodiscard]] index_t order(std::initializer_list<offset_t> factors) const {
    offset_t n = 1;
    for (const offset_t f : factors) {
      if (f != 0 && n > max_index / f) {
        fail("the order does not fit in 32 bits (at most " + std::to_string(max_index) + ")");
      }
      n *= f;
    }
    return static_cast<index_t>(n);
  }

  /// The key `n` cut to the leading `full` unknowns; 0 means all of them.
  [[nodiscard]] index_t leading(index_t full) const {
    const index_t n = integer("n");
    if (n > full) {
      fail("n = " + std::to_string(n) + " exceeds the order " + std::to_string(full) +
           " of the full model");
    }
    return n == 0 ? full : n;
  }

  void check_entries(offset_t count) const {
    if (count > max_entries) {
      fail("about " + std::to_string(count) + " entries exceed the limit of " +
           std::to_string(max_entries));
    }
  }

 private:
  void set(const parameter& p, const std::string& value) {
    const char* const begin = value.data();
    const char* const end = begin + value.size();
    switch (p.type) {
      case parameter::kind::integer: {
        offset_t x = 0;
        const auto [stop, error] = std::from_chars(begin, end, x);
        if (error != std::errc{} || stop != end || x < p.minimum || x > p.maximum) {
          fail(p.key + " = \"" + value + "\" must be an integer from " + std::to_string(p.minimum) +
               " to " + std::to_string(p.maximum));
        }
        integers_[p.key] = static_cast<index_t>(x);
        break;
      }
      case parameter::kind::real: {
        double x = 0;
        const auto [stop, error] = std::from_chars(begin, end, x);
        // NaN fails both comparisons.
        if (error != std::errc{} || stop != end || !(x >= static_cast<double>(p.minimum)) ||
            !(x <= static_cast<double>(p.maximum))) {
          fail(p.key + " = \"" + value + "\" must be a number from " + std::to_string(p.minimum) +
               " to " + std::to_string(p.maximum));
        }
        reals_[p.key] = x;
        break;
      }
      case parameter::kind::word:
        if (std::ranges::find(p.choices, value) == p.choices.end()) {
          std::string list;
          for (const std::string& c : p.choices) list += (list.empty() ? "" : ", ") + c;
          fail(p.key + " = \"" + value + "\" must be one of " + list);
        }
        words_[p.key] = value;
        break;
    }
  }

  std::string spec_;
  std::map<std::string, index_t> integers_;
  std::map<std::string, double> reals_;
  std::map<std::string, std::string> words_;
};

/// Writes a square pattern row by row.
class row_writer {
 public:
  row_writer(index_t n, offset_t expected_entries) : n_(n) {
    const offset_t bytes = 4 * expected_entries + 8 * (offset_t{n} + 1);
    if (bytes > available_memory()) throw std::bad_alloc();
    out_.n_rows = out_.n_cols = n;
    out_.row_ptr.clear();
    out_.row_ptr.reserve(at(n) + 1);
    out_.row_ptr.push_back(0);
    out_.col_idx.reserve(at(expected_entries));
  }
  /// Adds column j to the current row in any order; repeats are merged, columns beyond n ignored.
  void add(index_t j) {
    if (j >= n_) return;
    if (out_.col_idx.size() > begin_ && j <= out_.col_idx.back()) sorted_ = false;
    out_.col_idx.push_back(j);
  }
  void end_row() {
    if (!sorted_) {
      const auto first = out_.col_idx.begin() + static_cast<std::ptrdiff_t>(begin_);
      std::sort(first, out_.col_idx.end());
      out_.col_idx.erase(std::unique(first, out_.col_idx.end()), out_.col_idx.end());
    }
    begin_ = out_.col_idx.size();
    sorted_ = true;
    out_.row_ptr.push_back(static_cast<offset_t>(begin_));
  }
  pattern take() { return std::move(out_); }

 private:
  index_t n_;
  pattern out_;
  std::size_t begin_ = 0;
  bool sorted_ = true;
};

/// Random removal of off-diagonal entries, decided per edge from the seed alone.
struct entry_filter {
  std::uint64_t seed = 0;
  probability oneway;  // per unordered pair: one of its two directions is lost
  probability drop;    // per ordered pair, independently

  static entry_filter from(const arguments& a) {
    return {a.seed(), a.chance("oneway"), a.chance("drop")};
  }
  [[nodiscard]] bool keeps(index_t i, index_t j) const {
    const auto u = static_cast<std::uint64_t>(i);
    const auto v = static_cast<std::uint64_t>(j);
    if (!oneway.never()) {
      const std::uint64_t h = keyed_random(seed ^ 0x6f6e6577ULL, std::min(u, v), std::max(u, v));
      // Bit 0 is not looked at by holds(): it chooses the direction.
      if (oneway.holds(h) && ((h & 1) == 0) == (i < j)) return false;
    }
    return drop.never() || !drop.holds(keyed_random(seed ^ 0x64726f70ULL, u, v));
  }
};

// Meshes: unknowns at the nodes of an nx x ny x nz lattice, coupled over a set of displacements.

struct lattice {
  offset_t nx = 1, ny = 1, nz = 1;
  [[nodiscard]] offset_t nodes() const { return nx * ny * nz; }
};

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

lattice lattice_from(const arguments& args, bool planar) {
  const lattice grid{args.integer("nx"), args.integer("ny"), planar ? 1 : args.integer("nz")};
  static_cast<void>(args.order({grid.nx, grid.ny, grid.nz}));
  return grid;
}

std::vector<displacement> named_stencil(const std::string& points) {
  if (points == "5") return star(1, true);
  if (points == "9") return box(1, true);
  if (points == "7") return star(1, false);
  if (points == "15") return kuhn();
  return box(1, false);
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

// Finite elements given by the unknowns of each cell.

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

// Circuits.

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

// Economic models.

/// A whole number of mean `mean`: its floor, or one more with the probability of the rest.
index_t rounded_at_random(random_source& random, double mean) {
  const auto whole = static_cast<index_t>(mean);
  return whole + (random.chance(probability(mean - whole)) ? 1 : 0);
}

/// Multi-country model stacked over time as solved by Newton's method: the equations of a period
/// repeat in every period; some variables enter with a lag, others (expectations) with a lead.
/// Source: Juillard, Laxton, McAdam & Pioro, J. Econ. Dyn. Control 22 (1998), 1291-1318.
pattern make_economy(const arguments& args) {
  const index_t countries = args.integer("countries");
  const index_t equations = args.integer("equations");
  const index_t periods = args.integer("periods");
  const index_t span = args.integer("span");
  const probability feedback = args.chance("feedback");
  if (countries > equations) args.fail("countries must not exceed equations");
  const index_t n = args.leading(args.order({equations, periods}));
  const double total_terms =
      args.real("terms") + args.real("trade") + args.real("lags") + args.real("leads") + 5;
  args.check_entries(static_cast<offset_t>(static_cast<double>(n) * total_terms));

  random_source random(args.seed());
  const auto first_of = [&](offset_t c) { return static_cast<index_t>(c * equations / countries); };
  struct term {
    index_t variable;
    index_t shift;  // period relative to the equation's
  };
  std::vector<std::vector<term>> model(at(equations));
  // Variables that cross periods are spread evenly over the countries.
  const auto pool = [&](const std::string& key) {
    const auto count = static_cast<index_t>(args.real(key) * equations);
    return std::max<index_t>(1, count);
  };
  const index_t states = pool("states");
  const index_t jumps = pool("jumps");
  const auto pick = [&](index_t count, index_t low, index_t high) {
    // A member of the pool {k * equations / count} within [low, high), or -1.
    const offset_t a = (offset_t{low} * count + equations - 1) / equations;
    const offset_t b = (offset_t{high} * count + equations - 1) / equations;
    if (a >= b) return index_t{-1};
    return static_cast<index_t>(random.between(a, b - 1) * equations / count);
  };
  for (index_t c = 0; c < countries; ++c) {
    const index_t low = first_of(c);
    const index_t high = first_of(offset_t{c} + 1);
    for (index_t e = low; e < high; ++e) {
      std::vector<term>& terms = model[at(e)];
      terms.push_back({e, 0});
      for (index_t k = rounded_at_random(random, args.real("terms")); k > 0; --k) {
        // Models are written in causal order: an equation mostly uses variables before its own.
        const bool ahead = random.chance(feedback);
        const index_t a = ahead ? e : std::max(low, e - span);
        const offset_t b = ahead ? std::min<offset_t>(high - 1, offset_t{e} + span) : e;
        terms.push_back({static_cast<index_t>(random.between(a, b)), 0});
      }
      for (index_t k = rounded_at_random(random, args.real("trade")); k > 0; --k) {
        terms.push_back(
            {static_cast<index_t>(random.below(static_cast<std::uint64_t>(equations))), 0});
      }
      for (index_t k = rounded_at_random(random, args.real("lags")); k > 0; --k) {
        const index_t v = pick(states, low, high);
        if (v >= 0) terms.push_back({v, -1});
      }
      for (index_t k = rounded_at_random(random, args.real("leads")); k > 0; --k) {
        const index_t v = pick(jumps, low, high);
        if (v >= 0) terms.push_back({v, 1});
      }
    }
  }
  offset_t per_period = 0;
  for (const auto& terms : model) per_period += static_cast<offset_t>(terms.size());
  row_writer rows(n, per_period * periods);
  for (index_t i = 0; i < n; ++i) {
    const index_t period = i / equations;
    for (const term& t : model[at(i % equations)]) {
      const offset_t p = offset_t{period} + t.shift;
      if (p >= 0 && p < periods) rows.add(static_cast<index_t>(p * equations + t.variable));
    }
    rows.end_row();
  }
  return rows.take();
}

// Chemical processes.

/// Distillation columns linked by recycle streams. Unknowns of stage s: liquid flows l(s,c) and
/// vapour flows v(s,c) of each component, temperature T, liquid and vapour totals L, V. Equations:
/// component balances (matched with the liquid that enters from above), equilibria (with v), bubble
/// point (with T), liquid sum (with L), enthalpy balance (with V). Hardly any position is matched
/// by its mirror image. Source: Naphtali & Sandholm, AIChE J. 17 (1971), 148-153.
pattern make_columns(const arguments& args) {
  const index_t columns = args.integer("columns");
  const index_t stages = args.integer("stages");
  const index_t c = args.integer("components");
  const index_t block = 2 * c + 3;
  const index_t n = args.leading(args.order({columns, stages, block}));
  const offset_t stage_count = offset_t{columns} * stages;
  const offset_t per_stage = offset_t{c} * (c + 12) + 16;
  args.check_entries(stage_count * per_stage);

  random_source random(args.seed());
  // feed[s] lists the stages whose liquid enters stage s in addition to that from above.
  std::vector<std::vector<index_t>> feed(at(stage_count));
  for (index_t col = 0; col < columns; ++col) {
    for (index_t k = rounded_at_random(random, args.real("recycles")); k > 0; --k) {
      const offset_t reach = std::min<offset_t>(args.integer("reach"), columns - 1);
      offset_t from = col + random.between(-reach, reach);
      from = (from + columns) % columns;
      // Products leave at the top or at the bottom.
      const offset_t outlet = from * stages + (random() % 2 == 0 ? 0 : stages - 1);
      const offset_t inlet =
          offset_t{col} * stages +
          static_cast<offset_t>(random.below(static_cast<std::uint64_t>(stages)));
      if (outlet != inlet) feed[at(inlet)].push_back(static_cast<index_t>(outlet));
    }
  }
  const probability drop = args.chance("drop");
  const std::uint64_t drop_seed = args.seed() ^ 0x64726f70ULL;
  const auto liquid = [&](offset_t s, index_t k) { return static_cast<index_t>(s * block + k); };
  const auto vapour = [&](offset_t s, index_t k) {
    return static_cast<index_t>(s * block + c + k);
  };
  const auto extra = [&](offset_t s, index_t k) {  // 0: T, 1: L, 2: V
    return static_cast<index_t>(s * block + 2 * offset_t{c} + k);
  };
  row_writer rows(n, stage_count * per_stage);
  for (index_t i = 0; i < n; ++i) {
    const offset_t s = i / block;
    const index_t r = i % block;
    const bool top = s % stages == 0;
    const bool bottom = s % stages == stages - 1;
    rows.add(i);
    if (r < c) {
      // The balance of the stage below, into which this stage's liquid flows; at the bottom the
      // liquid leaves and the row is the outlet's own.
      const offset_t below = bottom ? s : s + 1;
      rows.add(liquid(below, r));
      if (!bottom) {
        rows.add(vapour(below, r));
        if (below % stages != stages - 1) rows.add(vapour(below + 1, r));
      } else {
        rows.add(extra(s, 1));
      }
      for (const index_t f : feed[at(below)]) rows.add(liquid(f, r));
    } else if (r < 2 * c) {
      for (index_t k = 0; k < c; ++k) {
        const index_t j = liquid(s, k);
        if (k == r - c || drop.never() ||
            !drop.holds(keyed_random(drop_seed, static_cast<std::uint64_t>(i),
                                     static_cast<std::uint64_t>(j)))) {
          rows.add(j);
        }
      }
      rows.add(extra(s, 0));
      rows.add(extra(s, 1));
    } else if (r == 2 * c) {
      for (index_t k = 0; k < c; ++k) rows.add(liquid(s, k));
    } else if (r == 2 * c + 1) {
      for (index_t k = 0; k < c; ++k) rows.add(liquid(s, k));
    } else {
      for (index_t k = 0; k < c; ++k) {
        rows.add(liquid(s, k));
        rows.add(vapour(s, k));
        if (!top) rows.add(liquid(s - 1, k));
        if (!bottom) rows.add(vapour(s + 1, k));
      }
      rows.add(extra(s, 0));
      if (!top) rows.add(extra(s - 1, 0));
      if (!bottom) rows.add(extra(s + 1, 0));
    }
    rows.end_row();
  }
  return rows.take();
}

// Plain patterns.

pattern make_random(const arguments& args) {
  const index_t n = args.integer("n");
  const index_t per_row = std::min(args.integer("degree"), n);
  args.check_entries(offset_t{n} * per_row);
  random_source random(args.seed());
  row_writer rows(n, offset_t{n} * per_row);
  std::vector<index_t> row;
  for (index_t i = 0; i < n; ++i) {
    // Floyd's sample of per_row - 1 of the n - 1 columns other than i.
    row.clear();
    const index_t wanted = per_row - 1;
    for (index_t k = n - 1 - wanted; k < n - 1; ++k) {
      const auto j =
          static_cast<index_t>(random.below(static_cast<std::uint64_t>(offset_t{k} + 1)));
      const auto place = std::ranges::lower_bound(row, j);
      if (place != row.end() && *place == j) {
        row.push_back(k);
      } else {
        row.insert(place, j);
      }
    }
    rows.add(i);
    for (const index_t j : row) rows.add(j < i ? j : j + 1);
    rows.end_row();
  }
  return rows.take();
}

pattern make_banded(const arguments& args, index_t lower, index_t upper) {
  const index_t n = args.integer("n");
  const offset_t width = std::min<offset_t>(n, offset_t{lower} + upper + 1);
  args.check_entries(n * width);
  row_writer rows(n, n * width);
  for (index_t i = 0; i < n; ++i) {
    const offset_t last = std::min<offset_t>(offset_t{n} - 1, offset_t{i} + upper);
    for (offset_t j = std::max<offset_t>(0, offset_t{i} - lower); j <= last; ++j) {
      rows.add(static_cast<index_t>(j));
    }
    rows.end_row();
  }
  return rows.take();
}

pattern make_arrow(const arguments& args) {
  const index_t n = args.integer("n");
  const index_t tip = args.word("tip") == "first" ? 0 : n - 1;
  row_writer rows(n, 3 * offset_t{n});
  for (index_t i = 0; i < n; ++i) {
    if (i == tip) {
      for (index_t j = 0; j < n; ++j) rows.add(j);
    } else {
      rows.add(std::min(i, tip));
      rows.add(std::max(i, tip));
    }
    rows.end_row();
  }
  return rows.take();
}

struct family {
  std::string name;
  std::string summary;
  std::vector<parameter> parameters;
  pattern (*make)(const arguments&);
};

std::vector<parameter> operator+(std::vector<parameter> a, const std::vector<parameter>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const std::vector<family>& families() {
  static const std::vector<family> all = [] {
    const std::vector<parameter> plane{required("nx", 1), integer("ny", "@nx", 1)};
    const std::vector<parameter> space = plane + std::vector{integer("nz", "@nx", 1)};
    const parameter seed = integer("seed", "1", 0);
    const parameter leading = integer("n", "0", 0);
    const std::vector<parameter> filters{real("oneway", "0"), real("drop", "0")};
    const std::vector<parameter> thinned =
        std::vector{real("thin", "0")} + filters +
        std::vector{word("upwind", "none", {"none", "x", "y", "z", "all"}), leading, seed};
    const std::vector<parameter> routing{real("degree", "4", 1000), real("reach", "0.2"),
                                         integer("hubs", "0", 0), real("supply", "0")};
    return std::vector<family>{
        {"arrow",
         "diagonal plus a dense row and column",
         {required("n", 0), word("tip", "last", {"first", "last"})},
         make_arrow},
        {"banded",
         "full band",
         {required("n", 0), integer("lower", "1", 0), integer("upper", "1", 0)},
         [](const arguments& a) { return make_banded(a, a.integer("lower"), a.integer("upper")); }},
        {"channel",
         "convection-diffusion of several fields on a channel; radius and kind of stencil, one-way "
         "coupling of the fields, upwind differences",
         plane +
             std::vector{integer("nz", "1", 1), integer("fields", "1", 1, 64),
                         integer("radius", "1", 1, 3), word("stencil", "star", {"star", "box"}),
                         word("coupling", "oneway", {"none", "oneway", "full"})} +
             thinned,
         make_channel},
        {"circuit",
         "circuit placed on a square: local links, some far ones (reach), supply nets (hubs) of "
         "power-law degree",
         std::vector{required("n", 0)} + routing + filters + std::vector{seed}, make_circuit},
        {"columns",
         "chemical process: distillation columns of stages, linked by recycle streams",
         {required("columns", 1), required("stages", 2), required("components", 1, 10000),
          real("recycles", "1", 1000), integer("reach", "2", 0), real("drop", "0"), leading, seed},
         make_columns},
        {"dense",
         "every entry",
         {required("n", 0)},
         [](const arguments& a) {
           const index_t n = a.integer("n");
           return make_banded(a, n, n);
         }},
        {"diagonal",
         "the diagonal only",
         {required("n", 0)},
         [](const arguments& a) { return make_banded(a, 0, 0); }},
        {"economy",
         "multi-country economic model stacked over periods; lagged (states) and leading (jumps) "
         "variables couple neighbouring periods",
         {required("equations", 1), required("periods", 1), integer("countries", "7", 1),
          real("terms", "4", 1000), integer("span", "20", 0), real("feedback", "0.3"),
          real("trade", "0.5", 1000), real("lags", "1", 1000), real("leads", "0.5", 1000),
          real("states", "0.3"), real("jumps", "0.1"), leading, seed},
         make_economy},
        {"edge_elements",
         "curl-curl problem: Nedelec elements on cubes (hex1) or on six tetrahedra per cube, of "
         "first (tet1) or second order (tet2); nx, ny, nz count cubes",
         space + std::vector{word("element", "hex1", {"hex1", "tet1", "tet2"}), leading, seed},
         make_edge_elements},
        {"elasticity3d",
         "elasticity on hexahedra, dof unknowns per node; wide: probability of links to second "
         "neighbours along the axes",
         space + std::vector{integer("dof", "3", 1, 64), word("stencil", "27", {"7", "15", "27"}),
                             real("thin", "0"), real("wide", "0"), leading, seed},
         make_elasticity},
        {"grid15", "linear tetrahedra on a 3-D grid (15 points)", space + thinned,
         [](const arguments& a) { return make_grid(a, "15"); }},
        {"grid27", "trilinear hexahedra on a 3-D grid (27 points)", space + thinned,
         [](const arguments& a) { return make_grid(a, "27"); }},
        {"grid5", "5-point differences on a 2-D grid", plane + thinned,
         [](const arguments& a) { return make_grid(a, "5"); }},
        {"grid7", "7-point differences on a 3-D grid", space + thinned,
         [](const arguments& a) { return make_grid(a, "7"); }},
        {"grid9", "9-point differences on a 2-D grid", plane + thinned,
         [](const arguments& a) { return make_grid(a, "9"); }},
        {"harmonic",
         "harmonic-balance circuit: harmonics unknowns per node, dense blocks in the columns of "
         "nonlinear nodes; oneway and drop act on blocks",
         std::vector{required("nodes", 1), integer("harmonics", "8", 1, 4096),
                     real("nonlinear", "0.1")} +
             routing + filters + std::vector{leading, seed},
         make_harmonic},
        {"random",
         "degree entries per row, the diagonal among them, the others uniform",
         {required("n", 0), integer("degree", "4", 1), seed},
         make_random},
        {"tridiagonal",
         "three diagonals",
         {required("n", 0)},
         [](const arguments& a) { return make_banded(a, 1, 1); }},
    };
  }();
  return all;
}

}  // namespace

const std::vector<generator_info>& generators() {
  static const std::vector<generator_info> all = [] {
    std::vector<generator_info> list;
    for (const family& f : families()) {
      std::string text;
      for (const parameter& p : f.parameters) {
        text += (text.empty() ? "" : " ") + p.key + "=";
        if (p.default_value.empty()) {
          text += "..";
        } else {
          text += p.default_value.front() == '@' ? p.default_value.substr(1) : p.default_value;
        }
        for (std::size_t k = 0; k < p.choices.size(); ++k) {
          text += (k == 0 ? "(" : "|") + p.choices[k] + (k + 1 == p.choices.size() ? ")" : "");
        }
      }
      list.push_back({f.name, f.summary, text});
    }
    return list;
  }();
  return all;
}

pattern generate(const std::string& spec) {
  const std::size_t colon = spec.find(':');
  const std::string name = spec.substr(0, colon);
  const auto& all = families();
  const auto f = std::ranges::find(all, name, &family::name);
  if (f == all.end()) {
    std::string list;
    for (const family& k : all) list += (list.empty() ? "" : ", ") + k.name;
    throw input_error("generator spec \"" + spec + "\": unknown family \"" + name +
                      "\" (known: " + list + ")");
  }
  const std::string_view rest =
      colon == std::string::npos ? std::string_view{} : std::string_view(spec).substr(colon + 1);
  const arguments args(spec, f->parameters, rest);
  try {
    return f->make(args);
  } catch (const std::bad_alloc&) {
    args.fail("not enough memory");
  }
}

}  // namespace gsofa
