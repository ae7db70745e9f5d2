// peer_superlu_dist_parallel: the parallel symbolic factorization of SuperLU_DIST, symbfact_dist.
//
// Grigori, Demmel & Li 2007 (SIAM J. Sci. Comput. 29): domains and separators of a nested
// dissection are mapped to processes by subtree to subcube; each process finds the columns of L and
// rows of U of its domain, then the processes below a separator share its vertices in blocks,
// mixing left- and right-looking updates. The routine is meant to follow ParMETIS's nested
// dissection, whose separator tree it takes as `sizes` and `fstVtxSep`. Here it gets the prepared
// order that all variants get and a separator tree cut from the etree of A + A^T of that order
// (variants/peers/etree_separators.hpp), so that fill and times are comparable with those of the
// other variants. Where the order is not a postorder of that etree (natural order), this variant
// passes a postorder as perm_c: intermediate vertices of a fill path i -> ... -> j descend from
// min(i, j) in the etree, so a postorder has the same fill paths, and the same totals. One rank is
// one process. The largest power of two of ranks for which no domain is empty takes part; the other
// ranks wait. With an empty domain symbfact_dist 8.1.2 loses entries (order 9 on 8 ranks: 7 of 8
// entries of L). Rows of A are on the ranks in equal blocks before the run, as pdgssvx has them;
// the routine sends them to where they belong. It has no relaxed supernodes, and its totals have
// been those of the fill wherever they were compared, also where symbfact's are above. But the
// routine gives totals only, and finds dense separators by estimates: the result is not exact. The
// totals are counted in Pslu_freeable_t: local supernode s has columns xsup_beg_loc[s] ..
// xsup_end_loc[s]-1 and, at the local index globToLoc mod maxNvtcsPProc of its first column, the
// rows lsub[xlsub[.] ..] of L with the diagonal block and the columns usub[xusub[.] ..] of U right
// of the diagonal. Timed: symbfact_dist alone, from a barrier to a barrier of all ranks; neither
// the separator tree nor the distribution of rows to ranks. The routine allocates its own memory.

#ifdef GSOFA_HAVE_SUPERLU_DIST
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#include <superlu_ddefs.h>
#pragma GCC diagnostic pop

#include <bit>
#include <map>
#include <mutex>
#include <numeric>
#include <span>

#include "common/preprocess.hpp"
#include "variants/peers/etree_separators.hpp"
#endif

#include "common/mpi_context.hpp"
#include "variants/peers/peer.hpp"

namespace gsofa {
namespace {

#ifdef GSOFA_HAVE_SUPERLU_DIST

// symbfact_dist calls MPI even on one process, and threads of one process may each have a variant.
std::mutex& one_at_a_time() {
  static std::mutex lock;
  return lock;
}

// Returns the job. It initialises MPI also in a process that no launcher started, which
// mpi_context::world() leaves without MPI; MPI then lives until the process ends. The job comes
// first: once Open MPI is initialised, the environment names a launcher.
mpi_context& job_with_mpi() {
  struct session {
    session() {
      int provided = MPI_THREAD_SINGLE;
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    }
    ~session() {
      int finalized = 0;
      MPI_Finalized(&finalized);
      if (finalized == 0) MPI_Finalize();
    }
  };
  mpi_context& j = mpi_context::world();
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized == 0) static const session alone;
  return j;
}

// Collective: returns the communicator of the first `count` ranks of the job, MPI_COMM_NULL on the
// others. The first call makes it, and it lives until MPI ends, so that no destructor need be
// collective.
MPI_Comm first_ranks(const mpi_context& j, int count) {
  static std::map<int, MPI_Comm> made;
  const auto [hit, absent] = made.try_emplace(count, MPI_COMM_NULL);
  if (absent) {
    MPI_Comm_split(MPI_COMM_WORLD, j.rank() < count ? 0 : MPI_UNDEFINED, j.rank(), &hit->second);
  }
  return hit->second;
}

class peer_superlu_dist_parallel final : public variant {
 public:
  ~peer_superlu_dist_parallel() override { release(); }

  void prepare(const pattern_view& a, const run_settings&, run_context& context) override {
    const std::scoped_lock lock(one_at_a_time());
    const mpi_context& j = job_with_mpi();
    n_ = a.n_rows;
    ranks_ = static_cast<int>(std::bit_floor(static_cast<unsigned>(j.ranks())));
    const std::vector<index_t> parent = elimination_tree(symmetrized(a, diagonal::drop));
    const std::vector<index_t> order = postorder(parent);
    position_.resize(at(n_));
    identity_.resize(at(n_));
    std::iota(identity_.begin(), identity_.end(), 0);
    for (index_t k = 0; k < n_; ++k) position_[at(order[at(k)])] = k;
    std::vector<index_t> postordered(at(n_), -1);
    for (index_t v = 0; v < n_; ++v) {
      if (parent[at(v)] >= 0) postordered[at(position_[at(v)])] = position_[at(parent[at(v)])];
    }
    auto tree = detail::cut_etree(postordered, ranks_);
    const auto domains = [&] { return std::span(tree.size).first(at(ranks_)); };
    while (ranks_ > 1 && std::ranges::count(domains(), 0) > 0) {
      ranks_ /= 2;
      tree = detail::cut_etree(postordered, ranks_);
    }
    const bool takes_part = j.rank() < ranks_;
    comm_ = first_ranks(j, ranks_);
    sizes_.assign(tree.size.begin(), tree.size.end());
    first_.assign(tree.first.begin(), tree.first.end());
    // get_perm_c_parmetis allocates both arrays with one entry more than there are nodes; so does
    // this variant.
    sizes_.push_back(0);
    first_.push_back(0);
    context.derived["symbolic_ranks"] = ranks_;
    context.derived["largest_domain"] = *std::ranges::max_element(domains());
    context.derived["separator_vertices"] =
        n_ - std::reduce(domains().begin(), domains().end(), offset_t{0});

    if (takes_part) take_rows(a, j.rank());
    set_default_options_dist(&options_);
    options_.superlu_relax = 1;
    options_.PrintStat = NO;
    options_.ParSymbFact = YES;
  }

  void run(run_context&) override {
    if (comm_ == MPI_COMM_NULL) return;
    const std::scoped_lock lock(one_at_a_time());
    release();
    superlu_dist_mem_usage_t usage{};
    // A negative status is minus the bytes that the routine used; a positive one is the bytes that
    // it had when it could allocate no more.
    const float status =
        symbfact_dist(&options_, ranks_, ranks_, &matrix_, position_.data(), identity_.data(),
                      sizes_.data(), first_.data(), &found_, &comm_, &comm_, &usage);
    held_ = true;
    if (status > 0) throw budget_error("symbfact_dist of SuperLU_DIST ran out of memory");
  }

  result collect(want_set) override {
    if (held_) {
      count();
      release();
    }
    mpi_context& j = mpi_context::world();
    result out;
    out.nnz_l = j.sum(nnz_l_);
    out.nnz_u = j.sum(nnz_u_);
    return out;
  }

 private:
  // Takes the rows of this rank: ranks have equal blocks of the rows of A.
  void take_rows(const pattern_view& a, int rank) {
    const auto bound = [&](int r) { return static_cast<index_t>(offset_t{n_} * r / ranks_); };
    const index_t begin = bound(rank);
    const index_t end = bound(rank + 1);
    for (index_t i = begin; i < end; ++i) {
      const auto row = a.row(i);
      columns_.insert(columns_.end(), row.begin(), row.end());
      row_begin_.push_back(narrow<int_t>(static_cast<offset_t>(columns_.size()),
                                         "nonzeros of a rank for SuperLU_DIST"));
    }
    values_.assign(columns_.size(), 1.0);
    store_ = {.nnz_loc = row_begin_.back(),
              .m_loc = end - begin,
              .fst_row = begin,
              .nzval = values_.data(),
              .rowptr = row_begin_.data(),
              .colind = columns_.data()};
    matrix_ = {SLU_NR_loc, SLU_D, SLU_GE, n_, n_, &store_};
  }

  // Counts the entries of L and U that this rank has found: those below and right of each diagonal
  // entry.
  void count() {
    nnz_l_ = nnz_u_ = 0;
    const int_t supernodes = found_.supno_loc[found_.nvtcs_loc];
    for (int_t s = 0; s < supernodes; ++s) {
      const int_t begin = found_.xsup_beg_loc[s];
      const int_t end = found_.xsup_end_loc[s];
      const int_t local = found_.globToLoc[begin] % found_.maxNvtcsPProc;
      const auto beyond = [&](const int_t* list, const int_t* starts) {
        offset_t entries = 0;
        for (int_t p = starts[local]; p < starts[local + 1]; ++p) {
          entries += std::clamp(list[p] - begin, int_t{0}, end - begin);
        }
        return entries;
      };
      nnz_l_ += beyond(found_.lsub, found_.xlsub);
      nnz_u_ += beyond(found_.usub, found_.xusub) + (end - begin);
    }
  }

  void release() {
    if (!held_) return;
    for (int_t* p : {found_.xlsub, found_.lsub, found_.xusub, found_.usub, found_.supno_loc,
                     found_.xsup_beg_loc, found_.xsup_end_loc, found_.globToLoc}) {
      if (p != nullptr) superlu_free_dist(p);
    }
    found_ = {};
    held_ = false;
  }

  index_t n_ = 0;
  int ranks_ = 1;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<int_t> row_begin_{0}, columns_;
  std::vector<double> values_;
  std::vector<int_t> position_, identity_, sizes_, first_;
  superlu_dist_options_t options_{};
  NRformat_loc store_{};
  SuperMatrix matrix_{};
  Pslu_freeable_t found_{};
  bool held_ = false;
  offset_t nnz_l_ = 0, nnz_u_ = 0;
};

const std::string library = peers::release(
    "SuperLU_DIST",
    {SUPERLU_DIST_MAJOR_VERSION, SUPERLU_DIST_MINOR_VERSION, SUPERLU_DIST_PATCH_VERSION});

#else

using peer_superlu_dist_parallel = peers::absent;
const std::string library;

#endif

std::optional<std::string> missing() {
  auto why = peers::built_without<peer_superlu_dist_parallel>(
      "SuperLU_DIST (Debian: libsuperlu-dist-dev)");
  if (why || built_with_mpi()) return why;
  return "built without MPI (Debian: libopenmpi-dev openmpi-bin)";
}
std::unique_ptr<variant> create() {
  return peers::create<peer_superlu_dist_parallel>("peer_superlu_dist_parallel", missing());
}

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "peer_superlu_dist_parallel",
    .device = "peer",
    .summary = "symbfact_dist of SuperLU_DIST on a power of two of the ranks of an MPI job",
    .citation = "Grigori, Demmel & Li 2007; paper Figure 12",
    .gives = {},
    .exact = false,
    .distributed = true,
    .library = gsofa::library,
    .unavailable = gsofa::missing,
    .create = gsofa::create,
});
