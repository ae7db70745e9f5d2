#include "common/matrix_file.hpp"

#include <optional>
#include <span>
#include <utility>

#include "common/sha256.hpp"

namespace gsofa {

pattern read_matrix_file(const std::filesystem::path& file, matrix_file_header* header,
                         const memory_bound& bound, std::vector<double>* magnitudes) {
  matrix_file_header found;
  std::optional<sha256_hasher> hasher;
  matrix_content::observer observer;
  if (header != nullptr) {
    hasher.emplace();
    observer = [&](std::span<const std::byte> bytes) { hasher->update(bytes); };
  }
  matrix_content content(file, observer);
  pattern a = parse_matrix(content, found, bound, magnitudes);
  if (header != nullptr) {
    content.drain();
    found.sha256 = hasher->hex();
    *header = std::move(found);
  }
  return a;
}

std::string sha256_of_matrix_file(const std::filesystem::path& file) {
  sha256_hasher hasher;
  matrix_content content(file, [&](std::span<const std::byte> bytes) { hasher.update(bytes); });
  content.drain();
  return hasher.hex();
}

}  // namespace gsofa
