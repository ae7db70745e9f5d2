// The phases of weighted.cpp on a device. The matching and the duals are those of the host:
// distances are minima of integers, and a column that several trees claim goes to the least claim,
// a hash. Few rows are near most unmatched columns, and few columns near most unmatched rows, so
// that more paths are disjoint if every other phase exchanges rows and columns (forward and reverse
// auctions alternate likewise, Bertsekas & Castanon 1992).

#include "variants/device/gpu_variant.hpp"

#include "common/matching.hpp"
#include "variants/matchings/symmetric_search.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "variants/device/scan.hpp"
#include "variants/device/timeline.hpp"
#include "variants/matchings/matching_forest.cuh"

namespace gsofa::gpu::matchings {

namespace {

constexpr std::uint64_t unreached = ~std::uint64_t{0};
constexpr std::uint64_t growth = 2;  // of the bound of near columns, as on the host

// --------------------------------------------------------------------------------- first duals

/// Costs that compare with those of their column alone, without their lowest bits.
GSOFA_KERNEL void costs_kernel(std::int64_t* cost, const index_t* col_idx,
                               const std::int64_t* column_log, offset_t nnz, int bits) {
  simt::after_earlier_launches();
  for (const offset_t e : grid_items(nnz)) {
    if (cost[e] != no_candidate) cost[e] = (cost[e] - column_log[col_idx[e]]) >> bits;
  }
}

/// u[i]: the least cost of row i; v[j]: the least c(i,j) - u[i]. Before, all bits of v are set: a
/// column without a candidate keeps the dual -1, which no entry contradicts.
struct duals_op : candidates_op {
  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t row, offset_t length) {
    std::int64_t least = no_candidate;
    candidates(team, row, length,
               [&](offset_t e, index_t) { least = m.cost[e] < least ? m.cost[e] : least; });
    least = team.reduce(least, [](std::int64_t x, std::int64_t y) { return x < y ? x : y; });
    if (length >= 0 && team.rank() == 0) m.u[row] = least == no_candidate ? 0 : least;
    candidates(team, row, length, [&](offset_t e, index_t col) {
      simt::atomic_min(reinterpret_cast<std::uint64_t*>(m.v + col),
                       static_cast<std::uint64_t>(m.cost[e] - least));
    });
  }
};

/// Matches row and column i where entry (i, i) has the reduced cost 0.
struct diagonal_op : candidates_op {
  std::uint32_t* matched;

  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t row, offset_t length) {
    candidates(team, row, length, [&](offset_t e, index_t col) {
      if (col != row || m.reduced(m.u[row], e) != 0) return;
      m.match(static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(col));
      simt::atomic_add(matched, std::uint32_t{1});
    });
  }
};

// ----------------------------------------------------------------------------------- transpose

/// Counts the candidates of each column, or writes them, in any order.
struct transpose_op : candidates_op {
  std::uint32_t* place;  ///< of a column: the number so far, or the place of the next one
  index_t* row_idx;      ///< null: count
  std::int64_t* cost;

  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t row, offset_t length) {
    candidates(team, row, length, [&](offset_t e, index_t col) {
      const std::uint32_t k = simt::atomic_add(place + col, std::uint32_t{1});
      if (row_idx == nullptr) return;
      row_idx[k] = row;
      cost[k] = m.cost[e];
    });
  }
};

GSOFA_KERNEL void widen_kernel(const std::uint32_t* begin, offset_t count, offset_t* col_ptr) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(count)) col_ptr[k] = begin[k];
}

// ----------------------------------------------------------------------------------- distances

GSOFA_DEVICE std::uint64_t distance_of_row(const search_view& s, offset_t row) {
  const std::uint32_t col = s.m.col_of_row[row];
  return col == none ? 0 : simt::load_shared_state(s.words + col);
}

/// Adds a row to the list of a step, once.
GSOFA_DEVICE void list_row(const search_view& s, std::uint32_t row, std::uint32_t step) {
  if (simt::atomic_exchange(s.marks + row, step) != step) s.push(row, step);
}

/// Shortens the distances of the columns of the rows of a list. If the distance of a row becomes
/// shorter meanwhile, the row is in the next list too.
struct shorten_op : candidates_op {
  search_view s;
  std::uint32_t step;
  std::uint64_t bound;
  bool only_nearest;

  GSOFA_DEVICE offset_t length(index_t k) const { return m.degree(s.row_at(k, step)); }
  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t k, offset_t length) {
    if (length < 0) return;
    const std::uint32_t row = s.row_at(k, step);
    const std::uint64_t start = distance_of_row(s, row);
    const std::int64_t dual = m.u[row];
    candidates(team, row, length, [&](offset_t e, index_t col) {
      const std::uint64_t mine = start + static_cast<std::uint64_t>(m.reduced(dual, e));
      if (mine >= simt::load_shared_state(s.words + col)) return;
      if (mine > simt::load_shared_state(&s.control->farthest)) return;
      if (simt::atomic_min(s.words + col, mine) <= mine) return;
      const std::uint32_t next = m.row_of_col[col];
      if (only_nearest && next == none) simt::atomic_min(&s.control->farthest, mine);
      if (mine < bound && next != none) list_row(s, next, step + 1);
    });
  }
};

/// Combines what the threads see of the columns.
GSOFA_DEVICE void look(const search_view& s, std::uint64_t bound, distances_seen* all) {
  distances_seen mine;
  for (const offset_t j : grid_items(s.m.n)) {
    const std::uint64_t distance = s.words[j];
    if (distance >= bound) {
      mine.least_far = distance < mine.least_far ? distance : mine.least_far;
    } else if (s.m.row_of_col[j] == none) {
      ++mine.found;
    }
  }
  mine.least_far = least_of_warp(mine.least_far);
  mine.found = simt::add_of_warp(mine.found);
  if (lane_index() != 0) return;
  if (mine.least_far != unreached) simt::atomic_min(&all->least_far, mine.least_far);
  if (mine.found > 0) simt::atomic_add(&all->found, mine.found);
}

/// One phase's distances, by one grid that is resident at once. Steps shorten the distances below a
/// bound until none changes; then the bound grows, until `enough` unmatched columns are below it.
GSOFA_KERNEL void distances_kernel(search_view s, std::uint32_t enough) {
  auto* const shared = simt::shared_memory<row_memory>();
  const bool first = simt::block_index() == 0 && simt::thread_index() == 0;
  for (const offset_t k : grid_items(s.m.n)) {
    if (s.m.col_of_row[k] == none) list_row(s, static_cast<std::uint32_t>(k), 0);
  }
  simt::sync_grid();
  std::uint32_t step = 0;
  std::uint64_t bound = 1;
  for (std::uint32_t looks = 0;; ++looks) {
    for (std::uint32_t rows = 0; (rows = s.rows(step)) > 0; ++step) {
      if (first) s.control->rows[(step + 2) % 3] = 0;
      shorten_op op{{s.m}, s, step, bound, enough == 1};
      share_rows(op, rows, shared);
      simt::sync_grid();
    }
    distances_seen& seen = s.control->seen[looks % 3];
    if (first) s.control->seen[(looks + 2) % 3] = {};
    look(s, bound, &seen);
    simt::sync_grid();
    const std::uint64_t least_far = simt::load_shared_state(&seen.least_far);
    if (least_far == unreached || simt::load_shared_state(&seen.found) >= enough) {
      if (first) s.control->bound = bound;
      return;
    }
    const std::uint64_t before = bound;
    bound = least_far < unreached / growth ? growth * least_far : unreached;
    for (const offset_t j : grid_items(s.m.n)) {
      if (s.words[j] < before || s.words[j] >= bound) continue;
      if (s.m.row_of_col[j] != none) list_row(s, s.m.row_of_col[j], step);
    }
    simt::sync_grid();
  }
}

/// Gathers the distances of unmatched columns below the bound.
GSOFA_KERNEL void found_kernel(search_view s, std::uint64_t* found) {
  simt::after_earlier_launches();
  for (const offset_t j : grid_items(s.m.n)) {
    if (s.m.row_of_col[j] != none || s.words[j] >= s.control->bound) continue;
    found[simt::atomic_add(&s.control->found, std::uint32_t{1})] = s.words[j];
  }
}

/// Adds the distances below the bound to the duals.
GSOFA_KERNEL void update_duals_kernel(search_view s, std::uint64_t bound) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(s.m.n)) {
    const std::uint64_t of_row = distance_of_row(s, k);
    const std::uint64_t of_col = s.words[k];
    if (of_row < bound) s.m.u[k] += static_cast<std::int64_t>(bound - of_row);
    if (of_col < bound) s.m.v[k] -= static_cast<std::int64_t>(bound - of_col);
  }
}

// ------------------------------------------------------------------------------------ the matcher

#if defined(__CUDACC__)
constexpr int grid_threads = 512;
#else
constexpr int grid_threads = 64;
#endif

class matcher {
 public:
  /// bits: the lowest bits of the costs that are ignored.
  matcher(const matching_input& input, int bits, memory_budget& budget, timeline& time)
      : input_(input),
        bits_(bits),
        budget_(budget),
        time_(time),
        n_(input.a.n_rows),
        row_ptr_(budget, "matrix", n_ + 1),
        col_idx_(budget, "matrix", input.a.nnz()),
        cost_(budget, "costs", input.a.nnz()),
        u_(budget, "duals", n_),
        v_(budget, "duals", n_),
        words_(budget, "search", n_),
        list_(budget, "search", 2 * offset_t{n_}),
        control_(budget, "search", 1) {
    for (auto* array : {&col_of_row_, &row_of_col_, &marks_, &end_, &columns_}) {
      *array = {budget, "matching", n_};
    }
  }

  row_matching run(const std::atomic<bool>* stop) {
    begin();
    while (free_rows() > 0 && augment() > 0) {
    }
    for (; free_rows() > 0; backward_ = !backward_ && transpose()) {
      if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw cancelled_error();
      if (!shorten()) break;
      augment();
    }
    return result();
  }

 private:
  /// Exchanges the roles of rows and columns in every other phase.
  [[nodiscard]] assignment view() const {
    if (backward_) {
      return {n_,        col_ptr_.data(), row_idx_.data(),    transposed_cost_.data(),
              v_.data(), u_.data(),       row_of_col_.data(), col_of_row_.data()};
    }
    return {n_,        row_ptr_.data(), col_idx_.data(),    cost_.data(),
            u_.data(), v_.data(),       col_of_row_.data(), row_of_col_.data()};
  }
  [[nodiscard]] search_view space() const {
    return {view(),       words_.data(),   marks_.data(),  end_.data(),
            list_.data(), columns_.data(), control_.data()};
  }
  [[nodiscard]] std::uint32_t free_rows() const {
    return static_cast<std::uint32_t>(n_) - matched_;
  }

  /// Copies the input, finds the first duals, and matches the diagonal where it is tight.
  void begin() {
    time_.mark("upload");
    const offset_t nnz = input_.a.nnz();
    copy_to_device(row_ptr_.data(), input_.a.row_ptr.data(), offset_t{n_} + 1);
    copy_to_device(col_idx_.data(), input_.a.col_idx.data(), nnz);
    copy_to_device(cost_.data(), input_.costs->cost.data(), nnz);
    time_.mark("duals");
    copy_to_device(v_.data(), input_.costs->column_log.data(), n_);
    if (nnz > 0) {
      launch_overlapping(costs_kernel, blocks_for(nnz), threads_per_block, 0, cost_.data(),
                         col_idx_.data(), v_.data(), nnz, bits_);
    }
    fill_bytes(v_.data(), 0xff, n_);
    fill_bytes(col_of_row_.data(), 0xff, n_);
    fill_bytes(row_of_col_.data(), 0xff, n_);
    fill_bytes(end_.data(), 0, 1);
    launch_rows(duals_op{{view()}}, n_);
    launch_rows(diagonal_op{{view()}, end_.data()}, n_);
    copy_to_host(&matched_, end_.data(), 1);
  }

  /// Makes the columns' lists, once; false if their offsets exceed 32 bits.
  bool transpose() {
    const offset_t nnz = input_.a.nnz();
    if (nnz >> 32 != 0) return false;
    if (col_ptr_.size() > 0) return true;
    time_.mark("transpose");
    col_ptr_ = {budget_, "transpose", offset_t{n_} + 1};
    row_idx_ = {budget_, "transpose", nnz};
    transposed_cost_ = {budget_, "transpose", nnz};
    const device_array<std::uint32_t> begin(budget_, "transpose", offset_t{n_} + 1);
    fill_bytes(list_.data(), 0, n_);
    launch_rows(transpose_op{{view()}, list_.data(), nullptr, nullptr}, n_);
    scanner scan;
    scan.prepare(offset_t{n_} + 1, budget_);
    scan.exclusive_sum(list_.data(), begin.data(), static_cast<std::uint32_t>(n_));
    launch_overlapping(widen_kernel, blocks_for(n_), threads_per_block, 0, begin.data(),
                       offset_t{n_} + 1, col_ptr_.data());
    launch_rows(transpose_op{{view()}, begin.data(), row_idx_.data(), transposed_cost_.data()}, n_);
    return true;
  }

  /// Runs a search by few blocks: barriers of the grid take longer with more.
  template <class... P>
  search_control search(const char* step, void (*kernel)(search_view, P...), P... parameters) {
    time_.mark(step);
    fill_bytes(words_.data(), 0xff, n_);
    fill_bytes(marks_.data(), 0xff, n_);
    fill_bytes(end_.data(), 0xff, n_);
    search_control control;
    copy_to_device(control_.data(), &control, 1);
    const int blocks =
        std::min(resident_blocks(kernel, grid_threads, sizeof(row_memory)), 2 * multiprocessors());
    launch_cooperative(kernel, blocks, grid_threads, sizeof(row_memory), space(), parameters...);
    copy_to_host(&control, control_.data(), 1);
    return control;
  }

  /// Returns the number of augmenting paths.
  std::uint32_t augment() {
    const std::uint32_t paths = search("augment", augment_kernel).augmented;
    matched_ += paths;
    return paths;
  }

  /// Makes shortest paths from unmatched rows tight; false if no unmatched column can be reached.
  bool shorten() {
    const std::uint32_t enough = free_rows() - free_rows() / 4;
    search("distances", distances_kernel, enough);
    auto* const distances = reinterpret_cast<std::uint64_t*>(list_.data());
    launch_overlapping(found_kernel, blocks_for(n_), threads_per_block, 0, space(), distances);
    search_control c;
    copy_to_host(&c, control_.data(), 1);
    if (c.found == 0) return false;
    std::vector<std::uint64_t> found(c.found);
    copy_to_host(found.data(), distances, c.found);
    const auto last = found.begin() + (std::min(enough, c.found) - 1);
    std::ranges::nth_element(found, last);
    ++phases_;
    gsofa::matchings::add_bound(*last, bounds_);
    launch_overlapping(update_duals_kernel, blocks_for(n_), threads_per_block, 0, space(), *last);
    return true;
  }

  row_matching result() {
    time_.mark("download");
    row_matching out;
    out.row_of_col.resize(at(n_));
    // `none` is -1 in as many bits.
    copy_to_host(out.row_of_col.data(), reinterpret_cast<index_t*>(row_of_col_.data()), n_);
    if (free_rows() == 0) {
      copy_duals(u_, out.row_dual);
      copy_duals(v_, out.col_dual);
      for (std::size_t j = 0; j < out.col_dual.size(); ++j) {
        out.col_dual[j] += input_.costs->column_log[j];
      }
      out.most_slack = (std::int64_t{1} << bits_) - 1;
    }
    out.note = std::to_string(phases_) + " phases";
    return out;
  }

  void copy_duals(const device_array<std::int64_t>& from, std::vector<std::int64_t>& to) const {
    to.resize(at(n_));
    copy_to_host(to.data(), from.data(), n_);
    for (std::int64_t& dual : to) dual *= std::int64_t{1} << bits_;
  }

  const matching_input& input_;
  int bits_;
  memory_budget& budget_;
  timeline& time_;
  bool backward_ = false;
  index_t n_;
  std::uint32_t matched_ = 0;
  std::uint32_t phases_ = 0;
  std::uint64_t bounds_ = 0;  // the sum of those of all phases
  device_array<offset_t> row_ptr_, col_ptr_;
  device_array<index_t> col_idx_, row_idx_;
  device_array<std::int64_t> cost_, transposed_cost_, u_, v_;
  device_array<std::uint64_t> words_;
  device_array<std::uint32_t> list_;
  device_array<search_control> control_;
  device_array<std::uint32_t> col_of_row_, row_of_col_, marks_, end_, columns_;
};

}  // namespace

}  // namespace gsofa::gpu::matchings

#endif

namespace gsofa::matchings {

namespace {

row_matching weighted_on_gpu([[maybe_unused]] const matching_input& input,
                             [[maybe_unused]] const matching_settings& settings) {
#if defined(GSOFA_GPU)
  if (input.a.n_rows == 0) return {};
  gpu::memory_budget budget;
  const std::int64_t megabytes = settings.options.integer("memory_budget_mb");
  budget.set_limit(megabytes > 0 ? megabytes << 20 : gpu::current_limits().free_bytes / 4 * 3);
  const auto resolution = static_cast<int>(settings.options.integer("resolution"));
  const int bits = resolution < 0 ? 0 : std::max(input.costs->fraction_bits - resolution, 0);
  gpu::timeline time;
  row_matching m = gpu::matchings::matcher(input, bits, budget, time).run(settings.stop);
  m.phases_s = time.finish();
  prefer_symmetric(input, settings, m);
  return m;
#else
  gpu::refuse();
#endif
}

std::vector<option_spec> weighted_options() {
  return {{.name = "resolution",
           .default_value = std::int64_t{-1},
           .help = "bits of the costs, which are base-2 logarithms, after the binary point; the "
                   "geometric mean of the matched magnitudes is at least 2^-(2^-resolution) times "
                   "the optimum; -1: all bits, the optimum",
           .minimum = -1,
           .maximum = 40,
           .tested = {"-1", "0", "3"}},
          symmetric_option(),
          gpu::memory_budget_option()};
}

}  // namespace

GSOFA_REGISTER_MATCHING({
    .name = "gpu_weighted",
    .device = "gpu",
    .summary = "the matching of `weighted`, on a GPU",
    .citation = "Duff & Koster 2001; Kuhn 1955; Hopcroft & Karp 1973",
    .needs_values = true,
    .options = weighted_options(),
    .unavailable = gpu::unavailable,
    .compute = weighted_on_gpu,
});

}  // namespace gsofa::matchings
