#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>

#include "common/job.hpp"
#include "common/matrix_market.hpp"
#include "common/parallel.hpp"
#include "harness/commands.hpp"
#include "harness/cross_check.hpp"
#include "harness/datasets.hpp"
#include "harness/distribute.hpp"
#include "harness/machine.hpp"
#include "harness/matrix_source.hpp"
#include "harness/shrink.hpp"
#include "harness/status.hpp"
#include "harness/table.hpp"
#include "harness/test_patterns.hpp"
#include "harness/watchdog.hpp"

namespace gsofa {

namespace {

constexpr double time_limit = 20;            // seconds for a run on a small pattern
constexpr double planted_time_limit = 0.25;  // the same for a planted variant

struct check_suite {
  std::size_t random_patterns;
  index_t largest_bundled;          ///< order up to which bundled matrices are run
  std::vector<std::string> orders;  ///< of bundled matrices
  double timeout;                   ///< seconds for a run on a bundled matrix
};

check_suite find_suite(const std::string& name) {
  if (name == "small") return {500, 5000, {"metis"}, 2};
  if (name == "full") return {5000, max_index, {"metis", "natural"}, 20};
  throw input_error("unknown suite '" + name + "': one of small, full");
}

struct check_options {
  std::string suite = "small";
  std::vector<std::string> variants;
  std::int64_t seed = 1;
  std::int64_t patterns = -1;      // special and random patterns each; -1: those of the suite
  int jobs = 1;                    // host threads that check small patterns
  int rotate = 0;                  // random patterns: so many settings in turn; 0: all of them
  std::filesystem::path prepared;  // folder of prepared files; empty: the bundled matrices
  std::filesystem::path save = "counterexamples";
};

// What became of one variant.
struct tally {
  const variant_info* info = nullptr;
  std::vector<check_setting> settings;
  std::string unavailable;
  std::int64_t runs = 0;
  std::int64_t bundled_passed = 0, bundled_unverified = 0, bundled_timeouts = 0;
  std::string failure;  // of the first one; empty: none
};

// Which settings of a list of `count` a random pattern is run with: the defaults and, where they
// take turns, the `each` that come after those of the pattern before, so that all come round.
struct setting_turns {
  std::size_t pattern = 0;
  std::size_t each = 0;  // 0: all of them

  [[nodiscard]] bool include(std::size_t k, std::size_t count) const {
    if (each == 0 || k == 0) return true;
    const std::size_t others = count - 1;
    return (k - 1 + others - each * pattern % others) % others < each;
  }
};

class checker {
 public:
  explicit checker(const check_options& options)
      : options_(options), suite_(find_suite(options.suite)) {
    if (options_.patterns >= 0) {
      suite_.random_patterns = static_cast<std::size_t>(options_.patterns);
    }
    choose();
  }

  exit_code run() {
    check_patterns();
    if (options_.prepared.empty()) {
      check_bundled();
    } else {
      check_prepared();
    }
    for (const auto& t : tallies_) {
      if (planted(t) && t.unavailable.empty() && t.failure.empty()) failed_ = true;
    }
    print_summary();
    return failed_ ? exit_code::verification_failed : exit_code::ok;
  }

 private:
  void choose();
  void check_patterns();
  void check_pattern(const named_pattern& p, const setting_turns& turns);
  void check_bundled();
  void check_prepared();
  void check_matrix(const std::string& name, const prepared_pattern& a);
  void report_failure(tally& t, const check_setting& s, const named_pattern& p,
                      const std::string& why);
  void print_summary() const;

  [[nodiscard]] static bool planted(const tally& t) { return !t.info->planted.empty(); }

  check_options options_;
  check_suite suite_;
  std::vector<tally> tallies_;
  std::uint64_t patterns_ = 0;
  bool failed_ = false;
  bool root_ = job::world().root();
  std::mutex lock_;  // of all of the above while small patterns are checked
};

void checker::choose() {
  if (options_.jobs > 1 && job::world().ranks() > 1) {
    throw input_error("--jobs: the ranks of an MPI job check together, one pattern at a time");
  }
  std::vector<const variant_info*> chosen;
  if (options_.variants.empty()) {
    for (const auto& v : all_variants()) chosen.push_back(&v);
  }
  for (const auto& name : options_.variants) chosen.push_back(&find_variant(name));
  for (const auto* v : chosen) {
    tally t;
    t.info = v;
    t.settings = settings_to_check(*v);
    if (const auto why = v->unavailable()) {
      if (!options_.variants.empty()) {
        throw unavailable_error(v->name + " is unavailable: " + *why);
      }
      t.unavailable = *why;
    }
    if (const int ranks = job::world().ranks(); ranks > 1 && !v->distributed) {
      const std::string why = fmt::format("runs in one process; this job has {} ranks", ranks);
      if (!options_.variants.empty()) {
        throw collective_error(exit_code::unavailable, v->name + " " + why);
      }
      t.unavailable = why;
    }
    tallies_.push_back(std::move(t));
  }
}

void checker::report_failure(tally& t, const check_setting& s, const named_pattern& p,
                             const std::string& why) {
  t.failure = fmt::format("{} ({}, {})", why, p.name, s.text);
  if (planted(t)) return;
  failed_ = true;
  if (root_) {
    std::fprintf(stderr, "%s FAILS: %s; shrinking\n", t.info->name.c_str(), t.failure.c_str());
  }
  auto reason = [&](const pattern& a) -> std::optional<std::string> {
    const auto expected = small_truth(a);
    // Three times, so that a race has a chance to show again.
    for (int k = 0; k < 3; ++k) {
      if (auto found = refute(*t.info, s.settings, a, expected)) return found->reason;
    }
    return std::nullopt;
  };
  const pattern least = shrink(p.a, [&](const pattern& a) { return reason(a).has_value(); });
  const std::string text = reason(least).value_or(why);
  if (!root_) return;
  std::error_code failure;
  std::filesystem::create_directories(options_.save, failure);
  const auto file = options_.save / (t.info->name + ".mtx");
  write_matrix_market(file, least,
                      fmt::format("counterexample to {} with {}", t.info->name, s.text));
  std::cout << fmt::format("{} fails with {}: {}\nminimal counterexample, order {}, saved as {}:\n",
                           t.info->name, s.text, text, least.n_rows, file.string())
            << picture(least);
}

void checker::check_pattern(const named_pattern& p, const setting_turns& turns) {
  const auto expected = small_truth(p.a);
  const auto refuted = refute_oracles(p.a, expected);
  if (refuted) {
    const std::scoped_lock holding(lock_);
    failed_ = true;
    if (root_) std::cout << fmt::format("oracles: {} on {}\n", *refuted, p.name) << picture(p.a);
  }
  auto is_out = [&](const tally& t) {
    const std::scoped_lock holding(lock_);
    return !t.unavailable.empty() || !t.failure.empty();
  };
  for (auto& t : tallies_) {
    if (is_out(t)) continue;
    const watchdog guard(std::chrono::seconds(300), [&] {
      std::fprintf(stderr, "gsofa: error: %s does not return on %s\n%s", t.info->name.c_str(),
                   p.name.c_str(), picture(p.a).c_str());
      job::world().abort(static_cast<int>(exit_code::verification_failed));
    });
    // A planted fault may keep a traversal from ending; only a wrong answer rejects it.
    const double limit = planted(t) ? planted_time_limit : time_limit;
    for (std::size_t k = 0; k < t.settings.size(); ++k) {
      if (!turns.include(k, t.settings.size())) continue;
      if (is_out(t)) break;  // by another thread
      {
        const std::scoped_lock holding(lock_);
        ++t.runs;
      }
      const auto& s = t.settings[k];
      const auto why = refute(*t.info, s.settings, p.a, expected, limit);
      if (!why) continue;
      const std::scoped_lock holding(lock_);
      if (!(planted(t) && why->timed_out) && t.failure.empty())
        report_failure(t, s, p, why->reason);
      break;
    }
  }
  const std::scoped_lock holding(lock_);
  ++patterns_;
}

void checker::check_patterns() {
  // Patterns are handed out one by one to the threads.
  auto check_all = [&](std::size_t count, const auto& check) {
    std::atomic<std::size_t> next{0};
    on_threads(options_.jobs, [&](int) {
      for (std::size_t k = next++; k < count; k = next++) check(k);
    });
  };
  // A limited number of special shapes is taken at equal distances.
  const auto special = special_patterns();
  const auto all = special.size();
  const auto count =
      options_.patterns < 0 ? all : std::min(all, static_cast<std::size_t>(options_.patterns));
  check_all(count, [&](std::size_t k) { check_pattern(special[k * all / count], {}); });
  if (root_) {
    std::fprintf(stderr, "special shapes: %llu patterns done\n",
                 static_cast<unsigned long long>(patterns_));
  }
  check_all(suite_.random_patterns, [&](std::size_t k) {
    named_pattern p = random_pattern(static_cast<std::uint64_t>(options_.seed), k);
    p.name = fmt::format("random pattern {} of seed {}, {}", k, options_.seed, p.name);
    check_pattern(p, {.pattern = k, .each = static_cast<std::size_t>(options_.rotate)});
    if ((k + 1) % 500 == 0 && root_) {
      std::fprintf(stderr, "random patterns: %zu of %llu done\n", k + 1,
                   static_cast<unsigned long long>(suite_.random_patterns));
    }
  });
}

void checker::check_bundled() {
  std::vector<std::string> names;
  try {
    names = dataset_catalog::repository().bundled();
  } catch (const error& e) {
    std::fprintf(stderr, "bundled matrices left out: %s\n", one_line(e.what()).c_str());
    return;
  }
  for (const auto& name : names) {
    const raw_matrix raw = read_matrix(name);
    if (raw.a.n_rows > suite_.largest_bundled) continue;
    for (const auto& order : suite_.orders) {
      prepare_options how;
      how.order = order;
      check_matrix(name,
                   load_on_root(job::world(), [&] { return prepare(raw.a, how, raw.origin); }));
    }
  }
}

void checker::check_prepared() {
  std::vector<std::filesystem::path> files;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(options_.prepared, failure)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  if (failure) throw input_error(options_.prepared.string() + ": " + failure.message());
  std::ranges::sort(files);
  for (const auto& file : files) {
    const auto a = prepared_pattern::load(file);
    if (a.view().n_rows <= suite_.largest_bundled) check_matrix(a.origin().name, a);
  }
}

void checker::check_matrix(const std::string& name, const prepared_pattern& a) {
  const std::string& order = a.origin().order;
  const int threads = std::min(2, this_machine().hardware_threads);
  verifier check(a, verify_mode::automatic, run_settings().chunk_size, threads);
  for (auto& t : tallies_) {
    if (planted(t) || !t.unavailable.empty() || !t.failure.empty()) continue;
    case_request request{.info = t.info,
                         .settings = t.settings.front().settings,
                         .trials = {.repeat = 1, .warmup = 0, .timeout = suite_.timeout}};
    request.settings.threads = t.info->multithreaded ? threads : 1;
    const auto outcome = run_case(a, request, check, [&](const case_outcome& stuck) {
      std::fprintf(stderr, "gsofa: error: %s on %s: %s\n", t.info->name.c_str(),
                   one_line(name).c_str(), stuck.judged.reason.c_str());
    });
    ++t.runs;
    const run_status status = outcome.judged.status;
    t.bundled_passed += status == run_status::pass ? 1 : 0;
    t.bundled_unverified += status == run_status::unverified ? 1 : 0;
    t.bundled_timeouts += status == run_status::timeout ? 1 : 0;
    if (status == run_status::fail || status == run_status::error || status == run_status::oom) {
      t.failure = fmt::format("{}, order {}: {}", name, order, outcome.judged.reason);
      failed_ = true;
    }
    if (!root_) continue;
    std::fprintf(stderr, "%s, order %s, %s: %s%s%s\n", one_line(name).c_str(),
                 one_line(order).c_str(), t.info->name.c_str(), to_string(status),
                 outcome.judged.reason.empty() ? "" : ": ", outcome.judged.reason.c_str());
  }
}

void checker::print_summary() const {
  if (!root_) return;
  using align = text_table::align;
  text_table table({{.title = "variant"},
                    {.title = "result"},
                    {.title = "settings", .side = align::right},
                    {.title = "runs", .side = align::right},
                    {.title = "bundled", .side = align::right},
                    {.title = "note"}});
  std::vector<std::string> not_rejected;
  for (const auto& t : tallies_) {
    if (planted(t)) continue;
    std::string note = t.failure;
    if (!t.unavailable.empty()) note = t.unavailable;
    if (note.empty()) {
      if (t.bundled_unverified > 0) note = fmt::format("{} unverified", t.bundled_unverified);
      if (t.bundled_timeouts > 0) {
        note += fmt::format("{}{} past {:g} s", note.empty() ? "" : ", ", t.bundled_timeouts,
                            suite_.timeout);
      }
    }
    const char* outcome = !t.unavailable.empty() ? "skipped" : t.failure.empty() ? "pass" : "FAIL";
    table.add({t.info->name, outcome, std::to_string(t.settings.size()), with_commas(t.runs),
               std::to_string(t.bundled_passed), note});
  }
  if (!table.empty()) table.print(std::cout);
  for (const auto& t : tallies_) {
    if (!planted(t)) continue;
    std::cout << fmt::format("{}: {}\n", t.info->name,
                             t.failure.empty() ? "NOT REJECTED: " + t.info->planted
                                               : "rejected: " + one_line(t.failure));
  }
  std::cout << fmt::format("{} small patterns, seed {}: {}\n",
                           with_commas(static_cast<long long>(patterns_)), options_.seed,
                           failed_ ? "FAIL" : "all well");
}

}  // namespace

void add_check_command(CLI::App& app, command_action& action) {
  auto o = std::make_shared<check_options>();
  CLI::App* c = app.add_subcommand(
      "check", "Cross-check every variant, with all its options, against the oracles");
  c->add_option("--suite", o->suite,
                "small: 500 random patterns, small bundled matrices; full: 5000 and all of them")
      ->type_name("small|full")
      ->capture_default_str();
  c->add_option("-v,--variant", o->variants, "Variant to check, repeatable; default: all")
      ->type_name("V")
      ->take_all();
  c->add_option("--seed", o->seed, "Seed of the random patterns")
      ->type_name("S")
      ->capture_default_str();
  c->add_option("--patterns", o->patterns,
                "Special shapes and random patterns, so many of each; default: those of the suite")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->type_name("N");
  c->add_option("--jobs", o->jobs,
                "Host threads that check small patterns; 1 for the build that emulates a GPU")
      ->check(CLI::Range(1, 256))
      ->type_name("N")
      ->capture_default_str();
  c->add_option("--rotate", o->rotate,
                "Random patterns run with the defaults and K other settings in turn; 0: with all")
      ->check(CLI::Range(0, 1000))
      ->type_name("K")
      ->capture_default_str();
  c->add_option("--prepared", o->prepared,
                "Folder of files of `gsofa prepare` to check in place of the bundled matrices")
      ->type_name("DIR");
  c->add_option("--save", o->save, "Folder for minimal counterexamples, made when there is one")
      ->type_name("DIR")
      ->capture_default_str();
  c->footer(
      "A failing pattern is shrunk to a minimal counterexample. Planted variants are wrong on "
      "purpose: each must be rejected.\nExit status: 0 all well, 1 otherwise.\n");
  c->callback([o, &action] { action = [o](const session_info&) { return checker(*o).run(); }; });
}

}  // namespace gsofa
