#include <functional>
#include <string>
#include <utility>

#include "common/error.hpp"
#include "common/matrix_parsers.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/errors.hpp"

namespace gsofa {

csr_pattern read_pattern(const std::string& file) { return read_pattern(file, {}); }

csr_pattern read_pattern(const std::string& file, const std::function<bool()>& goes_on) {
  try {
    matrix_content content(file, {}, [&] {
      if (goes_on && !goes_on()) throw cancelled_error();
    });
    matrix_file_header header;
    pattern a = parse_matrix(content, header);
    if (a.n_rows != a.n_cols) {
      throw input_error(content.name() + ": the matrix is " + std::to_string(a.n_rows) + " x " +
                        std::to_string(a.n_cols) + ", not square");
    }
    return {a.n_rows, std::move(a.row_ptr), std::move(a.col_idx)};
  } catch (...) {
    library::rethrow_for_caller();
  }
}

}  // namespace gsofa
