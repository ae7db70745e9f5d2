#pragma once

// The stages of nested dissection on a device, in the order of their use. Each does what the host's
// stage of the same name in host/stages.hpp does, for many graphs at once, and finds
// the same: all choices are hashes of numbers local to a graph, all sums are of integers, and no
// result depends on the order of a row or of a list. A stage keeps work arrays from call to call in
// a struct of its own. Unless a comment says so, no stage waits for the device.

#include <cstdint>
#include <span>
#include <vector>

#include "variants/device/device_patterns.hpp"
#include "variants/orderings/dissection/device/coarsen.hpp"
#include "variants/orderings/dissection/device/graphs.hpp"
#include "variants/orderings/dissection/device/spaces.hpp"
#include "variants/orderings/dissection/device/trials.hpp"
#include "variants/orderings/dissection/host/reduce.hpp"
#include "variants/orderings/dissection/host/stages.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::orders::device {

// ---------------------------------------------------------- reduce: reduce.cu

/// Reduces a symmetric pattern (rows sorted, without diagonal) as reduce() on the host does, and
/// replaces it by the graph that is left; the result lacks `rest`. The pattern stays as it is if
/// this throws budget_error. Waits for the device.
reduction reduce(patterns::device_pattern& graph, int degree, memory_budget& budget);

// ------------------------------------------------------ compress: compress.cu

/// Compresses a symmetric pattern on the device (n rows, sorted, without diagonal): `g` gets one
/// graph, with rows in ascending order. Waits for the device.
vertex_classes compress(index_t n, const offset_t* row_ptr, const index_t* col_idx,
                        memory_budget& budget, level& g);

// --------------- coarsen: match in match.cu, contract in contract.cu

/// Coarsens graphs of `fine`. `coarse` gets the graphs that have shrunk, in the order of `wanted`;
/// returns the places in `wanted` that they come from. Waits for the matchings.
std::vector<index_t> coarsen(host_link& link, coarsening_space& s, const level& fine,
                             std::span<const coarsening> wanted, level& coarse);

// -------------------------------------------------------------- levels: levels.cu

/// Finds levels that separate `graphs` of `whole`, whose parts have `keys`. The search runs
/// concurrently with later work of the device until join(); the caller keeps `whole` until then.
void search_levels(host_link& link, search_space& s, const level& whole,
                   std::span<const index_t> graphs, std::span<const std::uint64_t> keys);
void join(search_space& s);
[[nodiscard]] found_levels found(const search_space& s);

// ----------------------------- trials: gpu_dissection_{project, first_cut, refine}.cu

/// Replaces the trials by those of a finer level (trials of one graph stand together), except for
/// first separators, which first_cuts() finds. coarser: the level of the trials so far, nullptr at
/// first. levels: of the specs that take one.
void project(host_link& link, trials& t, const level* coarser, const level& finer,
             std::span<const trial_spec> specs, const found_levels& levels = {});
/// Finds the first separators of the level.
void first_cuts(trials& t, const level& at_level);
/// Refines all trials of the level, with the key and the passes of their stage.
/// number: of the level, 0 being the parts themselves. First separators are refined on any.
void refine(trials& t, const level& at_level, const dissection_settings& settings,
            std::size_t number);
/// The best trial of each group, of equal costs the first one, of a level of which all trials
/// remain. Waits for the device.
std::vector<winner> best(host_link& link, trials& t, const level& at_level,
                         std::span<const group> groups);

// ------------------------------------------------------------------ flow: flow.cu

/// Replaces the separators of `graphs` of `whole` that win by separators of the least weight in a
/// band around them, where those are better: changes sides and winners. Waits for the device.
void minimum_separators(host_link& link, flow_space& s, const level& whole, std::uint8_t* side,
                        std::span<const index_t> graphs, std::span<winner> winners);

// ---------------------------------------------------------------- split: split.cu

/// How a graph ends: its separator splits it, or it becomes a leaf and is dropped.
struct ending {
  bool splits;
  std::uint64_t winner;  ///< its sides are side[winner + local number]
  offset_t weight[2];    ///< of sides A and B
  index_t position;      ///< first position of its vertices in the order
  index_t count[3];      ///< out: vertices of A, B and S; those of a leaf count as of A
};

/// Makes the graphs of the sides (side A of a graph, then side B, empty ones too) of the graphs
/// that split, and puts all vertices at their positions: those of a leaf, of A, of B and of S at
/// ending.position in order of their numbers, each after those before. vertex[v]: the vertex of
/// the whole graph that v of `whole` is; `next_vertex` gets that of `sides`.
/// Waits for the sizes of the sides.
void split(host_link& link, splitting_space& s, const level& whole, const std::uint8_t* side,
           std::span<ending> endings, const index_t* vertex, index_t* order, level& sides,
           growing_array<index_t>& next_vertex);

// -------------------------------------------------------------- leaves: leaves.cu

/// Vertices at positions first .. last - 1 of an order.
struct leaf {
  index_t first, last;
};
/// Orders the vertices of each leaf of the one graph of g in place, large leaves on the host.
/// Waits for the device. stop: see order_leaf().
void order_leaves(const level& g, std::span<const leaf> leaves, index_t* order,
                  memory_budget& budget, const std::atomic<bool>* stop = nullptr);

}  // namespace gsofa::orders::device

#endif
