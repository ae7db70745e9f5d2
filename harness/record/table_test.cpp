#include "harness/record/table.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <sstream>

using namespace gsofa;

TEST_CASE("cells show control characters escaped and take their place") {
  text_table table({{.title = "name"}, {.title = "note"}});
  table.add({"a\x1b[2J", "b\nc"});
  std::ostringstream out;
  table.print(out);
  CHECK(out.str() == "name      note\na\\x1b[2J  b c\n");
}

TEST_CASE("columns are aligned and lines end without blanks") {
  text_table t(
      {{.title = "name"}, {.title = "n", .side = text_table::align::right}, {.title = "x"}});
  t.add({"a", "5", ""});
  t.add({"longer", "123", "note"});
  std::ostringstream out;
  t.print(out);
  CHECK(out.str() == "name      n  x\na         5\nlonger  123  note\n");
}

TEST_CASE("numbers") {
  CHECK(with_commas(0) == "0");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(-1000) == "-1,000");
  CHECK(with_commas(1234567) == "1,234,567");
  CHECK(with_commas(std::numeric_limits<long long>::min()) == "-9,223,372,036,854,775,808");
  CHECK(milliseconds(0.0012346) == "1.235");
  CHECK(milliseconds(0.25) == "250.0");
  CHECK(milliseconds(12) == "12000");
}
