#include "harness/record/record_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#include "common/file.hpp"
#include "harness/record/json_lines.hpp"

namespace gsofa {

namespace {

// The process that has locked an open file, by /proc/locks; 0 if it is not known.
long holder_of(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return 0;
  const std::string inode = ":" + std::to_string(info.st_ino) + " ";
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access;
    long process = 0;
    if (line.find(inode) != line.npos && words >> number >> kind >> advisory >> access >> process) {
      return std::max(process, 0L);
    }
  }
  return 0;
}

// A file of records opened for appending, locked against other processes until it is closed.
class locked_file {
 public:
  locked_file(const std::filesystem::path& file, std::chrono::milliseconds patience)
      : name_(file.string()) {
    // A device or a pipe cannot be read back.
    struct stat info {};
    const bool exists = ::stat(file.c_str(), &info) == 0;
    const bool readable = !exists || S_ISREG(info.st_mode);
    fd_ =
        ::open(file.c_str(), (readable ? O_RDWR : O_WRONLY) | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd_ < 0) throw input_error(name_ + ": " + reason_of(errno));
    if (readable) lock(patience);
    if (readable && ::fstat(fd_, &info) == 0) size_ = info.st_size;
    if (!exists) sync_name(file);
  }
  ~locked_file() {
    if (fd_ >= 0) ::close(fd_);
  }
  locked_file(const locked_file&) = delete;
  locked_file& operator=(const locked_file&) = delete;

  // Whoever may read the file can lock it, so that nobody waits for ever. File systems without
  // locks are used by one process at a time.
  void lock(std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) return;
      if (std::chrono::steady_clock::now() >= end) {
        const long holder = holder_of(fd_);
        ::close(fd_);
        throw input_error(
            name_ + ": locked by " +
            (holder > 0 ? "process " + std::to_string(holder) : "another process") + " for " +
            fmt::format("{:.0f}", std::chrono::duration<double>(patience).count()) + " s");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  // The text after the last line end.
  [[nodiscard]] std::string unterminated() const {
    constexpr off_t block = 1 << 16;
    std::string tail;
    for (off_t end = size_; end > 0;) {
      const off_t begin = std::max<off_t>(0, end - block);
      std::string piece(static_cast<std::size_t>(end - begin), '\0');
      if (::pread(fd_, piece.data(), piece.size(), begin) != end - begin) {
        throw input_error(name_ + ": cannot be read: " + reason_of(errno));
      }
      const std::size_t line = piece.rfind('\n') + 1;  // npos + 1 is 0
      tail.insert(0, piece, line, std::string::npos);
      if (line > 0) break;
      end = begin;
    }
    return tail;
  }

  // Appends all of `text`, to the disk; after an error it removes what was written, if the device
  // allows it.
  void append(std::string_view text) {
    int code = 0;
    while (!text.empty() && code == 0) {
      const ssize_t written = ::write(fd_, text.data(), text.size());
      if (written >= 0) {
        text.remove_prefix(static_cast<std::size_t>(written));
      } else if (errno != EINTR) {
        code = errno;
      }
    }
    if (code == 0) code = sync_to_disk(fd_);
    if (code != 0 && size_ >= 0 && ::ftruncate(fd_, size_) != 0) code = errno;
    const int fd = fd_;
    fd_ = -1;
    if (::close(fd) != 0 && code == 0) code = errno;
    if (code != 0) {
      throw error(exit_code::run_failed,
                  name_ + ": the record cannot be written: " + reason_of(code));
    }
  }

  void drop(std::size_t bytes) {
    if (::ftruncate(fd_, size_ - static_cast<off_t>(bytes)) != 0) {
      throw input_error(name_ + ": " + reason_of(errno));
    }
  }

 private:
  std::string name_;
  int fd_ = -1;
  off_t size_ = -1;  // -1: not a regular file
};

// Every record begins so.
constexpr std::string_view first_key = R"({"schema":)";
constexpr std::string_view predicted_key = R"({"kind":)";  // of `gsofa prepare --predicted-work`

std::string cut_off(const std::filesystem::path& file) {
  return file.string() +
         ": its last line is cut off: remove it, or go on with --resume, which drops it";
}

// Of a line that was written whole.
bool is_record(const std::string& line) {
  const json value = json::parse(line, nullptr, false);
  return value.is_object() && value.contains("schema") && value.contains("run_id");
}

}  // namespace

void refuse_other_text(const std::filesystem::path& file) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(file, failure)) return;
  std::ifstream in(file, std::ios::binary);
  std::size_t line = 1;
  for (; in.peek() == '\n'; ++line) in.get();
  std::string begin(first_key.size(), '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(in.gcount()));
  // The beginning of a record that is cut off has its own message.
  if (first_key.starts_with(begin) ||
      predicted_key.starts_with(begin.substr(0, predicted_key.size()))) {
    return;
  }
  throw input_error(
      fmt::format("{}:{}: not a record, so nothing is appended to this file", file.string(), line));
}

record_file::record_file(std::filesystem::path file, std::chrono::milliseconds patience)
    : file_(std::move(file)), patience_(patience) {
  refuse_other_text(file_);
  if (file_.has_parent_path()) create_folder(file_.parent_path());
  if (!locked_file(file_, patience_).unterminated().empty()) throw input_error(cut_off(file_));
}

void record_file::append(const json& record) {
  locked_file out(file_, patience_);
  // Another process that shares the file may have died since it was opened.
  if (!out.unterminated().empty()) throw error(exit_code::run_failed, cut_off(file_));
  record_writer written = writer_;
  out.append(written.lines_of(record));
  writer_ = written;
}

record_keys recorded_keys(const std::filesystem::path& file) {
  record_keys keys;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return keys;
  record_reader reader;
  const auto use = [&](json line) {
    const auto joined = reader.record_of(std::move(line));
    if (!joined) return;
    const json& record = *joined;
    require_fields(record, {{"/schema", json_type::integer},
                            {"/status", json_type::text},
                            {"/git/sha", json_type::text},
                            {"/git/dirty", json_type::flag},
                            {"/host", json_type::text},
                            {"/matrix/name", json_type::text},
                            {"/ordering/row", json_type::text},
                            {"/ordering/col", json_type::text},
                            {"/ordering/digest", json_type::text},
                            {"/variant", json_type::text},
                            {"/options", json_type::object},
                            {"/threads", json_type::integer},
                            {"/chunk_size", json_type::integer},
                            {"/counting", json_type::flag},
                            {"/asked", json_type::array, true},
                            {"/mpi/ranks", json_type::integer}});
    const json& schema = record.at("schema");
    if (schema < 1 || schema > record_schema) {
      throw input_error(
          fmt::format("schema {}, this program reads 1 to {}", schema.dump(), record_schema));
    }
    const json& status = record.at("status");
    if (status == "error") return;
    (status == "skipped" ? keys.skipped : keys.done).insert(record_key(record));
  };
  read_json_lines(file, use, cut_off_line::pass_over);
  return keys;
}

std::string mend_last_line(const std::filesystem::path& file) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(file, failure)) return "";
  locked_file out(file, patience_of_records);
  const std::string tail = out.unterminated();
  if (tail.empty()) return "";
  if (is_record(tail)) {
    out.append("\n");
    return file.string() + ": its last line lacked its end, which was added";
  }
  if (!first_key.starts_with(std::string_view(tail).substr(0, first_key.size()))) {
    throw input_error(file.string() + ": its last line is neither terminated nor of a record");
  }
  out.drop(tail.size());
  return file.string() + ": its last line was cut off and is dropped, " +
         std::to_string(tail.size()) + " bytes";
}

}  // namespace gsofa
