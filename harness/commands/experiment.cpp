#include "harness/commands/experiment.hpp"

#include "harness/matrices/datasets.hpp"
#include "harness/matrices/toml_reader.hpp"
#include "harness/run/build_info.hpp"

namespace gsofa {

#ifdef GSOFA_HAVE_TOMLPLUSPLUS

namespace {

std::vector<std::string> expand(const std::vector<std::string>& matrices) {
  std::vector<std::string> out;
  for (const auto& m : matrices) {
    if (m == "@bundled") {
      const auto names = dataset_catalog::repository().bundled();
      out.insert(out.end(), names.begin(), names.end());
    } else if (m.find('/') != std::string::npos && !m.starts_with("gen:")) {
      out.push_back((repository_root() / m).string());
    } else {
      out.push_back(m);
    }
  }
  return out;
}

experiment_case read_case(const toml::table& table, const std::string& file) {
  toml_table_reader t(table, file);
  experiment_case c;
  c.where = t.where();
  std::string match = "auto";
  std::string verify = "auto";
  t.get("groups", c.groups);
  t.get("matrices", c.matrices);
  t.get("orders", c.orders);
  t.get("match", match);
  t.get("seed", c.seed);
  t.get("variants", c.cases.variants);
  t.get("options", c.cases.sets);
  t.get("want", c.cases.wants);
  t.get("repeat", c.cases.trials.repeat);
  t.get("warmup", c.cases.trials.warmup);
  t.get("timeout", c.cases.trials.timeout);
  t.get("threads", c.cases.threads);
  t.get("chunk_size", c.cases.chunk_size);
  t.get("verify", verify);
  t.get("counting", c.counting);
  t.get("series", c.series);
  t.get("ranks", c.ranks);
  t.get("gpus", c.gpus);
  c.cases.skip_unavailable = true;
  t.finish();
  if (c.groups.empty()) t.fail("[[case]] without groups");
  if (c.matrices.empty()) t.fail("[[case]] without matrices");
  if (c.orders.empty()) t.fail("[[case]] with an empty list of orders");
  if (c.cases.trials.repeat < 1 || c.cases.trials.warmup < 0 ||
      !(c.cases.trials.timeout >= 0 && c.cases.trials.timeout <= 1e9) || c.cases.threads < 0 ||
      c.cases.chunk_size < 0 || c.ranks < 1 || c.gpus < 0) {
    t.fail("[[case]] with repeat or ranks < 1, a negative number or a timeout above 1e9 s");
  }
  if (c.series && !c.counting) t.fail("[[case]] with series, which needs counting = true");
  try {
    if (match != "auto" && match != "none") throw input_error("match is neither auto nor none");
    c.match = match == "none" ? match_mode::none : match_mode::automatic;
    c.verify = parse_verify_mode(verify);
  } catch (const input_error& e) {
    t.fail(e.what());
  }
  c.matrices = expand(c.matrices);
  return c;
}

}  // namespace

experiment_spec read_experiment(const std::filesystem::path& file) {
  const toml::table root = read_toml(file);
  toml_table_reader t(root, file.string());
  experiment_spec spec;
  std::string text;
  t.get("name", spec.name);
  t.get("title", text);
  t.get("claim", text);
  const auto cases = t.tables("case");
  t.finish();
  if (spec.name.empty()) spec.name = file.parent_path().filename().string();
  if (cases.empty()) t.fail("no [[case]]");
  for (const toml::table* table : cases) spec.cases.push_back(read_case(*table, file.string()));
  return spec;
}

#else

experiment_spec read_experiment(const std::filesystem::path& file) {
  throw unavailable_error(file.string() +
                          ": this build cannot read TOML: apt-get install libtomlplusplus-dev");
}

#endif

}  // namespace gsofa
