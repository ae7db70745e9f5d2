#include "common/matrix_market.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/byte_source.hpp"
#include "common/sha256.hpp"
#include "common/test_matrices.hpp"

namespace {

using namespace gsofa;
using namespace gsofa::testing;

class scratch : public matrix_scratch {
 public:
  // The message of the error that reading `text` ends in, from "m.mtx" on.
  std::string refusal(const std::string& text, std::int64_t memory_limit = 0) const {
    const std::string message = matrix_scratch::refusal(text, memory_limit);
    return message == "accepted" ? message : "m.mtx" + message;
  }
};

const std::string real = "%%MatrixMarket matrix coordinate real general\n";

TEST_CASE("matrix market: every field") {
  const scratch s;
  const pattern expected = pattern_at(3, 2, {{0, 0}, {2, 1}, {1, 0}});
  matrix_file_header h;
  CHECK(s.read(real + "3 2 3\n1 1 0\n3 2 -1.5e-300\n2 1 +.5\n", &h) == expected);
  CHECK(h.field == "real");
  CHECK(h.symmetry == "general");
  CHECK(h.stored_entries == 3);
  CHECK(h.sha256 == sha256_of_matrix_file(s.file()));
  CHECK(s.read("%%MatrixMarket matrix coordinate double general\n"
               "3 2 3\n1 1 1d0\n3 2 1.D+5\n2 1 123456789012345678901234567890\n",
               &h) == expected);
  CHECK(h.field == "real");
  CHECK(s.read("%%MatrixMarket matrix coordinate complex general\n"
               "3 2 3\n1 1 1 0\n3 2 1E-5 -2.\n2 1 0 0\n",
               &h) == expected);
  CHECK(h.field == "complex");
  CHECK(s.read("%%MatrixMarket matrix coordinate integer general\n"
               "3 2 3\n1 1 1\n3 2 -2\n2 1 +3\n",
               &h) == expected);
  CHECK(h.field == "integer");
  CHECK(s.read("%%MatrixMarket matrix coordinate pattern general\n3 2 3\n1 1\n3 2\n2 1\n", &h) ==
        expected);
  CHECK(h.field == "pattern");
}

TEST_CASE("matrix market: magnitudes of entries") {
  const scratch s;
  const auto magnitudes = [&](const std::string& text) {
    CHECK(s.read(text).nnz() > 0);
    std::vector<double> values;
    read_matrix_file(s.file(), nullptr, {}, &values);
    return values;
  };
  using list = std::vector<double>;
  CHECK(magnitudes(real + "2 2 4\n2 2 -1.5\n1 1 2D+1\n1 2 1e-400\n2 2 .5\n") == list{20, 0, 1});
  CHECK(
      magnitudes("%%MatrixMarket matrix coordinate complex general\n2 2 2\n1 1 3 -4\n2 2 1 0\n") ==
      list{5, 1});
  const std::string banner = "%%MatrixMarket matrix coordinate real ";
  // From the upper triangle and unsorted: mirror images have the value, too.
  CHECK(magnitudes(banner + "symmetric\n3 3 3\n2 3 7\n1 1 1\n1 2 -2\n") == list{1, 2, 2, 7, 7});
  CHECK(magnitudes(banner + "skew-symmetric\n2 2 1\n2 1 +3\n") == list{3, 3});
  const auto refused = [&](const std::string& text) {
    try {
      magnitudes(text);
    } catch (const input_error& e) {
      return std::string(e.what()).substr(s.file().string().size());
    }
    return std::string("accepted");
  };
  CHECK(refused(real + "1 1 1\n1 1 x\n") == ":3: the value 'x' is not a number");
  CHECK(refused("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n") ==
        ":1: values are read from coordinate files of a field with values only");
}

TEST_CASE("matrix market: every symmetry, from either triangle and in any order") {
  const scratch s;
  const std::string banner = "%%MatrixMarket matrix coordinate ";
  const pattern full = pattern_at(3, 3, {{0, 0}, {1, 0}, {0, 1}, {2, 1}, {1, 2}, {2, 2}});
  const std::string sizes = "3 3 4\n";
  matrix_file_header h;
  for (const char* body : {"1 1\n2 1\n3 2\n3 3\n", "1 1\n1 2\n2 3\n3 3\n", "3 3\n2 3\n2 1\n1 1\n",
                           "1 2\n3 3\n1 1\n3 2\n"}) {
    CHECK(s.read(banner + "pattern symmetric\n" + sizes + body, &h) == full);
    CHECK(h.symmetry == "symmetric");
    CHECK(h.stored_entries == 4);
  }
  CHECK(s.read(banner + "complex hermitian\n3 3 4\n1 1 1 0\n2 1 1 1\n3 2 0 1\n3 3 1 0\n") == full);
  CHECK(s.read(banner + "real skew-symmetric\n3 3 2\n2 1 1\n3 2 -1\n") ==
        pattern_at(3, 3, {{1, 0}, {0, 1}, {2, 1}, {1, 2}}));
}

TEST_CASE("matrix market: layout that is accepted") {
  const scratch s;
  const pattern expected = pattern_at(2, 2, {{0, 0}, {1, 1}});
  CHECK(s.read("%%matrixmarket MATRIX Coordinate REAL General \r\n%\r\n\r\n2 2 2\r\n1 1 1\r\n"
               "2 2 1\r\n\r\n") == expected);
  CHECK(s.read(real + "  2\t2  2 \n\n \t 1  1\t1.0 \n% a comment\n2 2 1\t\n\n% end\n") == expected);
  CHECK(s.read(real + "2 2 2\n1 1 1\n2 2 1") == expected);
  CHECK(s.read(real + "002 2 2\n000000000000000001 1 1\n2 2 1") == expected);
  CHECK(s.read(real + "%" + std::string(900000, 'x') + "\n2 2 2\n1 1 1\n2 2 1") == expected);
}

TEST_CASE("matrix market: extreme shapes") {
  const scratch s;
  CHECK(s.read(real + "0 0 0\n") == pattern_at(0, 0, {}));
  CHECK(s.read(real + "1 1 0\n") == pattern_at(1, 1, {}));
  CHECK(s.read(real + "1 1 1\n1 1 0\n") == pattern_at(1, 1, {{0, 0}}));
  CHECK(s.read(real + "0 5 0\n") == pattern_at(0, 5, {}));
  const pattern wide = s.read(real + "1 2147483647 1\n1 2147483647 1\n");
  CHECK(wide.n_cols == 2147483647);
  CHECK(wide.col_idx == std::vector<index_t>{2147483646});
}

TEST_CASE("matrix market: faults are named with file, line and reason") {
  const scratch s;
  const std::string banner = "%%MatrixMarket matrix coordinate ";
  CHECK(s.refusal("") == "m.mtx: empty file");
  CHECK(s.refusal("\n") == "m.mtx: holds no text");
  CHECK(s.refusal(real + std::string(3000000, 'x')) == "m.mtx:2: the line is longer than 1 MiB");
  CHECK(s.refusal("%%MatrixMarkets matrix coordinate real general\n") ==
        "m.mtx:1: not a Matrix Market file (no %%MatrixMarket banner)");
  CHECK(s.refusal("%%MatrixMarket vector coordinate real general\n") ==
        "m.mtx:1: object 'vector' is not supported; expected matrix");
  CHECK(s.refusal(banner + "quaternion general\n") ==
        "m.mtx:1: field 'quaternion' is not supported; expected one of real, complex, integer, "
        "pattern");
  CHECK(s.refusal(banner + "real\n") ==
        "m.mtx:1: symmetry '' is not supported; expected one of general, symmetric, "
        "skew-symmetric, hermitian");
  CHECK(s.refusal(banner + "real general extra\n") ==
        "m.mtx:1: unexpected 'extra' after the five words of the banner");

  CHECK(s.refusal(real) == "m.mtx:1: the file ends before the size line");
  CHECK(s.refusal(real + "%\n%\n") == "m.mtx:3: the file ends before the size line");
  CHECK(s.refusal(real + "2 2\n") ==
        "m.mtx:2: expected the size line 'rows columns entries', found ''");
  CHECK(s.refusal(real + "2 2 x\n") ==
        "m.mtx:2: expected the size line 'rows columns entries', found 'x'");
  CHECK(s.refusal(real + "2 2 1 1\n") == "m.mtx:2: unexpected '1' after the sizes");
  CHECK(s.refusal(real + "-2 2 1\n") == "m.mtx:2: size '-2' is negative");
  CHECK(s.refusal(real + "2147483648 1 1\n") == "m.mtx:2: dimension 2147483648 exceeds 2^31 - 1");
  CHECK(s.refusal(real + "1 4294967297 1\n") == "m.mtx:2: dimension 4294967297 exceeds 2^31 - 1");
  CHECK(s.refusal(real + "1 1 99999999999999999999\n") ==
        "m.mtx:2: size '99999999999999999999' does not fit in 64 bits");
  CHECK(s.refusal(banner + "real symmetric\n2 3 1\n") ==
        "m.mtx:2: symmetric but not square: 2 x 3");

  auto body = [&](const std::string& line) { return s.refusal(real + "% c\n3 3 1\n" + line); };
  CHECK(body("0 1 1\n") == "m.mtx:4: row index '0' is outside 1..3 (indices are 1-based)");
  CHECK(body("1 0 1\n") == "m.mtx:4: column index '0' is outside 1..3 (indices are 1-based)");
  CHECK(body("-1 1 1\n") == "m.mtx:4: row index '-1' is outside 1..3");
  CHECK(body("4 1 1\n") == "m.mtx:4: row index '4' is outside 1..3");
  CHECK(body("1 2147483648 1\n") == "m.mtx:4: column index '2147483648' is outside 1..3");
  CHECK(body("4294967297 1 1\n") == "m.mtx:4: row index '4294967297' is outside 1..3");
  CHECK(body("18446744073709551617 1 1\n") ==
        "m.mtx:4: row index '18446744073709551617' is outside 1..3");
  CHECK(body("184467440737095516170000001 1 1\n") ==
        "m.mtx:4: row index '184467440737095516170000...' is outside 1..3");
  CHECK(body("1.0 1 1\n") == "m.mtx:4: row index '1.0' is not an integer");
  CHECK(body("x 1 1\n") == "m.mtx:4: row index 'x' is not an integer");
  CHECK(body("1 2e0 1\n") == "m.mtx:4: column index '2e0' is not an integer");
  CHECK(body("1\n") == "m.mtx:4: the column index is missing");
  CHECK(body("1 1\n") == "m.mtx:4: the value is missing");
  CHECK(body("1 1 % none\n") == "m.mtx:4: the value is missing");
  CHECK(body("1 1 1\r2\n") == "m.mtx:5: more entries than the 1 declared");
  CHECK(body("") == "m.mtx:3: the file ends after 0 of the 1 entries declared");
  CHECK(body("1 1 1\n2 2 1\n") == "m.mtx:5: more entries than the 1 declared");
}

TEST_CASE("matrix market: values are not judged") {
  const scratch s;
  const std::string banner = "%%MatrixMarket matrix coordinate ";
  const pattern expected = pattern_at(2, 2, {{0, 0}, {1, 0}, {1, 1}});
  const auto read = [&](const std::string& kind, const std::string& a, const std::string& b) {
    return s.read(banner + kind + "\n2 2 3\n1 1 " + a + "\n2 1 " + b + "\n2 2 1\n");
  };
  CHECK(read("real general", "nan", "-Inf") == expected);
  CHECK(read("real general", "0x1p3", "1 2") == expected);
  CHECK(read("integer general", "1e+16", "5.5") == expected);
  CHECK(read("unsigned-integer general", "18446744073709551615", "7") == expected);
  CHECK(read("pattern general", "", "5") == expected);
  CHECK(read("complex general", "1", "1 2") == expected);
  const pattern mirrored = pattern_at(2, 2, {{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  for (const char* kind : {"real hermitian", "complex hermitian", "pattern hermitian", "real spd",
                           "pattern skew-symmetric", "integer skew-symmetric"}) {
    CAPTURE(kind);
    CHECK(read(kind, "0.0", "1") == mirrored);
  }
}

TEST_CASE("matrix market: a position that is given again is one entry") {
  const scratch s;
  const pattern expected = pattern_at(3, 3, {{0, 0}, {2, 1}});
  matrix_file_header h;
  CHECK(s.read(real + "3 3 3\n3 2 1\n1 1 1\n3 2 1\n", &h) == expected);
  CHECK(h.stored_entries == 3);
  CHECK(s.read(real + "3 3 4\n1 1 1\n1 1 -1\n3 2 1\n3 2 1\n") == expected);
  CHECK(s.read(real + "1 1 3\n1 1 1\n1 1 1\n1 1 1\n") == pattern_at(1, 1, {{0, 0}}));
  // More entries than positions, in symmetric storage from both triangles.
  CHECK(s.read("%%MatrixMarket matrix coordinate real symmetric\n2 2 5\n"
               "2 1 1\n1 2 1\n1 1 1\n2 2 1\n2 1 1\n") ==
        pattern_at(2, 2, {{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

TEST_CASE("matrix market: banners, byte order marks and line ends of other writers") {
  const scratch s;
  const std::string body = "\n2 2 2\n2 1 1\n2 2 1\n";
  const std::string words = " matrix coordinate real general";
  const pattern expected = pattern_at(2, 2, {{1, 0}, {1, 1}});
  CHECK(s.read("%MatrixMarket" + words + body) == expected);
  CHECK(s.read("\xef\xbb\xbf%%MatrixMarket" + words + body) == expected);
  CHECK(s.read("\n\r\n %%MATRIXMARKET MATRIX coordinate REAL General" + body) == expected);
  for (const char* field : {"double", "float", "unsigned", "int", "boolean"}) {
    CHECK(s.read(std::string("%%MatrixMarket matrix coordinate ") + field + " unsymmetric" +
                 body) == expected);
  }
  const auto with_ends = [](std::string text, const std::string& end) {
    for (std::size_t k = 0; (k = text.find('\n', k)) != text.npos; k += end.size()) {
      text.replace(k, 1, end);
    }
    return text;
  };
  for (const char* end : {"\r", "\r\n"}) {
    CHECK(s.read(with_ends("%%MatrixMarket" + words + body, end)) == expected);
    CHECK(s.read(with_ends("\xef\xbb\xbf%%MatrixMarket" + words + "\n%" + body, end)) == expected);
    // Faults are in the right line, also where a CR ends a block of the reader.
    for (int comment = (1 << 18) - 80; comment < (1 << 18); comment += 1) {
      if (comment % 16 != 0 && comment + 70 < (1 << 18)) continue;
      CHECK(s.refusal(with_ends(
                "%%MatrixMarket" + words + "\n%" +
                    std::string(static_cast<std::size_t>(comment), 'c') + "\n2 2 2\n1 1 1\n",
                end)) == "m.mtx:4: the file ends after 1 of the 2 entries declared");
    }
  }
}

TEST_CASE("matrix market: arrays") {
  const scratch s;
  const std::string banner = "%%MatrixMarket matrix array ";
  matrix_file_header h;
  CHECK(s.read(banner + "real general\n%\n3 2\n1\n0\nnan\n4 5\n6\n", &h) ==
        pattern_at(3, 2, {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}}));
  CHECK(h.stored_entries == 6);
  const pattern full = pattern_at(2, 2, {{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  CHECK(s.read(banner + "complex general\n2 2\n1 0\n2 0\n3 0\n4 0\n") == full);
  CHECK(s.read(banner + "integer symmetric\n2 2\n1\n2\n3\n") == full);
  CHECK(s.read(banner + "complex hermitian\n2 2\n1 0\n2 1\n3 0\n") == full);
  CHECK(s.read(banner + "real skew-symmetric\n2 2\n1\n") == pattern_at(2, 2, {{0, 1}, {1, 0}}));
  CHECK(s.read(banner + "real general\n0 0\n") == pattern_at(0, 0, {}));
  CHECK(s.refusal(banner + "real general\n2 2\n1\n2\n3\n") ==
        "m.mtx:5: the file ends after 3 of the 4 values of a general array of 2 x 2");
  CHECK(s.refusal(banner + "real symmetric\n2 2\n1\n2\n3\n4\n") ==
        "m.mtx:6: more values than the 3 of a symmetric array of 2 x 2");
  CHECK(s.refusal(banner + "pattern general\n2 2\n") ==
        "m.mtx:1: a matrix in array format cannot be a pattern");
  CHECK(s.refusal(banner + "real general\n2 2 4\n") == "m.mtx:2: unexpected '4' after the sizes");
  CHECK(s.refusal(banner + "real general\n2147483647 2147483647\n1\n")
            .ends_with("of a general array of 2147483647 x 2147483647"));
}

TEST_CASE("matrix market: claimed sizes take no memory before the entries are seen") {
  const scratch s;
  constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
  CHECK(s.refusal(real + "2147483647 2147483647 1000000000000000000\n1 1 1\n", 64 * mebibyte) ==
        "m.mtx: out of memory: 2147483647 x 2147483647 needs 32768 MiB, 64 MiB are available");
  CHECK(s.refusal(real + "1000000 1000000 1000000000000\n1 1 1\n", 64 * mebibyte) ==
        "m.mtx:3: the file ends after 1 of the 1000000000000 entries declared");
  CHECK(s.refusal(real + "3 2147483647 2\n2 1 1\n1 2 1\n", 64 * mebibyte) == "accepted");
  CHECK(s.refusal(real + "3 2147483647 3\n2 3 1\n1 2 1\n2 1 1\n", 64 * mebibyte) ==
        "m.mtx: out of memory: 3 x 2147483647 needs 16384 MiB, 64 MiB are available");
}

TEST_CASE("matrix market: random files of all kinds, plain and gzip'd, in any order") {
  const scratch s;
  std::mt19937 random(7);
  auto below = [&](unsigned n) { return static_cast<index_t>(random() % n); };
  for (int trial = 0; trial < 300; ++trial) {
    const std::string field =
        std::vector<std::string>{"real", "complex", "integer", "pattern"}[random() % 4];
    std::string symmetry =
        std::vector<std::string>{"general", "symmetric", "skew-symmetric"}[random() % 3];
    if (field == "complex" && random() % 2 == 0) symmetry = "hermitian";
    if (field == "pattern" && symmetry == "skew-symmetric") symmetry = "general";
    const bool general = symmetry == "general";
    const index_t n_rows = 1 + below(30);
    const index_t n_cols = general ? 1 + below(30) : n_rows;
    std::set<std::pair<index_t, index_t>> stored, expanded;
    const int tries = below(2 * 30 * 30);
    for (int k = 0; k < tries; ++k) {
      const index_t i = below(static_cast<unsigned>(n_rows));
      const index_t j = below(static_cast<unsigned>(n_cols));
      if (symmetry == "skew-symmetric" && i == j) continue;
      if (!general && expanded.contains({i, j})) continue;
      stored.insert({i, j});
      expanded.insert({i, j});
      if (!general) expanded.insert({j, i});
    }
    std::vector<std::pair<index_t, index_t>> order(stored.begin(), stored.end());
    switch (random() % 3) {
      case 0:
        std::shuffle(order.begin(), order.end(), random);
        break;
      case 1:
        std::ranges::sort(order, {}, [](const auto& e) { return std::pair(e.second, e.first); });
        break;
      default:
        break;
    }
    std::string text = "%%MatrixMarket matrix coordinate ";
    text += field + " " + symmetry + "\n";
    text += std::to_string(n_rows) + " " + std::to_string(n_cols) + " " +
            std::to_string(order.size()) + "\n";
    for (const auto& [i, j] : order) {
      text += std::to_string(i + 1) + " " + std::to_string(j + 1);
      const int values = field == "pattern" ? 0 : (field == "complex" ? 2 : 1);
      for (int v = 0; v < values; ++v) {
        text += " " + (field == "integer" ? std::to_string(below(100) - 50)
                                          : std::to_string(1e-3 * (below(2000000) - 1000000)));
      }
      text += random() % 8 == 0 ? "\r\n" : "\n";
    }
    const pattern expected = pattern_at(n_rows, n_cols, {expanded.begin(), expanded.end()});
    matrix_file_header plain, zipped;
    CHECK(s.read(text, &plain) == expected);
    CHECK(s.read(gzip(text), &zipped) == expected);
    CHECK(plain.sha256 == sha256_hex(text));
    CHECK(zipped.sha256 == plain.sha256);
    CHECK(plain.symmetry == symmetry);
  }
}

TEST_CASE("matrix market: files much longer than the reader's buffer round trip") {
  const scratch s;
  const index_t n = 40000;
  std::mt19937 random(3);
  triplets t{n, n, {}, {}};
  for (index_t i = 0; i < n; ++i) {
    for (int k = 0; k < 5; ++k) {
      t.rows.push_back(i);
      t.cols.push_back(static_cast<index_t>(random() % static_cast<unsigned>(n)));
    }
  }
  const pattern a = from_triplets(t, duplicates::merge);
  write_matrix_market(s.file(), a, "first line\nsecond line");
  matrix_file_header h;
  CHECK(read_matrix_file(s.file(), &h) == a);
  CHECK(h.stored_entries == a.nnz());
  CHECK(
      content(s.file()).starts_with("%%MatrixMarket matrix coordinate pattern general\n"
                                    "% first line\n% second line\n"));
  // A fault in the last line is reported with its number: banner, 2 comments, sizes, entries.
  std::string text = "%%MatrixMarket matrix coordinate pattern general\n";
  text += "40000 40000 " + std::to_string(a.nnz()) + "\n";
  for (offset_t k = 0; k < a.nnz() - 1; ++k) {
    text += std::to_string(k % n + 1) + " " + std::to_string(k / n + 1) + "\n";
  }
  CHECK(s.refusal(text + "1 x\n") ==
        "m.mtx:" + std::to_string(a.nnz() + 2) + ": column index 'x' is not an integer");
}

TEST_CASE("matrix market: writing small and empty patterns") {
  const scratch s;
  for (const pattern& a :
       {pattern_at(0, 0, {}), pattern_at(1, 1, {}), pattern_at(2, 5, {{0, 4}, {1, 0}, {1, 1}})}) {
    write_matrix_market(s.file(), a, "");
    CHECK(read_matrix_file(s.file()) == a);
  }
  CHECK_THROWS_AS(write_matrix_market(s.file() / "absent" / "x", pattern_at(1, 1, {}), ""),
                  input_error);
  CHECK_THROWS_AS(read_matrix_file(s.file().parent_path() / "absent"), input_error);
  CHECK_THROWS_AS(read_matrix_file(s.file().parent_path()), input_error);
}

}  // namespace

TEST_CASE("a file whose name ends in .gz is compressed, always to the same bytes") {
  const temporary_directory folder;
  triplets t;
  t.n_rows = t.n_cols = 30000;
  for (index_t i = 0; i < t.n_rows; ++i) {
    t.rows.push_back(i);
    t.cols.push_back((i * 7919) % t.n_rows);
  }
  const pattern a = from_triplets(t, duplicates::reject);
  const auto plain = folder.path() / "a.mtx", packed = folder.path() / "a.mtx.gz";
  write_matrix_market(plain, a, "a comment");
  write_matrix_market(packed, a, "a comment");
  CHECK(std::filesystem::file_size(packed) < std::filesystem::file_size(plain));
  CHECK(byte_source(packed).compressed());
  CHECK(read_matrix_file(packed) == a);
  CHECK(read_matrix_file(plain) == a);
  const auto again = folder.path() / "b.mtx.gz";
  write_matrix_market(again, a, "a comment");
  CHECK(content(again) == content(packed));
}
