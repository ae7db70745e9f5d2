#include "harness/library/superlu/symbolic_result.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace gsofa::superlu {

namespace {

const NCPformat& columns_of(const question& q) {
  return *static_cast<const NCPformat*>(q.a->Store);
}
std::size_t order_of(const question& q) { return static_cast<std::size_t>(q.a->ncol); }

// Shared memory begins with this header. The arrays follow in the order of `size`, each filled up
// with zeros to a multiple of 8 bytes.
struct memory_header {
  std::array<char, 8> magic{'g', 's', 'o', 'f', 'a', '0', '0', '2'};
  std::uint64_t digest = 0;  // of all bytes behind this one
  std::uint64_t int_bytes = sizeof(int_t);
  std::array<std::uint64_t, 2> limits{};
  std::array<std::uint64_t, 9> size{};
};

constexpr std::size_t word = sizeof(std::uint64_t);
constexpr std::size_t digest_begin = offsetof(memory_header, int_bytes);

template <class T>
std::span<const std::byte> bytes_of(std::span<const T> values) {
  return std::as_bytes(values);
}

std::size_t padding(std::size_t bytes) { return (word - bytes % word) % word; }

// Whether `bounds` ascends from 0 to `end`.
template <class T>
bool ascends(std::span<const T> bounds, std::size_t end) {
  return !bounds.empty() && bounds.front() == 0 && std::cmp_equal(bounds.back(), end) &&
         std::ranges::is_sorted(bounds);
}

bool all_within(std::span<const std::int32_t> values, std::int64_t begin, std::int64_t end) {
  return std::ranges::all_of(values, [&](std::int32_t v) { return begin <= v && v < end; });
}

// Whether supernode k has at least one column, its list of rows begins with its columns and goes on
// below them, and the segments of its columns are above them.
bool is_sound(const factor_view& f, std::size_t k, std::int32_t n) {
  const std::int32_t first = f.first_column[k];
  const std::int32_t next = f.first_column[k + 1];
  if (first >= next) return false;
  const auto rows = f.rows.subspan(static_cast<std::size_t>(f.row_begin[k]),
                                   static_cast<std::size_t>(f.row_begin[k + 1] - f.row_begin[k]));
  const auto width = static_cast<std::size_t>(next - first);
  if (rows.size() < width) return false;
  for (std::size_t i = 0; i < width; ++i) {
    if (rows[i] != first + static_cast<std::int32_t>(i)) return false;
  }
  const std::int64_t begin = f.segment_begin[static_cast<std::size_t>(first)];
  const std::int64_t end = f.segment_begin[static_cast<std::size_t>(next)];
  const auto segments =
      f.segments.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  return all_within(rows.subspan(width), next, n) && all_within(segments, 0, first);
}

// Whether every length and index of factors of order n can be used.
bool is_sound(const factor_view& f, std::size_t n) {
  if (n > std::numeric_limits<std::int32_t>::max() || f.first_column.size() < 2 ||
      f.row_begin.size() != f.first_column.size() || f.segment_begin.size() != n + 1 ||
      !ascends(f.first_column, n) || !ascends(f.row_begin, f.rows.size()) ||
      !ascends(f.segment_begin, f.segments.size())) {
    return false;
  }
  for (std::size_t k = 0; k < f.supernodes(); ++k) {
    if (!is_sound(f, k, static_cast<std::int32_t>(n))) return false;
  }
  return true;
}

// A short text for a terminal.
bool is_sound(std::string_view text) {
  return text.size() <= 200 &&
         std::ranges::all_of(text, [](char c) { return ' ' <= c && c <= '~'; });
}

}  // namespace

symbolic_result::symbolic_result(const question& q, gsofa::supernodal_factors&& factors,
                                 std::string_view how)
    : limits_(q.limits) {
  struct storage {
    std::vector<int_t> etree, rows;
    std::vector<std::uint64_t> end;
    gsofa::supernodal_factors factors;
    std::string how;
  };
  const auto own = std::make_shared<storage>();
  const NCPformat& columns = columns_of(q);
  const std::size_t n = order_of(q);
  own->etree.assign(q.etree, q.etree + n);
  own->end.reserve(n);
  own->rows.reserve(static_cast<std::size_t>(std::max<int_t>(columns.nnz, 0)));
  for (std::size_t j = 0; j < n; ++j) {
    own->rows.insert(own->rows.end(), columns.rowind + columns.colbeg[j],
                     columns.rowind + columns.colend[j]);
    own->end.push_back(own->rows.size());
  }
  own->factors = std::move(factors);
  own->how = how;
  etree_ = own->etree;
  rows_ = own->rows;
  end_ = own->end;
  const gsofa::supernodal_factors& f = own->factors;
  factors_ = {f.first_column, f.row_begin, f.rows, f.segment_begin, f.segments};
  how_ = own->how;
  owner_ = own;
}

descriptor symbolic_result::to_memory(const std::function<void()>& still_working) const {
  memory_header header;
  header.limits = {static_cast<std::uint64_t>(limits_[0]), static_cast<std::uint64_t>(limits_[1])};
  header.size = {end_.size(),
                 factors_.row_begin.size(),
                 factors_.segment_begin.size(),
                 etree_.size(),
                 rows_.size(),
                 factors_.first_column.size(),
                 factors_.rows.size(),
                 factors_.segments.size(),
                 how_.size()};
  const std::array<std::span<const std::byte>, 9> arrays{bytes_of(end_),
                                                         bytes_of(factors_.row_begin),
                                                         bytes_of(factors_.segment_begin),
                                                         bytes_of(etree_),
                                                         bytes_of(rows_),
                                                         bytes_of(factors_.first_column),
                                                         bytes_of(factors_.rows),
                                                         bytes_of(factors_.segments),
                                                         bytes_of(std::span<const char>(how_))};
  static constexpr std::array<std::byte, word> zeros{};
  const auto header_bytes = bytes_of(std::span<const memory_header>(&header, 1));
  std::vector<std::span<const std::byte>> parts{header_bytes};
  header.digest = memory_digest(header_bytes.subspan(digest_begin));
  for (const auto& array : arrays) {
    header.digest = memory_digest(array, header.digest);
    parts.push_back(array);
    parts.push_back(std::span(zeros).first(padding(array.size())));
  }
  return sealed_memory(parts, still_working);
}

std::optional<symbolic_result> symbolic_result::of_memory(const descriptor& memory) {
  const auto mapped = std::make_shared<const mapped_memory>(memory);
  std::span<const std::byte> rest = mapped->bytes();
  memory_header header;
  if (rest.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, rest.data(), sizeof header);
  if (header.magic != memory_header().magic || header.int_bytes != sizeof(int_t) ||
      header.digest != memory_digest(rest.subspan(digest_begin))) {
    return std::nullopt;
  }
  rest = rest.subspan(sizeof header);
  bool fits = true;
  std::size_t next = 0;
  const auto take = [&]<class T>(std::span<const T>& to) {
    const std::uint64_t count = header.size[next++];
    fits = fits && count <= rest.size() / sizeof(T);
    if (!fits) return;
    to = {reinterpret_cast<const T*>(rest.data()), static_cast<std::size_t>(count)};
    fits = padding(to.size_bytes()) <= rest.size() - to.size_bytes();
    if (fits) rest = rest.subspan(to.size_bytes() + padding(to.size_bytes()));
  };
  symbolic_result out;
  std::span<const char> how;
  take(out.end_);
  take(out.factors_.row_begin);
  take(out.factors_.segment_begin);
  take(out.etree_);
  take(out.rows_);
  take(out.factors_.first_column);
  take(out.factors_.rows);
  take(out.factors_.segments);
  take(how);
  out.how_ = {how.data(), how.size()};
  constexpr std::uint64_t most = std::numeric_limits<int>::max();
  if (!fits || !rest.empty() || header.limits[0] > most || header.limits[1] > most ||
      out.end_.size() != out.etree_.size() || out.end_.empty() ||
      out.end_.back() != out.rows_.size() || !std::ranges::is_sorted(out.end_) ||
      !is_sound(out.factors_, out.etree_.size()) || !is_sound(out.how_)) {
    return std::nullopt;
  }
  out.limits_ = {static_cast<int>(header.limits[0]), static_cast<int>(header.limits[1])};
  out.owner_ = mapped;
  return out;
}

bool symbolic_result::answers(const question& q) const {
  const NCPformat& columns = columns_of(q);
  const std::size_t n = order_of(q);
  if (q.limits != limits_ || n != etree_.size() ||
      !std::equal(etree_.begin(), etree_.end(), q.etree)) {
    return false;
  }
  std::size_t p = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const auto size = static_cast<std::size_t>(columns.colend[j] - columns.colbeg[j]);
    if (p + size != end_[j]) return false;
    const auto own = rows_.subspan(p, size);
    if (!std::equal(own.begin(), own.end(), columns.rowind + columns.colbeg[j])) return false;
    p = end_[j];
  }
  return true;
}

namespace {

// A number for a question: equal for equal ones, from a few of its entries.
std::uint64_t sampled(const question& q) {
  constexpr std::size_t samples = 1024;
  const NCPformat& columns = columns_of(q);
  const std::size_t n = order_of(q);
  std::uint64_t name = 0;
  const auto add = [&](std::int64_t value) {
    name = (name ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15ULL;
    name ^= name >> 29;
  };
  for (const std::int64_t value :
       {std::int64_t{q.a->ncol}, std::int64_t{columns.nnz}, std::int64_t{q.limits[0]},
        std::int64_t{q.limits[1]}, std::int64_t{sizeof(int_t)}}) {
    add(value);
  }
  for (std::size_t k = 0; k < std::min(n, samples); ++k) {
    const std::size_t j = n <= samples ? k : k * (n / samples);
    add(q.etree[j]);
    add(columns.colend[j] - columns.colbeg[j]);
    if (columns.colend[j] > columns.colbeg[j]) add(columns.rowind[columns.colend[j] - 1]);
  }
  return name;
}

}  // namespace

std::string share_name(const question& q, std::string_view job) {
  // The job comes last: the end of a long name is cut off.
  return "gsofa.symbfact." + std::to_string(geteuid()) + "." + std::to_string(sampled(q)) + "." +
         std::string(job);
}

}  // namespace gsofa::superlu
