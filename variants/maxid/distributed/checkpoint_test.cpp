#include "variants/maxid/distributed/checkpoint.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

using namespace gsofa;
using namespace gsofa::maxid;

namespace {

class temporary_folder {
 public:
  temporary_folder()
      : path_(std::filesystem::temp_directory_path() /
              ("gsofa_checkpoint_test_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~temporary_folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Order 10 in chunks of 4: rows of the chunks are 4, 4 and 2.
const checkpoint_key key{
    .pattern_digest = 42, .n = 10, .chunk_size = 4, .digests = true, .supernodes = true};

chunk_record record(index_t chunk) {
  chunk_record c{.chunk = chunk, .l_counts = {}, .u_counts = {}, .digests = {}, .starts = {}};
  for (index_t k = 0; k < (chunk == 2 ? 2 : 4); ++k) {
    c.l_counts.push_back(chunk + k);
    c.u_counts.push_back(1 + k);
    c.digests.push_back(static_cast<std::uint64_t>(chunk) << 40 | static_cast<std::uint64_t>(k));
    c.starts.push_back(k == 0 ? 1 : 0);
  }
  return c;
}

bool same(const chunk_record& x, const chunk_record& y) {
  return x.chunk == y.chunk && x.l_counts == y.l_counts && x.u_counts == y.u_counts &&
         x.digests == y.digests && x.starts == y.starts;
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("chunks come back as they were written, across openings") {
  const temporary_folder folder;
  const auto file = checkpoint_file::name(folder.path(), 3);
  CHECK(checkpoint_file::all(folder.path()).empty());
  { checkpoint_file(file, key).append(record(2)); }
  { checkpoint_file(file, key).append(record(0)); }
  const auto found = checkpoint_file::read(file, key);
  REQUIRE(found.size() == 2);
  CHECK(same(found[0], record(2)));
  CHECK(same(found[1], record(0)));
  CHECK(checkpoint_file::all(folder.path()) == std::vector<std::filesystem::path>{file});
}

TEST_CASE("a file cut off anywhere keeps its whole records and can be continued") {
  const temporary_folder folder;
  const auto file = checkpoint_file::name(folder.path(), 0);
  std::vector<std::size_t> ends;
  {
    checkpoint_file out(file, key);
    ends.push_back(bytes_of(file).size());
    for (const index_t c : {1, 2}) {
      out.append(record(c));
      ends.push_back(bytes_of(file).size());
    }
  }
  const std::string whole = bytes_of(file);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    write_bytes(file, whole.substr(0, size));
    const std::size_t expected = size >= ends[2] ? 2 : size >= ends[1] ? 1 : 0;
    CHECK(checkpoint_file::read(file, key).size() == expected);
    checkpoint_file(file, key).append(record(0));
    const auto found = checkpoint_file::read(file, key);
    REQUIRE(found.size() == expected + 1);
    CHECK(same(found.back(), record(0)));
  }
}

TEST_CASE("a damaged byte is noticed") {
  const temporary_folder folder;
  const auto file = checkpoint_file::name(folder.path(), 0);
  { checkpoint_file(file, key).append(record(1)); }
  const std::string whole = bytes_of(file);
  for (std::size_t k = 0; k < whole.size(); ++k) {
    std::string damaged = whole;
    damaged[k] = static_cast<char>(damaged[k] ^ 16);
    write_bytes(file, damaged);
    std::size_t found = 0;
    try {
      found = checkpoint_file::read(file, key).size();
    } catch (const input_error&) {
    }
    CHECK(found == 0);
  }
}

TEST_CASE("the checkpoint of something else is refused") {
  const temporary_folder folder;
  const auto file = checkpoint_file::name(folder.path(), 0);
  { checkpoint_file(file, key).append(record(1)); }
  for (int k = 0; k < 5; ++k) {
    checkpoint_key other = key;
    if (k == 0) other.pattern_digest = 43;
    if (k == 1) other.n = 11;
    if (k == 2) other.chunk_size = 8;
    if (k == 3) other.digests = false;
    if (k == 4) other.supernodes = false;
    CHECK_THROWS_AS(checkpoint_file::read(file, other), input_error);
    CHECK_THROWS_AS(checkpoint_file(file, other), input_error);
  }
  write_bytes(file, std::string(100, 'x'));
  CHECK_THROWS_AS(checkpoint_file::read(file, key), input_error);
  CHECK_THROWS_AS(checkpoint_file("/nonexistent/folder/x.chunks", key), input_error);
}

TEST_CASE("only checkpoints are removed") {
  const temporary_folder folder;
  const auto mine = checkpoint_file::name(folder.path(), 0);
  const auto cut_off = checkpoint_file::name(folder.path(), 7);
  const auto notes = folder.path() / "notes.chunks";
  const auto empty = folder.path() / "empty.chunks";
  { checkpoint_file(mine, key).append(record(1)); }
  write_bytes(cut_off, bytes_of(mine).substr(0, 5));
  write_bytes(notes, "of chunks of another kind");
  write_bytes(empty, "");
  std::filesystem::create_directory(folder.path() / "folder.chunks");
  CHECK(checkpoint_file::all(folder.path()) == std::vector{mine, cut_off});

  // Another file in the place of a rank's, whatever its length, leaves everything unchanged.
  for (const char* text : {"x", "notes of somebody who likes the name of rank 1"}) {
    const auto taken = checkpoint_file::name(folder.path(), 1);
    write_bytes(taken, text);
    CHECK_THROWS_WITH_AS(checkpoint_file::remove_all(folder.path(), 2),
                         (taken.string() + ": is no checkpoint and would be overwritten").c_str(),
                         input_error);
    CHECK_THROWS_AS(checkpoint_file(taken, key), input_error);
    CHECK_THROWS_AS(checkpoint_file::read(taken, key), input_error);
    CHECK(bytes_of(taken) == text);
    CHECK(std::filesystem::exists(mine));
  }
  checkpoint_file::remove_all(folder.path(), 1);
  CHECK_FALSE(std::filesystem::exists(mine));
  CHECK_FALSE(std::filesystem::exists(cut_off));
  CHECK(std::filesystem::exists(checkpoint_file::name(folder.path(), 1)));
  CHECK(std::filesystem::exists(notes));
  CHECK(std::filesystem::exists(empty));
  std::filesystem::create_directory(mine);
  CHECK_THROWS_AS(checkpoint_file::remove_all(folder.path(), 1), input_error);
  CHECK_THROWS_AS(checkpoint_file(mine, key), input_error);
}
