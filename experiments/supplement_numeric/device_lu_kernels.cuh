#pragma once

/// Numeric LU factorization with static pivoting on the device, inside a predicted pattern.
///
/// Row i of Ã becomes row i of L + U by (up-looking, by rows)
///
///     w = Ã(i, :)
///     for k in L(i, :), ascending:  l = w(k) / U(k, k),  L(i, k) = l,  w -= l U(k, k+1:)
///     U(i, :) = w(i:), with U(i, i) replaced by +-sqrt(eps) |Ã| where it is smaller (SuperLU_DIST)
///
/// One block owns a row. w has the entries of row i of L + U and no other: that L(i, k) and U(k, j)
/// are in the pattern implies that (i, j) is. The place of each update in its row depends on the
/// pattern alone; the update schedule, built and checked once, lists it in the order of use (2
/// bytes for each multiply and add). w lies in shared memory, long rows in global memory. Each
/// entry of w is updated by one thread for each k, in ascending order of k: no two threads write
/// one entry between two barriers, and the result does not depend on the number of threads or
/// blocks, or on their timing.
///
/// All rows are done by one launch. A thousand levels of a few rows each, usual for circuits, would
/// cost a thousand launches, and a barrier between levels would make a row wait for rows that it
/// does not need. A block takes the next ticket; ticket t is the t-th row by level. Row i waits for
/// row k just before it uses U(k, :), so that the rows of one dense separator follow each other
/// closely.
///
/// No deadlock: row i waits for rows k of L(i, :) only. Their level is lower, hence their ticket is
/// smaller, hence it was taken before, by a block that was running; a block finishes its row before
/// it takes another ticket or ends. Of the rows taken and not finished, the one with the smallest
/// ticket waits for none, and its block finishes it, since the device lets every resident block
/// advance. The blocks need not be resident at once.
///
/// Memory order: the threads of a block write row i and pass a barrier; then one of them stores
/// factored[i] = 1 with release to the device. The first warp of a block that waits reads that flag
/// relaxed and fences; its block passes a barrier and reads the row. The store synchronizes with
/// the fence, and the barriers extend that to both blocks. The flags are cleared by an earlier
/// launch.
///
/// The triangular solves wait in the same way, one warp to a row, with tickets of their own: L and
/// U depend on different rows. A lane adds every 32nd product and the warp adds the lanes in one
/// order: solutions too are the same in every run.
///
/// Cost: 10 bytes read for each multiply and add (2 from memory, 8 mostly from L2); along the
/// longest path of the elimination DAG a wait for each row and a barrier for each k. Memory: 12
/// bytes for each entry of L + U, 24 of Ã, 2 for each update.

#include <bit>
#include <limits>

#include "experiments/supplement_numeric/device_lu.hpp"
#include "variants/device/runtime.hpp"

#if defined(__CUDACC__)
#include <cuda/atomic>
#endif

namespace refactor {

using gsofa::index_t;
using gsofa::offset_t;

struct step_state {
  std::uint64_t norm_bits;  // nonnegative doubles are ordered as their bits are
  std::uint64_t outside;
  std::uint32_t replaced;
  std::uint32_t not_finite;
  std::uint32_t factor_ticket, lower_ticket, upper_ticket;
};

// The arrays of a plan and of a step, in device memory.
struct device_view {
  index_t n;
  const offset_t* a_begin;
  const index_t* a_column;
  const offset_t* a_entry;
  const index_t* a_place;
  const double* row_scale;
  const double* col_scale;
  const offset_t* begin;
  const offset_t* diagonal;
  const index_t* column;
  const offset_t* updates_begin;
  std::uint16_t* places;  // of updates in their rows; null: they are searched
  const index_t* lower_order;
  const index_t* upper_order;
  const double* a;    // values of A
  double* lu;         // values of L + U
  double* workspace;  // of each block, for rows that shared memory does not hold
  index_t longest;    // row of L + U
  index_t shared_entries;
  double* b;                // P b
  double* d;                // a residual, then its correction
  double* x;                // Q' x
  double* scaled;           // values of Ã, for others
  std::uint32_t* factored;  // by row, 0 or 1
  std::uint32_t* lower_done;
  std::uint32_t* upper_done;
  step_state* state;
};

namespace {

using namespace gsofa::simt;

constexpr unsigned lanes = 32;
constexpr unsigned every_lane = 0xffffffffU;
constexpr int solve_threads = 128;

#if defined(__CUDACC__)
using flag_ref = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>;

GSOFA_DEVICE std::uint32_t load_flag(std::uint32_t* flag) {
  return flag_ref(*flag).load(cuda::memory_order_relaxed);
}
GSOFA_DEVICE void acquire_flags() {
  cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
}
GSOFA_DEVICE void release_flag(std::uint32_t* flag) {
  flag_ref(*flag).store(1, cuda::memory_order_release);
}
#else
GSOFA_DEVICE std::uint32_t load_flag(std::uint32_t* flag) { return load_shared_state(flag); }
GSOFA_DEVICE void acquire_flags() {}
GSOFA_DEVICE void release_flag(std::uint32_t* flag) { atomic_exchange(flag, 1U); }
#endif

GSOFA_DEVICE double scaled_value(const device_view& v, index_t i, offset_t q) {
  return v.a[v.a_entry[q]] * v.row_scale[i] * v.col_scale[v.a_column[q]];
}

GSOFA_DEVICE double magnitude(double value) { return value < 0 ? -value : value; }

// The sum over the warp, in every lane, always added in the same order.
GSOFA_DEVICE double sum_of_warp(double value) {
  for (unsigned step = lanes / 2; step > 0; step /= 2) {
    value += std::bit_cast<double>(shuffle_xor(std::bit_cast<std::uint64_t>(value), step));
  }
  return value;
}

// *p = max(*p, value).
GSOFA_DEVICE void raise_to(std::uint64_t* p, std::uint64_t value) {
  std::uint64_t known = load_shared_state(p);
  while (known < value) {
    const std::uint64_t before = atomic_cas(p, known, value);
    if (before == known) return;
    known = before;
  }
}

// Waits until the flags of the lanes in `needed` are set. Returns the lanes whose flag is set, or
// absent; what was released by those flags is visible to this warp.
GSOFA_DEVICE unsigned wait_for_flags(std::uint32_t* flag, unsigned needed) {
  const bool mine = ((needed >> (thread_index() % lanes)) & 1U) != 0;
  bool seen = flag == nullptr;
  for (;;) {
    if (mine && !seen) seen = load_flag(flag) != 0;
    if ((gsofa::simt::ballot(seen) & needed) == needed) break;
    gsofa::simt::pause();
  }
  if (!seen) seen = load_flag(flag) != 0;
  acquire_flags();
  return gsofa::simt::ballot(seen);
}

GSOFA_DEVICE offset_t first_warp() {
  return (offset_t{block_index()} * block_size() + thread_index()) / lanes;
}
GSOFA_DEVICE offset_t all_warps() { return offset_t{grid_size()} * block_size() / lanes; }

// The norm of Ã, values that are not finite, and no row is factored.
GSOFA_KERNEL void begin_step_kernel(device_view v) {
  const unsigned lane = thread_index() % lanes;
  for (offset_t r = first_warp(); r < v.n; r += all_warps()) {
    const auto i = static_cast<index_t>(r);
    double sum = 0;
    std::uint32_t faults = 0;
    for (offset_t q = v.a_begin[i] + lane; q < v.a_begin[i + 1]; q += lanes) {
      const double size = magnitude(scaled_value(v, i, q));
      sum += size;
      faults += size <= std::numeric_limits<double>::max() ? 0U : 1U;
    }
    sum = sum_of_warp(sum);
    faults = add_of_warp(faults);
    if (lane == 0) {
      raise_to(&v.state->norm_bits, std::bit_cast<std::uint64_t>(sum));
      if (faults != 0) atomic_add(&v.state->not_finite, faults);
      v.factored[i] = 0;
    }
  }
}

// Of one block, in shared memory, before the entries of w.
struct team_state {
  // Of up to 32 rows k of L(i, :) that are factored: U(k, k+1:), where the places of its updates
  // are listed, 1 / U(k, k).
  offset_t first[lanes], last[lanes], places[lanes];
  double inverse[lanes];
  std::uint32_t count;
  std::uint32_t ticket;
};

// The place of column j in row i of L + U, -1 if it has none.
GSOFA_DEVICE index_t search(const device_view& v, index_t i, index_t j) {
  offset_t first = v.begin[i];
  offset_t last = v.begin[i + 1];
  while (first < last) {
    const offset_t middle = first + (last - first) / 2;
    if (v.column[middle] < j) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  const bool found = first < v.begin[i + 1] && v.column[first] == j;
  return found ? static_cast<index_t>(first - v.begin[i]) : -1;
}

// Lists the places of all updates, in the order in which they are used, and counts those that have
// none.
GSOFA_KERNEL void schedule_kernel(device_view v) {
  const unsigned lane = thread_index() % lanes;
  for (offset_t r = first_warp(); r < v.n; r += all_warps()) {
    const auto i = static_cast<index_t>(r);
    offset_t place = v.updates_begin[i];
    std::uint64_t misses = 0;
    for (offset_t p = v.begin[i]; p < v.diagonal[i]; ++p) {
      const offset_t first = v.diagonal[v.column[p]] + 1;
      const offset_t last = v.begin[v.column[p] + 1];
      for (offset_t q = first + lane; q < last; q += lanes) {
        const index_t found = search(v, i, v.column[q]);
        misses += found < 0 ? 1 : 0;
        if (v.places != nullptr) v.places[place + q - first] = static_cast<std::uint16_t>(found);
      }
      place += last - first;
    }
    if (misses != 0) atomic_add(&v.state->outside, misses);
  }
}

// w = Ã(i, :).
GSOFA_DEVICE void load_row(const device_view& v, double* w, index_t i) {
  const unsigned t = thread_index();
  const offset_t size = v.begin[i + 1] - v.begin[i];
  for (offset_t p = t; p < size; p += block_size()) w[p] = 0;
  sync_block();
  for (offset_t q = v.a_begin[i] + t; q < v.a_begin[i + 1]; q += block_size()) {
    w[v.a_place[q]] = scaled_value(v, i, q);
  }
  sync_block();
}

// Waits for the row of entry p of L(i, :), which ends at `end`, and collects with it those of the
// next entries that are factored without a gap; the places of their updates begin at `places`.
// Called by the first warp.
GSOFA_DEVICE void collect_rows(const device_view& v, team_state& team, offset_t p, offset_t end,
                               offset_t places) {
  const unsigned lane = thread_index();
  const bool present = p + lane < end;
  const index_t k = present ? v.column[p + lane] : 0;
  const offset_t diagonal = v.diagonal[k];
  const offset_t last = v.begin[k + 1];
  const auto size = static_cast<std::uint32_t>(last - diagonal - 1);
  std::uint32_t before = 0;  // updates by rows collected before this one
  for (unsigned step = 1; step < lanes; step *= 2) {
    const std::uint32_t other = shuffle_up(before + size, step);
    if (lane >= step) before += other;
  }
  const unsigned ready = wait_for_flags(present ? v.factored + k : nullptr, 1U);
  const unsigned leading = ready == every_lane ? lanes : lowest_bit(~ready);
  const unsigned count = end - p < leading ? static_cast<unsigned>(end - p) : leading;
  if (lane < count) {
    team.first[lane] = diagonal + 1;
    team.last[lane] = last;
    team.places[lane] = places + before;
    team.inverse[lane] = 1 / v.lu[diagonal];
  }
  if (lane == 0) team.count = count;
}

struct update {
  index_t place;  // in w; -1: none
  double value;   // of U(k, j)
};

// The update by entry first + `number` of U(k, k+1:), k the collected row number c.
template <bool Scheduled>
GSOFA_DEVICE update fetch(const device_view& v, const team_state& team, index_t i, unsigned c,
                          offset_t number) {
  const offset_t q = team.first[c] + number;
  if (q >= team.last[c]) return {-1, 0};
  if constexpr (Scheduled) {
    return {v.places[team.places[c] + number], v.lu[q]};
  } else {
    return {search(v, i, v.column[q]), v.lu[q]};
  }
}

// w -= L(i, k) U(k, k+1:) for the collected rows k, the first of which is entry p of L + U.
template <bool Scheduled>
GSOFA_DEVICE void apply_rows(const device_view& v, double* w, const team_state& team, index_t i,
                             offset_t p) {
  const unsigned t = thread_index();
  const unsigned count = team.count;
  double* const lower = w + (p - v.begin[i]);
  update next = fetch<Scheduled>(v, team, i, 0, t);
  for (unsigned c = 0; c < count; ++c) {
    const update first = next;
    const double l = lower[c] * team.inverse[c];
    // Fetched before the barrier: they do not depend on w.
    update second = fetch<Scheduled>(v, team, i, c, offset_t{t} + block_size());
    if (c + 1 < count) next = fetch<Scheduled>(v, team, i, c + 1, t);
    if (first.place >= 0) w[first.place] -= l * first.value;
    for (offset_t number = offset_t{t} + 2 * block_size(); second.place >= 0;
         number += block_size()) {
      const update third = fetch<Scheduled>(v, team, i, c, number);
      w[second.place] -= l * second.value;
      second = third;
    }
    if (t == 0) v.lu[p + c] = l;
    sync_block();
  }
}

// U(i, :) = w(i:), and row i is factored.
GSOFA_DEVICE void finish_row(const device_view& v, const double* w, index_t i, double smallest) {
  const offset_t begin = v.begin[i];
  const offset_t diagonal = v.diagonal[i];
  for (offset_t p = diagonal + thread_index(); p < v.begin[i + 1]; p += block_size()) {
    double value = w[p - begin];
    if (p == diagonal && magnitude(value) < smallest) {
      value = value < 0 ? -smallest : smallest;
      atomic_add(&v.state->replaced, 1U);
    }
    v.lu[p] = value;
  }
  sync_block();
  if (thread_index() == 0) release_flag(v.factored + i);
}

template <bool Scheduled>
GSOFA_KERNEL void factorize_kernel(device_view v) {
  constexpr double sqrt_eps = 0x1p-26;
  team_state& team = *shared_memory<team_state>();
  double* const in_shared = reinterpret_cast<double*>(&team + 1);
  const double smallest = sqrt_eps * std::bit_cast<double>(v.state->norm_bits);
  for (;;) {
    if (thread_index() == 0) team.ticket = atomic_add(&v.state->factor_ticket, 1U);
    sync_block();
    if (team.ticket >= static_cast<std::uint32_t>(v.n)) return;
    const index_t i = v.lower_order[team.ticket];
    double* const w = v.begin[i + 1] - v.begin[i] <= v.shared_entries
                          ? in_shared
                          : v.workspace + offset_t{block_index()} * v.longest;
    load_row(v, w, i);
    offset_t places = v.updates_begin[i];
    for (offset_t p = v.begin[i]; p < v.diagonal[i];) {
      if (thread_index() < lanes) collect_rows(v, team, p, v.diagonal[i], places);
      sync_block();
      const unsigned count = team.count;
      places = team.places[count - 1] + team.last[count - 1] - team.first[count - 1];
      apply_rows<Scheduled>(v, w, team, i, p);
      p += count;
    }
    finish_row(v, w, i, smallest);
  }
}

// d = R P (b - A x); no row of the triangular solves is done.
GSOFA_KERNEL void residual_kernel(device_view v) {
  const unsigned lane = thread_index() % lanes;
  if (block_index() == 0 && thread_index() == 0) v.state->lower_ticket = v.state->upper_ticket = 0;
  for (offset_t r = first_warp(); r < v.n; r += all_warps()) {
    const auto i = static_cast<index_t>(r);
    double sum = 0;
    for (offset_t q = v.a_begin[i] + lane; q < v.a_begin[i + 1]; q += lanes) {
      sum += v.a[v.a_entry[q]] * v.x[v.a_column[q]];
    }
    sum = sum_of_warp(sum);
    if (lane == 0) {
      v.d[i] = v.row_scale[i] * (v.b[i] - sum);
      v.lower_done[i] = 0;
      v.upper_done[i] = 0;
    }
  }
}

// d = L^-1 d or d = U^-1 d, one warp to a row.
template <bool Upper>
GSOFA_KERNEL void solve_kernel(device_view v) {
  const unsigned lane = thread_index() % lanes;
  std::uint32_t* const done = Upper ? v.upper_done : v.lower_done;
  const index_t* const order = Upper ? v.upper_order : v.lower_order;
  std::uint32_t* const next = Upper ? &v.state->upper_ticket : &v.state->lower_ticket;
  for (;;) {
    std::uint32_t ticket = 0;
    if (lane == 0) ticket = atomic_add(next, 1U);
    ticket = shuffle(ticket, 0);
    if (ticket >= static_cast<std::uint32_t>(v.n)) return;
    const index_t i = order[ticket];
    const offset_t diagonal = v.diagonal[i];
    const offset_t first = Upper ? diagonal + 1 : v.begin[i];
    const offset_t size = (Upper ? v.begin[i + 1] : diagonal) - first;
    const double right = v.d[i];
    const double pivot = Upper ? v.lu[diagonal] : 1;
    double sum = 0;
    // Rows that are done last come last: L ascends to the diagonal, U descends to it.
    for (offset_t c = 0; c < size; c += lanes) {
      const bool present = c + lane < size;
      const offset_t p = Upper ? first + size - 1 - c - lane : first + c + lane;
      const index_t k = present ? v.column[p] : 0;
      const double value = present ? v.lu[p] : 0;
      wait_for_flags(present ? done + k : nullptr, every_lane);
      if (present) sum += value * v.d[k];
    }
    sum = sum_of_warp(sum);
    if (lane == 0) {
      v.d[i] = (right - sum) / pivot;
      release_flag(done + i);
    }
  }
}

GSOFA_KERNEL void add_correction_kernel(device_view v) {
  for (offset_t j = offset_t{block_index()} * block_size() + thread_index(); j < v.n;
       j += offset_t{grid_size()} * block_size()) {
    v.x[j] += v.col_scale[j] * v.d[j];
  }
}

GSOFA_KERNEL void scale_kernel(device_view v) {
  const unsigned lane = thread_index() % lanes;
  for (offset_t r = first_warp(); r < v.n; r += all_warps()) {
    const auto i = static_cast<index_t>(r);
    for (offset_t q = v.a_begin[i] + lane; q < v.a_begin[i + 1]; q += lanes) {
      v.scaled[q] = scaled_value(v, i, q);
    }
  }
}

}  // namespace

}  // namespace refactor
