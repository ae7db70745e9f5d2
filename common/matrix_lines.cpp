#include "common/matrix_lines.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "common/ascii.hpp"
#include "common/error.hpp"

namespace gsofa {

namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 18;
constexpr std::size_t max_line_bytes = std::size_t{1} << 20;

}  // namespace

matrix_lines::matrix_lines(matrix_content& content)
    : content_(content), buffer_(block_bytes + padding) {}

void matrix_lines::fail(const std::string& why) const {
  throw input_error(name() + ":" + std::to_string(number) + ": " + why);
}

// Of the bytes [from, filled_). A CR at the end waits for the next byte, unless the file ended.
void matrix_lines::end_lines_with_lf(std::size_t from) {
  char* const end = buffer_.data() + filled_;
  char* p = buffer_.data() + from;
  while (p != end) {
    p = static_cast<char*>(std::memchr(p, '\r', static_cast<std::size_t>(end - p)));
    if (p == nullptr) return;
    if (p + 1 == end ? ended_ : p[1] != '\n') *p = '\n';
    ++p;
  }
}

// Replaces the lines taken by further ones; false at the end of the file.
bool matrix_lines::fill() {
  if (ended_) return false;
  std::memmove(buffer_.data(), buffer_.data() + end_, filled_ - end_);
  filled_ -= end_;
  begin_ = end_ = 0;
  while (end_ == 0) {
    if (filled_ + padding == buffer_.size()) {
      if (filled_ >= max_line_bytes) {
        ++number;
        fail("the line is longer than 1 MiB");
      }
      buffer_.resize(2 * filled_ + padding);
    }
    const std::size_t old = filled_;
    const std::size_t got =
        content_.read(std::span(buffer_).subspan(filled_, buffer_.size() - padding - filled_));
    filled_ += got;
    if (got == 0) ended_ = true;
    if (!std::exchange(begun_, true) &&
        std::string_view(buffer_.data(), filled_).starts_with("\xef\xbb\xbf")) {
      begin_ = 3;
    }
    end_lines_with_lf(old > 0 ? old - 1 : 0);
    if (ended_) {
      if (filled_ == begin_) return false;
      if (buffer_[filled_ - 1] != '\n') buffer_[filled_++] = '\n';
    }
    end_ = std::string_view(buffer_.data(), filled_).rfind('\n') + 1;  // npos + 1 is 0
  }
  std::fill_n(buffer_.data() + filled_, buffer_.size() - filled_, '\n');
  return true;
}

const char* matrix_lines::next() {
  if (begin_ == end_ && !fill()) return nullptr;
  ++number;
  const char* const line = buffer_.data() + begin_;
  const void* const end = std::memchr(line, '\n', end_ - begin_);
  begin_ = static_cast<std::size_t>(static_cast<const char*>(end) - buffer_.data()) + 1;
  return line;
}

bool matrix_lines::next_block(const char*& begin, const char*& end) {
  if (begin_ == end_ && !fill()) return false;
  begin = buffer_.data() + begin_;
  end = buffer_.data() + end_;
  begin_ = end_;
  return true;
}

std::string quoted(const char* p) {
  const char* const begin = p;
  while (!ends_token(p)) ++p;
  return "'" + excerpt({begin, static_cast<std::size_t>(p - begin)}, 24) + "'";
}

}  // namespace gsofa
