#include "variants/support/build_kind.hpp"

#include "variants/support/counting.hpp"

namespace gsofa {

bool is_counting_build() { return detail::counting; }

}  // namespace gsofa
