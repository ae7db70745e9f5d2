/* fill MATRIX: fill of LU with static pivoting, through the C interface. MATRIX is a Matrix Market
 * coordinate file in general storage, plain or gzip'd. Exit status: 0, or 2 after any error. */

#include <gsofa/gsofa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void fail(const char* why) {
  fprintf(stderr, "fill: %s\n", why);
  exit(2);
}

static void* allocate(int64_t count, size_t size) {
  void* p = calloc((size_t)count + 1, size);
  if (p == NULL) fail("out of memory");
  return p;
}

int main(int argc, char** argv) {
  char line[1024];
  long n = 0, cols = 0, nnz = 0, i, j;
  if (argc != 2) fail("usage: fill MATRIX.mtx[.gz]");
  gzFile in = gzopen(argv[1], "rb");
  if (in == NULL) fail("the file cannot be opened");
  if (gzgets(in, line, sizeof line) == NULL || strstr(line, "coordinate") == NULL ||
      strstr(line, "general") == NULL) {
    fail("not a Matrix Market coordinate file in general storage");
  }
  do {
    if (gzgets(in, line, sizeof line) == NULL) fail("no size line");
  } while (line[0] == '%');
  if (sscanf(line, "%ld %ld %ld", &n, &cols, &nnz) != 3 || n != cols || n < 1 || nnz < 0) {
    fail("not a square matrix");
  }

  int32_t* rows = allocate(nnz, sizeof *rows);
  int32_t* unsorted = allocate(nnz, sizeof *unsorted);
  int32_t* col_idx = allocate(nnz, sizeof *col_idx);
  int64_t* row_ptr = allocate(n + 1, sizeof *row_ptr);
  for (long k = 0; k < nnz; ++k) {
    if (gzgets(in, line, sizeof line) == NULL || sscanf(line, "%ld %ld", &i, &j) != 2 || i < 1 ||
        i > n || j < 1 || j > n) {
      fail("an entry is missing or out of range");
    }
    rows[k] = (int32_t)(i - 1);
    unsorted[k] = (int32_t)(j - 1);
    ++row_ptr[i + 1];
  }
  gzclose(in);
  /* row_ptr[i + 1] becomes the end of row i while its columns are put down, in the file's order */
  for (i = 1; i < n; ++i) row_ptr[i + 1] += row_ptr[i];
  for (long k = 0; k < nnz; ++k) col_idx[row_ptr[rows[k] + 1]++] = unsorted[k];

  gsofa_options options;
  gsofa_options_init(&options);
  options.supernodes = 1;
  gsofa_analysis* found = NULL;
  if (gsofa_analyze((int32_t)n, row_ptr, col_idx, &options, &found) != GSOFA_OK) {
    fail(gsofa_last_error());
  }
  const int32_t* starts = NULL;
  int32_t supernodes = 0;
  if (gsofa_supernodes(found, &starts, &supernodes) != GSOFA_OK) fail(gsofa_last_error());
  printf("n %ld, nnz(L) %lld, nnz(U) %lld, %ld supernodes, order %s, %s in %.3g s\n", n,
         (long long)gsofa_nnz_l(found), (long long)gsofa_nnz_u(found), (long)supernodes,
         gsofa_order_name(found), gsofa_variant_name(found), gsofa_analysis_seconds(found));
  gsofa_free(found);
  free(row_ptr);
  free(col_idx);
  free(unsorted);
  free(rows);
  return 0;
}
