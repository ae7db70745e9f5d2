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
  __typeof__(gsofa_analyzer_analyze)* analyzer_analyze;
  __typeof__(gsofa_analyzer_free)* analyzer_free;
  __typeof__(gsofa_estimate)* estimate;
  __typeof__(gsofa_profile_pattern)* profile_pattern;
  __typeof__(gsofa_profile_free)* profile_free;
  __typeof__(gsofa_variants)* variants;
  __typeof__(gsofa_get_result_sized)* get_result;
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

enum what { by_analyze, by_analyzer, by_estimate, by_profile, by_variants };

struct trial {
  gsofa_options options;
  enum what what;
  long first, last; /* allocations that fail */
  gsofa_status status;
  int64_t nnz_u;
  long needed;
  char text[512];
};

static int go_on(int stage, double share, void* user) {
  (void)stage;
  (void)share;
  (void)user;
  return 0;
}

static void* analyze(void* data) {
  struct trial* const t = data;
  gsofa_analysis* found = NULL;
  gsofa_analyzer* by = NULL;
  const gsofa_analysis* of_analyzer = NULL;
  gsofa_profile* profile = NULL;
  gsofa_fill_estimate estimate = {0};
  const gsofa_variant* variants = NULL;
  int32_t count = 0;
  const gsofa_pattern pattern = {order, row_ptr, col_idx, GSOFA_INDEX_64_32, GSOFA_CSR};
  fail_allocations(t->first, t->last);
  switch (t->what) {
    case by_analyze:
      t->status = lib.analyze(order, row_ptr, col_idx, &t->options, &found);
      break;
    case by_analyzer:
      t->status = lib.analyzer_create(&by);
      if (t->status == GSOFA_OK) {
        t->status = lib.analyzer_analyze(by, &pattern, &t->options, &of_analyzer);
      }
      break;
    case by_estimate:
      t->status = lib.estimate(&pattern, &t->options, &estimate, NULL);
      break;
    case by_profile:
      t->status = lib.profile_pattern(&pattern, 4, 2, &profile);
      break;
    case by_variants:
      t->status = lib.variants(&variants, &count);
      break;
  }
  snprintf(t->text, sizeof t->text, "%s", lib.last_error());
  t->needed = allocations_made();
  fail_allocations(0, 0);
  gsofa_result result;
  lib.get_result(t->what == by_analyzer ? of_analyzer : found, &result, sizeof result);
  t->nnz_u = t->what == by_estimate ? estimate.nnz_u : result.nnz_u;
  lib.free(found);
  lib.analyzer_free(by);
  lib.profile_free(profile);
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

static void sweep(const char* name, enum what what, gsofa_order by, int threads, int watched) {
  struct trial t;
  memset(&t, 0, sizeof t);
  lib.options_init_sized(&t.options, sizeof t.options);
  t.options.device = GSOFA_CPU;
  t.options.order = by;
  t.options.threads = threads;
  t.options.factors = 1;
  t.options.supernodal = 1;
  t.what = what;
  if (watched) t.options.progress = go_on;
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
  if (needed < 10 || refused < 10) ++failures;
}

/* The text of an error where there is no memory for it, and on more threads than have room. */
enum { many_threads = 80 };
static pthread_barrier_t all_have_failed;
static pthread_barrier_t all_have_begun; /* a thread that is created needs memory, too */
static long allocations_that_fail;

static void* fail_and_read(void* data) {
  int* const wrong = data;
  pthread_barrier_wait(&all_have_begun);
  fail_allocations(1, allocations_that_fail);
  const gsofa_status status = lib.analyzer_create(NULL);
  const char* const text = lib.last_error();
  fail_allocations(0, 0);
  pthread_barrier_wait(&all_have_failed);
  *wrong = status != GSOFA_INVALID_INPUT ||
           (strcmp(text, "out is NULL") != 0 &&
            (allocations_that_fail == 0 || strstr(text, "there is no memory") == NULL));
  lib.analyzer_create(NULL); /* with memory again */
  *wrong = *wrong || strcmp(lib.last_error(), "out is NULL") != 0;
  return NULL;
}

static void check_texts(void) {
  pthread_t threads[many_threads];
  int wrong[many_threads];
  for (int round = 0; round < 4; ++round) {
    allocations_that_fail = round % 2 == 0 ? 0 : LONG_MAX;
    const int count = round < 2 ? 1 : many_threads;
    pthread_barrier_init(&all_have_failed, NULL, (unsigned)count);
    pthread_barrier_init(&all_have_begun, NULL, (unsigned)count);
    for (int t = 0; t < count; ++t) {
      wrong[t] = 1;
      fail_allocations(0, 0);
      if (pthread_create(&threads[t], NULL, fail_and_read, &wrong[t]) != 0) exit(1);
    }
    for (int t = 0; t < count; ++t) {
      pthread_join(threads[t], NULL);
      failures += wrong[t];
    }
    pthread_barrier_destroy(&all_have_failed);
    pthread_barrier_destroy(&all_have_begun);
  }
  if (failures > 0) printf("failed: texts of errors\n");
}

int main(void) {
  /* The thread-local block of the exceptions of a thread. */
  if (system("grep -q _ZZN12_GLOBAL__N_110get_globalEvE6global '" GSOFA_LIBRARY "'") == 0) {
    puts("skipped: libstdc++ is linked statically; its thread-local block needs memory at a throw");
    return 77;
  }
  fill_grid();
  /* Values of the first 32 keys need no memory: the library shall have a later one. */
  pthread_key_t key;
  for (int k = 0; k < 40; ++k) {
    if (pthread_key_create(&key, NULL) != 0) return 1;
  }
  void* const library = dlopen(GSOFA_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  find(library, "gsofa_options_init_sized", &lib.options_init_sized);
  find(library, "gsofa_analyze", &lib.analyze);
  find(library, "gsofa_analyzer_create", &lib.analyzer_create);
  find(library, "gsofa_analyzer_analyze", &lib.analyzer_analyze);
  find(library, "gsofa_analyzer_free", &lib.analyzer_free);
  find(library, "gsofa_estimate", &lib.estimate);
  find(library, "gsofa_profile_pattern", &lib.profile_pattern);
  find(library, "gsofa_profile_free", &lib.profile_free);
  find(library, "gsofa_variants", &lib.variants);
  find(library, "gsofa_get_result_sized", &lib.get_result);
  find(library, "gsofa_free", &lib.free);
  find(library, "gsofa_last_error", &lib.last_error);
  check_texts();
  /* First, since the list is made once: until that has succeeded. */
  struct trial variants;
  memset(&variants, 0, sizeof variants);
  variants.what = by_variants;
  do {
    variants.last = ++variants.first;
    run(&variants);
  } while (variants.status == GSOFA_OUT_OF_MEMORY);
  if (variants.status != GSOFA_OK || variants.first < 5) ++failures;
  sweep("natural", by_analyze, GSOFA_ORDER_NATURAL, 1, 0);
  sweep("metis", by_analyze, GSOFA_ORDER_METIS, 1, 0);
  sweep("amd", by_analyze, GSOFA_ORDER_AMD, 1, 0);
  sweep("nested dissection on two threads", by_analyze, GSOFA_ORDER_CPU_NESTED_DISSECTION, 2, 0);
  sweep("amd, with progress", by_analyze, GSOFA_ORDER_AMD, 2, 1);
  sweep("natural, by an analyzer", by_analyzer, GSOFA_ORDER_NATURAL, 1, 0);
  sweep("estimate", by_estimate, GSOFA_ORDER_COLAMD, 1, 0);
  sweep("profile", by_profile, GSOFA_ORDER_NATURAL, 1, 0);
  return failures == 0 ? 0 : 1;
}
