// cudss_schur [SIDE]: the Schur complement of the points on one face of a cube (stencil.h, SIDE^3
// rows, default 40) by cuDSS, once in its own order and once in the order of this library, which
// puts these points last. Prints the seconds of each phase and the largest difference between the
// two matrices; exit status 0 if it is small.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <gsofa/cudss.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "stencil.h"

void check(cudssStatus_t status) {
  if (status != CUDSS_STATUS_SUCCESS) {
    throw std::runtime_error("cuDSS: status " + std::to_string(status));
  }
}

template <class T>
T* on_device(const T* host, std::size_t count) {
  T* device = nullptr;
  cudaMalloc(&device, count * sizeof(T));
  cudaMemcpy(device, host, count * sizeof(T), cudaMemcpyHostToDevice);
  return device;
}

// A matrix by columns whose row and column k have the number index[k], in the order of the numbers.
std::vector<double> renumbered(const std::vector<double>& s,
                               const std::vector<std::int32_t>& index) {
  const std::size_t n = index.size();
  std::vector<std::size_t> place(n);
  for (std::size_t k = 0; k < n; ++k) {
    place[k] = static_cast<std::size_t>(
        std::count_if(index.begin(), index.end(), [&](std::int32_t i) { return i < index[k]; }));
  }
  std::vector<double> sorted(s.size());
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) sorted[place[i] + n * place[j]] = s[i + n * j];
  }
  return sorted;
}

// The Schur complement of the rows with is_schur 1, by columns.
std::vector<double> schur_complement(const stencil& a, const std::vector<std::int32_t>& is_schur,
                                     bool own_order) {
  const auto n = static_cast<std::size_t>(a.n), nnz = static_cast<std::size_t>(a.nnz);
  cudssHandle_t handle = nullptr;
  cudssConfig_t config = nullptr;
  cudssData_t data = nullptr;
  cudssMatrix_t matrix = nullptr, x = nullptr, b = nullptr, schur = nullptr;
  check(cudssCreate(&handle));
  check(cudssConfigCreate(&config));
  check(cudssDataCreate(handle, &data));
  check(cudssMatrixCreateCsr(&matrix, a.n, a.n, a.nnz, on_device(a.row_ptr, n + 1), nullptr,
                             on_device(a.col_idx, nnz), on_device(a.values, nnz), CUDA_R_32I,
                             CUDA_R_32I, CUDA_R_64F, CUDSS_MTYPE_GENERAL, CUDSS_MVIEW_FULL,
                             CUDSS_BASE_ZERO));
  double* vector = on_device(a.b, n);
  check(cudssMatrixCreateDn(&b, a.n, 1, a.n, vector, CUDA_R_64F, CUDSS_LAYOUT_COL_MAJOR));
  check(cudssMatrixCreateDn(&x, a.n, 1, a.n, vector, CUDA_R_64F, CUDSS_LAYOUT_COL_MAJOR));
  const cudssMatchingAlg_t no_matching = CUDSS_MATCHING_ALG_NONE;
  check(cudssConfigSet(config, CUDSS_CONFIG_MATCHING_ALG, &no_matching, sizeof no_matching));

  const int schur_mode = 1;
  check(cudssConfigSet(config, CUDSS_CONFIG_SCHUR_MODE, &schur_mode, sizeof schur_mode));
  check(cudssDataSet(handle, data, CUDSS_DATA_USER_SCHUR_INDICES, is_schur.data(),
                     n * sizeof is_schur[0]));
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    cudaDeviceSynchronize();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  // Two groups: the rows of the Schur complement come last, and are in the root of the tree.
  std::vector<std::int32_t> order;
  if (!own_order) {
    order = gsofa::cudss::set_order(handle, config, data, matrix, {.groups = is_schur}).permutation;
  }
  const double ordered = seconds();
  check(cudssExecute(handle, CUDSS_PHASE_ANALYSIS, config, data, matrix, x, b));
  const double analyzed = seconds();
  check(cudssExecute(handle, CUDSS_PHASE_FACTORIZATION, config, data, matrix, x, b));
  const double factored = seconds();
  std::int64_t shape[3] = {};
  std::size_t written = 0;
  check(cudssDataGet(handle, data, CUDSS_DATA_SCHUR_SHAPE, shape, sizeof shape, &written));
  std::vector<double> s(static_cast<std::size_t>(shape[0] * shape[1]));
  double* device_s = on_device(s.data(), s.size());
  check(cudssMatrixCreateDn(&schur, shape[0], shape[1], shape[0], device_s, CUDA_R_64F,
                            CUDSS_LAYOUT_COL_MAJOR));
  check(cudssDataGet(handle, data, CUDSS_DATA_SCHUR_MATRIX, &schur, sizeof schur, &written));
  cudaMemcpy(s.data(), device_s, s.size() * sizeof s[0], cudaMemcpyDeviceToHost);
  // With a given order the rows of the Schur complement are in that order.
  if (!own_order) s = renumbered(s, {order.end() - shape[0], order.end()});
  std::printf("%s: order %.4f s, analysis %.4f s, factorization %.4f s\n",
              own_order ? "cuDSS" : "gsofa", ordered, analyzed - ordered, factored - analyzed);
  return s;
}

int main(int argc, char** argv) try {
  const stencil a = make_stencil(argc > 1 ? std::atoi(argv[1]) : 40);
  const int side = static_cast<int>(std::lround(std::cbrt(a.n)));
  std::vector<std::int32_t> is_schur(static_cast<std::size_t>(a.n), 0);
  for (int k = 0; k < side * side; ++k) is_schur[static_cast<std::size_t>(k * side)] = 1;
  double difference = 0, sum = 0;
  for (int round = 0; round < 2; ++round) {  // the first use loads kernels
    const std::vector<double> own = schur_complement(a, is_schur, true);
    const std::vector<double> ours = schur_complement(a, is_schur, false);
    if (own.size() != ours.size()) throw std::runtime_error("the matrices differ in size");
    for (std::size_t k = 0; k < own.size(); ++k) {
      difference = std::fmax(difference, std::fabs(own[k] - ours[k]));
      sum += std::fabs(own[k]) + std::fabs(ours[k]);  // neither zeros alone nor nan
    }
  }
  std::printf("n %d, %d rows of the Schur complement, difference %.1e\n", a.n, side * side,
              difference);
  return difference < 1e-10 && sum > 0 && std::isfinite(sum) ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "cudss_schur: %s\n", e.what());
  return 1;
}
