// Memory of the stages from the matrix to the masks of A: panel_arrays.hpp.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>
#include <limits>

#include "variants/device/tile_scan.hpp"
#include "variants/panels/panel_arrays.hpp"

namespace gsofa::panels {

namespace {

constexpr offset_t totals_words = sizeof(structure_totals) / 4;
constexpr offset_t header_words = totals_words + sizeof(elimination_control) / 4;
static_assert(header_words % 2 == 0);

}  // namespace

offset_t panel_limits::positions_at_once() const {
  return most_positions > 0 ? most_positions : std::numeric_limits<offset_t>::max();
}

void panel_arrays::prepare(index_t vertices, memory_budget& budget) {
  n = vertices;
  zeroed = {budget, "tree", header_words + offset_t{zero_arrays} * n};
  tree_parent = {budget, "tree", n};
  hint = {budget, "tree", n};
  note_words.assign(sizeof(structure_note), 0);
  first_capacity = 1;
  while (first_capacity < list_tuning::least_capacity + list_tuning::blocks_per_vertex * n) {
    first_capacity *= 2;
  }
  for (auto* indices : {&low, &depth, &panel_of, &panel_parent, &siblings}) {
    *indices = {budget, "tree", n};
  }
  minima = {budget, "tree", offset_t{n} / 31 + 7};
  begin = {budget, "tree", offset_t{n} + 1};
  column_block_begin = {budget, "tree", offset_t{n} + 1};
  position_begin = {budget, "tree", offset_t{n} + 1};
  partial = {budget, "control", most_scanned * threads_per_block};
  release();
}

void panel_arrays::release() {
  relabelled = by_targets = too_many = false;
  bytes_missing = 0;
  capacity = first_capacity;
  boundaries.clear();
  table = {};
  loose_blocks = {};
  order = {};
  label = {};
  by_panel = {};
  by_column_block = {};
  release_positions();
}

void panel_arrays::release_positions() {
  by_position = {};
  masks = {};
}

// Places of the table have 32-bit numbers.
bool panel_arrays::take_table(const panel_limits& limits, memory_budget& budget) {
  table = {};
  bytes_missing = budget.used() + limits.reserve + capacity * bytes_per_column_block;
  if (capacity > offset_t{1} << 31) return false;
  if (limits.bytes_left(budget) / bytes_per_column_block < capacity) return false;
  table = {budget, "word_table", capacity};
  return true;
}

void panel_arrays::take_loose(memory_budget& budget) {
  constexpr offset_t per_slot = sizeof(column_block) / sizeof(index_t);
  loose_blocks = {budget, "loose_words", column_blocks + column_blocks / per_slot + 1};
}

void panel_arrays::take_column_blocks(memory_budget& budget) {
  by_panel = {budget, "tree", offset_t{panels} * (most_steps + 1)};
  by_column_block = {budget, "words", column_blocks * 2};
}

void panel_arrays::take_positions(offset_t count, memory_budget& budget) {
  release_positions();
  held = count;
  by_position = {budget, "positions", held * 2};
  masks = {budget, "masks", held};
}

void panel_arrays::adopt(const structure_totals& found) {
  panels = static_cast<index_t>(found.panels);
  column_blocks = found.column_blocks;
  positions = found.positions;
  longest = static_cast<index_t>(found.longest);
}

std::uint32_t* panel_arrays::control() const { return zeroed.data() + totals_words; }

std::uint32_t* panel_arrays::zeros(zero_array which) const {
  return zeroed.data() + header_words + offset_t{which} * n;
}

panel_view panel_arrays::view() const {
  return {n,
          panels,
          order.data(),
          label.data(),
          begin.data(),
          panel_of.data(),
          panel_parent.data(),
          above(),
          single_child_steps(),
          column_block_begin.data(),
          position_begin.data(),
          lengths(),
          column_block_panel(),
          by_column_block.data(),
          column_block_first(),
          columns(),
          in_parent(),
          masks.data()};
}

}  // namespace gsofa::panels

#endif
