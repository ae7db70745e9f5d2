// device_results: what it takes to have L and U, or the supernodes of columns, in the memory of a
// GPU rather than on the host. Analyses each pattern in turn both ways, in the order that
// gpu_nested_dissection finds once, and prints the medians.

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "common/generators.hpp"
#include "common/matrix_market.hpp"
#include "gsofa/gsofa.hpp"

namespace {

using gsofa::analysis;
using gsofa::analysis_options;

constexpr int repeats = 5;

gsofa::pattern load(const std::string& matrix) {
  if (matrix.starts_with("gen:")) return gsofa::generate(matrix.substr(4));
  return gsofa::read_matrix_market(matrix);
}

// Memory of the device that is released at once.
class blocks {
 public:
  blocks() = default;
  blocks(const blocks&) = delete;
  blocks& operator=(const blocks&) = delete;
  ~blocks() {
    for (void* const block : taken_) cudaFree(block);
  }
  void* take(std::size_t bytes) {
    void* block = nullptr;
    if (cudaMalloc(&block, bytes) != cudaSuccess) return nullptr;
    taken_.push_back(block);
    return block;
  }

 private:
  std::vector<void*> taken_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[(values.size() - 1) / 2];
}

// Milliseconds from the pattern in its order to the results: on the host, on the device.
struct times {
  double host = 0;
  double device = 0;
};

times measure(const gsofa::csr_view& a, const analysis_options& options, analysis& found) {
  std::vector<double> host, device;
  const auto milliseconds = [](const analysis& f) {
    return 1000 * (f.analysis_seconds + f.output_seconds);
  };
  for (int k = 0; k <= repeats; ++k) {
    analysis_options there = options;
    blocks memory;
    there.device_memory = [&](std::size_t bytes) { return memory.take(bytes); };
    found = gsofa::analyze(a, options);
    const analysis left = gsofa::analyze(a, there);
    if (left.nnz_l != found.nnz_l || !left.fallback.empty() || !found.fallback.empty()) {
      throw std::runtime_error("the analysis did not stay on the device: " + left.fallback);
    }
    if (k == 0) continue;  // the first run
    host.push_back(milliseconds(found));
    device.push_back(milliseconds(left));
  }
  return {median(host), median(device)};
}

void report(const std::string& matrix) {
  const gsofa::pattern a = load(matrix);
  const gsofa::csr_view view{a.n_rows, a.row_ptr, a.col_idx};
  const analysis ordered = gsofa::analyze(
      view,
      {.device = gsofa::compute_device::gpu, .order = gsofa::order_method::gpu_nested_dissection});
  analysis_options options{.device = gsofa::compute_device::gpu,
                           .match = false,
                           .order = gsofa::order_method::given,
                           .permutation = ordered.col_order};
  if (ordered.row_order != ordered.col_order) {
    throw std::runtime_error(matrix + ": a zero on the diagonal");
  }
  analysis found;
  const times counts = measure(view, options, found);
  options.supernodal = true;
  const times supernodal = measure(view, options, found);
  options.supernodal = false;
  options.factors = true;
  const times rows = measure(view, options, found);
  fmt::print("{:<50} {:>10} {:>14} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f}\n", matrix, found.n,
             found.nnz_l + found.nnz_u, counts.host, supernodal.host, supernodal.device, rows.host,
             rows.device);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "Usage: device_results MATRIX...  (Matrix Market files, gen:SPEC)\n");
    return 2;
  }
  fmt::print(
      "milliseconds, median of {}\n{:<50} {:>10} {:>14} {:>9} {:>19} {:>19}\n{:<86} {:>9} "
      "{:>9} {:>9} {:>9}\n",
      repeats, "matrix", "n", "nnz(L+U)", "counts", "supernodes", "rows", "", "host", "device",
      "host", "device");
  try {
    for (int k = 1; k < argc; ++k) report(argv[k]);
  } catch (const std::exception& e) {
    fmt::print(stderr, "device_results: error: {}\n", e.what());
    return 1;
  }
  return 0;
}
