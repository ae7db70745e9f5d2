#pragma once

#include <cstdint>
#include <string>

#include "gsofa/gsofa.hpp"

namespace gsofa::metis_abi {

/// What the environment says (README.md). Read anew by every call.
struct settings {
  bool off = false;      ///< GSOFA_METIS=off
  bool verbose = false;  ///< GSOFA_VERBOSE=1
  order_method method = order_method::automatic;
  int threads = 0;  ///< GSOFA_THREADS; 0: not set
};

/// Unknown values are reported once per process, and the defaults are used. Throws std::bad_alloc.
settings read_settings();

/// Threads of the order of a graph: those of the setting, else 1 for a small graph, else the
/// processors that this process may use.
int threads_for(const settings& s, std::int64_t entries);

/// The device of the order of a graph. A GPU orders a large graph, and any graph if GSOFA_ORDER
/// names gpu_nested_dissection.
compute_device device_for(const settings& s, std::int64_t entries);

/// Writes "gsofa: `text`" and an end of line to stderr.
void say(const std::string& text);

/// As say(), by the first call of a process with this text.
void say_once(const std::string& text);

}  // namespace gsofa::metis_abi
