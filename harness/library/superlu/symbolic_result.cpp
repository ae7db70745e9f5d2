#include "harness/library/superlu/symbolic_result.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
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
  supernode_limits limits{};
  std::array<std::uint64_t, 9> size{};
};

constexpr std::size_t word = sizeof(std::uint64_t);
static_assert(sizeof(memory_header) % word == 0);

std::size_t padding(std::size_t bytes) { return (word - bytes % word) % word; }

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

void symbolic_result::give_to(node_share& share) const {
  const std::array<std::span<const std::byte>, 9> arrays{
      std::as_bytes(end_),
      std::as_bytes(factors_.row_begin),
      std::as_bytes(factors_.segment_begin),
      std::as_bytes(etree_),
      std::as_bytes(rows_),
      std::as_bytes(factors_.first_column),
      std::as_bytes(factors_.rows),
      std::as_bytes(factors_.segments),
      std::as_bytes(std::span<const char>(how_))};
  static constexpr std::array<std::byte, word> zeros{};
  memory_header header{.limits = limits_};
  std::vector<std::span<const std::byte>> parts{std::as_bytes(std::span(&header, 1))};
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    header.size[k] = arrays[k].size();
    parts.push_back(arrays[k]);
    parts.push_back(std::span(zeros).first(padding(arrays[k].size())));
  }
  share.give(parts);
}

std::optional<symbolic_result> symbolic_result::of_memory(shared_bytes memory) {
  if (memory.bytes.empty()) return std::nullopt;
  memory_header header;
  std::memcpy(&header, memory.bytes.data(), sizeof header);
  std::span<const std::byte> rest = memory.bytes.subspan(sizeof header);
  std::size_t next = 0;
  const auto take = [&]<class T>(std::span<const T>& to) {
    const std::size_t size = header.size[next++];
    to = {reinterpret_cast<const T*>(rest.data()), size / sizeof(T)};
    rest = rest.subspan(size + padding(size));
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
  out.limits_ = header.limits;
  out.owner_ = std::move(memory.owner);
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
  return "gsofa.symbfact." + std::to_string(geteuid()) + "." + std::to_string(sampled(q)) + "." +
         std::string(job);
}

}  // namespace gsofa::superlu
