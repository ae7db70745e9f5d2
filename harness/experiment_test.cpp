#include "harness/experiment.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "harness/build_info.hpp"

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
  [[nodiscard]] experiment_spec read() const { return read_experiment(path_); }
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
  CHECK(c.match == match_mode::none);
  CHECK(c.verify == verify_mode::oracle);
  CHECK(c.counting);
  CHECK_FALSE(c.series);
  CHECK(c.cases.trials.repeat == 5);
  CHECK(c.cases.trials.warmup == trial_plan().warmup);
  CHECK(c.cases.trials.timeout == 2.0);
  CHECK(c.cases.sets == std::vector<std::string>{"k=1"});
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
  CHECK_THROWS_AS(read_experiment("/nonexistent/spec.toml"), input_error);
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
      for (const auto& name : c.cases.variants) CHECK_NOTHROW(find_variant(name));
    }
  }
  CHECK(specs >= 2);
}

#else

TEST_CASE("a build that cannot read TOML says so") {
  CHECK_THROWS_AS(read_experiment("spec.toml"), unavailable_error);
}

#endif
