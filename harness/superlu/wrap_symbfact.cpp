// The symbfact that the program of wrap_test.cpp has of its own: it says only that it was called.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#include <superlu_ddefs.h>
#pragma GCC diagnostic pop

int_t symbfact(superlu_dist_options_t*, int, SuperMatrix*, int_t*, int_t*, Glu_persist_t*,
               Glu_freeable_t*) {
  return -12345;
}
