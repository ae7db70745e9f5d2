#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/pattern.hpp"
#include "common/variant.hpp"
#include "variants/maxid/distributed/engine.hpp"

namespace gsofa::maxid {

/// The run that a checkpoint belongs to; all members must agree for it to be used again.
struct checkpoint_key {
  std::uint64_t pattern_digest = 0;
  index_t n = 0;
  index_t chunk_size = 0;
  bool digests = false, supernodes = false;
  bool operator==(const checkpoint_key&) const = default;
};

/// One finished chunk, rows in order.
struct chunk_record {
  index_t chunk = 0;
  std::vector<index_t> l_counts, u_counts;
  std::vector<std::uint64_t> digests;  ///< empty unless in the key
  std::vector<std::uint8_t> starts;    ///< empty unless in the key
};

/// Append-only file of finished chunks, one per rank: a header with the key, then one record per
/// chunk: its number, its number of rows, the arrays, and a checksum of these bytes. A process that
/// dies while it writes leaves a record that is cut off or whose checksum fails; readers ignore
/// that record and all bytes behind it.
class checkpoint_file {
 public:
  /// Opens `file` for appending, after its last whole record; begins it with `key` if it is new.
  /// Throws input_error if it cannot be written or belongs to something else.
  checkpoint_file(std::filesystem::path file, const checkpoint_key& key);
  ~checkpoint_file();
  checkpoint_file(const checkpoint_file&) = delete;
  checkpoint_file& operator=(const checkpoint_file&) = delete;

  /// Appends a record with one write(); throws error if the device does not take it whole.
  void append(const chunk_record& record);

  /// All whole records of `file`; `whole_bytes` is where the last one ends. Throws input_error if
  /// it cannot be read or belongs to something else.
  static std::vector<chunk_record> read(const std::filesystem::path& file,
                                        const checkpoint_key& key,
                                        std::uint64_t* whole_bytes = nullptr);

  /// Name of rank `rank`'s file in a folder.
  static std::filesystem::path name(const std::filesystem::path& folder, int rank);
  /// The files of all ranks of earlier runs in a folder, in order of name; empty if it is absent.
  /// Only regular files that begin with the magic bytes count, and files with the name of a rank's
  /// that are cut off within these bytes.
  static std::vector<std::filesystem::path> all(const std::filesystem::path& folder);
  /// Removes all() of a folder. Throws input_error, and removes nothing, if something else has the
  /// name of the file of one of `ranks` ranks.
  static void remove_all(const std::filesystem::path& folder, int ranks);

 private:
  std::filesystem::path file_;
  int fd_ = -1;
};

}  // namespace gsofa::maxid
