// gsofa._core: libgsofa with NumPy arrays. The package in gsofa/ checks and names what users pass.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "gsofa/gsofa.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T>
using input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A read-only NumPy array that owns `values`.
template <class T>
nb::object array_of(std::vector<T>&& values) {
  auto* const owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(
      nb::ndarray<nb::numpy, const T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

gsofa::csr_view view_of(const input<std::int64_t>& row_ptr, const input<std::int32_t>& col_idx) {
  return {static_cast<std::int32_t>(row_ptr.size()) - 1,
          {row_ptr.data(), row_ptr.size()},
          {col_idx.data(), col_idx.size()}};
}

nb::tuple rows_of(gsofa::csr_pattern& p) {
  return nb::make_tuple(array_of(std::move(p.row_ptr)), array_of(std::move(p.col_idx)));
}

// What `run` finds with these options, as Python sees it.
template <class Run>
nb::dict analyze_by(const Run& run, const std::string& order, nb::object permutation,
                    const std::string& device, const std::string& variant, int threads,
                    std::int64_t memory_budget_mb, bool match, bool factors,
                    std::int32_t chunk_size) {
  static const std::pair<const char*, gsofa::order_method> orders[] = {
      {"auto", gsofa::order_method::automatic},
      {"metis", gsofa::order_method::metis},
      {"amd", gsofa::order_method::amd},
      {"colamd", gsofa::order_method::colamd},
      {"natural", gsofa::order_method::natural},
      {"given", gsofa::order_method::given},
      {"nested_dissection", gsofa::order_method::nested_dissection},
      {"best_of", gsofa::order_method::best_of},
      {"gpu_nested_dissection", gsofa::order_method::gpu_nested_dissection}};
  gsofa::analysis_options o;
  for (const auto& [name, value] : orders) {
    if (order == name) o.order = value;
  }
  input<std::int32_t> given;
  if (!permutation.is_none()) {
    given = nb::cast<input<std::int32_t>>(permutation);
    o.permutation = {given.data(), given.size()};
  }
  o.device = device == "cpu"   ? gsofa::compute_device::cpu
             : device == "gpu" ? gsofa::compute_device::gpu
                               : gsofa::compute_device::automatic;
  o.variant = variant;
  o.threads = threads;
  o.memory_budget_mb = memory_budget_mb;
  o.match = match;
  o.factors = factors;
  o.supernodes = true;
  o.chunk_size = chunk_size;
  gsofa::analysis f;
  {
    const nb::gil_scoped_release released;
    f = run(o);
  }
  nb::dict out;
  out["row_order"] = array_of(std::move(f.row_order));
  out["col_order"] = array_of(std::move(f.col_order));
  out["nnz_a"] = f.nnz_a;
  out["diagonal_added"] = f.diagonal_added;
  out["nnz_l"] = f.nnz_l;
  out["nnz_u"] = f.nnz_u;
  out["l_row_counts"] = array_of(std::move(f.l_row_counts));
  out["u_row_counts"] = array_of(std::move(f.u_row_counts));
  out["supernode_starts"] = array_of(std::move(f.supernode_starts));
  out["variant"] = f.variant;
  out["order"] = f.order;
  out["fallback"] = f.fallback;
  out["order_seconds"] = f.order_seconds;
  out["setup_seconds"] = f.setup_seconds;
  out["analysis_seconds"] = f.analysis_seconds;
  out["output_seconds"] = f.output_seconds;
  if (factors) {
    out["l"] = rows_of(f.l);
    out["u"] = rows_of(f.u);
  }
  return out;
}

nb::dict analyze(const input<std::int64_t>& row_ptr, const input<std::int32_t>& col_idx,
                 const std::string& order, nb::object permutation, const std::string& device,
                 const std::string& variant, int threads, std::int64_t memory_budget_mb, bool match,
                 bool factors, std::int32_t chunk_size) {
  return analyze_by(
      [&](const gsofa::analysis_options& o) {
        return gsofa::analyze(view_of(row_ptr, col_idx), o);
      },
      order, std::move(permutation), device, variant, threads, memory_budget_mb, match, factors,
      chunk_size);
}

// rows: addresses of the row pointers and the columns, order, entries, whether each is of 64 bits,
// the stream.
nb::dict analyze_there(const nb::tuple& rows, const std::string& order, nb::object permutation,
                       const std::string& device, const std::string& variant, int threads,
                       std::int64_t memory_budget_mb, bool match, bool factors,
                       std::int32_t chunk_size) {
  const auto address = [&](std::size_t k) {
    return reinterpret_cast<void*>(nb::cast<std::uintptr_t>(rows[k]));
  };
  void* const row_ptr = address(0);
  void* const col_idx = address(1);
  const auto n = nb::cast<std::int32_t>(rows[2]);
  const auto nnz = nb::cast<std::int64_t>(rows[3]);
  const bool long_row_ptr = nb::cast<bool>(rows[4]);
  const bool long_col_idx = nb::cast<bool>(rows[5]);
  void* const stream = address(6);
  return analyze_by(
      [&](const gsofa::analysis_options& o) {
        if (long_col_idx) {
          return gsofa::analyze(
              gsofa::device_csr_view_64{n, nnz, static_cast<const std::int64_t*>(row_ptr),
                                        static_cast<const std::int64_t*>(col_idx), stream},
              o);
        }
        const auto* const columns = static_cast<const std::int32_t*>(col_idx);
        if (long_row_ptr) {
          return gsofa::analyze(
              gsofa::device_csr_view{n, nnz, static_cast<const std::int64_t*>(row_ptr), columns,
                                     stream},
              o);
        }
        return gsofa::analyze(
            gsofa::device_csr_view_32{n, nnz, static_cast<const std::int32_t*>(row_ptr), columns,
                                      stream},
            o);
      },
      order, std::move(permutation), device, variant, threads, memory_budget_mb, match, factors,
      chunk_size);
}

nb::dict profile(const input<std::int64_t>& row_ptr, const input<std::int32_t>& col_idx,
                 std::int32_t cells, int threads) {
  gsofa::fill_profile p;
  {
    const nb::gil_scoped_release released;
    p = gsofa::profile(view_of(row_ptr, col_idx), cells, threads);
  }
  nb::dict out;
  out["parent"] = array_of(std::move(p.parent));
  out["l_col_counts"] = array_of(std::move(p.l_col_counts));
  out["u_row_counts"] = array_of(std::move(p.u_row_counts));
  out["flops"] = p.flops;
  out["cells"] = p.cells;
  out["density"] = array_of(std::move(p.density));
  return out;
}

// Of the pattern as it is.
nb::tuple supernodal(const input<std::int64_t>& row_ptr, const input<std::int32_t>& col_idx,
                     int threads, std::int32_t most_columns, std::int32_t relax) {
  gsofa::supernodal_factors s;
  {
    const nb::gil_scoped_release released;
    s = gsofa::analyze(view_of(row_ptr, col_idx), {.threads = threads,
                                                   .match = false,
                                                   .order = gsofa::order_method::natural,
                                                   .supernodal = true,
                                                   .most_columns = most_columns,
                                                   .relax = relax})
            .supernodal;
  }
  return nb::make_tuple(array_of(std::move(s.first_column)), array_of(std::move(s.row_begin)),
                        array_of(std::move(s.rows)), array_of(std::move(s.segment_begin)),
                        array_of(std::move(s.segments)));
}

nb::object elimination_tree(const input<std::int64_t>& row_ptr,
                            const input<std::int32_t>& col_idx) {
  std::vector<std::int32_t> parent;
  {
    const nb::gil_scoped_release released;
    parent = gsofa::elimination_tree(view_of(row_ptr, col_idx));
  }
  return array_of(std::move(parent));
}

// 0 for leaves, else one more than the largest of the children, in a forest whose parents are
// larger than their children.
nb::object levels(const input<std::int32_t>& parent) {
  std::vector<std::int32_t> level(parent.size(), 0);
  for (std::size_t v = 0; v < parent.size(); ++v) {
    const std::int32_t p = parent.data()[v];
    if (p < 0) continue;
    auto& above = level[static_cast<std::size_t>(p)];
    above = std::max(above, level[v] + 1);
  }
  return array_of(std::move(level));
}

// The caller's entries (i, j) as entries (row_of[i], col_of[j]), by rows, each sorted.
nb::tuple permuted(const input<std::int64_t>& row_ptr, const input<std::int32_t>& col_idx,
                   const input<std::int32_t>& row_order, const input<std::int32_t>& col_order) {
  const std::size_t n = row_order.size();
  std::vector<std::int64_t> ptr{0};
  std::vector<std::int32_t> idx, position(n);
  {
    const nb::gil_scoped_release released;
    ptr.reserve(n + 1);
    idx.reserve(col_idx.size());
    for (std::size_t j = 0; j < n; ++j) {
      position[static_cast<std::size_t>(col_order.data()[j])] = static_cast<std::int32_t>(j);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const auto old = static_cast<std::size_t>(row_order.data()[i]);
      for (std::int64_t k = row_ptr.data()[old]; k < row_ptr.data()[old + 1]; ++k) {
        idx.push_back(position[static_cast<std::size_t>(col_idx.data()[k])]);
      }
      const auto begin = idx.begin() + ptr.back();
      std::sort(begin, idx.end());
      idx.erase(std::unique(begin, idx.end()), idx.end());
      ptr.push_back(static_cast<std::int64_t>(idx.size()));
    }
  }
  return nb::make_tuple(array_of(std::move(ptr)), array_of(std::move(idx)));
}

nb::list variants() {
  nb::list out;
  for (const gsofa::variant_description& v : gsofa::variants()) {
    out.append(nb::make_tuple(v.name, v.device, v.summary, v.unavailable));
  }
  return out;
}

// Errors of the library are those of gsofa/errors.py.
void translate(const std::exception_ptr& p, void*) {
  try {
    std::rethrow_exception(p);
  } catch (const gsofa::analysis_error& e) {
    const auto name = [&] {
      switch (e.kind()) {
        case gsofa::failure::invalid_input:
        case gsofa::failure::overflow:
          return "InvalidInput";
        case gsofa::failure::unavailable:
          return "Unavailable";
        case gsofa::failure::out_of_memory:
          return "OutOfMemory";
        case gsofa::failure::internal:
        case gsofa::failure::cancelled:  // no callback is set
          return "InternalError";
      }
      return "InternalError";
    };
    const nb::object type = nb::module_::import_("gsofa.errors").attr(name());
    PyErr_SetString(type.ptr(), e.what());
  }
}

}  // namespace

NB_MODULE(_core, m) {
  nb::register_exception_translator(translate);
  m.def("analyze", analyze, "row_ptr"_a, "col_idx"_a, "order"_a, "permutation"_a.none(), "device"_a,
        "variant"_a, "threads"_a, "memory_budget_mb"_a, "match"_a, "factors"_a, "chunk_size"_a);
  m.def("analyze_there", analyze_there, "rows"_a, "order"_a, "permutation"_a.none(), "device"_a,
        "variant"_a, "threads"_a, "memory_budget_mb"_a, "match"_a, "factors"_a, "chunk_size"_a);
  m.def("profile", profile, "row_ptr"_a, "col_idx"_a, "cells"_a, "threads"_a);
  m.def("supernodal", supernodal, "row_ptr"_a, "col_idx"_a, "threads"_a, "most_columns"_a,
        "relax"_a);
  m.def("elimination_tree", elimination_tree, "row_ptr"_a, "col_idx"_a);
  m.def("levels", levels, "parent"_a);
  m.def("permuted", permuted, "row_ptr"_a, "col_idx"_a, "row_order"_a, "col_order"_a);
  m.def("variants", variants);
  m.def("has_metis", &gsofa::has_metis);
  m.def("version", &gsofa::version);
}
