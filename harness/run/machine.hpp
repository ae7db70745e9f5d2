#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gsofa {

/// The host that a record was measured on.
struct machine_info {
  std::string host;
  std::string cpu;
  int hardware_threads = 1;  ///< those this process may use (affinity mask)
};
const machine_info& this_machine();

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
