#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/prepared.hpp"
#include "harness/run/machine.hpp"
#include "harness/run/runner.hpp"

namespace gsofa {

using json = nlohmann::ordered_json;

/// Version of the record format; raised whenever the meaning or type of a key changes.
inline constexpr int record_schema = 2;

/// What all records of one process share.
struct session_info {
  std::string run_id;  ///< unique for each process
  std::vector<std::string> argv;
  std::string experiment;  ///< name of the spec; empty outside `gsofa experiment`
};
/// The command line: a word that names a path below the working directory is made relative to it.
session_info make_session(int argc, const char* const* argv);

/// UTC now as 2024-01-31T12:34:56Z.
std::string utc_now();

/// JSON on one line; bytes of names and arguments that are not UTF-8 become U+FFFD.
std::string json_line(const json& value);

/// 16 hexadecimal digits.
std::string hex(std::uint64_t value);

/// All options of a run with defaults expanded, each with its own type.
json options_json(const option_set& options);

/// The `matrix` object of a record; `a` is the matrix after matching.
json matrix_json(const pattern_view& a, const provenance& p);

/// The fields that say where a record comes from: schema, run, time, command line, commit, build,
/// host, GPUs, and the machine before and after.
json record_head(const session_info& session, const machine_state& before,
                 const machine_state& after);

/// The record of one case (fields: README.md of this folder). Per-source series of the counting
/// build are written only if `series` is true. The result is written whenever a run returned one.
json make_record(const session_info& session, const prepared_pattern& a,
                 const case_request& request, const case_outcome& outcome, bool series);

/// Identifies a case: two records with equal keys measure the same case at the same commit. Keys
/// differ between the timed and the counting build, between different requested results, and
/// between different numbers of MPI ranks.
std::string record_key(const json& record);

}  // namespace gsofa
