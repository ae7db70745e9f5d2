#include "experiments/supplement_numeric/rf_peer.hpp"

#ifdef GSOFA_HAVE_CUSOLVER_RF

// The functions are looked up, not called by name: the attribute would be an error.
#define DISABLE_CUSOLVER_DEPRECATED
#include <cuda_runtime.h>
#include <cusolverRf.h>
#include <dlfcn.h>

#include <chrono>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

namespace refactor {

namespace {

using static_lu::at;
using clock = std::chrono::steady_clock;

void* open_library() {
  for (const char* name : {"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so",
                           GSOFA_CUSOLVER_FOLDER "/libcusolver.so"}) {
    if (void* const found = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return found;
  }
  throw std::runtime_error(std::string("cusolverRf: ") + dlerror());
}

// Stays loaded.
void* library() {
  static void* const found = open_library();
  return found;
}

template <class Function>
Function* look_up(const char* name) {
  void* const found = dlsym(library(), name);
  if (found == nullptr) throw std::runtime_error(std::string("cusolverRf: no ") + name);
  return reinterpret_cast<Function*>(found);
}

// Calls a function of the library by its declared type; a status that is not 0 is an error.
#define GSOFA_RF(name, ...) require(look_up<decltype(name)>(#name)(__VA_ARGS__), #name)

void require(cusolverStatus_t status, const char* name) {
  if (status == CUSOLVER_STATUS_SUCCESS) return;
  const char* const what = status == CUSOLVER_STATUS_ALLOC_FAILED       ? "out of memory"
                           : status == CUSOLVER_STATUS_INVALID_VALUE    ? "an argument is invalid"
                           : status == CUSOLVER_STATUS_ZERO_PIVOT       ? "a pivot is zero"
                           : status == CUSOLVER_STATUS_EXECUTION_FAILED ? "a kernel failed"
                           : status == CUSOLVER_STATUS_INTERNAL_ERROR   ? "internal error"
                                                                        : "refused";
  throw std::runtime_error(std::string(name) + ": " + what + ", status " +
                           std::to_string(static_cast<int>(status)));
}

void require(cudaError_t status) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string("cusolverRf: ") + cudaGetErrorString(status));
  }
}

std::vector<int> narrowed(const std::vector<std::int64_t>& from) {
  return {from.begin(), from.end()};
}

template <class T>
class device_copy {
 public:
  explicit device_copy(const std::vector<T>& from) {
    void* p = nullptr;
    require(cudaMalloc(&p, from.size() * sizeof(T) + 1));
    data_ = static_cast<T*>(p);
    require(cudaMemcpy(data_, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~device_copy() { cudaFree(data_); }
  device_copy(const device_copy&) = delete;
  device_copy& operator=(const device_copy&) = delete;
  [[nodiscard]] T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

// L, U and Ã as the library takes them: compressed rows with 32-bit integers.
struct host_factors {
  std::vector<int> l_begin{0}, l_column, u_begin{0}, u_column;
  std::vector<double> l, u;

  host_factors(const plan& s, const std::vector<double>& values) {
    for (std::int32_t i = 0; i < s.n; ++i) {
      for (std::int64_t p = s.begin[at(i)]; p < s.begin[at(i) + 1]; ++p) {
        const bool lower = p < s.diagonal[at(i)];
        (lower ? l_column : u_column).push_back(s.column[at(p)]);
        (lower ? l : u).push_back(values[at(p)]);
      }
      l_begin.push_back(static_cast<int>(l.size()));
      u_begin.push_back(static_cast<int>(u.size()));
    }
  }
};

std::vector<int> identity(std::int32_t n) {
  std::vector<int> out(at(n));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

class rf_solver final : public rf_peer {
 public:
  rf_solver(const plan& s, device_lu& lu, double smallest)
      : n_(s.n),
        nnz_(static_cast<int>(s.a_column.size())),
        lu_(lu),
        a_begin_(narrowed(s.a_begin)),
        a_column_(s.a_column),
        order_(identity(s.n)),
        work_(std::vector<double>(at(s.n))) {
    const auto begin = clock::now();
    GSOFA_RF(cusolverRfCreate, &handle_);
    try {
      set_up(s, smallest);
    } catch (...) {
      look_up<decltype(cusolverRfDestroy)>("cusolverRfDestroy")(handle_);
      throw;
    }
    setup_seconds_ = seconds_since(begin);
  }
  ~rf_solver() override { look_up<decltype(cusolverRfDestroy)>("cusolverRfDestroy")(handle_); }
  rf_solver(const rf_solver&) = delete;
  rf_solver& operator=(const rf_solver&) = delete;

  [[nodiscard]] double setup_seconds() const override { return setup_seconds_; }

  double refactor() override {
    const auto begin = clock::now();
    reset_values();
    GSOFA_RF(cusolverRfRefactor, handle_);
    require(cudaDeviceSynchronize());
    return seconds_since(begin);
  }

  double solve(int refinements) override {
    const auto begin = clock::now();
    lu_.clear_solution();
    for (int k = 0; k <= refinements; ++k) {
      double* const d = lu_.residual();
      device_lu::wait();
      GSOFA_RF(cusolverRfSolve, handle_, order_.data(), order_.data(), 1, work_.data(), n_, d, n_);
      require(cudaDeviceSynchronize());
      lu_.add_correction();
    }
    device_lu::wait();
    return seconds_since(begin);
  }

 private:
  static double seconds_since(clock::time_point begin) {
    return std::chrono::duration<double>(clock::now() - begin).count();
  }

  // The library works on the legacy default stream: it is given what is complete.
  void reset_values() {
    double* const values = lu_.scaled_values();
    device_lu::wait();
    GSOFA_RF(cusolverRfResetValues, n_, nnz_, a_begin_.data(), a_column_.data(), values,
             order_.data(), order_.data(), handle_);
  }

  void set_up(const plan& s, double smallest) {
    GSOFA_RF(cusolverRfSetMatrixFormat, handle_, CUSOLVERRF_MATRIX_FORMAT_CSR,
             CUSOLVERRF_UNIT_DIAGONAL_ASSUMED_L);
    GSOFA_RF(cusolverRfSetResetValuesFastMode, handle_, CUSOLVERRF_RESET_VALUES_FAST_MODE_ON);
    GSOFA_RF(cusolverRfSetNumericProperties, handle_, smallest, smallest);
    GSOFA_RF(cusolverRfSetAlgs, handle_, CUSOLVERRF_FACTORIZATION_ALG0,
             CUSOLVERRF_TRIANGULAR_SOLVE_ALG1);
    host_factors f(s, lu_.factors());
    std::vector<int> a_begin = narrowed(s.a_begin);
    std::vector<int> a_column = s.a_column;
    std::vector<int> order = identity(s.n);
    std::vector<double> a(s.a_column.size());
    double* const scaled = lu_.scaled_values();
    device_lu::wait();
    require(cudaMemcpy(a.data(), scaled, a.size() * sizeof(double), cudaMemcpyDeviceToHost));
    GSOFA_RF(cusolverRfSetupHost, n_, nnz_, a_begin.data(), a_column.data(), a.data(),
             static_cast<int>(f.l.size()), f.l_begin.data(), f.l_column.data(), f.l.data(),
             static_cast<int>(f.u.size()), f.u_begin.data(), f.u_column.data(), f.u.data(),
             order.data(), order.data(), handle_);
    require(cudaDeviceSynchronize());
    GSOFA_RF(cusolverRfAnalyze, handle_);
    require(cudaDeviceSynchronize());
  }

  int n_, nnz_;
  device_lu& lu_;
  device_copy<int> a_begin_, a_column_, order_;
  device_copy<double> work_;
  cusolverRfHandle_t handle_ = nullptr;
  double setup_seconds_ = 0;
};

}  // namespace

std::unique_ptr<rf_peer> rf_peer::create(const plan& s, device_lu& lu, double smallest) {
  if (s.column.size() > at(std::numeric_limits<int>::max())) {
    throw std::runtime_error("cusolverRf: more entries of L + U than its 32-bit interface takes");
  }
  return std::make_unique<rf_solver>(s, lu, smallest);
}

}  // namespace refactor

#else

namespace refactor {

std::unique_ptr<rf_peer> rf_peer::create(const plan&, device_lu&, double) { return nullptr; }

}  // namespace refactor

#endif
