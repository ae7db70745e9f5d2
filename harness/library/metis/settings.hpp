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
  std::size_t reuse = std::size_t{256} << 20;  ///< GSOFA_REUSE, in bytes
};

/// Whether the launcher says that this process is one of several ranks. Their orders must be equal,
/// and a device that fails on one of them would make it compute another one.
bool is_parallel_job();

/// GSOFA_VERBOSE=1.
bool is_verbose();

/// Unknown values are reported once per process, and the defaults are used. Throws std::bad_alloc.
settings read_settings();

/// The program may factorize once: two replicas take 0.77 of the time of four. With one replica,
/// grids in space need twice the operations.
inline constexpr const char* host_order = "cpu_nested_dissection:replicas=2,tries=2";

/// How a graph is ordered if the environment does not say it: by nested dissection, on one thread
/// if the graph is small, else on the processors that this process may use; on a GPU if the graph
/// is large and has no weights.
struct order_plan {
  order_choice order = host_order;
  compute_device device = compute_device::cpu;
  int threads = 1;
};
order_plan plan_for(const settings& s, std::int64_t entries, bool has_weights);

/// Writes "gsofa: `text`" and an end of line to stderr.
void say(const std::string& text);

/// As say(), by the first call of a process with this text.
void say_once(const std::string& text);

}  // namespace gsofa::metis_abi
