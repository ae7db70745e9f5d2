// A shared library as another METIS of the process: with the name of libmetis, indices of 64 bits,
// and functions of METIS's inside, which nobody may call. Its order is the reverse, rotated by the
// sum of the options no2hop, nseps and ufactor that are set.

#include <cstdint>
#include <cstdlib>
#include <initializer_list>

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
  std::int64_t shift = 0;
  for (const int option : {9, 15, 16}) {
    if (options[option] >= 0) shift += options[option];
  }
  for (std::int64_t k = 0; k < *n; ++k) {
    perm[k] = *n - 1 - (k + shift) % *n;
    iperm[perm[k]] = k;
  }
  return 1;
}
}
