#pragma once

// Work arrays that the stages of nested dissection on a device keep from call to call, and what
// they hold. Those of match() are in coarsen.hpp, those of trials in
// trials.hpp.

#include <cstdint>

#include "variants/orderings/dissection/device/coarsen.hpp"
#include "variants/orderings/dissection/device/graphs.hpp"
#include "variants/orderings/dissection/device/trials.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::orders::device {

/// Work arrays of coarsen().
struct coarsening_space : matching_space {
  explicit coarsening_space(memory_budget& budget)
      : matching_space(budget), d_kept(budget, "matching") {}

  growing_array<kept_task> d_kept;
};

/// The search of a graph.
struct search_task {
  index_t root;  ///< the first vertex of the first search; -1: the graph is not searched
  index_t most;  ///< levels that a search goes
};
/// Work arrays of searches.
struct search_space {
  explicit search_space(memory_budget& budget);
  ~search_space();

  growing_array<search_task> tasks;
  growing_array<std::uint32_t> level;
  growing_array<index_t> queue;
  growing_array<std::uint32_t> words;
  growing_array<std::uint64_t> width;
  growing_array<found_level> found;
  side_work beside;
};

/// What the threads that find the flow of one part count.
struct alignas(offset_t) flow_counts {
  std::uint32_t layer[band_layers + 1];  ///< vertices of each layer of the band
  std::uint32_t reached[3];              ///< nodes of three steps of a search
  std::uint32_t found[3];                ///< of these, nodes with excess
  std::uint32_t active[3];               ///< nodes with excess, in three sweeps
  std::uint32_t moved[3];                ///< whether excess has moved, in three sweeps
};
/// Work arrays of minimum_separators().
struct flow_space {
  explicit flow_space(memory_budget& budget)
      : old(budget, "flow"),
        words(budget, "flow"),
        level(budget, "flow"),
        excess(budget, "flow"),
        through(budget, "flow"),
        next_to(budget, "flow"),
        flow(budget, "flow"),
        active(budget, "flow"),
        queue(budget, "flow"),
        band(budget, "flow") {}

  growing_array<winner> old;
  growing_array<offset_t> words;
  growing_array<std::uint32_t> level, excess, through, next_to, flow, active, queue;
  growing_array<index_t> band;
};

/// A graph that ends, as kernels see it.
struct ending_view {
  std::uint64_t winner;
  index_t position;
  std::uint32_t splits;
};
struct side_counts {
  index_t count[3];
  offset_t room[2];
};
/// Where the vertices of a graph go.
struct sides_view {
  std::uint64_t winner;
  index_t position[3];  ///< of sides A, B and S; of a leaf in A
  index_t child;        ///< none: a leaf
  index_t first[2];     ///< vertex of each child
  offset_t room[2];     ///< first place of adj
  offset_t total[2];
};
/// Of the scan that numbers the vertices of each side.
struct side_sum {
  offset_t room[2];
  index_t count[3];
  std::uint32_t starts;  ///< not 0: of another graph than what is before
};

/// Work arrays of split().
struct splitting_space {
  explicit splitting_space(memory_budget& budget)
      : d_endings(budget, "splitting"),
        d_sides(budget, "splitting"),
        d_number(budget, "splitting"),
        d_rank(budget, "splitting"),
        d_place(budget, "splitting"),
        d_side_sums(budget, "scan_buffer") {
    d_side_sums.resize(threads_per_block);
  }

  growing_array<ending_view> d_endings;
  growing_array<sides_view> d_sides;
  growing_array<index_t> d_number, d_rank;
  growing_array<offset_t> d_place;
  growing_array<side_sum> d_side_sums;
};

}  // namespace gsofa::orders::device

#endif
