#include "variants/detail/build_kind.hpp"

#include "variants/detail/counting.hpp"

namespace gsofa {

bool is_counting_build() { return detail::counting; }

}  // namespace gsofa
