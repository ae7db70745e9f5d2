#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>

#include "common/matching.hpp"
#include "harness/commands/commands.hpp"
#include "harness/matrices/matrix_source.hpp"
#include "harness/run/machine.hpp"
#include "harness/run/status.hpp"

namespace gsofa {

std::string parse_match(const std::string& text) {
  if (text != match_auto && text != match_none) find_matching(text);
  return text;
}

std::string matching_words() {
  std::string words =
      "auto: permute rows to a zero-free diagonal by `maximum` if it has a zero, or by "
      "`symmetric` where an order for ten factorizations is predicted to gain; none: keep the "
      "rows and add the missing diagonal entries; or a matching";
  for (const matching_info& m : all_matchings()) {
    words += fmt::format("; {}: {}{}", m.name, m.summary,
                         m.needs_values ? " (Matrix Market files with values)" : "");
  }
  return words;
}

CLI::Validator is_an_output() {
  return {[](std::string& text) {
            if (text.empty()) return std::string("the name of the output is empty");
            return text == "-" ? std::string("-: standard output is /dev/stdout") : std::string();
          },
          ""};
}

void print_stand_in_note(const provenance& origin) {
  const std::string note = stand_in_note(origin);
  if (!note.empty()) std::cout << one_line(note) << '\n';
}

void matrix_options::add_to(CLI::App& command, bool several) {
  const std::string one =
      "Path of a file (Matrix Market, Harwell-Boeing, SciPy's .npz, each also compressed or in a "
      ".tar or .zip; or written by `gsofa prepare`), - for standard input, a name in "
      "experiments/datasets.toml, GROUP/NAME of a fetched matrix, or gen:SPEC";
  CLI::Option* const option =
      several ? command
                    .add_option("-m,--matrix,matrix", matrices,
                                one + "; also several, @bundled, or patterns such as 'bcsstk*'")
                    ->take_all()
              : command.add_option("-m,--matrix,matrix", matrix, one);
  option->required()->type_name("M");
  command.add_option("--match", match, matching_words())
      ->type_name("auto|none|NAME")
      ->capture_default_str();
  command
      .add_option("--order", order,
                  fmt::format("Fill-reducing order: {} (with options: NAME:key=value,...), or a "
                              "permutation file",
                              fmt::join(available_orders(), ", ")))
      ->type_name("NAME|FILE.perm")
      ->capture_default_str();
  command.add_option("--seed", seed, "Seed of the order; -1: the default seed of the method")
      ->type_name("S")
      ->capture_default_str();
}

void matrix_options::note_given(const CLI::App& command) {
  preprocessing_given =
      command.count("--match") + command.count("--order") + command.count("--seed") > 0;
}

prepare_options matrix_options::preparation() const {
  return {.match = parse_match(match),
          .order = order,
          .seed = seed,
          .threads = this_machine().hardware_threads};
}

prepared_pattern matrix_options::load(const std::string& name) const {
  const prepare_options options = preparation();
  if (preprocessing_given && is_prepared(name)) {
    throw input_error(name + ": is prepared already; --match, --order and --seed do not apply");
  }
  return load_matrix(name, options);
}

}  // namespace gsofa
