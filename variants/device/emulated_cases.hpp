#pragma once

/// Inputs and settings for tests of the GPU variants on the emulator.

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/variant.hpp"
#include "harness/check/test_patterns.hpp"
#include "reference/row_union.hpp"
#include "reference/verify_result.hpp"
#include "variants/device/simt.hpp"

namespace gsofa::testing {

/// The emulator switches threads at accesses while an object of this class lives.
class interleaving {
 public:
  explicit interleaving(unsigned accesses) { simt::emulator::switch_at_accesses(accesses); }
  ~interleaving() { simt::emulator::switch_at_accesses(0); }
  interleaving(const interleaving&) = delete;
  interleaving& operator=(const interleaving&) = delete;
};

/// A pattern with its L+U.
struct subject {
  pattern a;
  std::string name;
  reference::truth truth;
};

inline subject subject_of(pattern a, std::string name) {
  auto truth = reference::make_truth(reference::row_union(a));
  return {std::move(a), std::move(name), std::move(truth)};
}

/// Special shapes and random patterns up to an order.
inline std::vector<subject> subjects(std::uint64_t random_patterns, index_t largest) {
  std::vector<named_pattern> all = special_patterns();
  for (std::uint64_t k = 0; k < random_patterns; ++k) all.push_back(random_pattern(7, k));
  std::vector<subject> out;
  for (auto& p : all) {
    if (p.a.n_rows > largest) continue;
    out.push_back(subject_of(std::move(p.a), p.name));
  }
  return out;
}

/// Runs the variant twice; returns the first difference from the truth, or "".
inline std::string fault(variant& v, const subject& s, const run_settings& settings,
                         run_context& context) {
  v.prepare(s.a, settings, context);
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto compared = reference::compare_in_order(
        s.a, s.truth, run_once(v, settings.wants, context), settings.wants, settings.chunk_size);
    if (!compared.ok) return compared.reason;
  }
  return "";
}

/// Whether a variant with its defaults is wrong on a pattern.
inline bool is_wrong(const variant_info& info, const subject& s, std::uint64_t seed) {
  simt::emulator::set_seed(seed);
  run_settings settings = settings_with(info, info.gives, {{"memory_budget_mb", "40"}});
  run_context context;
  const auto v = info.create();
  return !fault(*v, s, settings, context).empty();
}

/// The k-th settings of a variant: each option takes one of its values for tests.
inline run_settings settings_for(const variant_info& info, std::uint64_t k) {
  run_settings settings = settings_with(info, info.gives);
  settings.chunk_size = static_cast<index_t>(k % 5);
  for (const auto& option : info.options) {
    const auto& list = option.tested;
    if (!list.empty()) settings.options.set(info.options, option.name, list[k % list.size()]);
    k = k * 7 + 3;
  }
  return settings;
}

/// Checks every GPU variant except planted ones on every pattern, with settings that change from
/// pattern to pattern. Calls begin(k) before pattern k and keeps its result until pattern k is
/// done.
template <class Begin>
void check_gpu_variants(const std::vector<subject>& patterns, Begin&& begin) {
  int variants = 0;
  for (const variant_info& info : all_variants()) {
    if (info.device != "gpu" || !info.planted.empty()) continue;
    ++variants;
    CAPTURE(info.name);
    for (std::size_t k = 0; k < patterns.size(); ++k) {
      CAPTURE(patterns[k].name);
      CAPTURE(k);
      simt::emulator::set_seed(k);
      [[maybe_unused]] const auto alive = begin(k);
      run_context context;
      const auto v = info.create();
      CHECK(fault(*v, patterns[k], settings_for(info, k), context) == "");
    }
  }
  CHECK(variants >= 11);
}

}  // namespace gsofa::testing
