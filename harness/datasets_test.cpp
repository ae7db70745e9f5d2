#include "harness/datasets.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "harness/matrix_source.hpp"

using namespace gsofa;

#ifdef GSOFA_HAVE_TOMLPLUSPLUS

TEST_CASE("a catalog finds entries by name and by abbreviation") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("gsofa_datasets_test_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto file = folder / "datasets.toml";
  std::ofstream(file)
      << "[[bundled]]\nname = \"small\"\nfile = \"small.mtx\"\n"
         "[[matrix]]\nname = \"large\"\nabbr = \"LG\"\nstand_in = \"gen:dense:n=3\"\n";
  const auto catalog = dataset_catalog::load(file);
  REQUIRE(catalog.entries().size() == 2);
  CHECK(catalog.bundled() == std::vector<std::string>{"small"});
  REQUIRE(catalog.find("LG") != nullptr);
  CHECK(catalog.find("LG") == catalog.find("large"));
  CHECK(catalog.find("") == nullptr);
  CHECK(catalog.find("other") == nullptr);
  CHECK_FALSE(catalog.file_of(*catalog.find("small")).has_value());
  std::ofstream(folder / "small.mtx") << "x";
  CHECK(catalog.file_of(*catalog.find("small")).value() == folder / "small.mtx");

  std::ofstream(file) << "[[bundled]]\nfile = \"x\"\n";
  CHECK_THROWS_AS(dataset_catalog::load(file), input_error);
  std::ofstream(file) << "[[bundled\n";
  CHECK_THROWS_AS(dataset_catalog::load(file), input_error);
  std::filesystem::remove_all(folder);
  CHECK_THROWS_AS(dataset_catalog::load(file), input_error);
}

TEST_CASE("every bundled matrix of the repository is there, is what it claims, and is square") {
  const auto names = dataset_catalog::repository().bundled();
  CHECK(names.size() >= 10);
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  for (const auto& name : names) {
    CAPTURE(name);
    raw_matrix m;
    REQUIRE_NOTHROW(m = read_matrix(name));  // compares the sha256
    CHECK(m.origin.name == name);
    CHECK_FALSE(m.origin.stand_in);
    CHECK(m.a.n_rows == m.a.n_cols);
  }
}

#endif

TEST_CASE("what does not name a matrix is an input error") {
  CHECK_THROWS_AS(read_matrix(""), input_error);
  CHECK_THROWS_AS(read_matrix("/no/such/file.mtx"), input_error);
  CHECK_THROWS_AS(read_matrix("no_such.mtx"), input_error);
  CHECK_THROWS_AS(read_matrix("gen:"), input_error);
  CHECK_THROWS_AS(read_matrix("."), input_error);
}

TEST_CASE("names become file names") {
  CHECK(file_name_of("gen:grid7:nx=3,ny=2") == "gen_grid7_nx=3_ny=2");
  CHECK(file_name_of("west2021") == "west2021");
}
