#pragma once

#ifdef GSOFA_HAVE_METIS

#include <metis.h>

#include <atomic>

namespace gsofa {

/// How a call of METIS was kept apart from the rest of the process.
enum class metis_isolation {
  bound,   ///< METIS drew from a generator of the call: any number of calls run at a time
  locked,  ///< one call at a time, on rand() with its state saved and restored
};

/// METIS_NodeND on the graph of order n in xadj and adjncy: old number by new position into perm,
/// its inverse into iperm. The same arguments give the same order, that of METIS on the rand() of
/// the C library, whatever other threads do; rand() of the caller and signal handlers are as if
/// nothing had been called (if `locked`, as long as no other thread calls rand() meanwhile).
/// `most` = locked forces the fallback. A `bound` call ends with cancelled_error soon after *stop
/// has become true. Returns the isolation that was used. Throws std::bad_alloc where METIS runs out
/// of memory, error where it fails otherwise.
metis_isolation metis_node_nd(idx_t n, idx_t* xadj, idx_t* adjncy, idx_t* options, idx_t* perm,
                              idx_t* iperm, metis_isolation most = metis_isolation::bound,
                              const std::atomic<bool>* stop = nullptr);

}  // namespace gsofa

#endif
