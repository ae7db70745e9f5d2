// libgsofa loaded as a plugin: its symbols are seen by nobody else, METIS is resolved lazily, and
// it is unloaded while METIS stays.

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "gsofa/gsofa.h"

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
  const auto* rows = find<decltype(gsofa_row_order)>(library, "gsofa_row_order")(found);
  std::vector<std::int32_t> out(rows, rows + a.n());
  find<decltype(gsofa_free)>(library, "gsofa_free")(found);
  return out;
}

}  // namespace

TEST_CASE("a plugin finds the same order on all threads, and METIS outlives it") {
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

  void* const metis = dlopen("libmetis.so.5", RTLD_LAZY | RTLD_NOLOAD);
  dlclose(library);
  if (metis == nullptr) return;
  // METIS as another user of the process has it.
  using node_nd = int(std::int32_t*, std::int32_t*, std::int32_t*, std::int32_t*, std::int32_t*,
                      std::int32_t*, std::int32_t*);
  std::int32_t n = 3;
  std::int32_t begins[] = {0, 1, 3, 4}, neighbours[] = {1, 0, 2, 1}, perm[3], inverse[3];
  CHECK(find<node_nd>(metis, "METIS_NodeND")(&n, begins, neighbours, nullptr, nullptr, perm,
                                             inverse) == 1);
  dlclose(metis);
}
