#include "common/matrix_market.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "common/file.hpp"

namespace gsofa {

namespace {

char* put_number(char* out, offset_t value) { return std::to_chars(out, out + 20, value).ptr; }

}  // namespace

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
