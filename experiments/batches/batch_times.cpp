// batch_times [COUNT [LEAST [MOST [KIND [REPEAT]]]]]: times of gsofa::analyze_batch for COUNT
// patterns of gen:batch in the order that they come in, on 1, 2, 4, ... host threads and, where
// there is one, on a device. Prints a Markdown table; ends with status 1 where two runs differ.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "common/generators.hpp"
#include "common/pattern.hpp"
#include "gsofa/gsofa.hpp"

namespace {

struct batch_run {
  double ms = 0;         // the least of all repeats
  double device_ms = 0;  // setup and factorization of that run, summed over the patterns
  std::atomic<std::int64_t> entries{0};  // of L and U
};

void measure(const std::vector<gsofa::csr_view>& patterns, const gsofa::analysis_options& options,
             int repeat, batch_run& out) {
  for (int k = 0; k <= repeat; ++k) {  // the first run is not counted
    std::atomic<double> device{0};
    out.entries = 0;
    const auto since = std::chrono::steady_clock::now();
    gsofa::analyze_batch(patterns, options, [&](std::size_t, const gsofa::analysis& found) {
      out.entries += found.nnz_l + found.nnz_u;
      device += found.setup_seconds + found.analysis_seconds;
    });
    const double ms =
        1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
    if (k == 0 || (k > 1 && ms >= out.ms)) continue;
    out.ms = ms;
    out.device_ms = 1e3 * device;
  }
}

bool has_device() {
  for (const auto& v : gsofa::variants()) {
    if (v.name == "gpu_diagonal_blocks") return v.unavailable.empty();
  }
  return false;
}

void run(int count, const std::string& least, const std::string& most, const std::string& kind,
         int repeat) {
  std::vector<gsofa::pattern> held;
  std::vector<gsofa::csr_view> patterns;
  for (int k = 0; k < count; ++k) {
    held.push_back(gsofa::generate("batch:count=1,least=" + least + ",most=" + most +
                                   ",kind=" + kind + ",seed=" + std::to_string(k)));
  }
  for (const gsofa::pattern& a : held) patterns.push_back({a.n_rows, a.row_ptr, a.col_idx});
  std::int64_t expected = -1;
  const auto line = [&](const std::string& where, const gsofa::analysis_options& options) {
    batch_run found;
    measure(patterns, options, repeat, found);
    std::printf("| %s | %.2f | %.3f | %.2f |\n", where.c_str(), found.ms, 1e3 * found.ms / count,
                found.device_ms);
    std::fflush(stdout);
    if (expected < 0) expected = found.entries;
    if (found.entries != expected) {
      std::fprintf(stderr, "batch_times: results differ\n");
      std::exit(1);
    }
  };
  std::printf("| where | ms | us per pattern | of it setup and factorization, all threads |\n");
  std::printf("|---|---:|---:|---:|\n");
  const int all = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  for (int threads = 1;; threads = std::min(2 * threads, all)) {
    line(std::to_string(threads) + " threads", {.device = gsofa::compute_device::cpu,
                                                .threads = threads,
                                                .order = gsofa::order_method::natural});
    if (threads == all) break;
  }
  if (!has_device()) return;
  line("device and " + std::to_string(all) + " threads",
       {.device = gsofa::compute_device::gpu, .threads = 0, .order = gsofa::order_method::natural});
}

}  // namespace

int main(int argc, char** argv) {
  const auto word = [&](int k, const char* otherwise) {
    return std::string(k < argc ? argv[k] : otherwise);
  };
  try {
    run(std::max(1, std::atoi(word(1, "10000").c_str())), word(2, "100"), word(3, "2000"),
        word(4, "grid5"), std::max(1, std::atoi(word(5, "3").c_str())));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "batch_times: %s\n", e.what());
    return 2;
  }
}
