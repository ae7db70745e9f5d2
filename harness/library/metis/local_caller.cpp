// A plugin that calls METIS, which the test loads with a scope of its own.

#include "harness/library/metis/metis_functions.hpp"

GSOFA_METIS_EXPORT int call_nodend(idx_t* nvtxs, idx_t* xadj, idx_t* adjncy, idx_t* options,
                                   idx_t* perm, idx_t* iperm) {
  METIS_SetDefaultOptions(options);
  const int status = METIS_NodeND(nvtxs, xadj, adjncy, nullptr, options, perm, iperm);
  options[0] = status;  // the call above is no jump
  return status;
}
