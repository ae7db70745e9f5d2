#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>

#include "common/variant.hpp"

using namespace gsofa;

namespace {

// Variant files of a folder, by name without suffix.
std::set<std::string> variant_files(const std::string& folder) {
  std::set<std::string> names;
  const auto path = std::filesystem::path(GSOFA_SOURCE_DIR) / folder;
  for (const auto& file : std::filesystem::directory_iterator(path)) {
    const std::string name = file.path().filename().string();
    if (name.ends_with(".cpp") && !name.ends_with("_test.cpp")) names.insert(file.path().stem());
  }
  return names;
}

}  // namespace

TEST_CASE("one file is one variant, named like it") {
  std::set<std::string> honest, planted;
  for (const auto& v : all_variants()) (v.planted.empty() ? honest : planted).insert(v.name);
  CHECK(honest == variant_files("variants"));
  CHECK(planted == variant_files("variants/planted"));
}

TEST_CASE("every variant describes itself") {
  for (const auto& v : all_variants()) {
    CAPTURE(v.name);
    CHECK(v.name.starts_with(v.planted.empty() ? v.device + "_" : "planted_"));
    CHECK_FALSE(v.summary.empty());
    CHECK_FALSE(v.citation.empty());
    // Totals alone, which cannot show that a result is right, are for bounds.
    if (v.exact) CHECK(v.gives.has(want::counts));
    CHECK(v.create);
    for (const auto& o : v.options) {
      CHECK_FALSE(o.help.empty());
      option_set values(v.options);
      CHECK_NOTHROW(values.set(v.options, o.name, to_string(o.default_value)));
    }
  }
}
