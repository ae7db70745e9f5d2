#include "harness/superlu/symbolic_result.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace gsofa::superlu {

namespace {

const NCPformat& columns_of(const question& q) {
  return *static_cast<const NCPformat*>(q.a->Store);
}
std::size_t order_of(const question& q) { return static_cast<std::size_t>(q.a->ncol); }

// Memory that is shared begins with this; the arrays follow in the order of `size`, the wider ones
// first, so that all lie at multiples of their widths.
struct memory_header {
  std::array<char, 8> magic{'g', 's', 'o', 'f', 'a', '0', '0', '1'};
  std::uint64_t int_bytes = sizeof(int_t);
  std::array<std::uint64_t, 2> limits{};
  std::array<std::uint64_t, 9> size{};
};

template <class T>
std::span<const std::byte> bytes_of(std::span<const T> values) {
  return std::as_bytes(values);
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

descriptor symbolic_result::to_memory() const {
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
  const std::array<std::span<const std::byte>, 10> parts{
      bytes_of(std::span<const memory_header>(&header, 1)),
      bytes_of(end_),
      bytes_of(factors_.row_begin),
      bytes_of(factors_.segment_begin),
      bytes_of(etree_),
      bytes_of(rows_),
      bytes_of(factors_.first_column),
      bytes_of(factors_.rows),
      bytes_of(factors_.segments),
      bytes_of(std::span<const char>(how_))};
  return sealed_memory(parts);
}

std::optional<symbolic_result> symbolic_result::of_memory(const descriptor& memory) {
  const auto mapped = std::make_shared<const mapped_memory>(memory);
  std::span<const std::byte> rest = mapped->bytes();
  memory_header header;
  if (rest.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, rest.data(), sizeof header);
  rest = rest.subspan(sizeof header);
  if (header.magic != memory_header().magic || header.int_bytes != sizeof(int_t)) {
    return std::nullopt;
  }
  bool fits = true;
  std::size_t next = 0;
  const auto take = [&]<class T>(std::span<const T>& to) {
    const std::uint64_t count = header.size[next++];
    fits = fits && count <= rest.size() / sizeof(T);
    if (!fits) return;
    to = {reinterpret_cast<const T*>(rest.data()), static_cast<std::size_t>(count)};
    rest = rest.subspan(to.size_bytes());
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
  if (!fits || !rest.empty() || out.factors_.first_column.empty()) return std::nullopt;
  out.how_ = {how.data(), how.size()};
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

std::uint64_t sampled_name(const question& q) {
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

}  // namespace gsofa::superlu
