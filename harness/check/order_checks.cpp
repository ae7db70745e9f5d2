#include "harness/check/order_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "common/file.hpp"
#include "common/matrix_market.hpp"
#include "common/text.hpp"
#include "harness/matrices/matrix_source.hpp"
#include "harness/run/selection.hpp"
#include "harness/run/status_line.hpp"
#include "reference/order_check.hpp"

namespace gsofa {

namespace {

// The defaults, and each option at each of its tested values alone.
std::vector<option_set> settings_of(const order_info& info) {
  std::vector<option_set> settings{option_set(info.options)};
  for (const option_spec& spec : info.options) {
    for (const std::string& value : spec.tested) {
      option_set s(info.options);
      s.set(info.options, spec.name, value);
      if (s.values() != settings.front().values()) settings.push_back(std::move(s));
    }
  }
  return settings;
}

// Up to this order every method runs twice on a pattern; beyond it once, those with a separator
// tree twice.
constexpr index_t small_order = 2000;

// The options of `info`, with the values that the options of the same names have in `options`.
option_set options_of(const order_info& info, const order_info& from, const option_set& options) {
  option_set own(info.options);
  for (const option_spec& spec : info.options) {
    const auto same = [&](const option_spec& s) { return s.name == spec.name; };
    if (std::ranges::any_of(from.options, same)) {
      own.set(info.options, spec.name, to_string(options.values().at(spec.name)));
    }
  }
  return own;
}

// What is wrong with a method on a pattern; empty if nothing is.
std::string fault_on(order_tally& t, const pattern_view& a, const option_set& options,
                     std::int64_t seed) {
  const order_settings one{.options = options, .seed = seed, .threads = 1};
  const ordering first = t.info->compute(a, one);
  ++t.runs;
  std::string fault = reference::fault_of_order(a, first);
  if (!fault.empty()) return fault;
  if (!t.info->same_as.empty()) {
    const order_info& other = *find_order(t.info->same_as)->info;
    order_settings same = one;
    same.options = options_of(other, *t.info, options);
    const ordering expected = other.compute(a, same);
    if (first.order != expected.order || first.separators.start != expected.separators.start ||
        first.separators.parent != expected.separators.parent) {
      return "another order than " + t.info->same_as;
    }
  }
  if (a.n_rows > small_order && !t.info->dissects) return "";
  order_settings several = one;
  several.threads = t.info->multithreaded ? 3 : 1;
  const ordering again = t.info->compute(a, several);
  ++t.runs;
  if (again.order != first.order || again.separators.start != first.separators.start ||
      again.separators.parent != first.separators.parent) {
    return fmt::format("another order when it is computed again on {} threads", several.threads);
  }
  return "";
}

// Runs setting `k` with a seed; false after a failure.
bool run_with(order_tally& t, const named_pattern& p, const std::vector<option_set>& settings,
              std::size_t k, std::int64_t seed) {
  std::string fault;
  try {
    fault = fault_on(t, p.a, settings[k], seed);
  } catch (const std::exception& e) {
    fault = e.what();
  }
  if (fault.empty()) return true;
  constexpr index_t printed = 12;  // the largest order of a pattern that is shown
  t.failure = fmt::format("{}, seed {}{}: {}{}", p.name, seed, k == 0 ? "" : ", other options",
                          fault, p.a.n_rows <= printed ? "\n" + picture(p.a) : "");
  t.counterexample = p.a;
  return false;
}

// All settings with two seeds; beyond small_order the defaults with one.
void check_with_all(order_tally& t, const named_pattern& p) {
  const std::vector<option_set> settings = settings_of(*t.info);
  const bool large = p.a.n_rows > small_order;
  for (std::size_t k = 0; k < (large ? 1 : settings.size()); ++k) {
    for (const std::int64_t seed : {-1, 7}) {
      if (seed != -1 && large) break;
      if (!run_with(t, p, settings, k, seed)) return;
    }
  }
}

// Setting and seed by the number of the pattern.
void check_in_turn(order_tally& t, const named_pattern& p, std::size_t number) {
  const std::vector<option_set> settings = settings_of(*t.info);
  run_with(t, p, settings, number % settings.size(), number % 2 == 0 ? -1 : 7);
}

std::vector<order_tally> chosen(const check_options& options) {
  std::vector<order_tally> tallies;
  auto add = [&](const order_info& info) {
    tallies.push_back({.info = &info, .unavailable = info.unavailable().value_or("")});
  };
  if (options.orders.empty()) {
    for (const order_info& info : all_orders()) add(info);
  }
  for (const selected_order& o : select_orders(options.orders)) {
    if (o.info == nullptr)
      throw input_error("--order: '" + o.spec + "' is a file, not a method that can be checked");
    add(*o.info);
  }
  return tallies;
}

}  // namespace

std::vector<order_tally> check_orders(const check_options& options, const check_plan& plan) {
  std::vector<order_tally> tallies = chosen(options);
  auto each = [&](auto&& check) {
    for (order_tally& t : tallies) {
      if (t.unavailable.empty() && t.failure.empty()) check(t);
    }
  };
  std::atomic<std::size_t> number{0};
  const status_line shown([&] {
    const std::size_t k = number.load();
    return k < plan.size() ? fmt::format("checking orders, pattern {} of {}", k + 1, plan.size())
                           : std::string("checking orders on bundled matrices");
  });
  for (std::size_t k = 0; k < plan.size(); ++k) {
    number = k;
    const named_pattern p = plan.at(k);
    if (plan.kind_of(k) != check_plan::kind::random) {
      each([&](order_tally& t) { check_with_all(t, p); });
    } else {
      each([&](order_tally& t) {
        if (k % (t.info->dissects ? 2 : 8) == 0) check_in_turn(t, p, k / 2);
      });
    }
  }
  number = plan.size();
  if (options.matrix.empty()) {
    for_each_matrix(options, 0, [&](check_matrix& m) {
      const pattern_view a = m.a.view();
      const named_pattern p{m.name,
                            {a.n_rows,
                             a.n_cols,
                             {a.row_ptr.begin(), a.row_ptr.end()},
                             {a.col_idx.begin(), a.col_idx.end()}}};
      each([&](order_tally& t) { check_with_all(t, p); });
      return true;
    });
  }
  for (order_tally& t : tallies) {
    if (!t.info->planted.empty() || t.failure.empty()) continue;
    const auto file = options.save / ("order_" + file_name_of(t.info->name) + ".mtx");
    try {
      create_folder(options.save);
      write_matrix_market(file, t.counterexample, "counterexample to the order " + t.info->name);
    } catch (const input_error& e) {
      t.again = std::string("counterexample not saved: ") + e.what() + "\n";
      continue;
    }
    t.again = fmt::format("again: {} check --order {} --matrix {}\n", shell_quoted(options.program),
                          shell_quoted(t.info->name), shell_quoted(file.string()));
  }
  return tallies;
}

}  // namespace gsofa
