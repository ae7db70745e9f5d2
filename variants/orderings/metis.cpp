// Multilevel nested dissection of A + A^T by METIS_NodeND with its default options.
// Karypis & Kumar, A fast and high quality multilevel scheme for partitioning irregular graphs,
// 1998.

#include <utility>

#include "common/metis_guard.hpp"
#include "common/ordering.hpp"

namespace gsofa {

namespace {

#ifdef GSOFA_HAVE_METIS

std::vector<index_t> metis_order(const pattern_view& a, const order_settings& settings) {
  static_assert(sizeof(idx_t) == sizeof(index_t), "METIS with 32-bit indices");
  pattern s = symmetrized(a, diagonal::drop);
  if (s.nnz() == 0) return identity_order(a.n_rows);  // METIS rejects a graph without edges
  std::vector<idx_t> xadj = narrow_offsets(s, "edges of A + A^T for METIS");
  std::vector<idx_t> adjncy = std::move(s.col_idx);
  s = {};
  std::vector<idx_t> perm(at(a.n_rows));
  std::vector<idx_t> iperm(at(a.n_rows));
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = 0;
  if (settings.seed >= 0) options[METIS_OPTION_SEED] = narrow<idx_t>(settings.seed, "METIS seed");
  metis_node_nd(a.n_rows, xadj.data(), adjncy.data(), options, perm.data(), iperm.data(),
                metis_isolation::bound, settings.stop);
  return perm;  // perm[k] is the old number of the vertex at position k
}

std::string library() {
  return "METIS " + std::to_string(METIS_VER_MAJOR) + "." + std::to_string(METIS_VER_MINOR) + "." +
         std::to_string(METIS_VER_SUBMINOR);
}

std::optional<std::string> absent() { return std::nullopt; }

#else

std::vector<index_t> metis_order(const pattern_view&, const order_settings&) { return {}; }

std::string library() { return ""; }

std::optional<std::string> absent() {
  return needs_library("--order metis", "METIS", "libmetis-dev").what();
}

#endif

}  // namespace

GSOFA_REGISTER_ORDER({
    .name = "metis",
    .device = "cpu",
    .summary = "nested dissection of A + A^T, one core",
    .citation = "Karypis & Kumar 1998",
    .library = library(),
    .contends = true,
    .preference = 2,
    .unavailable = absent,
    .compute = [](const pattern_view& a, const order_settings& s) -> ordering {
      return {.order = metis_order(a, s), .method = {}, .library = {}};
    },
});

}  // namespace gsofa
