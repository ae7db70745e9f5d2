#include "common/permutation_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "common/ascii.hpp"
#include "common/byte_source.hpp"
#include "common/error.hpp"
#include "common/matrix_parsers.hpp"

namespace gsofa {

namespace {

constexpr std::string_view number_separators = " \t\n\v\f\r,;[]";

// The content of `file`, which may be a pipe or a device without an end.
std::string read_bounded(const std::string& file, std::size_t most_bytes) {
  std::error_code failure;
  if (std::filesystem::is_directory(file, failure)) throw input_error(file + ": is a directory");
  byte_source in{file};
  std::string text;
  constexpr std::size_t block = std::size_t{1} << 16;
  for (std::size_t got = block; got == block;) {
    const std::size_t size = text.size();
    text.resize(size + block);
    got = in.read(std::span(text).subspan(size));
    text.resize(size + got);
    if (text.size() > most_bytes) {
      throw input_error(file + ": longer than " + std::to_string(most_bytes) +
                        " bytes, too long for the numbers of the matrix");
    }
  }
  return text;
}

// An integer, also as programs write it whose numbers are of double precision: 3.0, 3e0.
bool parse_integer(std::string_view word, std::int64_t& value) {
  double real = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, fault] = std::from_chars(word.data(), end, real);
  if (fault != std::errc{} || stop != end || !(std::abs(real) < 9e15)) return false;
  value = static_cast<std::int64_t>(real);
  return static_cast<double>(value) == real;
}

void read_npy_vector(std::string_view bytes, std::size_t at_most, number_list& list) {
  auto fail = [&](const std::string& why) { throw input_error(list.file + ": " + why); };
  auto take = [&](std::span<char> out) {
    if (bytes.size() < out.size()) fail("truncated");
    std::memcpy(out.data(), bytes.data(), out.size());
    bytes.remove_prefix(out.size());
  };
  const npy_header h = read_npy_header(take, list.file);
  if (!h.is_integer()) fail("a NumPy array that does not hold integers");
  const std::size_t count = bytes.size() / h.item_bytes;
  if (count > at_most) fail("more than " + std::to_string(at_most) + " entries");
  for (std::size_t k = 0; k < count; ++k) {
    list.values.push_back(npy_integer(h, bytes.data() + k * h.item_bytes, list.file));
  }
  list.form = "a NumPy array";
}

void read_number_text(std::string_view all, std::size_t at_most, number_list& list) {
  offset_t line = 1;
  for (std::size_t begin = 0, seen = 0;
       (begin = all.find_first_not_of(number_separators, begin)) != all.npos;) {
    line += std::ranges::count(all.substr(seen, begin - seen), '\n');
    seen = begin;
    if (all[begin] == '#' || all[begin] == '%') {
      begin = std::min(all.find('\n', begin), all.size());
      continue;
    }
    const std::size_t end = std::min(all.find_first_of(number_separators, begin), all.size());
    const std::string_view word = all.substr(begin, end - begin);
    auto fail = [&](const std::string& why) {
      throw input_error(list.file + ":" + std::to_string(line) + ": " + why);
    };
    std::int64_t value = 0;
    if (!parse_integer(word, value)) fail("'" + excerpt(word, 20) + "' is not an integer");
    if (list.values.size() == at_most) fail("more than " + std::to_string(at_most) + " entries");
    list.values.push_back(value);
    list.lines.push_back(line);
    begin = end;
  }
  list.form = "text";
}

// A dense vector: its two sizes come first.
void read_vector_market(std::string_view all, std::size_t at_most, number_list& list) {
  read_number_text(all, at_most + 2, list);
  std::vector<std::int64_t>& v = list.values;
  if (v.size() < 2 || std::min(v[0], v[1]) != 1 ||
      std::max(v[0], v[1]) != static_cast<std::int64_t>(v.size()) - 2) {
    throw input_error(list.file + ": not a Matrix Market array of one column");
  }
  v.erase(v.begin(), v.begin() + 2);
  list.lines.erase(list.lines.begin(), list.lines.begin() + 2);
  list.form = "a Matrix Market array";
}

}  // namespace

std::string number_list::place(std::size_t k) const {
  return lines.empty() ? file + ": entry " + std::to_string(k)
                       : file + ":" + std::to_string(lines[k]);
}

number_list read_numbers(const std::string& file, std::size_t at_most) {
  // Room for comments, and 64 bytes for each number.
  const std::string text = read_bounded(file, (std::size_t{1} << 20) + 64 * at_most);
  number_list list{.file = file, .form = {}, .values = {}, .lines = {}};
  list.values.reserve(at_most);
  if (text.starts_with("\x93NUMPY")) {
    read_npy_vector(text, at_most, list);
  } else if (text.starts_with("%%MatrixMarket")) {
    read_vector_market(text, at_most, list);
  } else {
    read_number_text(text, at_most, list);
  }
  return list;
}

permutation_file read_permutation_file(const std::string& file, index_t n, bool inverse) {
  const number_list list = read_numbers(file, at(n));
  const auto& values = list.values;
  if (values.size() != at(n)) {
    throw input_error(file + ": " + std::to_string(values.size()) + " entries for order " +
                      std::to_string(n));
  }
  auto has = [&](std::int64_t v) { return std::ranges::find(values, v) != values.end(); };
  const std::int64_t base = has(n) && !has(0) ? 1 : 0;
  std::vector<index_t> where(at(n), -1);  // the entry that holds each number
  permutation_file p{.order = std::vector<index_t>(at(n)), .form = {}};
  for (std::size_t k = 0; k < values.size(); ++k) {
    auto fail = [&](const std::string& why) {
      throw input_error(list.place(k) + ": " + std::to_string(values[k]) + why);
    };
    const std::int64_t v = values[k] - base;
    if (v < 0 || v >= n) {
      fail(" is outside " + std::to_string(base) + ".." + std::to_string(n - 1 + base));
    }
    index_t& first = where[static_cast<std::size_t>(v)];
    if (first >= 0) fail(" occurs twice, first at " + list.place(at(first)));
    first = static_cast<index_t>(k);
    p.order[k] = static_cast<index_t>(v);
  }
  inverse = inverse || file.ends_with(".iperm");
  if (inverse) p.order = std::move(where);
  p.form = list.form + ", numbers from " + std::to_string(base) +
           (inverse ? ", new by old" : ", old by new");
  return p;
}

}  // namespace gsofa
