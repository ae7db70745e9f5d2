#pragma once

// Coarsening on a device: what match and contract share.

#include <cstdint>
#include <span>
#include <vector>

#include "variants/orderings/dissection/bisect.hpp"
#include "variants/orderings/dissection/device/graphs.hpp"
#include "variants/orderings/dissection/device/link.hpp"
#include "variants/orderings/dissection/device/rows.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::orders::device {

/// A coarsening as kernels see it. The vertices of the parent have numbers first .. last - 1 among
/// those of all coarsenings: `virtual` numbers.
struct task {
  std::uint64_t key;
  offset_t most;
  index_t parent;
  index_t first, last;
};

/// What the host learns of a coarsening.
struct task_result {
  index_t vertices;
  offset_t room;
};

/// Numbers of the coarse vertices within their graphs and places for their rows, by virtual number.
struct numbering {
  index_t* id;           ///< coarse vertex of a vertex
  index_t* one;          ///< by coarse vertex: its smaller fine vertex
  index_t* two;          ///< and the other, or none
  offset_t* place;       ///< of its row, in the room of its graph
  task_result* results;  ///< by coarsening, in room of the link
};

/// Of the scan that numbers pairs.
struct number_sum {
  offset_t room;
  index_t vertices;
  std::uint32_t starts;  ///< not 0: of another coarsening than what is before
};
/// Of the scan that pairs isolated vertices.
struct isolated_sum {
  index_t count, last, previous;
  std::uint32_t starts;
};

/// Where the graph of a coarsening goes.
struct kept_task {
  index_t graph;  ///< none: it is dropped
  index_t first;  ///< vertex
  index_t vertices;
  offset_t room;  ///< first place of adj
  offset_t map;   ///< first place of the map
};

/// Work arrays of match(), kept from call to call.
struct matching_space {
  explicit matching_space(memory_budget& budget)
      : d_tasks(budget, "matching"),
        d_owner(budget, "matching"),
        d_match(budget, "matching"),
        d_proposal(budget, "matching"),
        d_id(budget, "matching"),
        d_one(budget, "matching"),
        d_two(budget, "matching"),
        d_seen(budget, "matching"),
        d_guests(budget, "matching"),
        d_isolated(budget, "matching"),
        d_place(budget, "matching"),
        d_number_sums(budget, "scan_buffer"),
        d_isolated_sums(budget, "scan_buffer") {
    d_number_sums.resize(threads_per_block);
    d_isolated_sums.resize(threads_per_block);
  }

  growing_array<task> d_tasks;
  growing_array<index_t> d_owner, d_match, d_proposal, d_id, d_one, d_two;
  growing_array<std::uint64_t> d_seen;
  growing_array<std::uint32_t> d_guests, d_isolated;
  growing_array<offset_t> d_place;
  growing_array<number_sum> d_number_sums;
  growing_array<isolated_sum> d_isolated_sums;
};

/// Matchings on the device.
struct pairs {
  const task* tasks;
  index_t count;
  index_t vertices;      ///< of all coarsenings
  const index_t* owner;  ///< coarsening by virtual number
  numbering number;
};

/// Matches each graph by its key, as the host's coarsen() does: handshakes by heavy edges, then
/// pairs of free vertices with a common neighbour; numbers the pairs. Nothing waits for the device.
pairs match(host_link& link, matching_space& s, const level& fine,
            std::span<const coarsening> wanted);

}  // namespace gsofa::orders::device

#endif
