#include "harness/run/gpu_state.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

namespace gsofa::nvml {

namespace {

// The part of NVML's documented interface that is used here; it is loaded at run time, so that the
// program needs no driver to start.
using device = void*;
constexpr int success = 0;
enum clock_kind : int { clock_sm = 1, clock_memory = 2 };
constexpr int sensor_of_gpu = 0;

struct library {
  int (*init)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, device*) = nullptr;
  int (*by_uuid)(const char*, device*) = nullptr;
  int (*uuid)(device, char*, unsigned) = nullptr;
  int (*clock)(device, int, unsigned*) = nullptr;
  int (*temperature)(device, int, unsigned*) = nullptr;
  bool usable = false;

  library() {
    void* handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    bool found = true;
    auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      found = found && function != nullptr;
    };
    load(init, "nvmlInit_v2");
    load(driver_version, "nvmlSystemGetDriverVersion");
    load(count, "nvmlDeviceGetCount_v2");
    load(by_index, "nvmlDeviceGetHandleByIndex_v2");
    load(by_uuid, "nvmlDeviceGetHandleByUUID");
    load(uuid, "nvmlDeviceGetUUID");
    load(clock, "nvmlDeviceGetClockInfo");
    load(temperature, "nvmlDeviceGetTemperature");
    usable = found && init() == success;
  }
};

const library& the_library() {
  static const library loaded;
  return loaded;
}

}  // namespace

const std::string& driver_version() {
  static const std::string version = [] {
    std::array<char, 96> text{};
    const library& l = the_library();
    const bool known = l.usable && l.driver_version(text.data(), text.size() - 1) == success;
    return known ? std::string(text.data()) : std::string();
  }();
  return version;
}

const std::vector<std::string>& all_uuids() {
  static const std::vector<std::string> uuids = [] {
    std::vector<std::string> found;
    const library& l = the_library();
    unsigned devices = 0;
    if (!l.usable || l.count(&devices) != success) return found;
    for (unsigned k = 0; k < devices; ++k) {
      device d = nullptr;
      std::array<char, 97> text{};
      if (l.by_index(k, &d) == success && l.uuid(d, text.data(), text.size() - 1) == success)
        found.emplace_back(text.data());
    }
    std::ranges::sort(found);
    return found;
  }();
  return uuids;
}

std::vector<gpu_state> states_of(const std::vector<std::string>& uuids) {
  std::vector<gpu_state> states(uuids.size());
  const library& l = the_library();
  if (!l.usable) return states;
  for (std::size_t k = 0; k < uuids.size(); ++k) {
    device d = nullptr;
    if (l.by_uuid(uuids[k].c_str(), &d) != success) continue;
    gpu_state& s = states[k];
    if (l.clock(d, clock_sm, &s.sm_mhz) != success) s.sm_mhz = 0;
    if (l.clock(d, clock_memory, &s.memory_mhz) != success) s.memory_mhz = 0;
    if (l.temperature(d, sensor_of_gpu, &s.celsius) != success) s.celsius = 0;
  }
  return states;
}

}  // namespace gsofa::nvml
