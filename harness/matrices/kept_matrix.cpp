#include "harness/matrices/kept_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "common/file.hpp"
#include "common/matrix_file.hpp"
#include "common/sha256.hpp"
#include "harness/matrices/matrix_kind.hpp"
#include "harness/matrices/matrix_source.hpp"
#include "harness/run/status.hpp"

namespace gsofa {

namespace {

namespace fs = std::filesystem;

// `text` itself if it is a short file name, else its beginning and a digest of it.
std::string distinct_name(const std::string& text) {
  constexpr std::size_t longest = 80;
  std::string name = file_name_of(text);
  if (name == text && name.size() <= longest) return name;
  name.resize(std::min(name.size(), longest));
  return name + "-" + sha256_hex(text).substr(0, 16);
}

std::string sha256_of(const matrix_location& from) {
  return from.generator.empty() ? sha256_of_matrix_file(from.file) : sha256_hex(from.generator);
}

// Why the file cannot be used, or "" and the matrix that it keeps.
std::string why_not(const fs::path& file, const preparation_key& wanted, prepared_pattern& found) {
  try {
    found = prepared_pattern::load(file);
  } catch (const input_error& e) {
    return e.what();
  }
  const std::string other = difference(wanted, found.origin().made_from);
  return other.empty() ? "" : file.string() + ": made from another " + other;
}

}  // namespace

fs::path kept_file(const fs::path& folder, const std::string& spec, const prepare_options& how) {
  std::string file = distinct_name(spec) + "." + distinct_name(how.order);
  if (how.match == match_none) {
    file += ".unmatched";
  } else if (how.match != match_auto) {
    file += "." + distinct_name(how.match);
  }
  if (how.seed >= 0) file += fmt::format(".seed{}", how.seed);
  return folder / (file + ".bin");
}

prepared_pattern load_kept_matrix(const fs::path& folder, const std::string& spec,
                                  const prepare_options& how) {
  if (folder.empty() || is_prepared(spec)) return load_matrix(spec, how);
  const matrix_location from = locate_matrix(spec);
  std::error_code failure;
  // Pipes can be read once only: neither a matrix nor an order that comes from one is kept.
  if (from.generator.empty() && !fs::is_regular_file(from.file, failure)) {
    return load_matrix(from, how);
  }
  const std::string sha256 = sha256_of(from);
  const bool right = from.sha256.empty() || sha256 == from.sha256;
  const preparation_key wanted = key_of(from, sha256, how);
  if (wanted.empty() || !right) return load_matrix(from, how);  // it refuses a wrong file
  const fs::path file = kept_file(folder, spec, how);
  if (fs::exists(file, failure)) {
    if (!prepared_pattern::is_prepared_file(file) && fs::file_size(file, failure) != 0) {
      throw input_error(file.string() + ": not a prepared matrix, and would be overwritten");
    }
    prepared_pattern found;
    const std::string reason = why_not(file, wanted, found);
    if (reason.empty()) {
      found.origin().kind = from.kind.empty() ? matrix_kind(found.origin()) : from.kind;
      return found;
    }
    std::fprintf(stderr, "%s: prepared again\n", one_line(reason).c_str());
  }
  const prepared_pattern a = load_matrix(from, how);
  create_folder(folder);
  a.save(file);
  return a;
}

}  // namespace gsofa
