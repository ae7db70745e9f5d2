#include "harness/library/cpp/elimination_input.hpp"

#include <algorithm>
#include <utility>

#include "common/large_pages.hpp"
#include "common/matching.hpp"
#include "common/preprocess.hpp"
#include "harness/library/cpp/options.hpp"

namespace gsofa::library {

namespace {

bool is_fixed(const order_choice& order) {
  return order == order_method::natural || order == order_method::given;
}

[[noreturn]] void refuse_singular(index_t rank, index_t n) {
  throw invalid_input("pattern: structurally singular: structural rank " + std::to_string(rank) +
                      " of " + std::to_string(n) +
                      " (match = false adds the missing diagonal entries instead)");
}

void give_zero_free_diagonal(const checked_input& in, const analysis_options& options,
                             elimination_input& e, workspace& w, analysis& out) {
  if (in.missing == 0) return;
  if (options.match) {
    transversal t = maximum_transversal(e.a);
    if (t.structural_rank < out.n) refuse_singular(t.structural_rank, out.n);
    e.row_of = std::move(t.row_of_col);
    permute_into(e.a, e.row_of, identity_order(e.a.n_rows), w.permuting, w.matched);
  } else {
    out.diagonal_added = in.missing;
    w.matched = with_diagonal(e.a);
  }
  e.a = w.matched;
}

// Two matchings of a pattern with zeros on its diagonal contend where the choice of the order says
// so: `symmetric` replaces the first one if the factorizations take less time in its order.
void try_symmetric(const pattern_view& a, const analysis_options& options, bool on_device,
                   elimination_input& e, workspace& w, supervision& s, ordering& best) {
  if (e.row_of.empty() || w.updates.on || !symmetric_may_pay(best.contested_s, a.nnz())) return;
  std::vector<index_t> row_of =
      compute_matching(a, {}, "symmetric", {.threads = host_threads(options), .stop = &s.stop})
          .row_of_col;
  pattern matched = permute(a, row_of, identity_order(a.n_rows));
  ordering o = order_for(matched, options, on_device, s);
  if (o.contested_s >= best.contested_s) return;
  best = std::move(o);
  best.note += best.note.empty() ? "symmetric matching" : ", symmetric matching";
  e.row_of = std::move(row_of);
  w.matched = std::move(matched);
  e.a = w.matched;
}

// given: the pattern before it was matched.
std::vector<index_t> computed_order(const pattern_view& given, const analysis_options& options,
                                    bool on_device, elimination_input& e, workspace& w,
                                    supervision& s, analysis& out) {
  ordering o = order_for(e.a, options, on_device, s);
  try_symmetric(given, options, on_device, e, w, s, o);
  if (!o.fallback.empty()) fall_back(o.fallback, s, out);
  out.order = std::move(o.method);
  out.order_note = std::move(o.note);
  if (!o.why.empty()) s.say(out.order + ": " + o.why);
  return std::move(o.order);
}

// Sets w.order to the order of the vertices of e.a, unless that is the natural one.
void find_input_order(const pattern_view& given, const analysis_options& options, bool on_device,
                      elimination_input& e, workspace& w, supervision& s, analysis& out) {
  w.order.clear();
  if (options.order == order_method::natural || e.a.n_rows == 0) return;
  if (options.order == order_method::given) {
    w.order.assign(options.permutation.begin(), options.permutation.end());
  } else if (w.updates.on) {
    out.update = update_order(e.a, options, w.updates, [&] {
      return computed_order(given, options, on_device, e, w, s, out);
    });
    if (out.update.kind != order_change::new_order) out.order = w.updates.last->name;
    w.updates.next->name = out.order;
    w.order = w.updates.next->tree.order;
  } else {
    w.order = computed_order(given, options, on_device, e, w, s, out);
  }
}

void apply_order(const analysis_options& options, elimination_input& e, workspace& w) {
  if (w.order.empty() || (w.updates.on && w.updates.counts)) return;
  const pattern_view unordered = e.a;
  permute_into(unordered, w.order, w.order, w.permuting, w.permuted);
  e.a = w.permuted;
  if (is_fixed(options.order) || w.updates.on) return;
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

ordering order_for(const pattern_view& a, const analysis_options& options, bool on_device,
                   supervision& s, order_settings wanted) {
  wanted.threads = host_threads(options);
  wanted.host_only = !on_device;
  wanted.stop = &s.stop;
  return compute_order(a, request_of(options), wanted);
}

void fall_back(const std::string& reason, supervision& s, analysis& out) {
  s.say(reason);
  out.fallback += (out.fallback.empty() ? "" : "; ") + reason;
}

void number_all(const elimination_input& e, const workspace& w, analysis& out) {
  const auto old_column = [&](index_t k) { return w.order.empty() ? k : w.order[at(k)]; };
  resize_in_large_pages(out.row_order, at(out.n));
  resize_in_large_pages(out.col_order, at(out.n));
  for (index_t k = 0; k < out.n; ++k) {
    const index_t column = old_column(k);
    out.row_order[at(k)] = e.row_of.empty() ? column : e.row_of[at(column)];
    out.col_order[at(k)] = column;
  }
}

void permute_for_elimination(const checked_input& in, const analysis_options& options,
                             bool on_device, elimination_input& e, workspace& w, supervision& s,
                             analysis& out) {
  out.order = order_name(options.order);
  const pattern_view given = e.a;
  s.enter(analysis_stage::match);
  give_zero_free_diagonal(in, options, e, w, out);
  s.enter(analysis_stage::order);
  find_input_order(given, options, on_device, e, w, s, out);
  s.enter(analysis_stage::permute);
  apply_order(options, e, w);
  out.nnz_a = e.a.nnz();
  number_all(e, w, out);
  if (w.keeps) return;
  w.permuting = {};
  w.order = {};
  if (e.a.row_ptr.data() != w.matched.row_ptr.data()) w.matched = {};
}

void relax(const analysis_options& options, elimination_input& e, workspace& w) {
  if (!needs_supernodes_of_columns(options)) return;
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

}  // namespace gsofa::library
