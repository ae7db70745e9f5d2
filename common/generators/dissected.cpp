// Grids numbered by geometric nested dissection, up to 10^8 nodes and more.

#include <algorithm>
#include <array>

#include "common/generators/families.hpp"
#include "common/parallel.hpp"
#include "common/process.hpp"

namespace gsofa::generator {

namespace {

/// Nodes low .. high - 1 of a grid in each direction, x first, and the number of the first.
struct box {
  std::array<index_t, 3> low, high;
  index_t first;
  index_t stride = 1;  ///< of the numbers

  [[nodiscard]] index_t side(std::size_t d) const { return high[d] - low[d]; }
  [[nodiscard]] offset_t nodes() const { return offset_t{side(0)} * side(1) * side(2); }
};

/// The number of each node. Boxes are halved by planes of nodes across their longest side, which
/// are numbered last, until they have at most 64 nodes; these and the planes are numbered line by
/// line. Stencils that reach no further than one node have no edge across a plane.
/// Source: George, SIAM J. Numer. Anal. 10 (1973), 345-363.
class dissected_grid {
 public:
  /// interleaved: the nodes of two smallest boxes side by side are numbered alternately, so that
  /// the numbering is not a postorder of the elimination tree.
  dissected_grid(const std::array<index_t, 3>& sides, bool interleaved, int threads)
      : sides_(sides), interleaved_(interleaved) {
    number_.resize(at(offset_t{sides[0]} * sides[1] * sides[2]));
    std::vector<box> parts;
    divide({{0, 0, 0}, sides, 0}, std::max<offset_t>(most_natural, nodes() / 4096),
           [&](const box& b) { parts.push_back(b); });
    parallel_ranges(threads, parts.size(), std::size_t{1}, [&](int, std::size_t k, std::size_t) {
      divide(parts[k], most_natural, [&](const box& b) { number(b); });
    });
  }

  [[nodiscard]] offset_t nodes() const { return static_cast<offset_t>(number_.size()); }
  [[nodiscard]] index_t number(index_t x, index_t y, index_t z) const {
    return number_[place(x, y, z)];
  }

 private:
  static constexpr offset_t most_natural = 64;

  [[nodiscard]] std::size_t place(index_t x, index_t y, index_t z) const {
    return (at(z) * at(sides_[1]) + at(y)) * at(sides_[0]) + at(x);
  }

  // Calls part(b) for the boxes of at most `most` nodes that are left; numbers the planes.
  template <class Part>
  void divide(const box& b, offset_t most, Part&& part) {
    if (b.nodes() <= most) {
      if (b.nodes() > 0) part(b);
      return;
    }
    std::size_t d = 0;
    for (std::size_t k = 1; k < 3; ++k) d = b.side(k) > b.side(d) ? k : d;
    const index_t middle = (b.low[d] + b.high[d]) / 2;
    box left = b;
    left.high[d] = middle;
    box right = b;
    right.low[d] = middle + 1;
    right.first = left.first + static_cast<index_t>(left.nodes());
    box plane = b;
    plane.low[d] = middle;
    plane.high[d] = middle + 1;
    plane.first = right.first + static_cast<index_t>(right.nodes());
    if (interleaved_ && most == most_natural && left.nodes() <= most &&
        left.nodes() == right.nodes()) {
      left.stride = right.stride = 2;
      right.first = left.first + 1;
    }
    divide(left, most, part);
    divide(right, most, part);
    number(plane);
  }

  void number(const box& b) {
    index_t next = b.first;
    for (index_t z = b.low[2]; z < b.high[2]; ++z) {
      for (index_t y = b.low[1]; y < b.high[1]; ++y) {
        for (index_t x = b.low[0]; x < b.high[0]; ++x, next += b.stride) {
          number_[place(x, y, z)] = next;
        }
      }
    }
  }

  std::array<index_t, 3> sides_;
  bool interleaved_;
  std::vector<index_t> number_;
};

/// The rows of one node: its number, and those of its neighbours, itself included, ascending.
struct neighbourhood {
  index_t node;
  int count;
  std::array<index_t, 27> numbers;
};

}  // namespace

pattern make_dissected(const arguments& args) {
  const std::array<index_t, 3> sides{args.integer("nx"), args.integer("ny"), args.integer("nz")};
  const index_t dof = args.integer("dof");
  const auto offsets = stencil_offsets(args.word("stencil"));
  const index_t n = args.order({sides[0], sides[1], sides[2], dof});
  const offset_t most = offset_t{n} * dof * static_cast<offset_t>(offsets.size());
  args.check_entries(most);
  require_memory("generated matrix", n, n, 4 * most + program_row_bytes * (offset_t{n} + 1));
  const entry_filter filter = entry_filter::from(args);
  const int threads = threads_of_process();
  const dissected_grid grid(sides, args.integer("interleaved") != 0, threads);

  // Calls visit(neighbourhood) for all nodes.
  const auto for_each = [&](const auto& visit) {
    parallel_ranges(threads, offset_t{sides[1]} * sides[2], offset_t{64},
                    [&](int, offset_t begin, offset_t end) {
                      for (offset_t line = begin; line < end; ++line) {
                        const auto y = static_cast<index_t>(line % sides[1]);
                        const auto z = static_cast<index_t>(line / sides[1]);
                        for (index_t x = 0; x < sides[0]; ++x) {
                          neighbourhood here{grid.number(x, y, z), 0, {}};
                          for (const auto& [dx, dy, dz] : offsets) {
                            const index_t ox = x + dx, oy = y + dy, oz = z + dz;
                            if (ox < 0 || oy < 0 || oz < 0) continue;
                            if (ox >= sides[0] || oy >= sides[1] || oz >= sides[2]) continue;
                            here.numbers[at(here.count++)] = grid.number(ox, oy, oz);
                          }
                          visit(here);
                        }
                      }
                    });
  };
  // Calls entry(column) for the entries of row `dof * node + d` that are kept.
  const auto for_each_entry = [&](const neighbourhood& here, index_t d, const auto& entry) {
    const index_t row = here.node * dof + d;
    for (int k = 0; k < here.count; ++k) {
      for (index_t e = 0; e < dof; ++e) {
        const index_t column = here.numbers[at(k)] * dof + e;
        if (column == row || filter.keeps(row, column)) entry(column);
      }
    }
  };

  pattern a;
  a.n_rows = a.n_cols = n;
  a.row_ptr.assign(at(n) + 1, 0);
  for_each([&](const neighbourhood& here) {
    for (index_t d = 0; d < dof; ++d) {
      offset_t entries = 0;
      for_each_entry(here, d, [&](index_t) { ++entries; });
      a.row_ptr[at(here.node) * at(dof) + at(d) + 1] = entries;
    }
  });
  for (std::size_t v = 0; v < at(n); ++v) a.row_ptr[v + 1] += a.row_ptr[v];
  a.col_idx.resize(at(a.row_ptr.back()));
  for_each([&](neighbourhood here) {
    std::sort(here.numbers.begin(), here.numbers.begin() + here.count);
    for (index_t d = 0; d < dof; ++d) {
      offset_t next = a.row_ptr[at(here.node) * at(dof) + at(d)];
      for_each_entry(here, d, [&](index_t column) { a.col_idx[at(next++)] = column; });
    }
  });
  return a;
}

}  // namespace gsofa::generator
