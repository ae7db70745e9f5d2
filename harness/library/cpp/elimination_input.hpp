#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/pattern.hpp"
#include "common/supernodal.hpp"
#include "common/variant.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/input.hpp"
#include "harness/library/cpp/supervision.hpp"

namespace gsofa::library {

/// What an analysis works in.
struct workspace {
  bool keeps = false;  ///< everything for a next pattern, as an analyzer does
  input_arrays arrays;
  pattern matched;
  permutation_workspace permuting;
  pattern permuted, core, relaxed;
  std::vector<index_t> order, place;
  const variant_info* made = nullptr;
  std::unique_ptr<variant> kept;
  result found;
  supernodal_pattern lists;  ///< those of an earlier analysis, for their memory
};

/// The pattern to be eliminated. Vertices without an entry off the diagonal take part in matching
/// and order as all others do. L and U have no entry off the diagonal in their rows and columns, so
/// that the elimination leaves them out where no result depends on the numbers of all vertices.
struct elimination_input {
  pattern_view a;                   ///< permuted; without isolated vertices if leaves_out
  bool leaves_out = false;          ///< any vertex
  std::vector<index_t> row_of;      ///< by the matching; empty: the same
  std::vector<column_range> fixed;  ///< supernodes of columns of a
  /// Columns that each vertex of a stands for, where relaxed supernodes are shrunk to a vertex
  /// each; empty: its own.
  std::vector<column_range> of;
};

/// Says why the analysis falls back from the device.
void fall_back(const std::string& reason, supervision& s, analysis& out);

/// Matches, orders and permutes e.a, the pattern as it was read, on the host, but for an order of
/// the device where that pays and nobody has chosen another, and leaves isolated vertices out;
/// fills in the orders and nnz_a of `out`, and w.place with the positions of the vertices of e.a,
/// ascending, if others are left out. Throws invalid_input for a structurally singular pattern
/// under analysis_options::match.
void permute_for_elimination(const checked_input& in, const analysis_options& options,
                             bool on_device, elimination_input& e, workspace& w, supervision& s,
                             analysis& out);

/// Sets the orders of all rows and columns of `out` from w.order and e.row_of.
void number_all(const elimination_input& e, const workspace& w, analysis& out);

/// Pads the permuted pattern for its relaxed supernodes or, where nobody asks for explicit rows,
/// shrinks each of them to a vertex, which takes less time and room.
void relax(const analysis_options& options, elimination_input& e, workspace& w);

}  // namespace gsofa::library
