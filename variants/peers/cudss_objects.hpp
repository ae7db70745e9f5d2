#pragma once

#include <cuda_runtime_api.h>
#include <cudss.h>

#include <memory>
#include <string>
#include <vector>

#include "common/error.hpp"

/// cuDSS objects that release themselves, and cuDSS statuses as errors of this program.
namespace gsofa::peers::cudss {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw budget_error(std::string("cuDSS, ") + what + ": the device is out of memory");
  }
  throw error(exit_code::run_failed,
              std::string("cuDSS, ") + what + ": " + cudaGetErrorString(status));
}

inline const char* status_name(cudssStatus_t status) {
  switch (status) {
    case CUDSS_STATUS_SUCCESS:
      return "success";
    case CUDSS_STATUS_NOT_INITIALIZED:
      return "not initialized";
    case CUDSS_STATUS_ALLOC_FAILED:
      return "allocation failed";
    case CUDSS_STATUS_INVALID_VALUE:
      return "invalid value";
    case CUDSS_STATUS_NOT_SUPPORTED:
      return "not supported";
    case CUDSS_STATUS_EXECUTION_FAILED:
      return "execution failed";
    case CUDSS_STATUS_INTERNAL_ERROR:
      return "internal error";
    case CUDSS_STATUS_IR_FAILED:
      return "refinement failed";
    default:
      return "unknown status";
  }
}

inline void check(cudssStatus_t status, const char* what) {
  if (status == CUDSS_STATUS_SUCCESS) return;
  if (status == CUDSS_STATUS_ALLOC_FAILED) {
    throw budget_error(std::string("cuDSS ran out of memory: ") + what);
  }
  throw error(exit_code::run_failed, std::string("cuDSS, ") + what + ": " + status_name(status) +
                                         " (status " + std::to_string(status) +
                                         "; CUDSS_LOG_LEVEL=5 tells more)");
}

template <auto Release>
struct released_by {
  template <class T>
  void operator()(T* p) const {
    Release(p);
  }
};
struct data_released {
  cudssHandle_t handle = nullptr;
  void operator()(cudssData_t data) const { cudssDataDestroy(handle, data); }
};
using device_memory = std::unique_ptr<void, released_by<cudaFree>>;
using cudss_handle = std::unique_ptr<cudssContext, released_by<cudssDestroy>>;
using cudss_config = std::unique_ptr<cudssConfig, released_by<cudssConfigDestroy>>;
using cudss_matrix = std::unique_ptr<cudssMatrix, released_by<cudssMatrixDestroy>>;
using cudss_data = std::unique_ptr<cudssData, data_released>;

/// A copy in device memory.
template <class T>
device_memory upload(const std::vector<T>& host) {
  const std::size_t bytes = host.size() * sizeof(T);
  void* device = nullptr;
  check(cudaMalloc(&device, bytes), "device memory");
  device_memory owned(device);
  check(cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice), "copy to the device");
  return owned;
}

}  // namespace gsofa::peers::cudss
