#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/pattern.hpp"
#include "gsofa/gsofa.hpp"

namespace gsofa::library {

/// Arrays that hold what cannot be read in place from the caller's.
struct input_arrays {
  std::vector<offset_t> row_ptr;
  std::vector<index_t> col_idx;
};

/// A square pattern of the caller, checked.
struct checked_input {
  pattern_view a;       ///< rows strictly ascending; the caller's arrays where they are
  index_t missing = 0;  ///< zeros on the diagonal
};

/// A pattern of the caller in any form that analyze() takes; its arrays stay the caller's.
struct given_pattern {
  enum class form { rows, columns, device_rows };
  form of = form::rows;
  bool long_pointers = true;  ///< of 64 bits
  bool long_indices = false;
  std::int64_t n = 0;
  const void* pointers = nullptr;
  std::size_t pointer_count = 0;  ///< on the host
  const void* indices = nullptr;
  std::int64_t index_count = 0;
  void* stream = nullptr;  ///< of device_rows
  int first_index = 0;     ///< as analysis_options

  template <class Offset, class Index>
  explicit given_pattern(const basic_csr_view<Offset, Index>& a)
      : given_pattern(form::rows, a.n, a.row_ptr, a.col_idx) {}
  template <class Offset, class Index>
  explicit given_pattern(const basic_csc_view<Offset, Index>& a)
      : given_pattern(form::columns, a.n, a.col_ptr, a.row_idx) {}
  template <class Offset, class Index>
  explicit given_pattern(const basic_device_csr_view<Offset, Index>& a)
      : of(form::device_rows),
        long_pointers(sizeof(Offset) == 8),
        long_indices(sizeof(Index) == 8),
        n(a.n),
        pointers(a.row_ptr),
        indices(a.col_idx),
        index_count(a.nnz),
        stream(a.stream) {}

 private:
  template <class Offset, class Index>
  given_pattern(form f, Index order, std::span<const Offset> ptr, std::span<const Index> idx)
      : of(f),
        long_pointers(sizeof(Offset) == 8),
        long_indices(sizeof(Index) == 8),
        n(order),
        pointers(ptr.data()),
        pointer_count(ptr.size()),
        indices(idx.data()),
        index_count(static_cast<std::int64_t>(idx.size())) {}
};

/// Checks a square pattern on the host; columns become rows of the result. Arrays of the types of
/// pattern_view are read in place unless a row is unsorted or has duplicates; other arrays are
/// copied to `arrays`, which must outlive the result. O(n + nnz) on `threads` threads, and sorting.
/// Throws input_error for the first fault, overflow_error for an order beyond 2^31 - 1.
checked_input read(const given_pattern& a, input_arrays& arrays, int threads = 1);

/// The rows of a pattern on the host, by whatever it is given. Throws as read() does.
struct input_rows {
  input_arrays arrays;
  pattern transposed;
  checked_input in;

  explicit input_rows(const given_pattern& a);
  input_rows(const input_rows&) = delete;
  input_rows& operator=(const input_rows&) = delete;
};

/// The symmetric matrix whose triangle `in` is by options.symmetric, stored in `whole`, or `in`.
/// Throws invalid_input for an entry of the other triangle.
checked_input whole_matrix(const checked_input& in, const analysis_options& options,
                           pattern& whole);

/// analysis::warning of a pattern that is given as all of a matrix.
std::string triangle_warning(const pattern_view& a);

}  // namespace gsofa::library
