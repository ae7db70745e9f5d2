// gpu_fill2_naive: fill2 with one source per thread.
//
// The straightforward port that the paper compares with (Section 7, Figure 10: "every allocated
// thread to work in a source as long as the GPU memory is sufficient"): as many sources as memory
// allows, each searched by one thread with its own threshold scan.
//
// A thread searches its source with the strictly ascending thresholds of fill2 (Rose & Tarjan
// 1978): from threshold t it runs through vertices below t that no earlier threshold reached; every
// unreached neighbour w > t of these vertices is a fill-in.
//
// Encoding, per thread (slot of the batch): reached, |V| entries, source + 1 that last reached the
// vertex; fill, |V| entries, source + 1 if (source, vertex) is in L+U; stack, |V| vertices.
// Cost: 12|V| bytes per concurrent source.
//
// planted_gpu_shared_stack is deliberately wrong: threads 2k and 2k + 1 share one stack without
// synchronisation. Its result is right as long as each thread runs from begin to end without
// interruption, as it does on the emulator that switches threads at barriers only.

#include "variants/device/gpu_variant.hpp"

#if defined(GSOFA_GPU)

#include <limits>

#include "variants/device/batch_rows.hpp"
#include "variants/support/counting.hpp"

namespace gsofa::gpu {

namespace {

struct naive_view {
  const offset_t* row_ptr;
  const index_t* col_idx;
  index_t n;
  index_t begin;
  index_t sources;
  std::uint32_t* reached;
  std::uint32_t* fill;
  index_t* stack;
  std::uint32_t* l_counts;
  std::uint32_t* u_counts;
  unsigned long long* edges;  // counting build
  bool shared_stack;          // planted fault: threads 2k and 2k + 1 have one stack
};

GSOFA_KERNEL void fill2_kernel(naive_view b) {
  const std::uint32_t slot = simt::block_index() * simt::block_size() + simt::thread_index();
  if (slot >= static_cast<std::uint32_t>(b.sources)) return;
  const index_t src = b.begin + static_cast<index_t>(slot);
  const std::uint32_t stamp = static_cast<std::uint32_t>(src) + 1;
  const std::size_t first = static_cast<std::size_t>(slot) * static_cast<std::size_t>(b.n);
  std::uint32_t* const reached = b.reached + first;
  std::uint32_t* const fill = b.fill + first;
  index_t* const stack =
      b.stack + (b.shared_stack && slot % 2 != 0 ? first - static_cast<std::size_t>(b.n) : first);
  std::uint32_t l = 0;
  std::uint32_t u = 0;
  unsigned long long edges = 0;
  auto add = [&](index_t w) {
    reached[w] = fill[w] = stamp;
    ++(w < src ? l : u);
  };
  for (offset_t e = b.row_ptr[src]; e < b.row_ptr[src + 1]; ++e) add(b.col_idx[e]);
  if constexpr (detail::counting) {
    edges += static_cast<unsigned long long>(b.row_ptr[src + 1] - b.row_ptr[src]);
  }
  for (index_t threshold = 0; threshold < src; ++threshold) {
    if (fill[threshold] != stamp) continue;
    index_t top = 0;
    stack[top++] = threshold;
    while (top > 0) {
      const index_t v = stack[--top];
      const offset_t end = b.row_ptr[v + 1];
      if constexpr (detail::counting) edges += static_cast<unsigned long long>(end - b.row_ptr[v]);
      for (offset_t e = b.row_ptr[v]; e < end; ++e) {
        const index_t w = b.col_idx[e];
        if (reached[w] == stamp) continue;
        if (w > threshold) {
          add(w);
        } else {
          reached[w] = stamp;
          stack[top++] = w;
        }
      }
    }
  }
  b.l_counts[src] = l;
  b.u_counts[src] = u;
  if constexpr (detail::counting) simt::atomic_add(b.edges, edges);
}

class fill2_naive final : public variant {
 public:
  explicit fill2_naive(bool shared_stack) : shared_stack_(shared_stack) {}

  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    n_ = a.n_rows;
    const std::int64_t megabytes = settings.options.integer("memory_budget_mb");
    budget_.set_limit(std::numeric_limits<offset_t>::max());
    matrix_.upload(a, budget_);
    const offset_t limit = megabytes > 0 ? megabytes << 20 : current_limits().free_bytes / 4 * 3;
    budget_.set_limit(limit + budget_.used());
    rows_.prepare(n_, settings, budget_);
    const offset_t per_source = 12 * offset_t{n_};
    const offset_t fit = (budget_.limit() - budget_.used() - 8) / per_source;
    if (fit < 1) {
      throw budget_error("memory budget of " + std::to_string(limit) +
                         " bytes is too small for one source of order " + std::to_string(n_));
    }
    const std::int64_t wanted = settings.options.integer("concurrent_sources");
    concurrent_ = static_cast<index_t>(std::min<offset_t>({fit, n_, wanted > 0 ? wanted : n_}));
    work_ = {budget_, "reached_fill_stack", offset_t{3} * concurrent_ * n_};
    edges_ = {budget_, "counters", 1};
    context.predicted_bytes["reached"] = per_source / 3 * concurrent_;
    context.predicted_bytes["fill"] = per_source / 3 * concurrent_;
    context.predicted_bytes["stack"] = per_source / 3 * concurrent_;
  }

  void run(run_context& context) override {
    const offset_t part = offset_t{concurrent_} * n_;
    {
      const phase timed(context, phase_id::init);
      rows_.start();
      fill_bytes(work_.data(), 0, 2 * part);
      fill_bytes(edges_.data(), 0, 1);
    }
    for (index_t begin = 0; begin < n_;) {
      context.check_deadline(begin, n_);
      const index_t sources = std::min(n_ - begin, concurrent_);
      const naive_view b{matrix_.row_ptr(),
                         matrix_.col_idx(),
                         n_,
                         begin,
                         sources,
                         work_.data(),
                         work_.data() + part,
                         reinterpret_cast<index_t*>(work_.data() + 2 * part),
                         rows_.l_counts(),
                         rows_.u_counts(),
                         edges_.data(),
                         shared_stack_};
      constexpr int threads = 64;
      launch(fill2_kernel, (sources - 1) / threads + 1, threads, 0, b);
      synchronize();
      rows_.add(stamped_rows{b.fill, n_, begin, sources}, context);
      begin += sources;
    }
    context.device_peak_bytes = budget_.peak();
    context.device_bytes = budget_.by_structure();
    if constexpr (detail::counting) {
      unsigned long long edges = 0;
      copy_to_host(&edges, edges_.data(), 1);
      context.counters.totals["edges_traversed"] = static_cast<std::int64_t>(edges);
      context.counters.totals["concurrent_sources"] = concurrent_;
    }
  }

  result collect(want_set wants) override { return rows_.collect(wants); }

 private:
  bool shared_stack_;
  index_t n_ = 0;
  index_t concurrent_ = 0;
  memory_budget budget_;
  device_matrix matrix_;
  row_results rows_;
  device_array<std::uint32_t> work_;
  device_array<unsigned long long> edges_;
};

}  // namespace

}  // namespace gsofa::gpu

#endif

GSOFA_REGISTER_VARIANTS(2, [](std::size_t k) -> gsofa::variant_info {
  using namespace gsofa::gpu;
  const bool planted = k == 1;
  return {
      .name = planted ? "planted_gpu_shared_stack" : "gpu_fill2_naive",
      .device = "gpu",
      .summary = planted ? "deliberately wrong: neighbouring threads share a stack on the GPU"
                         : "fill2 with one source per thread",
      .citation = "paper Section 7, Figure 10",
      .options = {{.name = "concurrent_sources",
                   .default_value = std::int64_t{0},
                   .help =
                       "sources (one thread each) searched at a time; 0: as many as fit in memory",
                   .minimum = 0,
                   .maximum = gsofa::max_index,
                   .tested = {"0", "1", "3", "7"}},
                  memory_budget_option()},
      .planted = planted ? "neighbouring threads share a stack on the GPU" : "",
      .unavailable = planted ? unavailable_to_races : unavailable,
      .create =
          planted ? GSOFA_GPU_CREATE(fill2_naive, true) : GSOFA_GPU_CREATE(fill2_naive, false),
  };
});
