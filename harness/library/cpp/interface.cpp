// The functions of gsofa.hpp, except analyzer (analyzer.cpp) and read_pattern() (read_pattern.cpp).
// analyze.cpp analyses.

#include <algorithm>
#include <utility>

#include "common/elimination_forest.hpp"
#include "common/preprocess.hpp"
#include "common/supernodal.hpp"
#include "common/variant.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/analyze.hpp"
#include "harness/library/cpp/errors.hpp"
#include "harness/library/cpp/options.hpp"
#include "variants/orderings/metis_library.hpp"

namespace gsofa {

using namespace library;

analysis analyze(const csr_view& a, const analysis_options& options) {
  return analyze<csr_view>(a, options);
}
template <class View>
analysis analyze(const View& a, const analysis_options& options) {
  return analyze_given(given_pattern(a), options);
}

fill_estimate estimate(const csr_view& a, const analysis_options& options) {
  return estimate<csr_view>(a, options);
}
template <class View>
fill_estimate estimate(const View& a, const analysis_options& options) {
  return estimate_given(given_pattern(a), options);
}

pattern_order order(const csr_view& a, const order_options& options) {
  return order<csr_view>(a, options);
}
template <class View>
pattern_order order(const View& a, const order_options& options) {
  return order_given(given_pattern(a), options);
}

fill_profile profile(const csr_view& a, std::int32_t cells, const analysis_options& options) {
  return profile<csr_view>(a, cells, options);
}
template <class View>
fill_profile profile(const View& a, std::int32_t cells, const analysis_options& options) {
  return profile_given(given_pattern(a), cells, options);
}

std::vector<std::int32_t> elimination_tree(const csr_view& a) {
  return elimination_tree<csr_view>(a);
}
template <class View>
std::vector<std::int32_t> elimination_tree(const View& a) {
  return reporting([&] {
    const input_rows rows{given_pattern(a)};
    return elimination_tree_of_sum(rows.in.a, transpose(rows.in.a));
  });
}

std::vector<supernode_range> relaxed_supernodes(std::span<const std::int32_t> parent,
                                                std::int32_t relax) {
  return reporting([&] {
    std::vector<supernode_range> out;
    for (const column_range& r : relaxed_leaves(parent, relax)) out.push_back({r.begin, r.end});
    return out;
  });
}

tree_levels level_sets(std::span<const std::int32_t> parent) {
  return reporting([&] {
    forest_levels found = levels_of_forest(parent);
    return tree_levels{std::move(found.begin), std::move(found.vertices)};
  });
}

std::vector<std::int32_t> tree_postorder(std::span<const std::int32_t> parent) {
  return reporting([&] {
    validate_forest(parent);
    std::vector<index_t> roots_negative(parent.begin(), parent.end());
    std::ranges::replace(roots_negative, static_cast<index_t>(parent.size()), -1);
    return postorder(roots_negative);
  });
}

std::vector<variant_description> variants() {
  std::vector<variant_description> out;
  for (const variant_info& v : all_variants()) {
    if (is_public(v)) out.push_back({v.name, v.device, v.summary, v.unavailable().value_or("")});
  }
  return out;
}

bool has_metis() noexcept {
  try {
    return !metis_fault();
  } catch (const std::exception&) {
    return false;
  }
}

const char* version() noexcept { return GSOFA_VERSION; }

#define GSOFA_INSTANTIATE(View)                                                                \
  template GSOFA_API analysis analyze(const View&, const analysis_options&);                   \
  template GSOFA_API fill_estimate estimate(const View&, const analysis_options&);             \
  template GSOFA_API pattern_order order(const View&, const order_options&);                   \
  template GSOFA_API fill_profile profile(const View&, std::int32_t, const analysis_options&); \
  template GSOFA_API std::vector<std::int32_t> elimination_tree(const View&)
GSOFA_INSTANTIATE(csr_view_32);
GSOFA_INSTANTIATE(csr_view_64);
GSOFA_INSTANTIATE(csc_view);
GSOFA_INSTANTIATE(csc_view_32);
GSOFA_INSTANTIATE(csc_view_64);
#undef GSOFA_INSTANTIATE
#define GSOFA_INSTANTIATE(View)                                              \
  template GSOFA_API analysis analyze(const View&, const analysis_options&); \
  template GSOFA_API pattern_order order(const View&, const order_options&)
GSOFA_INSTANTIATE(device_csr_view);
GSOFA_INSTANTIATE(device_csr_view_32);
GSOFA_INSTANTIATE(device_csr_view_64);
#undef GSOFA_INSTANTIATE

}  // namespace gsofa
