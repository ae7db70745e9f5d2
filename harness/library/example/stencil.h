/* A x = b on a cube of points: the 7-point stencil with convection, general and diagonally
 * dominant. What the examples for cuDSS share. */
#ifndef STENCIL_H
#define STENCIL_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* n rows in compressed sparse rows; new arrays. */
typedef struct stencil {
  int32_t n, nnz;
  int32_t *row_ptr, *col_idx;
  double *values, *b;
} stencil;

static inline stencil make_stencil(int32_t side) {
  const int32_t n = side * side * side, step[3] = {side * side, side, 1};
  stencil a = {n, 0, NULL, NULL, NULL, NULL};
  a.row_ptr = (int32_t*)calloc((size_t)n + 1, sizeof(int32_t));
  a.col_idx = (int32_t*)malloc(7 * (size_t)n * sizeof(int32_t));
  a.values = (double*)malloc(7 * (size_t)n * sizeof(double));
  a.b = (double*)malloc((size_t)n * sizeof(double));
  if (a.row_ptr == NULL || a.col_idx == NULL || a.values == NULL || a.b == NULL) abort();
  for (int32_t i = 0; i < n; ++i) {
    for (int k = -3; k <= 3; ++k) { /* columns ascend: -z, -y, -x, diagonal, x, y, z */
      const int32_t s = k == 0 ? 0 : step[3 - abs(k)], at = s == 0 ? 0 : i / s % side;
      if ((k < 0 && at == 0) || (k > 0 && at == side - 1)) continue;
      a.col_idx[a.nnz] = i + (k < 0 ? -s : s);
      a.values[a.nnz++] = k == 0 ? 6.5 : k < 0 ? -1.2 : -0.8;
    }
    a.row_ptr[i + 1] = a.nnz;
    a.b[i] = 1 + i % 7;
  }
  return a;
}

/* ||b - A x|| / ||b|| in maximum norms. */
static inline double residual_of(const stencil* a, const double* x) {
  double largest = 0, scale = 0;
  for (int32_t i = 0; i < a->n; ++i) {
    double r = a->b[i];
    for (int32_t p = a->row_ptr[i]; p < a->row_ptr[i + 1]; ++p) {
      r -= a->values[p] * x[a->col_idx[p]];
    }
    largest = fmax(largest, fabs(r));
    scale = fmax(scale, fabs(a->b[i]));
  }
  return largest / scale;
}

#endif
