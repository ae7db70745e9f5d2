// Elimination over panels: closes each panel once all below it have been pushed, then pushes it.
//
// The rule and the two reductions are those of cpu_bitmap_panels.cpp, where they are proved.
//
// Schedule. Every panel counts its unfinished children. A worker (a warp, or a block) takes leaves
// by ticket; who finishes the last child of a panel goes on with that panel, others take the next
// leaf. No worker ever waits for another outside a barrier of its own threads: any worker that
// runs makes progress, whatever the others do, and whether or not they are resident.
//
// Two launches. In the first the workers are warps, and a panel of more than `warp_positions`
// positions whose children are all done is put on a list instead. In the second they are blocks;
// the tickets are the places of that list. Every panel not done in the first has one of the list in
// its subtree, itself perhaps: if all its children are done, the worker that finished the last of
// them (or drew its ticket) put it there; otherwise a child is not done, and so on down.
//
// Memory order. Masks of a panel P are written by atomic ORs of workers of panels below P, then by
// plain loads and stores of P's worker. Let W be a worker that has pushed C, any panel below P.
//  * The ORs of W's threads happen before the barrier at the end of push(), and this before the
//    decrement of C's parent's counter by W's thread 0, which is a release (device scope; the
//    barrier orders its own threads at block scope, and causality order is transitive).
//  * Decrements of one counter are read-modify-writes: they form one release sequence. Who reads 1
//    is last and acquires from all before. The same thread then passes a barrier with the other
//    threads of its worker, and only behind it they load masks. By induction along the tree, this
//    includes what all panels below the children did.
//  * A panel with one child needs no counter: what panels below the child did happens before the
//    child's masks were read, and what was done for the child is by threads of the same worker,
//    before a barrier of theirs.
//  * ORs among workers race only with each other: relaxed is enough, since OR commutes and no bit
//    is read before the counter of its panel is zero.
// The list of the first launch is read in the second: ordered by the end of the grid.

#include "variants/detail/gpu/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "variants/detail/counting.hpp"
#include "variants/detail/gpu/bitmap_panels.hpp"

namespace gsofa::gpu {

namespace {

/// Places in an ancestor up to so many steps above are found by in_parent, step by step.
constexpr index_t most_steps = 4;
/// Positions that a thread works on at a time, so that their loads overlap.
constexpr int unroll = 4;

/// What one target panel takes of the panel at hand; shared memory, one per warp.
struct target_routes {
  mask_t upper[mask_bits];  ///< [r]: its columns t that take row r of U; valid once r is active
  mask_t lower[mask_bits];  ///< [r]: its rows that take column r of L
  mask_t upper_active;      ///< r with upper[r] != 0
  mask_t lower_active;
  mask_t both;    ///< k with L(t, k) != 0 and U(k, t) != 0 for some target t
  index_t panel;  ///< the target
  index_t begin;  ///< positions of the panel at hand that are vertices of the target
  index_t end;
  index_t steps;  ///< the target's place on the way up from the panel at hand, from 1; 0: far
};

/// Shared memory of a worker, before the routes of its warps.
struct worker_state {
  mask_t rows[mask_bits];     ///< diagonal block: [r]: columns of row r
  mask_t cols[mask_bits];     ///< its transpose
  mask_t l_reach[mask_bits];  ///< [k]: rows > k reached by edges k -> i with L(i, k) != 0
  mask_t u_reach[mask_bits];  ///< [k]: columns > k reached by edges k -> i with U(k, i) != 0
  mask_t any_upper;           ///< k with an entry of U(k, :) in the boundary
  mask_t any_lower;           ///< k with an entry of L(:, k) in the boundary
  offset_t above_begin[most_steps];  ///< [s]: where positions of the panel s + 1 steps above begin
  index_t panel;                     ///< the worker's next; -1: none

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
  stamp_handed,  ///< parent told
  panel_stamps
};

constexpr int warp_threads = 128;  // of a block of the first launch

struct elimination_view {
  panel_view p;
  const std::uint32_t* children;
  std::uint32_t* unfinished;
  std::uint32_t* ticket;
  std::uint32_t* ready_count;
  index_t* ready;
  index_t warp_positions;
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

/// The threads that work on one panel: a warp, or a block.
template <bool Block>
struct worker {
  static GSOFA_DEVICE index_t rank() {
    return static_cast<index_t>(Block ? simt::thread_index() : lane_index());
  }
  static GSOFA_DEVICE index_t size() {
    return Block ? static_cast<index_t>(simt::block_size()) : 32;
  }
  static GSOFA_DEVICE void sync() {
    if constexpr (Block) {
      simt::sync_block();
    } else {
      simt::sync_warp();
    }
  }
  /// Warps of the worker, and this thread's.
  static GSOFA_DEVICE unsigned warps() { return Block ? simt::block_size() / 32 : 1; }
  static GSOFA_DEVICE unsigned warp() { return Block ? simt::thread_index() / 32 : 0; }
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

/// Gaussian elimination without cancellation on the leading w x w block, by one warp. Step k: rows
/// i > k with bit k take in the bits > k of row k. Returns reaching[i]: the k from which i is
/// reached by edges k -> i with bit k in row i, k < i. Bit k of row i is final at step k, and so is
/// reaching[k]. On the transpose the same steps yield the transposed result. Two steps at a time:
/// every lane makes the first one on row k + 1 by itself.
GSOFA_DEVICE row_pair eliminate_block(row_pair& rows, index_t w) {
  const auto lane = static_cast<index_t>(lane_index());
  row_pair to{0, 0};
  const auto take = [](mask_t& row, mask_t& reaching, index_t i, index_t k, mask_t add, mask_t from) {
    if (i > k && (row >> k & 1U) != 0) {
      row |= add;
      reaching |= from;
    }
  };
  for (index_t k = 0; k + 1 < w; k += 2) {
    const auto lane_of_k = static_cast<unsigned>(k) & 31U;
    mask_t add[2];
    mask_t from[2];
    for (unsigned q = 0; q < 2; ++q) {
      add[q] = simt::shuffle(k < 32 ? rows.low : rows.high, lane_of_k + q);
      from[q] = simt::shuffle(k < 32 ? to.low : to.high, lane_of_k + q);
    }
    add[0] &= above(k);
    from[0] |= bit(k);
    take(add[1], from[1], k + 1, k, add[0], from[0]);
    add[1] &= above(k + 1);
    from[1] |= bit(k + 1);
    for (index_t q = 0; q < 2; ++q) {
      take(rows.low, to.low, lane, k + q, add[q], from[q]);
      take(rows.high, to.high, lane + 32, k + q, add[q], from[q]);
    }
  }
  return to;
}

/// Closes the diagonal block of a panel: the state's rows and l_reach, cols and u_reach. Needs a
/// barrier behind it.
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
    const row_pair reach = transposed(eliminate_block(m, w));
    mask_t* const block = side == 0 ? s.rows : s.cols;
    mask_t* const reaches = side == 0 ? s.l_reach : s.u_reach;
    block[lane] = m.low;
    block[lane + 32] = m.high;
    reaches[lane] = reach.low;
    reaches[lane + 32] = reach.high;
  }
}

/// m with all that its members reach; reach[k] holds bits > k only and is closed.
GSOFA_DEVICE mask_t closure(mask_t m, const mask_t* reach) {
  for (mask_t todo = m; todo != 0;) {
    const mask_t r = reach[simt::lowest_bit(todo)];
    m |= r;
    todo &= (todo - 1) & ~r;
  }
  return m;
}

/// Members of `candidates`, a subset of m, from which `reach` leads to no member of m.
GSOFA_DEVICE mask_t uncovered(mask_t candidates, mask_t m, const mask_t* reach) {
  mask_t kept = 0;
  for (; candidates != 0; candidates &= candidates - 1) {
    const unsigned j = simt::lowest_bit(candidates);
    if ((reach[j] & m) == 0) kept |= bit(static_cast<index_t>(j));
  }
  return kept;
}

GSOFA_DEVICE mask_t or_over_warp(mask_t m) {
  for (unsigned step = 16; step > 0; step /= 2) m |= simt::shuffle_xor(m, step);
  return m;
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
GSOFA_DEVICE mask_t routed(mask_t m, const mask_t* targets) {
  mask_t found = 0;
  for (; m != 0; m &= m - 1) found |= targets[simt::lowest_bit(m)];
  return found;
}

/// One position of the panel at hand.
struct position {
  mask_pair masks;
  index_t z;
  index_t vertex;
  index_t in_parent;  ///< its place in the parent panel
};

/// ORs into the masks of the active targets what a position has for them.
GSOFA_DEVICE void push_position(const panel_view& p, const position& here,
                                std::uint32_t active, worker_state& s) {
  index_t place = here.in_parent;
  index_t steps = 1;
  // Targets ascend: those behind the first that begins behind z do so too.
  for (; active != 0; active &= active - 1) {
    const target_routes& routes = s.routes()[simt::lowest_bit(active)];
    if (here.z < routes.begin) return;
    mask_t upper = routed(here.masks.upper & routes.upper_active, routes.upper);
    mask_t lower = routed(here.masks.lower & routes.lower_active, routes.lower);
    if ((upper | lower) == 0) continue;
    const index_t target = routes.panel;
    index_t to = 0;
    if (here.z < routes.end) {
      // Among the targets themselves: U(t, f) and L(f, t) with t < f only.
      to = here.vertex - p.begin[target];
      upper &= below(to);
      lower &= below(to);
    } else if (routes.steps > 0) {
      for (; steps < routes.steps; ++steps) place = p.in_parent[s.above_begin[steps - 1] + place];
      to = place;
    } else {
      to = p.position(target, here.vertex);
    }
    mask_pair& out = p.masks[p.position_begin[target] + to];
    if (upper != 0) simt::atomic_or(&out.upper, upper);
    if (lower != 0) simt::atomic_or(&out.lower, lower);
  }
}

/// Completes the masks of panel j and passes what it changes in its ancestors on to theirs. Ends
/// with a barrier.
///
/// In rounds of one target panel per warp, ascending: whether row k goes to a target depends on the
/// targets before it only through `unpruned`. The first round closes the positions of its targets
/// for itself, then every position is closed, stored and pushed at once; masks are read once. Later
/// rounds, for what is not pruned by then, read closed masks.
template <bool Block>
GSOFA_DEVICE void close_and_push(const panel_view& p, index_t j, worker_state& s,
                                 [[maybe_unused]] unsigned long long* counters,
                                 unsigned long long* stamps) {
  using team = worker<Block>;
  const index_t rank = team::rank();
  const index_t w = p.width(j);
  const index_t length = p.length(j);
  const unsigned lane = lane_index();
  const unsigned warp = team::warp();
  const unsigned warps = team::warps();
  const offset_t first = p.position_begin[j];
  const offset_t end = p.word_begin[j + 1];
  const index_t parent = p.parent[j];
  mask_pair* const masks = p.masks + first;
  target_routes* const routes = s.routes();
  target_routes& mine = routes[warp];

  if (warp == 0 || warp == warps - 1) {
    close_diagonal(masks, w, s, warp == 0, warp == warps - 1);
  }
  if (warp == warps / 2 && lane == 0) {
    s.any_upper = s.any_lower = 0;
    index_t above = parent;
    for (index_t step = 0; step < most_steps; ++step) {
      s.above_begin[step] = above < 0 ? -1 : p.position_begin[above];
      if (above >= 0) above = p.parent[above];
    }
  }
  team::sync();
  note(stamps, j, stamp_diagonal, rank == 0);
  for (index_t k = rank; k < w; k += team::size()) {
    masks[k] = {s.cols[k] & below(k), s.rows[k] & below(k)};
  }
  if (length == w) {
    team::sync();
    return;
  }

  // k without any s in the panel with L(s, k) != 0 and U(k, s) != 0
  mask_t unpruned = 0;
  {
    const auto k = static_cast<index_t>(lane);
    const unsigned low = simt::ballot((s.rows[k] & s.cols[k] & above(k)) != 0);
    const unsigned high = simt::ballot((s.rows[k + 32] & s.cols[k + 32] & above(k + 32)) != 0);
    unpruned = ~(static_cast<mask_t>(high) << 32 | low) & (w < mask_bits ? below(w) : ~mask_t{0});
  }
  bool closed = false;
  for (offset_t word = p.word_begin[j]; word < end; word += warps) {
    if constexpr (detail::counting) {
      if (rank == 0) simt::atomic_add(counters + count_rounds, 1ULL);
    }
    const offset_t q = word + warp;
    mask_pair m[2]{};  // of positions lane and lane + 32 of my word
    mask_t own[2]{};   // their vertices as bits of the target panel
    if (q < end) {
      const auto count = static_cast<unsigned>(simt::population(p.word_mask[q]));
      const index_t at = p.word_first[q];
      const index_t target = p.word_panel[q];
      const index_t target_begin = p.begin[target];
      for (unsigned half = 0; half < 2; ++half) {
        if (half * 32 + lane >= count) continue;
        const index_t z = at + static_cast<index_t>(half * 32 + lane);
        m[half] = masks[z];
        own[half] = bit(p.columns[first + z] - target_begin);
        if (!closed) {
          m[half] = {closure(m[half].upper, s.l_reach), closure(m[half].lower, s.u_reach)};
        }
      }
      // Lane l: is the target the ancestor l + 1 steps above?
      const bool there =
          lane < static_cast<unsigned>(most_steps) && s.above_begin[lane] == p.position_begin[target];
      const unsigned step = simt::ballot(there);
      if (lane == 0) {
        mine.panel = target;
        mine.begin = at;
        mine.end = at + static_cast<index_t>(count);
        mine.steps = step == 0 ? 0 : static_cast<index_t>(simt::lowest_bit(step)) + 1;
      }
      mine.upper[lane] = mine.upper[lane + 32] = 0;
      mine.lower[lane] = mine.lower[lane + 32] = 0;
    }
    const mask_t both_low = m[0].upper & m[0].lower;
    const mask_t both_high = m[1].upper & m[1].lower;
    const mask_t all_low = or_over_warp(both_low);
    const mask_t all_high = or_over_warp(both_high);
    if (lane == 0) mine.both = all_low | all_high;
    team::sync();
    mask_t before = unpruned;
    for (unsigned v = 0; v < warp; ++v) before &= ~routes[v].both;
    for (unsigned v = 0; v < warps; ++v) unpruned &= ~routes[v].both;
    mask_t upper_active = 0;
    mask_t lower_active = 0;
    if (before != 0) {
      const mask_t candidates[2] = {before & ~or_of_lower_lanes(both_low),
                                    before & ~all_low & ~or_of_lower_lanes(both_high)};
      for (unsigned half = 0; half < 2; ++half) {
        const mask_t u = uncovered(m[half].lower & candidates[half], m[half].lower, s.l_reach);
        const mask_t l = uncovered(m[half].upper & candidates[half], m[half].upper, s.u_reach);
        for (mask_t r = u; r != 0; r &= r - 1) {
          simt::atomic_or(mine.upper + simt::lowest_bit(r), own[half]);
        }
        for (mask_t r = l; r != 0; r &= r - 1) {
          simt::atomic_or(mine.lower + simt::lowest_bit(r), own[half]);
        }
        upper_active |= u;
        lower_active |= l;
      }
      upper_active = or_over_warp(upper_active);
      lower_active = or_over_warp(lower_active);
    }
    if (lane == 0) {
      mine.upper_active = upper_active;
      mine.lower_active = lower_active;
    }
    team::sync();
    if (!closed) note(stamps, j, stamp_routed, rank == 0);
    std::uint32_t active = 0;
    for (unsigned v = 0; v < warps; ++v) {
      if ((routes[v].upper_active | routes[v].lower_active) == 0) continue;
      active |= std::uint32_t{1} << v;
      if constexpr (detail::counting) {
        if (rank == 0) {
          simt::atomic_add(counters + count_pushes, 1ULL);
          simt::atomic_add(counters + count_push_positions,
                           static_cast<unsigned long long>(length - routes[v].begin));
        }
      }
    }
    mask_pair any{0, 0};
    index_t from = w;
    if (closed) from = active == 0 ? length : routes[simt::lowest_bit(active)].begin;
    for (index_t z = from + rank; z < length; z += unroll * team::size()) {
      position here[unroll];
      for (int u = 0; u < unroll; ++u) {
        const index_t at = z + u * team::size();
        here[u] = {{0, 0}, at, 0, 0};
        if (at < length) {
          here[u] = {masks[at], at, p.columns[first + at], p.in_parent[first + at]};
        }
      }
      for (int u = 0; u < unroll; ++u) {
        if (here[u].z >= length) break;
        mask_pair& m_here = here[u].masks;
        if (!closed) {
          m_here = {closure(m_here.upper, s.l_reach), closure(m_here.lower, s.u_reach)};
          masks[here[u].z] = m_here;
          any = {any.upper | m_here.upper, any.lower | m_here.lower};
        }
        push_position(p, here[u], active, s);
      }
    }
    if (!closed) {
      closed = true;
      note(stamps, j, stamp_closed, rank == 0);
      if (word + warps >= end) break;
      any = {or_over_warp(any.upper), or_over_warp(any.lower)};
      if (lane == 0) {
        simt::atomic_or(&s.any_upper, any.upper);
        simt::atomic_or(&s.any_lower, any.lower);
      }
      team::sync();
      // Row k is pushed along entries of column k and the other way round: both must be there.
      unpruned &= s.any_upper & s.any_lower;
    } else {
      team::sync();
    }
    if (unpruned == 0) break;
  }
  team::sync();
}

/// Eliminates panel j and all panels above it whose last child this worker finishes. In the first
/// launch the large ones are listed instead.
template <bool Block>
GSOFA_DEVICE void follow(const elimination_view& e, index_t j, worker_state& s) {
  using team = worker<Block>;
  for (;;) {
    if (!Block && e.p.length(j) > e.warp_positions) {
      if (team::rank() == 0) {
        e.ready[simt::atomic_add(e.ready_count, std::uint32_t{1})] = j;
      }
      return;
    }
    if constexpr (detail::counting) {
      if (team::rank() == 0 && Block) simt::atomic_add(e.counters + count_block_panels, 1ULL);
    }
    const bool first = team::rank() == 0;
    note(e.stamps, j, stamp_begin, first);
    note(e.stamps, j, stamp_start, first);
    close_and_push<Block>(e.p, j, s, e.counters, e.stamps);
    note(e.stamps, j, stamp_pushed, first);
    if (team::rank() == 0) {
      const index_t parent = e.p.parent[j];
      const bool last =
          parent >= 0 && (e.children[parent] == 1 ||
                          simt::atomic_decrement_acq_rel(e.unfinished + parent) == 1);
      s.panel = last ? parent : -1;
    }
    note(e.stamps, j, stamp_handed, first);
    note(e.stamps, j, stamp_end, first);
    team::sync();
    j = static_cast<index_t>(s.panel);
    if (j < 0) return;
  }
}

/// First launch: a warp per leaf and what follows it.
GSOFA_KERNEL void warp_panels_kernel(elimination_view e) {
  worker_state& s = *reinterpret_cast<worker_state*>(simt::shared_memory<unsigned char>() +
                                                     simt::thread_index() / 32 * state_bytes(1));
  for (;;) {
    std::uint32_t ticket = 0;
    if (lane_index() == 0) ticket = simt::atomic_add(e.ticket, std::uint32_t{1});
    ticket = simt::shuffle(ticket, 0);
    if (ticket >= static_cast<std::uint32_t>(e.p.panels)) return;
    if (e.children[ticket] != 0) continue;
    follow<false>(e, static_cast<index_t>(ticket), s);
    simt::sync_warp();
  }
}

/// Second launch: a block per listed panel and what follows it.
GSOFA_KERNEL void block_panels_kernel(elimination_view e) {
  worker_state& s = *simt::shared_memory<worker_state>();
  for (;;) {
    if (simt::thread_index() == 0) {
      const std::uint32_t ticket = simt::atomic_add(e.ticket, std::uint32_t{1});
      s.panel = ticket < *e.ready_count ? e.ready[ticket] : -1;
    }
    simt::sync_block();
    const auto j = static_cast<index_t>(s.panel);
    simt::sync_block();
    if (j < 0) return;
    follow<true>(e, j, s);
    simt::sync_block();
  }
}

}  // namespace

void panel_elimination::prepare(index_t n, const elimination_settings& settings,
                                memory_budget& budget) {
  settings_ = settings;
  unfinished_ = {budget, "schedule", n};
  ready_ = {budget, "schedule", n};
  control_ = {budget, "control", 3};
  counters_ = {budget, "control", elimination_counters};
  if (detail::counting) stamps_ = {budget, "stamps", offset_t{n} * panel_stamps};
  const int threads = settings_.warps_per_block * 32;
  warp_blocks_ = std::max(
      1, resident_blocks(warp_panels_kernel, warp_threads, warp_threads / 32 * state_bytes(1)));
  block_blocks_ = std::max(
      1, resident_blocks(block_panels_kernel, threads, state_bytes(settings_.warps_per_block)));
}

void panel_elimination::run(const panel_view& panels, const std::uint32_t* children) {
  fill_bytes(control_.data(), 0, 3);
  fill_bytes(counters_.data(), 0, elimination_counters);
  fill_bytes(stamps_.data(), 0, stamps_.size());
  copy_on_device(unfinished_.data(), children, panels.panels);
  elimination_view e{panels,
                     children,
                     unfinished_.data(),
                     control_.data(),
                     control_.data() + 2,
                     ready_.data(),
                     settings_.warp_positions,
                     counters_.data(),
                     stamps_.data()};
  launch(warp_panels_kernel, warp_blocks_, warp_threads, warp_threads / 32 * state_bytes(1), e);
  e.ticket = control_.data() + 1;
  launch(block_panels_kernel, block_blocks_, settings_.warps_per_block * 32,
         state_bytes(settings_.warps_per_block), e);
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
