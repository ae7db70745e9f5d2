// Stands for the archive of SuperLU_DIST in wrap_test.cpp: routines that call its symbfact and its
// get_perm_c_dist.
#include "harness/library/superlu/superlu_headers.hpp"

int_t call_symbfact(superlu_dist_options_t* options, SuperMatrix* a,
                    gsofa::superlu::column_index* perm_c, int_t* etree, Glu_persist_t* persist,
                    Glu_freeable_t* lists);

int_t call_symbfact(superlu_dist_options_t* options, SuperMatrix* a,
                    gsofa::superlu::column_index* perm_c, int_t* etree, Glu_persist_t* persist,
                    Glu_freeable_t* lists) {
  return symbfact(options, 0, a, perm_c, etree, persist, lists);
}

void call_get_perm_c_dist(SuperMatrix* a, gsofa::superlu::column_index* perm_c);

void call_get_perm_c_dist(SuperMatrix* a, gsofa::superlu::column_index* perm_c) {
  get_perm_c_dist(0, METIS_AT_PLUS_A, a, perm_c);
}
