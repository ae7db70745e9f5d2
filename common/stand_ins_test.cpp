// labels: slow
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>

#include "common/generators.hpp"
#include "common/preprocess.hpp"
#include "common/toml.hpp"

using namespace gsofa;

TEST_CASE(
    "every stand-in of datasets.toml has about the order, nonzeros and symmetry of its original") {
  const toml::table root = toml::parse_file(GSOFA_SOURCE_DIR "/experiments/datasets.toml");
  const toml::array* matrices = root["matrix"].as_array();
  REQUIRE(matrices != nullptr);
  std::set<std::string> abbreviations;
  for (const toml::node& node : *matrices) {
    const toml::table& m = *node.as_table();
    const std::string name = m["name"].value_or(std::string());
    CAPTURE(name);
    abbreviations.insert(m["abbr"].value_or(std::string()));
    const auto order = m["order"].value<double>().value();
    const auto nnz = m["nnz"].value<double>().value();
    const auto symmetry = m["symmetry"].value<double>().value();
    const std::string spec = m["stand_in"].value_or(std::string());
    REQUIRE(spec.starts_with("gen:"));
    const pattern a = generate(spec.substr(4));
    CAPTURE(a.n_rows);
    CAPTURE(a.nnz());
    CHECK(a.n_rows == a.n_cols);
    CHECK(std::abs(a.n_rows - order) <= 0.02 * order);
    CHECK(std::abs(static_cast<double>(a.nnz()) - nnz) <= 0.025 * nnz);
    CHECK(std::abs(structural_symmetry(a) - symmetry) <= 0.05);
#ifdef GSOFA_HAVE_BTF
    CHECK(maximum_transversal(a).structural_rank == a.n_rows);
#endif
    validate(a, name);
  }
  CHECK(abbreviations == std::set<std::string>{"BB", "BC", "EP", "G7", "LH", "MK", "RM", "AU", "DI",
                                               "HM", "PR", "ST", "TT"});
}
