// The rows and columns as they are.

#include "common/ordering.hpp"

namespace gsofa {

GSOFA_REGISTER_ORDER({
    .name = "natural",
    .device = "cpu",
    .summary = "the order of the matrix as it is; no postorder follows",
    .citation = "none",
    .compute = [](const pattern_view& a, const order_settings&) -> ordering {
      return {.order = identity_order(a.n_rows), .method = {}, .library = {}};
    },
});

}  // namespace gsofa
