#include "harness/commands/experiment.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "harness/run/build_info.hpp"

using namespace gsofa;

#ifdef GSOFA_HAVE_TOMLPLUSPLUS

namespace {

class spec_file {
 public:
  explicit spec_file(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("gsofa_spec_test_" + std::to_string(getpid()) + ".toml")) {
    std::ofstream(path_) << text;
  }
  ~spec_file() { std::filesystem::remove(path_); }
  [[nodiscard]] experiment_spec read(const kind_folders& folders = {}) const {
    return read_experiment(path_, folders);
  }
  [[nodiscard]] std::string error() const {
    try {
      read_experiment(path_);
    } catch (const input_error& e) {
      return e.what();
    }
    return "";
  }

 private:
  std::filesystem::path path_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("@real stands for the files of matrices in a folder, the smallest first") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("gsofa_real_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "large.mtx") << std::string(100, ' ');
  std::ofstream(folder / "small.mtx.gz") << ' ';
  std::ofstream(folder / "middle.bin") << std::string(50, ' ');
  std::ofstream(folder / "wide.rua.xz") << std::string(70, ' ');
  std::ofstream(folder / "README.md") << ' ';
  std::ofstream(folder / "notes.txt.gz") << ' ';
  const spec_file spec(R"(
[[case]]
groups = ["paper"]
matrices = ["b", "@real"]
least_order = 1000
chunk_sizes = [64, 256]
)");
  const auto with = spec.read({{"@real", folder}}).cases.at(0);
  CHECK(with.matrices == std::vector<std::string>{"b", (folder / "small.mtx.gz").string(),
                                                  (folder / "middle.bin").string(),
                                                  (folder / "wide.rua.xz").string(),
                                                  (folder / "large.mtx").string()});
  CHECK(with.of_kinds.size() == 4);
  CHECK(with.chunk_sizes == std::vector<index_t>{64, 256});
  CHECK(with.least_order == 1000);
  const auto without = spec.read().cases.at(0);
  CHECK(without.matrices.size() == without.of_kinds.size() + 1);
  CHECK(without.of_kinds.size() >= 10);
  CHECK_THROWS_AS(static_cast<void>(spec.read({{"@real", folder / "absent"}})), input_error);
  std::filesystem::remove_all(folder);
}

TEST_CASE("the word of a kind stands for its bundled matrices, or for those of its own folder") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("gsofa_kinds_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "one.mtx") << ' ';
  const spec_file spec("[[case]]\ngroups = [\"a\"]\nmatrices = [\"@fem\", \"@real\"]\n");
  const auto bundled = spec.read().cases.at(0).matrices;
  const auto is_bundled = [&](const char* name) {
    return std::ranges::find(bundled, name) != bundled.end();
  };
  CHECK(bundled.front() == "convection_bracket_small");
  CHECK(is_bundled("dg1_vortices_plate_small"));
  CHECK(is_bundled("bcsstk18"));
  CHECK(std::set<std::string>(bundled.begin(), bundled.end()).size() == bundled.size());
  const auto both = spec.read({{"@fem", folder}, {"@kkt", folder / "absent"}}).cases.at(0);
  CHECK(both.matrices.front() == (folder / "one.mtx").string());
  CHECK(both.matrices.size() == both.of_kinds.size());
  CHECK(std::ranges::find(both.matrices, "dg1_vortices_plate_small") == both.matrices.end());
  std::filesystem::remove_all(folder);
}

TEST_CASE("a spec is read with defaults") {
  const auto spec = spec_file(R"(
name = "x"
[[case]]
groups = ["smoke"]
matrices = ["gen:a", "b"]
options = ["k=1"]
repeat = 5
timeout = 2
match = "none"
verify = "oracle"
counting = true
)")
                        .read();
  CHECK(spec.name == "x");
  REQUIRE(spec.cases.size() == 1);
  const auto& c = spec.cases[0];
  CHECK(c.matrices == std::vector<std::string>{"gen:a", "b"});
  CHECK(c.orders == std::vector<std::string>{"metis"});
  CHECK(c.match == match_none);
  CHECK(c.verify == verify_mode::oracle);
  CHECK(c.counting);
  CHECK_FALSE(c.series);
  CHECK(c.cases.trials.repeat == 5);
  CHECK(c.cases.trials.warmup == trial_plan().warmup);
  CHECK(c.cases.trials.timeout == 2.0);
  CHECK(c.cases.sets == std::vector<std::string>{"k=1"});
}

TEST_CASE("cases take keys from [defaults] and words from [lists]") {
  const spec_file file(R"(
[defaults]
threads = 2
verify = "digest"
variants = ["@cpu"]
[lists]
two = ["gen:a", "b"]
cpu = ["cpu_fill1"]
[[case]]
groups = ["smoke"]
matrices = ["c", "@two", "@three"]
[[case]]
groups = ["smoke"]
matrices = ["@two"]
threads = 1
variants = ["cpu_fill2", "@cpu"]
verify = "none"
)");
  const auto cases = file.read().cases;
  REQUIRE(cases.size() == 2);
  CHECK(cases[0].matrices == std::vector<std::string>{"c", "gen:a", "b", "@three"});
  CHECK(cases[0].cases.threads == 2);
  CHECK(cases[0].cases.variants == std::vector<std::string>{"cpu_fill1"});
  CHECK(cases[0].verify == verify_mode::digest);
  CHECK(cases[1].matrices == std::vector<std::string>{"gen:a", "b"});
  CHECK(cases[1].cases.threads == 1);
  CHECK(cases[1].cases.variants == std::vector<std::string>{"cpu_fill2", "cpu_fill1"});
  CHECK(cases[1].verify == verify_mode::none);
}

TEST_CASE("a [[case]] with cases stands for each of them") {
  const std::string head = "[defaults]\nthreads = 2\n[[case]]\ngroups = [\"paper\"]\nrepeat = 5\n";
  const auto cases = spec_file(head +
                               "cases = [\n"
                               "  { matrices = [\"a\"], groups = [\"smoke\"] },\n"
                               "  { matrices = [\"b\"], repeat = 1 },\n"
                               "]\n[[case]]\ngroups = [\"last\"]\nmatrices = [\"c\"]\ncases = []\n")
                         .read()
                         .cases;
  REQUIRE(cases.size() == 3);
  const std::string groups[] = {"smoke", "paper", "last"};
  const std::string matrices[] = {"a", "b", "c"};
  const int repeats[] = {5, 1, trial_plan().repeat};
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(cases[k].groups == std::vector{groups[k]});
    CHECK(cases[k].matrices == std::vector{matrices[k]});
    CHECK(cases[k].cases.trials.repeat == repeats[k]);
    CHECK(cases[k].cases.threads == 2);
  }
  CHECK(cases[1].where.ends_with(":8"));
  CHECK(contains(spec_file(head + "cases = [{ matrix = [] }]\n").error(),
                 ":6: unknown key 'matrix'"));
  CHECK(contains(spec_file(head + "cases = [{ cases = [] }]\n").error(), ":6: a case of 'cases'"));
}

TEST_CASE("paths are relative to the repository") {
  const auto spec = spec_file(R"(
[[case]]
groups = ["smoke"]
matrices = ["folder/file.mtx", "/folder/file.mtx", "gen:grid5:nx=1/2", "name"]
)")
                        .read();
  const auto& m = spec.cases.at(0).matrices;
  CHECK(m.at(0) == (repository_root() / "folder/file.mtx").string());
  CHECK(m.at(1) == "/folder/file.mtx");
  CHECK(m.at(2) == "gen:grid5:nx=1/2");
  CHECK(m.at(3) == "name");
}

TEST_CASE("faults are named with their line") {
  const std::string head = "[[case]]\ngroups = [\"smoke\"]\nmatrices = [\"a\"]\n";
  CHECK(contains(spec_file(head + "repeats = 3\n").error(), ":4: unknown key 'repeats'"));
  CHECK(contains(spec_file(head + "repeat = \"3\"\n").error(), ":4: 'repeat' is not an integer"));
  CHECK(contains(spec_file(head + "repeat = 0\n").error(), "repeat or ranks < 1"));
  CHECK(contains(spec_file(head + "ranks = 0\n").error(), "repeat or ranks < 1"));
  CHECK(contains(spec_file(head + "gpus = -1\n").error(), "negative"));
  CHECK(contains(spec_file(head + "timeout = 1e300\n").error(), "timeout above"));
  CHECK(contains(spec_file(head + "timeout = nan\n").error(), "timeout above"));
  CHECK(contains(spec_file(head + "variants = [1]\n").error(), ":4: 'variants' is not an array"));
  CHECK(contains(spec_file(head + "verify = \"maybe\"\n").error(), "unknown verification"));
  CHECK(contains(spec_file("[[case]]\nmatrices = [\"a\"]\n").error(), "without groups"));
  CHECK(contains(spec_file("[[case]]\ngroups = [\"a\"]\n").error(), "without matrices"));
  CHECK(contains(spec_file("name = \"x\"\n").error(), "no [[case]]"));
  CHECK(contains(spec_file("name = \n").error(), ":1: "));
  CHECK(contains(spec_file("lists = 1\n" + head).error(), ":1: 'lists' is not a table"));
  CHECK(contains(spec_file("lists.a = [1]\n" + head).error(), ":1: 'a' is not an array"));
  CHECK(contains(spec_file("defaults.repeats = 1\n" + head).error(), "unknown key 'repeats'"));
  CHECK_THROWS_AS(read_experiment("/nonexistent/spec.toml"), input_error);
}

TEST_CASE("what is no TOML is named with its line") {
  const std::string head = "[[case]]\ngroups = [\"smoke\"]\n";
  CHECK(contains(spec_file(head + "matrices = [}\n").error(), ".toml:3: "));
  CHECK(contains(spec_file(head + "matrices = [\n}\n").error(), ".toml:4: "));
  CHECK(contains(spec_file("a = [,]\n" + head).error(), ".toml:1: "));
  CHECK(contains(spec_file("a = 1\n\xff = 2\n").error(), ".toml:2: "));
  CHECK(contains(spec_file(head + "timeout = 9223372036854775807\n").error(), ".toml:3: "));
  CHECK(contains(spec_file(head + "repeat = 4294967296\n").error(),
                 ".toml:3: 'repeat' is not an integer that fits"));
  CHECK(contains(spec_file("case = 3\n").error(), ".toml:1: [[case]] is not an array of tables"));
  CHECK(contains(spec_file(head + "matrices = [\"a\"]\nseries = true\n").error(), "counting"));
  const std::string deep(100000, '[');
  CHECK(contains(spec_file("a = " + deep).error(), ".toml:1: "));
  CHECK_THROWS_WITH_AS(read_experiment("/"), "/: is a directory", input_error);
}

TEST_CASE("a spec with faults here and there is read, or refused by file and line") {
  std::ifstream in(std::filesystem::path(GSOFA_SOURCE_DIR) / "experiments/reproduce/spec.toml");
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  REQUIRE(whole.size() > 100);
  const std::string text = whole.substr(0, 1500);
  const std::string marks("[]{}\"'=,.#_-+:0e\n\t\0\x1b\xff", 21);
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return random() % n; };
  int refused = 0;
  for (int k = 0; k < 400; ++k) {
    std::string bad = text;
    for (std::size_t faults = 1 + below(3); faults > 0; --faults) {
      const std::size_t at = below(bad.size());
      switch (below(4)) {
        case 0:
          bad[at] = marks[below(marks.size())];
          break;
        case 1:
          bad.insert(at, 1, marks[below(marks.size())]);
          break;
        case 2:
          bad.erase(at, 1 + below(5));
          break;
        default:
          bad.insert(at, bad.substr(below(bad.size()), below(20)));
      }
    }
    CAPTURE(bad);
    const spec_file file(bad);
    try {
      static_cast<void>(file.read());
    } catch (const input_error& e) {
      ++refused;
      const std::string what = e.what();
      CAPTURE(what);
      const auto place = what.find(".toml:");
      REQUIRE(place != std::string::npos);
      CHECK(std::isdigit(static_cast<unsigned char>(what.at(place + 6))) != 0);
      CHECK(what.at(place + 6) != '0');
    }
  }
  CHECK(refused > 100);
}

TEST_CASE("the specs of the repository can be read") {
  const auto folder = std::filesystem::path(GSOFA_SOURCE_DIR) / "experiments";
  int specs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto file = entry.path() / "spec.toml";
    if (!std::filesystem::exists(file)) continue;
    ++specs;
    CAPTURE(file.string());
    const auto spec = read_experiment(file);
    CHECK_FALSE(spec.cases.empty());
    CHECK(spec.name == entry.path().filename().string());
    for (const auto& c : spec.cases) {
      for (const auto& name : c.cases.variants) CHECK_NOTHROW(find_variants(name));
    }
  }
  CHECK(specs >= 2);
}

#else

TEST_CASE("a build that cannot read TOML says so") {
  CHECK_THROWS_AS(read_experiment("spec.toml"), unavailable_error);
}

#endif
