// The host side of the factorization on the device: memory, launch sizes, launches.
// device_lu_kernels.cuh has the algorithm.

#include "experiments/supplement_numeric/device_lu.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <tuple>

#include "experiments/supplement_numeric/device_lu_kernels.cuh"
#include "variants/device/runtime.hpp"

namespace refactor {

namespace {

// Enough threads for a usual row U(k, k+1:): their mean length over the entries of L.
int usual_threads(const plan& s) {
  const auto lower = static_cast<double>(std::max<offset_t>(s.nnz_lower(), 1));
  const double mean = static_cast<double>(s.updates_begin.back()) / lower;
  int threads = 32;
  while (threads < 512 && threads < mean) threads *= 2;
  return threads;
}

index_t longest_row(const plan& s) {
  offset_t longest = 0;
  for (std::size_t i = 0; i < s.diagonal.size(); ++i) {
    longest = std::max(longest, s.begin[i + 1] - s.begin[i]);
  }
  return static_cast<index_t>(longest);
}

// As much shared memory as leaves a multiprocessor of 228 KiB with more than 1,500 threads, or 32
// blocks of one warp.
index_t usual_shared_entries(int threads) { return std::max(640, 14 * threads); }

}  // namespace

struct device_lu::arrays {
  template <class T>
  using device_array = gsofa::gpu::device_array<T>;

  arrays(const plan& s, const device_options& options) : host(s) {
    threads = options.threads == 0 ? usual_threads(s) : options.threads;
    if (threads % 32 != 0 || threads < 32 || threads > 512) {
      throw gsofa::input_error("threads of a block: " + std::to_string(threads) +
                               " is no multiple of 32 up to 512");
    }
    budget.set_limit(gsofa::gpu::current_limits().free_bytes);
    v.n = s.n;
    v.longest = longest_row(s);
    const index_t in_shared =
        options.shared_entries == 0 ? usual_shared_entries(threads) : options.shared_entries;
    v.shared_entries = std::min(v.longest, in_shared);
    shared_bytes = sizeof(team_state) + static_cast<std::size_t>(v.shared_entries) * sizeof(double);
    const offset_t schedule_bytes =
        s.updates_begin.back() * static_cast<offset_t>(sizeof(std::uint16_t));
    const bool scheduled = v.longest <= 65536 && schedule_bytes <= options.schedule_mb * (1 << 20);
    kernel = scheduled ? factorize_kernel<true> : factorize_kernel<false>;
    gsofa::gpu::allow_shared(kernel, shared_bytes);
    blocks = std::min(gsofa::gpu::resident_blocks(kernel, threads, shared_bytes), s.n);
    solve_blocks =
        std::min(gsofa::gpu::resident_blocks(solve_kernel<false>, solve_threads, 0), (s.n + 3) / 4);
    sweep_blocks = static_cast<int>(std::min<offset_t>((offset_t{s.n} * lanes + 255) / 256,
                                                       16 * gsofa::gpu::multiprocessors()));
    upload_plan(s);
    allocate(s);
    v.places = scheduled ? make(places, "update schedule", s.updates_begin.back()) : nullptr;
    gsofa::gpu::fill_bytes(v.state, 0, 1);
    sweep(schedule_kernel);
    outside = s.outside + static_cast<offset_t>(state_now().outside);
  }

  template <class T>
  const T* upload(device_array<T>& array, const char* name, const std::vector<T>& from) {
    array = device_array<T>(budget, name, static_cast<offset_t>(from.size()));
    gsofa::gpu::copy_to_device(array.data(), from.data(), array.size());
    return array.data();
  }

  void upload_plan(const plan& s) {
    v.a_begin = upload(a_begin, "A", s.a_begin);
    v.a_column = upload(a_column, "A", s.a_column);
    v.a_entry = upload(a_entry, "A", s.a_entry);
    v.a_place = upload(a_place, "A", s.a_place);
    v.row_scale = upload(row_scale, "scales", s.row_scale);
    v.col_scale = upload(col_scale, "scales", s.col_scale);
    v.begin = upload(begin, "pattern of L+U", s.begin);
    v.diagonal = upload(diagonal, "pattern of L+U", s.diagonal);
    v.column = upload(column, "pattern of L+U", s.column);
    v.updates_begin = upload(updates_begin, "pattern of L+U", s.updates_begin);
    v.lower_order = upload(lower_order, "level sets", s.lower_order);
    v.upper_order = upload(upper_order, "level sets", s.upper_order);
  }

  template <class T>
  T* make(device_array<T>& array, const char* name, offset_t size) {
    array = device_array<T>(budget, name, size);
    return array.data();
  }

  void allocate(const plan& s) {
    const offset_t n = s.n;
    v.a = make(a, "values of A", a_entry.size());
    v.lu = make(lu, "values of L+U", column.size());
    const bool all_shared = v.longest <= v.shared_entries;
    v.workspace = make(workspace, "long rows", all_shared ? 0 : offset_t{v.longest} * blocks);
    v.b = make(b, "vectors", n);
    v.d = make(d, "vectors", n);
    v.x = make(x, "vectors", n);
    v.scaled = nullptr;
    v.factored = make(factored, "flags", n);
    v.lower_done = make(lower_done, "flags", n);
    v.upper_done = make(upper_done, "flags", n);
    v.state = make(state, "state", 1);
  }

  // Sweeps over rows, one warp to a row.
  template <class Kernel>
  void sweep(Kernel by_rows) const {
    gsofa::gpu::launch(by_rows, sweep_blocks, 256, 0, v);
  }

  [[nodiscard]] step_state state_now() const {
    step_state now{};
    gsofa::gpu::copy_to_host(&now, v.state, 1);
    return now;
  }

  const plan& host;
  gsofa::gpu::memory_budget budget;
  device_view v{};
  void (*kernel)(device_view) = nullptr;
  int threads = 0;  // of a block of the factorization
  std::size_t shared_bytes = 0;
  int blocks = 0;
  int solve_blocks = 0;
  int sweep_blocks = 0;
  offset_t outside = 0;
  device_array<offset_t> a_begin, a_entry, begin, diagonal, updates_begin;
  device_array<index_t> a_column, a_place, column, lower_order, upper_order;
  device_array<std::uint16_t> places;
  device_array<double> row_scale, col_scale, a, lu, workspace, b, d, x, scaled;
  device_array<std::uint32_t> factored, lower_done, upper_done;
  device_array<step_state> state;
};

device_lu::device_lu(const plan& s, const device_options& options)
    : a_(std::make_unique<arrays>(s, options)) {}

device_lu::~device_lu() = default;

int device_lu::blocks() const { return a_->blocks; }
int device_lu::threads() const { return a_->threads; }
std::int64_t device_lu::bytes() const { return a_->budget.used(); }
void device_lu::wait() { gsofa::gpu::synchronize(); }

std::int64_t device_lu::outside() const { return a_->outside; }
bool device_lu::scheduled() const { return a_->kernel == factorize_kernel<true>; }

void device_lu::set_values(std::span<const double> values) {
  if (static_cast<offset_t>(values.size()) != a_->a.size()) {
    throw gsofa::input_error(std::to_string(values.size()) + " values for a pattern of " +
                             std::to_string(a_->a.size()) + " entries");
  }
  gsofa::gpu::copy_to_device(a_->a.data(), values.data(), a_->a.size());
}

void device_lu::set_right_side(std::span<const double> b) {
  std::vector<double> permuted(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) {
    permuted[i] = b[static_cast<std::size_t>(a_->host.row_order[i])];
  }
  gsofa::gpu::copy_to_device(a_->v.b, permuted.data(), a_->v.n);
}

step_report device_lu::factorize() {
  if (a_->outside != 0) {
    throw gsofa::input_error(std::to_string(a_->outside) + " values have no place in the pattern");
  }
  gsofa::gpu::fill_bytes(a_->v.state, 0, 1);
  a_->sweep(begin_step_kernel);
  gsofa::gpu::launch(a_->kernel, a_->blocks, a_->threads, a_->shared_bytes, a_->v);
  wait();
  const step_state now = a_->state_now();
  return {std::bit_cast<double>(now.norm_bits), now.replaced, now.not_finite};
}

void device_lu::solve(int refinements) {
  clear_solution();
  for (int k = 0; k <= refinements; ++k) {
    residual();
    gsofa::gpu::launch(solve_kernel<false>, a_->solve_blocks, solve_threads, 0, a_->v);
    gsofa::gpu::launch(solve_kernel<true>, a_->solve_blocks, solve_threads, 0, a_->v);
    add_correction();
  }
}

void device_lu::clear_solution() { gsofa::gpu::fill_bytes(a_->v.x, 0, a_->v.n); }

double* device_lu::residual() {
  a_->sweep(residual_kernel);
  return a_->v.d;
}

void device_lu::add_correction() { a_->sweep(add_correction_kernel); }

double* device_lu::scaled_values() {
  if (a_->v.scaled == nullptr) {
    a_->v.scaled = a_->make(a_->scaled, "values of the scaled A", a_->a_entry.size());
  }
  a_->sweep(scale_kernel);
  return a_->v.scaled;
}

std::vector<double> device_lu::solution() const {
  std::vector<double> permuted(static_cast<std::size_t>(a_->v.n));
  gsofa::gpu::copy_to_host(permuted.data(), a_->v.x, a_->v.n);
  std::vector<double> x(permuted.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    x[static_cast<std::size_t>(a_->host.col_order[j])] = permuted[j];
  }
  return x;
}

std::vector<double> device_lu::factors() const {
  std::vector<double> values(static_cast<std::size_t>(a_->lu.size()));
  gsofa::gpu::copy_to_host(values.data(), a_->v.lu, a_->lu.size());
  return values;
}

}  // namespace refactor
