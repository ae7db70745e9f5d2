#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/pattern.hpp"
#include "common/registry.hpp"
#include "common/variant.hpp"

namespace gsofa {

/// Costs of the entries of a matrix whose sum a maximum product minimizes (Duff & Koster 2001):
/// c(i,j) = max_k log2|a_kj| - log2|a_ij| >= 0, rounded to integers in units of 2^-fraction_bits.
/// A cost is below 2^(12 + fraction_bits), so that n costs sum up to less than 2^60. Equal
/// magnitudes have equal costs, on every machine.
struct matching_costs {
  std::vector<std::int64_t> cost;        ///< nnz, by entry; no_candidate where the value is zero
  std::vector<std::int64_t> column_log;  ///< n_cols: log2 of the largest magnitude; 0 without one
  int fraction_bits = 0;
};
inline constexpr std::int64_t no_candidate = std::numeric_limits<std::int64_t>::max();

/// min(40, 48 - number of bits of n).
int matching_fraction_bits(index_t n);

/// log2(value) in units of 2^-bits, rounded, by integer arithmetic; `value` is positive and finite,
/// denormal numbers included; bits <= 40. The error is below one unit.
std::int64_t fixed_log2(double value, int bits);

/// The costs of `values` (nnz, in the order of a.col_idx). Throws input_error for nan and infinity,
/// naming the row and the column from 1.
matching_costs costs_of(const pattern_view& a, std::span<const double> values, int threads = 1);

/// The input of a matching: a square pattern, its transpose and, where values are given, the costs.
struct matching_input {
  pattern_view a, t;
  const matching_costs* costs = nullptr;  ///< null: the pattern is all that is known
};

/// Everything that determines a matching, in addition to the input.
struct matching_settings {
  option_set options{};
  int threads = 1;  ///< host threads; any number gives the same matching
  /// The factorization pivots by 2x2 blocks or tolerates zeros on the diagonal: a symmetric pattern
  /// keeps its rows.
  bool keeps_symmetric = false;
  /// As order_settings::stop. Methods on a device and searches for symmetric entries look.
  const std::atomic<bool>* stop = nullptr;
};

/// Rows matched to the columns of a square matrix. Moving row row_of_col[j] to position j puts the
/// matched entries on the diagonal.
struct row_matching {
  /// What a method computes ---------------------------------------------------------------------
  std::vector<index_t> row_of_col{};  ///< n; -1: the column is not matched
  /// A method that minimizes costs returns a proof: row_dual[i] + col_dual[j] <= c(i,j), and on
  /// matched entries at most most_slack less, in the units of the costs. Both are empty for other
  /// methods and for structurally singular matrices.
  std::vector<std::int64_t> row_dual{}, col_dual{};
  std::int64_t most_slack = 0;               ///< 0: the sum of the costs is minimal
  std::map<std::string, double> phases_s{};  ///< seconds by step, if the method reports them
  std::string note{};                        ///< what was done besides or instead; empty: nothing
  /// What compute_matching() adds ---------------------------------------------------------------
  std::string method{};         ///< as it was requested
  std::string how{};            ///< what was done, in words
  index_t structural_rank = 0;  ///< number of matched columns, unless `kept`
  bool kept = false;            ///< rows in place (matching_settings::keeps_symmetric)
  std::vector<index_t> unmatched_rows{}, unmatched_cols{};
  offset_t symmetric_entries = 0;  ///< off-diagonal entries of the permuted matrix with a mirror
  bool symmetric_pattern = false;  ///< of the matrix as given
  index_t zero_diagonal = 0;       ///< absent diagonal entries of the matrix as given
  /// |a_ij| row_scale[i] col_scale[j] <= 1, with equality on matched entries, up to the rounding of
  /// costs and of scales beyond 2^-1022 .. 2^1023, which are set to these bounds. From the duals;
  /// empty without duals.
  std::vector<double> row_scale{}, col_scale{};
  /// The smallest magnitude of a matched entry over the largest of its column; 1 without values.
  /// Duals make every matched magnitude 1 after scaling.
  double least_matched = 1;
};

/// Off-diagonal entries of the permuted pattern whose mirror is an entry, too. t: the transpose of
/// `a`; -1 in either array: not matched. O(nnz).
offset_t count_symmetric(const pattern_view& a, const pattern_view& t,
                         std::span<const index_t> row_of_col, std::span<const index_t> col_of_row);

/// What the registry knows about a matching method.
struct matching_info {
  std::string name;
  std::string device = "cpu";  ///< "cpu" or "gpu"
  std::string summary;         ///< one line
  std::string citation;        ///< reference
  std::string library{};       ///< name and version of the library that computes it
  bool needs_values = false;   ///< input.costs is not null
  std::vector<option_spec> options{};
  std::function<std::optional<std::string>()> unavailable = [] {
    return std::optional<std::string>{};
  };
  /// Computes a matching of maximum cardinality of a square pattern (of the entries with a cost, if
  /// the method needs values).
  std::function<row_matching(const matching_input& input, const matching_settings& settings)>
      compute;
};

/// All registered methods in order of name.
const std::vector<matching_info>& all_matchings();

/// A method in the user's notation, NAME or NAME:OPTION=VALUE,OPTION=VALUE. Throws input_error for
/// an unknown name (the message suggests the nearest) and for options that the method lacks.
struct matching_request {
  const matching_info* info = nullptr;
  option_set options;
};
matching_request find_matching(const std::string& spec);

/// The matching of a square pattern by the method that `spec` names, and the facts about it.
/// values: nnz magnitudes or signed values in the order of a.col_idx, or none. O(nnz) in addition
/// to the method. Throws input_error as find_matching() and costs_of(), and if a method that needs
/// values gets none; unavailable_error if this build or machine lacks the method.
row_matching compute_matching(const pattern_view& a, std::span<const double> values,
                              const std::string& spec, matching_settings settings = {});

}  // namespace gsofa

/// Registers the method described by a matching_info expression; the last line of its file.
#define GSOFA_REGISTER_MATCHING(...)        \
  GSOFA_REGISTER(::gsofa::matching_info, 1, \
                 [](std::size_t) -> ::gsofa::matching_info { return __VA_ARGS__; })
