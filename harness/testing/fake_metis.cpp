// A shared library as another METIS of the process: with the name of libmetis, indices of 64 bits,
// and functions of METIS's inside, which nobody may call. Its order is the reverse.

#include <cstdint>
#include <cstdlib>

#define GSOFA_FORBIDDEN(name) \
  extern "C" void name() { std::abort(); }

GSOFA_FORBIDDEN(gk_malloc_init)
GSOFA_FORBIDDEN(gk_sigtrap)
GSOFA_FORBIDDEN(libmetis__SetupCtrl)
GSOFA_FORBIDDEN(libmetis__SetupGraph)
GSOFA_FORBIDDEN(libmetis__InitRandom)
GSOFA_FORBIDDEN(libmetis__MlevelNestedDissection)

extern "C" {

int METIS_SetDefaultOptions(std::int64_t* options) {
  for (int k = 0; k < 40; ++k) options[k] = -1;
  return 1;
}

// Draws from rand() as METIS does: that must not be the caller's.
int METIS_NodeND(const std::int64_t* n, const std::int64_t* /*xadj*/,
                 const std::int64_t* /*adjncy*/, const std::int64_t* /*vwgt*/,
                 const std::int64_t* options, std::int64_t* perm, std::int64_t* iperm) {
  std::srand(static_cast<unsigned>(options[8]));
  static_cast<void>(std::rand());
  for (std::int64_t k = 0; k < *n; ++k) perm[k] = iperm[k] = *n - 1 - k;
  return 1;
}
}
