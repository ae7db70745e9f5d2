#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gsofa/gsofa.hpp"
#include "harness/library/metis/call_graph.hpp"
#include "harness/library/metis/graph_memory.hpp"
#include "harness/library/metis/settings.hpp"

namespace gsofa::metis_abi {

/// Status of METIS's functions.
inline constexpr int metis_ok = 1, metis_error_input = -2, metis_error_memory = -3,
                     metis_error = -4;

/// The function that a call of `name` would have reached without this library; null if there is
/// none. Searched first in the scope of the library that called, `caller` being an address of its
/// code, then behind this library in the order of the loader's search.
void* hidden_function(const char* name, const void* caller);

/// The file of a library of METIS in this process; empty if there is none.
std::string another_metis();

/// A function that a call hides.
struct hidden {
  const char* name;          ///< as it was called
  void* function;            ///< null: there is none
  const char* set_defaults;  ///< the name of that METIS's METIS_SetDefaultOptions
};

/// Bits of a call's indices, by the METIS_SetDefaultOptions of METIS 5 next to the function that
/// the call hides, which fills option_count of them; 0: the function has another interface, of
/// METIS 4 or of a library that uses a name of METIS for its own purposes.
int index_bits(const hidden& of);

/// Bits of an index where nothing is hidden: 32, or 64 if this library was loaded under the name
/// libgsofa_metis64 or $GSOFA_METIS_INDEX_BITS is 64.
int default_index_bits();

/// Whether a program has called a function of this library.
inline std::atomic<bool> was_called = false;

/// One call: its graph and where the order goes.
template <class Index>
struct order_call {
  const char* name;  ///< as it was called
  call_arguments<Index> arguments;
  Index* perm;
  Index* iperm;
  int tree_levels = 0;
  Index* sizes = nullptr;

  [[nodiscard]] bool is_valid() const {
    return is_graph(arguments) && (arguments.n == 0 || (perm != nullptr && iperm != nullptr));
  }
};

template <class Index>
void say_ignored_options(const order_call<Index>& c) {
  const Index* const options = c.arguments.options;
  if (options == nullptr) return;
  std::string ignored;
  for (std::size_t k = 0; k < option_count; ++k) {
    const bool known = k == numbering_5_1 || k == numbering_5_2 || k == seed_5_1;
    if (known || options[k] == -1) continue;
    ignored += " " + std::to_string(k) + "=" + std::to_string(options[k]);
  }
  if (ignored.empty()) return;
  static std::atomic_flag said;
  if (!said.test_and_set()) say(std::string(c.name) + " ignores options of METIS:" + ignored);
}

/// GSOFA_REUSE=adapt: adapts the order of the last graph to this one, or computes a new order.
/// Calls of other threads meanwhile get new orders. Throws as order() does.
template <class Index>
pattern_order adapted_order(const call_graph<Index>& g, const order_options& o) {
  static constinit std::mutex mutex;
  static constinit analyzer* by = nullptr;  // never destroyed
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) return order(g.view(), o);
  if (by == nullptr) by = new analyzer;
  analysis_options& options = by->options();
  options.order = o.order;
  options.purpose = o.purpose;
  options.device = o.device;
  options.threads = o.threads;
  options.match = false;
  const analysis& found = by->update(g.view());
  pattern_order out;
  out.permutation = found.row_order;
  out.order = found.order;
  if (found.update.kind != order_change::new_order) out.order += ", adapted";
  return out;
}

/// The order that the environment names or else the automatic one; that one, too, if this build or
/// this machine lacks the named order, except in a job of several ranks. Throws as order() does.
template <class Index>
pattern_order find_order(const order_call<Index>& c, const call_graph<Index>& g, const settings& s,
                         order_options o) {
  const bool adapts = s.adapts && o.weights.empty() && o.seed == -1 && c.tree_levels <= 1;
  const auto found = [&] { return adapts ? adapted_order(g, o) : order(g.view(), o); };
  if (s.order && o.weights.empty()) {  // a named order may take no weights
    const order_options unnamed = o;
    o.order = *s.order;
    if (o.order == order_method::gpu_nested_dissection) o.device = compute_device::gpu;
    try {
      return found();
    } catch (const analysis_error& e) {
      if (is_parallel_job() || e.kind() == failure::out_of_memory) throw;
      say_once(std::string(c.name) + ": " + e.what() + ": the default order is used");
    }
    o = unnamed;
    o.device = compute_device::cpu;
  }
  return found();
}

/// METIS writes the sum of the weights of each node, and no sizes of a tree of one node.
template <class Index>
void write_sizes(const order_call<Index>& c, const pattern_order& o) {
  if (c.tree_levels <= 1) return;
  // The nodes in the order of their vertices: left subtree, right subtree, separator.
  std::size_t next = 0;
  const auto visit = [&](const auto& self, std::size_t depth, std::size_t k) -> void {
    const auto levels = static_cast<std::size_t>(c.tree_levels);
    if (depth + 1 < levels) {
      self(self, depth + 1, 2 * k);
      self(self, depth + 1, 2 * k + 1);
    }
    const std::size_t node = (std::size_t{1} << levels) - (std::size_t{2} << depth) + k;
    const auto vertices = static_cast<std::size_t>(o.tree_sizes[node]);
    std::int64_t sum = 0;
    for (const std::size_t end = next + vertices; next < end; ++next) {
      const Index* const weight = c.arguments.vwgt;
      sum += weight == nullptr ? 1 : weight[o.permutation[next]];
    }
    c.sizes[node] =
        static_cast<Index>(std::min<std::int64_t>(sum, std::numeric_limits<Index>::max()));
  };
  visit(visit, 0, 0);
}

template <class Index>
void write_order(const order_call<Index>& c, const pattern_order& o) {
  const Index base = numbering(c.arguments.options);
  for (std::size_t k = 0; k < o.permutation.size(); ++k) {
    const Index vertex = o.permutation[k];
    c.perm[k] = vertex + base;
    c.iperm[vertex] = static_cast<Index>(k) + base;
  }
  if (c.sizes != nullptr) write_sizes(c, o);
}

/// The lines of GSOFA_VERBOSE=1. threads: 0: the order was remembered.
template <class Index>
void report(const order_call<Index>& c, const pattern_order& found, int threads, double seconds) {
  say_ignored_options(c);
  const call_arguments<Index>& a = c.arguments;
  const std::string how = threads > 0 ? "threads " + std::to_string(threads) : "remembered";
  std::array<char, 256> line{};
  std::snprintf(line.data(), line.size(), "%s: n %lld, %lld entries%s, %s, %s, %s, %.3g s", c.name,
                static_cast<long long>(a.n), static_cast<long long>(entries_of(a)),
                has_weights(a) ? ", weights" : "", found.order.c_str(),
                found.order.starts_with("gpu_") ? "gpu" : "cpu", how.c_str(), seconds);
  say(line.data());
}

/// The order by libgsofa, and its threads.
template <class Index>
std::pair<pattern_order, int> new_order(const order_call<Index>& c, const settings& s) {
  const call_graph<Index> g(c.arguments);
  const std::vector<std::int32_t> weights = order_weights(c.arguments);
  order_options o;
  o.purpose = {.factorizations = s.factorizations, .kind = factorization_kind::supernodal};
  // A device finds the same order; ranks would each begin to use it.
  o.device = is_parallel_job() ? compute_device::cpu : compute_device::automatic;
  o.threads = threads_for(s, entries_of(c.arguments));
  o.weights = weights;
  o.seed = seed(c.arguments.options);
  o.tree_levels = c.tree_levels;
  o.layout = tree_layout::nested;
  return {find_order(c, g, s, o), o.threads};
}

template <class Index>
void order_graph(const order_call<Index>& c, const settings& s) {
  const auto begin = std::chrono::steady_clock::now();
  const call_arguments<Index>& a = c.arguments;
  const std::array<std::int64_t, 6> numbers{sizeof(Index), numbering(a.options), seed(a.options),
                                            c.tree_levels, is_parallel_job(),    s.adapts};
  const auto bytes = [](const auto* first, std::size_t size) {
    return std::as_bytes(std::span(first, first == nullptr ? 0 : size));
  };
  const auto n = static_cast<std::size_t>(a.n);
  const order_key key{bytes(numbers.data(), numbers.size()),
                      std::as_bytes(std::span(variable("GSOFA_ORDER"))),
                      std::as_bytes(std::span(variable("GSOFA_FACTORIZATIONS"))),
                      bytes(a.xadj, n == 0 ? 0 : n + 1),
                      bytes(a.adjncy, static_cast<std::size_t>(entries_of(a))),
                      bytes(a.vwgt, n)};
  const auto answer = [&](const pattern_order& o, int threads) {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (s.verbose) report(c, o, threads, taken.count());
    // A device that failed may work next time.
    if (threads > 0 && o.fallback.empty()) remember(key, o, s.reuse);
    // Nothing below may fail: an error means that nothing was written.
    write_order(c, o);
  };
  if (const auto known = remembered_order(key, s.reuse)) return answer(*known, 0);
  const auto [made, threads] = new_order(c, s);
  answer(made, threads);
}

/// The status of a call. `hidden` is the function that it hides, or null; `original` calls it with
/// the caller's arguments.
template <class Index, class Original>
int run(const order_call<Index>& c, void* hidden, const Original& original) noexcept {
  try {
    const settings s = read_settings();
    if (s.off || !c.is_valid()) {
      if (hidden != nullptr) return original();
      say_once(std::string(c.name) + ": " + (s.off ? "GSOFA_METIS is off" : "no graph") +
               ", and there is no other METIS to call");
      return metis_error_input;
    }
    order_graph(c, s);
    return metis_ok;
  } catch (const std::bad_alloc&) {
    return metis_error_memory;
  } catch (const analysis_error& e) {
    if (e.kind() == failure::out_of_memory) return metis_error_memory;
    std::fprintf(stderr, "gsofa: %s: %s\n", c.name, e.what());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gsofa: %s: %s\n", c.name, e.what());
  }
  return metis_error;
}

}  // namespace gsofa::metis_abi
