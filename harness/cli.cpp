#include "harness/cli.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <new>

#include "harness/build_info.hpp"
#include "harness/commands.hpp"
#include "variants/detail/build_kind.hpp"

namespace gsofa {

namespace {

int report(const std::string& message, exit_code code) {
  std::fprintf(stderr, "gsofa: error: %s\n", one_line(message).c_str());
  return static_cast<int>(code);
}

}  // namespace

int run_program(int argc, char** argv) {
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
    add_list_command(app, action);
    add_run_command(app, action);
    add_check_command(app, action);
    add_prepare_command(app, action);
    add_info_command(app, action);
    add_experiment_command(app, action);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
      if (e.get_exit_code() == 0) return app.exit(e);
      return report(e.what(), exit_code::bad_input);
    }
    const exit_code code = action(make_session(argc, argv));
    // Results that were lost on their way out are no success.
    if (!std::cout.flush()) return report("standard output: cannot write", exit_code::run_failed);
    return static_cast<int>(code);
  } catch (const error& e) {
    return report(e.what(), e.code());
  } catch (const std::bad_alloc&) {
    return report("out of host memory", exit_code::run_failed);
  } catch (const std::exception& e) {
    return report(e.what(), exit_code::run_failed);
  }
}

}  // namespace gsofa
