#include "harness/matrices/matrix_source.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "common/generators.hpp"
#include "common/matching.hpp"
#include "common/process.hpp"
#include "common/random.hpp"
#include "common/sha256.hpp"
#include "common/text.hpp"
#include "harness/matrices/datasets.hpp"
#include "harness/matrices/matrix_kind.hpp"

namespace gsofa {

namespace {

namespace fs = std::filesystem;

constexpr const char* generator_prefix = "gen:";

constexpr const char* standard_input = "-";
constexpr const char* standard_input_file = "/dev/stdin";

constexpr std::string_view wrapped_endings[] = {".gz", ".xz",  ".bz2", ".zst", ".Z",
                                                ".lz", ".tgz", ".txz", ".tar", ".zip"};

// Without the ending of an archive or of compressed content; false if there is none.
bool unwrap(std::string_view& name) {
  for (const std::string_view ending : wrapped_endings) {
    if (!name.ends_with(ending) || name.size() == ending.size()) continue;
    name.remove_suffix(ending.size());
    return true;
  }
  return false;
}

std::string stem(const fs::path& file) {
  const std::string whole = file.filename().string();
  std::string_view name = whole;
  while (unwrap(name)) {
  }
  if (is_named_as_matrix(name) || name.ends_with(".npz")) name = name.substr(0, name.rfind('.'));
  return std::string(name.empty() ? std::string_view(whole) : name);
}

bool looks_like_path(const std::string& spec) {
  std::string_view name = spec;
  return spec.find('/') != std::string::npos || spec == standard_input ||
         is_named_as_matrix(spec) || spec.ends_with(".npz") || unwrap(name);
}

matrix_location in_catalog(const std::string& spec) {
  const auto& catalog = dataset_catalog::repository();
  const dataset* entry = catalog.find(spec);
  if (entry == nullptr) {
    std::string known;
    std::vector<std::string> names;
    for (const auto& d : catalog.entries()) {
      // A matrix of the paper may also be bundled.
      if (std::ranges::find(names, d.name) != names.end()) continue;
      known += (known.empty() ? "" : ", ") + d.name;
      names.push_back(d.name);
    }
    const std::string hint = nearest(spec, names);
    throw input_error("no file and no dataset is named '" + spec + "'" +
                      (hint.empty() ? "" : " (did you mean '" + hint + "'?)") +
                      "; the datasets are " + known);
  }
  if (const auto file = catalog.file_of(*entry)) {
    const bool of_paper = std::ranges::any_of(catalog.entries(), [&](const dataset& d) {
      return !d.bundled && d.name == entry->name;  // a matrix of the paper may also be bundled
    });
    return {.name = entry->name,
            .source = spec,
            .file = *file,
            .sha256 = entry->sha256,
            .kind = of_paper ? "original" : entry->kind};
  }
  if (entry->stand_in.empty()) {
    throw unavailable_error("the file of dataset '" + spec + "' is absent and it has no stand-in");
  }
  return {.name = entry->name,
          .source = entry->stand_in,
          .generator = entry->stand_in,
          .stand_in = true};
}

// GROUP/NAME of the SuiteSparse Matrix Collection.
matrix_location in_collection(const std::string& spec) {
  const auto& catalog = dataset_catalog::repository();
  const dataset* entry = catalog.find(spec);
  const bool of_paper = entry != nullptr && !entry->bundled;
  if (const auto file = fetched_file(spec)) {
    return {.name = of_paper ? entry->name : spec.substr(spec.find('/') + 1),
            .source = spec,
            .file = *file,
            .sha256 = catalog.locked(spec),
            .kind = of_paper ? "original" : ""};
  }
  if (entry != nullptr && catalog.file_of(*entry)) return in_catalog(spec);
  throw input_error(spec + ": no such file, and not fetched: ./testbed fetch " + spec);
}

bool is_in_collection(const std::string& spec) {
  const std::size_t slash = spec.find('/');
  return slash != spec.npos && slash > 0 && spec.rfind('/') == slash && slash + 1 < spec.size() &&
         spec.front() != '.' && !is_named_as_matrix_file(spec);
}

}  // namespace

bool is_named_as_matrix_file(std::string_view name) {
  bool archive = false;
  for (;;) {
    const std::string_view before = name;
    if (!unwrap(name)) break;
    const std::string_view ending = before.substr(name.size());
    archive =
        archive || ending == ".tgz" || ending == ".txz" || ending == ".tar" || ending == ".zip";
  }
  return archive || is_named_as_matrix(name) || name.ends_with(".npz");
}

bool is_prepared(const std::string& spec) {
  std::error_code ignored;
  return !spec.starts_with(generator_prefix) && fs::is_regular_file(spec, ignored) &&
         prepared_pattern::is_prepared_file(spec);
}

std::vector<std::string> select_matrices(const std::vector<std::string>& words) {
  std::vector<std::string> chosen;
  auto add = [&](const std::string& name) {
    if (std::ranges::find(chosen, name) == chosen.end()) chosen.push_back(name);
  };
  for (const std::string& word : words) {
    std::error_code ignored;
    if (word.starts_with(generator_prefix) || word == standard_input || fs::exists(word, ignored)) {
      add(word);
    } else if (word == "@bundled") {
      for (const std::string& name : dataset_catalog::repository().bundled()) add(name);
    } else if (word.find(',') != word.npos && !looks_like_path(word)) {
      for (std::size_t begin = 0; begin <= word.size();) {
        const std::size_t end = std::min(word.find(',', begin), word.size());
        for (const std::string& name : select_matrices({word.substr(begin, end - begin)}))
          add(name);
        begin = end + 1;
      }
    } else if (word.find_first_of("*?[") != word.npos && !looks_like_path(word)) {
      bool found = false;
      for (const dataset& d : dataset_catalog::repository().entries()) {
        if (fnmatch(word.c_str(), d.name.c_str(), 0) != 0) continue;
        add(d.name);
        found = true;
      }
      if (!found) throw input_error("no dataset matches '" + word + "'");
    } else {
      add(word);
    }
  }
  return chosen;
}

matrix_location locate_matrix(const std::string& spec) {
  if (spec.empty()) throw input_error("the name of the matrix is empty");
  if (spec.starts_with(generator_prefix)) {
    return {.name = spec, .source = spec, .generator = spec};
  }
  if (spec == standard_input) {
    return {.name = "stdin", .source = spec, .file = standard_input_file};
  }
  std::error_code ignored;
  if (fs::is_directory(spec, ignored)) throw input_error(spec + ": is a directory");
  std::error_code failure;
  if (fs::exists(spec, failure)) return {.name = stem(spec), .source = spec, .file = spec};
  if (failure) throw input_error(spec + ": " + failure.message());
  if (is_in_collection(spec)) return in_collection(spec);
  if (looks_like_path(spec)) throw input_error(spec + ": no such file");
  return in_catalog(spec);
}

std::string shown_name(const matrix_location& from) {
  return from.stand_in ? from.name + " (stand-in)" : from.source;
}

std::string shown_name(const std::string& spec) {
  try {
    return shown_name(locate_matrix(spec));
  } catch (const error&) {
    return spec;
  }
}

bool needs_values(const std::string& match) {
  return match != match_auto && match != match_none && find_matching(match).info->needs_values;
}

std::vector<double> generated_magnitudes(const pattern_view& a) {
  std::vector<double> values;
  values.reserve(at(a.nnz()));
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : a.row(i)) {
      const std::uint64_t word =
          keyed_random(57, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j));
      const int exponent = static_cast<int>((word >> 2) % 20);
      const double fraction = std::ldexp(static_cast<double>(word >> 12), -52);
      values.push_back(word % 4 == 0 ? 1 : std::ldexp(0.5 + fraction / 2, -exponent));
    }
  }
  return values;
}

raw_matrix read_matrix(const matrix_location& from, bool with_values) {
  raw_matrix m;
  if (from.generator.empty()) {
    matrix_file_header header;
    m.a = read_matrix_file(from.file, &header, {.per_row = program_row_bytes},
                           with_values ? &m.values : nullptr);
    m.header = header;
    m.origin.sha256 = header.sha256;
    if (!from.sha256.empty() && m.origin.sha256 != from.sha256) {
      throw input_error(from.file.string() + ": sha256 is " + m.origin.sha256 + ", expected " +
                        from.sha256);
    }
  } else {
    m.a = generate(from.generator.substr(std::string(generator_prefix).size()));
    m.origin.sha256 = sha256_hex(from.generator);
    if (with_values) m.values = generated_magnitudes(m.a);
  }
  m.origin.name = from.name;
  m.origin.source = from.source;
  m.origin.stand_in = from.stand_in;
  m.origin.kind = from.kind.empty() ? matrix_kind(m.origin) : from.kind;
  return m;
}

raw_matrix read_matrix(const std::string& spec, bool with_values) {
  return read_matrix(locate_matrix(spec), with_values);
}

preparation_key key_of(const matrix_location& from, const std::string& sha256,
                       const prepare_options& how) {
  preparation_key key = key_of(how);
  if (key.empty()) return key;
  key["name"] = from.name;
  key["source"] = sha256;
  if (!from.generator.empty()) key["generator"] = generator_version();
  return key;
}

prepared_pattern load_matrix(const std::string& spec, const prepare_options& options) {
  if (is_prepared(spec)) {
    prepared_pattern a = prepared_pattern::load(spec);
    a.origin().kind = matrix_kind(a.origin());
    return a;
  }
  return load_matrix(locate_matrix(spec), options);
}

prepared_pattern load_matrix(const matrix_location& from, const prepare_options& options) {
  raw_matrix m = read_matrix(from, needs_values(options.match));
  try {
    m.origin.made_from = key_of(from, m.origin.sha256, options);
    return prepare(m.a, options, std::move(m.origin), m.values);
  } catch (const input_error& e) {
    const std::string what = e.what();
    const std::string name = shown_name(from);
    if (what.find(name) != std::string::npos) throw;
    throw input_error(name + ": " + what);
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
