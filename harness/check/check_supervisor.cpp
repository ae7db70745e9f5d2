#include "harness/check/check_supervisor.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

#include "common/file.hpp"
#include "common/matrix_market.hpp"
#include "common/text.hpp"
#include "harness/check/shrink.hpp"
#include "harness/check/worker_process.hpp"
#include "harness/run/machine.hpp"
#include "harness/run/status.hpp"
#include "harness/run/status_line.hpp"
#include "variants/support/build_kind.hpp"

namespace gsofa {

namespace {

using clock_type = std::chrono::steady_clock;

constexpr double start_seconds = 120;             // until a worker begins its first run
constexpr double exit_seconds = 30;               // from a worker's last line to its end
constexpr double supervised_shrink_seconds = 20;  // a process for each attempt
constexpr int poll_ms = 50;

// A worker and the verdict on how it ended.
class watched_worker {
 public:
  watched_worker(const check_options& options, const check_tally& t, std::size_t first)
      : process_(options.program, arguments(options, t, first)) {}

  [[nodiscard]] int descriptor() const { return process_.descriptor(); }

  /// Takes what the worker sent, and kills it if it is stuck. True once it has ended.
  bool look() {
    const auto now = clock_type::now();
    for (const auto& line : process_.read_lines()) {
      last_line_ = json::parse(line);
      since_ = now;
    }
    const worker_page& page = process_.page();
    if (const auto step = page.step.load(); step != step_) {
      step_ = step;
      since_ = now;
    }
    end_ = process_.ended();
    if (end_) {
      for (const auto& line : process_.read_lines()) last_line_ = json::parse(line);
      return true;
    }
    const double idle = std::chrono::duration<double>(now - since_).count();
    if (!hung_ && idle > patience()) {
      hung_ = true;
      hung_after_ = idle;
      process_.kill();
    }
    return false;
  }

  [[nodiscard]] bool hung() const { return hung_; }
  /// What the worker found, if it came to its end.
  [[nodiscard]] const json* done() const {
    const bool well = !hung_ && end_ && !end_->by_signal && end_->number == 0;
    return well && last_line_.contains("done") ? &last_line_["done"] : nullptr;
  }
  /// A failure that the worker reported before it ended.
  [[nodiscard]] std::string failure() const { return last_line_.value("failure", ""); }
  /// Why it did not come to its end.
  [[nodiscard]] std::string reason() const {
    if (hung_) return fmt::format("does not return within {:.3g} s", hung_after_);
    return end_->text();
  }
  [[nodiscard]] const worker_page& page() const { return process_.page(); }

 private:
  static std::vector<std::string> arguments(const check_options& o, const check_tally& t,
                                            std::size_t first) {
    std::vector<std::string> all{"check",
                                 "--worker",
                                 fmt::format("{}", first),
                                 "--variant",
                                 t.info->name,
                                 "--suite",
                                 o.suite,
                                 "--seed",
                                 fmt::format("{}", o.seed),
                                 "--rotate",
                                 fmt::format("{}", o.rotate),
                                 "--timeout",
                                 fmt::format("{}", o.timeout),
                                 "--save",
                                 o.save.string()};
    auto add = [&](const char* name, const std::string& value) {
      if (!value.empty()) all.insert(all.end(), {name, value});
    };
    add("--patterns", o.patterns < 0 ? "" : fmt::format("{}", o.patterns));
    add("--prepared", o.prepared.string());
    add("--matrix", o.matrix);
    add("--setting", o.setting);
    add("--shared", o.shared.string());
    return all;
  }

  [[nodiscard]] double patience() const {
    if (last_line_.contains("done")) return exit_seconds;
    const auto limit = process_.page().limit_ms.load();
    return limit == 0 ? start_seconds : static_cast<double>(limit) / 1e3;
  }

  worker_process process_;
  json last_line_ = json::object();
  std::optional<process_end> end_;
  std::uint64_t step_ = 0;
  clock_type::time_point since_ = clock_type::now();
  bool hung_ = false;
  double hung_after_ = 0;
};

class supervisor {
 public:
  supervisor(const check_options& options, const check_plan& plan,
             std::vector<check_tally>& tallies, interrupt_guard* interrupts)
      : options_(options), plan_(plan), tallies_(tallies), interrupts_(interrupts) {}

  bool run();

 private:
  struct job_at {
    std::size_t tally;
    std::size_t first;
  };
  struct running {
    job_at what;
    std::unique_ptr<watched_worker> worker;
  };
  // A worker that ended too early; it is examined when the others are done.
  struct crash {
    std::size_t tally;
    std::uint64_t item, setting;
    std::string reason;
    bool hung;
    bool refuted;  // it died while it shrank a wrong answer
  };

  void start_what_fits();
  void finish(running& r);
  void look_into(const crash& c);
  pattern shrunk(const check_tally& t, const check_setting& s, const pattern& a);
  std::optional<named_pattern> pattern_of(std::uint64_t item);
  [[nodiscard]] bool uses_gpu(std::size_t tally) const;
  [[nodiscard]] std::string progress(std::size_t of_all) const;

  check_options options_;
  const check_plan& plan_;
  std::vector<check_tally>& tallies_;
  std::unique_ptr<temporary_directory> folder_;
  std::deque<job_at> queue_;
  std::vector<running> running_;
  std::vector<crash> crashes_;
  interrupt_guard* interrupts_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool failed_ = false;
};

// Processes on one GPU take turns and slow each other down many times over.
bool supervisor::uses_gpu(std::size_t tally) const {
  const std::string& device = tallies_[tally].info->device;
  return std::string_view(gpu_build()) == "cuda" && (device == "gpu" || device == "mpi");
}

void supervisor::start_what_fits() {
  const auto jobs = static_cast<std::size_t>(
      options_.jobs > 0 ? options_.jobs : std::min(4, this_machine().hardware_threads));
  for (auto next = queue_.begin(); next != queue_.end() && running_.size() < jobs;) {
    const bool taken = uses_gpu(next->tally) && std::ranges::any_of(running_, [&](const auto& r) {
                         return uses_gpu(r.what.tally);
                       });
    if (taken) {
      ++next;
      continue;
    }
    running_.push_back(
        {*next, std::make_unique<watched_worker>(options_, tallies_[next->tally], next->first)});
    next = queue_.erase(next);
  }
}

// What runs, and the time for the patterns that are left if they take as long as those before; the
// matrices come after them.
std::string supervisor::progress(std::size_t of_all) const {
  const std::size_t done = of_all - queue_.size() - running_.size();
  double patterns = static_cast<double>(done * plan_.size());
  std::string now;
  for (const auto& r : running_) {
    const std::uint64_t item = r.worker->page().item.load();
    const bool begun = item != worker_page::none;
    patterns += begun ? static_cast<double>(std::min<std::uint64_t>(item, plan_.size())) : 0;
    now += fmt::format("{}{}", now.empty() ? "" : ", ", tallies_[r.what.tally].info->name);
    if (begun && item < plan_.size()) now += fmt::format(" {}/{}", item + 1, plan_.size());
    if (begun && item >= plan_.size()) now += " on matrices";
  }
  const double share =
      patterns / static_cast<double>(std::max<std::size_t>(1, of_all * plan_.size()));
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  const double left = seconds_left(elapsed, share);
  return fmt::format("[{}/{}] {}, {}{}: {}", done, of_all, of_all == 1 ? "variant" : "variants",
                     duration_text(elapsed),
                     left < 0 ? "" : ", " + duration_text(left) + " left or more", now);
}

void supervisor::finish(running& r) {
  const auto holding =
      interrupts_ != nullptr ? interrupts_->lock() : std::unique_lock<std::recursive_mutex>();
  check_tally& t = tallies_[r.what.tally];
  watched_worker& w = *r.worker;
  if (const json* done = w.done()) {
    t.add(*done);
    t.finished = true;
    std::cout << printable(t.report) << std::flush;
    failed_ = failed_ || (!t.failure.empty() && !t.planted());
    return;
  }
  t.runs += w.page().runs.load();
  const std::uint64_t item = w.page().item.load();
  if (t.planted() && !t.info->fatal && w.hung() && item < plan_.size()) {
    queue_.push_back({r.what.tally, static_cast<std::size_t>(item) + 1});
    return;
  }
  const std::string refuted = w.failure();
  crashes_.push_back({.tally = r.what.tally,
                      .item = item,
                      .setting = w.page().setting.load(),
                      .reason = refuted.empty() ? w.reason() : refuted,
                      .hung = w.hung(),
                      .refuted = !refuted.empty()});
}

std::optional<named_pattern> supervisor::pattern_of(std::uint64_t item) {
  if (item == worker_page::none) return std::nullopt;
  if (item < plan_.size()) return plan_.at(item);
  std::optional<named_pattern> found;
  for_each_matrix(options_, item - plan_.size(), [&](check_matrix& m) {
    const pattern_view a = m.a.view();
    found = {fmt::format("{}, order {}", m.name, m.a.origin().order),
             {a.n_rows,
              a.n_cols,
              {a.row_ptr.begin(), a.row_ptr.end()},
              {a.col_idx.begin(), a.col_idx.end()}}};
    return false;
  });
  return found;
}

// The smallest pattern found in the time allowed on which the variant ends its process.
pattern supervisor::shrunk(const check_tally& t, const check_setting& s, const pattern& a) {
  const temporary_directory folder;
  const auto file = folder.path() / "candidate.mtx";
  check_options alone = options_;
  alone.matrix = file.string();
  alone.setting = s.text;
  alone.save = folder.path();
  return shrink(
      a,
      [&](const pattern& candidate) {
        write_matrix_market(file, candidate, "");
        watched_worker attempt(alone, t, 0);
        while (!attempt.look()) {
          pollfd wait{.fd = attempt.descriptor(), .events = POLLIN, .revents = 0};
          poll(&wait, 1, poll_ms);
        }
        return attempt.done() == nullptr && !attempt.hung() && attempt.failure().empty();
      },
      supervised_shrink_seconds);
}

void supervisor::look_into(const crash& c) {
  check_tally& t = tallies_[c.tally];
  const auto p = pattern_of(c.item);
  if (!p || c.setting >= t.settings.size()) {
    t.failure = c.reason + " (between two runs)";
    failed_ = failed_ || !t.planted();
    return;
  }
  const check_setting& s = t.settings[c.setting];
  t.failure =
      c.refuted ? c.reason : one_line(fmt::format("{} ({}, {})", c.reason, p->name, s.text));
  if (t.planted()) return;
  failed_ = true;
  std::fprintf(stderr, "%s FAILS: %s\n", t.info->name.c_str(), t.failure.c_str());
  const pattern least = c.hung || c.refuted ? p->a : shrunk(t, s, p->a);
  t.report = report_counterexample(options_, t, s, least, c.reason);
  std::cout << printable(t.report) << std::flush;
}

bool supervisor::run() {
  std::ptrdiff_t honest = 0;
  for (std::size_t k = 0; k < tallies_.size(); ++k) {
    if (!tallies_[k].is_out()) queue_.push_back({k, 0});
    honest += !tallies_[k].is_out() && !tallies_[k].planted() ? 1 : 0;
  }
  const std::size_t all = queue_.size();
  std::mutex guard;
  std::string now = "preparing the bundled matrices";
  std::optional<status_line> shown;
  shown.emplace([&] {
    const std::scoped_lock lock(guard);
    return now;
  });
  if (honest > 1 && options_.prepared.empty() && options_.matrix.empty()) {
    folder_ = std::make_unique<temporary_directory>();
    share_matrices(options_, folder_->path());
    options_.shared = folder_->path();
  }
  begin_ = std::chrono::steady_clock::now();
  bool agree = true;
  std::jthread oracles;
  try {
    oracles = std::jthread([&] { agree = variant_checker::oracles_agree(plan_); });
  } catch (const std::system_error&) {
    // Before the workers start instead of while they run.
    agree = variant_checker::oracles_agree(plan_);
  }
  while (!queue_.empty() || !running_.empty()) {
    start_what_fits();
    {
      std::string text = progress(all);
      const std::scoped_lock lock(guard);
      now = std::move(text);
    }
    std::vector<pollfd> wait;
    for (const auto& r : running_) {
      wait.push_back({.fd = r.worker->descriptor(), .events = POLLIN, .revents = 0});
    }
    poll(wait.data(), wait.size(), poll_ms);
    for (std::size_t k = 0; k < running_.size();) {
      if (running_[k].worker->look()) {
        finish(running_[k]);
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(k));
      } else {
        ++k;
      }
    }
  }
  shown.reset();
  if (oracles.joinable()) oracles.join();
  for (const auto& c : crashes_) look_into(c);
  return agree && !failed_;
}

}  // namespace

bool supervise_check(const check_options& options, const check_plan& plan,
                     std::vector<check_tally>& tallies, interrupt_guard* interrupts) {
  return supervisor(options, plan, tallies, interrupts).run();
}

void check_as_worker(const check_options& options, std::size_t first) {
  const worker_channel parent;
  const check_plan plan(options);
  auto tallies = choose_variants(options);
  worker_page& page = parent.page();
  check_hooks hooks;
  hooks.begins = [&](std::size_t item, std::size_t setting, double seconds) {
    page.item = item;
    page.setting = setting;
    page.limit_ms = static_cast<std::int64_t>(seconds * 1e3);
    page.runs += setting != worker_page::none ? 1 : 0;
    ++page.step;
  };
  hooks.failed = [&](const check_tally& t) { parent.send(json_line({{"failure", t.failure}})); };
  hooks.compare_oracles = false;
  variant_checker(options, plan, tallies, hooks).run(first);
  parent.send(json_line({{"done", tallies.front().to_json()}}));
}

}  // namespace gsofa
