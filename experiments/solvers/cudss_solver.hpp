#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gsofa/gsofa.hpp"
#include "harness/library/example/static_lu.hpp"
#include "variants/peers/cudss_objects.hpp"

/// One linear system solved by cuDSS phase by phase, in an order of its own or in one given.
namespace cudss_solver {

/// A x = b in device memory: CSR with 32-bit offsets, base 0; the lower triangle alone unless the
/// type is CUDSS_MTYPE_GENERAL.
class device_system {
 public:
  /// Throws overflow_error if A has 2^31 entries or more, budget_error if the device has too little
  /// memory.
  device_system(const static_lu::matrix& a, const std::vector<double>& b, cudssMatrixType_t type);

  [[nodiscard]] std::int32_t n() const { return n_; }
  [[nodiscard]] cudssMatrix_t matrix() const { return matrix_.get(); }
  [[nodiscard]] cudssMatrix_t right_side() const { return dense_[0].get(); }
  [[nodiscard]] cudssMatrix_t solution() const { return dense_[1].get(); }
  [[nodiscard]] std::vector<double> download_solution() const;

 private:
  std::int32_t n_;
  gsofa::peers::cudss::device_memory row_start_, column_, value_, right_side_, solution_;
  gsofa::peers::cudss::cudss_matrix matrix_, dense_[2];
};

/// What cuDSS gets instead of reordering: CUDSS_DATA_USER_PERM (old index by new position) and
/// CUDSS_DATA_USER_ND_PARTITION_TREE (sizes by level, leaves first). Both empty: cuDSS reorders, or
/// gsofa::cudss::set_order() gives an order with its tree.
struct given_order {
  std::span<const std::int32_t> permutation;
  std::span<const std::int32_t> tree;
  bool by_set_order = false;
};

/// Seconds of each phase, each until the device is idle, and results.
struct outcome {
  double handing = 0;  ///< seconds to hand an order and its tree over, or of set_order()
  double reordering = 0, symbolic = 0, numeric = 0, refactorization = 0, solve = 0;
  std::int64_t lu_nnz = 0;  ///< CUDSS_DATA_LU_NNZ
  std::vector<double> x;
  std::vector<std::int32_t> permutation;  ///< CUDSS_DATA_PERM_REORDER_ROW, where it is read back
  gsofa::pattern_order set;               ///< the result of set_order()
};

struct settings {
  std::string threading_layer;  ///< path of libcudss_mtlayer_*.so; empty: one host thread
  int threads = 1;              ///< CUDSS_CONFIG_HOST_NTHREADS, with a threading layer
};

/// A handle of cuDSS with its settings. Matching is off, because an order and its tree are those of
/// A.
class solver {
 public:
  explicit solver(const settings& s);

  /// Levels of the separator tree: the default of CUDSS_CONFIG_ND_NLEVELS.
  [[nodiscard]] int default_levels() const;
  /// Reordering, symbolic and numeric factorization, refactorization with the same values, solve.
  [[nodiscard]] outcome solve(const device_system& s, const given_order& order,
                              bool read_back) const;

 private:
  [[nodiscard]] gsofa::peers::cudss::cudss_config make_config() const;

  settings settings_;
  gsofa::peers::cudss::cudss_handle handle_;
};

}  // namespace cudss_solver
