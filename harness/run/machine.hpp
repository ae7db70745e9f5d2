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
  /// Those this process may use: of its affinity mask, as many as it can start.
  int hardware_threads = 1;
  int online_threads = 1;  ///< those of the machine
  std::string microcode;   ///< of the CPU, "0x2b000603"; empty where the kernel does not say
  /// 16 hexadecimal digits, identity_of() this machine.
  std::string id;
};
const machine_info& this_machine();

/// What distinguishes machines.
struct machine_parts {
  std::string machine_id;  ///< of the system; copies of a virtual machine share it
  std::string board;       ///< UUID of the board; only root can read it
  std::string host;        ///< name, which counts only where machine id, board and GPUs are unknown
  std::string cpu;         ///< model
  std::int64_t memory = 0;        ///< bytes of main memory; counts where no GPU is known
  std::vector<std::string> gpus;  ///< UUIDs of all GPUs
};
/// 16 hexadecimal digits of a hash of all parts. Containers often lack /etc/machine-id and the
/// board's UUID.
std::string identity_of(const machine_parts& parts);

/// 16 hexadecimal digits that identify a confidential text; empty if OpenSSL provides no SHA-256.
std::string hashed(const std::string& text);

/// The state of the machine that influences a measurement.
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
