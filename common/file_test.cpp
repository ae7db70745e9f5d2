#include "common/file.hpp"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <system_error>

#include "common/byte_source.hpp"
#include "common/error.hpp"
#include "common/process.hpp"
#include "common/test_files.hpp"

namespace gsofa::testing {

namespace {
noted_syncs* noting = nullptr;
}

noted_syncs::noted_syncs() { noting = this; }
noted_syncs::~noted_syncs() { noting = nullptr; }

int noted_syncs::call(int descriptor) {
  std::error_code ignored;
  const auto name = "/proc/self/fd/" + std::to_string(descriptor);
  paths_.push_back(std::filesystem::read_symlink(name, ignored).string());
  if (before_each) before_each();
  errno = fault;
  return fault != 0 ? -1 : static_cast<int>(::syscall(SYS_fsync, descriptor));
}

}  // namespace gsofa::testing

// In place of the one of the C library, in this program.
extern "C" int fsync(int descriptor) {
  gsofa::testing::noted_syncs* const note = gsofa::testing::noting;
  return note != nullptr ? note->call(descriptor)
                         : static_cast<int>(::syscall(SYS_fsync, descriptor));
}

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

TEST_CASE("atomic_file: the bytes are on the disk before the name is, then the name") {
  const temporary_directory directory;
  const auto file = directory.path() / "out";
  put(file, "old");
  noted_syncs synced;
  {
    atomic_file out(file);
    out.write("new");
    synced.before_each = [&] {
      if (synced.paths().size() == 1) CHECK(content(file) == "old");
    };
    out.commit();
  }
  REQUIRE(synced.paths().size() == 2);
  CHECK(synced.paths()[0].find(".gsofa-part-") != std::string::npos);
  CHECK(synced.paths()[1] == directory.path().string());
  CHECK(content(file) == "new");
  // A disk that fails leaves what was there; a file system without the operation is no failure.
  for (const int fault : {EIO, EINVAL}) {
    synced.fault = fault;
    atomic_file out(file);
    out.write("newer");
    if (fault == EIO) {
      CHECK_THROWS_WITH_AS(out.commit(),
                           (file.string() + ": cannot write: Input/output error").c_str(),
                           input_error);
      CHECK(content(file) == "new");
    } else {
      out.commit();
      CHECK(content(file) == "newer");
    }
  }
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
  if (::geteuid() == 0) {  // others cannot make a link of another user
    REQUIRE(::lchown(link.c_str(), 65534, 65534) == 0);
    CHECK_THROWS_WITH_AS(atomic_file{link}, doctest::Contains("a link of another user"),
                         input_error);
    CHECK(content(target) == "new");
  }
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

TEST_CASE("byte_source and file_content: absent files and directories") {
  const temporary_directory directory;
  CHECK_THROWS_AS(byte_source{directory.path() / "absent"}, input_error);
  CHECK_THROWS_AS(read_all(directory.path()), input_error);
  CHECK_THROWS_AS(file_content{directory.path() / "absent"}, input_error);
  CHECK_THROWS_AS(file_content{directory.path()}, input_error);
  put(directory.path() / "empty", "");
  CHECK(file_content(directory.path() / "empty").bytes().empty());
}

TEST_CASE("file_content: nothing that happens to the file later changes it") {
  const temporary_directory directory;
  const auto file = directory.path() / "in";
  std::string text;
  for (int k = 0; k < 100000; ++k) text += std::to_string(k) + ' ';
  put(file, text);
  const file_content held(file);
  CHECK(reinterpret_cast<std::uintptr_t>(held.bytes().data()) % 64 == 0);
  fs::resize_file(file, 0);
  // A mapping would end the process by SIGBUS here.
  CHECK(std::string(reinterpret_cast<const char*>(held.bytes().data()), held.bytes().size()) ==
        text);
}

TEST_CASE("create_folder: all above it, once, and the reason of a failure") {
  const temporary_directory directory;
  create_folder(directory.path() / "a" / "b");
  create_folder(directory.path() / "a" / "b" / "");
  fs::create_symlink("a", directory.path() / "link");
  create_folder(directory.path() / "link");
  CHECK(fs::is_directory(directory.path() / "a" / "b"));
  put(directory.path() / "file", "text");
  auto message = [&](const fs::path& folder) {
    try {
      create_folder(folder);
    } catch (const input_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const std::string name = (directory.path() / "file").string();
  CHECK(message(name) == name + ": cannot create the folder: Not a directory");
  CHECK(message(name + "/below") == name + "/below: cannot create the folder: Not a directory");
  const std::string longest = (directory.path() / std::string(300, 'x')).string();
  CHECK(message(longest) == longest + ": cannot create the folder: File name too long");
}

TEST_CASE("available_memory is what the machine and the control groups of the process leave") {
  CHECK(available_memory() > 0);
  const temporary_directory directory;
  const fs::path& root = directory.path();
  put(root / "proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:   3000 kB\n");
  CHECK(available_memory(root) == 3000 << 10);
  put(root / "proc/self/cgroup", "0::/user/job\n");
  put(root / "sys/fs/cgroup/user/job/memory.max", "max\n");
  CHECK(available_memory(root) == 3000 << 10);
  put(root / "sys/fs/cgroup/user/memory.max", "2000000\n");
  put(root / "sys/fs/cgroup/user/memory.stat", "anon 500000\nfile 1400000\n");
  CHECK(available_memory(root) == 1500000);
  // Version 1, with the group of a container, whose folder the container does not see.
  put(root / "proc/self/cgroup", "5:cpu:/\n4:hugetlb,memory:/docker/c\n");
  CHECK(available_memory(root) == 3000 << 10);
  put(root / "sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n");
  put(root / "sys/fs/cgroup/memory/memory.stat", "rss 9\ntotal_rss 400000\n");
  CHECK(available_memory(root) == 600000);
  put(root / "sys/fs/cgroup/memory/memory.stat", "total_rss 1400000\n");
  CHECK(available_memory(root) == 0);
}

TEST_CASE("processors_of_groups is the least quota of the control groups, rounded up") {
  const temporary_directory directory;
  const fs::path& root = directory.path();
  constexpr int none = std::numeric_limits<int>::max();
  CHECK(processors_of_groups(root) == none);
  put(root / "proc/self/cgroup", "0::/user/job\n");
  put(root / "sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
  CHECK(processors_of_groups(root) == none);
  put(root / "sys/fs/cgroup/user/cpu.max", "250000 100000\n");
  CHECK(processors_of_groups(root) == 3);
}

TEST_CASE("threads_of_process respects the processors, OpenMP and the ranks of the node") {
  const auto with = [](const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
    const int threads = threads_of_process();
    unsetenv(name);
    return threads;
  };
  const int all = std::min(usable_processors(), processors_of_groups());
  const auto online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  CHECK(with("OMP_NUM_THREADS", "100000") == all);
  CHECK(with("OMP_NUM_THREADS", "1,4") == 1);
  CHECK(with("OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(online)) == 1);
  CHECK(with("SLURM_STEP_TASKS_PER_NODE", std::to_string(online) + "(x2),1") == 1);
  CHECK(threads_of_setting() == 0);
  setenv("GSOFA_THREADS", "12", 1);
  CHECK(threads_of_setting() == 12);
  for (const char* wrong : {"0", "-1", "two", "2x", "99999999999"}) {
    setenv("GSOFA_THREADS", wrong, 1);
    CHECK_THROWS_AS(threads_of_setting(), input_error);
  }
  unsetenv("GSOFA_THREADS");
}

}  // namespace
