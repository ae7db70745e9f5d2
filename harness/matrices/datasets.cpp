#include "harness/matrices/datasets.hpp"

#include <algorithm>

#include "harness/matrices/toml_reader.hpp"
#include "harness/run/build_info.hpp"

namespace gsofa {

#ifdef GSOFA_HAVE_TOMLPLUSPLUS

namespace {

void read_entries(toml_table_reader& root, const char* key, bool bundled, const std::string& file,
                  std::vector<dataset>& out) {
  for (const toml::table* table : root.tables(key)) {
    toml_table_reader t(*table, file);
    dataset d;
    d.bundled = bundled;
    t.get("name", d.name);
    t.get("abbr", d.abbr);
    t.get("group", d.group);
    t.get("file", d.file);
    t.get("sha256", d.sha256);
    t.get("stand_in", d.stand_in);
    d.kind = "real";
    t.get("kind", d.kind);
    if (d.name.empty()) t.fail(std::string("[[") + key + "]] without a name");
    out.push_back(std::move(d));
  }
}

// The digests of the lock file that experiments/fetch.py keeps in the folder of the catalog.
void read_lock(const std::filesystem::path& file, std::vector<dataset>& entries) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return;
  const toml::table table = read_toml(file);
  toml_table_reader root(table, file.string());
  for (const toml::table* one : root.tables("matrix")) {
    toml_table_reader t(*one, file.string());
    std::string name, sha256;
    t.get("name", name);
    t.get("sha256", sha256);
    if (name.empty() || sha256.empty()) t.fail("[[matrix]] without a name or a sha256");
    for (auto& d : entries) {
      if (d.name == name && !d.bundled && d.sha256.empty()) d.sha256 = sha256;
    }
  }
}

}  // namespace

dataset_catalog dataset_catalog::load(const std::filesystem::path& file) {
  const toml::table table = read_toml(file);
  toml_table_reader root(table, file.string());
  dataset_catalog catalog;
  catalog.folder_ = file.parent_path();
  read_entries(root, "bundled", true, file.string(), catalog.entries_);
  read_entries(root, "matrix", false, file.string(), catalog.entries_);
  read_lock(std::filesystem::path(file).replace_extension(".lock.toml"), catalog.entries_);
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

std::vector<std::string> dataset_catalog::bundled(const std::string& kind) const {
  std::vector<std::string> names;
  for (const auto& d : entries_) {
    if (d.bundled && d.kind == kind) names.push_back(d.name);
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
