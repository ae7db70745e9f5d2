// Approximate minimum degree on A + A^T, by AMD of SuiteSparse with its default options: aggressive
// absorption; rows with more than 10 sqrt(n) entries come last.
// Amestoy, Davis & Duff, Algorithm 837: AMD, an approximate minimum degree ordering algorithm,
// 2004.

#include "common/ordering.hpp"

#ifdef GSOFA_HAVE_AMD
#include <algorithm>
#include <new>
#include <utility>

#include <amd.h>
#endif

namespace gsofa {

namespace {

#ifdef GSOFA_HAVE_AMD

void check_amd(int status) {
  if (status == AMD_OUT_OF_MEMORY) throw std::bad_alloc();
  if (status != AMD_OK) {
    throw error(exit_code::run_failed, "AMD failed with status " + std::to_string(status));
  }
}

// AMD reads compressed columns and orders A + A^T, to which it makes no difference that they are
// the rows.
ordering amd_order(const pattern_view& a, const order_settings& /*settings*/) {
  if (a.nnz() == 0) return {.order = identity_order(a.n_rows), .method = {}, .library = {}};
  std::vector<index_t> order(at(a.n_rows));
  // The largest workspace: A + A^T with elbow room, and arrays of n numbers.
  if (12 * (a.nnz() / 5) + 8 * offset_t{a.n_rows} + 12 <= max_index) {
    const std::vector<index_t> begin = narrow_offsets(a, "entries of A for AMD");
    check_amd(
        ::amd_order(a.n_rows, begin.data(), a.col_idx.data(), order.data(), nullptr, nullptr));
    return {.order = std::move(order), .method = {}, .library = {}};
  }
  const std::vector<SuiteSparse_long> begin(a.row_ptr.begin(), a.row_ptr.end());
  const std::vector<SuiteSparse_long> columns(a.col_idx.begin(), a.col_idx.end());
  std::vector<SuiteSparse_long> wide(order.size());
  check_amd(static_cast<int>(
      amd_l_order(a.n_rows, begin.data(), columns.data(), wide.data(), nullptr, nullptr)));
  std::ranges::transform(wide, order.begin(), [](auto v) { return static_cast<index_t>(v); });
  return {.order = std::move(order), .method = {}, .library = {}};
}

std::string amd_version() {
  return "AMD " + std::to_string(AMD_MAIN_VERSION) + "." + std::to_string(AMD_SUB_VERSION) + "." +
         std::to_string(AMD_SUBSUB_VERSION);
}

std::optional<std::string> amd_fault() { return std::nullopt; }

#else

ordering amd_order(const pattern_view&, const order_settings&) { return {}; }

std::string amd_version() { return ""; }

std::optional<std::string> amd_fault() {
  return needs_library("--order amd", "SuiteSparse AMD", "libsuitesparse-dev").what();
}

#endif

}  // namespace

GSOFA_REGISTER_ORDER({
    .name = "amd",
    .device = "cpu",
    .summary = "approximate minimum degree of A + A^T",
    .citation = "Amestoy, Davis & Duff 1996",
    .library = amd_version(),
    .unavailable = amd_fault,
    .compute = amd_order,
});

}  // namespace gsofa
