#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <set>

#include "harness/commands/case_session.hpp"
#include "harness/commands/commands.hpp"
#include "harness/matrices/matrix_source.hpp"
#include "harness/run/distribute.hpp"
#include "harness/run/selection.hpp"
#include "harness/run/status_line.hpp"
#include "variants/support/build_kind.hpp"

namespace gsofa {

namespace {

struct run_options {
  matrix_options matrix;
  case_options cases;
  output_options output;
  std::string verify = "auto";
};

std::string known_variants() {
  std::vector<std::string> names;
  for (const auto& v : all_variants()) {
    if (v.planted.empty()) names.push_back(v.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// CLI::Range lets NaN pass, which is neither below nor above a bound.
CLI::Validator is_a_number() {
  return {[](std::string& text) {
            double value = 0;
            const bool valid = CLI::detail::lexical_cast(text, value) && !std::isnan(value);
            return valid ? std::string() : "'" + text + "' is not a number";
          },
          ""};
}

// "5%" becomes 0.05.
CLI::Validator is_a_percentage() {
  return {[](std::string& text) {
            double value = 0;
            const bool ends = text.size() > 1 && text.back() == '%';
            const bool valid =
                ends && CLI::detail::lexical_cast(text.substr(0, text.size() - 1), value);
            if (!valid || !(value > 0 && value <= 100)) {
              return "'" + text + "' is not a percentage from above 0 to 100, such as 5%";
            }
            text = fmt::format("{}", value / 100);
            return std::string();
          },
          ""};
}

// Names are resolved before anything runs.
std::vector<std::string> matrices_to_run(const run_options& o) {
  const auto matrices = select_matrices(o.matrix.matrices);
  std::set<std::string> files;
  for (const std::string& name : matrices) {
    if (is_prepared(name)) continue;
    try {
      const matrix_location from = locate_matrix(name);
      if (!o.output.pattern_out.empty() && !files.insert(file_name_of(from.name)).second) {
        throw input_error(shown_name(from) +
                          ": --pattern-out would write the files of another matrix again");
      }
    } catch (const input_error& e) {
      // --variant, --want and --set take one value each time.
      const auto& all = all_variants();
      const auto wants = want_set::all().names();
      if (std::ranges::find(all, name, &variant_info::name) != all.end()) {
        throw input_error("'" + name + "' is a variant, not a matrix: --variant " + name);
      }
      if (std::ranges::find(wants, name) != wants.end()) {
        throw input_error("'" + name + "' is no matrix: --want " + name);
      }
      throw;
    }
  }
  return matrices;
}

exit_code run(run_options& o, const session_info& session) {
  if (!o.output.pattern_out.empty()) {
    if (o.output.pattern_out.extension() == ".gz") {
      o.output.compress_patterns = true;
      o.output.pattern_out.replace_extension();
    }
    auto& wants = o.cases.wants;
    if (wants.empty()) wants = {"counts", "digest", "supernodes"};
    wants.emplace_back("pattern");
  }
  verify_mode verify = verify_mode::automatic;
  std::vector<planned_case> cases;
  mpi_context& j = mpi_context::world();
  j.collective_try([&] {
    verify = parse_verify_mode(o.verify);
    cases = plan_cases(o.cases);
  });
  std::vector<std::string> matrices;
  j.collective_try([&] {
    matrices = matrices_to_run(o);
    if (!o.output.out.empty()) refuse_other_text(o.output.out);
  });
  auto load = [&](const std::string& name) {
    const status_line shown(
        [what = shown_name(name)] { return what + ": reading, matching, ordering"; });
    return o.matrix.load(name);
  };
  if (matrices.size() == 1) {
    const prepared_pattern a = load_on_root(j, [&] { return load(matrices.front()); });
    case_session out(session, o.output);
    out.expect_cases(cases.size());
    out.run(a, cases, verify);
    out.print_table();
    if (!o.output.json && j.root()) print_stand_in_note(a.origin());
    return out.code();
  }
  o.output.matrix_column = true;
  case_session out(session, o.output);
  out.expect_cases(cases.size() * matrices.size());
  exit_code refusal = exit_code::ok;
  for (const std::string& name : matrices) {
    std::string refused;
    exit_code why = exit_code::ok;
    const prepared_pattern a = load_on_root(j, [&]() -> prepared_pattern {
      try {
        return load(name);
      } catch (const error& e) {
        if (e.code() == exit_code::unavailable) throw;
        refused = e.what();
        why = e.code();
      } catch (const std::bad_alloc&) {
        refused = shown_name(name) + ": out of memory";
        why = exit_code::run_failed;
      }
      return {};
    });
    j.broadcast(why);
    if (why == exit_code::ok) {
      out.run(a, cases, verify);
      continue;
    }
    // The others run; the exit status says that one did not.
    refusal = std::max(refusal, why);
    out.leave_out(cases.size());
    if (j.root()) std::fprintf(stderr, "gsofa: error: %s\n", one_line(refused).c_str());
  }
  out.print_table();
  const exit_code code = out.code();
  return code == exit_code::ok ? refusal : code;
}

}  // namespace

void add_run_command(CLI::App& app, command_action& action) {
  auto o = std::make_shared<run_options>();
  CLI::App* c = app.add_subcommand("run", "Run variants on matrices; verify, time and record");
  o->matrix.add_to(*c, true);
  c->add_option("-v,--variant", o->cases.variants,
                fmt::format("Variants to run, repeatable: {}; default: all", selection_words))
      ->type_name("V")
      ->take_all()
      ->allow_extra_args(false);
  c->add_option("--repeat", o->cases.trials.repeat,
                "Timed runs of each case; each has a new variant object and is verified")
      ->check(CLI::Range(1, 1000000))
      ->type_name("K")
      ->capture_default_str();
  auto* const until =
      c->add_option("--until", o->cases.trials.until,
                    fmt::format("After --repeat runs, repeat a case until the 95 % interval of its "
                                "median reaches at most P from the median, such as 5%, or {} times",
                                trial_plan::most_repeats))
          ->transform(is_a_percentage())
          ->type_name("P%");
  c->add_option("--warmup", o->cases.trials.warmup, "Runs of another pattern before each timed run")
      ->check(CLI::Range(0, 1000000))
      ->type_name("W")
      ->capture_default_str();
  c->add_flag(
       "--interleave", o->cases.trials.interleave,
       "Run the cases of a matrix alternately; cases of a second or more run at most 3 times")
      ->excludes(until);
  c->add_option("--want", o->cases.wants,
                "Results to request, repeatable: counts, digest, pattern, supernodes; default: "
                "everything that the variant provides except pattern")
      ->type_name("WHAT")
      ->take_all()
      ->allow_extra_args(false);
  c->add_option("--chunk-size", o->cases.chunk_size,
                "Supernodes never cross a multiple of C; 0: unlimited")
      ->check(CLI::Range(0, 2147483647))
      ->type_name("C")
      ->capture_default_str();
  c->add_option("--verify", o->verify,
                fmt::format("How results are verified; auto: oracle for n <= {}, otherwise "
                            "certificate if it takes at most {:g} steps, otherwise digest",
                            oracle_order, certificate_budget))
      ->type_name("none|digest|oracle|certificate|auto")
      ->capture_default_str();
  c->add_option("--set", o->cases.sets,
                "Set an option, repeatable: key=value for every variant that has the option, or "
                "variant.key=value for one variant; key=a,b,c runs a case for each value, several "
                "such lists a case for each combination; -1 is the default of an integer option")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  c->add_option("--threads", o->cases.threads,
                "Host threads of multithreaded variants; 0: all threads of this process")
      ->check(CLI::Range(0, 4096))
      ->type_name("T")
      ->capture_default_str();
  c->add_option("--timeout", o->cases.trials.timeout, "Time limit of each run in seconds; 0: none")
      ->check(CLI::Range(0.0, 1e9))
      ->check(is_a_number())
      ->type_name("S")
      ->capture_default_str();
  c->add_option("--out", o->output.out, "Append the records to this file, one line each")
      ->check(is_an_output())
      ->type_name("FILE.jsonl");
  c->add_flag("--json", o->output.json, "Print only the records, one line each");
  c->add_option(
       "--pattern-out", o->output.pattern_out,
       "Write L and U as Matrix Market patterns, and the row and column permutations, into this "
       "folder; DIR.gz: compress the patterns with gzip and write them into DIR; implies --want "
       "pattern")
      ->check(is_an_output())
      ->type_name("DIR");
  c->add_flag("--resume", o->output.resume, "Skip cases that --out already has");
  c->add_flag("--series", o->output.series,
              "Counting build: write per-source counters into the records");
  c->footer(
      "Variants: " + known_variants() +
      "\n`gsofa list` describes them and their options."
      "\nTimes are those of a pattern that is analysed for the first time in a warm process: "
      "a run of another pattern precedes every timed run, and every run has a new variant object, "
      "which is constructed and prepared off the clock. "
      "With --warmup 0 the first run of the process also creates the GPU's context and maps "
      "memory; its record says first_in_process."
      "\nExit status: 0 no result was refuted, 1 a result was refuted, 2 bad input, 3 a variant "
      "that was named is unavailable on this machine, 4 timeout, out of memory or error.\n");
  c->callback([o, c, &action] {
    o->matrix.note_given(*c);
    if (o->output.series && !is_counting_build()) {
      throw CLI::ValidationError("--series",
                                 "only the counting build, gsofa_counting, has counters");
    }
    if (o->output.resume && o->output.out.empty()) {
      throw CLI::ValidationError("--resume", "needs --out");
    }
    action = [o](const session_info& session) { return run(*o, session); };
  });
}

}  // namespace gsofa
