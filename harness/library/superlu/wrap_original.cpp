// Stands for the archive of SuperLU_DIST in wrap_test.cpp: its symbfact, and a routine that calls
// it.
#include "harness/library/superlu/superlu_headers.hpp"

int_t call_symbfact(superlu_dist_options_t* options, SuperMatrix* a,
                    gsofa::superlu::column_index* perm_c, int_t* etree, Glu_persist_t* persist,
                    Glu_freeable_t* lists);

int_t call_symbfact(superlu_dist_options_t* options, SuperMatrix* a,
                    gsofa::superlu::column_index* perm_c, int_t* etree, Glu_persist_t* persist,
                    Glu_freeable_t* lists) {
  return symbfact(options, 0, a, perm_c, etree, persist, lists);
}
