#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <utility>

#include "common/device_rows.hpp"
#include "common/elimination_forest.hpp"
#include "common/large_pages.hpp"
#include "common/mask_pattern.hpp"
#include "common/metis_library.hpp"
#include "common/parallel.hpp"
#include "common/preprocess.hpp"
#include "common/supernodal.hpp"
#include "common/thread_device.hpp"
#include "common/variant.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/direct_sum.hpp"
#include "harness/library/cpp/elimination_input.hpp"
#include "harness/library/cpp/estimate.hpp"
#include "harness/library/cpp/input.hpp"
#include "harness/library/cpp/pending.hpp"
#include "harness/library/cpp/supervision.hpp"

namespace gsofa {

namespace {

using namespace library;
using clock = std::chrono::steady_clock;

// Orders as device_order and finds L and U, all on the device.
constexpr const char* device_analysis = "gpu_full_analysis";
constexpr const char* device_variant = "gpu_bitmap_panels";
// Many small patterns as one direct sum.
constexpr const char* batch_variant = "gpu_diagonal_blocks";
// Most rows of patterns that a device analyses at once; it bounds what is held meanwhile.
constexpr offset_t most_batch_rows = offset_t{1} << 24;

// There are many matchings: all doors have that of the host, if this build has it.
#ifdef GSOFA_HAVE_BTF
constexpr bool matches_on_host = true;
#else
constexpr bool matches_on_host = false;
#endif

// Seconds since `since`, which becomes now.
double lap(clock::time_point& since) {
  const auto now = clock::now();
  return std::chrono::duration<double>(now - std::exchange(since, now)).count();
}

void check_options(const analysis_options& o, index_t n) {
  auto fail = [](const std::string& option, offset_t value, const std::string& range) {
    throw invalid_input(option + ": " + std::to_string(value) + " is not " + range);
  };
  if (o.threads < 0) fail("threads", o.threads, "0 or more");
  if (o.chunk_size < 0) fail("chunk_size", o.chunk_size, "0 or more");
  if (o.memory_budget_mb < -1) {
    fail("memory_budget_mb", o.memory_budget_mb, "-1 or more");
  }
  if (o.device != compute_device::automatic && o.device != compute_device::cpu &&
      o.device != compute_device::gpu) {
    fail("device", static_cast<int>(o.device), "a compute_device");
  }
  if (o.progress && !(o.progress_seconds > 0 && o.progress_seconds <= 1e6)) {
    throw invalid_input("progress_seconds: " + std::to_string(o.progress_seconds) +
                        " is not in (0, 1000000]");
  }
  if (o.most_columns < 0) fail("most_columns", o.most_columns, "0 or more");
  if (o.relax < 1) fail("relax", o.relax, "1 or more");
  if (o.relax > 1 && !o.relaxed.empty()) {
    throw invalid_input("relax and relaxed: only one of them may be set");
  }
  std::vector<column_range> relaxed;
  for (const supernode_range& r : o.relaxed) relaxed.push_back({r.begin, r.end});
  validate_ranges(relaxed, n);
  if (o.device_memory && o.factor_columns) {
    throw invalid_input("device_memory: not with factor_columns");
  }
  if (o.device_memory && o.tree) throw invalid_input("device_memory: not with tree");
  if (o.device_memory && o.masks) throw invalid_input("device_memory: not with masks");
  const std::string order = order_name(o.order);
  if (order == "given") {
    validate_permutation(o.permutation, n, "permutation");
  } else if (!o.permutation.empty()) {
    throw invalid_input("permutation: set, but the order is " + order + ", not given");
  }
  if (order == "metis") {
    if (const auto reason = metis_fault()) {
      throw analysis_error(failure::unavailable, "order metis: " + *reason);
    }
  }
  if (order == device_order) {
    if (const auto reason = info_of_device_order().unavailable()) {
      throw analysis_error(failure::unavailable, "order " + order + ": " + *reason);
    }
  }
}

// Variants that any caller may name: right, exact, in one process, of the order that they are
// given.
bool is_public(const variant_info& v) {
  return v.planted.empty() && v.exact && !v.orders && !v.distributed && v.gives == want_set::all();
}

const variant_info& public_variant(const std::string& name) {
  std::string names;
  for (const variant_info& v : all_variants()) {
    if (!is_public(v)) continue;
    if (v.name == name) return v;
    names += (names.empty() ? "" : ", ") + v.name;
  }
  throw invalid_input("unknown variant '" + name + "': one of " + names);
}

// Candidates in the order in which they are tried.
std::vector<const variant_info*> choose_variants(const analysis_options& options) {
  const bool automatic = options.device == compute_device::automatic;
  if (!options.variant.empty()) {
    const variant_info& named = public_variant(options.variant);
    const std::string device = options.device == compute_device::cpu ? "cpu" : "gpu";
    if (!automatic && named.device != device) {
      throw invalid_input("variant " + named.name + " does not run on device " + device);
    }
    if (const auto reason = named.unavailable()) {
      throw analysis_error(failure::unavailable, named.name + ": " + *reason);
    }
    return {&named};
  }
  std::vector<const variant_info*> chosen;
  if (options.device != compute_device::cpu) {
    const variant_info& gpu = public_variant(device_variant);
    const auto reason = gpu.unavailable();
    if (!reason) chosen.push_back(&gpu);
    if (reason && !automatic) {
      throw analysis_error(failure::unavailable, gpu.name + ": " + *reason);
    }
  }
  if (options.device != compute_device::gpu) {
    chosen.push_back(&public_variant("cpu_bitmap_panels"));
  }
  return chosen;
}

want_set wants_of(const analysis_options& options) {
  want_set wants = want::counts;
  if (options.factors || options.factor_columns) wants |= want::pattern;
  if (options.supernodes) wants |= want::supernodes;
  return wants;
}

run_settings settings_for(const variant_info& info, const analysis_options& options) {
  run_settings s;
  s.options = option_set(info.options);
  const auto budget = std::ranges::find(info.options, "memory_budget_mb", &option_spec::name);
  if (options.memory_budget_mb > 0 && budget != info.options.end()) {
    s.options.set(info.options, budget->name, std::to_string(options.memory_budget_mb));
  }
  s.wants = wants_of(options);
  s.supernodal = asks_supernodes_of_columns(options);
  if (s.supernodal && !info.supernodal) s.wants |= want::pattern;
  s.runs_once = true;
  s.threads = host_threads(options);
  s.chunk_size = options.chunk_size;
  return s;
}

// Rows of a factor of the coupled vertices as rows of that of all; isolated vertices have an entry
// in `diagonal` ones.
pattern spread(pattern p, index_t n, std::span<const index_t> place, bool diagonal) {
  pattern out;
  out.n_rows = out.n_cols = n;
  out.row_ptr.reserve(at(n) + 1);
  const offset_t isolated = n - p.n_rows;
  out.col_idx.reserve(at(p.nnz() + (diagonal ? isolated : 0)));
  std::size_t k = 0;
  for (index_t i = 0; i < n; ++i) {
    if (k < place.size() && place[k] == i) {
      for (const index_t j : p.row(static_cast<index_t>(k))) out.col_idx.push_back(place[at(j)]);
      ++k;
    } else if (diagonal) {
      out.col_idx.push_back(i);
    }
    out.row_ptr.push_back(static_cast<offset_t>(out.col_idx.size()));
  }
  return out;
}

// First rows of supernodes of the coupled vertices as those of all: an isolated vertex is one.
void spread_supernodes(std::span<const index_t> starts, index_t n, std::span<const index_t> place,
                       std::vector<index_t>& out) {
  auto start = starts.begin();
  std::size_t k = 0;
  for (index_t i = 0; i < n; ++i) {
    const bool coupled = k < place.size() && place[k] == i;
    const bool begins = coupled && start != starts.end() && at(*start) == k;
    if (begins) ++start;
    if (coupled) ++k;
    if (begins || !coupled) out.push_back(i);
  }
}

csr_pattern rows_of(pattern&& p) { return {p.n_rows, std::move(p.row_ptr), std::move(p.col_idx)}; }
csc_pattern columns_of(pattern&& p) {
  return {p.n_rows, std::move(p.row_ptr), std::move(p.col_idx)};
}

// The arrays of an earlier analysis, for the next one, and back.
void lend_counts(analysis& out, result& r) {
  std::swap(out.l_row_counts, r.l_row_counts);
  std::swap(out.u_row_counts, r.u_row_counts);
}

// The rows of an earlier analysis, for the next one to be written in their place.
void lend_rows(csr_pattern& from, pattern& to) {
  to.row_ptr = std::move(from.row_ptr);
  to.col_idx = std::move(from.col_idx);
}

supernodal_pattern lists_of(supernodal_factors&& s) {
  return {std::move(s.first_column), std::move(s.row_begin), std::move(s.rows),
          std::move(s.segment_begin), std::move(s.segments)};
}

// Counts of the rows of a contracted pattern as those of the padded one.
void expand_counts(std::span<const std::uint32_t> added, std::span<const column_range> of,
                   result& r) {
  const row_counts contracted{std::move(r.l_row_counts), std::move(r.u_row_counts)};
  row_counts all = expand_leaves(contracted, added, of);
  r.nnz_l = std::accumulate(all.l.begin(), all.l.end(), offset_t{0});
  r.nnz_u = std::accumulate(all.u.begin(), all.u.end(), offset_t{0});
  r.l_row_counts = std::move(all.l);
  r.u_row_counts = std::move(all.u);
}

// Entries of the columns of L below the diagonal: column c of a supernode has all rows of its list
// but the first c + 1.
void count_columns(const supernodal_pattern& s, std::vector<index_t>& counts) {
  counts.clear();
  for (index_t k = 0; k < s.supernodes(); ++k) {
    const auto length = static_cast<index_t>(s.row_begin[at(k) + 1] - s.row_begin[at(k)]);
    const index_t width = s.begin[at(k) + 1] - s.begin[at(k)];
    for (index_t c = 1; c <= width; ++c) counts.push_back(length - c);
  }
}

// The elimination tree of what is eliminated. A relaxed supernode that is shrunk to a vertex is a
// path of its columns, since its block is full, and a leaf: its parent stands for one column.
void find_tree(const elimination_input& e, analysis& out) {
  const std::vector<index_t> parent = elimination_tree_of_sum(e.a, transpose(e.a));
  if (e.of.empty()) {
    out.parent = parent;
    return;
  }
  out.parent.clear();
  for (std::size_t v = 0; v < parent.size(); ++v) {
    for (index_t j = e.of[v].begin + 1; j < e.of[v].end; ++j) out.parent.push_back(j);
    out.parent.push_back(parent[v] == -1 ? -1 : e.of[at(parent[v])].begin);
  }
}

double operations(const analysis& f) {
  double flops = 0;
  for (std::size_t k = 0; k < f.l_col_counts.size(); ++k) {
    const double l = f.l_col_counts[k];
    flops += l + 2 * l * (f.u_row_counts[k] - 1);
  }
  return flops;
}

// The supernodes of columns, and with relaxed ones shrunk to a vertex the counts of all rows.
void find_supernodes_of_columns(const elimination_input& e, const analysis_options& options,
                                bool has_rows, workspace& w, analysis& out) {
  const supernode_rule rule{.most_columns = options.most_columns, .fixed = e.fixed};
  result& r = w.found;
  // What a variant has handed over it may have no more.
  supernodal_pattern s = std::move(w.lists);
  if (has_rows) {
    s = supernodal_of(r.l, r.u, rule);
  } else {
    w.kept->supernodal_into(rule, s);
  }
  if (!e.of.empty()) {
    expand_counts(added_columns(s, e.of), e.of, r);
    s = expand_leaves(s, e.of);
  }
  if (options.tree) count_columns(s, out.l_col_counts);
  if (!options.supernodal) {
    if (w.keeps) w.lists = std::move(s);
    return;
  }
  out.supernodal = {std::move(s.begin), std::move(s.row_begin), std::move(s.rows),
                    std::move(s.segment_begin), std::move(s.segments)};
}

gives_masks* giver_of(workspace& w) { return dynamic_cast<gives_masks*>(w.kept.get()); }

// Runs of the variant that is kept leave their masks in an array as long as this lives.
class leaving_masks {
 public:
  leaving_masks(workspace& w, mask_pattern& m) : w_(w) {
    if (gives_masks* const giver = giver_of(w)) giver->leave_masks_in(&m);
  }
  leaving_masks(const leaving_masks&) = delete;
  leaving_masks& operator=(const leaving_masks&) = delete;
  ~leaving_masks() {
    if (gives_masks* const giver = giver_of(w_)) giver->leave_masks_in(nullptr);
  }

 private:
  workspace& w_;
};

// `m` is where the run may have left its masks.
void find_masks(bool has_rows, workspace& w, mask_pattern& m, analysis& out) {
  gives_masks* const giver = giver_of(w);
  if (giver == nullptr || !giver->masks_into(m)) {
    const result rows = has_rows ? result{} : w.kept->collect(want::pattern);
    m = has_rows ? masks_of(w.found.l, w.found.u) : masks_of(rows.l, rows.u);
  }
  out.masks = {std::move(m.begin), std::move(m.position_begin), std::move(m.vertices),
               std::move(m.masks)};
}

// Hands over what the variant found of the pattern without isolated vertices.
void give(const elimination_input& e, const analysis_options& options, workspace& w,
          analysis& out) {
  const index_t n = out.n;
  result& r = w.found;
  out.nnz_l = r.nnz_l;
  out.nnz_u = r.nnz_u + (e.leaves_out ? n - e.a.n_rows : 0);
  if (e.leaves_out) {
    resize_in_large_pages(out.l_row_counts, at(n));
    resize_in_large_pages(out.u_row_counts, at(n));
    std::ranges::fill(out.l_row_counts, 0);
    std::ranges::fill(out.u_row_counts, 1);
    for (std::size_t k = 0; k < w.place.size(); ++k) {
      out.l_row_counts[at(w.place[k])] = r.l_row_counts[k];
      out.u_row_counts[at(w.place[k])] = r.u_row_counts[k];
    }
  } else {
    lend_counts(out, r);
  }
  out.supernode_starts.clear();
  if (options.supernodes && e.leaves_out) {
    spread_supernodes(r.supernode_starts, n, w.place, out.supernode_starts);
  } else if (options.supernodes) {
    out.supernode_starts = r.supernode_starts;
  }
  out.l = out.u = {};
  out.l_columns = out.u_columns = {};
  if (!options.masks) out.masks = {};
  const bool are_there = out.device_l.n > 0;
  if ((!options.factors && !options.factor_columns) || are_there) return;
  pattern l = std::move(r.l);
  pattern u = std::move(r.u);
  if (e.leaves_out) {
    l = spread(std::move(l), n, w.place, false);
    u = spread(std::move(u), n, w.place, true);
  }
  if (options.factor_columns) {
    out.l_columns = columns_of(transpose(l));
    out.u_columns = columns_of(transpose(u));
  }
  if (options.factors) {
    out.l = rows_of(std::move(l));
    out.u = rows_of(std::move(u));
  }
}

// Leaves factors and supernodes of columns in the caller's memory on the device.
void leave_on_device(leaves_device_results& v, const elimination_input& e,
                     const analysis_options& options, result& r, analysis& out) {
  const device_destination to{.allocate =
                                  [&](std::size_t bytes) {
                                    try {
                                      return options.device_memory(bytes);
                                    } catch (...) {
                                      throw callback_failure{std::current_exception()};
                                    }
                                  },
                              .stream = options.device_stream};
  if (options.factors) {
    device_rows l, u;
    v.rows_on_device(to, l, u);
    out.device_l = {l.n, l.nnz, l.row_ptr, l.col_idx};
    out.device_u = {u.n, u.nnz, u.row_ptr, u.col_idx};
  }
  if (options.supernodal) {
    const supernode_rule rule{.most_columns = options.most_columns, .fixed = e.fixed};
    std::vector<std::uint32_t> added;
    const device_supernodal_pattern s = e.of.empty() ? v.supernodal_on_device(rule, to)
                                                     : v.expanded_on_device(rule, e.of, to, added);
    if (!e.of.empty()) expand_counts(added, e.of, r);
    out.device_supernodal = {s.supernodes, s.row_count, s.segment_count, s.begin,
                             s.row_begin,  s.rows,      s.segment_begin, s.segments};
  }
}

// Sets w.found to what the variant finds of e.a or, where that is not null, of `there`.
void run_variant(const variant_info& info, const elimination_input& e, const foreign_rows* there,
                 const analysis_options& options, workspace& w, run_context& context,
                 supervision& s, analysis& out) {
  auto since = clock::now();
  s.enter(analysis_stage::analyze);
  out.device_l = out.device_u = {};
  out.device_supernodal = {};
  context.probe = &s.probe;
  context.stop = &s.stop;
  if (w.made != &info) {
    w.made = nullptr;
    w.kept = info.create();
    w.made = &info;
  }
  run_settings settings = settings_for(info, options);
  auto* const leaves =
      options.device_memory ? dynamic_cast<leaves_device_results*>(w.kept.get()) : nullptr;
  settings.leaves_on_device = leaves != nullptr;
  if (there == nullptr) {
    w.kept->prepare(e.a, settings, context);
  } else {
    dynamic_cast<takes_foreign_rows&>(*w.kept).prepare_foreign(*there, settings, context);
  }
  out.setup_seconds = lap(since);
  if (!context.layout.empty()) s.say(info.name + ": " + context.layout);
  // Masks may leave during the run, for the arrays of the analysis before.
  mask_pattern masks;
  std::optional<leaving_masks> leaving;
  if (options.masks) {
    masks = {std::move(out.masks.first_vertex), std::move(out.masks.position_begin),
             std::move(out.masks.vertices), std::move(out.masks.masks)};
    leaving.emplace(w, masks);
  }
  run_timed(*w.kept, context);
  out.analysis_seconds = lap(since);
  s.enter(analysis_stage::output);
  if (!e.leaves_out) {
    lend_counts(out, w.found);
    lend_rows(out.l, w.found.l);
    lend_rows(out.u, w.found.u);
  }
  w.kept->collect_into(leaves != nullptr ? settings.wants.without(want::pattern) : settings.wants,
                       w.found);
  // Of relaxed supernodes shrunk to a vertex the counts need the lists in any case.
  if (leaves != nullptr && (e.of.empty() || options.supernodal)) {
    leave_on_device(*leaves, e, options, w.found, out);
  } else {
    const bool has_rows = settings.wants.has(want::pattern);
    if (options.masks) find_masks(has_rows, w, masks, out);
    if (options.supernodal || options.tree || !e.of.empty()) {
      find_supernodes_of_columns(e, options, has_rows, w, out);
    }
  }
  if (!w.keeps) {
    w.made = nullptr;
    w.kept.reset();
  }
  out.output_seconds = lap(since);
}

void factorize(const variant_info& info, const elimination_input& e,
               const analysis_options& options, workspace& w, supervision& s, analysis& out) {
  out.variant = info.name;
  out.output_seconds = 0;
  if (e.a.n_rows == 0) {
    w.found = {};
    w.found.l.n_rows = w.found.u.n_rows = 0;
    s.enter(analysis_stage::output);
    if (out.n == 0 && options.supernodal) out.supernodal = {{0}, {0}, {}, {0}, {}};
    if (out.n == 0 && options.masks) out.masks = {{0}, {0}, {}, {}};
  } else {
    run_context context;
    context.say = [&](const std::string& line) { s.say(info.name + ": " + line); };
    run_variant(info, e, nullptr, options, w, context, s, out);
  }
  auto since = clock::now();
  give(e, options, w, out);
  if (options.tree) out.flops = operations(out);
  out.output_seconds += lap(since);
}

// Calls `run`, which runs a variant on the device; returns why it failed if the host may still
// succeed.
template <class Run>
std::optional<std::string> failure_of_device(const variant_info& info, workspace& w,
                                             const Run& run) {
  try {
    run();
    return std::nullopt;
  } catch (const input_error&) {
    throw;
  } catch (const cancelled_error&) {
    throw;
  } catch (const error& failed) {
    w.made = nullptr;
    w.kept.reset();
    return info.name + ": " + failed.what();
  }
}

// Whether the device does all of the analysis of so many rows: with the order that it is asked for,
// or that nobody has chosen, and nothing that takes the permuted pattern on the host.
bool device_does_all(const analysis_options& options, bool on_device, index_t rows) {
  const bool orders_there =
      options.order == order_method::gpu_nested_dissection ||
      (options.order == order_method::automatic && rows >= least_device_order);
  const bool factorizes_there = options.variant.empty() || options.variant == device_variant;
  return on_device && rows > 0 && orders_there && factorizes_there && options.relax == 1 &&
         options.relaxed.empty() && !options.tree && !find_variant(device_analysis).unavailable();
}

// Whether the device may do all of this pattern: a missing diagonal entry is for a matching or for
// the host, and a diagonal is its own result.
bool suits_device(const checked_input& in, const analysis_options& options) {
  if (in.coupled == 0) return false;
  return in.missing == 0 || (options.match && !matches_on_host && in.isolated_missing == 0);
}

// The order of w.found as one of the vertices of e.
void take_order(elimination_input& e, workspace& w) {
  w.order = std::move(w.found.col_order);
  e.row_of.clear();
  if (w.order == w.found.row_order) return;
  e.row_of.resize(w.order.size());
  for (std::size_t k = 0; k < w.order.size(); ++k) e.row_of[at(w.order[k])] = w.found.row_order[k];
}

// Matches, orders, permutes and factorizes e.a, or `there`, on the device.
void analyze_on_device(elimination_input& e, const foreign_rows* there,
                       const analysis_options& options, workspace& w, supervision& s,
                       analysis& out) {
  run_context context;
  context.say = [&](const std::string& line) { s.say(std::string(device_analysis) + ": " + line); };
  run_variant(find_variant(device_analysis), e, there, options, w, context, s, out);
  auto since = clock::now();
  for (const auto& [phase, seconds] : context.phases.seconds()) {
    if (phase != "sort" && phase != "match" && phase != "order" && phase != "permute") continue;
    out.order_seconds += seconds;
    out.analysis_seconds -= seconds;
  }
  out.order = device_order;
  out.variant = device_variant;
  out.nnz_a = context.derived.at("entries");
  take_order(e, w);
  number_all(e, w, out);
  give(e, options, w, out);
  out.output_seconds += lap(since);
}

// The same, or false where the host is to begin: it names the fault of a singular pattern.
bool try_all_on_device(elimination_input& e, const analysis_options& options, workspace& w,
                       supervision& s, analysis& out) {
  try {
    const auto reason = failure_of_device(find_variant(device_analysis), w, [&] {
      analyze_on_device(e, nullptr, options, w, s, out);
    });
    if (!reason) return true;
    fall_back(*reason, s, out);
  } catch (const input_error&) {
    w.made = nullptr;
    w.kept.reset();
  }
  return false;
}

void report(const analysis& found, supervision& s) {
  s.say("order " + found.order + ": " + std::to_string(found.order_seconds) + " s; " +
        found.variant + ": " + std::to_string(found.setup_seconds + found.analysis_seconds) +
        " s; nnz(L) " + std::to_string(found.nnz_l) + ", nnz(U) " + std::to_string(found.nnz_u));
}

void begin_result(index_t n, workspace& w, analysis& out) {
  out.n = n;
  out.diagonal_added = 0;
  out.fallback.clear();
  if (w.keeps && !out.supernodal.first_column.empty())
    w.lists = lists_of(std::move(out.supernodal));
  out.supernodal = {};
  out.device_l = out.device_u = {};
  out.device_supernodal = {};
  out.parent.clear();
  out.l_col_counts.clear();
  out.flops = 0;
  out.order_seconds = out.setup_seconds = out.analysis_seconds = out.output_seconds = 0;
}

// Analyses the pattern that `read` gives, with its numbering by rows.
template <class Read>
void analyze_checked(const Read& read, const analysis_options& options, workspace& w,
                     supervision& s, analysis& out) {
  auto since = clock::now();
  const checked_input in = read(w.arrays);
  check_options(options, in.a.n_rows);
  const std::vector<const variant_info*> candidates = choose_variants(options);
  begin_result(in.a.n_rows, w, out);
  const bool on_device = candidates.front()->device == "gpu";
  elimination_input e;
  e.a = in.a;
  if (device_does_all(options, on_device, e.a.n_rows) && suits_device(in, options)) {
    out.order_seconds = lap(since);
    if (try_all_on_device(e, options, w, s, out)) return report(out, s);
    e.row_of.clear();
  }
  permute_for_elimination(in, options, on_device, e, w, s, out);
  relax(options, e, w);
  if (options.tree) find_tree(e, out);
  out.order_seconds = lap(since);
  if (candidates.size() > 1) {
    const auto reason = failure_of_device(
        *candidates.front(), w, [&] { factorize(*candidates.front(), e, options, w, s, out); });
    if (!reason) return report(out, s);
    fall_back(*reason, s, out);
  }
  factorize(*candidates.back(), e, options, w, s, out);
  report(out, s);
}

foreign_rows rows_there(const auto& a) {
  return {.n = a.n,
          .nnz = a.nnz,
          .row_ptr = a.row_ptr,
          .col_idx = a.col_idx,
          .long_row_ptr = sizeof(*a.row_ptr) == sizeof(std::int64_t),
          .long_col_idx = sizeof(*a.col_idx) == sizeof(std::int64_t),
          .stream = a.stream,
          .matches = !matches_on_host};
}

// Analyses a pattern in device memory: there, or a copy of it on the host.
void analyze_there(const foreign_rows& there, const analysis_options& options, workspace& w,
                   supervision& s, analysis& out) {
  auto since = clock::now();
  if (there.n < 0) {
    throw input_error("pattern: order " + std::to_string(there.n) + " is negative");
  }
  const auto n = narrow<index_t>(there.n, "pattern: order");
  check_options(options, n);
  const variant_info& info = find_variant(device_analysis);
  if (const auto reason = info.unavailable()) {
    throw analysis_error(failure::unavailable, "a pattern in device memory: " + *reason);
  }
  const bool on_device = choose_variants(options).front()->device == "gpu";
  std::optional<std::string> failed;
  if (options.match && device_does_all(options, on_device, n)) {
    begin_result(n, w, out);
    elimination_input e;
    failed = failure_of_device(info, w, [&] { analyze_on_device(e, &there, options, w, s, out); });
    if (!failed) return report(out, s);
    s.say(*failed);
  }
  const pattern copy =
      n == 0 ? pattern() : dynamic_cast<takes_foreign_rows&>(*info.create()).fetch(there);
  s.say("the pattern was copied to the host");
  const double spent = lap(since);
  analyze_checked(
      [&](input_arrays& arrays) {
        return check_input(copy.n_rows, std::span(copy.row_ptr), std::span(copy.col_idx), by_rows,
                           arrays);
      },
      options, w, s, out);
  out.order_seconds += spent;
  if (failed) out.fallback = *failed + (out.fallback.empty() ? "" : "; " + out.fallback);
}

// Columns of L and U from an analysis of the transposed pattern: by columns, L is U of the other by
// rows without its diagonal, and U is L of the other with one.
void exchange_factors(const analysis_options& options, analysis& f) {
  const auto n = at(f.n);
  csc_pattern l{f.n, {}, {}}, u{f.n, {}, {}};
  l.col_ptr.reserve(n + 1);
  u.col_ptr.reserve(n + 1);
  l.row_idx.reserve(at(f.nnz_u) - n);
  u.row_idx.reserve(at(f.nnz_l) + n);
  l.col_ptr.push_back(0);
  u.col_ptr.push_back(0);
  f.l_row_counts.assign(n, 0);
  f.u_row_counts.assign(n, 0);
  for (index_t j = 0; j < f.n; ++j) {
    // The diagonal is the first entry of a row of U.
    for (const index_t i : f.u.row(j).subspan(1)) {
      l.row_idx.push_back(i);
      ++f.l_row_counts[at(i)];
    }
    for (const index_t i : f.l.row(j)) {
      u.row_idx.push_back(i);
      ++f.u_row_counts[at(i)];
    }
    u.row_idx.push_back(j);
    ++f.u_row_counts[at(j)];
    l.col_ptr.push_back(static_cast<offset_t>(l.row_idx.size()));
    u.col_ptr.push_back(static_cast<offset_t>(u.row_idx.size()));
  }
  f.nnz_l = static_cast<offset_t>(l.row_idx.size());
  f.nnz_u = static_cast<offset_t>(u.row_idx.size());
  f.l = f.u = {};
  if (options.factors) {
    const auto rows = [](const csc_pattern& p) {
      return rows_of(transpose({p.n, p.n, p.col_ptr, p.row_idx}));
    };
    f.l = rows(l);
    f.u = rows(u);
  }
  f.l_columns = std::move(l);
  f.u_columns = std::move(u);
}

// Orders that A and its transpose have in common, taken from A + A^T or from nowhere.
bool orders_transposed_alike(order_method order) {
  return order != order_method::colamd && order != order_method::best_of;
}

// `read` gives the columns of the caller's pattern as rows.
template <class Read>
void analyze_columns(const Read& read, const analysis_options& options, workspace& w,
                     supervision& s, analysis& out) {
  auto since = clock::now();
  input_arrays arrays;
  checked_input columns = read(arrays);
  const bool moves_rows = columns.missing > 0 && options.match;
  if (options.factor_columns && !options.supernodes && !moves_rows &&
      !asks_supernodes_of_columns(options) && orders_transposed_alike(options.order)) {
    analysis_options by_rows = options;
    by_rows.factors = true;
    by_rows.factor_columns = false;
    const double spent = lap(since);
    analyze_checked([&](input_arrays&) { return std::move(columns); }, by_rows, w, s, out);
    out.order_seconds += spent;
    since = clock::now();
    exchange_factors(options, out);
    out.output_seconds += lap(since);
    return;
  }
  const pattern rows = transpose(columns.a);
  columns.a = {};
  arrays = {};
  const double spent = lap(since);
  analyze_checked(
      [&](input_arrays&) {
        columns.a = rows;
        return std::move(columns);
      },
      options, w, s, out);
  out.order_seconds += spent;
}

// It takes no memory of its own: an empty string has none.
class host_out_of_memory final : public analysis_error {
 public:
  host_out_of_memory() : analysis_error(failure::out_of_memory, "") {}
  [[nodiscard]] const char* what() const noexcept override { return "the host is out of memory"; }
};

// How the views of the interface are read: functions of the arrays that copies may be made in.
auto read_rows(const auto& a) {
  return [&a](input_arrays& arrays) {
    return check_input(a.n, a.row_ptr, a.col_idx, by_rows, arrays);
  };
}
auto read_columns(const auto& a) {
  return [&a](input_arrays& arrays) {
    return check_input(a.n, a.col_ptr, a.row_idx, by_columns, arrays);
  };
}

// The rows of a view, whatever they are copied into.
struct input_rows {
  input_arrays arrays;
  pattern transposed;
  checked_input in;

  explicit input_rows(const auto& a) {
    if constexpr (requires { a.col_ptr; }) {
      in = read_columns(a)(arrays);
      transposed = transpose(in.a);
      in.a = transposed;
      arrays = {};
    } else {
      in = read_rows(a)(arrays);
    }
  }
  input_rows(const input_rows&) = delete;
  input_rows& operator=(const input_rows&) = delete;
};

// A process that a callback has forked leaves alone what another thread was writing.
struct leave_in_child {
  std::uint64_t process = process_number();
  template <class T>
  void operator()(T* value) const {
    if (process == process_number()) delete value;  // NOLINT(cppcoreguidelines-owning-memory)
  }
};
template <class T>
std::unique_ptr<T, leave_in_child> left_in_child() {
  return {new T, {}};
}

template <class View>
fill_profile profile_supervised(const View& a, std::int32_t cells, const analysis_options& options,
                                supervision& s) {
  const input_rows rows(a);
  const checked_input& in = rows.in;
  check_options({.threads = options.threads,
                 .memory_budget_mb = options.memory_budget_mb,
                 .order = order_method::natural,  // no order is computed, METIS not loaded
                 .progress = options.progress,
                 .progress_seconds = options.progress_seconds},
                in.a.n_rows);
  const pattern with = in.missing > 0 ? with_diagonal(in.a) : pattern{};
  const pattern_view p = in.missing > 0 ? with : in.a;
  fill_profile out;
  out.parent = elimination_tree_of_sum(p, transpose(p));
  const variant_info& info = public_variant("cpu_bitmap_panels");
  const run_settings settings = settings_for(info, options);
  s.enter(analysis_stage::analyze);
  run_context context;
  context.probe = &s.probe;
  context.stop = &s.stop;
  const std::unique_ptr<variant> v = info.create();
  v->prepare(p, settings, context);
  out.u_row_counts = run_once(*v, want::counts, context).u_row_counts;
  s.enter(analysis_stage::output);
  factor_profile found = v->profile(std::min(cells, p.n_rows));
  out.l_col_counts = std::move(found.l_col_counts);
  out.cells = found.cells;
  out.density = std::move(found.density);
  for (std::size_t k = 0; k < out.parent.size(); ++k) {
    const double l = out.l_col_counts[k];
    out.flops += l + 2 * l * (out.u_row_counts[k] - 1);
  }
  return out;
}

template <class View>
fill_profile profile_checked(const View& a, std::int32_t cells, const analysis_options& options) {
  if (cells < 0 || cells > 8192) {
    throw invalid_input("cells: " + std::to_string(cells) + " is not in [0, 8192]");
  }
  const auto out = left_in_child<fill_profile>();
  supervise(options, [&](supervision& s) { *out = profile_supervised(a, cells, options, s); });
  return std::move(*out);
}

// What `found` returns, every exception as one of this library's.
template <class Function>
decltype(auto) reporting(const Function& found) {
  try {
    return found();
  } catch (const analysis_error&) {
    throw;
  } catch (const callback_failure& e) {
    std::rethrow_exception(e.thrown);
  } catch (const overflow_error& e) {
    throw analysis_error(failure::overflow, e.what());
  } catch (const input_error& e) {
    throw invalid_input(e.what());
  } catch (const cancelled_error& e) {
    throw analysis_error(failure::cancelled, e.what());
  } catch (const unavailable_error& e) {
    throw analysis_error(failure::unavailable, e.what());
  } catch (const budget_error& e) {
    throw analysis_error(failure::out_of_memory, e.what());
  } catch (const std::bad_alloc&) {
    throw host_out_of_memory();
  } catch (const std::exception& e) {
    throw analysis_error(failure::internal, e.what());
  }
}

template <class View>
void analyze_into(const View& a, const analysis_options& options, workspace& w,
                  cancellation* cancelled_by, analysis& out) {
  const auto work = [&](supervision& s) {
    if constexpr (requires { a.col_ptr; }) {
      analyze_columns(read_columns(a), options, w, s, out);
    } else if constexpr (requires { a.stream; }) {
      analyze_there(rows_there(a), options, w, s, out);
    } else {
      analyze_checked(read_rows(a), options, w, s, out);
    }
  };
  supervise(options, work, cancelled_by);
}

template <class View>
analysis analyze_view(const View& a, const analysis_options& options) {
  return reporting([&] {
    const auto out = left_in_child<analysis>();
    const auto w = left_in_child<workspace>();
    analyze_into(a, options, *w, nullptr, *out);
    return std::move(*out);
  });
}

fill_estimate estimate_checked(const checked_input& in, const analysis_options& options,
                               workspace& w, supervision& s) {
  check_options(options, in.a.n_rows);
  const bool on_device = choose_variants(options).front()->device == "gpu";
  analysis out;
  begin_result(in.a.n_rows, w, out);
  elimination_input e;
  e.a = in.a;
  permute_for_elimination(in, options, on_device, e, w, s, out);
  return estimate_of(in, options, e, w, out);
}

template <class View>
fill_estimate estimate_view(const View& a, const analysis_options& options) {
  return reporting([&] {
    const auto kept = left_in_child<std::pair<fill_estimate, workspace>>();
    auto& [found, w] = *kept;
    const auto work = [&](supervision& s) {
      if constexpr (requires { a.col_ptr; }) {
        input_arrays arrays;
        checked_input columns = read_columns(a)(arrays);
        // Rows are a copy in any case.
        const pattern rows = transpose(columns.a);
        columns.a = rows;
        found = estimate_checked(columns, options, w, s);
        found.working_bytes += 8 * (offset_t{rows.n_rows} + 1) + 4 * rows.nnz();
      } else {
        found = estimate_checked(read_rows(a)(w.arrays), options, w, s);
      }
    };
    supervise(options, work);
    return std::move(kept->first);
  });
}

using taker = std::function<void(std::size_t, const analysis&)>;

// What `found` does for pattern k; the text of an exception begins with the number of the pattern.
template <class Function>
void numbered(std::size_t k, const Function& found) {
  const auto where = [k](const std::exception& e) {
    return "pattern " + std::to_string(k) + ": " + e.what();
  };
  try {
    reporting(found);
  } catch (const invalid_input& e) {
    throw invalid_input(where(e));
  } catch (const analysis_error& e) {
    if (e.kind() == failure::out_of_memory) throw;
    throw analysis_error(e.kind(), where(e));
  }
}

void hand_over(std::size_t k, const analysis& found, const taker& take) {
  const std::uint64_t process = process_number();
  try {
    take(k, found);
  } catch (...) {
    throw callback_failure{std::current_exception()};
  }
  if (process != process_number()) throw detail::lost_threads();
}

// Calls work(thread, k) for the numbers begin .. end - 1, one at a time on each thread.
template <class Work>
void for_each_pattern(int threads, std::size_t begin, std::size_t end, const Work& work) {
  parallel_ranges(threads, end - begin, std::size_t{1},
                  [&](int thread, std::size_t from, std::size_t to) {
                    for (std::size_t k = from; k < to; ++k) work(thread, begin + k);
                  });
}

// Analyses patterns begin .. end - 1 one by one, by objects that keep their storage; `fallback` is
// why no device does.
void analyze_each(std::span<const csr_view> patterns, std::size_t begin, std::size_t end,
                  const analysis_options& options, const std::string& fallback, const taker& take) {
  analysis_options own = options;
  const bool on_device = options.device == compute_device::gpu;
  const int threads = on_device ? 1 : useful_threads(host_threads(options), end - begin);
  if (!on_device) own.device = compute_device::cpu;
  own.threads = 1;
  std::vector<analyzer> by;
  for (int t = 0; t < threads; ++t) by.emplace_back(own);
  for_each_pattern(threads, begin, end, [&](int thread, std::size_t k) {
    const analysis* found = nullptr;
    numbered(k, [&] { found = &by[at(thread)].analyze(patterns[k]); });
    if (fallback.empty()) return hand_over(k, *found, take);
    analysis copy = *found;
    copy.fallback = fallback;
    hand_over(k, copy, take);
  });
}

// Whether the batch is for a device that analyses all of it at once. Panels have supernodes of
// columns, and a device that orders does all by itself.
bool is_for_device(std::span<const csr_view> patterns, const analysis_options& options) {
  if (options.device == compute_device::cpu || asks_supernodes_of_columns(options) ||
      options.order == order_method::gpu_nested_dissection ||
      (!options.variant.empty() && options.variant != batch_variant)) {
    return false;
  }
  offset_t rows = 0;
  for (const csr_view& a : patterns) rows += std::max(a.n, 0);
  const bool pays = rows >= least_device_order;
  const bool asked = options.device == compute_device::gpu || !options.variant.empty();
  return (asked || pays) && !find_variant(batch_variant).unavailable();
}

// Whether an analysis of `a` alone has the order of the device. So has that in a batch: the device
// is given such patterns one by one.
bool is_large(const csr_view& a, const analysis_options& options) {
  return a.n >= least_device_order && options.device != compute_device::cpu &&
         is_for_device_order(options, choose_variants(options).front()->device == "gpu", a.n);
}

void analyze_alone(std::span<const csr_view> patterns, std::size_t k,
                   const analysis_options& options, const taker& take) {
  analysis found;
  numbered(k, [&] { found = analyze_view(patterns[k], options); });
  hand_over(k, found, take);
}

// A pattern of a batch, matched, ordered and permuted.
struct batch_member {
  elimination_input e;
  std::vector<index_t> place;
  pattern permuted;
  analysis out;
};

batch_member order_member(const csr_view& a, const analysis_options& options, workspace& w) {
  auto since = clock::now();
  batch_member m;
  supervision s(options, false);
  const checked_input in = read_rows(a)(w.arrays);
  check_options(options, in.a.n_rows);
  begin_result(in.a.n_rows, w, m.out);
  m.e.a = in.a;
  permute_for_elimination(in, options, false, m.e, w, s, m.out);
  m.permuted = {m.e.a.n_rows,
                m.e.a.n_cols,
                {m.e.a.row_ptr.begin(), m.e.a.row_ptr.end()},
                {m.e.a.col_idx.begin(), m.e.a.col_idx.end()}};
  m.e.a = {};
  m.place = std::move(w.place);
  m.out.order_seconds = lap(since);
  return m;
}

// Finds L and U of all members at once; the result is that of their direct sum.
void eliminate_members(const direct_sum& sum, const analysis_options& options, workspace& w,
                       analysis& of_sum) {
  analysis_options own = options;
  own.chunk_size = sum.chunk_size();
  supervision s(own, false);
  elimination_input e;
  e.a = sum.all();
  run_context context;
  run_variant(find_variant(batch_variant), e, nullptr, own, w, context, s, of_sum);
}

// The rows of a direct sum: where one of its patterns is longer than a chunk, all begin with one.
class batch_rows {
 public:
  explicit batch_rows(index_t chunk) : chunk_(chunk) {}
  void add(index_t n) {
    longest_ = std::max(longest_, n);
    rows_ += std::max(n, 0);
    padded_ += padded(n);
  }
  [[nodiscard]] offset_t with(index_t n) const {
    const bool pads = chunk_ > 0 && std::max(longest_, n) > chunk_;
    return pads ? padded_ + padded(n) : rows_ + std::max(n, 0);
  }

 private:
  [[nodiscard]] offset_t padded(index_t n) const {
    const offset_t rows = std::max(n, 0);
    return chunk_ > 0 ? (rows + chunk_ - 1) / chunk_ * chunk_ : rows;
  }

  index_t chunk_;
  index_t longest_ = 0;
  offset_t rows_ = 0, padded_ = 0;
};

// Patterns begin .. end - 1 at once on the device; where that fails, the host has its turn unless
// the device was asked for.
void analyze_at_once(std::span<const csr_view> patterns, std::size_t begin, std::size_t end,
                     const analysis_options& options, const taker& take) {
  const int threads = useful_threads(host_threads(options), end - begin);
  analysis_options own = options;
  own.threads = 1;
  std::vector<workspace> by(at(threads));
  for (workspace& w : by) w.keeps = true;
  std::vector<batch_member> members(end - begin);
  for_each_pattern(threads, begin, end, [&](int thread, std::size_t k) {
    numbered(k, [&] { members[k - begin] = order_member(patterns[k], own, by[at(thread)]); });
  });
  std::vector<pattern_view> views;
  views.reserve(members.size());
  for (const batch_member& m : members) views.push_back(m.permuted);
  direct_sum sum(options.supernodes ? options.chunk_size : 0, views);
  for_each_pattern(threads, begin, end, [&](int, std::size_t k) {
    sum.put(k - begin, views[k - begin]);
    members[k - begin].permuted = {};
  });
  workspace of_sum;
  analysis times;
  const auto eliminate = [&] {
    if (sum.all().n_rows > 0) eliminate_members(sum, own, of_sum, times);
  };
  if (options.device == compute_device::automatic && options.variant.empty()) {
    const auto failed = failure_of_device(find_variant(batch_variant), of_sum, eliminate);
    if (failed) return analyze_each(patterns, begin, end, options, *failed, take);
  } else {
    eliminate();
  }
  const auto share = 1.0 / static_cast<double>(end - begin);
  const want_set wants = wants_of(options);
  for_each_pattern(threads, begin, end, [&](int thread, std::size_t k) {
    auto since = clock::now();
    workspace& w = by[at(thread)];
    batch_member m = std::move(members[k - begin]);
    numbered(k, [&] {
      w.found = sum.part(k - begin, of_sum.found, wants);
      w.place = std::move(m.place);
      m.e.a.n_rows = w.found.l.n_rows;
      m.out.variant = batch_variant;
      give(m.e, options, w, m.out);
    });
    m.out.setup_seconds = times.setup_seconds * share;
    m.out.analysis_seconds = times.analysis_seconds * share;
    m.out.output_seconds = times.output_seconds * share + lap(since);
    hand_over(k, m.out, take);
  });
}

template <class View>
std::vector<std::int32_t> tree_of_view(const View& a) {
  return reporting([&] {
    const input_rows rows(a);
    return elimination_tree_of_sum(rows.in.a, transpose(rows.in.a));
  });
}

}  // namespace

analysis_error::analysis_error(failure kind, const std::string& message)
    : std::runtime_error(message), kind_(kind) {}
analysis_error::~analysis_error() = default;
invalid_input::invalid_input(const std::string& message)
    : analysis_error(failure::invalid_input, message) {}
invalid_input::~invalid_input() = default;

analysis analyze(const csr_view& a, const analysis_options& options) {
  return analyze_view(a, options);
}

template <class View>
analysis analyze(const View& a, const analysis_options& options) {
  return analyze_view(a, options);
}

void analyze_batch(std::span<const csr_view> patterns, const analysis_options& options,
                   const std::function<void(std::size_t, const analysis&)>& take) {
  reporting([&] {
    if (options.progress || options.log) {
      throw invalid_input("options: a batch has no progress and no log");
    }
    const bool at_once = is_for_device(patterns, options);
    const index_t chunk = options.supernodes ? options.chunk_size : 0;
    for (std::size_t begin = 0; begin < patterns.size();) {
      if (is_large(patterns[begin], options)) {
        analyze_alone(patterns, begin++, options, take);
        continue;
      }
      batch_rows rows(chunk);
      std::size_t end = begin;
      do rows.add(patterns[end++].n);
      while (end < patterns.size() && !is_large(patterns[end], options) &&
             (!at_once || rows.with(patterns[end].n) <= most_batch_rows));
      if (at_once) {
        analyze_at_once(patterns, begin, end, options, take);
      } else {
        analyze_each(patterns, begin, end, options, "", take);
      }
      begin = end;
    }
  });
}

namespace {

// Parts of analyzers that a forked process leaves alone: a chain, where a search for leaks finds
// them.
constinit std::atomic<void*> forgotten{nullptr};

}  // namespace

struct analyzer::state {
  // What the analyses of one process work in and with. Those of a forked process leave it alone: it
  // may be half written, and its thread does not exist there.
  struct parts {
    workspace kept;
    analysis found;
    std::shared_ptr<pending_analysis::state> last;  // of start()
    work_thread worker;
    cancellation stop;              // of analyze()
    std::atomic<bool> busy{false};  // with analyze()
    std::atomic<bool> left{false};  // by its owner, to analyze()
    const std::uint64_t process = process_number();
    void* next = nullptr;  // of those that are left alone

    parts() { kept.keeps = true; }
    parts(const parts&) = delete;
    parts& operator=(const parts&) = delete;
    ~parts() {
      if (last == nullptr) return;
      last->stop.request();
      if (!last->ended()) last->wait();
      last->withdraw();
    }
  };

  analysis_options options;
  std::unique_ptr<parts> own = std::make_unique<parts>();

  state() = default;
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() { leave(std::move(own)); }

  // Ends the parts now, or, where a callback of their analysis calls, once that has ended.
  static void leave(std::unique_ptr<parts> parts) noexcept {
    if (parts->process != process_number()) return forget(parts.release());
    if (parts->busy) {
      parts->left = true;
      parts->stop.silence();
      static_cast<void>(parts.release());
    } else if (parts->last != nullptr && parts->last->is_done_here()) {
      parts->last->stop.silence();
      work_thread& worker = parts->worker;
      worker.end_with([of = parts.release()] { delete of; });  // NOLINT
    }
  }
  static void forget(parts* of) noexcept {
    of->next = forgotten;
    while (!forgotten.compare_exchange_weak(of->next, of)) {
    }
  }

  // Before another analysis.
  parts& taken_back() {
    if (own->process != process_number()) {
      auto fresh = std::make_unique<parts>();
      forget(own.release());
      own = std::move(fresh);
    }
    if (own->busy || (own->last != nullptr && !own->last->ended())) {
      throw invalid_input("analyzer: an analysis has not ended yet");
    }
    if (own->last != nullptr) own->last->withdraw();
    own->last = nullptr;
    return *own;
  }
};

namespace {

// The caller's functions are gone when it has ended.
template <class View>
void analyze_pending(const View& a, analysis_options&& given, workspace& kept, analysis& found,
                     pending_state& pending) {
  std::exception_ptr failed;
  try {
    const analysis_options with = std::move(given);
    reporting([&] { analyze_into(a, with, kept, &pending.stop, found); });
  } catch (...) {
    failed = std::current_exception();
  }
  pending.end(failed, failed ? nullptr : &found);
}

}  // namespace

analyzer::analyzer(analysis_options options) : state_(std::make_unique<state>()) {
  state_->options = std::move(options);
}
analyzer::~analyzer() = default;
analyzer::analyzer(analyzer&&) noexcept = default;
analyzer& analyzer::operator=(analyzer&& o) noexcept {
  if (this == &o) return *this;
  const analyzer before(std::move(*this));  // a callback of its own analysis may look at this one
  state_ = std::move(o.state_);
  return *this;
}
analysis_options& analyzer::options() { return state_->options; }

const analysis& analyzer::analyze(const csr_view& a) { return analyze<csr_view>(a); }

template <class View>
const analysis& analyzer::analyze(const View& a) {
  return reporting([&]() -> const analysis& {
    state::parts& with = state_->taken_back();
    const analysis_options options = state_->options;
    with.busy = true;
    const auto end = [&] {
      with.busy = false;
      if (!with.left) return false;
      delete &with;  // NOLINT(cppcoreguidelines-owning-memory)
      return true;
    };
    try {
      analyze_into(a, options, with.kept, &with.stop, with.found);
    } catch (...) {
      if (with.process == process_number()) end();
      throw;
    }
    if (end()) throw cancelled_error();
    return with.found;
  });
}

template <class View>
pending_analysis analyzer::start(const View& a) {
  return reporting([&] {
    state::parts& with = state_->taken_back();
    const auto pending = std::make_shared<pending_analysis::state>();
    with.last = pending;
    try {
      with.worker.give(
          [&with, a, pending, options = state_->options, device = thread_device()]() mutable {
            use_thread_device(device);
            analyze_pending(a, std::move(options), with.kept, with.found, *pending);
          });
    } catch (...) {
      with.last = nullptr;
      throw;
    }
    return pending_analysis(pending);
  });
}

fill_profile profile(const csr_view& a, std::int32_t cells, int threads) {
  return reporting([&] { return profile_checked(a, cells, {.threads = threads}); });
}

fill_profile profile(const csr_view& a, std::int32_t cells, const analysis_options& options) {
  return reporting([&] { return profile_checked(a, cells, options); });
}

template <class View>
fill_profile profile(const View& a, std::int32_t cells, int threads) {
  return reporting([&] { return profile_checked(a, cells, {.threads = threads}); });
}

std::vector<std::int32_t> elimination_tree(const csr_view& a) { return tree_of_view(a); }

template <class View>
std::vector<std::int32_t> elimination_tree(const View& a) {
  return tree_of_view(a);
}

#define GSOFA_INSTANTIATE(View)                                                    \
  template GSOFA_API analysis analyze(const View&, const analysis_options&);       \
  template GSOFA_API fill_estimate estimate(const View&, const analysis_options&); \
  template GSOFA_API fill_profile profile(const View&, std::int32_t, int);         \
  template GSOFA_API std::vector<std::int32_t> elimination_tree(const View&)
GSOFA_INSTANTIATE(csr_view_32);
GSOFA_INSTANTIATE(csr_view_64);
GSOFA_INSTANTIATE(csc_view);
GSOFA_INSTANTIATE(csc_view_32);
GSOFA_INSTANTIATE(csc_view_64);
#undef GSOFA_INSTANTIATE
template GSOFA_API pending_analysis analyzer::start(const csr_view&);
#define GSOFA_INSTANTIATE(View)                                      \
  template GSOFA_API const analysis& analyzer::analyze(const View&); \
  template GSOFA_API pending_analysis analyzer::start(const View&)
GSOFA_INSTANTIATE(csr_view_32);
GSOFA_INSTANTIATE(csr_view_64);
GSOFA_INSTANTIATE(csc_view);
GSOFA_INSTANTIATE(csc_view_32);
GSOFA_INSTANTIATE(csc_view_64);
GSOFA_INSTANTIATE(device_csr_view);
GSOFA_INSTANTIATE(device_csr_view_32);
GSOFA_INSTANTIATE(device_csr_view_64);
#undef GSOFA_INSTANTIATE
template GSOFA_API analysis analyze(const device_csr_view&, const analysis_options&);
template GSOFA_API analysis analyze(const device_csr_view_32&, const analysis_options&);
template GSOFA_API analysis analyze(const device_csr_view_64&, const analysis_options&);

std::vector<supernode_range> relaxed_supernodes(std::span<const std::int32_t> parent,
                                                std::int32_t relax) {
  return reporting([&] {
    std::vector<supernode_range> out;
    for (const column_range& r : relaxed_leaves(parent, relax)) out.push_back({r.begin, r.end});
    return out;
  });
}

tree_levels level_sets(std::span<const std::int32_t> parent) {
  return reporting([&] {
    forest_levels found = levels_of_forest(parent);
    return tree_levels{std::move(found.begin), std::move(found.vertices)};
  });
}

std::vector<std::int32_t> tree_postorder(std::span<const std::int32_t> parent) {
  return reporting([&] {
    validate_forest(parent);
    std::vector<index_t> roots_negative(parent.begin(), parent.end());
    std::ranges::replace(roots_negative, static_cast<index_t>(parent.size()), -1);
    return postorder(roots_negative);
  });
}

fill_estimate estimate(const csr_view& a, const analysis_options& options) {
  return estimate_view(a, options);
}

template <class View>
fill_estimate estimate(const View& a, const analysis_options& options) {
  return estimate_view(a, options);
}

std::vector<variant_description> variants() {
  std::vector<variant_description> out;
  for (const variant_info& v : all_variants()) {
    if (is_public(v)) out.push_back({v.name, v.device, v.summary, v.unavailable().value_or("")});
  }
  return out;
}

bool has_metis() noexcept {
  try {
    return !metis_fault();
  } catch (const std::exception&) {
    return false;
  }
}

const char* version() noexcept { return GSOFA_VERSION; }

}  // namespace gsofa
