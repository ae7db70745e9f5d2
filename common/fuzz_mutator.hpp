#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace gsofa::fuzz {

/// Small valid Matrix Market files of every field and symmetry.
inline const std::vector<std::string> matrix_market_seeds{
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

/// Small valid Harwell-Boeing and Rutherford-Boeing files.
inline const std::vector<std::string> harwell_boeing_seeds{
    "title\n 5 1 2 2 2\nRUA 3 3 6 0\n(4I3) (3I4) (3E12.4) (3E12.4)\nF 1 0\n  1  4  5  7\n"
    "   1   3   3\n   2   3   3\n1. 2. 3.\n4. 5. 6.\n1.\n2.\n",
    "title\n 3 1 2 0\npsa 3 3 6 0\n(2(1X,I2),2I3.3) (40I2) ()\n  1  4005007\n 1 3 3 2 3 3\n",
    "title\n 1 1 0 0 0\nPUA 0 0 0 0\n(4I3) (3I4)\n  1\n",
};

/// Words that readers of numbers and of text tend to trip over.
inline const std::vector<std::string> nasty_words{"-1",
                                                  "0",
                                                  "1",
                                                  "2",
                                                  "2147483647",
                                                  "2147483648",
                                                  "4294967295",
                                                  "4294967297",
                                                  "1000000000000000000",
                                                  "9223372036854775807",
                                                  "9223372036854775808",
                                                  "18446744073709551617",
                                                  "99999999999999999999999999999999",
                                                  "1e5",
                                                  "1.5",
                                                  "nan",
                                                  "-NaN",
                                                  "inf",
                                                  "-Infinity",
                                                  "1e999",
                                                  "0x10",
                                                  "+3",
                                                  "%",
                                                  "%%MatrixMarket",
                                                  "array",
                                                  "general",
                                                  "symmetric",
                                                  "pattern",
                                                  "vector",
                                                  "",
                                                  "\n",
                                                  "\r",
                                                  "\t",
                                                  std::string(1, '\0'),
                                                  "\xff\xfe",
                                                  "1 1 1\n1 1 1\n"};

/// Mutates text word by word and line by line, or any bytes; the same seed makes the same changes.
class mutator {
 public:
  /// Words are separated by `delimiters`.
  explicit mutator(unsigned seed, std::string delimiters = " \r\n\t")
      : random_(seed), delimiters_(std::move(delimiters)) {}

  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }

  std::string text(std::string t) {
    for (std::size_t rounds = 1 + below(4); rounds > 0; --rounds) t = text_once(t);
    return t;
  }

  std::string bytes(std::string t) {
    for (std::size_t rounds = 1 + below(3); rounds > 0; --rounds) bytes_once(t);
    return t;
  }

 private:
  static std::vector<std::string> lines_of(const std::string& t) {
    std::vector<std::string> lines;
    std::istringstream in(t);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  static std::string joined(const std::vector<std::string>& lines, const std::string& end) {
    std::string t;
    for (const std::string& line : lines) {
      t += line;
      t += end;
    }
    return t;
  }

  std::string text_once(std::string t) {
    std::vector<std::string> lines = lines_of(t);
    switch (below(9)) {
      case 0:  // a word replaced
      case 1:
      case 2: {
        const std::size_t begin = t.find_first_not_of(delimiters_, below(t.size()));
        if (begin == std::string::npos) return t;
        const std::size_t end = std::min(t.find_first_of(delimiters_, begin), t.size());
        return t.replace(begin, end - begin, nasty_words[below(nasty_words.size())]);
      }
      case 3: {  // a word inserted
        const std::size_t where = below(t.size() + 1);
        return t.insert(where, nasty_words[below(nasty_words.size())]);
      }
      case 4:  // a line repeated elsewhere
        if (!lines.empty()) {
          const std::string line = lines[below(lines.size())];
          lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(below(lines.size() + 1)), line);
        }
        return joined(lines, "\n");
      case 5:  // a line lost
        if (!lines.empty()) {
          lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(below(lines.size())));
        }
        return joined(lines, "\n");
      case 6:  // entries in another order
        if (lines.size() > 3) std::shuffle(lines.begin() + 3, lines.end(), random_);
        return joined(lines, "\n");
      case 7:  // other line ends
        return joined(lines, below(2) == 0 ? "\r\n" : " \t\n\n");
      default:
        bytes_once(t);
        return t;
    }
  }

  void bytes_once(std::string& t) {
    const std::size_t k = below(t.size());
    switch (below(6)) {
      case 0:
        t.resize(k);
        break;
      case 1:
        if (!t.empty()) t[k] = static_cast<char>(t[k] ^ (1 << below(8)));
        break;
      case 2:
        if (!t.empty()) t[k] = static_cast<char>(below(256));
        break;
      case 3:
        t.erase(k, below(16));
        break;
      case 4:
        for (std::size_t n = below(16); n > 0; --n) t.insert(k, 1, static_cast<char>(below(256)));
        break;
      default:
        // A word of the machine replaced by an extreme one.
        if (t.size() >= 8) {
          const std::vector<std::uint64_t> extremes{0,
                                                    1,
                                                    0xffffffffffffffff,
                                                    0x7fffffffffffffff,
                                                    0x8000000000000000,
                                                    0x7fffffff,
                                                    0x80000000,
                                                    0xffffffff,
                                                    std::uint64_t{1} << 61,
                                                    t.size()};
          const std::uint64_t word = extremes[below(extremes.size())];
          const std::size_t size = below(2) == 0 ? 4 : 8;
          t.replace(k / size * size, size, std::string(reinterpret_cast<const char*>(&word), size));
        }
        break;
    }
  }

  std::mt19937 random_;
  std::string delimiters_;
};

}  // namespace gsofa::fuzz
