// symbfact() of SuperLU_DIST by libgsofa: the same arrays, from SuperLU_DIST's own allocator.
//
// README.md has how a program gets it and what the environment says. Compiled twice: as a shared
// library, whose symbfact the loader finds before that of SuperLU_DIST, and with GSOFA_SUPERLU_WRAP
// as an archive for programs that link SuperLU_DIST statically with -Wl,--wrap=symbfact.

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gsofa/gsofa.hpp"
#include "harness/library/superlu/environment.hpp"
#include "harness/library/superlu/node_share.hpp"
#include "harness/library/superlu/superlu_headers.hpp"
#include "harness/library/superlu/symbolic_result.hpp"

using namespace gsofa::superlu;

namespace {

using routine = decltype(&symbfact);
using column_permutation = gsofa::superlu::column_index*;

// An array of SuperLU_DIST's allocator until release().
class int_array {
 public:
  explicit int_array(std::size_t size)
      : data_(static_cast<int_t*>(
            superlu_malloc_dist(std::max<std::size_t>(size, 1) * sizeof(int_t)))) {
    if (data_ == nullptr) throw std::bad_alloc();
  }
  int_array(const int_array&) = delete;
  int_array& operator=(const int_array&) = delete;
  ~int_array() {
    if (data_ != nullptr) superlu_free_dist(data_);
  }
  int_t& operator[](std::size_t k) { return data_[k]; }
  int_t* release() { return std::exchange(data_, nullptr); }

 private:
  int_t* data_;
};

struct outside_int : std::runtime_error {
  using std::runtime_error::runtime_error;
};

int_t as_int(std::int64_t value, const char* what) {
  if (value > std::numeric_limits<int_t>::max()) {
    throw outside_int(std::string(what) + ": " + std::to_string(value) + " does not fit into the " +
                      std::to_string(8 * sizeof(int_t)) + " bits of int_t");
  }
  return static_cast<int_t>(value);
}

bool is_first(int pnum) { return pnum == 0; }

struct rows_of_a {
  std::vector<std::int64_t> row_ptr;
  std::vector<std::int32_t> col_idx;
};

// The rows of A, which symbfact is given by columns.
rows_of_a transposed(const SuperMatrix& a) {
  const auto& store = *static_cast<const NCPformat*>(a.Store);
  const auto n = static_cast<std::size_t>(a.ncol);
  rows_of_a out;
  out.row_ptr.assign(n + 1, 0);
  for (std::size_t j = 0; j < n; ++j) {
    bool diagonal = false;
    for (int_t p = store.colbeg[j]; p < store.colend[j]; ++p) {
      const int_t i = store.rowind[p];
      if (i < 0 || i >= a.nrow) {
        throw gsofa::invalid_input("column " + std::to_string(j) + ": row " + std::to_string(i) +
                                   " is outside [0, " + std::to_string(a.nrow) + ")");
      }
      diagonal = diagonal || static_cast<std::size_t>(i) == j;
      ++out.row_ptr[static_cast<std::size_t>(i) + 1];
    }
    if (!diagonal) {
      throw gsofa::invalid_input("column " + std::to_string(j) + " has no entry on the diagonal");
    }
  }
  for (std::size_t i = 0; i < n; ++i) out.row_ptr[i + 1] += out.row_ptr[i];
  out.col_idx.resize(static_cast<std::size_t>(out.row_ptr.back()));
  std::vector<std::int64_t> next(out.row_ptr.begin(), out.row_ptr.end() - 1);
  for (std::size_t j = 0; j < n; ++j) {
    for (int_t p = store.colbeg[j]; p < store.colend[j]; ++p) {
      auto& place = next[static_cast<std::size_t>(store.rowind[p])];
      out.col_idx[static_cast<std::size_t>(place++)] = static_cast<std::int32_t>(j);
    }
  }
  return out;
}

gsofa::analysis analysed(const question& q, int threads) {
  const rows_of_a rows = transposed(*q.a);
  const auto n = static_cast<std::size_t>(q.a->ncol);
  const std::vector<std::int32_t> parent(q.etree, q.etree + n);
  const auto relaxed = gsofa::relaxed_supernodes(parent, q.limits[0]);
  gsofa::analysis_options o;
  o.device = gsofa::compute_device::cpu;
  o.threads = threads;
  o.match = false;
  o.order = gsofa::order_method::natural;
  o.supernodal = true;
  o.most_columns = q.limits[1];
  o.relaxed = relaxed;
  return gsofa::analyze({static_cast<std::int32_t>(n), rows.row_ptr, rows.col_idx}, o);
}

std::int64_t entries_of(const question& q) {
  return static_cast<const NCPformat*>(q.a->Store)->nnz;
}

std::shared_ptr<const symbolic_result> found_with(const question& q,
                                                  const std::vector<helper>& helpers) {
  if (q.a->ncol == 0) {
    gsofa::supernodal_factors none;
    none.first_column = {0};
    none.row_begin = {0};
    none.segment_begin = {0};
    return std::make_shared<const symbolic_result>(q, std::move(none), "order 0");
  }
  const lent_processors lent(helpers);
  const int threads = threads_for(entries_of(q), lent.threads());
  gsofa::analysis found = analysed(q, threads);
  std::string how = found.variant + ", threads " + std::to_string(threads);
  if (!helpers.empty()) how += ", for " + std::to_string(1 + helpers.size()) + " processes";
  return std::make_shared<const symbolic_result>(q, std::move(found.supernodal), how);
}

// The last result, and what it belongs to: SamePattern of SuperLU_DIST calls symbfact with the same
// pattern again and again. The processes of a node find a result once.
class kept_result {
 public:
  struct answer {
    std::shared_ptr<const symbolic_result> result;
    const char* from;  ///< where it comes from, if not from this call
  };

  answer find(superlu_dist_options_t* options, const SuperMatrix& a, const int_t* etree) {
    const std::scoped_lock lock(mutex_);
    const question q{
        &a,
        etree,
        {static_cast<int>(sp_ienv_dist(2, options)), static_cast<int>(sp_ienv_dist(3, options))}};
    const bool keeps = std::string_view(setting("GSOFA_SUPERLU_KEEP")) != "0";
    if (keeps && found_ && found_->answers(q)) return {found_, ", kept"};
    found_.reset();
    share_.reset();
    const int others = gsofa::size_of_job().of_node - 1;
    if (others > 0 && shares(entries_of(q))) {
      auto share = std::make_unique<node_share>(share_name(q, job()), others, own_processors());
      if (share->finds()) {
        auto result =
            found_with(q, share->helpers(std::chrono::microseconds(200), patience(entries_of(q))));
        result->give_to(*share);
        share_ = std::move(share);
        if (keeps) found_ = result;
        return {result, ""};
      }
      if (auto given = symbolic_result::of_memory(share->wait(limit_of_waiting()));
          given && given->answers(q)) {
        auto result = std::make_shared<const symbolic_result>(std::move(*given));
        if (keeps) found_ = result;
        return {result, ", by another process"};
      }
    }
    auto result = found_with(q, {});
    if (keeps) found_ = result;
    return {result, ""};
  }

  /// Releases the last result. The processes that wait for it still receive it.
  void forget() {
    const std::scoped_lock lock(mutex_);
    found_.reset();
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const symbolic_result> found_;
  std::unique_ptr<node_share> share_;
};

kept_result& kept() {
  static kept_result one;
  return one;
}

// Entries of L and U with the diagonal blocks whole, as SuperLU_DIST stores them.
struct stored_entries {
  std::int64_t l = 0;  // with the diagonal
  std::int64_t u = 0;  // with the diagonal
};

stored_entries count(const factor_view& s, int_array& supernode) {
  stored_entries out;
  for (std::size_t k = 0; k + 1 < s.first_column.size(); ++k) {
    const std::int64_t width = s.first_column[k + 1] - s.first_column[k];
    out.l += width * (s.row_begin[k + 1] - s.row_begin[k]) - width * (width - 1) / 2;
    out.u += width * (width + 1) / 2;
  }
  for (const std::int32_t top : s.segments) {
    const auto k = static_cast<std::size_t>(supernode[static_cast<std::size_t>(top)]);
    out.u += s.first_column[k + 1] - top;
  }
  return out;
}

// The arrays of the two structs, of SuperLU_DIST's allocator.
struct output_arrays {
  int_array xsup, supno, xlsub, xusub, lsub, usub;

  output_arrays(std::size_t n, const factor_view& s)
      : xsup(n + 1),
        supno(n + 1),
        xlsub(n + 1),
        xusub(n + 1),
        lsub(s.rows.size()),
        usub(s.segments.size()) {}
};

void fill(output_arrays& out, const factor_view& s, std::size_t n) {
  for (std::size_t k = 0; k < s.supernodes(); ++k) {
    const auto begin = static_cast<std::size_t>(s.first_column[k]);
    const auto end = static_cast<std::size_t>(s.first_column[k + 1]);
    out.xsup[k] = s.first_column[k];
    out.xlsub[begin] = static_cast<int_t>(s.row_begin[k]);
    for (std::size_t j = begin; j < end; ++j) {
      out.supno[j] = static_cast<int_t>(k);
      // The lists of all columns but the first are empty: they begin where the supernode's list
      // ends.
      if (j > begin) out.xlsub[j] = static_cast<int_t>(s.row_begin[k + 1]);
    }
  }
  out.xsup[s.supernodes()] = static_cast<int_t>(n);
  out.supno[n] = static_cast<int_t>(s.supernodes()) - 1;
  out.xlsub[n] = static_cast<int_t>(s.rows.size());
  std::copy(s.rows.begin(), s.rows.end(), &out.lsub[0]);
  std::copy(s.segments.begin(), s.segments.end(), &out.usub[0]);
  std::copy(s.segment_begin.begin(), s.segment_begin.end(), &out.xusub[0]);
}

// SuperLU_DIST's own bookkeeping, which symbfact_SubFree() and QuerySpace_dist() read: set up for
// order 0, with workspace that is released here. SuperLU_DIST then allocates 100 bytes more, and
// ends the program itself if it cannot.
void set_up_bookkeeping(superlu_dist_options_t* options) {
  constexpr int_t entries = 2;
  const auto fill = static_cast<std::size_t>(std::max<std::int64_t>(sp_ienv_dist(6, options), 1));
  const std::size_t ints = 4 + 2 * fill * entries;
  int_array workspace(ints);
  Glu_persist_t persist{};
  Glu_freeable_t lists{};
  if (symbfact_SubInit(options, DOFACT, &workspace[0], static_cast<int_t>(ints * sizeof(int_t)), 0,
                       0, entries, &persist, &lists) != 0) {
    throw std::bad_alloc();
  }
}

// Fills the two structs once nothing can fail any more.
stored_entries hand_over(superlu_dist_options_t* options, std::size_t n, const factor_view& s,
                         Glu_persist_t* persist, Glu_freeable_t* lists) {
  const int_t row_count = as_int(static_cast<std::int64_t>(s.rows.size()), "row subscripts of L");
  const int_t segment_count = as_int(static_cast<std::int64_t>(s.segments.size()), "segments of U");
  output_arrays out(n, s);
  fill(out, s, n);
  set_up_bookkeeping(options);
  const stored_entries stored = count(s, out.supno);
  persist->xsup = out.xsup.release();
  persist->supno = out.supno.release();
  lists->xlsub = out.xlsub.release();
  lists->xusub = out.xusub.release();
  lists->lsub = out.lsub.release();
  lists->usub = out.usub.release();
  lists->nzlmax = row_count;
  lists->nzumax = segment_count;
  lists->MemModel = SYSTEM;
  lists->nnzLU = stored.l + stored.u - static_cast<std::int64_t>(n);
  return stored;
}

void print_statistics(const factor_view& s, std::size_t n, const stored_entries& stored) {
  const std::int64_t all = stored.l + stored.u - static_cast<std::int64_t>(n);
  std::printf(
      "\tsymbfact (gsofa): n %zu, supernodes %zu, entries of L %lld, of U %lld, of L+U %lld,"
      " row subscripts %zu\n",
      n, s.supernodes(), static_cast<long long>(stored.l), static_cast<long long>(stored.u),
      static_cast<long long>(all), s.rows.size());
}

// SuperLU_DIST documents the number of bytes that were allocated when memory ran out. Only the size
// of A is known everywhere.
int_t out_of_memory(const SuperMatrix& a) {
  const auto bytes = std::int64_t{static_cast<const NCPformat*>(a.Store)->nnz} *
                     static_cast<std::int64_t>(sizeof(int_t));
  return static_cast<int_t>(std::clamp<std::int64_t>(bytes, 1, std::numeric_limits<int_t>::max()));
}

int_t symbfact_by_gsofa(routine original, superlu_dist_options_t* options, int pnum, SuperMatrix* a,
                        column_permutation perm_c, int_t* etree, Glu_persist_t* persist,
                        Glu_freeable_t* lists) {
  try {
    const call_mode mode = mode_of_calls();
    if (mode == call_mode::off) {
      if (original == nullptr) {
        throw gsofa::invalid_input(
            "GSOFA_SUPERLU is off, but symbfact of SuperLU_DIST is not there");
      }
      return original(options, pnum, a, perm_c, etree, persist, lists);
    }
    if (a->nrow != a->ncol) throw gsofa::invalid_input("the matrix is not square");
    const auto begin = std::chrono::steady_clock::now();
    const auto found = kept().find(options, *a, etree);
    const factor_view& factors = found.result->factors();
    const auto n = static_cast<std::size_t>(a->ncol);
    const stored_entries stored = hand_over(options, n, factors, persist, lists);
    if (is_first(pnum) && options->PrintStat == YES) print_statistics(factors, n, stored);
    if (mode == call_mode::verbose && is_first(pnum)) {
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      const std::string_view how = found.result->how();
      std::fprintf(
          stderr, "gsofa: symbfact: n %lld, %lld entries of L+U, %zu supernodes, %.3g s (%.*s%s)\n",
          static_cast<long long>(a->ncol), static_cast<long long>(lists->nnzLU),
          factors.supernodes(), taken.count(), static_cast<int>(how.size()), how.data(),
          found.from);
    }
    return a->ncol == 1 ? 0 : -lists->xlsub[a->ncol];
  } catch (const std::bad_alloc&) {
    kept().forget();
    return out_of_memory(*a);
  } catch (const gsofa::analysis_error& e) {
    if (e.kind() != gsofa::failure::out_of_memory) give_up("symbfact", e.what());
    kept().forget();
    if (is_first(pnum)) std::fprintf(stderr, "gsofa: symbfact: %s\n", e.what());
    return out_of_memory(*a);
  } catch (const std::exception& e) {
    give_up("symbfact", e.what());
  }
}

}  // namespace

#ifdef GSOFA_SUPERLU_WRAP

extern "C" decltype(symbfact) __real_symbfact, __wrap_symbfact;

extern "C" int_t __wrap_symbfact(superlu_dist_options_t* options, int pnum, SuperMatrix* a,
                                 column_permutation perm_c, int_t* etree, Glu_persist_t* persist,
                                 Glu_freeable_t* lists) {
  return symbfact_by_gsofa(__real_symbfact, options, pnum, a, perm_c, etree, persist, lists);
}

#else

static routine original_symbfact() {
  // Behind this library in the order of the search, or before it.
  for (void* place : {RTLD_NEXT, RTLD_DEFAULT}) {
    const auto found = reinterpret_cast<routine>(dlsym(place, "symbfact"));
    if (found != nullptr && found != &symbfact) return found;
  }
  return nullptr;
}

// The same under a name of its own, for programs that call it themselves.
extern "C" [[gnu::visibility("default")]] int_t gsofa_symbfact(superlu_dist_options_t* options,
                                                               int pnum, SuperMatrix* a,
                                                               column_permutation perm_c,
                                                               int_t* etree, Glu_persist_t* persist,
                                                               Glu_freeable_t* lists) {
  static const routine original = original_symbfact();
  return symbfact_by_gsofa(original, options, pnum, a, perm_c, etree, persist, lists);
}

extern "C" [[gnu::visibility("default")]] int_t symbfact(superlu_dist_options_t* options, int pnum,
                                                         SuperMatrix* a, column_permutation perm_c,
                                                         int_t* etree, Glu_persist_t* persist,
                                                         Glu_freeable_t* lists) {
  return gsofa_symbfact(options, pnum, a, perm_c, etree, persist, lists);
}

#endif
