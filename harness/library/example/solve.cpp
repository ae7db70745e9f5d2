// solve MATRIX [cpu|gpu]: solves A x = b by LU factorization with static pivoting, whose values go
// to the positions that gsofa::analyze() predicts and nowhere else.
//
// MATRIX is a Matrix Market file of real values, plain or gzip'd. Exit status: 0, 1 a value fell
// outside the predicted pattern, 2 bad input or another error, 3 the residual is too large.

#include <cstdio>
#include <exception>
#include <gsofa/gsofa.hpp>
#include <string>

#include "static_lu.hpp"

namespace {

int run(const std::string& file, gsofa::compute_device device) {
  const static_lu::matrix a = static_lu::read_matrix_market(file);
  const gsofa::analysis found = gsofa::analyze(
      a.pattern.view(),
      {.device = device, .order = gsofa::order_method::cpu_nested_dissection, .factors = true});
  std::printf("n                   %d\n", found.n);
  std::printf("nnz(A)              %lld\n", static_cast<long long>(found.nnz_a));
  std::printf("nnz(L+U)            %lld\n", static_cast<long long>(found.nnz_l + found.nnz_u));
  std::printf("order               %s, %.3g s\n", found.order.c_str(), found.order_seconds);
  std::printf("analysis            %s, %.3g s\n", found.variant.c_str(), found.analysis_seconds);

  const static_lu::solution s = static_lu::solve(a, found, static_lu::some_right_side(a.n()));
  std::printf("values outside      %lld\n", static_cast<long long>(s.outside));
  std::printf("pivots replaced     %lld\n", static_cast<long long>(s.replaced));
  std::printf("solves              %d\n", s.solves);
  std::printf("relative residual   %.3g\n", s.residual);
  if (s.outside != 0) {
    std::fprintf(stderr, "solve: %lld values have no place in the predicted pattern\n",
                 static_cast<long long>(s.outside));
    return 1;
  }
  if (!(s.residual <= 1e-12)) {
    std::fprintf(stderr, "solve: the residual is too large\n");
    return 3;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string device = argc > 2 ? argv[2] : "";
  if (argc < 2 || argc > 3 || (!device.empty() && device != "cpu" && device != "gpu")) {
    std::fprintf(stderr, "usage: solve MATRIX.mtx[.gz] [cpu|gpu]\n");
    return 2;
  }
  try {
    return run(argv[1], device.empty()    ? gsofa::compute_device::automatic
                        : device == "cpu" ? gsofa::compute_device::cpu
                                          : gsofa::compute_device::gpu);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "solve: %s\n", e.what());
    return 2;
  }
}
