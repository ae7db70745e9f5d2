// Multilevel nested dissection of A + A^T by METIS_NodeND.
// Karypis & Kumar, A fast and high quality multilevel scheme for partitioning irregular graphs,
// 1998.

#include <utility>

#include "common/ordering.hpp"
#include "variants/orderings/metis_library.hpp"

namespace gsofa {

namespace {

std::vector<option_spec> metis_specs() {
  constexpr metis_options defaults;
  return {
      {.name = "nseps",
       .default_value = defaults.nseps,
       .help = "separators computed at each level; the smallest is kept",
       .minimum = 1,
       .maximum = 1000,
       .tested = {"3"}},
      {.name = "ufactor",
       .default_value = defaults.ufactor,
       .help = "the larger side of a separator has at most 1 + N / 1000 times half of the weight",
       .minimum = 1,
       .maximum = 1000,
       .tested = {"400"}},
      {.name = "no2hop",
       .default_value = defaults.no2hop,
       .help = "coarsening never matches vertices that only share a neighbour",
       .tested = {"true"}}};
}

std::vector<index_t> metis_order(const pattern_view& a, const order_settings& settings) {
  pattern s = symmetrized(a, diagonal::drop);
  if (s.nnz() == 0) return identity_order(a.n_rows);  // METIS rejects a graph without edges
  std::vector<index_t> xadj = narrow_offsets(s, "edges of A + A^T for METIS");
  std::vector<index_t> adjncy = std::move(s.col_idx);
  s = {};
  const option_set& o = settings.options;
  return metis().node_nd(xadj, adjncy,
                         {.seed = settings.seed,
                          .nseps = o.integer("nseps"),
                          .ufactor = o.integer("ufactor"),
                          .no2hop = o.flag("no2hop")},
                         settings.stop);
}

}  // namespace

GSOFA_REGISTER_ORDER({
    .name = "metis",
    .device = "cpu",
    .summary = "nested dissection of A + A^T, one core",
    .citation = "Karypis & Kumar 1998",
    .library = metis_version(),
    .options = metis_specs(),
    .unavailable = metis_fault,
    .compute = [](const pattern_view& a, const order_settings& s) -> ordering {
      return {.order = metis_order(a, s), .method = {}, .library = {}};
    },
});

}  // namespace gsofa
