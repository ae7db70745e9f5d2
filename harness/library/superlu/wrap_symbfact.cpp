// The symbfact that the program of wrap_test.cpp has of its own: it says only that it was called.
#include "harness/library/superlu/superlu_headers.hpp"

int_t symbfact(superlu_dist_options_t*, int, SuperMatrix*, gsofa::superlu::column_index*, int_t*,
               Glu_persist_t*, Glu_freeable_t*) {
  return -12345;
}
