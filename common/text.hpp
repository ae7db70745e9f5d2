#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gsofa {

/// `text` as a terminal may show it: control characters (C0 but the line feed, DEL, C1), format
/// characters such as those that reverse the direction of text, and bytes that are not UTF-8 become
/// \xNN. Characters of one byte or more that are printed stay as they are.
std::string printable(std::string_view text);

/// Bytes before the first one that is not UTF-8: the size of `text` if all are.
std::size_t utf8_prefix(std::string_view text);

/// The reason of an errno value, "No space left on device".
std::string reason_of(int error_number);

/// ": REASON" after a stream of the standard library failed, by errno, which the caller set to 0
/// before; empty if the stream left it so.
std::string because_of_errno();

/// `text` as one word of a shell command.
std::string shell_quoted(const std::string& text);

/// The one of `names` that takes the fewest insertions, deletions and replacements of characters to
/// become `name`; empty if each takes more than half of its length.
std::string nearest(std::string_view name, const std::vector<std::string>& names);

}  // namespace gsofa
