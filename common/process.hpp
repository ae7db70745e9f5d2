#pragma once

#include <cstdint>

namespace gsofa {

/// main() calls this function before any file is opened. It occupies closed descriptors among 0 to
/// 2, so that no file of the program receives such a number, and with it the text of messages;
/// reading or writing these descriptors still fails. A write beyond the limit RLIMIT_FSIZE becomes
/// an error of the write, as on a full disk, instead of a signal that ends the process.
void guard_descriptors();

/// Bytes of main memory that this process can expect to get: the available memory reported by the
/// system, or the limit of the control group if it is less.
std::int64_t available_memory();

}  // namespace gsofa
