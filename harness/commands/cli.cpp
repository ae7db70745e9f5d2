#include "harness/commands/cli.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "common/file.hpp"
#include "common/mpi_context.hpp"
#include "common/mpi_launcher.hpp"
#include "common/rank_errors.hpp"
#include "common/text.hpp"
#include "harness/commands/commands.hpp"
#include "harness/run/build_info.hpp"
#include "harness/run/distribute.hpp"
#include "harness/run/programs.hpp"
#include "variants/support/build_kind.hpp"

namespace gsofa {

namespace {

// What is wrong with a command line that names no subcommand.
std::string without_command(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* c : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(c->get_name());
  }
  const std::string known = fmt::format("the commands are {}", fmt::join(names, ", "));
  const std::vector<std::string> given = app.remaining();
  if (given.empty()) return "a command is missing; " + known;
  const std::string& first = given.front();
  if (first.starts_with('-')) {
    return fmt::format("unknown option '{}' before the command; {}", first, known);
  }
  const std::string hint = nearest(first, names);
  return fmt::format("unknown command '{}'{}; {}", first,
                     hint.empty() ? "" : fmt::format(" (did you mean '{}'?)", hint), known);
}

// What is wrong with a command line that names one: an option that it does not have, with the
// nearest that it has, else what CLI11 says.
std::string within_command(const CLI::App& app, const CLI::ParseError& e) {
  for (const CLI::App* c : app.get_subcommands()) {
    for (const std::string& word : c->remaining()) {
      if (!word.starts_with('-') || word == "-") continue;
      const std::string given = word.substr(0, word.find('='));
      std::vector<std::string> names;
      for (const CLI::Option* o : c->get_options()) {
        if (o->get_group().empty()) continue;
        for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
      }
      const std::string hint = given.starts_with("--") ? nearest(given, names) : "";
      return fmt::format("{}: unknown option '{}'{} (`{} {} --help` shows all)", c->get_name(),
                         given, hint.empty() ? "" : "; did you mean '" + hint + "'?",
                         app.get_name(), c->get_name());
    }
  }
  return e.what();
}

int report(const std::string& message, exit_code code) {
  std::fprintf(stderr, "gsofa: error: %s\n", one_line(message).c_str());
  return static_cast<int>(code);
}

int report_no_memory() noexcept {
  std::fputs("gsofa: error: out of host memory\n", stderr);
  return static_cast<int>(exit_code::run_failed);
}

std::terminate_handler usual_end = nullptr;

// Static objects take memory before main() begins, CLI11's validators in each file that includes
// it: nothing can catch what they throw.
[[noreturn]] void end_of_program() {
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    std::_Exit(report_no_memory());
  } catch (...) {
    usual_end();
  }
  usual_end();
  std::abort();
}

[[gnu::constructor(101)]] void before_static_objects() {
  usual_end = std::set_terminate(end_of_program);
}

// Runs the program and reports every error, unless there is no memory for that either.
int run_reporting(int argc, char** argv) {
  mpi_context* joined = nullptr;
  try {
    joined = &mpi_context::world();
  } catch (const error& e) {
    // No rank could join the others: rank 0 reports for all.
    if (launched_rank() == 0) report(e.what(), e.code());
    return static_cast<int>(e.code());
  }
  mpi_context& j = *joined;
  // Rank 0 reports an error that all ranks throw; an error that the others do not know of ends
  // them, with status 4 whatever it is.
  auto failed = [&](const std::exception& e, const std::string& message, exit_code code) {
    const bool known_to_all = dynamic_cast<const thrown_by_all_ranks*>(&e) != nullptr;
    if (j.ranks() > 1 && !known_to_all) abort_job(message.c_str());
    if (j.root()) report(message, code);
    j.finish();
    return static_cast<int>(code);
  };
  try {
    CLI::App app("Testbed for sparse LU symbolic factorization with static pivoting",
                 is_counting_build() ? "gsofa_counting" : "gsofa");
    app.require_subcommand(1);
    app.set_version_flag(
        "--version",
        fmt::format("gsofa {} ({}{}, {}, {}{})", this_build().version, this_build().git_sha,
                    this_build().git_dirty ? ", changed" : "", this_build().compiler,
                    this_build().type, is_counting_build() ? ", counting" : ""));
    command_action action;
    add_commands(app, action);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
      // All ranks have the same command line.
      const bool helped = e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
      int code = static_cast<int>(helped ? exit_code::ok : exit_code::bad_input);
      if (j.root() && helped) code = app.exit(e);
      if (j.root() && !helped) {
        const bool named = !app.get_subcommands().empty();
        report(named ? within_command(app, e) : without_command(app), exit_code::bad_input);
      }
      j.finish();
      return code;
    }
    const exit_code code = action(make_session(argc, argv));
    // A run whose output was lost is no success.
    j.on_root([&] {
      errno = 0;
      if (!std::cout.flush()) {
        // An earlier write failed, and its reason is lost: one more byte fails for the same reason.
        if (errno == 0 && ::write(STDOUT_FILENO, "\n", 1) == 1) errno = 0;
        throw error(exit_code::run_failed, "standard output: cannot write" + because_of_errno());
      }
    });
    j.finish();
    return static_cast<int>(code);
  } catch (const error& e) {
    return failed(e, e.what(), e.code());
  } catch (const std::bad_alloc& e) {
    return failed(e, "out of host memory", exit_code::run_failed);
  } catch (const std::system_error& e) {
    // What the standard library says where it cannot start a thread names neither.
    const bool thread = e.code() == std::errc::resource_unavailable_try_again;
    return failed(e, (thread ? "cannot start a thread: " : "") + std::string(e.what()),
                  exit_code::run_failed);
  } catch (const std::exception& e) {
    return failed(e, e.what(), exit_code::run_failed);
  }
}

}  // namespace

void add_commands(CLI::App& app, command_action& action) {
  add_list_command(app, action);
  add_run_command(app, action);
  add_check_command(app, action);
  add_prepare_command(app, action);
  add_info_command(app, action);
  add_order_command(app, action);
  add_match_command(app, action);
  add_judge_command(app, action);
  add_new_command(app, action);
  add_experiment_command(app, action);
}

int run_program(int argc, char** argv) {
  try {
    accept_programs();
    return run_reporting(argc, argv);
  } catch (...) {
    return report_no_memory();
  }
}

}  // namespace gsofa
