#pragma once

namespace gsofa {

/// main() calls it first, before any file is opened. Closed descriptors among 0 to 2 are
/// occupied, so that no file of the program gets such a number and then the text of a message;
/// reading or writing them still fails. A file that would pass the limit RLIMIT_FSIZE becomes an
/// error of the write, as a full disk is, and no longer a signal that ends the process.
void guard_descriptors();

}  // namespace gsofa
