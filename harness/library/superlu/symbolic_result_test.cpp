// Results in memory of one process and in memory that several share.
#include "harness/library/superlu/symbolic_result.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <span>
#include <string>
#include <vector>

using namespace gsofa::superlu;

namespace {

// A of order 2, dense, as symbfact is given it.
struct dense_question {
  std::vector<int_t> rows{0, 1, 0, 1}, begin{0, 2}, end{2, 4}, etree{1, 2};
  NCPformat store{4, nullptr, rows.data(), begin.data(), end.data()};
  SuperMatrix a{SLU_NCP, SLU_D, SLU_GE, 2, 2, &store};
  supernode_limits limits{60, 256};

  [[nodiscard]] question get() const { return {&a, etree.data(), limits}; }
};

symbolic_result result_of(const dense_question& q) {
  gsofa::supernodal_factors f;
  f.first_column = {0, 2};
  f.row_begin = {0, 2};
  f.rows = {0, 1};
  f.segment_begin = {0, 0, 0};
  return {q.get(), std::move(f), "a test"};
}

}  // namespace

TEST_CASE("a result comes back from memory as it was, and answers its question alone") {
  const dense_question q;
  const symbolic_result own = result_of(q);
  const auto shared = symbolic_result::of_memory(own.to_memory());
  REQUIRE(shared);
  for (const symbolic_result* r : {&own, &*shared}) {
    CHECK(r->how() == "a test");
    CHECK(r->factors().supernodes() == 1);
    CHECK(std::vector(r->factors().rows.begin(), r->factors().rows.end()) == std::vector{0, 1});
    CHECK(r->factors().segments.empty());
    CHECK(r->answers(q.get()));
    dense_question other;
    other.etree[0] = 2;
    CHECK(!r->answers(other.get()));
    dense_question narrower;
    narrower.limits[1] = 4;
    CHECK(!r->answers(narrower.get()));
    dense_question sparser;
    sparser.end[1] = 3;
    CHECK(!r->answers(sparser.get()));
    dense_question swapped;
    swapped.rows = {1, 0, 0, 1};
    swapped.store.rowind = swapped.rows.data();
    CHECK(!r->answers(swapped.get()));
  }
}

namespace {

std::vector<std::byte> bytes_of(const symbolic_result& r) {
  const mapped_memory mapped(r.to_memory());
  return {mapped.bytes().begin(), mapped.bytes().end()};
}

bool accepted(std::span<const std::byte> bytes) {
  const std::array<std::span<const std::byte>, 1> parts{bytes};
  return symbolic_result::of_memory(sealed_memory(parts)).has_value();
}

constexpr std::size_t digest_place = 8, digest_end = 16, sizes_place = 40, header_end = 112;

// The bytes with a value stored at a place, and the digest that belongs to them.
template <class T>
std::vector<std::byte> with(std::vector<std::byte> bytes, std::size_t place, T value) {
  std::memcpy(bytes.data() + place, &value, sizeof value);
  const std::uint64_t digest = memory_digest(std::span(bytes).subspan(digest_end));
  std::memcpy(bytes.data() + digest_place, &digest, sizeof digest);
  return bytes;
}

}  // namespace

TEST_CASE("memory that holds no result is refused") {
  const dense_question q;
  const std::vector<std::byte> good = bytes_of(result_of(q));
  CHECK(accepted(good));
  CHECK(accepted(with(good, header_end, std::uint64_t{2})));  // what is there already
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK(!accepted(std::span(good).first(size)));
  }
  std::vector<std::byte> longer = good;
  longer.emplace_back();
  CHECK(!accepted(longer));
  for (std::size_t place = 0; place < good.size(); ++place) {
    std::vector<std::byte> changed = good;
    changed[place] ^= std::byte{0x10};
    CHECK(!accepted(changed));
  }
  for (std::size_t place = sizes_place; place < header_end; place += 8) {
    for (const std::uint64_t size : {0ULL, 1ULL, 5ULL, 1ULL << 61, ~0ULL}) {
      // Sizes that differ from each other, or that the memory does not hold. A text may be shorter.
      std::uint64_t now = 0;
      std::memcpy(&now, good.data() + place, sizeof now);
      const bool text = place == header_end - 8;
      if (size != now && !(text && size > 0 && size < 7)) CHECK(!accepted(with(good, place, size)));
    }
  }
  CHECK(!symbolic_result::of_memory(descriptor()));
}

TEST_CASE("memory with an index out of range is refused") {
  const dense_question q;
  const std::vector<std::byte> good = bytes_of(result_of(q));
  // The ends of both columns come first.
  CHECK(!accepted(with(good, header_end, std::uint64_t{5})));
  CHECK(!accepted(with(good, header_end, ~std::uint64_t{0})));
  CHECK(!accepted(with(good, header_end + 8, std::uint64_t{3})));
  CHECK(!accepted(with(good, header_end + 8, std::uint64_t{1} << 40)));

  const auto is_accepted = [&](const gsofa::supernodal_factors& f, const char* how = "a test") {
    return accepted(bytes_of({q.get(), gsofa::supernodal_factors(f), how}));
  };
  // Two supernodes of a column each; a segment of column 1 begins at row 0.
  gsofa::supernodal_factors f;
  f.first_column = {0, 1, 2};
  f.row_begin = {0, 2, 3};
  f.rows = {0, 1, 1};
  f.segment_begin = {0, 0, 1};
  f.segments = {0};
  REQUIRE(is_accepted(f));
  const auto refused = [&](auto gsofa::supernodal_factors::*member, auto... values) {
    gsofa::supernodal_factors bad = f;
    bad.*member = {values...};
    CAPTURE(sizeof...(values));
    CHECK(!is_accepted(bad));
  };
  using factors = gsofa::supernodal_factors;
  refused(&factors::first_column, 0, 1, 1);
  refused(&factors::first_column, 0, 0, 2);
  refused(&factors::first_column, 1, 1, 2);
  refused(&factors::first_column, 0, 1, 3);
  refused(&factors::first_column, 0, -1, 2);
  refused(&factors::first_column, 0, 2);
  refused(&factors::first_column, 0);
  refused(&factors::row_begin, 0, 2, 4);
  refused(&factors::row_begin, 0, 4, 3);
  refused(&factors::row_begin, 0, -1, 3);
  refused(&factors::row_begin, 1, 2, 3);
  refused(&factors::row_begin, 0, 3);
  refused(&factors::rows, 0, 2, 1);
  refused(&factors::rows, 0, -1, 1);
  refused(&factors::rows, 0, 0, 1);
  refused(&factors::rows, 1, 0, 1);
  refused(&factors::rows, 0, 1, 0);
  refused(&factors::segment_begin, 0, 0, 2);
  refused(&factors::segment_begin, 0, 2, 1);
  refused(&factors::segment_begin, 0, 1);
  refused(&factors::segment_begin, 0, 1, 1);  // column 0 has nothing above it
  refused(&factors::segments, 1);
  refused(&factors::segments, -1);
  refused(&factors::segments, 1 << 30);
  CHECK(!is_accepted(f, "an escape \x1b[2J"));
  CHECK(!is_accepted(f, std::string(201, 'x').c_str()));
}
