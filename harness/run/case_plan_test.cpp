#include "harness/run/case_plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace gsofa;

namespace {

// Some registered variant with an option of the given type; nullptr if there is none.
const variant_info* variant_with(const std::string& type) {
  for (const auto& v : all_variants()) {
    for (const auto& o : v.options) {
      if (v.planted.empty() && !v.unavailable() && o.type_name() == type) return &v;
    }
  }
  return nullptr;
}

const option_spec& option_of(const variant_info& v, std::string_view type) {
  return *std::ranges::find_if(v.options,
                               [&](const option_spec& o) { return o.type_name() == type; });
}

}  // namespace

TEST_CASE(
    "the default set is everything but planted variants and those with an order of their own") {
  const auto cases = plan_cases({});
  const auto& all = all_variants();
  CHECK(cases.size() ==
        static_cast<std::size_t>(std::ranges::count_if(
            all, [](const variant_info& v) { return v.planted.empty() && !v.orders; })));
  for (const auto& c : cases) {
    CHECK(c.request.info->planted.empty());
    CHECK(c.request.info->gives.contains(c.request.settings.wants));
    CHECK_FALSE(c.request.settings.wants.has(want::pattern));
    if (!c.request.info->multithreaded) CHECK(c.request.settings.threads == 1);
  }
}

TEST_CASE("named variants run once, in the order given") {
  const auto cases = plan_cases({.variants = {"cpu_fill2", "cpu_fill1", "cpu_fill2"}});
  REQUIRE(cases.size() == 2);
  CHECK(cases[0].request.info->name == "cpu_fill2");
  CHECK(cases[1].request.info->name == "cpu_fill1");
}

TEST_CASE("an option is set on the variants that have it") {
  const variant_info* v = variant_with("bool");
  REQUIRE(v != nullptr);
  const option_spec& o = option_of(*v, "bool");
  const bool turned = !std::get<bool>(o.default_value);
  const std::string text = turned ? "true" : "false";
  for (const std::string& set : {o.name + "=" + text, v->name + "." + o.name + "=" + text}) {
    const auto cases = plan_cases({.sets = {set}});
    const auto hit =
        std::ranges::find_if(cases, [&](const planned_case& c) { return c.request.info == v; });
    REQUIRE(hit != cases.end());
    CHECK(hit->request.settings.options.flag(o.name) == turned);
  }
}

TEST_CASE(
    "several values of options make a case for each combination, of variants that have them") {
  const auto cases = plan_cases({.variants = {"cpu_fill2", "cpu_maxid"},
                                 .sets = {"line_9_5=true,false", "concurrent_sources=1,2,3"}});
  std::vector<std::string> seen;
  for (const auto& c : cases) {
    if (c.request.info->name == "cpu_fill2") {
      seen.emplace_back("fill2");
      continue;
    }
    const auto& o = c.request.settings.options;
    seen.push_back((o.flag("line_9_5") ? "on " : "off ") +
                   std::to_string(o.integer("concurrent_sources")));
  }
  CHECK(seen ==
        std::vector<std::string>{"fill2", "on 1", "on 2", "on 3", "off 1", "off 2", "off 3"});
  CHECK_THROWS_AS(plan_cases({.variants = {"cpu_maxid"}, .sets = {"line_9_5=true,perhaps"}}),
                  input_error);
}

TEST_CASE("too many combinations are refused, whatever their number") {
  const variant_info* v = variant_with("bool");
  REQUIRE(v != nullptr);
  const std::string set = v->name + "." + option_of(*v, "bool").name + "=true,false";
  CHECK(plan_cases({.variants = {v->name}, .sets = std::vector<std::string>(13, set)}).size() == 2);
  for (const std::size_t times : {14U, 63U, 64U, 65U, 200U}) {
    CAPTURE(times);
    CHECK_THROWS_WITH_AS(
        plan_cases({.variants = {v->name}, .sets = std::vector<std::string>(times, set)}),
        ("--set asks for more than 10000 cases of " + v->name + ": give fewer values").c_str(),
        input_error);
  }
  // Values for one variant make no cases of another.
  const std::string other = "cpu_fill1." + option_of(*v, "bool").name + "=true";
  CHECK_THROWS_AS(plan_cases({.variants = {"cpu_fill1"}, .sets = {other}}), input_error);
}

TEST_CASE("wrong requests are input errors") {
  const variant_info* v = variant_with("bool");
  REQUIRE(v != nullptr);
  const std::string option = option_of(*v, "bool").name;
  CHECK_THROWS_AS(plan_cases({.variants = {"cpu_fil2"}}), input_error);
  CHECK_THROWS_AS(plan_cases({.wants = {"everything"}}), input_error);
  CHECK_THROWS_AS(plan_cases({.sets = {"no_such_option=1"}}), input_error);
  CHECK_THROWS_AS(plan_cases({.sets = {"novalue"}}), input_error);
  CHECK_THROWS_AS(plan_cases({.sets = {"=1"}}), input_error);
  CHECK_THROWS_AS(plan_cases({.sets = {option + "=perhaps"}}), input_error);
  CHECK_THROWS_AS(plan_cases({.sets = {"cpu_fil2." + option + "=true"}}), input_error);
  CHECK_THROWS_AS(plan_cases({.variants = {"cpu_fill1"}, .sets = {v->name + "." + option + "=1"}}),
                  input_error);
}

TEST_CASE("an unknown variant is answered with a suggestion") {
  try {
    plan_cases({.variants = {"cpu_fil2"}});
    FAIL("accepted");
  } catch (const input_error& e) {
    CHECK(std::string(e.what()).find("cpu_fill2") != std::string::npos);
  }
}
