#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/types.hpp"

namespace gsofa::orders {

/// A bit matrix by rows.
struct bit_rows {
  std::vector<std::uint64_t> bits;
  std::size_t words = 0;  ///< of a row

  void assign(index_t rows, index_t columns) {
    words = at((columns + 63) / 64);
    bits.assign(at(rows) * words, 0);
  }
  [[nodiscard]] std::uint64_t* row(index_t i) { return bits.data() + at(i) * words; }
  [[nodiscard]] const std::uint64_t* row(index_t i) const { return bits.data() + at(i) * words; }
  void set(index_t i, index_t j) { row(i)[j / 64] |= std::uint64_t{1} << (j % 64); }
  [[nodiscard]] bool test(index_t i, index_t j) const { return row(i)[j / 64] >> (j % 64) & 1; }
};

/// The part of the elimination that begins when all vertices below a node are eliminated: vertices
/// 0 .. own - 1 are those of the node, the others are its boundary, the vertices that come later
/// and are joined to the node by an edge or a path of eliminated vertices.
struct front {
  index_t own = 0;
  index_t size = 0;
  bit_rows rows;  ///< [i][j]: edge i -> j of the reduced graph; the diagonal is set

  /// Without edges.
  front(index_t node, index_t boundary);
  /// Adds the edges of a reduced graph whose vertex v is vertex to[v] here.
  void add(const bit_rows& other, std::span<const index_t> to);
  /// Eliminates the vertices of the node in ascending order: rows become those of L + U, and, of
  /// the boundary, those of the reduced graph, which do not depend on the order inside the node.
  /// Returns the operations of the node.
  double eliminate();
  /// After eliminate(): the reduced graph of the boundary.
  [[nodiscard]] bit_rows boundary_rows() const;
};

/// Operations of a pivot with l entries in its column of L and u in its row of U.
inline double pivot_flops(index_t l, index_t u) { return l + 2.0 * l * u; }

/// Order of the vertices of a node, and its operations.
struct markowitz_order {
  std::vector<index_t> order;
  double flops = 0;
};

/// Orders the vertices of a node by least product of the entries of row and column (Markowitz
/// 1957), smaller vertices first among equals; with several candidates, by least fill among those
/// with the least products.
class markowitz {
 public:
  /// Before f.eliminate(). Copies the rows and columns of the node.
  explicit markowitz(const front& f);
  /// Returns an empty order unless it has fewer operations than `limit`. May be called once.
  markowitz_order order(double limit, int candidates);

 private:
  index_t own_;
  bit_rows rows_, columns_;
  bit_rows live_;                            // one row: vertices that are not eliminated
  std::vector<index_t> in_row_, in_column_;  // entries of live vertices, with the diagonal
};

}  // namespace gsofa::orders
