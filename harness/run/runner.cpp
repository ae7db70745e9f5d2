#include "harness/run/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>

#include "common/mpi_context.hpp"
#include "common/order_zero.hpp"
#include "common/rank_errors.hpp"
#include "harness/run/distribute.hpp"
#include "harness/run/watchdog.hpp"
#include "variants/support/build_kind.hpp"

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

// Seconds from before run() to after it, on the clock that the phases divide. On several ranks from
// a barrier before run() to the return from one after it, on this rank.
double timed_run(variant& v, run_context& context, double timeout, mpi_context* several,
                 const std::function<void()>& hang) {
  context.counters = {};
  context.set_timeout(timeout);
  std::unique_ptr<watchdog> guard;
  if (timeout > 0) {
    guard = std::make_unique<watchdog>(
        std::chrono::duration<double>(timeout + std::max(hang_margin, timeout)), hang);
  }
  if (several == nullptr) return run_timed(v, context);
  several->barrier();
  context.phases.start(phase_id::traverse);
  v.run(context);
  {
    const phase timed(context, phase_id::comm);
    several->barrier();
  }
  return context.phases.stop();
}

// The phases of all ranks, on rank 0.
std::vector<std::map<std::string, double>> gather_phases(mpi_context& j,
                                                         const run_context& context) {
  std::vector<double> mine;
  const auto seconds = context.phases.seconds();
  for (int k = 0; k < static_cast<int>(phase_id::count_); ++k) {
    const auto hit = seconds.find(phase_name(static_cast<phase_id>(k)));
    mine.push_back(hit == seconds.end() ? 0.0 : hit->second);
  }
  std::vector<std::map<std::string, double>> all;
  for (const auto& rank : j.gather(mine)) {
    auto& phases = all.emplace_back();
    for (std::size_t k = 0; k < rank.size(); ++k) {
      if (rank[k] > 0) phases[phase_name(static_cast<phase_id>(k))] = rank[k];
    }
  }
  return all;
}

}  // namespace

std::size_t median_index(const std::vector<double>& samples) {
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
  std::ranges::nth_element(order, middle, {}, [&](std::size_t k) { return samples[k]; });
  return *middle;
}

bool is_well(const case_outcome& outcome) {
  return outcome.judged.status == run_status::pass ||
         outcome.judged.status == run_status::unverified;
}

bool takes_long(const case_outcome& outcome) {
  return !outcome.samples_s.empty() && outcome.samples_s.back() >= trial_plan::long_run;
}

bool is_last_round(const trial_plan& trials, int round, const case_outcome& outcome) {
  // The counting build and skipped cases have no samples, and nothing to take again.
  return !is_well(outcome) || outcome.samples_s.empty() || round >= trials.repeat ||
         (round >= trial_plan::fewest_repeats && takes_long(outcome));
}

case_outcome merged(const std::vector<case_outcome>& rounds) {
  case_outcome out = rounds.back();
  out.before = rounds.front().before;
  if (rounds.size() > 1 && !is_well(out))
    out.judged.reason += fmt::format(" (round {})", rounds.size());
  out.samples_s.clear();
  out.verify_seconds = 0;
  std::vector<const case_outcome*> of_sample;
  for (const case_outcome& r : rounds) {
    out.verify_seconds += r.verify_seconds;
    out.device_peak_bytes = std::max(out.device_peak_bytes, r.device_peak_bytes);
    if (r.host_peak_bytes)
      out.host_peak_bytes = std::max(out.host_peak_bytes.value_or(0), *r.host_peak_bytes);
    for (const double s : r.samples_s) {
      out.samples_s.push_back(s);
      of_sample.push_back(&r);
    }
    if (r.last) out.last = r.last;
  }
  if (!out.samples_s.empty()) {
    const case_outcome& median = *of_sample[median_index(out.samples_s)];
    out.phases_s = median.phases_s;
    out.rank_phases_s = median.rank_phases_s;
  }
  return out;
}

case_outcome skipped_case(const std::string& reason) {
  case_outcome out;
  out.judged = {.status = run_status::skipped, .reason = one_line(reason)};
  return out;
}

int runs_of(const trial_plan& trials) {
  return is_counting_build() ? 1 : trials.warmup + trials.repeat;
}

case_outcome run_case(const prepared_pattern& a, const case_request& request, verifier& check,
                      const std::function<void(const case_outcome&)>& on_hang,
                      case_progress* progress) {
  case_outcome out;
  out.wants = request.settings.wants;
  auto ended = [&](run_status status, const std::string& reason) {
    out.judged = {.status = status, .reason = one_line(reason)};
  };
  const bool counting = is_counting_build();
  const int repeat = counting ? 1 : request.trials.repeat;
  const int warmup = counting ? 0 : request.trials.warmup;
  run_context context;
  if (progress != nullptr) context.probe = &progress->probe;
  if (mpi_context::world().root()) {
    context.say = [&](const std::string& line) {
      std::fputs((request.info->name + ": " + line + '\n').c_str(), stderr);
    };
  }
  const auto hang = [&] {
    case_outcome stuck;
    stuck.wants = out.wants;
    stuck.verify_mode = out.verify_mode;
    stuck.judged = {.status = run_status::timeout,
                    .reason = fmt::format("ignored its limit of {:g} s; the program was ended",
                                          request.trials.timeout)};
    on_hang(stuck);
    mpi_context::world().abort(static_cast<int>(exit_code::run_failed));
  };
  mpi_context& j = mpi_context::world();
  const bool several = j.ranks() > 1 && request.info->distributed;
  mpi_context* const all_ranks = several ? &j : nullptr;
  // No rank has the whole pattern of a distributed run: the verifier sees everything else.
  variant_info info = *request.info;
  if (several) info.gives = info.gives.without(want::pattern);
  // Other ranks wait for this one: an error that they do not throw too must end them.
  auto end_all_unless_known = [&](const std::exception& e) {
    if (!several || dynamic_cast<const thrown_by_all_ranks*>(&e) != nullptr) return;
    abort_job(dynamic_cast<const std::bad_alloc*>(&e) != nullptr ? "out of host memory" : e.what());
  };
  // Declared outside of the try block: an exception is reported, or ends the other ranks, before
  // the destructor of the variant runs.
  std::unique_ptr<variant> v;
  auto judged_part = [&](want_set wants) { return several ? wants.without(want::pattern) : wants; };
  try {
    verifier::plan plan;
    auto find_plan = [&] { plan = check.plan_for(info, judged_part(request.settings.wants)); };
    if (several) {
      j.on_root(find_plan);
      j.broadcast(plan.extra);
    } else {
      find_plan();
    }
    out.verify_mode = plan.mode;
    run_settings settings = request.settings;
    settings.wants |= plan.extra;
    if (several && settings.wants.has(want::pattern)) {
      settings.wants |= want_set(want::counts) | want::digest;
    }
    out.wants = settings.wants;

    memory_meter meter;
    meter.start();
    auto note_peak = [&] {
      if (const auto peak = meter.peak()) {
        const std::int64_t most = several ? j.max(*peak) : *peak;
        out.host_peak_bytes = std::max(out.host_peak_bytes.value_or(0), most);
      }
    };
    out.before = current_state();
    v = create_for(*request.info, a.view().n_rows);
    v->prepare(a.view(), settings, context);
    out.predicted_bytes = context.predicted_bytes;
    int runs_done = 0;
    auto one_run = [&](const char* what) {
      if (progress != nullptr) progress->run(runs_done++, what);
      const double wall = timed_run(*v, context, request.trials.timeout, all_ranks, hang);
      if (progress != nullptr) progress->run_done();
      return wall;
    };
    for (int k = 0; k < warmup; ++k) one_run("warm-up");
    std::vector<std::map<std::string, double>> phases;
    std::vector<std::vector<std::map<std::string, double>>> rank_phases;
    for (int k = 0; k < repeat; ++k) {
      const double wall = one_run("run");
      if (progress != nullptr) progress->step(fmt::format("verifying run {}", k + 1));
      out.device_bytes = context.device_bytes;
      out.device_peak_bytes =
          several ? j.max(context.device_peak_bytes) : context.device_peak_bytes;
      out.derived = context.derived;
      out.layout = context.layout;
      out.last = v->collect(settings.wants);
      note_peak();
      if (counting) {
        out.counters = context.counters;
      } else {
        out.samples_s.push_back(wall);
        phases.push_back(context.phases.seconds());
        auto check_phases = [&] { check_phase_sum(phases.back(), wall); };
        if (several) {
          j.collective_try(check_phases);
        } else {
          check_phases();
        }
        out.phases_s = phases[median_index(out.samples_s)];
        if (several) {
          rank_phases.push_back(gather_phases(j, context));
          // Another rank's median may be another sample; rank 0's is the one that is recorded.
          out.rank_phases_s = rank_phases[median_index(out.samples_s)];
        }
      }
      const auto begin = phase_clock::clock::now();
      judgement judged;
      auto judge = [&] { judged = check.judge(info, judged_part(settings.wants), *out.last); };
      if (several) {
        j.on_root(judge);
        if (settings.wants.has(want::pattern)) {
          const std::string fault = distributed_pattern_fault(j, *out.last);
          if (!fault.empty()) {
            judged = {.status = run_status::fail, .reason = one_line("pattern: " + fault)};
          }
        }
        j.broadcast(judged.status);
        j.broadcast(judged.reason);
      } else {
        judge();
      }
      out.after = current_state();
      out.verify_seconds +=
          std::chrono::duration<double>(phase_clock::clock::now() - begin).count();
      meter.rearm();
      out.judged = judged;
      if (judged.status == run_status::fail) {
        if (repeat > 1) out.judged.reason += fmt::format(" (run {} of {})", k + 1, repeat);
        break;
      }
    }
  } catch (const watchdog_error& e) {
    end_all_unless_known(e);
    throw;  // every case would end so
  } catch (const timeout_error& e) {
    end_all_unless_known(e);
    ended(run_status::timeout, fmt::format("passed its limit of {:g} s", request.trials.timeout));
  } catch (const budget_error& e) {
    end_all_unless_known(e);
    ended(run_status::oom, e.what());
  } catch (const std::bad_alloc& e) {
    end_all_unless_known(e);
    ended(run_status::oom, "out of host memory");
  } catch (const std::exception& e) {
    end_all_unless_known(e);
    ended(run_status::error, e.what());
  }
  return out;
}

}  // namespace gsofa
