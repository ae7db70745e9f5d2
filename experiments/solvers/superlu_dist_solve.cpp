// superlu_dist_solve [options] MATRIX: solves A x = b by pdgssvx of SuperLU_DIST as any of its
// users does, and prints what each phase took as a line of JSON. Which order and which symbfact
// it gets is the loader's matter: $LD_PRELOAD (harness/library/superlu/README.md). Run by mpirun on
// as many ranks as the grid has.

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#include <superlu_ddefs.h>
#pragma GCC diagnostic pop

#include "common/matrix_file.hpp"
#include "common/ordering.hpp"
#include "common/pattern.hpp"
#include "common/preprocess.hpp"
#include "experiments/solvers/linear_system.hpp"
#include "harness/library/example/static_lu.hpp"

namespace {

using static_lu::at;

struct choices {
  std::string matrix;
  std::vector<std::string> column_orders = {"metis"};
  int repeat = 1;
  std::string row_order = "matching";
  std::string solution;
  int grid_rows = 1;
  int grid_columns = 1;
  int steps = 1;
  int relax = 60;
  int most_columns = 256;
  bool refine = true;
};

// The values of a file, or made-up ones where it has a pattern only.
static_lu::matrix read(const std::string& name) {
  gsofa::matrix_file_header header;
  header.field = "pattern";
  if (!name.starts_with("gen:")) static_cast<void>(gsofa::read_matrix_file(name, &header));
  return header.field == "pattern" ? cudss_solver::read_system(name, false).a
                                   : static_lu::read_matrix_market(name);
}

// perm_r[i]: the row that row i becomes, so that no diagonal entry is structurally zero.
std::vector<int_t> matched_rows(const static_lu::matrix& a) {
  gsofa::pattern p;
  p.n_rows = p.n_cols = a.n();
  p.row_ptr = a.pattern.row_ptr;
  p.col_idx = a.pattern.col_idx;
  const auto found = gsofa::match_diagonal(p, gsofa::match_auto);
  if (found.structural_rank < a.n()) {
    throw std::runtime_error("structurally singular: rank " +
                             std::to_string(found.structural_rank) + " of " +
                             std::to_string(a.n()));
  }
  std::vector<int_t> out(at(a.n()));
  for (std::int32_t k = 0; k < a.n(); ++k) out[at(found.matched.row_order[at(k)])] = k;
  return out;
}

double seconds(const SuperLUStat_t& s, PhaseType phase) { return s.utime[phase]; }

// One process's share of the rows, which pdgssvx overwrites.
SuperMatrix local_part(const static_lu::matrix& a, std::int64_t first, std::int64_t rows,
                       int step) {
  const std::int64_t begin = a.pattern.row_ptr[at(first)];
  const std::int64_t entries = a.pattern.row_ptr[at(first + rows)] - begin;
  double* values = doubleMalloc_dist(static_cast<int_t>(entries) + 1);
  int_t* columns = intMalloc_dist(static_cast<int_t>(entries) + 1);
  int_t* row_begin = intMalloc_dist(static_cast<int_t>(rows) + 1);
  for (std::int64_t p = 0; p < entries; ++p) {
    // Each step has values of its own.
    values[p] =
        a.values[at(begin + p)] * (1 + 0.01 * step * std::sin(static_cast<double>(begin + p)));
    columns[p] = a.pattern.col_idx[at(begin + p)];
  }
  for (std::int64_t i = 0; i <= rows; ++i) {
    row_begin[i] = static_cast<int_t>(a.pattern.row_ptr[at(first + i)] - begin);
  }
  SuperMatrix out;
  dCreate_CompRowLoc_Matrix_dist(&out, a.n(), a.n(), static_cast<int_t>(entries),
                                 static_cast<int_t>(rows), static_cast<int_t>(first), values,
                                 columns, row_begin, SLU_NR_loc, SLU_D, SLU_GE);
  return out;
}

nlohmann::json solve(const choices& c, const std::string& column_order, const static_lu::matrix& a,
                     gridinfo_t& grid) {
  superlu_dist_options_t options;
  set_default_options_dist(&options);
  options.PrintStat = NO;
  options.ReplaceTinyPivot = YES;  // a structural matching may leave tiny values on the diagonal
  options.superlu_relax = c.relax;
  options.superlu_maxsup = c.most_columns;
  options.IterRefine = c.refine ? SLU_DOUBLE : NOREFINE;
  options.ColPerm = column_order == "metis"     ? METIS_AT_PLUS_A
                    : column_order == "mmd"     ? MMD_AT_PLUS_A
                    : column_order == "natural" ? NATURAL
                                                : MY_PERMC;
  const auto n = static_cast<int_t>(a.n());
  dScalePermstruct_t permutation;
  dScalePermstructInit(n, n, &permutation);
  if (c.row_order != "matching") {
    options.RowPerm = c.row_order == "hwpm" ? LargeDiag_HWPM : LargeDiag_MC64;
  } else {
    options.RowPerm = MY_PERMR;
    const auto rows = matched_rows(a);
    std::copy(rows.begin(), rows.end(), permutation.perm_r);
  }
  if (options.ColPerm == MY_PERMC) {
    gsofa::index_t k = 0;
    const gsofa::pattern_view p{a.n(), a.n(), a.pattern.row_ptr, a.pattern.col_idx};
    for (const auto column : gsofa::compute_order(p, column_order, -1).order) {
      permutation.perm_c[column] = k++;
    }
  }
  dLUstruct_t factors;
  dLUstructInit(n, &factors);
  SuperLUStat_t statistics;
  PStatInit(&statistics);
  const int ranks = c.grid_rows * c.grid_columns;
  const std::int64_t first = std::int64_t{n} * grid.iam / ranks;
  const std::int64_t rows = std::int64_t{n} * (grid.iam + 1) / ranks - first;
  std::vector<double> x(at(rows));
  double backward_error = 0;
  double operations = 0;   // of the last numeric factorization
  double cpu_seconds = 0;  // of this rank, all steps
  int info = 0;
  dSOLVEstruct_t solve_struct{};
  nlohmann::json phases = nlohmann::json::array();
  for (int step = 0; step < c.steps && info == 0; ++step) {
    options.Fact = step == 0 ? DOFACT : SamePattern;
    SuperMatrix part = local_part(a, first, rows, step);
    const std::vector<double> b = static_lu::some_right_side(a.n());
    std::copy_n(b.begin() + first, rows, x.begin());
    PStatFree(&statistics);
    PStatInit(&statistics);
    MPI_Barrier(grid.comm);
    const double begin = MPI_Wtime();
    const std::clock_t cpu = std::clock();
    pdgssvx(&options, &part, &permutation, x.data(), static_cast<int>(rows), 1, &grid, &factors,
            &solve_struct, &backward_error, &statistics, &info);
    double all = MPI_Wtime() - begin;
    cpu_seconds += static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
    // A phase has taken what the slowest rank took.
    std::vector<double> taken{all,
                              seconds(statistics, EQUIL),
                              seconds(statistics, ROWPERM),
                              seconds(statistics, COLPERM),
                              seconds(statistics, ETREE),
                              seconds(statistics, SYMBFAC),
                              seconds(statistics, DIST),
                              seconds(statistics, FACT),
                              seconds(statistics, SOLVE),
                              seconds(statistics, REFINE)};
    MPI_Allreduce(MPI_IN_PLACE, taken.data(), static_cast<int>(taken.size()), MPI_DOUBLE, MPI_MAX,
                  grid.comm);
    phases.push_back(taken);
    operations = statistics.ops[FACT];
    MPI_Allreduce(MPI_IN_PLACE, &operations, 1, MPI_DOUBLE, MPI_SUM, grid.comm);
    Destroy_CompRowLoc_Matrix_dist(&part);
    dDestroy_LU(n, &grid, &factors);
    if (options.SolveInitialized) dSolveFinalize(&options, &solve_struct);
  }
  nlohmann::json out = {{"matrix", c.matrix},
                        {"n", a.n()},
                        {"nnz", a.values.size()},
                        {"ranks", ranks},
                        {"info", info},
                        {"backward_error", backward_error},
                        {"column_order", column_order}};
  out["phases"] = {"all",      "equilibration", "row_order", "column_order", "etree",
                   "symbolic", "distribution",  "numeric",   "solve",        "refine"};
  out["seconds"] = phases;
  out["operations"] = operations;
  out["cpu_seconds"] = cpu_seconds;  // of rank 0
  // The solution of the last step, on rank 0.
  std::vector<int> counts(at(ranks));
  std::vector<int> places(at(ranks));
  for (int r = 0; r < ranks; ++r) {
    const std::int64_t begin = std::int64_t{n} * r / ranks;
    places[at(r)] = static_cast<int>(begin);
    counts[at(r)] = static_cast<int>(std::int64_t{n} * (r + 1) / ranks - begin);
  }
  std::vector<double> whole(grid.iam == 0 ? at(n) : 0);
  MPI_Gatherv(x.data(), static_cast<int>(rows), MPI_DOUBLE, whole.data(), counts.data(),
              places.data(), MPI_DOUBLE, 0, grid.comm);
  if (grid.iam == 0) {
    static_lu::matrix last = a;
    for (std::size_t p = 0; p < last.values.size(); ++p) {
      last.values[p] *= 1 + 0.01 * (c.steps - 1) * std::sin(static_cast<double>(p));
    }
    out["residual"] = static_lu::relative_residual(last, whole, static_lu::some_right_side(a.n()));
    if (!c.solution.empty()) {
      std::FILE* file = std::fopen(c.solution.c_str(), "wb");
      const bool written = file != nullptr && std::fwrite(whole.data(), sizeof(double),
                                                          whole.size(), file) == whole.size();
      if (file == nullptr || std::fclose(file) != 0 || !written) {
        throw std::runtime_error(c.solution + ": cannot be written");
      }
    }
  }
  PStatFree(&statistics);
  dScalePermstructFree(&permutation);
  dLUstructFree(&factors);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  choices c;
  CLI::App app("Solves A x = b by pdgssvx of SuperLU_DIST and prints the time of each phase");
  app.add_option("matrix", c.matrix,
                 "Matrix Market file, or gen:SPEC; values are made up where there are none")
      ->required();
  app.add_option("--rows", c.grid_rows, "Rows of the grid of ranks")->check(CLI::PositiveNumber);
  app.add_option("--columns", c.grid_columns, "Columns of it")->check(CLI::PositiveNumber);
  app.add_option("--column-order", c.column_orders,
                 "metis, mmd, natural or the file of a permutation; several are solved in turn")
      ->check(CLI::IsMember({"metis", "mmd", "natural"}) | CLI::ExistingFile);
  app.add_option("--repeat", c.repeat, "Solve in each order this many times")
      ->check(CLI::PositiveNumber);
  app.add_option("--row-order", c.row_order,
                 "matching: structural, of the testbed; of SuperLU_DIST: mc64, absent in Debian's "
                 "build, or hwpm, square grids only")
      ->check(CLI::IsMember({"matching", "hwpm", "mc64"}));
  app.add_option("--relax", c.relax, "Most columns of a relaxed supernode")
      ->check(CLI::PositiveNumber);
  app.add_option("--most-columns", c.most_columns, "Of a supernode")->check(CLI::PositiveNumber);
  app.add_option("--steps", c.steps, "Factorizations, all but the first with SamePattern")
      ->check(CLI::PositiveNumber);
  app.add_flag("!--no-refine", c.refine, "No iterative refinement");
  app.add_option("--solution", c.solution, "File that gets x as doubles");
  CLI11_PARSE(app, argc, argv);
  MPI_Init(&argc, &argv);
  int code = 0;
  try {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != c.grid_rows * c.grid_columns) {
      throw std::runtime_error("the job has " + std::to_string(ranks) + " ranks, the grid " +
                               std::to_string(c.grid_rows * c.grid_columns));
    }
    gridinfo_t grid;
    superlu_gridinit(MPI_COMM_WORLD, c.grid_rows, c.grid_columns, &grid);
    const static_lu::matrix a = read(c.matrix);
    for (int k = 0; k < c.repeat; ++k) {
      for (const std::string& column_order : c.column_orders) {
        const nlohmann::json found = solve(c, column_order, a, grid);
        if (grid.iam == 0) std::printf("%s\n", found.dump().c_str());
        if (found["info"] != 0) code = 1;
      }
    }
    superlu_gridexit(&grid);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "superlu_dist_solve: %s: %s\n", c.matrix.c_str(), e.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return code;
}
