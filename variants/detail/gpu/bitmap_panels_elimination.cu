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
};

/// Shared memory of a worker, before the routes of its warps.
struct worker_state {
  mask_t rows[mask_bits];     ///< diagonal block: [r]: columns of row r
  mask_t cols[mask_bits];     ///< its transpose
  mask_t l_reach[mask_bits];  ///< [k]: rows > k reached by edges k -> i with L(i, k) != 0
  mask_t u_reach[mask_bits];  ///< [k]: columns > k reached by edges k -> i with U(k, i) != 0
  mask_t unpruned;            ///< k without any s in the panel with L(s, k) != 0 and U(k, s) != 0
  mask_t any_upper;           ///< k with an entry of U(k, :) in the boundary
  mask_t any_lower;           ///< k with an entry of L(:, k) in the boundary
  offset_t panel;             ///< the worker's next; -1: none

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
};

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

/// Gaussian elimination without cancellation on the leading w x w block, by one warp: lane l holds
/// rows l and l + 32. Step k: rows i > k with bit k take in the bits > k of row k. Beside it,
/// reaching[i]: the k from which i is reached by edges k -> i with bit k in row i, k < i. Bit k of
/// row i is final at step k, and so is reaching[k]. On the transpose the same steps yield the
/// transposed result.
GSOFA_DEVICE void eliminate_block(mask_t* rows, mask_t* reaching, index_t w) {
  const auto lane = static_cast<index_t>(lane_index());
  mask_t low = rows[lane];
  mask_t high = rows[lane + 32];
  mask_t to_low = 0;
  mask_t to_high = 0;
  for (index_t k = 0; k + 1 < w; ++k) {
    const auto from = static_cast<unsigned>(k) & 31U;
    const mask_t add = simt::shuffle(k < 32 ? low : high, from) & above(k);
    const mask_t to = simt::shuffle(k < 32 ? to_low : to_high, from) | bit(k);
    if (lane > k && (low >> k & 1U) != 0) {
      low |= add;
      to_low |= to;
    }
    if (lane + 32 > k && (high >> k & 1U) != 0) {
      high |= add;
      to_high |= to;
    }
  }
  rows[lane] = low;
  rows[lane + 32] = high;
  reaching[lane] = to_low;
  reaching[lane + 32] = to_high;
}

/// Column c of the w x w block in `rows`.
GSOFA_DEVICE mask_t column_of(const mask_t* rows, index_t c, index_t w) {
  mask_t column = 0;
  for (index_t r = 0; r < w; ++r) column |= (rows[r] >> c & 1U) << r;
  return column;
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

/// Completes the masks of panel j. Ends with a barrier. The state holds the reach of the diagonal
/// block then.
template <bool Block>
GSOFA_DEVICE void close(const panel_view& p, index_t j, worker_state& s) {
  using team = worker<Block>;
  const index_t rank = team::rank();
  const index_t w = p.width(j);
  const index_t length = p.length(j);
  mask_pair* const masks = p.masks + p.position_begin[j];
  mask_t* const scratch = s.routes()->upper;  // no routes yet
  mask_t* const other_scratch = s.routes()->lower;
  for (index_t z = rank; z < mask_bits; z += team::size()) {
    scratch[z] = z < w ? masks[z].lower : 0;        // of row z, the columns below the diagonal
    other_scratch[z] = z < w ? masks[z].upper : 0;  // of column z, the rows above it
  }
  team::sync();
  for (index_t k = rank; k < 2 * mask_bits; k += team::size()) {
    if (k < mask_bits) {
      s.rows[k] = k < w ? scratch[k] | column_of(other_scratch, k, w) : 0;
    } else {
      const index_t c = k - mask_bits;
      s.cols[c] = c < w ? other_scratch[c] | column_of(scratch, c, w) : 0;
    }
  }
  team::sync();
  if (team::warp() == 0) eliminate_block(s.rows, scratch, w);
  if (team::warp() == team::warps() - 1) eliminate_block(s.cols, other_scratch, w);
  team::sync();
  for (index_t k = rank; k < 2 * mask_bits; k += team::size()) {
    if (k < mask_bits) {
      if (k < w) masks[k] = {s.cols[k] & below(k), s.rows[k] & below(k)};
      s.l_reach[k] = column_of(scratch, k, w);
    } else {
      s.u_reach[k - mask_bits] = column_of(other_scratch, k - mask_bits, w);
    }
  }
  if (team::warp() == 0) {
    const auto lane = static_cast<index_t>(lane_index());
    const unsigned low = simt::ballot((s.rows[lane] & s.cols[lane] & above(lane)) != 0);
    const unsigned high =
        simt::ballot((s.rows[lane + 32] & s.cols[lane + 32] & above(lane + 32)) != 0);
    if (lane == 0) {
      s.unpruned = ~(static_cast<mask_t>(high) << 32 | low);
      s.any_upper = s.any_lower = 0;
    }
  }
  team::sync();
  if (length == w) return;
  mask_pair any{0, 0};
  for (index_t z = w + rank; z < length; z += team::size()) {
    mask_pair m = masks[z];
    m = {closure(m.upper, s.l_reach), closure(m.lower, s.u_reach)};
    masks[z] = m;
    any = {any.upper | m.upper, any.lower | m.lower};
  }
  any = {or_over_warp(any.upper), or_over_warp(any.lower)};
  if (lane_index() == 0) {
    simt::atomic_or(&s.any_upper, any.upper);
    simt::atomic_or(&s.any_lower, any.lower);
  }
  team::sync();
}

/// Union of the targets of the members of m.
GSOFA_DEVICE mask_t routed(mask_t m, const mask_t* targets) {
  mask_t found = 0;
  for (; m != 0; m &= m - 1) found |= targets[simt::lowest_bit(m)];
  return found;
}

/// ORs what position z of a panel, vertex f, has for the target of `routes`. in_parent: its place
/// in the parent panel.
GSOFA_DEVICE void push_to(const panel_view& p, const target_routes& routes, const mask_pair& m,
                          index_t z, index_t f, index_t parent, index_t in_parent) {
  mask_t upper = routed(m.upper & routes.upper_active, routes.upper);
  mask_t lower = routed(m.lower & routes.lower_active, routes.lower);
  if ((upper | lower) == 0) return;
  const index_t target = routes.panel;
  index_t to = 0;
  if (z < routes.end) {
    // Among the targets themselves: U(t, f) and L(f, t) with t < f only.
    to = f - p.begin[target];
    upper &= below(to);
    lower &= below(to);
  } else {
    to = target == parent ? in_parent : p.position(target, f);
  }
  mask_pair& out = p.masks[p.position_begin[target] + to];
  if (upper != 0) simt::atomic_or(&out.upper, upper);
  if (lower != 0) simt::atomic_or(&out.lower, lower);
}

/// Passes what panel j, the one closed last, changes in its ancestors on to their masks. Ends with
/// a barrier. In rounds of one target panel per warp, ascending: whether row k goes to a target
/// depends on the targets before it only through `unpruned`.
template <bool Block>
GSOFA_DEVICE void push(const panel_view& p, index_t j, worker_state& s,
                       [[maybe_unused]] unsigned long long* counters) {
  using team = worker<Block>;
  const index_t length = p.length(j);
  if (length == p.width(j)) return;
  const unsigned lane = lane_index();
  const unsigned warp = team::warp();
  const unsigned warps = team::warps();
  const offset_t first = p.position_begin[j];
  const offset_t end = p.word_begin[j + 1];
  const index_t parent = p.parent[j];
  target_routes* const routes = s.routes();
  target_routes& mine = routes[warp];
  // Row k is pushed along entries of column k and the other way round: both must be there.
  mask_t unpruned = s.unpruned & s.any_upper & s.any_lower;
  for (offset_t word = p.word_begin[j]; word < end && unpruned != 0; word += warps) {
    if constexpr (detail::counting) {
      if (team::rank() == 0) simt::atomic_add(counters + count_rounds, 1ULL);
    }
    const offset_t q = word + warp;
    mask_pair m[2]{};  // of positions lane and lane + 32 of my word
    mask_t own[2]{};   // their vertices as bits of the target panel
    if (q < end) {
      const auto count = static_cast<unsigned>(simt::population(p.word_mask[q]));
      const offset_t at = first + p.word_first[q];
      const index_t target_begin = p.begin[p.word_panel[q]];
      for (unsigned half = 0; half < 2; ++half) {
        if (half * 32 + lane >= count) continue;
        m[half] = p.masks[at + half * 32 + lane];
        own[half] = bit(p.columns[at + half * 32 + lane] - target_begin);
      }
      if (lane == 0) {
        mine.panel = p.word_panel[q];
        mine.begin = p.word_first[q];
        mine.end = mine.begin + static_cast<index_t>(count);
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
    std::uint32_t active = 0;
    for (unsigned v = 0; v < warps; ++v) {
      if ((routes[v].upper_active | routes[v].lower_active) == 0) continue;
      active |= std::uint32_t{1} << v;
      if constexpr (detail::counting) {
        if (team::rank() == 0) {
          simt::atomic_add(counters + count_pushes, 1ULL);
          simt::atomic_add(counters + count_push_positions,
                           static_cast<unsigned long long>(length - routes[v].begin));
        }
      }
    }
    if (active != 0) {
      for (index_t z = routes[simt::lowest_bit(active)].begin + team::rank(); z < length;
           z += team::size()) {
        const mask_pair here = p.masks[first + z];
        const index_t f = p.columns[first + z];
        const index_t in_parent = p.in_parent[first + z];
        // Targets ascend: those behind the first that begins behind z do so too.
        for (std::uint32_t rest = active; rest != 0; rest &= rest - 1) {
          const target_routes& to = routes[simt::lowest_bit(rest)];
          if (z < to.begin) break;
          push_to(p, to, here, z, f, parent, in_parent);
        }
      }
    }
    team::sync();
  }
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
    close<Block>(e.p, j, s);
    push<Block>(e.p, j, s, e.counters);
    team::sync();
    if (team::rank() == 0) {
      const index_t parent = e.p.parent[j];
      const bool last = parent >= 0 && simt::atomic_decrement_acq_rel(e.unfinished + parent) == 1;
      s.panel = last ? parent : -1;
    }
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
  const int threads = settings_.warps_per_block * 32;
  warp_blocks_ = std::max(
      1, resident_blocks(warp_panels_kernel, warp_threads, warp_threads / 32 * state_bytes(1)));
  block_blocks_ = std::max(
      1, resident_blocks(block_panels_kernel, threads, state_bytes(settings_.warps_per_block)));
}

void panel_elimination::run(const panel_view& panels, const std::uint32_t* children) {
  fill_bytes(control_.data(), 0, 3);
  fill_bytes(counters_.data(), 0, elimination_counters);
  copy_on_device(unfinished_.data(), children, panels.panels);
  elimination_view e{panels,
                     children,
                     unfinished_.data(),
                     control_.data(),
                     control_.data() + 2,
                     ready_.data(),
                     settings_.warp_positions,
                     counters_.data()};
  launch(warp_panels_kernel, warp_blocks_, warp_threads, warp_threads / 32 * state_bytes(1), e);
  e.ticket = control_.data() + 1;
  launch(block_panels_kernel, block_blocks_, settings_.warps_per_block * 32,
         state_bytes(settings_.warps_per_block), e);
}

void panel_elimination::report([[maybe_unused]] execution& exec) const {
  if constexpr (detail::counting) {
    unsigned long long work[elimination_counters] = {};
    copy_to_host(work, static_cast<const unsigned long long*>(counters_.data()),
                 elimination_counters);
    const char* const names[elimination_counters] = {"block_panels", "push_rounds", "pushes",
                                                     "push_positions"};
    for (int k = 0; k < elimination_counters; ++k) {
      exec.counters.totals[names[k]] = static_cast<std::int64_t>(work[k]);
    }
  }
}

}  // namespace gsofa::gpu

#endif
