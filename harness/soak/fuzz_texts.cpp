#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "common/file.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/experiment.hpp"
#include "harness/matrices/datasets.hpp"
#include "harness/record/record_file.hpp"
#include "harness/run/case_plan.hpp"
#include "harness/soak/fuzz_support.hpp"

namespace gsofa::soak {

namespace {

namespace fs = std::filesystem;

std::string read_experiment_spec(std::string_view bytes) {
  try {
    for (const experiment_case& c : read_experiment(scratch_file(bytes)).cases) {
      plan_cases(c.cases);
    }
    return "";
  } catch (const error& e) {
    return checked(e);
  }
}

texts experiment_seeds() {
  return {
      "name = \"soak\"\ntitle = \"t\"\nclaim = \"c\"\n\n[[case]]\ngroups = [\"smoke\", \"paper\"]\n"
      "matrices = [\"@bundled\", \"gen:grid5:nx=4\", \"a/b.mtx\"]\norders = [\"metis\", "
      "\"natural\"]\nmatch = \"none\"\nseed = 3\nvariants = [\"cpu_maxid\", \"gpu_maxid\"]\n"
      "options = [\"line_9_5=true,false\", \"gpu_maxid.block_size=128\"]\nwant = [\"counts\", "
      "\"digest\"]\nrepeat = 2\nwarmup = 0\ntimeout = 1.5\nthreads = 2\nchunk_size = 64\n"
      "verify = \"oracle\"\ncounting = false\nseries = false\nranks = 1\ngpus = 0\n",
      "[[case]]\ngroups = ['''a''']\nmatrices = [\"\"\"x\"\"\"]\n# comment\n[[case]]\n"
      "groups = [\"smoke\"]\nmatrices = [\"add32\"]\nrepeat = 0x10\ntimeout = 1e3\n",
      "case = [{groups = [\"smoke\"], matrices = [\"AU\"]}]\nname = 1979-05-27T07:32:00Z\n"
      "a.b.\"c\".d = nan\n",
      "name = \"\\u00e9\\U0001F600\\t\"\n[case]\nx = [[[[[[[[1]]]]]]]]\n",
  };
}

std::string read_datasets(std::string_view bytes) {
  try {
    const dataset_catalog catalog = dataset_catalog::load(scratch_file(bytes));
    for (const dataset& d : catalog.entries()) {
      require(catalog.find(d.name) != nullptr, "an entry is found by its name");
    }
    return "";
  } catch (const error& e) {
    return checked(e);
  }
}

texts dataset_seeds() {
  return {"[[bundled]]\nname = \"a\"\nfile = \"matrices/a.mtx.gz\"\nsha256 = \"" +
          std::string(64, 'b') +
          "\"\n\n[[matrix]]\nname = \"b\"\nabbr = \"BB\"\ngroup = \"G\"\nstand_in = "
          "\"gen:diagonal:n=3\"\npaper = {order = 4, nnz = 7, symmetry = 0.5, fill_ratio = 2.5}\n"};
}

std::string read_records(std::string_view bytes) {
  const fs::path& file = scratch_file(bytes);
  try {
    recorded_keys(file);
    return "";
  } catch (const input_error& e) {
    return checked(e);
  }
}

texts record_seeds() {
  session_info session;
  session.run_id = "r";
  session.argv = {"gsofa", "run"};
  provenance origin = sample_origin();
  origin.name = "audikw_1";
  const prepared_pattern a(sample(), {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}, origin);
  case_request request;
  request.info = &find_variant("cpu_maxid");
  request.settings.options = option_set(request.info->options);
  case_outcome outcome;
  outcome.judged = {run_status::pass, ""};
  outcome.samples_s = {0.5, 0.25};
  outcome.phases_s = {{"traverse", 0.25}};
  outcome.last.emplace();
  const json passed = make_record(session, a, request, outcome, true);
  const json skipped = make_record(session, a, request, skipped_case("no GPU"), false);
  record_writer writer;
  std::string both = writer.lines_of(skipped);
  both += writer.lines_of(passed);
  return {json_line(passed) + "\n", both,
          "{\"simulated\": 1.5, \"matrix\": \"AU\", \"gpus\": 4, \"schedule\": \"dynamic\"}\n"
          "{\"dram_gb_per_s\": 1, \"matrix\": \"AU\", \"variant\": \"cpu_maxid\"}\n"};
}

// The command line, its arguments separated by lines; nothing is carried out.
std::string read_command_line(std::string_view bytes) {
  texts words{"gsofa"};
  for (std::size_t at = 0; at <= bytes.size() && words.size() < 64;) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    std::string word(bytes.substr(at, end - at));
    std::erase(word, '\0');
    words.push_back(std::move(word));
    at = end + 1;
  }
  std::vector<const char*> argv;
  for (const std::string& w : words) argv.push_back(w.c_str());
  CLI::App app("fuzz", "gsofa");
  app.require_subcommand(1);
  app.set_version_flag("--version", "0");
  command_action action;
  add_commands(app, action);
  try {
    app.parse(static_cast<int>(argv.size()), argv.data());
    require(static_cast<bool>(action), "a command line that parses says what to do");
    return "";
  } catch (const CLI::ParseError& e) {
    return e.get_exit_code() == 0 ? "" : checked(e);
  } catch (const error& e) {
    return checked(e);
  }
}

texts command_line_seeds() {
  return {
      "run\n--matrix\nbcsstk18\n-v\ncpu_maxid\n--variant\ncpu_fill2\n--set\nline_9_5=true,false\n"
      "--repeat\n3\n--warmup=0\n--timeout\n1.5\n--want\ncounts\n--chunk-size\n64\n--threads\n2",
      "run\n--matrix\nx\n--resume\n--json\n--out\nf\n--verify\noracle\n--series",
      "prepare\n--matrix\nx\n--order\namd\n--match\nnone\n--seed\n7\n-o\nf\n--order-out\ng",
      "experiment\ns.toml\n--group\npaper\n--device\ncpu\n--out\nf\n--resume\n--matrix\nAU",
      "check\n--suite\nfull\n--seed\n2\n--patterns\n6\n--variant\ncpu_maxid\n--save\nd",
      "info\n--matrix\ngen:grid5:nx=4\n--json\n--no-fill",
      "list\n--json\n--planted",
      "--version",
      "--help"};
}

// Lines "v NAME", "w WANT", "s KEY=VALUE": what a run asks of the registry.
std::string read_case_options(std::string_view bytes) {
  case_options asked;
  asked.skip_unavailable = true;
  std::istringstream in{std::string(bytes)};
  std::size_t values = 1;
  for (std::string line; std::getline(in, line);) {
    const std::string word = line.size() > 2 ? line.substr(2) : "";
    if (line.starts_with("v")) asked.variants.push_back(word);
    if (line.starts_with("w")) asked.wants.push_back(word);
    if (line.starts_with("s")) {
      values *= static_cast<std::size_t>(std::ranges::count(word, ',')) + 1;
      asked.sets.push_back(word);
    }
  }
  // The user asks for combinations, whose number is a product.
  if (values > 64) return "more cases than one wants here";
  try {
    for (const planned_case& c : plan_cases(asked)) {
      require(c.request.info != nullptr, "a planned case has a variant");
    }
    return "";
  } catch (const error& e) {
    return checked(e);
  }
}

texts case_option_seeds() {
  texts seeds{
      "v cpu_maxid\nv gpu_maxid\nw counts\nw digest\ns line_9_5=true,false\n"
      "s gpu_maxid.block_size=128\n"};
  for (const variant_info& v : all_variants()) {
    std::string seed = "v " + v.name + "\n";
    for (const option_spec& o : v.options) {
      seed += "s " + o.name + "=" + to_string(o.default_value) + "\n";
    }
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

}  // namespace

std::vector<fuzz_target> text_targets() {
  return {{"experiment", experiment_seeds, read_experiment_spec},
          {"datasets", dataset_seeds, read_datasets},
          {"records", record_seeds, read_records},
          {"command_line", command_line_seeds, read_command_line},
          {"case_options", case_option_seeds, read_case_options}};
}

}  // namespace gsofa::soak
