#include "harness/run/selection.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "common/error.hpp"

using namespace gsofa;

namespace {

std::vector<std::string> variant_names(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const auto& v : select_variants(words)) names.push_back(v.info->name);
  return names;
}

std::vector<std::string> order_specs(const std::vector<std::string>& words) {
  std::vector<std::string> specs;
  for (const auto& o : select_orders(words)) specs.push_back(o.spec);
  return specs;
}

using strings = std::vector<std::string>;

}  // namespace

TEST_CASE("names, lists and patterns select variants, each once") {
  CHECK(variant_names({"cpu_fill2"}) == strings{"cpu_fill2"});
  CHECK(variant_names({"cpu_maxid,cpu_fill1", "cpu_fill1"}) == strings{"cpu_maxid", "cpu_fill1"});
  CHECK(variant_names({"cpu_fill?"}) == strings{"cpu_fill1", "cpu_fill2"});
  const auto chosen = select_variants({"cpu_fill*", "cpu_fill2"});
  REQUIRE(chosen.size() >= 2);
  for (const auto& v : chosen) CHECK(v.by_name == (v.info->name == "cpu_fill2"));
}

TEST_CASE("device words and all select what is not planted") {
  for (const std::string device : {"cpu", "gpu", "mpi", "peer"}) {
    const auto chosen = select_variants({device});
    CHECK_FALSE(chosen.empty());
    for (const auto& v : chosen) {
      CHECK(v.info->device == device);
      CHECK(v.info->planted.empty());
      CHECK_FALSE(v.by_name);
    }
  }
  // Results in an order of a variant's own stand beside no others.
  const auto honest = std::ranges::count_if(
      all_variants(), [](const variant_info& v) { return v.planted.empty() && !v.orders; });
  CHECK(variant_names({"gpu_full_analysis"}) == strings{"gpu_full_analysis"});
  CHECK(std::ssize(variant_names({"all"})) == honest);
  CHECK(std::ssize(variant_names({"*"})) == honest);
  CHECK(std::ssize(variant_names({"planted_*"})) ==
        std::ranges::count_if(all_variants(),
                              [](const variant_info& v) { return !v.planted.empty(); }));
}

TEST_CASE("words that select nothing are refused") {
  CHECK_THROWS_WITH_AS(variant_names({"cpu_fil2"}),
                       "unknown variant 'cpu_fil2'; did you mean 'cpu_fill2'? (`gsofa list` shows "
                       "all)",
                       input_error);
  CHECK_THROWS_WITH_AS(variant_names({"cpu_fill1,tpu_*"}),
                       "no variant matches 'tpu_*' (`gsofa list` shows all)", input_error);
  CHECK_THROWS_AS(variant_names({""}), input_error);
  CHECK_THROWS_AS(variant_names({","}), input_error);
  CHECK_THROWS_WITH_AS(order_specs({"x*"}),
                       "no order matches 'x*' (`gsofa list --orders` shows all)", input_error);
  CHECK_THROWS_AS(order_specs({"amb"}), input_error);
}

TEST_CASE("orders keep their options; files may stand among them") {
  CHECK(order_specs({"cpu_nested_dissection:leaf_order=60,tries=2,amd"}) ==
        strings{"cpu_nested_dissection:leaf_order=60,tries=2", "amd"});
  CHECK(order_specs({"amd,/a/file.perm", "natural"}) == strings{"amd", "/a/file.perm", "natural"});
}

TEST_CASE("devices and patterns select orders") {
  CHECK(order_specs({"nat*,amd,natural"}) == strings{"natural", "amd"});
  for (const auto& o : select_orders({"gpu"})) CHECK(o.info->device == "gpu");
  for (const auto& o : select_orders({"all"})) CHECK(o.info->planted.empty());
}
