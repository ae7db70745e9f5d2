#include "harness/record_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "harness/json_lines.hpp"

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
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return keys;
  read_json_lines(file, [&](const json& record) {
    require_fields(record, {{"/schema", json_type::integer},
                            {"/status", json_type::text},
                            {"/git/sha", json_type::text},
                            {"/git/dirty", json_type::flag},
                            {"/host", json_type::text},
                            {"/matrix/name", json_type::text},
                            {"/ordering/digest", json_type::text},
                            {"/variant", json_type::text},
                            {"/options", json_type::object},
                            {"/threads", json_type::integer},
                            {"/chunk_size", json_type::integer},
                            {"/counting", json_type::flag},
                            {"/asked", json_type::array, true},
                            {"/mpi/ranks", json_type::integer}});
    if (record.at("schema") != record_schema) {
      throw input_error(fmt::format("schema {}, this program reads {}", record.at("schema").dump(),
                                    record_schema));
    }
    if (record.at("status") != "skipped") keys.insert(record_key(record));
  });
  return keys;
}

}  // namespace gsofa
