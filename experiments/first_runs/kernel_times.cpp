// Time in which the device runs kernels or fills memory, in one process. CUDA loads this library
// where the environment variable CUDA_INJECTION64_PATH names it; at the end of the process it
// writes "NANOSECONDS KERNELS" to the file that KERNEL_TIMES names. Kernels that overlap count
// once. Source: CUPTI's activity records.

#include <cupti.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

namespace {

std::mutex mutex;
std::vector<std::pair<std::uint64_t, std::uint64_t>> intervals;  // begin, end; nanoseconds
std::size_t kernels = 0;

void CUPTIAPI take_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *size = std::size_t{4} << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, *size));
  *most_records = 0;
}

void CUPTIAPI read_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  const std::scoped_lock lock(mutex);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel9*>(record);
      intervals.emplace_back(kernel.start, kernel.end);
      ++kernels;
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
      const auto& fill = *reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      intervals.emplace_back(fill.start, fill.end);
    }
  }
  std::free(buffer);
}

void write() {
  cuptiActivityFlushAll(1);
  const std::scoped_lock lock(mutex);
  std::ranges::sort(intervals);
  std::uint64_t busy = 0;
  std::uint64_t behind = 0;
  for (const auto& [begin, end] : intervals) {
    busy += std::max(end, behind) - std::max(begin, behind);
    behind = std::max(end, behind);
  }
  const char* const name = std::getenv("KERNEL_TIMES");
  std::FILE* const out = name != nullptr ? std::fopen(name, "w") : nullptr;
  if (out == nullptr) return;
  std::fprintf(out, "%llu %zu\n", static_cast<unsigned long long>(busy), kernels);
  std::fclose(out);
}

}  // namespace

extern "C" int InitializeInjection() {
  cuptiActivityRegisterCallbacks(take_buffer, read_buffer);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
  return std::atexit(write) == 0 ? 1 : 0;
}
