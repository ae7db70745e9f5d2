#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/pattern.hpp"

namespace gsofa {

/// Where a pattern came from and how it was permuted; copied into every record.
struct provenance {
  std::string name;            ///< short name of the matrix
  std::string source;          ///< path, dataset name or gen: spec as given
  std::string sha256;          ///< of the uncompressed source file; of the spec for generators
  bool stand_in = false;       ///< generated in place of an original of the paper
  std::string kind{};          ///< "real", "generated", ... (matrix_kind()); prepared files lack it
  offset_t nnz_input = 0;      ///< nonzeros of A as read, before diagonal entries were added
  index_t diagonal_added = 0;  ///< structurally zero diagonal positions that were added
  std::string match;           ///< "none", "kept" (diagonal was zero-free), or the method
  /// What a matching that was named did, in words; empty otherwise. Files of prepared patterns lack
  /// it.
  std::string match_note{};
  std::string order;           ///< as it was named (find_order()), or "file"
  std::string order_library;   ///< library and version that computed the order
  std::int64_t seed = 0;       ///< seed given to the ordering library
  bool postordered = false;    ///< followed by a postorder of the etree of A + A^T
  double prepare_seconds = 0;  ///< matching + ordering + permutation
  /// What the pattern was made from (preparation_key.hpp); empty if that was not noted. Files of
  /// prepared patterns hold it, records do not.
  std::map<std::string, std::string> made_from{};
};

/// The name of the matrix, or "NAME (stand-in)", for tables, captions and messages.
std::string marked_name(const provenance& p);

/// A line that names the generator of a stand-in; empty for other matrices.
std::string stand_in_note(const provenance& p);

/// One JSON object; text that is not UTF-8 is replaced.
std::string to_json(const provenance& p);
/// Reads the output of to_json(); throws input_error naming `origin` and the field on any fault.
provenance from_json(std::string_view text, const std::string& origin);

/// A square pattern with structurally nonzero diagonal, permuted and ready for any variant.
class prepared_pattern {
 public:
  prepared_pattern() = default;
  prepared_pattern(pattern a, std::vector<index_t> row_order, std::vector<index_t> col_order,
                   provenance origin);

  /// The permuted pattern; rows sorted, diagonal present. Valid as long as this object.
  [[nodiscard]] pattern_view view() const { return view_; }
  /// Old row (column) index by new position.
  [[nodiscard]] std::span<const index_t> row_order() const { return row_order_; }
  [[nodiscard]] std::span<const index_t> col_order() const { return col_order_; }
  [[nodiscard]] const provenance& origin() const { return origin_; }
  provenance& origin() { return origin_; }
  /// pattern_digest of the permuted pattern.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }

  /// Writes the binary form: a fixed header, the provenance as JSON, then 64-byte aligned arrays.
  /// The file appears completely or not at all.
  void save(const std::filesystem::path& file) const;
  /// Reads a file that save() wrote; the arrays are used in place. Sizes, bounds and structure are
  /// checked; throws input_error with the reason. `verify_digest` also recomputes the digest.
  static prepared_pattern load(const std::filesystem::path& file, bool verify_digest = true);
  /// True if the file begins with the magic bytes of the binary form.
  static bool is_prepared_file(const std::filesystem::path& file);

 private:
  std::shared_ptr<const void> storage_;  // the owned pattern and orders, or the content of the file
  pattern_view view_;
  std::span<const index_t> row_order_, col_order_;
  std::uint64_t digest_ = 0;
  provenance origin_;
};

}  // namespace gsofa
