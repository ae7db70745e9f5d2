// cholmod_solve [options] MATRIX ORDER...: solves A x = b by CHOLMOD in each order and prints a
// line of JSON for each order: wall seconds and CPU seconds of all threads. A round solves once in
// each order. The first round warms up; the least times of at most three further rounds are
// printed. The pattern is that of A + A^T; the values are made up and positive definite.

#include <cholmod.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/generators.hpp"
#include "common/matrix_file.hpp"
#include "common/matrix_market.hpp"
#include "common/ordering.hpp"
#include "experiments/solvers/linear_system.hpp"

namespace {

using namespace gsofa;
using cudss_solver::linear_system;
using json = nlohmann::ordered_json;
using integers = SuiteSparse_long;

// CHOLMOD's own orders (-1: its default strategy); any other word is a file of a permutation.
const std::map<std::string, int> own_orders{
    {"default", -1}, {"amd", CHOLMOD_AMD}, {"metis", CHOLMOD_METIS}};

void check(const cholmod_common& c, const char* step) {
  if (c.status == CHOLMOD_OK) return;
  throw error(exit_code::run_failed,
              std::string(step) + ": status " + std::to_string(c.status) + " of CHOLMOD");
}

// Of each step of a run: wall and CPU seconds.
using times = std::map<std::string, std::vector<double>>;

template <class Call>
auto timed(times& t, const cholmod_common& c, const char* step, const Call& call) {
  const auto wall = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  auto* const result = call();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - wall;
  t[std::string(step) + "_cpu_s"].push_back(static_cast<double>(std::clock() - cpu) /
                                            CLOCKS_PER_SEC);
  t[std::string(step) + "_s"].push_back(seconds.count());
  check(c, step);
  return result;
}

// The upper triangle: columns of a symmetric matrix are rows.
cholmod_sparse* upper_triangle(const static_lu::matrix& a, cholmod_common& c) {
  cholmod_sparse* const u =
      cholmod_l_allocate_sparse(at(a.n()), at(a.n()), a.values.size(), 1, 1, 1, CHOLMOD_REAL, &c);
  check(c, "the matrix");
  auto* const begin = static_cast<integers*>(u->p);
  integers k = 0;
  for (index_t j = 0; j < a.n(); ++j) {
    begin[j] = k;
    const auto column = a.pattern.row(j);
    for (std::size_t p = 0; p < column.size() && column[p] <= j; ++p, ++k) {
      static_cast<integers*>(u->i)[k] = column[p];
      static_cast<double*>(u->x)[k] = a.row_values(j)[p];
    }
  }
  begin[a.n()] = k;
  return u;
}

// One run; the times go to `t`.
json run(const linear_system& s, cholmod_sparse* a, cholmod_common& c, std::vector<integers>& order,
         times& t) {
  cholmod_factor* l = timed(t, c, "analysis", [&] {
    return cholmod_l_analyze_p(a, order.empty() ? nullptr : order.data(), nullptr, 0, &c);
  });
  json found = {{"nnz_l", c.lnz - static_cast<double>(l->n)}};
  timed(t, c, "factor", [&] { return cholmod_l_factorize(a, l, &c) != 0 ? l : nullptr; });
  cholmod_dense* b = cholmod_l_zeros(at(s.a.n()), 1, CHOLMOD_REAL, &c);
  check(c, "the right side");
  std::ranges::copy(s.b, static_cast<double*>(b->x));
  cholmod_dense* x = timed(t, c, "solve", [&] { return cholmod_l_solve(CHOLMOD_A, l, b, &c); });
  const auto* const values = static_cast<const double*>(x->x);
  found["residual"] =
      static_lu::relative_residual(s.a, std::vector<double>(values, values + s.a.n()), s.b);
  cholmod_l_free_dense(&x, &c);
  cholmod_l_free_dense(&b, &c);
  cholmod_l_free_factor(&l, &c);
  return found;
}

// An order of the command line, and its runs.
struct candidate {
  std::string word;
  std::vector<integers> order;  // empty: one of CHOLMOD's own
  times t;
  json line;
  double spent = 0;
};

candidate candidate_of(const linear_system& s, const std::string& word) {
  candidate made;
  made.word = word;
  if (!own_orders.contains(word)) {
    const ordering read = compute_order(s.pattern_of(), word, -1);
    made.order.assign(read.order.begin(), read.order.end());
  }
  return made;
}

void solve(const linear_system& s, candidate& of) {
  cholmod_common c;
  cholmod_l_start(&c);
  if (of.word != "default") {
    c.nmethods = 1;
    c.method[0].ordering = of.order.empty() ? own_orders.at(of.word) : CHOLMOD_GIVEN;
  }
  cholmod_sparse* a = upper_triangle(s.a, c);
  of.line = run(s, a, c, of.order, of.t);
  of.spent += of.t["analysis_s"].back() + of.t["factor_s"].back() + of.t["solve_s"].back();
  cholmod_l_free_sparse(&a, &c);
  cholmod_l_finish(&c);
}

}  // namespace

int main(int argc, char** argv) {
  std::string matrix, pattern_out;
  std::vector<std::string> orders;
  CLI::App app("Solves A x = b by CHOLMOD and prints the time of each step");
  app.add_option("matrix", matrix, "Matrix file or gen:SPEC; its values are not used")->required();
  app.add_option("orders", orders, "CHOLMOD's default, amd or metis, or files of permutations");
  app.add_option("--pattern-out", pattern_out, "File that gets the pattern of A, diagonal added");
  CLI11_PARSE(app, argc, argv);
  try {
    if (!pattern_out.empty()) {
      const pattern a =
          matrix.starts_with("gen:") ? generate(matrix.substr(4)) : read_matrix_file(matrix);
      write_matrix_market(pattern_out, with_diagonal(a), matrix);
    }
    const linear_system system = cudss_solver::read_system(matrix, true, true);
    std::vector<candidate> candidates;
    for (const std::string& word : orders) candidates.push_back(candidate_of(system, word));
    for (int round = 0; round < 4; ++round) {
      for (candidate& of : candidates) {
        if (round > 1 && of.spent > 1) continue;
        if (round == 1) of.t.clear();  // memory and kernels are in use now
        solve(system, of);
      }
    }
    for (candidate& of : candidates) {
      for (const auto& [name, seconds] : of.t) of.line[name] = std::ranges::min(seconds);
      of.line.update({{"n", system.a.n()}, {"nnz", system.a.values.size()}, {"order", of.word}});
      std::printf("%s\n", of.line.dump().c_str());
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cholmod_solve: %s: %s\n", matrix.c_str(), e.what());
    return 2;
  }
  return 0;
}
