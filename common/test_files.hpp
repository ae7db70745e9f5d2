#pragma once

/// Whole files, for tests.

#include <zlib.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace gsofa::testing {

/// Writes a file and creates its parent folders. An existing file is removed first: some file
/// systems flush a file that is truncated and rewritten.
inline void put(const std::filesystem::path& file, const std::string& text) {
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
  std::filesystem::remove(file);
  std::ofstream(file, std::ios::binary) << text;
}

inline std::string content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// While an object of this class exists, calls of fsync() in this program are recorded
/// (file_test.cpp); at most one object at a time.
class noted_syncs {
 public:
  noted_syncs();
  ~noted_syncs();
  noted_syncs(const noted_syncs&) = delete;
  noted_syncs& operator=(const noted_syncs&) = delete;

  /// The files and folders, in order.
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }
  /// The result of fsync(): 0, or -1 with errno set to `fault`.
  int call(int descriptor);

  std::function<void()> before_each;
  int fault = 0;  ///< 0: the system call decides

 private:
  std::vector<std::string> paths_;
};

/// One gzip member.
inline std::string gzip(const std::string& text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8,
                       Z_DEFAULT_STRATEGY) == Z_OK);
  std::string input = text;
  std::string output(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(output.data());
  stream.avail_out = static_cast<uInt>(output.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  output.resize(stream.total_out);
  deflateEnd(&stream);
  return output;
}

}  // namespace gsofa::testing
