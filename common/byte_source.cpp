#include "common/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef GSOFA_HAVE_ZLIB
#include <zlib.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "common/error.hpp"

namespace gsofa {

namespace {

namespace fs = std::filesystem;

std::string error_text(int error_number) { return std::generic_category().message(error_number); }

class descriptor {
 public:
  explicit descriptor(int number) : number_(number) {}
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  void swap(descriptor& other) { std::swap(number_, other.number_); }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

int open_input(const fs::path& file) {
  const int number = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (number < 0) throw input_error(file.string() + ": cannot open: " + error_text(errno));
  return number;
}

// A new file without a name.
int open_scratch(const fs::path& file) {
  std::error_code failure;
  std::string name = (fs::temp_directory_path(failure) / "gsofa-XXXXXX").string();
  const int number = ::mkostemp(name.data(), O_CLOEXEC);
  if (number < 0) {
    throw input_error(file.string() + ": cannot keep a copy as " + name + ": " + error_text(errno));
  }
  ::unlink(name.c_str());
  return number;
}

}  // namespace

std::size_t read_fully(int number, char* out, std::size_t size, const fs::path& file) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(number, out + done, size - done);
    if (got < 0) {
      if (errno == EINTR) continue;
      throw input_error(file.string() + ": cannot read: " + error_text(errno));
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

wrapping wrapping_of(std::span<const char> head) {
  using namespace std::string_view_literals;
  const std::string_view text(head.data(), head.size());
  constexpr std::pair<std::string_view, wrapping> magic[] = {{"\x1f\x8b"sv, wrapping::gzip},
                                                             {"\xfd"
                                                              "7zXZ\0"sv,
                                                              wrapping::xz},
                                                             {"\x28\xb5\x2f\xfd"sv, wrapping::zstd},
                                                             {"\x1f\x9d"sv, wrapping::compress},
                                                             {"LZIP\x01"sv, wrapping::lzip},
                                                             {"PK\x03\x04"sv, wrapping::zip},
                                                             {"PK\x05\x06"sv, wrapping::zip}};
  for (const auto& [bytes, kind] : magic) {
    if (text.starts_with(bytes)) return kind;
  }
  if (text.starts_with("BZh") && text.size() > 9 && text[3] >= '1' && text[3] <= '9' &&
      (text.substr(4).starts_with("1AY&SY") || text.substr(4).starts_with("\x17rE8P\x90"))) {
    return wrapping::bzip2;
  }
  if (text.size() >= 262 && text.substr(257, 5) == "ustar") return wrapping::tar;
  return wrapping::none;
}

struct byte_source::state {
  static constexpr std::size_t block = std::size_t{1} << 18;

  explicit state(const fs::path& path) : file(path), input(open_input(path)) {
    struct stat info {};
    const bool regular = ::fstat(input.number(), &info) == 0 && S_ISREG(info.st_mode);
    if (regular) bytes = info.st_size;
    raw.resize(block);
    refill();
    const wrapping kind = wrapping_of(std::span(raw).first(raw_end));
    gzip = kind == wrapping::gzip;
    if (kind != wrapping::none && !regular) keep_copy();
    if (gzip) begin_inflating();
  }
  ~state() { end_inflating(); }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  bool refill() {
    raw_begin = 0;
    raw_end = read_fully(input.number(), raw.data(), raw.size(), file);
    return raw_end > 0;
  }

  // Copies what the first block holds and all that follows, and reads the copy from then on.
  void keep_copy() {
    descriptor copy(open_scratch(file));
    do {
      for (std::size_t done = 0; done < raw_end;) {
        const ssize_t put = ::write(copy.number(), raw.data() + done, raw_end - done);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0)
          throw input_error(file.string() + ": cannot keep a copy: " + error_text(errno));
        done += static_cast<std::size_t>(put);
      }
    } while (refill());
    input.swap(copy);
    to_begin();
  }

  void to_begin() {
    if (::lseek(input.number(), 0, SEEK_SET) != 0) {
      throw input_error(file.string() + ": cannot read again: " + error_text(errno));
    }
    refill();
  }

  void rewind() {
    to_begin();
    ended = false;
    if (!gzip) return;
    end_inflating();
    begin_inflating();
  }

  std::size_t read_plain(std::span<char> out) {
    const std::size_t held = std::min(out.size(), raw_end - raw_begin);
    std::copy_n(raw.data() + raw_begin, held, out.data());
    raw_begin += held;
    return held + read_fully(input.number(), out.data() + held, out.size() - held, file);
  }

#ifdef GSOFA_HAVE_ZLIB
  void begin_inflating() {
    stream = {};
    // 16: zlib expects a gzip header
    if (::inflateInit2(&stream, MAX_WBITS + 16) != Z_OK) throw std::bad_alloc();
    stream_ready = true;
  }
  void end_inflating() {
    if (std::exchange(stream_ready, false)) ::inflateEnd(&stream);
  }

  std::size_t inflate_into(std::span<char> out) {
    std::size_t done = 0;
    while (done < out.size() && !ended) {
      if (raw_begin == raw_end && !refill()) {
        throw input_error(file.string() + ": truncated gzip data");
      }
      const std::size_t room =
          std::min(out.size() - done, std::size_t{std::numeric_limits<uInt>::max()});
      stream.next_in = reinterpret_cast<Bytef*>(raw.data() + raw_begin);
      stream.avail_in = static_cast<uInt>(raw_end - raw_begin);
      stream.next_out = reinterpret_cast<Bytef*>(out.data() + done);
      stream.avail_out = static_cast<uInt>(room);
      const int status = ::inflate(&stream, Z_NO_FLUSH);
      raw_begin = raw_end - stream.avail_in;
      done += room - stream.avail_out;
      if (status == Z_STREAM_END) {
        next_member();
      } else if (status == Z_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        throw input_error(file.string() + ": corrupt gzip data" +
                          (stream.msg != nullptr ? std::string(" (") + stream.msg + ")" : ""));
      }
    }
    return done;
  }

  // A member ended: the file ends here, or is padded with zero bytes, or another member follows.
  void next_member() {
    bool padded = false;
    for (;; padded = true) {
      if (raw_begin == raw_end && !refill()) {
        ended = true;
        return;
      }
      if (raw[raw_begin] != '\0') break;
      ++raw_begin;
    }
    if (padded || raw[raw_begin] != '\x1f') {
      throw input_error(file.string() + ": data that are not gzip follow the gzip data");
    }
    ::inflateReset(&stream);
  }

  z_stream stream{};
  bool stream_ready = false;
#else
  void begin_inflating() const {
    throw unavailable_error(
        file.string() +
        ": is gzip'd, and this build lacks zlib: apt-get install zlib1g-dev, or gunzip it");
  }
  void end_inflating() {}
  std::size_t inflate_into(std::span<char>) { return 0; }
#endif

  fs::path file;
  descriptor input;
  std::int64_t bytes = 0;
  std::vector<char> raw;
  std::size_t raw_begin = 0, raw_end = 0;
  bool gzip = false, ended = false;
};

byte_source::byte_source(const fs::path& file) : state_(std::make_unique<state>(file)) {}
byte_source::~byte_source() = default;

std::size_t byte_source::read(std::span<char> out) {
  return state_->gzip ? state_->inflate_into(out) : state_->read_plain(out);
}
void byte_source::rewind() { state_->rewind(); }
std::int64_t byte_source::file_bytes() const { return state_->bytes; }
bool byte_source::compressed() const { return state_->gzip; }

}  // namespace gsofa
