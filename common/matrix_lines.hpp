#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/matrix_content.hpp"
#include "common/types.hpp"

namespace gsofa {

/// Lines of text of a matrix_content, in blocks of complete lines. A line ends with LF, CR LF or
/// CR; every CR not followed by LF is replaced by LF. A byte order mark at the beginning is
/// skipped.
class matrix_lines {
 public:
  explicit matrix_lines(matrix_content& content);

  /// The next line, which ends with '\n' or "\r\n"; null at the end of the file. Valid until the
  /// following call. Throws input_error if the line is longer than 1 MiB.
  const char* next();
  /// The buffered lines that next() has not returned: [begin, end), complete lines, followed by at
  /// least 16 readable bytes '\n'. False at the end of the file. The caller adds the number of
  /// lines that it takes to `number`.
  bool next_block(const char*& begin, const char*& end);

  /// Throws input_error "NAME:LINE: why" for the line taken last.
  [[noreturn]] void fail(const std::string& why) const;
  [[nodiscard]] const std::string& name() const { return content_.name(); }

  offset_t number = 0;  ///< of the line taken last, from 1

 private:
  static constexpr std::size_t padding = 16;

  bool fill();
  void end_lines_with_lf(std::size_t from);

  matrix_content& content_;
  std::vector<char> buffer_;
  // [begin_, end_) holds whole lines not yet taken, [end_, filled_) the beginning of the next.
  std::size_t begin_ = 0, end_ = 0, filled_ = 0;
  bool begun_ = false, ended_ = false;
};

// Characters of a line that ends with '\n' or "\r\n".
inline bool is_blank(char c) { return c == ' ' || c == '\t'; }
inline bool ends_line(const char* p) { return *p == '\n' || (*p == '\r' && p[1] == '\n'); }
inline bool ends_token(const char* p) { return is_blank(*p) || ends_line(p); }
inline const char* skip_blanks(const char* p) {
  while (is_blank(*p)) ++p;
  return p;
}
inline unsigned digit(char c) { return static_cast<unsigned>(static_cast<unsigned char>(c)) - '0'; }
/// The token at p in quotes, for a message.
std::string quoted(const char* p);

}  // namespace gsofa
