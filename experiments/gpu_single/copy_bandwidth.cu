// Bandwidth of copies within device memory: the practical ceiling of kernels that move data.
// Prints one JSON object; bytes per second count both the bytes read and the bytes written.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t copy_bytes = std::size_t{4} << 30;
constexpr int warmups = 2;
constexpr int copies = 10;

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "copy_bandwidth: error: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

}  // namespace

int main() {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0), "device 0");
  void* from = nullptr;
  void* to = nullptr;
  check(cudaMalloc(&from, copy_bytes), "cudaMalloc");
  check(cudaMalloc(&to, copy_bytes), "cudaMalloc");
  check(cudaMemset(from, 0x5a, copy_bytes), "cudaMemset");
  cudaEvent_t begin{};
  cudaEvent_t end{};
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<double> seconds;
  for (int k = 0; k < warmups + copies; ++k) {
    check(cudaEventRecord(begin), "cudaEventRecord");
    check(cudaMemcpyAsync(to, from, copy_bytes, cudaMemcpyDeviceToDevice), "cudaMemcpyAsync");
    check(cudaEventRecord(end), "cudaEventRecord");
    check(cudaEventSynchronize(end), "copy");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    if (k >= warmups) seconds.push_back(milliseconds * 1e-3);
  }
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const double median = 0.5 * (sorted[copies / 2 - 1] + sorted[copies / 2]);
  std::printf("{\"gpu\":\"%s\",\"bytes\":%zu,\"samples_s\":[", device.name, copy_bytes);
  for (int k = 0; k < copies; ++k) std::printf("%s%.6e", k == 0 ? "" : ",", seconds[k]);
  std::printf("],\"bytes_per_s\":%.6e}\n", 2.0 * static_cast<double>(copy_bytes) / median);
  return 0;
}
