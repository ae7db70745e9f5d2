#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "gsofa/gsofa.hpp"

namespace gsofa::metis_abi {

/// All bytes that an order depends on: numbers, texts of the environment, and the caller's arrays.
using order_key = std::array<std::span<const std::byte>, 6>;

/// The order that was remembered for an equal key, compared byte by byte; null if there is none.
/// Allocates nothing. Releases the least recently used orders until `budget` bytes hold the others.
std::shared_ptr<const pattern_order> remembered_order(const order_key& key, std::size_t budget);

/// Remembers copies of the key and of the order, unless they do not fit into `budget` or memory is
/// short.
void remember(const order_key& key, const pattern_order& order, std::size_t budget) noexcept;

}  // namespace gsofa::metis_abi
