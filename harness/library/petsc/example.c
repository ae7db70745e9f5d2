/* Solves A x = b directly and prints the time of the set-up, the entries of the factor and the
 * residual. It knows nothing of libgsofa: the order comes from the command line (README.md).
 * A: a matrix in PETSc's binary form (-f FILE), or a 7-point grid of -n points each way. */
#include <petscksp.h>
#include <petsctime.h>

static PetscErrorCode grid(PetscInt n, Mat* a) {
  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n * n * n, n * n * n, 7, NULL, a));
  for (PetscInt i = 0; i < n * n * n; ++i) {
    const PetscInt step[3] = {1, n, n * n};
    PetscCall(MatSetValue(*a, i, i, 6.1, INSERT_VALUES));
    for (int d = 0; d < 3; ++d) {
      if (i / step[d] % n + 1 == n) continue;
      PetscCall(MatSetValue(*a, i, i + step[d], -1, INSERT_VALUES));
      PetscCall(MatSetValue(*a, i + step[d], i, -1, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*a, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*a, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
  char file[4096] = "";
  PetscInt n = 20;
  PetscBool given;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-f", file, sizeof file, &given));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  Mat a, factor;
  if (given) {
    PetscViewer from;
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, file, FILE_MODE_READ, &from));
    PetscCall(MatCreate(PETSC_COMM_SELF, &a));
    PetscCall(MatSetFromOptions(a));
    PetscCall(MatLoad(a, from));
    PetscCall(PetscViewerDestroy(&from));
  } else {
    PetscCall(grid(n, &a));
  }
  Vec x, b, r;
  PetscCall(MatCreateVecs(a, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(b, 1));
  KSP ksp;
  PC pc;
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, a, a));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCLU));
  PetscCall(KSPSetFromOptions(ksp));
  PetscLogDouble begin, end;
  PetscCall(PetscTime(&begin));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscTime(&end));
  PetscCall(KSPSolve(ksp, b, x));
  PetscReal norm, of_b;
  PetscCall(MatMult(a, x, r));
  PetscCall(VecAXPY(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &norm));
  PetscCall(VecNorm(b, NORM_2, &of_b));
  MatInfo info;
  PetscCall(PCFactorGetMatrix(pc, &factor));
  PetscCall(MatGetInfo(factor, MAT_LOCAL, &info));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "set-up %.3f s, %.0f entries, residual %.1e\n",
                        end - begin, info.nz_used, (double)(norm / of_b)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&a));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  return PetscFinalize();
}
