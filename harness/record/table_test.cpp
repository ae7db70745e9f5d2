#include "harness/record/table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <sstream>
#include <string>

#include "harness/run/terminal.hpp"

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

namespace {

text_table timings() {
  using align = text_table::align;
  text_table t({{.title = "variant"},
                {.title = "status", .status = true},
                {.title = "median ms", .side = align::right},
                {.title = "min ms", .side = align::right, .leave_out = 2},
                {.title = "nnz_l", .side = align::right, .leave_out = 1},
                {.title = "note", .words = true}});
  t.add({"cpu_fill1", "pass", "12.34", "11.22", "1,234,567", "by oracle"});
  t.add({"gpu_fill1", "skipped", "-", "-", "-", "no CUDA device: the driver is not installed"});
  return t;
}

std::string printed(const text_table& t, std::size_t width, bool colours = false) {
  std::ostringstream out;
  t.print(out, width, colours);
  return out.str();
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) widest = std::max(widest, display_width(line));
  return widest;
}

}  // namespace

TEST_CASE("a table that is too wide loses words first, then the least important columns") {
  const text_table t = timings();
  const std::string whole = printed(t, 0);
  CHECK(whole.find("the driver is not installed") != std::string::npos);
  CHECK(printed(t, widest_line(whole)) == whole);

  const std::string words = printed(t, 80);
  CHECK(widest_line(words) <= 80);
  CHECK(words.find("no CUDA device: the") != std::string::npos);
  CHECK(words.find("…") != std::string::npos);
  CHECK(words.find("min ms") != std::string::npos);

  const std::string narrow = printed(t, 60);
  CHECK(widest_line(narrow) <= 60);
  CHECK(narrow.find("(no room for min ms)") != std::string::npos);
  CHECK(narrow.find("1,234,567") != std::string::npos);
  CHECK(narrow.find("11.22") == std::string::npos);
}

TEST_CASE("numbers and names are whole at every width") {
  const text_table t = timings();
  for (std::size_t width = 1; width < 120; ++width) {
    const std::string text = printed(t, width);
    CAPTURE(width);
    CHECK(text.find("cpu_fill1  pass") != std::string::npos);
    CHECK(text.find("12.34") != std::string::npos);
    if (text.find("nnz_l\n") == std::string::npos && text.find("nnz_l  ") != std::string::npos) {
      CHECK(text.find("1,234,567") != std::string::npos);
    }
    if (width >= 52) CHECK(widest_line(text) <= width);
  }
}

TEST_CASE("statuses alone have colours, which take no room") {
  const std::string text = printed(timings(), 0, true);
  CHECK(text.find("\x1b[32mpass\x1b[0m   ") != std::string::npos);
  CHECK(text.find("\x1b[2mskipped\x1b[0m  ") != std::string::npos);
  CHECK(coloured_status("status") == "status");
  CHECK(coloured_status("fail: why") == "\x1b[1;31mfail\x1b[0m: why");
}

TEST_CASE("words are shortened by characters, not bytes") {
  CHECK(shortened("fill", 4) == "fill");
  CHECK(shortened("A+Aᵀ fill", 5) == "A+Aᵀ…");
  CHECK(shortened("ab cd", 4) == "ab…");
  CHECK(shortened("ab", 0).empty());
  CHECK(display_width("A+Aᵀ") == 4);
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
