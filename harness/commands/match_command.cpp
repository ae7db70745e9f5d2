#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "common/file.hpp"
#include "common/matching.hpp"
#include "harness/commands/commands.hpp"
#include "harness/matrices/matrix_source.hpp"
#include "harness/record/table.hpp"
#include "harness/run/distribute.hpp"
#include "harness/run/machine.hpp"
#include "harness/run/selection.hpp"
#include "harness/run/status.hpp"
#include "reference/matching_check.hpp"

namespace gsofa {

namespace {

struct match_options {
  std::string matrix;
  std::string matchings;
  std::filesystem::path rows_out{};  // empty: not written
  int repeat = 1;
  int threads = 0;
  bool keeps_symmetric = false;
};

// A matching of `m`, its first fault, and the median of the seconds of the runs.
struct match_case {
  std::string spec;
  row_matching found;
  std::string fault;
  double seconds = 0;
};

match_case run_case(const raw_matrix& m, const std::string& spec, const match_options& o) {
  match_case c{.spec = spec, .found = {}, .fault = {}};
  std::vector<double> samples;
  const matching_settings settings{
      .threads = o.threads > 0 ? o.threads : this_machine().hardware_threads,
      .keeps_symmetric = o.keeps_symmetric};
  const bool weighs = needs_values(spec);
  for (int run = 0; run < o.repeat; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    row_matching found = compute_matching(m.a, m.values, spec, settings);
    samples.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    if (run > 0 && found.row_of_col != c.found.row_of_col)
      c.fault = "another one than in the first run";
    if (run == 0) c.found = std::move(found);
  }
  std::ranges::sort(samples);
  c.seconds = samples[(samples.size() - 1) / 2];
  if (c.fault.empty() && !c.found.kept) {
    const matching_costs costs = weighs ? costs_of(m.a, m.values) : matching_costs{};
    c.fault = reference::fault_of_matching(m.a, weighs ? &costs : nullptr, c.found);
  }
  return c;
}

std::string facts_of(const match_case& c) {
  std::string text = c.found.how;
  for (const auto& [step, seconds] : c.found.phases_s) {
    text += fmt::format(", {} {} ms", step, milliseconds(seconds));
  }
  return text;
}

exit_code match_matrix(const match_options& o) {
  const std::vector<std::string> specs = split_at_commas(o.matchings);
  const bool weighs = std::ranges::any_of(specs, [](const auto& s) { return needs_values(s); });
  if (!o.rows_out.empty() && specs.size() != 1) {
    throw input_error(
        fmt::format("--rows-out: writes one matching, not {}; --matching names it", specs.size()));
  }
  std::optional<atomic_file> rows;
  if (!o.rows_out.empty()) rows.emplace(o.rows_out);
  const raw_matrix m = read_matrix(o.matrix, weighs);
  using align = text_table::align;
  text_table table({{.title = "matching"},
                    {.title = "status", .status = true},
                    {.title = "ms", .side = align::right},
                    {.title = "rank", .side = align::right},
                    {.title = "symmetric entries", .side = align::right},
                    {.title = "least matched", .side = align::right},
                    {.title = "what was done", .words = true}});
  bool failed = false;
  for (const std::string& spec : specs) {
    const match_case c = run_case(m, spec, o);
    failed = failed || !c.fault.empty();
    if (rows && c.fault.empty()) {
      rows->write(lines_of(c.found.row_of_col));
      rows->commit();
    }
    table.add({spec, to_string(c.fault.empty() ? run_status::pass : run_status::fail),
               milliseconds(c.seconds), with_commas(c.found.structural_rank),
               with_commas(c.found.symmetric_entries),
               weighs ? fmt::format("{:.3g}", c.found.least_matched) : "-",
               c.fault.empty() ? facts_of(c) : c.fault});
  }
  table.print_fitting(std::cout);
  print_stand_in_note(m.origin);
  return failed ? exit_code::verification_failed : exit_code::ok;
}

}  // namespace

void add_match_command(CLI::App& app, command_action& action) {
  auto o = std::make_shared<match_options>();
  CLI::App* c = app.add_subcommand(
      "match", "Row matchings of a matrix: time, rank, symmetric entries; every result is checked");
  c->add_option("matrix,-m,--matrix", o->matrix, "Matrix, as for `gsofa run`")
      ->required()
      ->type_name("M");
  std::string all;
  for (const matching_info& i : all_matchings()) {
    if (!i.unavailable() && !i.needs_values) all += (all.empty() ? "" : ",") + i.name;
  }
  o->matchings = all;
  c->add_option("--matching", o->matchings, "Matchings, comma-separated, as for --match of gsofa run")
      ->type_name("NAME,...")
      ->capture_default_str();
  c->add_option("--repeat", o->repeat, "Runs of each; the median time is printed")
      ->check(CLI::PositiveNumber)
      ->type_name("N")
      ->capture_default_str();
  c->add_option("--threads", o->threads, "Host threads; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N")
      ->capture_default_str();
  c->add_flag("--keep-symmetric", o->keeps_symmetric,
              "Keep the rows of a symmetric pattern with zeros on the diagonal: the factorization "
              "pivots by 2x2 blocks or tolerates them");
  c->add_option("--rows-out", o->rows_out,
                "Write the row of each column to this file, one line for each column; -1: none")
      ->check(is_an_output())
      ->type_name("FILE");
  std::string methods = "Matchings:\n";
  for (const matching_info& i : all_matchings()) {
    methods += fmt::format("  {:<18}{}{}\n", i.name, i.summary,
                           i.library.empty() ? "" : " (" + i.library + ")");
  }
  c->footer(
      methods +
      "Values are read from Matrix Market files; generated matrices get magnitudes of 2^-20 to "
      "1, a quarter of them 1.\nExit status: 0 all well, 1 a matching is wrong, 2 bad input, "
      "3 a matching is unavailable on this machine.\n");
  c->callback([o, &action] {
    action = [o](const session_info&) { return root_only([&] { return match_matrix(*o); }); };
  });
}

}  // namespace gsofa
