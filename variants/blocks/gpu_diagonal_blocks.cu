// gpu_diagonal_blocks: symbolic LU of many small patterns in one launch, one warp per diagonal
// block of their direct sum. Rows of U and columns of L are bit sets.
//
// Source: Rose & Tarjan 1978; Eisenstat & Liu 1992. README.md has the rule and its proof.
//
// Blocks. A cut before row c is a place that no entry of A crosses. The rows between two cuts are a
// block; blocks that lie within one window of 32 rows are joined, since a direct sum of blocks is a
// block. gpu_bitmap_panels handles blocks of more than most_rows rows and blocks whose bits do not
// fit in memory_budget_mb: it receives the rows of these blocks under their own numbers, and only
// the diagonal of all other rows.
//
// Encoding. A block of n rows has W = ceil(n / 32) words per row. Its vertices have the positions
// from 2048 - 32 W, so that the last word of every row is word 63. The row at position p holds the
// words p / 32 .. 63 of U(p, >p), followed by those words of L(>p, p), one bit per position. The
// rows of a block are contiguous: 128 W (W + 1) bytes per block, about n^2 / 8.
//
// Lane l of a warp reads and writes only the words l and l + 32 of all rows, and each row is read
// once, by the step that eliminates it. A step therefore needs no barrier. It adds to later rows by
// atomic ORs whose results are not needed, except to the next row, which is in registers.
//
// Invariant: when step p begins, row p of U and column p of L are complete.
//
// Launches of a run: extents of 32 rows each, two for their scan, cuts [the host reads the cuts, a
// bit per row, and lists the blocks, largest first]; then for as many blocks as fit in the budget,
// usually all: bits set to zero, bits of A, elimination with counts, digests and supernodes; if
// requested, sorted rows, one warp per row.
//
// Cost. A block of a symmetric pattern takes n steps, each with one read of a row and one OR of it
// into another; without symmetry a step may have several ORs. Latency of a step: about one read of
// device memory. Work per step: about 150 instructions of a warp, 200 in the first n - 1024 steps.

#include "variants/blocks/gpu_diagonal_blocks.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <span>

#include "variants/blocks/cuts.cuh"
#include "variants/blocks/elimination.cuh"
#include "variants/device/batch_rows.hpp"
#include "variants/support/counting.hpp"

namespace gsofa::gpu::blocks {

namespace {

class diagonal_blocks final : public variant {
 public:
  explicit diagonal_blocks(const block_tuning& tuning = {}) : tuning_(tuning) {}

  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    a_ = a;
    settings_ = settings;
    rest_ = nullptr;
    const option_set& o = settings.options;
    budget_.set_limit(std::numeric_limits<offset_t>::max());
    bits_ = {};
    matrix_.upload(a, budget_);
    const std::int64_t megabytes = o.integer("memory_budget_mb");
    const offset_t limit = megabytes > 0 ? megabytes << 20 : current_limits().free_bytes / 4 * 3;
    budget_.set_limit(limit + budget_.used());
    run_settings of_rows = settings;
    of_rows.wants = settings.wants.without(want::pattern);  // sorted rows are found here
    rows_.prepare(a.n_rows, of_rows, budget_);
    const offset_t windows = (offset_t{a.n_rows} - 1) / 32 + 1;
    extents_ = {budget_, "cuts", 2 * windows};
    partial_ = {budget_, "cuts", threads_per_block};
    cuts_ = {budget_, "cuts", windows};
    rank_ = {budget_, "cuts", windows};
    // A window has two cuts at most; one more block ends the list.
    blocks_ = {budget_, "blocks", 2 * windows + 1};
    order_ = {budget_, "blocks", 2 * windows};
    control_ = {budget_, "control", 1};
    counters_ = {budget_, "control", 2};
    host_cuts_.resize(static_cast<std::size_t>(windows));
    host_rank_.resize(static_cast<std::size_t>(windows));
    host_blocks_.reserve(static_cast<std::size_t>(2 * windows + 1));
    in_order_.reserve(static_cast<std::size_t>(2 * windows));
    threads_ = static_cast<int>(o.integer("warps_per_block")) * 32;
    resident_ = std::max(1, resident_blocks(eliminate_kernel, threads_, 0));
    context.predicted_bytes["cuts"] = extents_.size() * 4;
    context.predicted_bytes["blocks"] = blocks_.size() * static_cast<offset_t>(sizeof(block));
  }

  void run(run_context& context) override {
    rest_ = nullptr;
    l_ = u_ = {};
    l_.n_rows = l_.n_cols = u_.n_rows = u_.n_cols = a_.n_rows;
    phases_.start(context, phase_id::schedule);
    rows_.start();
    fill_bytes(counters_.data(), 0, 2);
    batches_ = 0;
    find_cuts();
    list_blocks();
    const offset_t room = words_at_once();
    const auto all = static_cast<std::uint32_t>(host_blocks_.size() - 1);
    for (std::uint32_t begin = 0; begin < all;) {
      context.check_deadline(host_blocks_[begin].begin, a_.n_rows);
      const std::uint32_t end = place_blocks(begin, room);
      eliminate_blocks(begin, end, context);
      begin = end;
      if (begin < all) phases_.start(context, phase_id::schedule);
    }
    if (all == 0) phases_.finish(context);
    if (settings_.wants.has(want::pattern)) rows_.set_pattern(std::move(l_), std::move(u_));
    if (rest_rows_ > 0) run_rest(context);
    report(context);
  }

  result collect(want_set wants) override {
    result out = rows_.collect(wants);
    if (rest_ != nullptr) take_rest(wants, out);
    return out;
  }

 private:
  static std::uint32_t words_of(unsigned rows) {
    const unsigned first = first_position(rows);
    return words_before(first + rows) - words_before(first);
  }
  static unsigned first_position(unsigned rows) { return positions - (rows + 31) / 32 * 32; }
  [[nodiscard]] index_t rows_of(std::size_t k) const {
    return host_blocks_[k + 1].begin - host_blocks_[k].begin;
  }

  void find_cuts() {
    const auto windows = static_cast<index_t>(cuts_.size());
    const extents_view e{matrix_.row_ptr(), matrix_.col_idx(), a_.n_rows,
                         windows,           extents_.data(),   extents_.data() + windows};
    const int blocks = blocks_for(offset_t{windows} * 32);
    launch(extents_kernel, blocks, threads_per_block, 0, e);
    scan(extents_scan{e}, windows, partial_.data());
    launch_overlapping(cuts_kernel, blocks, threads_per_block, 0, e, cuts_.data());
    copy_to_host(host_cuts_.data(), static_cast<const std::uint32_t*>(cuts_.data()), windows);
  }

  // From the cuts all blocks, those of too many rows marked as the rest.
  void list_blocks() {
    const auto most = static_cast<index_t>(settings_.options.integer("most_rows"));
    host_blocks_.clear();
    for (std::size_t k = 0; k < host_cuts_.size(); ++k) {
      host_rank_[k] = static_cast<std::uint32_t>(host_blocks_.size());
      for (std::uint32_t cuts = host_cuts_[k]; cuts != 0; cuts &= cuts - 1) {
        host_blocks_.push_back({0, static_cast<index_t>(32 * k) + std::countr_zero(cuts), 0});
      }
    }
    host_blocks_.push_back({0, a_.n_rows, -1});
    const offset_t room = words_left();
    rest_rows_ = 0;
    rest_blocks_ = 0;
    for (std::size_t k = 0; k + 1 < host_blocks_.size(); ++k) {
      const index_t rows = rows_of(k);
      if (rows > most || words_of(static_cast<unsigned>(rows)) > room) {
        host_blocks_[k].first = -1;
        rest_rows_ += rows;
        ++rest_blocks_;
      } else {
        host_blocks_[k].first = static_cast<index_t>(first_position(static_cast<unsigned>(rows)));
      }
    }
    copy_to_device(rank_.data(), static_cast<const std::uint32_t*>(host_rank_.data()),
                   rank_.size());
  }

  // Words that the budget leaves for the bits after everything else, including the buffers of
  // sorted rows.
  [[nodiscard]] offset_t words_left() const {
    const offset_t left = budget_.limit() - budget_.used() + 4 * bits_.size();
    const offset_t buffers = settings_.wants.has(want::pattern) ? left / 4 : 0;
    return std::clamp<offset_t>((left - buffers) / 4, 0, tuning_.most_words);
  }

  // The same, no more than there is use for; allocates the bits.
  offset_t words_at_once() {
    offset_t needed = 0;
    for (std::size_t k = 0; k + 1 < host_blocks_.size(); ++k) {
      if (host_blocks_[k].first >= 0) needed += words_of(static_cast<unsigned>(rows_of(k)));
    }
    const offset_t room = std::min(needed, words_left());
    if (bits_.size() < room) {
      bits_ = {};
      bits_ = {budget_, "bits", room};
    }
    return room;
  }

  // Gives places to the blocks from `begin` on that fit together; returns the first that does not.
  // Sorts them, the largest first.
  std::uint32_t place_blocks(std::uint32_t begin, offset_t room) {
    std::array<std::uint32_t, row_words + 1> by_words{};
    const auto words = [&](std::uint32_t k) { return (rows_of(k) + 31) / 32; };
    offset_t taken = 0;
    std::uint32_t end = begin;
    for (; end + 1 < host_blocks_.size(); ++end) {
      block& b = host_blocks_[end];
      if (b.first < 0) continue;
      const offset_t needed = words_of(static_cast<unsigned>(rows_of(end)));
      if (taken + needed > room) break;
      b.words = taken - words_before(static_cast<unsigned>(b.first));
      taken += needed;
      ++by_words[at(words(end))];
    }
    words_taken_ = taken;
    std::array<std::uint32_t, row_words + 1> place{};
    for (std::size_t w = row_words; w > 0; --w) place[w - 1] = place[w] + by_words[w];
    in_order_.resize(place[0]);
    for (std::uint32_t k = begin; k < end; ++k) {
      if (host_blocks_[k].first >= 0) in_order_[place[at(words(k))]++] = k;
    }
    return end;
  }

  void eliminate_blocks(std::uint32_t begin, std::uint32_t end, run_context& context) {
    ++batches_;
    const auto count = static_cast<std::uint32_t>(in_order_.size());
    const blocks_view v{blocks_.data(), cuts_.data(), rank_.data(), bits_.data(), begin, end};
    // Sorted rows are looked up in the blocks, those left to the panels too.
    copy_to_device(blocks_.data(), static_cast<const block*>(host_blocks_.data()),
                   static_cast<offset_t>(host_blocks_.size()));
    if (count > 0) {
      copy_to_device(order_.data(), static_cast<const std::uint32_t*>(in_order_.data()),
                     offset_t{count});
      phases_.mark(context, phase_id::init);
      fill_bytes(bits_.data(), 0, words_taken_);
      fill_bytes(control_.data(), 0, 1);
      launch_on_entries(
          entries_kernel,
          entries_of(matrix_.row_ptr(), matrix_.col_idx(), a_.n_rows, matrix_.rows().nnz), v);
      phases_.mark(context, phase_id::traverse);
      const int warps = threads_ / 32;
      const auto needed = static_cast<int>((count - 1) / static_cast<std::uint32_t>(warps) + 1);
      launch(eliminate_kernel, std::min(resident_, needed), threads_, 0, v,
             static_cast<const std::uint32_t*>(order_.data()), count, control_.data(), wanted());
    }
    phases_.finish(context);
    if (settings_.wants.has(want::pattern)) {
      sort_rows(v, host_blocks_[begin].begin, host_blocks_[end].begin, context);
    }
  }

  [[nodiscard]] results_view wanted() const {
    return {reinterpret_cast<index_t*>(rows_.l_counts()),
            reinterpret_cast<index_t*>(rows_.u_counts()),
            reinterpret_cast<unsigned long long*>(rows_.digests()),
            rows_.supernode_starts(),
            settings_.chunk_size,
            settings_.wants.has(want::pattern),
            counters_.data()};
  }

  // Appends the sorted rows begin .. end - 1, whose bits are those of the view, to l_ and u_.
  void sort_rows(const blocks_view& v, index_t begin, index_t end, run_context& context) {
    const auto rows = static_cast<std::size_t>(end - begin);
    std::vector<index_t> l(rows), u(rows);
    copy_to_host(l.data(), wanted().l_counts + begin, end - begin);
    copy_to_host(u.data(), wanted().u_counts + begin, end - begin);
    offset_t total = 0;
    for (std::size_t k = 0; k < rows; ++k) total += l[k] + u[k];
    // A row of a block has fewer than `positions` entries; 12 bytes hold an entry and an offset.
    const offset_t left = (budget_.limit() - budget_.used()) / 12;
    if (left < 1) throw budget_error("memory budget: no room for a sorted row");
    const offset_t room = std::clamp<offset_t>(total, 1, std::min(left, tuning_.most_entries));
    const offset_t most = std::min<offset_t>(static_cast<offset_t>(rows), left);
    const device_array<index_t> entries(budget_, "row_buffer", room);
    const device_array<offset_t> offsets(budget_, "row_buffer", most);
    std::vector<offset_t> places;
    std::vector<index_t> found;
    for (std::size_t from = 0; from < rows;) {
      places.clear();
      offset_t taken = 0;
      std::size_t to = from;
      while (to < rows && static_cast<offset_t>(places.size()) < most &&
             taken + l[to] + u[to] <= room) {
        places.push_back(taken);
        taken += l[to] + u[to];
        ++to;
      }
      if (to == from) throw budget_error("memory budget: no room for a sorted row");
      context.check_deadline();
      {
        const phase timed(context, phase_id::expand);
        const auto count = static_cast<index_t>(to - from);
        copy_to_device(offsets.data(), static_cast<const offset_t*>(places.data()), count);
        launch(sorted_rows_kernel, blocks_for(offset_t{count} * 32), threads_per_block, 0, v,
               begin + static_cast<index_t>(from), count,
               static_cast<const offset_t*>(offsets.data()), entries.data());
        synchronize();
      }
      const phase timed(context, phase_id::d2h);
      found.resize(static_cast<std::size_t>(taken));
      copy_to_host(found.data(), static_cast<const index_t*>(entries.data()), taken);
      append({l.data() + from, to - from}, {u.data() + from, to - from}, found);
      from = to;
    }
  }

  void append(std::span<const index_t> l, std::span<const index_t> u,
              const std::vector<index_t>& found) {
    auto from = found.begin();
    for (std::size_t k = 0; k < l.size(); ++k) {
      l_.col_idx.insert(l_.col_idx.end(), from, from + l[k]);
      u_.col_idx.insert(u_.col_idx.end(), from + l[k], from + l[k] + u[k]);
      from += l[k] + u[k];
      l_.row_ptr.push_back(static_cast<offset_t>(l_.col_idx.size()));
      u_.row_ptr.push_back(static_cast<offset_t>(u_.col_idx.size()));
    }
  }

  // Calls visit(row) for the rows of the blocks that are not for warps.
  template <class Visit>
  void for_each_rest_row(Visit&& visit) const {
    for (std::size_t k = 0; k + 1 < host_blocks_.size(); ++k) {
      if (host_blocks_[k].first >= 0) continue;
      for (index_t i = host_blocks_[k].begin; i < host_blocks_[k + 1].begin; ++i) visit(i);
    }
  }

  // Rows of the rest with the numbers that they have in A, of the others the diagonal.
  void run_rest(run_context& context) {
    const variant_info& by_panels = find_variant("gpu_bitmap_panels");
    bits_ = {};
    pattern_view of_rest = a_;
    if (rest_rows_ < a_.n_rows) {
      std::vector<char> is_rest(static_cast<std::size_t>(a_.n_rows), 0);
      for_each_rest_row([&](index_t i) { is_rest[at(i)] = 1; });
      masked_ = {};
      masked_.n_rows = masked_.n_cols = a_.n_rows;
      for (index_t i = 0; i < a_.n_rows; ++i) {
        if (is_rest[at(i)] != 0) {
          masked_.col_idx.insert(masked_.col_idx.end(), a_.row(i).begin(), a_.row(i).end());
        } else {
          masked_.col_idx.push_back(i);
        }
        masked_.row_ptr.push_back(static_cast<offset_t>(masked_.col_idx.size()));
      }
      of_rest = masked_;
    }
    run_settings settings = settings_;
    settings.options = option_set(by_panels.options);
    const offset_t megabytes = (budget_.limit() - budget_.used()) >> 20;
    settings.options.set(by_panels.options, "memory_budget_mb",
                         std::to_string(std::clamp<offset_t>(megabytes, 1, 1 << 20)));
    rest_ = by_panels.create();
    {
      const phase timed(context, phase_id::init);
      rest_->prepare(of_rest, settings, context);
    }
    rest_->run(context);
  }

  // Puts the rows of the rest in their places.
  void take_rest(want_set wants, result& out) {
    result rest = rest_->collect(wants | want::counts);
    const auto put = [](auto& to, const auto& from, index_t i) { to[at(i)] = from[at(i)]; };
    std::vector<char> is_rest(static_cast<std::size_t>(a_.n_rows), 0);
    for_each_rest_row([&](index_t i) {
      is_rest[at(i)] = 1;
      out.nnz_l += rest.l_row_counts[at(i)];
      out.nnz_u += rest.u_row_counts[at(i)];
      if (wants.has(want::counts)) {
        put(out.l_row_counts, rest.l_row_counts, i);
        put(out.u_row_counts, rest.u_row_counts, i);
      }
      if (wants.has(want::digest)) {
        put(out.row_digests, rest.row_digests, i);
        out.digest += rest.row_digests[at(i)];
      }
    });
    if (wants.has(want::supernodes)) {
      for (const index_t i : rest.supernode_starts) {
        if (is_rest[at(i)] != 0) out.supernode_starts.push_back(i);
      }
      std::ranges::sort(out.supernode_starts);
    }
    if (!wants.has(want::pattern)) return;
    out.l = merged(is_rest, rest.l, out.l);
    out.u = merged(is_rest, rest.u, out.u);
  }

  static pattern merged(const std::vector<char>& is_rest, const pattern& rest,
                        const pattern& others) {
    pattern out;
    out.n_rows = out.n_cols = rest.n_rows;
    for (index_t i = 0; i < out.n_rows; ++i) {
      const auto row = is_rest[at(i)] != 0 ? rest.row(i) : others.row(i);
      out.col_idx.insert(out.col_idx.end(), row.begin(), row.end());
      out.row_ptr.push_back(static_cast<offset_t>(out.col_idx.size()));
    }
    return out;
  }

  void report(run_context& context) {
    const offset_t of_rest = rest_ != nullptr ? context.device_peak_bytes : 0;
    context.device_peak_bytes = std::max(budget_.peak(), budget_.used() + of_rest);
    if (rest_ == nullptr) context.device_bytes.clear();
    for (const auto& [structure, bytes] : budget_.by_structure()) {
      context.device_bytes[structure] += bytes;
    }
    context.derived["blocks"] = static_cast<std::int64_t>(host_blocks_.size() - 1);
    context.derived["batches"] = batches_;
    context.derived["blocks_for_panels"] = rest_blocks_;
    if constexpr (detail::counting) {
      unsigned long long totals[2] = {};
      copy_to_host(totals, static_cast<const unsigned long long*>(counters_.data()), 2);
      context.counters.totals["rows_read"] = static_cast<std::int64_t>(totals[0]);
      context.counters.totals["rows_updated"] = static_cast<std::int64_t>(totals[1]);
    }
  }

  block_tuning tuning_;
  pattern_view a_;
  run_settings settings_;
  memory_budget budget_;
  device_matrix matrix_;
  row_results rows_;
  device_phases phases_;
  device_array<index_t> extents_;
  device_array<extents_scan::value> partial_;
  device_array<std::uint32_t> cuts_, rank_, order_, control_, bits_;
  device_array<block> blocks_;
  device_array<unsigned long long> counters_;
  pinned_vector<std::uint32_t> host_cuts_, host_rank_, in_order_;
  pinned_vector<block> host_blocks_;
  offset_t words_taken_ = 0;
  offset_t batches_ = 0, rest_rows_ = 0, rest_blocks_ = 0;
  int threads_ = 0, resident_ = 0;
  pattern l_, u_;
  pattern masked_;
  std::unique_ptr<variant> rest_;
};

}  // namespace

}  // namespace gsofa::gpu::blocks

namespace gsofa::gpu {

std::unique_ptr<variant> make_diagonal_blocks(const block_tuning& tuning) {
  return std::make_unique<blocks::diagonal_blocks>(tuning);
}

}  // namespace gsofa::gpu

#endif

GSOFA_REGISTER_VARIANT({
    .name = "gpu_diagonal_blocks",
    .device = "gpu",
    .summary = "elimination of many small diagonal blocks, a warp for each, rows as bit sets",
    .citation = "Rose & Tarjan 1978; Eisenstat & Liu 1992",
    .options = {{.name = "most_rows",
                 .default_value = std::int64_t{2048},
                 .help =
                     "rows of a block that a warp takes at most; gpu_bitmap_panels has the rest",
                 .minimum = 1,
                 .maximum = 2048,
                 .tested = {"2048", "2048", "33", "2048", "1"}},
                {.name = "warps_per_block",
                 .default_value = std::int64_t{8},
                 .help = "warps per thread block",
                 .minimum = 1,
                 .maximum = 32,
                 .tested = {"1", "8", "2", "5"}},
                gsofa::gpu::memory_budget_option()},
    .unavailable = gsofa::gpu::unavailable,
    .create = GSOFA_GPU_CREATE(blocks::diagonal_blocks),
});
