// cudss_solve [SIDE]: solves A x = b on a CUDA device by cuDSS, in the order of this library with
// its separator tree. A: stencil.h, SIDE^3 rows (default 60). Prints the residual; exit status 0 if
// it is small.

#include <cstdio>
#include <cstdlib>
#include <gsofa/cudss.hpp>
#include <vector>

#include "stencil.h"

template <class T>
T* on_device(const T* host, std::int32_t count) {
  T* device = nullptr;
  cudaMalloc(&device, static_cast<std::size_t>(count) * sizeof(T));
  cudaMemcpy(device, host, static_cast<std::size_t>(count) * sizeof(T), cudaMemcpyHostToDevice);
  return device;
}

int main(int argc, char** argv) try {
  const stencil a = make_stencil(argc > 1 ? std::atoi(argv[1]) : 60);
  std::vector<double> x(static_cast<std::size_t>(a.n));
  double* device_x = on_device(x.data(), a.n);

  cudssHandle_t handle = nullptr;
  cudssConfig_t config = nullptr;
  cudssData_t data = nullptr;
  cudssMatrix_t matrix = nullptr, solution = nullptr, right_side = nullptr;
  cudssCreate(&handle);
  cudssConfigCreate(&config);
  cudssDataCreate(handle, &data);
  cudssMatrixCreateCsr(&matrix, a.n, a.n, a.nnz, on_device(a.row_ptr, a.n + 1), nullptr,
                       on_device(a.col_idx, a.nnz), on_device(a.values, a.nnz), CUDA_R_32I,
                       CUDA_R_32I, CUDA_R_64F, CUDSS_MTYPE_GENERAL, CUDSS_MVIEW_FULL,
                       CUDSS_BASE_ZERO);
  cudssMatrixCreateDn(&right_side, a.n, 1, a.n, on_device(a.b, a.n), CUDA_R_64F,
                      CUDSS_LAYOUT_COL_MAJOR);
  cudssMatrixCreateDn(&solution, a.n, 1, a.n, device_x, CUDA_R_64F, CUDSS_LAYOUT_COL_MAJOR);

  const cudssMatchingAlg_t no_matching = CUDSS_MATCHING_ALG_NONE;
  cudssConfigSet(config, CUDSS_CONFIG_MATCHING_ALG, &no_matching, sizeof no_matching);
  const gsofa::pattern_order order = gsofa::cudss::set_order(handle, config, data, matrix);
  for (const int phase : {CUDSS_PHASE_ANALYSIS, CUDSS_PHASE_FACTORIZATION, CUDSS_PHASE_SOLVE}) {
    const cudssStatus_t status =
        cudssExecute(handle, phase, config, data, matrix, solution, right_side);
    if (status != CUDSS_STATUS_SUCCESS) return std::printf("cuDSS: status %d\n", status), 1;
  }
  cudaMemcpy(x.data(), device_x, x.size() * sizeof(double), cudaMemcpyDeviceToHost);
  const double residual = residual_of(&a, x.data());
  std::printf("n %d, order %s in %.3f s, residual %.1e\n", a.n, order.order.c_str(), order.seconds,
              residual);
  return residual < 1e-10 ? 0 : 1;
} catch (const gsofa::analysis_error& e) {
  std::fprintf(stderr, "cudss_solve: %s\n", e.what());
  return 1;
}
