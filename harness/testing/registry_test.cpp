#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "common/matching.hpp"
#include "common/ordering.hpp"
#include "common/variant.hpp"

using namespace gsofa;

namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The tables of variants/README.md: file by name of the variant. Rows are `| name | ... |
// [file](file) |`.
std::map<std::string, std::string> table_of_variants() {
  std::ifstream in(fs::path(GSOFA_SOURCE_DIR) / "variants/README.md");
  std::map<std::string, std::string> files;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| `")) continue;
    const std::string name = line.substr(3, line.find('`', 3) - 3);
    const std::size_t open = line.rfind('(');
    CHECK_MESSAGE(files.emplace(name, line.substr(open + 1, line.rfind(')') - open - 1)).second,
                  name);
  }
  return files;
}

}  // namespace

TEST_CASE(
    "variants/README.md has each variant, order and matching and the file that registers it") {
  std::map<std::string, std::string> files = table_of_variants();
  auto check_row = [&](const std::string& name, const char* registration) {
    CAPTURE(name);
    REQUIRE_MESSAGE(files.contains(name), "variants/README.md lacks a row for it");
    const std::string text = contents(fs::path(GSOFA_SOURCE_DIR) / "variants" / files[name]);
    CHECK(text.find('"' + name + '"') != std::string::npos);
    CHECK(text.find(registration) != std::string::npos);
    files.erase(name);
  };
  for (const auto& v : all_variants()) check_row(v.name, "GSOFA_REGISTER_VARIANT");
  for (const auto& o : all_orders()) check_row(o.name, "GSOFA_REGISTER");
  for (const auto& m : all_matchings()) check_row(m.name, "GSOFA_REGISTER_MATCHING");
  for (const auto& [name, file] : files) FAIL_CHECK("not a variant: " << name);
}

TEST_CASE("every variant describes itself") {
  for (const auto& v : all_variants()) {
    CAPTURE(v.name);
    CHECK(v.name.starts_with(v.planted.empty() ? v.device + "_" : "planted_"));
    CHECK_FALSE(v.summary.empty());
    CHECK_FALSE(v.citation.empty());
    // A variant that gives totals alone, which cannot show that a result is right, is a bound.
    if (v.exact) CHECK(v.gives.has(want::counts));
    CHECK(v.create);
    for (const auto& o : v.options) {
      CHECK_FALSE(o.help.empty());
      option_set values(v.options);
      CHECK_NOTHROW(values.set(v.options, o.name, to_string(o.default_value)));
    }
  }
}
