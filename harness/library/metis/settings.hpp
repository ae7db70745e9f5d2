#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gsofa/gsofa.hpp"

namespace gsofa::metis_abi {

/// The value of an environment variable; empty if it is not set.
std::string_view variable(const char* name);

/// What the environment says (README.md). Read anew by every call.
struct settings {
  bool off = false;                            ///< GSOFA_METIS=off
  bool verbose = false;                        ///< GSOFA_VERBOSE=1
  std::optional<order_choice> order;           ///< GSOFA_ORDER
  int threads = 0;                             ///< GSOFA_THREADS; 0: not set
  int factorizations = 1;                      ///< GSOFA_FACTORIZATIONS
  std::size_t reuse = std::size_t{256} << 20;  ///< GSOFA_REUSE, in bytes
  bool adapts = false;                         ///< GSOFA_REUSE=adapt
};

/// Whether the launcher says that this process is one of several ranks. Their orders must be equal,
/// and a device that fails on one of them would make it compute another one.
bool is_parallel_job();

/// GSOFA_VERBOSE=1.
bool is_verbose();

/// Unknown values are reported once per process, and the defaults are used. Throws std::bad_alloc.
settings read_settings();

/// Threads for a graph if the environment does not say it: one if the graph is small.
int threads_for(const settings& s, std::int64_t entries);

/// Writes "gsofa: `text`" and an end of line to stderr.
void say(const std::string& text);

/// As say(), by the first call of a process with this text.
void say_once(const std::string& text);

}  // namespace gsofa::metis_abi
