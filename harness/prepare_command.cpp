#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "harness/commands.hpp"
#include "harness/distribute.hpp"
#include "harness/table.hpp"

namespace gsofa {

void add_prepare_command(CLI::App& app, command_action& action) {
  struct options {
    matrix_options matrix;
    std::filesystem::path out;
  };
  auto o = std::make_shared<options>();
  CLI::App* c = app.add_subcommand(
      "prepare", "Match and order a matrix once; the file written is then read fast");
  o->matrix.add_to(*c);
  c->add_option("-o,--out", o->out, "File to write")->required()->type_name("F");
  c->callback([o, c, &action] {
    o->matrix.note_given(*c);
    action = [o](const session_info&) {
      return root_only([&] {
        const prepared_pattern a = o->matrix.load();
        a.save(o->out);
        std::cout << fmt::format("{}: {}, n = {}, nnz = {}, match {}, order {}, digest {}\n",
                                 o->out.string(), a.origin().name, with_commas(a.view().n_rows),
                                 with_commas(a.view().nnz()), a.origin().match, a.origin().order,
                                 hex(a.digest()));
        return exit_code::ok;
      });
    };
  });
}

}  // namespace gsofa
