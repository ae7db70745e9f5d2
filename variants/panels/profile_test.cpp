// labels: oracle
#include <doctest/doctest.h>

#include "common/factor_profile.hpp"
#include "common/variant.hpp"
#include "harness/check/test_patterns.hpp"
#include "reference/gaussian_elimination.hpp"

using namespace gsofa;

namespace {

// By the definition, entry by entry.
factor_profile expected_of(const pattern& filled, index_t cells) {
  const index_t n = filled.n_rows;
  factor_profile out{.l_col_counts = std::vector<index_t>(at(n), 0), .cells = cells, .density = {}};
  out.density.assign(at(cells) * at(cells), 0);
  for (index_t i = 0; i < n; ++i) {
    for (const index_t j : filled.row(i)) {
      if (j < i) ++out.l_col_counts[at(j)];
      if (cells == 0) continue;
      const offset_t row = offset_t{i} * cells / n;
      const offset_t column = offset_t{j} * cells / n;
      ++out.density[at(row * cells + column)];
    }
  }
  return out;
}

}  // namespace

TEST_CASE("column counts and density are those of Gaussian elimination, from masks and from rows") {
  std::vector<named_pattern> patterns = special_patterns();
  for (std::uint64_t k = 0; k < 400; ++k) patterns.push_back(random_pattern(29, k));
  const variant_info& info = find_variant("cpu_bitmap_panels");
  for (const auto& [name, a] : patterns) {
    CAPTURE(name);
    const pattern filled = reference::eliminate_boolean(a);
    // Without any room for masks rows are searched.
    for (const char* budget : {"4096", "0"}) {
      for (const char* width : {"64", "5"}) {
        CAPTURE(budget);
        CAPTURE(width);
        run_settings settings = settings_with(
            info, want::counts, {{"memory_budget_mb", budget}, {"panel_width", width}});
        run_context context;
        const auto v = info.create();
        v->prepare(a, settings, context);
        run_timed(*v, context);
        for (const index_t cells : {0, 1, 3, 7, a.n_rows}) {
          if (cells > a.n_rows) continue;
          CAPTURE(cells);
          const factor_profile expected = expected_of(filled, cells);
          const factor_profile found = v->profile(cells);
          CHECK(found.cells == cells);
          CHECK(found.l_col_counts == expected.l_col_counts);
          CHECK(found.density == expected.density);
        }
      }
    }
  }
}

TEST_CASE("cells are ranges, none empty") {
  for (const index_t n : {1, 2, 7, 64, 1000, 2147483647}) {
    for (const index_t cells : {1, 2, 7, 480}) {
      if (cells > n) continue;
      CHECK(first_of_cell(0, n, cells) == 0);
      CHECK(first_of_cell(cells, n, cells) == n);
      for (index_t c = 0; c < cells; ++c) {
        const index_t first = first_of_cell(c, n, cells);
        CHECK(cell_of(first, n, cells) == c);
        if (first > 0) CHECK(cell_of(first - 1, n, cells) == c - 1);
      }
    }
  }
}
