#include "harness/check/variant_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <string_view>

#include "common/file.hpp"
#include "common/matrix_market.hpp"
#include "common/mpi_context.hpp"
#include "common/parallel.hpp"
#include "common/rank_errors.hpp"
#include "common/text.hpp"
#include "harness/check/fill_path.hpp"
#include "harness/check/shrink.hpp"
#include "harness/check/worker_process.hpp"
#include "harness/matrices/matrix_source.hpp"
#include "harness/run/machine.hpp"
#include "harness/run/runner.hpp"
#include "harness/run/selection.hpp"
#include "harness/run/status.hpp"
#include "harness/run/verifier.hpp"
#include "harness/run/watchdog.hpp"
#include "variants/support/build_kind.hpp"

namespace gsofa {

namespace {

constexpr double planted_time_limit = 0.25;  // seconds for a run of a planted variant
constexpr double shrink_seconds = 60;        // not on several ranks, whose clocks differ
constexpr double matrix_seconds = 3600;      // preparation and verification of a bundled matrix
constexpr double large_seconds = 60;
constexpr index_t largest_picture = 60;

// An emulated launch on a pattern of large order takes minutes.
bool is_emulated(const variant_info& info) {
  return std::string_view(gpu_build()) == "emulated" &&
         (info.device == "gpu" || info.device == "mpi");
}

bool oracles_agree_on(const named_pattern& p, const reference::truth& expected) {
  const auto refuted = refute_oracles(p.a, expected);
  if (refuted && mpi_context::world().root()) {
    std::cout << fmt::format("oracles: {} on {}\n", *refuted, one_line(p.name));
    if (p.a.n_rows <= largest_picture) std::cout << picture(p.a);
  }
  return !refuted;
}

}  // namespace

json check_tally::to_json() const {
  return {{"runs", runs},
          {"large_passed", large_passed},
          {"large_timeouts", large_timeouts},
          {"bundled_passed", bundled_passed},
          {"bundled_unverified", bundled_unverified},
          {"bundled_timeouts", bundled_timeouts},
          {"failure", failure},
          {"report", report}};
}

void check_tally::add(const json& part) {
  runs += part.at("runs").get<std::int64_t>();
  large_passed += part.at("large_passed").get<std::int64_t>();
  large_timeouts += part.at("large_timeouts").get<std::int64_t>();
  bundled_passed += part.at("bundled_passed").get<std::int64_t>();
  bundled_unverified += part.at("bundled_unverified").get<std::int64_t>();
  bundled_timeouts += part.at("bundled_timeouts").get<std::int64_t>();
  failure = part.at("failure");
  report = part.at("report");
}

std::vector<check_tally> choose_variants(const check_options& options) {
  std::vector<selected_variant> chosen = select_variants(options.variants);
  if (options.variants.empty()) {
    for (const auto& v : all_variants()) chosen.push_back({&v, false});
  }
  std::vector<check_tally> tallies;
  bool known = options.setting.empty();
  for (const auto& [v, by_name] : chosen) {
    check_tally t;
    t.info = v;
    t.settings = settings_to_check(*v);
    if (!options.setting.empty()) {
      std::erase_if(t.settings, [&](const check_setting& s) { return s.text != options.setting; });
      known = known || !t.settings.empty();
      if (t.settings.empty()) t.unavailable = "has no such setting";
    }
    if (const auto why = v->unavailable()) {
      if (by_name) {
        throw unavailable_error(v->name + " is unavailable: " + *why);
      }
      t.unavailable = *why;
    }
    std::string why;
    if (const int ranks = mpi_context::world().ranks(); ranks > 1 && !v->distributed) {
      why = fmt::format("runs in one process; this job has {} ranks", ranks);
    } else if (v->fatal && options.in_process) {
      why = "ends or blocks its process, which must be one of its own";
    }
    if (!why.empty()) {
      if (by_name) {
        throw collective_error(exit_code::unavailable, v->name + " " + why);
      }
      t.unavailable = why;
    }
    tallies.push_back(std::move(t));
  }
  if (!known) {
    throw input_error(
        fmt::format("unknown setting '{}': messages name them, e.g. 'defaults'", options.setting));
  }
  if (!options.variants.empty() &&
      std::ranges::none_of(tallies, [](const check_tally& t) { return t.unavailable.empty(); })) {
    throw collective_error(exit_code::unavailable,
                           tallies.front().info->name + ": " + tallies.front().unavailable +
                               "; no variant that --variant names can be checked");
  }
  return tallies;
}

double run_limit(const check_tally& t, const check_plan& plan, std::size_t item) {
  const double limit = plan.time_limit(item);
  return t.planted() ? std::min(limit, planted_time_limit) : limit;
}

std::string report_counterexample(const check_options& options, const check_tally& t,
                                  const check_setting& s, const pattern& least,
                                  const std::string& what) {
  const auto file = options.save / (file_name_of(t.info->name) + ".mtx");
  std::string saved = "saved as " + file.string();
  std::string again = fmt::format("again: {} check --variant {} --matrix {} --setting {}\n",
                                  shell_quoted(options.program), shell_quoted(t.info->name),
                                  shell_quoted(file.string()), shell_quoted(s.text));
  try {
    create_folder(options.save);
    write_matrix_market(file, least,
                        fmt::format("counterexample to {} with {}", t.info->name, s.text));
  } catch (const input_error& e) {
    // The variant fails all the same.
    saved = std::string("not saved: ") + e.what();
    again.clear();
  }
  return fmt::format("{} fails with {}: {}\ncounterexample of order {}, numbers from 0; {}\n{}{}{}",
                     t.info->name, s.text, what, least.n_rows, saved,
                     least.n_rows <= largest_picture ? picture(least) : "",
                     explain_entry(least.view(), what), again);
}

variant_checker::variant_checker(const check_options& options, const check_plan& plan,
                                 std::vector<check_tally>& tallies, check_hooks hooks)
    : options_(options),
      plan_(plan),
      tallies_(tallies),
      hooks_(std::move(hooks)),
      root_(mpi_context::world().root()) {}

bool variant_checker::run(std::size_t first) {
  const int threads = std::max(1, options_.jobs);
  if (first < plan_.size()) {
    parallel_ranges(threads, plan_.size() - first, std::size_t{1},
                    [&](int, std::size_t k, std::size_t) { check_pattern(first + k); });
  }
  check_matrices(first > plan_.size() ? first - plan_.size() : 0);
  return !failed_;
}

bool variant_checker::oracles_agree(const check_plan& plan) {
  bool agree = true;
  for (std::size_t k = 0; k < plan.size(); ++k) {
    const auto p = plan.at(k);
    agree = oracles_agree_on(p, small_truth(p.a)) && agree;
  }
  return agree;
}

bool variant_checker::is_out(const check_tally& t) {
  const std::scoped_lock holding(lock_);
  return t.is_out();
}

void variant_checker::fail(check_tally& t, std::size_t item, std::size_t setting,
                           const named_pattern& p, const std::string& why) {
  const check_setting& s = t.settings[setting];
  t.failure = one_line(fmt::format("{} ({}, {})", why, p.name, s.text));
  if (t.planted()) return;
  failed_ = true;
  if (hooks_.failed) hooks_.failed(t);
  if (root_) {
    std::fprintf(stderr, "%s FAILS: %s; shrinking\n", t.info->name.c_str(), t.failure.c_str());
  }
  const double limit = run_limit(t, plan_, item);
  auto reason = [&](const pattern& a) -> std::optional<std::string> {
    const auto expected = small_truth(a);
    // Run three times, so that a race has a chance to show again.
    for (int k = 0; k < 3; ++k) {
      if (hooks_.begins) hooks_.begins(item, setting, hang_limit(limit));
      if (auto found = refute(*t.info, s.settings, a, expected, limit)) return found->reason;
    }
    return std::nullopt;
  };
  const bool alone = mpi_context::world().ranks() == 1;
  const pattern least = shrink(
      p.a, [&](const pattern& a) { return reason(a).has_value(); },
      alone ? shrink_seconds : std::numeric_limits<double>::infinity());
  const std::string text = reason(least).value_or(why);
  if (root_) t.report = report_counterexample(options_, t, s, least, text);
}

void variant_checker::check_setting_on(check_tally& t, std::size_t k, std::size_t s,
                                       const named_pattern& p, const reference::truth& expected) {
  const bool large = plan_.kind_of(k) == check_plan::kind::large;
  {
    const std::scoped_lock holding(lock_);
    // A variant that is too slow for the first large pattern is too slow for the others.
    if (t.is_out() || (large && (t.large_timeouts > 0 || is_emulated(*t.info)))) return;
    ++t.runs;
  }
  const double limit = run_limit(t, plan_, k);
  // The limit covers the preparation and the comparison in addition to the runs.
  if (hooks_.begins) hooks_.begins(k, s, hang_limit(limit) + (large ? large_seconds : 0));
  const auto why = refute(*t.info, t.settings[s].settings, p.a, expected, limit);
  const std::scoped_lock holding(lock_);
  if (!why) {
    t.large_passed += large ? 1 : 0;
  } else if (why->timed_out && large) {
    ++t.large_timeouts;
  } else if (!(t.planted() && why->timed_out) && t.failure.empty()) {
    // For a planted variant only a wrong answer counts.
    fail(t, k, s, p, why->reason);
    if (!hooks_.begins) std::cout << printable(t.report) << std::flush;
  }
}

void variant_checker::check_pattern(std::size_t k) {
  const named_pattern p = plan_.at(k);
  const auto expected = hooks_.compare_oracles ? small_truth(p.a) : sparse_truth(p.a);
  if (hooks_.compare_oracles && !oracles_agree_on(p, expected)) {
    const std::scoped_lock holding(lock_);
    failed_ = true;
  }
  for (auto& t : tallies_) {
    if (is_out(t)) continue;
    std::unique_ptr<watchdog> guard;
    if (!hooks_.begins) {
      guard = std::make_unique<watchdog>(std::chrono::seconds(300), [&] {
        std::fprintf(stderr, "gsofa: error: %s does not return on %s\n%s", t.info->name.c_str(),
                     one_line(p.name).c_str(),
                     p.a.n_rows <= largest_picture ? picture(p.a).c_str() : "");
        mpi_context::world().abort(static_cast<int>(exit_code::verification_failed));
      });
    }
    for (std::size_t s = 0; s < t.settings.size(); ++s) {
      if (plan_.includes(k, s, t.settings.size())) check_setting_on(t, k, s, p, expected);
    }
  }
}

void variant_checker::check_matrices(std::size_t first) {
  auto may_run = [](const check_tally& t) { return !t.planted() && !t.is_out(); };
  if (std::ranges::none_of(tallies_, may_run)) return;
  auto loading = [&] {
    if (hooks_.begins) hooks_.begins(plan_.size(), worker_page::none, matrix_seconds);
  };
  loading();
  for_each_matrix(options_, first, [&](check_matrix& m) {
    check_matrix_with_all(m);
    loading();
    return std::ranges::any_of(tallies_, may_run);
  });
}

void variant_checker::check_matrix_with_all(const check_matrix& m) {
  const std::string& order = m.a.origin().order;
  const check_suite suite = find_suite(options_.suite);
  const int threads = std::min(2, this_machine().hardware_threads);
  verifier check(m.a, verify_mode::automatic, run_settings().chunk_size, threads);
  if (!m.known.empty()) {
    check.assume_fill(prepared_pattern::load(m.known, false).view(),
                      m.known.extension().string().substr(1));
  }
  for (auto& t : tallies_) {
    if (t.planted() || t.is_out() || !plan_.includes_matrix(m.number, *t.info)) continue;
    case_request request{.info = t.info,
                         .settings = t.settings.front().settings,
                         .trials = {.repeat = 1, .warmup = 0, .timeout = suite.timeout}};
    request.settings.threads = t.info->multithreaded ? threads : 1;
    if (hooks_.begins) hooks_.begins(plan_.size() + m.number, 0, matrix_seconds);
    auto explain = [&](const case_outcome& outcome) {
      t.failure = one_line(fmt::format("{}, order {}: {}", m.name, order, outcome.judged.reason));
    };
    ++t.runs;
    const auto outcome = run_case(m.a, request, check, [&](const case_outcome& stuck) {
      explain(stuck);
      if (hooks_.failed) hooks_.failed(t);
      std::fprintf(stderr, "gsofa: error: %s on %s\n", t.info->name.c_str(), t.failure.c_str());
    });
    const run_status status = outcome.judged.status;
    t.bundled_passed += status == run_status::pass ? 1 : 0;
    t.bundled_unverified += status == run_status::unverified ? 1 : 0;
    t.bundled_timeouts += status == run_status::timeout ? 1 : 0;
    if (status == run_status::fail || status == run_status::error || status == run_status::oom) {
      explain(outcome);
      failed_ = true;
    }
    if (!root_) continue;
    std::fprintf(stderr, "%s, order %s, %s: %s%s%s\n", one_line(m.name).c_str(),
                 one_line(order).c_str(), t.info->name.c_str(), to_string(status),
                 outcome.judged.reason.empty() ? "" : ": ", outcome.judged.reason.c_str());
  }
}

}  // namespace gsofa
