#pragma once

namespace gsofa::library {

/// Keeps the text of the last failure of the calling thread, cut to 511 characters. Never throws.
void set_last_error(const char* message) noexcept;

/// The text of the calling thread, "" if it has none. It is valid until the next one of the thread.
const char* last_error() noexcept;

}  // namespace gsofa::library
