#include "harness/run/runner.hpp"

#include <doctest/doctest.h>

#include <new>
#include <stdexcept>
#include <thread>

#include "harness/testing/fake_variant.hpp"
#include "reference/worked_example.hpp"

using namespace gsofa;

namespace {

case_outcome run_fake(const variant_info& info, trial_plan trials = {}) {
  const auto a = testing::as_it_is(reference::worked_example());
  verifier check(a, verify_mode::automatic, 128, 1);
  case_request request{.info = &info, .settings = run_settings(), .trials = trials};
  return run_case(a, request, check, [](const case_outcome&) {});
}

case_outcome run_throwing(const std::function<void(run_context&)>& action, double timeout = 0) {
  return run_fake(testing::fake_info(action), {.repeat = 1, .warmup = 0, .timeout = timeout});
}

}  // namespace

TEST_CASE("a right variant: samples, phases, wants") {
  int runs = 0;
  const auto info = testing::fake_info([&](run_context& context) {
    ++runs;
    const phase init(context, phase_id::init);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  });
  const auto out = run_fake(info, {.repeat = 3, .warmup = 2});
  CHECK(out.judged.status == run_status::pass);
  CHECK(out.judged.reason.empty());
  CHECK(runs == 5);
  REQUIRE(out.samples_s.size() == 3);
  CHECK(out.verify_mode == "oracle");
  CHECK(out.wants.has(want::digest));
  double sum = 0;
  for (const auto& [name, seconds] : out.phases_s) sum += seconds;
  CHECK(out.phases_s.contains("init"));
  CHECK(sum == doctest::Approx(out.samples_s[median_index(out.samples_s)]).epsilon(0.01));
}

TEST_CASE("exceptions become statuses") {
  CHECK(run_throwing([](run_context&) { throw std::bad_alloc(); }).judged.status ==
        run_status::oom);
  CHECK(run_throwing([](run_context&) { throw budget_error("too small"); }).judged.status ==
        run_status::oom);
  const auto error = run_throwing([](run_context&) { throw std::runtime_error("two\nlines"); });
  CHECK(error.judged.status == run_status::error);
  CHECK(error.judged.reason == "two lines");
  CHECK_FALSE(error.last.has_value());
}

TEST_CASE("a run that passes its limit is a timeout") {
  const auto out = run_throwing(
      [](run_context& context) {
        for (;;) context.check_deadline();
      },
      0.01);
  CHECK(out.judged.status == run_status::timeout);
  CHECK(out.judged.reason.find("0.01 s") != std::string::npos);
}

TEST_CASE("every repeat is verified") {
  int collected = 0;
  const auto info = testing::fake_info({}, [&](result& r) {
    if (++collected == 2) r.row_digests[5] ^= 1;
  });
  const auto out = run_fake(info, {.repeat = 4, .warmup = 0});
  CHECK(out.judged.status == run_status::fail);
  CHECK(out.judged.reason.find("run 2 of 4") != std::string::npos);
  CHECK(out.samples_s.size() == 2);
}

TEST_CASE("the median of an even number of samples is the lower one") {
  CHECK(median_index({3, 1, 2}) == 2);
  CHECK(median_index({4, 1, 3, 2}) == 3);
  CHECK(median_index({7}) == 0);
}
