// labels: oracle
// program: emulated
// gpu_diagonal_blocks on the emulator.
#include "variants/blocks/gpu_diagonal_blocks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/generators.hpp"
#include "common/random.hpp"
#include "variants/device/emulated_cases.hpp"

using namespace gsofa;
using namespace gsofa::testing;

namespace {

pattern direct_sum(const std::vector<pattern>& parts) {
  pattern out;
  for (const pattern& p : parts) {
    for (index_t i = 0; i < p.n_rows; ++i) {
      for (const index_t j : p.row(i)) out.col_idx.push_back(out.n_rows + j);
      out.row_ptr.push_back(static_cast<offset_t>(out.col_idx.size()));
    }
    out.n_rows = out.n_cols = out.n_rows + p.n_rows;
  }
  return out;
}

// Diagonal, dense, arrows, triangles, random entries, banded.
pattern block_of(std::uint64_t kind, index_t n, std::uint64_t seed) {
  const std::string order = "n=" + std::to_string(n);
  switch (kind % 8) {
    case 0:
      return generate("diagonal:" + order);
    case 1:
      return generate("dense:" + order);
    case 2:
      return generate("arrow:tip=first," + order);
    case 3:
      return generate("banded:lower=3,upper=0," + order);
    case 4:
      return generate("banded:lower=0,upper=2," + order);
    case 5:
      return generate("banded:lower=1,upper=40," + order);
    case 6:
      return generate("random:degree=2,seed=" + std::to_string(seed % 1000) + "," + order);
    default:
      return generate("random:degree=4,seed=" + std::to_string(seed % 1000) + "," + order);
  }
}

pattern random_sum(random_source& random) {
  static const std::vector<index_t> sizes{1, 2, 3, 31, 32, 33, 63, 64, 65};
  std::vector<pattern> parts;
  const auto count = random.between(1, 5);
  for (std::int64_t k = 0; k < count; ++k) {
    const std::uint64_t kind = random.below(12);
    if (kind >= 8) {
      pattern p = random_pattern(11, random.below(1000)).a;
      if (p.n_rows <= 70) parts.push_back(std::move(p));
      continue;
    }
    const index_t n = sizes[random.below(sizes.size())];
    parts.push_back(block_of(kind, n, random()));
  }
  if (parts.empty()) parts.push_back(generate("dense:n=33"));
  return direct_sum(parts);
}

run_settings settings_of(const variant_info& info, std::uint64_t k) {
  run_settings settings = settings_for(info, k);
  if (k % 3 == 0) settings.wants = info.gives.without(want::pattern);
  if (k % 11 == 0) settings.wants = want::counts;
  settings.chunk_size = static_cast<index_t>(k % 7 == 0 ? 0 : k % 7 == 1 ? 128 : k % 7);
  return settings;
}

}  // namespace

TEST_CASE("direct sums of blocks of all kinds and of sizes next to a word") {
  const variant_info& info = find_variant("gpu_diagonal_blocks");
  random_source random(3);
  std::map<std::string, int> seen;
  for (std::uint64_t k = 0; k < 240; ++k) {
    CAPTURE(k);
    const subject s = subject_of(random_sum(random), "");
    simt::emulator::set_seed(k);
    gpu::block_tuning tuning;
    if (k % 2 == 0) tuning.most_words = 340;
    if (k % 4 == 1) tuning.most_entries = 100;
    run_context context;
    const auto v = gpu::make_diagonal_blocks(tuning);
    CHECK(fault(*v, s, settings_of(info, k), context) == "");
    seen["blocks"] += context.derived["blocks"] > 2 ? 1 : 0;
    seen["several batches"] += context.derived["batches"] > 1 ? 1 : 0;
    const auto rest = context.derived["blocks_for_panels"];
    seen["some for panels"] += rest > 0 && rest < context.derived["blocks"] ? 1 : 0;
    seen["all for panels"] += rest == context.derived["blocks"] ? 1 : 0;
    seen["none for panels"] += rest == 0 ? 1 : 0;
  }
  CHECK(seen["blocks"] > 100);
  CHECK(seen["several batches"] > 10);
  CHECK(seen["some for panels"] > 20);
  CHECK(seen["all for panels"] > 10);
  CHECK(seen["none for panels"] > 80);
}

TEST_CASE("blocks of more words than lanes") {
  const variant_info& info = find_variant("gpu_diagonal_blocks");
  std::uint64_t k = 0;
  for (const std::string spec :
       {"batch:count=2,least=1020,most=1060", "batch:count=1,least=2048,most=2048",
        "batch:count=1,least=1200,most=1200,kind=circuit,oneway=0.4", "arrow:n=1025,tip=last",
        "banded:n=1100,lower=0,upper=3", "batch:count=3,least=1,most=2048,seed=7"}) {
    CAPTURE(spec);
    const subject s = subject_of(generate(spec), spec);
    run_settings settings;
    settings.options = option_set(info.options);
    settings.wants = k++ % 2 == 0 ? info.gives : info.gives.without(want::pattern);
    run_context context;
    const auto v = info.create();
    CHECK(fault(*v, s, settings, context) == "");
    CHECK(context.derived["blocks_for_panels"] == 0);
  }
}

TEST_CASE("cuts are those that no entry crosses, small blocks of 32 rows joined") {
  const variant_info& info = find_variant("gpu_diagonal_blocks");
  const auto blocks = [&](const pattern& a) {
    run_settings settings;
    settings.options = option_set(info.options);
    run_context context;
    const auto v = info.create();
    v->prepare(a, settings, context);
    static_cast<void>(run_once(*v, want::counts, context));
    return context.derived["blocks"];
  };
  CHECK(blocks(generate("diagonal:n=1")) == 1);
  // Rows 0 .. 30, and row 31, in each of ten times 32 rows.
  CHECK(blocks(generate("diagonal:n=320")) == 20);
  CHECK(blocks(generate("tridiagonal:n=320")) == 1);
  CHECK(blocks(generate("batch:count=30,least=40,most=90")) == 30);
  // One entry from the last row to the first crosses all cuts.
  pattern corner = generate("diagonal:n=320");
  corner.col_idx.insert(corner.col_idx.end() - 1, 0);
  ++corner.row_ptr.back();
  CHECK(blocks(corner) == 1);
}
