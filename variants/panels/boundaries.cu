// Boundaries of many panels, target by target. README.md has the terms.
//
// A panel has a vertex t of panel T in its boundary iff it is on the path in the panel tree from a
// panel K that holds a neighbour of t up to, but excluding, T. Let K_1 < K_2 < ... < K_m be all
// such panels K of one T, and let the mask M_i be the set of vertices of T with a neighbour in K_i.
// Panels are numbered in postorder: the subtree of J is the range first(J) .. J. So
//  * a panel J with T in its boundary has a last K_i <= J, and this K_i is in the subtree of J. The
//    path up from K_i, ended before K_{i+1} (K_{m+1} = T), reaches J; no other such path does.
//    Hence exactly one thread lists the column block (J, T), without a table;
//  * the mask of (J, T) is the OR of M_l, ..., M_i, where K_l is the first K with K >= first(J). As
//    J ascends, l descends: the OR takes runs of 32 and of 1024 masks at once.
//
// The blocks are listed in ascending order of their targets. A stable sort by panel then puts the
// blocks of every panel in ascending order of their targets.
//
// Cost: one step per column block, plus at most 32 steps of either kind for each stretch of masks;
// two radix sorts; one atomic operation on each of the two counters of a panel per column block.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>
#include <limits>

#include "variants/device/tile_scan.hpp"
#include "variants/panels/boundaries.hpp"

#if defined(__CUDACC__)
#include <cub/device/device_radix_sort.cuh>
#else
#include <numeric>
#endif

namespace gsofa::panels {

namespace {

/// Calls visit(slot) for all column blocks of a table, a thread for each place.
template <class Visit>
GSOFA_DEVICE void for_each_slot(const column_block* slots, offset_t capacity, Visit&& visit) {
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k - static_cast<offset_t>(lane_index()) < capacity;
       k += offset_t{simt::grid_size()} * simt::block_size()) {
    column_block found{0, 0};
    if (k < capacity) found = slots[k];
    visit(found);
  }
}

GSOFA_KERNEL void count_slots_kernel(const column_block* slots, offset_t capacity,
                                     std::uint32_t* count) {
  simt::after_earlier_launches();
  std::uint32_t mine = 0;
  for_each_slot(slots, capacity, [&](const column_block& b) {
    if (b.key != 0) ++mine;
  });
  mine = simt::add_of_warp(mine);
  if (lane_index() == 0 && mine != 0) simt::atomic_add(count, mine);
}

/// Keys of T << bits | K, and masks.
GSOFA_KERNEL void list_slots_kernel(const column_block* slots, offset_t capacity, int bits,
                                    std::uint32_t* cursor, std::uint64_t* keys, mask_t* masks) {
  simt::after_earlier_launches();
  for_each_slot(slots, capacity, [&](const column_block& b) {
    const unsigned used = simt::ballot(b.key != 0);
    std::uint32_t place = 0;
    if (lane_index() == 0 && used != 0) {
      place = simt::atomic_add(cursor, static_cast<std::uint32_t>(simt::population(used)));
    }
    place = simt::shuffle(place, 0) + simt::population(used & lower_lanes());
    if (b.key == 0) return;
    keys[place] =
        static_cast<std::uint64_t>(b.target()) << bits | static_cast<std::uint64_t>(b.panel());
    masks[place] = b.mask;
  });
}

/// The OR of each whole group of 32 masks. A warp takes a group.
GSOFA_KERNEL void or_groups_kernel(const mask_t* masks, offset_t groups, mask_t* out) {
  simt::after_earlier_launches();
  const offset_t warps = offset_t{simt::grid_size()} * (simt::block_size() / 32);
  for (offset_t k =
           offset_t{simt::block_index()} * (simt::block_size() / 32) + simt::thread_index() / 32;
       k < groups; k += warps) {
    mask_t all = masks[k * 32 + static_cast<offset_t>(lane_index())];
    for (unsigned step = 16; step > 0; step /= 2) all |= simt::shuffle_xor(all, step);
    if (lane_index() == 0) out[k] = all;
  }
}

/// The column blocks of A's entries in ascending order of T, then of K.
struct first_blocks {
  offset_t count;
  int bits;
  const std::uint64_t* keys;
  const mask_t* masks;
  const mask_t* of_32;
  const mask_t* of_1024;

  [[nodiscard]] GSOFA_DEVICE index_t target(offset_t i) const {
    return static_cast<index_t>(keys[i] >> bits);
  }
  [[nodiscard]] GSOFA_DEVICE index_t panel(offset_t i) const {
    return static_cast<index_t>(keys[i] & ((std::uint64_t{1} << bits) - 1));
  }
  /// The panels on the way up from that of block i lie before this one.
  [[nodiscard]] GSOFA_DEVICE index_t end(offset_t i) const {
    return i + 1 < count && target(i + 1) == target(i) ? panel(i + 1) : target(i);
  }
  /// Adds the masks before `at` whose keys are not before `bound`; `at` becomes the first of them.
  GSOFA_DEVICE mask_t take(offset_t& at, std::uint64_t bound) const {
    mask_t taken = 0;
    while (at > 0 && keys[at - 1] >= bound) {
      if (at % 1024 == 0 && keys[at - 1024] >= bound) {
        at -= 1024;
        taken |= of_1024[at / 1024];
      } else if (at % 32 == 0 && keys[at - 32] >= bound) {
        at -= 32;
        taken |= of_32[at / 32];
      } else {
        taken |= masks[--at];
      }
    }
    return taken;
  }
};

/// Counts the panels that each block has on its way.
GSOFA_KERNEL void count_steps_kernel(first_blocks first, const index_t* panel_parent,
                                     index_t* steps) {
  simt::after_earlier_launches();
  for (const offset_t i : grid_items(first.count)) {
    const index_t end = first.end(i);
    index_t count = 0;
    for (index_t j = first.panel(i); j >= 0 && j < end; j = panel_parent[j]) ++count;
    steps[i] = count;
  }
}

/// Where the panels of each block begin.
struct step_scan {
  using value = offset_t;
  offset_t blocks;
  const index_t* steps;
  offset_t* begin;  ///< one more

  [[nodiscard]] GSOFA_DEVICE offset_t count() const { return blocks; }
  GSOFA_DEVICE static value identity() { return 0; }
  [[nodiscard]] GSOFA_DEVICE value combine(value a, value b) const { return a + b; }
  [[nodiscard]] GSOFA_DEVICE value item(index_t i) const { return steps[i]; }
  GSOFA_DEVICE void emit(index_t i, value upto) const {
    if (i == 0) begin[0] = 0;
    begin[i + 1] = upto;
  }
};

/// Lists the column blocks of all panels, and adds up the sizes of each panel.
GSOFA_KERNEL void list_boundaries_kernel(first_blocks first, const index_t* panel_parent,
                                         first_panels subtrees, const offset_t* begin,
                                         column_block* blocks, std::uint32_t* panels,
                                         boundary_sizes sizes) {
  simt::after_earlier_launches();
  for (const offset_t i : grid_items(first.count)) {
    const index_t end = first.end(i);
    const index_t target = first.target(i);
    const std::uint64_t of_target = static_cast<std::uint64_t>(target) << first.bits;
    offset_t to = begin[i];
    offset_t at = i;
    mask_t mask = first.masks[i];
    for (index_t j = first.panel(i); j >= 0 && j < end; j = panel_parent[j], ++to) {
      mask |= first.take(at, of_target | static_cast<std::uint64_t>(subtrees.first(j)));
      blocks[to] = {column_block_key(j, target), mask};
      panels[to] = static_cast<std::uint32_t>(j);
      simt::atomic_add(sizes.blocks + j, std::uint32_t{1});
      simt::atomic_add(sizes.members + j, static_cast<unsigned long long>(simt::population(mask)));
    }
  }
}

GSOFA_KERNEL void number_kernel(offset_t count, std::uint32_t* numbers) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(count)) {
    numbers[k] = static_cast<std::uint32_t>(k);
  }
}

/// Copies the column blocks in the order of `numbers`.
GSOFA_KERNEL void gather_blocks_kernel(offset_t count, const column_block* blocks,
                                       const std::uint32_t* numbers, column_block* sorted,
                                       index_t* targets, mask_t* masks) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(count)) {
    const column_block block = blocks[numbers[k]];
    sorted[k] = block;
    targets[k] = block.target();
    masks[k] = block.mask;
  }
}

/// The position of the first member of each column block: behind the panel's vertices and the
/// members of the blocks before. Sums begin anew with every panel.
struct member_scan {
  struct value {
    index_t sum;
    bool begins;
  };
  offset_t blocks;
  const column_block* sorted;
  const index_t* begin;
  index_t* first;
  index_t* first_again;

  [[nodiscard]] GSOFA_DEVICE offset_t count() const { return blocks; }
  GSOFA_DEVICE static value identity() { return {0, false}; }
  [[nodiscard]] GSOFA_DEVICE value combine(const value& a, const value& b) const {
    return b.begins ? b : value{a.sum + b.sum, a.begins};
  }
  [[nodiscard]] GSOFA_DEVICE index_t members(index_t k) const {
    return static_cast<index_t>(simt::population(sorted[k].mask));
  }
  [[nodiscard]] GSOFA_DEVICE value item(index_t k) const {
    return {members(k), k == 0 || sorted[k].panel() != sorted[k - 1].panel()};
  }
  GSOFA_DEVICE void emit(index_t k, const value& upto) const {
    const index_t j = sorted[k].panel();
    first[k] = first_again[k] = begin[j + 1] - begin[j] + upto.sum - members(k);
  }
};

int bits_of(offset_t numbers) {
  int bits = 1;
  while ((numbers - 1) >> bits > 0) ++bits;
  return bits;
}

/// Sorts values by the lowest bits of their keys; stable.
template <class Key, class Value>
void sort_pairs(const Key* keys, Key* sorted_keys, const Value* values, Value* sorted_values,
                offset_t count, [[maybe_unused]] int bits, [[maybe_unused]] memory_budget& budget) {
#if defined(__CUDACC__)
  std::size_t bytes = 0;
  check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, sorted_keys, values, sorted_values,
                                        count, 0, bits, cudaStreamPerThread),
        "sort");
  const device_array<unsigned char> temporary(budget, "loose_words", static_cast<offset_t>(bytes));
  check(cub::DeviceRadixSort::SortPairs(temporary.data(), bytes, keys, sorted_keys, values,
                                        sorted_values, count, 0, bits, cudaStreamPerThread),
        "sort");
#else
  std::vector<offset_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), offset_t{0});
  std::ranges::stable_sort(order, {}, [&](offset_t k) { return keys[k]; });
  for (offset_t k = 0; k < count; ++k) {
    sorted_keys[k] = keys[order[static_cast<std::size_t>(k)]];
    sorted_values[k] = values[order[static_cast<std::size_t>(k)]];
  }
#endif
}

/// A number on the device, on the host.
template <class T>
T fetched(const T* there) {
  T here{};
  copy_to_host(&here, there, 1);
  return here;
}

}  // namespace

offset_t boundary_lists::list_first(const column_block* slots, offset_t capacity, index_t panels,
                                    memory_budget& budget) {
  clear();
  bits_ = bits_of(panels);
  const device_array<std::uint32_t> counts(budget, "control", 2);
  fill_bytes(counts.data(), 0, 2);
  launch_overlapping(count_slots_kernel, blocks_for(capacity), threads_per_block, 0, slots,
                     capacity, counts.data());
  const offset_t count = fetched<std::uint32_t>(counts.data());
  if (count == 0) return 0;
  keys_ = {budget, "word_lists", count};
  first_masks_ = {budget, "word_lists", count};
  const device_array<std::uint64_t> keys(budget, "loose_words", count);
  const device_array<mask_t> masks(budget, "loose_words", count);
  launch_overlapping(list_slots_kernel, blocks_for(capacity), threads_per_block, 0, slots, capacity,
                     bits_, counts.data() + 1, keys.data(), masks.data());
  sort_pairs(static_cast<const std::uint64_t*>(keys.data()), keys_.data(),
             static_cast<const mask_t*>(masks.data()), first_masks_.data(), count, 2 * bits_,
             budget);
  return count;
}

bool boundary_lists::climb(const index_t* panel_parent, const first_panels& subtrees,
                           const boundary_sizes& sizes, memory_budget& budget) {
  const offset_t count = keys_.size();
  count_ = 0;
  if (count == 0) return true;
  const offset_t groups = count / 32;
  const device_array<mask_t> of_32(budget, "word_lists", std::max<offset_t>(groups, 1));
  const device_array<mask_t> of_1024(budget, "word_lists", groups / 32 + 1);
  launch_overlapping(or_groups_kernel, blocks_for(groups * 32 + 1), threads_per_block, 0,
                     static_cast<const mask_t*>(first_masks_.data()), groups, of_32.data());
  launch_overlapping(or_groups_kernel, blocks_for(groups + 1), threads_per_block, 0,
                     static_cast<const mask_t*>(of_32.data()), groups / 32, of_1024.data());
  const first_blocks first{count,        bits_,         keys_.data(), first_masks_.data(),
                           of_32.data(), of_1024.data()};
  const device_array<index_t> steps(budget, "word_lists", count);
  const device_array<offset_t> begin(budget, "word_lists", count + 1);
  const device_array<offset_t> partial(budget, "word_lists", threads_per_block);
  launch_overlapping(count_steps_kernel, blocks_for(count), threads_per_block, 0, first,
                     panel_parent, steps.data());
  scan(step_scan{count, steps.data(), begin.data()}, count, partial.data());
  count_ = fetched<offset_t>(begin.data() + count);
  // Numbers of column blocks have 32 bits.
  if (count_ > max_index) return false;
  blocks_ = {budget, "word_lists", count_};
  panels_ = {budget, "word_lists", count_};
  launch_overlapping(list_boundaries_kernel, blocks_for(count), threads_per_block, 0, first,
                     panel_parent, subtrees, static_cast<const offset_t*>(begin.data()),
                     blocks_.data(), panels_.data(), sizes);
  keys_ = {};
  first_masks_ = {};
  return true;
}

void boundary_lists::sort(const index_t* begin, const loose_column_blocks& sorted, index_t* targets,
                          mask_t* masks, index_t* first, memory_budget& budget) {
  if (count_ == 0) return;
  {
    const device_array<std::uint32_t> lists(budget, "loose_words", 3 * count_);
    std::uint32_t* const numbers = lists.data();
    std::uint32_t* const sorted_numbers = numbers + count_;
    launch_overlapping(number_kernel, blocks_for(count_), threads_per_block, 0, count_, numbers);
    sort_pairs(static_cast<const std::uint32_t*>(panels_.data()), sorted_numbers + count_,
               static_cast<const std::uint32_t*>(numbers), sorted_numbers, count_, bits_, budget);
    launch_overlapping(gather_blocks_kernel, blocks_for(count_), threads_per_block, 0, count_,
                       static_cast<const column_block*>(blocks_.data()),
                       static_cast<const std::uint32_t*>(sorted_numbers), sorted.column_blocks,
                       targets, masks);
  }
  const device_array<member_scan::value> partial(budget, "word_lists", threads_per_block);
  scan(member_scan{count_, sorted.column_blocks, begin, first, sorted.first}, count_,
       partial.data(), threads_of_scan(count_));
  clear();
}

void boundary_lists::clear() {
  keys_ = {};
  first_masks_ = {};
  blocks_ = {};
  panels_ = {};
  count_ = 0;
}

}  // namespace gsofa::panels

#endif
