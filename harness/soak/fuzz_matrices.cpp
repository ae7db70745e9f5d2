#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/matrix_archives.hpp"
#include "common/matrix_file.hpp"
#include "common/matrix_market.hpp"
#include "harness/soak/fuzz_support.hpp"

namespace gsofa::soak {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t memory_limit = std::int64_t{2} << 20;

// Small valid Matrix Market files of every field and symmetry.
const texts matrix_market_seeds{
    "%%MatrixMarket matrix coordinate real general\n% comment\n4 5 6\n1 1 1.0\n2 1 -2.5e3\n"
    "3 2 0\n1 3 7\n4 4 1E-10\n2 5 .5\n",
    "%%MatrixMarket matrix coordinate pattern symmetric\n5 5 6\n1 1\n3 1\n2 2\n5 2\n4 4\n5 4\n",
    "%%MatrixMarket matrix coordinate integer skew-symmetric\r\n4 4 3\r\n2 1 5\r\n4 1 -6\r\n"
    "3 2 7\r\n",
    "%%MatrixMarket matrix coordinate complex hermitian\n3 3 4\n3 3 1 0\n2 1 1 -1\n1 1 2 0\n"
    "3 2 0 1",
    "%%MatrixMarket matrix coordinate pattern general\n0 0 0\n",
    "\xef\xbb\xbf%MatrixMarket matrix coordinate unsigned-integer spd\r2 2 3\r1 1 1\r2 2 nan\r"
    "2 1 18446744073709551615\r",
    "%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n",
};

// Small valid Harwell-Boeing and Rutherford-Boeing files.
const texts harwell_boeing_files{
    "title\n 5 1 2 2 2\nRUA 3 3 6 0\n(4I3) (3I4) (3E12.4) (3E12.4)\nF 1 0\n  1  4  5  7\n"
    "   1   3   3\n   2   3   3\n1. 2. 3.\n4. 5. 6.\n1.\n2.\n",
    "title\n 3 1 2 0\npsa 3 3 6 0\n(2(1X,I2),2I3.3) (40I2) ()\n  1  4005007\n 1 3 3 2 3 3\n",
    "title\n 1 1 0 0 0\nPUA 0 0 0 0\n(4I3) (3I4)\n  1\n",
};

std::string gzip(std::string_view text) {
  z_stream stream{};
  require(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) ==
              Z_OK,
          "zlib compresses");
  std::string input(text);
  std::string output(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(output.data());
  stream.avail_out = static_cast<uInt>(output.size());
  require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib compresses");
  output.resize(stream.total_out);
  deflateEnd(&stream);
  return output;
}

// What an accepted Matrix Market text must mean, read word by word with the standard library.
std::set<std::pair<long, long>> positions_of(std::string_view text) {
  std::set<std::pair<long, long>> positions;
  std::string lines(text.substr(text.starts_with("\xef\xbb\xbf") ? 3 : 0));
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

struct outcome {
  std::optional<pattern> read;
  matrix_file_header header;
  std::string refusal;  // without file and line

  [[nodiscard]] bool about_memory() const { return refusal.find("memory") != std::string::npos; }
  bool operator==(const outcome& other) const {
    return read == other.read && header.field == other.header.field &&
           header.symmetry == other.header.symmetry &&
           header.stored_entries == other.header.stored_entries && refusal == other.refusal;
  }
};

outcome read_text(std::string_view bytes) {
  outcome o;
  const fs::path& file = scratch_file(bytes);
  try {
    o.read = read_matrix_file(file, &o.header, {.bytes = memory_limit});
    validate(*o.read, "accepted file");
    return o;
  } catch (const error& e) {
    o.refusal = checked(e);
  }
  require(!o.read, "an accepted file holds a valid pattern");
  require(o.refusal.starts_with(file.string() + ":"), "a refusal names the file");
  require(std::ranges::all_of(o.refusal, [](char c) { return c >= ' ' && c <= '~'; }),
          "a refusal is one printable line");
  require(o.refusal.size() < 300, "a refusal is short");
  o.refusal.erase(0, file.string().size() + 1);
  o.refusal.erase(0, o.refusal.find_first_not_of("0123456789"));
  o.header = {};
  return o;
}

// Where blocks of the reader end must not matter: comments push the entries over such an end.
void check_shifted(std::string_view bytes, const outcome& straight) {
  const std::size_t banner = bytes.find('\n');
  if (banner == std::string_view::npos) return;
  constexpr std::size_t block = std::size_t{1} << 18;
  const std::size_t behind = chance(bytes) / 8 % (bytes.size() - banner);
  const std::size_t comment = block - banner - 1 - behind;
  std::string shifted(bytes.substr(0, banner + 1));
  shifted += "%" + std::string(comment - 2, 'c') + "\n";
  shifted += bytes.substr(banner + 1);
  const outcome moved = read_text(shifted);
  if (moved.about_memory() || straight.about_memory()) return;
  require(moved == straight, "comments change nothing");
}

bool is_matrix_market(std::string_view bytes) {
  return bytes.starts_with("%%MatrixMarket") || bytes.starts_with("\xef\xbb\xbf%");
}

std::string read_matrix_text(std::string_view bytes) {
  const outcome o = read_text(bytes);
  if (o.read && is_matrix_market(bytes)) {
    require(positions_of(*o.read) == positions_of(bytes), "the standard library reads the same");
  }
  const bool compressed = bytes.starts_with("\x1f\x8b");
  const std::size_t dice = chance(bytes);
  if (bytes.starts_with("%%MatrixMarket") && dice % 8 == 0) check_shifted(bytes, o);
  if (!compressed && dice % 8 == 1) {
    // The same text in two gzip members, cut anywhere.
    const std::size_t cut = dice / 8 % (bytes.size() + 1);
    const outcome unzipped = read_text(gzip(bytes.substr(0, cut)) + gzip(bytes.substr(cut)));
    if (!o.about_memory() && !unzipped.about_memory()) {
      require(unzipped == o, "compression changes nothing");
    }
  }
  if (o.read && dice % 8 == 2) {
    const fs::path copy = scratch_folder() / "copy.mtx";
    write_matrix_market(copy, *o.read, "a comment\nof two lines");
    require(read_matrix_file(copy) == *o.read, "a pattern comes back as it was written");
  }
  return o.refusal;
}

texts matrix_seeds() {
  texts seeds = matrix_market_seeds;
  std::string large = "%%MatrixMarket matrix coordinate pattern general\n40 40 160\n";
  for (int i = 0; i < 40; ++i) {
    for (const int j : {i, (i + 1) % 40, (i + 7) % 40, (i * 3 + 20) % 40}) {
      large += std::to_string(i + 1) + " " + std::to_string(j + 1) + "\n";
    }
  }
  seeds.push_back(std::move(large));
  return seeds;
}

texts compressed_seeds() {
  texts seeds;
  for (const std::string& text : matrix_seeds()) {
    seeds.push_back(gzip(text));
    seeds.push_back(gzip(text.substr(0, text.size() / 2)) + gzip(text.substr(text.size() / 2)));
    seeds.push_back(gzip(text) + std::string(512, '\0'));
  }
  return seeds;
}

// What zlib's own reader of files returns before its first error.
std::string inflated(std::string_view bytes) {
  const fs::path& file = scratch_file(bytes);
  gzFile in = gzopen(file.c_str(), "rb");
  require(in != nullptr, "zlib opens a file");
  std::string text;
  std::string part(1 << 16, '\0');
  int got = 0;
  while ((got = gzread(in, part.data(), static_cast<unsigned>(part.size()))) > 0 &&
         text.size() < std::size_t{1} << 24) {
    text.append(part, 0, static_cast<std::size_t>(got));
  }
  gzclose(in);
  return text;
}

std::string read_compressed(std::string_view bytes) {
  const outcome o = read_text(bytes);
  if (o.read) {
    const outcome plain = read_text(inflated(bytes));
    require(plain.about_memory() || plain == o, "zlib reads the same");
  }
  return o.refusal;
}

std::string read_archive(std::string_view bytes) { return read_text(bytes).refusal; }

texts harwell_boeing_seeds() { return harwell_boeing_files; }

texts archive_seeds() {
  texts seeds = testing::sample_archives();
  seeds.push_back(gzip(seeds.front()));
  return seeds;
}

}  // namespace

std::vector<fuzz_target> matrix_targets() {
  return {{"matrix_market", matrix_seeds, read_matrix_text},
          {"matrix_market_gz", compressed_seeds, read_compressed},
          {"harwell_boeing", harwell_boeing_seeds, read_archive},
          {"archive", archive_seeds, read_archive}};
}

}  // namespace gsofa::soak
