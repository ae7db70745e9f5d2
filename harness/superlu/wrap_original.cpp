// Stands for the archive of SuperLU_DIST in wrap_test.cpp: its symbfact, and a routine that calls
// it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#include <superlu_ddefs.h>
#pragma GCC diagnostic pop

int_t call_symbfact(superlu_dist_options_t* options, SuperMatrix* a, int_t* perm_c, int_t* etree,
                    Glu_persist_t* persist, Glu_freeable_t* lists);

int_t call_symbfact(superlu_dist_options_t* options, SuperMatrix* a, int_t* perm_c, int_t* etree,
                    Glu_persist_t* persist, Glu_freeable_t* lists) {
  return symbfact(options, 0, a, perm_c, etree, persist, lists);
}
