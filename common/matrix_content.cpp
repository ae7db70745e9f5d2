#include "common/matrix_content.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/archive_reader.hpp"
#include "common/ascii.hpp"
#include "common/byte_source.hpp"
#include "common/error.hpp"

namespace gsofa {

namespace {

using namespace std::string_view_literals;

constexpr std::size_t head_bytes = 4096;
constexpr std::size_t most_members = 100000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// `prefix` is in lower case.
bool starts_with_word(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(),
                    [](char p, char t) { return p == lower_letter(t); });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t k = 0; k < line.size();) {
    if (is_space(line[k])) {
      ++k;
      continue;
    }
    std::size_t end = k;
    while (end < line.size() && !is_space(line[end])) ++end;
    words.push_back(line.substr(k, end - k));
    k = end;
  }
  return words;
}

// Up to `count` lines, whatever ends them.
std::vector<std::string_view> lines_of(std::string_view text, std::size_t count) {
  std::vector<std::string_view> lines;
  while (!text.empty() && lines.size() < count) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
    text.remove_prefix(text.starts_with("\r\n") ? 2 : std::min<std::size_t>(text.size(), 1));
  }
  return lines;
}

bool is_integer(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, is_digit);
}

// Its second line counts lines and its third begins with a type such as RUA.
bool is_harwell_boeing(std::string_view head) {
  const auto lines = lines_of(head, 4);
  if (lines.size() < 4) return false;
  const auto counts = words_of(lines[1]);
  if (counts.size() < 3 || !std::ranges::all_of(counts, is_integer)) return false;
  const std::string_view kind = trimmed(lines[2]);
  if (kind.size() < 4 || !is_space(kind[3])) return false;
  if ("rcpiq"sv.find(lower_letter(kind[0])) == std::string_view::npos ||
      "suhzr"sv.find(lower_letter(kind[1])) == std::string_view::npos ||
      "ae"sv.find(lower_letter(kind[2])) == std::string_view::npos) {
    return false;
  }
  const auto sizes = words_of(kind.substr(3));
  return sizes.size() >= 3 && std::ranges::all_of(sizes, is_integer);
}

struct known_kind {
  std::string_view begin;
  const char* what;
};

constexpr const char* from_python =
    "; write the matrix with scipy.io.mmwrite or scipy.sparse.save_npz";

// What people pass by mistake. Texts are in lower case.
constexpr known_kind refused_texts[] = {
    {"matlab ",
     "is a MATLAB file; load it with scipy.io.loadmat and write it with scipy.io.mmwrite"},
    {"%pdf-", "is a PDF document"},
    {"<!doctype", "is an HTML page; the download may have failed"},
    {"<html", "is an HTML page; the download may have failed"},
    {"<head", "is an HTML page; the download may have failed"},
    {"<?xml", "is an XML document"},
    {"version https://git-lfs", "is a Git LFS pointer; `git lfs pull` gets the file itself"},
    {"sqlite format 3", "is an SQLite database"},
    {"{", "is a JSON document"},
};
constexpr known_kind refused_bytes[] = {
    {"\x89HDF\r\n\x1a\n"sv, "is an HDF5 file (as MATLAB 7.3 writes, too)"},
    {"\x89PNG"sv, "is a PNG picture"},
    {"\xff\xd8\xff"sv, "is a JPEG picture"},
    {"GIF8"sv, "is a GIF picture"},
    {"\x93NUMPY"sv, "is a NumPy array (.npy)"},
    {"gSoFaPP\n"sv, "is a prepared matrix of `gsofa prepare`; a file of the matrix is needed here"},
    {"\x7f"
     "ELF"sv,
     "is a program (ELF)"},
    {"7z\xbc\xaf\x27\x1c"sv, "is a 7-Zip archive; unpack it"},
    {"Rar!\x1a"sv, "is a RAR archive; unpack it"},
    {"\0\x12\x7b\x50"sv, "is a PETSc binary file"},
    {"\xff\xfe"sv, "is text in UTF-16 or UTF-32; save it as UTF-8"},
    {"\xfe\xff"sv, "is text in UTF-16; save it as UTF-8"},
    {"\0\0\xfe\xff"sv, "is text in UTF-32; save it as UTF-8"},
};

bool is_text(std::string_view head) {
  return std::ranges::all_of(
      head, [](char c) { return is_space(c) || (c >= ' ' && c != '\x7f') || (c & 0x80) != 0; });
}

// Why text without a banner is no matrix, by its first line.
std::string about_text(std::string_view text) {
  const auto lines = lines_of(text, 1);
  const std::string_view line = lines.empty() ? ""sv : lines.front();
  const auto words = words_of(line);
  const bool numbers = !words.empty() && std::ranges::all_of(words, [](std::string_view w) {
    return w.find_first_not_of("0123456789.+-eE") == std::string_view::npos;
  });
  const std::string reason = ":1: no %%MatrixMarket banner, and no header of Harwell-Boeing";
  if (line.starts_with('%') || (numbers && words.size() == 3)) {
    return reason +
           "; triplets need the line '%%MatrixMarket matrix coordinate real general', then "
           "'rows columns entries', then 1-based entries";
  }
  if (line.find(',') != std::string_view::npos)
    return reason + "; it looks like a table with commas";
  return reason + ": '" + excerpt(line, 24) + "'";
}

std::string about_bytes(std::string_view head) {
  std::string bytes;
  for (const char c : head.substr(0, 8)) {
    const auto value = static_cast<unsigned char>(c);
    bytes += ' ';
    bytes += "0123456789abcdef"[value >> 4];
    bytes += "0123456789abcdef"[value & 15];
  }
  return ": is not a matrix file: it begins with the bytes" + bytes;
}

std::string_view without_bom(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  return head;
}

// Throws input_error saying what a file is that holds no matrix.
[[noreturn]] void refuse(const std::string& name, std::string_view head) {
  if (head.empty()) throw input_error(name + ": empty file");
  for (const auto& [begin, what] : refused_bytes) {
    if (!head.starts_with(begin)) continue;
    const bool python = begin.starts_with("\x93") || begin.starts_with("\x89HDF");
    throw input_error(name + ": " + what + (python ? from_python : ""));
  }
  if (head.size() > 1 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5) {
    throw input_error(name + ": is a Python pickle" + from_python);
  }
  const std::string_view text = trimmed(without_bom(head));
  for (const auto& [begin, what] : refused_texts) {
    if (starts_with_word(text, begin)) throw input_error(name + ": " + what);
  }
  if (text.empty()) throw input_error(name + ": holds no text");
  throw input_error(name + (is_text(text) ? about_text(text) : about_bytes(head)));
}

std::string_view file_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? ""sv : path.substr(0, slash);
}

std::string_view stem_of(std::string_view path) {
  const std::string_view file = file_of(path);
  return file.substr(0, file.rfind('.'));
}

}  // namespace

bool is_named_as_matrix(std::string_view path) {
  const std::string_view file = file_of(path);
  if (file.starts_with("._")) return false;  // of macOS
  const std::size_t dot = file.rfind('.');
  if (dot == std::string_view::npos) return false;
  std::string ending(file.substr(dot + 1));
  std::ranges::transform(ending, ending.begin(), lower_letter);
  if (ending == "mtx" || ending == "mm" || ending == "rb" || ending == "hb") return true;
  return ending.size() == 3 && "rcpi"sv.find(ending[0]) != std::string_view::npos &&
         "suhzr"sv.find(ending[1]) != std::string_view::npos && ending[2] == 'a';
}

namespace {

// An archive: the number of its members, and the paths of the members that may be matrices.
struct archive_listing {
  std::size_t members = 0;
  bool of_scipy = false;  // has format.npy
  bool of_numpy = true;   // has .npy alone
  std::string first;      // some names, for a message
  std::vector<std::pair<std::size_t, std::string>> candidates;

  void add(const std::string& path) {
    if (path == "format.npy") of_scipy = true;
    of_numpy = of_numpy && path.ends_with(".npy");
    if (members < 4) first += (members == 0 ? "" : ", ") + excerpt(path, 24);
    if (members == 4) first += ", ...";
    if (is_named_as_matrix(path)) candidates.emplace_back(members, path);
    ++members;
  }

  // NAME_b.mtx in the folder of NAME.mtx.
  [[nodiscard]] bool extends_another(const std::string& path) const {
    return std::ranges::any_of(candidates, [&](const auto& other) {
      return folder_of(other.second) == folder_of(path) &&
             stem_of(path).starts_with(std::string(stem_of(other.second)) + "_");
    });
  }

  // The candidates that are meant.
  [[nodiscard]] std::vector<std::pair<std::size_t, std::string>> chosen() const {
    std::vector<std::pair<std::size_t, std::string>> found;
    std::ranges::copy_if(candidates, std::back_inserter(found), [](const auto& c) {
      return stem_of(c.second) == file_of(folder_of(c.second));
    });
    if (!found.empty()) return found;
    for (std::size_t k = 0; k < candidates.size() && found.size() < 4; ++k) {
      if (!extends_another(candidates[k].second)) found.push_back(candidates[k]);
    }
    return found;
  }
};

}  // namespace

const char* name_of(matrix_format format) {
  switch (format) {
    case matrix_format::matrix_market:
      return "Matrix Market";
    case matrix_format::harwell_boeing:
      return "Harwell-Boeing";
    case matrix_format::scipy_npz:
      return "SciPy .npz";
  }
  return "";
}

struct matrix_content::state {
  state(const std::filesystem::path& file, observer o, visitor l)
      : source(file), name(file.string()), seen(std::move(o)), look(std::move(l)) {
    fill_head();
    const wrapping kind = wrapping_of(head);
    if (kind == wrapping::gzip) throw input_error(name + ": is compressed twice; gunzip it once");
    if (kind != wrapping::none) open_archive(kind);
    if (!decided) decide();
  }

  std::size_t read_source(std::span<char> out) {
    if (look) look();
    const std::size_t held = std::min(out.size(), head.size() - head_begin);
    std::copy_n(head.data() + head_begin, held, out.data());
    head_begin += held;
    if (held == out.size()) return held;
    return held + source.read(out.subspan(held));
  }

  void fill_head() {
    head.resize(head_bytes);
    head_begin = 0;
    head.resize(source.read(head));
  }

  void start_archive(wrapping kind) {
    archive.emplace([this](std::span<char> out) { return read_source(out); }, kind, name);
  }

  // From the beginning of the source.
  void restart_archive(wrapping kind) {
    archive.reset();
    source.rewind();
    fill_head();
    start_archive(kind);
  }

  void open_archive(wrapping kind) {
    compressed = true;
    start_archive(kind);
    archive_listing list;
    std::string path;
    while (archive->next(path)) {
      if (archive->single()) {
        take_member();
        return;
      }
      list.add(path);
      if (list.members > most_members) {
        throw input_error(name + ": more than " + std::to_string(most_members) + " members");
      }
    }
    restart_archive(kind);
    if (kind == wrapping::zip && list.of_scipy) {
      format = matrix_format::scipy_npz;
      decided = true;
      return;
    }
    choose(list);
  }

  void choose(const archive_listing& list) {
    const auto chosen = list.chosen();
    if (chosen.empty()) {
      const std::string what = list.members > 0 && list.of_numpy
                                   ? ": is a .npz file, but not of scipy.sparse.save_npz; it has "
                                   : ": is an archive without a matrix (.mtx, .rb, .rua); it has ";
      throw input_error(name + what + (list.members > 0 ? list.first : "no file"));
    }
    if (chosen.size() > 1) {
      std::string names;
      for (std::size_t k = 0; k < chosen.size() && k < 3; ++k) {
        names += (k == 0 ? "" : ", ") + excerpt(chosen[k].second, 40);
      }
      throw input_error(name + ": holds several matrices: " + names +
                        (chosen.size() > 3 ? ", ..." : "") + "; unpack the one that is meant");
    }
    std::string path;
    for (std::size_t k = 0; k <= chosen.front().first; ++k) archive->next(path);
    name += ":";
    name += excerpt(path, 80);
    take_member();
  }

  void take_member() {
    std::vector<char> begin(head_bytes);
    begin.resize(archive->read(begin));
    member_head = std::move(begin);
    in_member = true;
  }

  [[nodiscard]] std::string_view beginning() const {
    const auto& bytes = in_member ? member_head : head;
    return {bytes.data(), bytes.size()};
  }

  void decide() {
    const std::string_view begin = beginning();
    const wrapping inside = wrapping_of({begin.data(), begin.size()});
    if (in_member && inside != wrapping::none) {
      throw input_error(name + ": is compressed twice; unpack it once");
    }
    const std::string_view text = trimmed(without_bom(begin));
    if (starts_with_word(text, "%%matrixmarket") || starts_with_word(text, "%matrixmarket")) {
      format = matrix_format::matrix_market;
    } else if (is_harwell_boeing(without_bom(begin))) {
      format = matrix_format::harwell_boeing;
    } else {
      refuse(name, begin);
    }
  }

  std::size_t read(std::span<char> out) {
    std::size_t got = 0;
    if (archive && look) look();
    if (in_member) {
      got = std::min(out.size(), member_head.size() - member_begin);
      std::copy_n(member_head.data() + member_begin, got, out.data());
      member_begin += got;
      if (got < out.size()) got += archive->read(out.subspan(got));
    } else if (archive) {
      got = archive->read(out);
    } else {
      got = read_source(out);
    }
    if (seen) seen(std::as_bytes(out.first(got)));
    return got;
  }

  byte_source source;
  std::string name;
  observer seen;
  visitor look;
  std::vector<char> head;  // read ahead from the source
  std::size_t head_begin = 0;
  std::optional<archive_reader> archive;
  bool compressed = false;  // in a form that libarchive reads
  bool in_member = false;
  std::vector<char> member_head;  // read ahead from the member
  std::size_t member_begin = 0;
  matrix_format format = matrix_format::matrix_market;
  bool decided = false;
  bool started = false;  // next_member() was called
};

matrix_content::matrix_content(const std::filesystem::path& file, observer seen, visitor look)
    : state_(std::make_unique<state>(file, std::move(seen), std::move(look))) {}
matrix_content::~matrix_content() = default;

matrix_format matrix_content::format() const { return state_->format; }
const std::string& matrix_content::name() const { return state_->name; }

std::int64_t matrix_content::likely_entries(std::int64_t declared, std::int64_t bytes_each) const {
  // Compressed, an entry rarely takes less than a byte.
  const bool packed = state_->compressed || state_->source.compressed();
  return std::min(declared, state_->source.file_bytes() / (packed ? 1 : bytes_each) + 1);
}

std::size_t matrix_content::read(std::span<char> out) { return state_->read(out); }

bool matrix_content::next_member(std::string& member) {
  state_->started = true;
  return state_->archive->next(member);
}

void matrix_content::drain() {
  std::vector<char> block(std::size_t{1} << 16);
  std::string ignored;
  if (format() == matrix_format::scipy_npz && !state_->started && !next_member(ignored)) return;
  do {
    while (read(block) > 0) {
    }
  } while (format() == matrix_format::scipy_npz && next_member(ignored));
}

}  // namespace gsofa
