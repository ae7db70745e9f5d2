// Elimination over panels: closes each panel once all below it have been pushed, then pushes it.
//
// The rule and the two reductions are those of cpu_bitmap_panels.cpp, where they are proved.
//
// Schedule. Every panel counts its finished children. A worker (a warp, or a block) takes leaves
// by ticket; who finishes the last child of a panel goes on with that panel, others take the next
// leaf. No worker ever waits for another outside a barrier of its own threads: any worker that
// runs makes progress, whatever the others do, and whether or not they are resident.
//
// Three launches. In the first the workers are warps, and a panel of more than `warp_positions`
// positions whose children are all done is put on a list instead. In the second they are blocks;
// the tickets are the places of that list, and a panel of more than `cluster_positions` is put on
// another list. In the third they are clusters of blocks. Every panel not done in one has one of
// its list in its subtree, itself perhaps: if all its children are done, the worker that finished
// the last of them (or drew its ticket) put it there; otherwise a child is not done, and so on
// down.
//
// Memory order. Masks of a panel P are written by atomic ORs of workers of panels below P, then by
// plain loads and stores of P's worker. Let W be a worker that has pushed C, any panel below P.
//  * The ORs of W's threads happen before the barrier that ends close_and_push(), and this before the
//    increment of C's parent's counter by W's thread 0, which is a release (device scope; the
//    barrier orders its own threads at block scope, and causality order is transitive).
//  * Increments of one counter are read-modify-writes: they form one release sequence. Who
//    completes the count is last and acquires from all before. The same thread then passes a
//    barrier with the other threads of its worker, and only behind it they load masks. By
//    induction along the tree, this includes what all panels below the children did.
//  * A panel with one child needs no counter: what panels below the child did happens before the
//    child's masks were read, and what was done for the child is by threads of the same worker,
//    before a barrier of theirs.
//  * Where all panels on the way up to a target have one child each, no other worker pushes to it:
//    what is below has been done. Plain loads and stores serve then.
//  * ORs among workers race only with each other: relaxed is enough, since OR commutes and no bit
//    is read before the count of its panel is complete.
// What is said of barriers holds of a cluster with its own, which releases and acquires at the
// scope of the cluster: causality order is transitive over scopes. The list of a launch is read in
// the next: ordered by the end of the grid.

#include "variants/detail/gpu/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "variants/detail/counting.hpp"
#include "variants/detail/gpu/bitmap_panels.hpp"

namespace gsofa::gpu {

namespace {

/// What the targets of one target panel take of the rows of U (or columns of L) of the panel at
/// hand.
struct route {
  mask_t targets[mask_bits];  ///< [r]: the targets that take r; valid once r is active
  mask_t active;              ///< r with targets
  mask_t all;                 ///< targets that take any r
  mask_t several;             ///< targets that take more than one
};

/// The routes to one target panel; shared memory, one per warp.
struct target_routes {
  route upper;       ///< of rows of U, to columns
  route lower;       ///< of columns of L, to rows
  mask_t both;       ///< k with L(t, k) != 0 and U(k, t) != 0 for some target t
  offset_t first;    ///< the target's first position in the masks
  index_t panel;     ///< the target
  index_t vertices;  ///< its first vertex
  index_t begin;     ///< positions of the panel at hand that are vertices of the target
  index_t end;
  index_t steps;  ///< the target's place on the way up from the panel at hand, from 1; 0: far
  bool alone;     ///< no other worker pushes to the target now
};

/// Vertices that vertices of a panel reach inside it; closed.
struct reach {
  mask_t from[mask_bits];  ///< [k]: those > k that k reaches
  mask_t to[mask_bits];    ///< [k]: those < k that reach k
};

/// Where a panel lies.
struct panel_place {
  offset_t first;       ///< position
  offset_t word_begin;  ///< its words
  offset_t word_end;
  index_t width;
  index_t length;
};

GSOFA_DEVICE panel_place place_of(const panel_view& p, index_t j) {
  return {p.position_begin[j], p.word_begin[j], p.word_begin[j + 1], p.width(j), p.length(j)};
}

/// Shared memory of a worker, before the routes of its warps.
struct worker_state {
  mask_t rows[mask_bits];            ///< diagonal block: [r]: columns of row r
  mask_t cols[mask_bits];            ///< its transpose
  reach l;                           ///< by edges k -> i with L(i, k) != 0
  reach u;                           ///< by edges k -> i with U(k, i) != 0
  mask_t any_upper;                  ///< k with an entry of U(k, :) in the boundary
  mask_t any_lower;                  ///< k with an entry of L(:, k) in the boundary
  offset_t above_begin[most_steps];  ///< [s]: where positions of the panel s + 1 steps above begin
  index_t alone_steps;               ///< so many of these have one child each
  index_t panel;                     ///< the worker's next; -1: none
  panel_place parent[2];             ///< of the panel at hand, and of the one before or after

  GSOFA_DEVICE target_routes* routes() { return reinterpret_cast<target_routes*>(this + 1); }
};

/// Shared memory of a worker of so many warps.
constexpr std::size_t state_bytes(int warps) {
  return sizeof(worker_state) + static_cast<std::size_t>(warps) * sizeof(target_routes);
}

enum elimination_counter : int {
  count_block_panels,    ///< panels eliminated by a block
  count_rounds,          ///< rounds of one target panel per warp
  count_pushes,          ///< (panel, target panel) pairs
  count_push_positions,  ///< positions read by pushes
  elimination_counters
};

/// What the counting build notes of every panel.
enum panel_stamp : int {
  stamp_begin,     ///< device time
  stamp_end,       ///< device time
  stamp_start,     ///< cycles: taken up
  stamp_diagonal,  ///< diagonal block closed
  stamp_routed,    ///< routes of the first targets known
  stamp_closed,    ///< all closed, and pushed to them
  stamp_pushed,    ///< pushed to the others
  stamp_handed,    ///< parent told
  panel_stamps
};

constexpr int warp_threads = 128;  // of a block of the first launch
constexpr int most_warps = 16;     // of a block of the second

/// What the blocks of a cluster have in common beside the masks; in device memory.
struct cluster_state {
  mask_t any_upper[2];  ///< as in worker_state, of the panel at hand and of the one before or after
  mask_t any_lower[2];
  index_t panel;  ///< the cluster's next; -1: none
};

struct elimination_view {
  panel_view p;
  const std::uint32_t* children;
  std::uint32_t* finished;
  std::uint32_t* ticket;
  const index_t* from;              ///< panels to begin with; the first launch looks for leaves
  const std::uint32_t* from_count;  ///< how many
  index_t* list;                    ///< panels of more positions, for the next launch
  std::uint32_t* list_count;
  index_t most;  ///< positions of a panel that this launch eliminates
  cluster_state* clusters;
  unsigned long long* counters;  // counting build, by elimination_counter
  unsigned long long* stamps;    // counting build: panel_stamps for each panel
};

/// Notes when the worker whose thread of rank 0 this is came to a point of panel j.
GSOFA_DEVICE void note([[maybe_unused]] unsigned long long* stamps, [[maybe_unused]] index_t j,
                       [[maybe_unused]] panel_stamp point, [[maybe_unused]] bool first) {
  if constexpr (detail::counting) {
    if (!first) return;
    stamps[offset_t{j} * panel_stamps + point] =
        point <= stamp_end ? simt::device_time() : simt::cycles();
  }
}

/// The threads that work on one panel.
enum class tier { warp, block, cluster };

/// Every block of a cluster closes the diagonal block and finds the routes for itself, in its own
/// shared memory; positions are shared out.
template <tier Tier>
struct worker {
  static constexpr bool is_warp = Tier == tier::warp;
  static constexpr bool is_cluster = Tier == tier::cluster;
  /// Of the threads with one shared memory.
  static GSOFA_DEVICE index_t rank() {
    return static_cast<index_t>(is_warp ? lane_index() : simt::thread_index());
  }
  static GSOFA_DEVICE index_t size() {
    return is_warp ? 32 : static_cast<index_t>(simt::block_size());
  }
  static GSOFA_DEVICE void sync() {
    if constexpr (is_warp) {
      simt::sync_warp();
    } else {
      simt::sync_block();
    }
  }
  /// Of all threads.
  static GSOFA_DEVICE index_t wide_rank() {
    if constexpr (is_cluster) {
      return static_cast<index_t>(simt::cluster_rank() * simt::block_size() + simt::thread_index());
    }
    return rank();
  }
  static GSOFA_DEVICE index_t wide_size() {
    if constexpr (is_cluster) {
      return static_cast<index_t>(simt::cluster_size() * simt::block_size());
    }
    return size();
  }
  static GSOFA_DEVICE void sync_wide() {
    if constexpr (is_cluster) {
      simt::sync_cluster();
    } else {
      sync();
    }
  }
  /// Positions that a thread works on at a time, so that their loads overlap.
  static constexpr int unroll = is_warp ? 2 : 4;
  /// Warps with one shared memory, and this thread's.
  static GSOFA_DEVICE unsigned warps() { return is_warp ? 1 : simt::block_size() / 32; }
  static GSOFA_DEVICE unsigned warp() { return is_warp ? 0 : simt::thread_index() / 32; }
};

/// Rows l and l + 32 of a 64 x 64 bit matrix, in lane l of a warp.
struct row_pair {
  mask_t low, high;
};

/// Transposes each of the two 32 x 32 blocks of a word per lane.
GSOFA_DEVICE mask_t transposed_halves(mask_t m) {
  constexpr mask_t keep[] = {0x0000ffff0000ffffU, 0x00ff00ff00ff00ffU, 0x0f0f0f0f0f0f0f0fU,
                             0x3333333333333333U, 0x5555555555555555U};
  unsigned step = 16;
  for (int k = 0; k < 5; ++k, step /= 2) {
    const mask_t other = simt::shuffle_xor(m, step);
    m = (lane_index() & step) == 0 ? (m & keep[k]) | (other & keep[k]) << step
                                   : (m & ~keep[k]) | (other >> step & keep[k]);
  }
  return m;
}

GSOFA_DEVICE row_pair transposed(const row_pair& m) {
  const mask_t a = transposed_halves(m.low);
  const mask_t b = transposed_halves(m.high);
  constexpr mask_t half = 0xffffffffU;
  return {(a & half) | b << 32, a >> 32 | (b & ~half)};
}

GSOFA_DEVICE std::uint32_t low_half(mask_t m) { return static_cast<std::uint32_t>(m); }
GSOFA_DEVICE std::uint32_t high_half(mask_t m) { return static_cast<std::uint32_t>(m >> 32); }
GSOFA_DEVICE mask_t joined(std::uint32_t low, std::uint32_t high) {
  return static_cast<mask_t>(high) << 32 | low;
}

/// Gaussian elimination without cancellation on the leading w x w block, by one warp. Step k: rows
/// i > k with bit k take in the bits > k of row k. Returns `to` of a reach by edges k -> i with bit
/// k in row i, k < i: bit k of row i is final at step k, and so is to[k]. On the transpose the same
/// steps yield the transposed result.
///
/// In halves of 32 bits and with constant k: rows up to 31 take nothing from rows behind them and
/// are reached from the lower half only.
GSOFA_DEVICE row_pair eliminate_block(row_pair& rows, index_t w) {
  const std::uint32_t left = lower_lanes();  // of the diagonal, in row lane and, shifted, lane + 32
  std::uint32_t low[2] = {low_half(rows.low), high_half(rows.low)};
  std::uint32_t high[2] = {low_half(rows.high), high_half(rows.high)};
  std::uint32_t to_low = 0;
  std::uint32_t to_high[2] = {0, 0};
  constexpr int piece = 8;
  GSOFA_UNROLL for (int begin = 0; begin < 32; begin += piece) {
    if (begin + 1 >= w) break;
    GSOFA_UNROLL for (int k = begin; k < begin + piece; ++k) {
      const auto source = static_cast<unsigned>(k);
      const std::uint32_t here = 1U << source;
      const std::uint32_t add_low = simt::shuffle(low[0], source) & (0xfffffffeU << source);
      const std::uint32_t add_high = simt::shuffle(low[1], source);
      const std::uint32_t from = simt::shuffle(to_low, source) | here;
      if ((low[0] & left & here) != 0) {
        low[0] |= add_low;
        low[1] |= add_high;
        to_low |= from;
      }
      if ((high[0] & here) != 0) {
        high[0] |= add_low;
        high[1] |= add_high;
        to_high[0] |= from;
      }
    }
  }
  GSOFA_UNROLL for (int begin = 0; begin < 32; begin += piece) {
    if (begin + 33 >= w) break;
    GSOFA_UNROLL for (int k = begin; k < begin + piece; ++k) {
      const auto source = static_cast<unsigned>(k);
      const std::uint32_t here = 1U << source;
      const std::uint32_t add = simt::shuffle(high[1], source) & (0xfffffffeU << source);
      const std::uint32_t from_low = simt::shuffle(to_high[0], source);
      const std::uint32_t from_high = simt::shuffle(to_high[1], source) | here;
      if ((high[1] & left & here) != 0) {
        high[1] |= add;
        to_high[0] |= from_low;
        to_high[1] |= from_high;
      }
    }
  }
  rows = {joined(low[0], low[1]), joined(high[0], high[1])};
  return {to_low, joined(to_high[0], to_high[1])};
}

/// Closes the diagonal block of a panel: the state's rows and l, cols and u. Needs a barrier behind
/// it.
GSOFA_DEVICE void close_diagonal(const mask_pair* masks, index_t w, worker_state& s, bool of_rows,
                                 bool of_columns) {
  const auto lane = static_cast<index_t>(lane_index());
  const mask_pair low = lane < w ? masks[lane] : mask_pair{0, 0};
  const mask_pair high = lane + 32 < w ? masks[lane + 32] : mask_pair{0, 0};
  const row_pair upper{low.upper, high.upper};  // of column z, the rows above the diagonal
  const row_pair lower{low.lower, high.lower};  // of row z, the columns left of it
  for (int side = 0; side < 2; ++side) {
    if (!(side == 0 ? of_rows : of_columns)) continue;
    row_pair m = transposed(side == 0 ? upper : lower);
    m.low |= side == 0 ? lower.low : upper.low;
    m.high |= side == 0 ? lower.high : upper.high;
    const row_pair to = eliminate_block(m, w);
    const row_pair from = transposed(to);
    mask_t* const block = side == 0 ? s.rows : s.cols;
    reach& r = side == 0 ? s.l : s.u;
    block[lane] = m.low;
    block[lane + 32] = m.high;
    r.to[lane] = to.low;
    r.to[lane + 32] = to.high;
    r.from[lane] = from.low;
    r.from[lane + 32] = from.high;
  }
}

/// m with all that its members reach. By halves of 32 bits: what a member reaches is behind it.
GSOFA_DEVICE mask_t closure(mask_t m, const reach& r) {
  std::uint32_t low = low_half(m);
  std::uint32_t high = high_half(m);
  for (std::uint32_t todo = low; todo != 0;) {
    const mask_t reached = r.from[simt::lowest_bit(todo)];
    low |= low_half(reached);
    high |= high_half(reached);
    todo &= (todo - 1) & ~low_half(reached);
  }
  for (std::uint32_t todo = high; todo != 0;) {
    const std::uint32_t reached = high_half(r.from[32 + simt::lowest_bit(todo)]);
    high |= reached;
    todo &= (todo - 1) & ~reached;
  }
  return joined(low, high);
}

/// Of each m[q] those members that reach no other member.
template <int Count>
GSOFA_DEVICE void keep_last(mask_t (&m)[Count], const reach* const (&r)[Count]) {
  mask_t last[Count];
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) last[q] = 0;
  for (;;) {
    mask_t left = 0;
    GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
      if (m[q] != 0) {
        const unsigned k = simt::highest_bit(m[q]);
        const mask_t here = bit(static_cast<index_t>(k));
        last[q] |= here;
        m[q] &= ~(here | r[q]->to[k]);
      }
      left |= m[q];
    }
    if (left == 0) break;
  }
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) m[q] = last[q];
}

GSOFA_DEVICE mask_t or_over_warp(mask_t m) {
  return joined(simt::or_of_warp(low_half(m)), simt::or_of_warp(high_half(m)));
}

/// OR over the lanes before this one.
GSOFA_DEVICE mask_t or_of_lower_lanes(mask_t m) {
  for (unsigned step = 1; step < 32; step *= 2) {
    const mask_t before = simt::shuffle_up(m, step);
    if (lane_index() >= step) m |= before;
  }
  const mask_t before = simt::shuffle_up(m, 1);
  return lane_index() == 0 ? 0 : before;
}

/// Union of the targets of the members of m.
GSOFA_DEVICE mask_t targets_of(mask_t m, const route& r) {
  mask_t found = 0;
  for (std::uint32_t todo = low_half(m); todo != 0; todo &= todo - 1) {
    found |= r.targets[simt::lowest_bit(todo)];
  }
  for (std::uint32_t todo = high_half(m); todo != 0; todo &= todo - 1) {
    found |= r.targets[32 + simt::lowest_bit(todo)];
  }
  return found;
}

/// Union of the targets of the active members of m. Nearly all targets take one source only: these
/// are also all but those of the active that are no members, and the fewer of both are gone
/// through.
GSOFA_DEVICE mask_t routed(mask_t m, const route& r) {
  const mask_t members = m & r.active;
  const mask_t others = r.active & ~m;
  if (simt::population(others) >= simt::population(members)) return targets_of(members, r);
  mask_t found = r.all & ~r.several & ~targets_of(others, r);
  mask_t unclear = r.several;
  for (mask_t todo = members; unclear != 0 && todo != 0; todo &= todo - 1) {
    const mask_t taken = r.targets[simt::lowest_bit(todo)] & unclear;
    found |= taken;
    unclear &= ~taken;
  }
  return found;
}

/// Sets the route by one warp: lane l holds what targets l and l + 32 take.
GSOFA_DEVICE void set_route(route& r, mask_t low, mask_t high) {
  const unsigned lane = lane_index();
  const row_pair by_source = transposed({low, high});
  r.targets[lane] = by_source.low;
  r.targets[lane + 32] = by_source.high;
  const unsigned active_low = simt::ballot(by_source.low != 0);
  const unsigned active_high = simt::ballot(by_source.high != 0);
  const unsigned all_low = simt::ballot(low != 0);
  const unsigned all_high = simt::ballot(high != 0);
  const unsigned several_low = simt::ballot((low & (low - 1)) != 0);
  const unsigned several_high = simt::ballot((high & (high - 1)) != 0);
  if (lane == 0) {
    r.active = joined(active_low, active_high);
    r.all = joined(all_low, all_high);
    r.several = joined(several_low, several_high);
  }
}

/// One position of the panel at hand.
struct position {
  mask_pair masks;
  index_t z;
  index_t vertex;
  index_t place;  ///< in the panel one step above, then in those further up
};

/// ORs into the masks of the active targets what some positions have for them.
template <int unroll>
GSOFA_DEVICE void push_positions(const panel_view& p, position (&here)[unroll], index_t length,
                                 std::uint32_t active, worker_state& s) {
  index_t steps = 1;
  for (; active != 0; active &= active - 1) {
    const target_routes& routes = s.routes()[simt::lowest_bit(active)];
    // Targets ascend: positions before the end of one are none of the later ones.
    for (; steps < routes.steps; ++steps) {
      const offset_t base = s.above_begin[steps - 1];
      GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
        position& at = here[u];
        if (at.z >= routes.end && at.z < length) at.place = p.in_parent[base + at.place];
      }
    }
    mask_pair add[unroll];
    mask_pair old[unroll];
    mask_pair* out[unroll];
    GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
      const position& at = here[u];
      add[u] = old[u] = {0, 0};
      out[u] = p.masks;
      if (at.z < routes.begin || at.z >= length) continue;
      add[u] = {routed(at.masks.upper, routes.upper), routed(at.masks.lower, routes.lower)};
      if ((add[u].upper | add[u].lower) == 0) continue;
      index_t to = at.place;
      if (at.z < routes.end) {
        // Among the targets themselves: U(t, f) and L(f, t) with t < f only.
        to = at.vertex - routes.vertices;
        add[u] = {add[u].upper & below(to), add[u].lower & below(to)};
      } else if (routes.steps == 0) {
        to = p.position(routes.panel, at.vertex);
      }
      out[u] = p.masks + routes.first + to;
    }
    if (routes.alone) {
      GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
        if ((add[u].upper | add[u].lower) != 0) old[u] = *out[u];
      }
      GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
        if ((add[u].upper | add[u].lower) == 0) continue;
        *out[u] = {old[u].upper | add[u].upper, old[u].lower | add[u].lower};
      }
      continue;
    }
    // Bits are never cleared: what is there already need not be added.
    GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
      if ((add[u].upper | add[u].lower) == 0) continue;
      old[u] = {simt::load_shared_state(&out[u]->upper), simt::load_shared_state(&out[u]->lower)};
    }
    GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
      if ((add[u].upper | add[u].lower) == 0) continue;
      if ((add[u].upper & ~old[u].upper) != 0) simt::atomic_or(&out[u]->upper, add[u].upper);
      if ((add[u].lower & ~old[u].lower) != 0) simt::atomic_or(&out[u]->lower, add[u].lower);
    }
  }
}

/// Completes the masks of panel j and passes what it changes in its ancestors on to theirs. Ends
/// with a barrier.
///
/// In rounds of one target panel per warp, ascending: whether row k goes to a target depends on the
/// targets before it only through `unpruned`. The first round closes the positions of its targets
/// for itself, then every position is closed, stored and pushed at once; masks are read once. Later
/// rounds, for what is not pruned by then, read closed masks.
template <tier Tier>
GSOFA_DEVICE void close_and_push(const elimination_view& e, index_t j, const panel_place& place,
                                 worker_state& s, unsigned side) {
  using team = worker<Tier>;
  const panel_view& p = e.p;
  constexpr int unroll = team::unroll;
  const index_t wide_rank = team::wide_rank();
  const bool leads = wide_rank == 0;
  const index_t w = place.width;
  const index_t length = place.length;
  const unsigned lane = lane_index();
  const unsigned warp = team::warp();
  const unsigned warps = team::warps();
  const offset_t first = place.first;
  const offset_t end = place.word_end;
  mask_pair* const masks = p.masks + first;
  target_routes* const routes = s.routes();
  target_routes& mine = routes[warp];

  // A word by one warp: lane l has what its vertices l and l + 32 have, if they are in the
  // boundary.
  struct loaded_word {
    mask_pair low, high;
  };
  const auto load = [&](offset_t q) {
    loaded_word m{{0, 0}, {0, 0}};
    if (q >= end) return m;
    const mask_t members = p.word_mask[q];
    const index_t at = p.word_first[q];
    const std::uint32_t before = low_half(members);
    const std::uint32_t behind = high_half(members);
    const std::uint32_t here = 1U << lane;
    if ((before & here) != 0) {
      m.low = masks[at + static_cast<index_t>(simt::population(before & lower_lanes()))];
    }
    if ((behind & here) != 0) {
      m.high = masks[at + static_cast<index_t>(simt::population(before) +
                                               simt::population(behind & lower_lanes()))];
    }
    if (lane == 0) {
      const index_t target = p.word_panel[q];
      mine.panel = target;
      mine.vertices = p.begin[target];
      mine.first = p.position_begin[target];
      mine.begin = at;
      mine.end = at + static_cast<index_t>(simt::population(members));
    }
    return m;
  };
  loaded_word m = load(place.word_begin + warp);
  GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
    const index_t z = w + wide_rank + u * team::wide_size();
    if (z >= length) break;
    simt::prefetch(masks + z);
    simt::prefetch(p.columns + first + z);
    simt::prefetch(p.in_parent + first + z);
  }
  if (warp == 0 || warp == warps - 1) {
    close_diagonal(masks, w, s, warp == 0, warp == warps - 1);
  }
  if (warp == warps / 2 && lane < static_cast<unsigned>(most_steps)) {
    const index_t above = p.above[offset_t{j} * most_steps + lane];
    s.above_begin[lane] = above < 0 ? -1 : p.position_begin[above];
    if (lane == 0) {
      if (above >= 0) s.parent[side] = place_of(p, above);
      s.alone_steps = p.lone[j];
      s.any_upper = s.any_lower = 0;
    }
  }
  if constexpr (team::is_cluster) {
    if (leads) {
      cluster_state& c = e.clusters[simt::block_index() / simt::cluster_size()];
      c.any_upper[side ^ 1U] = c.any_lower[side ^ 1U] = 0;
    }
  }
  // Masks are written behind this barrier only, when all have read what they need.
  team::sync_wide();
  note(e.stamps, j, stamp_diagonal, leads);
  for (index_t k = wide_rank; k < w; k += team::wide_size()) {
    masks[k] = {s.cols[k] & below(k), s.rows[k] & below(k)};
  }
  if (length == w) {
    team::sync_wide();
    return;
  }

  // k without any s in the panel with L(s, k) != 0 and U(k, s) != 0
  mask_t unpruned = 0;
  {
    const auto k = static_cast<index_t>(lane);
    const unsigned low = simt::ballot((s.rows[k] & s.cols[k] & above(k)) != 0);
    const unsigned high = simt::ballot((s.rows[k + 32] & s.cols[k + 32] & above(k + 32)) != 0);
    unpruned = ~joined(low, high) & (w < mask_bits ? below(w) : ~mask_t{0});
  }
  bool closed = false;
  for (offset_t word = place.word_begin; word < end; word += warps) {
    if constexpr (detail::counting) {
      if (leads) simt::atomic_add(e.counters + count_rounds, 1ULL);
    }
    if (closed) {
      m = load(word + warp);
    } else {
      m = {{closure(m.low.upper, s.l), closure(m.low.lower, s.u)},
           {closure(m.high.upper, s.l), closure(m.high.lower, s.u)}};
    }
    const mask_t both_low = m.low.upper & m.low.lower;
    const mask_t both_high = m.high.upper & m.high.lower;
    const mask_t all_low = or_over_warp(both_low);
    const mask_t all_high = or_over_warp(both_high);
    if (lane == 0) mine.both = all_low | all_high;
    team::sync();
    mask_t before = unpruned;
    for (unsigned v = 0; v < warps; ++v) {
      const mask_t both = routes[v].both;
      if (v < warp) before &= ~both;
      unpruned &= ~both;
    }
    if (before != 0 && word + warp < end) {
      const mask_t low = before & ~or_of_lower_lanes(both_low);
      const mask_t high = before & ~all_low & ~or_of_lower_lanes(both_high);
      // Row k goes to target t for the k of L(t, :) that reach no other, and the other way round.
      mask_t last[] = {m.low.lower, m.high.lower, m.low.upper, m.high.upper};
      const reach* const by[] = {&s.l, &s.l, &s.u, &s.u};
      keep_last(last, by);
      set_route(mine.upper, low & last[0], high & last[1]);
      set_route(mine.lower, low & last[2], high & last[3]);
      // Is the target one of the next ancestors?
      const bool there =
          lane < static_cast<unsigned>(most_steps) && s.above_begin[lane] == mine.first;
      const unsigned step = simt::ballot(there);
      if (lane == 0) {
        mine.steps = step == 0 ? 0 : static_cast<index_t>(simt::lowest_bit(step)) + 1;
        mine.alone = step != 0 && mine.steps <= s.alone_steps;
      }
    } else if (lane == 0) {
      mine.upper.active = mine.lower.active = 0;
    }
    team::sync();
    if (!closed) note(e.stamps, j, stamp_routed, leads);
    std::uint32_t active = 0;
    for (unsigned v = 0; v < warps; ++v) {
      if ((routes[v].upper.active | routes[v].lower.active) == 0) continue;
      active |= std::uint32_t{1} << v;
      if constexpr (detail::counting) {
        if (leads) {
          simt::atomic_add(e.counters + count_pushes, 1ULL);
          simt::atomic_add(e.counters + count_push_positions,
                           static_cast<unsigned long long>(length - routes[v].begin));
        }
      }
    }
    mask_pair any{0, 0};
    index_t from = w;
    if (closed) from = active == 0 ? length : routes[simt::lowest_bit(active)].begin;
    for (index_t z = from + wide_rank; z < length; z += unroll * team::wide_size()) {
      position here[unroll];
      GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
        const index_t at = z + u * team::wide_size();
        here[u] = {{0, 0}, at, 0, 0};
        if (at < length) {
          here[u] = {masks[at], at, p.columns[first + at], p.in_parent[first + at]};
        }
      }
      if (!closed) {
        GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
          mask_pair& m_here = here[u].masks;
          m_here = {closure(m_here.upper, s.l), closure(m_here.lower, s.u)};
          if (here[u].z < length) masks[here[u].z] = m_here;
          any = {any.upper | m_here.upper, any.lower | m_here.lower};
        }
      }
      push_positions(p, here, length, active, s);
    }
    if (!closed) {
      closed = true;
      note(e.stamps, j, stamp_closed, leads);
      if (word + warps >= end) break;
      any = {or_over_warp(any.upper), or_over_warp(any.lower)};
      if (lane == 0) {
        simt::atomic_or(&s.any_upper, any.upper);
        simt::atomic_or(&s.any_lower, any.lower);
      }
      team::sync();
      any = {s.any_upper, s.any_lower};
      if constexpr (team::is_cluster) {
        cluster_state& c = e.clusters[simt::block_index() / simt::cluster_size()];
        if (team::rank() == 0) {
          simt::atomic_or(&c.any_upper[side], any.upper);
          simt::atomic_or(&c.any_lower[side], any.lower);
        }
        team::sync_wide();
        any = {simt::load_shared_state(&c.any_upper[side]),
               simt::load_shared_state(&c.any_lower[side])};
      }
      // Row k is pushed along entries of column k and the other way round: both must be there.
      unpruned &= any.upper & any.lower;
    } else {
      team::sync();
    }
    if (unpruned == 0) break;
  }
  team::sync_wide();
}

/// Eliminates panel j and all panels above it whose last child this worker finishes, but for those
/// that are left to the next launch. `side` alternates from panel to panel.
template <tier Tier>
GSOFA_DEVICE void follow(const elimination_view& e, index_t j, worker_state& s, unsigned& side) {
  using team = worker<Tier>;
  const bool leads = team::wide_rank() == 0;
  panel_place place = place_of(e.p, j);
  for (;; side ^= 1U) {
    if (place.length > e.most) {
      if (leads) e.list[simt::atomic_add(e.list_count, std::uint32_t{1})] = j;
      return;
    }
    if constexpr (detail::counting) {
      if (leads && !team::is_warp) simt::atomic_add(e.counters + count_block_panels, 1ULL);
    }
    note(e.stamps, j, stamp_begin, leads);
    note(e.stamps, j, stamp_start, leads);
    close_and_push<Tier>(e, j, place, s, side);
    note(e.stamps, j, stamp_pushed, leads);
    const index_t parent = e.p.parent[j];
    const index_t finished = j;
    if (parent < 0) {
      j = -1;
    } else if (e.children[parent] == 1) {
      j = parent;
    } else {
      index_t* next = &s.panel;
      if constexpr (team::is_cluster) {
        next = &e.clusters[simt::block_index() / simt::cluster_size()].panel;
      }
      if (leads) {
        const bool last =
            simt::atomic_increment_acq_rel(e.finished + parent) + 1 == e.children[parent];
        *next = last ? parent : -1;
      }
      team::sync_wide();
      j = simt::load_shared_state(next);
    }
    note(e.stamps, finished, stamp_handed, leads);
    note(e.stamps, finished, stamp_end, leads);
    if (j < 0) break;
    place = s.parent[side];
  }
  side ^= 1U;
}

/// First launch: a warp per leaf and what follows it.
GSOFA_BOUNDED_KERNEL(warp_threads) void warp_panels_kernel(elimination_view e) {
  worker_state& s = *reinterpret_cast<worker_state*>(simt::shared_memory<unsigned char>() +
                                                     simt::thread_index() / 32 * state_bytes(1));
  unsigned side = 0;
  for (;;) {
    std::uint32_t ticket = 0;
    if (lane_index() == 0) ticket = simt::atomic_add(e.ticket, std::uint32_t{1});
    ticket = simt::shuffle(ticket, 0);
    if (ticket >= static_cast<std::uint32_t>(e.p.panels)) return;
    if (e.children[ticket] != 0) continue;
    follow<tier::warp>(e, static_cast<index_t>(ticket), s, side);
    simt::sync_warp();
  }
}

/// Panels of the list in turn, by workers of one tier: `next` is where its leader tells the others.
template <tier Tier>
GSOFA_DEVICE void take_listed(const elimination_view& e, worker_state& s, index_t* next) {
  using team = worker<Tier>;
  unsigned side = 0;
  for (;;) {
    if (team::wide_rank() == 0) {
      const std::uint32_t ticket = simt::atomic_add(e.ticket, std::uint32_t{1});
      *next = ticket < *e.from_count ? e.from[ticket] : -1;
    }
    team::sync_wide();
    const index_t j = simt::load_shared_state(next);
    team::sync_wide();
    if (j < 0) return;
    follow<Tier>(e, j, s, side);
    team::sync_wide();
  }
}

/// Second launch: a block per listed panel and what follows it.
GSOFA_BOUNDED_KERNEL(most_warps * 32) void block_panels_kernel(elimination_view e) {
  worker_state& s = *simt::shared_memory<worker_state>();
  take_listed<tier::block>(e, s, &s.panel);
}

/// Third launch: a cluster of blocks per panel that the second has listed and what follows it.
GSOFA_BOUNDED_KERNEL(most_warps * 32) void cluster_panels_kernel(elimination_view e) {
  worker_state& s = *simt::shared_memory<worker_state>();
  take_listed<tier::cluster>(e, s, &e.clusters[simt::block_index() / simt::cluster_size()].panel);
}

}  // namespace

void panel_elimination::prepare(index_t n, const elimination_settings& settings,
                                memory_budget& budget) {
  settings_ = settings;
  ready_ = {budget, "schedule", n};
  long_ready_ = {budget, "schedule", n};
  counters_ = {budget, "control", elimination_counters};
  if (detail::counting) stamps_ = {budget, "stamps", offset_t{n} * panel_stamps};
  const int threads = settings_.warps_per_block * 32;
  const std::size_t bytes = state_bytes(settings_.warps_per_block);
  warp_blocks_ = std::max(
      1, resident_blocks(warp_panels_kernel, warp_threads, warp_threads / 32 * state_bytes(1)));
  block_blocks_ = std::max(1, resident_blocks(block_panels_kernel, threads, bytes));
  clusters_ =
      settings_.blocks_per_cluster > 1
          ? resident_clusters(cluster_panels_kernel, settings_.blocks_per_cluster, threads, bytes)
          : 0;
  constexpr auto words = static_cast<offset_t>(sizeof(cluster_state) / 8);
  cluster_states_ = {budget, "control", clusters_ * words};
}

void panel_elimination::run(const panel_structure& structure) {
  if constexpr (detail::counting) {
    fill_bytes(counters_.data(), 0, elimination_counters);
    fill_bytes(stamps_.data(), 0, stamps_.size());
  }
  const index_t longest = structure.longest();
  const int threads = settings_.warps_per_block * 32;
  const std::size_t bytes = state_bytes(settings_.warps_per_block);
  std::uint32_t* const tickets = structure.control();
  std::uint32_t* const counts = tickets + 3;
  elimination_view e{};
  e.p = structure.view();
  e.children = structure.children();
  e.finished = structure.finished();
  e.clusters = reinterpret_cast<cluster_state*>(cluster_states_.data());
  e.counters = counters_.data();
  e.stamps = stamps_.data();

  e.ticket = tickets;
  e.list = ready_.data();
  e.list_count = counts;
  e.most = settings_.warp_positions;
  launch(warp_panels_kernel, warp_blocks_, warp_threads, warp_threads / 32 * state_bytes(1), e);
  if (longest <= e.most) return;

  e.ticket = tickets + 1;
  e.from = ready_.data();
  e.from_count = counts;
  e.list = long_ready_.data();
  e.list_count = counts + 1;
  e.most = clusters_ > 0 ? settings_.cluster_positions : max_index;
  launch(block_panels_kernel, block_blocks_, threads, bytes, e);
  if (longest <= e.most) return;

  fill_bytes(cluster_states_.data(), 0, cluster_states_.size());
  e.ticket = tickets + 2;
  e.from = long_ready_.data();
  e.from_count = counts + 1;
  e.most = max_index;
  launch_clusters(cluster_panels_kernel, clusters_, settings_.blocks_per_cluster, threads, bytes,
                  e);
}

void panel_elimination::report([[maybe_unused]] const panel_view& panels,
                               [[maybe_unused]] execution& exec) const {
  if constexpr (detail::counting) {
    auto& totals = exec.counters.totals;
    unsigned long long work[elimination_counters] = {};
    copy_to_host(work, static_cast<const unsigned long long*>(counters_.data()),
                 elimination_counters);
    const char* const names[elimination_counters] = {"block_panels", "push_rounds", "pushes",
                                                     "push_positions"};
    for (int k = 0; k < elimination_counters; ++k) {
      totals[names[k]] = static_cast<std::int64_t>(work[k]);
    }
    const auto count = static_cast<std::size_t>(panels.panels);
    std::vector<unsigned long long> stamps(count * panel_stamps);
    std::vector<index_t> parent(count);
    copy_to_host(stamps.data(), static_cast<const unsigned long long*>(stamps_.data()),
                 static_cast<offset_t>(stamps.size()));
    copy_to_host(parent.data(), panels.parent, panels.panels);
    const auto at = [&](std::size_t j, panel_stamp point) {
      return stamps[j * panel_stamps + static_cast<std::size_t>(point)];
    };
    // The realised critical path: from the panel finished last down to the child finished last.
    std::vector<index_t> last_child(count, -1);
    std::size_t last = 0;
    unsigned long long begin = at(0, stamp_begin);
    for (std::size_t j = 0; j < count; ++j) {
      begin = std::min(begin, at(j, stamp_begin));
      if (at(j, stamp_end) > at(last, stamp_end)) last = j;
      if (parent[j] < 0) continue;
      index_t& best = last_child[static_cast<std::size_t>(parent[j])];
      if (best < 0 || at(j, stamp_end) > at(static_cast<std::size_t>(best), stamp_end)) {
        best = static_cast<index_t>(j);
      }
    }
    const auto add = [&](const std::string& what, std::size_t j) {
      // Panels without a boundary end with their diagonal block.
      const char* const parts[] = {"diagonal", "routes", "sweep", "more_pushes", "hand_over"};
      auto before = at(j, stamp_start);
      for (int k = 0; k < 5; ++k) {
        const auto now = std::max(before, at(j, static_cast<panel_stamp>(stamp_diagonal + k)));
        totals[what + "_" + parts[k] + "_cycles"] += static_cast<std::int64_t>(now - before);
        before = now;
      }
      totals[what + "_ns"] += static_cast<std::int64_t>(at(j, stamp_end) - at(j, stamp_begin));
    };
    for (std::size_t j = 0; j < count; ++j) add("all", j);
    for (auto j = static_cast<index_t>(last); j >= 0; j = last_child[static_cast<std::size_t>(j)]) {
      add("path", static_cast<std::size_t>(j));
      ++totals["path_panels"];
    }
    totals["elimination_ns"] = static_cast<std::int64_t>(at(last, stamp_end) - begin);
  }
}

}  // namespace gsofa::gpu

#endif
