#include "harness/run/runner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "common/cuda_device.hpp"
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
  CHECK(runs == 9);
  REQUIRE(out.samples_s.size() == 3);
  CHECK(out.verify_mode == "oracle");
  CHECK(out.wants.has(want::digest));
  double sum = 0;
  for (const auto& [name, seconds] : out.phases_s) sum += seconds;
  CHECK(out.phases_s.contains("init"));
  CHECK(sum == doctest::Approx(out.samples_s[median_index(out.samples_s)]).epsilon(0.01));
}

TEST_CASE(
    "every run has an object of its own, prepared off the clock after the last one has gone, and "
    "follows runs of another pattern") {
  struct counts {
    int made = 0, alive = 0, most_alive = 0, runs_of_prepared = 0;
    std::vector<bool> of_the_case;
  } seen;
  class counted : public testing::fake_variant {
   public:
    explicit counted(counts& seen) : fake_variant({}, {}), seen_(seen) {
      ++seen_.made;
      seen_.most_alive = std::max(seen_.most_alive, ++seen_.alive);
    }
    ~counted() override { --seen_.alive; }
    void prepare(const pattern_view& a, const run_settings& settings,
                 run_context& context) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      CHECK(context.derived.empty());
      seen_.of_the_case.push_back(a.n_rows == reference::worked_example().n_rows);
      context.derived["found"] = 1;
      prepared_ = true;
      fake_variant::prepare(a, settings, context);
    }
    void run(run_context&) override {
      if (prepared_) ++seen_.runs_of_prepared;
      prepared_ = false;
    }

   private:
    counts& seen_;
    bool prepared_ = false;
  };
  auto info = testing::fake_info();
  info.create = [&seen] { return std::make_unique<counted>(seen); };
  const auto out = run_fake(info, {.repeat = 3, .warmup = 2});
  CHECK(out.judged.status == run_status::pass);
  CHECK(seen.made == 9);
  CHECK(seen.most_alive == 1);
  CHECK(seen.alive == 0);
  CHECK(seen.runs_of_prepared == 9);
  CHECK(seen.of_the_case == std::vector<bool>{0, 0, 1, 0, 0, 1, 0, 0, 1});
  REQUIRE(out.samples_s.size() == 3);
  CHECK(std::ranges::min(out.samples_s) < 0.02);
  CHECK(std::ranges::min(out.prepare_s) >= 0.02);
  CHECK(out.collect_s.size() == 3);
  CHECK_FALSE(out.first_in_process);
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

TEST_CASE("a case runs until the interval of its median is narrow, or 101 times") {
  const auto info = testing::fake_info({});
  CHECK(run_fake(info, {.repeat = 1, .warmup = 0, .until = 1e9}).samples_s.size() == 6);
  CHECK(run_fake(info, {.repeat = 8, .warmup = 0, .until = 1e9}).samples_s.size() == 8);
  CHECK(run_fake(info, {.repeat = 1, .warmup = 0, .until = -1}).samples_s.size() == 101);
}

TEST_CASE("order statistics bound the median: of ten samples the second and the ninth") {
  CHECK(std::isinf(median_uncertainty({})));
  CHECK(std::isinf(median_uncertainty({2, 2, 2, 2, 2})));
  CHECK(median_uncertainty({6, 1, 5, 2, 4, 3}) == 1);  // 1 and 6 around 3
  CHECK(median_uncertainty({1, 8, 9, 10, 10, 10, 11, 12, 13, 99}) == doctest::Approx(0.3));
  CHECK(median_uncertainty(std::vector<double>(100'000, 7)) == 0);
}

TEST_CASE("the median of an even number of samples is the lower one") {
  CHECK(median_index({3, 1, 2}) == 2);
  CHECK(median_index({4, 1, 3, 2}) == 3);
  CHECK(median_index({7}) == 0);
}

TEST_CASE("interleaved runs become one outcome: samples in their order, the median's phases") {
  auto round = [](double seconds, std::int64_t peak) {
    case_outcome o;
    o.judged.status = run_status::pass;
    o.samples_s = {seconds};
    o.phases_s = {{"traverse", seconds}};
    o.device_peak_bytes = peak;
    o.verify_seconds = 1;
    o.before.load = seconds;
    o.after.load = 10 * seconds;
    return o;
  };
  auto first = round(0.3, 5);
  first.first_in_process = true;
  const auto out = merged({first, round(0.1, 9), round(0.2, 7)});
  CHECK(out.first_in_process);
  CHECK(out.samples_s == std::vector<double>{0.3, 0.1, 0.2});
  CHECK(out.phases_s.at("traverse") == 0.2);
  CHECK(out.device_peak_bytes == 9);
  CHECK(out.verify_seconds == 3);
  CHECK(out.before.load == 0.3);
  CHECK(out.after.load == 2.0);
  CHECK(out.judged.status == run_status::pass);

  case_outcome late;
  late.judged = {.status = run_status::timeout, .reason = "late"};
  const auto stopped = merged({round(0.3, 5), late});
  CHECK(stopped.judged.status == run_status::timeout);
  CHECK(stopped.judged.reason == "late (round 2)");
  CHECK(stopped.samples_s == std::vector<double>{0.3});
}

TEST_CASE(
    "interleaved runs: seven of a short case, three of one of a second, one of a failed one") {
  const trial_plan trials{.repeat = 7, .interleave = true};
  case_outcome o;
  o.judged.status = run_status::pass;
  auto rounds = [&] {
    int k = 1;
    while (!is_last_round(trials, k, o)) ++k;
    return k;
  };
  o.samples_s = {0.999};
  CHECK(rounds() == 7);
  o.samples_s = {1};
  CHECK(rounds() == 3);
  o.judged.status = run_status::fail;
  CHECK(rounds() == 1);
  o.judged.status = run_status::skipped;
  o.samples_s.clear();
  CHECK(rounds() == 1);
}

TEST_CASE("every part of a machine tells it apart from others with the same machine id") {
  const std::int64_t gib = std::int64_t{1} << 30;
  const machine_parts image{.machine_id = "id",
                            .board = "",
                            .host = "name",
                            .cpu = "AMD EPYC",
                            .memory = 64 * gib,
                            .gpus = {"a", "b"}};
  std::set<std::string> ids{identity_of(image)};
  const auto add = [&](auto change) {
    machine_parts other = image;
    change(other);
    ids.insert(identity_of(other));
  };
  add([](machine_parts& m) { m.cpu = "Intel(R) Xeon(R)"; });
  add([](machine_parts& m) { m.gpus = {"a"}; });
  add([](machine_parts& m) { m.gpus = {"a", "c"}; });
  add([](machine_parts& m) { m.machine_id = "other"; });
  add([](machine_parts& m) { m.board = "board"; });
  CHECK(ids.size() == 6);
  for (const std::string& id : ids) CHECK(id.size() == 16);
  // Memory may grow where GPUs tell the machine.
  machine_parts later = image;
  later.memory *= 2;
  CHECK(identity_of(later) == identity_of(image));
  machine_parts nameless = image;
  nameless.machine_id.clear();
  nameless.gpus.clear();
  const std::string by_host = identity_of(nameless);
  CHECK(by_host.size() == 16);
  // Another kernel keeps some MiB more for itself.
  nameless.memory -= gib / 128;
  CHECK(identity_of(nameless) == by_host);
  nameless.memory = 128 * gib;
  CHECK(identity_of(nameless) != by_host);
  nameless.memory = image.memory;
  nameless.host = "other";
  CHECK(identity_of(nameless) != by_host);
  // The name may change where something else identifies the machine.
  machine_parts renamed = image;
  renamed.host = "other";
  CHECK(identity_of(renamed) == identity_of(image));
}

TEST_CASE("what is recorded of the machine tells it apart and does not change") {
  const machine_info& m = this_machine();
  CHECK(&m == &this_machine());
  CHECK(m.id.size() == 16);
  CHECK(m.online_threads >= m.hardware_threads);
  CHECK(current_state().load >= 0);
  CHECK(current_state().gpus.size() == find_cuda_devices().devices.size());
}
