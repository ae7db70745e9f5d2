#include <algorithm>
#include <charconv>
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

std::string_view text_of(const char* line) {
  const char* end = line;
  while (!ends_line(end)) ++end;
  return {line, static_cast<std::size_t>(end - line)};
}

struct format_field {
  std::size_t begin, width;  // columns, from 0
};

// The integer fields of one line, by a Fortran format such as (16I5), (4(1X,I9)) or (I10,9I8.8).
class format_parser {
 public:
  explicit format_parser(std::string_view text) : text_(text) {}

  // False if the format is of another kind or has more than 1,000 fields.
  bool parse(std::vector<format_field>& fields) {
    return group(fields) && (skip(), at_ == text_.size()) && !fields.empty();
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ',') ++at_;
  }
  [[nodiscard]] char here() const { return at_ < text_.size() ? lower_letter(text_[at_]) : '\0'; }

  bool number(std::size_t& value) {
    value = 0;
    const std::size_t begin = at_;
    for (; digit(here()) <= 9; ++at_) {
      value = 10 * value + digit(here());
      if (value > 1000) return false;
    }
    return at_ > begin;
  }

  bool group(std::vector<format_field>& fields) {
    skip();
    if (here() != '(' || ++depth_ > 4) return false;
    ++at_;
    for (;;) {
      skip();
      if (here() == ')') {
        ++at_;
        --depth_;
        return true;
      }
      if (!item(fields) || fields.size() > 1000) return false;
    }
  }

  bool item(std::vector<format_field>& fields) {
    std::size_t repeat = 1, width = 0, least = 0;
    if (digit(here()) <= 9 && (!number(repeat) || repeat == 0)) return false;
    skip();
    switch (here()) {
      case '(': {
        const std::size_t begin = at_;
        for (std::size_t k = 0; k < repeat; ++k) {
          at_ = begin;
          if (!group(fields) || fields.size() > 1000) return false;
        }
        return true;
      }
      case 'x':
        ++at_;
        column_ += repeat;
        return column_ < 100000;
      case 'i':
        ++at_;
        if (!number(width) || width == 0) return false;
        if (here() == '.') {
          ++at_;
          if (!number(least)) return false;
        }
        for (std::size_t k = 0; k < repeat; ++k) {
          fields.push_back({column_, width});
          column_ += width;
        }
        return true;
      default:
        return false;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0, column_ = 0;
  int depth_ = 0;
};

class harwell_parser {
 public:
  harwell_parser(matrix_content& content, const memory_bound& bound)
      : content_(content), lines_(content), entries_(content.name(), bound) {}

  pattern parse(matrix_file_header& header) {
    read_header(header);
    read_pointers();
    read_indices();
    skip_values();
    header.format = matrix_format::harwell_boeing;
    header.stored_entries = declared_;
    return entries_.assemble();
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { lines_.fail(why); }

  std::string_view line(const char* what) {
    const char* const p = lines_.next();
    if (p == nullptr) fail(std::string("the file ends before ") + what);
    return text_of(p);
  }

  offset_t next_number(std::string_view& text, const char* what) const;
  void read_header(matrix_file_header& header);
  void read_type(std::string_view word, matrix_file_header& header);
  std::vector<format_field> take_format(std::string_view& text, const char* what) const;
  template <class Take>
  void read_numbers(const std::vector<format_field>& fields, offset_t count, const char* what,
                    const Take& take);
  void read_pointers();
  void read_indices();
  void skip_values();

  matrix_content& content_;
  matrix_lines lines_;
  stored_entries entries_;
  bool mirrored_ = false;
  index_t n_rows_ = 0, n_cols_ = 0;
  offset_t declared_ = 0, value_lines_ = 0;
  std::vector<format_field> pointer_fields_, index_fields_;
  std::vector<offset_t> pointers_;
};

// The next word of the line, which must be a number of at least 0.
offset_t harwell_parser::next_number(std::string_view& text, const char* what) const {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const std::size_t end = std::min(text.find_first_of(" \t", begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  offset_t value = 0;
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value);
  if (parsed.ec == std::errc::result_out_of_range) {
    fail(std::string(what) + " '" + excerpt(word, 24) + "' does not fit in 64 bits");
  }
  if (word.empty() || parsed.ptr != word.data() + word.size() || value < 0) {
    fail(std::string("expected the ") + what + ", found '" + excerpt(word, 24) + "'");
  }
  text.remove_prefix(end);
  return value;
}

void harwell_parser::read_type(std::string_view word, matrix_file_header& header) {
  const char values = lower_letter(word[0]), symmetry = lower_letter(word[1]);
  if (lower_letter(word[2]) == 'e') {
    fail("type " + excerpt(word, 3) +
         ": the matrix is not assembled (elemental); only assembled matrices are read");
  }
  header.field = values == 'r'   ? "real"
                 : values == 'c' ? "complex"
                 : values == 'i' ? "integer"
                                 : "pattern";
  header.symmetry = symmetry == 's'   ? "symmetric"
                    : symmetry == 'h' ? "hermitian"
                    : symmetry == 'z' ? "skew-symmetric"
                                      : "general";
  mirrored_ = header.symmetry != "general";
}

std::vector<format_field> harwell_parser::take_format(std::string_view& text,
                                                      const char* what) const {
  const std::size_t begin = std::min(text.find('('), text.size());
  std::size_t end = begin;
  int depth = 0;
  while (end < text.size()) {
    const char c = text[end++];
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth == 0) break;
  }
  std::string format(text.substr(begin, end - begin));
  std::erase(format, ' ');  // Fortran ignores them
  std::vector<format_field> fields;
  if (!format_parser(format).parse(fields)) {
    fail(std::string("the format of the ") + what + ", '" + excerpt(format, 24) +
         "', is not one of integers such as (16I5)");
  }
  text.remove_prefix(end);
  return fields;
}

void harwell_parser::read_header(matrix_file_header& header) {
  line("the title");
  std::string_view text = line("the counts of lines");
  for (const char* what :
       {"number of lines", "number of lines of pointers", "number of lines of indices"}) {
    next_number(text, what);
  }
  // Rutherford-Boeing files of patterns may leave it out.
  if (text.find_first_not_of(" \t") != std::string_view::npos) {
    value_lines_ = next_number(text, "number of lines of values");
  }
  offset_t right_side_lines = 0;
  if (text.find_first_not_of(" \t") != std::string_view::npos) {
    right_side_lines = next_number(text, "number of lines of right-hand sides");
  }
  text = line("the type of the matrix");
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  if (text.size() < 3) fail("expected the type of the matrix");
  read_type(text.substr(0, 3), header);
  text.remove_prefix(3);
  const offset_t rows = next_number(text, "number of rows");
  const offset_t cols = next_number(text, "number of columns");
  declared_ = next_number(text, "number of entries");
  for (const offset_t size : {rows, cols}) {
    if (size > max_index) fail("dimension " + std::to_string(size) + " exceeds 2^31 - 1");
  }
  n_rows_ = static_cast<index_t>(rows);
  n_cols_ = static_cast<index_t>(cols);
  if (mirrored_ && rows != cols) {
    fail(header.symmetry + " but not square: " + std::to_string(rows) + " x " +
         std::to_string(cols));
  }
  text = line("the formats");
  pointer_fields_ = take_format(text, "pointers");
  index_fields_ = take_format(text, "indices");
  if (right_side_lines > 0) line("the description of the right-hand sides");
}

// Calls take(value) with each of `count` numbers, which begin on a new line.
template <class Take>
void harwell_parser::read_numbers(const std::vector<format_field>& fields, offset_t count,
                                  const char* what, const Take& take) {
  for (offset_t done = 0; done < count;) {
    const char* const p = lines_.next();
    if (p == nullptr) {
      fail("the file ends after " + std::to_string(done) + " of the " + std::to_string(count) +
           " " + what);
    }
    const std::string_view text = text_of(p);
    for (const auto& [begin, width] : fields) {
      if (done == count) break;
      std::string_view word = text.substr(std::min(begin, text.size()), width);
      word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
      word.remove_suffix(word.size() - (word.find_last_not_of(" \t") + 1));
      offset_t value = 0;
      const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value);
      if (word.empty() || parsed.ec != std::errc{} || parsed.ptr != word.data() + word.size()) {
        fail("columns " + std::to_string(begin + 1) + ".." + std::to_string(begin + width) +
             " hold '" + excerpt(word, 24) + "' instead of one of the " + what);
      }
      take(value);
      ++done;
    }
  }
}

void harwell_parser::read_pointers() {
  entries_.begin(n_rows_, n_cols_, mirrored_, content_.likely_entries(declared_, 2));
  offset_t last = 1;
  read_numbers(pointer_fields_, offset_t{n_cols_} + 1, "pointers", [&](offset_t value) {
    if (pointers_.empty() && value != 1) {
      fail("the first pointer is " + std::to_string(value) + ", not 1");
    }
    if (value < last || value - 1 > declared_) {
      fail("pointer " + std::to_string(value) + " is outside " + std::to_string(last) + ".." +
           std::to_string(declared_ + 1));
    }
    pointers_.push_back(value);
    entries_.hold(sizeof value);
    last = value;
  });
  if (last - 1 != declared_) {
    fail("the last pointer is " + std::to_string(last) + ", but " + std::to_string(declared_) +
         " entries are declared");
  }
}

void harwell_parser::read_indices() {
  std::size_t column = 0;
  offset_t entry = 1;
  read_numbers(index_fields_, declared_, "row indices", [&](offset_t value) {
    if (value < 1 || value > n_rows_) {
      fail("row index " + std::to_string(value) + " is outside 1.." + std::to_string(n_rows_) +
           (value == 0 ? " (indices are 1-based)" : ""));
    }
    while (pointers_[column + 1] <= entry) ++column;
    entries_.add(static_cast<index_t>(value - 1), static_cast<index_t>(column));
    ++entry;
  });
}

// A file that is cut within them is refused, whatever they are.
void harwell_parser::skip_values() {
  for (offset_t k = 0; k < value_lines_; ++k) {
    if (lines_.next() == nullptr) {
      fail("the file ends after " + std::to_string(k) + " of the " + std::to_string(value_lines_) +
           " lines of values");
    }
  }
}

}  // namespace

pattern parse_harwell_boeing(matrix_content& content, matrix_file_header& header,
                             const memory_bound& bound) {
  return harwell_parser(content, bound).parse(header);
}

}  // namespace gsofa
