// Masks of A. Entry (i, j) belongs to the panel of the smaller of the two vertices, at the position
// of the larger one.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "variants/panels/near_table.hpp"
#include "variants/panels/stages_device.hpp"

namespace gsofa::panels {

namespace {

/// Returns the OR over each run of equal keys in the first lane of the run, and 0 in the others.
GSOFA_DEVICE mask_t or_of_run(std::uint64_t key, mask_t mask) {
  const unsigned lane = lane_index();
  const std::uint64_t before = simt::shuffle_up(key, 1);
  for (unsigned step = 1; step < 32; step *= 2) {
    const std::uint64_t other_key = simt::shuffle_down(key, step);
    const mask_t other = simt::shuffle_down(mask, step);
    if (lane + step < 32 && other_key == key) mask |= other;
  }
  return lane == 0 || before != key ? mask : 0;
}

/// A table of the column blocks of some entries in shared memory, with the place of the first
/// position of each. A key is set after the rest of its slot; no slot changes then.
struct place_table {
  static constexpr std::uint64_t taken = ~std::uint64_t{0};  // a slot that is being set; no key
  std::uint64_t key[near_slots];
  mask_t members[near_slots];
  std::uint64_t first[near_slots];

  GSOFA_DEVICE void clear() {
    for (unsigned k = simt::thread_index(); k < near_slots; k += simt::block_size()) {
      key[k] = no_key;
    }
  }
  /// The place of the position of f in the list of panel j, which has f.
  GSOFA_DEVICE offset_t place(const panel_view& p, index_t j, index_t f) {
    const index_t t = p.panel_of[f];
    const index_t inside = f - p.begin[t];
    if (t == j) return p.position_begin[j] + inside;
    const std::uint64_t wanted = column_block_key(j, t);
    const std::uint32_t slot = near_slot(wanted);
    const std::uint64_t found = simt::load_shared_state(key + slot);
    block_place here{};
    if (found == wanted) {
      // Pairs with the fence before the key was set.
      simt::fence_block();
      here = {simt::load_shared_state(members + slot),
              static_cast<offset_t>(simt::load_shared_state(first + slot))};
    } else {
      here = sought(p, j, t);
      if (found == no_key && simt::atomic_cas(key + slot, no_key, taken) == no_key) {
        // The key and the fences order these stores; racecheck, which does not know fences, reports
        // plain stores.
        simt::atomic_exchange(members + slot, here.members);
        simt::atomic_exchange(first + slot, static_cast<std::uint64_t>(here.first));
        simt::fence_block();
        simt::atomic_cas(key + slot, taken, wanted);
      }
    }
    return here.first + static_cast<offset_t>(simt::population(here.members & below(inside)));
  }

 private:
  struct block_place {
    mask_t members;
    offset_t first;
  };
  static GSOFA_DEVICE block_place sought(const panel_view& p, index_t j, index_t t) {
    offset_t low = p.column_block_begin[j];
    for (offset_t high = p.column_block_begin[j + 1]; low < high;) {
      const offset_t middle = low + (high - low) / 2;
      if (p.column_block_panel[middle] < t) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return {p.column_block_mask[low], p.position_begin[j] + p.column_block_first[low]};
  }
};

/// Sets the bits of A; entry (i, j) belongs to the panel of the smaller of the two. Entries of one
/// row left of the diagonal that lie in one panel share a mask: one lane sets them all. Needs
/// sizeof(place_table) bytes of shared memory behind those of for_each_lane().
///
/// In waves, sets bits only in panels j >= from that have a place. A panel that had a place in the
/// previous wave is not factored yet, and has these bits already.
GSOFA_KERNEL void scatter_kernel(matrix_view a, panel_view p, bool in_waves, index_t from) {
  simt::after_earlier_launches();
  place_table& places = *reinterpret_cast<place_table*>(simt::shared_memory<row_window>() + 1);
  places.clear();
  simt::sync_block();
  const auto visit = [&](bool is_entry, index_t row, index_t column) {
    const index_t i = p.vertex(row);
    const index_t j = p.vertex(column);
    const bool upper = i < j;
    const index_t k = upper ? i : j;
    const index_t f = upper ? j : i;
    const index_t panel = p.panel_of[k];
    const auto key = static_cast<std::uint64_t>(static_cast<std::uint32_t>(panel)) << 33 |
                     static_cast<std::uint64_t>(static_cast<std::uint32_t>(f)) << 1 |
                     (upper ? 1U : 0U);
    const bool here =
        is_entry && row != column && (!in_waves || (panel >= from && p.position_begin[panel] >= 0));
    const mask_t set = or_of_run(key, here ? bit(k - p.begin[panel]) : mask_t{0});
    if (set == 0) return;
    mask_pair& m = p.masks[places.place(p, panel, f)];
    simt::atomic_or(upper ? &m.upper : &m.lower, set);
  };
  for_each_lane(a, visit, [&] {
    places.clear();
    simt::sync_block();
  });
}

}  // namespace

void set_masks(const matrix_view& a, const panel_arrays& p) {
  launch_with_table<place_table>(scatter_kernel, a, p.view(), false, index_t{0});
}

void set_masks_of_wave(const matrix_view& a, const panel_arrays& p, index_t from) {
  launch_with_table<place_table>(scatter_kernel, a, p.view(), true, from);
}

}  // namespace gsofa::panels

#endif
