/* libgsofa loaded by dlopen() into a C program, which has no C++ run-time of its own: every
   allocation of a first analysis on a new thread fails in turn, alone and with all after it. The
   answer must be a status. What a thread first needs of its thread-local blocks is allocated under
   the same rule. */

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gsofa/gsofa.h"

/* Of harness/testing/failing_malloc.hpp. */
void fail_allocations(long first, long last);
long allocations_made(void);

enum { side = 8, order = side * side };

static int64_t row_ptr[order + 1];
static int32_t col_idx[5 * order];

static void fill_grid(void) {
  int64_t entries = 0;
  for (int32_t v = 0; v < order; ++v) {
    if (v >= side) col_idx[entries++] = v - side;
    if (v % side != 0) col_idx[entries++] = v - 1;
    col_idx[entries++] = v;
    if (v % side != side - 1) col_idx[entries++] = v + 1;
    if (v + side < order) col_idx[entries++] = v + side;
    row_ptr[v + 1] = entries;
  }
}

static struct {
  __typeof__(gsofa_options_init_sized)* options_init_sized;
  __typeof__(gsofa_analyze)* analyze;
  __typeof__(gsofa_analyzer_create)* analyzer_create;
  __typeof__(gsofa_analyzer_start)* analyzer_start;
  __typeof__(gsofa_analyzer_wait)* analyzer_wait;
  __typeof__(gsofa_analyzer_free)* analyzer_free;
  __typeof__(gsofa_nnz_u)* nnz_u;
  __typeof__(gsofa_free)* free;
  __typeof__(gsofa_last_error)* last_error;
} lib;

/* ISO C has no conversion of the pointers of dlsym() to functions. */
static void find(void* library, const char* name, void* function) {
  void* const found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "no %s: %s\n", name, dlerror());
    exit(1);
  }
  memcpy(function, &found, sizeof found);
}

struct trial {
  gsofa_options options;
  int pending;      /* by an analyzer */
  long first, last; /* allocations that fail */
  gsofa_status status;
  int64_t nnz_u;
  long needed;
  char text[512];
};

static void* analyze(void* data) {
  struct trial* const t = data;
  gsofa_analysis* found = NULL;
  gsofa_analyzer* by = NULL;
  const gsofa_analysis* of_analyzer = NULL;
  const gsofa_pattern pattern = {order, row_ptr, col_idx, GSOFA_INDEX_64_32, GSOFA_CSR};
  fail_allocations(t->first, t->last);
  if (t->pending) {
    t->status = lib.analyzer_create(&by);
    if (t->status == GSOFA_OK) t->status = lib.analyzer_start(by, &pattern, &t->options);
    if (t->status == GSOFA_OK) t->status = lib.analyzer_wait(by, &of_analyzer);
  } else {
    t->status = lib.analyze(order, row_ptr, col_idx, &t->options, &found);
  }
  snprintf(t->text, sizeof t->text, "%s", lib.last_error());
  t->needed = allocations_made();
  fail_allocations(0, 0);
  t->nnz_u = lib.nnz_u(t->pending ? of_analyzer : found);
  lib.free(found);
  lib.analyzer_free(by);
  return NULL;
}

static void run(struct trial* t) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, analyze, t) != 0) {
    fprintf(stderr, "no thread\n");
    exit(1);
  }
  pthread_join(thread, NULL);
}

static int failures = 0;

static void sweep(const char* name, gsofa_order by, int threads, int pending) {
  struct trial t;
  memset(&t, 0, sizeof t);
  lib.options_init_sized(&t.options, sizeof t.options);
  t.options.device = GSOFA_CPU;
  t.options.order = by;
  t.options.threads = threads;
  t.options.factors = 1;
  t.options.supernodal = 1;
  t.pending = pending;
  run(&t);
  if (t.status == GSOFA_UNAVAILABLE) return;
  run(&t);
  const int64_t expected = t.nnz_u;
  const long needed = t.needed;
  long refused = 0;
  for (int onwards = 0; onwards < 2; ++onwards) {
    for (long k = 1; k <= needed; ++k) {
      t.first = k;
      t.last = onwards ? LONG_MAX : k;
      run(&t);
      if (t.status == GSOFA_OK
              ? t.nnz_u == expected
              : t.status == GSOFA_OUT_OF_MEMORY || strncmp(t.text, "cannot start ", 13) == 0) {
        refused += t.status != GSOFA_OK;
        continue;
      }
      ++failures;
      printf("failed: %s: allocation %ld%s: status %d: %s\n", name, k,
             onwards ? " and all after it" : "", (int)t.status, t.text);
    }
  }
  printf("%s: %ld allocations, %ld refusals\n", name, needed, refused);
  fflush(stdout);
  if (needed < 20 || refused < 20) ++failures;
}

int main(void) {
  fill_grid();
  void* const library = dlopen(GSOFA_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  find(library, "gsofa_options_init_sized", &lib.options_init_sized);
  find(library, "gsofa_analyze", &lib.analyze);
  find(library, "gsofa_analyzer_create", &lib.analyzer_create);
  find(library, "gsofa_analyzer_start", &lib.analyzer_start);
  find(library, "gsofa_analyzer_wait", &lib.analyzer_wait);
  find(library, "gsofa_analyzer_free", &lib.analyzer_free);
  find(library, "gsofa_nnz_u", &lib.nnz_u);
  find(library, "gsofa_free", &lib.free);
  find(library, "gsofa_last_error", &lib.last_error);
  sweep("natural", GSOFA_ORDER_NATURAL, 1, 0);
  sweep("amd", GSOFA_ORDER_AMD, 1, 0);
  sweep("nested dissection on two threads", GSOFA_ORDER_NESTED_DISSECTION, 2, 0);
  sweep("natural, by an analyzer", GSOFA_ORDER_NATURAL, 1, 1);
  return failures == 0 ? 0 : 1;
}
