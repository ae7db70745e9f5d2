// order(): a fill-reducing order alone, with its separator tree.

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "common/parallel.hpp"
#include "common/partition_tree.hpp"
#include "common/preprocess.hpp"
#include "common/symmetrize.hpp"
#include "harness/library/cpp/analyze.hpp"
#include "harness/library/cpp/clock.hpp"
#include "harness/library/cpp/elimination_input.hpp"
#include "harness/library/cpp/errors.hpp"
#include "harness/library/cpp/options.hpp"
#include "variants/orderings/groups.hpp"

namespace gsofa::library {

namespace {

static_assert(partition::most_levels == most_tree_levels);

bool is_host_dissection(const order_options& o) {
  return o.order.method == order_method::cpu_nested_dissection;
}

/// The members of an order_options that analyze() has too.
analysis_options shared_options(const order_options& o) {
  analysis_options a;
  a.device = o.device;
  a.threads = o.threads;
  a.order = o.order;
  a.purpose = o.purpose;
  a.permutation = o.permutation;
  a.progress = o.progress;
  a.progress_seconds = o.progress_seconds;
  a.log = o.log;
  return a;
}

bool has_groups(const order_options& o) { return !o.groups.empty() || o.longest_row > 0; }

void check_groups(const order_options& o, index_t n) {
  if (o.longest_row < 0) {
    throw invalid_input("longest_row: " + std::to_string(o.longest_row) + " is not 0 or more");
  }
  if (has_groups(o) && o.order != order_method::automatic) {
    throw invalid_input("groups, longest_row: only the order automatic takes them");
  }
  if (!o.groups.empty() && o.groups.size() != at(n)) {
    throw invalid_input("groups: " + std::to_string(o.groups.size()) + " for " + std::to_string(n) +
                        " vertices");
  }
  const auto wrong = std::ranges::find_if(o.groups, [](index_t g) { return g < 0; });
  if (wrong != o.groups.end()) {
    throw invalid_input("groups: vertex " + std::to_string(wrong - o.groups.begin()) +
                        " has group " + std::to_string(*wrong) + ", which is not 0 or more");
  }
}

void check_order_options(const order_options& o, const analysis_options& shared, index_t n) {
  check_options(shared, n);
  if (o.seed < -1) throw invalid_input("seed: " + std::to_string(o.seed) + " is not -1 or more");
  if (o.tree_levels < 0 || o.tree_levels > most_tree_levels) {
    throw invalid_input("tree_levels: " + std::to_string(o.tree_levels) + " is not in [0, " +
                        std::to_string(most_tree_levels) + "]");
  }
  if (o.layout != tree_layout::by_level && o.layout != tree_layout::nested) {
    throw invalid_input("layout: " + std::to_string(static_cast<int>(o.layout)) +
                        " is no tree_layout");
  }
  check_groups(o, n);
  if (!o.weights.empty() && o.order != order_method::automatic && !is_host_dissection(o)) {
    throw invalid_input("weights: only the orders automatic and cpu_nested_dissection take them");
  }
}

/// The group of each vertex; empty if all are in one.
std::vector<index_t> groups_of(const pattern_view& a, const order_options& o) {
  if (!has_groups(o)) return {};
  std::vector<index_t> groups(o.groups.begin(), o.groups.end());
  groups.resize(at(a.n_rows), 0);
  pattern sum;
  const pattern_view s = o.longest_row > 0 ? graph_of(a, 1, sum) : pattern_view{};
  for (index_t v = 0; v < s.n_rows; ++v) {
    if (std::ssize(s.row(v)) > o.longest_row) groups[at(v)] = std::numeric_limits<index_t>::max();
  }
  if (std::ranges::adjacent_find(groups, std::not_equal_to{}) == groups.end()) groups.clear();
  return groups;
}

// Whether a device may dissect: a process that uses one for the first time creates a CUDA context,
// which takes as long as 16 threads take to dissect a graph with this many entries. A process that
// factorizes on a device uses it anyway. A device finds the order of the host.
bool may_use_device(const pattern_view& a, const order_options& o, const order_purpose& purpose) {
  constexpr offset_t fewest_entries_of_device = 1'000'000;
  const auto reason = info_of_device_order().unavailable();
  if (reason && o.device == compute_device::gpu) {
    throw analysis_error(failure::unavailable, std::string(device_order) + ": " + *reason);
  }
  if (reason || o.device == compute_device::cpu) return false;
  return o.device == compute_device::gpu || purpose.kind == factorization_kind::gpu ||
         a.nnz() >= fewest_entries_of_device;
}

ordering find_order(const pattern_view& a, const order_options& o, const analysis_options& shared,
                    supervision& s, pattern_order& out) {
  const std::string name = order_name(o.order);
  if (o.order == order_method::given) {
    return {.order = {o.permutation.begin(), o.permutation.end()}, .method = name, .library = {}};
  }
  if (o.order == order_method::natural || a.n_rows == 0) {
    return {.order = identity_order(a.n_rows), .method = name, .library = {}};
  }
  order_settings wanted{.options = option_set(),
                        .seed = o.seed,
                        .threads = useful_threads(host_threads(shared), a.n_rows / 1000),
                        .weights = o.weights,
                        .tree_levels = o.weights.empty() ? o.tree_levels : 0,
                        .stop = &s.stop};
  if (const std::vector<index_t> groups = groups_of(a, o); !groups.empty()) {
    return orders::order_in_groups(a, groups, wanted);
  }
  const bool on_device = may_use_device(a, o, shared.purpose) && o.weights.empty();
  ordering found = order_for(a, shared, on_device, s, wanted);
  if (!found.fallback.empty()) s.say(found.fallback);
  if (!found.why.empty()) s.say(found.title() + ": " + found.why);
  out.fallback = found.fallback;
  return found;
}

/// Whether the order takes a few milliseconds on the host, less than a thread and its end are
/// worth.
bool is_short(const given_pattern& a, const order_options& o) {
  constexpr std::int64_t most = 16'384;
  return a.of != given_pattern::form::device_rows && a.n <= most && a.index_count <= most &&
         o.order.options.empty() && o.order.method != order_method::tournament &&
         o.order.method != order_method::gpu_nested_dissection && o.device != compute_device::gpu;
}

/// Sets the order and the tree of `out`.
void give_order(const pattern_view& a, const order_options& o, ordering found, pattern_order& out) {
  out.order = std::move(found.method);
  out.order_note = std::move(found.note);
  if (o.tree_levels == 0) {
    out.permutation = std::move(found.order);
    return;
  }
  const auto layout = o.layout == tree_layout::nested ? partition::tree_layout::nested
                                                      : partition::tree_layout::by_level;
  partition::partition_tree tree =
      found.separators.empty() ? partition::tree_of_etree(a, found.order, o.tree_levels, layout)
                               : partition::binary_tree(found, o.tree_levels, layout, o.weights);
  out.permutation = std::move(tree.order);
  out.tree_sizes = std::move(tree.size);
}

void order_rows(const checked_input& in, const order_options& o, const analysis_options& shared,
                supervision& s, pattern_order& out) {
  check_order_options(o, shared, in.a.n_rows);
  auto since = clock::now();
  s.enter(analysis_stage::order);
  out.n = in.a.n_rows;
  give_order(in.a, o, find_order(in.a, o, shared, s, out), out);
  out.seconds = lap(since);
  s.say("order " + out.order + ": " + std::to_string(out.seconds) + " s");
}

}  // namespace

pattern_order order_given(const given_pattern& a, const order_options& options) {
  return reporting([&] {
    const auto found = left_in_child<pattern_order>();
    analysis_options shared = shared_options(options);
    const bool is_there = a.of == given_pattern::form::device_rows;
    if (is_there) shared.purpose = purpose_there(shared.purpose);
    const auto work = [&](supervision& s) {
      if (is_there) {
        const pattern copy = copy_of_device_rows(a);
        const input_rows rows{given_pattern(csr_view{copy.n_rows, copy.row_ptr, copy.col_idx})};
        return order_rows(rows.in, options, shared, s, *found);
      }
      const input_rows rows(a);
      order_rows(rows.in, options, shared, s, *found);
    };
    supervise(shared, work, is_short(a, options));
    return std::move(*found);
  });
}

}  // namespace gsofa::library
