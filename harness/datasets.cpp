#include "harness/datasets.hpp"

#include <algorithm>

#include "harness/build_info.hpp"
#include "harness/toml_reader.hpp"

namespace gsofa {

#ifdef GSOFA_HAVE_TOMLPLUSPLUS

namespace {

void read_entries(const toml::table& root, const char* key, bool bundled, const std::string& file,
                  std::vector<dataset>& out) {
  const toml::array* tables = root[key].as_array();
  if (tables == nullptr) return;
  for (const toml::node& node : *tables) {
    const toml::table* t = node.as_table();
    if (t == nullptr) throw input_error(file + ": [[" + key + "]] is not a table");
    auto text = [&](const char* name) { return (*t)[name].value_or(std::string()); };
    dataset d{.name = text("name"),
              .abbr = text("abbr"),
              .group = text("group"),
              .file = text("file"),
              .sha256 = text("sha256"),
              .stand_in = text("stand_in"),
              .bundled = bundled};
    for (const char* key_of_paper : {"order", "nnz", "symmetry", "fill_ratio"}) {
      if (const auto value = (*t)[key_of_paper].value<double>()) d.paper[key_of_paper] = *value;
    }
    if (d.name.empty()) {
      throw input_error(file + ":" + std::to_string(t->source().begin.line) + ": [[" + key +
                        "]] without a name");
    }
    out.push_back(std::move(d));
  }
}

}  // namespace

dataset_catalog dataset_catalog::load(const std::filesystem::path& file) {
  const toml::table root = read_toml(file);
  dataset_catalog catalog;
  catalog.folder_ = file.parent_path();
  read_entries(root, "bundled", true, file.string(), catalog.entries_);
  read_entries(root, "matrix", false, file.string(), catalog.entries_);
  return catalog;
}

#else

dataset_catalog dataset_catalog::load(const std::filesystem::path& file) {
  throw unavailable_error(file.string() +
                          ": this build cannot read TOML: apt-get install libtomlplusplus-dev");
}

#endif

const dataset_catalog& dataset_catalog::repository() {
  static const dataset_catalog catalog = load(repository_root() / "experiments" / "datasets.toml");
  return catalog;
}

std::vector<std::string> dataset_catalog::bundled() const {
  std::vector<std::string> names;
  for (const auto& d : entries_) {
    if (d.bundled) names.push_back(d.name);
  }
  return names;
}

const dataset* dataset_catalog::find(const std::string& name) const {
  const auto hit = std::ranges::find_if(entries_, [&](const dataset& d) {
    return d.name == name || (!d.abbr.empty() && d.abbr == name);
  });
  return hit == entries_.end() ? nullptr : &*hit;
}

std::optional<std::filesystem::path> dataset_catalog::file_of(const dataset& entry) const {
  std::vector<std::filesystem::path> places;
  if (!entry.file.empty()) {
    places.push_back(folder_ / entry.file);
    places.push_back(folder_.parent_path() / entry.file);
  }
  const auto cache = folder_.parent_path() / ".cache" / "matrices";
  places.push_back(cache / (entry.name + ".mtx"));
  places.push_back(cache / (entry.name + ".mtx.gz"));
  for (const auto& p : places) {
    if (std::filesystem::is_regular_file(p)) return p;
  }
  return std::nullopt;
}

}  // namespace gsofa
