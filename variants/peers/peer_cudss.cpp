// peer_cudss: the analysis of NVIDIA cuDSS on the GPU, of a general matrix, in the order given or
// in that of cuDSS.
//
// NVIDIA cuDSS 1.0: CUDSS_PHASE_REORDERING with the identity as user permutation, then
// CUDSS_PHASE_SYMBOLIC_FACTORIZATION, which cuDSS refuses without the former. A user permutation
// comes without the tree of its separators; cuDSS then takes several times as long as in its own
// order (order = own: nested dissection by cuDSS on the host), in which it is at its best. The
// entries of L+U are then those of another order than the one given. Matching, which is left to
// cuDSS by default, is off: the diagonal is structurally nonzero. The result is CUDSS_DATA_LU_NNZ;
// cuDSS reports no more. NVIDIA does not document which pattern LU_NNZ counts. Release notes
// (0.5.0) and messages of the library speak of the symmetrized pattern of the matrix, and
// supernodes may be padded: LU_NNZ is therefore taken as the entries of L+U of A + A^T (as
// peer_cholmod counts them) or more, a bound of the fill of A. The result is not exact. Nor does
// NVIDIA document how often LU_NNZ counts the diagonal. This variant assumes once: values published
// for Jacobians of power grids, symmetric in pattern, are odd for odd orders (69,789 for 5,725),
// which counts with two diagonals could not be. peers_test.cpp checks it on a GPU. nnz_l and nnz_u
// split LU_NNZ as for a symmetric pattern, nnz_u - nnz_l = n; only their sum is from cuDSS.
//
// Encoding: CSR in device memory, 32 bits for offsets and columns, base 0. Values, right-hand side
// and solution, which the interface needs although neither phase does, are doubles. These arrays
// take 12 nnz(A) + 20 n bytes; cuDSS allocates more of its own.
// Timed: a new data object with the permutation in it (phase init), the reordering phase
// (schedule), the symbolic phase (traverse), each until the device is idle. NVIDIA does not
// document how much of them the host does; the host part has one thread, or as many as the machine
// has cores where the environment names a threading layer (CUDSS_THREADING_LIB; derived value
// threading_layer). Context, handle and copies to the device are made before.

#include "common/cuda_device.hpp"
#include "variants/peers/peer.hpp"

#ifdef GSOFA_HAVE_CUDSS
#include <cstdlib>
#include <numeric>
#include <type_traits>

#include "variants/peers/cudss_objects.hpp"
#include "variants/support/counting.hpp"
#endif

namespace gsofa {
namespace {

#ifdef GSOFA_HAVE_CUDSS

using namespace peers::cudss;

class peer_cudss final : public variant {
 public:
  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    n_ = a.n_rows;
    const std::string& order = settings.options.choice("order");
    user_permutation_ = order == "user_permutation";
    own_order_ = order == "own";
    identity_.resize(static_cast<std::size_t>(n_));
    std::iota(identity_.begin(), identity_.end(), 0);

    narrow<std::int32_t>(a.nnz(), "nonzeros for cuDSS");
    row_start_ = upload(std::vector<std::int32_t>(a.row_ptr.begin(), a.row_ptr.end()));
    column_ = upload(std::vector<std::int32_t>(a.col_idx.begin(), a.col_idx.end()));
    value_ = upload(std::vector<double>(a.col_idx.size(), 1.0));
    right_side_ = upload(std::vector<double>(identity_.size()));
    solution_ = upload(std::vector<double>(identity_.size()));

    // A handle that a failing cudssCreate returns must be destroyed too.
    cudssHandle_t handle = nullptr;
    const cudssStatus_t created = cudssCreate(&handle);
    handle_.reset(handle);
    check(created, "handle");
    const bool threading_layer = std::getenv("CUDSS_THREADING_LIB") != nullptr;
    if (threading_layer) check(cudssSetThreadingLayer(handle_.get(), nullptr), "threading layer");
    context.derived["threading_layer"] = threading_layer ? 1 : 0;
    cudssConfig_t config = nullptr;
    check(cudssConfigCreate(&config), "configuration");
    config_.reset(config);
    configure(CUDSS_CONFIG_MATCHING_ALG, CUDSS_MATCHING_ALG_NONE, "matching");
    if (order == "none") {
      configure(CUDSS_CONFIG_REORDERING_ALG, CUDSS_REORDERING_ALG_NONE, "reordering algorithm");
    }
    configure(CUDSS_CONFIG_USE_SUPERPANELS, settings.options.flag("superpanels") ? 1 : 0,
              "superpanels");

    cudssMatrix_t matrix = nullptr;
    check(cudssMatrixCreateCsr(&matrix, n_, n_, a.nnz(), row_start_.get(), nullptr, column_.get(),
                               value_.get(), CUDA_R_32I, CUDA_R_32I, CUDA_R_64F,
                               CUDSS_MTYPE_GENERAL, CUDSS_MVIEW_FULL, CUDSS_BASE_ZERO),
          "matrix");
    matrix_.reset(matrix);
    dense_[0] = column_vector(right_side_.get());
    dense_[1] = column_vector(solution_.get());
    check(cudaDeviceSynchronize(), "preparation");
  }

  void run(run_context& context) override {
    {
      const phase timed(context, phase_id::init);
      data_.reset();
      cudssData_t data = nullptr;
      check(cudssDataCreate(handle_.get(), &data), "data object");
      data_ = cudss_data(data, {handle_.get()});
      if (user_permutation_) {
        check(cudssDataSet(handle_.get(), data_.get(), CUDSS_DATA_USER_PERM, identity_.data(),
                           identity_.size() * sizeof(std::int32_t)),
              "user permutation");
      }
      check(cudaDeviceSynchronize(), "data object");
    }
    context.check_deadline();
    {
      const phase timed(context, phase_id::schedule);
      execute(CUDSS_PHASE_REORDERING, "reordering");
    }
    context.check_deadline();
    execute(CUDSS_PHASE_SYMBOLIC_FACTORIZATION, "symbolic factorization");
    if constexpr (detail::counting) {
      std::vector<std::int32_t> order(identity_.size());
      get(CUDSS_DATA_PERM_REORDER_ROW, order.data(), order.size() * sizeof(std::int32_t), "order");
      std::int64_t moved = 0;
      for (std::size_t i = 0; i < order.size(); ++i) moved += order[i] != identity_[i] ? 1 : 0;
      context.counters.totals["rows_moved"] = moved;
    }
  }

  result collect(want_set) override {
    std::int64_t entries = 0;
    get(CUDSS_DATA_LU_NNZ, &entries, sizeof(entries), "entries of the factors");
    if (entries < n_) {
      throw error(exit_code::run_failed, "cuDSS reports " + std::to_string(entries) +
                                             " entries of L+U at order " + std::to_string(n_));
    }
    result out;
    out.nnz_l = (entries - n_) / 2;
    out.nnz_u = entries - out.nnz_l;
    out.of_own_order = own_order_;
    return out;
  }

 private:
  /// `value` has the type that the library reads: one of its own enumerations, or int.
  template <class T>
  void configure(cudssConfigParam_t parameter, T value, const char* what) {
    static_assert(std::is_enum_v<T> || std::is_same_v<T, int>);
    check(cudssConfigSet(config_.get(), parameter, &value, sizeof(value)), what);
  }

  cudss_matrix column_vector(void* values) const {
    cudssMatrix_t vector = nullptr;
    check(cudssMatrixCreateDn(&vector, n_, 1, n_, values, CUDA_R_64F, CUDSS_LAYOUT_COL_MAJOR),
          "vector");
    return cudss_matrix(vector);
  }

  void execute(cudssPhase_t phases, const char* what) {
    check(cudssExecute(handle_.get(), phases, config_.get(), data_.get(), matrix_.get(),
                       dense_[1].get(), dense_[0].get()),
          what);
    check(cudaDeviceSynchronize(), what);
  }

  void get(cudssDataParam_t parameter, void* value, std::size_t bytes, const char* what) const {
    std::size_t written = 0;
    check(cudssDataGet(handle_.get(), data_.get(), parameter, value, bytes, &written), what);
    if (written != bytes) {
      throw error(exit_code::run_failed, std::string("cuDSS, ") + what + ": " +
                                             std::to_string(written) + " bytes for " +
                                             std::to_string(bytes));
    }
  }

  index_t n_ = 0;
  bool user_permutation_ = true;
  bool own_order_ = false;
  std::vector<std::int32_t> identity_;
  device_memory row_start_, column_, value_, right_side_, solution_;
  // Members are released from the last to the first: a data object needs its handle.
  cudss_handle handle_;
  cudss_config config_;
  cudss_matrix matrix_;
  cudss_matrix dense_[2];  ///< right-hand side, solution
  cudss_data data_;
};

const std::string library =
    peers::release("cuDSS", {CUDSS_VERSION_MAJOR, CUDSS_VERSION_MINOR, CUDSS_VERSION_PATCH});

#else

using peer_cudss = peers::absent;
const std::string library;

#endif

std::optional<std::string> missing() {
  auto why = peers::built_without<peer_cudss>(
      "cuDSS (NVIDIA's package cudss or wheel nvidia-cudss-cu13; CMake: CUDSS_ROOT)");
  if (why) return why;
  const cuda_devices& found = find_cuda_devices();
  if (found.devices.empty()) return found.reason;
  return std::nullopt;
}
std::unique_ptr<variant> create() { return peers::create<peer_cudss>("peer_cudss", missing()); }

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "peer_cudss",
    .device = "peer",
    .summary = "analysis of NVIDIA cuDSS on the GPU: entries of L+U, a bound",
    .citation = "NVIDIA cuDSS 1.0",
    .gives = {},
    .options = {{.name = "order",
                 .default_value = std::string("user_permutation"),
                 .help = "user_permutation and none keep the given order, by the identity as user "
                         "permutation or by switching reordering off; own: cuDSS orders the matrix",
                 .choices = {"user_permutation", "none", "own"}},
                {.name = "superpanels",
                 .default_value = true,
                 .help = "use superpanels, as cuDSS does by default"}},
    .exact = false,
    .library = gsofa::library,
    .unavailable = gsofa::missing,
    .create = gsofa::create,
});
