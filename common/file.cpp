#include "common/file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <new>
#include <system_error>

#include "common/byte_source.hpp"
#include "common/error.hpp"

namespace gsofa {

namespace {

int open_for_reading(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw input_error(file.string() + ": cannot open: " + reason_of(errno));
  return descriptor;
}

struct closing_descriptor {
  explicit closing_descriptor(int d) : descriptor(d) {}
  ~closing_descriptor() { ::close(descriptor); }
  closing_descriptor(const closing_descriptor&) = delete;
  closing_descriptor& operator=(const closing_descriptor&) = delete;
  int descriptor;
};

constexpr std::string_view part_mark = ".gsofa-part-";

// True for .NAME.gsofa-part-PROCESS-SERIAL.
bool is_part_name(std::string_view name) {
  const std::size_t mark = name.rfind(part_mark);
  if (!name.starts_with('.') || mark == std::string_view::npos) return false;
  const std::string_view numbers = name.substr(mark + part_mark.size());
  const std::size_t dash = numbers.find('-');
  auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return dash != std::string_view::npos && is_number(numbers.substr(0, dash)) &&
         is_number(numbers.substr(dash + 1));
}

// The writer of a part holds its lock for as long as it lives and the part has its name.
void remove_if_abandoned(const std::filesystem::path& part) {
  const int descriptor = ::open(part.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  const closing_descriptor opened(descriptor);
  struct stat locked {};
  struct stat named {};
  if (::fstat(descriptor, &locked) == 0 && S_ISREG(locked.st_mode) &&
      ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && ::lstat(part.c_str(), &named) == 0 &&
      named.st_dev == locked.st_dev && named.st_ino == locked.st_ino) {
    ::unlink(part.c_str());
  }
}

void remove_abandoned_parts(const std::filesystem::path& folder) {
  std::error_code failure;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator at(folder.empty() ? "." : folder, failure);
       !failure && at != end; at.increment(failure)) {
    if (is_part_name(at->path().filename().native())) remove_if_abandoned(at->path());
  }
}

}  // namespace

file_content::file_content(const std::filesystem::path& file) {
  const closing_descriptor input(open_for_reading(file));
  struct stat info {};
  if (::fstat(input.descriptor, &info) != 0) {
    throw input_error(file.string() + ": cannot open: " + reason_of(errno));
  }
  if (!S_ISREG(info.st_mode)) throw input_error(file.string() + ": not a regular file");
  size_ = static_cast<std::size_t>(info.st_size);
  bytes_.reset(
      static_cast<std::byte*>(::operator new[](std::max<std::size_t>(size_, 1), alignment)));
  const std::size_t got =
      read_fully(input.descriptor, reinterpret_cast<char*>(bytes_.get()), size_, file);
  if (got < size_) {
    throw input_error(file.string() + ": was cut to " + std::to_string(got) + " of " +
                      std::to_string(size_) + " bytes while it was read");
  }
}

atomic_file::atomic_file(const std::filesystem::path& file) : target_(file) {
  static std::atomic<unsigned> serial{0};
  std::error_code ignored;
  struct stat link {};
  if (::lstat(target_.c_str(), &link) == 0 && S_ISLNK(link.st_mode) && link.st_uid != ::geteuid() &&
      link.st_uid != 0) {
    throw input_error(file.string() + ": cannot write: a link of another user");
  }
  if (std::filesystem::exists(target_, ignored)) {
    if (!std::filesystem::is_regular_file(target_, ignored)) {
      throw input_error(file.string() + ": cannot write: not a regular file");
    }
    const auto resolved = std::filesystem::canonical(target_, ignored);
    if (!ignored) target_ = resolved;
  }
  remove_abandoned_parts(target_.parent_path());
  do {
    std::string name = ".";
    name += target_.filename().string();
    name += part_mark;
    name += std::to_string(::getpid()) + "-" + std::to_string(serial++);
    temporary_ = target_;
    temporary_.replace_filename(name);
  } while (!create_part());
  buffer_.reserve(std::size_t{1} << 18);
}

// False if the name is taken, or another process took the part for abandoned before it was locked.
bool atomic_file::create_part() {
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    if (errno == EEXIST) return false;
    fail(errno);
  }
  lock_ = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  struct stat info {};
  const bool taken = (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) ||
                     (::fstat(descriptor_, &info) == 0 && info.st_nlink == 0);
  if (taken || lock_ < 0) {
    const int error_number = errno;
    ::unlink(temporary_.c_str());
    release();
    if (!taken) fail(error_number);
  }
  return !taken;
}

void atomic_file::release() {
  for (int* d : {&descriptor_, &lock_}) {
    if (*d >= 0) ::close(*d);
    *d = -1;
  }
}

atomic_file::~atomic_file() {
  if (lock_ >= 0) ::unlink(temporary_.c_str());
  release();
}

void atomic_file::fail(int error_number) const {
  throw input_error(target_.string() + ": cannot write: " + reason_of(error_number));
}

void atomic_file::write_all(const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t put = ::write(descriptor_, data, size);
    if (put < 0) {
      if (errno == EINTR) continue;
      fail(errno);
    }
    data += put;
    size -= static_cast<std::size_t>(put);
  }
}

void atomic_file::flush() {
  write_all(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void atomic_file::write(std::string_view text) {
  if (buffer_.size() + text.size() > buffer_.capacity()) flush();
  if (text.size() > buffer_.capacity()) {
    write_all(text.data(), text.size());
  } else {
    buffer_.insert(buffer_.end(), text.begin(), text.end());
  }
}

void atomic_file::write(std::span<const std::byte> bytes) {
  write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void atomic_file::commit() {
  flush();
  if (const int failed = sync_to_disk(descriptor_)) fail(failed);
  // The lock outlives the closing, which reports writes that failed late, until the part has its
  // final name.
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0 || ::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  sync_name(target_);
  ::close(lock_);
  lock_ = -1;
}

struct text_output::compressor {
  compressor() {
    // 16: zlib writes a gzip header, without a name or a time.
    if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8,
                       Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~compressor() { ::deflateEnd(&stream); }
  compressor(const compressor&) = delete;
  compressor& operator=(const compressor&) = delete;

  // Compresses what is held, to its end if `mode` is Z_FINISH.
  void drain(atomic_file& file, int mode) {
    stream.next_in = reinterpret_cast<Bytef*>(held.data());
    stream.avail_in = static_cast<uInt>(held.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(out.data());
      stream.avail_out = static_cast<uInt>(out.size());
      ::deflate(&stream, mode);
      file.write(std::string_view(out.data(), out.size() - stream.avail_out));
    } while (stream.avail_out == 0);
    held.clear();
  }

  static constexpr std::size_t block = std::size_t{1} << 16;
  z_stream stream{};
  std::string held;
  std::vector<char> out = std::vector<char>(block);
};

text_output::text_output(const std::filesystem::path& file) : file_(file) {
  if (file.extension() == ".gz") compressor_ = std::make_unique<compressor>();
}
text_output::~text_output() = default;

void text_output::write(std::string_view text) {
  if (!compressor_) {
    file_.write(text);
    return;
  }
  for (std::size_t begin = 0; begin < text.size(); begin += compressor::block) {
    compressor_->held += text.substr(begin, compressor::block);
    if (compressor_->held.size() >= compressor::block) compressor_->drain(file_, Z_NO_FLUSH);
  }
}

void text_output::commit() {
  if (compressor_) compressor_->drain(file_, Z_FINISH);
  file_.commit();
}

temporary_directory::temporary_directory() {
  std::string name = (std::filesystem::temp_directory_path() / "gsofa-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw input_error(name + ": cannot create a temporary directory: " + reason_of(errno));
  }
  path_ = name;
}

temporary_directory::~temporary_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void create_folder(const std::filesystem::path& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  // A trailing slash, or a link to a folder, is no failure.
  std::error_code ignored;
  if (failure && !std::filesystem::is_directory(folder, ignored)) {
    throw input_error(folder.string() + ": cannot create the folder: " + failure.message());
  }
}

int sync_to_disk(int descriptor) {
  int failed = 0;
  do {
    failed = ::fsync(descriptor) == 0 ? 0 : errno;
  } while (failed == EINTR);
  return failed == EINVAL || failed == ENOTSUP || failed == EROFS ? 0 : failed;
}

void sync_name(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  const int descriptor =
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // a folder that may be written but not read
  const closing_descriptor opened(descriptor);
  sync_to_disk(descriptor);
}

}  // namespace gsofa
