#pragma once

#include "common/supernodal.hpp"

namespace gsofa {

/// cut_supernodes() into `begin`, whose memory is reused.
void cut_supernodes_into(std::span<const std::uint8_t> joins, const supernode_rule& rule,
                         std::vector<index_t>& begin);

}  // namespace gsofa
