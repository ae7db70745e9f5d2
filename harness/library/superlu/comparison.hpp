#pragma once

// Calls symbfact of SuperLU_DIST or of libgsofa and keeps what it fills, for tests.
// Both libraries export the same names: original() and original_order() are those of SuperLU_DIST.

#include <cstdint>
#include <span>
#include <vector>

#include "harness/library/superlu/superlu_headers.hpp"

extern "C" decltype(symbfact) gsofa_symbfact;
extern "C" decltype(get_perm_c_dist) gsofa_get_perm_c_dist;

namespace gsofa::superlu {

/// symbfact of SuperLU_DIST itself. Throws std::runtime_error if the library cannot be loaded.
decltype(symbfact)& original();
/// get_perm_c_dist of SuperLU_DIST itself, likewise.
decltype(get_perm_c_dist)& original_order();

/// The columns of A and an elimination tree, as pdgssvx hands them to symbfact.
class call_input {
 public:
  /// col_ptr: n + 1; rows: those of each column; parent: n, negative for roots.
  call_input(std::span<const std::int64_t> col_ptr, std::span<const std::int32_t> rows,
             std::span<const std::int32_t> parent);
  call_input(const call_input&) = delete;
  call_input& operator=(const call_input&) = delete;

  SuperMatrix& matrix() { return matrix_; }
  int_t* etree() { return etree_.data(); }
  column_index* identity() { return identity_.data(); }

 private:
  std::vector<int_t> rows_, begin_, end_, etree_;
  std::vector<column_index> identity_;
  std::vector<double> values_;
  NCPformat store_{};
  SuperMatrix matrix_{};
};

/// What symbfact fills, each list in ascending order.
struct output {
  int_t status = 0;  ///< not compared; nothing else is set if it is positive
  std::vector<int_t> xsup, supno, row_begin, segment_begin;
  std::vector<std::vector<int_t>> rows, segments;
  std::int64_t entries = 0;
  bool blocks_lead = true;   ///< the rows of a list begin with the columns of its supernode
  bool others_empty = true;  ///< only the first column of a supernode has a list of rows
  std::size_t unsorted = 0;  ///< lists that symbfact filled in another order; not compared
  float memory = 0;          ///< what QuerySpace_dist() says; not compared

  bool operator==(const output& o) const;
};

/// Calls `routine` and releases what it allocated. relax: most columns of a relaxed supernode.
output call(decltype(symbfact)& routine, call_input& in, int relax);

}  // namespace gsofa::superlu
