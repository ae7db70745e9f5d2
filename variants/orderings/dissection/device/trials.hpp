#pragma once

// Trials: separators of the graphs of a level that compete. This header has what the stages on
// trials share: project, first_cut and refine.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "variants/orderings/dissection/arithmetic.hpp"
#include "variants/orderings/dissection/bisect.hpp"
#include "variants/orderings/dissection/device/graphs.hpp"
#include "variants/orderings/dissection/device/link.hpp"
#include "variants/orderings/dissection/device/tuning.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::orders::device {

// ------------------------------------------------------------------------- the status of a vertex

/// The status of a vertex of a trial:
///   bits 0-1   where the vertex is: side_a, side_b, separator, or `drawn` while its move goes on
///   bits 2-3   where it was at the start of the pass
///   bits 4-31  its slot among the candidates (while in S), or no_slot
/// Between passes both sides of a status are equal.
using vertex_status = std::uint32_t;
constexpr std::uint32_t drawn = 3;
constexpr std::uint32_t no_slot = 0x0fffffffU;
constexpr std::uint32_t status_of(std::uint32_t now, std::uint32_t start) {
  return now | (start << 2);
}
constexpr std::uint32_t settled(std::uint32_t side) { return status_of(side, side); }
constexpr std::uint32_t now_of(std::uint32_t status) { return status & 3U; }
constexpr std::uint32_t start_of(std::uint32_t status) { return (status >> 2) & 3U; }
constexpr std::uint32_t slot_of(std::uint32_t status) { return status >> 4; }

// --------------------------------------------------------------------------------------- trials

/// A trial as the host describes it to kernels.
struct trial_entry {
  std::uint64_t key;
  std::uint64_t first;                      ///< of its places
  index_t graph, n, from, to, rank, stage;  ///< rank of_level: the level of a search
};
inline constexpr index_t of_level = -1;

/// A trial as kernels see it.
struct trial_data {
  std::uint64_t key, first, pass_key, cost;
  offset_t weight[3];
  index_t graph, n, stage, source;
  std::uint32_t members;  ///< vertices of S
  std::uint32_t list;     ///< which of the two lists holds them
  std::uint32_t x;        ///< the side that grows
  std::uint32_t idle;     ///< passes without gain since the last gain
  std::uint32_t pass;     ///< passes made
};

/// The arrays of all trials of a level. Vertex v of a trial of graph i, v numbered as the vertices
/// of all graphs of the level, has place data.first + v - first[i] in the arrays by trial vertex.
struct trial_view {
  trial_data* data;
  // By trial vertex.
  std::uint8_t* side;
  vertex_status* state;
  index_t* members[2];
  index_t* spare;      ///< a list
  std::uint32_t* far;  ///< four words each: candidates without room in shared memory
  /// Two words each: 2 v if v left S, 2 v + 1 if v came from y to S, in the order of
  /// moves.
  std::uint32_t* log;
  std::uint32_t idle_moves;  ///< a pass ends after this many moves without gain
  int later_passes;          ///< of separators from coarser levels; 0: only first ones are refined
};

/// The level that separates a graph: vertices of lower levels are its side A, all others its side
/// B.
struct found_level {
  std::uint64_t cost;
  offset_t weight[3];   ///< by side
  std::uint32_t level;  ///< of the separator
  std::uint32_t is;     ///< 0: the graph has no level with even sides
};
/// What searches have found.
struct found_levels {
  const std::uint32_t* level = nullptr;  ///< by vertex, all ones: not reached
  const found_level* found = nullptr;    ///< by graph that was searched
};

/// The best of a group of trials: its sides, by local number from trials::side() + first on, and
/// its weights by side.
struct winner {
  std::uint64_t first;
  offset_t weight[3];
};

// ------------------------------------------------------------------------------------ on the host

/// The trials of one level at a time, with the arrays that the stages on trials keep from call to
/// call.
struct trials {
  explicit trials(memory_budget& budget)
      : table(budget, "trials"),
        groups(budget, "trials"),
        data{{budget, "trials"}, {budget, "trials"}},
        sides{{budget, "trials"}, {budget, "trials"}},
        state(budget, "trials"),
        vertices(budget, "trials"),
        words(budget, "trials") {}
  [[nodiscard]] const std::uint8_t* side() const { return view.side; }

  growing_array<std::uint64_t> table;
  growing_array<group> groups;
  // Those of the level and those of the coarser level alternate.
  int current = 0;
  growing_array<trial_data> data[2];
  growing_array<std::uint8_t> sides[2];
  growing_array<vertex_status> state;
  growing_array<index_t> vertices;     // three lists
  growing_array<std::uint32_t> words;  // far candidates and logs

  /// Of a block; kernels are allowed it before the first refinement.
  std::size_t shared_bytes =
      is_emulated ? refine_tuning::emulated_shared_bytes : current_limits().shared_bytes_per_block;
  bool allowed = false;

  trial_view view{};
  index_t small = 0, large = 0, firsts = 0;  // trials; firsts: first separators
  index_t most_small = 0, most_first = 0;    // vertices of one of them
  // Their lists, on the device.
  const index_t *small_list = nullptr, *large_list = nullptr, *first_list = nullptr;
};

}  // namespace gsofa::orders::device

#endif
