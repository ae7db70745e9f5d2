/* fill MATRIX: fill of LU with static pivoting, through the C interface. MATRIX is any file that
 * gsofa_read_pattern() reads. Exit status: 0, or 2 after any error. */

#include <gsofa/gsofa.h>
#include <stdio.h>
#include <stdlib.h>

static void fail(const char* why) {
  fprintf(stderr, "fill: %s\n", why);
  exit(2);
}

int main(int argc, char** argv) {
  if (argc != 2) fail("usage: fill MATRIX");
  gsofa_pattern a;
  if (gsofa_read_pattern(argv[1], &a) != GSOFA_OK) fail(gsofa_last_error());
  gsofa_options options;
  gsofa_options_init(&options);
  options.supernodes = 1;
  gsofa_analysis* found = NULL;
  if (gsofa_analyze_pattern(&a, &options, &found) != GSOFA_OK) fail(gsofa_last_error());
  const int32_t* starts = NULL;
  int32_t supernodes = 0;
  if (gsofa_supernodes(found, &starts, &supernodes) != GSOFA_OK) fail(gsofa_last_error());
  printf("n %ld, nnz(L) %lld, nnz(U) %lld, %ld supernodes, order %s, %s in %.3g s\n",
         (long)gsofa_n(found), (long long)gsofa_nnz_l(found), (long long)gsofa_nnz_u(found),
         (long)supernodes, gsofa_order_name(found), gsofa_variant_name(found),
         gsofa_analysis_seconds(found));
  gsofa_free(found);
  gsofa_pattern_free(&a);
  return 0;
}
