#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace gsofa {

/// One option of a command, as its CLI11 description has it.
struct option_description {
  std::vector<std::string> long_names;   ///< without dashes
  std::vector<std::string> short_names;  ///< without the dash
  std::string positional;                ///< name without dashes; empty: none
  std::string value;                     ///< what --help calls its value; empty: a flag
  std::string default_value;
  std::string help;
  bool repeatable = false;
  bool required = false;
  std::vector<std::string> words;  ///< values that a shell may offer; empty: files

  [[nodiscard]] bool flag() const { return value.empty(); }
};

struct command_description {
  std::string name;  ///< empty for the program itself
  std::string help;
  std::string footer;
  std::vector<option_description> options;
};

/// The program, then its commands in their order; hidden options are left out.
std::vector<command_description> describe(const CLI::App& app);

/// A script for bash, zsh or fish that completes commands, options and their values. Throws
/// input_error for another shell.
std::string completion_script(const CLI::App& app, const std::string& shell);

/// The man page, in roff, of one command, or of the program for an empty name. Throws input_error
/// for a command that there is not.
std::string man_page(const CLI::App& app, const std::string& command, const std::string& version);

}  // namespace gsofa
