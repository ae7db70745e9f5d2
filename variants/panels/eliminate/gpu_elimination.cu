// Elimination over panels: a worker factors each panel once all panels below it have updated it,
// and then updates the panel's ancestors. README.md has the algorithm and its proofs.
//
// Schedule. Every panel counts its finished children. A worker (a warp, a block, or a cluster of
// blocks) takes leaves by ticket; the worker that finishes the last child of a panel goes on with
// that panel, the others take the next leaf. No worker ever waits for another outside a barrier of
// its own threads: any worker that runs makes progress, whatever the others do, and whether or not
// they are resident.
//
// Launches. In the first the workers are warps, and a panel of more than `warp_positions` positions
// whose children are all done is put on a list instead. In the second they are blocks; the tickets
// are the places of that list, and a panel of more than `cluster_positions` is put on another list.
// Then come clusters of blocks.
// Every panel that a launch leaves has a panel of the launch's list in its subtree, perhaps itself,
// or one of the list that the launch has not finished: if all its children are done, the worker
// that finished the last of them (or drew its ticket) has put it on the list; otherwise a child is
// not done, and the same holds of the child.
//
// Two instances of the kernels of blocks and clusters: workers of one hand over, those of the other
// do not and have neither the code nor the shared memory for it. Update rounds, which symmetric
// patterns do not have, are counted. As soon as those of the launches of blocks and clusters have
// cost most_far_work, workers that do not hand over leave: they take no panel from a list any more,
// and list the panel that they would go on with. Behind each of their launches stands one of
// workers that hand over, which take what the launch has left on its list and what it has listed;
// they do nothing unless that much work was counted. So the sum that the pattern has decides, and
// timing decides only where on the way the second instance takes over.
//
// Handing over. Where structures are symmetric, a panel J updates little more than its parent.
// Where they are not, J has up to hundreds of target panels, and the worker that follows the path
// up from J would update one after another while the others idle. A worker that hands over updates
// the nearest ones only, and leaves the others as tasks: rounds of up to one target per warp of
// the same J, ascending, the nearest in a task of one round, the others in tasks of two, then of
// four rounds. A worker takes tasks before it takes listed panels,
// and after these until nothing is left to do. Let T be the first target of a task.
//  * T waits for the task: the counter of T counts finished children less tasks that are not
//    done, and T is taken up when the count is that of its children. J takes one off the counter
//    before J itself is done; as J is below T, a child of T is not done then. So the count cannot
//    be complete before all tasks for T have been created and done, and exactly one increment, by
//    the last child or the last task, completes it.
//  * The other targets of the task wait, too: they are ancestors of J beyond T, hence of T.
//  * All of them are marked as helped. A helped panel with one child is taken up by its counter,
//    its diagonal block is not factored ahead, and it is updated by atomics, since other workers
//    may be updating it. Only a worker of a panel K relies on the absence of a mark, and only for
//    panels that it reaches from K by steps to a parent with one child. The panels below such a
//    panel are K, those below K and those between. The ones below K have set their marks before K
//    is taken up, K sets its own behind its sweep and updates by itself none of the panels that it
//    marks, and those between are not taken up yet.
//  * A worker without work looks for tasks until no panel and no task is left; no other worker
//    waits for it. One that has drawn a task's place waits for the flag, which a running thread is
//    about to set.
// A task reads nothing but factored masks of J, which nobody changes.
//
// Memory order. Masks of a panel P are written by atomic ORs of workers of panels below P, then by
// plain loads and stores of P's worker. Let W be a worker that has updated the ancestors of C, any
// panel below P.
//  * The ORs of W's threads happen before the barrier that ends factor_and_update(), and this
//    barrier before the increment of the counter of C's parent by W's leader, which is a release
//    (device scope; the barrier orders its own threads at block scope, and causality order is
//    transitive).
//  * Increments of one counter are read-modify-writes: they form one release sequence. The thread
//    that completes the count is the last and acquires from all before it. The same thread then
//    passes a barrier with the other threads of its worker, and only behind it they load masks. By
//    induction along the tree, this includes what all panels below the children did.
//  * A panel with one child that is not helped needs no counter: what panels below the child did
//    happens before the child's masks were read, and what was done for the child was done by
//    threads of the same worker, before a barrier of theirs.
//  * Where all panels on the way up to a target have one child each and the target is not helped,
//    no other worker updates it: all panels below have been done. Plain loads and stores serve
//    then.
//  * ORs among workers race only with each other: relaxed is enough, since OR commutes and no bit
//    is read before the count of its panel is complete.
//  * Where the panel P above J has one child, two warps factor the diagonal block of P while the
//    others sweep J. They read the masks of P's own vertices: all updates of these but J's come
//    from panels below J and happened before J's masks were read; what J adds they compute
//    themselves, from the factored masks of the first column block, which are in shared memory
//    behind a barrier. The sweep leaves these masks out; they are written behind the barrier that
//    ends J, from the diagonal block.
//  * Where workers hand over, the sweep updates one target; a wide barrier stands between it and
//    the updates of the others, which read masks that any thread of the worker has factored.
//  * The first round factors the masks of its column blocks for itself. In a cluster, blocks read
//    these masks while others may be through with their routes: a barrier of the cluster stands
//    between these reads and the first store of a sweep.
//  * Handing over (below): a task is published by the increment of its flag, which releases what
//    the threads of the worker did before the barrier that precedes it: all masks of J. The worker
//    that takes the task acquires them by an increment of the same flag, and passes a barrier with
//    its other threads. Its updates are released by the increment of the counter of the task's
//    first target, as by that of a child.
//  * Falling back: the work of update rounds is added up by relaxed atomics. A worker that finds
//    the sum too large stops, at a barrier with all its threads; no other worker waits for it.
//    Masks are not read then. The work that decides on handing over is added up likewise.
// What is said of barriers holds of a cluster with its own barrier, which releases and acquires at
// the scope of the cluster: causality order is transitive over scopes. The list of a launch is read
// in the next launch: the end of the grid orders the two.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>
#include <type_traits>

#include "variants/panels/eliminate/eliminate.hpp"
#include "variants/support/counting.hpp"

namespace gsofa::panels {

namespace {

/// Which rows of U (or columns of L) of the current panel the targets of one target panel take.
struct route {
  mask_t targets[mask_bits];  ///< [r]: the targets that take row r; valid if r is active
  mask_t active;              ///< rows with targets
  mask_t all;                 ///< targets that take any row
  mask_t several;             ///< targets that take more than one row
};

/// The routes to one target panel; shared memory, one per warp.
struct alignas(16) target_routes {
  route upper;       ///< of rows of U, to columns
  route lower;       ///< of columns of L, to rows
  mask_t both;       ///< k with L(t, k) != 0 and U(k, t) != 0 for some target t
  offset_t first;    ///< the target's first position in the masks
  index_t panel;     ///< the target
  index_t vertices;  ///< its first vertex
  index_t begin;     ///< positions of the current panel that are vertices of the target
  index_t end;
  index_t steps;   ///< of the target on the way up from the current panel, from 1; 0: far away
  bool exclusive;  ///< no other worker updates the target now
  bool helped;     ///< tasks update the target, or have done so; where workers hand over
};

/// The vertices that each vertex of a panel reaches inside it; transitively closed.
struct reach {
  mask_t from[mask_bits];  ///< [k]: those > k that k reaches
  mask_t to[mask_bits];    ///< [k]: those < k that reach k
  bool is_chain;           ///< every vertex reaches all vertices behind it
};

/// A map of masks that takes unions to unions, by all masks of four consecutive vertices: entry
/// [k][m] is what m << 4 k is mapped to.
struct mask_table {
  mask_t of[mask_bits / 4][16];

  /// No load depends on another, and lanes that read different entries of one row read different
  /// banks.
  GSOFA_DEVICE mask_t operator()(mask_t m) const {
    mask_t found = 0;
    if (m == 0) return found;
    GSOFA_UNROLL for (unsigned k = 0; k < mask_bits / 4; ++k) found |= of[k][m >> 4 * k & 15U];
    return found;
  }
};

/// Where a panel lies.
struct panel_place {
  offset_t first;               ///< position
  offset_t column_block_begin;  ///< its column blocks
  offset_t column_block_end;
  index_t width;
  index_t length;
};

GSOFA_DEVICE panel_place place_of(const panel_view& p, index_t j) {
  return {p.position_begin[j], p.column_block_begin[j], p.column_block_begin[j + 1], p.width(j),
          p.length(j)};
}

/// A factored diagonal block.
struct diagonal_block {
  mask_t rows[mask_bits];  ///< [r]: columns of row r
  mask_t cols[mask_bits];  ///< its transpose
  reach l;                 ///< by edges k -> i with L(i, k) != 0
  reach u;                 ///< by edges k -> i with U(k, i) != 0
};

/// The parent of the current panel.
struct next_panel {
  index_t panel;  ///< -1: none
  std::uint32_t children;
  panel_place place;
};

/// Words of the queue of tasks, of the open items of two launches, and far_work.
constexpr offset_t task_words = 8;
constexpr int warp_threads = 128;  // of a block of the first launch
constexpr int most_warps = 16;     // of a block of the second

/// Where a column block of a panel lies, and its target panel.
struct column_block_head {
  mask_t members;
  index_t panel;  ///< the target panel; -1: there is no such column block
  index_t begin;  ///< position of the lowest member
};

/// What a worker knows of a panel before it knows the masks.
struct panel_head {
  offset_t above_begin[most_steps];  ///< [s]: where positions of the panel s + 1 steps above begin
  index_t single_child_steps;        ///< how many of these, from the first on, have one child
  next_panel next;
  column_block_head column_blocks[most_warps];  ///< the first ones
};

/// Column blocks of a panel, from the first of a round on, whose places in the targets are known.
constexpr index_t known_blocks = 128;

/// Where these column blocks lie in one target.
struct target_blocks {
  offset_t begin;                ///< first column block of the target
  index_t count;                 ///< number of them
  index_t first[known_blocks];   ///< position of the lowest member in the target
  mask_t members[known_blocks];  ///< in the target
};

/// What a worker that hands over keeps in addition.
struct alignas(16) far_state {
  mask_table closures[2];                ///< of l and u: a mask with all that its members reach
  index_t block_panel[known_blocks];     ///< of the column blocks of a round: target panel
  index_t block_begin[known_blocks];     ///< position
  index_t block_vertices[known_blocks];  ///< first vertex of the panel
  index_t blocks;                        ///< number of these
  index_t end;                           ///< position behind them
  target_blocks there[most_warps];       ///< of the target of each warp
};

/// Shared memory of a worker, before the routes of its warps. Of two of a kind one belongs to the
/// current panel, the other to the panel before or after it.
struct worker_state {
  diagonal_block block[2];
  panel_head head[2];
  mask_pair first_column_block[mask_bits];  ///< factored masks of the vertices of the panel above
  mask_t any_upper;                         ///< k with an entry of U(k, :) in the boundary
  mask_t any_lower;                         ///< k with an entry of L(:, k) in the boundary
  index_t panel;                            ///< the worker's next panel; -1: none
  index_t task;                             ///< of it: see work_item
  std::uint32_t next_step;                  ///< see outlook
  std::int64_t excess;  ///< of a warp's update rounds over fair_work for each of its panels

  GSOFA_DEVICE target_routes* routes() { return reinterpret_cast<target_routes*>(this + 1); }
  /// Behind the routes of `warps` warps, where workers hand over.
  GSOFA_DEVICE far_state& far(unsigned warps) {
    return *reinterpret_cast<far_state*>(routes() + warps);
  }
};

/// Bytes of shared memory of a worker of `warps` warps.
constexpr std::size_t state_bytes(int warps, bool hands_over = false) {
  return sizeof(worker_state) + static_cast<std::size_t>(warps) * sizeof(target_routes) +
         (hands_over ? sizeof(far_state) : 0);
}

enum elimination_counter : int {
  count_block_panels,      ///< panels eliminated by a block
  count_rounds,            ///< rounds of one target panel per warp
  count_updates,           ///< (panel, target panel) pairs
  count_update_positions,  ///< positions read by updates
  elimination_counters
};

/// What the blocks of a cluster share in addition to the masks; in device memory.
struct cluster_state {
  mask_t any_upper[2];  ///< as in worker_state, of the current panel and of the one before or after
  mask_t any_lower[2];
  index_t panel;            ///< the cluster's next panel; -1: none
  index_t task;             ///< as in worker_state
  std::uint32_t next_step;  ///< as in worker_state
};

/// What a worker does when a panel and its updates are done.
enum outlook : std::uint32_t {
  goes_on,     ///< with the panel above, if that is ready
  leaves,      ///< workers that hand over take the panels above
  falls_back,  ///< it stops: the update rounds of all panels have cost too much
};

/// What a worker does next: it eliminates a panel and those above, or does a task of it.
struct work_item {
  index_t panel;  ///< -1: nothing is left
  index_t task;   ///< the panel's column blocks to update, by task_sizes; -1: eliminate
};

/// Tasks that have been handed over, in the order of their creation.
struct task_queue {
  work_item* items;      ///< valid where the flag has been seen
  std::uint32_t* flags;  ///< of each item: not 0 once it is published
  std::uint32_t* head;   ///< items that have been taken
  std::uint32_t* tail;   ///< items that have been created; some may have found no room
  std::uint32_t room;
};

/// Panels that workers take by ticket.
struct panel_source {
  const index_t* panels;
  const std::uint32_t* count;
  std::uint32_t* ticket;
};

struct elimination_view {
  panel_view p;
  panel_range wave;  ///< the panels to eliminate; those before are eliminated
  const std::uint32_t* children;
  std::uint32_t* finished;  ///< children that are done, less tasks that are not
  std::uint32_t* helped;    ///< not 0: the panel is a target of tasks
  task_queue tasks;
  std::uint32_t* open;      ///< tasks that are not done, and panels taken from lists
  index_t most_near_steps;  ///< as in elimination_settings, of the launch
  /// Panels to begin with; the first launch looks for leaves. The second list is for workers that
  /// hand over.
  panel_source from[2];
  index_t* list;  ///< panels that are left to later launches
  std::uint32_t* list_count;
  unsigned long long* far_work;      ///< update rounds of blocks and clusters that do not hand over
  unsigned long long most_far_work;  ///< from here on workers hand over
  /// The work of the update rounds of warps less fair_work for each of their panels, modulo 2^64:
  /// if that is positive, workers hand over from the second launch on.
  unsigned long long* excess;
  index_t fair_work;     ///< as in elimination_settings
  std::uint32_t* zeros;  ///< set to zero by the first launch
  offset_t zero_count;
  index_t most;  ///< most positions of a panel that this launch eliminates
  unsigned long long* update_work;
  unsigned long long most_update_work;
  std::uint32_t* fell_back;  ///< memory of the host: set to 1 where the work passes that
  cluster_state* clusters;
  unsigned long long* counters;  // counting build, by elimination_counter
};

/// The state of this block's cluster.
GSOFA_DEVICE cluster_state& state_of_cluster(const elimination_view& e) {
  return e.clusters[simt::block_index() / simt::cluster_size()];
}

/// The threads that work on one panel, and whether they hand over updates of far targets.
enum class tier { warp, block, cluster, sharing_block, sharing_cluster };

/// A worker of one tier. Every block of a cluster factors the diagonal block and finds the routes
/// for itself, in its own shared memory; the positions of a panel are divided among the blocks.
template <tier Tier>
struct worker {
  static constexpr bool is_warp = Tier == tier::warp;
  static constexpr bool is_cluster = Tier == tier::cluster || Tier == tier::sharing_cluster;
  static constexpr bool hands_over = Tier == tier::sharing_block || Tier == tier::sharing_cluster;
  /// Rank and number of the threads with one shared memory.
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
  /// Rank and number of all threads of the worker.
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
  /// Positions that a thread works on at a time: their loads overlap.
  static constexpr int unroll = is_warp ? 2 : 4;
  /// Number of warps with one shared memory, and this thread's warp.
  static GSOFA_DEVICE unsigned warps() { return is_warp ? 1 : simt::block_size() / 32; }
  static GSOFA_DEVICE unsigned warp() { return is_warp ? 0 : simt::thread_index() / 32; }
  /// Rank and number among all warps of the worker.
  static GSOFA_DEVICE index_t wide_warp() { return wide_rank() / 32; }
  static GSOFA_DEVICE index_t wide_warps() { return wide_size() / 32; }
};

GSOFA_DEVICE std::uint32_t low_half(mask_t m) { return static_cast<std::uint32_t>(m); }
GSOFA_DEVICE std::uint32_t high_half(mask_t m) { return static_cast<std::uint32_t>(m >> 32); }
GSOFA_DEVICE mask_t joined(std::uint32_t low, std::uint32_t high) {
  return static_cast<mask_t>(high) << 32 | low;
}

/// Gaussian elimination without cancellation on the leading w x w block, by one warp. Step k: rows
/// i > k with bit k take in the bits > k of row k. Yields `to` of a reach by edges k -> i with bit
/// k in row i, k < i: bit k of row i is final at step k, and so is to[k]. On the transpose the same
/// steps yield the transposed result. Several blocks side by side.
///
/// In halves of 32 bits: rows up to 31 take nothing from rows behind them and are reached from the
/// lower half only. Eight steps are one step of a loop: unrolled altogether, the steps pass through
/// the instruction cache at each panel.
template <int Count>
GSOFA_DEVICE void eliminate_blocks(row_pair (&rows)[Count], row_pair (&to)[Count], index_t w) {
  const std::uint32_t left = lower_lanes();  // of the diagonal, in row lane and, shifted, lane + 32
  struct state {
    std::uint32_t low[2], high[2], to_low, to_high[2];
  };
  state b[Count];
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
    b[q] = {{low_half(rows[q].low), high_half(rows[q].low)},
            {low_half(rows[q].high), high_half(rows[q].high)},
            0,
            {0, 0}};
  }
  constexpr index_t piece = 8;
  std::uint32_t here = 1;
  GSOFA_KEEP_LOOP for (index_t begin = 0; begin < 32 && begin + 1 < w; begin += piece) {
    GSOFA_UNROLL for (index_t step = 0; step < piece; ++step, here <<= 1) {
      const auto source = static_cast<unsigned>(begin + step);
      const std::uint32_t behind = ~(here | (here - 1));
      GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
        state& m = b[q];
        const std::uint32_t add_low = simt::shuffle(m.low[0], source) & behind;
        const std::uint32_t add_high = simt::shuffle(m.low[1], source);
        const std::uint32_t from = simt::shuffle(m.to_low, source) | here;
        if ((m.low[0] & left & here) != 0) {
          m.low[0] |= add_low;
          m.low[1] |= add_high;
          m.to_low |= from;
        }
        if ((m.high[0] & here) != 0) {
          m.high[0] |= add_low;
          m.high[1] |= add_high;
          m.to_high[0] |= from;
        }
      }
    }
  }
  here = 1;
  GSOFA_KEEP_LOOP for (index_t begin = 0; begin < 32 && begin + 33 < w; begin += piece) {
    GSOFA_UNROLL for (index_t step = 0; step < piece; ++step, here <<= 1) {
      const auto source = static_cast<unsigned>(begin + step);
      const std::uint32_t behind = ~(here | (here - 1));
      GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
        state& m = b[q];
        const std::uint32_t add = simt::shuffle(m.high[1], source) & behind;
        const std::uint32_t from_low = simt::shuffle(m.to_high[0], source);
        const std::uint32_t from_high = simt::shuffle(m.to_high[1], source) | here;
        if ((m.high[1] & left & here) != 0) {
          m.high[1] |= add;
          m.to_high[0] |= from_low;
          m.to_high[1] |= from_high;
        }
      }
    }
  }
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
    rows[q] = {joined(b[q].low[0], b[q].low[1]), joined(b[q].high[0], b[q].high[1])};
    to[q] = {b[q].to_low, joined(b[q].to_high[0], b[q].to_high[1])};
  }
}

/// Masks of the vertices of one panel as a warp holds them: lane l has those of vertices l and
/// l + 32, zero where there is none.
struct lane_masks {
  mask_pair low, high;
};

/// All vertices of a panel of width w.
GSOFA_DEVICE mask_t all_of(index_t w) { return w < mask_bits ? below(w) : ~mask_t{0}; }

/// Factors the diagonal block of a panel of width w by one warp. Count = 1: sets rows and l, or,
/// with `of_columns`, cols and u; Count = 2: sets all four. The caller passes a barrier behind it.
template <int Count>
GSOFA_DEVICE void factor_block(const lane_masks& m, index_t w, diagonal_block& factored,
                               bool of_columns) {
  const auto lane = static_cast<index_t>(lane_index());
  const row_pair upper{m.low.upper, m.high.upper};  // of column z, the rows above the diagonal
  const row_pair lower{m.low.lower, m.high.lower};  // of row z, the columns left of it
  row_pair block[Count];
  row_pair to[Count];
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) block[q] = of_columns || q > 0 ? lower : upper;
  transpose(block);
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
    const bool columns = of_columns || q > 0;
    block[q].low |= columns ? upper.low : lower.low;
    block[q].high |= columns ? upper.high : lower.high;
  }
  eliminate_blocks(block, to, w);
  row_pair from[Count];
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) from[q] = to[q];
  transpose(from);
  const mask_t all = all_of(w);
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
    const bool columns = of_columns || q > 0;
    mask_t* const out = columns ? factored.cols : factored.rows;
    reach& r = columns ? factored.u : factored.l;
    out[lane] = block[q].low;
    out[lane + 32] = block[q].high;
    r.to[lane] = to[q].low;
    r.to[lane + 32] = to[q].high;
    r.from[lane] = from[q].low;
    r.from[lane + 32] = from[q].high;
    const bool reaches_all = (from[q].low == (above(lane) & all) || lane >= w) &&
                             (from[q].high == (above(lane + 32) & all) || lane + 32 >= w);
    const bool is_chain = simt::ballot(!reaches_all) == 0;
    if (lane == 0) r.is_chain = is_chain;
  }
}

/// factor_block<1>, of which a kernel has one copy: its code is long.
GSOFA_SHARED_CODE void factor_block_side(lane_masks m, index_t w, diagonal_block& factored,
                                         bool of_columns) {
  factor_block<1>(m, w, factored, of_columns);
}

/// The closure of a panel's masks under a reach.
struct closure {
  const reach& r;
  mask_t all;  ///< vertices of the panel
  bool is_chain;

  GSOFA_DEVICE closure(const reach& by, mask_t vertices)
      : r(by), all(vertices), is_chain(by.is_chain) {}

  /// m with all that its members reach.
  GSOFA_DEVICE mask_t operator()(mask_t m) const {
    return is_chain ? behind_lowest(m) : searched(m);
  }
  /// In a chain: the lowest member and all behind it.
  GSOFA_DEVICE mask_t behind_lowest(mask_t m) const {
    return (mask_t{0} - (m & (mask_t{0} - m))) & all;
  }
  /// By halves of 32 bits: what a member reaches is behind it.
  GSOFA_DEVICE mask_t searched(mask_t m) const {
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
};

/// The same by a table, unless the reach is a chain.
struct tabled_closure {
  const closure& by;
  const mask_table& table;

  GSOFA_DEVICE mask_t operator()(mask_t m) const {
    return by.is_chain ? by.behind_lowest(m) : table(m);
  }
};

/// Fills a table by `size` threads of rank `rank`, where of(k) is what vertex k is mapped to. A
/// barrier before its use is the caller's.
template <class Of>
GSOFA_DEVICE void fill_table(mask_table& table, const Of& of, index_t rank, index_t size) {
  for (index_t at = rank; at < mask_bits / 4 * 16; at += size) {
    const index_t first = at / 16 * 4;
    mask_t found = 0;
    GSOFA_UNROLL for (index_t b = 0; b < 4; ++b) {
      if ((at >> b & 1) != 0) found |= of(first + b);
    }
    table.of[at / 16][at % 16] = found;
  }
}

/// Replaces m[q] by its closure under by[q], for all q side by side.
template <int Count>
GSOFA_DEVICE void apply_closures(mask_t (&m)[Count], const closure* const (&by)[Count]) {
  mask_t todo[Count];
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
    todo[q] = by[q]->is_chain ? 0 : m[q];
    if (by[q]->is_chain) m[q] = by[q]->behind_lowest(m[q]);
  }
  GSOFA_KEEP_LOOP for (mask_t left = 1; left != 0;) {
    left = 0;
    GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
      if (todo[q] != 0) {
        const mask_t reached = by[q]->r.from[simt::lowest_bit(todo[q])];
        m[q] |= reached;
        todo[q] &= (todo[q] - 1) & ~reached;
      }
      left |= todo[q];
    }
  }
}

/// Keeps of each m[q] the members that reach no other member.
template <int Count>
GSOFA_DEVICE void keep_last(mask_t (&m)[Count], const reach* const (&r)[Count]) {
  mask_t last[Count];
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) last[q] = 0;
  GSOFA_KEEP_LOOP for (mask_t left = 1; left != 0;) {
    left = 0;
    GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
      if (m[q] != 0) {
        const unsigned k = simt::highest_bit(m[q]);
        const mask_t here = bit(static_cast<index_t>(k));
        last[q] |= here;
        m[q] &= ~(here | r[q]->to[k]);
      }
      left |= m[q];
    }
  }
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) m[q] = last[q];
}

GSOFA_DEVICE mask_t or_over_warp(mask_t m) {
  return joined(simt::or_of_warp(low_half(m)), simt::or_of_warp(high_half(m)));
}

/// The OR over the lanes before this one, of each of the two words.
GSOFA_DEVICE row_pair or_of_lower_lanes(row_pair m) {
  for (unsigned step = 1; step < 32; step *= 2) {
    const row_pair before{simt::shuffle_up(m.low, step), simt::shuffle_up(m.high, step)};
    if (lane_index() >= step) m = {m.low | before.low, m.high | before.high};
  }
  const row_pair before{simt::shuffle_up(m.low, 1), simt::shuffle_up(m.high, 1)};
  return lane_index() == 0 ? row_pair{0, 0} : before;
}

/// The union of the targets of the members of m.
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

/// The union of the targets of the active members of m. Nearly all targets take one row only: those
/// of the members are then all targets less those of the active rows that are no members. The loop
/// goes through the fewer of both, members or others.
GSOFA_DEVICE mask_t routed(mask_t m, const route& r) {
  const mask_t active = r.active;
  const mask_t members = m & active;
  if ((active & (active - 1)) == 0) return members != 0 ? r.all : 0;
  const mask_t others = active & ~m;
  const bool by_others = simt::population(others) < simt::population(members);
  mask_t found = targets_of(by_others ? others : members, r);
  if (!by_others) return found;
  mask_t unclear = r.several;
  found = r.all & ~unclear & ~found;
  for (mask_t todo = members; unclear != 0 && todo != 0; todo &= todo - 1) {
    const mask_t taken = r.targets[simt::lowest_bit(todo)] & unclear;
    found |= taken;
    unclear &= ~taken;
  }
  return found;
}

/// What the targets of a panel take of a position.
GSOFA_DEVICE mask_pair routed(mask_pair m, const target_routes& r) {
  return {routed(m.upper, r.upper), routed(m.lower, r.lower)};
}

/// Sets both routes by one warp, of which lane l holds the rows that targets l and l + 32 take.
GSOFA_DEVICE void set_routes(target_routes& out, const row_pair& upper, const row_pair& lower) {
  const unsigned lane = lane_index();
  const row_pair taken[] = {upper, lower};
  row_pair by_source[] = {upper, lower};
  transpose(by_source);
  GSOFA_UNROLL for (int side = 0; side < 2; ++side) {
    route& r = side == 0 ? out.upper : out.lower;
    const mask_t low = taken[side].low;
    const mask_t high = taken[side].high;
    r.targets[lane] = by_source[side].low;
    r.targets[lane + 32] = by_source[side].high;
    const unsigned active_low = simt::ballot(by_source[side].low != 0);
    const unsigned active_high = simt::ballot(by_source[side].high != 0);
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
}

/// One position of the current panel.
struct position {
  mask_pair masks;
  index_t z;
  index_t vertex;
  index_t place;  ///< its position in the panel one step above, then in those further up
};

/// ORs `add` into the masks at `out`, unless it is zero.
template <int unroll>
GSOFA_DEVICE void or_into(bool exclusive, const mask_pair (&add)[unroll],
                          mask_pair* const (&out)[unroll]) {
  mask_pair old[unroll];
  GSOFA_UNROLL for (int u = 0; u < unroll; ++u) old[u] = {0, 0};
  if (exclusive) {
    GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
      if ((add[u].upper | add[u].lower) != 0) old[u] = *out[u];
    }
    GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
      if ((add[u].upper | add[u].lower) == 0) continue;
      *out[u] = {old[u].upper | add[u].upper, old[u].lower | add[u].lower};
    }
    return;
  }
  // Bits are never cleared: bits that are there already need not be added.
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

/// Updates the active targets by some positions of the current panel: ORs into the masks of each
/// target panel what the positions from `least` on have for it.
///
/// Before: the masks in `here` are factored, the routes of the active warps are in shared memory
/// behind a barrier. After: the masks of the targets hold the updates, as seen by this thread;
/// other workers see them behind the barrier that ends the panel and the release of its parent's
/// counter.
template <int unroll>
GSOFA_DEVICE void update_targets(const panel_view& p, position (&here)[unroll], index_t least,
                                 index_t length, std::uint32_t active, worker_state& s,
                                 const panel_head& head) {
  index_t steps = 1;
  for (; active != 0; active &= active - 1) {
    const unsigned warp = simt::lowest_bit(active);
    const target_routes& routes = s.routes()[warp];
    // Targets ascend: positions before the end of one do not matter to later ones.
    for (; steps < routes.steps; ++steps) {
      const offset_t base = head.above_begin[steps - 1];
      GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
        position& at = here[u];
        if (at.z >= routes.end && at.z < length) at.place = p.in_parent[base + at.place];
      }
    }
    mask_pair add[unroll];
    mask_pair* out[unroll];
    GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
      const position& at = here[u];
      add[u] = {0, 0};
      out[u] = p.masks;
      if (at.z < routes.begin || at.z < least || at.z >= length) continue;
      add[u] = routed(at.masks, routes);
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
    or_into(routes.exclusive, add, out);
  }
}

/// Column block q of a panel whose column blocks end before `end`.
GSOFA_DEVICE column_block_head head_of_column_block(const panel_view& p, offset_t q, offset_t end) {
  if (q >= end) return {0, -1, 0};
  return {p.column_block_mask[q], p.column_block_panel[q], p.column_block_first[q]};
}

/// Reads the head of panel j without its column blocks, by one warp.
GSOFA_DEVICE void read_head(const elimination_view& e, index_t j, panel_head& head) {
  const panel_view& p = e.p;
  if (lane_index() >= static_cast<unsigned>(most_steps)) return;
  const index_t above = p.above[offset_t{j} * most_steps + lane_index()];
  head.above_begin[lane_index()] = above < 0 ? -1 : p.position_begin[above];
  if (lane_index() > 0) return;
  head.single_child_steps = p.single_child_steps[j];
  head.next.panel = above;
  if (above < 0) return;
  head.next.children = e.children[above];
  head.next.place = place_of(p, above);
}

/// Factors the diagonal block of the panel above, by one of the last two warps, while the others
/// sweep.
///
/// Before: that panel has one child, the current panel, whose first column block and routes are in
/// shared memory behind a barrier. What the masks of its vertices lack is what these vertices
/// receive from the current panel, which `takes` says they do. Nobody writes these masks
/// meanwhile: the sweep leaves them out, and store_diagonal() sets them when the panel above is the
/// current one. After: the block is complete; the barrier that ends the current panel orders it.
GSOFA_DEVICE void factor_next_diagonal(const panel_view& p, const panel_place& next,
                                       const target_routes& routes, bool takes, worker_state& s,
                                       diagonal_block& factored, bool of_columns) {
  lane_masks m{{0, 0}, {0, 0}};
  GSOFA_UNROLL for (int half = 0; half < 2; ++half) {
    const auto v = static_cast<index_t>(lane_index()) + half * 32;
    mask_pair& here = half == 0 ? m.low : m.high;
    if (v < next.width) here = p.masks[next.first + v];
    if (!takes) continue;
    const mask_pair add = routed(s.first_column_block[v], routes);
    here.upper |= add.upper & below(v);
    here.lower |= add.lower & below(v);
  }
  factor_block_side(m, next.width, factored, of_columns);
}

// The work of update rounds: one part for each round, one for each target and step of its sweep, in
// the ratio of their times in rounds of up56 and g7jac040sc.
constexpr unsigned long long work_of_round = 8;
constexpr unsigned long long work_of_step = 3;

/// The work of an update round whose sweep passes over `positions` positions for each of the active
/// targets.
template <tier Tier>
GSOFA_DEVICE unsigned long long work_of_update_round(index_t positions, std::uint32_t active) {
  constexpr int unroll = worker<Tier>::unroll;
  const index_t size = unroll * worker<Tier>::wide_size();
  const index_t steps = (positions + size - 1) / size;
  return work_of_round + work_of_step * static_cast<unsigned>(steps) * simt::population(active);
}

/// The work of a round that divides pairs of a position and a target.
template <tier Tier>
GSOFA_DEVICE unsigned long long work_of_pairs(offset_t pairs) {
  const offset_t size = offset_t{worker<Tier>::unroll} * worker<Tier>::wide_size();
  return work_of_round + work_of_step * static_cast<unsigned long long>((pairs + size - 1) / size);
}

/// What a task adds, whose round is `work`. Tasks are done side by side: a task takes the share of
/// one worker of the launch, twice that where workers are busy otherwise.
template <tier Tier>
GSOFA_DEVICE unsigned long long work_of_task(unsigned long long work) {
  const unsigned workers =
      worker<Tier>::is_cluster ? simt::grid_size() / simt::cluster_size() : simt::grid_size();
  return 1 + 2 * work / workers;
}

/// Adds to what update rounds have cost, and returns whether the sum is too large; if so, it also
/// notifies the host, which looks when the launches have ended.
GSOFA_DEVICE bool exceeds_update_work(const elimination_view& e, unsigned long long work) {
  const bool too_much = simt::atomic_add(e.update_work, work) + work > e.most_update_work;
  if (too_much) simt::store_to_host(e.fell_back, 1);
  return too_much;
}

/// How a worker leaves a panel.
struct outcome {
  bool ready;  ///< the diagonal block of the panel above is factored
  outlook next;
  bool helped;  ///< the panel above is a target of tasks; where workers hand over
};

/// Adds to what update rounds have cost, by one thread of a worker.
template <tier Tier>
GSOFA_DEVICE outlook outlook_after(const elimination_view& e, unsigned long long work) {
  using team = worker<Tier>;
  if (exceeds_update_work(e, work)) return falls_back;
  if constexpr (team::is_warp || team::hands_over) {
    return goes_on;
  } else {
    return simt::atomic_add(e.far_work, work) + work >= e.most_far_work ? leaves : goes_on;
  }
}

/// The panel that a worker factors, as one of its threads sees it.
struct current_panel {
  const elimination_view& e;
  worker_state& s;
  index_t j;
  const panel_place& place;
  unsigned side;  ///< which of the two of a kind in worker_state belong to this panel
  bool ready;     ///< diagonal block and head were computed during the sweep of the panel before
  diagonal_block& block;
  panel_head& head;
  mask_pair* masks;   ///< of position 0
  index_t wide_rank;  ///< of this thread among all threads of the worker
  bool leads;         ///< that rank is 0
};

template <tier Tier>
GSOFA_DEVICE current_panel current_panel_of(const elimination_view& e, index_t j,
                                            const panel_place& place, worker_state& s,
                                            unsigned side, bool ready) {
  const index_t rank = worker<Tier>::wide_rank();
  return {
      e,    s,        j, place, side, ready, s.block[side], s.head[side], e.p.masks + place.first,
      rank, rank == 0};
}

/// Whether this thread's warp factors diagonal blocks. The last two warps of a worker do: they
/// seldom have a column block.
template <tier Tier>
GSOFA_DEVICE bool has_diagonal() {
  return worker<Tier>::warp() + 2 >= worker<Tier>::warps();
}

/// Loads the masks of one column block by one warp, and notes in `mine` where the target panel
/// lies.
///
/// Before: no thread writes these masks. After: each lane holds two masks, zero where the vertex is
/// not in the boundary; lane 0 has written `mine`, which the barriers of route_updates() order.
template <tier Tier>
GSOFA_DEVICE lane_masks load_targets(const current_panel& c, const column_block_head& block,
                                     target_routes& mine) {
  lane_masks m{{0, 0}, {0, 0}};
  if (block.panel < 0) return m;
  const panel_view& p = c.e.p;
  const unsigned lane = lane_index();
  const std::uint32_t before = low_half(block.members);
  const std::uint32_t behind = high_half(block.members);
  const std::uint32_t here = 1U << lane;
  if ((before & here) != 0) {
    m.low = c.masks[block.begin + static_cast<index_t>(simt::population(before & lower_lanes()))];
  }
  if ((behind & here) != 0) {
    m.high = c.masks[block.begin + static_cast<index_t>(simt::population(before) +
                                                        simt::population(behind & lower_lanes()))];
  }
  if (lane == 0) {
    mine.panel = block.panel;
    mine.vertices = p.begin[block.panel];
    mine.first = p.position_begin[block.panel];
    mine.begin = block.begin;
    mine.end = block.begin + static_cast<index_t>(simt::population(block.members));
    if constexpr (worker<Tier>::hands_over) {
      mine.helped = simt::load_shared_state(c.e.helped + block.panel) != 0;
      target_blocks& there = c.s.far(worker<Tier>::warps()).there[worker<Tier>::warp()];
      there.begin = p.column_block_begin[block.panel];
      there.count = static_cast<index_t>(p.column_block_begin[block.panel + 1] - there.begin);
    }
  }
  return m;
}

/// Loads the masks of the panel's own vertices by one warp.
GSOFA_DEVICE lane_masks load_diagonal(const current_panel& c) {
  lane_masks m{{0, 0}, {0, 0}};
  const auto row = static_cast<index_t>(lane_index());
  if (row < c.place.width) m.low = c.masks[row];
  if (row + 32 < c.place.width) m.high = c.masks[row + 32];
  return m;
}

/// What a warp holds of a panel before the panel is factored.
struct panel_input {
  lane_masks diagonal;  ///< of the panel's own vertices; in the warps of has_diagonal()
  lane_masks targets;   ///< of the warp's column block of the first round
};

/// Reads what the first round needs and asks for the first positions of the sweep.
///
/// Before: all panels below have updated this one, and the last barrier that the worker passed
/// orders their updates before these loads. After: nothing has been written but the places of the
/// targets, and no barrier has been passed.
template <tier Tier>
GSOFA_DEVICE panel_input read_panel(const current_panel& c, target_routes& mine) {
  using team = worker<Tier>;
  const panel_view& p = c.e.p;
  const index_t w = c.place.width;
  panel_input in{{{0, 0}, {0, 0}}, {}};
  if (has_diagonal<Tier>() && !c.ready) in.diagonal = load_diagonal(c);
  in.targets = load_targets<Tier>(
      c,
      c.ready ? c.head.column_blocks[team::warp()]
              : head_of_column_block(p, c.place.column_block_begin + team::warp(),
                                     c.place.column_block_end),
      mine);
  GSOFA_UNROLL for (int u = 0; u < team::unroll; ++u) {
    const index_t z = w + c.wide_rank + u * team::wide_size();
    if (z >= c.place.length) break;
    simt::prefetch(c.masks + z);
    simt::prefetch(p.columns + c.place.first + z);
    simt::prefetch(p.in_parent + c.place.first + z);
  }
  return in;
}

/// Factors the diagonal block and reads the head, unless both are ready. Clears the sums that
/// vertices_with_boundary() makes: those in shared memory for this panel, those of a cluster for
/// the next one.
///
/// After: block and head of the panel are in shared memory, valid for all threads of the worker.
/// Where the panel is not ready, a wide barrier ends this step: behind it all threads have read
/// what they need of the panel's masks, and masks may be stored. Where the panel is ready, the
/// barrier that ended the panel before has ordered block and head, and the first barrier of
/// route_updates() is the one behind which boundary positions may be stored. The barriers of
/// route_updates() order what is cleared before what is added, those of a cluster in the next
/// panel.
template <tier Tier>
GSOFA_DEVICE void factor_diagonal(const current_panel& c, const lane_masks& diagonal) {
  using team = worker<Tier>;
  const index_t w = c.place.width;
  const unsigned warp = team::warp();
  const unsigned warps = team::warps();
  if (c.ready) {
    // The warps of prepare_next_panel() have done it.
  } else if constexpr (team::is_warp) {
    factor_block<2>(diagonal, w, c.block, false);
  } else if (has_diagonal<Tier>()) {
    if (warp + 1 == warps) factor_block_side(diagonal, w, c.block, true);
    if (warp + 2 == warps || warps == 1) factor_block_side(diagonal, w, c.block, false);
  }
  if (warp == warps / 4) {
    if (!c.ready) read_head(c.e, c.j, c.head);
    if (lane_index() == 0) {
      c.s.any_upper = c.s.any_lower = 0;
    }
  }
  if constexpr (team::is_cluster) {
    if (c.leads) {
      cluster_state& shared = state_of_cluster(c.e);
      shared.any_upper[c.side ^ 1U] = shared.any_lower[c.side ^ 1U] = 0;
    }
  }
  if (!c.ready) team::sync_wide();
}

/// Writes the factored diagonal block to the masks of the panel's own vertices.
///
/// Before: the block is valid for all threads, and nobody reads these masks any more: the warps
/// that needed them have passed a barrier since. After: the masks are those of L and U.
template <tier Tier>
GSOFA_DEVICE void store_diagonal(const current_panel& c) {
  for (index_t k = c.wide_rank; k < c.place.width; k += worker<Tier>::wide_size()) {
    c.masks[k] = {c.block.cols[k] & below(k), c.block.rows[k] & below(k)};
  }
}

/// The vertices k of a panel of width w that the panel itself does not prune: no s in the panel has
/// L(s, k) != 0 and U(k, s) != 0. Each warp computes all of them.
GSOFA_DEVICE mask_t unpruned_inside(const diagonal_block& block, index_t w) {
  const auto k = static_cast<index_t>(lane_index());
  const unsigned low = simt::ballot((block.rows[k] & block.cols[k] & above(k)) != 0);
  const unsigned high =
      simt::ballot((block.rows[k + 32] & block.cols[k + 32] & above(k + 32)) != 0);
  return ~joined(low, high) & all_of(w);
}

/// The closures that factor a panel's boundary.
struct panel_closures {
  closure by_l;  ///< of `upper` masks
  closure by_u;  ///< of `lower` masks

  GSOFA_DEVICE explicit panel_closures(const current_panel& c)
      : by_l(c.block.l, all_of(c.place.width)), by_u(c.block.u, all_of(c.place.width)) {}
};

/// The same by the tables of a worker that hands over.
struct tabled_closures {
  tabled_closure by_l;
  tabled_closure by_u;

  GSOFA_DEVICE tabled_closures(const panel_closures& by, const far_state& far)
      : by_l{by.by_l, far.closures[0]}, by_u{by.by_u, far.closures[1]} {}
};

/// Fills the tables of the closures by the threads of a block, unless reaches are chains, where one
/// step of a search is enough.
///
/// Before: the diagonal block is valid for all threads. A barrier before the use of the tables is
/// the caller's.
template <tier Tier>
GSOFA_DEVICE void fill_closures(const current_panel& c) {
  using team = worker<Tier>;
  far_state& far = c.s.far(team::warps());
  GSOFA_UNROLL for (int side = 0; side < 2; ++side) {
    const reach& r = side == 0 ? c.block.l : c.block.u;
    if (r.is_chain) continue;
    fill_table(
        far.closures[side], [&](index_t k) { return r.from[k] | bit(k); }, team::rank(),
        team::size());
  }
}

/// Factors the masks of a warp's column block of the first round for the warp itself.
///
/// After: `m` is factored. The masks in device memory are as they were; the sweep will factor and
/// store the same positions. Warp 0 has left its masks in shared memory for factor_next_diagonal();
/// the barriers of route_updates() order them.
template <tier Tier>
GSOFA_DEVICE void factor_targets(const current_panel& c, const panel_closures& by, lane_masks& m) {
  mask_t masks[] = {m.low.upper, m.high.upper, m.low.lower, m.high.lower};
  const closure* const closures[] = {&by.by_l, &by.by_l, &by.by_u, &by.by_u};
  apply_closures(masks, closures);
  m.low = {masks[0], masks[2]};
  m.high = {masks[1], masks[3]};
  if (!worker<Tier>::is_warp && worker<Tier>::warp() == 0) {
    c.s.first_column_block[lane_index()] = m.low;
    c.s.first_column_block[lane_index() + 32] = m.high;
  }
}

/// Finds which rows of U and columns of L each target of a round takes, one target panel per warp,
/// and removes from `unpruned` the vertices that these targets prune.
///
/// Before: `m` holds the factored masks of the warp's targets, zero where `has_targets` is false;
/// `unpruned` holds the vertices that no target before this round prunes, the same in all warps.
/// After: the barrier at the end makes the routes of all warps valid for all threads with the same
/// shared memory. The first barrier orders `both` of all warps. In the first round of a panel that
/// was ready it is a wide one: no other barrier stands between the loads of targets by all blocks
/// and the first store of a boundary position.
template <tier Tier>
GSOFA_DEVICE void route_updates(const current_panel& c, const lane_masks& m, bool has_targets,
                                bool is_first, target_routes& mine, mask_t& unpruned) {
  using team = worker<Tier>;
  const unsigned lane = lane_index();
  const unsigned warp = team::warp();
  const row_pair both{m.low.upper & m.low.lower, m.high.upper & m.high.lower};
  const mask_t all_low = or_over_warp(both.low);
  const mask_t all_high = or_over_warp(both.high);
  if (lane == 0) mine.both = all_low | all_high;
  if (c.ready && is_first) {
    team::sync_wide();
  } else {
    team::sync();
  }
  const mask_t seen = lane < team::warps() ? c.s.routes()[lane].both : 0;
  const mask_t before = unpruned & ~or_over_warp(lane < warp ? seen : 0);
  unpruned &= ~or_over_warp(seen);
  if (before != 0 && has_targets) {
    const row_pair earlier = or_of_lower_lanes(both);
    const mask_t low = before & ~earlier.low;
    const mask_t high = before & ~all_low & ~earlier.high;
    // Row k goes to target t for the k of L(t, :) that reach no other, and the other way round.
    mask_t last[] = {m.low.lower, m.high.lower, m.low.upper, m.high.upper};
    const reach* const by[] = {&c.block.l, &c.block.l, &c.block.u, &c.block.u};
    keep_last(last, by);
    set_routes(mine, {low & last[0], high & last[1]}, {low & last[2], high & last[3]});
    // Is the target one of the next ancestors?
    const bool there =
        lane < static_cast<unsigned>(most_steps) && c.head.above_begin[lane] == mine.first;
    const unsigned step = simt::ballot(there);
    if (lane == 0) {
      mine.steps = step == 0 ? 0 : static_cast<index_t>(simt::lowest_bit(step)) + 1;
      mine.exclusive = step != 0 && mine.steps <= c.head.single_child_steps;
      if constexpr (team::hands_over) mine.exclusive = mine.exclusive && !mine.helped;
    }
  } else if (lane == 0) {
    mine.upper.active = mine.lower.active = 0;
  }
  team::sync();
}

/// The warps, as bits, whose targets take anything in this round. Each warp computes all of them.
///
/// Before: route_updates() has ended with its barrier.
template <tier Tier>
GSOFA_DEVICE std::uint32_t active_routes(const current_panel& c) {
  const unsigned lane = lane_index();
  const target_routes* const routes = c.s.routes();
  const bool takes =
      lane < worker<Tier>::warps() && (routes[lane].upper.active | routes[lane].lower.active) != 0;
  return simt::ballot(takes);
}

/// Counts a round that updates the targets of the active warps.
GSOFA_DEVICE void count_round([[maybe_unused]] const current_panel& c,
                              [[maybe_unused]] std::uint32_t active) {
  if constexpr (detail::counting) {
    if (!c.leads) return;
    simt::atomic_add(c.e.counters + count_rounds, 1ULL);
    for (; active != 0; active &= active - 1) {
      simt::atomic_add(c.e.counters + count_updates, 1ULL);
      simt::atomic_add(c.e.counters + count_update_positions,
                       static_cast<unsigned long long>(
                           c.place.length - c.s.routes()[simt::lowest_bit(active)].begin));
    }
  }
}

/// The positions that a thread sweeps in a round: begin + rank, and every size-th from there.
struct sweep_share {
  index_t begin;
  index_t rank;
  index_t size;
  index_t least;  ///< positions before this one update nothing
};

/// Whether the first round factors the next diagonal block during the sweep. It does if the panel
/// above has one child, the current panel, is not helped, and belongs to this launch and wave, and
/// if enough warps are left for the sweep.
template <tier Tier>
GSOFA_DEVICE bool prepares_next_panel(const current_panel& c) {
  if constexpr (worker<Tier>::hands_over) {
    if (c.s.routes()[0].helped) return false;
  }
  return c.head.single_child_steps > 0 && c.head.next.panel < c.e.wave.end &&
         c.head.next.place.length <= c.e.most && worker<Tier>::warps() >= 4;
}

/// Prepares the panel above by the last three warps of each block, which do not sweep: two factor
/// its diagonal block, one reads its head. Divides the sweep among the other warps.
///
/// Before: the factored masks of the first column block and the routes are in shared memory, behind
/// the barriers of route_updates(). After: the other side of worker_state holds block and head of
/// the panel above; the barrier that ends the current panel orders them before their use.
template <tier Tier>
GSOFA_DEVICE void prepare_next_panel(const current_panel& c, std::uint32_t active,
                                     sweep_share& share) {
  using team = worker<Tier>;
  constexpr unsigned others = 3;
  const unsigned lane = lane_index();
  const unsigned warp = team::warp();
  const unsigned warps = team::warps();
  const panel_view& p = c.e.p;
  const next_panel& next = c.head.next;
  const target_routes* const routes = c.s.routes();
  share.least = routes[0].end;
  share.size -= share.size / static_cast<index_t>(warps) * static_cast<index_t>(others);
  if constexpr (team::is_cluster) {
    share.rank -= static_cast<index_t>(simt::cluster_rank() * others * 32);
  }
  panel_head& head_above = c.s.head[c.side ^ 1U];
  if (has_diagonal<Tier>()) {
    factor_next_diagonal(p, next.place, routes[0], (active & 1U) != 0, c.s, c.s.block[c.side ^ 1U],
                         warp + 1 == warps);
  } else if (warp + others == warps) {
    read_head(c.e, next.panel, head_above);
    if (lane < warps) {
      head_above.column_blocks[lane] = head_of_column_block(p, next.place.column_block_begin + lane,
                                                            next.place.column_block_end);
    }
  }
  if (warp + others >= warps) share.rank = c.place.length;  // these warps do not sweep
}

/// Applies the updates of one round to its targets, position by position. In the first round every
/// boundary position is factored and stored at once, so that masks are read once.
///
/// Before: the routes of the round are valid; in the first round, a wide barrier has been passed
/// since the last thread loaded its targets, so that each boundary position is read and written by
/// one thread. After: the targets have been updated as update_targets() says. Returns the OR of the
/// masks that this thread has factored, zero in update rounds.
template <tier Tier, class Closures>
GSOFA_DEVICE mask_pair sweep(const current_panel& c, const Closures& by, const sweep_share& share,
                             std::uint32_t active, bool is_first) {
  constexpr int unroll = worker<Tier>::unroll;
  const panel_view& p = c.e.p;
  const index_t length = c.place.length;
  const offset_t first = c.place.first;
  mask_pair any{0, 0};
  for (index_t z = share.begin + share.rank; z < length; z += unroll * share.size) {
    position here[unroll];
    GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
      const index_t at = z + u * share.size;
      here[u] = {{0, 0}, at, 0, 0};
      if (at < length) {
        here[u] = {c.masks[at], at, p.columns[first + at], p.in_parent[first + at]};
      }
    }
    if (is_first) {
      GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
        mask_pair& m_here = here[u].masks;
        m_here = {by.by_l(m_here.upper), by.by_u(m_here.lower)};
        if (here[u].z < length) c.masks[here[u].z] = m_here;
        any = {any.upper | m_here.upper, any.lower | m_here.lower};
      }
    }
    update_targets(p, here, share.least, length, active, c.s, c.head);
  }
  return any;
}

/// The vertices k of the panel that have entries of both U(k, :) and L(:, k) in the boundary; `any`
/// is what this thread has met of them in the sweep of the first round.
///
/// The barrier in this step, a wide one in a cluster, also ends the first round: behind it all
/// threads see all factored masks, which update rounds load.
template <tier Tier>
GSOFA_DEVICE mask_t vertices_with_boundary(const current_panel& c, mask_pair any) {
  using team = worker<Tier>;
  any = {or_over_warp(any.upper), or_over_warp(any.lower)};
  if (lane_index() == 0) {
    simt::atomic_or(&c.s.any_upper, any.upper);
    simt::atomic_or(&c.s.any_lower, any.lower);
  }
  team::sync();
  any = {c.s.any_upper, c.s.any_lower};
  if constexpr (team::is_cluster) {
    cluster_state& shared = state_of_cluster(c.e);
    if (team::rank() == 0) {
      simt::atomic_or(&shared.any_upper[c.side], any.upper);
      simt::atomic_or(&shared.any_lower[c.side], any.lower);
    }
    team::sync_wide();
    any = {simt::load_shared_state(&shared.any_upper[c.side]),
           simt::load_shared_state(&shared.any_lower[c.side])};
  }
  return any.upper & any.lower;
}

/// Ends a panel whose update rounds have cost `update_work`.
///
/// After: a wide barrier has been passed. Behind it all threads of the worker see all masks of the
/// panel and all its updates, and the leader may release these to other workers. All threads return
/// the same.
template <tier Tier>
GSOFA_DEVICE outlook finish_panel(const current_panel& c, unsigned long long update_work) {
  using team = worker<Tier>;
  if constexpr (team::is_warp) {
    if (c.leads) c.s.excess += static_cast<std::int64_t>(update_work) - c.e.fair_work;
  }
  if (update_work == 0) {
    team::sync_wide();
    return goes_on;
  }
  std::uint32_t* next = &c.s.next_step;
  if constexpr (team::is_cluster) next = &state_of_cluster(c.e).next_step;
  if (c.leads) *next = outlook_after<Tier>(c.e, update_work);
  team::sync_wide();
  return static_cast<outlook>(simt::load_shared_state(next));
}

/// The tasks of a panel: they double in size, from the nearest targets on, which panels wait for
/// soonest. A task costs about two rounds besides its own.
struct task_sizes {
  static constexpr index_t doublings = 2;
  static constexpr int size_shift = 26;  // of work_item::task: the column block, then the doublings
  index_t of_round;                      ///< column blocks of a round

  /// The column blocks before task k.
  GSOFA_DEVICE index_t before(index_t k) const {
    const index_t doubled = k < doublings ? k : doublings;
    return of_round * ((1 << doubled) - 1 + (k - doubled) * (1 << doublings));
  }
  /// Task k, whose first column block is `first`.
  GSOFA_DEVICE static index_t encoded(index_t k, index_t first) {
    return first | (k < doublings ? k : doublings) << size_shift;
  }
  GSOFA_DEVICE static index_t first(index_t task) { return task & ((1 << size_shift) - 1); }
  GSOFA_DEVICE index_t size(index_t task) const { return of_round << (task >> size_shift); }
};

/// Hands over the column blocks of a panel from `far` on, relative to its first, as tasks. Returns
/// the first column block that has found no room, or the number of column blocks.
///
/// After: a wide barrier has been passed; all threads return the same; the targets of the tasks
/// wait for them. Flags are set behind the barrier: they release all masks of the panel.
template <tier Tier>
GSOFA_DEVICE index_t hand_over(const current_panel& c, index_t far) {
  using team = worker<Tier>;
  const elimination_view& e = c.e;
  const task_queue& q = e.tasks;
  const task_sizes sizes{static_cast<index_t>(team::warps())};
  const auto count = static_cast<index_t>(c.place.column_block_end - c.place.column_block_begin);
  index_t tasks = 0;
  while (far + sizes.before(tasks) < count) ++tasks;
  index_t* first_slot = &c.s.task;
  if constexpr (team::is_cluster) first_slot = &state_of_cluster(e).task;
  const index_t* const targets = e.p.column_block_panel + c.place.column_block_begin;
  for (index_t k = far + c.wide_rank; k < count; k += team::wide_size()) {
    simt::atomic_or(e.helped + targets[k], std::uint32_t{1});
  }
  if (c.leads) {
    // The panel itself is open: the count does not come to zero meanwhile.
    simt::atomic_add(e.open, static_cast<std::uint32_t>(tasks));
    const std::uint32_t slot = simt::atomic_add(q.tail, static_cast<std::uint32_t>(tasks));
    const std::uint32_t room = slot < q.room ? q.room - slot : 0;
    const std::uint32_t fit =
        room < static_cast<std::uint32_t>(tasks) ? room : static_cast<std::uint32_t>(tasks);
    simt::atomic_add(e.open, fit - static_cast<std::uint32_t>(tasks));
    for (std::uint32_t k = 0; k < fit; ++k) {
      const auto number = static_cast<index_t>(k);
      const index_t first = far + sizes.before(number);
      simt::atomic_add(e.finished + targets[first], ~std::uint32_t{0});
      q.items[slot + k] = {c.j, task_sizes::encoded(number, first)};
    }
    *first_slot = static_cast<index_t>(slot);
  }
  team::sync_wide();
  const auto slot = static_cast<std::uint32_t>(simt::load_shared_state(first_slot));
  const std::uint32_t room = slot < q.room ? q.room - slot : 0;
  const index_t fit = room < static_cast<std::uint32_t>(tasks) ? static_cast<index_t>(room) : tasks;
  for (index_t k = c.wide_rank; k < fit; k += team::wide_size()) {
    simt::atomic_increment_acq_rel(q.flags + slot + static_cast<std::uint32_t>(k));
  }
  return far + sizes.before(fit) < count ? far + sizes.before(fit) : count;
}

/// The vertices of a factored panel, by the masks of its positions before `end`, that no target
/// there prunes. Each block computes all of them.
///
/// Before: the barrier of factor_diagonal() has been passed, and any_upper of the worker is zero.
template <tier Tier>
GSOFA_DEVICE mask_t unpruned_before(const current_panel& c, index_t end) {
  using team = worker<Tier>;
  mask_t both = 0;
  for (index_t z = c.place.width + team::rank(); z < end; z += team::size()) {
    const mask_pair m = c.masks[z];
    both |= m.upper & m.lower;
  }
  both = or_over_warp(both);
  if (lane_index() == 0 && both != 0) simt::atomic_or(&c.s.any_upper, both);
  team::sync();
  return unpruned_inside(c.block, c.place.width) & ~c.s.any_upper;
}

/// Lists the column blocks of a panel from `first` on, as many as there is room for, by the threads
/// of a block. The barriers of route_updates() order the list.
template <tier Tier>
GSOFA_DEVICE void list_blocks(const current_panel& c, offset_t first) {
  using team = worker<Tier>;
  const panel_view& p = c.e.p;
  far_state& far = c.s.far(team::warps());
  const auto count = static_cast<index_t>(c.place.column_block_end - first);
  const index_t known = count < known_blocks ? count : known_blocks;
  if (team::rank() == 0) {
    far.blocks = known;
    far.end = known < count ? p.column_block_first[first + known] : c.place.length;
  }
  for (index_t k = team::rank(); k < known; k += team::size()) {
    const index_t panel = p.column_block_panel[first + k];
    far.block_panel[k] = panel;
    far.block_begin[k] = p.column_block_first[first + k];
    far.block_vertices[k] = p.begin[panel];
  }
}

/// The first of `count` ascending values that is not less than `value`; `count`: there is none.
GSOFA_DEVICE index_t first_from(const index_t* values, index_t count, index_t value) {
  index_t low = 0;
  for (index_t high = count; low < high;) {
    const index_t middle = low + (high - low) / 2;
    if (values[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Finds the listed column blocks of the current panel among those of this warp's target, by the
/// warp. The caller passes a barrier of the block before their use.
///
/// The boundary of a panel beyond an ancestor lies in the list of the ancestor (README.md): so a
/// target has a column block of each panel that the current one has beyond it, with all members.
template <tier Tier>
GSOFA_DEVICE void find_places(const current_panel& c) {
  constexpr int batch = 4;  // loads that overlap
  const panel_view& p = c.e.p;
  far_state& far = c.s.far(worker<Tier>::warps());
  target_blocks& there = far.there[worker<Tier>::warp()];
  for (auto k = static_cast<index_t>(lane_index()); k < there.count; k += 32 * batch) {
    index_t panel[batch], first[batch];
    mask_t members[batch];
    GSOFA_UNROLL for (int b = 0; b < batch; ++b) {
      panel[b] = -1;
      if (k + 32 * b >= there.count) continue;
      const offset_t block = there.begin + k + 32 * b;
      panel[b] = p.column_block_panel[block];
      first[b] = p.column_block_first[block];
      members[b] = p.column_block_mask[block];
    }
    GSOFA_UNROLL for (int b = 0; b < batch; ++b) {
      if (panel[b] < 0) continue;
      const index_t at = first_from(far.block_panel, far.blocks, panel[b]);
      if (at == far.blocks || far.block_panel[at] != panel[b]) continue;
      there.first[at] = first[b];
      there.members[at] = members[b];
    }
  }
}

/// Updates one target by positions z, z + 32, ... of the current panel, of which each lane of a
/// warp has others.
template <tier Tier>
GSOFA_DEVICE void update_target(const current_panel& c, const far_state& far, unsigned warp,
                                index_t z) {
  constexpr int unroll = worker<Tier>::unroll;
  const panel_view& p = c.e.p;
  const target_routes& routes = c.s.routes()[warp];
  const target_blocks& there = far.there[warp];
  mask_pair masks[unroll];
  index_t vertex[unroll];
  GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
    const index_t at = z + 32 * u;
    masks[u] = {0, 0};
    vertex[u] = 0;
    if (at >= c.place.length) continue;
    masks[u] = c.masks[at];
    vertex[u] = p.columns[c.place.first + at];
  }
  // The last listed column block that does not begin behind the position; sought while the loads
  // are under way.
  index_t block[unroll];
  GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
    block[u] = first_from(far.block_begin, far.blocks, z + 32 * u + 1) - 1;
  }
  mask_pair add[unroll];
  mask_pair* out[unroll];
  GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
    const index_t at = z + 32 * u;
    add[u] = routed(masks[u], routes);
    out[u] = p.masks;
    if ((add[u].upper | add[u].lower) == 0) continue;
    index_t to = 0;
    if (at < routes.end) {
      // Among the targets themselves: U(t, f) and L(f, t) with t < f only.
      to = vertex[u] - routes.vertices;
      add[u] = {add[u].upper & below(to), add[u].lower & below(to)};
    } else if (at >= far.end) {
      to = p.position(routes.panel, vertex[u]);
    } else {
      const index_t k = block[u];
      to = there.first[k] + static_cast<index_t>(simt::population(
                                there.members[k] & below(vertex[u] - far.block_vertices[k])));
    }
    out[u] = p.masks + routes.first + to;
  }
  or_into(routes.exclusive, add, out);
}

/// Updates the targets of the active warps by a factored panel. Pieces of 32 unroll positions of
/// one target are divided among all warps of the worker. Returns the pairs of a position and a
/// target.
///
/// Positions before the vertices of a target do not matter to it. The sweep of the first round
/// divides positions instead, and updates one target after another by each: where the panel is
/// shorter than the threads are many, most of these would idle for as many steps as there are
/// targets.
///
/// Before: a wide barrier stands behind the stores of the masks, one of the block behind routes and
/// places.
template <tier Tier>
GSOFA_DEVICE offset_t sweep_pairs(const current_panel& c, std::uint32_t active) {
  using team = worker<Tier>;
  constexpr index_t piece = 32 * team::unroll;
  far_state& far = c.s.far(team::warps());
  offset_t pairs = 0;
  index_t k = team::wide_warp();
  for (; active != 0; active &= active - 1) {
    const unsigned warp = simt::lowest_bit(active);
    const target_routes& routes = c.s.routes()[warp];
    const index_t positions = c.place.length - routes.begin;
    const index_t pieces = (positions + piece - 1) / piece;
    for (; k < pieces; k += team::wide_warps()) {
      update_target<Tier>(c, far, warp,
                          routes.begin + k * piece + static_cast<index_t>(lane_index()));
    }
    k -= pieces;
    pairs += positions;
  }
  return pairs;
}

/// The targets of a later round, one per warp.
struct later_round {
  lane_masks targets;  ///< zero where there is none
  bool has_targets;
};

/// Reads what a round needs that updates the targets of a factored panel from column block `first`
/// on. The barriers of route_updates() order what this leaves in shared memory.
template <tier Tier>
GSOFA_DEVICE later_round read_round(const current_panel& c, offset_t first) {
  using team = worker<Tier>;
  const offset_t own = first + team::warp();
  const offset_t end = c.place.column_block_end;
  list_blocks<Tier>(c, first);
  return {load_targets<Tier>(c, head_of_column_block(c.e.p, own, end), c.s.routes()[team::warp()]),
          own < end};
}

/// Updates the targets of a round, where `unpruned` holds the vertices that no target before them
/// prunes. Returns the work of the round. No barrier stands behind the sweep.
template <tier Tier>
GSOFA_DEVICE unsigned long long update_round(const current_panel& c, const later_round& round,
                                             mask_t& unpruned) {
  using team = worker<Tier>;
  route_updates<Tier>(c, round.targets, round.has_targets, false, c.s.routes()[team::warp()],
                      unpruned);
  const std::uint32_t active = active_routes<Tier>(c);
  if ((active >> team::warp() & 1U) != 0) find_places<Tier>(c);
  team::sync();
  count_round(c, active);
  return work_of_pairs<Tier>(sweep_pairs<Tier>(c, active));
}

/// Does a task: updates the targets of panel j round by round, one per warp.
/// Returns the target that the last of its children and tasks has made ready, or -1.
///
/// Before: the leader has acquired the task, and a wide barrier has been passed. After: a wide
/// barrier has been passed; all threads return the same.
template <tier Tier>
GSOFA_DEVICE index_t do_task(const elimination_view& e, work_item task, worker_state& s,
                             unsigned side) {
  using team = worker<Tier>;
  const panel_view& p = e.p;
  const panel_place place = place_of(p, task.panel);
  const current_panel c = current_panel_of<Tier>(e, task.panel, place, s, side, false);
  const task_sizes sizes{static_cast<index_t>(team::warps())};
  const offset_t first = place.column_block_begin + task_sizes::first(task.task);
  const offset_t behind = first + sizes.size(task.task);
  const offset_t end = behind < place.column_block_end ? behind : place.column_block_end;
  lane_masks diagonal{{0, 0}, {0, 0}};
  if (has_diagonal<Tier>()) diagonal = load_diagonal(c);
  later_round round = read_round<Tier>(c, first);
  factor_diagonal<Tier>(c, diagonal);
  // Others may be updating the targets. The barriers of route_updates() order this store.
  if (team::rank() == 0) c.head.single_child_steps = 0;
  unsigned long long work = 0;
  for (offset_t block = first; block < end; block += sizes.of_round) {
    if (block > first) {
      // The round before is through with what this one writes.
      team::sync();
      if (team::rank() == 0) c.s.any_upper = 0;
      round = read_round<Tier>(c, block);
      team::sync();
    }
    mask_t unpruned = unpruned_before<Tier>(c, p.column_block_first[block]);
    if (unpruned == 0) break;
    work += update_round<Tier>(c, round, unpruned);
  }
  team::sync_wide();
  index_t* next = &s.panel;
  if constexpr (team::is_cluster) next = &state_of_cluster(e).panel;
  if (c.leads) {
    if (work > 0) exceeds_update_work(e, work_of_task<Tier>(work));
    const index_t target = p.column_block_panel[first];
    const bool is_last =
        simt::atomic_increment_acq_rel(e.finished + target) + 1 == e.children[target];
    *next = is_last ? target : -1;
  }
  team::sync_wide();
  const index_t ready = simt::load_shared_state(next);
  team::sync_wide();
  return ready;
}

/// The targets of the first round that the worker updates itself, of those of the warps `taking`;
/// `far` becomes the first column block, relative to the panel's first, that it does not update in
/// this round.
///
/// A task costs another worker about as much as a panel with its first target. As many targets
/// stay, the nearest, as are updated in a few steps of all threads.
template <tier Tier>
GSOFA_DEVICE std::uint32_t near_targets(const current_panel& c, std::uint32_t taking,
                                        index_t& far) {
  using team = worker<Tier>;
  const offset_t most = offset_t{c.e.most_near_steps} * team::unroll * team::wide_size();
  far = static_cast<index_t>(team::warps());
  offset_t pairs = 0;
  std::uint32_t near = 0;
  for (; taking != 0; taking &= taking - 1) {
    const unsigned warp = simt::lowest_bit(taking);
    pairs += c.place.length - c.s.routes()[warp].begin;
    if (near != 0 && pairs > most) {
      far = static_cast<index_t>(warp);
      break;
    }
    near |= 1U << warp;
  }
  return near;
}

/// Updates the targets of the first round but one, `others`, and those beyond, from column block
/// `far` on: by tasks, and itself where there is no room for these. Returns the work of the rounds.
template <tier Tier>
GSOFA_DEVICE unsigned long long update_others(const current_panel& c, std::uint32_t others,
                                              index_t far) {
  using team = worker<Tier>;
  const panel_place& place = c.place;
  const auto count = static_cast<index_t>(place.column_block_end - place.column_block_begin);
  const auto warps = static_cast<index_t>(team::warps());
  const index_t rest = hand_over<Tier>(c, far);
  if (others != 0) sweep_pairs<Tier>(c, others);
  unsigned long long work = 0;
  for (index_t first = rest; first < count; first += warps) {
    team::sync();
    if (team::rank() == 0) c.s.any_upper = 0;
    team::sync();
    const offset_t begin = place.column_block_begin + first;
    mask_t left = unpruned_before<Tier>(c, c.e.p.column_block_first[begin]);
    if (left == 0) break;
    work += update_round<Tier>(c, read_round<Tier>(c, begin), left);
  }
  return work;
}

/// Updates the ancestors by a panel whose first round is routed, where workers hand over; `taking`:
/// the warps whose targets take anything; `unpruned`: the vertices that no target of the first
/// round prunes. One sweep factors all positions and updates the first target. Behind a barrier,
/// far targets are handed over, and pairs of a position and a target are divided among all warps.
template <tier Tier>
GSOFA_DEVICE outcome update_near_and_far(const current_panel& c, const panel_closures& by,
                                         std::uint32_t taking, mask_t unpruned) {
  using team = worker<Tier>;
  const panel_place& place = c.place;
  index_t far = 0;
  const std::uint32_t near = near_targets<Tier>(c, taking, far);
  const std::uint32_t others = near & (near - 1);
  if ((others >> team::warp() & 1U) != 0) find_places<Tier>(c);
  count_round(c, near);
  const bool helped = c.s.routes()[0].helped;
  sweep_share share{place.width, c.wide_rank, team::wide_size(), 0};
  const bool next_ready = prepares_next_panel<Tier>(c);
  if (next_ready) prepare_next_panel<Tier>(c, near, share);
  const mask_pair any =
      sweep<Tier>(c, tabled_closures(by, c.s.far(team::warps())), share, near & ~others, true);
  const bool has_more = place.column_block_begin + team::warps() < place.column_block_end;
  bool hands = near != taking;
  bool swept = false;  // a wide barrier stands behind the sweep
  if (!hands && has_more && unpruned != 0) {
    // Row k updates along entries of column k and the other way round: both must have some.
    hands = (unpruned & vertices_with_boundary<Tier>(c, any)) != 0;
    swept = true;
  }
  unsigned long long work = 0;
  if (hands) {
    work = update_others<Tier>(c, others, far);
  } else if (others != 0) {
    if (!swept) team::sync_wide();
    sweep_pairs<Tier>(c, others);
  }
  return {next_ready, finish_panel<Tier>(c, work), helped};
}

/// Factors panel j and updates its ancestors. `ready`: its diagonal block is factored already.
///
/// Before: all panels below j have been factored and have updated j. After: the masks of j are
/// those of L and U, and the masks of its ancestors hold the updates by j; the worker has passed a
/// wide barrier.
///
/// A round has one target panel per warp, ascending: whether row k updates a target depends on the
/// targets before it through `unpruned` alone. The first round factors the positions of its targets
/// for itself; then one sweep factors and stores every position and updates these targets, so that
/// masks are read once. Update rounds, for rows that are not pruned by then, read factored masks.
/// Workers that hand over do as update_near_and_far() says. `stays`: a worker that does not may
/// prepare the panel above.
template <tier Tier>
GSOFA_DEVICE outcome factor_and_update(const elimination_view& e, index_t j,
                                       const panel_place& place, worker_state& s, unsigned side,
                                       bool ready, bool stays) {
  using team = worker<Tier>;
  const current_panel c = current_panel_of<Tier>(e, j, place, s, side, ready);
  target_routes& mine = s.routes()[team::warp()];
  const auto [diagonal, first_targets] = read_panel<Tier>(c, mine);
  factor_diagonal<Tier>(c, diagonal);
  store_diagonal<Tier>(c);
  if (place.length == place.width) {
    team::sync_wide();
    return {false, goes_on, false};
  }

  mask_t unpruned = unpruned_inside(c.block, place.width);
  const panel_closures by(c);
  lane_masks targets = first_targets;
  if constexpr (team::hands_over) {
    fill_closures<Tier>(c);
    list_blocks<Tier>(c, place.column_block_begin);
    factor_targets<Tier>(c, by, targets);
    route_updates<Tier>(c, targets,
                        place.column_block_begin + team::warp() < place.column_block_end, true,
                        mine, unpruned);
    return update_near_and_far<Tier>(c, by, active_routes<Tier>(c), unpruned);
  } else {
    bool next_ready = false;
    bool is_first = true;
    unsigned long long update_work = 0;
    for (offset_t block = place.column_block_begin; block < place.column_block_end;
         block += team::warps()) {
      const offset_t own = block + team::warp();
      if (is_first) {
        factor_targets<Tier>(c, by, targets);
      } else {
        targets =
            load_targets<Tier>(c, head_of_column_block(e.p, own, place.column_block_end), mine);
      }
      route_updates<Tier>(c, targets, own < place.column_block_end, is_first, mine, unpruned);
      const std::uint32_t active = active_routes<Tier>(c);
      count_round(c, active);
      sweep_share share{place.width, c.wide_rank, team::wide_size(), 0};
      if (!is_first) {
        share.begin = active == 0 ? place.length : s.routes()[simt::lowest_bit(active)].begin;
        update_work += work_of_update_round<Tier>(place.length - share.begin, active);
      } else if constexpr (!team::is_warp) {
        next_ready = stays && prepares_next_panel<Tier>(c);
        if (next_ready) prepare_next_panel<Tier>(c, active, share);
      }
      const mask_pair any = sweep<Tier>(c, by, share, active, is_first);
      if (is_first) {
        is_first = false;
        if (block + team::warps() >= place.column_block_end || unpruned == 0) break;
        // Row k updates along entries of column k and the other way round: both must have some.
        unpruned &= vertices_with_boundary<Tier>(c, any);
      } else {
        team::sync();
      }
      if (unpruned == 0) break;
    }
    return {next_ready, finish_panel<Tier>(c, update_work), false};
  }
}

/// Eliminates panel j and then each panel above it whose last child this worker has finished, up to
/// the first that is left to the next launch or wave. `side` alternates from panel to panel.
///
/// Before: all children of j are done, and a barrier of the worker orders what they did. The same
/// holds of every panel that the loop goes on with: either the current panel is its only child, or
/// the leader has acquired the count of its finished children before the wide barrier.
///
/// Waves: the last child of panel j is panel j - 1. So if all children of a panel are before its
/// wave, it is the first panel of the wave, which begins with it and with its leaves.
///
/// A worker that is to leave, since workers that hand over go on, lists the panel that it would go
/// on with, unless that panel is ready: its diagonal block is nowhere but with this worker.
template <tier Tier>
GSOFA_DEVICE void follow(const elimination_view& e, index_t j, worker_state& s, unsigned& side) {
  using team = worker<Tier>;
  const bool leads = team::wide_rank() == 0;
  panel_place place = place_of(e.p, j);
  outcome last{false, goes_on, false};
  bool stays = true;
  for (;; side ^= 1U) {
    if (place.length > e.most || (!stays && !last.ready)) {
      if (leads) e.list[simt::atomic_add(e.list_count, std::uint32_t{1})] = j;
      return;
    }
    if constexpr (detail::counting) {
      if (leads && !team::is_warp) simt::atomic_add(e.counters + count_block_panels, 1ULL);
    }
    last = factor_and_update<Tier>(e, j, place, s, side, last.ready, stays);
    if (last.next == falls_back) break;
    if (last.next == leaves) stays = false;
    const next_panel& above = s.head[side].next;
    j = above.panel;
    bool counted = above.children > 1;
    if constexpr (team::hands_over) counted = counted || last.helped;
    if (j >= 0 && counted) {
      index_t* next = &s.panel;
      if constexpr (team::is_cluster) {
        next = &state_of_cluster(e).panel;
      }
      if (leads) {
        const bool is_last = simt::atomic_increment_acq_rel(e.finished + j) + 1 == above.children;
        *next = is_last ? j : -1;
      }
      team::sync_wide();
      j = simt::load_shared_state(next);
    }
    if (j < 0 || j >= e.wave.end) break;
    place = above.place;
  }
  side ^= 1U;
}

/// First launch: a warp takes each panel without children in the wave and follows the path up from
/// it. Sets to zero what later launches count with.
GSOFA_BOUNDED_KERNEL(warp_threads) void warp_panels_kernel(elimination_view e) {
  simt::after_earlier_launches();
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < e.zero_count; k += offset_t{simt::grid_size()} * simt::block_size()) {
    e.zeros[k] = 0;
  }
  worker_state& s = *reinterpret_cast<worker_state*>(simt::shared_memory<unsigned char>() +
                                                     simt::thread_index() / 32 * state_bytes(1));
  unsigned side = 0;
  if (lane_index() == 0) s.excess = 0;
  for (;;) {
    std::uint32_t ticket = 0;
    if (lane_index() == 0) ticket = simt::atomic_add(e.from[0].ticket, std::uint32_t{1});
    ticket = simt::shuffle(ticket, 0);
    if (ticket >= static_cast<std::uint32_t>(e.wave.end - e.wave.begin)) break;
    const index_t j = e.wave.begin + static_cast<index_t>(ticket);
    if (j != e.wave.begin && e.children[j] != 0) continue;
    follow<tier::warp>(e, j, s, side);
    simt::sync_warp();
  }
  if (lane_index() == 0 && s.excess != 0) {
    simt::atomic_add(e.excess, static_cast<unsigned long long>(s.excess));
  }
}

/// Whether workers that hand over go on, by what has been counted so far.
GSOFA_DEVICE bool far_work_is_reached(const elimination_view& e) {
  if (e.most_far_work == ~0ULL) return false;
  return simt::load_shared_state(e.far_work) >= e.most_far_work || *e.excess - 1 < ~0ULL / 2;
}

/// Takes panels of a list in turn, by workers of one tier that do not hand over, as long as the
/// update rounds of all have cost little. The leader notifies the other threads of the next panel
/// through `next`.
template <tier Tier>
GSOFA_DEVICE void take_listed(const elimination_view& e, worker_state& s, index_t* next) {
  using team = worker<Tier>;
  const panel_source& from = e.from[0];
  unsigned side = 0;
  for (;;) {
    if (team::wide_rank() == 0) {
      *next = -1;
      if (!far_work_is_reached(e)) {
        const std::uint32_t ticket = simt::atomic_add(from.ticket, std::uint32_t{1});
        const bool goes = simt::load_shared_state(e.update_work) <= e.most_update_work;
        if (goes && ticket < *from.count) *next = from.panels[ticket];
      }
    }
    team::sync_wide();
    const index_t j = simt::load_shared_state(next);
    team::sync_wide();
    if (j < 0) return;
    follow<Tier>(e, j, s, side);
    team::sync_wide();
  }
}

/// Takes the next task, by one thread; false: there is none.
GSOFA_DEVICE bool take_task(const task_queue& q, work_item& next) {
  for (;;) {
    const std::uint32_t head = simt::load_shared_state(q.head);
    const std::uint32_t created = simt::load_shared_state(q.tail);
    if (head >= (created < q.room ? created : q.room)) return false;
    if (simt::atomic_cas(q.head, head, head + 1) != head) continue;
    std::uint32_t* const flag = q.flags + head;
    while (simt::load_shared_state(flag) == 0) simt::pause();
    simt::atomic_increment_acq_rel(flag);  // to acquire
    next = q.items[head];
    return true;
  }
}

/// Takes the next listed panel, by one thread; -1: there is none. A panel that is taken is open
/// before it is missed on its list.
GSOFA_DEVICE index_t take_panel(const elimination_view& e, const panel_source& from) {
  if (simt::load_shared_state(from.ticket) >= *from.count) return -1;
  simt::atomic_increment_acq_rel(e.open);
  const std::uint32_t ticket = simt::atomic_add(from.ticket, std::uint32_t{1});
  if (ticket < *from.count) return from.panels[ticket];
  simt::atomic_add(e.open, ~std::uint32_t{0});
  return -1;
}

/// Finds what a worker does next, by one thread: tasks come before listed panels, since panels wait
/// for them. Panel -1: nothing is left, or update rounds have cost too much. A worker that leaves
/// too early leaves more to the others, which do their own tasks at least.
GSOFA_DEVICE work_item find_work(const elimination_view& e) {
  work_item next{-1, -1};
  for (;;) {
    if (simt::load_shared_state(e.update_work) > e.most_update_work) return {-1, -1};
    if (take_task(e.tasks, next)) return next;
    for (const panel_source& from : e.from) {
      next.panel = take_panel(e, from);
      if (next.panel >= 0) return next;
    }
    if (simt::load_shared_state(e.open) == 0) return {-1, -1};
    simt::pause();
  }
}

/// Does what is to be done in a launch, by workers of one tier that hand over. The leader notifies
/// the other threads of the next item through `panel` and `task`.
template <tier Tier>
GSOFA_DEVICE void work(const elimination_view& e, worker_state& s, index_t* panel, index_t* task) {
  using team = worker<Tier>;
  unsigned side = 0;
  const bool leads = team::wide_rank() == 0;
  for (;;) {
    if (leads) {
      const work_item next = find_work(e);
      *panel = next.panel;
      *task = next.task;
    }
    team::sync_wide();
    const work_item next{simt::load_shared_state(panel), simt::load_shared_state(task)};
    team::sync_wide();
    if (next.panel < 0) return;
    const index_t j = next.task < 0 ? next.panel : do_task<Tier>(e, next, s, side);
    // A target of a later wave begins that wave: all of its children are done.
    if (j >= 0 && j < e.wave.end) follow<Tier>(e, j, s, side);
    if (leads) simt::atomic_add(e.open, ~std::uint32_t{0});
    team::sync_wide();
  }
}

/// Second launch: a block takes each listed panel and follows the path up from it.
GSOFA_BOUNDED_KERNEL(most_warps * 32) void block_panels_kernel(elimination_view e) {
  simt::after_earlier_launches();
  worker_state& s = *simt::shared_memory<worker_state>();
  take_listed<tier::block>(e, s, &s.panel);
}

/// The same by blocks that hand over, where the blocks before have left the panels to them.
GSOFA_BOUNDED_KERNEL(most_warps * 32) void sharing_blocks_kernel(elimination_view e) {
  simt::after_earlier_launches();
  if (!far_work_is_reached(e)) return;
  worker_state& s = *simt::shared_memory<worker_state>();
  work<tier::sharing_block>(e, s, &s.panel, &s.task);
}

/// A cluster of blocks takes each panel that launches of blocks have left
/// and follows the path up from it.
GSOFA_BOUNDED_KERNEL(most_warps * 32) void cluster_panels_kernel(elimination_view e) {
  simt::after_earlier_launches();
  worker_state& s = *simt::shared_memory<worker_state>();
  take_listed<tier::cluster>(e, s, &state_of_cluster(e).panel);
}

/// The same by clusters that hand over.
GSOFA_BOUNDED_KERNEL(most_warps * 32) void sharing_clusters_kernel(elimination_view e) {
  simt::after_earlier_launches();
  if (!far_work_is_reached(e)) return;
  worker_state& s = *simt::shared_memory<worker_state>();
  cluster_state& shared = state_of_cluster(e);
  work<tier::sharing_cluster>(e, s, &shared.panel, &shared.task);
}

}  // namespace

void panel_elimination::prepare(index_t n, const elimination_settings& settings,
                                memory_budget& budget) {
  settings_ = settings;
  for (auto& list : lists_) list = {budget, "schedule", n};
  fell_back_.assign(1, 0);
  counters_ = {budget, "control", elimination_counters};
  const int threads = settings_.warps_per_block * 32;
  const std::size_t bytes = state_bytes(settings_.warps_per_block);
  const std::size_t sharing_bytes = state_bytes(settings_.warps_per_block, true);
  allow_shared(sharing_blocks_kernel, sharing_bytes);
  allow_shared(sharing_clusters_kernel, sharing_bytes);
  warp_blocks_ = std::max(
      1, resident_blocks(warp_panels_kernel, warp_threads, warp_threads / 32 * state_bytes(1)));
  block_blocks_ = std::max(1, resident_blocks(block_panels_kernel, threads, bytes));
  sharing_blocks_ = std::max(1, resident_blocks(sharing_blocks_kernel, threads, sharing_bytes));
  clusters_ = 0;
  if (settings_.blocks_per_cluster > 1) {
    clusters_ = std::min(
        resident_clusters(cluster_panels_kernel, settings_.blocks_per_cluster, threads, bytes),
        resident_clusters(sharing_clusters_kernel, settings_.blocks_per_cluster, threads,
                          sharing_bytes));
  }
  constexpr auto words = static_cast<offset_t>(sizeof(cluster_state) / 8);
  cluster_states_ = {budget, "control", 2 * words * clusters_};
  task_room_ = settings_.most_tasks >= 0 ? settings_.most_tasks : std::max<index_t>(1024, n / 8);
  task_items_ = {budget, "schedule", task_room_};
  task_words_ = {budget, "schedule", task_words + offset_t{task_room_} + n};
}

void panel_elimination::expect() { fell_back_[0] = 0; }

namespace {

/// The lists of panels between the launches of a wave.
struct launch_lists {
  index_t* arrays[3];  ///< used in rotation: nobody reads list k when list k + 3 is written
  elimination_control& control;

  [[nodiscard]] panel_source source(int list) const {
    return {arrays[list % 3], &control.count[list], &control.ticket[list]};
  }
  void leave_on(int list, elimination_view& e) const {
    e.list = arrays[list % 3];
    e.list_count = &control.count[list];
  }
};

/// The words of tasks: the queue's head and tail, far_work, open items of two launches; then the
/// flags of tasks and the marks of panels.
void set_tasks(elimination_view& e, std::uint32_t* words, std::uint64_t* items, index_t room) {
  e.tasks = {reinterpret_cast<work_item*>(items), words + task_words, words, words + 1,
             static_cast<std::uint32_t>(room)};
  e.far_work = reinterpret_cast<unsigned long long*>(words + 2);
  e.helped = words + task_words + room;
  e.zeros = words;
  e.zero_count = task_words + offset_t{room} + e.p.panels;
}

/// What is resident of each kernel, and where clusters have their states.
struct launch_sizes {
  int warp_blocks, block_blocks, sharing_blocks, clusters;
  cluster_state* states;
};

/// Launches all of a wave. Launches of one tier take the panels of a list, and leave panels on the
/// next one; those that hand over take what is left of both, and leave panels on the one after
/// that.
void launch_wave(elimination_view& e, const elimination_settings& settings,
                 const launch_sizes& sizes, const launch_lists& lists, index_t longest,
                 bool shares) {
  // Blocks are faster than warps, but there are fewer of them.
  const bool by_blocks = e.wave.end - e.wave.begin <= settings.few_panels * multiprocessors();
  const int threads = settings.warps_per_block * 32;
  const std::size_t bytes = state_bytes(settings.warps_per_block);
  const std::size_t sharing_bytes = state_bytes(settings.warps_per_block, true);
  const auto eliminate = [&](int list, index_t most, const auto& plain, const auto& sharing) {
    e.most = most;
    e.from[0] = lists.source(list);
    lists.leave_on(list + 1, e);
    if (settings.far_targets != handing_over::on) plain();
    if (!shares) return;
    e.from[1] = lists.source(list + 1);
    lists.leave_on(list + 2, e);
    e.open = e.zeros + 4 + list;
    sharing();
  };

  e.most_near_steps = settings.near_steps_of_blocks;
  e.from[0].ticket = &lists.control.leaf_ticket;
  lists.leave_on(0, e);
  e.most = by_blocks ? 0 : settings.warp_positions;
  launch_overlapping(warp_panels_kernel, sizes.warp_blocks, warp_threads,
                     warp_threads / 32 * state_bytes(1), e);
  if (longest <= e.most) return;

  const auto blocks = [&] {
    launch_overlapping(block_panels_kernel, sizes.block_blocks, threads, bytes, e);
  };
  constexpr auto no_limit = static_cast<index_t>(max_index);
  const index_t most_of_blocks = sizes.clusters > 0 ? settings.cluster_positions : no_limit;
  eliminate(0, most_of_blocks, blocks, [&] {
    launch_overlapping(sharing_blocks_kernel, sizes.sharing_blocks, threads, sharing_bytes, e);
  });
  if (longest <= e.most) return;

  e.most_near_steps = settings.near_steps_of_clusters;
  e.clusters = sizes.states;
  fill_bytes(e.clusters, 0, 2 * sizes.clusters);
  const int size = settings.blocks_per_cluster;
  const auto clusters = [&] {
    launch_clusters(cluster_panels_kernel, sizes.clusters, size, threads, bytes, e);
  };
  eliminate(1, no_limit, clusters, [&] {
    e.clusters += sizes.clusters;
    launch_clusters(sharing_clusters_kernel, sizes.clusters, size, threads, sharing_bytes, e);
  });
}

}  // namespace

bool panel_elimination::may_hand_over(index_t longest) const {
  if (settings_.far_targets != handing_over::automatic) {
    return settings_.far_targets == handing_over::on;
  }
  return longest > settings_.sharing_positions;
}

unsigned long long panel_elimination::most_far_work(index_t panels) const {
  if (settings_.far_targets == handing_over::on) return 0;
  const std::int64_t most = settings_.most_far_work >= 0 ? settings_.most_far_work : panels;
  return static_cast<unsigned long long>(std::max<std::int64_t>(1, most));
}

void panel_elimination::run(const elimination_input& input, panel_range wave) {
  if (detail::counting && wave.begin == 0) {
    fill_bytes(counters_.data(), 0, elimination_counters);
  }
  if (wave.begin == 0) expect();
  elimination_control& control = *reinterpret_cast<elimination_control*>(input.control);
  elimination_view e{};
  e.p = input.panels;
  e.wave = wave;
  e.children = input.children;
  e.finished = input.finished;
  e.counters = counters_.data();
  e.update_work = &control.update_work;
  e.most_update_work = settings_.most_update_work < 0
                           ? ~0ULL
                           : static_cast<unsigned long long>(settings_.most_update_work);
  e.fell_back = fell_back_.data();
  e.excess = &control.excess;
  e.fair_work = settings_.fair_work;
  const bool shares = may_hand_over(input.longest);
  e.most_far_work = shares ? most_far_work(wave.end - wave.begin) : ~0ULL;
  set_tasks(e, task_words_.data(), task_items_.data(), task_room_);
  if (!shares) e.zero_count = task_words;
  launch_wave(e, settings_,
              {warp_blocks_, block_blocks_, sharing_blocks_, clusters_,
               reinterpret_cast<cluster_state*>(cluster_states_.data())},
              {{lists_[0].data(), lists_[1].data(), lists_[2].data()}, control}, input.longest,
              shares);
}

offset_t panel_elimination::tasks() const {
  std::uint32_t created = 0;
  copy_to_host(&created, static_cast<const std::uint32_t*>(task_words_.data() + 1), 1);
  return std::min<offset_t>(created, task_room_);
}

void panel_elimination::report([[maybe_unused]] run_context& context) const {
  if constexpr (detail::counting) {
    auto& totals = context.counters.totals;
    unsigned long long work[elimination_counters] = {};
    copy_to_host(work, static_cast<const unsigned long long*>(counters_.data()),
                 elimination_counters);
    const char* const names[elimination_counters] = {"block_panels", "push_rounds", "pushes",
                                                     "push_positions"};
    for (int k = 0; k < elimination_counters; ++k) {
      totals[names[k]] = static_cast<std::int64_t>(work[k]);
    }
    totals["tasks"] = tasks();
  }
}

}  // namespace gsofa::panels

#endif
