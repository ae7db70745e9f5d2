#include "harness/matrices/datasets.hpp"

#include <algorithm>
#include <cstdlib>

#include "harness/matrices/toml_reader.hpp"
#include "harness/run/build_info.hpp"

namespace gsofa {

namespace {

std::optional<std::filesystem::path> with_ending(const std::filesystem::path& stem) {
  for (const char* ending : {".mtx", ".mtx.gz"}) {
    const std::filesystem::path file = stem.string() + ending;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored)) return file;
  }
  return std::nullopt;
}

}  // namespace

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
    std::string group, original;
    t.get("group", group);
    t.get("original", original);
    d.source = group.empty() ? "" : group + "/" + original;
    t.get("source", d.source);
    t.get("file", d.file);
    t.get("sha256", d.sha256);
    t.get("stand_in", d.stand_in);
    d.kind = "real";
    t.get("kind", d.kind);
    if (d.name.empty()) t.fail(std::string("[[") + key + "]] without a name");
    out.push_back(std::move(d));
  }
}

// The digests, by group/name, of the lock file that experiments/fetch.py keeps next to the catalog.
std::map<std::string, std::string> read_lock(const std::filesystem::path& file) {
  std::map<std::string, std::string> digests;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return digests;
  const toml::table table = read_toml(file);
  toml_table_reader root(table, file.string());
  for (const toml::table* one : root.tables("matrix")) {
    toml_table_reader t(*one, file.string());
    std::string name, sha256;
    t.get("name", name);
    t.get("sha256", sha256);
    if (name.empty() || sha256.empty()) t.fail("[[matrix]] without a name or a sha256");
    digests[name] = sha256;
  }
  return digests;
}

}  // namespace

dataset_catalog dataset_catalog::load(const std::filesystem::path& file) {
  const toml::table table = read_toml(file);
  toml_table_reader root(table, file.string());
  dataset_catalog catalog;
  catalog.folder_ = file.parent_path();
  read_entries(root, "bundled", true, file.string(), catalog.entries_);
  read_entries(root, "matrix", false, file.string(), catalog.entries_);
  catalog.locked_ = read_lock(std::filesystem::path(file).replace_extension(".lock.toml"));
  for (auto& d : catalog.entries_) {
    if (!d.bundled && d.sha256.empty()) d.sha256 = catalog.locked(d.source);
  }
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
    return !name.empty() && (d.name == name || d.abbr == name || d.source == name);
  });
  return hit == entries_.end() ? nullptr : &*hit;
}

std::string dataset_catalog::locked(const std::string& source) const {
  const auto found = locked_.find(source);
  return found == locked_.end() ? "" : found->second;
}

std::optional<std::filesystem::path> dataset_catalog::file_of(const dataset& entry) const {
  if (!entry.file.empty()) {
    for (const auto& folder : {folder_, folder_.parent_path()}) {
      if (std::filesystem::is_regular_file(folder / entry.file)) return folder / entry.file;
    }
  }
  if (entry.bundled) return std::nullopt;
  if (const auto file = fetched_file(entry.source)) return file;
  return with_ending(folder_.parent_path() / ".cache" / "matrices" / entry.name);
}

std::optional<std::filesystem::path> fetched_file(const std::string& source) {
  const char* folder = std::getenv("GSOFA_MATRICES");
  if (folder != nullptr && *folder != '\0')
    return with_ending(std::filesystem::path(folder) / source);
  const char* home = std::getenv("HOME");
  if (home == nullptr) return std::nullopt;
  return with_ending(std::filesystem::path(home) / ".cache" / "gsofa" / "matrices" / source);
}

}  // namespace gsofa
