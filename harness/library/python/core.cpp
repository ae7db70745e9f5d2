// gsofa._core: libgsofa with NumPy arrays. The package in gsofa/ checks and names what users pass.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "gsofa/gsofa.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T>
using input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A read-only NumPy array that owns `values`; nobody can make it writeable, since its memory is
// that of a capsule.
template <class T>
nb::object array_of(std::vector<T>&& values) {
  auto* const owned = new std::vector<T>(std::move(values));
  owned->reserve(1);  // NumPy takes an array without an address for a writeable one
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(
      nb::ndarray<nb::numpy, const T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

// A read-only copy.
template <class T>
nb::object frozen(const input<T>& values) {
  return array_of(std::vector<T>(values.data(), values.data() + values.size()));
}

// `count` ones, read-only.
nb::object ones(std::size_t count) { return array_of(std::vector<double>(count, 1.0)); }

gsofa::csr_view view_of(const input<std::int64_t>& row_ptr, const input<std::int32_t>& col_idx) {
  if (row_ptr.size() < 1 || row_ptr.size() > std::size_t{1} << 31) {
    throw gsofa::invalid_input("pattern: " + std::to_string(row_ptr.size()) +
                               " row pointers: the order must be in [0, 2147483647]");
  }
  return {static_cast<std::int32_t>(row_ptr.size()) - 1,
          {row_ptr.data(), row_ptr.size()},
          {col_idx.data(), col_idx.size()}};
}

nb::tuple rows_of(gsofa::csr_pattern& p) {
  return nb::make_tuple(array_of(std::move(p.row_ptr)), array_of(std::move(p.col_idx)));
}

// Python ends a daemon thread that asks for the interpreter lock while the interpreter ends: it
// unwinds the frames of C++ that wait for the lock, which ends the process. So no thread asks for
// the lock from then on, and the interpreter ends when no thread is about to get it.
class ending_interpreter {
 public:
  // Before the lock is asked for; does not return once the interpreter ends.
  static void begin_asking() {
    ++asking_;
    if (!ends_ || std::this_thread::get_id() == ender_) return;
    --asking_;
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  static void end_asking() { --asking_; }

  // Called by the module atexit, with the lock.
  static void begin() {
    ender_ = std::this_thread::get_id();
    ends_ = true;
    const nb::gil_scoped_release released;
    while (asking_ > 0) std::this_thread::yield();
  }
  // The other threads are not in the child of a fork.
  static void forget_threads() { asking_ = 0; }

 private:
  static inline std::thread::id ender_;  // it still has the lock, and exit functions of its own
  static inline std::atomic<bool> ends_{false};
  static inline std::atomic<int> asking_{0};
};

class lock_scope {
 public:
  lock_scope() {
    ending_interpreter::begin_asking();
    state_ = PyGILState_Ensure();
    ending_interpreter::end_asking();
  }
  lock_scope(const lock_scope&) = delete;
  lock_scope& operator=(const lock_scope&) = delete;
  ~lock_scope() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

const char* name_of(gsofa::analysis_stage stage) {
  switch (stage) {
    case gsofa::analysis_stage::check:
      return "check";
    case gsofa::analysis_stage::match:
      return "match";
    case gsofa::analysis_stage::order:
      return "order";
    case gsofa::analysis_stage::permute:
      return "permute";
    case gsofa::analysis_stage::analyze:
      return "analyze";
    case gsofa::analysis_stage::output:
      return "output";
  }
  return "?";
}

// Work without the interpreter lock that is interrupted by signals, whose handlers run in the main
// thread, and by exceptions of the user's `progress`.
class watched_work {
 public:
  // progress: a callable, or None.
  explicit watched_work(const nb::object& progress) : progress_(progress) {}

  // Called without the lock. False: the work is to end.
  bool goes_on(gsofa::analysis_stage stage, double share) {
    const lock_scope locked;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!progress_.is_none()) {
        progress_(name_of(stage), share < 0 ? nb::none() : nb::object(nb::float_(share)));
      }
      return true;
    } catch (...) {
      raised_ = std::current_exception();
      return false;
    }
  }

  // Calls work(), without the lock. What goes_on() has caught is thrown, whatever became of the
  // work.
  template <class Work>
  void run(const Work& work) {
    std::exception_ptr failed;
    PyThreadState* const thread = PyEval_SaveThread();
    try {
      work();
    } catch (...) {
      failed = std::current_exception();
    }
    ending_interpreter::begin_asking();
    PyEval_RestoreThread(thread);
    ending_interpreter::end_asking();
    if (raised_) std::rethrow_exception(raised_);
    if (failed) std::rethrow_exception(failed);
  }

 private:
  const nb::object& progress_;
  std::exception_ptr raised_;
};

// What `analyze` finds with `options`; they are completed by what lets it be interrupted.
template <class Analyze>
gsofa::analysis watched(gsofa::analysis_options options, const nb::object& progress,
                        const Analyze& analyze) {
  watched_work watch(progress);
  options.progress = [&](const gsofa::analysis_progress& p) {
    return watch.goes_on(p.stage, p.share);
  };
  gsofa::analysis found;
  watch.run([&] { found = analyze(options); });
  return found;
}

// What `run` finds with these options, as Python sees it.
template <class Run>
nb::dict analyze_by(const Run& run, const std::string& order, nb::object permutation,
                    const std::string& device, const std::string& variant, int threads,
                    std::int64_t memory_budget_mb, bool match, bool factors,
                    std::int32_t chunk_size, const nb::object& progress) {
  static const std::pair<const char*, gsofa::order_method> orders[] = {
      {"auto", gsofa::order_method::automatic},
      {"metis", gsofa::order_method::metis},
      {"amd", gsofa::order_method::amd},
      {"amf", gsofa::order_method::amf},
      {"colamd", gsofa::order_method::colamd},
      {"natural", gsofa::order_method::natural},
      {"given", gsofa::order_method::given},
      {"nested_dissection", gsofa::order_method::nested_dissection},
      {"tournament", gsofa::order_method::tournament},
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
  gsofa::analysis f = watched(o, progress, run);
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
                 bool factors, std::int32_t chunk_size, const nb::object& progress) {
  const gsofa::csr_view a = view_of(row_ptr, col_idx);
  return analyze_by([&](const gsofa::analysis_options& o) { return gsofa::analyze(a, o); }, order,
                    std::move(permutation), device, variant, threads, memory_budget_mb, match,
                    factors, chunk_size, progress);
}

// rows: addresses of the row pointers and the columns, order, entries, whether each is of 64 bits,
// the stream.
nb::dict analyze_there(const nb::tuple& rows, const std::string& order, nb::object permutation,
                       const std::string& device, const std::string& variant, int threads,
                       std::int64_t memory_budget_mb, bool match, bool factors,
                       std::int32_t chunk_size, const nb::object& progress) {
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
      chunk_size, progress);
}

nb::dict profile(const input<std::int64_t>& row_ptr, const input<std::int32_t>& col_idx,
                 std::int32_t cells, int threads, const nb::object& progress) {
  const gsofa::csr_view a = view_of(row_ptr, col_idx);
  watched_work watch(progress);
  gsofa::fill_profile p;
  watch.run([&] {
    gsofa::analysis_options options{.threads = threads};
    options.progress = [&](const gsofa::analysis_progress& at) {
      return watch.goes_on(at.stage, at.share);
    };
    p = gsofa::profile(a, cells, options);
  });
  nb::dict out;
  out["parent"] = array_of(std::move(p.parent));
  out["l_col_counts"] = array_of(std::move(p.l_col_counts));
  out["flops"] = p.flops;
  out["cells"] = p.cells;
  out["density"] = array_of(std::move(p.density));
  return out;
}

// Of the pattern as it is.
nb::tuple supernodal(const input<std::int64_t>& row_ptr, const input<std::int32_t>& col_idx,
                     int threads, std::int32_t most_columns, std::int32_t relax,
                     const nb::object& progress) {
  const gsofa::csr_view a = view_of(row_ptr, col_idx);
  const gsofa::analysis_options options{.threads = threads,
                                        .match = false,
                                        .order = gsofa::order_method::natural,
                                        .supernodal = true,
                                        .most_columns = most_columns,
                                        .relax = relax};
  gsofa::supernodal_factors s = watched(options, progress, [&](const gsofa::analysis_options& o) {
                                  return gsofa::analyze(a, o);
                                }).supernodal;
  return nb::make_tuple(array_of(std::move(s.first_column)), array_of(std::move(s.row_begin)),
                        array_of(std::move(s.rows)), array_of(std::move(s.segment_begin)),
                        array_of(std::move(s.segments)));
}

// 0 for leaves, else one more than the largest of the children.
nb::object levels(const input<std::int32_t>& parent) {
  const gsofa::tree_levels found = gsofa::level_sets({parent.data(), parent.size()});
  std::vector<std::int32_t> level(parent.size());
  for (std::size_t h = 0; h + 1 < found.begin.size(); ++h) {
    for (std::int32_t k = found.begin[h]; k < found.begin[h + 1]; ++k) {
      level[static_cast<std::size_t>(found.vertices[static_cast<std::size_t>(k)])] =
          static_cast<std::int32_t>(h);
    }
  }
  return array_of(std::move(level));
}

// New positions of an order. Throws invalid_input if it is no permutation of 0 .. n-1.
std::vector<std::int32_t> positions_of(const input<std::int32_t>& order, std::size_t n,
                                       const std::string& name) {
  if (order.size() != n) {
    throw gsofa::invalid_input(name + ": " + std::to_string(order.size()) + " entries for order " +
                               std::to_string(n));
  }
  std::vector<std::int32_t> position(n, -1);
  for (std::size_t k = 0; k < n; ++k) {
    const std::int32_t v = order.data()[k];
    if (v < 0 || static_cast<std::size_t>(v) >= n || position[static_cast<std::size_t>(v)] >= 0) {
      throw gsofa::invalid_input(name + ": entry " + std::to_string(k) + " is " +
                                 std::to_string(v) + ": not a permutation");
    }
    position[static_cast<std::size_t>(v)] = static_cast<std::int32_t>(k);
  }
  return position;
}

// Throws invalid_input unless row pointers ascend from 0 to the number of columns' indices, each of
// which is in [0, columns).
void check(const gsofa::csr_view& a, std::int64_t columns) {
  const auto fail = [](std::size_t row, const std::string& what) {
    throw gsofa::invalid_input("pattern: row " + std::to_string(row) + what);
  };
  const auto n = static_cast<std::size_t>(a.n);
  if (a.row_ptr[0] != 0 || a.row_ptr[n] != static_cast<std::int64_t>(a.col_idx.size())) {
    throw gsofa::invalid_input("pattern: row pointers from " + std::to_string(a.row_ptr[0]) +
                               " to " + std::to_string(a.row_ptr[n]) + " for " +
                               std::to_string(a.col_idx.size()) + " entries");
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
  void find(const gsofa::csr_view& a, const input<std::int32_t>& row_order,
            const std::vector<std::int32_t>& col_of, watched_work& watch) {
    using clock = std::chrono::steady_clock;
    auto looked = clock::now();
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
      if (i % 1024 != 0 || clock::now() - looked < std::chrono::milliseconds(100)) continue;
      const double share = static_cast<double>(i) / static_cast<double>(n);
      if (!watch.goes_on(gsofa::analysis_stage::permute, share)) return;
      looked = clock::now();
    }
  }
};

nb::tuple permuted(const input<std::int64_t>& row_ptr, const input<std::int32_t>& col_idx,
                   const input<std::int32_t>& row_order, const input<std::int32_t>& col_order,
                   const nb::object& progress) {
  const gsofa::csr_view a = view_of(row_ptr, col_idx);
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
  gsofa::csr_pattern p;
  {
    const std::string name(file.c_str(), file.size());
    const nb::gil_scoped_release released;
    p = gsofa::read_pattern(name);
  }
  return rows_of(p);
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
        case gsofa::failure::cancelled:  // watched_work throws the cause
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

NB_MODULE(_core, m) {
  nb::register_exception_translator(translate);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&ending_interpreter::begin));
  pthread_atfork(nullptr, nullptr, &ending_interpreter::forget_threads);
  m.def("analyze", analyze, "row_ptr"_a, "col_idx"_a, "order"_a, "permutation"_a.none(), "device"_a,
        "variant"_a, "threads"_a, "memory_budget_mb"_a, "match"_a, "factors"_a, "chunk_size"_a,
        "progress"_a.none());
  m.def("analyze_there", analyze_there, "rows"_a, "order"_a, "permutation"_a.none(), "device"_a,
        "variant"_a, "threads"_a, "memory_budget_mb"_a, "match"_a, "factors"_a, "chunk_size"_a,
        "progress"_a.none());
  m.def("profile", profile, "row_ptr"_a, "col_idx"_a, "cells"_a, "threads"_a, "progress"_a.none());
  m.def("supernodal", supernodal, "row_ptr"_a, "col_idx"_a, "threads"_a, "most_columns"_a,
        "relax"_a, "progress"_a.none());
  m.def("levels", levels, "parent"_a);
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
