// What the C interface adds to the C++ one: statuses, texts, callbacks, sizes of structures. Its
// results are compared with an oracle by ../../soak/interface_attack.cpp.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/pattern.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/test_analyses.hpp"
#include "reference/test_patterns.hpp"

namespace gsofa {
namespace {

using namespace library::testing;

TEST_CASE("the C interface reports errors by status and text, and throws nothing") {
  const std::vector<std::int64_t> row_ptr{0, 1, 2};
  const std::vector<std::int32_t> outside{0, 5};
  const std::vector<std::int32_t> good{0, 1};
  handle h;
  const auto run = [&](std::int32_t n, const std::int64_t* ptr, const std::int32_t* idx,
                       const gsofa_options* o) {
    gsofa_free(h.a);
    h.a = nullptr;
    const gsofa_status status = gsofa_analyze(n, ptr, idx, o, &h.a);
    CHECK((h.a == nullptr) == (status != GSOFA_OK));
    return status;
  };
  const auto text = [] { return std::string(gsofa_last_error()); };

  CHECK(gsofa_analyze(2, row_ptr.data(), good.data(), nullptr, nullptr) == GSOFA_INVALID_INPUT);
  CHECK(text() == "out is NULL");
  CHECK(run(2, nullptr, good.data(), nullptr) == GSOFA_INVALID_INPUT);
  CHECK(text() == "row_ptr is NULL");
  CHECK(run(2, row_ptr.data(), nullptr, nullptr) == GSOFA_INVALID_INPUT);
  CHECK(text() == "col_idx is NULL");
  CHECK(run(0, nullptr, nullptr, nullptr) == GSOFA_INVALID_INPUT);
  CHECK(text() == "row_ptr is NULL");
  CHECK(run(2, row_ptr.data(), outside.data(), nullptr) == GSOFA_INVALID_INPUT);
  CHECK(text() == "pattern: row 1: column 5 is outside [0, 2)");
  const std::vector<std::int64_t> negative{0, 1, -1};
  CHECK(run(2, negative.data(), good.data(), nullptr) == GSOFA_INVALID_INPUT);
  CHECK(text() == "pattern: row_ptr decreases from 1 to -1 at row 1");
  const std::vector<std::int64_t> hump{0, 7, 2};
  CHECK(run(2, hump.data(), good.data(), nullptr) == GSOFA_INVALID_INPUT);
  CHECK(text() == "pattern: row_ptr decreases from 7 to 2 at row 1");

  gsofa_options o;
  gsofa_options_init(&o);
  gsofa_options_init(nullptr);
  o.device = 17;
  CHECK(run(2, row_ptr.data(), good.data(), &o) == GSOFA_INVALID_INPUT);
  CHECK(text() == "device: 17 is not a compute_device");
  gsofa_options_init(&o);
  o.order = -2;
  CHECK(run(2, row_ptr.data(), good.data(), &o) == GSOFA_INVALID_INPUT);
  CHECK(text() == "order: -2 is no order_method");
  gsofa_options_init(&o);
  const std::vector<std::int64_t> upper_ptr{0, 2, 3};
  const std::vector<std::int32_t> upper{0, 1, 1};
  o.symmetric = GSOFA_LOWER_TRIANGLE;
  CHECK(run(2, upper_ptr.data(), upper.data(), &o) == GSOFA_INVALID_INPUT);
  CHECK(text() == "symmetric: lower, but row 0 has column 1, above the diagonal");
  o.first_index = 1;
  CHECK(run(2, row_ptr.data(), outside.data(), &o) == GSOFA_INVALID_INPUT);
  CHECK(text() == "pattern: row 2: column 6 is outside [1, 3)");
  o.symmetric = GSOFA_UPPER_TRIANGLE;
  CHECK(run(2, upper_ptr.data(), upper.data(), &o) == GSOFA_OK);
  CHECK(result_of(h.a).nnz_l == 1);
  CHECK(std::string(result_of(h.a).warning).empty());
  CHECK(run(2, upper_ptr.data(), upper.data(), nullptr) == GSOFA_OK);
  CHECK(std::string(result_of(h.a).warning).starts_with("the pattern is upper triangular"));
  gsofa_options_init(&o);
  const std::string long_name(2000, 'x');
  o.variant = long_name.c_str();
  CHECK(run(2, row_ptr.data(), good.data(), &o) == GSOFA_INVALID_INPUT);
  CHECK(text().starts_with("unknown variant 'xxx"));

  // No handle: zero and null.
  CHECK(run(2, row_ptr.data(), good.data(), nullptr) == GSOFA_OK);
  CHECK(gsofa_get_result(h.a, nullptr) == GSOFA_INVALID_INPUT);
  CHECK(text() == "an argument is NULL");
  gsofa_result r = result_of(h.a);
  CHECK(gsofa_get_result(nullptr, &r) == GSOFA_INVALID_INPUT);
  CHECK(r.size == 0);
  CHECK(r.n == 0);
  CHECK(r.row_order == nullptr);
  CHECK(r.variant == nullptr);
  gsofa_free(nullptr);

  // Each thread has a text of its own.
  CHECK(run(2, row_ptr.data(), outside.data(), nullptr) == GSOFA_INVALID_INPUT);
  std::string elsewhere = "?";
  std::jthread([&] { elsewhere = gsofa_last_error(); }).join();
  CHECK(elsewhere.empty());
  CHECK_FALSE(text().empty());
}

TEST_CASE("the C interface: variants and version are those of the C++ one") {
  const gsofa_variant* listed = nullptr;
  std::int32_t count = 0;
  REQUIRE(gsofa_variants(&listed, &count) == GSOFA_OK);
  const auto all = variants();
  REQUIRE(count == static_cast<std::int32_t>(all.size()));
  for (std::int32_t k = 0; k < count; ++k) {
    CHECK(listed[k].name == all[at(k)].name);
    CHECK(listed[k].device == all[at(k)].device);
    CHECK(listed[k].summary == all[at(k)].summary);
    CHECK(listed[k].unavailable == all[at(k)].unavailable);
  }
  CHECK((gsofa_has_metis() != 0) == has_metis());
  CHECK(gsofa_version() == std::string(version()));
}

TEST_CASE("the C interface: an analyzer") {
  const pattern a = reference::testing::five_point_grid(7);
  const std::vector<std::int64_t> singular_ptr{0, 1, 2};
  const std::vector<std::int32_t> singular_idx{0, 0};
  const gsofa_pattern view = c_pattern(a);
  const gsofa_pattern bad{2, singular_ptr.data(), singular_idx.data(), GSOFA_INDEX_64_32,
                          GSOFA_CSR};
  gsofa_analyzer* by = nullptr;
  const gsofa_analysis* f = nullptr;
  CHECK(gsofa_analyzer_create(nullptr) == GSOFA_INVALID_INPUT);
  REQUIRE(gsofa_analyzer_create(&by) == GSOFA_OK);
  CHECK(gsofa_analyzer_analyze(by, nullptr, nullptr, &f) == GSOFA_INVALID_INPUT);
  CHECK(gsofa_analyzer_analyze(nullptr, &view, nullptr, &f) == GSOFA_INVALID_INPUT);
  CHECK(gsofa_analyzer_analyze(by, &view, nullptr, nullptr) == GSOFA_INVALID_INPUT);
  gsofa_options options;
  gsofa_options_init(&options);
  options.order = GSOFA_ORDER_AMD;
  options.factors = options.supernodal = 1;
  const analysis expected =
      analyze(view_of(a), {.order = order_method::amd, .factors = true, .supernodal = true});
  for (int k = 0; k < 3; ++k) {
    REQUIRE(gsofa_analyzer_analyze(by, &view, &options, &f) == GSOFA_OK);
    const gsofa_result r = result_of(f);
    CHECK(std::vector<std::int32_t>(r.u.indices, r.u.indices + r.u.pointers[a.n_rows]) ==
          expected.u.col_idx);
    // The options are those of this analysis.
    options.supernodal = 0;
    CHECK((result_of(f).supernodal.first_column != nullptr) == (k == 0));
    CHECK(gsofa_analyzer_analyze(by, &bad, &options, &f) != GSOFA_OK);
    CHECK(f == nullptr);
    CHECK(std::string(gsofa_last_error()) != "");
  }
  struct user_data {
    gsofa_analyzer* by;
    gsofa_pattern view;
    gsofa_status again;
  } user{by, view, GSOFA_OK};
  options.user = &user;
  options.progress = [](int, double, void* data) {
    auto& u = *static_cast<user_data*>(data);
    const gsofa_analysis* none = nullptr;
    u.again = gsofa_analyzer_analyze(u.by, &u.view, nullptr, &none);
    return 0;
  };
  CHECK(gsofa_analyzer_analyze(by, &view, &options, &f) == GSOFA_OK);
  CHECK(user.again == GSOFA_INVALID_INPUT);
  options.progress = [](int, double, void*) { return 1; };
  CHECK(gsofa_analyzer_analyze(by, &view, &options, &f) == GSOFA_CANCELLED);
  CHECK(f == nullptr);
  gsofa_analyzer_free(by);
  gsofa_analyzer_free(nullptr);
}

TEST_CASE("the C interface: a pattern in device memory") {
  // The emulator's device memory is that of the host.
  const pattern a = reference::testing::five_point_grid(8);
  gsofa_device_pattern there{.n = a.n_rows,
                             .nnz = a.nnz(),
                             .pointers = a.row_ptr.data(),
                             .indices = a.col_idx.data(),
                             .index_type = GSOFA_INDEX_64_32,
                             .stream = nullptr};
  gsofa_options o;
  gsofa_options_init(&o);
  o.order = GSOFA_ORDER_AMD;
  handle h;
  CHECK(gsofa_analyze_device(&there, &o, nullptr) == GSOFA_INVALID_INPUT);
  CHECK(gsofa_analyze_device(nullptr, &o, &h.a) == GSOFA_INVALID_INPUT);
  const gsofa_status status = gsofa_analyze_device(&there, &o, &h.a);
  const std::string said = gsofa_last_error();
  if (status == GSOFA_OK) {
    CHECK(result_of(h.a).nnz_u ==
          analyze(csr_view{a.n_rows, a.row_ptr, a.col_idx}, {.order = order_method::amd}).nnz_u);
  } else if (status == GSOFA_UNAVAILABLE) {
    CHECK(said.starts_with("a pattern in device memory: "));
  } else {
    CHECK(said == "pattern: row_ptr is not in memory of device 0, the current one");
  }
  there.index_type = 7;
  gsofa_free(std::exchange(h.a, nullptr));
  CHECK(gsofa_analyze_device(&there, &o, &h.a) == GSOFA_INVALID_INPUT);
  CHECK(std::string(gsofa_last_error()) == "index_type: 7 is no gsofa_index_type");
  there.index_type = GSOFA_INDEX_32_32;
  there.n = std::int64_t{1} << 40;
  CHECK(gsofa_analyze_device(&there, &o, &h.a) == GSOFA_OVERFLOW);
}

TEST_CASE("the C interface: faults of patterns and of options") {
  const std::vector<std::int64_t> row_ptr{0, 1, 2};
  const std::vector<std::int32_t> good{0, 1};
  handle h;
  const auto text = [] { return std::string(gsofa_last_error()); };
  gsofa_pattern p{2, row_ptr.data(), good.data(), 9, GSOFA_CSR};
  CHECK(gsofa_analyze_pattern(&p, nullptr, &h.a) == GSOFA_INVALID_INPUT);
  CHECK(text() == "index_type: 9 is no gsofa_index_type");
  p.index_type = GSOFA_INDEX_64_32;
  p.format = 4;
  CHECK(gsofa_analyze_pattern(&p, nullptr, &h.a) == GSOFA_INVALID_INPUT);
  CHECK(text() == "format: 4 is no gsofa_format");
  p = {std::int64_t{1} << 40, row_ptr.data(), good.data(), GSOFA_INDEX_64_64, GSOFA_CSR};
  CHECK(gsofa_analyze_pattern(&p, nullptr, &h.a) == GSOFA_OVERFLOW);
  CHECK(text() == "pattern: order: 1099511627776 does not fit in 32 bits");
  p.index_type = GSOFA_INDEX_64_32;
  CHECK(gsofa_analyze_pattern(&p, nullptr, &h.a) == GSOFA_OVERFLOW);
  CHECK(gsofa_analyze_pattern(nullptr, nullptr, &h.a) == GSOFA_INVALID_INPUT);
  p = {2, row_ptr.data(), nullptr, GSOFA_INDEX_64_32, GSOFA_CSC};
  CHECK(gsofa_elimination_tree(&p, nullptr) == GSOFA_INVALID_INPUT);
  std::int32_t parent[2];
  CHECK(gsofa_elimination_tree(&p, parent) == GSOFA_INVALID_INPUT);
  CHECK(text() == "row_idx is NULL");

  // A structure of another version: shorter, longer with nothing in it, longer with something.
  gsofa_options o{};
  CHECK(gsofa_analyze(2, row_ptr.data(), good.data(), &o, &h.a) == GSOFA_INVALID_INPUT);
  CHECK(text().starts_with("options: size 0 is that of no gsofa_options"));
  struct {
    gsofa_options known;
    std::int64_t later;
  } newer;
  gsofa_options_init_sized(&newer.known, sizeof newer);
  CHECK(newer.later == 0);
  CHECK(newer.known.size == sizeof newer);
  CHECK(gsofa_analyze(2, row_ptr.data(), good.data(), &newer.known, &h.a) == GSOFA_OK);
  gsofa_free(std::exchange(h.a, nullptr));
  newer.later = 1;
  CHECK(gsofa_analyze(2, row_ptr.data(), good.data(), &newer.known, &h.a) == GSOFA_INVALID_INPUT);
  CHECK(text().starts_with("options: a member beyond"));
  // No byte beyond the caller's size is written, and all bytes up to it are.
  unsigned char bytes[sizeof(gsofa_options)];
  std::memset(bytes, 0x5a, sizeof bytes);
  gsofa_options_init_sized(reinterpret_cast<gsofa_options*>(bytes), 16);
  CHECK(std::count(bytes + 16, bytes + sizeof bytes, 0x5a) ==
        static_cast<std::ptrdiff_t>(sizeof bytes - 16));
  REQUIRE(gsofa_analyze(2, row_ptr.data(), good.data(), nullptr, &h.a) == GSOFA_OK);
  alignas(gsofa_result) unsigned char room[sizeof(gsofa_result) + 64];
  for (const std::size_t size : {sizeof(std::size_t), offsetof(gsofa_result, nnz_u), sizeof room}) {
    std::memset(room, 0x5a, sizeof room);
    auto* const r = reinterpret_cast<gsofa_result*>(room);
    CHECK(gsofa_get_result_sized(h.a, r, size) == GSOFA_OK);
    CHECK(r->size == std::min(size, sizeof(gsofa_result)));
    CHECK(std::count(room + size, room + sizeof room, 0x5a) ==
          static_cast<std::ptrdiff_t>(sizeof room - size));
    CHECK(std::count(room + sizeof(gsofa_result), room + sizeof room, 0) ==
          (size == sizeof room ? 64 : 0));
  }
}

TEST_CASE("the C interface: progress, cancellation, log") {
  const pattern a = reference::testing::five_point_grid(200);
  struct seen {
    int calls = 0;
    int lines = 0;
    int cancel_from = GSOFA_STAGE_OUTPUT + 1;
  } s;
  gsofa_options o;
  gsofa_options_init(&o);
  o.order = GSOFA_ORDER_AMD;
  o.user = &s;
  o.progress_seconds = 1e-4;
  o.progress = [](int stage, double share, void* user) {
    auto& mine = *static_cast<seen*>(user);
    ++mine.calls;
    return stage >= mine.cancel_from || share > 1 ? 1 : 0;
  };
  o.log = [](const char* line, void* user) {
    static_cast<seen*>(user)->lines += std::strlen(line) > 0 ? 1 : 0;
  };
  handle h;
  CHECK(gsofa_analyze(a.n_rows, a.row_ptr.data(), a.col_idx.data(), &o, &h.a) == GSOFA_OK);
  CHECK(s.calls > 1);
  CHECK(s.lines > 0);
  gsofa_free(std::exchange(h.a, nullptr));
  s.cancel_from = GSOFA_STAGE_ORDER;
  CHECK(gsofa_analyze(a.n_rows, a.row_ptr.data(), a.col_idx.data(), &o, &h.a) == GSOFA_CANCELLED);
  CHECK(h.a == nullptr);
  CHECK(std::string(gsofa_last_error()) == "cancelled by the caller");
}

}  // namespace
}  // namespace gsofa
