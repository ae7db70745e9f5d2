// The one place that chooses an order: by the time that the user waits for the order and all
// factorizations, predicted from counted properties. It never asks the machine, so that the same
// arguments give the same order everywhere.

#pragma once

#include <cstdint>
#include <span>

#include "common/ordering.hpp"
#include "variants/orderings/ordered_tree.hpp"

namespace gsofa::orders {

/// What uses an order.
enum class factorization_kind {
  left_looking,  ///< by columns, on one core
  supernodal,    ///< with dense blocks, on any number of cores
  distributed,   ///< the same with static pivots, on any number of processes
  gpu,           ///< multifrontal or supernodal on a GPU
  operations,    ///< nothing but operations counts, whatever they take
};

struct purpose {
  std::int64_t factorizations = 1;  ///< each with one solve
  factorization_kind kind = factorization_kind::left_looking;
  int cores = 1;  ///< of the order and of the factorization
  int seeds = 1;  ///< orders that one method may compute, each from another seed
};

/// One thread dissects fewer rows faster than a device that is idle otherwise (13,000 to 20,000 on
/// an H200), or that the program uses anyway. More threads dissect more rows in this time.
inline constexpr index_t least_rows_of_device = 20000;
inline constexpr index_t least_rows_of_busy_device = 3000;

/// A dissection on k cores takes k^0.7 times less.
inline constexpr double power_of_dissection = 0.7;

/// A mesh has at least this many rows.
inline constexpr index_t least_rows_of_mesh = 50000;

/// The options factorizations, kind and cores of an order that takes a purpose.
std::vector<option_spec> purpose_options();
purpose purpose_of(const option_set& options);

/// The shape of a symmetric graph after its reductions, which tells which methods can win.
struct graph_shape {
  offset_t entries = 0;        ///< of the graph that the reductions leave
  double left = 1;             ///< vertices that the reductions leave, as a fraction
  double most_neighbours = 0;  ///< the most neighbours of a vertex that is left / their mean
  double width = 0;            ///< of a level of a breadth-first search, in vertices
  /// Large, wide and regular: minimum degree does not win if the pattern is symmetric.
  bool is_mesh = false;
};

/// False where the shape needs no reductions to tell that the graph is no mesh: few rows, or many
/// with at most one entry, which the reductions remove.
bool may_be_mesh(const pattern_view& s);
/// The shape of a symmetric graph (rows sorted, without diagonal).
graph_shape shape_of(const pattern_view& s, int threads);

/// A method with its options, as a row of the table.
struct contender {
  const char* method;   ///< a method of the host; the device's with the same order replaces it
  const char* options;  ///< OPTION=VALUE,OPTION=VALUE; the others have their defaults
  double row, entry;    ///< seconds on one core for each row, and for each entry of L and U
  double gain;  ///< of the time of a factorization, where the method has other options already
  bool dissects;
  enum place { anywhere, on_host, on_gpu } where = anywhere;  ///< the factorization is
  bool of_cores = false;  ///< only where reductions leave at most half of the vertices
};

/// Of amf.
inline constexpr const char* score_degree = "score=degree";
/// The dissection for few factorizations on a device. For many the device searches longer.
inline constexpr const char* options_on_device = "tries=2,replicas=2,room=4,stride=3,flows=0";
inline constexpr std::int64_t many_factorizations = 100;
/// For one factorization on a device, fewer rows are not worth a dissection. For several
/// factorizations the limit is a third of this number.
inline constexpr index_t least_rows_to_dissect = 9000;
/// Several: at least this many. Two matchings contend then, too.
inline constexpr std::int64_t several_factorizations = 10;

/// For factorizations of `a` on a device, where no order is counted: whether minimum degree takes
/// less time in all than a dissection. It does for few factorizations of few rows, and of a graph
/// with rows of very different lengths.
bool takes_minimum_degree(const pattern_view& a, std::int64_t factorizations);
/// Whether the elimination tree of minimum degree is little more than a long path, so that a
/// dissection is faster on a device even for one factorization.
bool is_long_path(const order_cost& minimum_degree);

/// All of them, in the order in which they are considered.
std::span<const contender> contenders();

/// Of the contender, for a graph with this many rows; of a dissection, those that reductions leave.
/// entries: of L and U in the best order so far.
double seconds_of_order(const contender& c, double rows, offset_t entries, const purpose& use);
/// Whether the time of use depends on the supernodes, and on the longest path of them.
bool counts_supernodes(const purpose& use);
/// SuperLU_DIST solves by a recursion along the tree: 8 MB of stack hold 12,000 supernodes on a
/// path.
inline constexpr index_t most_supernodal_height = 10000;
/// Whether minimum degree is computed before minimum fill: on a sparse graph it takes less time
/// than minimum fill saves in few factorizations.
bool begins_with_degree(const pattern_view& graph, const purpose& use);
void count_supernodes(const ordered_tree& t, order_cost& cost);
/// Whether the factorization profits from the zeros of an unsymmetric A: others store blocks.
bool uses_direction(const purpose& use);
/// Of all factorizations, each with a solve.
double seconds_of_use(const order_cost& cost, const purpose& use);

/// An order so far, and what it costs.
struct best_so_far {
  order_cost cost;
  int orders = 0;  ///< that this contender has computed
  bool same_method =
      false;  ///< whether the contender's method has computed one, with other options
};
/// What a contender is expected to save of the time of use, in seconds.
double expected_gain(const contender& c, const best_so_far& best, const purpose& use);
/// Of shape_of() for a graph with this many rows and entries.
double seconds_of_shape(offset_t rows_and_entries);

}  // namespace gsofa::orders
