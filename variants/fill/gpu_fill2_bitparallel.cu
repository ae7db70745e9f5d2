// gpu_fill2_bitparallel: fill2 on 8 to 32 consecutive sources at once, a bit each.
//
// A block per group of sources; thresholds ascend over the union of their rows; barren thresholds
// are told apart a tile at a time. Cost: 1 to 4 bytes per vertex and block, |V|/8 bytes per source.

#include "variants/device/gpu_variant.hpp"

#if defined(GSOFA_GPU)

#include <limits>

#include "variants/device/batch_rows.hpp"
#include "variants/support/counting.hpp"

namespace gsofa::gpu {

namespace {

/// Rows as masks over the sources of a group: bit k of masks[g * n + v] is set iff
/// (begin + g * bits + k, v) is in L+U.
template <class Mask>
struct mask_rows {
  static constexpr index_t bits = 8 * static_cast<index_t>(sizeof(Mask));
  const Mask* masks;
  index_t n;
  index_t begin;
  index_t sources;

  GSOFA_DEVICE bool has(index_t slot, index_t v) const {
    const std::size_t at = static_cast<std::size_t>(slot / bits) * static_cast<std::size_t>(n) +
                           static_cast<std::size_t>(v);
    return (static_cast<std::uint32_t>(masks[at]) >> (slot % bits) & 1U) != 0;
  }
};

struct bitparallel_view {
  const offset_t* row_ptr;
  const index_t* col_idx;
  index_t n;
  index_t begin;
  index_t sources;
  std::uint32_t queue_entries;
  void* global_reach;   // by block, or null: in shared memory
  std::uint32_t* late;  // by block: n masks, all zero between searches
  void* masks;          // result, by group of sources
  std::uint32_t* ticket;
  unsigned long long* counters;  // counting build: edges, expanded vertices
};

enum shared_word : unsigned {
  ticket_word,
  overflow_word,
  tail_0,  ///< and two behind it: places taken in the queue of level k, at k mod 3
  candidate_0 =
      tail_0 + 3,  ///< and two behind it: least thread of round r with a search, at r mod 3
  shared_words = candidate_0 + 3
};

constexpr std::uint32_t no_candidate = 0xffffffffU;

/// reach[v] |= mask; returns the bits that were not there before.
template <class Mask>
GSOFA_DEVICE std::uint32_t set_bits(Mask* reach, index_t v, std::uint32_t mask) {
  if constexpr (sizeof(Mask) == 4) {
    return mask & ~simt::atomic_or(reach + v, mask);
  } else {
    constexpr index_t per_word = 4 / static_cast<index_t>(sizeof(Mask));
    auto* const word = reinterpret_cast<std::uint32_t*>(reach) + v / per_word;
    const auto shift = static_cast<unsigned>(v % per_word * 8 * static_cast<index_t>(sizeof(Mask)));
    return mask & ~(simt::atomic_or(word, mask << shift) >> shift);
  }
}

/// A block takes groups of B = 8, 16 or 32 consecutive sources, last group first; reach[v] has a
/// bit per source that reached v. Thresholds ascend over all vertices. At threshold t the bits of t
/// that belong to sources > t are active; every one of them found t as a fill-in (or in A), since
/// it was reached from a smaller threshold, and reach[t] is final as far as the fill goes: no later
/// threshold can create a fill-in at or below t. So the row bits of t are written out here. Then
/// a search runs from t through vertices below t: a bit that is new at w > t is a fill-in; new at
/// w < t it travels on (Rose & Tarjan's fill2 for B sources in one).
///
/// Order matters for searches downwards only: a bit that t > q brings to w between q and t, where
/// it travels on, must not come before the fill-in that q < w would find there. A bit brought
/// upwards, from t to w > t, is a fill-in whenever it is brought. So a tile of thresholds, one per
/// thread, first passes its bits upwards, all at once, until nothing changes; then the first
/// threshold with a fresh bit for a smaller vertex is searched by the whole block; and so on. All
/// thresholds below it are quiet then: their own bits are final and all their neighbours have them.
///
/// Queue entries are bits << 32 | vertex. A vertex that finds the queue full leaves its bits in
/// late[v] (global memory) and the search goes over all of late when the queue has run dry.
template <class Mask>
GSOFA_KERNEL void bitparallel_kernel(bitparallel_view b) {
  constexpr index_t group_size = 8 * static_cast<index_t>(sizeof(Mask));
  auto* const shared = simt::shared_memory<std::uint32_t>();
  auto* const queues = reinterpret_cast<std::uint64_t*>(shared + shared_words);
  const unsigned threads = simt::block_size();
  const unsigned thread = simt::thread_index();
  const auto n = static_cast<std::size_t>(b.n);
  Mask* const reach =
      b.global_reach != nullptr
          ? static_cast<Mask*>(b.global_reach) + simt::block_index() * ((n + 3) / 4 * 4)
          : reinterpret_cast<Mask*>(queues + 2 * b.queue_entries);
  std::uint32_t* const late = b.late + simt::block_index() * n;
  unsigned long long edges = 0;
  unsigned long long expanded = 0;
  const auto groups = static_cast<std::uint32_t>((b.sources - 1) / group_size + 1);

  for (;;) {
    if (thread == 0) shared[ticket_word] = simt::atomic_add(b.ticket, std::uint32_t{1});
    simt::sync_block();
    const std::uint32_t ticket = shared[ticket_word];
    if (ticket >= groups) break;
    const std::uint32_t group = groups - 1 - ticket;
    const index_t first = b.begin + static_cast<index_t>(group) * group_size;
    const index_t rest = b.begin + b.sources - first;
    const index_t members = rest < group_size ? rest : group_size;
    Mask* const out = static_cast<Mask*>(b.masks) + group * n;
    for (std::size_t k = thread; k < (n * sizeof(Mask) + 3) / 4; k += threads) {
      reinterpret_cast<std::uint32_t*>(reach)[k] = 0;
    }
    if (thread == 0) {
      shared[overflow_word] = 0;
      for (unsigned k = 0; k < 3; ++k) {
        shared[tail_0 + k] = 0;
        shared[candidate_0 + k] = no_candidate;
      }
    }
    simt::sync_block();
    for (index_t k = static_cast<index_t>(thread / 32); k < members;
         k += static_cast<index_t>(threads / 32)) {
      const offset_t end = b.row_ptr[first + k + 1];
      for (offset_t e = b.row_ptr[first + k] + lane_index(); e < end; e += 32) {
        set_bits(reach, b.col_idx[e], std::uint32_t{1} << k);
        if constexpr (detail::counting) ++edges;
      }
    }
    simt::sync_block();

    const index_t last_threshold = first + members - 1;  // exclusive: no source is larger
    // Bits of sources > t.
    auto larger = [&](index_t t) {
      const index_t drop = t - first + 1;  // sources first .. t
      return drop <= 0 ? 0xffffffffU : (drop >= 32 ? 0U : 0xffffffffU << drop);
    };

    unsigned round = 0;  // mod 3
    unsigned at = 0;     // level mod 3
    for (index_t base = 0; base < last_threshold; base += static_cast<index_t>(threads)) {
      const index_t tile_end = base + static_cast<index_t>(threads);
      const index_t t = base + static_cast<index_t>(thread);
      const bool is_threshold = t < last_threshold;
      const offset_t row_begin = is_threshold ? simt::load_constant(b.row_ptr + t) : 0;
      const offset_t row_end = is_threshold ? simt::load_constant(b.row_ptr + t + 1) : 0;
      std::uint32_t mine = 0;  // bits of reach[t] when t was last examined
      bool dirty = is_threshold;
      bool downward = false;    // t has fresh bits for a smaller vertex
      index_t done = base - 1;  // thresholds up to here are passed
      for (;;) {
        // Upward edges until no threshold of the tile gets a new bit.
        std::uint32_t chosen = no_candidate;
        for (bool moved = true; moved;) {
          bool raised = false;
          if (dirty) {
            mine = simt::load_shared_state(reach + t);
            const std::uint32_t active = mine & larger(t);
            downward = false;
            if (active != 0) {
              for (offset_t e = row_begin; e < row_end; e += 4) {
                index_t to[4];
                for (int k = 0; k < 4; ++k) {
                  to[k] = e + k < row_end ? simt::load_constant(b.col_idx + e + k) : t;
                }
                for (int k = 0; k < 4; ++k) {
                  const std::uint32_t fresh =
                      active & ~static_cast<std::uint32_t>(simt::load_shared_state(reach + to[k]));
                  if (fresh == 0) continue;
                  if (to[k] > t) {
                    if (set_bits(reach, to[k], fresh) != 0 && to[k] < tile_end) raised = true;
                  } else {
                    downward = true;
                  }
                }
              }
              if constexpr (detail::counting) {
                edges += static_cast<unsigned long long>(row_end - row_begin);
              }
            }
          }
          const unsigned candidates = simt::ballot(downward && t > done);
          if (candidates != 0 && lane_index() == 0) {
            simt::atomic_min(shared + candidate_0 + round, thread + simt::lowest_bit(candidates));
          }
          // The word of the next round was last read before the barrier of the round before this.
          const unsigned next_round = round == 2 ? 0 : round + 1;
          if (thread == 0) shared[candidate_0 + next_round] = no_candidate;
          moved = simt::sync_block_or(raised);
          chosen = shared[candidate_0 + round];
          round = next_round;
          // Who misses a bit that is being set meanwhile hears of it at the next barrier.
          dirty = is_threshold && t > done && simt::load_shared_state(reach + t) != mine;
        }
        if (chosen == no_candidate) break;
        const index_t threshold = base + static_cast<index_t>(chosen);

        // Spreads `bits` from v to its neighbours; a warp per vertex.
        auto expand = [&](index_t v, std::uint32_t bits, std::uint64_t* next, std::uint32_t* tail) {
          const offset_t end = simt::load_constant(b.row_ptr + v + 1);
          for (offset_t e = simt::load_constant(b.row_ptr + v) + lane_index(); e < end; e += 32) {
            const index_t w = simt::load_constant(b.col_idx + e);
            if constexpr (detail::counting) ++edges;
            std::uint32_t fresh =
                bits & ~static_cast<std::uint32_t>(simt::load_shared_state(reach + w));
            if (fresh == 0) continue;
            fresh = set_bits(reach, w, fresh);
            if (fresh == 0 || w > threshold) continue;
            const std::uint32_t place = simt::atomic_add(tail, std::uint32_t{1});
            if (place < b.queue_entries) {
              next[place] =
                  (static_cast<std::uint64_t>(fresh) << 32) | static_cast<std::uint32_t>(w);
            } else {
              simt::atomic_or(late + w, fresh);
              shared[overflow_word] = 1;
            }
          }
          if constexpr (detail::counting) expanded += lane_index() == 0 ? 1 : 0;
        };

        // The search before left the tails of this level and of the next at zero.
        if (thread / 32 == 0) {
          const std::uint32_t active =
              static_cast<std::uint32_t>(simt::load_shared_state(reach + threshold)) &
              larger(threshold);
          expand(threshold, active, queues, shared + tail_0 + at);
        }
        simt::sync_block();
        for (unsigned level = 0;; level ^= 1U) {
          const unsigned after = at == 2 ? 0 : at + 1;
          const std::uint32_t tail = shared[tail_0 + at];
          const std::uint32_t count = tail < b.queue_entries ? tail : b.queue_entries;
          if (count == 0) {
            if (shared[overflow_word] == 0) break;
            // The queue ran dry but bits were left behind.
            simt::sync_block();
            if (thread == 0) shared[overflow_word] = 0;
            simt::sync_block();
            for (index_t v = static_cast<index_t>(thread / 32); v < threshold;
                 v += static_cast<index_t>(threads / 32)) {
              std::uint32_t bits = 0;
              if (lane_index() == 0 && simt::load_shared_state(late + v) != 0) {
                bits = simt::atomic_exchange(late + v, std::uint32_t{0});
              }
              bits = simt::shuffle(bits, 0);
              if (bits != 0) {
                expand(v, bits, queues + (level ^ 1U) * b.queue_entries, shared + tail_0 + after);
              }
            }
          } else {
            const std::uint64_t* const now = queues + level * b.queue_entries;
            for (std::uint32_t i = thread / 32; i < count; i += threads / 32) {
              const std::uint64_t entry = now[i];
              expand(static_cast<index_t>(entry & 0xffffffffU),
                     static_cast<std::uint32_t>(entry >> 32),
                     queues + (level ^ 1U) * b.queue_entries, shared + tail_0 + after);
            }
          }
          if (thread == 0) shared[tail_0 + (after == 2 ? 0 : after + 1)] = 0;
          simt::sync_block();
          at = after;
        }
        done = threshold;
        dirty = is_threshold && t > done && simt::load_shared_state(reach + t) != mine;
      }
      // All thresholds up to the end of the tile are passed: their rows are final.
      if (is_threshold) out[t] = static_cast<Mask>(mine);
    }
    simt::sync_block();
    for (index_t v = last_threshold + static_cast<index_t>(thread); v < b.n;
         v += static_cast<index_t>(threads)) {
      out[v] = simt::load_shared_state(reach + v);
    }
    simt::sync_block();
  }
  if constexpr (detail::counting) {
    simt::atomic_add(b.counters, edges);
    simt::atomic_add(b.counters + 1, expanded);
  }
}

/// Row counts and digests (if not null) from masks: ballots turn the bits of 32 vertices into one
/// word per source, a lane each.
template <class Mask>
GSOFA_KERNEL void count_kernel(mask_rows<Mask> rows, std::uint32_t* l_counts,
                               std::uint32_t* u_counts, unsigned long long* digests) {
  constexpr index_t group_size = mask_rows<Mask>::bits;
  const index_t group = static_cast<index_t>(simt::block_index());
  const index_t source = rows.begin + group * group_size + static_cast<index_t>(lane_index());
  std::uint32_t l = 0;
  std::uint32_t u = 0;
  unsigned long long digest = 0;
  for (offset_t tile = 32 * offset_t{simt::thread_index() / 32}; tile < rows.n;
       tile += simt::block_size()) {
    const auto v = static_cast<index_t>(tile) + static_cast<index_t>(lane_index());
    const std::uint32_t mask =
        v < rows.n
            ? static_cast<std::uint32_t>(
                  rows.masks[static_cast<std::size_t>(group) * static_cast<std::size_t>(rows.n) +
                             static_cast<std::size_t>(v)])
            : 0;
    std::uint32_t column = 0;  // of my source: bit k is vertex tile + k
    for (unsigned k = 0; k < static_cast<unsigned>(group_size); ++k) {
      const unsigned bits = simt::ballot((mask >> k & 1U) != 0);
      if (lane_index() == k) column = bits;
    }
    const offset_t below = source - tile;  // vertices of the tile that are < source
    const std::uint32_t low = below <= 0 ? 0U : (below >= 32 ? 0xffffffffU : (1U << below) - 1U);
    l += simt::population(column & low);
    u += simt::population(column & ~low);
    if (digests != nullptr) {
      for (; column != 0; column &= column - 1) {
        digest += entry_hash(
            source, static_cast<index_t>(tile) + static_cast<index_t>(simt::lowest_bit(column)));
      }
    }
  }
  if (lane_index() < static_cast<unsigned>(group_size) && source < rows.begin + rows.sources) {
    if (l != 0) simt::atomic_add(l_counts + source, l);
    if (u != 0) simt::atomic_add(u_counts + source, u);
    if (digest != 0) simt::atomic_add(digests + source, digest);
  }
}

class fill2_bitparallel final : public variant {
 public:
  void prepare(const pattern_view& a, const run_settings& settings, execution& exec) override {
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
    threads_ = static_cast<int>(o.integer("warps_per_block")) * 32;
    const std::size_t head = shared_words * 4 + std::size_t{16} * queue_entries_;
    const std::size_t padded = (static_cast<std::size_t>(n_) + 3) / 4 * 4;
    // Narrow groups have the shorter chains of thresholds and decide where sources are few; wide
    // ones have less work in all and decide where rows are long. Measured on an H200.
    const std::string& wanted = o.choice("sources_per_group");
    const bool few = n_ < 16384;
    const bool long_rows = static_cast<double>(a.nnz()) / n_ > 12;
    group_ = wanted != "auto" ? std::stoi(wanted) : few ? 8 : long_rows ? 32 : 16;
    const std::size_t reach_bytes = static_cast<std::size_t>(group_) / 8 * padded;
    const bool in_shared = head + reach_bytes <= device.shared_bytes_per_block;
    shared_bytes_ = head + (in_shared ? reach_bytes : 0);
    const auto kernel = group_ == 8    ? bitparallel_kernel<std::uint8_t>
                        : group_ == 16 ? bitparallel_kernel<std::uint16_t>
                                       : bitparallel_kernel<std::uint32_t>;
    allow_shared(kernel, shared_bytes_);
    blocks_ = std::max(1, resident_blocks(kernel, threads_, shared_bytes_));
    blocks_ = std::min(blocks_, (n_ - 1) / group_ + 1);
    control_ = {budget_, "control", 1};
    counters_ = {budget_, "counters", 2};
    const offset_t per_block =
        4 * offset_t{n_} + (in_shared ? 0 : static_cast<offset_t>(reach_bytes));
    const offset_t per_group = offset_t{group_} / 8 * n_;
    const offset_t left = budget_.limit() - budget_.used();
    if (left < per_block + per_group) {
      throw budget_error("memory budget of " + std::to_string(limit) +
                         " bytes is too small for one group of sources of order " +
                         std::to_string(n_));
    }
    blocks_ = static_cast<int>(std::clamp<offset_t>(left / 2 / per_block, 1, blocks_));
    late_ = {budget_, "late", offset_t{blocks_} * n_};
    if (!in_shared) {
      global_reach_ = {budget_, "reach", static_cast<offset_t>(reach_bytes) * blocks_};
    }
    const offset_t groups =
        std::min<offset_t>((budget_.limit() - budget_.used()) / per_group, (n_ - 1) / group_ + 1);
    batch_ = static_cast<index_t>(std::min<offset_t>(groups * group_, n_));
    masks_ = {budget_, "row_masks", groups * per_group};
    exec.predicted_bytes["reach"] = static_cast<offset_t>(reach_bytes) * blocks_;
    exec.predicted_bytes["row_masks"] = groups * per_group;
  }

  void run(execution& exec) override {
    {
      const phase timed(exec, phase_id::init);
      rows_.start();
      fill_bytes(late_.data(), 0, late_.size());
      fill_bytes(counters_.data(), 0, 2);
    }
    for (index_t begin = 0; begin < n_;) {
      exec.check_deadline();
      const index_t sources = std::min(n_ - begin, batch_);
      group_ == 8    ? batch<std::uint8_t>(begin, sources, exec)
      : group_ == 16 ? batch<std::uint16_t>(begin, sources, exec)
                     : batch<std::uint32_t>(begin, sources, exec);
      begin += sources;
    }
    report_search(exec, budget_, counters_.data(), "vertices_expanded");
  }

  result collect(want_set wants) override { return rows_.collect(wants); }

 private:
  template <class Mask>
  void batch(index_t begin, index_t sources, execution& exec) {
    fill_bytes(control_.data(), 0, 1);
    const bitparallel_view b{
        matrix_.row_ptr(), matrix_.col_idx(),    n_,           begin,         sources,
        queue_entries_,    global_reach_.data(), late_.data(), masks_.data(), control_.data(),
        counters_.data()};
    launch(bitparallel_kernel<Mask>, blocks_, threads_, shared_bytes_, b);
    synchronize();
    const mask_rows<Mask> rows{reinterpret_cast<const Mask*>(masks_.data()), n_, begin, sources};
    {
      const phase timed(exec, phase_id::compact);
      const index_t groups = (sources - 1) / mask_rows<Mask>::bits + 1;
      launch(count_kernel<Mask>, groups, 256, 0, rows, rows_.l_counts(), rows_.u_counts(),
             reinterpret_cast<unsigned long long*>(rows_.digests()));
      synchronize();
    }
    rows_.add(rows, exec, true);
  }

  index_t n_ = 0;
  index_t batch_ = 0;
  std::uint32_t queue_entries_ = 0;
  std::size_t shared_bytes_ = 0;
  index_t group_ = 16;  // sources searched together
  int threads_ = 0, blocks_ = 0;
  memory_budget budget_;
  device_matrix matrix_;
  row_results rows_;
  device_array<std::uint32_t> control_, late_;
  device_array<unsigned char> global_reach_, masks_;
  device_array<unsigned long long> counters_;
};

}  // namespace

}  // namespace gsofa::gpu

#endif

GSOFA_REGISTER_VARIANT({
    .name = "gpu_fill2_bitparallel",
    .device = "gpu",
    .summary = "fill2 on 8 to 32 consecutive sources at once, one bit each",
    .citation = "Rose & Tarjan 1978; bit-parallel search as in Then et al. 2014",
    .options = {{.name = "warps_per_block",
                 .default_value = std::int64_t{32},
                 .help = "warps of a block",
                 .minimum = 1,
                 .maximum = 32,
                 .tested = {"1", "2", "3", "5"}},
                {.name = "queue_entries",
                 .default_value = std::int64_t{1024},
                 .help = "entries of each of a block's two search queues",
                 .minimum = 1,
                 .maximum = 8192,
                 .tested = {"1", "2", "3", "31", "32", "33", "64"}},
                {.name = "sources_per_group",
                 .default_value = std::string("auto"),
                 .help = "sources searched together, a bit each; auto: by order and mean degree",
                 .choices = {"auto", "8", "16", "32"},
                 .tested = {"auto", "8", "16", "32"}},
                gsofa::gpu::memory_budget_option()},
    .unavailable = gsofa::gpu::unavailable,
    .create = GSOFA_GPU_CREATE(fill2_bitparallel),
});
