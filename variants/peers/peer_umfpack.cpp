// peer_umfpack: the symbolic analysis of UMFPACK, routine umfpack_dl_qsymbolic.
//
// Davis 2004 (ACM TOMS 30). The analysis allows for partial pivoting: UMFPACK_LNZ_ESTIMATE and
// UMFPACK_UNZ_ESTIMATE bound the entries of L and U (both with the diagonal) for every choice of
// pivot rows, the diagonal among them: U by the Cholesky factor of A^T A, L by the Householder
// vectors of A = QR (George & Ng 1985, 1987). The bounds are never below the fill and often many
// times as large; UMFPACK gives totals only, no counts by row. The result is not exact. The order
// is kept: Qinit is the identity, the symmetric strategy neither postorders nor refines it, and
// singletons, which would go first, are off.
// Timed: umfpack_dl_qsymbolic alone, without values; its memory is O(nnz(A) + n).

#include "variants/peers/peer.hpp"

#ifdef GSOFA_HAVE_UMFPACK
#include <umfpack.h>

#include <array>
#include <cmath>
#include <numeric>
#endif

namespace gsofa {
namespace {

#ifdef GSOFA_HAVE_UMFPACK

class peer_umfpack final : public variant {
 public:
  void prepare(const pattern_view& a, const run_settings&, run_context&) override {
    n_ = a.n_rows;
    const pattern columns = transpose(a);
    begin_.assign(columns.row_ptr.begin(), columns.row_ptr.end());
    row_index_.assign(columns.col_idx.begin(), columns.col_idx.end());
    identity_.resize(static_cast<std::size_t>(n_));
    std::iota(identity_.begin(), identity_.end(), 0);
    umfpack_dl_defaults(control_.data());
    control_[UMFPACK_STRATEGY] = UMFPACK_STRATEGY_SYMMETRIC;
    control_[UMFPACK_FIXQ] = 1;
    control_[UMFPACK_SINGLETONS] = 0;
  }

  void run(run_context&) override {
    void* symbolic = nullptr;
    const auto status =
        umfpack_dl_qsymbolic(n_, n_, begin_.data(), row_index_.data(), nullptr, identity_.data(),
                             &symbolic, control_.data(), info_.data());
    umfpack_dl_free_symbolic(&symbolic);
    if (status == UMFPACK_ERROR_out_of_memory) throw budget_error("UMFPACK ran out of memory");
    if (status != UMFPACK_OK) {
      throw error(exit_code::run_failed, "UMFPACK: status " + std::to_string(status));
    }
  }

  result collect(want_set) override {
    result out;
    out.nnz_l = std::llround(info_[UMFPACK_LNZ_ESTIMATE]) - n_;
    out.nnz_u = std::llround(info_[UMFPACK_UNZ_ESTIMATE]);
    return out;
  }

 private:
  index_t n_ = 0;
  std::vector<std::int64_t> begin_, row_index_, identity_;
  std::array<double, UMFPACK_CONTROL> control_{};
  std::array<double, UMFPACK_INFO> info_{};
};

const std::string library =
    peers::release("UMFPACK", {UMFPACK_MAIN_VERSION, UMFPACK_SUB_VERSION, UMFPACK_SUBSUB_VERSION});

#else

using peer_umfpack = peers::absent;
const std::string library;

#endif

std::optional<std::string> missing() {
  return peers::built_without<peer_umfpack>("UMFPACK (Debian: libsuitesparse-dev)");
}
std::unique_ptr<variant> create() { return peers::create<peer_umfpack>("peer_umfpack", missing()); }

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "peer_umfpack",
    .device = "peer",
    .summary = "bounds of nnz(L) and nnz(U) under any row pivoting by UMFPACK's qsymbolic",
    .citation = "Davis 2004; George & Ng 1985, 1987",
    .gives = {},
    .exact = false,
    .library = gsofa::library,
    .unavailable = gsofa::missing,
    .create = gsofa::create,
});
