#include "common/matrix_parsers.hpp"

#include <new>

#include "common/error.hpp"
#include "common/process.hpp"

namespace gsofa {

pattern parse_matrix(matrix_content& content, matrix_file_header& header,
                     std::int64_t memory_limit) {
  const std::int64_t limit = memory_limit > 0 ? memory_limit : available_memory();
  try {
    switch (content.format()) {
      case matrix_format::matrix_market:
        return parse_matrix_market(content, header, limit);
      case matrix_format::harwell_boeing:
        return parse_harwell_boeing(content, header, limit);
      case matrix_format::scipy_npz:
        return parse_scipy_npz(content, header, limit);
    }
  } catch (const std::bad_alloc&) {
    throw input_error(content.name() + ": not enough memory for the matrix");
  }
  return {};
}

}  // namespace gsofa
