#include "harness/matrix_source.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "common/generators.hpp"
#include "common/sha256.hpp"
#include "harness/datasets.hpp"

namespace gsofa {

namespace {

namespace fs = std::filesystem;

constexpr const char* generator_prefix = "gen:";

std::string stem(const fs::path& file) {
  std::string name = file.filename().string();
  for (const char* suffix : {".gz", ".mtx"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - std::string(suffix).size());
  }
  return name;
}

raw_matrix from_file(const fs::path& file, const std::string& name, const std::string& source) {
  raw_matrix m;
  matrix_market_header header;
  m.a = read_matrix_market(file, &header);
  m.header = header;
  m.origin.name = name;
  m.origin.source = source;
  m.origin.sha256 = header.sha256;
  return m;
}

raw_matrix from_generator(const std::string& spec, const std::string& name,
                          const std::string& source) {
  raw_matrix m;
  m.a = generate(spec.substr(std::string(generator_prefix).size()));
  m.origin.name = name;
  m.origin.source = source;
  m.origin.sha256 = sha256_hex(spec);
  return m;
}

bool looks_like_path(const std::string& spec) {
  return spec.find('/') != std::string::npos || spec.ends_with(".mtx") || spec.ends_with(".gz");
}

raw_matrix from_catalog(const std::string& spec) {
  const auto& catalog = dataset_catalog::repository();
  const dataset* entry = catalog.find(spec);
  if (entry == nullptr) {
    std::string known;
    for (const auto& d : catalog.entries()) known += (known.empty() ? "" : ", ") + d.name;
    throw input_error("no file and no dataset is named '" + spec + "'; the datasets are " + known);
  }
  if (const auto file = catalog.file_of(*entry)) {
    raw_matrix m = from_file(*file, entry->name, spec);
    if (!entry->sha256.empty() && m.origin.sha256 != entry->sha256) {
      throw input_error(file->string() + ": sha256 is " + m.origin.sha256 + ", expected " +
                        entry->sha256);
    }
    return m;
  }
  if (entry->stand_in.empty()) {
    throw unavailable_error("the file of dataset '" + spec + "' is absent and it has no stand-in");
  }
  raw_matrix m = from_generator(entry->stand_in, entry->name, entry->stand_in);
  m.origin.stand_in = true;
  return m;
}

}  // namespace

bool is_prepared(const std::string& spec) {
  std::error_code ignored;
  return !spec.starts_with(generator_prefix) && fs::is_regular_file(spec, ignored) &&
         prepared_pattern::is_prepared_file(spec);
}

raw_matrix read_matrix(const std::string& spec) {
  if (spec.empty()) throw input_error("the name of the matrix is empty");
  if (spec.starts_with(generator_prefix)) return from_generator(spec, spec, spec);
  std::error_code ignored;
  if (fs::is_directory(spec, ignored)) throw input_error(spec + ": is a directory");
  if (fs::exists(spec, ignored)) return from_file(spec, stem(spec), spec);
  if (looks_like_path(spec)) throw input_error(spec + ": no such file");
  return from_catalog(spec);
}

prepared_pattern load_matrix(const std::string& spec, const prepare_options& options) {
  if (is_prepared(spec)) return prepared_pattern::load(spec);
  raw_matrix m = read_matrix(spec);
  try {
    return prepare(m.a, options, std::move(m.origin));
  } catch (const input_error& e) {
    const std::string what = e.what();
    if (what.find(spec) != std::string::npos) throw;
    throw input_error(spec + ": " + what);
  }
}

std::string file_name_of(const std::string& name) {
  std::string out = name;
  std::ranges::replace_if(
      out,
      [](unsigned char c) {
        return std::isalnum(c) == 0 && c != '-' && c != '_' && c != '.' && c != '=';
      },
      '_');
  return out;
}

}  // namespace gsofa
