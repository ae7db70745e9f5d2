#include "harness/commands/experiment.hpp"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "common/matching.hpp"
#include "harness/matrices/datasets.hpp"
#include "harness/matrices/matrix_source.hpp"
#include "harness/matrices/toml_reader.hpp"
#include "harness/run/build_info.hpp"

namespace gsofa {

#ifdef GSOFA_HAVE_TOMLPLUSPLUS

namespace {

std::vector<std::string> files_of(const std::filesystem::path& folder) {
  std::vector<std::pair<std::uintmax_t, std::string>> found;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && (is_named_as_matrix_file(name) || name.ends_with(".bin")))
      found.emplace_back(entry.file_size(), entry.path().string());
  }
  if (failure) throw input_error(folder.string() + ": " + failure.message());
  std::ranges::sort(found);
  std::vector<std::string> files;
  for (auto& [size, file] : found) files.push_back(std::move(file));
  return files;
}

// Replaces the words in c.matrices and fills c.of_kinds.
void expand(experiment_case& c, const kind_folders& folders) {
  std::vector<std::string> out;
  for (const auto& m : c.matrices) {
    const auto word = std::ranges::find_if(kind_words, [&](const auto& w) { return m == w.word; });
    if (word != std::end(kind_words)) {
      const auto folder = folders.find(m);
      const auto names = folder == folders.end() ? dataset_catalog::repository().bundled(word->kind)
                                                 : files_of(folder->second);
      for (const auto& name : names) c.of_kinds.emplace(name, word->kind);
      out.insert(out.end(), names.begin(), names.end());
    } else if (m == "@bundled") {
      const auto names = dataset_catalog::repository().bundled();
      out.insert(out.end(), names.begin(), names.end());
    } else if (m.find('/') != std::string::npos && !m.starts_with("gen:")) {
      out.push_back((repository_root() / m).string());
    } else {
      out.push_back(m);
    }
  }
  c.matrices = std::move(out);
}

using word_lists = std::map<std::string, std::vector<std::string>>;  // by "@" and the name

word_lists read_lists(const toml::table* table, const std::string& file) {
  word_lists lists;
  if (table == nullptr) return lists;
  toml_table_reader t(*table, file);
  for (const auto& [key, node] : *table) {
    const std::string name(key.str());
    t.get(name.c_str(), lists["@" + name]);
  }
  return lists;
}

std::vector<std::string> replaced(const std::vector<std::string>& words, const word_lists& lists) {
  std::vector<std::string> out;
  for (const auto& word : words) {
    const auto list = lists.find(word);
    const auto& found = list == lists.end() ? std::vector{word} : list->second;
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

experiment_case read_case(const toml::table& table, const std::string& file,
                          const std::vector<const toml::table*>& defaults, const word_lists& lists,
                          const kind_folders& folders) {
  toml_table_reader t(table, file, defaults);
  experiment_case c;
  c.where = t.where();
  std::string match = "auto";
  std::string verify = "auto";
  t.get("groups", c.groups);
  t.get("matrices", c.matrices);
  t.get("least_order", c.least_order);
  t.get("orders", c.orders);
  t.get("match", match);
  t.get("seed", c.seed);
  t.get("variants", c.cases.variants);
  t.get("options", c.cases.sets);
  t.get("want", c.cases.wants);
  t.get("repeat", c.cases.trials.repeat);
  t.get("warmup", c.cases.trials.warmup);
  t.get("timeout", c.cases.trials.timeout);
  t.get("interleave", c.cases.trials.interleave);
  t.get("threads", c.cases.threads);
  t.get("chunk_size", c.cases.chunk_size);
  t.get("chunk_sizes", c.chunk_sizes);
  t.get("verify", verify);
  t.get("counting", c.counting);
  t.get("series", c.series);
  t.get("ranks", c.ranks);
  t.get("gpus", c.gpus);
  c.cases.skip_unavailable = true;
  t.tables("cases");
  t.finish();
  for (auto* words : {&c.matrices, &c.orders, &c.cases.variants, &c.cases.sets, &c.cases.wants})
    *words = replaced(*words, lists);
  if (c.groups.empty()) t.fail("[[case]] without groups");
  if (c.matrices.empty()) t.fail("[[case]] without matrices");
  if (c.orders.empty()) t.fail("[[case]] with an empty list of orders");
  if (c.cases.trials.repeat < 1 || c.cases.trials.warmup < 0 ||
      !(c.cases.trials.timeout >= 0 && c.cases.trials.timeout <= 1e9) || c.cases.threads < 0 ||
      c.cases.chunk_size < 0 || c.least_order < 0 || c.ranks < 1 || c.gpus < 0) {
    t.fail("[[case]] with repeat or ranks < 1, a negative number or a timeout above 1e9 s");
  }
  if (c.chunk_sizes.empty()) c.chunk_sizes = {c.cases.chunk_size};
  if (std::ranges::any_of(c.chunk_sizes, [](index_t size) { return size < 0; }))
    t.fail("[[case]] with a negative chunk size");
  if (c.series && !c.counting) t.fail("[[case]] with series, which needs counting = true");
  try {
    if (match != match_auto && match != match_none) find_matching(match);
    c.match = match;
    c.verify = parse_verify_mode(verify);
  } catch (const input_error& e) {
    t.fail(e.what());
  }
  expand(c, folders);
  return c;
}

}  // namespace

experiment_spec read_experiment(const std::filesystem::path& file, const kind_folders& folders) {
  const toml::table root = read_toml(file);
  toml_table_reader t(root, file.string());
  experiment_spec spec;
  std::string text;
  t.get("name", spec.name);
  t.get("title", text);
  t.get("claim", text);
  std::vector<const toml::table*> defaults;
  if (const toml::table* table = t.table("defaults")) defaults.push_back(table);
  const auto lists = read_lists(t.table("lists"), file.string());
  const auto cases = t.tables("case");
  t.finish();
  if (spec.name.empty()) spec.name = file.parent_path().filename().string();
  if (cases.empty()) t.fail("no [[case]]");
  for (const toml::table* table : cases) {
    const auto inner = toml_table_reader(*table, file.string()).tables("cases");
    if (inner.empty())
      spec.cases.push_back(read_case(*table, file.string(), defaults, lists, folders));
    auto outer = defaults;
    outer.insert(outer.begin(), table);
    for (const toml::table* one : inner) {
      if (one->contains("cases")) t.fail(*one, "a case of 'cases' with 'cases'");
      spec.cases.push_back(read_case(*one, file.string(), outer, lists, folders));
    }
  }
  return spec;
}

#else

experiment_spec read_experiment(const std::filesystem::path& file,
                                const kind_folders& /*folders*/) {
  throw unavailable_error(file.string() +
                          ": this build cannot read TOML: apt-get install libtomlplusplus-dev");
}

#endif

}  // namespace gsofa
