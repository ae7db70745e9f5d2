#include "common/matching.hpp"
#include "variants/matchings/symmetric_search.hpp"

GSOFA_REGISTER_MATCHING({
    .name = "symmetric",
    .summary = "maximum cardinality, as many symmetric entries as found, by pattern alone",
    .citation = "Portase & Ucar 2016; Weisfeiler & Leman 1968",
    .compute =
        [](const gsofa::matching_input& input, const gsofa::matching_settings& settings) {
          return gsofa::matchings::symmetric_matching(input, settings);
        },
});
