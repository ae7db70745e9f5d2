// gsofa._core: libgsofa with NumPy arrays. The package in gsofa/ checks and names what users pass.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "gsofa/gsofa.hpp"
#include "interruption.hpp"

namespace gsofa::python {

using namespace nb::literals;

namespace {

compute_device device_of(const std::string& name) {
  return name == "cpu"   ? compute_device::cpu
         : name == "gpu" ? compute_device::gpu
                         : compute_device::automatic;
}

factorization_kind kind_of(const std::string& name) {
  return name == "left_looking"  ? factorization_kind::left_looking
         : name == "supernodal"  ? factorization_kind::supernodal
         : name == "gpu"         ? factorization_kind::gpu
         : name == "distributed" ? factorization_kind::distributed
                                 : factorization_kind::automatic;
}

// Options from a dict that names the members that differ from the defaults of the library. Arrays
// live as long as this object.
template <class Options>
class call_options {
 public:
  explicit call_options(const nb::dict& from) : from_(from) {
    std::string order = "automatic", device = "automatic", purpose = "automatic";
    take("order", order);
    take("device", device);
    take("permutation", permutation_);
    o_.device = device_of(device);
    o_.permutation = {permutation_.data(), permutation_.size()};
    take("threads", o_.threads);
    o_.order = order;
    take("factorizations", o_.purpose.factorizations);
    take("purpose", purpose);
    o_.purpose.kind = kind_of(purpose);
    take("cores", o_.purpose.cores);
    if constexpr (std::is_same_v<Options, order_options>) {
      take_order_options();
    } else {
      take_analysis_options();
    }
  }
  [[nodiscard]] const Options& get() const { return o_; }

 private:
  template <class T>
  void take(const char* name, T& value) {
    if (from_.contains(name)) value = nb::cast<T>(from_[name]);
  }
  void take_order_options() {
    bool nested = false;
    take("nested", nested);
    o_.layout = nested ? tree_layout::nested : tree_layout::by_level;
    take("weights", weights_);
    o_.weights = {weights_.data(), weights_.size()};
    take("groups", groups_);
    o_.groups = {groups_.data(), groups_.size()};
    take("longest_row", o_.longest_row);
    take("seed", o_.seed);
    take("tree_levels", o_.tree_levels);
  }
  void take_analysis_options() {
    take("variant", o_.variant);
    take("memory_budget_mb", o_.memory_budget_mb);
    take("match", o_.match);
    int symmetric = 0;  // its position in TRIANGLES
    take("symmetric", symmetric);
    o_.symmetric = static_cast<stored_triangle>(symmetric);
    take("factors", o_.factors);
    take("supernodes", o_.supernodes);
    take("chunk_size", o_.chunk_size);
    take("supernodal", o_.supernodal);
    take("most_columns", o_.most_columns);
    take("relax", o_.relax);
    take("tree", o_.tree);
    take("masks", o_.masks);
  }

  const nb::dict& from_;
  input<std::int32_t> permutation_, weights_, groups_;
  Options o_;
};

nb::tuple tuple_of(mask_factors& m) {
  return nb::make_tuple(array_of(std::move(m.first_vertex)), array_of(std::move(m.position_begin)),
                        array_of(std::move(m.vertices)), array_of(std::move(m.masks)));
}

nb::tuple tuple_of(supernodal_factors& s) {
  return nb::make_tuple(array_of(std::move(s.first_column)), array_of(std::move(s.row_begin)),
                        array_of(std::move(s.rows)), array_of(std::move(s.segment_begin)),
                        array_of(std::move(s.segments)));
}

// The members of `f` that `o` requests.
nb::dict dict_of(analysis&& f, const analysis_options& o) {
  nb::dict out;
  out["row_order"] = array_of(std::move(f.row_order));
  out["col_order"] = array_of(std::move(f.col_order));
  out["nnz_a"] = f.nnz_a;
  out["diagonal_added"] = f.diagonal_added;
  out["nnz_l"] = f.nnz_l;
  out["nnz_u"] = f.nnz_u;
  out["l_row_counts"] = array_of(std::move(f.l_row_counts));
  out["u_row_counts"] = array_of(std::move(f.u_row_counts));
  out["variant"] = f.variant;
  out["order"] = f.order;
  out["fallback"] = f.fallback;
  out["order_note"] = f.order_note;
  out["warning"] = f.warning;
  out["order_seconds"] = f.order_seconds;
  out["setup_seconds"] = f.setup_seconds;
  out["analysis_seconds"] = f.analysis_seconds;
  out["output_seconds"] = f.output_seconds;
  if (o.supernodes) out["supernode_starts"] = array_of(std::move(f.supernode_starts));
  if (o.factors) {
    out["l"] = rows_of(f.l);
    out["u"] = rows_of(f.u);
  }
  if (o.supernodal) out["supernodal"] = tuple_of(f.supernodal);
  if (o.tree) {
    out["parent"] = array_of(std::move(f.parent));
    out["l_col_counts"] = array_of(std::move(f.l_col_counts));
    out["flops"] = f.flops;
  }
  if (o.masks) out["masks"] = tuple_of(f.masks);
  return out;
}

nb::dict analyze(const input<std::int64_t>& row_ptr, const input<std::int32_t>& col_idx,
                 const nb::dict& options, const nb::object& progress) {
  const csr_view a = view_of(row_ptr, col_idx);
  const call_options<analysis_options> call(options);
  return dict_of(watched(call.get(), progress,
                         [&](const analysis_options& o) { return gsofa::analyze(a, o); }),
                 call.get());
}

// Calls `use` with the view of rows in device memory, which `rows` describes: addresses of the row
// pointers and the columns, order, entries, whether each is of 64 bits, the stream.
template <class Use>
auto with_device_rows(const nb::tuple& rows, const Use& use) {
  const auto address = [&](std::size_t k) {
    return reinterpret_cast<void*>(nb::cast<std::uintptr_t>(rows[k]));
  };
  void* const row_ptr = address(0);
  void* const col_idx = address(1);
  void* const stream = address(6);
  const auto n = nb::cast<std::int32_t>(rows[2]);
  const auto nnz = nb::cast<std::int64_t>(rows[3]);
  const bool long_row_ptr = nb::cast<bool>(rows[4]);
  const bool long_col_idx = nb::cast<bool>(rows[5]);
  if (long_col_idx) {
    return use(device_csr_view_64{n, nnz, static_cast<const std::int64_t*>(row_ptr),
                                  static_cast<const std::int64_t*>(col_idx), stream});
  }
  const auto* const columns = static_cast<const std::int32_t*>(col_idx);
  if (long_row_ptr) {
    return use(device_csr_view{n, nnz, static_cast<const std::int64_t*>(row_ptr), columns, stream});
  }
  return use(
      device_csr_view_32{n, nnz, static_cast<const std::int32_t*>(row_ptr), columns, stream});
}

nb::dict analyze_there(const nb::tuple& rows, const nb::dict& options, const nb::object& progress) {
  const call_options<analysis_options> call(options);
  return with_device_rows(rows, [&](const auto& a) {
    return dict_of(watched(call.get(), progress,
                           [&](const analysis_options& o) { return gsofa::analyze(a, o); }),
                   call.get());
  });
}

// gsofa::analyzer, whose updates return copies.
class updating_analyzer {
 public:
  explicit updating_analyzer(const nb::dict& options)
      : options_(call_options<analysis_options>(options).get()) {
    options_.permutation = {};
  }

  // previous: empty, or for each row its earlier number.
  nb::dict update(const input<std::int64_t>& row_ptr, const input<std::int32_t>& col_idx,
                  const input<std::int32_t>& previous, const nb::object& progress) {
    const csr_view a = view_of(row_ptr, col_idx);
    return updated(a, previous, progress);
  }
  nb::dict update_there(const nb::tuple& rows, const input<std::int32_t>& previous,
                        const nb::object& progress) {
    return with_device_rows(rows, [&](const auto& a) { return updated(a, previous, progress); });
  }

 private:
  template <class View>
  nb::dict updated(const View& a, const input<std::int32_t>& previous, const nb::object& progress) {
    analysis found = watched(options_, progress, [&](const analysis_options& o) {
      analyzer_.options() = o;
      return analyzer_.update(a, {previous.data(), previous.size()});
    });
    const order_update done = found.update;
    nb::dict out = dict_of(std::move(found), options_);
    out["update"] = nb::make_tuple(static_cast<int>(done.kind), done.rows_changed,
                                   done.vertices_moved, done.compared);
    return out;
  }

  analysis_options options_;
  analyzer analyzer_;
};

nb::dict estimate(const input<std::int64_t>& row_ptr, const input<std::int32_t>& col_idx,
                  const nb::dict& options, const nb::object& progress) {
  const csr_view a = view_of(row_ptr, col_idx);
  fill_estimate e = watched(call_options<analysis_options>(options).get(), progress,
                            [&](const analysis_options& o) { return gsofa::estimate(a, o); });
  nb::dict out;
  out["permutation"] = array_of(std::move(e.permutation));
  out["nnz_a"] = e.nnz_a;
  out["nnz_l"] = e.nnz_l;
  out["nnz_u"] = e.nnz_u;
  out["flops"] = e.flops;
  out["symmetric"] = e.symmetric;
  out["result_bytes"] = e.result_bytes;
  out["working_bytes"] = e.working_bytes;
  out["supernodal_bytes"] = e.supernodal_bytes;
  out["multifrontal_bytes"] = e.multifrontal_bytes;
  return out;
}

// The order, the sizes of the nodes of its separator tree, its name.
nb::tuple tuple_of(pattern_order&& o) {
  return nb::make_tuple(array_of(std::move(o.permutation)), array_of(std::move(o.tree_sizes)),
                        o.order);
}

nb::tuple order(const input<std::int64_t>& ptr, const input<std::int32_t>& idx, bool by_columns,
                const nb::dict& options, const nb::object& progress) {
  const csr_view a = view_of(ptr, idx);
  return tuple_of(
      watched(call_options<order_options>(options).get(), progress, [&](const order_options& o) {
        return by_columns ? gsofa::order(csc_view{a.n, a.row_ptr, a.col_idx}, o)
                          : gsofa::order(a, o);
      }));
}

nb::tuple order_there(const nb::tuple& rows, const nb::dict& options, const nb::object& progress) {
  return with_device_rows(rows, [&](const auto& a) {
    return tuple_of(watched(call_options<order_options>(options).get(), progress,
                            [&](const order_options& o) { return gsofa::order(a, o); }));
  });
}

nb::tuple match(const input<std::int64_t>& row_ptr, const input<std::int32_t>& col_idx,
                const input<double>& values, const std::string& method, int threads,
                bool keep_symmetric) {
  const csr_view a = view_of(row_ptr, col_idx);
  match_options options;
  options.method = method;
  options.values = {values.data(), values.size()};
  options.threads = threads;
  options.keep_symmetric = keep_symmetric;
  match_result m;
  {
    const nb::gil_scoped_release others_run;
    m = gsofa::match(a, options);
  }
  return nb::make_tuple(
      array_of(std::move(m.row_of_col)), array_of(std::move(m.row_scale)),
      array_of(std::move(m.col_scale)), m.structural_rank, array_of(std::move(m.unmatched_rows)),
      array_of(std::move(m.unmatched_cols)), m.symmetric_entries, m.least_matched, m.method, m.how);
}

nb::dict profile(const input<std::int64_t>& row_ptr, const input<std::int32_t>& col_idx,
                 std::int32_t cells, int threads, const nb::object& progress) {
  const csr_view a = view_of(row_ptr, col_idx);
  const analysis_options options{.threads = threads};
  fill_profile p = watched(options, progress,
                           [&](const analysis_options& o) { return gsofa::profile(a, cells, o); });
  nb::dict out;
  out["parent"] = array_of(std::move(p.parent));
  out["l_col_counts"] = array_of(std::move(p.l_col_counts));
  out["flops"] = p.flops;
  out["cells"] = p.cells;
  out["density"] = array_of(std::move(p.density));
  return out;
}

// 0 for leaves, else one more than the largest of the children.
nb::object levels(const input<std::int32_t>& parent) {
  const tree_levels found = gsofa::level_sets({parent.data(), parent.size()});
  std::vector<std::int32_t> level(parent.size());
  for (std::size_t h = 0; h + 1 < found.begin.size(); ++h) {
    for (std::int32_t k = found.begin[h]; k < found.begin[h + 1]; ++k) {
      level[static_cast<std::size_t>(found.vertices[static_cast<std::size_t>(k)])] =
          static_cast<std::int32_t>(h);
    }
  }
  return array_of(std::move(level));
}

nb::object postorder(const input<std::int32_t>& parent) {
  return array_of(gsofa::tree_postorder({parent.data(), parent.size()}));
}

// New positions of an order. Throws invalid_input if it is no permutation of 0 .. n-1.
std::vector<std::int32_t> positions_of(const input<std::int32_t>& order, std::size_t n,
                                       const std::string& name) {
  if (order.size() != n) {
    throw invalid_input(name + ": " + std::to_string(order.size()) + " entries for order " +
                        std::to_string(n));
  }
  std::vector<std::int32_t> position(n, -1);
  for (std::size_t k = 0; k < n; ++k) {
    const std::int32_t v = order.data()[k];
    if (v < 0 || static_cast<std::size_t>(v) >= n || position[static_cast<std::size_t>(v)] >= 0) {
      throw invalid_input(name + ": entry " + std::to_string(k) + " is " + std::to_string(v) +
                          ": not a permutation");
    }
    position[static_cast<std::size_t>(v)] = static_cast<std::int32_t>(k);
  }
  return position;
}

// Throws invalid_input unless row pointers ascend from 0 to the number of columns' indices, each of
// which is in [0, columns).
void check(const csr_view& a, std::int64_t columns) {
  const auto fail = [](std::size_t row, const std::string& what) {
    throw invalid_input("pattern: row " + std::to_string(row) + what);
  };
  const auto n = static_cast<std::size_t>(a.n);
  if (a.row_ptr[0] != 0 || a.row_ptr[n] != static_cast<std::int64_t>(a.col_idx.size())) {
    throw invalid_input("pattern: row pointers from " + std::to_string(a.row_ptr[0]) + " to " +
                        std::to_string(a.row_ptr[n]) + " for " + std::to_string(a.col_idx.size()) +
                        " entries");
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (a.row_ptr[i + 1] < a.row_ptr[i]) fail(i, ": its pointers decrease");
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (const std::int32_t j : a.row(static_cast<std::int32_t>(i))) {
      if (j < 0 || j >= columns) fail(i, ": column " + std::to_string(j) + " is out of range");
    }
  }
}

void check_rows(const input<std::int64_t>& row_ptr, const input<std::int32_t>& col_idx,
                std::int64_t columns) {
  check(view_of(row_ptr, col_idx), columns);
}

// The entries (i, j) of `a` as (row_of[i], col_of[j]), by rows, each sorted and without duplicates.
struct permutation_of_rows {
  std::vector<std::int64_t> ptr{0};
  std::vector<std::int32_t> idx;

  // Returns early if `watch` ends it.
  void find(const csr_view& a, const input<std::int32_t>& row_order,
            const std::vector<std::int32_t>& col_of, watched_work& watch) {
    const auto n = static_cast<std::size_t>(a.n);
    ptr.reserve(n + 1);
    idx.reserve(a.col_idx.size());
    for (std::size_t i = 0; i < n; ++i) {
      for (const std::int32_t j : a.row(row_order.data()[i])) {
        idx.push_back(col_of[static_cast<std::size_t>(j)]);
      }
      const auto begin = idx.begin() + ptr.back();
      std::sort(begin, idx.end());
      idx.erase(std::unique(begin, idx.end()), idx.end());
      ptr.push_back(static_cast<std::int64_t>(idx.size()));
      const double share = static_cast<double>(i) / static_cast<double>(n);
      if (i % 1024 == 0 && !watch.looks(analysis_stage::permute, share)) return;
    }
  }
};

nb::tuple permuted(const input<std::int64_t>& row_ptr, const input<std::int32_t>& col_idx,
                   const input<std::int32_t>& row_order, const input<std::int32_t>& col_order,
                   const nb::object& progress) {
  const csr_view a = view_of(row_ptr, col_idx);
  permutation_of_rows found;
  watched_work watch(progress);
  watch.run([&] {
    check(a, a.n);
    (void)positions_of(row_order, static_cast<std::size_t>(a.n), "row_order");
    found.find(a, row_order, positions_of(col_order, static_cast<std::size_t>(a.n), "col_order"),
               watch);
  });
  return nb::make_tuple(array_of(std::move(found.ptr)), array_of(std::move(found.idx)));
}

nb::tuple read_pattern(const nb::bytes& file) {
  csr_pattern p;
  const nb::object no_progress = nb::none();
  watched_work watch(no_progress);
  const std::string name(file.c_str(), file.size());
  watch.run(
      [&] { p = gsofa::read_pattern(name, [&] { return watch.looks(analysis_stage::check); }); });
  return rows_of(p);
}

nb::list variants() {
  nb::list out;
  for (const variant_description& v : gsofa::variants()) {
    out.append(nb::make_tuple(v.name, v.device, v.summary, v.unavailable));
  }
  return out;
}

// Errors of the library are those of gsofa/errors.py.
void translate(const std::exception_ptr& p, void*) {
  try {
    std::rethrow_exception(p);
  } catch (const analysis_error& e) {
    const auto name = [&] {
      switch (e.kind()) {
        case failure::invalid_input:
        case failure::overflow:
          return "InvalidInput";
        case failure::unavailable:
          return "Unavailable";
        case failure::out_of_memory:
          return "OutOfMemory";
        case failure::internal:
        case failure::cancelled:  // watched_work throws the cause
          return "InternalError";
      }
      return "InternalError";
    };
    const nb::object type = nb::module_::import_("gsofa.errors").attr(name());
    // A message may quote the name of a file that is not UTF-8.
    const std::string_view what = e.what();
    const nb::object text = nb::steal(PyUnicode_DecodeUTF8(
        what.data(), static_cast<Py_ssize_t>(what.size()), "backslashreplace"));
    PyErr_SetObject(type.ptr(), text.ptr());
  }
}

}  // namespace

}  // namespace gsofa::python

NB_MODULE(_core, m) {
  using namespace gsofa::python;
  nb::register_exception_translator(translate);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&ending_interpreter::begin));
  pthread_atfork(nullptr, nullptr, &ending_interpreter::forget_threads);
  m.def("analyze", analyze, "row_ptr"_a, "col_idx"_a, "options"_a, "progress"_a.none());
  m.def("analyze_there", analyze_there, "rows"_a, "options"_a, "progress"_a.none());
  nb::class_<updating_analyzer>(m, "Analyzer")
      .def(nb::init<const nb::dict&>(), "options"_a)
      .def("update", &updating_analyzer::update, "row_ptr"_a, "col_idx"_a, "previous"_a,
           "progress"_a.none())
      .def("update_there", &updating_analyzer::update_there, "rows"_a, "previous"_a,
           "progress"_a.none());
  m.def("estimate", estimate, "row_ptr"_a, "col_idx"_a, "options"_a, "progress"_a.none());
  m.def("order", order, "ptr"_a, "idx"_a, "by_columns"_a, "options"_a, "progress"_a.none());
  m.def("order_there", order_there, "rows"_a, "options"_a, "progress"_a.none());
  m.def("match", match, "row_ptr"_a, "col_idx"_a, "values"_a, "method"_a, "threads"_a,
        "keep_symmetric"_a);
  m.def("profile", profile, "row_ptr"_a, "col_idx"_a, "cells"_a, "threads"_a, "progress"_a.none());
  m.def("levels", levels, "parent"_a);
  m.def("postorder", postorder, "parent"_a);
  m.def("permuted", permuted, "row_ptr"_a, "col_idx"_a, "row_order"_a, "col_order"_a,
        "progress"_a.none());
  m.def("check_rows", check_rows, "row_ptr"_a, "col_idx"_a, "columns"_a);
  m.def("frozen", frozen<std::int32_t>, "values"_a.noconvert());
  m.def("frozen", frozen<std::int64_t>, "values"_a.noconvert());
  m.def("ones", ones, "count"_a);
  m.def("read_pattern", read_pattern, "file"_a);
  m.def("variants", variants);
  m.def("has_metis", &gsofa::has_metis);
  m.def("version", &gsofa::version);
}
