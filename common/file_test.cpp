#include "common/file.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include "common/error.hpp"
#include "common/test_files.hpp"

namespace {

using namespace gsofa;
using namespace gsofa::testing;
namespace fs = std::filesystem;

std::size_t files_in(const fs::path& directory) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

std::string read_all(const fs::path& file) {
  byte_source source(file);
  std::string text;
  std::array<char, 1000> block;
  for (;;) {
    const std::size_t got = source.read(block);
    text.append(block.data(), got);
    if (got < block.size()) return text;
  }
}

TEST_CASE("atomic_file: appears only at commit and replaces what was there") {
  const temporary_directory directory;
  const auto file = directory.path() / "out";
  put(file, "old");
  {
    atomic_file out(file);
    out.write(std::string(1000000, 'a'));
    out.write("b");
    CHECK(content(file) == "old");
    out.commit();
  }
  CHECK(content(file) == std::string(1000000, 'a') + "b");
  CHECK(files_in(directory.path()) == 1);
}

TEST_CASE("atomic_file: without commit nothing stays") {
  const temporary_directory directory;
  { atomic_file(directory.path() / "out").write(std::string(1000000, 'a')); }
  CHECK(files_in(directory.path()) == 0);
}

TEST_CASE("atomic_file: follows links and refuses other kinds of files") {
  const temporary_directory directory;
  const auto target = directory.path() / "target";
  const auto link = directory.path() / "link";
  put(target, "old");
  fs::create_symlink(target, link);
  {
    atomic_file out(link);
    out.write("new");
    out.commit();
  }
  CHECK(fs::is_symlink(link));
  CHECK(content(target) == "new");
  CHECK_THROWS_AS(atomic_file("/dev/null"), input_error);
  CHECK_THROWS_AS(atomic_file{directory.path()}, input_error);
  CHECK_THROWS_AS(atomic_file{directory.path() / "absent" / "out"}, input_error);
}

TEST_CASE("atomic_file: the next writer removes what a killed one left, and nothing else") {
  const temporary_directory directory;
  const auto file = directory.path() / "out";
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    atomic_file out(file);
    out.write(std::string(1000000, 'a'));
    ::raise(SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(files_in(directory.path()) == 1);
  for (const char* name : {".out.gsofa-part-x-1", ".out.gsofa-part-1", "out.gsofa-part-1-2"}) {
    put(directory.path() / name, "something else");
  }
  {
    atomic_file alive(file);
    CHECK(files_in(directory.path()) == 4);
    alive.write("alive");
    // Both another process and another file of this one find the part of a live writer.
    const pid_t other = ::fork();
    REQUIRE(other >= 0);
    if (other == 0) {
      atomic_file(directory.path() / "third").commit();
      ::_exit(0);
    }
    REQUIRE(::waitpid(other, &status, 0) == other);
    atomic_file second(directory.path() / "second");
    second.commit();
    alive.commit();
  }
  CHECK(content(file) == "alive");
  CHECK(files_in(directory.path()) == 6);
}

TEST_CASE("byte_source: plain, gzip'd, in several members, empty, padded") {
  const temporary_directory directory;
  const auto file = directory.path() / "in";
  std::string text;
  for (int k = 0; k < 200000; ++k) text += std::to_string(k * 7919) + ' ';
  put(file, text);
  CHECK(read_all(file) == text);
  put(file, gzip(text));
  CHECK(byte_source(file).compressed());
  CHECK(read_all(file) == text);
  put(file, gzip(text) + gzip("") + gzip("tail") + std::string(100, '\0'));
  CHECK(read_all(file) == text + "tail");
  put(file, "");
  CHECK(read_all(file).empty());
  put(file, gzip(""));
  CHECK(read_all(file).empty());
}

TEST_CASE("byte_source: every truncation and corruption of gzip data is an error") {
  const temporary_directory directory;
  const auto file = directory.path() / "in.gz";
  const std::string zipped = gzip("some text, some text, some text");
  for (std::size_t k = 2; k < zipped.size(); ++k) {
    put(file, zipped.substr(0, k));
    CHECK_THROWS_AS(read_all(file), input_error);
  }
  std::string changed = zipped;
  changed[zipped.size() - 6] ^= 1;  // in the CRC
  put(file, changed);
  CHECK_THROWS_AS(read_all(file), input_error);
  put(file, zipped + "junk");
  CHECK_THROWS_AS(read_all(file), input_error);
}

TEST_CASE("byte_source and mapped_file: absent files and directories") {
  const temporary_directory directory;
  CHECK_THROWS_AS(byte_source{directory.path() / "absent"}, input_error);
  CHECK_THROWS_AS(read_all(directory.path()), input_error);
  CHECK_THROWS_AS(mapped_file{directory.path() / "absent"}, input_error);
  CHECK_THROWS_AS(mapped_file{directory.path()}, input_error);
  put(directory.path() / "empty", "");
  CHECK(mapped_file(directory.path() / "empty").bytes().empty());
}

TEST_CASE("available_memory is positive") { CHECK(available_memory() > 0); }

}  // namespace
