#include "harness/commands/program_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "common/error.hpp"
#include "common/ordering.hpp"
#include "common/text.hpp"
#include "common/variant.hpp"
#include "harness/matrices/datasets.hpp"

namespace gsofa {

namespace {

using strings = std::vector<std::string>;

void add_once(strings& words, const std::string& word) {
  if (std::ranges::find(words, word) == words.end()) words.push_back(word);
}

template <class Info>
strings names_of(const std::vector<Info>& all, bool several) {
  strings words;
  if (several) words.emplace_back("all");
  for (const Info& i : all) {
    if (!i.planted.empty()) continue;
    add_once(words, i.name);
    if (several) add_once(words, i.device);
  }
  return words;
}

strings matrix_names(bool several) {
  strings names;
  if (several) names.emplace_back("@bundled");
  try {
    for (const dataset& d : dataset_catalog::repository().entries()) add_once(names, d.name);
  } catch (const error&) {
    // A build without TOML has no names.
  }
  return names;
}

// "auto|none" has both as values, "NAME|FILE.perm" has none.
strings words_of(const option_description& o, const CLI::App& app, const std::string& command) {
  auto has = [&](const char* name) {
    return std::ranges::find(o.long_names, name) != o.long_names.end();
  };
  if (has("variant")) return names_of(all_variants(), true);
  if (has("order")) return names_of(all_orders(), command == "order" || command == "check");
  if (has("matrix")) return matrix_names(o.repeatable);
  if (has("device")) return {"cpu", "gpu", "mpi", "peer"};
  if (o.positional == "name" && command == "list") {
    strings names = names_of(all_variants(), true);
    for (const std::string& order : names_of(all_orders(), false)) add_once(names, order);
    return names;
  }
  if (o.positional == "command") {
    strings names;
    for (const CLI::App* c : app.get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(c->get_name());
    }
    return names;
  }
  const bool lower =
      o.value.find_first_not_of("abcdefghijklmnopqrstuvwxyz|") == o.value.npos && !o.value.empty();
  strings words;
  if (!lower) return words;
  std::istringstream in(o.value);
  for (std::string word; std::getline(in, word, '|');) words.push_back(word);
  return words;
}

command_description describe_one(const CLI::App& c, const CLI::App& app, const std::string& name) {
  command_description d{
      .name = name, .help = c.get_description(), .footer = c.get_footer(), .options = {}};
  for (const CLI::Option* o : c.get_options()) {
    if (o->get_group().empty()) continue;
    option_description described{.long_names = o->get_lnames(),
                                 .short_names = o->get_snames(),
                                 .positional = o->get_positional() ? o->get_name(true) : "",
                                 .value = {},
                                 .default_value = o->get_default_str(),
                                 .help = o->get_description(),
                                 .repeatable = o->get_items_expected_max() > 1,
                                 .required = o->get_required(),
                                 .words = {}};
    if (o->get_items_expected_max() > 0) {
      described.value = o->get_type_name().empty() ? "VALUE" : o->get_type_name();
    }
    // A validator adds its bounds to the name of the type: "K:INT in [1 - 4096]".
    if (const auto colon = described.value.find(':'); colon != std::string::npos) {
      described.value.resize(colon);
    }
    described.words = words_of(described, app, name);
    d.options.push_back(std::move(described));
  }
  return d;
}

// The spellings of an option: "-m", "--matrix".
strings spellings(const option_description& o) {
  strings all;
  for (const auto& s : o.short_names) all.push_back("-" + s);
  for (const auto& l : o.long_names) all.push_back("--" + l);
  return all;
}

strings option_spellings(const command_description& c) {
  strings all;
  for (const auto& o : c.options) {
    for (auto& s : spellings(o)) all.push_back(std::move(s));
  }
  return all;
}

const option_description* positional_of(const command_description& c) {
  for (const auto& o : c.options) {
    if (!o.positional.empty()) return &o;
  }
  return nullptr;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string in_quotes(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

std::string bash_script(const std::string& program, const std::vector<command_description>& all) {
  const std::string function = "_" + program;
  strings commands;
  for (const auto& c : all) {
    if (!c.name.empty()) commands.push_back(c.name);
  }
  std::string text = fmt::format(
      "# Completion of {0} in bash, written by `{0} completion bash`.\n"
      "{1}() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  local command='' options='' values='' at\n"
      "  for ((at = 1; at < COMP_CWORD; ++at)); do\n"
      "    case ${{COMP_WORDS[at]}} in\n"
      "      {2}) command=${{COMP_WORDS[at]}}; break ;;\n"
      "    esac\n"
      "  done\n"
      "  COMPREPLY=()\n"
      "  case $command in\n",
      program, function, fmt::join(commands, "|"));
  for (const auto& c : all) {
    text += fmt::format("    {})\n      options={}\n      case $previous in\n",
                        c.name.empty() ? "''" : c.name,
                        in_quotes(fmt::format("{}", fmt::join(option_spellings(c), " "))));
    for (const auto& o : c.options) {
      if (o.flag() || spellings(o).empty()) continue;
      text += fmt::format("        {})\n", fmt::join(spellings(o), "|"));
      if (o.words.empty()) {
        text += "          COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n";
      } else {
        text += fmt::format("          values={} ;;\n",
                            in_quotes(fmt::format("{}", fmt::join(o.words, " "))));
      }
    }
    text += "      esac\n";
    const option_description* positional = positional_of(c);
    if (c.name.empty()) {
      text += fmt::format("      [[ $current == -* ]] || values={}\n",
                          in_quotes(fmt::format("{}", fmt::join(commands, " "))));
    } else if (positional != nullptr && !positional->words.empty()) {
      text += fmt::format("      [[ $current == -* || -n $values ]] || values={}\n",
                          in_quotes(fmt::format("{}", fmt::join(positional->words, " "))));
    }
    text += "      ;;\n";
  }
  text += fmt::format(
      "  esac\n"
      "  if [[ $current == -* && -z $values ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  # Lists with commas: the part after the last comma is completed.\n"
      "  local before=''\n"
      "  [[ $current == *,* ]] && before=${{current%,*}},\n"
      "  COMPREPLY=($(compgen -P \"$before\" -W \"$values\" -- \"${{current##*,}}\"))\n"
      "  [[ -n $command && ${{#COMPREPLY[@]}} -eq 0 ]] && COMPREPLY=($(compgen -f -- "
      "\"$current\"))\n"
      "  return 0\n"
      "}}\n"
      "complete -o filenames -F {1} {0}\n",
      program, function);
  return text;
}

// In _arguments a colon ends a part and brackets enclose the help.
std::string zsh_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Lists with commas for what may be repeated, files beside the names of matrices.
std::string zsh_action(const option_description& o) {
  if (o.words.empty()) return "_files";
  const bool matrix = std::ranges::find(o.long_names, "matrix") != o.long_names.end();
  if (matrix) return fmt::format("{{compadd -- {}; _files}}", fmt::join(o.words, " "));
  const bool list = o.repeatable || std::ranges::find(o.words, "all") != o.words.end();
  return list ? fmt::format("{{_values -s , value {} || _files}}", fmt::join(o.words, " "))
              : fmt::format("({})", fmt::join(o.words, " "));
}

std::string zsh_script(const std::string& program, const std::vector<command_description>& all) {
  std::string text = fmt::format(
      "#compdef {0}\n"
      "# Completion of {0} in zsh, written by `{0} completion zsh`.\n"
      "_{0}() {{\n"
      "  local curcontext=\"$curcontext\" state line\n"
      "  typeset -A opt_args\n"
      "  local -a commands=(\n",
      program);
  for (const auto& c : all) {
    if (!c.name.empty()) {
      text += "    " + in_quotes(c.name + ":" + zsh_escaped(c.help)) + "\n";
    }
  }
  text += "  )\n  _arguments -C \\\n";
  auto arguments = [](const command_description& c, const std::string& indent) {
    std::string lines;
    for (const auto& o : c.options) {
      const std::string help = "[" + zsh_escaped(o.help) + "]";
      const std::string value = o.flag() ? "" : ":" + zsh_escaped(o.value) + ":" + zsh_action(o);
      for (const auto& s : spellings(o)) {
        lines += indent + in_quotes((o.repeatable ? "*" : "") + s + help + value) + " \\\n";
      }
      if (!o.positional.empty()) {
        lines += indent +
                 in_quotes(std::string(o.repeatable ? "*" : "") + ":" + o.positional + ":" +
                           zsh_action(o)) +
                 " \\\n";
      }
    }
    return lines;
  };
  text += arguments(all.front(), "    ");
  text +=
      "    '1:command:->command' \\\n    '*::argument:->argument'\n"
      "  case $state in\n"
      "    command) _describe command commands ;;\n"
      "    argument)\n"
      "      case $line[1] in\n";
  for (const auto& c : all) {
    if (c.name.empty()) continue;
    text += fmt::format("        {})\n          _arguments \\\n{}            && return ;;\n",
                        c.name, arguments(c, "            "));
  }
  text += fmt::format(
      "      esac ;;\n"
      "  esac\n"
      "}}\n"
      "# A file of $fpath is called as the function that it defines.\n"
      "if [[ $funcstack[1] == _{0} ]]; then _{0} \"$@\"; else compdef _{0} {0}; fi\n",
      program);
  return text;
}

std::string fish_script(const std::string& program, const std::vector<command_description>& all) {
  // Within single quotes fish knows the escapes \\ and \' alone.
  auto quoted = [](const std::string& text) {
    return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
  };
  std::string text =
      fmt::format("# Completion of {0} in fish, written by `{0} completion fish`.\n", program);
  for (const auto& c : all) {
    const std::string where =
        c.name.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + c.name;
    if (!c.name.empty()) {
      text += fmt::format("complete -c {} -f -n __fish_use_subcommand -a {} -d {}\n", program,
                          c.name, quoted(c.help));
    }
    for (const auto& o : c.options) {
      if (!o.positional.empty() && !o.words.empty()) {
        text += fmt::format("complete -c {} -n {} -a {}\n", program, quoted(where),
                            quoted(fmt::format("{}", fmt::join(o.words, " "))));
      }
      if (spellings(o).empty()) continue;
      text += fmt::format("complete -c {} -n {}", program, quoted(where));
      for (const auto& l : o.long_names) text += " -l " + l;
      for (const auto& s : o.short_names) text += " -s " + s;
      if (!o.flag()) {
        text += o.words.empty() ? " -r -F"
                                : " -x -a " + quoted(fmt::format("{}", fmt::join(o.words, " ")));
      }
      text += " -d " + quoted(o.help) + "\n";
    }
  }
  return text;
}

// A line of roff text: a hyphen that may be copied, no escape, no request.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  if (!out.empty() && (out.front() == '.' || out.front() == '\'')) out.insert(0, "\\&");
  return replaced(replaced(out, "\n.", "\n\\&."), "\n'", "\n\\&'");
}

std::string roff_option(const option_description& o) {
  strings names;
  for (const auto& s : spellings(o)) names.push_back("\\fB" + roff(s) + "\\fR");
  std::string line = fmt::format("{}", fmt::join(names, ", "));
  if (!o.flag()) line += (names.empty() ? "\\fI" : " \\fI") + roff(o.value) + "\\fR";
  std::string text = ".TP\n" + line + "\n" + roff(o.help);
  if (!o.help.ends_with('.')) text += '.';
  if (!o.default_value.empty()) text += " Default: " + roff(o.default_value) + ".";
  if (o.repeatable && o.help.find("repeat") == o.help.npos) text += " May be repeated.";
  return text + "\n";
}

}  // namespace

std::vector<command_description> describe(const CLI::App& app) {
  std::vector<command_description> all{describe_one(app, app, "")};
  for (const CLI::App* c : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!c->get_group().empty()) all.push_back(describe_one(*c, app, c->get_name()));
  }
  return all;
}

std::string completion_script(const CLI::App& app, const std::string& shell) {
  const auto all = describe(app);
  if (shell == "bash") return bash_script(app.get_name(), all);
  if (shell == "zsh") return zsh_script(app.get_name(), all);
  if (shell == "fish") return fish_script(app.get_name(), all);
  throw input_error("unknown shell '" + shell + "': one of bash, zsh, fish");
}

std::string man_page(const CLI::App& app, const std::string& command, const std::string& version) {
  const auto all = describe(app);
  const auto found = std::ranges::find(all, command, &command_description::name);
  if (found == all.end()) {
    strings names;
    for (const auto& c : all) {
      if (!c.name.empty()) names.push_back(c.name);
    }
    const std::string hint = nearest(command, names);
    throw input_error(fmt::format("unknown command '{}'{}; the commands are {}", command,
                                  hint.empty() ? "" : " (did you mean '" + hint + "'?)",
                                  fmt::join(names, ", ")));
  }
  const command_description& c = *found;
  const std::string program = app.get_name();
  const std::string page = c.name.empty() ? program : program + "-" + c.name;
  std::string upper = page;
  std::ranges::transform(upper, upper.begin(), [](char x) {
    return x >= 'a' && x <= 'z' ? static_cast<char>(x - 'a' + 'A') : x;
  });
  std::string text =
      fmt::format(".TH {} 1 \"\" \"{} {}\" \"{}\"\n.SH NAME\n{} \\- {}\n", roff(upper),
                  roff(program), roff(version), roff(program), roff(page), roff(c.help));
  text += fmt::format(".SH SYNOPSIS\n.B {}\n", roff(program));
  text += c.name.empty() ? "\\fICOMMAND\\fR [\\fIOPTION\\fR]...\n"
                         : "\\fB" + roff(c.name) + "\\fR [\\fIOPTION\\fR]...";
  if (const auto* positional = positional_of(c); positional != nullptr && !c.name.empty()) {
    text += fmt::format(" [\\fI{}\\fR]{}", roff(positional->positional),
                        positional->repeatable ? "..." : "");
  }
  text += "\n.SH OPTIONS\n";
  for (const auto& o : c.options) text += roff_option(o);
  if (c.name.empty()) {
    text += ".SH COMMANDS\n";
    for (const auto& other : all) {
      if (other.name.empty()) continue;
      text += fmt::format(".TP\n\\fB{}\\fR\n{}. See \\fB{}\\-{}\\fR(1).\n", roff(other.name),
                          roff(other.help), roff(program), roff(other.name));
    }
  }
  if (!c.footer.empty()) text += ".SH NOTES\n.nf\n" + roff(c.footer) + "\n.fi\n";
  if (!c.name.empty()) text += fmt::format(".SH SEE ALSO\n\\fB{}\\fR(1)\n", roff(program));
  return replaced(text, "\n\n", "\n");
}

}  // namespace gsofa
