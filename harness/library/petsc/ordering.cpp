// The orders of libgsofa as an ordering of PETSc: MatOrderingType "gsofa".
//
// PETSc calls PetscDLLibraryRegister_gsofa_petsc() when it loads this library (-dll_append), or a
// program calls it after PetscInitialize(). The library takes PETSc and MPI from the program.

#include <petscmat.h>

#include <array>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "common/mpi_launcher.hpp"
#include "gsofa/gsofa.hpp"

namespace {

constexpr PetscErrorCode success = static_cast<PetscErrorCode>(0);

// The order of rows and columns alike (old index by new position), or what went wrong.
struct outcome {
  std::vector<PetscInt> order;
  std::string name, error;
};

outcome order_of(PetscInt n, const PetscInt* row_ptr, const PetscInt* col_idx, const char* order,
                 int threads, int factorizations) {
  const auto rows = static_cast<std::size_t>(n);
  const auto entries = static_cast<std::size_t>(row_ptr[n]);
  try {
    gsofa::order_options o;
    o.order = order;
    o.threads = threads;
    o.purpose.factorizations = factorizations;
    const gsofa::basic_csr_view<PetscInt, PetscInt> a{n, std::span(row_ptr, rows + 1),
                                                      std::span(col_idx, entries)};
    const gsofa::pattern_order found = gsofa::order(a, o);
    return {{found.permutation.begin(), found.permutation.end()}, found.order, ""};
  } catch (const std::bad_alloc&) {
    return {{}, "", "memory"};  // no allocation
  } catch (const std::exception& e) {
    return {{}, "", e.what()};
  }
}

// -gsofa_order NAME or NAME:OPTION=VALUE,..., -gsofa_threads N, -gsofa_factorizations N.
PetscErrorCode options_of(Mat a, std::span<char> order, PetscInt* threads,
                          PetscInt* factorizations) {
  PetscMPIInt ranks = 1;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  // 0: this rank's share, which is known if the launcher says how many ranks a node has.
  *threads = ranks == 1 || gsofa::size_of_job().of_node > 1 ? 0 : 1;
  const char* prefix = nullptr;
  PetscOptions options = nullptr;
  PetscCall(PetscObjectGetOptionsPrefix(reinterpret_cast<PetscObject>(a), &prefix));
  PetscCall(PetscObjectGetOptions(reinterpret_cast<PetscObject>(a), &options));
  PetscCall(
      PetscOptionsGetString(options, prefix, "-gsofa_order", order.data(), order.size(), nullptr));
  PetscCall(PetscOptionsGetInt(options, prefix, "-gsofa_threads", threads, nullptr));
  PetscCheck(*threads >= 0 && *threads <= 4096, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "-gsofa_threads %" PetscInt_FMT " is not in [0, 4096]", *threads);
  PetscCall(PetscOptionsGetInt(options, prefix, "-gsofa_factorizations", factorizations, nullptr));
  PetscCheck(*factorizations >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "-gsofa_factorizations %" PetscInt_FMT " is not positive", *factorizations);
  PetscFunctionReturn(success);
}

// Collective over nothing: PETSc calls it with sequential matrices. Blocks of BAIJ are ordered as
// blocks.
PetscErrorCode order_by_gsofa(Mat a, MatOrderingType, IS* rows, IS* columns) {
  std::array<char, 256> order{"automatic"};
  PetscInt n = 0, threads = 1, factorizations = 1;
  const PetscInt *row_ptr = nullptr, *col_idx = nullptr;
  PetscBool done = PETSC_FALSE;
  PetscFunctionBegin;
  PetscCall(options_of(a, order, &threads, &factorizations));
  PetscCall(MatGetRowIJ(a, 0, PETSC_FALSE, PETSC_TRUE, &n, &row_ptr, &col_idx, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "this type of matrix gives no rows to order");
  const outcome found = order_of(n, row_ptr, col_idx, order.data(), static_cast<int>(threads),
                                 static_cast<int>(factorizations));
  PetscCall(MatRestoreRowIJ(a, 0, PETSC_FALSE, PETSC_TRUE, nullptr, &row_ptr, &col_idx, &done));
  PetscCheck(found.error.empty(), PETSC_COMM_SELF, PETSC_ERR_LIB, "gsofa: %s", found.error.c_str());
  PetscCall(PetscInfo(a, "order %s\n", found.name.c_str()));
  for (IS* to : {rows, columns}) {
    PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, found.order.data(), PETSC_COPY_VALUES, to));
  }
  PetscFunctionReturn(success);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] PetscErrorCode PetscDLLibraryRegister_gsofa_petsc();

extern "C" PetscErrorCode PetscDLLibraryRegister_gsofa_petsc() {
  PetscFunctionBegin;
  PetscCall(MatOrderingRegister("gsofa", order_by_gsofa));
  PetscFunctionReturn(success);
}
