// gpu_maxid_tuned: maxId in windows of thresholds; one block per source, with its state in shared
// memory.
//
// The variant keeps maxId in 16 bits relative to the window, fill and pending bits in bitmaps,
// expands a frontier by 4 to 32 lanes according to the mean degree, and takes the largest sources
// first. Cost: 2.25|V| bytes of shared memory per block, |V|/8 bytes per source for the rows.
// Invariants and encoding: at windowed_kernel.

#include "variants/device/gpu_variant.hpp"

#if defined(GSOFA_GPU)

#include <bit>
#include <limits>

#include "variants/device/batch_rows.hpp"
#include "variants/support/counting.hpp"

namespace gsofa::gpu {

namespace {

struct tuned_view {
  const offset_t* row_ptr;
  const index_t* col_idx;
  index_t n;
  index_t begin;
  index_t sources;
  std::uint32_t window;         // width W of a window of vertices
  std::uint32_t queue_entries;  // of each of the two queues
  unsigned char* global_state;  // state of all blocks, or null: it is in shared memory
  std::size_t state_bytes;      // of one block
  std::uint32_t* ticket;
  std::uint32_t* l_counts;
  std::uint32_t* u_counts;
  std::uint32_t* rows;           // bitmaps of the batch, or null: not requested
  unsigned long long* counters;  // counting build: edges, frontiers
};

constexpr std::uint16_t closed = 0;
constexpr std::uint16_t infinite = 0xffff;
constexpr std::uint32_t most_values = 65534;  // values 1 .. 65534 lie between closed and infinite

/// Words that the threads of a block share in addition to the state.
enum shared_word : unsigned {
  ticket_word,
  count_l,
  count_u,
  level_tail_0,  ///< this and the next two: places taken in the queue of level k, at k mod 3
  level_over_0 = level_tail_0 + 3,  ///< this and the next two: that queue overflowed
  shared_words = 12
};

#if defined(__CUDACC__)
__host__ __device__
#endif
    constexpr std::size_t
    words_of(index_t n) {
  return (static_cast<std::size_t>(n) + 31) / 32;
}
/// Bytes of the state of one source: value, fill bits, pending bits, two queues.
constexpr std::size_t tuned_state_bytes(index_t n, std::uint32_t queue_entries) {
  const std::size_t values = (static_cast<std::size_t>(n) + 1) / 2 * 4;
  return values + 2 * 4 * words_of(n) + 2 * 4 * static_cast<std::size_t>(queue_entries);
}

GSOFA_DEVICE std::uint16_t lower_value(std::uint16_t* cell, std::uint16_t value) {
  std::uint16_t old = simt::load_shared_state(cell);
  while (value < old) {
    const std::uint16_t seen =
        simt::atomic_cas(reinterpret_cast<unsigned short*>(cell), old, value);
    if (seen == old) return old;
    old = seen;
  }
  return old;
}

/// What a block keeps for its current source; the encoding stands at windowed_kernel.
struct block_state {
  std::uint32_t* shared;   ///< by shared_word
  std::size_t words;       ///< of a bitmap
  std::uint32_t* fill;     ///< by vertex, a bit each
  std::uint32_t* pending;  ///< by vertex, a bit each
  std::uint32_t* queues;   ///< two, of queue_entries each
  std::uint16_t* value;    ///< by vertex
};

GSOFA_DEVICE block_state state_of_block(const tuned_view& b) {
  auto* const shared = simt::shared_memory<std::uint32_t>();
  const std::size_t words = words_of(b.n);
  unsigned char* const state =
      b.global_state != nullptr
          ? b.global_state + static_cast<std::size_t>(simt::block_index()) * b.state_bytes
          : reinterpret_cast<unsigned char*>(shared + shared_words);
  auto* const fill = reinterpret_cast<std::uint32_t*>(state);
  std::uint32_t* const pending = fill + words;
  std::uint32_t* const queues = pending + words;
  return {shared,  words,  fill,
          pending, queues, reinterpret_cast<std::uint16_t*>(queues + 2 * b.queue_entries)};
}

/// What a thread has done, in the counting build.
struct work_done {
  unsigned long long edges = 0;
  unsigned long long frontiers = 0;
};

/// The window of vertices below `hi` in the search from `src`.
struct window_view {
  index_t src;
  std::uint32_t base;  ///< of the values
  std::uint32_t hi;
};

/// A level of a window as all threads of the block see it.
struct window_level {
  const std::uint32_t* now;  ///< the queue of this level
  std::uint32_t count;       ///< entries of it that count: none if it overflowed
  bool over;                 ///< it overflowed: the frontiers are those with a pending bit
  std::uint32_t* next;       ///< the queue of the next level
  std::uint32_t* next_tail;
  std::uint32_t* next_over;
};

/// Draws the slot of the block's next source, the largest first; -1 once none is left. All threads
/// get the same slot: the barrier here orders their load after the store of thread 0, and the
/// barriers of the search order it before the next draw.
GSOFA_DEVICE index_t take_source(const tuned_view& b, const block_state& s) {
  if (simt::thread_index() == 0) {
    s.shared[ticket_word] = simt::atomic_add(b.ticket, std::uint32_t{1});
  }
  simt::sync_block();
  const std::uint32_t ticket = s.shared[ticket_word];
  if (ticket >= static_cast<std::uint32_t>(b.sources)) return -1;
  return b.sources - 1 - static_cast<index_t>(ticket);
}

/// Makes the state that of row src of A. Afterwards the fill bits are the entries of the row, the
/// value of its vertices below src is `closed` and that of all others there is `infinite`, and no
/// vertex is pending. A barrier separates the clearing from the marking; the last barrier shows the
/// state to all threads.
GSOFA_DEVICE void load_row(const tuned_view& b, const block_state& s, index_t src,
                           work_done& work) {
  const unsigned threads = simt::block_size();
  const unsigned thread = simt::thread_index();
  auto* const value_pairs = reinterpret_cast<std::uint32_t*>(s.value);
  for (std::size_t k = thread; k < s.words; k += threads) s.fill[k] = s.pending[k] = 0;
  for (std::size_t k = thread; k < (static_cast<std::size_t>(src) + 1) / 2; k += threads) {
    value_pairs[k] = 0xffffffffU;
  }
  if (thread == 0) s.shared[count_l] = s.shared[count_u] = 0;
  simt::sync_block();
  for (offset_t e = b.row_ptr[src] + thread; e < b.row_ptr[src + 1]; e += threads) {
    const index_t w = simt::load_constant(b.col_idx + e);
    simt::atomic_or(s.fill + w / 32, std::uint32_t{1} << (w % 32));
    if (w < src) s.value[w] = closed;
    if constexpr (detail::counting) ++work.edges;
  }
  simt::sync_block();
}

/// Prepares the window [lo, hi): empties the queues, and moves base to lo where the values of the
/// window would leave 16 bits. All vertices that were reached are final then, and closing them
/// loses nothing. Before the call no thread is in a level of the window before; the barrier here
/// orders what the call stores before the first frontiers.
GSOFA_DEVICE void open_window(const block_state& s, index_t src, std::uint32_t lo, std::uint32_t hi,
                              std::uint32_t& base) {
  const unsigned threads = simt::block_size();
  const unsigned thread = simt::thread_index();
  if (thread < 6) s.shared[level_tail_0 + thread] = 0;
  if (hi - base > most_values) {
    for (std::uint32_t v = thread; v < static_cast<std::uint32_t>(src); v += threads) {
      if (s.value[v] != infinite) s.value[v] = closed;
    }
    base = lo;
  }
  simt::sync_block();
}

/// Makes the vertices of the row in [lo, hi) the frontiers of level 0. Afterwards each of them is
/// pending, and is in queue 0 unless that overflowed; the barrier at the end shows both to the
/// level.
GSOFA_DEVICE void enqueue_row(const tuned_view& b, const block_state& s, std::uint32_t lo,
                              std::uint32_t hi) {
  const unsigned threads = simt::block_size();
  for (std::uint32_t k = lo / 32 + simt::thread_index(); k < (hi + 31) / 32; k += threads) {
    std::uint32_t bits = simt::load_shared_state(s.fill + k);
    if (k == lo / 32) bits &= 0xffffffffU << (lo % 32);
    if (k == hi / 32 && hi % 32 != 0) bits &= ~(0xffffffffU << (hi % 32));
    if (bits == 0) continue;
    simt::atomic_or(s.pending + k, bits);
    std::uint32_t place = simt::atomic_add(s.shared + level_tail_0, simt::population(bits));
    for (; bits != 0; bits &= bits - 1, ++place) {
      if (place < b.queue_entries) {
        s.queues[place] = k * 32 + simt::lowest_bit(bits);
      } else {
        s.shared[level_over_0] = 1;
      }
    }
  }
  simt::sync_block();
}

/// Proposal of v, whose pending bit the caller has cleared: the larger of the value of v and of v
/// itself. The fence orders the clearing before the load of the value, so that an improvement that
/// the load misses sets the bit anew.
GSOFA_DEVICE std::uint32_t proposal_of(const block_state& s, const window_view& window,
                                       std::uint32_t v) {
  simt::fence_block();
  const std::uint32_t own = v >= window.base ? 1 + v - window.base : 0;
  const std::uint32_t seen = simt::load_shared_state(s.value + v);
  return own > seen ? own : seen;
}

/// Relaxes one edge to w with proposal p. Afterwards value[w] <= p if w < src; w is in the row if
/// the path makes it a fill-in; and a w that the window must expand (again) is pending. The thread
/// that sets the pending bit, and no other, enqueues w. The fence orders the lowered value before
/// that bit.
GSOFA_DEVICE void relax(const tuned_view& b, const block_state& s, const window_view& window,
                        const window_level& level, index_t w, std::uint32_t p) {
  const std::uint32_t bit = std::uint32_t{1} << (w % 32);
  if (w >= window.src) {
    if ((simt::load_shared_state(s.fill + w / 32) & bit) == 0) {
      simt::atomic_or(s.fill + w / 32, bit);
    }
    return;
  }
  if (p >= simt::load_shared_state(s.value + w)) return;
  if (lower_value(s.value + w, static_cast<std::uint16_t>(p)) <= p) return;
  if ((simt::load_shared_state(s.fill + w / 32) & bit) != 0) return;
  const auto u = static_cast<std::uint32_t>(w);
  if (u >= window.base && 1 + u - window.base > p) {
    if ((simt::atomic_or(s.fill + w / 32, bit) & bit) != 0) return;
    if (u >= window.hi) return;  // expanded in its own window
  }
  simt::fence_block();
  if ((simt::atomic_or(s.pending + w / 32, bit) & bit) != 0) return;
  const std::uint32_t place = simt::atomic_add(level.next_tail, std::uint32_t{1});
  if (place < b.queue_entries) {
    level.next[place] = u;
  } else {
    *level.next_over = 1;
  }
}

/// Relaxes the edges of v, whose pending bit the caller has cleared, by `lanes` lanes; this thread
/// is number `lane` of them.
GSOFA_DEVICE void expand(const tuned_view& b, const block_state& s, const window_view& window,
                         const window_level& level, std::uint32_t v, unsigned lane, unsigned lanes,
                         work_done& work) {
  const std::uint32_t p = proposal_of(s, window, v);
  const offset_t end = simt::load_constant(b.row_ptr + v + 1);
  for (offset_t e = simt::load_constant(b.row_ptr + v) + lane; e < end; e += lanes) {
    relax(b, s, window, level, simt::load_constant(b.col_idx + e), p);
    if constexpr (detail::counting) ++work.edges;
  }
  if constexpr (detail::counting) work.frontiers += lane == 0 ? 1 : 0;
}

/// Expands the entries of the queue of a level, `Group` lanes each. An entry counts only for the
/// group whose first lane clears its pending bit, so that no improvement is expanded twice. All
/// groups of a warp make the same number of turns, as the shuffle needs.
template <unsigned Group>
GSOFA_DEVICE void expand_queue(const tuned_view& b, const block_state& s, const window_view& window,
                               const window_level& level, work_done& work) {
  const unsigned threads = simt::block_size();
  const unsigned thread = simt::thread_index();
  const unsigned lane_in_group = thread % Group;
  for (std::uint32_t i = thread / Group; i - (thread % 32) / Group < level.count;
       i += threads / Group) {
    std::uint32_t v = 0;
    bool taken = false;
    if (i < level.count) {
      v = level.now[i];
      if (lane_in_group == 0) {
        const std::uint32_t bit = std::uint32_t{1} << (v % 32);
        taken = (simt::atomic_and(s.pending + v / 32, ~bit) & bit) != 0;
      }
    }
    taken = simt::shuffle(static_cast<unsigned>(taken), lane_index() - lane_in_group) != 0;
    if (!taken) continue;
    expand(b, s, window, level, v, lane_in_group, Group, work);
  }
}

/// Expands every pending vertex, a warp each, in place of a queue that overflowed: the pending bits
/// hold all of its entries. The warp that takes a word of the bits clears it by the same atomic.
GSOFA_DEVICE void expand_pending(const tuned_view& b, const block_state& s,
                                 const window_view& window, const window_level& level,
                                 work_done& work) {
  const unsigned threads = simt::block_size();
  for (std::size_t k = simt::thread_index() / 32; k < s.words; k += threads / 32) {
    std::uint32_t bits = 0;
    if (lane_index() == 0) bits = simt::atomic_exchange(s.pending + k, std::uint32_t{0});
    bits = simt::shuffle(bits, 0);
    for (; bits != 0; bits &= bits - 1) {
      const std::uint32_t v = static_cast<std::uint32_t>(k) * 32 + simt::lowest_bit(bits);
      expand(b, s, window, level, v, lane_index(), 32, work);
    }
  }
}

/// Follows the paths of a window level by level until a level has no frontier. Afterwards no vertex
/// below window.hi is pending, and what the paths through the window reach is in the row. The
/// barrier after each level orders its stores, those to the next queue among them, before the next
/// level. The words of the level after the next are cleared meanwhile: their last readers were in
/// the level before this one, on the other side of that barrier.
template <unsigned Group>
GSOFA_DEVICE void follow_window(const tuned_view& b, const block_state& s,
                                const window_view& window, work_done& work) {
  unsigned at = 0;  // level mod 3
  for (unsigned side = 0;; side ^= 1U) {
    const unsigned after = at == 2 ? 0 : at + 1;
    const unsigned clear = after == 2 ? 0 : after + 1;
    const std::uint32_t tail = s.shared[level_tail_0 + at];
    const bool over = s.shared[level_over_0 + at] != 0;
    const window_level level{s.queues + side * b.queue_entries,
                             over ? 0 : tail,
                             over,
                             s.queues + (side ^ 1U) * b.queue_entries,
                             s.shared + level_tail_0 + after,
                             s.shared + level_over_0 + after};
    if (tail == 0) break;
    if (simt::thread_index() == 0)
      s.shared[level_tail_0 + clear] = s.shared[level_over_0 + clear] = 0;
    expand_queue<Group>(b, s, window, level, work);
    if (over) expand_pending(b, s, window, level, work);
    simt::sync_block();
    at = after;
  }
  simt::sync_block();
}

/// Writes the finished row of src: its counts and, if the batch wants rows, its bitmap. Before the
/// call the fill bits are final for all threads. The first barrier completes the sums before
/// thread 0 reads them; the second ends the work on the source for all threads.
GSOFA_DEVICE void emit_row(const tuned_view& b, const block_state& s, index_t slot, index_t src) {
  const unsigned threads = simt::block_size();
  const unsigned thread = simt::thread_index();
  std::uint32_t l = 0;
  std::uint32_t u = 0;
  for (std::size_t k = thread; k < s.words; k += threads) {
    const std::uint32_t bits = simt::load_shared_state(s.fill + k);
    const auto first = static_cast<index_t>(k * 32);
    if (first + 32 <= src) {
      l += simt::population(bits);
    } else if (first >= src) {
      u += simt::population(bits);
    } else {
      const std::uint32_t below = ~(0xffffffffU << (src % 32));
      l += simt::population(bits & below);
      u += simt::population(bits & ~below);
    }
    if (b.rows != nullptr) b.rows[static_cast<std::size_t>(slot) * s.words + k] = bits;
  }
  if (l != 0) simt::atomic_add(s.shared + count_l, l);
  if (u != 0) simt::atomic_add(s.shared + count_u, u);
  simt::sync_block();
  if (thread == 0) {
    b.l_counts[src] = s.shared[count_l];
    b.u_counts[src] = s.shared[count_u];
  }
  simt::sync_block();
}

/// One block per source at a time, largest first; all that a source needs is in shared memory (in
/// global memory for orders beyond about 100,000).
///
/// Thresholds come in windows of W vertices, ascending: window [lo, hi) follows the paths whose
/// largest intermediate lies in it. The windows before it followed all paths with a smaller one, so
/// that what those reached is final. W >= |V| is the paper's maxId algorithm, W = 1 is fill2;
/// between them a window bounds the number of revisits. maxId is kept in 16 bits relative to a
/// base <= lo:
///   value[v] = 0: v is final before base, or a direct neighbour; 1 + (max - base): the least
///   largest intermediate seen; 65535: v is not reached.
/// Values of earlier windows are smaller than any of this one, hence final without a sweep; base
/// moves, with a sweep, only when hi - base would exceed 65534.
/// fill bit w: (src, w) is in L+U. pending bit v: v must be expanded; an entry of a queue whose
/// pending bit is clear is void. A thread that finds the queue full sets the queue's `over` word
/// instead of storing, and the next level takes its frontiers from the pending bits.
///
/// A window begins with the vertices of the row in [lo, hi). Expanding v proposes p = the larger
/// of its own number and its value. A vertex w < src whose value falls to p becomes a fill-in if
/// w > p and w was none before; then it is pending now if w < hi, else in its own window. If w < p
/// it is pending: a revisit may follow. A fill-in's value never matters again.
///
/// Ordering: an improver lowers value[v], then sets pending[v]; whoever takes v clears pending[v]
/// before it reads value[v], with a block-scope fence between the two on either side. So either
/// the taker reads the improvement, or the improver finds the bit clear and enqueues v again.
/// Levels are separated by block barriers.
template <unsigned Group>
GSOFA_KERNEL void windowed_kernel(tuned_view b) {
  const block_state s = state_of_block(b);
  work_done work;
  for (;;) {
    const index_t slot = take_source(b, s);
    if (slot < 0) break;
    const index_t src = b.begin + slot;
    load_row(b, s, src, work);
    std::uint32_t base = 0;
    for (std::uint32_t lo = 0; lo < static_cast<std::uint32_t>(src); lo += b.window) {
      const std::uint32_t left = static_cast<std::uint32_t>(src) - lo;
      const std::uint32_t hi = lo + (left < b.window ? left : b.window);
      open_window(s, src, lo, hi, base);
      enqueue_row(b, s, lo, hi);
      follow_window<Group>(b, s, {src, base, hi}, work);
    }
    emit_row(b, s, slot, src);
  }
  if constexpr (detail::counting) {
    simt::atomic_add(b.counters, work.edges);
    simt::atomic_add(b.counters + 1, work.frontiers);
  }
}

class maxid_tuned final : public variant {
 public:
  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    settings_ = settings;
    n_ = a.n_rows;
    const option_set& o = settings.options;
    const std::int64_t megabytes = o.integer("memory_budget_mb");
    budget_.set_limit(std::numeric_limits<offset_t>::max());
    matrix_.upload(a, budget_);
    const device_limits device = current_limits();
    const offset_t limit = megabytes > 0 ? megabytes << 20 : device.free_bytes / 4 * 3;
    budget_.set_limit(limit + budget_.used());
    rows_.prepare(n_, settings, budget_);
    queue_entries_ = static_cast<std::uint32_t>(o.integer("queue_entries"));
    state_bytes_ = (tuned_state_bytes(n_, queue_entries_) + 15) / 16 * 16;
    const std::size_t head = shared_words * 4;
    in_shared_ = head + state_bytes_ <= device.shared_bytes_per_block;
    shared_bytes_ = head + (in_shared_ ? state_bytes_ : 0);
    const double degree = static_cast<double>(a.nnz()) / n_;
    const std::string& lanes = o.choice("lanes_per_frontier");
    const int wanted = lanes != "auto" ? std::stoi(lanes) : degree <= 6 ? 4 : degree <= 24 ? 8 : 16;
    kernel_ = wanted == 2    ? windowed_kernel<2>
              : wanted == 4  ? windowed_kernel<4>
              : wanted == 8  ? windowed_kernel<8>
              : wanted == 16 ? windowed_kernel<16>
                             : windowed_kernel<32>;
    allow_shared(kernel_, shared_bytes_);
    // Two blocks of 512 threads hide each other's barriers better than one of 1024.
    const std::int64_t warps = o.integer("warps_per_block");
    if (warps > 0) {
      threads_ = static_cast<int>(warps) * 32;
    } else {
      const std::size_t fit =
          in_shared_ ? std::max<std::size_t>(1, device.shared_bytes_per_block / shared_bytes_) : 8;
      threads_ = fit >= 2 ? 512 : 1024;
    }
    blocks_ = std::max(1, resident_blocks(kernel_, threads_, shared_bytes_));
    control_ = {budget_, "control", 1};
    counters_ = {budget_, "counters", 2};
    if (!in_shared_) {
      const offset_t most =
          (budget_.limit() - budget_.used()) / 2 / static_cast<offset_t>(state_bytes_);
      if (most < 1) throw too_small(limit);
      blocks_ = static_cast<int>(std::min<offset_t>(blocks_, most));
      global_state_ = {budget_, "state", static_cast<offset_t>(state_bytes_) * blocks_};
    }
    batch_ = n_;
    if (detail_needed()) {
      const auto row = static_cast<offset_t>(4 * words_of(n_));
      const offset_t fit = (budget_.limit() - budget_.used()) / row;
      if (fit < 1) throw too_small(limit);
      batch_ = static_cast<index_t>(std::min<offset_t>(fit, n_));
      bitmaps_ = {budget_, "row_bitmaps", static_cast<offset_t>(words_of(n_)) * batch_};
    }
    context.predicted_bytes["state"] = static_cast<offset_t>(state_bytes_) * blocks_;
    context.predicted_bytes["row_bitmaps"] = bitmaps_.size() * 4;
  }

  void run(run_context& context) override {
    {
      const phase timed(context, phase_id::init);
      rows_.start();
      fill_bytes(counters_.data(), 0, 2);
    }
    for (index_t begin = 0; begin < n_;) {
      context.check_deadline(begin, n_);
      const index_t sources = std::min(n_ - begin, batch_);
      fill_bytes(control_.data(), 0, 1);
      tuned_view b{};
      b.row_ptr = matrix_.row_ptr();
      b.col_idx = matrix_.col_idx();
      b.n = n_;
      b.begin = begin;
      b.sources = sources;
      b.window = static_cast<std::uint32_t>(settings_.options.integer("window"));
      b.queue_entries = queue_entries_;
      b.global_state = in_shared_ ? nullptr : global_state_.data();
      b.state_bytes = state_bytes_;
      b.ticket = control_.data();
      b.l_counts = rows_.l_counts();
      b.u_counts = rows_.u_counts();
      b.rows = bitmaps_.data();
      b.counters = counters_.data();
      launch(kernel_, std::min<int>(blocks_, sources), threads_, shared_bytes_, b);
      synchronize();
      rows_.add(bitmap_rows{bitmaps_.data(), words_of(n_), n_, begin, sources}, context);
      begin += sources;
    }
    report_search(context, budget_, counters_.data(), "frontiers");
  }

  result collect(want_set wants) override { return rows_.collect(wants); }

 private:
  [[nodiscard]] bool detail_needed() const {
    return settings_.wants.has(want::digest) || settings_.wants.has(want::pattern) ||
           settings_.wants.has(want::supernodes);
  }
  [[nodiscard]] budget_error too_small(offset_t limit) const {
    return budget_error("memory budget of " + std::to_string(limit) +
                        " bytes is too small for one source of order " + std::to_string(n_));
  }

  run_settings settings_;
  index_t n_ = 0;
  index_t batch_ = 0;
  std::uint32_t queue_entries_ = 0;
  std::size_t state_bytes_ = 0, shared_bytes_ = 0;
  bool in_shared_ = true;
  int threads_ = 0, blocks_ = 0;
  void (*kernel_)(tuned_view) = nullptr;
  memory_budget budget_;
  device_matrix matrix_;
  row_results rows_;
  device_array<std::uint32_t> control_, bitmaps_;
  device_array<unsigned char> global_state_;
  device_array<unsigned long long> counters_;
};

}  // namespace

}  // namespace gsofa::gpu

#endif

GSOFA_REGISTER_VARIANT({
    .name = "gpu_maxid_tuned",
    .device = "gpu",
    .summary = "maxId in threshold windows, a block per source, state in shared memory",
    .citation = "after the paper Section 4; windows as in Meyer & Sanders 2003",
    .options = {{.name = "window",
                 .default_value = std::int64_t{2048},
                 .help = "thresholds searched together; 1 is fill2",
                 .minimum = 1,
                 .maximum = 65534,
                 .tested = {"65534", "1", "2", "7", "20"}},
                {.name = "queue_entries",
                 .default_value = std::int64_t{1024},
                 .help = "entries of each of the two frontier queues of a block",
                 .minimum = 1,
                 .maximum = 8192,
                 .tested = {"1", "2", "3", "31", "32", "33", "64"}},
                {.name = "warps_per_block",
                 .default_value = std::int64_t{0},
                 .help = "warps per block; 0 chooses by the size of the state of a source",
                 .minimum = 0,
                 .maximum = 32,
                 .tested = {"1", "2", "3", "5"}},
                {.name = "lanes_per_frontier",
                 .default_value = std::string("auto"),
                 .help = "lanes that expand a frontier; auto chooses by mean degree",
                 .choices = {"auto", "2", "4", "8", "16", "32"},
                 .tested = {"auto", "4", "8", "16", "32"}},
                gsofa::gpu::memory_budget_option()},
    .unavailable = gsofa::gpu::unavailable,
    .create = GSOFA_GPU_CREATE(maxid_tuned),
});
