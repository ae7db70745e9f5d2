#include "common/prepared.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>
#include <utility>

#include "common/digest.hpp"
#include "common/file.hpp"

namespace gsofa {

namespace {

constexpr std::array<char, 8> magic{'g', 'S', 'o', 'F', 'a', 'P', 'P', '\n'};
constexpr std::uint32_t format_version = 1;
constexpr std::uint32_t endian_mark = 0x01020304;
constexpr std::size_t alignment = 64;

// The first 64 bytes of the file, in the byte order of the machine that wrote it. The provenance
// follows; row_ptr, col_idx, row_order and col_order begin at the next multiples of 64.
struct file_header {
  std::array<char, 8> magic_bytes;
  std::uint32_t endian;
  std::uint32_t version;
  std::int64_t order;
  std::int64_t entries;
  std::int64_t json_bytes;
  std::uint64_t digest;    // pattern_digest
  std::uint64_t checksum;  // of the provenance and both orders
  std::uint64_t reserved;  // 0
};
static_assert(sizeof(file_header) == 64 && std::is_trivially_copyable_v<file_header>);

struct owned_arrays {
  pattern a;
  std::vector<index_t> row_order, col_order;
};

std::size_t aligned(std::size_t offset) { return (offset + alignment - 1) / alignment * alignment; }

// Where the arrays lie; no overflow as long as order and entries are below 2^58.
struct layout {
  layout(std::size_t order, std::size_t entries, std::size_t json_bytes)
      : row_ptr(aligned(sizeof(file_header) + json_bytes)),
        col_idx(aligned(row_ptr + sizeof(offset_t) * (order + 1))),
        row_order(aligned(col_idx + sizeof(index_t) * entries)),
        col_order(aligned(row_order + sizeof(index_t) * order)),
        file_bytes(col_order + sizeof(index_t) * order) {}
  std::size_t row_ptr, col_idx, row_order, col_order, file_bytes;
};

// Detects accidental changes: polynomial in the words modulo 2^64 over the provenance and orders.
std::uint64_t checksum(std::string_view json, std::span<const index_t> row_order,
                       std::span<const index_t> col_order) {
  std::uint64_t sum = 0xcbf29ce484222325ULL;
  auto add = [&sum](std::uint64_t word) { sum = (sum ^ word) * 0x100000001b3ULL; };
  for (const char c : json) add(static_cast<unsigned char>(c));
  for (const index_t v : row_order) add(static_cast<std::uint32_t>(v));
  for (const index_t v : col_order) add(static_cast<std::uint32_t>(v));
  return sum;
}

}  // namespace

std::string to_json(const provenance& p) {
  nlohmann::json json{
      {"name", p.name},
      {"source", p.source},
      {"sha256", p.sha256},
      {"stand_in", p.stand_in},
      {"nnz_input", p.nnz_input},
      {"diagonal_added", p.diagonal_added},
      {"match", p.match},
      {"order", p.order},
      {"order_library", p.order_library},
      {"seed", p.seed},
      {"postordered", p.postordered},
      {"prepare_seconds", std::isfinite(p.prepare_seconds) ? p.prepare_seconds : 0.0}};
  if (!p.made_from.empty()) json["made_from"] = p.made_from;
  // Names that are not UTF-8 keep what is.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

provenance from_json(std::string_view text, const std::string& file) {
  const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) throw input_error(file + ": its provenance is not a JSON object");
  auto field = [&](const char* key, auto is_right) -> const nlohmann::json& {
    const auto found = json.find(key);
    if (found == json.end() || !is_right(*found)) {
      throw input_error(file + ": its provenance lacks a valid '" + key + "'");
    }
    return *found;
  };
  auto word = [&](const char* key) {
    return field(key, [](const auto& v) { return v.is_string(); }).template get<std::string>();
  };
  auto flag = [&](const char* key) {
    return field(key, [](const auto& v) { return v.is_boolean(); }).template get<bool>();
  };
  auto integer = [&](const char* key) {
    return field(key,
                 [](const auto& v) {
                   return v.is_number_integer() &&
                          (!v.is_number_unsigned() ||
                           std::in_range<std::int64_t>(v.template get<std::uint64_t>()));
                 })
        .template get<std::int64_t>();
  };
  auto count = [&](const char* key, std::int64_t most) {
    const std::int64_t value = integer(key);
    if (value < 0 || value > most) {
      throw input_error(file + ": its provenance lacks a valid '" + key + "'");
    }
    return value;
  };
  provenance p;
  p.name = word("name");
  p.source = word("source");
  p.sha256 = word("sha256");
  p.stand_in = flag("stand_in");
  p.nnz_input = count("nnz_input", std::numeric_limits<std::int64_t>::max());
  p.diagonal_added = static_cast<index_t>(count("diagonal_added", max_index));
  p.match = word("match");
  p.order = word("order");
  p.order_library = word("order_library");
  p.seed = integer("seed");
  p.postordered = flag("postordered");
  p.prepare_seconds =
      field("prepare_seconds", [](const auto& v) { return v.is_number(); }).template get<double>();
  if (!json.contains("made_from")) return p;
  const auto& made_from = field("made_from", [](const auto& v) {
    return v.is_object() &&
           std::ranges::all_of(v, [](const auto& part) { return part.is_string(); });
  });
  p.made_from = made_from.template get<std::map<std::string, std::string>>();
  return p;
}

namespace {

// The conditions that every variant relies on.
void check(const pattern_view& a, std::span<const index_t> row_order,
           std::span<const index_t> col_order, const std::string& what) {
  validate(a, what);
  if (a.n_rows != a.n_cols) {
    throw input_error(what + ": not square: " + std::to_string(a.n_rows) + " x " +
                      std::to_string(a.n_cols));
  }
  validate_permutation(row_order, a.n_rows, what + ": row order");
  validate_permutation(col_order, a.n_rows, what + ": column order");
  if (const index_t missing = count_missing_diagonal(a); missing > 0) {
    throw input_error(what + ": " + std::to_string(missing) + " of " + std::to_string(a.n_rows) +
                      " diagonal entries are structurally zero");
  }
}

template <class T>
std::span<const T> array_at(std::span<const std::byte> bytes, std::size_t offset,
                            std::size_t count) {
  // The mapping is page-aligned and the offset a multiple of 64.
  return {reinterpret_cast<const T*>(bytes.data() + offset), count};
}

}  // namespace

prepared_pattern::prepared_pattern(pattern a, std::vector<index_t> row_order,
                                   std::vector<index_t> col_order, provenance origin)
    : origin_(std::move(origin)) {
  const auto arrays = std::make_shared<const owned_arrays>(
      owned_arrays{std::move(a), std::move(row_order), std::move(col_order)});
  check(arrays->a, arrays->row_order, arrays->col_order,
        origin_.name.empty() ? "prepared pattern" : origin_.name);
  view_ = arrays->a.view();
  row_order_ = arrays->row_order;
  col_order_ = arrays->col_order;
  digest_ = pattern_digest(view_);
  storage_ = arrays;
}

void prepared_pattern::save(const std::filesystem::path& file) const {
  static constexpr std::array<offset_t, 1> no_rows{0};
  const std::span<const offset_t> row_ptr = view_.row_ptr.empty() ? no_rows : view_.row_ptr;
  const std::string json = to_json(origin_);
  const file_header header{magic,
                           endian_mark,
                           format_version,
                           view_.n_rows,
                           view_.nnz(),
                           static_cast<std::int64_t>(json.size()),
                           digest_,
                           checksum(json, row_order_, col_order_),
                           0};
  const layout place(at(header.order), at(header.entries), json.size());
  atomic_file out(file);
  std::size_t written = 0;
  auto put = [&](std::size_t offset, std::span<const std::byte> bytes) {
    out.write(std::string(offset - written, '\0'));
    out.write(bytes);
    written = offset + bytes.size();
  };
  put(0, std::as_bytes(std::span(&header, 1)));
  put(sizeof header, std::as_bytes(std::span(json)));
  put(place.row_ptr, std::as_bytes(row_ptr));
  put(place.col_idx, std::as_bytes(view_.col_idx));
  put(place.row_order, std::as_bytes(row_order_));
  put(place.col_order, std::as_bytes(col_order_));
  out.commit();
}

prepared_pattern prepared_pattern::load(const std::filesystem::path& file, bool verify_digest) {
  const std::string name = file.string();
  const auto mapping = std::make_shared<const mapped_file>(file);
  const std::span<const std::byte> bytes = mapping->bytes();
  auto fail = [&](const std::string& why) { throw input_error(name + ": " + why); };

  file_header header{};
  if (bytes.size() < sizeof header) fail("not a prepared pattern, or truncated");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic_bytes != magic) fail("not a prepared pattern");
  if (header.endian != endian_mark) fail("written on a machine of another byte order");
  if (header.version != format_version) {
    fail("format version " + std::to_string(header.version) + " is not " +
         std::to_string(format_version) + "; prepare the matrix again");
  }
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (header.order < 0 || header.order > max_index || header.entries < 0 ||
      header.entries > size / 4 || header.json_bytes < 0 || header.json_bytes > size ||
      header.reserved != 0) {
    fail("corrupt or truncated: its header does not fit a file of " + std::to_string(size) +
         " bytes");
  }
  const std::size_t n = at(header.order);
  const layout place(n, at(header.entries), at(header.json_bytes));
  if (place.file_bytes != bytes.size()) {
    fail("corrupt or truncated: " + std::to_string(size) + " bytes instead of " +
         std::to_string(place.file_bytes));
  }
  const std::string_view json(reinterpret_cast<const char*>(bytes.data()) + sizeof header,
                              at(header.json_bytes));

  prepared_pattern p;
  p.view_.n_rows = p.view_.n_cols = static_cast<index_t>(header.order);
  p.view_.row_ptr = array_at<offset_t>(bytes, place.row_ptr, n + 1);
  p.view_.col_idx = array_at<index_t>(bytes, place.col_idx, at(header.entries));
  p.row_order_ = array_at<index_t>(bytes, place.row_order, n);
  p.col_order_ = array_at<index_t>(bytes, place.col_order, n);
  check(p.view_, p.row_order_, p.col_order_, name);
  p.origin_ = from_json(json, name);
  if (checksum(json, p.row_order_, p.col_order_) != header.checksum) {
    fail("corrupt: the checksum of its provenance and orders does not match");
  }
  p.digest_ = header.digest;
  if (verify_digest && pattern_digest(p.view_) != header.digest) {
    fail("corrupt: the digest of its pattern does not match");
  }
  p.storage_ = mapping;
  return p;
}

bool prepared_pattern::is_prepared_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::array<char, magic.size()> begin{};
  return in.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == magic;
}

}  // namespace gsofa
