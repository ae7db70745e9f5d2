#pragma once

/// GPU page faults and migrations of managed memory, from CUPTI's unified-memory counters.

#include <cstdint>
#include <map>
#include <string>

namespace gsofa::maxid {

/// Call this before allocating managed memory whose faults will be counted, preferably before any
/// other use of the GPU.
void watch_page_faults();

/// Counts from construction to stop(); a process has at most one such object at a time.
class page_fault_counter {
 public:
  page_fault_counter();
  ~page_fault_counter();
  page_fault_counter(const page_fault_counter&) = delete;
  page_fault_counter& operator=(const page_fault_counter&) = delete;
  /// Sums over all devices by name: gpu_page_faults (groups of faults handled together count once
  /// each in gpu_page_fault_groups), remote_maps, bytes_migrated. Empty if the driver or the build
  /// does not count.
  std::map<std::string, std::int64_t> stop();
};

}  // namespace gsofa::maxid
