#include "common/variant.hpp"

#include <doctest/doctest.h>

using namespace gsofa;

namespace {

const std::vector<option_spec> specs{
    {.name = "fast", .default_value = true, .help = ""},
    {.name = "sources", .default_value = std::int64_t{4}, .help = "", .minimum = 1, .maximum = 8},
    {.name = "schedule",
     .default_value = std::string("block"),
     .help = "",
     .choices = {"block", "cyclic"}}};

}  // namespace

TEST_CASE("options take their defaults and parse by type") {
  option_set o(specs);
  CHECK(o.flag("fast"));
  CHECK(o.integer("sources") == 4);
  CHECK(o.choice("schedule") == "block");
  o.set(specs, "fast", "off");
  o.set(specs, "sources", "8");
  o.set(specs, "schedule", "cyclic");
  CHECK_FALSE(o.flag("fast"));
  CHECK(o.integer("sources") == 8);
  CHECK(o.choice("schedule") == "cyclic");
  o.set(specs, "sources", "-1");  // the default again
  CHECK(o.values().at("sources") == specs[1].default_value);
}

TEST_CASE("wrong option values are refused with the reason") {
  option_set o(specs);
  CHECK_THROWS_WITH_AS(o.set(specs, "fast", "maybe"), "option fast: 'maybe' is not true or false",
                       input_error);
  CHECK_THROWS_WITH_AS(o.set(specs, "sources", "9"), "option sources: 9 is outside [1, 8]",
                       input_error);
  CHECK_THROWS_WITH_AS(o.set(specs, "sources", "3x"), "option sources: '3x' is not an integer",
                       input_error);
  CHECK_THROWS_WITH_AS(o.set(specs, "schedule", "x"),
                       "option schedule: 'x' is none of block, cyclic", input_error);
  CHECK_THROWS_AS(o.set(specs, "slow", "1"), input_error);
}

TEST_CASE("a mistyped variant name is answered with the nearest") {
  CHECK(find_variant("cpu_fill2").name == "cpu_fill2");
  CHECK_THROWS_WITH_AS(find_variant("cpu_fil2"),
                       "unknown variant 'cpu_fil2'; did you mean 'cpu_fill2'? (`gsofa list` shows "
                       "all)",
                       input_error);
}

TEST_CASE("variants are found by shell patterns") {
  const auto names = [](const std::string& pattern) {
    std::vector<std::string> found;
    for (const variant_info* v : find_variants(pattern)) found.push_back(v->name);
    return found;
  };
  CHECK(names("cpu_fill?") == std::vector<std::string>{"cpu_fill1", "cpu_fill2"});
  CHECK(names("cpu_fill1") == std::vector<std::string>{"cpu_fill1"});
  CHECK(names("gpu_*").size() >= 11);
  CHECK(std::ranges::none_of(names("gpu_*"),
                             [](const std::string& name) { return find_variant(name).orders; }));
  CHECK_THROWS_WITH_AS(names("tpu_*"), "no variant matches 'tpu_*' (`gsofa list` shows all)",
                       input_error);
  CHECK_THROWS_AS(names("tpu"), input_error);
}

TEST_CASE("want sets") {
  want_set w = want_set(want::counts) | want::digest;
  CHECK(w.has(want::counts));
  CHECK_FALSE(w.has(want::pattern));
  CHECK(want_set::all().contains(w));
  CHECK_FALSE(w.contains(want_set::all()));
  CHECK(w.names() == std::vector<std::string>{"counts", "digest"});
  CHECK(w.text() == "counts, digest");
  CHECK(want_set().text() == "totals");
  CHECK(want_set::parse("supernodes") == want::supernodes);
  CHECK_THROWS_AS(want_set::parse("fills"), input_error);
}
