#include "harness/commands/program_description.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "common/error.hpp"
#include "harness/commands/commands.hpp"

using namespace gsofa;

namespace {

struct whole_program {
  command_action action;
  CLI::App app{"a program", "gsofa"};
  whole_program() { add_commands(app, action); }

  // Calls visit(command, long option) for each that --help shows, as CLI11 has them.
  void each_option(const std::function<void(const std::string&, const std::string&)>& visit) const {
    for (const CLI::App* c : app.get_subcommands([](const CLI::App*) { return true; })) {
      for (const CLI::Option* o : c->get_options()) {
        if (o->get_group().empty()) continue;
        for (const std::string& name : o->get_lnames()) visit(c->get_name(), name);
      }
    }
  }
};

// The text between two marks, the first one after `begin`.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto from = text.find(begin);
  if (from == text.npos) return "";
  return text.substr(from + begin.size(),
                     text.find(end, from + begin.size()) - from - begin.size());
}

bool has_word(const std::string& text, const std::string& word) {
  std::istringstream in(text);
  for (std::string w; in >> w;) {
    if (w == word) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("completions of three shells and the man pages have every command and long option") {
  const whole_program p;
  const std::string bash = completion_script(p.app, "bash");
  const std::string zsh = completion_script(p.app, "zsh");
  const std::string fish = completion_script(p.app, "fish");
  const std::string page = man_page(p.app, "", "1");
  int options = 0;
  p.each_option([&](const std::string& command, const std::string& name) {
    CAPTURE(command);
    CAPTURE(name);
    ++options;
    const std::string branch = "\n    " + command + ")\n";
    CHECK(has_word(between(bash, branch + "      options='", "'"), "--" + name));
    const std::string arguments = between(zsh, "\n        " + command + ")\n", "&& return");
    CHECK(arguments.find("--" + name + "[") != std::string::npos);
    bool in_fish = false;
    std::istringstream lines(fish);
    for (std::string line; std::getline(lines, line);) {
      in_fish = in_fish || (line.find("_from " + command + "'") != line.npos &&
                            line.find(" -l " + name + " ") != line.npos);
    }
    CHECK(in_fish);
    std::string escaped = "\\-\\-" + name;
    for (std::size_t at = 4; (at = escaped.find('-', at)) != escaped.npos; at += 2) {
      escaped.insert(at, "\\");
    }
    CHECK(man_page(p.app, command, "1").find("\\fB" + escaped + "\\fR") != std::string::npos);
    CHECK(page.find("\\fB" + command + "\\fR\n") != std::string::npos);
    CHECK(fish.find("__fish_use_subcommand -a " + command + " ") != std::string::npos);
    CHECK(zsh.find("    '" + command + ":") != std::string::npos);
  });
  CHECK(options > 50);
}

TEST_CASE("options with known values offer them") {
  const whole_program p;
  const auto all = describe(p.app);
  auto words = [&](const std::string& command, const std::string& option) {
    const auto c = std::ranges::find(all, command, &command_description::name);
    REQUIRE(c != all.end());
    for (const auto& o : c->options) {
      if (std::ranges::find(o.long_names, option) != o.long_names.end()) return o.words;
    }
    return std::vector<std::string>();
  };
  auto offers = [&](const std::string& command, const std::string& option, const char* word) {
    const auto known = words(command, option);
    return std::ranges::count(known, word) == 1;
  };
  CHECK(words("run", "match") == std::vector<std::string>{"auto", "none"});
  CHECK(words("check", "suite") == std::vector<std::string>{"small", "full"});
  CHECK(offers("run", "variant", "cpu_fill1"));
  CHECK(offers("run", "variant", "gpu"));
  CHECK_FALSE(offers("run", "variant", "planted_over_fill"));
  CHECK(offers("run", "order", "amd"));
  CHECK_FALSE(offers("run", "order", "all"));
  CHECK(offers("order", "order", "all"));
  CHECK(words("run", "out").empty());
}

TEST_CASE("roff requests and escapes in texts stay text") {
  CLI::App app("first\n.second \\ 'third", "program");
  app.set_help_flag();
  const std::string page = man_page(app, "", "1-2");
  CHECK(page.find("first\n\\&.second \\e 'third") != std::string::npos);
  CHECK(page.find("1\\-2") != std::string::npos);
}

TEST_CASE("an unknown shell or command is refused") {
  const whole_program p;
  CHECK_THROWS_WITH_AS(completion_script(p.app, "tcsh"),
                       "unknown shell 'tcsh': one of bash, zsh, fish", input_error);
  CHECK_THROWS_AS(man_page(p.app, "rn", "1"), input_error);
}
