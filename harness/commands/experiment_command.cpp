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

// Those of the names of the spec that words select: names, or shell patterns.
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

exit_code run(const experiment_options& o, session_info session) {
  mpi_context& j = mpi_context::world();
  experiment_spec spec;
  j.collective_try([&] { spec = read_experiment(o.spec, o.folders); });
  session.experiment = spec.name;
  // Every name and option is resolved before the first case runs.
  struct planned {
    const experiment_case* source;
    std::vector<planned_case> cases;
  };
  std::vector<planned> plan;
  std::vector<selected_variant> variants;
  std::vector<std::string> matrices;
  j.collective_try([&] {
    variants = select_variants(o.variants);
    matrices = matrices_of_spec(spec, o.matrices);
  });
  const auto wanted = [&](const std::string& name) {
    return o.matrices.empty() || std::ranges::find(matrices, name) != matrices.end();
  };
  std::size_t total = 0;
  bool series = false;
  bool in_group = false;
  for (const auto& c : spec.cases) {
    if (std::ranges::find(c.groups, o.group) == c.groups.end()) continue;
    in_group = true;
    if (c.counting != is_counting_build() || c.ranks != j.ranks()) continue;
    plan.push_back({&c, {}});
    j.collective_try([&] {
      try {
        for (const index_t size : c.chunk_sizes) {
          case_options options = c.cases;
          options.chunk_size = size;
          for (auto& planned : plan_cases(options)) plan.back().cases.push_back(std::move(planned));
        }
      } catch (const input_error& e) {
        throw input_error(c.where + ": " + e.what());
      }
    });
    std::erase_if(plan.back().cases, [&](const planned_case& p) {
      const variant_info* const info = p.request.info;
      const bool device =
          o.devices.empty() || std::ranges::find(o.devices, info->device) != o.devices.end();
      const bool variant =
          variants.empty() ||
          std::ranges::find(variants, info, &selected_variant::info) != variants.end();
      return !device || !variant;
    });
    if (const auto gpus = static_cast<int>(find_cuda_devices().devices.size()); gpus < c.gpus) {
      for (auto& p : plan.back().cases) {
        p.skip_reason = fmt::format("needs {} GPUs, this process sees {}", c.gpus, gpus);
      }
    }
    const auto chosen = std::ranges::count_if(c.matrices, wanted);
    total += static_cast<std::size_t>(chosen) * c.orders.size() * plan.back().cases.size();
    series = series || c.series;
  }
  if (!in_group) {
    throw collective_error(exit_code::bad_input,
                           fmt::format("{}: no [[case]] in group '{}'", o.spec.string(), o.group));
  }
  if (plan.empty() && j.root()) {
    std::fprintf(stderr, "%s: nothing for the %s build with %d ranks in group %s\n",
                 one_line(spec.name).c_str(), is_counting_build() ? "counting" : "timed", j.ranks(),
                 one_line(o.group).c_str());
  }
  output_options output = o.output;
  output.matrix_column = true;
  output.series = series;
  case_session out(std::move(session), output);
  out.expect_cases(total);
  for (const auto& p : plan) {
    for (const auto& name : p.source->matrices) {
      if (!wanted(name)) continue;
      const bool idle = std::ranges::none_of(
          p.cases, [](const planned_case& c) { return c.skip_reason.empty(); });
      for (const auto& order : p.source->orders) {
        if (idle) {
          out.skip(p.cases);
          continue;
        }
        const prepare_options how{.match = p.source->match,
                                  .order = order,
                                  .seed = p.source->seed,
                                  .threads = this_machine().hardware_threads};
        const auto kind = p.source->of_kinds.find(name);
        const bool of_kind = kind != p.source->of_kinds.end();
        std::string refused;
        std::optional<status_line> shown;
        shown.emplace([what = shown_name(name)] { return what + ": reading, matching, ordering"; });
        const auto a = load_on_root(j, [&]() -> prepared_pattern {
          try {
            auto loaded = load_kept_matrix(o.prepared, name, how);
            // A generated matrix may be in the folder of another kind.
            if (of_kind && loaded.origin().kind == kind_words[0].kind)
              loaded.origin().kind = kind->second;
            if (!of_kind || loaded.view().n_rows >= p.source->least_order) return loaded;
            refused = fmt::format("has {} rows, fewer than {}", loaded.view().n_rows,
                                  p.source->least_order);
          } catch (const input_error& e) {
            // A folder of many matrices may hold some that no one can factor.
            if (!of_kind) throw;
            refused = e.what();
          }
          return {};
        });
        shown.reset();
        bool leave_out = !refused.empty();
        j.broadcast(leave_out);
        if (!leave_out) {
          out.run(a, p.cases, p.source->verify);
          continue;
        }
        out.leave_out(p.cases.size());
        if (j.root()) {
          std::fprintf(stderr, "%s: left out: %s\n", one_line(shown_name(name)).c_str(),
                       one_line(refused).c_str());
        }
      }
    }
  }
  out.print_table();
  std::cout.flush();  // the table stands before the summary line also where both go to one file
  std::string summary;
  for (const auto& [status, count] : out.totals()) {
    summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", count, to_string(status));
  }
  if (out.resumed() > 0) summary += fmt::format("; {} already recorded", out.resumed());
  if (j.root()) std::fprintf(stderr, "%s: %s\n", one_line(spec.name).c_str(), summary.c_str());
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
