#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/ascii.hpp"
#include "common/error.hpp"
#include "common/matrix_lines.hpp"
#include "common/matrix_parsers.hpp"
#include "common/stored_entries.hpp"

namespace gsofa {

namespace {

const char* next_line(const char* p, const char* end) {
  return static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p))) + 1;
}

// The first character at or after p that is no digit. Eight bytes from p on are readable.
const char* skip_digits(const char* p) {
  if constexpr (std::endian::native == std::endian::little) {
    for (;;) {
      std::uint64_t word = 0;
      std::memcpy(&word, p, 8);
      word ^= 0x3030303030303030ULL;
      // The lowest byte above 9 has its high bit set in this sum; carries reach only later bytes.
      const std::uint64_t others = (word | (word + 0x7676767676767676ULL)) & 0x8080808080808080ULL;
      if (others != 0) return p + std::countr_zero(others) / 8;
      p += 8;
    }
  }
  while (digit(*p) <= 9) ++p;
  return p;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower_letter);
  return out;
}

// What the words of banners mean: those of NIST, of SciPy, and of other writers.
struct word_meaning {
  std::string_view word, meaning;
};
constexpr word_meaning fields[] = {{"real", "real"},        {"double", "real"},
                                   {"float", "real"},       {"complex", "complex"},
                                   {"integer", "integer"},  {"unsigned-integer", "integer"},
                                   {"unsigned", "integer"}, {"int", "integer"},
                                   {"pattern", "pattern"},  {"boolean", "pattern"}};
constexpr word_meaning symmetries[] = {
    {"general", "general"},    {"unsymmetric", "general"},           {"symmetric", "symmetric"},
    {"spd", "symmetric"},      {"skew-symmetric", "skew-symmetric"}, {"skew", "skew-symmetric"},
    {"hermitian", "hermitian"}};

class market_parser {
 public:
  market_parser(matrix_content& content, const memory_bound& bound, bool keeps_values)
      : content_(content),
        lines_(content),
        entries_(content.name(), bound),
        keeps_values_(keeps_values) {}

  pattern parse(matrix_file_header& header) {
    read_banner();
    if (keeps_values_ && (array_ || field_ == "pattern")) {
      fail("values are read from coordinate files of a field with values only");
    }
    read_size();
    array_ ? count_values() : read_entries();
    header.format = matrix_format::matrix_market;
    header.field = field_;
    header.symmetry = symmetry_;
    header.stored_entries = declared_;
    return array_ ? dense() : entries_.assemble();
  }
  [[nodiscard]] std::vector<double> magnitudes(const pattern_view& a) const {
    return entries_.magnitudes(a);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { lines_.fail(why); }

  void read_banner();
  std::string_view meaning_of(const char* what, const std::string& word,
                              std::span<const word_meaning> known) const;
  void read_size();
  void read_entries();
  void parse_block(const char* p, const char* end);
  double parse_value(const char*& p) const;
  void count_values();
  pattern dense();
  index_t parse_index(const char*& p, index_t limit, const char* what) const;
  [[noreturn]] void fail_index(const char* p, index_t limit, const char* what) const;
  offset_t parse_size(const char*& p) const;

  matrix_content& content_;
  matrix_lines lines_;
  stored_entries entries_;
  const bool keeps_values_;
  std::string field_, symmetry_;
  bool array_ = false, general_ = true, skew_ = false;
  index_t n_rows_ = 0, n_cols_ = 0;
  offset_t declared_ = 0;
};

std::string_view market_parser::meaning_of(const char* what, const std::string& word,
                                           std::span<const word_meaning> known) const {
  for (const auto& [name, meaning] : known) {
    if (word == name) return meaning;
  }
  std::string expected;
  for (const auto& [name, meaning] : known) {
    if (name != meaning) continue;
    expected += (expected.empty() ? "" : ", ") + std::string(name);
  }
  fail(std::string(what) + " '" + excerpt(word, 24) + "' is not supported; expected " +
       (known.size() > 1 ? "one of " : "") + expected);
}

void market_parser::read_banner() {
  const char* p = nullptr;
  do {
    p = lines_.next();
    if (p == nullptr) fail("the file has no banner");
    p = skip_blanks(p);
  } while (ends_line(p));
  std::array<std::string, 5> words;
  for (std::string& word : words) {
    p = skip_blanks(p);
    const char* const begin = p;
    while (!ends_token(p)) ++p;
    word = lower_case({begin, static_cast<std::size_t>(p - begin)});
  }
  const auto& [banner, object, format, field, symmetry] = words;
  // Some writers lose one of the two percent signs to printf().
  if (banner != "%%matrixmarket" && banner != "%matrixmarket") {
    fail("not a Matrix Market file (no %%MatrixMarket banner)");
  }
  p = skip_blanks(p);
  if (!ends_line(p)) fail("unexpected " + quoted(p) + " after the five words of the banner");
  constexpr word_meaning objects[] = {{"matrix", "matrix"}};
  constexpr word_meaning formats[] = {{"coordinate", "coordinate"}, {"array", "array"}};
  meaning_of("object", object, objects);
  array_ = meaning_of("format", format, formats) == "array";
  field_ = meaning_of("field", field, fields);
  symmetry_ = meaning_of("symmetry", symmetry, symmetries);
  general_ = symmetry_ == "general";
  skew_ = symmetry_ == "skew-symmetric";
  if (array_ && field_ == "pattern") fail("a matrix in array format cannot be a pattern");
}

offset_t market_parser::parse_size(const char*& p) const {
  p = skip_blanks(p);
  const char* const begin = p;
  if (*p == '-') fail("size " + quoted(p) + " is negative");
  p = skip_digits(p);
  if (p == begin || !ends_token(p)) {
    fail(std::string("expected the size line 'rows columns") + (array_ ? "" : " entries") +
         "', found " + quoted(begin));
  }
  offset_t value = 0;
  if (std::from_chars(begin, p, value).ec != std::errc{}) {
    fail("size " + quoted(begin) + " does not fit in 64 bits");
  }
  return value;
}

void market_parser::read_size() {
  const char* p = nullptr;
  do {
    p = lines_.next();
    if (p == nullptr) fail("the file ends before the size line");
    p = skip_blanks(p);
  } while (*p == '%' || ends_line(p));
  const offset_t rows = parse_size(p);
  const offset_t cols = parse_size(p);
  if (!array_) declared_ = parse_size(p);
  p = skip_blanks(p);
  if (!ends_line(p)) fail("unexpected " + quoted(p) + " after the sizes");
  for (const offset_t size : {rows, cols}) {
    if (size > max_index) fail("dimension " + std::to_string(size) + " exceeds 2^31 - 1");
  }
  n_rows_ = static_cast<index_t>(rows);
  n_cols_ = static_cast<index_t>(cols);
  if (!general_ && rows != cols) {
    fail(symmetry_ + " but not square: " + std::to_string(rows) + " x " + std::to_string(cols));
  }
  if (array_) {
    declared_ = general_ ? rows * cols : (skew_ ? rows * (rows - 1) / 2 : rows * (rows + 1) / 2);
  } else {
    // An entry takes at least 4 bytes of text.
    entries_.begin(n_rows_, n_cols_, !general_, content_.likely_entries(declared_, 4));
  }
}

void market_parser::fail_index(const char* p, index_t limit, const char* what) const {
  const char* q = p;
  const bool negative = *q == '-';
  if (negative) ++q;
  const char* begin = q;
  q = skip_digits(q);
  if (q == begin || !ends_token(q)) {
    if (ends_line(p)) fail(std::string("the ") + what + " index is missing");
    fail(std::string(what) + " index " + quoted(p) + " is not an integer");
  }
  const bool zero = !negative && std::all_of(begin, q, [](char c) { return c == '0'; });
  fail(std::string(what) + " index " + quoted(p) + " is outside 1.." + std::to_string(limit) +
       (zero ? " (indices are 1-based)" : ""));
}

// The 0-based value of the index at p, which moves behind it.
index_t market_parser::parse_index(const char*& p, index_t limit, const char* what) const {
  const char* begin = p;
  std::uint64_t value = 0;
  for (unsigned d = digit(*p); d <= 9; d = digit(*++p)) value = 10 * value + d;
  // 19 digits fit in 64 bits; 0 wraps around to the largest value.
  if (p - begin > 19 || value - 1 >= static_cast<std::uint64_t>(limit) || !ends_token(p))
      [[unlikely]] {
    fail_index(begin, limit, what);
  }
  return static_cast<index_t>(value - 1);
}

// The number at p, which moves behind it; Fortran's exponents too.
double market_parser::parse_value(const char*& p) const {
  const char* const begin = p;
  while (!ends_token(p)) ++p;
  std::string copy;
  std::string_view text(begin + (*begin == '+' ? 1 : 0), p);
  if (text.find_first_of("dD") != text.npos) {
    copy = text;
    std::ranges::replace_if(
        copy, [](char c) { return c == 'd' || c == 'D'; }, 'e');
    text = copy;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
    fail("the value " + quoted(begin) + " is not a number");
  }
  if (error != std::errc::result_out_of_range) return value;
  const bool is_small = text.find("e-") != text.npos || text.find("E-") != text.npos;
  return is_small ? 0 : std::numeric_limits<double>::infinity();
}

// Values that nobody reads are not judged: NaN, 1e+16 for an integer, one number for a complex
// entry are all right.
void market_parser::parse_block(const char* p, const char* end) {
  const bool has_values = field_ != "pattern";
  offset_t count = entries_.count();
  while (p != end) {
    ++lines_.number;
    p = skip_blanks(p);
    if (*p == '%' || ends_line(p)) [[unlikely]] {
      p = next_line(p, end);
      continue;
    }
    if (count == declared_) {
      fail("more entries than the " + std::to_string(declared_) + " declared");
    }
    const index_t i = parse_index(p, n_rows_, "row");
    p = skip_blanks(p);
    const index_t j = parse_index(p, n_cols_, "column");
    if (has_values) {
      p = skip_blanks(p);
      if (ends_line(p) || *p == '%') fail("the value is missing");
    }
    entries_.add(i, j);
    if (keeps_values_) {
      const double real = parse_value(p);
      p = skip_blanks(p);
      const bool is_complex = field_ == "complex" && !ends_line(p);
      entries_.add_value({real, is_complex ? parse_value(p) : 0.0});
    }
    p = next_line(p, end);
    ++count;
  }
}

void market_parser::read_entries() {
  const char* begin = nullptr;
  const char* end = nullptr;
  while (lines_.next_block(begin, end)) {
    parse_block(begin, end);
  }
  if (entries_.count() != declared_) {
    fail("the file ends after " + std::to_string(entries_.count()) + " of the " +
         std::to_string(declared_) + " entries declared");
  }
}

// All positions are entries, and memory is taken only once all values have been seen.
void market_parser::count_values() {
  const int parts = field_ == "complex" ? 2 : 1;
  offset_t words = 0;
  while (const char* p = lines_.next()) {
    p = skip_blanks(p);
    if (*p == '%') continue;
    for (; !ends_line(p); p = skip_blanks(p)) {
      while (!ends_token(p)) ++p;
      ++words;
    }
    if (words > parts * declared_) {
      fail("more values than the " + std::to_string(declared_) + " of a " + symmetry_ +
           " array of " + std::to_string(n_rows_) + " x " + std::to_string(n_cols_));
    }
  }
  if (words != parts * declared_) {
    fail("the file ends after " + std::to_string(words / parts) + " of the " +
         std::to_string(declared_) + " values of a " + symmetry_ + " array of " +
         std::to_string(n_rows_) + " x " + std::to_string(n_cols_));
  }
}

pattern market_parser::dense() {
  entries_.begin(n_rows_, n_cols_, false, 0);
  entries_.check_memory(4 * offset_t{n_rows_} * n_cols_);
  pattern a;
  a.n_rows = n_rows_;
  a.n_cols = n_cols_;
  a.row_ptr.reserve(at(n_rows_) + 1);
  for (index_t i = 0; i < n_rows_; ++i) {
    for (index_t j = 0; j < n_cols_; ++j) {
      if (!skew_ || i != j) a.col_idx.push_back(j);
    }
    a.row_ptr.push_back(static_cast<offset_t>(a.col_idx.size()));
  }
  return a;
}

}  // namespace

pattern parse_matrix_market(matrix_content& content, matrix_file_header& header,
                            const memory_bound& bound, std::vector<double>* magnitudes) {
  market_parser parser(content, bound, magnitudes != nullptr);
  pattern a = parser.parse(header);
  if (magnitudes != nullptr) *magnitudes = parser.magnitudes(a);
  return a;
}

}  // namespace gsofa
