// All functions of gsofa.hpp, with all types of views.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gsofa/gsofa.hpp"
#include "harness/soak/attacks.hpp"

namespace gsofa::soak {

namespace {

/// One pattern in all integers, by rows and by columns, and what the view of rows gives.
struct cpp_case {
  std::int32_t n = 0;
  std::vector<std::int64_t> ptr, col_ptr;
  std::vector<std::int32_t> idx, row_idx, short_ptr, short_col_ptr;
  std::vector<std::int64_t> long_idx, long_row_idx;
  analysis_options options;
  analysis expected;
  pattern_order ordered;
  fill_estimate estimated;
  fill_profile profiled;
  std::vector<std::int32_t> parent, same_rows;

  [[nodiscard]] csr_view rows() const { return {n, ptr, idx}; }
};

bool same(const analysis& a, const analysis& b) {
  return a.row_order == b.row_order && a.col_order == b.col_order && a.nnz_a == b.nnz_a &&
         a.l_row_counts == b.l_row_counts && a.u_row_counts == b.u_row_counts &&
         a.l.col_idx == b.l.col_idx && a.u.col_idx == b.u.col_idx &&
         a.l_columns.row_idx == b.l_columns.row_idx && a.u_columns.row_idx == b.u_columns.row_idx &&
         a.supernode_starts == b.supernode_starts && a.supernodal.rows == b.supernodal.rows &&
         a.supernodal.segments == b.supernodal.segments && a.masks.masks == b.masks.masks &&
         a.parent == b.parent && a.flops == b.flops;
}

order_options order_options_of(const cpp_case& c) {
  return {.order = c.options.order,
          .device = compute_device::cpu,
          .threads = c.options.threads,
          .tree_levels = 3};
}

template <class View>
void check_view(const cpp_case& c, const View& view, const char* name) {
  const std::string what = name;
  require(same(analyze(view, c.options), c.expected), what + ": analyze()");
  analyzer by(c.options);
  require(same(by.analyze(view), c.expected), what + ": analyzer::analyze()");
  require(same(by.update(view), c.expected), what + ": analyzer::update()");
  require(same(by.update(view, c.same_rows), c.expected), what + ": a second analyzer::update()");
  const fill_estimate e = estimate(view, c.options);
  require(e.nnz_l == c.estimated.nnz_l && e.flops == c.estimated.flops &&
              e.permutation == c.estimated.permutation,
          what + ": estimate()");
  const pattern_order o = order(view, order_options_of(c));
  require(o.permutation == c.ordered.permutation && o.tree_sizes == c.ordered.tree_sizes,
          what + ": order()");
  const fill_profile q = profile(view, 3, {.threads = 2});
  require(q.density == c.profiled.density && q.l_col_counts == c.profiled.l_col_counts &&
              q.u_row_counts == c.profiled.u_row_counts && q.parent == c.parent,
          what + ": profile()");
  require(elimination_tree(view) == c.parent, what + ": elimination_tree()");
}

// Kind of what action() throws.
failure kind_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const analysis_error& e) {
    return e.kind();
  }
  return failure{};
}

// Memory of the host is none of a device: only where no device could read it.
template <class View>
void check_device_view(const cpp_case& c, const abilities& can, const char* name) {
  const std::string what = name;
  View view;
  if (!can.gpu) view.n = c.n;  // else it is empty, which is refused before a device reads it
  const failure expected = can.gpu ? failure::invalid_input : failure::unavailable;
  analyzer by(c.options);
  require(kind_of([&] { analyze(view, c.options); }) == expected, what + ": analyze()");
  require(kind_of([&] { order(view, order_options_of(c)); }) == expected, what + ": order()");
  require(kind_of([&] { by.analyze(view); }) == expected, what + ": analyzer::analyze()");
  require(kind_of([&] { by.update(view); }) == expected, what + ": analyzer::update()");
}

void check_objects(const cpp_case& c) {
  analyzer first;
  first.options() = c.options;
  analyzer second = std::move(first);
  first = std::move(second);
  require(same(first.analyze(c.rows()), c.expected), "moved objects");
}

// What takes the options of an analysis, and a file.
void check_others(const cpp_case& c, const call& pattern) {
  const fill_profile q = profile(c.rows(), 3, c.options);
  require(q.density == c.profiled.density && q.u_row_counts == c.profiled.u_row_counts,
          "profile() with options");
  const pattern_file file(pattern);
  const csr_pattern read = read_pattern(file.name());
  require(same(analyze(read.view(), c.options), c.expected), "read_pattern()");
  require(kind_of([] { read_pattern(""); }) == failure::invalid_input, "read_pattern() of no file");
  require(kind_of([&] { read_pattern(file.name(), [] { return false; }); }) == failure::cancelled,
          "read_pattern() that is interrupted");
}

void check_functions(const cpp_case& c, const abilities& can) {
  const tree_levels levels = level_sets(c.parent);
  require(static_cast<std::int32_t>(levels.vertices.size()) == c.n, "level_sets()");
  const std::vector<std::int32_t> order = tree_postorder(c.parent);
  std::vector<std::int32_t> position(order.size()), relabelled(order.size(), -1);
  for (std::size_t p = 0; p < order.size(); ++p) {
    position[at(order[p])] = static_cast<std::int32_t>(p);
  }
  for (std::size_t v = 0; v < order.size(); ++v) {
    if (c.parent[v] >= 0) relabelled[at(position[v])] = position[at(c.parent[v])];
  }
  require(relaxed_supernodes(relabelled, 1).size() <= order.size(), "relaxed_supernodes()");
  require(kind_of([&] { relaxed_supernodes(relabelled, 0); }) == failure::invalid_input,
          "relaxed_supernodes() of 0 columns");
  require(!variants().empty() && has_metis() == can.metis && *version() != '\0', "constants");
  const auto in_64 = convert<std::int64_t, std::int64_t>(c.expected.l);
  require(std::ranges::equal(in_64.col_idx, c.expected.l.col_idx), "convert()");
}

cpp_case make_case(dice& d, const call& c) {
  cpp_case out;
  out.n = c.n;
  out.ptr = c.row_ptr;
  out.idx = c.col_idx;
  out.col_ptr.push_back(0);
  for (std::int32_t j = 0; j < c.n; ++j) {
    for (std::int32_t i = 0; i < c.n; ++i) {
      for (std::int64_t p = c.row_ptr[at(i)]; p < c.row_ptr[at(i) + 1]; ++p) {
        if (c.col_idx[at(p)] == j) out.row_idx.push_back(i);
      }
    }
    out.col_ptr.push_back(static_cast<std::int64_t>(out.row_idx.size()));
  }
  out.short_ptr.assign(out.ptr.begin(), out.ptr.end());
  out.short_col_ptr.assign(out.col_ptr.begin(), out.col_ptr.end());
  out.long_idx.assign(out.idx.begin(), out.idx.end());
  out.long_row_idx.assign(out.row_idx.begin(), out.row_idx.end());
  out.options = {.device = compute_device::cpu,
                 .threads = 1 + d.below(2),
                 .match = false,
                 .order = d.one_in(2) ? "amd" : "cpu_nested_dissection",
                 .factors = d.one_in(2),
                 .factor_columns = d.one_in(2),
                 .supernodes = d.one_in(2),
                 .supernodal = d.one_in(2)};
  out.options.tree = d.one_in(2);
  out.options.masks = d.one_in(2);
  out.expected = analyze(out.rows(), out.options);
  out.ordered = order(out.rows(), order_options_of(out));
  out.estimated = estimate(out.rows(), out.options);
  out.profiled = profile(out.rows(), 3, {.threads = 1});
  out.parent = elimination_tree(out.rows());
  out.same_rows.resize(at(out.n));
  std::iota(out.same_rows.begin(), out.same_rows.end(), 0);
  return out;
}

}  // namespace

void attack_cpp_interface(std::uint64_t seed, std::uint64_t number, const abilities& can) {
  dice d(seed + 2, number);
  call pattern;
  pattern.n = 1 + d.below(d.one_in(6) ? 70 : 24);
  fill_rows(d, pattern);
  const cpp_case c = make_case(d, pattern);
  dense_matrix b = permuted(dense(pattern), c.expected.row_order, c.expected.col_order);
  eliminate(b);
  for (std::size_t i = 0; i < b.size(); ++i) {
    require(static_cast<std::size_t>(c.expected.u_row_counts[i]) == (b[i] >> i).count() &&
                static_cast<std::size_t>(c.expected.l_row_counts[i] + c.expected.u_row_counts[i]) ==
                    b[i].count(),
            "counts of row " + std::to_string(i) + " differ");
  }
  check_view(c, c.rows(), "csr_view");
  check_view(c, csr_view_32{c.n, c.short_ptr, c.idx}, "csr_view_32");
  check_view(c, csr_view_64{c.n, c.ptr, c.long_idx}, "csr_view_64");
  check_view(c, csc_view{c.n, c.col_ptr, c.row_idx}, "csc_view");
  check_view(c, csc_view_32{c.n, c.short_col_ptr, c.row_idx}, "csc_view_32");
  check_view(c, csc_view_64{c.n, c.col_ptr, c.long_row_idx}, "csc_view_64");
  check_device_view<device_csr_view>(c, can, "device_csr_view");
  check_device_view<device_csr_view_32>(c, can, "device_csr_view_32");
  check_device_view<device_csr_view_64>(c, can, "device_csr_view_64");
  check_objects(c);
  check_functions(c, can);
  check_others(c, pattern);
}

}  // namespace gsofa::soak
