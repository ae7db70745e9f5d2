#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gsofa {

/// `text` in a form that is safe on a terminal: control characters (C0 except the line feed, DEL,
/// C1), format characters such as those that reverse the direction of text, and bytes that are not
/// UTF-8 become \xNN. Printable characters stay unchanged.
std::string printable(std::string_view text);

/// Number of bytes before the first byte that is not UTF-8; the size of `text` if all bytes are
/// UTF-8.
std::size_t utf8_prefix(std::string_view text);

/// The reason of an errno value, "No space left on device".
std::string reason_of(int error_number);

/// ": REASON", from errno, after a stream of the standard library failed; empty if errno is 0. The
/// caller sets errno to 0 before the operation.
std::string because_of_errno();

/// `text` as one word of a shell command.
std::string shell_quoted(const std::string& text);

/// The element of `names` with the smallest edit distance (insertions, deletions, replacements) to
/// `name`; empty if every distance exceeds half of the name's length.
std::string nearest(std::string_view name, const std::vector<std::string>& names);

}  // namespace gsofa
