#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "common/generators.hpp"
#include "common/mask_pattern.hpp"
#include "common/preprocess.hpp"
#include "common/variant.hpp"
#include "harness/check/test_patterns.hpp"

using namespace gsofa;

namespace {

// Rows of L (strictly lower) and of U (with the diagonal), sorted, from masks.
std::pair<pattern, pattern> rows_of(const mask_pattern& m) {
  const index_t n = m.begin.back();
  triplets lower{n, n, {}, {}}, upper{n, n, {}, {}};
  for (index_t i = 0; i < n; ++i) {
    upper.rows.push_back(i);
    upper.cols.push_back(i);
  }
  for (index_t p = 0; p < m.panels(); ++p) {
    const index_t b = m.begin[at(p)];
    for (auto z = at(m.position_begin[at(p)]); z < at(m.position_begin[at(p) + 1]); ++z) {
      const index_t f = m.vertices[z];
      for (index_t c = b; c < m.begin[at(p) + 1]; ++c) {
        if ((m.masks[2 * z] >> (c - b) & 1U) != 0) {
          upper.rows.push_back(c);
          upper.cols.push_back(f);
        }
        if ((m.masks[2 * z + 1] >> (c - b) & 1U) != 0) {
          lower.rows.push_back(f);
          lower.cols.push_back(c);
        }
      }
    }
  }
  return {from_triplets(lower, duplicates::reject), from_triplets(upper, duplicates::reject)};
}

// Whether the run has masks, which are checked against its rows then. `m` is used again.
bool has_masks(const pattern& a, int threads, mask_pattern& m) {
  const variant_info& info = find_variant("cpu_bitmap_panels");
  const auto v = info.create();
  run_context context;
  run_settings settings = settings_with(info, want::pattern);
  settings.threads = threads;
  settings.supernodal = true;
  v->prepare(a, settings, context);
  v->run(context);
  if (!dynamic_cast<gives_masks&>(*v).masks_into(m)) return false;
  REQUIRE(m.begin.back() == a.n_rows);
  const result expected = v->collect(want::pattern);
  const auto [l, u] = rows_of(m);
  CHECK(l == expected.l);
  CHECK(u == expected.u);
  return true;
}

}  // namespace

TEST_CASE("masks of cpu_bitmap_panels are its rows, into arrays that are used again") {
  mask_pattern m;
  int found = 0;
  std::vector<named_pattern> patterns = special_patterns();
  for (std::uint64_t k = 0; k < 300; ++k) patterns.push_back(random_pattern(23, k));
  for (const auto& [name, a] : patterns) {
    CAPTURE(name);
    if (a.n_rows > 0 && has_masks(a, 1, m)) ++found;
  }
  CHECK(found > 50);
}

TEST_CASE("masks of a run of several threads") {
  // Of a postorder, so that vertices keep their numbers; enough entries for several threads.
  for (const char* spec : {"grid5:nx=200,drop=0.1,seed=2", "elasticity3d:nx=10"}) {
    CAPTURE(spec);
    pattern a = generate(spec);
    const auto order = postorder(elimination_tree(symmetrized(a, diagonal::drop)));
    a = permute(a, order, order);
    CHECK(a.nnz() >= 5 << 15);
    mask_pattern m;
    for (const int threads : {1, 4}) CHECK(has_masks(a, threads, m));
  }
}
