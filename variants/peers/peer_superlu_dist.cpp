// peer_superlu_dist: the sequential symbolic factorization of SuperLU_DIST, routine symbfact.
//
// Li & Demmel 2003 (ACM TOMS 29): Gilbert-Peierls by columns with symmetric pruning and supernodal
// traversal. This variant calls symbfact as pdgssvx does, on a matrix that is already permuted.
// Option relax = 1 turns relaxed supernodes off, which pad the lists and over-count; the library's
// default of 60 is faster. Even with relax = 1 U is a superset of the fill on some nonsymmetric
// patterns: a supernode is a run of columns of L of equal structure, and the upper triangle of its
// diagonal block is stored completely, even if U is not full there (g7jac040sc with METIS:
// 1,048,022 entries for 1,047,475). Hence not exact. Encoding of its result: supernode k has
// columns xsup[k] .. xsup[k+1]-1, rows lsub[xlsub[xsup[k]]
// ..xlsub[xsup[k]+1]) (with the diagonal block); column j of U has one segment per entry of
// usub[xusub[j] .. xusub[j+1]), from that row to the last of its supernode. Timed: symbfact alone.
// symbfact allocates its own memory.

#include "variants/peers/peer.hpp"

#ifdef GSOFA_HAVE_SUPERLU_DIST
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#include <superlu_ddefs.h>
#pragma GCC diagnostic pop

#include "common/preprocess.hpp"
#endif

#include "variants/support/column_result.hpp"
#include "variants/support/supernodes.hpp"

namespace gsofa {
namespace {

#ifdef GSOFA_HAVE_SUPERLU_DIST

class peer_superlu_dist final : public variant {
 public:
  ~peer_superlu_dist() override { release(); }

  void prepare(const pattern_view& a, const run_settings& settings, run_context&) override {
    settings_ = settings;
    n_ = a.n_rows;
    const auto relax = static_cast<int>(settings.options.integer("relax"));
    std::vector<index_t> parent = elimination_tree(symmetrized(a, diagonal::drop));
    // Relaxed supernodes need a postordered tree, as pdgssvx has it.
    const std::vector<index_t> post = postorder(parent);
    own_order_ = relax > 1 && !std::ranges::is_sorted(post);
    const pattern given = own_order_ ? permute(a, post, post) : pattern();
    if (own_order_) parent = elimination_tree(symmetrized(given, diagonal::drop));
    const pattern columns = transpose(own_order_ ? given.view() : a);
    narrow<int_t>(columns.nnz(), "nonzeros for SuperLU_DIST");
    row_index_.assign(columns.col_idx.begin(), columns.col_idx.end());
    begin_.assign(columns.row_ptr.begin(), columns.row_ptr.end() - 1);
    end_.assign(columns.row_ptr.begin() + 1, columns.row_ptr.end());
    values_.assign(columns.col_idx.size(), 1.0);
    identity_.resize(at(n_));
    for (index_t j = 0; j < n_; ++j) identity_[at(j)] = j;
    etree_.resize(at(n_));
    for (index_t j = 0; j < n_; ++j) etree_[at(j)] = parent[at(j)] < 0 ? n_ : parent[at(j)];

    set_default_options_dist(&options_);
    options_.superlu_relax = relax;
    options_.PrintStat = NO;
    store_ = {static_cast<int_t>(row_index_.size()), values_.data(), row_index_.data(),
              begin_.data(), end_.data()};
    matrix_ = {SLU_NCP, SLU_D, SLU_GE, n_, n_, &store_};
  }

  void run(run_context&) override {
    release();
    // symbfact allocates all arrays of persist_ and lists_.
    held_ = true;
    const int_t status =
        symbfact(&options_, 0, &matrix_, identity_.data(), etree_.data(), &persist_, &lists_);
    // symbfact returns minus the bytes it used; a positive number is what it could not get.
    if (status > 0) throw budget_error("symbfact of SuperLU_DIST ran out of memory");
  }

  result collect(want_set wants) override {
    pattern l;
    pattern u;
    l.n_rows = l.n_cols = u.n_rows = u.n_cols = n_;
    const int_t supernodes = persist_.supno[n_ - 1] + 1;
    for (int_t k = 0; k < supernodes; ++k) {
      const int_t first = persist_.xsup[k];
      for (int_t j = first; j < persist_.xsup[k + 1]; ++j) {
        for (int_t p = lists_.xlsub[first]; p < lists_.xlsub[first + 1]; ++p) {
          if (lists_.lsub[p] > j) l.col_idx.push_back(static_cast<index_t>(lists_.lsub[p]));
        }
        l.row_ptr.push_back(static_cast<offset_t>(l.col_idx.size()));
        for (int_t p = lists_.xusub[j]; p < lists_.xusub[j + 1]; ++p) {
          const int_t top = lists_.usub[p];
          append(u, top, persist_.xsup[persist_.supno[top] + 1]);
        }
        append(u, first, j);
        u.row_ptr.push_back(static_cast<offset_t>(u.col_idx.size()));
      }
    }
    want_set found = wants;
    if (wants.has(want::supernodes)) found |= want_set(want::counts) | want::pattern;
    result out = detail::collect_columns(l, u, found);
    if (wants.has(want::supernodes)) {
      // Supernodes of U rows are not SuperLU_DIST's own, which are of L columns.
      out.supernode_starts = detail::t3_post_pass(
          out.u_row_counts, settings_.chunk_size,
          [&](index_t s, index_t r) { return std::ranges::binary_search(out.l.row(s), r); });
    }
    out.of_own_order = own_order_;
    if (!wants.has(want::pattern)) out.l = out.u = {};
    if (!wants.has(want::counts)) out.l_row_counts = out.u_row_counts = {};
    return out;
  }

 private:
  static void append(pattern& u, int_t begin, int_t end) {
    for (int_t i = begin; i < end; ++i) u.col_idx.push_back(static_cast<index_t>(i));
  }
  void release() {
    if (!held_) return;
    superlu_free_dist(persist_.xsup);
    superlu_free_dist(persist_.supno);
    symbfact_SubFree(&lists_);
    persist_ = {};
    lists_ = {};
    held_ = false;
  }

  run_settings settings_;
  index_t n_ = 0;
  std::vector<int_t> row_index_, begin_, end_, identity_, etree_;
  std::vector<double> values_;
  superlu_dist_options_t options_{};
  NCPformat store_{};
  SuperMatrix matrix_{};
  Glu_persist_t persist_{};
  Glu_freeable_t lists_{};
  bool own_order_ = false;  // the postorder of the given order
  bool held_ = false;
};

const std::string library = peers::release(
    "SuperLU_DIST",
    {SUPERLU_DIST_MAJOR_VERSION, SUPERLU_DIST_MINOR_VERSION, SUPERLU_DIST_PATCH_VERSION});

#else

using peer_superlu_dist = peers::absent;
const std::string library;

#endif

std::optional<std::string> missing() {
  return peers::built_without<peer_superlu_dist>("SuperLU_DIST (Debian: libsuperlu-dist-dev)");
}
std::unique_ptr<variant> create() {
  return peers::create<peer_superlu_dist>("peer_superlu_dist", missing());
}

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "peer_superlu_dist",
    .device = "peer",
    .summary = "symbfact of SuperLU_DIST, sequential",
    .citation = "Li & Demmel 2003; Grigori, Demmel & Li 2007; paper Figure 12",
    .options = {{.name = "relax",
                 .default_value = std::int64_t{1},
                 .help = "most columns of a relaxed supernode; 1: none; SuperLU_DIST's default: 60",
                 .minimum = 1,
                 .maximum = 1000000,
                 .tested = {"60"}}},
    .exact = false,
    .library = gsofa::library,
    .unavailable = gsofa::missing,
    .create = gsofa::create,
});
