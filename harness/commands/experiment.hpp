#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/preprocess.hpp"
#include "harness/run/case_plan.hpp"

namespace gsofa {

/// One [[case]] of an experiment: every matrix with every order, with all variants.
struct experiment_case {
  std::string where;                ///< "file:line" of the [[case]]
  std::vector<std::string> groups;  ///< "paper", "smoke"
  /// As --matrix; paths are relative to the repository; "@bundled" stands for all bundled ones.
  std::vector<std::string> matrices;
  std::vector<std::string> orders{"metis"};
  match_mode match = match_mode::automatic;
  std::int64_t seed = -1;
  case_options cases;
  verify_mode verify = verify_mode::automatic;
  bool counting = false;  ///< for the counting build only; other cases for the timed build only
  int ranks = 1;          ///< for jobs of exactly this number of MPI ranks
  int gpus = 0;           ///< skipped where a process sees fewer GPUs
  bool series = false;    ///< write per-source counters; only with counting
};

/// A spec.toml: `name`, `title`, `claim`, and [[case]] tables with the keys groups, matrices,
/// orders, match, seed, variants, options (["key=value"]), want, repeat, warmup, timeout, threads,
/// chunk_size, verify, counting, series, ranks and gpus. Variants that the machine lacks are
/// skipped.
struct experiment_spec {
  std::string name;
  std::vector<experiment_case> cases;
};

/// Throws input_error naming file and line for an unknown key, a wrong type or a missing key.
experiment_spec read_experiment(const std::filesystem::path& file);

}  // namespace gsofa
