#pragma once

#include <string>
#include <string_view>

#include "common/error.hpp"

namespace gsofa {

/// Whether a name is the command of a program, exec:COMMAND, which no file registers.
inline bool is_command(std::string_view name) { return name.starts_with("exec:"); }

/// Describes the order or variant that a command computes; null in a program that runs no commands.
template <class Info>
using command_describer = const Info& (*)(const std::string& name);
template <class Info>
inline constinit command_describer<Info> describe_command = nullptr;

/// The order or variant of a command. Throws input_error for a command that cannot be one.
template <class Info>
const Info& find_command(const std::string& name) {
  if (describe_command<Info> == nullptr) throw input_error(name + ": only gsofa runs commands");
  return describe_command<Info>(name);
}

}  // namespace gsofa
