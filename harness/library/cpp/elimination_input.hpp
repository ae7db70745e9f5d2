#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/ordering.hpp"
#include "common/pattern.hpp"
#include "common/supernodal.hpp"
#include "common/variant.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/input.hpp"
#include "harness/library/cpp/progress.hpp"
#include "harness/library/cpp/update.hpp"

namespace gsofa::library {

/// What an analysis works in.
struct workspace {
  bool keeps = false;  ///< everything for a next pattern, as an analyzer does
  input_arrays arrays;
  pattern whole;  ///< of a given triangle
  pattern matched;
  permutation_workspace permuting;
  pattern permuted, relaxed;
  std::vector<index_t> order;
  const variant_info* made = nullptr;
  std::unique_ptr<variant> kept;
  result found;
  supernodal_pattern lists;  ///< those of an earlier analysis, for their memory
  updating updates;
};

/// The pattern to be eliminated.
struct elimination_input {
  pattern_view a;                   ///< permuted
  std::vector<index_t> row_of;      ///< by the matching; empty: the same
  std::vector<column_range> fixed;  ///< supernodes of columns of a
  /// Columns that each vertex of a stands for, where relaxed supernodes are shrunk to a vertex
  /// each; empty: its own.
  std::vector<column_range> of;
};

/// Says why the analysis falls back from the device.
void fall_back(const std::string& reason, supervision& s, analysis& out);

/// Matches, orders and permutes e.a, the pattern as it was read, on the host, except for an
/// automatic order that the device computes. Sets the orders and nnz_a of `out`. Throws
/// invalid_input for a structurally singular pattern under analysis_options::match.
void permute_for_elimination(const checked_input& in, const analysis_options& options,
                             bool on_device, elimination_input& e, workspace& w, supervision& s,
                             analysis& out);

/// The order of the vertices of `a` by options.order, which is neither natural nor given.
/// on_device: a device may compute it. wanted: its seed, weights and tree_levels count.
ordering order_for(const pattern_view& a, const analysis_options& options, bool on_device,
                   supervision& s, order_settings wanted = {.options = option_set()});

/// Sets the orders of all rows and columns of `out` from w.order and e.row_of.
void number_all(const elimination_input& e, const workspace& w, analysis& out);

/// Pads the permuted pattern for its relaxed supernodes or, where nobody asks for explicit rows,
/// shrinks each of them to a vertex, which takes less time and room.
void relax(const analysis_options& options, elimination_input& e, workspace& w);

}  // namespace gsofa::library
