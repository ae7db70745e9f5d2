#include "harness/library/elimination_input.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "common/large_pages.hpp"
#include "common/metis_library.hpp"
#include "common/preprocess.hpp"

namespace gsofa::detail {

namespace {

bool is_fixed(order_method order) {
  return order == order_method::natural || order == order_method::given;
}

// Chunks of supernodes, and supernodes where isolated vertices stay among the others, depend on the
// numbers of all vertices.
bool may_leave_out(const analysis_options& o) {
  if (asks_supernodes_of_columns(o) || o.device_memory) return false;
  return !o.supernodes || (o.chunk_size == 0 && !is_fixed(o.order));
}

void take_core(const checked_input& in, elimination_input& e, pattern& core) {
  e.leaves_out = true;
  e.vertices.reserve(at(in.coupled));
  core.n_rows = core.n_cols = in.coupled;
  core.row_ptr.assign(1, 0);
  core.col_idx.clear();
  e.a = core;
  if (in.coupled == 0) return;
  std::vector<index_t> number(at(in.a.n_rows));
  for (index_t v = 0; v < in.a.n_rows; ++v) {
    if (!in.has_edge(v)) continue;
    number[at(v)] = static_cast<index_t>(e.vertices.size());
    e.vertices.push_back(v);
  }
  core.row_ptr.reserve(at(in.coupled) + 1);
  core.col_idx.reserve(at(in.a.nnz() - (in.a.n_rows - in.coupled - in.isolated_missing)));
  for (const index_t v : e.vertices) {
    for (const index_t j : in.a.row(v)) core.col_idx.push_back(number[at(j)]);
    core.row_ptr.push_back(static_cast<offset_t>(core.col_idx.size()));
  }
  e.a = core;
}

void give_zero_free_diagonal(const checked_input& in, const analysis_options& options,
                             elimination_input& e, workspace& w, analysis& out) {
  if (in.missing == 0) return;
  const index_t missing = in.missing - (e.leaves_out ? in.isolated_missing : 0);
  if (!options.match) {
    out.diagonal_added = in.missing;
    if (missing == 0) return;
    w.matched = with_diagonal(e.a);
  } else {
    index_t rank = out.n - in.isolated_missing;
    if (missing > 0) {
      transversal t = maximum_transversal(e.a);
      rank = t.structural_rank + (e.leaves_out ? out.n - in.coupled - in.isolated_missing : 0);
      e.row_of = std::move(t.row_of_col);
    }
    if (rank < out.n) {
      throw invalid_input("pattern: structurally singular: structural rank " +
                          std::to_string(rank) + " of " + std::to_string(out.n) +
                          " (match = false adds the missing diagonal entries instead)");
    }
    permute_into(e.a, e.row_of, identity_order(e.a.n_rows), w.permuting, w.matched);
  }
  e.a = w.matched;
}

// An order by the device where that pays and nobody has chosen another; false if it is for the host
// to find one.
bool find_order_on_device(const analysis_options& options, bool on_device, workspace& w,
                          const elimination_input& e, supervision& s, analysis& out) {
  if (options.order != order_method::automatic || !on_device || e.a.n_rows < least_device_order ||
      info_of_device_order().unavailable()) {
    return false;
  }
  try {
    w.order = compute_order(e.a, device_order, -1, host_threads(options), &s.stop).order;
    out.order = device_order;
    return true;
  } catch (const input_error&) {
    throw;
  } catch (const cancelled_error&) {
    throw;
  } catch (const error& failed) {
    fall_back(std::string(device_order) + ": " + failed.what(), s, out);
    return false;
  }
}

// Sets w.order to the order of the vertices of e.a, unless that is the natural one.
void find_order(const checked_input& in, const analysis_options& options, bool on_device,
                const elimination_input& e, workspace& w, supervision& s, analysis& out) {
  w.order.clear();
  if (options.order == order_method::natural || e.a.n_rows == 0) return;
  if (options.order != order_method::given) {
    if (find_order_on_device(options, on_device, w, e, s, out)) return;
    w.order =
        compute_order(e.a, order_name(options.order), -1, host_threads(options), &s.stop).order;
    return;
  }
  if (!e.leaves_out) {
    w.order.assign(options.permutation.begin(), options.permutation.end());
    return;
  }
  for (const index_t v : options.permutation) {
    if (!in.has_edge(v)) continue;
    w.order.push_back(
        static_cast<index_t>(std::ranges::lower_bound(e.vertices, v) - e.vertices.begin()));
  }
}

void apply_order(const analysis_options& options, elimination_input& e, workspace& w) {
  if (w.order.empty()) return;
  const pattern_view unordered = e.a;
  permute_into(unordered, w.order, w.order, w.permuting, w.permuted);
  e.a = w.permuted;
  if (is_fixed(options.order)) return;
  const std::vector<index_t> post =
      postorder(elimination_tree_of_sum(w.permuted, w.permuting.transposed));
  if (std::ranges::is_sorted(post)) return;
  std::vector<index_t> total(post.size());
  for (std::size_t k = 0; k < post.size(); ++k) total[k] = w.order[at(post[k])];
  w.order = std::move(total);
  permute_into(unordered, w.order, w.order, w.permuting, w.permuted);
  e.a = w.permuted;
}

}  // namespace

const order_info& info_of_device_order() {
  return *std::ranges::find(all_orders(), device_order, &order_info::name);
}

const char* order_name(order_method order) {
  switch (order) {
    case order_method::automatic:
      return metis_fault() ? "amd" : "metis";
    case order_method::metis:
      return "metis";
    case order_method::amd:
      return "amd";
    case order_method::colamd:
      return "colamd";
    case order_method::natural:
      return "natural";
    case order_method::given:
      return "given";
    case order_method::nested_dissection:
      return "cpu_nested_dissection";
    case order_method::best_of:
      return "best_of";
    case order_method::gpu_nested_dissection:
      return device_order;
  }
  throw invalid_input("order: " + std::to_string(static_cast<int>(order)) + " is no order_method");
}

int host_threads(const analysis_options& options) {
  return options.threads > 0 ? options.threads
                             : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

bool asks_supernodes_of_columns(const analysis_options& o) {
  return o.supernodal || o.tree || o.masks || o.relax > 1 || !o.relaxed.empty();
}

void fall_back(const std::string& reason, supervision& s, analysis& out) {
  s.say(reason);
  out.fallback += (out.fallback.empty() ? "" : "; ") + reason;
}

void number_all(const checked_input& in, const analysis_options& options,
                const elimination_input& e, workspace& w, analysis& out) {
  const index_t n = out.n;
  const auto old_column = [&](index_t k) { return w.order.empty() ? k : w.order[at(k)]; };
  const auto old_row = [&](index_t k) {
    return e.row_of.empty() ? old_column(k) : e.row_of[at(old_column(k))];
  };
  resize_in_large_pages(out.row_order, at(n));
  resize_in_large_pages(out.col_order, at(n));
  w.place.clear();
  if (!e.leaves_out) {
    for (index_t k = 0; k < n; ++k) {
      out.row_order[at(k)] = old_row(k);
      out.col_order[at(k)] = old_column(k);
    }
    return;
  }
  w.place.reserve(e.vertices.size());
  const auto put = [&](index_t position, index_t row, index_t column) {
    out.row_order[at(position)] = row;
    out.col_order[at(position)] = column;
  };
  if (is_fixed(options.order)) {
    for (index_t position = 0; position < n; ++position) {
      const index_t v =
          options.order == order_method::natural ? position : options.permutation[at(position)];
      put(position, v, v);
      if (in.has_edge(v)) w.place.push_back(position);
    }
  } else {
    index_t position = 0;
    for (index_t v = 0; v < n; ++v) {
      if (!in.has_edge(v)) put(position++, v, v);
    }
    while (position < n) w.place.push_back(position++);
  }
  for (std::size_t k = 0; k < w.place.size(); ++k) {
    const auto i = static_cast<index_t>(k);
    put(w.place[k], e.vertices[at(old_row(i))], e.vertices[at(old_column(i))]);
  }
}

elimination_input coupled_input(const checked_input& in, const analysis_options& options,
                                workspace& w, supervision& s, analysis& out) {
  elimination_input e;
  e.a = in.a;
  const index_t isolated = out.n - in.coupled;
  if (isolated > 0 && may_leave_out(options)) take_core(in, e, w.core);
  if (e.leaves_out) {
    s.say(std::to_string(isolated) + " of " + std::to_string(out.n) +
          " vertices are isolated and left out");
  }
  return e;
}

void permute_for_elimination(const checked_input& in, const analysis_options& options,
                             bool on_device, elimination_input& e, workspace& w, supervision& s,
                             analysis& out) {
  out.order = order_name(options.order);
  s.enter(analysis_stage::match);
  give_zero_free_diagonal(in, options, e, w, out);
  s.enter(analysis_stage::order);
  find_order(in, options, on_device, e, w, s, out);
  s.enter(analysis_stage::permute);
  apply_order(options, e, w);
  out.nnz_a = e.a.nnz() + (e.leaves_out ? out.n - in.coupled : 0);
  number_all(in, options, e, w, out);
  if (!w.keeps) {
    w.permuting = {};
    w.order = {};
    if (e.a.row_ptr.data() == w.permuted.row_ptr.data()) {
      w.core = {};
      w.matched = {};
    }
  }
}

void relax(const analysis_options& options, elimination_input& e, workspace& w) {
  if (!asks_supernodes_of_columns(options)) return;
  std::vector<column_range> ranges;
  if (options.relax > 1) {
    ranges = relaxed_leaves(elimination_tree_of_sum(e.a, transpose(e.a)), options.relax);
  }
  for (const supernode_range& r : options.relaxed) ranges.push_back({r.begin, r.end});
  if (std::ranges::none_of(ranges, [](column_range r) { return r.end - r.begin > 1; })) {
    e.fixed = std::move(ranges);
    return;
  }
  if (options.factors || options.factor_columns || options.supernodes || options.masks) {
    w.relaxed = pad_leaves(e.a, ranges);
    e.fixed = std::move(ranges);
  } else {
    contraction c = contract_leaves(e.a, ranges);
    w.relaxed = std::move(c.a);
    e.fixed = std::move(c.fixed);
    e.of = std::move(c.of);
  }
  e.a = w.relaxed;
}

}  // namespace gsofa::detail
