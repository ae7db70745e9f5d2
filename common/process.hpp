#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace gsofa {

/// main() calls this function before any file is opened. It occupies closed descriptors among 0 to
/// 2, so that no file of the program receives such a number, and with it the text of messages;
/// reading or writing these descriptors still fails. A write beyond the limit RLIMIT_FSIZE becomes
/// an error of the write, as on a full disk, instead of a signal that ends the process.
void guard_descriptors();

/// Bytes of main memory that this process can expect to get: the least of the available memory
/// reported by the system, and of what the limits of its control groups (version 1 or 2) and
/// RLIMIT_AS leave. `root` holds proc and sys.
std::int64_t available_memory(const std::filesystem::path& root = "/");

/// Processors whose time the quotas of this process's control groups (version 2) grant, rounded up;
/// the greatest int where they set none.
int processors_of_groups(const std::filesystem::path& root = "/");

/// The processors that the calling thread may use.
int usable_processors();

/// $GSOFA_THREADS; 0 if it is not set. Throws input_error for what is no number of threads.
int threads_of_setting();
/// $GSOFA_FACTORIZATIONS: how many the order of a drop-in is for; 1 if it is not set. Throws
/// input_error.
int factorizations_of_setting();

/// Host threads where neither the caller nor $GSOFA_THREADS says how many: the processors that the
/// calling thread may use, but not more than this process's share of the node and of its quota if
/// the launcher started several processes here, and not more than $OMP_NUM_THREADS.
int threads_of_process();

/// What the program holds at least for each row of a matrix: row pointers of the matrix, of its
/// transpose and of their copies.
constexpr std::int64_t program_row_bytes = 40;

/// Throws budget_error, which begins with `name`, if `bytes` bytes for a matrix of that size exceed
/// `available`.
void require_memory(const std::string& name, std::int64_t n_rows, std::int64_t n_cols,
                    std::int64_t bytes, std::int64_t available = available_memory());

}  // namespace gsofa
