// gpu_fill2_bitparallel: fill2 on 8 to 32 consecutive sources at once, a bit each.
//
// A block searches a group of sources; thresholds ascend over the union of their rows; a tile of
// thresholds at a time is tested for those that need a search. Cost: 1 to 4 bytes per vertex and
// block, |V|/8 bytes per source.

#include "variants/device/gpu_variant.hpp"

#if defined(GSOFA_GPU)

#include <limits>

#include "variants/device/batch_rows.hpp"
#include "variants/fill/fill2_bitparallel.cuh"
#include "variants/support/counting.hpp"

namespace gsofa::gpu {

namespace {

using namespace fill2;

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

/// Computes row counts and digests (if not null) from masks: ballots turn the bits of 32 vertices
/// into one word per source, which one lane holds.
template <class Mask>
GSOFA_KERNEL void count_masks_kernel(mask_rows<Mask> rows, std::uint32_t* l_counts,
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
  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
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
    // Narrow groups have the shorter chains of thresholds and are faster where sources are few;
    // wide groups have less work in total and are faster where rows are long. The limits are
    // measured on an H200.
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
    context.predicted_bytes["reach"] = static_cast<offset_t>(reach_bytes) * blocks_;
    context.predicted_bytes["row_masks"] = groups * per_group;
  }

  void run(run_context& context) override {
    {
      const phase timed(context, phase_id::init);
      rows_.start();
      fill_bytes(late_.data(), 0, late_.size());
      fill_bytes(counters_.data(), 0, 2);
    }
    for (index_t begin = 0; begin < n_;) {
      context.check_deadline(begin, n_);
      const index_t sources = std::min(n_ - begin, batch_);
      group_ == 8    ? batch<std::uint8_t>(begin, sources, context)
      : group_ == 16 ? batch<std::uint16_t>(begin, sources, context)
                     : batch<std::uint32_t>(begin, sources, context);
      begin += sources;
    }
    report_search(context, budget_, counters_.data(), "vertices_expanded");
  }

  result collect(want_set wants) override { return rows_.collect(wants); }

 private:
  template <class Mask>
  void batch(index_t begin, index_t sources, run_context& context) {
    fill_bytes(control_.data(), 0, 1);
    const bitparallel_view b{
        matrix_.row_ptr(), matrix_.col_idx(),    n_,           begin,         sources,
        queue_entries_,    global_reach_.data(), late_.data(), masks_.data(), control_.data(),
        counters_.data()};
    launch(bitparallel_kernel<Mask>, blocks_, threads_, shared_bytes_, b);
    synchronize();
    const mask_rows<Mask> rows{reinterpret_cast<const Mask*>(masks_.data()), n_, begin, sources};
    {
      const phase timed(context, phase_id::compact);
      const index_t groups = (sources - 1) / mask_rows<Mask>::bits + 1;
      launch(count_masks_kernel<Mask>, groups, 256, 0, rows, rows_.l_counts(), rows_.u_counts(),
             reinterpret_cast<unsigned long long*>(rows_.digests()));
      synchronize();
    }
    rows_.add(rows, context, true);
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
                 .help = "warps per block",
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
                 .help = "sources searched together, one bit each; auto: by order and mean degree",
                 .choices = {"auto", "8", "16", "32"},
                 .tested = {"auto", "8", "16", "32"}},
                gsofa::gpu::memory_budget_option()},
    .unavailable = gsofa::gpu::unavailable,
    .create = GSOFA_GPU_CREATE(fill2_bitparallel),
});
