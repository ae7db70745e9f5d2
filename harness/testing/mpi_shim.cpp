// Preloaded under mpirun (LD_PRELOAD), makes one rank of a job late, stuck or short of memory.
//
//   GSOFA_SHIM_RANK=2               the rank; the others are left alone
//   GSOFA_SHIM_SLEEP=MPI_Wtime:3:20 after its 3rd MPI_Wtime it sleeps 20 ms; MPI_Barrier,
//                                   MPI_Allreduce and new (allocations) likewise; -1: for ever
//   GSOFA_SHIM_FAIL=17              its 17th allocation by operator new throws std::bad_alloc
//   GSOFA_SHIM_COUNT=1              its allocations are counted and printed at MPI_Finalize
//
// Allocations are counted from the end of MPI_Init_thread to the begin of MPI_Finalize.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

namespace {

struct trap {
  char call[32] = "";
  long at = 0;
  long milliseconds = 0;
};

bool chosen = false;  // this is the rank
trap sleeper;
long fail_at = 0;
std::atomic<bool> inside{false};  // between MPI_Init_thread and MPI_Finalize
std::atomic<long> allocations{0};

void pass(const char* call, std::atomic<long>& count) {
  if (!inside.load() || std::strcmp(call, sleeper.call) != 0 || ++count != sleeper.at) return;
  if (sleeper.milliseconds < 0) {
    for (;;) pause();
  }
  const timespec span{sleeper.milliseconds / 1000, sleeper.milliseconds % 1000 * 1000000};
  nanosleep(&span, nullptr);
}

void* allocate(std::size_t size, std::size_t alignment) {
  static std::atomic<long> slept{0};
  if (inside.load(std::memory_order_relaxed)) {
    if (++allocations == fail_at) return nullptr;
    pass("new", slept);
  }
  const std::size_t bytes = size == 0 ? 1 : size;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* const p = allocate(size, alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

void* operator new(std::size_t size) { return allocate_or_throw(size, 1); }
void* operator new[](std::size_t size) { return allocate_or_throw(size, 1); }
void* operator new(std::size_t size, std::align_val_t a) {
  return allocate_or_throw(size, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t size, std::align_val_t a) {
  return allocate_or_throw(size, static_cast<std::size_t>(a));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, 1); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, 1); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

extern "C" {

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* const which = std::getenv("GSOFA_SHIM_RANK");
  chosen = which != nullptr && std::atoi(which) == rank;
  if (!chosen) return code;
  if (const char* text = std::getenv("GSOFA_SHIM_SLEEP")) {
    std::sscanf(text, "%31[^:]:%ld:%ld", sleeper.call, &sleeper.at, &sleeper.milliseconds);
  }
  if (const char* text = std::getenv("GSOFA_SHIM_FAIL")) fail_at = std::atol(text);
  inside.store(true);
  return code;
}

int MPI_Finalize() {
  inside.store(false);
  if (chosen && std::getenv("GSOFA_SHIM_COUNT") != nullptr) {
    std::fprintf(stderr, "allocations: %ld\n", allocations.load());
  }
  return PMPI_Finalize();
}

double MPI_Wtime() {
  static std::atomic<long> count{0};
  const double now = PMPI_Wtime();
  pass("MPI_Wtime", count);
  return now;
}

int MPI_Barrier(MPI_Comm comm) {
  static std::atomic<long> count{0};
  const int code = PMPI_Barrier(comm);
  pass("MPI_Barrier", count);
  return code;
}

int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  static std::atomic<long> calls{0};
  const int code = PMPI_Allreduce(from, to, count, type, op, comm);
  pass("MPI_Allreduce", calls);
  return code;
}

}  // extern "C"
