// sequence_times ABOUT THREADS cpu|gpu [ANCHOR...] <patterns: times of gsofa::analyzer::update for
// a sequence of patterns, next to those of a new order. ABOUT is a JSON object for the record;
// ANCHORs are other orders to compute at every step (metis, amd).
//
// Standard input, for each pattern: n, nnz and the number of entries of `previous` (0 or n) as
// int64; n + 1 int64 row pointers; nnz int32 columns; `previous` as int32. Standard output: one
// record, a line of JSON (README.md). Every pattern is analysed once by each analyzer, and the two
// take turns to be the first. With gpu the patterns are in device memory.

#include <chrono>
#include <cstdint>
#include <ctime>
#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "gsofa/gsofa.hpp"
#include "harness/record/record.hpp"
#ifdef GSOFA_CUDA_RUNTIME
#include <cuda_runtime_api.h>
#endif

namespace {

using gsofa::json;

// Seconds since it was made: of the wall, and of all threads of the process.
class stopwatch {
 public:
  void note(json& out, const std::string& name) const {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - wall_;
    out[name + "_s"] = wall.count();
    out[name + "_cpu_s"] = static_cast<double>(std::clock() - cpu_) / CLOCKS_PER_SEC;
  }

 private:
  std::clock_t cpu_ = std::clock();
  std::chrono::steady_clock::time_point wall_ = std::chrono::steady_clock::now();
};

struct step_pattern {
  std::vector<std::int64_t> row_ptr;
  std::vector<std::int32_t> col_idx;
  std::vector<std::int32_t> previous;

  [[nodiscard]] gsofa::csr_view view() const {
    return {static_cast<std::int32_t>(row_ptr.size() - 1), row_ptr, col_idx};
  }
};

template <class T>
void read_array(std::vector<T>& out, std::int64_t count) {
  out.resize(static_cast<std::size_t>(count));
  const auto bytes = static_cast<std::streamsize>(out.size() * sizeof(T));
  if (!std::cin.read(reinterpret_cast<char*>(out.data()), bytes)) {
    throw std::runtime_error("the input ends within a pattern");
  }
}

// Empty at the end of the input.
std::optional<step_pattern> read_step() {
  if (std::cin.peek() == std::char_traits<char>::eof()) return {};
  std::vector<std::int64_t> head;
  read_array(head, 3);
  step_pattern a;
  read_array(a.row_ptr, head[0] + 1);
  read_array(a.col_idx, head[1]);
  read_array(a.previous, head[2]);
  return a;
}

// The pattern where the analyzers read it.
class placed_pattern {
 public:
  placed_pattern(const step_pattern& a, bool on_device) : host_(a.view()), on_device_(on_device) {
    if (on_device) upload();
  }
  placed_pattern(const placed_pattern&) = delete;
  placed_pattern& operator=(const placed_pattern&) = delete;
#ifdef GSOFA_CUDA_RUNTIME
  ~placed_pattern() {
    cudaFree(row_ptr_);
    cudaFree(col_idx_);
  }
#endif

  template <class Call>
  void give(const Call& call) const {
#ifdef GSOFA_CUDA_RUNTIME
    if (on_device_) {
      call(gsofa::device_csr_view{.n = host_.n,
                                  .nnz = static_cast<std::int64_t>(host_.col_idx.size()),
                                  .row_ptr = row_ptr_,
                                  .col_idx = col_idx_});
      return;
    }
#endif
    call(host_);
  }

 private:
  gsofa::csr_view host_;
  [[maybe_unused]] bool on_device_;
#ifdef GSOFA_CUDA_RUNTIME
  void upload() {
    row_ptr_ = copied(host_.row_ptr);
    col_idx_ = copied(host_.col_idx);
  }

  template <class T>
  static T* copied(std::span<const T> from) {
    void* to = nullptr;
    if (cudaMalloc(&to, from.size_bytes()) != cudaSuccess ||
        cudaMemcpy(to, from.data(), from.size_bytes(), cudaMemcpyHostToDevice) != cudaSuccess) {
      throw std::runtime_error(cudaGetErrorString(cudaGetLastError()));
    }
    return static_cast<T*>(to);
  }
  std::int64_t* row_ptr_ = nullptr;
  std::int32_t* col_idx_ = nullptr;
#else
  static void upload() { throw std::runtime_error("built without the CUDA runtime"); }
#endif
};

const std::map<std::string, gsofa::order_method> anchors_by_name{
    {"metis", gsofa::order_method::metis}, {"amd", gsofa::order_method::amd}};

const char* name_of(gsofa::order_change kind) {
  switch (kind) {
    case gsofa::order_change::kept:
      return "kept";
    case gsofa::order_change::moved:
      return "moved";
    case gsofa::order_change::new_order:
      break;
  }
  return "new_order";
}

class sequence_times {
 public:
  sequence_times(int threads, bool on_device, std::vector<std::string> anchors)
      : options_{.device = on_device ? gsofa::compute_device::gpu : gsofa::compute_device::cpu,
                 .threads = threads},
        anchors_(std::move(anchors)),
        adapting_(options_),
        renewing_(options_) {}

  json measure(const step_pattern& a, bool update_first) {
    json out = {{"n", a.row_ptr.size() - 1}, {"nnz", a.col_idx.size()}};
    const placed_pattern placed(a, options_.device == gsofa::compute_device::gpu);
    placed.give([&](const auto& view) {
      if (!update_first) renew(view, a, out);
      adapt(view, a, out);
      if (update_first) renew(view, a, out);
    });
    for (const std::string& name : anchors_) anchor(name, a, out);
    return out;
  }

 private:
  template <class View>
  void adapt(const View& view, const step_pattern& a, json& out) {
    const stopwatch watch;
    const gsofa::analysis& f = adapting_.update(view, a.previous);
    watch.note(out, "update");
    out["update_order_s"] = f.order_seconds;
    out["change"] = name_of(f.update.kind);
    out["compared"] = f.update.compared;
    out["rows_changed"] = f.update.rows_changed;
    out["vertices_moved"] = f.update.vertices_moved;
    if (!f.fallback.empty()) out["fallback"] = f.fallback;
    out["update_operations"] = operations(a, f.col_order);
  }

  template <class View>
  void renew(const View& view, const step_pattern& a, json& out) {
    const stopwatch watch;
    const gsofa::analysis& f = renewing_.analyze(view);
    watch.note(out, "new");
    out["new_order_s"] = f.order_seconds;
    out["method"] = f.order;
    out["new_operations"] = operations(a, f.col_order);
  }

  // Order and counts of chol(A + A^T) on the host.
  void anchor(const std::string& name, const step_pattern& a, json& out) const {
    const stopwatch watch;
    const gsofa::fill_estimate e =
        gsofa::estimate(a.view(), {.threads = options_.threads, .order = anchors_by_name.at(name)});
    watch.note(out, name);
    out[name + "_operations"] = e.flops;
  }

  // Of A + A^T, not timed.
  [[nodiscard]] double operations(const step_pattern& a,
                                  std::span<const std::int32_t> order) const {
    return gsofa::estimate(a.view(), {.threads = options_.threads,
                                      .order = gsofa::order_method::given,
                                      .permutation = order})
        .flops;
  }

  gsofa::analysis_options options_;
  std::vector<std::string> anchors_;
  gsofa::analyzer adapting_;
  gsofa::analyzer renewing_;
};

int run(int argc, char** argv) {
  if (argc < 4 || (argv[3] != std::string("cpu") && argv[3] != std::string("gpu"))) {
    throw std::runtime_error("usage: sequence_times ABOUT THREADS cpu|gpu [metis] [amd] <patterns");
  }
  const json about = json::parse(argv[1]);
  const int threads = std::stoi(argv[2]);
  const std::string device = argv[3];
  const std::vector<std::string> anchors(argv + 4, argv + argc);
  for (const std::string& name : anchors) {
    if (!anchors_by_name.contains(name)) throw std::runtime_error(name + ": no such anchor");
  }
  const auto session = gsofa::make_session(argc, argv);
  const auto before = gsofa::current_state();
  sequence_times times(threads, device == "gpu", anchors);
  json steps = json::array();
  while (const auto a = read_step()) steps.push_back(times.measure(*a, steps.size() % 2 == 0));
  json record = gsofa::record_head(session, before, gsofa::current_state());
  record["kind"] = "sequence";
  record["sequence"] = about;
  record["threads"] = threads;
  record["device"] = device;
  record["steps"] = std::move(steps);
  std::cout << gsofa::json_line(record) << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "sequence_times: " << e.what() << '\n';
    return 1;
  }
}
