#include "harness/matrices/datasets.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/file.hpp"
#include "harness/matrices/matrix_kind.hpp"
#include "harness/matrices/matrix_source.hpp"

using namespace gsofa;

#ifdef GSOFA_HAVE_TOMLPLUSPLUS

TEST_CASE("a catalog finds entries by name and by abbreviation") {
  // The folder above is searched too.
  const temporary_directory scratch;
  const auto folder = scratch.path() / "experiments";
  std::filesystem::create_directories(folder);
  const auto file = folder / "datasets.toml";
  std::ofstream(file)
      << "[[bundled]]\nname = \"small\"\nfile = \"small.mtx\"\nkind = \"power grid\"\n"
         "[[matrix]]\nname = \"large\"\nabbr = \"LG\"\nstand_in = \"gen:dense:n=3\"\n";
  const auto catalog = dataset_catalog::load(file);
  REQUIRE(catalog.entries().size() == 2);
  CHECK(catalog.bundled() == std::vector<std::string>{"small"});
  CHECK(catalog.bundled("power grid") == catalog.bundled());
  CHECK(catalog.bundled("real").empty());
  REQUIRE(catalog.find("LG") != nullptr);
  CHECK(catalog.find("LG")->kind == "real");
  CHECK(catalog.find("LG") == catalog.find("large"));
  CHECK(catalog.find("") == nullptr);
  CHECK(catalog.find("other") == nullptr);
  CHECK_FALSE(catalog.file_of(*catalog.find("small")).has_value());
  std::ofstream(folder / "small.mtx") << "x";
  CHECK(catalog.file_of(*catalog.find("small")).value() == folder / "small.mtx");

  const auto fault = [&](const std::string& text) {
    std::ofstream(file) << text;
    try {
      dataset_catalog::load(file);
    } catch (const input_error& e) {
      return std::string(e.what()).erase(0, file.string().size());
    }
    return std::string("none");
  };
  CHECK(fault("[[bundled]]\nfile = \"x\"\n") == ":1: [[bundled]] without a name");
  CHECK(fault("[[matrix]]\nname = 5\n") == ":2: 'name' is not a string");
  CHECK(fault("[[matrix]]\nname = \"a\"\nsha256 = [1]\n") == ":3: 'sha256' is not a string");
  CHECK(fault("[matrix]\nname = \"a\"\n") == ":1: [[matrix]] is not an array of tables");
  CHECK(fault("matrix = [}\n") == ":1: not TOML");
  std::ofstream(file) << "[[bundled\n";
  CHECK_THROWS_AS(dataset_catalog::load(file), input_error);
  std::filesystem::remove_all(folder);
  CHECK_THROWS_AS(dataset_catalog::load(file), input_error);
}

TEST_CASE("a catalog takes digests that it lacks from the lock file in its folder") {
  const temporary_directory folder;
  const auto file = folder.path() / "datasets.toml";
  const auto lock = folder.path() / "datasets.lock.toml";
  std::ofstream(file) << "[[bundled]]\nname = \"a\"\nsource = \"G/A\"\n"
                         "[[matrix]]\nname = \"a\"\ngroup = \"G\"\noriginal = \"A\"\n"
                         "[[matrix]]\nname = \"b\"\nsha256 = \"22\"\n[[matrix]]\nname = \"c\"\n";
  std::ofstream(lock) << "[[matrix]]\nname = \"G/A\"\nsha256 = \"11\"\n"
                         "[[matrix]]\nname = \"b\"\nsha256 = \"33\"\n";
  const auto catalog = dataset_catalog::load(file);
  std::vector<std::string> digests;
  for (const auto& d : catalog.entries()) digests.push_back(d.sha256);
  CHECK(digests == std::vector<std::string>{"", "11", "22", ""});
  CHECK(catalog.find("G/A") == &catalog.entries().front());
  std::ofstream(lock) << "[[matrix]]\nname = \"a\"\nsha256 = 1\n";
  CHECK_THROWS_WITH_AS(dataset_catalog::load(file),
                       (lock.string() + ":3: 'sha256' is not a string").c_str(), input_error);
}

TEST_CASE("a matrix has the kind of its dataset or of its generator") {
  const auto kind_of = [](const std::string& name, bool stand_in) {
    provenance p;
    p.name = name;
    p.stand_in = stand_in;
    return matrix_kind(p);
  };
  CHECK(locate_matrix("bcsstk18").kind == "original");
  CHECK(locate_matrix("west2021").kind == "real");
  CHECK(locate_matrix("elasticity2_plate_small").kind == "finite elements");
  CHECK(kind_of("twotone", true) == "stand-in");
  CHECK(kind_of("gen:grid5:nx=4", false) == "generated");
  CHECK(kind_of("gen:kkt:buses=30", false) == "power grid");
  CHECK(kind_of("gen:circuit:n=30", false) == "circuit");
  CHECK(kind_of("gen:space_time_kkt:states=3,elements=2", false) == "space x time");
  CHECK(kind_of("a", false) == "real");
}

TEST_CASE(
    "a matrix of the collection is a bundled or a fetched file, and its original replaces a "
    "stand-in") {
  const temporary_directory folder;
  setenv("GSOFA_MATRICES", folder.path().c_str(), 1);
  CHECK(locate_matrix("HB/bcsstk18").file == locate_matrix("bcsstk18").file);
  CHECK(locate_matrix("BB").stand_in);
  CHECK_THROWS_WITH_AS(locate_matrix("Simon/bbmat"),
                       "Simon/bbmat: no such file, and not fetched: ./testbed fetch Simon/bbmat",
                       input_error);
  std::filesystem::create_directories(folder.path() / "Simon");
  const auto file = folder.path() / "Simon" / "bbmat.mtx.gz";
  std::ofstream(file) << ' ';
  for (const std::string spec : {"BB", "bbmat", "Simon/bbmat"}) {
    CAPTURE(spec);
    const matrix_location found = locate_matrix(spec);
    CHECK(found.file == file);
    CHECK(found.name == "bbmat");
    CHECK(found.kind == "original");
    CHECK_FALSE(found.stand_in);
  }
  unsetenv("GSOFA_MATRICES");
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

TEST_CASE("a matrix has the name of its file without the endings") {
  const temporary_directory folder;
  const std::pair<const char*, const char*> names[] = {
      {"a.b.mtx.gz", "a.b"}, {"g5.rua", "g5"},   {"n.tar.gz", "n"}, {"s.npz", "s"},
      {"t.tgz", "t"},        {"u.mtx.xz", "u"},  {"v.zip", "v"},    {".mtx", ".mtx"},
      {"plain", "plain"},    {"w.RSA.bz2", "w"}, {".gz", ".gz"}};
  for (const auto& [file, name] : names) {
    const auto path = folder.path() / file;
    std::ofstream(path) << ' ';
    CHECK(locate_matrix(path.string()).name == name);
    const std::string ending = file;
    CHECK(is_named_as_matrix_file(file) == (ending != "plain" && ending != ".gz"));
  }
  CHECK_FALSE(is_named_as_matrix_file("notes.txt.gz"));
  CHECK(locate_matrix("-").name == "stdin");
  CHECK_THROWS_WITH_AS(locate_matrix("absent.rua"), "absent.rua: no such file", input_error);
}

TEST_CASE("names become file names") {
  CHECK(file_name_of("gen:grid7:nx=3,ny=2") == "gen_grid7_nx=3_ny=2");
  CHECK(file_name_of("west2021") == "west2021");
}
