#pragma once

// The functions of METIS 5 that libgsofa_metis defines, as a program declares them whose idx_t has
// GSOFA_METIS_INDEX_BITS bits.

#include <cstdint>

#if GSOFA_METIS_INDEX_BITS == 64
using idx_t = std::int64_t;
#else
using idx_t = std::int32_t;
#endif

#define GSOFA_METIS_EXPORT extern "C" [[gnu::visibility("default")]]

/// A fill-reducing order of a graph: xadj (n + 1) and adjncy hold the neighbours of each vertex.
/// perm[k] is the old number at new position k, iperm is its inverse. Returns 1, or -2 to -4.
GSOFA_METIS_EXPORT int METIS_NodeND(idx_t* nvtxs, idx_t* xadj, idx_t* adjncy, idx_t* vwgt,
                                    idx_t* options, idx_t* perm, idx_t* iperm);

/// The same with a separator tree of npes leaves, a power of two. sizes (2 npes - 1): the weight of
/// each node, by level from the leaves to the root, each level from left to right.
GSOFA_METIS_EXPORT int METIS_NodeNDP(idx_t nvtxs, idx_t* xadj, idx_t* adjncy, idx_t* vwgt,
                                     idx_t npes, idx_t* options, idx_t* perm, idx_t* iperm,
                                     idx_t* sizes);

/// Fills the 40 options with -1.
GSOFA_METIS_EXPORT int METIS_SetDefaultOptions(idx_t* options);

/// free().
GSOFA_METIS_EXPORT int METIS_Free(void* block);

/// METIS_NodeND of the METIS inside CHOLMOD 4 and later, which has indices of 64 bits in every
/// build.
GSOFA_METIS_EXPORT int SuiteSparse_metis_METIS_NodeND(std::int64_t* nvtxs, std::int64_t* xadj,
                                                      std::int64_t* adjncy, std::int64_t* vwgt,
                                                      std::int64_t* options, std::int64_t* perm,
                                                      std::int64_t* iperm);
