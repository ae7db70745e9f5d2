#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>

#include "common/cuda_device.hpp"
#include "common/rank_errors.hpp"
#include "common/text.hpp"
#include "harness/commands/case_session.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/experiment.hpp"
#include "harness/matrices/kept_matrix.hpp"
#include "harness/matrices/matrix_source.hpp"
#include "harness/run/distribute.hpp"
#include "harness/run/machine.hpp"
#include "harness/run/selection.hpp"
#include "harness/run/status.hpp"
#include "harness/run/status_line.hpp"
#include "variants/support/build_kind.hpp"

namespace gsofa {

namespace {

struct experiment_options {
  std::filesystem::path spec;
  std::string group = "smoke";
  std::vector<std::string> matrices;  // empty: all
  std::vector<std::string> devices;   // empty: all
  std::vector<std::string> variants;  // empty: all
  std::filesystem::path prepared;     // empty: every matrix is prepared anew
  kind_folders folders;
  output_options output;
};

// The spec's matrices that `words` select, by name or shell pattern.
std::vector<std::string> matrices_of_spec(const experiment_spec& spec,
                                          const std::vector<std::string>& words) {
  std::vector<std::string> known;
  for (const auto& c : spec.cases) {
    for (const std::string& name : c.matrices) {
      if (std::ranges::find(known, name) == known.end()) known.push_back(name);
    }
  }
  std::vector<std::string> chosen;
  for (const std::string& word : words) {
    std::vector<std::string> found;
    for (const std::string& name : known) {
      if (name == word || fnmatch(word.c_str(), name.c_str(), 0) == 0) found.push_back(name);
    }
    // A list with commas, if it is no name with commas in it.
    if (found.empty() && word.find(',') != word.npos && !word.starts_with("gen:")) {
      found = matrices_of_spec(spec, split_at_commas(word));
    }
    if (found.empty()) {
      const std::string hint = nearest(word, known);
      throw input_error(fmt::format("{}: no matrix '{}'{}", spec.name, word,
                                    hint.empty() ? "" : "; did you mean '" + hint + "'?"));
    }
    chosen.insert(chosen.end(), found.begin(), found.end());
  }
  return chosen;
}

// A case of the spec with the runs that the options leave of it.
struct planned {
  const experiment_case* source;
  std::vector<planned_case> cases;
};

// What the options select of a spec.
struct chosen_cases {
  std::vector<planned> plan;
  std::size_t total = 0;  // runs
  bool series = false;    // some case records series
  bool in_group = false;  // the spec has a case of the group

  std::vector<selected_variant> variants;  // empty: all
  std::vector<std::string> matrices;       // empty: all

  bool takes(const std::string& matrix) const {
    return matrices.empty() || std::ranges::find(matrices, matrix) != matrices.end();
  }
};

// The runs of a case for each chunk size. Throws input_error that names the case.
std::vector<planned_case> runs_of(const experiment_case& c) {
  std::vector<planned_case> out;
  try {
    for (const index_t size : c.chunk_sizes) {
      case_options options = c.cases;
      options.chunk_size = size;
      for (auto& run : plan_cases(options)) out.push_back(std::move(run));
    }
  } catch (const input_error& e) {
    throw input_error(c.where + ": " + e.what());
  }
  return out;
}

// Removes the runs that --device and --variant exclude; runs without enough GPUs get a reason.
void restrict_runs(const experiment_options& o, const chosen_cases& s, planned& p) {
  std::erase_if(p.cases, [&](const planned_case& run) {
    const variant_info* const info = run.request.info;
    const bool device =
        o.devices.empty() || std::ranges::find(o.devices, info->device) != o.devices.end();
    const bool variant =
        s.variants.empty() ||
        std::ranges::find(s.variants, info, &selected_variant::info) != s.variants.end();
    return !device || !variant;
  });
  const auto gpus = static_cast<int>(find_cuda_devices().devices.size());
  if (gpus >= p.source->gpus) return;
  for (auto& run : p.cases) {
    run.skip_reason = fmt::format("needs {} GPUs, this process sees {}", p.source->gpus, gpus);
  }
}

// Resolves every name and option of the spec before the first case runs.
chosen_cases select(const experiment_options& o, const experiment_spec& spec, mpi_context& j) {
  chosen_cases s;
  j.collective_try([&] {
    s.variants = select_variants(o.variants);
    s.matrices = matrices_of_spec(spec, o.matrices);
  });
  for (const auto& c : spec.cases) {
    if (std::ranges::find(c.groups, o.group) == c.groups.end()) continue;
    s.in_group = true;
    if (c.counting != is_counting_build() || c.ranks != j.ranks()) continue;
    planned p{&c, {}};
    j.collective_try([&] { p.cases = runs_of(c); });
    restrict_runs(o, s, p);
    const auto chosen =
        std::ranges::count_if(c.matrices, [&](const std::string& name) { return s.takes(name); });
    s.total += static_cast<std::size_t>(chosen) * c.orders.size() * p.cases.size();
    s.series = s.series || c.series;
    s.plan.push_back(std::move(p));
  }
  return s;
}

// A matrix in one order on the root, or the reason why a matrix of a folder is left out.
struct loaded_matrix {
  prepared_pattern a;
  std::string refused;
};

loaded_matrix load(const experiment_options& o, const experiment_case& c, const std::string& name,
                   const std::string& order) {
  const prepare_options how{
      .match = c.match, .order = order, .seed = c.seed, .threads = this_machine().hardware_threads};
  const auto kind = c.of_kinds.find(name);
  const bool of_kind = kind != c.of_kinds.end();
  try {
    auto loaded = load_kept_matrix(o.prepared, name, how);
    // A generated matrix may be in the folder of another kind.
    if (of_kind && loaded.origin().kind == kind_words[0].kind) loaded.origin().kind = kind->second;
    const index_t rows = loaded.view().n_rows;
    if (!of_kind || rows >= c.least_order) return {std::move(loaded), ""};
    return {{}, fmt::format("has {} rows, fewer than {}", rows, c.least_order)};
  } catch (const error& e) {
    // A folder of many matrices may hold matrices that no variant can factor.
    if (!of_kind || e.code() == exit_code::unavailable) throw;
    return {{}, e.what()};
  }
}

// The runs of a case on one matrix in one order.
void run_ordered(const experiment_options& o, const planned& p, const std::string& name,
                 const std::string& order, case_session& out, mpi_context& j) {
  std::string refused;
  std::optional<status_line> shown;
  shown.emplace([what = shown_name(name)] { return what + ": reading, matching, ordering"; });
  const auto a = load_on_root(j, [&] {
    loaded_matrix loaded = load(o, *p.source, name, order);
    refused = std::move(loaded.refused);
    return std::move(loaded.a);
  });
  shown.reset();
  bool leave_out = !refused.empty();
  j.broadcast(leave_out);
  if (!leave_out) {
    out.run(a, p.cases, p.source->verify);
    return;
  }
  out.leave_out(p.cases.size());
  if (j.root()) {
    std::fprintf(stderr, "%s: left out: %s\n", one_line(shown_name(name)).c_str(),
                 one_line(refused).c_str());
  }
}

void run_planned(const experiment_options& o, const chosen_cases& s, const planned& p,
                 case_session& out, mpi_context& j) {
  const bool idle =
      std::ranges::none_of(p.cases, [](const planned_case& c) { return c.skip_reason.empty(); });
  for (const auto& name : p.source->matrices) {
    if (!s.takes(name)) continue;
    for (const auto& order : p.source->orders) {
      if (idle) {
        out.skip(p.cases);
      } else {
        run_ordered(o, p, name, order, out, j);
      }
    }
  }
}

void print_summary(const case_session& out, const std::string& name) {
  std::string summary;
  for (const auto& [status, count] : out.totals()) {
    summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", count, to_string(status));
  }
  if (out.resumed() > 0) summary += fmt::format("; {} already recorded", out.resumed());
  std::fprintf(stderr, "%s: %s\n", one_line(name).c_str(), summary.c_str());
}

exit_code run(const experiment_options& o, session_info session) {
  mpi_context& j = mpi_context::world();
  experiment_spec spec;
  j.collective_try([&] { spec = read_experiment(o.spec, o.folders); });
  session.experiment = spec.name;
  const chosen_cases s = select(o, spec, j);
  if (!s.in_group) {
    throw collective_error(exit_code::bad_input,
                           fmt::format("{}: no [[case]] in group '{}'", o.spec.string(), o.group));
  }
  if (s.plan.empty() && j.root()) {
    std::fprintf(stderr, "%s: nothing for the %s build with %d ranks in group %s\n",
                 one_line(spec.name).c_str(), is_counting_build() ? "counting" : "timed", j.ranks(),
                 one_line(o.group).c_str());
  }
  output_options output = o.output;
  output.matrix_column = true;
  output.series = s.series;
  case_session out(std::move(session), output);
  out.expect_cases(s.total);
  for (const auto& p : s.plan) run_planned(o, s, p, out, j);
  out.print_table();
  std::cout.flush();  // the table precedes the summary line also if both go to one file
  if (j.root()) print_summary(out, spec.name);
  return out.code();
}

}  // namespace

void add_experiment_command(CLI::App& app, command_action& action) {
  auto o = std::make_shared<experiment_options>();
  CLI::App* c = app.add_subcommand("experiment", "Run the cases of an experiments/*/spec.toml");
  c->add_option("spec", o->spec, "File with the cases")->required()->type_name("SPEC.toml");
  c->add_option("--group", o->group, "Group of cases to run: paper or smoke")
      ->type_name("GROUP")
      ->capture_default_str();
  c->add_option("--matrix", o->matrices,
                "Run only these matrices of the spec: names or patterns, repeatable")
      ->type_name("NAME");
  c->add_option("-v,--variant", o->variants,
                fmt::format("Run only these variants, repeatable: {}", selection_words))
      ->type_name("V");
  c->add_option("--device", o->devices, "Run only variants of this device, repeatable")
      ->check(CLI::IsMember({"cpu", "gpu", "mpi", "peer"}));
  c->add_option(
       "--prepared", o->prepared,
       "Folder that keeps prepared matrices: a file is read if its source, generator, matching, "
       "order, seed and code are unchanged, and written otherwise")
      ->type_name("FOLDER");
  for (const auto& [word, kind] : kind_words) {
    const std::string option = std::string("--") + (word + 1);
    c->add_option_function<std::filesystem::path>(
         option, [o, w = word](const std::filesystem::path& folder) { o->folders[w] = folder; },
         fmt::format("Folder of matrices and prepared matrices that {} in a spec stands for; "
                     "matrices that are structurally singular or too small for a case are "
                     "skipped; default: the bundled matrices of kind {}",
                     word, kind))
        ->type_name("FOLDER");
  }
  c->add_option("--out", o->output.out, "Append the records to this file, one line each")
      ->check(is_an_output())
      ->type_name("FILE.jsonl");
  c->add_flag("--json", o->output.json, "Print only the records, one line each");
  c->add_flag("--resume", o->output.resume, "Skip cases that --out already has");
  c->callback([o, &action] {
    if (o->output.resume && o->output.out.empty()) {
      throw CLI::ValidationError("--resume", "needs --out");
    }
    action = [o](const session_info& session) { return run(*o, session); };
  });
}

}  // namespace gsofa
