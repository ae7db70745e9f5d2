#pragma once

#include "common/variant.hpp"

namespace gsofa::detail {

/// Everything of `wants` except the supernodes, from a result found by columns.
/// l_columns: row j holds the rows > j of column j of L; u_columns: the rows < j of column j of U.
/// Both are n x n, with rows in any order.
result collect_columns(const pattern_view& l_columns, const pattern_view& u_columns,
                       want_set wants);

}  // namespace gsofa::detail
