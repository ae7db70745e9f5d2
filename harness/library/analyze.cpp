#include <algorithm>
#include <chrono>
#include <new>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "common/preprocess.hpp"
#include "common/variant.hpp"
#include "gsofa/gsofa.hpp"

namespace gsofa {

namespace {

using clock = std::chrono::steady_clock;

// Seconds since `since`, which becomes now.
double lap(clock::time_point& since) {
  const auto now = clock::now();
  return std::chrono::duration<double>(now - std::exchange(since, now)).count();
}

// The caller's pattern with rows sorted and duplicates merged.
pattern sorted_pattern(const csr_view& a) {
  auto fail = [](const std::string& why) { throw invalid_input("pattern: " + why); };
  if (a.n < 1) fail("order " + std::to_string(a.n) + "; at least 1 is needed");
  if (a.row_ptr.size() != at(a.n) + 1) {
    fail("row_ptr has " + std::to_string(a.row_ptr.size()) + " entries; order " +
         std::to_string(a.n) + " needs " + std::to_string(at(a.n) + 1));
  }
  if (a.row_ptr[0] != 0) fail("row_ptr begins with " + std::to_string(a.row_ptr[0]) + ", not 0");
  for (index_t i = 0; i < a.n; ++i) {
    if (a.row_ptr[at(i) + 1] < a.row_ptr[at(i)]) {
      fail("row_ptr decreases from " + std::to_string(a.row_ptr[at(i)]) + " to " +
           std::to_string(a.row_ptr[at(i) + 1]) + " at row " + std::to_string(i));
    }
  }
  if (a.row_ptr.back() != static_cast<offset_t>(a.col_idx.size())) {
    fail("row_ptr ends with " + std::to_string(a.row_ptr.back()) + "; col_idx has " +
         std::to_string(a.col_idx.size()) + " entries");
  }
  pattern out;
  out.n_rows = out.n_cols = a.n;
  out.row_ptr.reserve(a.row_ptr.size());
  out.col_idx.reserve(a.col_idx.size());
  for (index_t i = 0; i < a.n; ++i) {
    bool ascending = true;
    index_t previous = -1;
    for (const index_t j : a.row(i)) {
      if (j < 0 || j >= a.n) {
        fail("row " + std::to_string(i) + ": column " + std::to_string(j) + " is outside [0, " +
             std::to_string(a.n) + ")");
      }
      ascending = ascending && j > previous;
      previous = j;
      out.col_idx.push_back(j);
    }
    if (!ascending) {
      const auto begin = out.col_idx.begin() + out.row_ptr.back();
      std::sort(begin, out.col_idx.end());
      out.col_idx.erase(std::unique(begin, out.col_idx.end()), out.col_idx.end());
    }
    out.row_ptr.push_back(static_cast<offset_t>(out.col_idx.size()));
  }
  return out;
}

const char* order_name(order_method order) {
  switch (order) {
    case order_method::automatic:
      return has_metis() ? "metis" : "amd";
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
  }
  throw invalid_input("order: " + std::to_string(static_cast<int>(order)) + " is no order_method");
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
  if (o.most_columns < 0) fail("most_columns", o.most_columns, "0 or more");
  if (o.relax < 1) fail("relax", o.relax, "1 or more");
  if (o.relax > 1 && !o.relaxed.empty()) {
    throw invalid_input("relax and relaxed: only one of them may be set");
  }
  const std::string order = order_name(o.order);
  if (order == "given") {
    validate_permutation(o.permutation, n, "permutation");
  } else if (!o.permutation.empty()) {
    throw invalid_input("permutation: set, but the order is " + order + ", not given");
  }
  if (order == "metis" && !has_metis()) {
    throw analysis_error(failure::unavailable, "order: this build has no METIS");
  }
}

int host_threads(const analysis_options& options) {
  return options.threads > 0 ? options.threads
                             : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

permuted_pattern permute_for_elimination(pattern a, const analysis_options& options,
                                         analysis& out) {
  out.order = order_name(options.order);
  const bool given = out.order == "given";
  matched_pattern m = match_and_order(std::move(a), {.match = options.match ? match_mode::automatic
                                                                            : match_mode::none,
                                                     .order = given ? "natural" : out.order,
                                                     .threads = host_threads(options)})
                          .matching;
  if (m.structural_rank < out.n) {
    throw invalid_input("pattern: structurally singular: structural rank " +
                        std::to_string(m.structural_rank) + " of " + std::to_string(out.n) +
                        " (match = false adds the missing diagonal entries instead)");
  }
  out.diagonal_added = m.diagonal_added;
  permuted_pattern& p = m.matched;
  if (given) reorder(p, options.permutation, false);
  out.nnz_a = p.a.nnz();
  return std::move(p);
}

// Variants that any caller may name: right, exact, in one process.
bool is_public(const variant_info& v) {
  return v.planted.empty() && v.exact && !v.distributed && v.gives == want_set::all();
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
    const variant_info& gpu = public_variant("gpu_bitmap_panels");
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

run_settings settings_for(const variant_info& info, const analysis_options& options) {
  run_settings s;
  s.options = option_set(info.options);
  const auto budget = std::ranges::find(info.options, "memory_budget_mb", &option_spec::name);
  if (options.memory_budget_mb > 0 && budget != info.options.end()) {
    s.options.set(info.options, budget->name, std::to_string(options.memory_budget_mb));
  }
  s.wants = want::counts;
  s.runs_once = true;
  s.supernodal = options.supernodal || options.relax > 1 || !options.relaxed.empty();
  if (options.factors || (s.supernodal && !info.supernodal)) s.wants |= want::pattern;
  if (options.supernodes) s.wants |= want::supernodes;
  s.threads = host_threads(options);
  s.chunk_size = options.chunk_size;
  return s;
}

supernodal_factors moved(supernodal_pattern&& s) {
  return {std::move(s.begin), std::move(s.row_begin), std::move(s.rows), std::move(s.segment_begin),
          std::move(s.segments)};
}

csr_pattern moved(pattern& p) { return {p.n_rows, std::move(p.row_ptr), std::move(p.col_idx)}; }

// What a variant factorizes: the permuted pattern, whose relaxed supernodes are padded or, where
// nobody asks for explicit rows, shrunk to a vertex each, which takes less time and room.
struct input {
  pattern a;
  std::vector<column_range> fixed;  // supernodes of a
  std::vector<column_range> of;     // columns that each vertex of a stands for; empty: its own
};

input with_relaxed_supernodes(pattern a, const analysis_options& options) {
  std::vector<column_range> ranges;
  if (options.relax > 1) {
    ranges = relaxed_leaves(elimination_tree(symmetrized(a, diagonal::drop)), options.relax);
  }
  for (const supernode_range& r : options.relaxed) ranges.push_back({r.begin, r.end});
  if (std::ranges::none_of(ranges, [](column_range r) { return r.end - r.begin > 1; })) {
    return {std::move(a), std::move(ranges), {}};
  }
  if (options.factors || options.supernodes) return {pad_leaves(a, ranges), std::move(ranges), {}};
  contraction c = contract_leaves(a, ranges);
  return {std::move(c.a), std::move(c.fixed), std::move(c.of)};
}

void factorize(const variant_info& info, const input& of, const analysis_options& options,
               analysis& out) {
  auto since = clock::now();
  const run_settings settings = settings_for(info, options);
  run_context context;
  const std::unique_ptr<variant> v = info.create();
  v->prepare(of.a, settings, context);
  out.setup_seconds = lap(since);
  run_timed(*v, context);
  out.analysis_seconds = lap(since);
  result r = v->collect(settings.wants);
  out.nnz_l = r.nnz_l;
  out.nnz_u = r.nnz_u;
  out.l_row_counts = std::move(r.l_row_counts);
  out.u_row_counts = std::move(r.u_row_counts);
  out.supernode_starts = std::move(r.supernode_starts);
  if (options.supernodal || !of.of.empty()) {
    // What collect() has handed over, a variant may have no more.
    const supernode_rule rule{.most_columns = options.most_columns, .fixed = of.fixed};
    supernodal_pattern s =
        settings.wants.has(want::pattern) ? supernodal_of(r.l, r.u, rule) : v->supernodal(rule);
    if (!of.of.empty()) {
      const row_counts contracted{std::move(out.l_row_counts), std::move(out.u_row_counts)};
      row_counts all = expand_leaves(contracted, s, of.of);
      out.nnz_l = std::accumulate(all.l.begin(), all.l.end(), offset_t{0});
      out.nnz_u = std::accumulate(all.u.begin(), all.u.end(), offset_t{0});
      out.l_row_counts = std::move(all.l);
      out.u_row_counts = std::move(all.u);
      s = expand_leaves(s, of.of);
    }
    if (options.supernodal) out.supernodal = moved(std::move(s));
  }
  if (options.factors) {
    out.l = moved(r.l);
    out.u = moved(r.u);
  }
  out.output_seconds = lap(since);
  out.variant = info.name;
}

// Runs the variant on the device; returns why it failed if the host may still succeed.
std::optional<std::string> failure_of_device(const variant_info& info, const input& a,
                                             const analysis_options& options, analysis& out) {
  try {
    factorize(info, a, options, out);
    return std::nullopt;
  } catch (const input_error&) {
    throw;
  } catch (const error& e) {
    return info.name + ": " + e.what();
  }
}

analysis analyze_checked(const csr_view& a, const analysis_options& options) {
  auto since = clock::now();
  pattern sorted = sorted_pattern(a);
  check_options(options, a.n);
  const std::vector<const variant_info*> candidates = choose_variants(options);
  analysis out;
  out.n = a.n;
  permuted_pattern p = permute_for_elimination(std::move(sorted), options, out);
  out.row_order = std::move(p.row_order);
  out.col_order = std::move(p.col_order);
  const input permuted = with_relaxed_supernodes(std::move(p.a), options);
  out.order_seconds = lap(since);
  if (candidates.size() > 1) {
    const auto reason = failure_of_device(*candidates.front(), permuted, options, out);
    if (!reason) return out;
    out.fallback = *reason;
  }
  factorize(*candidates.back(), permuted, options, out);
  return out;
}

// It takes no memory of its own: an empty string has none.
class host_out_of_memory final : public analysis_error {
 public:
  host_out_of_memory() : analysis_error(failure::out_of_memory, "") {}
  [[nodiscard]] const char* what() const noexcept override { return "the host is out of memory"; }
};

fill_profile profile_checked(const csr_view& a, std::int32_t cells, int threads) {
  if (threads < 0) throw invalid_input("threads: " + std::to_string(threads) + " is not 0 or more");
  if (cells < 0 || cells > 8192) {
    throw invalid_input("cells: " + std::to_string(cells) + " is not in [0, 8192]");
  }
  const pattern p = match_diagonal(sorted_pattern(a), match_mode::none).matched.a;
  fill_profile out;
  out.parent = elimination_tree(symmetrized(p, diagonal::drop));
  const variant_info& info = public_variant("cpu_bitmap_panels");
  const run_settings settings = settings_for(info, {.threads = threads});
  run_context context;
  const std::unique_ptr<variant> v = info.create();
  v->prepare(p, settings, context);
  out.u_row_counts = run_once(*v, want::counts, context).u_row_counts;
  factor_profile found = v->profile(std::min(cells, a.n));
  out.l_col_counts = std::move(found.l_col_counts);
  out.cells = found.cells;
  out.density = std::move(found.density);
  for (std::size_t k = 0; k < out.parent.size(); ++k) {
    const double l = out.l_col_counts[k];
    out.flops += l + 2 * l * (out.u_row_counts[k] - 1);
  }
  return out;
}

// What `found` returns, every exception as one of this library's.
template <class Function>
auto reporting(const Function& found) {
  try {
    return found();
  } catch (const analysis_error&) {
    throw;
  } catch (const input_error& e) {
    throw invalid_input(e.what());
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

}  // namespace

analysis_error::analysis_error(failure kind, const std::string& message)
    : std::runtime_error(message), kind_(kind) {}
analysis_error::~analysis_error() = default;
invalid_input::invalid_input(const std::string& message)
    : analysis_error(failure::invalid_input, message) {}
invalid_input::~invalid_input() = default;

analysis analyze(const csr_view& a, const analysis_options& options) {
  return reporting([&] { return analyze_checked(a, options); });
}

fill_profile profile(const csr_view& a, std::int32_t cells, int threads) {
  return reporting([&] { return profile_checked(a, cells, threads); });
}

std::vector<std::int32_t> elimination_tree(const csr_view& a) {
  return reporting(
      [&] { return elimination_tree(symmetrized(sorted_pattern(a), diagonal::drop)); });
}

std::vector<supernode_range> relaxed_supernodes(std::span<const std::int32_t> parent,
                                                std::int32_t relax) {
  return reporting([&] {
    std::vector<supernode_range> out;
    for (const column_range& r : relaxed_leaves(parent, relax)) out.push_back({r.begin, r.end});
    return out;
  });
}

std::vector<variant_description> variants() {
  std::vector<variant_description> out;
  for (const variant_info& v : all_variants()) {
    if (is_public(v)) out.push_back({v.name, v.device, v.summary, v.unavailable().value_or("")});
  }
  return out;
}

bool has_metis() noexcept {
#ifdef GSOFA_HAVE_METIS
  return true;
#else
  return false;
#endif
}

const char* version() noexcept { return GSOFA_VERSION; }

}  // namespace gsofa
