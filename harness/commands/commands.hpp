#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/preprocess.hpp"
#include "harness/record/record.hpp"

namespace gsofa {

/// What the chosen subcommand does; returns the exit status. Set by its CLI callback.
using command_action = std::function<exit_code(const session_info&)>;

/// Each adds one subcommand to the program.
void add_list_command(CLI::App& app, command_action& action);
void add_run_command(CLI::App& app, command_action& action);
void add_check_command(CLI::App& app, command_action& action);
void add_prepare_command(CLI::App& app, command_action& action);
void add_info_command(CLI::App& app, command_action& action);
void add_order_command(CLI::App& app, command_action& action);
void add_match_command(CLI::App& app, command_action& action);
void add_experiment_command(CLI::App& app, command_action& action);
void add_judge_command(CLI::App& app, command_action& action);
void add_new_command(CLI::App& app, command_action& action);
/// Adds a subcommand to `judge`.
void add_judge_order(CLI::App& judge, command_action& action);
/// Adds all subcommands.
void add_commands(CLI::App& app, command_action& action);

/// --matrix, --match, --order and --seed, common to run, prepare and info.
struct matrix_options {
  std::string matrix;
  std::vector<std::string> matrices;  ///< as select_matrices(), where several may be named
  std::string match = "auto";
  std::string order = default_order;
  std::int64_t seed = -1;
  bool preprocessing_given = false;  ///< any of the last three was on the command line

  /// The matrix is a positional argument too. `several`: all that are named go to `matrices`.
  void add_to(CLI::App& command, bool several = false);
  /// To be called once the command line has been parsed.
  void note_given(const CLI::App& command);
  [[nodiscard]] prepare_options preparation() const;
  /// Reads and prepares; throws input_error if a prepared file meets preprocessing options.
  [[nodiscard]] prepared_pattern load() const { return load(matrix); }
  [[nodiscard]] prepared_pattern load(const std::string& name) const;
};

/// stand_in_note() as a line on stdout, if there is one: below a table that names no matrix.
void print_stand_in_note(const provenance& origin);

/// `text` as prepare_options::match; throws input_error for an unknown matching.
std::string parse_match(const std::string& text);

/// The lines of a permutation file.
std::string lines_of(std::span<const index_t> order);
/// --order-out of order and prepare.
void add_order_out(CLI::App& c, std::filesystem::path& file);

/// Refuses what cannot be the name of a file or folder to write: nothing, and -.
CLI::Validator is_an_output();

}  // namespace gsofa
