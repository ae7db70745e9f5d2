#include "harness/record/record.hpp"
#include "common/test_files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "harness/record/json_lines.hpp"
#include "harness/record/record_file.hpp"
#include "harness/testing/fake_variant.hpp"
#include "reference/worked_example.hpp"

using namespace gsofa;
using namespace gsofa::testing;

namespace {

json sample_record(run_status status = run_status::pass) {
  static const auto info = testing::fake_info();
  const auto a = testing::as_it_is(reference::worked_example());
  const char* argv[] = {"gsofa", "run"};
  case_request request{.info = &info, .settings = run_settings(), .trials = {}};
  case_outcome out;
  out.judged.status = status;
  out.wants = want_set::all();
  out.last = testing::right_result(a.view());
  out.samples_s = {0.5, 0.25};
  out.prepare_s = {0.125, 0.0625};
  out.collect_s = {2, 3};
  out.phases_s = {{"traverse", 0.25}};
  out.device_peak_bytes = 4096;
  out.device_bytes = {{"fill", 1024}};
  out.counters.totals["revisits"] = 7;
  out.counters.series["frontier_size"] = {1, 2.5};
  return make_record(make_session(2, argv), a, request, out, true);
}

class temporary_file {
 public:
  temporary_file()
      : path_(std::filesystem::temp_directory_path() /
              ("gsofa_record_test_" + std::to_string(getpid()) + ".jsonl")) {
    std::filesystem::remove(path_);
  }
  ~temporary_file() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::vector<json> records_in(const std::filesystem::path& file) {
  std::vector<json> found;
  record_reader reader;
  read_json_lines(file, [&](json line) {
    if (auto record = reader.record_of(std::move(line))) found.push_back(std::move(*record));
  });
  return found;
}

// The lines of one record, those of its run included.
std::string lines_of(const json& record) { return record_writer().lines_of(record); }

// Files of this process may have at most `bytes` bytes: a write beyond that is cut short, as on a
// full disk.
class file_size_limit {
 public:
  explicit file_size_limit(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~file_size_limit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  file_size_limit(const file_size_limit&) = delete;
  file_size_limit& operator=(const file_size_limit&) = delete;

 private:
  rlimit before_{};
  void (*signal_)(int);
};

}  // namespace

TEST_CASE("a record has every field of the schema") {
  const json r = sample_record();
  for (const char* key : {"schema",   "run_id",  "time_utc", "argv",       "git",       "build",
                          "host",     "cpu",     "gpus",     "mpi",        "matrix",    "ordering",
                          "variant",  "options", "threads",  "chunk_size", "asked",     "wants",
                          "verify",   "status",  "reason",   "samples_s",  "prepare_s", "collect_s",
                          "phases_s", "result",  "mem",      "counters",   "machine",   "trials"}) {
    CAPTURE(key);
    CHECK(r.contains(key));
  }
  CHECK(r.at("schema") == record_schema);
  const auto& sizes = r.at("series_stats").at("frontier_size");
  CHECK(sizes.at("least_positive") == 1);
  CHECK(sizes.at("most") == 2.5);
  CHECK(sizes.at("rank_correlation") == doctest::Approx(1));
  for (const char* key : {"name", "n", "nnz", "sha256", "source", "stand_in", "kind"}) {
    CHECK(r.at("matrix").contains(key));
  }
  for (const char* key : {"row", "col", "library", "seed", "digest"}) {
    CHECK(r.at("ordering").contains(key));
  }
  for (const char* key :
       {"id", "microcode", "threads_usable", "threads_online", "before", "after"}) {
    CHECK(r.at("machine").contains(key));
  }
  for (const char* key : {"load", "cpu_mhz", "gpus"}) {
    CHECK(r.at("machine").at("after").contains(key));
  }
  for (const char* key : {"repeat", "warmup", "timeout_s", "interleaved", "first_in_process"}) {
    CHECK(r.at("trials").contains(key));
  }
  CHECK(r.at("prepare_s").at(1) == 0.0625);
  CHECK(r.at("collect_s").at(0) == 2);
  CHECK(r.at("trials").at("sampling") == "other_pattern");
  for (const char* key : {"compiler", "nvcc", "flags", "arch", "type"}) {
    CHECK(r.at("build").contains(key));
  }
  const pattern a = reference::worked_example();
  const auto& result = r.at("result");
  CHECK(result.at("fill").get<offset_t>() ==
        result.at("nnz_l").get<offset_t>() + result.at("nnz_u").get<offset_t>() - a.nnz());
  CHECK(result.at("digest").get<std::string>().size() == 16);
  CHECK(r.at("counters").at("revisits") == 7);
  CHECK(r.at("series").at("frontier_size").size() == 2);
  CHECK(r.at("status") == "pass");
  CHECK(r.at("mem").at("device_peak") == 4096);
  CHECK(r.at("mem").at("device").at("fill") == 1024);
}

TEST_CASE("names that are not UTF-8 do not cost the record") {
  const temporary_file file;
  json r = sample_record();
  r["matrix"]["name"] = "w\xff";
  record_file(file.path()).append(r);
  const auto found = records_in(file.path());
  REQUIRE(found.size() == 1);
  CHECK(found[0].at("matrix").at("name") == "w\xef\xbf\xbd");
  CHECK(recorded_keys(file.path()).done.contains(record_key(found[0])));
}

TEST_CASE("options keep their types") {
  const std::vector<option_spec> specs{
      {.name = "flag", .default_value = true, .help = ""},
      {.name = "number", .default_value = std::int64_t{3}, .help = ""},
      {.name = "word", .default_value = std::string("a"), .help = "", .choices = {"a", "b"}}};
  const json j = options_json(option_set(specs));
  CHECK(j.at("flag").is_boolean());
  CHECK(j.at("number").is_number_integer());
  CHECK(j.at("word").is_string());
}

TEST_CASE("digests are 16 hexadecimal digits") {
  CHECK(hex(0) == "0000000000000000");
  CHECK(hex(0xabcULL) == "0000000000000abc");
}

TEST_CASE("cases that were skipped or ended in an error are to be run again") {
  for (const auto& [status, keys] : {std::pair{run_status::skipped, 0},
                                     {run_status::error, 0},
                                     {run_status::timeout, 1},
                                     {run_status::fail, 1}}) {
    const temporary_file file;
    record_file(file.path()).append(sample_record(status));
    CHECK(recorded_keys(file.path()).done.size() == static_cast<std::size_t>(keys));
    CHECK(recorded_keys(file.path()).skipped.size() == (status == run_status::skipped ? 1 : 0));
  }
}

TEST_CASE("records are appended as whole lines and found again by key") {
  const temporary_file file;
  CHECK(recorded_keys(file.path()).done.empty());
  record_file out(file.path());
  const json r = sample_record();
  out.append(r);
  out.append(sample_record(run_status::skipped));
  std::ifstream in(file.path());
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines) CHECK(json::parse(line).is_object());
  CHECK(lines == 4);  // two runs with one record each
  const auto keys = recorded_keys(file.path()).done;
  CHECK(keys.size() == 1);
  CHECK(keys.contains(record_key(r)));

  json other = r;
  other["threads"] = 2;
  CHECK_FALSE(keys.contains(record_key(other)));
  other = r;
  other["asked"] = {"digest"};
  CHECK_FALSE(keys.contains(record_key(other)));
  other = r;
  other["mpi"]["ranks"] = 2;
  CHECK_FALSE(keys.contains(record_key(other)));
  other = r;
  other["git"]["sha"] = "0";
  CHECK_FALSE(keys.contains(record_key(other)));
  // Two orders may give one and the same pattern; the other one is still to be recorded.
  other = r;
  other["ordering"]["col"] = "another";
  CHECK_FALSE(keys.contains(record_key(other)));
  other = r;
  other["ordering"]["row"] = "another";
  CHECK_FALSE(keys.contains(record_key(other)));
  other = r;
  other["time_utc"] = "later";
  CHECK(keys.contains(record_key(other)));
}

TEST_CASE("record_file: a lock that another process keeps is an error that names it") {
  const temporary_file file;
  record_file(file.path()).append(sample_record());
  const int fd = ::open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  REQUIRE(::flock(fd, LOCK_SH) == 0);
  const std::string name = "locked by ";
  CHECK_THROWS_WITH_AS(record_file(file.path(), std::chrono::milliseconds(20)),
                       doctest::Contains(name.c_str()), input_error);
  ::close(fd);
  CHECK_NOTHROW(record_file(file.path(), std::chrono::milliseconds(0)));
}

TEST_CASE("a file that holds no records is refused by line") {
  const temporary_file file;
  std::ofstream(file.path()) << "{}\n";
  CHECK_THROWS_WITH_AS(recorded_keys(file.path()),
                       (file.path().string() + ":1: not a record: 'schema' is missing").c_str(),
                       input_error);
}

TEST_CASE("records are appended to nothing but records") {
  const temporary_file file;
  const std::string name = file.path().string();
  for (const auto& [other, line] :
       {std::pair{"text\n", "1"}, std::pair{"%%MatrixMarket matrix\n", "1"}, std::pair{"{\n", "1"},
        std::pair{"{\"a\":1}\n", "1"}, std::pair{"text", "1"}, std::pair{"\x7f\x45LF", "1"},
        std::pair{"[]\n", "1"}, std::pair{"\n\ntext\n", "3"}}) {
    put(file.path(), other);
    CHECK_THROWS_WITH_AS(
        record_file{file.path()},
        (name + ":" + line + ": not a record, so nothing is appended to this file").c_str(),
        input_error);
    CHECK(content(file.path()) == other);
  }
  const json r = sample_record();
  for (const std::string& ours :
       {std::string(), std::string("\n\n"), json_line(r) + "\n", lines_of(r),
        std::string(R"({"kind":"predicted","matrix":{}})") + "\n"}) {
    put(file.path(), ours);
    record_file(file.path()).append(r);
    CHECK(content(file.path()) == ours + lines_of(r));
  }
}

TEST_CASE("a record is on the disk once it is appended, and so is the name of a new file") {
  const temporary_file file;
  const noted_syncs synced;
  record_file out(file.path());
  CHECK(synced.paths() == std::vector<std::string>{file.path().parent_path().string()});
  out.append(sample_record());
  REQUIRE(synced.paths().size() == 2);
  CHECK(synced.paths()[1] == file.path().string());
}

TEST_CASE("a folder that cannot be made is refused with the reason") {
  const temporary_file file;
  put(file.path(), "text");
  const std::string name = file.path().string();
  CHECK_THROWS_WITH_AS(record_file{file.path() / "below" / "r.jsonl"},
                       (name + "/below: cannot create the folder: Not a directory").c_str(),
                       input_error);
}

TEST_CASE("a line with a wrong type or a missing key is refused by line and key") {
  const temporary_file file;
  const json good = sample_record();
  const auto fault = [&](const std::string& line) {
    std::ofstream(file.path()) << json_line(good) << "\n\n" << line << "\n";
    try {
      recorded_keys(file.path());
    } catch (const input_error& e) {
      return std::string(e.what()).erase(0, file.path().string().size());
    }
    return std::string("none");
  };
  CHECK(fault(json_line(good)) == "none");
  CHECK(fault("{\"schema\": 1,") == ":3: not JSON from column 14 on");
  CHECK(fault("{\"schema\": 1e999}") == ":3: not a record: number overflow parsing '1e999'");
  CHECK(fault("\xff").starts_with(":3: not JSON from column 1 on"));
  CHECK(fault("[]") == ":3: not a record: not a JSON object");
  CHECK(fault("null") == ":3: not a record: not a JSON object");
  CHECK(fault(std::string(1000000, '[')) == ":3: not a record: more than 64 levels deep");
  json other = good;
  other["schema"] = record_schema + 1;
  CHECK(fault(json_line(other)).starts_with(":3: schema "));
  for (const char* key : {"schema", "git", "host", "matrix", "ordering", "variant", "options",
                          "threads", "chunk_size", "counting", "asked", "mpi", "status"}) {
    CAPTURE(key);
    other = good;
    other[key] = json::array({json::object()});
    if (key != std::string("asked")) CHECK(fault(json_line(other)).find(key) != std::string::npos);
    other[key] = nullptr;
    CHECK(fault(json_line(other)).starts_with(":3: not a record: '" + std::string(key)));
    other.erase(key);
    CHECK((fault(json_line(other)) == "none") == (key == std::string("asked")));
  }
}

TEST_CASE("a record that the disk does not take whole leaves the file as it was") {
  const temporary_file file;
  const json r = sample_record();
  record_file out(file.path());
  out.append(r);
  const std::string before = content(file.path());
  {
    const file_size_limit full(before.size() + 100);
    CHECK_THROWS_AS(out.append(r), error);
  }
  CHECK(content(file.path()) == before);
  out.append(r);
  CHECK(content(file.path()) == before + before.substr(before.find('\n') + 1));
  CHECK(records_in(file.path()).size() == 2);
  // The header is written with the next record if the first one of a run was not.
  const json next = sample_record();
  {
    const file_size_limit full(content(file.path()).size() + 100);
    CHECK_THROWS_AS(out.append(next), error);
  }
  out.append(next);
  CHECK(records_in(file.path()).back().at("run_id") == next.at("run_id"));
}

TEST_CASE("lines of a run share one header, and are read again as the records that they are of") {
  const json first = sample_record();
  json second = first;
  second["threads"] = 7;
  record_writer writer;
  std::string both = writer.lines_of(first);
  both += writer.lines_of(second);
  CHECK(std::ranges::count(both, '\n') == 3);
  const json header = json::parse(both.substr(0, both.find('\n')));
  CHECK(header.at("kind") == "run_header");
  CHECK(header.at("machine").contains("id"));
  CHECK_FALSE(header.at("machine").contains("after"));
  const std::string own = writer.lines_of(second);
  for (const char* key : {"argv", "git", "build", "host", "cpu", "gpus", "experiment"}) {
    CHECK(header.contains(key));
    CHECK_FALSE(json::parse(own).contains(key));
  }
  const temporary_file file;
  put(file.path(), both);
  // As json compares objects: whatever the order of their keys.
  const auto found = records_in(file.path());
  REQUIRE(found.size() == 2);
  CHECK(nlohmann::json(found[0]) == nlohmann::json(first));
  CHECK(nlohmann::json(found[1]) == nlohmann::json(second));
  CHECK(recorded_keys(file.path()).done.size() == 2);
  put(file.path(), own);
  CHECK_THROWS_WITH_AS(recorded_keys(file.path()),
                       (file.path().string() + ":1: not a record: no line before it is the " +
                        "run_header of " + first.at("run_id").get<std::string>())
                           .c_str(),
                       input_error);
  CHECK(record_writer().lines_of({{"kind", "predicted"}}) == "{\"kind\":\"predicted\"}\n");
}

TEST_CASE("the command line of a record is relative to the working directory") {
  const std::string here = std::filesystem::current_path().string();
  const std::string file = here + "/build/gsofa";
  const std::string sibling = here + "2/x";
  const char* argv[] = {file.c_str(), "run", sibling.c_str()};
  const json head = record_head(make_session(3, argv), {}, {});
  CHECK(head.at("argv") == json{"build/gsofa", "run", sibling});
}

TEST_CASE("a last line that is cut off is never appended to") {
  const temporary_file file;
  const json r = sample_record();
  record_file out(file.path());
  out.append(r);
  const std::string whole = content(file.path());
  const std::string torn = whole + whole.substr(0, 200);
  put(file.path(), torn);
  CHECK_THROWS_AS(out.append(r), error);
  CHECK_THROWS_AS(record_file{file.path()}, input_error);
  CHECK(content(file.path()) == torn);
}

TEST_CASE("what is left of a record that is cut off is dropped") {
  const temporary_file file;
  CHECK(mend_last_line(file.path()).empty());
  const json r = sample_record();
  record_file(file.path()).append(r);
  const std::string written = content(file.path());
  const std::string header = written.substr(0, written.find('\n') + 1);
  const std::string whole = written.substr(header.size());
  CHECK(mend_last_line(file.path()).empty());
  for (const std::string& before : {header, written, header + std::string(200000, '\n')}) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{200}, whole.size() - 2}) {
      put(file.path(), before + whole.substr(0, size));
      CHECK(recorded_keys(file.path()).done.size() == (before == written ? 1 : 0));
      CHECK(mend_last_line(file.path()).find("dropped") != std::string::npos);
      CHECK(content(file.path()) == before);
    }
    // Only the end of the line is missing: the record is kept.
    put(file.path(), before + whole.substr(0, whole.size() - 1));
    CHECK(recorded_keys(file.path()).done.size() == 1);
    CHECK(mend_last_line(file.path()).find("added") != std::string::npos);
    CHECK(content(file.path()) == before + whole);
  }
  for (const char* other : {"some text", "{}", "[1, 2"}) {
    put(file.path(), whole + other);
    CHECK_THROWS_AS(mend_last_line(file.path()), input_error);
    CHECK(content(file.path()) == whole + other);
  }
}

TEST_CASE("a skipped record has no result but its reason") {
  const auto info = testing::fake_info();
  const auto a = testing::as_it_is(reference::worked_example());
  const char* argv[] = {"gsofa"};
  const json r = make_record(make_session(1, argv), a,
                             {.info = &info, .settings = run_settings(), .trials = {}},
                             skipped_case("no device"), false);
  CHECK(r.at("status") == "skipped");
  CHECK(r.at("reason") == "no device");
  CHECK(r.at("result").empty());
  CHECK(r.at("samples_s").empty());
}

TEST_CASE("statistics of a series: ties share their rank, zeros are no least positive value") {
  static const auto info = testing::fake_info();
  const auto a = testing::as_it_is(reference::worked_example());
  const char* argv[] = {"gsofa"};
  const case_request request{.info = &info, .settings = run_settings(), .trials = {}};
  case_outcome out;
  out.counters.series = {{"ties", {0, 3, 3, 1}}, {"equal", {2, 2}}, {"none", {}}, {"zero", {0}}};
  const json stats = make_record(make_session(1, argv), a, request, out, false).at("series_stats");
  CHECK(stats.at("ties").at("least_positive") == 1);
  CHECK(stats.at("ties").at("most") == 3);
  // Ranks 0, 2.5, 2.5, 1 of the sources 0, 1, 2, 3, less 1.5 each.
  CHECK(stats.at("ties").at("rank_correlation") == doctest::Approx(1.5 / std::sqrt(4.5 * 5)));
  CHECK_FALSE(stats.at("equal").contains("rank_correlation"));
  CHECK(stats.at("none").empty());
  CHECK_FALSE(stats.at("zero").contains("least_positive"));
}
