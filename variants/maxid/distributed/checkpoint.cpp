#include "variants/maxid/distributed/checkpoint.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>

#include "common/file.hpp"
#include "common/random.hpp"

namespace gsofa::maxid {

namespace {

constexpr std::array<char, 8> magic{'G', 'S', 'O', 'F', 'A', 'C', 'P', '1'};
constexpr const char* suffix = ".chunks";

std::uint64_t checksum(std::span<const char> bytes) {
  std::uint64_t sum = bytes.size();
  for (const char b : bytes) sum = mix64(sum + static_cast<unsigned char>(b));
  return sum;
}

template <class T>
void put(std::vector<char>& out, const T& value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}
template <class T>
void put_all(std::vector<char>& out, const std::vector<T>& values) {
  const auto* bytes = reinterpret_cast<const char*>(values.data());
  out.insert(out.end(), bytes, bytes + values.size() * sizeof(T));
}

std::vector<char> header(const checkpoint_key& key) {
  std::vector<char> out;
  put(out, magic);
  put(out, key.pattern_digest);
  put(out, key.n);
  put(out, key.chunk_size);
  put(out, static_cast<std::uint32_t>((key.digests ? 1U : 0U) | (key.supernodes ? 2U : 0U)));
  put(out, checksum(out));
  return out;
}

// Reads from the front of a span; a read returns false once the span is too short.
struct reader {
  std::span<const char> left;
  template <class T>
  bool take(T& value) {
    if (left.size() < sizeof value) return false;
    std::memcpy(&value, left.data(), sizeof value);
    left = left.subspan(sizeof value);
    return true;
  }
  template <class T>
  bool take(std::vector<T>& values, std::size_t count) {
    if (left.size() / sizeof(T) < count) return false;
    values.resize(count);
    if (count > 0) std::memcpy(values.data(), left.data(), count * sizeof(T));
    left = left.subspan(count * sizeof(T));
    return true;
  }
};

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& why) {
  throw input_error(file.string() + ": " + why);
}

constexpr const char* foreign = "is no checkpoint";

// Reads the magic bytes, or as many of them as a file has that is cut off within them.
bool begins_with_magic(std::span<const char> bytes) {
  const std::size_t size = std::min(bytes.size(), magic.size());
  return std::equal(magic.begin(), magic.begin() + static_cast<std::ptrdiff_t>(size),
                    bytes.begin());
}

bool is_checkpoint(const std::filesystem::path& file) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(file, failure)) return false;
  std::ifstream in(file, std::ios::binary);
  std::array<char, magic.size()> begin{};
  in.read(begin.data(), begin.size());
  const auto got = static_cast<std::size_t>(in.gcount());
  if (in.bad() || (!in && !in.eof()) || !begins_with_magic(std::span(begin).first(got))) {
    return false;
  }
  // A process that died within its first write left a file with the name of a rank's and less than
  // the magic bytes.
  const std::string name = file.stem().string();
  return got == magic.size() || (name.size() > 4 && name.starts_with("rank") &&
                                 name.find_first_not_of("0123456789", 4) == std::string::npos);
}

}  // namespace

std::vector<chunk_record> checkpoint_file::read(const std::filesystem::path& file,
                                                const checkpoint_key& key,
                                                std::uint64_t* whole_bytes) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(file, failure)) fail(file, foreign);
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) fail(file, "cannot be read" + because_of_errno());
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  if (!begins_with_magic(bytes)) fail(file, foreign);
  std::vector<chunk_record> records;
  const std::vector<char> expected = header(key);
  std::size_t whole = 0;
  // A file cut off within its header holds nothing.
  if (bytes.size() >= expected.size()) {
    if (!std::equal(expected.begin(), expected.end(), bytes.begin())) {
      fail(file, "is the checkpoint of another matrix, order, chunk size or result");
    }
    whole = expected.size();
    reader r{std::span(bytes).subspan(whole)};
    const chunking chunks(key.n, key.chunk_size);
    for (;;) {
      chunk_record c;
      index_t rows = 0;
      if (!r.take(c.chunk) || !r.take(rows) || rows < 0) break;
      const auto count = static_cast<std::size_t>(rows);
      if (!r.take(c.l_counts, count) || !r.take(c.u_counts, count)) break;
      if (key.digests && !r.take(c.digests, count)) break;
      if (key.supernodes && !r.take(c.starts, count)) break;
      const std::size_t end = bytes.size() - r.left.size();
      std::uint64_t sum = 0;
      if (!r.take(sum) || sum != checksum(std::span(bytes).subspan(whole, end - whole))) break;
      if (c.chunk < 0 || c.chunk >= chunks.count() ||
          rows != chunks.end(c.chunk) - chunks.begin(c.chunk)) {
        fail(file, "holds a chunk that the matrix does not have");
      }
      whole = end + sizeof sum;
      records.push_back(std::move(c));
    }
  }
  if (whole_bytes != nullptr) *whole_bytes = whole;
  return records;
}

checkpoint_file::checkpoint_file(std::filesystem::path file, const checkpoint_key& key)
    : file_(std::move(file)) {
  std::error_code failure;
  std::uint64_t whole = 0;
  if (std::filesystem::exists(file_, failure)) read(file_, key, &whole);
  fd_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) fail(file_, reason_of(errno));
  const std::vector<char> begin = header(key);
  const bool fresh = whole == 0;
  if (::ftruncate(fd_, static_cast<off_t>(whole)) != 0 || ::lseek(fd_, 0, SEEK_END) < 0 ||
      (fresh && ::write(fd_, begin.data(), begin.size()) != static_cast<ssize_t>(begin.size()))) {
    const std::string why = reason_of(errno);
    ::close(fd_);
    fail(file_, why);
  }
}

checkpoint_file::~checkpoint_file() {
  if (fd_ >= 0) ::close(fd_);
}

void checkpoint_file::append(const chunk_record& record) {
  std::vector<char> out;
  put(out, record.chunk);
  put(out, static_cast<index_t>(record.l_counts.size()));
  put_all(out, record.l_counts);
  put_all(out, record.u_counts);
  put_all(out, record.digests);
  put_all(out, record.starts);
  put(out, checksum(out));
  const ssize_t written = ::write(fd_, out.data(), out.size());
  if (written != static_cast<ssize_t>(out.size())) {
    throw error(exit_code::run_failed,
                file_.string() + ": chunk not written whole: " +
                    (written < 0 ? reason_of(errno) : std::string("the device is full")));
  }
}

std::filesystem::path checkpoint_file::name(const std::filesystem::path& folder, int rank) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "rank%05d%s", rank, suffix);
  return folder / text.data();
}

std::vector<std::filesystem::path> checkpoint_file::all(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    if (entry.path().extension() == suffix && is_checkpoint(entry.path())) {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

void checkpoint_file::remove_all(const std::filesystem::path& folder, int ranks) {
  std::error_code failure;
  for (int r = 0; r < ranks; ++r) {
    const auto file = name(folder, r);
    if (std::filesystem::exists(file, failure) && !is_checkpoint(file)) {
      fail(file, std::string(foreign) + " and would be overwritten");
    }
  }
  for (const auto& file : all(folder)) {
    if (!std::filesystem::remove(file, failure) && failure) fail(file, failure.message());
  }
}

}  // namespace gsofa::maxid
