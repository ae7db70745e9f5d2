#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/ascii.hpp"
#include "common/error.hpp"
#include "common/matrix_parsers.hpp"
#include "common/stored_entries.hpp"

namespace gsofa {

namespace {

constexpr std::size_t most_header_bytes = std::size_t{1} << 16;
constexpr std::size_t npz_block_bytes = std::size_t{1} << 16;

// An array of a .npz: what its header says, and its numbers if they are integers that are needed.
struct npz_array : npy_header {
  std::vector<offset_t> numbers;
  std::string text;  // of kind S or U
};

class npz_parser {
 public:
  npz_parser(matrix_content& content, const memory_bound& bound)
      : content_(content), entries_(content.name(), bound) {}

  pattern parse(matrix_file_header& header);

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw input_error(content_.name() + ": " + why);
  }

  void read_array(const std::string& name);
  std::size_t read_exactly(std::span<char> out, const std::string& name);
  void read_data(npz_array& a, const std::string& name);
  const npz_array& one(const char* name, std::size_t dimensions) const;
  index_t size(offset_t value, const char* what) const;
  index_t index(offset_t value, index_t limit, const char* what, std::size_t at_entry) const;
  void check_values(std::size_t places) const;
  void add_compressed(bool by_rows);
  void add_coordinates();
  void add_blocks();
  void add_diagonals();
  void check_pointers(const std::vector<offset_t>& pointers, offset_t major, offset_t count) const;

  matrix_content& content_;
  stored_entries entries_;
  std::map<std::string, npz_array, std::less<>> arrays_;
  index_t n_rows_ = 0, n_cols_ = 0;
};

std::size_t npz_parser::read_exactly(std::span<char> out, const std::string& name) {
  const std::size_t got = content_.read(out);
  if (got < out.size()) fail(name + ": truncated");
  return got;
}

// Numbers of integer arrays are kept, text too; the rest only has to be there.
void npz_parser::read_data(npz_array& a, const std::string& name) {
  offset_t count = 1;
  for (const offset_t size : a.shape) {
    if (size > 0 && count > std::numeric_limits<offset_t>::max() / 32 / size) {
      fail(name + ": too large");
    }
    count *= size;
  }
  const bool text = a.kind == 'S' || a.kind == 'U';
  const bool numbers = a.is_integer() && name != "data.npy";
  if (text && (count != 1 || a.item_bytes > 16)) fail(name + ": is no single word");
  if (text) a.item_bytes *= a.kind == 'U' ? 4 : 1;
  std::vector<char> block(npz_block_bytes);
  offset_t found = 0;  // bytes
  while (const std::size_t got = content_.read(block)) {
    found += static_cast<offset_t>(got);
    if (text) a.text.append(block.data(), std::min(got, a.item_bytes));
    if (!numbers) continue;
    entries_.hold(static_cast<offset_t>(8 * (got / a.item_bytes)));
    for (std::size_t k = 0; k + a.item_bytes <= got; k += a.item_bytes) {
      a.numbers.push_back(npy_integer(a, block.data() + k, content_.name() + ": " + name));
    }
  }
  if (a.item_bytes > 0 && a.item_bytes <= 32 &&
      found != count * static_cast<offset_t>(a.item_bytes)) {
    fail(name + ": has " + std::to_string(found) + " bytes of data instead of " +
         std::to_string(count * static_cast<offset_t>(a.item_bytes)));
  }
  std::erase(a.text, '\0');
}

void npz_parser::read_array(const std::string& name) {
  npz_array a;
  static_cast<npy_header&>(a) = read_npy_header(
      [&](std::span<char> out) { read_exactly(out, name); }, content_.name() + ": " + name);
  read_data(a, name);
  if (!arrays_.emplace(name, std::move(a)).second) fail(name + ": occurs twice");
}

const npz_array& npz_parser::one(const char* name, std::size_t dimensions) const {
  const auto found = arrays_.find(std::string(name) + ".npy");
  if (found == arrays_.end()) fail(std::string("has no array ") + name);
  const npz_array& a = found->second;
  if (a.shape.size() != dimensions) {
    fail(std::string(name) + " has " + std::to_string(a.shape.size()) + " dimensions instead of " +
         std::to_string(dimensions));
  }
  if (std::string_view(name) != "data" && !a.is_integer())
    fail(std::string(name) + " is not of integers");
  return a;
}

index_t npz_parser::size(offset_t value, const char* what) const {
  if (value < 0 || value > max_index) {
    fail(std::string(what) + " " + std::to_string(value) + " is outside 0..2^31 - 1");
  }
  return static_cast<index_t>(value);
}

index_t npz_parser::index(offset_t value, index_t limit, const char* what, std::size_t k) const {
  if (value < 0 || value >= limit) {
    fail("entry " + std::to_string(k) + ": " + what + " " + std::to_string(value) +
         " is outside 0.." + std::to_string(limit - 1));
  }
  return static_cast<index_t>(value);
}

void npz_parser::check_pointers(const std::vector<offset_t>& pointers, offset_t major,
                                offset_t count) const {
  if (static_cast<offset_t>(pointers.size()) != major + 1) {
    fail("indptr has " + std::to_string(pointers.size()) + " numbers instead of " +
         std::to_string(major + 1));
  }
  if (pointers.front() != 0 || !std::ranges::is_sorted(pointers) || pointers.back() > count) {
    fail("indptr does not ascend from 0 to at most " + std::to_string(count) +
         ", the number of indices");
  }
}

// The values that a file may have: as many as places.
void npz_parser::check_values(std::size_t places) const {
  const auto data = arrays_.find("data.npy");
  if (data == arrays_.end()) return;
  const auto& shape = data->second.shape;
  if (shape.size() != 1 || shape[0] != static_cast<offset_t>(places)) {
    fail("data does not have the " + std::to_string(places) + " values of the entries");
  }
}

void npz_parser::add_compressed(bool by_rows) {
  const auto& pointers = one("indptr", 1).numbers;
  const auto& indices = one("indices", 1).numbers;
  check_values(indices.size());
  const index_t major = by_rows ? n_rows_ : n_cols_, minor = by_rows ? n_cols_ : n_rows_;
  check_pointers(pointers, major, static_cast<offset_t>(indices.size()));
  entries_.begin(n_rows_, n_cols_, false, pointers.back());
  for (index_t i = 0; i < major; ++i) {
    for (auto k = at(pointers[at(i)]); k < at(pointers[at(i) + 1]); ++k) {
      const index_t j = index(indices[k], minor, by_rows ? "column" : "row", k);
      by_rows ? entries_.add(i, j) : entries_.add(j, i);
    }
  }
}

void npz_parser::add_coordinates() {
  const auto& rows = one("row", 1).numbers;
  const auto& cols = one("col", 1).numbers;
  if (rows.size() != cols.size()) {
    fail("row has " + std::to_string(rows.size()) + " numbers and col has " +
         std::to_string(cols.size()));
  }
  check_values(rows.size());
  entries_.begin(n_rows_, n_cols_, false, static_cast<offset_t>(rows.size()));
  for (std::size_t k = 0; k < rows.size(); ++k) {
    entries_.add(index(rows[k], n_rows_, "row", k), index(cols[k], n_cols_, "column", k));
  }
}

void npz_parser::add_blocks() {
  const auto& pointers = one("indptr", 1).numbers;
  const auto& indices = one("indices", 1).numbers;
  const auto& shape = one("data", 3).shape;
  const index_t height = size(shape[1], "the height of a block"),
                width = size(shape[2], "the width of a block");
  if (height < 1 || width < 1 || n_rows_ % height != 0 || n_cols_ % width != 0 ||
      shape[0] < static_cast<offset_t>(indices.size())) {
    fail("data does not hold " + std::to_string(indices.size()) + " blocks that divide " +
         std::to_string(n_rows_) + " x " + std::to_string(n_cols_));
  }
  check_pointers(pointers, n_rows_ / height, static_cast<offset_t>(indices.size()));
  entries_.begin(n_rows_, n_cols_, false, pointers.back() * height * width);
  for (index_t i = 0; i < n_rows_ / height; ++i) {
    for (index_t r = 0; r < height; ++r) {
      for (auto k = at(pointers[at(i)]); k < at(pointers[at(i) + 1]); ++k) {
        const index_t j = index(indices[k], n_cols_ / width, "column of blocks", k);
        for (index_t c = 0; c < width; ++c) entries_.add(i * height + r, j * width + c);
      }
    }
  }
}

void npz_parser::add_diagonals() {
  const auto& offsets = one("offsets", 1).numbers;
  const auto& shape = one("data", 2).shape;
  if (shape[0] != static_cast<offset_t>(offsets.size())) {
    fail("data has " + std::to_string(shape[0]) + " diagonals and offsets has " +
         std::to_string(offsets.size()) + " numbers");
  }
  entries_.begin(n_rows_, n_cols_, false, 0);
  for (const offset_t offset : offsets) {
    if (offset <= -offset_t{n_rows_} || offset >= n_cols_) continue;
    // Column j of row k of the data is entry (j - offset, j).
    const offset_t end = std::min({offset_t{n_cols_}, shape[1], n_rows_ + offset});
    const offset_t begin = std::max<offset_t>(offset, 0);
    for (offset_t j = begin; j < end; ++j) {
      entries_.add(static_cast<index_t>(j - offset), static_cast<index_t>(j));
    }
  }
}

pattern npz_parser::parse(matrix_file_header& header) {
  std::string name;
  while (content_.next_member(name)) {
    if (name.ends_with(".npy")) read_array(excerpt(name, 40));
  }
  const auto format = arrays_.find("format.npy");
  const std::string kind = format == arrays_.end() ? "" : format->second.text;
  const auto& shape = one("shape", 1).numbers;
  if (shape.size() != 2) {
    fail("the array has " + std::to_string(shape.size()) + " dimensions; a matrix has 2");
  }
  n_rows_ = size(shape[0], "the number of rows");
  n_cols_ = size(shape[1], "the number of columns");
  if (kind == "csr" || kind == "csc") {
    add_compressed(kind == "csr");
  } else if (kind == "coo") {
    add_coordinates();
  } else if (kind == "bsr") {
    add_blocks();
  } else if (kind == "dia") {
    add_diagonals();
  } else {
    fail("format '" + excerpt(kind, 24) +
         "' is not supported; expected one of csr, csc, coo, bsr, dia");
  }
  const auto data = arrays_.find("data.npy");
  const char values = data == arrays_.end() ? '\0' : data->second.kind;
  header.format = matrix_format::scipy_npz;
  header.field = values == 'c'                    ? "complex"
                 : values == 'i' || values == 'u' ? "integer"
                 : values == 'b'                  ? "pattern"
                                                  : "real";
  header.symmetry = "general";
  header.stored_entries = entries_.count();
  return entries_.assemble();
}

// The text after 'key': in the dictionary of a .npy header.
std::string_view value_of(std::string_view dictionary, std::string_view key) {
  const std::size_t begin = dictionary.find("'" + std::string(key) + "':");
  if (begin == std::string_view::npos) return {};
  dictionary.remove_prefix(begin + key.size() + 3);
  dictionary.remove_prefix(std::min(dictionary.find_first_not_of(' '), dictionary.size()));
  return dictionary;
}

}  // namespace

npy_header read_npy_header(const std::function<void(std::span<char>)>& read,
                           const std::string& name) {
  auto fail = [&](const std::string& why) { throw input_error(name + ": " + why); };
  std::array<char, 12> begin{};
  read(std::span(begin).first(8));
  if (std::string_view(begin.data(), 6) != "\x93NUMPY") fail("not a NumPy array");
  const std::size_t length_bytes = begin[6] == 1 ? 2 : 4;
  read(std::span(begin).subspan(8, length_bytes));
  std::size_t length = 0;
  for (std::size_t k = length_bytes; k-- > 0;) {
    length = 256 * length + static_cast<unsigned char>(begin[8 + k]);
  }
  if (length > most_header_bytes) fail("a header of " + std::to_string(length) + " bytes");
  std::string header(length, '\0');
  read(header);
  // For example '<i4': byte order, kind, bytes.
  const std::string_view type = value_of(header, "descr");
  const std::string_view shape = value_of(header, "shape");
  const std::size_t close = shape.find(')');
  if (type.size() < 4 || type[0] != '\'' || !shape.starts_with('(') ||
      close == std::string_view::npos) {
    fail("a header that is not understood: " + excerpt(header, 60));
  }
  npy_header h;
  h.kind = type[2];
  h.big_endian = type[1] == '>';
  std::from_chars(type.data() + 3, type.data() + type.size(), h.item_bytes);
  h.fortran_order = value_of(header, "fortran_order").starts_with("True");
  for (const char* p = shape.data() + 1; p < shape.data() + close;) {
    offset_t value = 0;
    const auto parsed = std::from_chars(p, shape.data() + close, value);
    if (parsed.ec != std::errc{}) {
      ++p;
      continue;
    }
    if (value < 0) fail("a negative shape");
    h.shape.push_back(value);
    p = parsed.ptr;
  }
  return h;
}

offset_t npy_integer(const npy_header& header, const char* bytes, const std::string& name) {
  std::uint64_t value = 0;
  for (std::size_t k = 0; k < header.item_bytes; ++k) {
    const std::size_t place = header.big_endian ? k : header.item_bytes - 1 - k;
    value = (value << 8) | static_cast<unsigned char>(bytes[place]);
  }
  const std::size_t unused = 64 - 8 * header.item_bytes;
  if (header.kind == 'i') return static_cast<offset_t>(value << unused) >> unused;
  if (value > static_cast<std::uint64_t>(std::numeric_limits<offset_t>::max())) {
    throw input_error(name + ": a number does not fit in 64 bits");
  }
  return static_cast<offset_t>(value);
}

pattern parse_scipy_npz(matrix_content& content, matrix_file_header& header,
                        const memory_bound& bound) {
  return npz_parser(content, bound).parse(header);
}

}  // namespace gsofa
