#include "harness/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>

#include "harness/machine.hpp"
#include "harness/watchdog.hpp"
#include "variants/detail/build_kind.hpp"

namespace gsofa {

namespace {

constexpr double hang_margin = 5;  // seconds

// The phases partition the run, so their sum must be its wall time.
void check_phase_sum(const std::map<std::string, double>& phases, double wall) {
  double sum = 0;
  for (const auto& [name, seconds] : phases) sum += seconds;
  if (std::abs(sum - wall) > 0.01 * wall + 1e-6) {
    throw error(exit_code::run_failed,
                fmt::format("phases sum to {:.6g} s, the run took {:.6g} s", sum, wall));
  }
}

double timed_run(variant& v, execution& exec, double timeout, const std::function<void()>& hang) {
  exec.counters = {};
  exec.set_timeout(timeout);
  std::unique_ptr<watchdog> guard;
  if (timeout > 0) {
    guard = std::make_unique<watchdog>(
        std::chrono::duration<double>(timeout + std::max(hang_margin, timeout)), hang);
  }
  exec.phases.start(phase_id::traverse);
  v.run(exec);
  return exec.phases.stop();
}

}  // namespace

std::size_t median_index(const std::vector<double>& samples) {
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
  std::ranges::nth_element(order, middle, {}, [&](std::size_t k) { return samples[k]; });
  return *middle;
}

case_outcome skipped_case(const std::string& reason) {
  case_outcome out;
  out.judged = {.status = run_status::skipped, .reason = one_line(reason)};
  return out;
}

case_outcome run_case(const prepared_pattern& a, const case_request& request, verifier& check,
                      const std::function<void(const case_outcome&)>& on_hang) {
  case_outcome out;
  out.wants = request.settings.wants;
  auto ended = [&](run_status status, const std::string& reason) {
    out.judged = {.status = status, .reason = one_line(reason)};
  };
  const bool counting = is_counting_build();
  const int repeat = counting ? 1 : request.trials.repeat;
  const int warmup = counting ? 0 : request.trials.warmup;
  execution exec;
  const auto hang = [&] {
    case_outcome stuck;
    stuck.wants = out.wants;
    stuck.verify_mode = out.verify_mode;
    stuck.judged = {.status = run_status::timeout,
                    .reason = fmt::format("ignored its limit of {:g} s; the program was ended",
                                          request.trials.timeout)};
    on_hang(stuck);
    std::_Exit(static_cast<int>(exit_code::run_failed));
  };
  try {
    const auto plan = check.plan_for(*request.info, request.settings.wants);
    out.verify_mode = plan.mode;
    run_settings settings = request.settings;
    settings.wants |= plan.extra;
    out.wants = settings.wants;

    memory_meter meter;
    meter.start();
    auto note_peak = [&] {
      if (const auto peak = meter.peak()) {
        out.host_peak_bytes = std::max(out.host_peak_bytes.value_or(0), *peak);
      }
    };
    const auto v = request.info->create();
    v->prepare(a.view(), settings, exec);
    out.predicted_bytes = exec.predicted_bytes;
    for (int k = 0; k < warmup; ++k) timed_run(*v, exec, request.trials.timeout, hang);
    std::vector<std::map<std::string, double>> phases;
    for (int k = 0; k < repeat; ++k) {
      const double wall = timed_run(*v, exec, request.trials.timeout, hang);
      out.device_bytes = exec.device_bytes;
      out.device_peak_bytes = exec.device_peak_bytes;
      out.last = v->collect(settings.wants);
      note_peak();
      if (counting) {
        out.counters = exec.counters;
      } else {
        out.samples_s.push_back(wall);
        phases.push_back(exec.phases.seconds());
        check_phase_sum(phases.back(), wall);
        out.phases_s = phases[median_index(out.samples_s)];
      }
      const auto begin = phase_clock::clock::now();
      const judgement judged = check.judge(*request.info, settings.wants, *out.last);
      out.verify_seconds +=
          std::chrono::duration<double>(phase_clock::clock::now() - begin).count();
      meter.rearm();
      out.judged = judged;
      if (judged.status == run_status::fail) {
        if (repeat > 1) out.judged.reason += fmt::format(" (run {} of {})", k + 1, repeat);
        break;
      }
    }
  } catch (const timeout_error&) {
    ended(run_status::timeout, fmt::format("passed its limit of {:g} s", request.trials.timeout));
  } catch (const budget_error& e) {
    ended(run_status::oom, e.what());
  } catch (const std::bad_alloc&) {
    ended(run_status::oom, "out of host memory");
  } catch (const std::exception& e) {
    ended(run_status::error, e.what());
  }
  return out;
}

}  // namespace gsofa
