#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/types.hpp"

namespace gsofa {

/// A matrix known by name: an entry of experiments/datasets.toml.
struct dataset {
  std::string name;
  std::string abbr;      ///< short name in the paper's figures; may be empty
  std::string source;    ///< group/name in the SuiteSparse Matrix Collection, or who made the file
  std::string file;      ///< relative to experiments/; empty if it is not in the repository
  std::string sha256;    ///< of the uncompressed file, by the catalog or its lock; may be empty
  std::string stand_in;  ///< gen: spec that replaces an original that is absent; may be empty
  std::string kind;      ///< "real", "finite elements" or "power grid"
  bool bundled = false;  ///< in the repository
};

/// The tables [[bundled]] and [[matrix]] of a datasets.toml, in the order of the file. Digests that
/// it lacks come from the datasets.lock.toml in the same folder, if there is one.
class dataset_catalog {
 public:
  /// Throws input_error naming file and line on a fault, unavailable_error in a build without TOML.
  static dataset_catalog load(const std::filesystem::path& file);
  /// The catalog of the repository, read once.
  static const dataset_catalog& repository();

  [[nodiscard]] const std::vector<dataset>& entries() const { return entries_; }
  [[nodiscard]] std::vector<std::string> bundled() const;
  [[nodiscard]] std::vector<std::string> bundled(const std::string& kind) const;
  /// By name, abbreviation or group/name; nullptr if there is none.
  [[nodiscard]] const dataset* find(const std::string& name) const;
  /// The file of an entry (in the repository, fetched, or in .cache/matrices), if it is there.
  [[nodiscard]] std::optional<std::filesystem::path> file_of(const dataset& entry) const;
  /// The digest of a first fetch, by group/name; empty if the lock file has none.
  [[nodiscard]] std::string locked(const std::string& source) const;

 private:
  std::filesystem::path folder_;
  std::vector<dataset> entries_;
  std::map<std::string, std::string> locked_;
};

/// The file of a matrix of the SuiteSparse Matrix Collection, by group/name, that
/// experiments/fetch.py has put into GSOFA_MATRICES (default: ~/.cache/gsofa/matrices).
std::optional<std::filesystem::path> fetched_file(const std::string& source);

}  // namespace gsofa
