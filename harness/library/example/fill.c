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
  gsofa_result r;
  gsofa_get_result(found, &r);
  printf("n %ld, nnz(L) %lld, nnz(U) %lld, %ld supernodes, order %s, %s in %.3g s\n", (long)r.n,
         (long long)r.nnz_l, (long long)r.nnz_u, (long)r.supernode_count, r.order, r.variant,
         r.analysis_seconds);
  gsofa_free(found);
  gsofa_pattern_free(&a);
  return 0;
}
