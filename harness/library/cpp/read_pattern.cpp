#include <new>
#include <string>
#include <utility>

#include "common/error.hpp"
#include "common/matrix_parsers.hpp"
#include "gsofa/gsofa.hpp"

namespace gsofa {

csr_pattern read_pattern(const std::string& file) {
  try {
    matrix_content content(file);
    matrix_file_header header;
    pattern a = parse_matrix(content, header);
    if (a.n_rows != a.n_cols) {
      throw input_error(content.name() + ": the matrix is " + std::to_string(a.n_rows) + " x " +
                        std::to_string(a.n_cols) + ", not square");
    }
    return {a.n_rows, std::move(a.row_ptr), std::move(a.col_idx)};
  } catch (const unavailable_error& e) {
    throw analysis_error(failure::unavailable, e.what());
  } catch (const budget_error& e) {
    throw analysis_error(failure::out_of_memory, e.what());
  } catch (const error& e) {
    throw invalid_input(e.what());
  } catch (const std::bad_alloc&) {
    throw analysis_error(failure::out_of_memory, file + ": out of memory");
  }
}

}  // namespace gsofa
