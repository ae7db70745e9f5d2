#include "harness/run/machine.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <thread>

#include "common/cuda_device.hpp"
#include "common/error.hpp"
#include "common/process.hpp"
#include "common/sha256.hpp"

namespace gsofa {

namespace {

std::string first_value(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// At most `wanted` threads, this one among them, that the system lets the process have at once: a
// limit on the processes of a user (ulimit -u) or of a container allows fewer.
int startable_threads(int wanted) {
  std::atomic<bool> enough{false};
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(wanted));
  try {
    while (std::ssize(others) + 1 < wanted) {
      others.emplace_back([&] { enough.wait(false); });
    }
  } catch (const std::exception&) {
    // As many as there are.
  }
  enough.store(true);
  enough.notify_all();
  for (std::thread& t : others) t.join();
  return static_cast<int>(others.size()) + 1;
}

// /proc/self/status gives kibibytes.
std::optional<std::int64_t> status_bytes(const std::string& key) {
  const std::string text = first_value("/proc/self/status", key);
  if (text.empty()) return std::nullopt;
  return std::int64_t{1024} * std::strtoll(text.c_str(), nullptr, 10);
}

std::string first_line(const char* file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace

std::string identity_of(const machine_parts& parts) {
  std::string known = parts.machine_id + "\n" + parts.board;
  for (const std::string& uuid : parts.gpus) known += "\n" + uuid;
  if (known == "\n") known = "\n\n" + parts.host;
  // Kernels of different versions keep different parts of a GiB for themselves. Some virtual
  // machines with GPUs grow their memory as it is used.
  const std::int64_t gib = parts.gpus.empty() ? (parts.memory + (std::int64_t{1} << 29)) >> 30 : 0;
  return hashed(known + "\n" + parts.cpu + "\n" + std::to_string(gib));
}

std::string hashed(const std::string& text) {
  try {
    return sha256_hex(text).substr(0, 16);
  } catch (const error&) {
    return "";
  }
}

const machine_info& this_machine() {
  static const machine_info info = [] {
    machine_info m;
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) == 0) m.host = name.data();
    m.cpu = first_value("/proc/cpuinfo", "model name");
    m.hardware_threads = startable_threads(usable_processors());
    m.online_threads = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    m.microcode = first_value("/proc/cpuinfo", "microcode");
    m.id = identity_of({.machine_id = first_line("/etc/machine-id"),
                        .board = first_line("/sys/class/dmi/id/product_uuid"),
                        .host = m.host,
                        .cpu = m.cpu,
                        .memory = sysconf(_SC_PHYS_PAGES) * std::int64_t{sysconf(_SC_PAGESIZE)},
                        .gpus = nvml::all_uuids()});
    return m;
  }();
  return info;
}

machine_state current_state() {
  machine_state s;
  s.load = std::strtod(first_line("/proc/loadavg").c_str(), nullptr);
  s.cpu_mhz = std::strtod(first_value("/proc/cpuinfo", "cpu MHz").c_str(), nullptr);
  std::vector<std::string> uuids;
  for (const cuda_device& d : find_cuda_devices().devices) uuids.push_back(d.uuid);
  s.gpus = nvml::states_of(uuids);
  return s;
}

void memory_meter::start() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  base_ = status_bytes("VmRSS:");
  rearm();
}

void memory_meter::rearm() {
  std::ofstream out("/proc/self/clear_refs");
  out << "5";  // sets the high-water mark VmHWM to the current size
}

std::optional<std::int64_t> memory_meter::peak() const {
  const auto high = status_bytes("VmHWM:");
  if (!base_ || !high) return std::nullopt;
  return std::max<std::int64_t>(0, *high - *base_);
}

}  // namespace gsofa
