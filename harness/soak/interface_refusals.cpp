// What the C interface must refuse, and the list of the functions that were called.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "harness/soak/interface_calls.hpp"

namespace gsofa::soak {

namespace {

std::mutex names_lock;
std::set<std::string> names_called;

}  // namespace

void note_call(const char* name) {
  const std::scoped_lock lock(names_lock);
  names_called.insert(name);
}

std::set<std::string> functions_called() {
  const std::scoped_lock lock(names_lock);
  return names_called;
}

void check_options_init(dice& d) {
  std::vector<unsigned char> bytes(sizeof(gsofa_options) + 64, 0xa5);
  const std::size_t size = at(d.below(static_cast<std::int64_t>(bytes.size())));
  alignas(gsofa_options) unsigned char room[sizeof(gsofa_options) + 64];
  std::ranges::copy(bytes, room);
  CALL(gsofa_options_init_sized)(reinterpret_cast<gsofa_options*>(room), size);
  for (std::size_t k = size; k < sizeof room; ++k) {
    require(room[k] == 0xa5, "gsofa_options_init_sized writes beyond the size");
  }
  CALL(gsofa_options_init_sized)(nullptr, size);
}

void check_order(dice& d, const call& c) {
  constexpr std::int32_t guard = 0x5a5a5a5a;
  const stored_pattern p(c, d.below(2), d.below(3));
  gsofa_order_options o;
  CALL(gsofa_order_options_init_sized)(nullptr, sizeof o);
  CALL(gsofa_order_options_init_sized)(&o, sizeof o);
  constexpr int orders[] = {GSOFA_ORDER_AUTOMATIC, GSOFA_ORDER_AMD, GSOFA_ORDER_AMF,
                            GSOFA_ORDER_NATURAL, GSOFA_ORDER_CPU_NESTED_DISSECTION};
  o.order = orders[d.below(5)];
  o.threads = static_cast<int>(1 + d.below(3));
  o.tree_levels = static_cast<int>(d.below(6));
  o.layout = static_cast<int>(d.below(2));
  o.seed = d.below(3) - 1;
  const std::size_t nodes = (std::size_t{1} << o.tree_levels) - 1;
  indices order(at(c.n) + 1, guard), sizes(nodes + 1, guard);
  require_status(CALL(gsofa_order_pattern)(&p.view, &o, order.data(), sizes.data()), GSOFA_OK,
                 "gsofa_order_pattern");
  require(order.back() == guard && sizes.back() == guard, "an order is longer than its array");
  order.pop_back();
  std::ranges::sort(order);
  for (std::int32_t v = 0; v < c.n; ++v) require(order[at(v)] == v, "no permutation");
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < nodes; ++k) sum += sizes[k];
  require(nodes == 0 || sum == c.n, "the nodes of a tree do not add up");
}

void check_match(dice& d, const call& c) {
  constexpr std::int32_t guard = 0x5a5a5a5a;
  const stored_pattern p(c, d.below(2), d.below(3));
  indices rows(at(c.n) + 1, guard);
  std::int32_t rank = guard;
  require_status(CALL(gsofa_match)(&p.view, nullptr, nullptr, rows.data(), nullptr, nullptr, &rank),
                 GSOFA_OK, "gsofa_match");
  require(rows.back() == guard, "a matching is longer than its array");
  rows.pop_back();
  std::erase(rows, -1);
  require(rank == static_cast<std::int32_t>(rows.size()), "the rank differs from the matching");
  std::ranges::sort(rows);
  require(std::ranges::adjacent_find(rows) == rows.end(), "a row is matched twice");
}

void check_refusals(dice& d, const call& c, const gsofa_analysis* f) {
  constexpr gsofa_status invalid = GSOFA_INVALID_INPUT;
  const auto refused = [](gsofa_status status, const char* what) {
    require_status(status, invalid, what);
    const std::string text = CALL(gsofa_last_error)();
    require(!text.empty() && text.find('\n') == std::string::npos, "an error is not one line");
  };
  const stored_pattern p(c, GSOFA_CSR, GSOFA_INDEX_64_32);
  const gsofa_device_pattern on_device{};
  std::int32_t number = 0;
  handle h;
  const gsofa_analysis* result = nullptr;
  gsofa_profile* profile = nullptr;
  gsofa_fill_estimate estimate{};
  gsofa_range range{};
  refused(CALL(gsofa_analyze)(c.n, nullptr, c.col_idx.data(), nullptr, &h.a), "no row pointers");
  refused(CALL(gsofa_analyze)(c.n, c.row_ptr.data(), c.col_idx.data(), nullptr, nullptr), "no out");
  refused(CALL(gsofa_analyze)(-1, c.row_ptr.data(), c.col_idx.data(), nullptr, &h.a), "n = -1");
  refused(CALL(gsofa_analyze_pattern)(nullptr, nullptr, &h.a), "no pattern");
  refused(CALL(gsofa_analyze_pattern)(&p.view, nullptr, nullptr), "no out");
  gsofa_pattern bad = p.view;
  (d.one_in(2) ? bad.format : bad.index_type) = d.one_in(2) ? -1 : 3 + d.below(1 << 30);
  refused(CALL(gsofa_analyze_pattern)(&bad, nullptr, &h.a), "format or index_type");
  refused(CALL(gsofa_elimination_tree)(&bad, &number), "format or index_type");
  refused(CALL(gsofa_estimate)(&bad, nullptr, &estimate, nullptr), "format or index_type");
  refused(CALL(gsofa_profile_pattern)(&bad, 1, 1, &profile), "format or index_type");
  refused(CALL(gsofa_analyze_device)(nullptr, nullptr, &h.a), "no pattern");
  refused(CALL(gsofa_analyze_device)(&on_device, nullptr, nullptr), "no out");
  refused(CALL(gsofa_match)(nullptr, nullptr, nullptr, &number, nullptr, nullptr, &number),
          "no pattern");
  refused(CALL(gsofa_order_pattern)(nullptr, nullptr, &number, nullptr), "no pattern");
  refused(CALL(gsofa_order_pattern)(&bad, nullptr, &number, nullptr), "format or index_type");
  refused(CALL(gsofa_order_device)(nullptr, nullptr, &number, nullptr), "no pattern");
  refused(CALL(gsofa_analyzer_create)(nullptr), "no out");
  refused(CALL(gsofa_analyzer_analyze)(nullptr, &p.view, nullptr, &result), "no analyzer");
  refused(CALL(gsofa_analyzer_analyze_device)(nullptr, &on_device, nullptr, &result),
          "no analyzer");
  refused(CALL(gsofa_analyzer_update)(nullptr, &p.view, nullptr, nullptr, &result), "no analyzer");
  refused(CALL(gsofa_analyzer_update_device)(nullptr, &on_device, nullptr, nullptr, &result),
          "no analyzer");
  CALL(gsofa_analyzer_free)(nullptr);
  CALL(gsofa_free)(nullptr);
  CALL(gsofa_profile_free)(nullptr);
  gsofa_result r;
  r.n = 7;
  refused(CALL(gsofa_get_result_sized)(nullptr, &r, sizeof r), "no analysis");
  require(r.size == 0 && r.n == 0, "something of no analysis");
  refused(CALL(gsofa_get_result_sized)(f, nullptr, sizeof r), "no result");
  refused(CALL(gsofa_elimination_tree)(&p.view, nullptr), "no tree");
  refused(CALL(gsofa_level_sets)(c.n, nullptr, &number, &number, &number), "no tree");
  refused(CALL(gsofa_tree_postorder)(-1, &number, &number), "n = -1");
  refused(CALL(gsofa_relaxed_supernodes)(c.n, nullptr, 2, &range, &number), "no tree");
  const indices wrong(at(c.n), d.one_in(2) ? -2 : c.n + 1);  // no parents
  indices three(3 * at(c.n) + 3);
  refused(CALL(gsofa_level_sets)(c.n, wrong.data(), three.data(), three.data() + c.n + 1, &number),
          "a tree that is none");
  refused(CALL(gsofa_tree_postorder)(c.n, wrong.data(), three.data()), "a tree that is none");
  std::vector<gsofa_range> ranges(at(c.n));
  refused(CALL(gsofa_relaxed_supernodes)(c.n, wrong.data(), 2, ranges.data(), &number),
          "a tree that is none");
  refused(CALL(gsofa_estimate)(&p.view, nullptr, nullptr, nullptr), "no estimate");
  refused(CALL(gsofa_profile_pattern)(&p.view, -1, 1, &profile), "cells");
  refused(CALL(gsofa_profile_pattern)(&p.view, 1, -1, &profile), "threads");
  refused(CALL(gsofa_variants)(nullptr, &number), "no variants");
}

}  // namespace gsofa::soak
