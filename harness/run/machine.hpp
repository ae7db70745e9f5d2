#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/run/gpu_state.hpp"

namespace gsofa {

/// The host that a record was measured on.
struct machine_info {
  std::string host;
  std::string cpu;
  int hardware_threads = 1;  ///< those this process may use (affinity mask)
  int online_threads = 1;    ///< those of the machine
  std::string microcode;     ///< of the CPU, "0x2b000603"; empty where the kernel does not say
  /// 16 hexadecimal digits of a hash of what tells machines apart: the system's machine id, the
  /// board's UUID and the UUIDs of all its GPUs. Empty where none of them can be read.
  std::string id;
};
const machine_info& this_machine();

/// 16 hexadecimal digits for a text that is not to be told; empty where OpenSSL gives no SHA-256.
std::string hashed(const std::string& text);

/// What a measurement depends on and nobody chose.
struct machine_state {
  double load = 0;              ///< processes that ran or waited, average of the last minute
  double cpu_mhz = 0;           ///< of the first hardware thread; 0 where the kernel does not say
  std::vector<gpu_state> gpus;  ///< of find_cuda_devices(), in its order
};
machine_state current_state();

/// Growth of the resident set of this process, from /proc; empty where that is missing.
class memory_meter {
 public:
  /// Returns freed heap to the system and takes the current size as the base.
  void start();
  /// Restarts the search for the peak, keeping the base.
  void rearm();
  /// Largest size above the base since the last start() or rearm(), in bytes.
  [[nodiscard]] std::optional<std::int64_t> peak() const;

 private:
  std::optional<std::int64_t> base_;
};

}  // namespace gsofa
