#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/matrix_file.hpp"
#include "common/preparation_key.hpp"
#include "common/preprocess.hpp"

namespace gsofa {

/// A matrix as read or generated, before any preprocessing.
struct raw_matrix {
  pattern a;
  provenance origin;
  std::optional<matrix_file_header> header;  ///< if it came from a file
  /// Magnitudes of the entries, in the order of a.col_idx, if the caller asked for them.
  std::vector<double> values{};
};

/// Where the matrix that a spec names comes from: a file or a generator.
struct matrix_location {
  std::string name{};            ///< short name of the matrix
  std::string source{};          ///< as provenance::source
  std::filesystem::path file{};  ///< empty if it is generated
  std::string generator{};       ///< gen:SPEC; empty if it is in a file
  std::string sha256{};          ///< that the file must have; empty: any
  std::string kind{};            ///< of a matrix in the catalog; empty: as matrix_kind()
  bool stand_in = false;         ///< generated in place of an original of the paper
};

/// The matrices that words select, each once: what locate_matrix() knows by its name as it is,
/// @bundled for all of the repository, a shell pattern for the datasets that it matches, or several
/// with commas. Throws input_error for a pattern that matches none.
std::vector<std::string> select_matrices(const std::vector<std::string>& words);

/// Finds the matrix that `spec` names, as read_matrix() does, without reading it.
matrix_location locate_matrix(const std::string& spec);

/// The matrix as a message shows it: what the user wrote, or the name marked as a stand-in.
std::string shown_name(const matrix_location& from);
/// The same; `spec` itself if it names no matrix.
std::string shown_name(const std::string& spec);

/// True if `spec` is the path of a file that `gsofa prepare` wrote.
bool is_prepared(const std::string& spec);

/// True if a file's name ends as that of a matrix: NAME.mtx, NAME.rua, NAME.npz, ..., also
/// compressed, or NAME.tar, NAME.tar.gz, NAME.tgz, NAME.zip.
bool is_named_as_matrix_file(std::string_view name);

/// Finds the matrix that `spec` names: the path of a file that read_matrix_file() reads, "-" for
/// standard input, a name in experiments/datasets.toml (its file, or its marked stand-in if the
/// file is absent), GROUP/NAME of a fetched or bundled matrix, or gen:SPEC. Throws input_error with
/// the reason if the matrix cannot be read.
///
/// with_values: also the values. Throws input_error for a file that is not of Matrix Market's
/// coordinate format with values. Generated matrices get the values of generated_magnitudes().
raw_matrix read_matrix(const std::string& spec, bool with_values = false);

raw_matrix read_matrix(const matrix_location& from, bool with_values = false);

/// True if `match`, as prepare_options::match, is a matching that reads values.
bool needs_values(const std::string& match);

/// Magnitudes for the entries of a generated pattern: a quarter are 1, the others 2^-20 to 1,
/// uniformly distributed in the logarithm. The same for a pattern on every machine.
std::vector<double> generated_magnitudes(const pattern_view& a);

/// The key of a matrix of this sha256 (of the file, or of the generator's spec) that is prepared as
/// `how` says; empty as key_of(how).
preparation_key key_of(const matrix_location& from, const std::string& sha256,
                       const prepare_options& how);

/// The same as read_matrix(), prepared, with the key in provenance::made_from. A path may also be
/// that of a prepared file, which is used as it is.
prepared_pattern load_matrix(const std::string& spec, const prepare_options& options);

prepared_pattern load_matrix(const matrix_location& from, const prepare_options& options);

/// `name` with everything that does not belong into a file name replaced by '_'.
std::string file_name_of(const std::string& name);

}  // namespace gsofa
