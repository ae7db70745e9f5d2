// The symbfact and the get_perm_c_dist that the program of wrap_test.cpp has of its own: they say
// only that they were called.
#include "harness/library/superlu/superlu_headers.hpp"

int_t symbfact(superlu_dist_options_t*, int, SuperMatrix*, gsofa::superlu::column_index*, int_t*,
               Glu_persist_t*, Glu_freeable_t*) {
  return -12345;
}

void get_perm_c_dist(gsofa::superlu::column_index, gsofa::superlu::column_index, SuperMatrix*,
                     gsofa::superlu::column_index* perm_c) {
  perm_c[0] = -12345;
}
