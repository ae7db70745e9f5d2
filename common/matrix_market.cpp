#include "common/matrix_market.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "common/file.hpp"
#include "common/sha256.hpp"

namespace gsofa {

namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 18;
constexpr std::size_t max_line_bytes = std::size_t{1} << 20;

enum class value_kind { none, integer, real, complex };

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool ends_line(const char* p) { return *p == '\n' || (*p == '\r' && p[1] == '\n'); }
bool ends_token(const char* p) { return is_blank(*p) || ends_line(p); }

const char* skip_blanks(const char* p) {
  while (is_blank(*p)) ++p;
  return p;
}

const char* next_line(const char* p, const char* end) {
  return static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p))) + 1;
}

unsigned digit(char c) { return static_cast<unsigned>(static_cast<unsigned char>(c)) - '0'; }

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

// Moves p behind a number of the form [+-]digits; false if there is none.
bool integer_number(const char*& p) {
  if (*p == '+' || *p == '-') ++p;
  const char* begin = p;
  p = skip_digits(p);
  return p != begin;
}

// Moves p behind a number in decimal notation (exponent letter e or, as Fortran writes it, d).
bool real_number(const char*& p) {
  if (*p == '+' || *p == '-') ++p;
  const char* begin = p;
  p = skip_digits(p);
  auto digits = p - begin;
  if (*p == '.') {
    begin = ++p;
    p = skip_digits(p);
    digits += p - begin;
  }
  if (digits == 0) return false;
  if (const int letter = *p | 0x20; letter == 'e' || letter == 'd') return integer_number(++p);
  return true;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

// The token at p for an error message: at most 24 characters, unprintable ones replaced.
std::string quoted(const char* p) {
  std::string text = "'";
  for (; !ends_token(p); ++p) {
    if (text.size() > 24) {
      text += "...";
      break;
    }
    text += *p >= ' ' && *p <= '~' ? *p : '?';
  }
  return text + "'";
}

class reader {
 public:
  reader(const std::filesystem::path& file, bool hashed, std::int64_t memory_limit)
      : name_(file.string()),
        source_(file),
        hashed_(hashed),
        memory_limit_(memory_limit > 0 ? memory_limit : available_memory()),
        buffer_(block_bytes + padding) {}

  pattern read(matrix_market_header* header);

 private:
  // Room behind the last line for the sentinel newline and for reading words of eight bytes.
  static constexpr std::size_t padding = 16;

  [[noreturn]] void fail(const std::string& why) const {
    throw input_error(name_ + ":" + std::to_string(line_) + ": " + why);
  }

  bool next_block();
  const char* header_line();
  void read_banner();
  void read_size();
  void read_entries();
  template <value_kind Kind>
  void parse_block();
  index_t parse_index(const char*& p, index_t limit, const char* what) const;
  [[noreturn]] void fail_index(const char* p, index_t limit, const char* what) const;
  offset_t parse_size(const char*& p) const;
  void check_memory(offset_t bytes) const;
  pattern assemble();

  std::string name_;
  byte_source source_;
  bool hashed_;
  sha256_hasher hasher_;
  std::int64_t memory_limit_;

  std::vector<char> buffer_;
  // [begin_, end_) holds whole lines not yet consumed, [end_, filled_) the beginning of the next.
  std::size_t begin_ = 0, end_ = 0, filled_ = 0;
  bool file_ended_ = false;
  offset_t line_ = 0;  // number of the line last taken

  std::string field_, symmetry_;
  value_kind kind_ = value_kind::real;
  bool general_ = true, skew_ = false;
  triplets entries_;
  offset_t declared_ = 0;
  // Entries so far come strictly ascending by (column, row) or by (row, column).
  bool by_column_ = true, by_row_ = true;
};

// Replaces the consumed lines by further ones; false at the end of the file.
bool reader::next_block() {
  if (file_ended_) return false;
  std::memmove(buffer_.data(), buffer_.data() + end_, filled_ - end_);
  filled_ -= end_;
  begin_ = end_ = 0;
  while (end_ == 0) {
    if (filled_ + padding == buffer_.size()) {
      if (filled_ >= max_line_bytes) {
        ++line_;
        fail("the line is longer than 1 MiB");
      }
      buffer_.resize(2 * filled_ + padding);
    }
    const std::span<char> room(buffer_.data() + filled_, buffer_.size() - padding - filled_);
    const std::size_t got = source_.read(room);
    if (hashed_) hasher_.update(std::as_bytes(room.first(got)));
    filled_ += got;
    if (got == 0) {
      file_ended_ = true;
      if (filled_ == 0) return false;
      buffer_[filled_++] = '\n';
    }
    const std::string_view fresh(buffer_.data(), filled_);
    end_ = fresh.rfind('\n') + 1;  // npos + 1 is 0
  }
  std::fill_n(buffer_.data() + filled_, buffer_.size() - filled_, '\n');
  return true;
}

// The next line; null at the end of the file. It stays valid until the following call.
const char* reader::header_line() {
  if (begin_ == end_ && !next_block()) return nullptr;
  ++line_;
  const char* line = buffer_.data() + begin_;
  begin_ = static_cast<std::size_t>(next_line(line, buffer_.data() + end_) - buffer_.data());
  return line;
}

void reader::read_banner() {
  const char* p = header_line();
  if (p == nullptr) throw input_error(name_ + ": empty file");
  std::array<std::string, 5> words;
  for (std::string& word : words) {
    p = skip_blanks(p);
    const char* begin = p;
    while (!ends_token(p)) ++p;
    word = lower_case({begin, static_cast<std::size_t>(p - begin)});
    if (&word == words.data() && word != "%%matrixmarket") {
      fail("not a Matrix Market file (no %%MatrixMarket banner)");
    }
  }
  if (!ends_line(skip_blanks(p))) fail("the banner has more than five words");
  const auto& [banner, object, format, field, symmetry] = words;
  auto unknown = [&](const char* what, const std::string& word, const char* expected) {
    fail(std::string(what) + " " + quoted((word + "\n").c_str()) + " is not supported; expected " +
         expected);
  };
  if (object != "matrix") unknown("object", object, "matrix");
  if (format == "array") fail("array (dense) format is not supported; expected coordinate");
  if (format != "coordinate") unknown("format", format, "coordinate");
  if (field == "real" || field == "double") {
    kind_ = value_kind::real;
  } else if (field == "integer") {
    kind_ = value_kind::integer;
  } else if (field == "complex") {
    kind_ = value_kind::complex;
  } else if (field == "pattern") {
    kind_ = value_kind::none;
  } else {
    unknown("field", field, "real, double, complex, integer or pattern");
  }
  field_ = field == "double" ? "real" : field;
  if (symmetry != "general" && symmetry != "symmetric" && symmetry != "skew-symmetric" &&
      symmetry != "hermitian") {
    unknown("symmetry", symmetry, "general, symmetric, skew-symmetric or hermitian");
  }
  symmetry_ = symmetry;
  general_ = symmetry == "general";
  skew_ = symmetry == "skew-symmetric";
  if ((skew_ && kind_ == value_kind::none) ||
      (symmetry == "hermitian" && kind_ != value_kind::complex)) {
    fail("a matrix cannot be both " + field_ + " and " + symmetry_);
  }
}

offset_t reader::parse_size(const char*& p) const {
  p = skip_blanks(p);
  const char* begin = p;
  if (*p == '-') fail("size " + quoted(p) + " is negative");
  p = skip_digits(p);
  if (p == begin || !ends_token(p)) {
    fail("expected the size line 'rows columns entries', found " + quoted(begin));
  }
  offset_t value = 0;
  if (std::from_chars(begin, p, value).ec != std::errc{}) {
    fail("size " + quoted(begin) + " does not fit in 64 bits");
  }
  return value;
}

void reader::read_size() {
  const char* p = nullptr;
  do {
    p = header_line();
    if (p == nullptr) fail("the file ends before the size line");
    p = skip_blanks(p);
  } while (*p == '%' || ends_line(p));
  const offset_t rows = parse_size(p);
  const offset_t cols = parse_size(p);
  declared_ = parse_size(p);
  p = skip_blanks(p);
  if (!ends_line(p)) fail("unexpected " + quoted(p) + " after the sizes");
  for (const offset_t size : {rows, cols}) {
    if (size > max_index) {
      fail("dimension " + std::to_string(size) + " exceeds 2^31 - 1");
    }
  }
  entries_.n_rows = static_cast<index_t>(rows);
  entries_.n_cols = static_cast<index_t>(cols);
  if (!general_ && rows != cols) {
    fail(symmetry_ + " but not square: " + std::to_string(rows) + " x " + std::to_string(cols));
  }
  const offset_t positions =
      general_ ? rows * cols : (skew_ ? rows * (rows - 1) / 2 : rows * (rows + 1) / 2);
  if (declared_ > positions) {
    fail("declares " + std::to_string(declared_) + " entries for " + std::to_string(positions) +
         " positions");
  }
  // An entry takes at least 4 bytes of text; gzip'd it rarely takes less than one.
  const offset_t likely =
      std::min(declared_, source_.file_bytes() / (source_.compressed() ? 1 : 4) + 1);
  check_memory(8 * (rows + 1) + 8 * likely);
  entries_.rows.reserve(at(likely));
  entries_.cols.reserve(at(likely));
}

void reader::fail_index(const char* p, index_t limit, const char* what) const {
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
index_t reader::parse_index(const char*& p, index_t limit, const char* what) const {
  const char* begin = p;
  std::uint64_t value = 0;
  for (unsigned d = digit(*p); d <= 9; d = digit(*++p)) value = 10 * value + d;
  // 19 digits fit in 64 bits; 0 wraps around to the largest value.
  if (p - begin > 19 || value - 1 >= static_cast<std::uint64_t>(limit)) [[unlikely]] {
    fail_index(begin, limit, what);
  }
  return static_cast<index_t>(value - 1);
}

template <value_kind Kind>
void reader::parse_block() {
  const char* p = buffer_.data() + begin_;
  const char* const end = buffer_.data() + end_;
  const index_t n_rows = entries_.n_rows;
  const index_t n_cols = entries_.n_cols;
  std::size_t count = entries_.rows.size();
  std::uint64_t last_by_column = 0, last_by_row = 0;
  auto key = [](index_t major, index_t minor) {
    return (static_cast<std::uint64_t>(major) << 32) | static_cast<std::uint64_t>(minor);
  };
  if (count > 0) {
    last_by_column = key(entries_.cols.back(), entries_.rows.back());
    last_by_row = key(entries_.rows.back(), entries_.cols.back());
  }
  for (; p != end; ++p) {
    ++line_;
    p = skip_blanks(p);
    if (*p == '%' || ends_line(p)) [[unlikely]] {
      p = next_line(p, end) - 1;
      continue;
    }
    if (count == at(declared_)) {
      fail("more entries than the " + std::to_string(declared_) + " declared");
    }
    const char* const row = p;
    index_t i = parse_index(p, n_rows, "row");
    if (!ends_token(p)) fail_index(row, n_rows, "row");
    p = skip_blanks(p);
    const char* const column = p;
    index_t j = parse_index(p, n_cols, "column");
    if (!ends_token(p)) fail_index(column, n_cols, "column");
    p = skip_blanks(p);
    if constexpr (Kind != value_kind::none) {
      for (int part = 0; part < (Kind == value_kind::complex ? 2 : 1); ++part) {
        const char* const value = p;
        const bool valid = Kind == value_kind::integer ? integer_number(p) : real_number(p);
        if (!valid || !ends_token(p)) [[unlikely]] {
          if (ends_line(value)) fail("the value is missing");
          fail("value " + quoted(value) + " is not a finite " +
               (Kind == value_kind::integer ? "integer" : "number"));
        }
        p = skip_blanks(p);
      }
    }
    if (!ends_line(p)) [[unlikely]] {
      fail("unexpected " + quoted(p) + " after the entry");
    }
    if (*p == '\r') ++p;
    if (!general_) {
      if (skew_ && i == j) fail("a skew-symmetric matrix has no entries on its diagonal");
      // Either triangle may be stored; the lower one is kept.
      if (i < j) std::swap(i, j);
    }
    const std::uint64_t by_column = key(j, i);
    const std::uint64_t by_row = key(i, j);
    by_column_ &= count == 0 || by_column > last_by_column;
    by_row_ &= count == 0 || by_row > last_by_row;
    last_by_column = by_column;
    last_by_row = by_row;
    entries_.rows.push_back(i);
    entries_.cols.push_back(j);
    ++count;
  }
  begin_ = end_;
}

void reader::read_entries() {
  while (begin_ != end_ || next_block()) {
    switch (kind_) {
      case value_kind::none:
        parse_block<value_kind::none>();
        break;
      case value_kind::integer:
        parse_block<value_kind::integer>();
        break;
      case value_kind::real:
        parse_block<value_kind::real>();
        break;
      case value_kind::complex:
        parse_block<value_kind::complex>();
        break;
    }
  }
  if (const offset_t found = static_cast<offset_t>(entries_.rows.size()); found != declared_) {
    fail("the file ends after " + std::to_string(found) + " of the " + std::to_string(declared_) +
         " entries declared");
  }
}

void reader::check_memory(offset_t bytes) const {
  if (bytes <= memory_limit_) return;
  throw input_error(name_ + ": not enough memory for " + std::to_string(entries_.n_rows) + " x " +
                    std::to_string(entries_.n_cols) + ": " + std::to_string(bytes >> 20) +
                    " MiB needed, " + std::to_string(memory_limit_ >> 20) + " MiB available");
}

// Scatters entries (k = 0, 1, ...) given in an order that leaves every row ascending, and their
// mirror images if the storage is symmetric.
template <class Row, class Column>
pattern scatter(index_t n_rows, index_t n_cols, std::size_t count, bool mirrored, const Row& row,
                const Column& column) {
  pattern a;
  a.n_rows = n_rows;
  a.n_cols = n_cols;
  a.row_ptr.assign(at(n_rows) + 1, 0);
  for (std::size_t k = 0; k < count; ++k) ++a.row_ptr[at(row(k))];
  if (mirrored) {
    for (std::size_t k = 0; k < count; ++k) {
      if (row(k) != column(k)) ++a.row_ptr[at(column(k))];
    }
  }
  offset_t total = 0;
  for (offset_t& begin : a.row_ptr) total += std::exchange(begin, total);
  a.col_idx.resize(at(total));
  // Each row's pointer moves from its beginning to its end, which is where the next row begins.
  for (std::size_t k = 0; k < count; ++k) {
    const index_t i = row(k);
    const index_t j = column(k);
    a.col_idx[at(a.row_ptr[at(i)]++)] = j;
    if (mirrored && i != j) a.col_idx[at(a.row_ptr[at(j)]++)] = i;
  }
  std::copy_backward(a.row_ptr.begin(), a.row_ptr.end() - 1, a.row_ptr.end());
  a.row_ptr.front() = 0;
  return a;
}

pattern reader::assemble() {
  const index_t n_rows = entries_.n_rows;
  const index_t n_cols = entries_.n_cols;
  const std::size_t count = entries_.rows.size();
  const offset_t stored = static_cast<offset_t>(count);
  const offset_t pointers = 8 * (offset_t{n_rows} + 1);
  const offset_t result = pointers + 8 * stored + 4 * (general_ ? stored : 2 * stored);
  // Ordered by column or by row, the stored lower triangle of row i comes before its mirrored
  // upper part: the entries (i, j), j <= i, precede every (k, i), k > i, in both orders.
  if (by_column_ || by_row_) {
    check_memory(result);
    return scatter(
        n_rows, n_cols, count, !general_, [&](std::size_t k) { return entries_.rows[k]; },
        [&](std::size_t k) { return entries_.cols[k]; });
  }
  check_memory(result + 2 * pointers + 8 * (offset_t{n_cols} + 1) + 8 * stored);
  pattern sorted;
  try {
    sorted = from_triplets(entries_, duplicates::reject);
  } catch (const input_error& duplicate) {
    throw input_error(name_ + ": " + duplicate.what() +
                      (general_ ? "" : " (in " + symmetry_ + " storage, or its mirror image)"));
  }
  if (general_) return sorted;
  std::vector<index_t>& row_of = entries_.rows;
  for (index_t i = 0; i < n_rows; ++i) {
    std::fill(row_of.begin() + sorted.row_ptr[at(i)], row_of.begin() + sorted.row_ptr[at(i) + 1],
              i);
  }
  return scatter(
      n_rows, n_cols, count, true, [&](std::size_t k) { return row_of[k]; },
      [&](std::size_t k) { return sorted.col_idx[k]; });
}

pattern reader::read(matrix_market_header* header) {
  try {
    read_banner();
    read_size();
    read_entries();
    pattern a = assemble();
    if (header != nullptr) *header = {field_, symmetry_, declared_, hasher_.hex()};
    return a;
  } catch (const std::bad_alloc&) {
    throw input_error(name_ + ": not enough memory for order " + std::to_string(entries_.n_rows) +
                      " and " + std::to_string(entries_.rows.size()) + " entries");
  }
}

char* put_number(char* out, offset_t value) { return std::to_chars(out, out + 20, value).ptr; }

}  // namespace

pattern read_matrix_market(const std::filesystem::path& file, matrix_market_header* header,
                           std::int64_t memory_limit) {
  return reader(file, header != nullptr, memory_limit).read(header);
}

void write_matrix_market(const std::filesystem::path& file, const pattern_view& a,
                         const std::string& comment) {
  text_output out(file);
  out.write("%%MatrixMarket matrix coordinate pattern general\n");
  for (std::size_t begin = 0; begin < comment.size();) {
    const std::size_t end = std::min(comment.find('\n', begin), comment.size());
    out.write("% ");
    out.write(std::string_view(comment).substr(begin, end - begin));
    out.write("\n");
    begin = end + 1;
  }
  out.write(std::to_string(a.n_rows) + " " + std::to_string(a.n_cols) + " " +
            std::to_string(a.nnz()) + "\n");
  std::array<char, 32> line;
  for (index_t i = 0; i < a.n_rows; ++i) {
    char* const after_row = put_number(line.data(), offset_t{i} + 1);
    *after_row = ' ';
    for (const index_t j : a.row(i)) {
      char* end = put_number(after_row + 1, offset_t{j} + 1);
      *end++ = '\n';
      out.write(std::string_view(line.data(), static_cast<std::size_t>(end - line.data())));
    }
  }
  out.commit();
}

}  // namespace gsofa
