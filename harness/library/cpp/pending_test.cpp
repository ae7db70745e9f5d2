#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gsofa/gsofa.h"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/test_analyses.hpp"
#include "reference/test_patterns.hpp"

namespace gsofa {
namespace {

using namespace library::testing;
using reference::testing::five_point_grid;
using reference::testing::random_pattern;

pattern singular() {
  pattern a;
  a.n_rows = a.n_cols = 2;
  a.row_ptr = {0, 1, 2};
  a.col_idx = {0, 0};
  return a;
}

void check_same(const analysis& a, const analysis& b) {
  CHECK(a.row_order == b.row_order);
  CHECK(a.u_row_counts == b.u_row_counts);
  CHECK(a.l.col_idx == b.l.col_idx);
  CHECK(a.u.col_idx == b.u.col_idx);
  CHECK(a.supernodal.rows == b.supernodal.rows);
  CHECK(a.supernodal.segments == b.supernodal.segments);
}

// An analysis stops at its first callback until it is told to go on.
class gate {
 public:
  void stop_in(analysis_options& options) {
    options.progress = [this](const analysis_progress&) {
      if (!entered_.exchange(true)) {
        reached_.set_value();
        open_.get_future().wait();
      }
      ++calls_;
      return true;
    };
    options.progress_seconds = 0.001;
  }
  void wait_until_reached() { reached_.get_future().wait(); }
  void open() { open_.set_value(); }
  [[nodiscard]] int calls() const { return calls_; }

 private:
  std::atomic<bool> entered_{false};
  std::atomic<int> calls_{0};
  std::promise<void> reached_, open_;
};

failure kind_of(pending_analysis& p, std::string* said = nullptr) {
  try {
    p.get();
  } catch (const analysis_error& e) {
    if (said != nullptr) *said = e.what();
    return e.kind();
  }
  FAIL("nothing was thrown");
  return failure::internal;
}

TEST_CASE("pending analyses find what analyze() finds, one after the other") {
  std::mt19937_64 engine(61);
  analyzer by({.threads = 2, .match = false, .order = order_method::amd, .factors = true});
  for (int k = 0; k < 20; ++k) {
    const pattern a = random_pattern(engine, static_cast<index_t>(1 + engine() % 90), 3);
    by.options().supernodal = k % 2 == 0;
    const analysis expected = analyze(view_of(a), by.options());
    pending_analysis p = by.start(view_of(a));
    if (k % 3 == 0) {
      while (!p.ready()) std::this_thread::yield();
    }
    check_same(p.get(), expected);
    CHECK(p.ready());
    CHECK(&p.get() == &p.get());
    if (k % 4 == 0) check_same(by.analyze(view_of(a)), expected);
  }
}

TEST_CASE("pending analyses of columns and of other integers") {
  std::mt19937_64 engine(62);
  const pattern a = random_pattern(engine, 40, 3);
  const std::vector<std::int32_t> ptr(a.row_ptr.begin(), a.row_ptr.end());
  const std::vector<std::int64_t> idx(a.col_idx.begin(), a.col_idx.end());
  analyzer by({.match = false, .order = order_method::amd, .factors = true});
  check_same(by.start(csr_view_32{40, ptr, a.col_idx}).get(), analyze(view_of(a), by.options()));
  check_same(by.start(csr_view_64{40, a.row_ptr, idx}).get(), analyze(view_of(a), by.options()));
  check_same(by.start(csc_view{40, a.row_ptr, a.col_idx}).get(),
             analyze(csc_view{40, a.row_ptr, a.col_idx}, by.options()));
}

TEST_CASE("analyses of two analyzers are pending at the same time") {
  const pattern a = five_point_grid(9);
  const pattern b = five_point_grid(12);
  const analysis_options plain{.order = order_method::amd, .factors = true, .supernodal = true};
  gate of_a, of_b;
  analyzer by_a(plain), by_b(plain);
  of_a.stop_in(by_a.options());
  of_b.stop_in(by_b.options());
  pending_analysis pa = by_a.start(view_of(a));
  pending_analysis pb = by_b.start(view_of(b));
  of_a.wait_until_reached();
  of_b.wait_until_reached();
  CHECK_FALSE(pa.ready());
  CHECK_FALSE(pb.ready());
  // The one begun last ends first.
  of_b.open();
  check_same(pb.get(), analyze(view_of(b), plain));
  CHECK_FALSE(pa.ready());
  of_a.open();
  check_same(pa.get(), analyze(view_of(a), plain));
}

TEST_CASE("what fails is thrown where the result is asked for, every time") {
  const pattern bad = singular();
  const pattern good = five_point_grid(5);
  analyzer by({.order = order_method::amd});
  std::string expected, said;
  try {
    analyze(view_of(bad), by.options());
  } catch (const analysis_error& e) {
    expected = e.what();
  }
  pending_analysis p = by.start(view_of(bad));
  for (int k = 0; k < 2; ++k) {
    CHECK((kind_of(p, &said) == failure::invalid_input || !has_metis()));
    CHECK(said == expected);
  }
  CHECK(p.ready());
  p = by.start(view_of(good));
  CHECK(p.get().n == 25);
  // What a callback throws.
  by.options().log = [](const std::string&) { throw std::runtime_error("no room for lines"); };
  p = by.start(view_of(good));
  CHECK_THROWS_WITH_AS(p.get(), "no room for lines", std::runtime_error);
  by.options().log = {};
  by.options().relax = 0;
  p = by.start(view_of(good));
  CHECK(kind_of(p) == failure::invalid_input);
}

TEST_CASE("a pending analysis can be cancelled") {
  const pattern a = five_point_grid(8);
  gate of;
  analyzer by({.order = order_method::amd});
  of.stop_in(by.options());
  pending_analysis p = by.start(view_of(a));
  of.wait_until_reached();
  p.cancel();
  of.open();
  CHECK(kind_of(p) == failure::cancelled);
  by.options().progress = {};
  // After its end it changes nothing.
  p = by.start(view_of(a));
  p.get();
  p.cancel();
  CHECK(p.get().n == 64);
  // Before the thread has begun, or after: one of the two.
  for (int k = 0; k < 50; ++k) {
    p = by.start(view_of(a));
    p.cancel();
    try {
      const analysis& found = p.get();
      CHECK(found.n == 64);
    } catch (const analysis_error& e) {
      CHECK(e.kind() == failure::cancelled);
    }
  }
}

TEST_CASE("an analysis that nobody waits for ends before its object does") {
  const pattern a = five_point_grid(8);
  for (const bool of_analyzer : {false, true}) {
    gate of;
    std::jthread opens;
    pending_analysis p;
    {
      analyzer by({.order = order_method::amd});
      of.stop_in(by.options());
      p = by.start(view_of(a));
      of.wait_until_reached();
      CHECK(of.calls() == 0);
      opens = std::jthread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        of.open();
      });
      if (!of_analyzer) p = {};
    }
    // Its first callback has returned: the call was not left behind.
    CHECK(of.calls() > 0);
    if (of_analyzer) CHECK(kind_of(p) == failure::cancelled);
  }
  // Often, wherever it happens to be.
  for (int k = 0; k < 100; ++k) {
    analyzer by({.order = order_method::amd, .factors = true});
    const pending_analysis p = by.start(view_of(a));
  }
}

TEST_CASE("an analyzer has one pending analysis") {
  const pattern a = five_point_grid(8);
  gate of;
  analyzer by({.order = order_method::amd});
  of.stop_in(by.options());
  pending_analysis p = by.start(view_of(a));
  of.wait_until_reached();
  constexpr const char* said = "analyzer: an analysis has not ended yet";
  CHECK_THROWS_WITH_AS(by.start(view_of(a)), said, invalid_input);
  CHECK_THROWS_WITH_AS(by.analyze(view_of(a)), said, invalid_input);
  // The options of an analysis are those of its beginning.
  by.options().progress = {};
  by.options().order = order_method::natural;
  of.open();
  CHECK(p.get().order == "amd");
  pending_analysis next = by.start(view_of(a));
  CHECK(next.get().order == "natural");
  constexpr const char* gone =
      "pending_analysis: the analyzer has ended or has begun another analysis";
  CHECK_THROWS_WITH_AS(p.get(), gone, invalid_input);
  by.analyze(view_of(a));
  CHECK_THROWS_WITH_AS(next.get(), gone, invalid_input);
  {
    analyzer other = std::move(by);
    next = other.start(view_of(a));
    CHECK(next.get().n == 64);
  }
  CHECK_THROWS_WITH_AS(next.get(), gone, invalid_input);
}

TEST_CASE("no analysis is pending") {
  pending_analysis none;
  CHECK(none.ready());
  none.cancel();
  CHECK_THROWS_WITH_AS(none.get(), "pending_analysis: there is no analysis", invalid_input);
  const pending_analysis moved = std::move(none);
  CHECK(moved.ready());
}

// Text of the invalid_input that action() throws, "" if it throws nothing.
std::string refusal_of(const auto& action) {
  try {
    action();
  } catch (const invalid_input& e) {
    return e.what();
  }
  return "";
}

TEST_CASE("a callback cannot wait for its own analysis, and may cancel it") {
  const pattern a = five_point_grid(9);
  constexpr const char* said =
      "pending_analysis: a callback of an analysis cannot wait for its end";
  for (int kind = 0; kind < 3; ++kind) {
    CAPTURE(kind);
    analyzer by({.order = order_method::amd}), other({.order = order_method::amd});
    pending_analysis p;
    std::promise<void> assigned;
    std::string waits, begins, analyses;
    int calls = 0;
    const auto call = [&] {
      if (calls++ > 0) return;
      assigned.get_future().wait();
      waits = refusal_of([&] { p.get(); });
      begins = refusal_of([&] { by.start(view_of(a)); });
      analyses = refusal_of([&] { by.analyze(view_of(a)); });
      CHECK(other.start(view_of(a)).get().n == 81);
      CHECK_FALSE(p.ready());
    };
    if (kind != 1) {
      by.options().progress = [&](const analysis_progress&) {
        call();
        if (kind == 2) p.cancel();
        return true;
      };
    } else {
      by.options().device = compute_device::cpu;
      by.options().log = [&](const std::string&) { call(); };
    }
    p = by.start(view_of(a));
    assigned.set_value();
    if (kind == 2) {
      CHECK(kind_of(p) == failure::cancelled);
    } else {
      CHECK(p.get().n == 81);
    }
    CHECK(calls > 0);
    CHECK(waits == said);
    CHECK(begins == "analyzer: an analysis has not ended yet");
    CHECK(analyses == begins);
  }
}

TEST_CASE("an analyzer may end in a callback of its own analysis, which it cancels") {
  const pattern a = five_point_grid(9);
  for (int kind = 0; kind < 3; ++kind) {
    CAPTURE(kind);
    auto by = std::make_unique<analyzer>(analysis_options{.order = order_method::amd});
    auto p = std::make_unique<pending_analysis>();
    std::promise<void> assigned, ended;
    std::atomic<int> calls{0};
    // Tells that the analysis has released what it was given.
    auto lives = std::shared_ptr<int>(new int, [&](const int* value) {
      delete value;
      ended.set_value();
    });
    by->options().progress_seconds = 1e-5;
    by->options().progress = [&, held = lives](const analysis_progress&) {
      ++calls;
      assigned.get_future().wait();
      if (kind != 1) p = nullptr;
      if (kind < 2) by = nullptr;
      if (kind == 2) *by = analyzer{};
      return true;
    };
    *p = by->start(view_of(a));
    by->options().progress = nullptr;
    lives = nullptr;
    assigned.set_value();
    ended.get_future().wait();
    CHECK(calls == 1);
    if (kind == 1) CHECK(kind_of(*p) == failure::cancelled);
    if (kind == 2) CHECK(by->analyze(view_of(a)).n == 81);
  }
}

TEST_CASE("callbacks of analyze() may neither begin another analysis nor use the object's end") {
  const pattern a = five_point_grid(9);
  std::string again;
  auto by = std::make_unique<analyzer>(analysis_options{.order = order_method::amd});
  by->options().progress = [&](const analysis_progress&) {
    again = refusal_of([&] { by->analyze(view_of(a)); });
    return true;
  };
  CHECK(by->analyze(view_of(a)).n == 81);
  CHECK(again == "analyzer: an analysis has not ended yet");
  int calls = 0;
  by->options().progress = [&](const analysis_progress&) {
    ++calls;
    by = nullptr;
    return true;
  };
  failure kind{};
  try {
    by->analyze(view_of(a));
  } catch (const analysis_error& e) {
    kind = e.kind();
  }
  CHECK(kind == failure::cancelled);
  CHECK(calls == 1);
  CHECK(by == nullptr);
}

TEST_CASE("the C interface: an analyzer with a pending analysis") {
  const pattern a = five_point_grid(7);
  const pattern bad = singular();
  const gsofa_pattern view = c_pattern(a), bad_view = c_pattern(bad);
  gsofa_analyzer* by = nullptr;
  const gsofa_analysis* f = nullptr;
  CHECK(gsofa_analyzer_create(nullptr) == GSOFA_INVALID_INPUT);
  REQUIRE(gsofa_analyzer_create(&by) == GSOFA_OK);
  CHECK(gsofa_analyzer_ready(by) != 0);
  CHECK(gsofa_analyzer_wait(by, &f) == GSOFA_INVALID_INPUT);
  CHECK(gsofa_analyzer_wait(by, nullptr) == GSOFA_INVALID_INPUT);
  CHECK(gsofa_analyzer_start(by, nullptr, nullptr) == GSOFA_INVALID_INPUT);
  CHECK(gsofa_analyzer_start(nullptr, &view, nullptr) == GSOFA_INVALID_INPUT);
  gsofa_options options;
  gsofa_options_init(&options);
  options.order = GSOFA_ORDER_AMD;
  options.factors = options.supernodal = 1;
  const analysis expected =
      analyze(view_of(a), {.order = order_method::amd, .factors = true, .supernodal = true});
  for (int k = 0; k < 3; ++k) {
    REQUIRE(gsofa_analyzer_start(by, &view, &options) == GSOFA_OK);
    REQUIRE(gsofa_analyzer_wait(by, &f) == GSOFA_OK);
    const gsofa_result r = result_of(f);
    CHECK(std::vector<std::int32_t>(r.u.indices, r.u.indices + r.u.pointers[a.n_rows]) ==
          expected.u.col_idx);
    const gsofa_analysis* again = nullptr;
    CHECK(gsofa_analyzer_wait(by, &again) == GSOFA_OK);
    CHECK(again == f);
    // The options are those of this start.
    options.supernodal = 0;
    CHECK((result_of(f).supernodal.first_column != nullptr) == (k == 0));
    REQUIRE(gsofa_analyzer_start(by, &bad_view, &options) == GSOFA_OK);
    CHECK(gsofa_analyzer_wait(by, &f) != GSOFA_OK);
    CHECK(f == nullptr);
    CHECK(std::string(gsofa_last_error()) != "");
  }
  gsofa_analyzer_free(by);
  gsofa_analyzer_free(nullptr);
  gsofa_analyzer_cancel(nullptr);
  CHECK(gsofa_analyzer_ready(nullptr) != 0);
}

TEST_CASE("the C interface: a pending analysis is cancelled, and freed as it runs") {
  const pattern a = five_point_grid(7);
  const gsofa_pattern view = c_pattern(a);
  gsofa_options options;
  gsofa_options_init(&options);
  options.order = GSOFA_ORDER_AMD;
  std::atomic<int> state{0};  // 1: reached, 2: go on
  options.user = &state;
  options.progress = [](int, double, void* user) {
    auto& now = *static_cast<std::atomic<int>*>(user);
    int before = 0;
    now.compare_exchange_strong(before, 1);
    now.notify_all();
    while (now.load() == 1) now.wait(1);
    return 0;
  };
  for (const bool frees : {false, true}) {
    gsofa_analyzer* by = nullptr;
    const gsofa_analysis* f = nullptr;
    state = 0;
    REQUIRE(gsofa_analyzer_create(&by) == GSOFA_OK);
    REQUIRE(gsofa_analyzer_start(by, &view, &options) == GSOFA_OK);
    state.wait(0);
    CHECK(gsofa_analyzer_ready(by) == 0);
    CHECK(gsofa_analyzer_start(by, &view, &options) == GSOFA_INVALID_INPUT);
    const auto go_on = [&] {
      state = 2;
      state.notify_all();
    };
    if (frees) {
      const std::jthread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        go_on();
      });
      gsofa_analyzer_free(by);
      CHECK(state == 2);
      continue;
    }
    gsofa_analyzer_cancel(by);
    go_on();
    CHECK(gsofa_analyzer_wait(by, &f) == GSOFA_CANCELLED);
    CHECK(f == nullptr);
    gsofa_analyzer_free(by);
  }
}

TEST_CASE("the C interface: wait, start, cancel and free in a callback of the analysis") {
  const pattern a = five_point_grid(7);
  struct user_data {
    gsofa_analyzer* by = nullptr;
    gsofa_pattern view{};
    bool frees = false;
    std::vector<int> statuses;
    std::string text;
    std::atomic<bool> called{false};
  };
  for (const bool frees : {false, true}) {
    user_data user;
    user.view = c_pattern(a);
    user.frees = frees;
    gsofa_options options;
    gsofa_options_init(&options);
    options.order = GSOFA_ORDER_AMD;
    options.user = &user;
    options.progress = [](int, double, void* data) {
      auto& u = *static_cast<user_data*>(data);
      const gsofa_analysis* f = nullptr;
      if (u.called) return 0;
      u.statuses.push_back(gsofa_analyzer_wait(u.by, &f));
      u.text = gsofa_last_error();
      u.statuses.push_back(gsofa_analyzer_start(u.by, &u.view, nullptr));
      u.statuses.push_back(gsofa_analyzer_ready(u.by));
      u.frees ? gsofa_analyzer_free(u.by) : gsofa_analyzer_cancel(u.by);
      u.called = true;
      u.called.notify_all();
      return 0;
    };
    REQUIRE(gsofa_analyzer_create(&user.by) == GSOFA_OK);
    REQUIRE(gsofa_analyzer_start(user.by, &user.view, &options) == GSOFA_OK);
    user.called.wait(false);
    CHECK(user.statuses == std::vector<int>{GSOFA_INVALID_INPUT, GSOFA_INVALID_INPUT, 0});
    CHECK(user.text == "pending_analysis: a callback of an analysis cannot wait for its end");
    if (frees) continue;
    const gsofa_analysis* f = nullptr;
    CHECK(gsofa_analyzer_wait(user.by, &f) == GSOFA_CANCELLED);
    gsofa_analyzer_free(user.by);
  }
}

}  // namespace
}  // namespace gsofa
