#pragma once

/// gpu_diagonal_blocks with limits that only tests change.

#include <memory>

#include "common/types.hpp"
#include "common/variant.hpp"
#include "variants/device/gpu_variant.hpp"

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

struct block_tuning {
  offset_t most_words = offset_t{1} << 31;    ///< of bits of the blocks of a launch, 4 bytes each
  offset_t most_entries = offset_t{1} << 26;  ///< of rows that are sorted by a launch
};

std::unique_ptr<variant> make_diagonal_blocks(const block_tuning& tuning);

#endif

}  // namespace gsofa::gpu
