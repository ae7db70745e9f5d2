#include "experiments/solvers/cudss_solver.hpp"

#include <dlfcn.h>

#include <chrono>
#include <utility>

#include "common/types.hpp"
#include "gsofa/cudss.hpp"

namespace cudss_solver {

using namespace gsofa::peers::cudss;
using gsofa::at;

namespace {

template <class T>
void configure(cudssConfig_t config, cudssConfigParam_t parameter, T value, const char* what) {
  check(cudssConfigSet(config, parameter, &value, sizeof value), what);
}

cudss_matrix dense(std::int32_t n, void* values) {
  cudssMatrix_t vector = nullptr;
  check(cudssMatrixCreateDn(&vector, n, 1, n, values, CUDA_R_64F, CUDSS_LAYOUT_COL_MAJOR),
        "vector");
  return cudss_matrix(vector);
}

/// A lower triangle with its diagonal.
static_lu::matrix lower_triangle(const static_lu::matrix& a) {
  static_lu::matrix lower;
  lower.pattern.n = a.n();
  for (std::int32_t i = 0; i < a.n(); ++i) {
    const auto columns = a.pattern.row(i);
    for (std::size_t p = 0; p < columns.size() && columns[p] <= i; ++p) {
      lower.pattern.col_idx.push_back(columns[p]);
      lower.values.push_back(a.row_values(i)[p]);
    }
    lower.pattern.row_ptr.push_back(static_cast<std::int64_t>(lower.values.size()));
  }
  return lower;
}

}  // namespace

device_system::device_system(const static_lu::matrix& a, const std::vector<double>& b,
                             cudssMatrixType_t type)
    : n_(a.n()) {
  const bool general = type == CUDSS_MTYPE_GENERAL;
  const static_lu::matrix lower = general ? static_lu::matrix{} : lower_triangle(a);
  const static_lu::matrix& stored = general ? a : lower;
  const auto entries = static_cast<std::int64_t>(stored.values.size());
  gsofa::narrow<std::int32_t>(entries, "entries for cuDSS");
  row_start_ = upload(
      std::vector<std::int32_t>(stored.pattern.row_ptr.begin(), stored.pattern.row_ptr.end()));
  column_ = upload(stored.pattern.col_idx);
  value_ = upload(stored.values);
  right_side_ = upload(b);
  solution_ = upload(std::vector<double>(b.size()));
  cudssMatrix_t matrix = nullptr;
  check(cudssMatrixCreateCsr(&matrix, n_, n_, entries, row_start_.get(), nullptr, column_.get(),
                             value_.get(), CUDA_R_32I, CUDA_R_32I, CUDA_R_64F, type,
                             general ? CUDSS_MVIEW_FULL : CUDSS_MVIEW_LOWER, CUDSS_BASE_ZERO),
        "matrix");
  matrix_.reset(matrix);
  dense_[0] = dense(n_, right_side_.get());
  dense_[1] = dense(n_, solution_.get());
  check(cudaDeviceSynchronize(), "upload");
}

std::vector<double> device_system::download_solution() const {
  std::vector<double> x(at(n_));
  check(cudaMemcpy(x.data(), solution_.get(), x.size() * sizeof(double), cudaMemcpyDeviceToHost),
        "copy of the solution");
  return x;
}

solver::solver(const settings& s) : settings_(s) {
  // A handle that a failing cudssCreate returns must be destroyed too.
  cudssHandle_t handle = nullptr;
  const cudssStatus_t created = cudssCreate(&handle);
  handle_.reset(handle);
  check(created, "handle");
  if (s.threading_layer.empty()) return;
  // cuDSS unloads its threading layer with the handle, which the threads of libgomp do not survive.
  dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  check(cudssSetThreadingLayer(handle_.get(), s.threading_layer.c_str()), "threading layer");
}

int solver::default_levels() const {
  const cudss_config config = make_config();
  int levels = 0;
  std::size_t written = 0;
  check(cudssConfigGet(config.get(), CUDSS_CONFIG_ND_NLEVELS, &levels, sizeof levels, &written),
        "levels of the partition tree");
  constexpr int fallback = 10;  // where cuDSS leaves the number open
  return levels >= 2 ? levels : fallback;
}

cudss_config solver::make_config() const {
  cudssConfig_t made = nullptr;
  check(cudssConfigCreate(&made), "configuration");
  cudss_config config(made);
  configure(made, CUDSS_CONFIG_MATCHING_ALG, CUDSS_MATCHING_ALG_NONE, "matching");
  if (!settings_.threading_layer.empty()) {
    configure(made, CUDSS_CONFIG_HOST_NTHREADS, settings_.threads, "host threads");
  }
  return config;
}

outcome solver::solve(const device_system& s, const given_order& order, bool read_back) const {
  const cudss_config config = make_config();
  cudssData_t made = nullptr;
  check(cudssDataCreate(handle_.get(), &made), "data object");
  const cudss_data data(made, {handle_.get()});
  outcome out;
  const auto handed = std::chrono::steady_clock::now();
  if (order.by_set_order) {
    out.set = gsofa::cudss::set_order(handle_.get(), config.get(), made, s.matrix(),
                                      {.threads = settings_.threads});
  }
  if (!order.permutation.empty()) {
    check(cudssDataSet(handle_.get(), made, CUDSS_DATA_USER_PERM, order.permutation.data(),
                       order.permutation.size_bytes()),
          "user permutation");
  }
  if (!order.tree.empty()) {
    check(cudssDataSet(handle_.get(), made, CUDSS_DATA_USER_ND_PARTITION_TREE, order.tree.data(),
                       order.tree.size_bytes()),
          "partition tree");
  }
  check(cudaDeviceSynchronize(), "data object");
  const std::chrono::duration<double> handing = std::chrono::steady_clock::now() - handed;
  const auto timed = [&](cudssPhase_t phase, const char* what) {
    const auto begin = std::chrono::steady_clock::now();
    check(cudssExecute(handle_.get(), phase, config.get(), made, s.matrix(), s.solution(),
                       s.right_side()),
          what);
    check(cudaDeviceSynchronize(), what);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    return seconds.count();
  };
  out.handing = handing.count();
  std::size_t written = 0;
  out.reordering = timed(CUDSS_PHASE_REORDERING, "reordering");
  out.symbolic = timed(CUDSS_PHASE_SYMBOLIC_FACTORIZATION, "symbolic factorization");
  check(cudssDataGet(handle_.get(), made, CUDSS_DATA_LU_NNZ, &out.lu_nnz, sizeof out.lu_nnz,
                     &written),
        "entries of the factors");
  if (read_back) {
    out.permutation.resize(at(s.n()));
    check(cudssDataGet(handle_.get(), made, CUDSS_DATA_PERM_REORDER_ROW, out.permutation.data(),
                       out.permutation.size() * sizeof(std::int32_t), &written),
          "the order");
  }
  out.numeric = timed(CUDSS_PHASE_FACTORIZATION, "numeric factorization");
  out.refactorization = timed(CUDSS_PHASE_REFACTORIZATION, "refactorization");
  int info = 0;
  check(cudssDataGet(handle_.get(), made, CUDSS_DATA_INFO, &info, sizeof info, &written), "info");
  if (info != 0) {
    throw gsofa::error(gsofa::exit_code::run_failed,
                       "cuDSS, numeric factorization: info " + std::to_string(info));
  }
  out.solve = timed(CUDSS_PHASE_SOLVE, "solve");
  out.x = s.download_solution();
  return out;
}

}  // namespace cudss_solver
