// labels: oracle
// program: emulated
// mpi_bitmap_panels on the emulator, in a job of one rank; harness/testing/mpi_panels_test.py has
// several.
#include <doctest/doctest.h>

#include "variants/device/emulated_cases.hpp"

using namespace gsofa;
using namespace gsofa::testing;

TEST_CASE("a job of one rank does all of it") {
  const variant_info& info = find_variant("mpi_bitmap_panels");
  const std::vector<std::string> widths{"64", "3", "8"};
  std::size_t runs = 0;
  int alone = 0;
  for (const subject& s : subjects(30, 90)) {
    CAPTURE(s.name);
    run_settings settings;
    settings.options = option_set(info.options);
    settings.options.set(info.options, "panel_width", widths[++runs % widths.size()]);
    settings.options.set(info.options, "memory_budget_mb", "40");
    settings.wants = runs % 4 == 0 ? want_set(want::counts) : info.gives;
    run_context context;
    const auto v = info.create();
    CHECK(fault(*v, s, settings, context) == "");
    alone += context.derived["alone"] != 0 ? 1 : 0;
  }
  CHECK(alone == 0);
}
