// The relaxed algorithm of the paper (Sections 4 to 6) on one GPU.
//
// relax.cuh has the algorithm, batch.cuh the encoding of all arrays, traverse.cuh and
// scan_enqueue.cuh the kernels. memory_plan.hpp divides the memory. This file has the batches with
// their value windows, and the frontiers that spill to host memory.

#include "variants/maxid/maxid_search.hpp"

#if defined(GSOFA_GPU)

#include <array>
#include <limits>
#include <numeric>

#include "variants/device/scan.hpp"
#include "variants/maxid/memory_plan.hpp"
#include "variants/maxid/scan_enqueue.cuh"
#include "variants/maxid/traverse.cuh"

namespace gsofa::maxid {

namespace {

class batch_search final : public maxid_search {
 public:
  explicit batch_search(const maxid_config& config) : config_(config) {}

  void prepare(const pattern_view& a, const device_matrix& matrix, const option_set& o,
               memory_budget& budget, const memory_limits& limits) override {
    n_ = a.n_rows;
    matrix_ = &matrix;
    budget_ = &budget;
    queue_option_ = o.integer("queue_entries");
    threads_ = static_cast<int>(o.integer("warps_per_block")) * 32;
    // The paper gives every frontier a warp; rows of five entries leave most of it idle.
    const std::string& lanes = o.choice("lanes_per_frontier");
    const double degree = static_cast<double>(a.nnz()) / n_;
    lanes_ = lanes != "auto" ? std::stoi(lanes)
             : degree <= 6   ? 4
             : degree <= 12  ? 8
             : degree <= 24  ? 16
                             : 32;
    max_degree_ = 1;
    for (index_t i = 0; i < n_; ++i) {
      max_degree_ = std::max<offset_t>(max_degree_, static_cast<offset_t>(a.row(i).size()));
    }
    const offset_t free = budget.limit() - budget.used();
    if (config_.scan_enqueue) prepare_scans(budget);
    plan(o, limits, free);
    report_.resize(1);
    prepare_counters();
    windows_ = std::numeric_limits<std::uint32_t>::max() / (static_cast<std::uint32_t>(n_) + 1);
  }

  void start() override {
    fill_bytes(fill_, 0, offset_t{concurrent_} * n_);
    fill_bytes(redo_.data(), 0, redo_.size());
    spilled_.clear();
    initialised_ = 0;
    window_ = 0;
    reinitialisations_ = 0;
    spills_ = 0;
    spilled_bytes_ = 0;
    spilled_entries_ = 0;
    least_places_ = most_places_ = 0;
    if constexpr (detail::counting) {
      fill_bytes(counters_.data(), 0, counters_.size());
      fill_bytes(source_frontiers_.data(), 0, n_);
      fill_bytes(source_edges_.data(), 0, n_);
      fill_bytes(source_levels_.data(), 0, n_);
    }
  }

  void run(const source_batch& sources, std::uint32_t* l_counts, std::uint32_t* u_counts,
           run_context& context) override {
    context.check_deadline();
    batch_view b = begin_batch(sources, context);
    b.l_counts = l_counts;
    b.u_counts = u_counts;
    config_.scan_enqueue ? traverse_by_scans(b, context) : traverse(b, context);
    synchronize();
  }

  [[nodiscard]] const std::map<std::string, std::int64_t>& predicted_bytes() const override {
    return predicted_;
  }
  [[nodiscard]] index_t concurrent_sources() const override { return concurrent_; }
  [[nodiscard]] const std::uint32_t* fill() const override { return fill_; }
  [[nodiscard]] const std::uint64_t* source_edges() const override {
    return reinterpret_cast<const std::uint64_t*>(source_edges_.data());
  }

  [[nodiscard]] memory_use use() const override {
    return {least_places_, most_places_, spills_, spilled_entries_};
  }

  void report(run_context& context) const override;

 private:
  // A source number and where its maxId begins, where sources are not consecutive.
  static constexpr offset_t listed_source_bytes = sizeof(index_t) + sizeof(offset_t);

  // Divides the budget: memory_plan.hpp. Without a stated one, fill and maxId take a quarter of
  // `free` and the queues what is usual.
  void plan(const option_set& o, const memory_limits& limits, offset_t free) {
    const bool stated = o.integer("memory_budget_mb") > 0;
    const std::int64_t wanted = o.integer("concurrent_sources");
    const offset_t row = 4 * offset_t{n_};
    offset_t most = n_;
    if (wanted > 0) {
      most = wanted;
    } else if (!stated) {
      most = std::max<offset_t>(256, free / 4 / (2 * row));
    }
    most = std::min<offset_t>(most, limits.sources > 0 ? std::min(limits.sources, n_) : n_);
    const offset_t counting = detail::counting && !stated ? 1 : 0;
    const memory_division d =
        memory_planner({.order = n_,
                        .bytes = budget_->limit() - budget_->used() - 4 * control_words -
                                 counting * counting_bytes(0),
                        .most_sources = static_cast<index_t>(most),
                        .source_bytes = limits.source_bytes + listed_source_bytes +
                                        counting * (counting_bytes(1) - counting_bytes(0)),
                        .bubble_removal = config_.bubble_removal,
                        .separate_queues = config_.separate_queues,
                        .external_frontier = config_.external_frontier,
                        .fill_up = stated,
                        .queue_share = o.integer("queue_share"),
                        .queue_entries = queue_option_})
            .divide();
    concurrent_ = d.sources;
    queue_entries_ = d.queue_entries;
    maxid_limit_ = d.maxid_words;
    allocate(d, limits.own_fill);
    predicted_["fill"] = concurrent_ * row;
    predicted_["maxid"] = 4 * maxid_limit_;
    predicted_["queues_and_trackers"] = 16 * queue_entries_;
    predicted_["paper_6VC"] = 6 * row * concurrent_;
  }
  // One arena: fill first, then maxId growing upwards, then the two queues.
  void allocate(const memory_division& d, const fill_memory& own_fill) {
    const offset_t c = d.sources;
    const offset_t q = d.queue_entries;
    // Queues that hold every vertex of every source rarely overflow; smaller ones will.
    if (q < c * n_) spilled_.reserve(static_cast<std::size_t>(std::min<offset_t>(2 * q, 1 << 16)));
    if (own_fill) fill_ = own_fill(c * n_);
    fill_words_ = own_fill ? 0 : c * n_;
    arena_words_ = fill_words_ + maxid_limit_ + 4 * q + 2;
    arena_ = {*budget_, "arena", arena_words_};
    if (!own_fill) fill_ = arena_.data();
    maxid_ = arena_.data() + fill_words_;
    redo_ = {*budget_, "redo", d.redo_words};
    control_ = {*budget_, "control", control_words};
    if (!config_.separate_queues) return;
    per_source_ = q / c;
    slot_tails_ = {*budget_, "control", level_slots * c};
    pack_offsets_ = {*budget_, "control", c + 1};
  }
  void prepare_scans(memory_budget& budget) {
    // At most an eighth of the budget, and room for the longest row.
    edge_capacity_ = std::clamp<offset_t>((budget.limit() - budget.used()) / 128, max_degree_,
                                          std::max(max_degree_, offset_t{1} << 24));
    segment_ = std::min<offset_t>(edge_capacity_, offset_t{1} << 20);
    edges_ = {budget, "scan_buffer", edge_capacity_};
    selected_ = {budget, "scan_buffer", edge_capacity_};
    degrees_ = {budget, "scan_buffer", segment_ + 1};
    offsets_ = {budget, "scan_buffer", segment_ + 1};
    scan_.prepare(std::max<offset_t>(edge_capacity_, segment_ + 1), budget);
  }
  // Counters lie outside the budget, so that the counting build divides it as the timed one.
  void prepare_counters() {
    if constexpr (detail::counting) {
      counter_budget_.set_limit(std::numeric_limits<offset_t>::max());
      counters_ = {counter_budget_, "counters", counter_words};
      visits_ = {counter_budget_, "counters", offset_t{concurrent_} * n_};
      source_frontiers_ = {counter_budget_, "counters", n_};
      source_edges_ = {counter_budget_, "counters", n_};
      source_levels_ = {counter_budget_, "counters", n_};
      source_seen_ = {counter_budget_, "counters", concurrent_};
    }
  }
  // Of the counting build, for c sources: a visit count for each vertex of each source, and more.
  [[nodiscard]] offset_t counting_bytes(offset_t c) const {
    return 4 * c * n_ + 4 * c + 32 * offset_t{n_} + 8 * counter_words;
  }
  batch_view begin_batch(const source_batch& sources, run_context& context) {
    const phase timed(context, phase_id::init);
    batch_view b{};
    b.row_ptr = matrix_->row_ptr();
    b.col_idx = matrix_->col_idx();
    b.n = n_;
    b.begin = sources.begin;
    b.sources = sources.count;
    b.fill = fill_;
    b.maxid = maxid_;
    b.redo = redo_.data();
    b.control = control_.data();
    b.report = report_.data();
    b.slot_tails = slot_tails_.data();
    if (!sources.list.empty()) list_sources(sources, b);
    const offset_t entries = remove_bubbles(sources, b);
    reuse_range(b);
    allocate_dynamically(entries, b);
    if constexpr (detail::counting) set_counters(b);
    fill_bytes(control_.data(), 0, control_words);
    if (config_.separate_queues) fill_bytes(slot_tails_.data(), 0, slot_tails_.size());
    synchronize();
    return b;
  }

  // Range reuse (paper, Section 4): a batch takes the next lower window of values, in which all
  // earlier values of maxId read as infinity. After the last window maxId is initialised again.
  void reuse_range(batch_view& b) {
    if (!config_.stale_windows || window_ == 0) ++window_;
    if (!config_.range_reuse || window_ > windows_) {
      window_ = 1;
      initialised_ = 0;
      ++reinitialisations_;
    }
    b.base =
        std::numeric_limits<std::uint32_t>::max() - window_ * (static_cast<std::uint32_t>(n_) + 1);
  }

  // Bubble removal (paper, Section 6): source s never reaches a vertex above s through maxId, so
  // its array has s entries instead of |V|. Returns the entries of all sources of the batch.
  offset_t remove_bubbles(const source_batch& sources, batch_view& b) {
    const auto c = static_cast<offset_t>(sources.count);
    b.bubble_removal = config_.bubble_removal;
    if (!config_.bubble_removal) return c * n_;
    if (sources.list.empty()) return c * sources.begin + c * (c - 1) / 2;
    std::vector<offset_t> offsets(sources.list.size());
    std::exclusive_scan(sources.list.begin(), sources.list.end(), offsets.begin(), offset_t{0});
    copy_to_device(maxid_offsets_.data(), offsets.data(), sources.count);
    b.maxid_offsets = maxid_offsets_.data();
    return offsets.back() + sources.list.back();
  }

  // Dynamic allocation (paper, Section 6): maxId takes as much of the arena as the batch needs, and
  // the two queues take all that remains. Otherwise maxId and queues have the lengths of the plan.
  void allocate_dynamically(offset_t entries, batch_view& b) {
    // The part of the arena that maxId reaches for the first time since the last initialisation.
    const offset_t upto =
        config_.dynamic_allocation ? std::max(entries, initialised_) : maxid_limit_;
    if (upto > initialised_) fill_bytes(maxid_ + initialised_, 0xff, upto - initialised_);
    initialised_ = upto;

    offset_t first = fill_words_ + upto;
    first += first % 2;  // queue entries are aligned to 8 bytes
    offset_t capacity = (arena_words_ - first) / 4;
    if (!config_.dynamic_allocation || queue_option_ > 0) {
      capacity = std::min(capacity, queue_entries_);
    }
    capacity = std::min(capacity, most_queue_entries);
    if (config_.separate_queues) {
      capacity = std::max<offset_t>(1, capacity / concurrent_);
      if (queue_option_ > 0) capacity = std::min(capacity, per_source_);
    }
    b.capacity = static_cast<std::uint32_t>(capacity);
    const offset_t places = config_.separate_queues ? capacity * concurrent_ : capacity;
    b.queue[0] = reinterpret_cast<std::uint64_t*>(arena_.data() + first);
    b.queue[1] = b.queue[0] + places;
    least_places_ = most_places_ == 0 ? places : std::min(least_places_, places);
    most_places_ = std::max(most_places_, places);
  }

  // Of the counting build.
  void set_counters(batch_view& b) {
    b.counters = counters_.data();
    b.visits = visits_.data();
    b.source_frontiers = source_frontiers_.data();
    b.source_edges = source_edges_.data();
    b.source_levels = source_levels_.data();
    b.source_seen = source_seen_.data();
    fill_bytes(visits_.data(), 0, visits_.size());
    fill_bytes(source_seen_.data(), 0, source_seen_.size());
  }

  // Sources that are not consecutive, on the device.
  void list_sources(const source_batch& sources, batch_view& b) {
    if (list_.size() == 0) {
      list_ = {*budget_, "control", concurrent_};
      maxid_offsets_ = {*budget_, "control", concurrent_};
    }
    copy_to_device(list_.data(), sources.list.data(), sources.count);
    b.list = list_.data();
  }

  using kernel = void (*)(batch_view, std::uint32_t, first_frontiers, bool);
  [[nodiscard]] kernel chosen() const {
    if (config_.lose_updates) return traverse_kernel<forms::lost_updates>;
    if (config_.separate_queues) return traverse_kernel<forms::queue_per_source>;
    if (config_.thread_centric) return traverse_kernel<forms::thread_centric>;
    return config_.line_9_5 ? by_lanes<true>() : by_lanes<false>();
  }
  template <bool Line95>
  [[nodiscard]] kernel by_lanes() const {
    switch (lanes_) {
      case 4:
        return traverse_kernel<forms::lanes_per_frontier<Line95, 4>>;
      case 8:
        return traverse_kernel<forms::lanes_per_frontier<Line95, 8>>;
      case 16:
        return traverse_kernel<forms::lanes_per_frontier<Line95, 16>>;
      default:
        return traverse_kernel<forms::lanes_per_frontier<Line95, 32>>;
    }
  }

  void traverse(batch_view& b, run_context& context) {
    if (blocks_ == 0) {
      // A small matrix never has work for the whole device, and every level waits for all blocks.
      const offset_t lanes = offset_t{concurrent_} * n_ / 8 * lanes_;
      blocks_ = static_cast<int>(std::clamp<offset_t>(
          lanes / threads_, 1, std::max(1, resident_blocks(chosen(), threads_, 0))));
    }
    std::uint32_t level = 0;
    first_frontiers first{static_cast<std::uint32_t>(b.sources), nullptr};
    bool redo = false;
    loading_.clear();
    std::size_t taken = 0;  // from the end of loading_, by the launches since
    for (;;) {
      context.check_deadline();
      launch_cooperative(chosen(), blocks_, threads_, 0, b, level, first, redo);
      synchronize();
      const launch_report& report = report_.front();
      level = report.control[last_level];
      const bool unfinished = report.control[incomplete] != 0;
      if (!unfinished && loading_.size() == taken && spilled_.empty()) break;
      const phase timed(context, phase_id::spill);
      if (unfinished) {
        // The level goes on with an empty queue for what it finds.
        if (level != 0) first = {0, nullptr};
        spill(b, level + 1);
        redo = true;
        continue;
      }
      loading_.resize(loading_.size() - taken);
      if (loading_.empty()) loading_.swap(spilled_);
      taken = static_cast<std::size_t>(
          std::min({static_cast<offset_t>(loading_.size()), 32 * redo_.size(), offset_t{1} << 31}));
      spilled_bytes_ += 8 * static_cast<offset_t>(taken);
      first = {static_cast<std::uint32_t>(taken), loading_.data() + (loading_.size() - taken)};
      b.levels_before += level + 1;
      level = 0;
      redo = false;
    }
  }

  // Takes the frontiers found for `level` over into host memory.
  void spill(const batch_view& b, std::uint32_t level) {
    const std::uint64_t* const queue = b.queue[level & 1U];
    const std::size_t before = spilled_.size();
    if (config_.separate_queues) {
      const auto sources = static_cast<std::size_t>(b.sources);
      std::vector<std::uint32_t> tails(sources);
      copy_to_host(tails.data(), b.slot_tails + offset_t{level % level_slots} * b.sources,
                   b.sources);
      std::vector<offset_t> offsets(sources + 1, 0);
      for (std::size_t s = 0; s < sources; ++s) {
        offsets[s + 1] = offsets[s] + std::min(tails[s], b.capacity);
      }
      copy_to_device(pack_offsets_.data(), offsets.data(), static_cast<offset_t>(offsets.size()));
      spilled_.resize(before + static_cast<std::size_t>(offsets.back()));
      launch(pack_queues_kernel, std::min(b.sources, 4096), 128, 0, queue, b.capacity, b.sources,
             static_cast<const offset_t*>(pack_offsets_.data()), spilled_.data() + before);
      synchronize();
      spilled_bytes_ += 8 * offsets.back();
    } else {
      const launch_report& report = report_.front();
      const std::uint32_t found = report.control[tail_0 + level % level_slots];
      const std::uint32_t count = std::min(found, b.capacity);
      if (found <= launch_report::inline_entries) {
        spilled_.insert(spilled_.end(), report.entries, report.entries + count);
        spilled_bytes_ += 8 * offset_t{count};
      } else {
        take(queue, count);
      }
    }
    spilled_.erase(std::remove(spilled_.begin() + static_cast<std::ptrdiff_t>(before),
                               spilled_.end(), empty_entry),
                   spilled_.end());
    spilled_entries_ += static_cast<offset_t>(spilled_.size() - before);
    if (config_.drop_spills) spilled_.clear();
    ++spills_;
  }
  void take(const std::uint64_t* from, std::uint32_t count) {
    const std::size_t size = spilled_.size();
    spilled_.resize(size + count);
    copy_to_host(spilled_.data() + size, from, count);
    spilled_bytes_ += 8 * offset_t{count};
  }

  void traverse_by_scans(batch_view& b, run_context& context) {
    std::uint32_t count = static_cast<std::uint32_t>(b.sources);
    unsigned parity = 0;
    const auto segment = static_cast<std::uint32_t>(
        std::max<offset_t>(1, std::min<offset_t>(segment_, edge_capacity_ / max_degree_)));
    constexpr int threads = 256;
    const int blocks = current_limits().multiprocessors * 8;
    for (std::uint32_t number = 0; count > 0 || !spilled_.empty(); ++number) {
      context.check_deadline();
      if (count == 0) {
        const phase timed(context, phase_id::spill);
        count = static_cast<std::uint32_t>(std::min<std::size_t>(spilled_.size(), b.capacity));
        copy_to_device(b.queue[parity], spilled_.data() + (spilled_.size() - count), count);
        spilled_.resize(spilled_.size() - count);
      }
      std::uint32_t filled = 0;
      std::uint64_t* const next = b.queue[parity ^ 1U];
      for (std::uint32_t first = 0; first < count; first += segment) {
        const scan_level level{b.queue[parity], first, std::min(segment, count - first),
                               number == 0, number};
        launch(degree_kernel, blocks, threads, 0, b, level, degrees_.data());
        const std::uint32_t edges =
            scan_.exclusive_sum(degrees_.data(), offsets_.data(), level.count);
        launch(config_.line_9_5 ? scatter_kernel<true> : scatter_kernel<false>, blocks, threads, 0,
               b, level, static_cast<const std::uint32_t*>(offsets_.data()), edges_.data());
        const std::uint32_t found =
            scan_.select_other_than(empty_entry, edges_.data(), selected_.data(), edges);
        if (found > b.capacity - filled) {
          const phase timed(context, phase_id::spill);
          take(next, filled);
          take(selected_.data(), found);
          spilled_entries_ += offset_t{filled} + found;
          filled = 0;
          ++spills_;
        } else {
          scan_.append(next + filled, selected_.data(), found);
          filled += found;
        }
      }
      if constexpr (detail::counting) launch(count_level_kernel, 1, 32, 0, b, filled);
      count = filled;
      parity ^= 1U;
    }
  }

  maxid_config config_;
  index_t n_ = 0;
  index_t concurrent_ = 0;  // #C
  std::int64_t queue_option_ = 0;
  offset_t fill_words_ = 0;  // of the arena
  offset_t queue_entries_ = 0, per_source_ = 0, maxid_limit_ = 0, arena_words_ = 0;
  offset_t initialised_ = 0;  // maxId entries of the arena that hold values of some window
  offset_t max_degree_ = 1, edge_capacity_ = 0;
  offset_t segment_ = 0;  // frontiers scanned at a time
  std::uint32_t windows_ = 0, window_ = 0;
  std::int64_t reinitialisations_ = 0, spills_ = 0, spilled_bytes_ = 0, spilled_entries_ = 0;
  offset_t least_places_ = 0, most_places_ = 0;  // of a queue, over the batches of a run
  int threads_ = 256, blocks_ = 0, lanes_ = 32;
  std::map<std::string, std::int64_t> predicted_;
  memory_budget* budget_ = nullptr;
  memory_budget counter_budget_;
  const device_matrix* matrix_ = nullptr;
  device_array<std::uint32_t> arena_, redo_, control_, slot_tails_, degrees_, offsets_;
  device_array<std::uint64_t> edges_, selected_;
  device_array<index_t> list_;
  device_array<offset_t> maxid_offsets_, pack_offsets_;
  std::uint32_t* fill_ = nullptr;
  std::uint32_t* maxid_ = nullptr;
  scanner scan_;
  pinned_vector<std::uint64_t> spilled_;  // frontiers in host memory
  pinned_vector<std::uint64_t> loading_;  // those that launches read again
  pinned_vector<launch_report> report_;
  device_array<unsigned long long> counters_, source_frontiers_, source_edges_;
  device_array<std::uint32_t> visits_, source_levels_, source_seen_;
};

void batch_search::report([[maybe_unused]] run_context& context) const {
  if constexpr (detail::counting) {
    std::array<std::uint64_t, counter_words> c{};
    copy_to_host(c.data(), reinterpret_cast<const std::uint64_t*>(counters_.data()), counter_words);
    auto& t = context.counters.totals;
    auto value = [&](counter_word w) { return static_cast<std::int64_t>(c[w]); };
    t["edges_traversed"] = value(edges_word);
    t["fills_found_again"] = value(again_word);
    t["revisits"] = value(revisits_word);
    t["frontiers"] = value(frontiers_word);
    t["levels"] = value(levels_word);
    t["queue_entries_sum"] = value(occupancy_word);
    t["queue_peak"] = value(peak_word);
    t["queue_capacity_VC"] = offset_t{concurrent_} * n_;
    std::vector<std::uint64_t> frontiers(static_cast<std::size_t>(n_));
    std::vector<std::uint32_t> levels(static_cast<std::size_t>(n_));
    copy_to_host(frontiers.data(), reinterpret_cast<const std::uint64_t*>(source_frontiers_.data()),
                 n_);
    copy_to_host(levels.data(), source_levels_.data(), n_);
    auto& series = context.counters.series["frontier_size"];
    for (std::size_t i = 0; i < frontiers.size(); ++i) {
      series.push_back(levels[i] == 0
                           ? 0.0
                           : static_cast<double>(frontiers[i]) / static_cast<double>(levels[i]));
    }
    t["spills"] = spills_;
    t["spilled_bytes"] = spilled_bytes_;
    t["reinitialisations"] = reinitialisations_;
    t["concurrent_sources"] = concurrent_;
  }
}

}  // namespace

void memory_use::add(const memory_use& other) {
  if (other.queue_entries_most == 0) return;  // no batch
  queue_entries_least = queue_entries_most == 0
                            ? other.queue_entries_least
                            : std::min(queue_entries_least, other.queue_entries_least);
  queue_entries_most = std::max(queue_entries_most, other.queue_entries_most);
  spills += other.spills;
  spilled_entries += other.spilled_entries;
}
void memory_use::derive(run_context& context) const {
  context.derived["queue_entries_least"] = queue_entries_least;
  context.derived["queue_entries_most"] = queue_entries_most;
  context.derived["spills"] = spills;
  context.derived["spilled_entries"] = spilled_entries;
}

std::unique_ptr<maxid_search> maxid_search::create(const maxid_config& config) {
  return std::make_unique<batch_search>(config);
}

}  // namespace gsofa::maxid

#endif
