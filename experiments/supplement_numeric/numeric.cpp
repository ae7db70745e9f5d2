// numeric [--csv] MATRIX.mtx[.gz]...: solves A x = b with factors whose values go to the positions
// that the symbolic factorization predicts and nowhere else. For comparison, also solves with
// Eigen's SparseLU (partial pivoting) and, if it is installed, SuperLU_DIST (static pivoting
// alone).
//
// Exit status: 0, 1 a value fell outside the predicted pattern or a residual is above 1e-12, 2 bad
// input.

#include <Eigen/SparseLU>
#include <cstdio>
#include <exception>
#include <gsofa/gsofa.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/library/example/static_lu.hpp"

#ifdef GSOFA_HAVE_SUPERLU_DIST
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#include <superlu_ddefs.h>
#pragma GCC diagnostic pop
#endif

namespace {

using static_lu::at;

struct peer_solution {
  std::vector<double> x;
  double residual = 0;
  long long entries = 0;  // of L+U
};

using sparse = Eigen::SparseMatrix<double, Eigen::ColMajor, int>;

sparse to_eigen(const static_lu::matrix& a) {
  std::vector<Eigen::Triplet<double>> entries;
  for (std::int32_t i = 0; i < a.n(); ++i) {
    const auto columns = a.pattern.row(i);
    for (std::size_t p = 0; p < columns.size(); ++p) {
      entries.emplace_back(i, columns[p], a.row_values(i)[p]);
    }
  }
  sparse m(a.n(), a.n());
  m.setFromTriplets(entries.begin(), entries.end());
  return m;
}

std::optional<peer_solution> by_eigen(const static_lu::matrix& a, const std::vector<double>& b) {
  const sparse m = to_eigen(a);
  Eigen::SparseLU<sparse, Eigen::COLAMDOrdering<int>> lu;
  lu.compute(m);
  if (lu.info() != Eigen::Success) return std::nullopt;
  const Eigen::VectorXd x = lu.solve(Eigen::Map<const Eigen::VectorXd>(b.data(), a.n()));
  peer_solution s;
  s.x.assign(x.data(), x.data() + x.size());
  s.residual = static_lu::relative_residual(a, s.x, b);
  s.entries = static_cast<long long>(lu.nnzL()) + static_cast<long long>(lu.nnzU());
  return s;
}

#ifdef GSOFA_HAVE_SUPERLU_DIST

// pdgssvx_ABglobal on a grid of one process; it orders, scales and refines on its own, with the row
// permutation given: some builds have none that makes the diagonal nonzero, and end the program.
std::optional<peer_solution> by_superlu_dist(const static_lu::matrix& a,
                                             const gsofa::analysis& found,
                                             const std::vector<double>& b) {
  const sparse m = to_eigen(a);
  gridinfo_t grid;
  superlu_gridinit(MPI_COMM_WORLD, 1, 1, &grid);
  superlu_dist_options_t options;
  set_default_options_dist(&options);
  options.PrintStat = NO;
  options.ColPerm = MMD_AT_PLUS_A;
  // It changes the matrix and frees it: allocated by its own means.
  const auto nnz = static_cast<int_t>(m.nonZeros());
  const auto n = static_cast<int_t>(a.n());
  auto* values = static_cast<double*>(SUPERLU_MALLOC(at(nnz) * sizeof(double)));
  auto* rows = static_cast<int_t*>(SUPERLU_MALLOC(at(nnz) * sizeof(int_t)));
  auto* begin = static_cast<int_t*>(SUPERLU_MALLOC((at(n) + 1) * sizeof(int_t)));
  std::copy(m.valuePtr(), m.valuePtr() + nnz, values);
  std::copy(m.innerIndexPtr(), m.innerIndexPtr() + nnz, rows);
  std::copy(m.outerIndexPtr(), m.outerIndexPtr() + n + 1, begin);
  SuperMatrix matrix;
  dCreate_CompCol_Matrix_dist(&matrix, n, n, nnz, values, rows, begin, SLU_NC, SLU_D, SLU_GE);
  dScalePermstruct_t permutation;
  dScalePermstructInit(n, n, &permutation);
  options.RowPerm = MY_PERMR;
  for (std::size_t k = 0; k < at(n); ++k) {
    permutation.perm_r[found.row_order[k]] = found.col_order[k];
  }
  dLUstruct_t factors;
  dLUstructInit(n, &factors);
  SuperLUStat_t statistics;
  PStatInit(&statistics);
  peer_solution s;
  s.x = b;
  double error = 0;
  int info = 0;
  pdgssvx_ABglobal(&options, &matrix, &permutation, s.x.data(), n, 1, &grid, &factors, &error,
                   &statistics, &info);
  s.residual = static_lu::relative_residual(a, s.x, b);
  PStatFree(&statistics);
  Destroy_CompCol_Matrix_dist(&matrix);
  dDestroy_LU(n, &grid, &factors);
  dScalePermstructFree(&permutation);
  dLUstructFree(&factors);
  superlu_gridexit(&grid);
  if (info != 0) return std::nullopt;
  return s;
}

#else

std::optional<peer_solution> by_superlu_dist(const static_lu::matrix&, const gsofa::analysis&,
                                             const std::vector<double>&) {
  return std::nullopt;
}

#endif

double distance(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> d(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) d[k] = x[k] - y[k];
  return static_lu::max_norm(d) / static_lu::max_norm(y);
}

std::string stem(const std::string& file) {
  const auto slash = file.rfind('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  return name.substr(0, name.find(".mtx"));
}

std::string text(const std::optional<peer_solution>& s, double value) {
  if (!s) return "-";
  char out[32];
  std::snprintf(out, sizeof out, "%.2g", value);
  return out;
}

bool run(const std::string& file, bool csv) {
  const static_lu::matrix a = static_lu::read_matrix_market(file);
  const gsofa::analysis found =
      gsofa::analyze(a.pattern.view(), {.device = gsofa::compute_device::cpu,
                                        .order = gsofa::order_method::cpu_nested_dissection,
                                        .factors = true});
  const std::vector<double> b = static_lu::some_right_side(a.n());
  const static_lu::solution s = static_lu::solve(a, found, b);
  const auto eigen = by_eigen(a, b);
  const auto superlu = by_superlu_dist(a, found, b);
  std::printf(
      csv ? "%s,%d,%lld,%lld,%lld,%lld,%d,%.2g,%s,%s,%s\n"
          : "%-14s n %6d  nnz(A) %7lld  nnz(L+U) %8lld  outside %lld  pivots replaced %lld  "
            "solves %d  residual %.2g  Eigen %s, distance %s  SuperLU_DIST %s\n",
      stem(file).c_str(), found.n, static_cast<long long>(found.nnz_a),
      static_cast<long long>(found.nnz_l + found.nnz_u), static_cast<long long>(s.outside),
      static_cast<long long>(s.replaced), s.solves, s.residual,
      text(eigen, eigen ? eigen->residual : 0).c_str(),
      text(eigen, eigen ? distance(s.x, eigen->x) : 0).c_str(),
      text(superlu, superlu ? superlu->residual : 0).c_str());
  return s.outside == 0 && s.residual <= 1e-12;
}

}  // namespace

int main(int argc, char** argv) {
  bool csv = false;
  std::vector<std::string> files;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--csv") {
      csv = true;
    } else {
      files.push_back(word);
    }
  }
  if (files.empty()) {
    std::fprintf(stderr, "usage: numeric [--csv] MATRIX.mtx[.gz]...\n");
    return 2;
  }
  if (csv) {
    std::printf(
        "matrix,n,nnz(A),nnz(L+U),values outside,pivots replaced,solves,residual,Eigen,"
        "distance to Eigen,SuperLU_DIST\n");
  }
#ifdef GSOFA_HAVE_SUPERLU_DIST
  MPI_Init(&argc, &argv);
#endif
  int code = 0;
  for (const auto& file : files) {
    try {
      if (!run(file, csv)) {
        std::fprintf(stderr, "numeric: %s: a value outside or a residual above 1e-12\n",
                     file.c_str());
        code = 1;
      }
    } catch (const std::exception& e) {
      std::fprintf(stderr, "numeric: %s\n", e.what());
      code = 2;
      break;
    }
  }
#ifdef GSOFA_HAVE_SUPERLU_DIST
  MPI_Finalize();
#endif
  return code;
}
