// labels: oracle
// program: emulated device
// Supernodes of columns by gpu_bitmap_panels, on a device or on the emulator.
#include <doctest/doctest.h>

#include "common/preprocess.hpp"
#include "common/supernodal.hpp"
#include "harness/check/test_patterns.hpp"
#include "reference/gaussian_elimination.hpp"
#include "variants/device/simt.hpp"
#include "variants/panels/runs/settings.hpp"

using namespace gsofa;

namespace {

struct factors {
  pattern l, u;
};

factors factors_of(const pattern& a) {
  const pattern filled = reference::eliminate_boolean(a);
  factors out;
  out.l.n_rows = out.l.n_cols = out.u.n_rows = out.u.n_cols = a.n_rows;
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : filled.row(i)) (j < i ? out.l : out.u).col_idx.push_back(j);
    out.l.row_ptr.push_back(static_cast<offset_t>(out.l.col_idx.size()));
    out.u.row_ptr.push_back(static_cast<offset_t>(out.u.col_idx.size()));
  }
  return out;
}

pattern postordered(const pattern& a) {
  const auto order = postorder(elimination_tree(symmetrized(a, diagonal::drop)));
  return permute(a, order, order);
}

struct how {
  const char* width;
  want_set wants;
  int threads;
};

// Sets `found`, which is that of another pattern before.
void find(const pattern& a, const how& h, const supernode_rule& rule, run_context& context,
          supernodal_pattern& found) {
  const variant_info& info = find_variant("gpu_bitmap_panels");
  run_settings settings =
      settings_with(info, h.wants, {{"panel_width", h.width}, {"memory_budget_mb", "40"}});
  settings.threads = h.threads;
  settings.supernodal = true;
  const auto v = panels::make_bitmap_panels({});
  v->prepare(a, settings, context);
  run_timed(*v, context);
  v->supernodal_into(rule, found);
}

}  // namespace

TEST_CASE("supernodes from masks on the device are those of Gaussian elimination") {
  std::vector<named_pattern> patterns = special_patterns();
  for (std::uint64_t k = 0; k < 70; ++k) patterns.push_back(random_pattern(53, k));
  const char* const widths[] = {"64", "1", "3", "8", "2"};
  std::uint64_t runs = 0;
  std::size_t relabelled = 0;
  std::size_t relaxed = 0;
  supernodal_pattern found;
  for (const auto& [name, given] : patterns) {
    CAPTURE(name);
    for (const pattern& a : {postordered(given), given}) {
      const auto parent = elimination_tree(symmetrized(a, diagonal::drop));
      const bool leaves = runs % 2 == 0 && &a != &given && runs % 3 != 1;
      std::vector<column_range> fixed;
      pattern padded = a;
      if (leaves && postorder(parent) == [&] {
            std::vector<index_t> natural(at(a.n_rows));
            for (index_t v = 0; v < a.n_rows; ++v) natural[at(v)] = v;
            return natural;
          }()) {
        fixed = relaxed_leaves(parent, 5);
        padded = pad_leaves(a, fixed);
        ++relaxed;
      }
      const factors expected = factors_of(padded);
      for (const index_t most : {0, 3}) {
        const supernode_rule rule{.most_columns = most, .fixed = fixed};
        const char* const width = widths[runs % 5];
        CAPTURE(width);
        CAPTURE(most);
        simt::emulator::set_seed(++runs);
        run_context context;
        const want_set wants = runs % 4 == 0 ? want_set::all() : want_set(want::counts);
        find(padded, {width, wants, 1 + static_cast<int>(runs % 3)}, rule, context, found);
        CHECK(found == supernodal_of(expected.l, expected.u, rule));
        relabelled += context.derived["relabelled"] != 0;
      }
    }
  }
  CHECK(relabelled > 10);
  CHECK(relaxed > 10);
}
