#include "harness/run/case_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "common/command_methods.hpp"
#include "common/mpi_context.hpp"
#include "harness/run/machine.hpp"
#include "harness/run/selection.hpp"

namespace gsofa {

namespace {

constexpr std::size_t most_combinations = 10000;  // of the values of one variant's options

struct assignment {
  std::string variant;  // empty: every variant that has the option
  std::string key, text;
  std::vector<std::string> values;  // a case for each
  bool used = false;
};

assignment parse_assignment(const std::string& text) {
  const auto equal = text.find('=');
  if (equal == std::string::npos || equal == 0) {
    throw input_error("--set " + text + ": expected key=value or variant.key=value");
  }
  assignment a;
  a.text = text;
  a.key = text.substr(0, equal);
  for (std::size_t at = equal + 1;;) {
    const auto comma = text.find(',', at);
    a.values.push_back(text.substr(at, comma - at));
    if (comma == std::string::npos) break;
    at = comma + 1;
  }
  if (const auto dot = a.key.find('.'); dot != std::string::npos) {
    a.variant = a.key.substr(0, dot);
    a.key = a.key.substr(dot + 1);
  }
  return a;
}

bool has_option(const variant_info& info, const std::string& key) {
  return std::ranges::find(info.options, key, &option_spec::name) != info.options.end();
}

std::vector<selected_variant> choose(const std::vector<std::string>& words) {
  std::vector<selected_variant> chosen = select_variants(words);
  if (words.empty()) {
    for (const auto& v : all_variants()) {
      if (v.planted.empty() && !v.orders) chosen.push_back({&v, false});
    }
  }
  return chosen;
}

// The assignments that concern a variant.
std::vector<assignment*> concerning(const variant_info& info,
                                    std::vector<assignment>& assignments) {
  std::vector<assignment*> mine;
  for (auto& a : assignments) {
    const bool concerns = a.variant.empty() ? has_option(info, a.key) : a.variant == info.name;
    if (concerns) mine.push_back(&a);
  }
  return mine;
}

// The result is at most most_combinations, so that the product never overflows.
std::size_t combinations(const std::vector<assignment*>& assignments, const variant_info& info) {
  std::size_t count = 1;
  for (const auto* a : assignments) {
    if (a->values.size() > most_combinations / count) {
      throw input_error(fmt::format("--set asks for more than {} cases of {}: give fewer values",
                                    most_combinations, info.name));
    }
    count *= a->values.size();
  }
  return count;
}

// Sets every option to its value in the given one of `count` combinations; the last assignment
// varies fastest.
void apply(const std::vector<assignment*>& assignments, std::size_t combination, std::size_t count,
           const variant_info& info, option_set& options) {
  for (auto* a : assignments) {
    count /= a->values.size();
    try {
      options.set(info.options, a->key, a->values[combination / count % a->values.size()]);
    } catch (const input_error& e) {
      throw input_error(info.name + ": " + e.what());
    }
    a->used = true;
  }
}

void check_all_used(const std::vector<assignment>& assignments,
                    const std::vector<selected_variant>& chosen) {
  for (const auto& a : assignments) {
    if (a.used) continue;
    if (!a.variant.empty()) {
      find_variant(a.variant);
      throw input_error("--set " + a.text + ": " + a.variant + " is not among the variants to run");
    }
    std::vector<std::string> known;
    for (const auto& v : chosen) {
      for (const auto& o : v.info->options) known.push_back(v.info->name + "." + o.name);
    }
    throw input_error(fmt::format("--set {}: unknown option '{}'; {}", a.text, a.key,
                                  known.empty()
                                      ? "the chosen variants have none"
                                      : fmt::format("known are {}", fmt::join(known, ", "))));
  }
}

}  // namespace

std::vector<planned_case> plan_cases(const case_options& options) {
  want_set asked;
  for (const auto& w : options.wants) asked |= want_set::parse(w);
  std::vector<assignment> assignments;
  for (const auto& s : options.sets) assignments.push_back(parse_assignment(s));
  const auto chosen = choose(options.variants);

  std::vector<planned_case> cases;
  auto plan = [&](const selected_variant& choice, option_set values) {
    const variant_info* const info = choice.info;
    const bool must_run = choice.by_name && !options.skip_unavailable;
    planned_case c;
    c.request.info = info;
    c.request.trials = options.trials;
    if (is_command(info->name)) c.request.trials.warmup = 0;  // every run is a process of its own
    run_settings& s = c.request.settings;
    s.options = std::move(values);
    s.chunk_size = options.chunk_size;
    s.threads = options.threads > 0 ? options.threads : this_machine().hardware_threads;
    if (!info->multithreaded) s.threads = 1;
    s.wants = asked;
    if (options.wants.empty()) {
      for (const want w : {want::counts, want::digest, want::supernodes}) {
        if (info->gives.has(w)) s.wants |= w;
      }
    }
    if (!info->gives.contains(s.wants)) {
      const std::string why = fmt::format("{} gives only {}, not all of {}", info->name,
                                          info->gives.text(), s.wants.text());
      if (choice.by_name) throw input_error(why);
      c.skip_reason = why;
    }
    if (const auto why = info->unavailable()) {
      if (must_run) throw unavailable_error(info->name + " is unavailable: " + *why);
      c.skip_reason = *why;
    }
    if (const int ranks = mpi_context::world().ranks(); ranks > 1 && !info->distributed) {
      const std::string why = fmt::format("runs in one process; this job has {} ranks", ranks);
      if (must_run) throw unavailable_error(info->name + " " + why);
      c.skip_reason = why;
    }
    cases.push_back(std::move(c));
  };
  for (const selected_variant& choice : chosen) {
    const variant_info* const info = choice.info;
    const auto mine = concerning(*info, assignments);
    const std::size_t count = combinations(mine, *info);
    std::set<std::map<std::string, option_value>> seen;  // a value may be named twice
    for (std::size_t k = 0; k < count; ++k) {
      option_set values(info->options);
      apply(mine, k, count, *info, values);
      if (seen.insert(values.values()).second) plan(choice, std::move(values));
    }
  }
  check_all_used(assignments, chosen);
  const auto idle = [](const planned_case& c) { return !c.skip_reason.empty(); };
  if (!options.variants.empty() && !options.skip_unavailable && std::ranges::all_of(cases, idle)) {
    throw unavailable_error(cases.front().request.info->name + ": " + cases.front().skip_reason +
                            "; no variant that --variant names can run");
  }
  return cases;
}

}  // namespace gsofa
