// peer_klu: the factorization of KLU, routines klu_analyze_given and klu_factor.
//
// Davis & Palamadai Natarajan 2010 (ACM TOMS 37). In a given order its analysis counts nothing: it
// checks the input, and lnz and unz of its result are -1 (with AMD, not with COLAMD, they bound
// the Cholesky factor of A + A^T in AMD's own order). The fill is found by the numeric phase, by
// Gilbert-Peierls with symmetric pruning, column by column together with the numbers; so that is
// what is timed here, and the time holds the arithmetic. It does not heed a time limit.
// Values: -1 off the diagonal, on it the entries of the column. Such an M-matrix dominated by its
// columns, and every Schur complement of it, has its largest entry of a column on the diagonal and
// no sums of opposite sign beside it: no pivot moves, nothing cancels. Block triangular form,
// ordering and scaling are off. Hence exact.
// Encoding of its result: compressed columns of L (unit diagonal stored) and of U, rows unsorted.
// Phases: the analysis is charged to `init`. Its memory is its own, 16 bytes for an entry.

#include "common/variant.hpp"

#ifdef GSOFA_HAVE_KLU
#include <klu.h>

#include <algorithm>
#endif

#include "variants/detail/column_result.hpp"
#include "variants/detail/supernodes.hpp"

namespace gsofa {
namespace {

#ifdef GSOFA_HAVE_KLU

std::size_t at(offset_t i) { return static_cast<std::size_t>(i); }

class peer_klu final : public variant {
 public:
  ~peer_klu() override { release(); }

  void prepare(const pattern_view& a, const run_settings& settings, execution&) override {
    settings_ = settings;
    n_ = a.n_rows;
    const pattern columns = transpose(a);
    begin_.assign(columns.row_ptr.begin(), columns.row_ptr.end());
    row_index_.assign(columns.col_idx.begin(), columns.col_idx.end());
    values_.assign(row_index_.size(), -1.0);
    for (index_t j = 0; j < n_; ++j) {
      const auto column = columns.row(j);
      const auto diagonal = std::ranges::lower_bound(column, j) - column.begin();
      values_[at(columns.row_ptr[at(j)] + diagonal)] = static_cast<double>(column.size());
    }
    release();
    klu_l_defaults(&common_);
    common_.btf = 0;
    common_.scale = 0;
  }

  void run(execution& exec) override {
    release();
    {
      const phase timed(exec, phase_id::init);
      symbolic_ =
          klu_l_analyze_given(n_, begin_.data(), row_index_.data(), nullptr, nullptr, &common_);
    }
    if (symbolic_ != nullptr) {
      numeric_ =
          klu_l_factor(begin_.data(), row_index_.data(), values_.data(), symbolic_, &common_);
    }
    if (numeric_ != nullptr && common_.status == KLU_OK) return;
    if (common_.status == KLU_OUT_OF_MEMORY) throw budget_error("KLU ran out of memory");
    throw error(exit_code::run_failed, "KLU: status " + std::to_string(common_.status));
  }

  result collect(want_set wants) override {
    std::vector<std::int64_t> l_begin(at(n_) + 1), l_rows(at(numeric_->lnz));
    std::vector<std::int64_t> u_begin(at(n_) + 1), u_rows(at(numeric_->unz));
    std::vector<double> l_values(l_rows.size()), u_values(u_rows.size());
    if (klu_l_extract(numeric_, symbolic_, l_begin.data(), l_rows.data(), l_values.data(),
                      u_begin.data(), u_rows.data(), u_values.data(), nullptr, nullptr, nullptr,
                      nullptr, nullptr, nullptr, nullptr, &common_) == 0) {
      throw error(exit_code::run_failed, "KLU: status " + std::to_string(common_.status));
    }
    want_set found = wants;
    if (wants.has(want::supernodes)) found |= want_set(want::counts) | want::pattern;
    result out = detail::collect_columns(off_diagonal(l_begin, l_rows),
                                         off_diagonal(u_begin, u_rows), found);
    if (wants.has(want::supernodes)) {
      out.supernode_starts = detail::t3_post_pass(
          out.u_row_counts, settings_.chunk_size,
          [&](index_t s, index_t r) { return std::ranges::binary_search(out.l.row(s), r); });
    }
    if (!wants.has(want::pattern)) out.l = out.u = {};
    if (!wants.has(want::counts)) out.l_row_counts = out.u_row_counts = {};
    return out;
  }

 private:
  [[nodiscard]] pattern off_diagonal(const std::vector<std::int64_t>& begin,
                                     const std::vector<std::int64_t>& rows) const {
    pattern p;
    p.n_rows = p.n_cols = n_;
    for (index_t j = 0; j < n_; ++j) {
      for (auto k = begin[at(j)]; k < begin[at(j) + 1]; ++k) {
        if (rows[at(k)] != j) p.col_idx.push_back(static_cast<index_t>(rows[at(k)]));
      }
      p.row_ptr.push_back(static_cast<offset_t>(p.col_idx.size()));
    }
    return p;
  }
  void release() {
    if (numeric_ != nullptr) klu_l_free_numeric(&numeric_, &common_);
    if (symbolic_ != nullptr) klu_l_free_symbolic(&symbolic_, &common_);
  }

  run_settings settings_;
  index_t n_ = 0;
  std::vector<std::int64_t> begin_, row_index_;
  std::vector<double> values_;
  klu_l_common common_{};
  klu_l_symbolic* symbolic_ = nullptr;
  klu_l_numeric* numeric_ = nullptr;
};

#endif

std::optional<std::string> missing() {
#ifdef GSOFA_HAVE_KLU
  return std::nullopt;
#else
  return "built without KLU (Debian: libsuitesparse-dev)";
#endif
}

std::unique_ptr<variant> create() {
#ifdef GSOFA_HAVE_KLU
  return std::make_unique<peer_klu>();
#else
  throw unavailable_error("peer_klu: " + *missing());
#endif
}

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "peer_klu",
    .device = "peer",
    .summary = "klu_factor of KLU, numbers included: its analysis bounds nothing in a given order",
    .citation = "Davis & Palamadai Natarajan 2010; Gilbert & Peierls 1988",
    .unavailable = gsofa::missing,
    .create = gsofa::create,
});
