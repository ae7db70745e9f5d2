#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <future>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/generators.hpp"
#include "common/pattern.hpp"
#include "gsofa/gsofa.h"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/test_analyses.hpp"
#include "reference/test_patterns.hpp"

namespace gsofa {
namespace {

using reference::testing::from_predicate;
using reference::testing::random_pattern;

// Memory of the device, which for the emulator is that of the host.
class device_heap {
 public:
  device_heap() {
#ifndef GSOFA_EMULATE_GPU
    for (const char* name : {"libcudart.so", "libcudart.so.13", "libcudart.so.12"}) {
      if (void* const runtime = dlopen(name, RTLD_NOW); runtime != nullptr) {
        allocate_ = reinterpret_cast<decltype(allocate_)>(dlsym(runtime, "cudaMalloc"));
        copy_ = reinterpret_cast<decltype(copy_)>(dlsym(runtime, "cudaMemcpy"));
        free_ = reinterpret_cast<decltype(free_)>(dlsym(runtime, "cudaFree"));
        make_stream_ =
            reinterpret_cast<decltype(make_stream_)>(dlsym(runtime, "cudaStreamCreateWithFlags"));
        end_stream_ = reinterpret_cast<decltype(end_stream_)>(dlsym(runtime, "cudaStreamDestroy"));
        set_ = reinterpret_cast<decltype(set_)>(dlsym(runtime, "cudaMemsetAsync"));
        return;
      }
    }
#endif
  }
  device_heap(const device_heap&) = delete;
  device_heap& operator=(const device_heap&) = delete;
  ~device_heap() {
    if (stream_ != nullptr) end_stream_(stream_);
    for (void* const block : blocks_) {
      if (free_ != nullptr) {
        free_(block);
      } else {
        ::operator delete(block);
      }
    }
  }

  // Whether arrays of a device can be made and read here.
  [[nodiscard]] bool works() const {
#ifdef GSOFA_EMULATE_GPU
    return true;
#else
    if (free_ == nullptr) return false;
    for (const auto& v : variants()) {
      if (v.name == "gpu_bitmap_panels") return v.unavailable.empty();
    }
    return false;
#endif
  }

  void* allocate(std::size_t bytes) {
    void* block = nullptr;
    if (allocate_ != nullptr) {
      if (allocate_(&block, bytes) != 0) return nullptr;
    } else {
      block = ::operator new(bytes);
    }
    blocks_.push_back(block);
    return block;
  }
  // The same; the device has work on stream() that overwrites it, after work that takes a while.
  void* allocate_in_use(std::size_t bytes) {
    void* const block = allocate(bytes);
    if (set_ == nullptr || block == nullptr) return block;
    constexpr std::size_t much = std::size_t{1} << 28U;
    if (busy_ == nullptr) busy_ = allocate(much);
    for (int k = 0; k < 20; ++k) set_(busy_, k, much, stream());
    set_(block, 0xff, bytes, stream());
    return block;
  }
  void* stream() {
    constexpr unsigned does_not_wait = 1;
    if (stream_ == nullptr && make_stream_ != nullptr) {
      REQUIRE(make_stream_(&stream_, does_not_wait) == 0);
    }
    return stream_;
  }
  [[nodiscard]] std::size_t blocks() const { return blocks_.size(); }

  template <class T>
  std::vector<T> read(const T* there, std::int64_t count) const {
    std::vector<T> out(static_cast<std::size_t>(count));
    if (out.empty()) {
      CHECK(there == nullptr);
    } else if (copy_ != nullptr) {
      constexpr int to_host = 2;
      REQUIRE(copy_(out.data(), there, out.size() * sizeof(T), to_host) == 0);
    } else {
      std::memcpy(out.data(), there, out.size() * sizeof(T));
    }
    return out;
  }
  [[nodiscard]] csr_pattern read(const device_csr_view& a) const {
    return {a.n, read(a.row_ptr, std::int64_t{a.n} + 1), read(a.col_idx, a.nnz)};
  }
  [[nodiscard]] supernodal_factors read(const device_supernodal_factors& s, std::int32_t n) const {
    return {read(s.first_column, std::int64_t{s.supernodes} + 1),
            read(s.row_begin, std::int64_t{s.supernodes} + 1), read(s.rows, s.row_count),
            read(s.segment_begin, std::int64_t{n} + 1), read(s.segments, s.segment_count)};
  }

 private:
  int (*allocate_)(void**, std::size_t) = nullptr;
  int (*copy_)(void*, const void*, std::size_t, int) = nullptr;
  int (*free_)(void*) = nullptr;
  int (*make_stream_)(void**, unsigned) = nullptr;
  int (*end_stream_)(void*) = nullptr;
  int (*set_)(void*, int, std::size_t, void*) = nullptr;
  void* stream_ = nullptr;
  void* busy_ = nullptr;
  std::vector<void*> blocks_;
};

void check_same(const csr_pattern& a, const csr_pattern& b) {
  CHECK(a.n == b.n);
  CHECK(a.row_ptr == b.row_ptr);
  CHECK(a.col_idx == b.col_idx);
}

void check_same(const supernodal_factors& a, const supernodal_factors& b) {
  CHECK(a.first_column == b.first_column);
  CHECK(a.row_begin == b.row_begin);
  CHECK(a.rows == b.rows);
  CHECK(a.segment_begin == b.segment_begin);
  CHECK(a.segments == b.segments);
}

// A random pattern in which every vertex has a neighbour, so that none is left out of the order.
pattern coupled_pattern(std::mt19937_64& engine, index_t n) {
  const pattern a = random_pattern(engine, n, n < 3 ? 0 : 3);
  return from_predicate(n, [&](index_t i, index_t j) {
    return j == (i + n / 2) % n || std::ranges::count(a.row(i), j) > 0;
  });
}

// What an analysis that leaves its results on the device found, beside one that does not.
void check_left(const csr_view& a, const analysis_options& options) {
  device_heap heap;
  analysis_options there = options;
  there.device_memory = [&](std::size_t bytes) { return heap.allocate(bytes); };
  const analysis left = analyze(a, there);
  const analysis expected = analyze(a, options);
  REQUIRE(left.variant == "gpu_bitmap_panels");
  CHECK(left.fallback == "");
  CHECK(left.row_order == expected.row_order);
  CHECK(left.col_order == expected.col_order);
  CHECK(left.nnz_l == expected.nnz_l);
  CHECK(left.nnz_u == expected.nnz_u);
  CHECK(left.l_row_counts == expected.l_row_counts);
  CHECK(left.u_row_counts == expected.u_row_counts);
  CHECK(left.supernode_starts == expected.supernode_starts);
  CHECK(left.l.n == 0);
  CHECK(left.supernodal.supernodes() == -1);
  CHECK(left.device_l.n == (options.factors ? a.n : 0));
  CHECK(left.device_u.nnz == (options.factors ? expected.nnz_u : 0));
  if (options.factors) {
    check_same(heap.read(left.device_l), expected.l);
    check_same(heap.read(left.device_u), expected.u);
  }
  if (options.supernodal) check_same(heap.read(left.device_supernodal, a.n), expected.supernodal);
}

TEST_CASE("results in device memory are those on the host") {
  if (!device_heap().works()) return;
  std::mt19937_64 engine(31);
  for (const index_t n : {1, 2, 33, 150}) {
    CAPTURE(n);
    const pattern a = coupled_pattern(engine, n);
    const csr_view view{a.n_rows, a.row_ptr, a.col_idx};
    for (const order_method order :
         {order_method::natural, order_method::amd, order_method::gpu_nested_dissection}) {
      check_left(view, {.match = false, .order = order, .factors = true});
      check_left(view, {.match = false, .order = order, .supernodes = true, .supernodal = true});
      check_left(
          view,
          {.match = false, .order = order, .factors = true, .supernodal = true, .most_columns = 4});
    }
  }
}

TEST_CASE("relaxed supernodes in device memory are those on the host") {
  if (!device_heap().works()) return;
  std::mt19937_64 engine(36);
  std::size_t padded = 0;
  for (int k = 0; k < 40; ++k) {
    const auto n = static_cast<index_t>(1 + engine() % 120);
    const pattern a = k % 2 == 0 ? coupled_pattern(engine, n) : random_pattern(engine, n, k % 5);
    const csr_view view{a.n_rows, a.row_ptr, a.col_idx};
    CAPTURE(k);
    for (const std::int32_t relax : {1, 3, 20}) {
      CAPTURE(relax);
      analysis_options o{.match = false, .order = order_method::amd, .relax = relax};
      o.supernodal = true;
      check_left(view, o);
      o.most_columns = 2;
      check_left(view, o);
      o.factors = o.supernodes = k % 3 == 0;
      check_left(view, o);
      o.supernodal = false;  // counts alone, or with factors
      // Isolated vertices are left out of an order where nothing stays on the device.
      if (k % 2 == 0) check_left(view, o);
      const analysis exact = analyze(view, {.match = false, .order = order_method::amd});
      padded += analyze(view, o).nnz_l > exact.nnz_l;
    }
  }
  CHECK(padded > 20);
}

TEST_CASE("given relaxed supernodes in device memory") {
  if (!device_heap().works()) return;
  // Columns 0 and 1, and 2 to 4, are leaves of an arrow.
  const pattern a =
      from_predicate(8, [](index_t i, index_t j) { return i == j || i >= 5 || j >= 5; });
  const csr_view view{a.n_rows, a.row_ptr, a.col_idx};
  const std::vector<supernode_range> ranges{{0, 2}, {2, 5}};
  for (const bool factors : {false, true}) {
    check_left(view, {.match = false,
                      .order = order_method::natural,
                      .factors = factors,
                      .supernodal = true,
                      .relaxed = ranges});
  }
  // But for columns 0 and 1 no subtree is contiguous in this order: rows are made first.
  const pattern chain = from_predicate(62, [](index_t i, index_t j) {
    if (i == j || (i < 2 && j < 2)) return true;
    if (i < 2 || j < 2) return i + j >= 61;
    return i - 2 == ((j - 2) * 7 + 3) % 60 || j - 2 == ((i - 2) * 7 + 3) % 60;
  });
  const std::vector<supernode_range> first{{0, 2}};
  check_left(
      {chain.n_rows, chain.row_ptr, chain.col_idx},
      {.match = false, .order = order_method::natural, .supernodal = true, .relaxed = first});
}

TEST_CASE("results in device memory where rows are searched or batched") {
  if (!device_heap().works()) return;
  // One MiB admits neither masks nor all rows of a larger pattern.
  std::mt19937_64 engine(32);
  const pattern a = random_pattern(engine, 500, 5);
  const csr_view view{a.n_rows, a.row_ptr, a.col_idx};
  for (const std::int64_t budget : {1, 2, 64}) {
    check_left(view, {.memory_budget_mb = budget,
                      .match = false,
                      .order = order_method::natural,
                      .factors = true});
  }
}

TEST_CASE("an object that keeps its storage leaves results on the device, or not") {
  device_heap heap;
  if (!heap.works()) return;
  std::mt19937_64 engine(33);
  const pattern a = random_pattern(engine, 80, 3);
  const csr_view view{a.n_rows, a.row_ptr, a.col_idx};
  analyzer kept({.match = false, .order = order_method::natural, .factors = true});
  const csr_pattern l = kept.analyze(view).l;
  kept.options().device_memory = [&](std::size_t bytes) { return heap.allocate(bytes); };
  for (int k = 0; k < 2; ++k) {
    const analysis& left = kept.analyze(view);
    CHECK(left.l.n == 0);
    check_same(heap.read(left.device_l), l);
  }
  kept.options().device_memory = {};
  CHECK(kept.analyze(view).device_l.n == 0);
  check_same(kept.analyze(view).l, l);
}

TEST_CASE("results are written after what a stream of the caller does with their memory") {
  if (!device_heap().works()) return;
  std::mt19937_64 engine(37);
  const pattern a = coupled_pattern(engine, 90);
  const csr_view view{a.n_rows, a.row_ptr, a.col_idx};
  for (const std::int32_t relax : {1, 4}) {
    analysis_options options{.match = false, .order = order_method::amd, .factors = relax == 1};
    options.supernodal = true;
    options.relax = relax;
    const analysis expected = analyze(view, options);
    device_heap heap;
    options.device_memory = [&](std::size_t bytes) { return heap.allocate_in_use(bytes); };
    options.device_stream = heap.stream();
    analyzer by(options);
    const analysis& left = by.analyze(view);
    REQUIRE(left.variant == "gpu_bitmap_panels");
    check_same(heap.read(left.device_supernodal, a.n_rows), expected.supernodal);
    if (relax == 1) check_same(heap.read(left.device_u), expected.u);
  }
}

TEST_CASE("analyses of two threads leave their results on the device") {
  if (!device_heap().works()) return;
  std::mt19937_64 engine(38);
  const pattern patterns[] = {coupled_pattern(engine, 120), coupled_pattern(engine, 70)};
  const analysis_options plain{.match = false, .order = order_method::amd, .factors = true};
  device_heap heaps[2];
  analyzer by[] = {analyzer(plain), analyzer(plain)};
  for (int round = 0; round < 5; ++round) {
    for (int k = 0; k < 2; ++k) {
      by[k].options().device_memory = [&heap = heaps[k]](std::size_t bytes) {
        return heap.allocate(bytes);
      };
    }
    const auto analyzed = [&](int k) -> const analysis& {
      const pattern& a = patterns[k];
      return by[k].analyze(csr_view{a.n_rows, a.row_ptr, a.col_idx});
    };
    auto other = std::async(std::launch::async, [&] { return analyzed(1).device_u; });
    const device_csr_view found[] = {analyzed(0).device_u, other.get()};
    for (int k = 0; k < 2; ++k) {
      const pattern& a = patterns[k];
      const analysis expected = analyze(csr_view{a.n_rows, a.row_ptr, a.col_idx}, plain);
      check_same(heaps[k].read(found[k]), expected.u);
    }
  }
}

TEST_CASE("a caller without device memory, and one that throws") {
  device_heap heap;
  if (!heap.works()) return;
  std::mt19937_64 engine(34);
  const pattern a = random_pattern(engine, 60, 3);
  const csr_view view{a.n_rows, a.row_ptr, a.col_idx};
  for (std::size_t given = 0; given < 4; ++given) {
    std::size_t calls = 0;
    analysis_options options{.match = false, .order = order_method::amd, .factors = true};
    options.device_memory = [&](std::size_t bytes) {
      return calls++ < given ? heap.allocate(bytes) : nullptr;
    };
    const analysis found = analyze(view, options);
    CHECK(found.variant == "cpu_bitmap_panels");
    CHECK(found.fallback.starts_with("gpu_bitmap_panels: the caller has no "));
    CHECK(found.device_l.n == 0);
    CHECK(found.l.n == a.n_rows);
    options.device = compute_device::gpu;
    calls = 0;
    try {
      analyze(view, options);
      FAIL("nothing was thrown");
    } catch (const analysis_error& e) {
      CHECK(e.kind() == failure::out_of_memory);
    }
    options.device_memory = [](std::size_t) -> void* { throw std::runtime_error("not now"); };
    CHECK_THROWS_WITH_AS(analyze(view, options), "not now", std::runtime_error);
  }
}

TEST_CASE("the C interface: results in device memory") {
  device_heap heap;
  std::mt19937_64 engine(35);
  const pattern a = coupled_pattern(engine, 70);
  gsofa_options options;
  gsofa_options_init(&options);
  options.order = GSOFA_ORDER_AMD;
  options.factors = options.supernodal = 1;
  gsofa_analysis* f = nullptr;
  REQUIRE(gsofa_analyze(a.n_rows, a.row_ptr.data(), a.col_idx.data(), &options, &f) == GSOFA_OK);
  gsofa_result r = library::testing::result_of(f);
  CHECK((r.device_l.n == 0 && r.device_u.n == 0 && r.device_supernodal.supernodes == 0));
  CHECK((r.l.pointers != nullptr && r.supernodal.first_column != nullptr));
  gsofa_free(f);
  if (!heap.works()) return;
  options.user = &heap;
  options.device_memory = [](std::size_t bytes, void* user) {
    return static_cast<device_heap*>(user)->allocate(bytes);
  };
  REQUIRE(gsofa_analyze(a.n_rows, a.row_ptr.data(), a.col_idx.data(), &options, &f) == GSOFA_OK);
  const analysis expected =
      analyze(csr_view{a.n_rows, a.row_ptr, a.col_idx},
              {.order = order_method::amd, .factors = true, .supernodal = true});
  r = library::testing::result_of(f);
  const gsofa_device_pattern& u = r.device_u;
  CHECK(r.device_l.index_type == GSOFA_INDEX_64_32);
  CHECK(r.device_l.nnz == r.nnz_l);
  const auto* const ptr = static_cast<const std::int64_t*>(u.pointers);
  check_same(
      heap.read(device_csr_view{a.n_rows, u.nnz, ptr, static_cast<const std::int32_t*>(u.indices)}),
      expected.u);
  const gsofa_supernodal_view& s = r.device_supernodal;
  CHECK(heap.read(s.first_column, std::int64_t{s.supernodes} + 1) ==
        expected.supernodal.first_column);
  CHECK((r.l.pointers == nullptr && r.u.pointers == nullptr));
  CHECK(r.supernodal.first_column == nullptr);
  gsofa_free(f);
}

// Bits of masks by rows are the counts of L and U.
void check_row_counts(const analysis& found) {
  const mask_factors& m = found.masks;
  std::vector<std::uint32_t> l(found.l_row_counts.size(), 0);
  std::vector<std::uint32_t> u(found.u_row_counts.size(), 1);
  for (std::int32_t p = 0; p < m.panels(); ++p) {
    const auto panel = static_cast<std::size_t>(p);
    const auto first = static_cast<std::size_t>(m.first_vertex[panel]);
    for (auto z = m.position_begin[panel]; z < m.position_begin[panel + 1]; ++z) {
      const auto at = static_cast<std::size_t>(z);
      for (std::uint64_t upper = m.masks[2 * at]; upper != 0; upper &= upper - 1) {
        ++u[first + static_cast<std::size_t>(std::countr_zero(upper))];
      }
      l[static_cast<std::size_t>(m.vertices[at])] +=
          static_cast<std::uint32_t>(std::popcount(m.masks[2 * at + 1]));
    }
  }
  CHECK(std::ranges::equal(l, found.l_row_counts));
  CHECK(std::ranges::equal(u, found.u_row_counts));
}

TEST_CASE("masks leave for the arrays of the analysis before, whatever became of that") {
  if (!device_heap().works()) return;
#ifdef GSOFA_EMULATE_GPU
  const pattern a = generate("dissected:nx=6,oneway=1");
#else
  const pattern a = generate("dissected:nx=64,oneway=1");  // of less than 32 MiB none leave
#endif
  analysis_options options{
      .variant = "gpu_bitmap_panels", .threads = 3, .match = false, .order = order_method::natural};
  options.masks = true;
  const csr_view view{a.n_rows, a.row_ptr, a.col_idx};
  const analysis expected = analyze(view, options);
  check_row_counts(expected);
  analyzer kept(options);
  for (int round = 0; round < 6; ++round) {
    CAPTURE(round);
    if (round % 2 == 1) {
      kept.options().progress = [round, calls = 0](const analysis_progress&) mutable {
        return ++calls < round;
      };
      kept.options().progress_seconds = 1e-5;
      try {
        kept.analyze(view);
      } catch (const analysis_error& e) {
        CHECK(e.kind() == failure::cancelled);
      }
      kept.options().progress = nullptr;
    }
    // An analysis that keeps the masks on the device writes to no array of the one before.
    kept.options().masks = round % 3 != 1;
    kept.options().supernodal = round % 3 == 1;
    const analysis& found = kept.analyze(view);
    CHECK(found.masks.masks.empty() == (round % 3 == 1));
    if (round % 3 == 1) continue;
    CHECK(found.masks.masks == expected.masks.masks);
    CHECK(found.masks.vertices == expected.masks.vertices);
    CHECK(found.masks.first_vertex == expected.masks.first_vertex);
    CHECK(found.masks.position_begin == expected.masks.position_begin);
    check_row_counts(found);
  }
}

TEST_CASE("device memory is refused where results are of the host alone") {
  const std::vector<std::int64_t> ptr{0, 1};
  const std::vector<std::int32_t> idx{0};
  analysis_options options{.factor_columns = true};
  options.device_memory = [](std::size_t) -> void* { return nullptr; };
  CHECK_THROWS_WITH_AS(analyze(csr_view{1, ptr, idx}, options),
                       "device_memory: not with factor_columns", invalid_input);
  options.factor_columns = false;
  options.factors = true;
  options.device = compute_device::cpu;
  const analysis found = analyze(csr_view{1, ptr, idx}, options);
  CHECK(found.u.n == 1);
  CHECK(found.device_u.n == 0);
}

}  // namespace
}  // namespace gsofa
