#include <iostream>
#include <memory>
#include <string>

#include "harness/commands/commands.hpp"
#include "harness/commands/program_description.hpp"
#include "harness/run/build_info.hpp"
#include "harness/run/distribute.hpp"

namespace gsofa {

void add_completion_command(CLI::App& app, command_action& action) {
  auto shell = std::make_shared<std::string>();
  CLI::App* c = app.add_subcommand("completion", "A script that completes commands in a shell");
  c->add_option("shell", *shell, "The shell")->required()->type_name("bash|zsh|fish");
  c->footer(
      "bash: source <(gsofa completion bash)\nzsh: source <(gsofa completion zsh)\n"
      "fish: gsofa completion fish | source\n");
  c->callback([shell, &app, &action] {
    action = [shell, &app](const session_info&) {
      return root_only([&] {
        std::cout << completion_script(app, *shell);
        return exit_code::ok;
      });
    };
  });
}

void add_man_command(CLI::App& app, command_action& action) {
  auto command = std::make_shared<std::string>();
  CLI::App* c = app.add_subcommand("man", "A man page, in roff: gsofa man run | man -l -");
  c->add_option("command", *command, "The command; without one the page of the program")
      ->type_name("COMMAND");
  c->callback([command, &app, &action] {
    action = [command, &app](const session_info&) {
      return root_only([&] {
        std::cout << man_page(app, *command, this_build().version);
        return exit_code::ok;
      });
    };
  });
}

}  // namespace gsofa
