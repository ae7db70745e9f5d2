#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "gsofa/gsofa.h"
#include "gsofa/gsofa.hpp"
#include "harness/library/c/from_c.hpp"
#include "harness/library/c/last_error.hpp"

using namespace gsofa::library;

struct gsofa_analysis {
  gsofa_analysis(gsofa::analysis f, const gsofa_options& o)
      : own(std::move(f)), found(own), options(o) {}
  /// Of an analyzer.
  gsofa_analysis(const gsofa::analysis* f, const gsofa_options& o) : found(*f), options(o) {}
  gsofa_analysis(const gsofa_analysis&) = delete;
  gsofa_analysis& operator=(const gsofa_analysis&) = delete;

  gsofa::analysis own;
  const gsofa::analysis& found;
  gsofa_options options;
};

struct gsofa_analyzer {
  gsofa::analyzer analyzer;
  std::unique_ptr<gsofa_analysis> result;
};

namespace {

// The indices of a view by rows or by columns.
auto indices_of(const auto& view) {
  if constexpr (requires { view.col_idx; }) {
    return view.col_idx;
  } else {
    return view.row_idx;
  }
}

struct owning_profile : gsofa_profile {
  gsofa::fill_profile found;
};

gsofa_status fail(gsofa_status status, const char* message) {
  set_last_error(message);
  return status;
}
gsofa_status null_argument() { return fail(GSOFA_INVALID_INPUT, "an argument is NULL"); }

// Calls call() and returns the status of what it throws.
template <class Call>
gsofa_status status_of(const Call& call) {
  try {
    call();
    return GSOFA_OK;
  } catch (const gsofa::analysis_error& e) {
    return fail(static_cast<gsofa_status>(e.kind()), e.what());
  } catch (const std::bad_alloc&) {
    return fail(GSOFA_OUT_OF_MEMORY, "the host is out of memory");
  } catch (const std::exception& e) {
    return fail(GSOFA_INTERNAL_ERROR, e.what());
  } catch (...) {
    return fail(GSOFA_INTERNAL_ERROR, "unknown exception");
  }
}

std::span<const std::int32_t> tree_of(std::int32_t n, const std::int32_t* parent) {
  if (n < 0) throw gsofa::invalid_input("n: " + std::to_string(n) + " is not 0 or more");
  return {parent, static_cast<std::size_t>(n)};
}

template <class Pattern>
gsofa_status analyze(const Pattern* a, const gsofa_options* options, gsofa_analysis** out) {
  if (out == nullptr) return fail(GSOFA_INVALID_INPUT, "out is NULL");
  *out = nullptr;
  if (a == nullptr) return fail(GSOFA_INVALID_INPUT, "the pattern is NULL");
  return status_of([&] {
    const gsofa_options known = known_options(options);
    with_view(*a, [&](const auto& view) {
      // NOLINTNEXTLINE(cppcoreguidelines-owning-memory)
      *out = new gsofa_analysis(gsofa::analyze(view, options_of(known, view.n)), known);
    });
  });
}

// *out is the result of find(analyzer, view of a).
template <class Pattern, class Find>
gsofa_status by_analyzer(gsofa_analyzer* by, const Pattern* a, const gsofa_options* options,
                         const gsofa_analysis** out, const Find& find) {
  if (out != nullptr) *out = nullptr;
  if (by == nullptr || a == nullptr || out == nullptr) return null_argument();
  return status_of([&] {
    const gsofa_options known = known_options(options);
    with_view(*a, [&](const auto& view) {
      by->analyzer.options() = options_of(known, view.n);
      by->result = std::make_unique<gsofa_analysis>(&find(by->analyzer, view), known);
      *out = by->result.get();
    });
  });
}

template <class Pattern>
gsofa_status analyze(gsofa_analyzer* by, const Pattern* a, const gsofa_options* options,
                     const gsofa_analysis** out) {
  return by_analyzer(by, a, options, out,
                     [](gsofa::analyzer& with, const auto& view) -> const gsofa::analysis& {
                       return with.analyze(view);
                     });
}

template <class Pattern>
gsofa_status update(gsofa_analyzer* by, const Pattern* a, const std::int32_t* previous,
                    const gsofa_options* options, const gsofa_analysis** out) {
  return by_analyzer(by, a, options, out,
                     [&](gsofa::analyzer& with, const auto& view) -> const gsofa::analysis& {
                       const std::size_t rows = previous == nullptr || view.n < 0 ? 0 : view.n;
                       return with.update(view, {previous, rows});
                     });
}

gsofa_factor rows_of(const gsofa::csr_pattern& p) { return {p.row_ptr.data(), p.col_idx.data()}; }
gsofa_factor columns_of(const gsofa::csc_pattern& p) {
  return {p.col_ptr.data(), p.row_idx.data()};
}
gsofa_device_pattern on_device(const gsofa::device_csr_view& p) {
  return {p.n, p.nnz, p.row_ptr, p.col_idx, GSOFA_INDEX_64_32, nullptr};
}

gsofa_result result_of(const gsofa::analysis& f, const gsofa_options& options) {
  gsofa_result r{};
  r.n = f.n;
  r.diagonal_added = f.diagonal_added;
  r.nnz_a = f.nnz_a;
  r.nnz_l = f.nnz_l;
  r.nnz_u = f.nnz_u;
  r.row_order = f.row_order.data();
  r.col_order = f.col_order.data();
  r.l_row_counts = f.l_row_counts.data();
  r.u_row_counts = f.u_row_counts.data();
  if (options.factors != 0 && f.device_l.n == 0) {
    r.l = rows_of(f.l);
    r.u = rows_of(f.u);
  }
  if (options.factor_columns != 0) {
    r.l_columns = columns_of(f.l_columns);
    r.u_columns = columns_of(f.u_columns);
  }
  if (options.supernodes != 0) {
    r.supernode_count = static_cast<std::int32_t>(f.supernode_starts.size());
    r.supernode_starts = f.supernode_starts.data();
  }
  const gsofa::device_supernodal_factors& d = f.device_supernodal;
  if (options.supernodal != 0 && d.supernodes == 0) {
    const gsofa::supernodal_factors& s = f.supernodal;
    r.supernodal = {s.supernodes(), s.first_column.data(),  s.row_begin.data(),
                    s.rows.data(),  s.segment_begin.data(), s.segments.data()};
  }
  if (options.masks != 0) {
    const gsofa::mask_factors& m = f.masks;
    r.masks = {m.panels(), m.first_vertex.data(), m.position_begin.data(), m.vertices.data(),
               m.masks.data()};
  }
  if (options.tree != 0) {
    r.parent = f.parent.data();
    r.l_col_counts = f.l_col_counts.data();
    r.flops = f.flops;
  }
  r.device_l = on_device(f.device_l);
  r.device_u = on_device(f.device_u);
  r.device_supernodal = {d.supernodes, d.first_column,  d.row_begin,
                         d.rows,       d.segment_begin, d.segments};
  r.variant = f.variant.c_str();
  r.order = f.order.c_str();
  r.fallback = f.fallback.c_str();
  r.order_note = f.order_note.c_str();
  r.warning = f.warning.c_str();
  r.order_seconds = f.order_seconds;
  r.setup_seconds = f.setup_seconds;
  r.analysis_seconds = f.analysis_seconds;
  r.output_seconds = f.output_seconds;
  r.update_kind = static_cast<int>(f.update.kind);
  r.update_compared = f.update.compared ? 1 : 0;
  r.rows_changed = f.update.rows_changed;
  r.vertices_moved = f.update.vertices_moved;
  return r;
}

// Writes `size` bytes: of a structure whose first member is its size, zero where it is longer here.
template <class Struct>
void write_sized(Struct from, void* to, std::size_t size) {
  std::memset(to, 0, size);
  std::memcpy(to, &from, std::min(size, sizeof from));
}

// The algorithms of this build, described once.
struct variant_list {
  std::uint64_t process = gsofa::process_number();
  const variant_list* before = nullptr;  // of a parent: somebody may hold it
  std::vector<gsofa::variant_description> described = gsofa::variants();
  std::vector<gsofa_variant> entries;
  variant_list() {
    for (const auto& v : described) {
      entries.push_back(
          {v.name.c_str(), v.device.c_str(), v.summary.c_str(), v.unavailable.c_str()});
    }
  }
};

template <class Pattern>
gsofa_status order(const Pattern* a, const gsofa_order_options* options, std::int32_t* permutation,
                   std::int32_t* tree_sizes) {
  if (a == nullptr) return null_argument();
  return status_of([&] {
    const gsofa_order_options known = known_options(options);
    with_view(*a, [&](const auto& view) {
      const gsofa::pattern_order f = gsofa::order(view, options_of(known, view.n));
      if (f.n > 0 && permutation == nullptr) throw gsofa::invalid_input("permutation is NULL");
      std::ranges::copy(f.permutation, permutation);
      if (tree_sizes != nullptr) std::ranges::copy(f.tree_sizes, tree_sizes);
    });
  });
}

}  // namespace

extern "C" {

void gsofa_options_init_sized(gsofa_options* options, size_t size) {
  if (options == nullptr) return;
  gsofa_options defaults{};
  defaults.size = size;
  defaults.memory_budget_mb = -1;
  defaults.match = 1;
  defaults.progress_seconds = 0.1;
  defaults.relax = 1;
  defaults.factorizations = 1;
  defaults.factorization_cores = 1;
  write_sized(defaults, options, size);
}

gsofa_status gsofa_analyze_pattern(const gsofa_pattern* a, const gsofa_options* options,
                                   gsofa_analysis** out) {
  return analyze(a, options, out);
}

gsofa_status gsofa_analyze_device(const gsofa_device_pattern* a, const gsofa_options* options,
                                  gsofa_analysis** out) {
  return analyze(a, options, out);
}

gsofa_status gsofa_analyze(int32_t n, const int64_t row_ptr[], const int32_t col_idx[],
                           const gsofa_options* options, gsofa_analysis** out) {
  const gsofa_pattern a{n, row_ptr, col_idx, GSOFA_INDEX_64_32, GSOFA_CSR};
  return analyze(&a, options, out);
}

void gsofa_free(gsofa_analysis* a) { delete a; }  // NOLINT(cppcoreguidelines-owning-memory)

gsofa_status gsofa_get_result_sized(const gsofa_analysis* a, gsofa_result* out, size_t size) {
  if (out == nullptr) return null_argument();
  gsofa_result found{};
  if (a != nullptr) found = result_of(a->found, a->options);
  found.size = a == nullptr ? 0 : std::min(size, sizeof found);
  write_sized(found, out, size);
  return a == nullptr ? null_argument() : GSOFA_OK;
}

const char* gsofa_last_error(void) { return last_error(); }

gsofa_status gsofa_analyzer_create(gsofa_analyzer** out) {
  if (out == nullptr) return fail(GSOFA_INVALID_INPUT, "out is NULL");
  *out = nullptr;
  return status_of([&] {
    *out = new gsofa_analyzer;  // NOLINT(cppcoreguidelines-owning-memory)
  });
}

void gsofa_analyzer_free(gsofa_analyzer* by) {
  delete by;  // NOLINT(cppcoreguidelines-owning-memory)
}

gsofa_status gsofa_analyzer_analyze(gsofa_analyzer* by, const gsofa_pattern* a,
                                    const gsofa_options* options, const gsofa_analysis** out) {
  return analyze(by, a, options, out);
}

gsofa_status gsofa_analyzer_analyze_device(gsofa_analyzer* by, const gsofa_device_pattern* a,
                                           const gsofa_options* options,
                                           const gsofa_analysis** out) {
  return analyze(by, a, options, out);
}

gsofa_status gsofa_analyzer_update(gsofa_analyzer* by, const gsofa_pattern* a,
                                   const int32_t previous[], const gsofa_options* options,
                                   const gsofa_analysis** out) {
  return update(by, a, previous, options, out);
}

gsofa_status gsofa_analyzer_update_device(gsofa_analyzer* by, const gsofa_device_pattern* a,
                                          const int32_t previous[], const gsofa_options* options,
                                          const gsofa_analysis** out) {
  return update(by, a, previous, options, out);
}

gsofa_status gsofa_match(const gsofa_pattern* a, const double values[], const char* method,
                         int32_t row_of_col[], double row_scale[], double col_scale[],
                         int32_t* structural_rank) {
  if (a == nullptr || row_of_col == nullptr || structural_rank == nullptr) return null_argument();
  return status_of([&] {
    with_view(*a, [&](const auto& view) {
      gsofa::match_options options;
      if (method != nullptr) options.method = method;
      if (values != nullptr) options.values = {values, indices_of(view).size()};
      const gsofa::match_result found = gsofa::match(view, options);
      std::ranges::copy(found.row_of_col, row_of_col);
      const auto give = [&](const std::vector<double>& scale, double* out) {
        if (out == nullptr) return;
        if (scale.empty()) std::fill_n(out, found.row_of_col.size(), 1.0);
        std::ranges::copy(scale, out);
      };
      give(found.row_scale, row_scale);
      give(found.col_scale, col_scale);
      *structural_rank = found.structural_rank;
    });
  });
}

gsofa_status gsofa_elimination_tree(const gsofa_pattern* a, int32_t parent[]) {
  if (a == nullptr || parent == nullptr) return null_argument();
  return status_of([&] {
    with_view(*a,
              [&](const auto& view) { std::ranges::copy(gsofa::elimination_tree(view), parent); });
  });
}

gsofa_status gsofa_level_sets(int32_t n, const int32_t parent[], int32_t begin[],
                              int32_t vertices[], int32_t* levels) {
  if (parent == nullptr || begin == nullptr || vertices == nullptr || levels == nullptr) {
    return null_argument();
  }
  return status_of([&] {
    const gsofa::tree_levels found = gsofa::level_sets(tree_of(n, parent));
    std::ranges::copy(found.begin, begin);
    std::ranges::copy(found.vertices, vertices);
    *levels = static_cast<std::int32_t>(found.begin.size()) - 1;
  });
}

gsofa_status gsofa_tree_postorder(int32_t n, const int32_t parent[], int32_t order[]) {
  if (parent == nullptr || order == nullptr) return null_argument();
  return status_of([&] { std::ranges::copy(gsofa::tree_postorder(tree_of(n, parent)), order); });
}

gsofa_status gsofa_relaxed_supernodes(int32_t n, const int32_t parent[], int32_t relax,
                                      gsofa_range ranges[], int32_t* count) {
  if (parent == nullptr || ranges == nullptr || count == nullptr) return null_argument();
  return status_of([&] {
    const auto found = gsofa::relaxed_supernodes(tree_of(n, parent), relax);
    std::ranges::transform(found, ranges, [](const gsofa::supernode_range& r) {
      return gsofa_range{r.begin, r.end};
    });
    *count = static_cast<std::int32_t>(found.size());
  });
}

gsofa_status gsofa_estimate(const gsofa_pattern* a, const gsofa_options* options,
                            gsofa_fill_estimate* out, int32_t* permutation) {
  if (a == nullptr || out == nullptr) return null_argument();
  return status_of([&] {
    const gsofa_options known = known_options(options);
    with_view(*a, [&](const auto& view) {
      const gsofa::fill_estimate f = gsofa::estimate(view, options_of(known, view.n));
      *out = {f.nnz_a,
              f.nnz_l,
              f.nnz_u,
              f.flops,
              f.result_bytes,
              f.working_bytes,
              f.symmetric,
              f.supernodal_bytes,
              f.multifrontal_bytes};
      if (permutation != nullptr) std::ranges::copy(f.permutation, permutation);
    });
  });
}

void gsofa_order_options_init_sized(gsofa_order_options* options, size_t size) {
  if (options == nullptr) return;
  gsofa_order_options defaults{};
  defaults.size = size;
  defaults.seed = -1;
  defaults.progress_seconds = 0.1;
  defaults.factorizations = 1;
  defaults.factorization_cores = 1;
  write_sized(defaults, options, size);
}

gsofa_status gsofa_order_pattern(const gsofa_pattern* a, const gsofa_order_options* options,
                                 int32_t permutation[], int32_t* tree_sizes) {
  return order(a, options, permutation, tree_sizes);
}

gsofa_status gsofa_order_device(const gsofa_device_pattern* a, const gsofa_order_options* options,
                                int32_t permutation[], int32_t* tree_sizes) {
  return order(a, options, permutation, tree_sizes);
}

gsofa_status gsofa_profile_pattern(const gsofa_pattern* a, int32_t cells, int threads,
                                   gsofa_profile** out) {
  if (out == nullptr) return fail(GSOFA_INVALID_INPUT, "out is NULL");
  *out = nullptr;
  if (a == nullptr) return fail(GSOFA_INVALID_INPUT, "the pattern is NULL");
  return status_of([&] {
    with_view(*a, [&](const auto& view) {
      auto made = std::make_unique<owning_profile>();
      gsofa::fill_profile& p = made->found = gsofa::profile(view, cells, {.threads = threads});
      static_cast<gsofa_profile&>(*made) = {static_cast<std::int32_t>(view.n),
                                            p.cells,
                                            p.parent.data(),
                                            p.l_col_counts.data(),
                                            p.u_row_counts.data(),
                                            p.density.data(),
                                            p.flops};
      *out = made.release();
    });
  });
}

void gsofa_profile_free(gsofa_profile* p) {
  delete static_cast<owning_profile*>(p);  // NOLINT(cppcoreguidelines-owning-memory)
}

gsofa_status gsofa_variants(const gsofa_variant** variants, int32_t* count) {
  if (variants == nullptr || count == nullptr) return null_argument();
  return status_of([&] {
    // Devices that were there are lost to a forked process, which lists anew. No lock, which a
    // thread that the child lacks could hold.
    static std::atomic<const variant_list*> newest;
    const variant_list* list = newest.load(std::memory_order_acquire);
    if (list == nullptr || list->process != gsofa::process_number()) {
      auto mine = std::make_unique<variant_list>();
      mine->before = list;
      if (newest.compare_exchange_strong(list, mine.get())) list = mine.release();
    }
    *variants = list->entries.data();
    *count = static_cast<std::int32_t>(list->entries.size());
  });
}

gsofa_status gsofa_read_pattern(const char* file, gsofa_pattern* out) {
  if (out != nullptr) *out = {};
  if (file == nullptr || out == nullptr) return null_argument();
  return status_of([&] {
    auto read = std::make_unique<gsofa::csr_pattern>(gsofa::read_pattern(file));
    auto pointers = std::make_unique<std::int64_t[]>(read->row_ptr.size());
    std::ranges::copy(read->row_ptr, pointers.get());
    read->row_ptr = {};
    auto indices = std::make_unique<std::int32_t[]>(std::max<std::size_t>(read->col_idx.size(), 1));
    std::ranges::copy(read->col_idx, indices.get());
    *out = {read->n, pointers.release(), indices.release(), GSOFA_INDEX_64_32, GSOFA_CSR};
  });
}

void gsofa_pattern_free(gsofa_pattern* a) {
  if (a == nullptr) return;
  delete[] static_cast<const std::int64_t*>(a->pointers);
  delete[] static_cast<const std::int32_t*>(a->indices);
  *a = {};
}

int gsofa_has_metis(void) { return gsofa::has_metis() ? 1 : 0; }

const char* gsofa_version(void) { return gsofa::version(); }

}  // extern "C"
