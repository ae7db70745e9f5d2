#include "harness/record_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace gsofa {

namespace {

int open_for_append(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) throw input_error(file.string() + ": " + std::strerror(errno));
  return fd;
}

}  // namespace

record_file::record_file(std::filesystem::path file) : file_(std::move(file)) {
  std::error_code failure;
  if (file_.has_parent_path()) std::filesystem::create_directories(file_.parent_path(), failure);
  ::close(open_for_append(file_));
}

void record_file::append(const json& record) const {
  const std::string line = json_line(record) + "\n";
  const int fd = open_for_append(file_);
  const ssize_t written = ::write(fd, line.data(), line.size());
  const int code = errno;
  ::close(fd);
  if (written != static_cast<ssize_t>(line.size())) {
    throw error(exit_code::run_failed,
                file_.string() + ": record not written whole: " +
                    (written < 0 ? std::strerror(code) : "the device is full"));
  }
}

std::set<std::string> recorded_keys(const std::filesystem::path& file) {
  std::set<std::string> keys;
  std::ifstream in(file);
  if (!in) return keys;
  std::string line;
  for (long number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    try {
      const json record = json::parse(line);
      if (record.at("status") != "skipped") keys.insert(record_key(record));
    } catch (const json::exception&) {
      throw input_error(file.string() + ":" + std::to_string(number) + ": not a record");
    }
  }
  return keys;
}

}  // namespace gsofa
