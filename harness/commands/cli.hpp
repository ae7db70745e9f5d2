#pragma once

namespace gsofa {

/// The program: parses the command line, runs the subcommand, reports every error as one line
/// "gsofa: error: ..." on stderr. Returns the exit status (see exit_code).
int run_program(int argc, char** argv);

}  // namespace gsofa
