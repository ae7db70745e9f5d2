#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "harness/run/status.hpp"

namespace gsofa {

/// Columns for text on standard output: those of the terminal that it is, else $COLUMNS, else 0,
/// which means no limit: a script sees everything.
std::size_t output_width();
/// True if standard output is a terminal that shows colours, $NO_COLOR is unset or empty, and no
/// launcher such as mpirun started the process.
bool output_has_colour();
/// True if standard error is a terminal, where a line may be written again and again, and no
/// launcher started the process.
bool errors_on_terminal();

/// Characters that a terminal shows of UTF-8 text of one column each.
std::size_t display_width(std::string_view text);
/// `text`, or its first width - 1 characters and an ellipsis.
std::string shortened(const std::string& text, std::size_t width);
/// `text` in the colour of the first word of it if that is a status: green for pass, red for fail
/// and error, yellow for unverified, timeout and oom, faint for skipped; else as it is.
std::string coloured_status(const std::string& text);

}  // namespace gsofa
