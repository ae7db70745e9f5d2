#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "common/error.hpp"
#include "common/file.hpp"
#include "harness/commands/commands.hpp"
#include "harness/run/build_info.hpp"
#include "harness/run/distribute.hpp"

namespace gsofa {

namespace {

namespace fs = std::filesystem;

// The template with the name in its places.
std::string filled_in(const fs::path& from, const std::string& name) {
  const file_content content(from);
  const auto bytes = content.bytes();
  constexpr std::string_view place = "@NAME@";
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (std::size_t k = 0; (k = text.find(place, k)) != std::string::npos; k += name.size()) {
    text.replace(k, place.size(), name);
  }
  return text;
}

// The commands that go on from there, and what else the tree needs.
std::string next_steps(const std::string& name, const std::string& kind, const fs::path& file,
                       const std::string& program) {
  if (kind == "exec") {
    return fmt::format(
        "  {1} run west2021 --variant 'exec:python3 {0}' --variant cpu_fill1\n"
        "  {1} judge order bcsstk18 'exec:python3 {0}'\n"
        "  {1} check --patterns 5 --variant 'exec:python3 {0}'\n",
        file.string(), shell_quoted(program));
  }
  const bool order = kind == "order";
  return fmt::format(
      "{5}  ./testbed gsofa check --{0} {1}\n  ./testbed gsofa {2} bcsstk18 --{0} "
      "{3}{1} --repeat 3\nA table of variants/README.md needs its row:\n"
      "  | `{1}` | one line | where it comes from | [{4}]({4}) |\n",
      order ? "order" : "variant", name, order ? "order" : "run",
      order ? "metis," : "cpu_fill1 --variant ", fs::relative(file, "variants").string(),
      kind == "gpu" ? "  ./testbed build\n" : "");
}

exit_code write_skeleton(std::string name, const std::string& kind, const std::string& program) {
  if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != name.npos || name < "a") {
    throw input_error("new: '" + name + "' is no name: lower-case letters, digits and _");
  }
  const bool is_variant = kind == "cpu" || kind == "gpu";
  const std::string family = name.starts_with(kind + "_") ? name.substr(kind.size() + 1) : name;
  if (is_variant) name = kind + "_" + family;
  const std::string ending = kind == "gpu" ? ".cu" : kind == "exec" ? ".py" : ".cpp";
  const fs::path folder = is_variant ? "variants/" + family : "variants/orderings";
  const fs::path file = (kind == "exec" ? fs::path() : folder) / (name + ending);
  const fs::path root = repository_root();
  const fs::path target = kind == "exec" ? file : root / file;
  if (fs::exists(target)) throw input_error(target.string() + ": exists");
  const std::string text =
      filled_in(root / "harness/commands/templates" / (kind + ending + ".in"), name);
  if (kind != "exec") create_folder(target.parent_path());
  atomic_file out(target);
  out.write(text);
  out.commit();
  std::cout << "wrote " << target.string() << ", which works: replace its algorithm\n"
            << next_steps(name, kind, file, program);
  return exit_code::ok;
}

}  // namespace

void add_new_command(CLI::App& app, command_action& action) {
  auto name = std::make_shared<std::string>();
  auto kind = std::make_shared<std::string>();
  CLI::App* c = app.add_subcommand("new", "Write the skeleton of a variant, an order or a program");
  c->add_option("name", *name, "Name: lower-case letters, digits and _")->required();
  c->add_option("--kind", *kind,
                "cpu, gpu: a variant in variants/; order: a method in variants/orderings/; exec: a "
                "Python program in the current folder, which is an order and a variant")
      ->required()
      ->check(CLI::IsMember({"cpu", "gpu", "order", "exec"}));
  c->callback([name, kind, &action] {
    action = [name, kind](const session_info& session) {
      return root_only([&] { return write_skeleton(*name, *kind, session.argv[0]); });
    };
  });
}

}  // namespace gsofa
