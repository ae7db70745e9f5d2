#pragma once

// Graphs in which most vertices have few neighbours, and these have many: the rows of a least
// squares problem and its columns, documents and their words.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/types.hpp"
#include "variants/orderings/minimum_degree.hpp"

namespace gsofa::orders {

/// A graph after the elimination of the leaves of hubs. A leaf has at most 32 neighbours, and each
/// of these has at least 4 times as many. No two leaves are adjacent.
struct hub_core {
  std::vector<index_t> leaves;        ///< by degree, then by number
  std::vector<index_t> leaf_degrees;  ///< weight of the neighbours that are in the core
  std::vector<index_t> long_rows;     ///< vertices with more than `longest` neighbours
  std::vector<index_t> vertices;      ///< all others, ascending: those of the core

  // The core; vertex i is vertices[i].
  std::vector<offset_t> begin;
  std::vector<index_t> adj;
  std::vector<index_t> weight;
  std::vector<std::uint8_t> halo;
  [[nodiscard]] weighted_rows rows() const {
    return {.begin = begin, .adj = adj, .weight = weight, .halo = halo};
  }
};

/// The core of a graph in which leaves of hubs are at least half of the vertices, if it has at most
/// four times the entries of the graph; nothing of any other graph. A quotient graph takes
/// these leaves one by one and goes over all elements of the hubs each time. longest: longer rows
/// outside the halo are set aside.
std::optional<hub_core> eliminate_leaves_of_hubs(const weighted_rows& rows, offset_t longest);

}  // namespace gsofa::orders
