// device_results: the time to have the supernodes of columns, or L and U, in the memory of a GPU,
// compared with the time to have them on the host. Analyses each pattern alternately in both ways,
// on several numbers of host threads, in an order that gpu_nested_dissection computes once. Prints
// the medians, and the time of a copy of the bytes of the supernodes alone.

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "common/generators.hpp"
#include "common/matrix_file.hpp"
#include "gsofa/gsofa.hpp"

namespace {

using gsofa::analysis;
using gsofa::analysis_options;

struct settings {
  int repeats = 7;
  bool rows = false;
  int relax = 1;
  std::vector<int> threads{1};
  std::vector<std::string> matrices;
};

gsofa::pattern load(const std::string& matrix) {
  if (matrix.starts_with("gen:")) return gsofa::generate(matrix.substr(4));
  return gsofa::read_matrix_file(matrix);
}

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
  }
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

double milliseconds(const analysis& f) { return 1000 * (f.analysis_seconds + f.output_seconds); }

// Milliseconds from the pattern in its order to the results: on the host, on the host in storage
// that is kept, on the device.
struct times {
  double host = 0;
  double kept = 0;
  double device = 0;
  double before =
      0;             ///< checking and, with relaxed supernodes, contracting the pattern on the host
  double grown = 0;  ///< MB that the memory of the device grew by after the first run
};

// Bytes that the device's pool holds, in use or not: what analyses have asked the driver for.
std::uint64_t reserved_bytes() {
  int device = 0;
  check(cudaGetDevice(&device), "device");
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, device), "memory pool");
  std::uint64_t bytes = 0;
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &bytes), "memory pool");
  return bytes;
}

void check_same(const analysis& found, const analysis& expected) {
  if (found.nnz_l != expected.nnz_l || !found.fallback.empty() || !expected.fallback.empty()) {
    throw std::runtime_error("the analysis did not stay on the device: " + found.fallback);
  }
}

times measure(const gsofa::csr_view& a, const analysis_options& options, int repeats,
              analysis& found) {
  std::vector<double> host, kept, device, before;
  std::uint64_t reserved = 0;
  gsofa::analyzer analyzer(options);
  for (int k = 0; k <= repeats; ++k) {
    analysis_options there = options;
    blocks memory;
    there.device_memory = [&](std::size_t bytes) { return memory.take(bytes); };
    found = {};
    found = gsofa::analyze(a, options);
    const analysis left = gsofa::analyze(a, there);
    const analysis& again = analyzer.analyze(a);
    check_same(left, found);
    check_same(again, found);
    if (k == 0) {  // the first run
      reserved = reserved_bytes();
      continue;
    }
    host.push_back(milliseconds(found));
    kept.push_back(milliseconds(again));
    device.push_back(milliseconds(left));
    before.push_back(1000 * left.order_seconds);
  }
  const double grown = static_cast<double>(reserved_bytes()) - static_cast<double>(reserved);
  return {median(host), median(kept), median(device), median(before), grown * 1e-6};
}

template <class Action>
double timed(const Action& action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return 1000 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Milliseconds of a copy from the device: to pinned memory, to memory that has its pages, to memory
// that has none yet.
struct bounds {
  double pinned = 0;
  double kept = 0;
  double fresh = 0;
};

bounds measure_copies(std::size_t bytes, int repeats) {
  blocks memory;
  void* const from = memory.take(bytes);
  if (from == nullptr) throw std::runtime_error("the device has no memory for a copy");
  check(cudaMemset(from, 1, bytes), "memset");
  void* pinned = nullptr;
  check(cudaMallocHost(&pinned, bytes), "pinned memory");
  std::vector<char> kept(bytes);
  const auto copy = [&](void* to) {
    return timed([&] { check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copy"); });
  };
  std::vector<double> to_pinned, to_kept, to_fresh;
  for (int k = 0; k <= repeats; ++k) {
    to_pinned.push_back(copy(pinned));
    to_kept.push_back(copy(kept.data()));
    std::vector<char> fresh;
    fresh.reserve(bytes);
    to_fresh.push_back(copy(fresh.data()));
  }
  check(cudaFreeHost(pinned), "pinned memory");
  return {median(to_pinned), median(to_kept), median(to_fresh)};
}

std::size_t bytes_of(const gsofa::supernodal_factors& s) {
  return 4 * (s.first_column.size() + s.rows.size() + s.segments.size()) +
         8 * (s.row_begin.size() + s.segment_begin.size());
}

// Milliseconds of a whole analysis with its supernodes on the host: of the call, and as a pending
// one until start() returns and until get() does.
struct pending_times {
  double call = 0;
  double start = 0;
  double end = 0;
};

pending_times measure_pending(const gsofa::csr_view& a, analysis_options options, int repeats) {
  options.supernodal = true;
  gsofa::analyzer analyzer(options);
  std::vector<double> call, start, end;
  for (int k = 0; k <= repeats; ++k) {
    call.push_back(timed([&] { analyzer.analyze(a); }));
    gsofa::pending_analysis pending;
    start.push_back(timed([&] { pending = analyzer.start(a); }));
    end.push_back(start.back() + timed([&] { pending.get(); }));
  }
  for (std::vector<double>* const times : {&call, &start, &end}) times->erase(times->begin());
  return {median(call), median(start), median(end)};
}

// Rows and columns in that order, old index by new position.
gsofa::csr_pattern permuted(const gsofa::csr_view& a, const std::vector<std::int32_t>& order) {
  std::vector<std::int32_t> position(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    position[static_cast<std::size_t>(order[k])] = static_cast<std::int32_t>(k);
  }
  gsofa::csr_pattern out;
  out.n = a.n;
  for (const std::int32_t i : order) {
    for (const std::int32_t j : a.row(i)) {
      out.col_idx.push_back(position[static_cast<std::size_t>(j)]);
    }
    std::sort(out.col_idx.begin() + out.row_ptr.back(), out.col_idx.end());
    out.row_ptr.push_back(static_cast<std::int64_t>(out.col_idx.size()));
  }
  return out;
}

void report(const std::string& matrix, const settings& s) {
  const gsofa::pattern a = load(matrix);
  const gsofa::csr_view given{a.n_rows, a.row_ptr, a.col_idx};
  const analysis ordered = gsofa::analyze(
      given,
      {.device = gsofa::compute_device::gpu, .order = gsofa::order_method::gpu_nested_dissection});
  if (ordered.row_order != ordered.col_order) {
    throw std::runtime_error(matrix + ": a zero on the diagonal");
  }
  const gsofa::csr_pattern in_order = permuted(given, ordered.col_order);
  const gsofa::csr_view view = in_order.view();
  analysis_options options{
      .device = gsofa::compute_device::gpu, .match = false, .order = gsofa::order_method::natural};
  std::size_t bytes = 0;
  for (const int threads : s.threads) {
    analysis found;
    options.threads = threads;
    const times counts = measure(view, options, s.repeats, found);
    options.supernodal = true;
    options.relax = s.relax;
    const times supernodal = measure(view, options, s.repeats, found);
    options.supernodal = false;
    options.relax = 1;
    bytes = bytes_of(found.supernodal);
    fmt::print("{:<28} {:>8} {:>12} {:>3} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f}", matrix, found.n,
               found.nnz_l + found.nnz_u, threads, counts.host, supernodal.host, supernodal.kept,
               supernodal.device);
    if (s.rows) {
      options.factors = true;
      const times rows = measure(view, options, std::min(s.repeats, 3), found);
      options.factors = false;
      fmt::print(" {:>8.1f} {:>8.1f} {:>8.2f}", rows.host, rows.kept, rows.device);
    }
    fmt::print("\n  on the host before: {:.2f} ms; the device's memory grew by {:.1f} MB\n",
               supernodal.before, supernodal.grown);
    std::fflush(stdout);
  }
  const pending_times p = measure_pending(view, options, s.repeats);
  fmt::print(
      "  a whole analysis: {:.2f} ms; pending: start() returns after {:.3f}, get() after {:.2f}\n",
      p.call, p.start, p.end);
  const bounds b = measure_copies(bytes, s.repeats);
  fmt::print(
      "  {:.1f} MB of supernodes: to pinned memory {:.2f} ms, to pages that are there {:.2f}, "
      "to fresh memory {:.2f}\n",
      static_cast<double>(bytes) * 1e-6, b.pinned, b.kept, b.fresh);
  std::fflush(stdout);
}

// Numbers separated by commas.
std::vector<int> numbers(const std::string& text) {
  std::vector<int> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    out.push_back(std::stoi(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return out;
}

settings parsed(int argc, char** argv) {
  settings s;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--rows") {
      s.rows = true;
    } else if (word == "--threads" && k + 1 < argc) {
      s.threads = numbers(argv[++k]);
    } else if (word == "--relax" && k + 1 < argc) {
      s.relax = std::stoi(argv[++k]);
    } else if (word == "--repeat" && k + 1 < argc) {
      s.repeats = std::max(1, std::stoi(argv[++k]));
    } else {
      s.matrices.push_back(word);
    }
  }
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const settings s = parsed(argc, argv);
    if (s.matrices.empty() || s.threads.empty()) {
      fmt::print(stderr,
                 "Usage: device_results [--threads 1,4,16] [--repeat 7] [--relax 1] [--rows] "
                 "MATRIX...\n"
                 "(Matrix Market files, gen:SPEC)\n");
      return 2;
    }
    fmt::print(
        "milliseconds, median of {}; rows: of 3\n{:<28} {:>8} {:>12} {:>3} {:>8} {:>26} {:>26}\n"
        "{:<63} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n",
        s.repeats, "matrix", "n", "nnz(L+U)", "thr", "counts", "supernodes", "rows", "", "host",
        "kept", "device", "host", "kept", "device");
    std::fflush(stdout);
    for (const std::string& matrix : s.matrices) report(matrix, s);
  } catch (const std::exception& e) {
    fmt::print(stderr, "device_results: error: {}\n", e.what());
    return 1;
  }
  return 0;
}
