#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "common/preprocess.hpp"
#include "harness/run/case_plan.hpp"

namespace gsofa {

/// A word of a spec that stands for all matrices of a kind: the files of a folder that the caller
/// names, or the bundled matrices of this kind.
struct kind_word {
  const char* word;
  const char* kind;  ///< as dataset::kind
};
inline constexpr kind_word kind_words[] = {
    {"@real", "real"}, {"@fem", "finite elements"}, {"@kkt", "power grid"}};

/// Folder of each word of kind_words; a word without a folder stands for bundled matrices.
using kind_folders = std::map<std::string, std::filesystem::path>;

/// One [[case]] of an experiment: every matrix with every order, with all variants.
struct experiment_case {
  std::string where;                ///< "file:line" of the [[case]]
  std::vector<std::string> groups;  ///< "paper", "smoke"
  /// As --matrix. Paths are relative to the repository. "@bundled" stands for all bundled matrices;
  /// kind_words are replaced too.
  std::vector<std::string> matrices;
  /// Kind of each matrix that kind_words stand for; `matrices` has these matrices too.
  std::map<std::string, std::string> of_kinds;
  index_t least_order = 0;  ///< smaller matrices of `of_kinds` are left out
  std::vector<std::string> orders{"metis"};
  std::string match = match_auto;
  std::int64_t seed = -1;
  case_options cases;
  std::vector<index_t> chunk_sizes;  ///< a case for each
  verify_mode verify = verify_mode::automatic;
  bool counting = false;  ///< run by the counting build only; otherwise by the timed build only
  int ranks = 1;          ///< for jobs of exactly this number of MPI ranks
  int gpus = 0;           ///< skipped if a process sees fewer GPUs
  bool series = false;    ///< write per-source counters; only with counting
};

/// A spec.toml: `name`, `title`, `claim`, and [[case]] tables with the keys groups, matrices,
/// least_order, orders, match, seed, variants, options (["key=value"]), want, repeat, warmup,
/// timeout, interleave, threads, chunk_size, chunk_sizes, verify, counting, series, ranks and gpus.
/// Variants that the machine lacks are skipped. [defaults] has keys for the cases that lack them.
/// A [[case]] with an array `cases` of tables stands for a case for each table, which has the keys
/// of the [[case]] that it lacks.
/// [lists] names arrays of strings: "@NAME" in an array of a case stands for the strings of NAME.
struct experiment_spec {
  std::string name;
  std::vector<experiment_case> cases;
};

/// Throws input_error naming file and line for an unknown key, a wrong type or a missing key.
/// A word of kind_words with a folder stands for the folder's Matrix Market files NAME.mtx and
/// NAME.mtx.gz and its prepared matrices NAME.bin, the smallest file first. Throws input_error if
/// the folder cannot be read.
experiment_spec read_experiment(const std::filesystem::path& file,
                                const kind_folders& folders = {});

}  // namespace gsofa
