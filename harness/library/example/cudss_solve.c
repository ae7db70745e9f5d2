/* cudss_solve_c [SIDE]: as cudss_solve.cpp, through the C interface. */

#include <gsofa/cudss.h>
#include <stdio.h>

#include "stencil.h"

static void* on_device(const void* host, size_t bytes) {
  void* device = NULL;
  cudaMalloc(&device, bytes);
  cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice);
  return device;
}

int main(int argc, char** argv) {
  const stencil a = make_stencil(argc > 1 ? atoi(argv[1]) : 60);
  const size_t n = (size_t)a.n, nnz = (size_t)a.nnz;
  double* x = (double*)calloc(n, sizeof(double));
  void* device_x = on_device(x, n * sizeof(double));

  cudssHandle_t handle = NULL;
  cudssConfig_t config = NULL;
  cudssData_t data = NULL;
  cudssMatrix_t matrix = NULL, solution = NULL, right_side = NULL;
  cudssCreate(&handle);
  cudssConfigCreate(&config);
  cudssDataCreate(handle, &data);
  cudssMatrixCreateCsr(&matrix, a.n, a.n, a.nnz, on_device(a.row_ptr, (n + 1) * sizeof(int32_t)),
                       NULL, on_device(a.col_idx, nnz * sizeof(int32_t)),
                       on_device(a.values, nnz * sizeof(double)), CUDA_R_32I, CUDA_R_32I,
                       CUDA_R_64F, CUDSS_MTYPE_GENERAL, CUDSS_MVIEW_FULL, CUDSS_BASE_ZERO);
  cudssMatrixCreateDn(&right_side, a.n, 1, a.n, on_device(a.b, n * sizeof(double)), CUDA_R_64F,
                      CUDSS_LAYOUT_COL_MAJOR);
  cudssMatrixCreateDn(&solution, a.n, 1, a.n, device_x, CUDA_R_64F, CUDSS_LAYOUT_COL_MAJOR);

  const cudssMatchingAlg_t no_matching = CUDSS_MATCHING_ALG_NONE;
  cudssConfigSet(config, CUDSS_CONFIG_MATCHING_ALG, &no_matching, sizeof no_matching);
  const char* error = "";
  if (gsofa_cudss_set_order(handle, config, data, matrix, NULL, NULL, &error) != GSOFA_OK) {
    return fprintf(stderr, "cudss_solve_c: %s\n", error), 1;
  }
  const int phases[] = {CUDSS_PHASE_ANALYSIS, CUDSS_PHASE_FACTORIZATION, CUDSS_PHASE_SOLVE};
  for (int k = 0; k < 3; ++k) {
    const cudssStatus_t status =
        cudssExecute(handle, phases[k], config, data, matrix, solution, right_side);
    if (status != CUDSS_STATUS_SUCCESS) return printf("cuDSS: status %d\n", status), 1;
  }
  cudaMemcpy(x, device_x, n * sizeof(double), cudaMemcpyDeviceToHost);
  const double residual = residual_of(&a, x);
  printf("n %d, residual %.1e\n", a.n, residual);
  return residual < 1e-10 ? 0 : 1;
}
