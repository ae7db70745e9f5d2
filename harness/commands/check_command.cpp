#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>

#include "common/mpi_context.hpp"
#include "common/text.hpp"
#include "harness/check/check_supervisor.hpp"
#include "harness/check/order_checks.hpp"
#include "harness/check/variant_check.hpp"
#include "harness/commands/commands.hpp"
#include "harness/record/table.hpp"
#include "harness/run/interrupt.hpp"
#include "harness/run/selection.hpp"
#include "harness/run/status.hpp"
#include "harness/run/terminal.hpp"
#include "harness/run/watchdog.hpp"

namespace gsofa {

namespace {

void print_summary(const check_options& options, const check_plan& plan,
                   const std::vector<check_tally>& tallies, bool failed) {
  if (!mpi_context::world().root()) return;
  using align = text_table::align;
  text_table table({{.title = "variant"},
                    {.title = "result", .status = true},
                    {.title = "settings", .side = align::right, .leave_out = 2},
                    {.title = "runs", .side = align::right},
                    {.title = "bundled", .side = align::right, .leave_out = 1},
                    {.title = "note", .words = true}});
  for (const auto& t : tallies) {
    if (t.planted()) continue;
    std::string note = t.failure;
    if (!t.unavailable.empty()) note = t.unavailable;
    if (note.empty()) {
      if (t.bundled_unverified > 0) note = fmt::format("{} unverified", t.bundled_unverified);
      if (t.bundled_timeouts > 0) {
        note += fmt::format("{}{} past {:g} s", note.empty() ? "" : ", ", t.bundled_timeouts,
                            find_suite(options.suite).timeout);
      }
      if (t.large_timeouts > 0) {
        note += fmt::format("{}too slow for large orders", note.empty() ? "" : ", ");
      }
    }
    const char* outcome = !t.unavailable.empty() ? "skipped" : t.failure.empty() ? "pass" : "FAIL";
    table.add({t.info->name, outcome, std::to_string(t.settings.size()), with_commas(t.runs),
               std::to_string(t.bundled_passed), note});
  }
  if (!table.empty()) table.print_fitting(std::cout);
  for (const auto& t : tallies) {
    if (!t.planted()) continue;
    const std::string verdict = !t.unavailable.empty() ? "skipped: " + t.unavailable
                                : t.failure.empty()    ? "NOT REJECTED: " + t.info->planted
                                                       : "rejected: " + t.failure;
    std::cout << printable(fmt::format("{}: {}\n", t.info->name, verdict));
  }
  std::cout << fmt::format("{} small patterns, seed {}: {}\n",
                           with_commas(static_cast<long long>(plan.size())), options.seed,
                           failed ? "FAIL" : "all well");
}

// True if every method passed and every planted one was rejected; a job of several ranks checks
// variants alone.
bool check_and_print_orders(const check_options& options, const check_plan& plan) {
  if (mpi_context::world().ranks() > 1) {
    if (!options.orders.empty())
      throw input_error("--order: orders are checked by one process, not by an MPI job");
    return true;
  }
  bool well = true;
  for (const order_tally& t : check_orders(options, plan)) {
    const bool planted = !t.info->planted.empty();
    std::string verdict;
    if (!t.unavailable.empty()) {
      verdict = "skipped: " + t.unavailable;
    } else if (planted) {
      verdict = t.failure.empty() ? "NOT REJECTED: " + t.info->planted
                                  : "rejected: " + t.failure.substr(0, t.failure.find('\n'));
      well = well && !t.failure.empty();
    } else {
      verdict = t.failure.empty() ? fmt::format("pass, {} runs", with_commas(t.runs))
                                  : "FAIL: " + t.failure;
      well = well && t.failure.empty();
    }
    std::cout << printable(fmt::format("order {}: {}\n{}", t.info->name, verdict, t.again));
  }
  return well;
}

// After Ctrl-C: the variants that are done, and the command that checks the others.
void stop_early(const check_options& options, const check_plan& plan,
                const std::vector<check_tally>& tallies, const std::vector<std::string>& argv) {
  if (errors_on_terminal()) std::fputs("\r\x1b[K", stderr);
  std::vector<check_tally> done;
  std::vector<std::string> rest;
  for (const auto& t : tallies) {
    if (t.finished || !t.failure.empty()) {
      done.push_back(t);
    } else if (t.unavailable.empty()) {
      rest.push_back(t.info->name);
    }
  }
  const bool failed = std::ranges::any_of(
      done, [](const check_tally& t) { return t.planted() == t.failure.empty(); });
  if (!done.empty()) print_summary(options, plan, done, failed);
  std::cout.flush();
  std::string words;
  for (std::size_t k = 0; k < argv.size(); ++k) {
    const std::string& word = argv[k];
    if (word.starts_with("--variant=")) continue;
    if (word == "--variant" || word == "-v") {
      ++k;
      continue;
    }
    words += shell_quoted(one_line(word)) + " ";
  }
  std::fprintf(stderr, "interrupted, %zu of %zu variants done; the rest: %s--variant %s\n",
               done.size(), done.size() + rest.size(), words.c_str(),
               fmt::format("{}", fmt::join(rest, ",")).c_str());
}

exit_code check(check_options options, const std::optional<std::size_t>& worker,
                const std::vector<std::string>& argv) {
  if (worker) {
    check_as_worker(options, *worker);
    return exit_code::ok;
  }
  if (options.jobs > 1 && mpi_context::world().ranks() > 1) {
    throw input_error("--jobs: the ranks of an MPI job check together, one pattern at a time");
  }
  // A process that MPI has initialised cannot be replaced by a worker.
  options.in_process = options.in_process || mpi_context::world().uses_mpi();
  {
    // Where no thread starts every variant would seem to fail.
    const watchdog starts(std::chrono::hours(1), [] {});
  }
  const check_plan plan(options);
  bool orders_well = true;
  if (options.variants.empty()) orders_well = check_and_print_orders(options, plan);
  if (options.variants.empty() && !options.orders.empty()) {
    return orders_well ? exit_code::ok : exit_code::verification_failed;
  }
  auto tallies = choose_variants(options);
  std::optional<interrupt_guard> interrupts;
  if (!options.in_process) {
    interrupts.emplace([&] { stop_early(options, plan, tallies, argv); });
  }
  bool well = options.in_process ? variant_checker(options, plan, tallies).run()
                                 : supervise_check(options, plan, tallies, &*interrupts);
  interrupts.reset();
  for (const auto& t : tallies) {
    if (t.planted() && t.unavailable.empty() && t.failure.empty()) well = false;
  }
  well = well && orders_well;
  print_summary(options, plan, tallies, !well);
  return well ? exit_code::ok : exit_code::verification_failed;
}

}  // namespace

void add_check_command(CLI::App& app, command_action& action) {
  auto o = std::make_shared<check_options>();
  CLI::App* c = app.add_subcommand(
      "check", "Check every variant with every option against the oracles, and every order");
  c->add_option(
       "--suite", o->suite,
       "small: 500 random patterns and the small bundled matrices; full: 5000 random patterns and "
       "all bundled matrices")
      ->type_name("small|full")
      ->capture_default_str();
  c->add_option("-v,--variant", o->variants,
                fmt::format("Variants to check, repeatable: {}; default: all", selection_words))
      ->type_name("V")
      ->take_all();
  c->add_option("--order", o->orders,
                "Orders to check, repeatable, selected by the same words; default: all, or none if "
                "--variant is given")
      ->type_name("NAME")
      ->take_all();
  c->add_option("--seed", o->seed, "Seed of the random patterns")
      ->type_name("S")
      ->capture_default_str();
  c->add_option(
       "--patterns", o->patterns,
       "Check on at most N special shapes and N random patterns, and on no pattern of large "
       "order; default: the patterns of the suite")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->type_name("N");
  auto* const matrix =
      c->add_option(
           "--matrix", o->matrix,
           "Check on this pattern only, neither matched nor ordered: a file such as a saved "
           "counterexample, a name or gen:SPEC")
          ->type_name("M");
  c->add_option("--setting", o->setting,
                "Check this setting only, as messages name it, e.g. defaults")
      ->type_name("TEXT");
  c->add_option(
       "--jobs", o->jobs,
       "Variants checked at the same time (GPU variants run one by one); with --in-process: "
       "threads that check patterns; default: the number of processors")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  c->add_option("--timeout", o->timeout,
                "Seconds for a run on a small pattern; a process that takes three times as long is "
                "killed")
      ->check(CLI::Range(0.01, 1e6))
      ->type_name("S")
      ->capture_default_str();
  c->add_flag(
      "--in-process", o->in_process,
      "Run all variants in this process, for debuggers and sanitizers; always so under MPI");
  c->add_option("--rotate", o->rotate,
                "Run each random pattern with the defaults and K other settings, which rotate, and "
                "use every second pattern of large order and each bundled matrix in one of its "
                "orders; 0: all settings, patterns and orders")
      ->check(CLI::Range(0, 1000))
      ->type_name("K")
      ->capture_default_str();
  auto* const prepared =
      c->add_option(
           "--prepared", o->prepared,
           "Check on the files of `gsofa prepare` in this folder instead of the bundled matrices")
          ->type_name("DIR");
  matrix->excludes(prepared);
  c->add_option("--save", o->save,
                "Folder for counterexamples; created when the first one is found")
      ->type_name("DIR")
      ->capture_default_str();
  auto worker = std::make_shared<std::optional<std::size_t>>();
  // Options that this program gives its workers.
  c->add_option("--worker", *worker)->group("");
  c->add_option("--shared", o->shared)->group("");
  c->footer(
      "Each variant runs in its own process: a variant that crashes or does not return fails, and "
      "the check continues with the next variant.\nA failing pattern is shrunk to a minimal "
      "counterexample. Planted variants are wrong on purpose, and each must be rejected.\nExit "
      "status: 0 if every variant and order is right and every planted variant was rejected, else "
      "1.\n");
  c->callback([o, worker, &action] {
    action = [o, worker](const session_info& session) {
      o->program = session.argv.empty() ? "gsofa" : session.argv.front();
      return check(*o, *worker, session.argv);
    };
  });
}

}  // namespace gsofa
