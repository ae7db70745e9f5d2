#pragma once

/// Files of matrices, for tests.

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "common/file.hpp"
#include "common/matrix_file.hpp"
#include "common/test_files.hpp"

namespace gsofa::testing {

using entry_list = std::vector<std::pair<index_t, index_t>>;

class matrix_scratch {
 public:
  pattern read(const std::string& bytes, matrix_file_header* header = nullptr) const {
    put(file(), bytes);
    return read_matrix_file(file(), header);
  }
  // The message of the error that reading ends in, without the name of the file.
  std::string refusal(const std::string& bytes, std::int64_t memory_limit = 0) const {
    put(file(), bytes);
    try {
      read_matrix_file(file(), nullptr, {.bytes = memory_limit});
    } catch (const error& e) {
      const std::string message = e.what();
      const bool memory = message.find(": out of memory") != std::string::npos;
      REQUIRE(message.starts_with(file().string()));
      CHECK(memory == (dynamic_cast<const budget_error*>(&e) != nullptr));
      CHECK(message.find('\n') == std::string::npos);
      return message.substr(file().string().size());
    }
    return "accepted";
  }
  std::filesystem::path file() const { return directory_.path() / "m"; }

 private:
  temporary_directory directory_;
};

inline pattern pattern_at(index_t n_rows, index_t n_cols, const entry_list& entries) {
  triplets t{n_rows, n_cols, {}, {}};
  for (const auto& [i, j] : entries) {
    t.rows.push_back(i);
    t.cols.push_back(j);
  }
  return from_triplets(t, duplicates::reject);
}

}  // namespace gsofa::testing
