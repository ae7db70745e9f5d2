// Multilevel nested dissection of A + A^T by METIS_NodeND with its default options.
// Karypis & Kumar, A fast and high quality multilevel scheme for partitioning irregular graphs,
// 1998.

#include <utility>

#include "common/metis_library.hpp"
#include "common/ordering.hpp"

namespace gsofa {

namespace {

std::vector<index_t> metis_order(const pattern_view& a, const order_settings& settings) {
  pattern s = symmetrized(a, diagonal::drop);
  if (s.nnz() == 0) return identity_order(a.n_rows);  // METIS rejects a graph without edges
  std::vector<index_t> xadj = narrow_offsets(s, "edges of A + A^T for METIS");
  std::vector<index_t> adjncy = std::move(s.col_idx);
  s = {};
  return metis().node_nd(xadj, adjncy, settings.seed, settings.stop);
}

}  // namespace

GSOFA_REGISTER_ORDER({
    .name = "metis",
    .device = "cpu",
    .summary = "nested dissection of A + A^T, one core",
    .citation = "Karypis & Kumar 1998",
    .library = metis_version(),
    .unavailable = metis_fault,
    .compute = [](const pattern_view& a, const order_settings& s) -> ordering {
      return {.order = metis_order(a, s), .method = {}, .library = {}};
    },
});

}  // namespace gsofa
