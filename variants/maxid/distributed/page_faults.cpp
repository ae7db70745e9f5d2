// Unified-memory counters through the activity interface of CUPTI.

#include "variants/maxid/distributed/page_faults.hpp"

#if defined(GSOFA_HAVE_CUPTI)

#include <cuda_runtime_api.h>
#include <cupti.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <vector>

namespace gsofa::maxid {

namespace {

constexpr std::size_t buffer_bytes = 1 << 20;

std::atomic<std::int64_t> faults{0}, groups{0}, maps{0}, migrated{0};
bool watching = false;
bool counting_now = false;

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
  *size = *buffer == nullptr ? 0 : buffer_bytes;
  *records = 0;
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) continue;
    const auto* const c = reinterpret_cast<const CUpti_ActivityUnifiedMemoryCounter3*>(record);
    const auto value = static_cast<std::int64_t>(c->value);
    switch (c->counterKind) {
      case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT:
        faults += value;
        ++groups;
        break;
      case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP:
        ++maps;
        break;
      case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD:
      case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH:
      case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD:
        migrated += value;
        break;
      default:
        break;
    }
  }
  std::free(buffer);
}

// Adds up all events before the call; returns whether CUPTI delivered them.
bool flush() {
  cudaDeviceSynchronize();
  return cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) == CUPTI_SUCCESS;
}

}  // namespace

// CUPTI stays enabled from the first call on: it does not report faults on memory that was
// allocated before.
void watch_page_faults() {
  static bool tried = false;
  if (tried) return;
  tried = true;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return;
  constexpr std::array kinds{CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
                             CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP,
                             CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
                             CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
                             CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD};
  std::vector<CUpti_ActivityUnifiedMemoryCounterConfig> wanted;
  for (int d = 0; d < devices; ++d) {
    for (const auto kind : kinds) {
      CUpti_ActivityUnifiedMemoryCounterConfig c{};
      c.scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE;
      c.kind = kind;
      c.deviceId = static_cast<std::uint32_t>(d);
      c.enable = 1;
      wanted.push_back(c);
    }
  }
  watching = cuptiActivityRegisterCallbacks(give_buffer, take_buffer) == CUPTI_SUCCESS &&
             cuptiActivityConfigureUnifiedMemoryCounter(
                 wanted.data(), static_cast<std::uint32_t>(wanted.size())) == CUPTI_SUCCESS &&
             cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) == CUPTI_SUCCESS;
}

page_fault_counter::page_fault_counter() {
  watch_page_faults();
  counting_now = watching && flush();
  faults = groups = maps = migrated = 0;
}

page_fault_counter::~page_fault_counter() { stop(); }

std::map<std::string, std::int64_t> page_fault_counter::stop() {
  if (!counting_now) return {};
  counting_now = false;
  if (!flush()) return {};
  return {{"gpu_page_faults", faults},
          {"gpu_page_fault_groups", groups},
          {"remote_maps", maps},
          {"bytes_migrated", migrated}};
}

}  // namespace gsofa::maxid

#else

namespace gsofa::maxid {

void watch_page_faults() {}
page_fault_counter::page_fault_counter() = default;
page_fault_counter::~page_fault_counter() = default;
std::map<std::string, std::int64_t> page_fault_counter::stop() { return {}; }

}  // namespace gsofa::maxid

#endif
