// peer_cholmod: row and column counts of the Cholesky factor of A + A^T by CHOLMOD.
//
// Gilbert, Ng & Peyton 1994 (SIAM J. Matrix Anal. Appl. 15); Chen, Davis, Hager & Rajamanickam 2008
// (ACM TOMS 35). The fill of A + A^T contains that of A, so that the pattern C + C^T of its
// Cholesky factor C bounds L+U row by row, with equality where A is structurally symmetric. Not
// exact. The steps of cholmod_analyze_ordering for the natural order (transpose, etree, postorder,
// rowcolcounts) are called one by one because that routine does not return the row counts.
// Encoding: row_count_[i] and column_count_[i] are the entries of row and column i of C with the
// diagonal; row i of U is bounded by column i of C. No pattern is formed: O(nnz) memory.
// Timed: these four routines; A + A^T is formed before. They take almost O(nnz(A + A^T)) time.

#include "variants/peers/peer.hpp"

#ifdef GSOFA_HAVE_CHOLMOD
#include <cholmod.h>

#include <algorithm>
#include <numeric>
#endif

namespace gsofa {
namespace {

#ifdef GSOFA_HAVE_CHOLMOD

class peer_cholmod final : public variant {
 public:
  peer_cholmod() {
    cholmod_l_start(&common_);
    common_.print = 0;
  }
  ~peer_cholmod() override { cholmod_l_finish(&common_); }

  void prepare(const pattern_view& a, const run_settings&, run_context&) override {
    const pattern s = symmetrized(a, diagonal::keep);
    const auto n = static_cast<std::size_t>(a.n_rows);
    // Columns of the lower triangle; rows and columns of s are the same.
    begin_.assign(1, 0);
    row_index_.clear();
    for (index_t j = 0; j < a.n_rows; ++j) {
      const auto row = s.row(j);
      row_index_.insert(row_index_.end(), std::ranges::lower_bound(row, j), row.end());
      begin_.push_back(static_cast<std::int64_t>(row_index_.size()));
    }
    lower_ = {};
    lower_.nrow = lower_.ncol = n;
    lower_.nzmax = row_index_.size();
    lower_.p = begin_.data();
    lower_.i = row_index_.data();
    lower_.stype = -1;
    lower_.itype = CHOLMOD_LONG;
    lower_.xtype = CHOLMOD_PATTERN;
    lower_.dtype = CHOLMOD_DOUBLE;
    lower_.sorted = lower_.packed = 1;
    for (auto* v : {&parent_, &post_, &row_count_, &column_count_, &first_, &level_}) v->resize(n);
  }

  void run(run_context&) override {
    cholmod_sparse* upper = cholmod_l_transpose(&lower_, 0, &common_);
    const bool done =
        upper != nullptr && cholmod_l_etree(upper, parent_.data(), &common_) != 0 &&
        cholmod_l_postorder(parent_.data(), lower_.nrow, nullptr, post_.data(), &common_) ==
            static_cast<std::int64_t>(lower_.nrow) &&
        cholmod_l_rowcolcounts(&lower_, nullptr, 0, parent_.data(), post_.data(), row_count_.data(),
                               column_count_.data(), first_.data(), level_.data(), &common_) != 0;
    cholmod_l_free_sparse(&upper, &common_);
    if (done) return;
    if (common_.status == CHOLMOD_OUT_OF_MEMORY) throw budget_error("CHOLMOD ran out of memory");
    throw error(exit_code::run_failed, "CHOLMOD: status " + std::to_string(common_.status));
  }

  result collect(want_set wants) override {
    const auto n = static_cast<offset_t>(row_count_.size());
    result out;
    out.nnz_l = std::accumulate(row_count_.begin(), row_count_.end(), offset_t{0}) - n;
    out.nnz_u = std::accumulate(column_count_.begin(), column_count_.end(), offset_t{0});
    if (wants.has(want::counts)) {
      for (const auto c : row_count_) out.l_row_counts.push_back(static_cast<index_t>(c - 1));
      for (const auto c : column_count_) out.u_row_counts.push_back(static_cast<index_t>(c));
    }
    return out;
  }

 private:
  cholmod_common common_{};
  cholmod_sparse lower_{};
  std::vector<std::int64_t> begin_, row_index_;
  std::vector<std::int64_t> parent_, post_, row_count_, column_count_, first_, level_;
};

const std::string library =
    peers::release("CHOLMOD", {CHOLMOD_MAIN_VERSION, CHOLMOD_SUB_VERSION, CHOLMOD_SUBSUB_VERSION});

#else

using peer_cholmod = peers::absent;
const std::string library;

#endif

std::optional<std::string> missing() {
  return peers::built_without<peer_cholmod>("CHOLMOD (Debian: libsuitesparse-dev)");
}
std::unique_ptr<variant> create() { return peers::create<peer_cholmod>("peer_cholmod", missing()); }

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "peer_cholmod",
    .device = "peer",
    .summary = "Cholesky counts of A+A^T by CHOLMOD: a bound, exact on symmetric patterns",
    .citation = "Gilbert, Ng & Peyton 1994; Chen, Davis, Hager & Rajamanickam 2008",
    .gives = gsofa::want::counts,
    .exact = false,
    .library = gsofa::library,
    .unavailable = gsofa::missing,
    .create = gsofa::create,
});
