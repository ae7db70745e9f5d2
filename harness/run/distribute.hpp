#pragma once

#include <functional>
#include <string>

#include "common/mpi_context.hpp"
#include "common/prepared.hpp"
#include "common/variant.hpp"

namespace gsofa {

/// Collective: calls `load` on rank 0 and returns its result on all ranks. All ranks throw its
/// errors.
prepared_pattern load_on_root(mpi_context& j, const std::function<prepared_pattern()>& load);

/// What is wrong with the rows of the pattern that one rank holds (result::pattern_rows), given the
/// row counts and digests of the whole; empty if nothing is. Checked: the form of each listed row
/// (sorted, L below and U from the diagonal), its counts, its digest; that no other row has
/// entries.
std::string rank_pattern_fault(const result& mine, const std::vector<index_t>& l_row_counts,
                               const std::vector<index_t>& u_row_counts,
                               const std::vector<std::uint64_t>& row_digests);

/// Collective: checks rank_pattern_fault on every rank against the counts and digests of rank 0's
/// result, and that every row is on exactly one rank. Returns the first fault on rank 0, ""
/// elsewhere.
std::string distributed_pattern_fault(mpi_context& j, const result& mine);

/// "4,4": ranks on each node.
std::string rank_map(const mpi_context& j);

/// Runs `action` on rank 0 of the job, with what it returns or throws on all ranks.
exit_code root_only(const std::function<exit_code()>& action);

/// Reports an error of this rank alone, as one line, and ends all ranks with status 4.
[[noreturn]] void abort_job(const char* message) noexcept;

}  // namespace gsofa
