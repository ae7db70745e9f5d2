#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "common/pattern.hpp"

namespace gsofa {

/// What the banner and the size line of a Matrix Market file say.
struct matrix_market_header {
  std::string field;     ///< real, complex, integer or pattern
  std::string symmetry;  ///< general, symmetric, skew-symmetric or hermitian
  offset_t stored_entries = 0;
  std::string sha256;  ///< of the uncompressed file
};

/// Reads the pattern of a Matrix Market coordinate file, plain or gzip'd (told by its magic
/// bytes). Symmetric, skew-symmetric and hermitian storage is expanded, from either triangle;
/// explicit zeros are kept as structural entries; values are parsed only as far as needed to check
/// them (NaN and infinity are refused). Blank lines and comment lines may stand anywhere after the
/// banner. `header`, if given, is filled; the SHA-256 is computed only then, while reading.
/// Throws input_error naming file, line and reason on any fault: not Matrix Market, array format,
/// wrong counts, truncated, indices 0-based, negative or out of range, duplicates, dimensions
/// beyond 2^31 - 1, more than `memory_limit` bytes needed (0: available_memory()).
/// Source: Boisvert, Pozo & Remington, The Matrix Market Exchange Formats, NISTIR 5935 (1996).
pattern read_matrix_market(const std::filesystem::path& file,
                           matrix_market_header* header = nullptr, std::int64_t memory_limit = 0);

/// Writes a as `matrix coordinate pattern general`, 1-based, rows ascending; each line of `comment`
/// becomes a comment line. The file appears whole or not at all (it is written under another
/// name in the same folder, then renamed), gzip'd if its name ends in .gz. Throws input_error
/// naming the file if it cannot be written.
void write_matrix_market(const std::filesystem::path& file, const pattern_view& a,
                         const std::string& comment);

}  // namespace gsofa
