#pragma once

#include <optional>
#include <string>

#include "common/matrix_market.hpp"
#include "common/preprocess.hpp"

namespace gsofa {

/// A matrix as read or generated, before any preprocessing.
struct raw_matrix {
  pattern a;
  provenance origin;
  std::optional<matrix_market_header> header;  ///< if it came from a Matrix Market file
};

/// True if `spec` is the path of a file that `gsofa prepare` wrote.
bool is_prepared(const std::string& spec);

/// Finds the matrix that `spec` names: a path (.mtx, .mtx.gz), a name of experiments/datasets.toml
/// (its file, or else its stand-in, which is marked as such), or gen:SPEC.
/// Throws input_error that says what is wrong with it.
raw_matrix read_matrix(const std::string& spec);

/// The same, prepared. A path may also be that of a prepared file, which is used as it is.
prepared_pattern load_matrix(const std::string& spec, const prepare_options& options);

/// `name` with everything that does not belong into a file name replaced by '_'.
std::string file_name_of(const std::string& name);

}  // namespace gsofa
