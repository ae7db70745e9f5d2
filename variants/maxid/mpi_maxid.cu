// mpi_maxid: the paper's algorithm on all GPUs of all nodes (Section 5).
//
// One process (rank) drives the GPUs of its node, one host thread per GPU. Chunks of chunk_size
// consecutive sources go to nodes and GPUs by one of the paper's three static schedules, or workers
// take them from a shared counter in order of falling predicted work. A chunk stays on one node:
// where its rows are interleaved over the node's GPUs, supernode detection reads the U counts and
// L(s, r) of the other GPUs' rows through managed memory or peer access. Counts, digests and
// supernodes do not depend on the number of ranks, GPUs or batches.
// Cost: the work of gpu_maxid divided by the GPUs; per GPU the memory of gpu_maxid.
// One GPU: gpu_worker.cuh; search: maxid_search.cu; schedules: distributed/.

#include "variants/device/gpu_variant.hpp"
#include "variants/maxid/distributed/driver.hpp"
#include "variants/maxid/maxid_search.hpp"

#if defined(GSOFA_GPU)

#include <optional>

#include "common/mpi_context.hpp"
#include "variants/maxid/distributed/page_faults.hpp"
#include "variants/maxid/gpu_worker.cuh"
#include "variants/support/counting.hpp"

namespace gsofa::gpu {

namespace {

using namespace maxid;

/// All GPUs of this process.
class gpu_node final : public maxid::node_engine {
 public:
  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) {
    mpi_context& j = mpi_context::world();
    chunk_size_ = settings.chunk_size;
    n_ = a.n_rows;
    const int devices = device_count();
    const int ranks_here = j.ranks_per_node()[static_cast<std::size_t>(j.node())];
    const auto given = static_cast<int>(settings.options.integer("gpus_per_rank"));
    const int count =
        std::clamp(given > 0 ? given : devices / ranks_here, 1, static_cast<int>(max_workers));
    const sharing_kind sharing = parse_sharing(settings.options.choice("sharing"));
    std::vector<int> used;
    for (int k = 0; k < count; ++k) used.push_back((j.node_rank() * count + k) % devices);
    const bool interleaved = settings.options.choice("schedule") == "intra_node";
    if (sharing == sharing_kind::peer && interleaved) share_device_memory(used);
    const offset_t limit = offset_t{settings.options.integer("memory_budget_mb")} << 20;
    index_t least = 0;
    for (int k = 0; k < count; ++k) {
      auto worker = std::make_unique<gpu_worker>(used[static_cast<std::size_t>(k)]);
      worker->prepare(a, settings, sharing, limit, least, &common_fill_, k, used);
      least = worker->concurrent_sources();
      workers_.push_back(std::move(worker));
    }
    concurrent_ = least;
    for (const auto& w : workers_) {
      for (const auto& [name, bytes] : w->search().predicted_bytes()) {
        context.predicted_bytes[name] += bytes;
      }
    }
  }

  [[nodiscard]] int workers() const override { return static_cast<int>(workers_.size()); }
  [[nodiscard]] index_t concurrent_sources() const override { return concurrent_; }
  [[nodiscard]] maxid::row_engine& worker(int k) override {
    return *workers_[static_cast<std::size_t>(k)];
  }

  void begin_run(run_context&) override {
    if constexpr (detail::counting) faults_.emplace();
    for (const auto& w : workers_) w->begin_run();
    for (const auto& w : workers_) {
      use_device(w->device());
      synchronize();
    }
  }

  void end_run(run_context& context) override {
    context.device_peak_bytes = 0;
    context.device_bytes.clear();
    memory_use use;
    std::int64_t used_percent = 0;
    for (const auto& w : workers_) {
      use.add(w->search().use());
      used_percent = std::max(used_percent, w->budget_used_percent());
      context.device_peak_bytes += w->budget().peak();
      for (const auto& [name, bytes] : w->budget().by_structure())
        context.device_bytes[name] += bytes;
    }
    use.derive(context);
    context.derived["budget_used_percent"] = used_percent;
    if constexpr (detail::counting) {
      for (const auto& w : workers_) {
        use_device(w->device());
        run_context own;
        w->search().report(own);
        for (const auto& [name, value] : own.counters.totals)
          context.counters.totals[name] += value;
      }
      for (const auto& [name, value] : faults_->stop()) context.counters.totals[name] += value;
      faults_.reset();
    }
  }

  void find_supernodes(int worker, std::span<const maxid::found_chunk> chunks,
                       const maxid::row_results& rows) override {
    shared_rows shared{};
    index_t largest = 0;
    for (const auto& c : chunks) {
      for (int w = first_worker(c); w < first_worker(c) + stride(c); ++w) {
        const gpu_worker& engine = *workers_[static_cast<std::size_t>(w)];
        if (!engine.resident()) {
          node_engine::find_supernodes(worker, chunks, rows);
          return;
        }
        shared.fill[w] = engine.fill();
        shared.u_counts[w] = engine.u_counts();
      }
      largest = std::max(largest, c.end - c.begin);
    }
    const auto piece = static_cast<unsigned>(std::min<index_t>(largest, 1024));
    std::vector<chunk_piece> pieces;
    offset_t out = 0;
    for (const auto& c : chunks) {
      chunk_piece p{};
      p.begin = c.begin;
      p.sources = c.end - c.begin;
      p.out = out;
      p.first = first_worker(c);
      p.stride = stride(c);
      // A chunk with fewer rows than workers leaves some workers without a row.
      for (int k = 0; k < std::min<int>(p.stride, p.sources); ++k) {
        const gpu_worker& engine = *workers_[static_cast<std::size_t>(p.first + k)];
        p.slot_begin[p.first + k] = engine.slot_of(c.begin + k);
      }
      for (; p.number * piece < static_cast<unsigned>(p.sources); ++p.number) pieces.push_back(p);
      out += p.sources;
    }
    workers_[static_cast<std::size_t>(worker)]->find_supernodes(shared, pieces, piece, chunk_size_,
                                                                rows.starts);
  }

 private:
  static int first_worker(const maxid::found_chunk& c) { return c.interleaved ? 0 : c.owner; }
  static int stride(const maxid::found_chunk& c) { return c.interleaved ? c.workers : 1; }

  index_t n_ = 0;
  index_t chunk_size_ = 0;
  index_t concurrent_ = 1;
  common_fill_memory common_fill_;
  std::vector<std::unique_ptr<gpu_worker>> workers_;
  std::optional<page_fault_counter> faults_;
};

class distributed_maxid final : public variant {
 public:
  ~distributed_maxid() override {
    const device_scope home;
    driver_.reset();
    engine_.reset();
  }
  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    if constexpr (detail::counting) watch_page_faults();
    const device_scope home;
    engine_.emplace();
    mpi_context::world().collective_try([&] { engine_->prepare(a, settings, context); });
    driver_.emplace(a, settings, *engine_, context);
  }
  void run(run_context& context) override {
    const device_scope home;
    driver_->run(context);
  }
  result collect(want_set wants) override { return driver_->collect(wants); }

 private:
  std::optional<gpu_node> engine_;
  std::optional<maxid::distributed_driver> driver_;
};

}  // namespace

}  // namespace gsofa::gpu

#endif

namespace gsofa::gpu {
namespace {

std::vector<option_spec> distributed_maxid_options() {
  std::vector<option_spec> all = maxid::distribution_options();
  all.push_back({.name = "gpus_per_rank",
                 .default_value = std::int64_t{0},
                 .help = "GPUs per rank; 0 divides the node's GPUs evenly among its ranks",
                 .minimum = 0,
                 .maximum = 16});
  all.push_back({.name = "sharing",
                 .default_value = std::string("peer"),
                 .help = "how GPUs of a rank read each other's rows (paper Section 5)",
                 .choices = {"peer", "managed_advised", "managed", "managed_shared_fill",
                             "managed_shared_fill_unadvised"}});
  for (auto& o : maxid::maxid_options()) all.push_back(std::move(o));
  return all;
}

}  // namespace
}  // namespace gsofa::gpu

GSOFA_REGISTER_VARIANT({
    .name = "mpi_maxid",
    .device = "mpi",
    .summary = "the maxId algorithm on all GPUs of all ranks of an MPI job",
    .citation = "paper Section 5 (scheduling, sharing), Sections 4 and 6 (algorithm)",
    .options = gsofa::gpu::distributed_maxid_options(),
    .distributed = true,
    .unavailable = gsofa::gpu::unavailable,
    .create = GSOFA_GPU_CREATE(distributed_maxid),
});
