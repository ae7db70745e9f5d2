// libgsofa loaded as a plugin: its symbols are seen by nobody else, and neither it nor another
// METIS of the process sees the other.

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "gsofa/gsofa.h"
#include "harness/testing/processes.hpp"

namespace {

// A square grid, 5 points.
struct pattern {
  std::vector<std::int64_t> row_ptr{0};
  std::vector<std::int32_t> col_idx;
  explicit pattern(std::int32_t side) {
    const std::int32_t n = side * side;
    for (std::int32_t v = 0; v < n; ++v) {
      if (v >= side) col_idx.push_back(v - side);
      if (v % side != 0) col_idx.push_back(v - 1);
      col_idx.push_back(v);
      if (v % side != side - 1) col_idx.push_back(v + 1);
      if (v + side < n) col_idx.push_back(v + side);
      row_ptr.push_back(static_cast<std::int64_t>(col_idx.size()));
    }
  }
  [[nodiscard]] std::int32_t n() const { return static_cast<std::int32_t>(row_ptr.size()) - 1; }
};

template <class Function>
Function* find(void* library, const char* name) {
  void* const found = dlsym(library, name);
  REQUIRE(found != nullptr);
  return reinterpret_cast<Function*>(found);
}

std::vector<std::int32_t> order(void* library, const pattern& a) {
  gsofa_analysis* found = nullptr;
  const auto status = find<decltype(gsofa_analyze)>(library, "gsofa_analyze")(
      a.n(), a.row_ptr.data(), a.col_idx.data(), nullptr, &found);
  REQUIRE(status == GSOFA_OK);
  gsofa_result r;
  const auto filled = find<decltype(gsofa_get_result_sized)>(library, "gsofa_get_result_sized")(
      found, &r, sizeof r);
  REQUIRE(filled == GSOFA_OK);
  std::vector<std::int32_t> out(r.row_order, r.row_order + a.n());
  find<decltype(gsofa_free)>(library, "gsofa_free")(found);
  return out;
}

}  // namespace

TEST_CASE("another METIS in the global scope, with wider indices, changes no order") {
  const pattern a(30);
  std::vector<std::int32_t> expected(static_cast<std::size_t>(a.n()));
  const auto [bytes, status] = gsofa::testing::end_of([&] {  // a process without the other METIS
    const auto found = order(dlopen(GSOFA_LIBRARY, RTLD_NOW | RTLD_LOCAL), a);
    return std::fwrite(found.data(), sizeof found[0], found.size(), stdout) == found.size() ? 0 : 1;
  });
  REQUIRE(status == 0);
  REQUIRE(bytes.size() == expected.size() * sizeof expected[0]);
  std::memcpy(expected.data(), bytes.data(), bytes.size());

  void* const other = dlopen(GSOFA_FAKE_METIS, RTLD_NOW | RTLD_GLOBAL);
  REQUIRE_MESSAGE(other != nullptr, dlerror());
  void* const library = dlopen(GSOFA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  REQUIRE_MESSAGE(library != nullptr, dlerror());
  CHECK(order(library, a) == expected);
  // Others find theirs, by name and in the global scope.
  void* const named = dlopen("libmetis.so.5", RTLD_NOW | RTLD_NOLOAD);
  CHECK(named == other);
  CHECK(dlsym(RTLD_DEFAULT, "METIS_NodeND") == dlsym(other, "METIS_NodeND"));
  dlclose(library);
}

TEST_CASE("a plugin finds the same order on all threads") {
  void* const library = dlopen(GSOFA_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  REQUIRE_MESSAGE(library != nullptr, dlerror());
  const pattern a(30);
  std::atomic<int> different{0};
  std::vector<std::vector<std::int32_t>> orders(8);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : orders) {
      threads.emplace_back([&] {
        mine = order(library, a);
        for (int k = 0; k < 5; ++k) different += order(library, a) != mine ? 1 : 0;
      });
    }
  }
  CHECK(different == 0);
  for (const auto& other : orders) CHECK(other == orders.front());
  dlclose(library);
}
