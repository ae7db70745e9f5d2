#include "harness/run/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <numbers>
#include <numeric>
#include <set>

#include "common/command_methods.hpp"
#include "common/generators.hpp"
#include "common/mpi_context.hpp"
#include "common/order_zero.hpp"
#include "harness/run/job.hpp"
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

// Whether any run of this process has begun, warm-ups included.
bool process_has_run = false;

// A 7-point grid in its natural order, which every variant analyses in milliseconds. No case has
// this pattern, so no warm-up helps a timed run by what it found out.
const pattern& warmup_pattern() {
  static const pattern grid = generate("grid7:nx=12");
  return grid;
}

int warmups_of(const trial_plan& trials) { return is_counting_build() ? 0 : trials.warmup; }

double seconds_of(const std::function<void()>& action) {
  const auto begin = phase_clock::clock::now();
  action();
  return std::chrono::duration<double>(phase_clock::clock::now() - begin).count();
}

// One case on one matrix, from prepare() to the last judgement.
class case_run {
 public:
  case_run(const prepared_pattern& a, const case_request& request, verifier& check,
           const std::function<void(const case_outcome&)>& on_hang, case_progress* progress)
      : a_(a), request_(request), check_(check), on_hang_(on_hang), progress_(progress) {
    out_.wants = request.settings.wants;
  }

  void run() {
    plan();
    for (int k = 0; goes_on(k); ++k) {
      v_.reset();
      for (int w = 0; w < warmups_of(request_.trials); ++w) warm_up();
      if (k == 0) {
        out_.first_in_process =
            !process_has_run && !is_counting_build() && !is_command(request_.info->name);
      }
      const double prepare_s = seconds_of([&] { prepare(); });
      const double wall = timed(*v_, context_, "run");
      if (progress_ != nullptr) progress_->step(fmt::format("verifying run {}", k + 1));
      note(wall, prepare_s);
      judge();
      if (out_.judged.status != run_status::fail) continue;
      const int repeat = std::max(request_.trials.repeat, k + 1);
      if (repeat > 1) out_.judged.reason += fmt::format(" (run {} of {})", k + 1, repeat);
      return;
    }
  }

  // The case ended by an exception, after which the other ranks end unless they threw it too.
  void ended(run_status status, const std::string& reason) {
    out_.judged = {.status = status, .reason = one_line(reason)};
  }
  void end_others(const std::exception& e) { job_->end_others(e); }

  [[nodiscard]] case_outcome& outcome() { return out_; }

 private:
  void plan() {
    settings_ = request_.settings;
    out_.verify_mode = job_->plan_for(check_, *request_.info, settings_.wants).mode;
    out_.wants = settings_.wants;
    meter_.start();
    out_.before = current_state();
  }

  // Whether another run follows `done` runs. The ranks of a job have times of their own.
  bool goes_on(int done) {
    const trial_plan& trials = request_.trials;
    if (is_counting_build()) return done < 1;
    if (done < trials.repeat || trials.until == 0) return done < trials.repeat;
    const double found = median_uncertainty(out_.samples_s);
    if (job_->max(found <= trials.until ? 0 : 1) == 0) return false;
    if (done < trial_plan::most_repeats) return true;
    if (!mpi_context::world().root()) return false;
    std::fputs(
        one_line(fmt::format("{}: after {} runs the 95 % interval of the median reaches {:.3g} % "
                             "from it, not {:g} %",
                             request_.info->name, done, 100 * found, 100 * trials.until))
            .append("\n")
            .c_str(),
        stderr);
    return false;
  }

  // Runs another pattern, so that the process is warm and knows nothing of the case. Silent,
  // and on no more threads than the case has rows.
  void warm_up() {
    run_context context;
    run_settings settings = settings_;
    settings.threads = std::min(settings.threads, std::max(a_.view().n_rows, 1));
    const std::unique_ptr<variant> v = create_for(*request_.info, warmup_pattern().n_rows);
    v->prepare(warmup_pattern(), settings, context);
    timed(*v, context, "warm-up");
  }

  // To a new object the pattern is new. The memory of the last object has gone back before.
  void prepare() {
    context_ = {};
    if (mpi_context::world().root()) {
      context_.say = [this](const std::string& line) {
        if (!said_.insert(line).second) return;
        std::fputs((request_.info->name + ": " + line + '\n').c_str(), stderr);
      };
    }
    v_ = create_for(*request_.info, a_.view().n_rows);
    v_->prepare(a_.view(), settings_, context_);
    out_.predicted_bytes = context_.predicted_bytes;
  }

  double timed(variant& v, run_context& context, const char* what) {
    const double timeout = request_.trials.timeout;
    if (progress_ != nullptr) {
      context.probe = &progress_->probe;
      progress_->run(runs_done_, what);
    }
    ++runs_done_;
    process_has_run = true;
    context.counters = {};
    context.set_timeout(timeout);
    std::unique_ptr<watchdog> guard;
    if (timeout > 0) {
      guard = std::make_unique<watchdog>(
          std::chrono::duration<double>(timeout + std::max(hang_margin, timeout)),
          [this] { hang(); });
    }
    const double wall = job_->run(v, context);
    guard.reset();
    if (progress_ != nullptr) progress_->run_done();
    return wall;
  }

  void hang() const {
    case_outcome stuck;
    stuck.wants = out_.wants;
    stuck.verify_mode = out_.verify_mode;
    stuck.judged = {.status = run_status::timeout,
                    .reason = fmt::format("ignored its limit of {:g} s; the program was ended",
                                          request_.trials.timeout)};
    on_hang_(stuck);
    mpi_context::world().abort(static_cast<int>(exit_code::run_failed));
  }

  // Takes over what the last run left in the context, and its result.
  void note(double wall, double prepare_s) {
    out_.device_bytes = context_.device_bytes;
    out_.device_peak_bytes = job_->max(context_.device_peak_bytes);
    out_.derived = context_.derived;
    out_.layout = context_.layout;
    const double collect_s = seconds_of([&] { out_.last = v_->collect(out_.wants); });
    if (const auto peak = meter_.peak()) {
      out_.host_peak_bytes = std::max(out_.host_peak_bytes.value_or(0), job_->max(*peak));
    }
    if (is_counting_build()) {
      out_.counters = context_.counters;
      return;
    }
    out_.samples_s.push_back(wall);
    out_.prepare_s.push_back(prepare_s);
    out_.collect_s.push_back(collect_s);
    phases_.push_back(context_.phases.seconds());
    job_->together([&] { check_phase_sum(phases_.back(), wall); });
    rank_phases_.push_back(job_->phases_by_rank(phases_.back()));
    // Another rank's median may be another sample; rank 0's is the one that is recorded.
    const std::size_t median = median_index(out_.samples_s);
    out_.phases_s = phases_[median];
    out_.rank_phases_s = rank_phases_[median];
  }

  void judge() {
    const auto begin = phase_clock::clock::now();
    out_.judged = job_->judge(check_, *request_.info, out_.wants, *out_.last);
    out_.after = current_state();
    out_.verify_seconds += std::chrono::duration<double>(phase_clock::clock::now() - begin).count();
    meter_.rearm();
  }

  const prepared_pattern& a_;
  const case_request& request_;
  verifier& check_;
  const std::function<void(const case_outcome&)>& on_hang_;
  case_progress* progress_;
  std::unique_ptr<job> job_ = job::of(*request_.info);
  run_settings settings_;
  run_context context_;
  std::set<std::string> said_;  // lines, each of which is printed once
  memory_meter meter_;
  std::unique_ptr<variant> v_;
  int runs_done_ = 0;
  std::vector<std::map<std::string, double>> phases_;
  std::vector<std::vector<std::map<std::string, double>>> rank_phases_;
  case_outcome out_;
};

}  // namespace

std::size_t median_index(const std::vector<double>& samples) {
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
  std::ranges::nth_element(order, middle, {}, [&](std::size_t k) { return samples[k]; });
  return *middle;
}

double median_uncertainty(std::vector<double> samples) {
  const auto n = static_cast<double>(samples.size());
  // Of n samples, k lie below the median with this probability.
  const auto probability = [n](double k) {
    const double ways = std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
    return std::exp(ways - n * std::numbers::ln2);
  };
  double outside = probability(0);
  if (outside > 0.025) return std::numeric_limits<double>::infinity();
  std::size_t rank = 0;
  while ((outside += probability(static_cast<double>(rank + 1))) <= 0.025) ++rank;
  std::ranges::sort(samples);
  const double median = samples[(samples.size() - 1) / 2];
  const double reach =
      std::max(median - samples[rank], samples[samples.size() - 1 - rank] - median);
  return reach == 0 ? 0 : reach / median;
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
  out.first_in_process = rounds.front().first_in_process;
  if (rounds.size() > 1 && !is_well(out))
    out.judged.reason += fmt::format(" (round {})", rounds.size());
  for (auto* list : {&out.samples_s, &out.prepare_s, &out.collect_s}) list->clear();
  out.verify_seconds = 0;
  auto append = [](std::vector<double>& all, const std::vector<double>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  std::vector<const case_outcome*> of_sample;
  for (const case_outcome& r : rounds) {
    out.verify_seconds += r.verify_seconds;
    out.device_peak_bytes = std::max(out.device_peak_bytes, r.device_peak_bytes);
    if (r.host_peak_bytes)
      out.host_peak_bytes = std::max(out.host_peak_bytes.value_or(0), *r.host_peak_bytes);
    append(out.samples_s, r.samples_s);
    append(out.prepare_s, r.prepare_s);
    append(out.collect_s, r.collect_s);
    of_sample.insert(of_sample.end(), r.samples_s.size(), &r);
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
  const int most = trials.until == 0 ? 0 : trial_plan::most_repeats;
  return is_counting_build() ? 1 : std::max(trials.repeat, most) * (1 + trials.warmup);
}

case_outcome run_case(const prepared_pattern& a, const case_request& request, verifier& check,
                      const std::function<void(const case_outcome&)>& on_hang,
                      case_progress* progress) {
  // An exception is reported, or ends the other ranks, before the destructor of the variant runs.
  case_run one(a, request, check, on_hang, progress);
  try {
    one.run();
  } catch (const watchdog_error& e) {
    one.end_others(e);
    throw;  // every case would end so
  } catch (const timeout_error& e) {
    one.end_others(e);
    one.ended(run_status::timeout,
              is_command(request.info->name)
                  ? e.what()
                  : fmt::format("passed its limit of {:g} s", request.trials.timeout));
  } catch (const budget_error& e) {
    one.end_others(e);
    one.ended(run_status::oom, e.what());
  } catch (const std::bad_alloc& e) {
    one.end_others(e);
    one.ended(run_status::oom, "out of host memory");
  } catch (const std::exception& e) {
    one.end_others(e);
    one.ended(run_status::error, e.what());
  }
  return std::move(one.outcome());
}

}  // namespace gsofa
