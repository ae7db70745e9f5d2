// get_perm_c_dist() of SuperLU_DIST: the orders of A + A^T (METIS_AT_PLUS_A, MMD_AT_PLUS_A) by
// libgsofa.
//
// Every rank calls it with the same columns, and pdgssvx does not compare what they get: all ranks
// must get the same order. It depends on the pattern, the method, $GSOFA_FACTORIZATIONS and the
// number of ranks alone; a device finds the order of the host.
// Compiled twice, as symbfact.cpp.

#include <dlfcn.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "common/process.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/superlu/column_order.hpp"
#include "harness/library/superlu/environment.hpp"
#include "harness/library/superlu/superlu_headers.hpp"

namespace gsofa::superlu {

namespace {

using order_routine = decltype(&get_perm_c_dist);

// How libgsofa orders.
struct choice {
  bool ours = true;
  order_choice order{};
};

choice choice_of_setting() {
  const std::string_view name = setting("GSOFA_ORDER");
  if (name == "off") return {.ours = false};
  if (name.empty()) return {};
  try {
    return {.order = order_choice(std::string(name))};
  } catch (const invalid_input& e) {
    throw invalid_input("GSOFA_ORDER: " + std::string(e.what()) + ", or off");
  }
}

// The columns of A as an analysis takes them.
struct columns_of_a {
  std::vector<std::int64_t> col_ptr;
  std::vector<std::int32_t> row_idx;

  explicit columns_of_a(const SuperMatrix& a) {
    const auto& store = *static_cast<const NCformat*>(a.Store);
    const auto n = static_cast<std::size_t>(a.ncol);
    col_ptr.assign(store.colptr, store.colptr + n + 1);
    row_idx.reserve(static_cast<std::size_t>(col_ptr.back()));
    for (const int_t i : std::span(store.rowind, static_cast<std::size_t>(col_ptr.back()))) {
      if (i < 0 || i >= a.nrow) {
        throw invalid_input("row " + std::to_string(i) + " is outside [0, " +
                            std::to_string(a.nrow) + ")");
      }
      row_idx.push_back(static_cast<std::int32_t>(i));
    }
  }
};

std::int64_t entries_of(const SuperMatrix& a) {
  return static_cast<const NCformat*>(a.Store)->colptr[a.ncol];
}

// A device finds the order of the host. It is used where one process orders for the job; otherwise
// each process would begin to use it.
bool may_use_device(const SuperMatrix& a) {
  const job_size size = size_of_job();
  return size.is_known &&
         (size.of_job == 1 || (size.of_node == size.of_job && shares(entries_of(a))));
}

pattern_order ordered(const SuperMatrix& a, const order_choice& c, int threads) {
  const columns_of_a columns(a);
  const csc_view view{static_cast<std::int32_t>(a.ncol), columns.col_ptr, columns.row_idx};
  const job_size size = size_of_job();
  order_options o;
  o.order = c;
  o.purpose = {.factorizations = factorizations_of_setting(),
               .kind = factorization_kind::distributed,
               .cores = size.is_known ? size.of_job : 1};
  o.threads = threads;
  const bool on_gpu = c == order_method::gpu_nested_dissection;
  if (!on_gpu && !may_use_device(a)) o.device = compute_device::cpu;
  return order(view, o);
}

std::shared_ptr<const column_order> found_order(const SuperMatrix& a, const choice& c,
                                                std::uint64_t key,
                                                const std::vector<helper>& helpers) {
  const lent_processors lent(helpers);
  const int threads = threads_for(entries_of(a), lent.threads());
  pattern_order found = ordered(a, c.order, threads);
  std::string how = found.order + ", threads " + std::to_string(threads);
  if (!helpers.empty()) how += ", for " + std::to_string(1 + helpers.size()) + " processes";
  return std::make_shared<const column_order>(
      column_order{key, std::move(found.permutation), std::move(how)});
}

// One process of a node finds an order; the others receive it until the next call of the process
// that found it.
class node_order {
 public:
  struct answer {
    std::shared_ptr<const column_order> order;
    const char* from;
  };

  answer find(const SuperMatrix& a, const choice& c) {
    const std::scoped_lock lock(mutex_);
    share_.reset();
    const std::uint64_t key =
        key_of(a, setting("GSOFA_ORDER") + std::string(" ") + setting("GSOFA_FACTORIZATIONS"));
    const int others = size_of_job().of_node - 1;
    if (others == 0 || !shares(entries_of(a))) return {found_order(a, c, key, {}), ""};
    const std::string name =
        "gsofa.order." + std::to_string(geteuid()) + "." + std::to_string(key) + "." + job();
    auto share = std::make_unique<node_share>(name, others, own_processors());
    if (!share->finds()) {
      auto given =
          order_of_memory(share->wait(limit_of_waiting()), key, static_cast<std::size_t>(a.ncol));
      if (!given) return {found_order(a, c, key, {}), ""};
      return {std::make_shared<const column_order>(std::move(*given)), ", by another process"};
    }
    const auto helpers = share->helpers(std::chrono::microseconds(200), patience(entries_of(a)));
    const auto result = found_order(a, c, key, helpers);
    give_to(*share, *result);
    share_ = std::move(share);
    return {result, ""};
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<node_share> share_;
};

// Whether libgsofa finds this order.
bool is_ours(bool of_sum, const SuperMatrix& a) {
  return of_sum && a.nrow == a.ncol && a.Stype == SLU_NC &&
         a.ncol <= std::numeric_limits<std::int32_t>::max();
}

void order_by_gsofa(order_routine original, int pnum, int ispec, SuperMatrix* a,
                    column_index* perm_c) {
  try {
    const call_mode mode = mode_of_calls();
    const choice c = choice_of_setting();
    const bool of_sum = ispec == METIS_AT_PLUS_A || ispec == MMD_AT_PLUS_A;
    if (mode == call_mode::off || !c.ours || !is_ours(of_sum, *a)) {
      if (original == nullptr) {
        throw invalid_input("get_perm_c_dist of SuperLU_DIST is not there");
      }
      return original(pnum, ispec, a, perm_c);
    }
    static node_order shared;
    const auto begin = std::chrono::steady_clock::now();
    const auto [found, from] = shared.find(*a, c);
    for (std::size_t k = 0; k < found->permutation.size(); ++k) {
      perm_c[found->permutation[k]] = static_cast<column_index>(k);
    }
    if (mode == call_mode::verbose && pnum == 0) {
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      std::fprintf(stderr, "gsofa: get_perm_c_dist: n %lld, %lld entries, %.3g s (%s%s)\n",
                   static_cast<long long>(a->ncol), static_cast<long long>(entries_of(*a)),
                   taken.count(), found->how.c_str(), from);
    }
  } catch (const std::exception& e) {
    give_up("get_perm_c_dist", e.what());
  }
}

}  // namespace

}  // namespace gsofa::superlu

using gsofa::superlu::column_index;

// Its first two parameters are int_t up to version 9.1 of SuperLU_DIST, int from 9.2 on, as
// column_index.
#ifdef GSOFA_SUPERLU_WRAP

extern "C" decltype(get_perm_c_dist) __real_get_perm_c_dist, __wrap_get_perm_c_dist;

extern "C" void __wrap_get_perm_c_dist(column_index pnum, column_index ispec, SuperMatrix* a,
                                       column_index* perm_c) {
  gsofa::superlu::order_by_gsofa(__real_get_perm_c_dist, static_cast<int>(pnum),
                                 static_cast<int>(ispec), a, perm_c);
}

#else

static gsofa::superlu::order_routine original_order() {
  for (void* place : {RTLD_NEXT, RTLD_DEFAULT}) {
    const auto found =
        reinterpret_cast<gsofa::superlu::order_routine>(dlsym(place, "get_perm_c_dist"));
    if (found != nullptr && found != &get_perm_c_dist) return found;
  }
  return nullptr;
}

// The same under a name of its own, for programs that call it themselves.
extern "C" [[gnu::visibility("default")]] void gsofa_get_perm_c_dist(column_index pnum,
                                                                     column_index ispec,
                                                                     SuperMatrix* a,
                                                                     column_index* perm_c) {
  static const auto original = original_order();
  gsofa::superlu::order_by_gsofa(original, static_cast<int>(pnum), static_cast<int>(ispec), a,
                                 perm_c);
}

extern "C" [[gnu::visibility("default")]] void get_perm_c_dist(column_index pnum,
                                                               column_index ispec, SuperMatrix* a,
                                                               column_index* perm_c) {
  gsofa_get_perm_c_dist(pnum, ispec, a, perm_c);
}

#endif
