// The fall-back: rows are searched if the panels do not fit in memory.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <string>

#include "variants/panels/runs/search.hpp"

namespace gsofa::panels {

void announce_search(const device_rows& a, offset_t bytes_missing, const run_context& context) {
  if (!context.say) return;
  context.say("panels do not fit in device memory: the host searches " + std::to_string(a.n) +
              " rows; memory_budget_mb=" + std::to_string((bytes_missing >> 20) + 1) +
              " or more would avoid that");
}

pattern on_host(const device_rows& a) {
  pattern copied;
  copied.n_rows = copied.n_cols = a.n;
  copied.row_ptr.resize(at(a.n) + 1);
  copied.col_idx.resize(at(a.nnz));
  copy_to_host(copied.row_ptr.data(), a.row_ptr, offset_t{a.n} + 1);
  copy_to_host(copied.col_idx.data(), a.col_idx, a.nnz);
  return copied;
}

}  // namespace gsofa::panels

#endif
