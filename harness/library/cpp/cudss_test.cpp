// set_order() of gsofa/cudss.hpp and gsofa/cudss.h, without a GPU: matrices and configurations are
// those of cuDSS itself; a data object needs a GPU, so that this file records what one receives.
// The three functions of the CUDA run-time that the headers call copy host memory here, under names
// of their own: a library with GPU code brings the run-time itself.
#define cudaMemcpyAsync recorded_cudaMemcpyAsync
#define cudaStreamSynchronize recorded_cudaStreamSynchronize
#define cudaGetErrorString recorded_cudaGetErrorString

#include <doctest/doctest.h>

#include <cstring>
#include <gsofa/cudss.hpp>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/generators.hpp"
#include "common/partition_tree.hpp"
#include "common/pattern.hpp"

namespace {

using received = std::map<cudssDataParam_t, std::vector<std::int32_t>>;

// A handle and a data object that the headers only pass on.
struct recorded_data {
  received given;
  cudssStatus_t answer = CUDSS_STATUS_SUCCESS;
  cudssHandle_t handle = reinterpret_cast<cudssHandle_t>(this);
  cudssData_t data = reinterpret_cast<cudssData_t>(this);
};

}  // namespace

extern "C" {
cudssStatus_t cudssDataSet(const cudssHandle_t handle, cudssData_t data, cudssDataParam_t parameter,
                           const void* value, std::size_t bytes) {
  auto* record = reinterpret_cast<recorded_data*>(data);
  if (static_cast<const void*>(handle) != record) return CUDSS_STATUS_NOT_INITIALIZED;
  std::vector<std::int32_t>& to = record->given[parameter];
  to.resize(bytes / sizeof(std::int32_t));
  std::memcpy(to.data(), value, bytes);
  return record->answer;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  if (kind != cudaMemcpyDefault) return cudaErrorInvalidValue;
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "an error of the run-time"; }
}

namespace {

using gsofa::analysis_error;
using gsofa::invalid_input;
using gsofa::pattern;

// The configuration of a caller who has switched matching off.
struct configuration {
  cudssConfig_t made = nullptr;
  explicit configuration(cudssMatchingAlg_t matching = CUDSS_MATCHING_ALG_NONE) {
    cudssConfigCreate(&made);
    cudssConfigSet(made, CUDSS_CONFIG_MATCHING_ALG, &matching, sizeof matching);
  }
  ~configuration() { cudssConfigDestroy(made); }
  configuration(const configuration&) = delete;
  configuration& operator=(const configuration&) = delete;
  template <class T>
  [[nodiscard]] T get(cudssConfigParam_t parameter) const {
    T value{};
    std::size_t written = 0;
    CHECK(cudssConfigGet(made, parameter, &value, sizeof value, &written) == CUDSS_STATUS_SUCCESS);
    return value;
  }
  void set(cudssConfigParam_t parameter, int value) const {
    CHECK(cudssConfigSet(made, parameter, &value, sizeof value) == CUDSS_STATUS_SUCCESS);
  }
};

// A matrix of cuDSS in host memory.
template <class Offset, class Index>
struct host_matrix {
  std::vector<Offset> row_start;
  std::vector<Index> column;
  std::vector<double> value;
  cudssMatrix_t made = nullptr;

  host_matrix(const pattern& a, cudssMatrixType_t type, cudssMatrixViewType_t view, int base)
      : value(a.col_idx.size()) {
    for (const auto p : a.row_ptr) row_start.push_back(static_cast<Offset>(p + base));
    for (const auto j : a.col_idx) column.push_back(static_cast<Index>(j + base));
    CHECK(cudssMatrixCreateCsr(
              &made, a.n_rows, a.n_cols, std::ssize(column), row_start.data(), nullptr,
              column.data(), value.data(), sizeof(Offset) == 4 ? CUDA_R_32I : CUDA_R_64I,
              sizeof(Index) == 4 ? CUDA_R_32I : CUDA_R_64I, CUDA_R_64F, type, view,
              base == 1 ? CUDSS_BASE_ONE : CUDSS_BASE_ZERO) == CUDSS_STATUS_SUCCESS);
  }
  ~host_matrix() { cudssMatrixDestroy(made); }
  host_matrix(const host_matrix&) = delete;
  host_matrix& operator=(const host_matrix&) = delete;
};

gsofa::order_options on_host() { return {.device = gsofa::compute_device::cpu}; }

// Whether the data object got a permutation and a tree of `levels` levels that separates `a`, and
// the configuration fits to both.
void check_given(const received& given, const configuration& config, const pattern& a, int levels) {
  REQUIRE(given.size() == 2);
  const auto& tree = given.at(CUDSS_DATA_USER_ND_PARTITION_TREE);
  CHECK(tree.size() == (std::size_t{1} << levels) - 1);
  CHECK(gsofa::partition::crossing_entries(a, {.levels = levels,
                                               .layout = gsofa::partition::tree_layout::by_level,
                                               .size = {tree.begin(), tree.end()},
                                               .order = given.at(CUDSS_DATA_USER_PERM)}) == 0);
  CHECK(config.get<int>(CUDSS_CONFIG_ND_NLEVELS) == levels);
  CHECK(config.get<cudssReorderingAlg_t>(CUDSS_CONFIG_REORDERING_ALG) ==
        CUDSS_REORDERING_ALG_DEFAULT);
}

template <class Offset, class Index>
void check_kind(const pattern& stored, const pattern& a, cudssMatrixType_t type,
                cudssMatrixViewType_t view, int base) {
  const host_matrix<Offset, Index> matrix(stored, type, view, base);
  const configuration config;
  config.set(CUDSS_CONFIG_REORDERING_ALG, CUDSS_REORDERING_ALG_AMD);
  recorded_data of_cpp;
  recorded_data of_c;
  const gsofa::pattern_order found =
      gsofa::cudss::set_order(of_cpp.handle, config.made, of_cpp.data, matrix.made, on_host());
  check_given(of_cpp.given, config, a, 10);
  CHECK(found.permutation == of_cpp.given.at(CUDSS_DATA_USER_PERM));
  CHECK(found.tree_sizes == of_cpp.given.at(CUDSS_DATA_USER_ND_PARTITION_TREE));

  gsofa_order_options options;
  gsofa_order_options_init(&options);
  options.device = GSOFA_CPU;
  const char* error = "";
  CHECK(gsofa_cudss_set_order(of_c.handle, config.made, of_c.data, matrix.made, &options, nullptr,
                              &error) == GSOFA_OK);
  CHECK(of_c.given == of_cpp.given);
  CHECK(std::string(error).empty());
}

pattern half_of(const pattern& a, bool lower) {
  pattern half{.n_rows = a.n_rows, .n_cols = a.n_cols, .row_ptr = {0}, .col_idx = {}};
  for (gsofa::index_t i = 0; i < a.n_rows; ++i) {
    for (const auto j : a.row(i)) {
      if (lower ? j <= i : j >= i) half.col_idx.push_back(j);
    }
    half.row_ptr.push_back(std::ssize(half.col_idx));
  }
  return half;
}

template <class Error = invalid_input>
void check_refused(cudssMatrix_t matrix, const configuration& config, const std::string& text,
                   const gsofa::order_options& options = on_host()) {
  recorded_data record;
  CHECK_THROWS_WITH_AS(
      (void)gsofa::cudss::set_order(record.handle, config.made, record.data, matrix, options),
      text.c_str(), Error);
  CHECK(record.given.empty());
}

}  // namespace

TEST_CASE("cuDSS gets the order and the tree of every kind of matrix") {
  const pattern a = gsofa::generate("grid7:nx=11,ny=10,nz=9");
  const pattern lower = half_of(a, true);
  const pattern upper = half_of(a, false);
  const pattern general = gsofa::generate("grid7:nx=11,ny=10,nz=9,drop=0.3");
  for (const int base : {0, 1}) {
    check_kind<std::int32_t, std::int32_t>(general, general, CUDSS_MTYPE_GENERAL, CUDSS_MVIEW_FULL,
                                           base);
    check_kind<std::int64_t, std::int32_t>(a, a, CUDSS_MTYPE_SYMMETRIC, CUDSS_MVIEW_FULL, base);
    check_kind<std::int64_t, std::int64_t>(lower, a, CUDSS_MTYPE_SPD, CUDSS_MVIEW_LOWER, base);
    check_kind<std::int32_t, std::int32_t>(upper, a, CUDSS_MTYPE_HERMITIAN, CUDSS_MVIEW_UPPER,
                                           base);
  }
}

TEST_CASE("the levels of the tree: of the options, else of the configuration") {
  const pattern a = gsofa::generate("grid5:nx=20,ny=20");
  const host_matrix<std::int32_t, std::int32_t> matrix(a, CUDSS_MTYPE_GENERAL, CUDSS_MVIEW_FULL, 0);
  const configuration config;
  config.set(CUDSS_CONFIG_ND_NLEVELS, 4);
  for (const int levels : {0, 6}) {
    recorded_data record;
    gsofa::order_options options = on_host();
    options.tree_levels = levels;
    options.layout = gsofa::tree_layout::nested;  // ignored
    (void)gsofa::cudss::set_order(record.handle, config.made, record.data, matrix.made, options);
    check_given(record.given, config, a, levels == 0 ? 4 : levels);
  }
  gsofa::order_options options = on_host();
  options.tree_levels = 1;
  check_refused<analysis_error>(
      matrix.made, config,
      "configuration: cuDSS refuses CUDSS_CONFIG_ND_NLEVELS, which must be 2 or more", options);
  options.tree_levels = -1;
  check_refused(matrix.made, config, "tree_levels: -1 is not in [0, 24]", options);
}

TEST_CASE("cuDSS: what cannot be ordered is one line, and nothing is set") {
  const pattern a = gsofa::generate("grid5:nx=4,ny=4");
  const host_matrix<std::int32_t, std::int32_t> matrix(a, CUDSS_MTYPE_GENERAL, CUDSS_MVIEW_FULL, 0);
  const configuration config;
  check_refused(matrix.made, configuration(CUDSS_MATCHING_ALG_AUTO),
                "CUDSS_CONFIG_MATCHING_ALG: the order and the tree are those of A itself; set "
                "CUDSS_MATCHING_ALG_NONE, which is not the default");

  cudssMatrix_t other = nullptr;
  std::vector<double> values(16);
  CHECK(cudssMatrixCreateDn(&other, 4, 4, 4, values.data(), CUDA_R_64F, CUDSS_LAYOUT_COL_MAJOR) ==
        CUDSS_STATUS_SUCCESS);
  const std::string expected =
      "matrix: expected one matrix in compressed sparse rows, not a batch, a distributed or a "
      "dense matrix";
  check_refused(other, config, expected);
  cudssMatrixDestroy(other);
  const std::int32_t n[] = {16};
  const std::int32_t nnz[] = {static_cast<std::int32_t>(a.col_idx.size())};
  const void* row_start[] = {matrix.row_start.data()};
  const void* column[] = {matrix.column.data()};
  const void* value[] = {matrix.value.data()};
  CHECK(cudssMatrixCreateBatchCsr(&other, 1, n, n, nnz, row_start, nullptr, column, value,
                                  CUDA_R_32I, CUDA_R_32I, CUDA_R_64F, CUDSS_MTYPE_GENERAL,
                                  CUDSS_MVIEW_FULL, CUDSS_BASE_ZERO) == CUDSS_STATUS_SUCCESS);
  check_refused(other, config, expected);
  cudssMatrixDestroy(other);

  pattern wrong = a;
  wrong.col_idx[3] = 16;
  const host_matrix<std::int32_t, std::int32_t> beyond(wrong, CUDSS_MTYPE_GENERAL, CUDSS_MVIEW_FULL,
                                                       1);
  recorded_data record;
  CHECK_THROWS_AS((void)gsofa::cudss::set_order(record.handle, config.made, record.data,
                                                beyond.made, on_host()),
                  invalid_input);
  const char* error = nullptr;
  CHECK(gsofa_cudss_set_order(record.handle, config.made, record.data, beyond.made, nullptr,
                              nullptr, &error) == GSOFA_INVALID_INPUT);
  CHECK(std::string(error) == gsofa_last_error());
  CHECK(record.given.empty());

  wrong = a;
  --wrong.row_ptr.back();
  const host_matrix<std::int32_t, std::int32_t> shorter(wrong, CUDSS_MTYPE_GENERAL,
                                                        CUDSS_MVIEW_FULL, 1);
  check_refused(shorter.made, config,
                "matrix: the row offsets do not end with the number of entries");

  record.answer = CUDSS_STATUS_ALLOC_FAILED;
  CHECK_THROWS_WITH_AS((void)gsofa::cudss::set_order(record.handle, config.made, record.data,
                                                     matrix.made, on_host()),
                       "cuDSS: out of memory", analysis_error);
}
