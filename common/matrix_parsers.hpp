#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/matrix_content.hpp"
#include "common/pattern.hpp"

namespace gsofa {

/// What reading a matrix may take.
struct memory_bound {
  std::int64_t bytes = 0;     ///< in all; 0: available_memory()
  std::int64_t per_row = 16;  ///< that the caller will hold: row pointers and a copy of them
};

/// The properties of a matrix that its file states.
struct matrix_file_header {
  matrix_format format = matrix_format::matrix_market;
  std::string field;     ///< real, complex, integer or pattern
  std::string symmetry;  ///< general, symmetric, skew-symmetric or hermitian
  offset_t stored_entries = 0;
  std::string sha256;  ///< as read_matrix_file() of matrix_file.hpp says; else empty
};

/// The pattern in `content`, in any of the formats; fills `header` except its SHA-256. Throws
/// as read_matrix_file() does.
pattern parse_matrix(matrix_content& content, matrix_file_header& header, memory_bound bound = {},
                     std::vector<double>* magnitudes = nullptr);

/// Matrix Market, coordinate or array. Blank lines and lines that begin with % may occur anywhere
/// after the banner. The values of an entry must be present; they are not checked otherwise, unless
/// the caller asks for magnitudes: of each entry of the pattern, repeated positions summed.
/// Source: Boisvert, Pozo & Remington, The Matrix Market Exchange Formats, NISTIR 5935 (1996).
pattern parse_matrix_market(matrix_content& content, matrix_file_header& header,
                            const memory_bound& bound,
                            std::vector<double>* magnitudes = nullptr);

/// Harwell-Boeing and Rutherford-Boeing, assembled. Pointers and indices are read by the columns of
/// the header's Fortran formats; values and right-hand sides are skipped.
/// Sources: Duff, Grimes & Lewis, Users' Guide for the Harwell-Boeing Sparse Matrix Collection
/// (1992); The Rutherford-Boeing Sparse Matrix Collection, RAL-TR-97-031 (1997).
pattern parse_harwell_boeing(matrix_content& content, matrix_file_header& header,
                             const memory_bound& bound);

/// What the header of a NumPy array (.npy) says. Source: NumPy Enhancement Proposal 1.
struct npy_header {
  char kind = '\0';  ///< i, u, S, U, f, ...
  bool big_endian = false, fortran_order = false;
  std::size_t item_bytes = 0;
  std::vector<offset_t> shape;

  [[nodiscard]] bool is_integer() const {
    return (kind == 'i' || kind == 'u') && item_bytes <= 8 && std::has_single_bit(item_bytes);
  }
};

/// Reads a header, magic bytes included, by `read`, which fills its argument or throws. Throws
/// input_error that begins with `name`.
npy_header read_npy_header(const std::function<void(std::span<char>)>& read,
                           const std::string& name);

/// The item of an integer array at `bytes`. Throws input_error if it does not fit in 64 bits.
offset_t npy_integer(const npy_header& header, const char* bytes, const std::string& name);

/// .npz of scipy.sparse.save_npz: formats csr, csc, coo, bsr (every position of a block is an
/// entry) and dia (every position of a diagonal within the matrix is an entry). Source: SciPy's
/// scipy.sparse.load_npz; NumPy Enhancement Proposal 1 for arrays.
pattern parse_scipy_npz(matrix_content& content, matrix_file_header& header,
                        const memory_bound& bound);

}  // namespace gsofa
