#pragma once

#include <cstdint>

namespace gsofa {

/// main() calls it first, before any file is opened. Closed descriptors among 0 to 2 are
/// occupied, so that no file of the program gets such a number and then the text of a message;
/// reading or writing them still fails. A file that would pass the limit RLIMIT_FSIZE becomes an
/// error of the write, as a full disk is, and no longer a signal that ends the process.
void guard_descriptors();

/// Bytes of main memory that this process can hope to get: what the system says is available,
/// or the limit of its control group if that is less.
std::int64_t available_memory();

}  // namespace gsofa
