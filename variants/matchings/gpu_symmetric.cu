// The steps of `symmetric` (symmetric_search.hpp) on a device: colours, the greedy rounds and the
// gains. The host matches pairs that are forced or unique, augments, and exchanges. All results are
// those of the host: sums, least entries and colours do not depend on the order of threads.

#include "variants/device/gpu_variant.hpp"

#include "common/matching.hpp"
#include "variants/matchings/symmetric_search.hpp"

#if defined(GSOFA_GPU)

#include "common/random.hpp"
#include "variants/device/row_teams.hpp"
#include "variants/device/simt_grid.hpp"
#include "variants/device/timeline.hpp"

namespace gsofa::gpu::symmetric {

namespace {

using gsofa::matchings::agreement;
using gsofa::matchings::pairs;
using gsofa::matchings::search_input;
using gsofa::matchings::search_steps;

constexpr std::uint64_t nobody = ~std::uint64_t{0};

struct lines {
  const offset_t* ptr;
  const index_t* idx;
  GSOFA_DEVICE offset_t degree(offset_t i) const { return ptr[i + 1] - ptr[i]; }
};

/// Colours of the unmatched lines of `a`, from those of the lines that cross them; without these,
/// from their number.
struct colour_op {
  static constexpr offset_t longest = long_row;
  lines a;
  const index_t *partner, *crossing_partner;
  const std::uint64_t *crossing, *old;
  std::uint64_t* out;

  GSOFA_DEVICE offset_t length(index_t i) const { return partner[i] == -1 ? a.degree(i) : -1; }
  GSOFA_DEVICE void finish() const {}
  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t i, offset_t length) {
    std::uint64_t sum = 0;
    for (offset_t k = team.rank(); k < length; k += team.size()) {
      const index_t j = a.idx[a.ptr[i] + k];
      if (crossing_partner[j] == -1) sum += crossing == nullptr ? 1 : crossing[j];
    }
    sum = team.reduce(sum, [](std::uint64_t x, std::uint64_t y) { return x + y; });
    if (length < 0 || team.rank() != 0) return;
    out[i] = mix64(crossing == nullptr ? sum : 5 * old[i] + sum);
  }
};

/// Counts the entries whose ends have agreed in all rounds and agree in this one.
struct agree_op {
  static constexpr offset_t longest = long_row;
  lines a;
  const index_t *col_of_row, *row_of_col;
  const std::uint64_t *rows, *cols;
  std::uint8_t* depth;
  std::uint8_t round;
  std::uint64_t* agreeing;

  GSOFA_DEVICE offset_t length(index_t i) const { return col_of_row[i] == -1 ? a.degree(i) : -1; }
  GSOFA_DEVICE void finish() const {}
  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t i, offset_t length) {
    std::uint64_t count = 0;
    for (offset_t k = team.rank(); k < length; k += team.size()) {
      const offset_t p = a.ptr[i] + k;
      const index_t j = a.idx[p];
      if (depth[p] != round || row_of_col[j] != -1 || rows[i] != cols[j]) continue;
      ++depth[p];
      ++count;
    }
    count = team.reduce(count, [](std::uint64_t x, std::uint64_t y) { return x + y; });
    if (length >= 0 && team.rank() == 0 && count > 0) simt::atomic_add(agreeing, count);
  }
};

/// What gains need, and what rounds change.
struct search_view {
  lines a, t;
  offset_t limit;
  index_t n;
  offset_t nnz;
  const index_t* row_of;
  const std::uint16_t* keys;
  std::uint32_t* gain;
  index_t *col_of_row, *row_of_col;
  std::uint64_t *least_of_row, *least_of_col;  ///< of a round: entries
  std::uint32_t* matched;                      ///< of a round: columns

  GSOFA_DEVICE bool is_open(offset_t p) const {
    return col_of_row[row_of[p]] == -1 && row_of_col[a.idx[p]] == -1;
  }
  /// Offers an entry to its row, its column and the rows whose gains its match changes.
  GSOFA_DEVICE void claim(std::uint64_t p) const {
    const index_t c = a.idx[p];
    simt::atomic_min(least_of_row + row_of[p], p);
    simt::atomic_min(least_of_col + c, p);
    if (t.degree(c) > limit) return;
    for (offset_t k = t.ptr[c]; k < t.ptr[c + 1]; ++k) {
      if (p < simt::load_shared_state(least_of_row + t.idx[k]))
        simt::atomic_min(least_of_row + t.idx[k], p);
    }
  }
  GSOFA_DEVICE bool has(index_t row, index_t col) const {
    offset_t from = a.ptr[row], to = a.ptr[row + 1];
    while (from < to) {
      const offset_t middle = from + (to - from) / 2;
      if (a.idx[middle] < col) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from < a.ptr[row + 1] && a.idx[from] == col;
  }
};

/// Raises the gains that the matches of columns give: of a list, or of all columns.
struct give_op {
  static constexpr offset_t longest = long_row;
  search_view s;
  const std::uint32_t* list;

  GSOFA_DEVICE index_t column(index_t k) const {
    return list == nullptr ? k : static_cast<index_t>(list[k]);
  }
  GSOFA_DEVICE offset_t length(index_t k) const {
    const index_t c = column(k), r = s.row_of_col[c];
    if (r == -1 || s.a.degree(r) > s.limit || s.t.degree(c) > s.limit) return -1;
    return s.t.degree(c);
  }
  GSOFA_DEVICE void finish() const {}
  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t k, offset_t length) {
    if (length < 0) return;
    const index_t c = column(k), r = s.row_of_col[c];
    for (offset_t x = team.rank(); x < length; x += team.size()) {
      const index_t i = s.t.idx[s.t.ptr[c] + x];
      if (i == r || s.a.degree(i) > s.limit) continue;
      for (offset_t e = s.a.ptr[i]; e < s.a.ptr[i + 1]; ++e) {
        const index_t j = s.a.idx[e];
        if (j != c && s.has(r, j)) simt::atomic_add(s.gain + e, std::uint32_t{1});
      }
    }
  }
};

GSOFA_KERNEL void narrow_kernel(const std::uint32_t* gain, offset_t nnz, std::uint16_t* out) {
  simt::after_earlier_launches();
  for (const offset_t e : grid_items(nnz)) out[e] = static_cast<std::uint16_t>(gain[e]);
}

/// Of three values the first is of this round, the second of the next, the third of the previous,
/// cyclically.
struct round_control {
  std::uint64_t best[3] = {nobody, nobody, nobody};
  std::uint32_t matched[3] = {};
};

/// The order of entries in a round: larger keys first, then those with gains, then by number.
GSOFA_DEVICE std::uint64_t rank_of(const search_view& s, offset_t p) {
  const auto gain = static_cast<int>(s.gain[p]);
  const auto key = static_cast<std::uint64_t>(search_steps::key_with(s.keys[p], gain));
  const std::uint64_t class_of = 2 * (2 * search_steps::half - 1 - key) + (gain == 0 ? 1 : 0);
  return class_of << 48 | static_cast<std::uint64_t>(p);
}

/// All rounds, by one grid that is resident at once.
GSOFA_KERNEL void greedy_kernel(search_view s, round_control* control) {
  auto* const shared = simt::shared_memory<row_memory>();
  const bool first = simt::block_index() == 0 && simt::thread_index() == 0;
  int seed_rounds = 0;
  for (std::uint32_t round = 0;; ++round) {
    std::uint64_t best = nobody;
    for (const offset_t p : grid_items(s.nnz)) {
      if (!s.is_open(p)) continue;
      const std::uint64_t mine = rank_of(s, p);
      best = mine < best ? mine : best;
    }
    best = least_of_warp(best);
    if (lane_index() == 0 && best != nobody) simt::atomic_min(control->best + round % 3, best);
    if (first) control->matched[(round + 1) % 3] = 0;
    simt::sync_grid();
    best = simt::load_shared_state(control->best + round % 3);
    if (best == nobody) return;
    if (first) control->best[(round + 2) % 3] = nobody;
    const bool seeds = (best >> 48 & 1) != 0;
    const std::uint64_t end =
        seeds ? best + static_cast<std::uint64_t>(search_steps::seeds_of(seed_rounds++))
              : ((best >> 48) + 1) << 48;
    for (const offset_t p : grid_items(s.nnz)) {
      if (!s.is_open(p) || rank_of(s, p) >= end) continue;
      s.claim(static_cast<std::uint64_t>(p));
    }
    simt::sync_grid();
    for (const offset_t i : grid_items(s.n)) {
      const std::uint64_t p = simt::load_shared_state(s.least_of_row + i);
      if (p == nobody || s.row_of[p] != i) continue;
      const index_t j = s.a.idx[p];
      if (simt::load_shared_state(s.least_of_col + j) != p) continue;
      s.col_of_row[i] = j;
      s.row_of_col[j] = static_cast<index_t>(i);
      s.matched[simt::atomic_add(control->matched + round % 3, std::uint32_t{1})] =
          static_cast<std::uint32_t>(j);
    }
    simt::sync_grid();
    for (const offset_t i : grid_items(s.n)) s.least_of_row[i] = s.least_of_col[i] = nobody;
    const std::uint32_t matched = simt::load_shared_state(control->matched + round % 3);
    give_op op{s, s.matched};
    share_rows(op, matched, shared);
    simt::sync_grid();
  }
}

#if defined(__CUDACC__)
constexpr int grid_threads = 512;
#else
constexpr int grid_threads = 64;
#endif

class device_steps : public search_steps {
 public:
  device_steps(const search_input& in, const std::atomic<bool>* stop, memory_budget& budget,
               timeline& time)
      : in_(in),
        stop_(stop),
        time_(time),
        n_(in.a.n_rows),
        nnz_(in.a.nnz()),
        a_ptr_(budget, "matrix", n_ + 1),
        t_ptr_(budget, "matrix", n_ + 1),
        depth_(budget, "colours", nnz_),
        gain_(budget, "gains", nnz_),
        keys_(budget, "gains", nnz_),
        count_(budget, "search", 1),
        control_(budget, "search", 1),
        matched_(budget, "search", n_) {
    for (auto* array : {&a_idx_, &t_idx_, &row_of_}) *array = {budget, "matrix", nnz_};
    for (auto* array : {&col_of_row_, &row_of_col_}) *array = {budget, "matching", n_};
    for (auto& array : colours_) array = {budget, "colours", n_};
    time_.mark("upload");
    copy_to_device(a_ptr_.data(), in.a.row_ptr.data(), offset_t{n_} + 1);
    copy_to_device(t_ptr_.data(), in.t.row_ptr.data(), offset_t{n_} + 1);
    copy_to_device(a_idx_.data(), in.a.col_idx.data(), nnz_);
    copy_to_device(t_idx_.data(), in.t.col_idx.data(), nnz_);
    copy_to_device(row_of_.data(), in.row_of.data(), nnz_);
  }

  agreement refine_colours(const pairs& m) override {
    upload(m);
    time_.mark("colours");
    fill_bytes(depth_.data(), 0, nnz_);
    std::uint64_t *rows = colours_[0].data(), *cols = colours_[1].data();
    std::uint64_t *new_rows = colours_[2].data(), *new_cols = colours_[3].data();
    colour(nullptr, nullptr, rows, cols);
    const int rounds = gsofa::matchings::colour_rounds(
        nnz_,
        [&](int round) {
          fill_bytes(count_.data(), 0, 1);
          launch_rows(agree_op{a(), col_of_row_.data(), row_of_col_.data(), rows, cols,
                               depth_.data(), static_cast<std::uint8_t>(round), count_.data()},
                      n_);
          std::uint64_t agreeing = 0;
          copy_to_host(&agreeing, count_.data(), 1);
          return static_cast<offset_t>(agreeing);
        },
        [&] {
          colour(rows, cols, new_rows, new_cols);
          std::swap(rows, new_rows);
          std::swap(cols, new_cols);
        });
    agreement out{.depth = std::vector<std::uint8_t>(at(nnz_)), .rounds = rounds};
    copy_to_host(out.depth.data(), depth_.data(), nnz_);
    time_.mark("host");
    return out;
  }

  void match_greedily(std::span<const std::uint16_t> keys, pairs& m) override {
    upload(m);
    time_.mark("greedy");
    copy_to_device(keys_.data(), keys.data(), nnz_);
    find_gains();
    fill_bytes(colours_[0].data(), 0xff, n_);
    fill_bytes(colours_[1].data(), 0xff, n_);
    const round_control control;
    copy_to_device(control_.data(), &control, 1);
    const int blocks = std::min(resident_blocks(greedy_kernel, grid_threads, sizeof(row_memory)),
                                2 * multiprocessors());
    launch_cooperative(greedy_kernel, blocks, grid_threads, sizeof(row_memory), view(),
                       control_.data());
    copy_to_host(m.col_of_row.data(), col_of_row_.data(), n_);
    copy_to_host(m.row_of_col.data(), row_of_col_.data(), n_);
    time_.mark("host");
  }

  std::vector<std::uint16_t> gains(const pairs& m) override {
    upload(m);
    time_.mark("gains");
    find_gains();
    launch_overlapping(narrow_kernel, blocks_for(nnz_), threads_per_block, 0, gain_.data(), nnz_,
                       keys_.data());
    std::vector<std::uint16_t> out(at(nnz_));
    copy_to_host(out.data(), keys_.data(), nnz_);
    time_.mark("host");
    return out;
  }

 private:
  [[nodiscard]] lines a() const { return {a_ptr_.data(), a_idx_.data()}; }
  [[nodiscard]] lines t() const { return {t_ptr_.data(), t_idx_.data()}; }
  [[nodiscard]] search_view view() const {
    return {a(),
            t(),
            in_.limit,
            n_,
            nnz_,
            row_of_.data(),
            keys_.data(),
            gain_.data(),
            col_of_row_.data(),
            row_of_col_.data(),
            colours_[0].data(),
            colours_[1].data(),
            matched_.data()};
  }
  void upload(const pairs& m) {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) throw cancelled_error();
    copy_to_device(col_of_row_.data(), m.col_of_row.data(), n_);
    copy_to_device(row_of_col_.data(), m.row_of_col.data(), n_);
  }
  /// Without old colours: by degrees.
  void colour(const std::uint64_t* rows, const std::uint64_t* cols, std::uint64_t* new_rows,
              std::uint64_t* new_cols) {
    const index_t *of_row = col_of_row_.data(), *of_col = row_of_col_.data();
    launch_rows(colour_op{a(), of_row, of_col, cols, rows, new_rows}, n_);
    launch_rows(colour_op{t(), of_col, of_row, rows, cols, new_cols}, n_);
  }
  void find_gains() {
    fill_bytes(gain_.data(), 0, nnz_);
    launch_rows(give_op{view(), nullptr}, n_);
  }

  const search_input& in_;
  const std::atomic<bool>* stop_;
  timeline& time_;
  index_t n_;
  offset_t nnz_;
  device_array<offset_t> a_ptr_, t_ptr_;
  device_array<index_t> a_idx_, t_idx_, row_of_, col_of_row_, row_of_col_;
  device_array<std::uint8_t> depth_;
  device_array<std::uint32_t> gain_;
  device_array<std::uint16_t> keys_;  // or gains
  device_array<std::uint64_t> count_;
  device_array<round_control> control_;
  device_array<std::uint32_t> matched_;
  device_array<std::uint64_t> colours_[4];  // the first two are the least entries of a round, too
};

}  // namespace

}  // namespace gsofa::gpu::symmetric

#endif

namespace gsofa::matchings {

namespace {

row_matching symmetric_on_gpu([[maybe_unused]] const matching_input& input,
                              [[maybe_unused]] const matching_settings& settings) {
#if defined(GSOFA_GPU)
  gpu::memory_budget budget;
  const std::int64_t megabytes = settings.options.integer("memory_budget_mb");
  budget.set_limit(megabytes > 0 ? megabytes << 20 : gpu::current_limits().free_bytes / 4 * 3);
  gpu::timeline time;
  row_matching m = symmetric_matching(input, settings, [&](const search_input& in) {
    return std::make_unique<gpu::symmetric::device_steps>(in, settings.stop, budget, time);
  });
  m.phases_s = time.finish();
  return m;
#else
  gpu::refuse();
#endif
}

}  // namespace

GSOFA_REGISTER_MATCHING({
    .name = "gpu_symmetric",
    .device = "gpu",
    .summary = "the matching of `symmetric`, with colours, rounds and gains on a GPU",
    .citation = "Portase & Ucar 2016; Weisfeiler & Leman 1968",
    .options = {gpu::memory_budget_option()},
    .unavailable = gpu::unavailable,
    .compute = symmetric_on_gpu,
});

}  // namespace gsofa::matchings
