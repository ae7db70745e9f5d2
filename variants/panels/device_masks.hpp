#pragma once

/// Sets of vertices of one panel as 64-bit masks, in kernels.

#include "variants/device/batch_rows.hpp"
#include "variants/panels/masks.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

using namespace gsofa::gpu;

/// Rows l and l + 32 of a 64 x 64 bit matrix, in lane l of a warp.
struct row_pair {
  mask_t low, high;
};

/// Transposes matrices side by side, so that the shuffles of one matrix do not wait for those of
/// another.
template <int Count>
GSOFA_DEVICE void transpose(row_pair (&m)[Count]) {
  // Each 32 x 32 block is transposed by itself, and the two off the diagonal change places. In a
  // step the lanes l and l + step exchange halves of groups of 2 step bits.
  std::uint32_t words[Count][4];
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
    words[q][0] = static_cast<std::uint32_t>(m[q].low);
    words[q][1] = static_cast<std::uint32_t>(m[q].high);
    words[q][2] = static_cast<std::uint32_t>(m[q].low >> 32);
    words[q][3] = static_cast<std::uint32_t>(m[q].high >> 32);
  }
  constexpr std::uint32_t lower_bits[] = {0x0000ffffU, 0x00ff00ffU, 0x0f0f0f0fU, 0x33333333U,
                                          0x55555555U};
  GSOFA_UNROLL for (int k = 0; k < 5; ++k) {
    const unsigned step = 16U >> k;
    const bool first = (lane_index() & step) == 0;
    const std::uint32_t keep = first ? lower_bits[k] : ~lower_bits[k];
    const unsigned turn = first ? step : 32 - step;
    GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
      GSOFA_UNROLL for (std::uint32_t& mine : words[q]) {
        const std::uint32_t other = simt::rotate_left(simt::shuffle_xor(mine, step), turn);
        mine = (mine & keep) | (other & ~keep);
      }
    }
  }
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
    m[q] = {static_cast<mask_t>(words[q][1]) << 32 | words[q][0],
            static_cast<mask_t>(words[q][3]) << 32 | words[q][2]};
  }
}

#endif

}  // namespace gsofa::panels
