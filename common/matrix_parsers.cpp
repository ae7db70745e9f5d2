#include "common/matrix_parsers.hpp"

#include <new>

#include "common/error.hpp"
#include "common/process.hpp"

namespace gsofa {

pattern parse_matrix(matrix_content& content, matrix_file_header& header, memory_bound bound,
                     std::vector<double>* magnitudes) {
  if (bound.bytes == 0) bound.bytes = available_memory();
  if (magnitudes != nullptr && content.format() != matrix_format::matrix_market) {
    throw input_error(content.name() + ": values are read from Matrix Market files only");
  }
  try {
    switch (content.format()) {
      case matrix_format::matrix_market:
        return parse_matrix_market(content, header, bound, magnitudes);
      case matrix_format::harwell_boeing:
        return parse_harwell_boeing(content, header, bound);
      case matrix_format::scipy_npz:
        return parse_scipy_npz(content, header, bound);
    }
  } catch (const std::bad_alloc&) {
    throw budget_error(content.name() + ": out of memory");
  }
  return {};
}

}  // namespace gsofa
