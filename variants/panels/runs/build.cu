// The stages from a matrix to masks set to A, and what the host decides between them: whether the
// forest was the elimination tree, whether the table was large enough, whether all positions fit.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "variants/device/tile_scan.hpp"
#include "variants/panels/runs/build.hpp"
#include "variants/panels/stages_device.hpp"

namespace gsofa::panels {

namespace {

// Listed by targets it has 20 bytes until it is sorted, with 12 more for the sort, and spare ones.
constexpr offset_t bytes_while_sorted = 52;

// Whether all positions are admitted at once.
bool fits(const panel_arrays& p, const panel_limits& limits, offset_t bytes) {
  return p.positions <= limits.positions_at_once() && bytes / bytes_per_position >= p.positions;
}

// Finds the panels by label. Returns false where the limits do not admit the labels.
bool relabel_panels(const matrix_view& a, panel_arrays& p, const panel_limits& limits,
                    memory_budget& budget) {
  if (limits.bytes_left(budget) < 8 * offset_t{p.n}) return false;
  relabel(a, p, budget);
  cut_panels(p, limits.width, true);
  return true;
}

// Writes position lists and masks of A.
void write_masks(const matrix_view& a, const panel_arrays& p) {
  write_positions(p);
  set_masks(a, p);
}

// Where column blocks are in the table.
bool fill_from_table(const matrix_view& a, panel_arrays& p, const panel_limits& limits,
                     memory_budget& budget) {
  const offset_t sorted_bytes =
      p.column_blocks * bytes_per_column_block + offset_t{p.panels} * (most_steps + 1) * 4;
  p.bytes_missing =
      budget.used() + limits.reserve + sorted_bytes + p.positions * bytes_per_position;
  constexpr offset_t bytes_per_loose_block = sizeof(column_block) + sizeof(index_t);
  if (limits.bytes_left(budget) / bytes_per_loose_block < p.column_blocks) return false;
  p.take_loose(budget);
  collect_column_blocks(p);
  p.table = {};
  const offset_t left = limits.bytes_left(budget) - sorted_bytes;
  const bool at_once = fits(p, limits, left);
  if (!at_once && (!limits.waves || left < 0)) return false;
  p.take_column_blocks(budget);
  if (at_once) p.take_positions(p.positions, budget);
  sort_column_blocks(p, p.column_blocks);
  if (at_once) write_masks(a, p);
  return true;
}

// Where they are listed by targets.
bool fill_from_boundaries(const matrix_view& a, panel_arrays& p, const panel_limits& limits,
                          memory_budget& budget) {
  p.bytes_missing = budget.used() + limits.reserve + p.column_blocks * bytes_while_sorted +
                    p.positions * bytes_per_position;
  if (p.too_many || limits.bytes_left(budget) / bytes_while_sorted < p.column_blocks) return false;
  p.take_loose(budget);
  p.take_column_blocks(budget);
  sort_column_blocks(p, 0);
  p.boundaries.sort(p.begin.data(), p.loose(), p.column_block_panel(), p.by_column_block.data(),
                    p.column_block_first(), budget);
  const bool at_once = fits(p, limits, limits.bytes_left(budget));
  if (!at_once && !limits.waves) return false;
  if (at_once) {
    p.take_positions(p.positions, budget);
    write_masks(a, p);
  }
  return true;
}

// Finds the lists until the table is large enough, which it is emptied for. Returns false where the
// limits do not admit the table.
bool find_lists_again(const matrix_view& a, panel_arrays& p, const panel_limits& limits,
                      memory_budget& budget, run_context& context) {
  structure_note& note = p.note();
  for (;;) {
    if (!p.take_table(limits, budget)) return false;
    note.number = 0;
    fill_bytes(p.table.data(), 0, p.capacity);
    find_lists(a, p, limits, budget, false);
    wait_for_note(&note.number, 1);
    context.check_deadline();
    if (note.totals.overflow == 0) break;
    if (!limits.waves && note.totals.positions > limits.positions_at_once()) return false;
    grow_table(p, note.totals.column_blocks, limits, budget);
  }
  p.adopt(note.totals);
  return true;
}

// Forest, panels and lists.
bool find_structure(const matrix_view& a, panel_arrays& p, const panel_limits& limits,
                    memory_budget& budget, run_context& context) {
  structure_note& note = p.note();
  note.number = 0;
  if (!p.take_table(limits, budget)) return false;
  clear_for_forest(p);
  find_forest(a, p);
  cut_panels(p, limits.width, false);
  find_lists(a, p, limits, budget, true);
  wait_for_note(&note.number, 1);
  p.symmetric = note.totals.unbalance == 0;
  context.check_deadline();
  if (is_elimination_tree(note.totals) && note.totals.overflow == 0) {
    p.adopt(note.totals);
    return true;
  }
  p.table = {};
  if (!is_elimination_tree(note.totals)) {
    if (!relabel_panels(a, p, limits, budget)) return false;
  } else {
    // The positions found so far are a part of all positions.
    if (!limits.waves && note.totals.positions > limits.positions_at_once()) return false;
    grow_table(p, note.totals.column_blocks, limits, budget);
  }
  return find_lists_again(a, p, limits, budget, context);
}

// Sorts the column blocks and writes position lists and masks of A, or plans waves. Returns false
// where the limits do not admit them.
bool fill(const matrix_view& a, panel_arrays& p, wave_places& waves, const panel_limits& limits,
          memory_budget& budget) {
  const bool filled = p.by_targets ? fill_from_boundaries(a, p, limits, budget)
                                   : fill_from_table(a, p, limits, budget);
  if (!filled) return false;
  p.loose_blocks = {};
  return p.masks.size() > 0 || waves.plan(p, limits, budget);
}

}  // namespace

bool build(const matrix_view& a, panel_arrays& p, wave_places& waves, const panel_limits& limits,
           memory_budget& budget, run_context& context) {
  p.release();
  waves.release();
  bool built = false;
  try {
    built = find_structure(a, p, limits, budget, context) && fill(a, p, waves, limits, budget);
  } catch (const budget_error&) {
    // The device itself may have less than the budget.
  }
  if (!built) {
    const offset_t missing = p.bytes_missing;
    p.release();
    p.bytes_missing = missing;
  }
  return built;
}

}  // namespace gsofa::panels

#endif
