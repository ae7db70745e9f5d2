#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/file.hpp"
#include "harness/commands/commands.hpp"
#include "harness/record/record.hpp"
#include "harness/record/record_file.hpp"
#include "harness/record/table.hpp"
#include "harness/run/distribute.hpp"
#include "harness/run/status.hpp"
#include "variants/maxid/distributed/schedule.hpp"

namespace gsofa {

std::string lines_of(std::span<const index_t> order) {
  std::string lines;
  for (const index_t v : order) lines += fmt::format("{}\n", v);
  return lines;
}

void add_order_out(CLI::App& c, std::filesystem::path& file) {
  c.add_option(
       "--order-out", file,
       "Write the order to this file, which --order reads: one line for each new position, with "
       "the old column number")
      ->check(is_an_output())
      ->type_name("FILE.perm");
}

void add_prepare_command(CLI::App& app, command_action& action) {
  struct options {
    matrix_options matrix;
    std::filesystem::path out;
    std::filesystem::path order_out;
    std::filesystem::path predicted_work;
  };
  auto o = std::make_shared<options>();
  CLI::App* c = app.add_subcommand(
      "prepare", "Match and order a matrix once, and write a file that every command reads fast");
  o->matrix.add_to(*c);
  c->add_option("-o,--out", o->out, "File to write")
      ->check(is_an_output())
      ->required()
      ->type_name("F");
  add_order_out(*c, o->order_out);
  c->add_option("--predicted-work", o->predicted_work,
                "Append one JSON line with the number of edges that the search of each source is "
                "predicted to traverse; the dynamic schedule sorts chunks by it")
      ->check(is_an_output())
      ->type_name("FILE.jsonl");
  c->callback([o, c, &action] {
    o->matrix.note_given(*c);
    action = [o](const session_info&) {
      return root_only([&] {
        if (!o->predicted_work.empty()) refuse_other_text(o->predicted_work);
        std::optional<atomic_file> order;
        if (!o->order_out.empty()) order.emplace(o->order_out);
        const prepared_pattern a = o->matrix.load();
        a.save(o->out);
        if (order) {
          order->write(lines_of(a.col_order()));
          order->commit();
        }
        if (!o->predicted_work.empty()) {
          record_file(o->predicted_work)
              .append({{"kind", "predicted"},
                       {"matrix",
                        {{"name", a.origin().name},
                         {"n", a.view().n_rows},
                         {"nnz_prepared", a.view().nnz()},
                         {"stand_in", a.origin().stand_in}}},
                       {"ordering", {{"col", a.origin().order}, {"digest", hex(a.digest())}}},
                       {"predicted_work", maxid::predicted_work(a.view())}});
        }
        std::cout << one_line(fmt::format("{}: {}, n = {}, nnz = {}, match {}, order {}, digest {}",
                                          o->out.string(), marked_name(a.origin()),
                                          with_commas(a.view().n_rows), with_commas(a.view().nnz()),
                                          a.origin().match, a.origin().order, hex(a.digest())))
                  << '\n';
        return exit_code::ok;
      });
    };
  });
}

}  // namespace gsofa
