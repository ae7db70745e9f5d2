// labels: oracle
#include <doctest/doctest.h>

#include "common/variant.hpp"
#include "harness/check/test_patterns.hpp"
#include "reference/certificate.hpp"
#include "reference/gaussian_elimination.hpp"
#include "reference/verify_result.hpp"

using namespace gsofa;

namespace {

// What the oracles say of a variant's result on one pattern; "" if they agree.
std::string fault(const variant_info& info, const pattern& a, const reference::truth& truth,
                  const run_settings& settings) {
  run_context context;
  const auto instance = info.create();
  instance->prepare(a, settings, context);
  for (int repeat = 0; repeat < 2; ++repeat) {
    const result got = run_once(*instance, settings.wants, context);
    const auto compared =
        reference::compare_in_order(a, truth, got, settings.wants, settings.chunk_size);
    if (!compared.ok) return compared.reason;
    if (!settings.wants.has(want::pattern)) continue;
    const auto certified =
        reference::check_certificate(reference::pattern_of(a, got), got.l, got.u, 1);
    if (!certified.ok) return certified.reason;
  }
  return "";
}

}  // namespace

TEST_CASE("every exact variant agrees with Gaussian elimination; every planted one is found out") {
  std::vector<named_pattern> patterns = special_patterns();
  for (std::uint64_t k = 0; k < 150; ++k) patterns.push_back(random_pattern(2026, k));
  std::vector<reference::truth> truths;
  for (const auto& p : patterns) {
    truths.push_back(reference::make_truth(reference::eliminate_boolean(p.a)));
  }
  int variants = 0;
  for (const variant_info& info : all_variants()) {
    if (info.unavailable() || !info.exact || info.fatal) continue;
    CAPTURE(info.name);
    ++variants;
    int rejected = 0;
    for (std::size_t k = 0; k < patterns.size(); ++k) {
      for (const int threads : {1, 3}) {
        if (threads > 1 && !info.multithreaded) continue;
        run_settings settings = settings_with(info, info.gives);
        settings.threads = threads;
        settings.chunk_size = static_cast<index_t>(k % 5);
        const std::string found = fault(info, patterns[k].a, truths[k], settings);
        if (info.planted.empty()) {
          CAPTURE(patterns[k].name);
          CHECK(found == "");
        }
        rejected += found.empty() ? 0 : 1;
      }
    }
    if (!info.planted.empty()) CHECK(rejected > 0);
  }
  CHECK(variants >= 13);
}
