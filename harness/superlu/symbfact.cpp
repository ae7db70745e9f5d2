// symbfact() of SuperLU_DIST by libgsofa: the same arrays, from SuperLU_DIST's own allocator.
//
// README.md has how a program gets it and what the environment says. Compiled twice: as a shared
// library, whose symbfact the loader finds before that of SuperLU_DIST, and with GSOFA_SUPERLU_WRAP
// as an archive for programs that link SuperLU_DIST statically with -Wl,--wrap=symbfact.

#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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
#include "harness/superlu/superlu_headers.hpp"

using gsofa::supernode_range;

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

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Processors that this process may use, divided by the ranks that share them where the launcher
// says how many a node has and they are not bound to processors of their own.
int threads() {
  if (const int given = std::atoi(setting("GSOFA_SUPERLU_THREADS")); given > 0) return given;
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) return 1;
  const int usable = CPU_COUNT(&mine);
  if (usable < sysconf(_SC_NPROCESSORS_ONLN)) return std::max(1, usable);
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE",
                           "MV2_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"}) {
    if (const int ranks = std::atoi(setting(name)); ranks > 0) return std::max(1, usable / ranks);
  }
  return std::max(1, usable);
}

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

// What symbfact was called with last, and what it found: SamePattern of SuperLU_DIST calls it with
// the same pattern again and again.
class kept_result {
 public:
  // The supernodes of A; from the call before, if that had the same pattern, tree and limits.
  std::shared_ptr<const gsofa::analysis> find(superlu_dist_options_t* options, const SuperMatrix& a,
                                              const int_t* etree) {
    const std::scoped_lock lock(mutex_);
    const auto n = static_cast<std::size_t>(a.ncol);
    const std::array<int, 2> limits{static_cast<int>(sp_ienv_dist(2, options)),
                                    static_cast<int>(sp_ienv_dist(3, options))};
    if (found_ && limits == limits_ && same(a, etree)) return found_;
    found_.reset();
    const rows_of_a rows = transposed(a);
    const std::vector<std::int32_t> parent(etree, etree + n);
    const auto relaxed = gsofa::relaxed_supernodes(parent, limits[0]);
    gsofa::analysis_options o;
    o.device = gsofa::compute_device::cpu;
    o.threads = threads();
    o.match = false;
    o.order = gsofa::order_method::natural;
    o.supernodal = true;
    o.most_columns = limits[1];
    o.relaxed = relaxed;
    const auto out = std::make_shared<const gsofa::analysis>(
        gsofa::analyze({static_cast<std::int32_t>(n), rows.row_ptr, rows.col_idx}, o));
    if (std::string_view(setting("GSOFA_SUPERLU_KEEP")) == "0") return out;
    keep(a, etree);
    limits_ = limits;
    found_ = out;
    return out;
  }

 private:
  [[nodiscard]] bool same(const SuperMatrix& a, const int_t* etree) const {
    const auto& store = *static_cast<const NCPformat*>(a.Store);
    const auto n = static_cast<std::size_t>(a.ncol);
    if (n != etree_.size() || !std::equal(etree_.begin(), etree_.end(), etree)) return false;
    std::size_t p = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const auto size = static_cast<std::size_t>(store.colend[j] - store.colbeg[j]);
      if (p + size != end_[j]) return false;
      if (!std::equal(rows_.begin() + static_cast<std::ptrdiff_t>(p),
                      rows_.begin() + static_cast<std::ptrdiff_t>(end_[j]),
                      store.rowind + store.colbeg[j])) {
        return false;
      }
      p = end_[j];
    }
    return true;
  }

  void keep(const SuperMatrix& a, const int_t* etree) {
    const auto& store = *static_cast<const NCPformat*>(a.Store);
    const auto n = static_cast<std::size_t>(a.ncol);
    etree_.assign(etree, etree + n);
    rows_.clear();
    end_.clear();
    for (std::size_t j = 0; j < n; ++j) {
      rows_.insert(rows_.end(), store.rowind + store.colbeg[j], store.rowind + store.colend[j]);
      end_.push_back(rows_.size());
    }
  }

  std::mutex mutex_;
  std::vector<int_t> etree_, rows_;
  std::vector<std::size_t> end_;
  std::array<int, 2> limits_{};
  std::shared_ptr<const gsofa::analysis> found_;
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

stored_entries count(const gsofa::supernodal_factors& s,
                     const std::vector<std::int32_t>& supernode) {
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

// Fills the two structs; allocates as symbfact_SubFree() and its callers free.
void hand_over(superlu_dist_options_t* options, const SuperMatrix& a,
               const gsofa::supernodal_factors& s, bool print, Glu_persist_t* persist,
               Glu_freeable_t* lists) {
  const auto n = static_cast<std::size_t>(a.ncol);
  const auto supernodes = static_cast<std::size_t>(s.supernodes());
  as_int(static_cast<std::int64_t>(s.rows.size()), "row subscripts of L");
  as_int(static_cast<std::int64_t>(s.segments.size()), "segments of U");
  int_array lsub(s.rows.size());
  int_array usub(s.segments.size());
  std::vector<std::int32_t> supernode(n);
  // SuperLU_DIST's bookkeeping, with room for one entry of A; its lists are replaced. Nothing fails
  // from here on.
  if (symbfact_SubInit(options, DOFACT, nullptr, 0, a.nrow, a.ncol, 1, persist, lists) != 0) {
    throw std::bad_alloc();
  }
  std::copy(s.rows.begin(), s.rows.end(), &lsub[0]);
  std::copy(s.segments.begin(), s.segments.end(), &usub[0]);
  superlu_free_dist(lists->lsub);
  superlu_free_dist(lists->usub);
  lists->lsub = lsub.release();
  lists->usub = usub.release();
  lists->nzlmax = static_cast<int_t>(s.rows.size());
  lists->nzumax = static_cast<int_t>(s.segments.size());
  for (std::size_t k = 0; k < supernodes; ++k) {
    const auto begin = static_cast<std::size_t>(s.first_column[k]);
    const auto end = static_cast<std::size_t>(s.first_column[k + 1]);
    persist->xsup[k] = s.first_column[k];
    lists->xlsub[begin] = static_cast<int_t>(s.row_begin[k]);
    for (std::size_t j = begin; j < end; ++j) {
      supernode[j] = static_cast<std::int32_t>(k);
      persist->supno[j] = static_cast<int_t>(k);
      // Of all columns but the first the list is empty and begins where that of the supernode ends.
      if (j > begin) lists->xlsub[j] = static_cast<int_t>(s.row_begin[k + 1]);
    }
  }
  persist->xsup[supernodes] = a.ncol;
  persist->supno[n] = static_cast<int_t>(supernodes) - 1;
  lists->xlsub[n] = static_cast<int_t>(s.rows.size());
  std::copy(s.segment_begin.begin(), s.segment_begin.end(), lists->xusub);
  const stored_entries stored = count(s, supernode);
  lists->nnzLU = stored.l + stored.u - static_cast<std::int64_t>(n);
  if (print && options->PrintStat == YES) {
    std::printf(
        "\tsymbfact (gsofa): n %zu, supernodes %zu, entries of L %lld, of U %lld, of L+U %lld,"
        " row subscripts %zu\n",
        n, supernodes, static_cast<long long>(stored.l), static_cast<long long>(stored.u),
        static_cast<long long>(lists->nnzLU), s.rows.size());
  }
}

[[noreturn]] void give_up(const std::string& why) {
  std::string line = "gsofa: symbfact: " + why;
  superlu_abort_and_exit_dist(line.data());
  std::abort();  // an abort of the user's own may return
}

int_t symbfact_by_gsofa(routine original, superlu_dist_options_t* options, int pnum, SuperMatrix* a,
                        column_permutation perm_c, int_t* etree, Glu_persist_t* persist,
                        Glu_freeable_t* lists) {
  const std::string_view mode = setting("GSOFA_SUPERLU");
  if (!mode.empty() && mode != "on" && mode != "off" && mode != "verbose") {
    give_up("GSOFA_SUPERLU is '" + std::string(mode) + "': one of on, off, verbose");
  }
  if (mode == "off") {
    if (original == nullptr)
      give_up("GSOFA_SUPERLU is off, but symbfact of SuperLU_DIST is not there");
    return original(options, pnum, a, perm_c, etree, persist, lists);
  }
  try {
    if (a->nrow != a->ncol) throw gsofa::invalid_input("the matrix is not square");
    const auto begin = std::chrono::steady_clock::now();
    const auto found = kept().find(options, *a, etree);
    hand_over(options, *a, found->supernodal, is_first(pnum), persist, lists);
    if (mode == "verbose" && is_first(pnum)) {
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      std::fprintf(stderr,
                   "gsofa: symbfact: n %lld, %lld entries of L+U, %d supernodes, %.3g s (%s)\n",
                   static_cast<long long>(a->ncol), static_cast<long long>(lists->nnzLU),
                   found->supernodal.supernodes(), taken.count(), found->variant.c_str());
    }
    return a->ncol == 1 ? 0 : -lists->xlsub[a->ncol];
  } catch (const std::bad_alloc&) {
    // As documented: what could not be had, of which only the lists of A are known.
    return static_cast<int_t>(std::min<std::int64_t>(
        std::numeric_limits<int_t>::max(),
        std::int64_t{static_cast<const NCPformat*>(a->Store)->nnz} * std::int64_t{sizeof(int_t)}));
  } catch (const gsofa::analysis_error& e) {
    if (e.kind() == gsofa::failure::out_of_memory) {
      if (is_first(pnum)) std::fprintf(stderr, "gsofa: symbfact: %s\n", e.what());
      return static_cast<int_t>(static_cast<const NCPformat*>(a->Store)->nnz);
    }
    give_up(e.what());
  } catch (const std::exception& e) {
    give_up(e.what());
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
