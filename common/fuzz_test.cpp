#include <zlib.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/archive_reader.hpp"
#include "common/digest.hpp"
#include "common/file.hpp"
#include "common/fuzz_mutator.hpp"
#include "common/matrix_archives.hpp"
#include "common/matrix_file.hpp"
#include "common/prepared.hpp"
#include "common/test_files.hpp"

namespace {

using namespace gsofa;
using namespace gsofa::testing;
using fuzz::mutator;
const std::vector<std::string>& seeds = fuzz::matrix_market_seeds;

constexpr std::int64_t fuzzed_memory_limit = std::int64_t{8} << 20;

// What a file that was accepted must mean, read word by word with the standard library.
std::set<std::pair<long, long>> positions_of(const std::string& text) {
  std::set<std::pair<long, long>> positions;
  std::string lines = text.substr(text.starts_with("\xef\xbb\xbf") ? 3 : 0);
  std::ranges::replace(lines, '\r', '\n');
  std::istringstream in(lines);
  std::string line;
  while (std::getline(in, line) && line.find('%') == std::string::npos) {
  }
  std::transform(line.begin(), line.end(), line.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool mirrored = line.find("general") == std::string::npos;
  const bool dense = line.find("array") != std::string::npos;
  bool sizes_seen = false;
  while (std::getline(in, line)) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '%') continue;
    long i = 0, j = 0;
    std::istringstream words(line);
    words >> i >> j;
    if (dense) {  // all positions
      for (long k = 0; k < i * j; ++k) positions.insert({k / j, k % j});
      break;
    }
    if (std::exchange(sizes_seen, true)) {
      positions.insert({i - 1, j - 1});
      if (mirrored) positions.insert({j - 1, i - 1});
    }
  }
  return positions;
}

std::set<std::pair<long, long>> positions_of(const pattern_view& a) {
  std::set<std::pair<long, long>> positions;
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : a.row(i)) positions.insert({i, j});
  }
  return positions;
}

void check_message(const error& e, const std::filesystem::path& file) {
  const std::string message = e.what();
  CHECK(message.starts_with(file.string() + ":"));
  CHECK(std::ranges::all_of(message, [](char c) { return c >= ' ' && c <= '~'; }));
  CHECK(message.size() < file.string().size() + 200);
}

// Reads the file: either a valid pattern, returned, or an error of one line that names the file.
bool accepted(const std::filesystem::path& file, pattern& a) {
  try {
    matrix_file_header header;
    a = read_matrix_file(file, &header, fuzzed_memory_limit);
  } catch (const error& e) {
    check_message(e, file);
    return false;
  }
  validate(a, "accepted file");
  return true;
}

TEST_CASE("fuzz: mutated Matrix Market text is refused in one line or read right") {
  const temporary_directory directory;
  const auto file = directory.path() / "m.mtx";
  mutator mutate(20240601);
  int read = 0, refused = 0;
  for (int trial = 0; trial < 12000; ++trial) {
    const std::string text = mutate.text(seeds[mutate.below(seeds.size())]);
    INFO("text: " << text);
    put(file, text);
    pattern a;
    if (accepted(file, a)) {
      ++read;
      CHECK(positions_of(a) == positions_of(text));
    } else {
      ++refused;
    }
  }
  CHECK(read > 1000);
  CHECK(refused > 1000);
}

TEST_CASE("fuzz: gzip'd text, mutated before or after compression") {
  const temporary_directory directory;
  const auto file = directory.path() / "m.mtx.gz";
  mutator mutate(20240602);
  int read = 0, refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text = seeds[mutate.below(seeds.size())];
    if (mutate.below(4) == 0) text = mutate.text(text);
    std::string zipped = gzip(text);
    const bool corrupted = mutate.below(8) != 0;
    if (corrupted) zipped = mutate.bytes(zipped);
    put(file, zipped);
    pattern a;
    if (accepted(file, a)) {
      ++read;
      // A changed byte of the gzip header, or text that was not compressed at all, may be read.
      if (!corrupted) CHECK(positions_of(a) == positions_of(text));
    } else {
      ++refused;
    }
  }
  CHECK(read > 100);
  CHECK(refused > 1000);
}

TEST_CASE("fuzz: Harwell-Boeing text, archives and .npz, mutated, are refused or read right") {
  const temporary_directory directory;
  const auto file = directory.path() / "m";
  mutator mutate(20240605);
  const std::vector<std::string> archives = sample_archives();
  int read = 0, refused = 0;
  const auto count = [&](const std::string& bytes) {
    put(file, bytes);
    pattern a;
    ++(accepted(file, a) ? read : refused);
  };
  for (int trial = 0; trial < 4000; ++trial) {
    const auto& texts = fuzz::harwell_boeing_seeds;
    count(mutate.text(texts[mutate.below(texts.size())]));
    count(mutate.bytes(archives[mutate.below(archives.size())]));
  }
  CHECK(read > 500);
  CHECK(refused > 1000);
  const bool all = archive_reader::unavailable().empty();
  for (const auto& seeds_of_kind :
       {fuzz::harwell_boeing_seeds, all ? archives : std::vector<std::string>{}}) {
    for (const std::string& bytes : seeds_of_kind) {
      put(file, bytes);
      pattern a;
      CHECK(accepted(file, a));
    }
  }
}

TEST_CASE("fuzz: text that is not Matrix Market") {
  const temporary_directory directory;
  const auto file = directory.path() / "m.mtx";
  mutator mutate(20240603);
  pattern a;
  for (int trial = 0; trial < 500; ++trial) {
    std::string garbage(mutate.below(3000), '\0');
    for (char& c : garbage) c = static_cast<char>(mutate.below(256));
    put(file, garbage);
    CHECK_FALSE(accepted(file, a));
    put(file, "%%MatrixMarket matrix coordinate real general\n" + garbage);
    CHECK_FALSE(accepted(file, a));
    put(file, "\x1f\x8b\x08" + garbage);
    CHECK_FALSE(accepted(file, a));
  }
  for (std::size_t size = 0; size < 4; ++size) {
    put(file, std::string("\x1f\x8b\x08").substr(0, size));
    CHECK_FALSE(accepted(file, a));
  }
}

TEST_CASE("fuzz: mutated prepared files are refused in one line or hold a valid pattern") {
  const temporary_directory directory;
  const auto file = directory.path() / "p";
  const pattern tridiagonal{
      6, 6, {0, 2, 5, 8, 11, 14, 16}, {0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5}};
  provenance origin;
  origin.name = "tridiagonal";
  prepared_pattern(tridiagonal, {5, 4, 3, 2, 1, 0}, {0, 2, 4, 1, 3, 5}, origin).save(file);
  const std::string good = content(file);
  mutator mutate(20240604);
  int loaded = 0, refused = 0;
  for (int trial = 0; trial < 12000; ++trial) {
    put(file, mutate.bytes(good));
    const bool verify = mutate.below(2) == 0;
    try {
      const prepared_pattern p = prepared_pattern::load(file, verify);
      ++loaded;
      validate(p.view(), "loaded file");
      validate_permutation(p.row_order(), p.view().n_rows, "row order");
      validate_permutation(p.col_order(), p.view().n_rows, "column order");
      CHECK(count_missing_diagonal(p.view()) == 0);
      if (verify) {
        CHECK(pattern_digest(p.view()) == p.digest());
        CHECK(p.digest() == pattern_digest(tridiagonal));
      }
    } catch (const input_error& e) {
      check_message(e, file);
      ++refused;
    }
  }
  CHECK(loaded > 10);
  CHECK(refused > 1000);
}

}  // namespace
