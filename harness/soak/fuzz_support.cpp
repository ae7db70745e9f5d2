#include "harness/soak/fuzz_support.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>

#include "common/file.hpp"
#include "common/generators.hpp"
#include "common/random.hpp"

namespace gsofa::soak {

namespace {

namespace fs = std::filesystem;

// A file without a disk, reached through /proc; the same path for every content.
class memory_file {
 public:
  explicit memory_file(const char* name) : descriptor_(::memfd_create(name, 0)) {
    require(descriptor_ >= 0, "memfd_create works here");
    path_ = "/proc/self/fd/" + std::to_string(descriptor_);
  }
  ~memory_file() { ::close(descriptor_); }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;

  const fs::path& put(std::string_view content) {
    require(::ftruncate(descriptor_, 0) == 0, "a file in memory can be emptied");
    while (!content.empty()) {
      const ssize_t written = ::pwrite(descriptor_, content.data(), content.size(), size());
      require(written > 0, "a file in memory can be written");
      content.remove_prefix(static_cast<std::size_t>(written));
    }
    return path_;
  }
  [[nodiscard]] off_t size() const { return ::lseek(descriptor_, 0, SEEK_END); }

 private:
  int descriptor_;
  fs::path path_;
};

}  // namespace

void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: violated: %s\n", property);
  std::abort();
}

const fs::path& scratch_file(std::string_view content) {
  static memory_file file("gsofa-fuzz");
  return file.put(content);
}

const fs::path& scratch_folder() {
  static const temporary_directory directory;
  return directory.path();
}

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t chance(std::string_view bytes) {
  std::uint64_t h = bytes.size();
  for (const char b : bytes) h = mix64(h + static_cast<unsigned char>(b));
  return h;
}

std::string checked(const std::exception& e) {
  const std::string message = e.what();
  require(!message.empty(), "an error says something");
  return message;
}

provenance sample_origin() {
  provenance p;
  p.name = "tridiagonal \xc3\xbc";
  p.source = "gen:tridiagonal:n=6";
  p.sha256 = std::string(64, 'a');
  p.nnz_input = 16;
  p.match = "kept";
  p.order = "amd";
  p.order_library = "Eigen 3.4.0";
  p.seed = 7;
  p.prepare_seconds = 0.25;
  return p;
}

const pattern& sample() {
  static const pattern a = generate("tridiagonal:n=6");
  return a;
}

}  // namespace gsofa::soak
