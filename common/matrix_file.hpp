#pragma once

#include <filesystem>
#include <vector>

#include "common/matrix_parsers.hpp"
#include "common/pattern.hpp"

namespace gsofa {

/// Reads the pattern of a sparse matrix from a file: Matrix Market (coordinate and array),
/// Harwell-Boeing and Rutherford-Boeing (assembled), or .npz of scipy.sparse.save_npz; optionally
/// compressed or in an archive (matrix_content). Symmetric, skew-symmetric and hermitian storage is
/// expanded, from either triangle; every stored position is an entry, whatever its value, and
/// repeated positions are one entry. The matrix may be rectangular or have no rows.
///
/// `header`, if given, is filled. Its SHA-256, which is computed only in this case, while reading,
/// is the hash of the uncompressed file; for a .tar or .zip, of the member; for a .npz, of all
/// members in sequence (`unzip -p FILE | sha256sum`).
///
/// `magnitudes`, if given, receives the magnitude of each entry; repeated positions are summed. Only
/// Matrix Market's coordinate format with values has them; nan and infinity pass.
///
/// Throws input_error, one line that names file, line and reason, on any fault: no matrix,
/// truncated, indices out of range, dimensions beyond 2^31 - 1; budget_error if the matrix needs
/// more than `bound`; unavailable_error if this build lacks the library that decompresses it.
pattern read_matrix_file(const std::filesystem::path& file, matrix_file_header* header = nullptr,
                         const memory_bound& bound = {},
                         std::vector<double>* magnitudes = nullptr);

/// The SHA-256 in the header of read_matrix_file(). Throws input_error as read_matrix_file(),
/// except for faults of the matrix itself.
std::string sha256_of_matrix_file(const std::filesystem::path& file);

}  // namespace gsofa
