// Boundaries of all panels. A vertex i is in the boundary of J iff J lies below panel(i) on the way
// up from a panel K that holds a neighbour of i in A + A^T: every boundary vertex of a child is in
// the panel or in its boundary. The column blocks of the panels K are found first; then every
// column block goes up the panel tree with all its members. Panels ascend along the way, which ends
// at panel(i), an ancestor of K.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "common/random.hpp"
#include "variants/device/tile_scan.hpp"
#include "variants/panels/near_table.hpp"
#include "variants/panels/stages_device.hpp"

namespace gsofa::panels {

namespace {

constexpr std::uint32_t most_probes = 128;

/// An open-addressing hash table of column blocks. A key never changes once set, a mask belongs to
/// its slot and only grows, so that relaxed accesses to either suffice.
struct column_block_table {
  column_block* slots;
  std::uint32_t capacity;  // a power of 2
};

/// Adds members to the column blocks (path[b], t), b < count, all at once, so that the round trips
/// to memory overlap. Returns the members that the last of these column blocks did not have.
template <int Batch>
GSOFA_DEVICE mask_t insert(const column_block_table& table, const index_t* path, int count,
                           index_t t, mask_t members, structure_totals* totals) {
  column_block found[Batch];
  std::uint64_t key[Batch];
  std::uint32_t place[Batch]{};
  const auto look = [&](int b) {
    found[b] = {simt::load_shared_state(&table.slots[place[b]].key),
                simt::load_shared_state(&table.slots[place[b]].mask)};
  };
  GSOFA_UNROLL for (int b = 0; b < Batch; ++b) {
    key[b] = column_block_key(path[b], t);
    place[b] = static_cast<std::uint32_t>(mix64(key[b])) & (table.capacity - 1);
    found[b] = {key[b], members};
    if (b < count) look(b);
  }
  GSOFA_UNROLL for (int b = 0; b < Batch; ++b) {
    for (std::uint32_t probe = 1; found[b].key != key[b]; ++probe) {
      if (found[b].key == no_key) {
        found[b] = {simt::atomic_cas(&table.slots[place[b]].key, no_key, key[b]), 0};
        if (found[b].key == no_key || found[b].key == key[b]) break;
      }
      if (probe >= most_probes || probe >= table.capacity) {
        simt::atomic_exchange(&totals->overflow, std::uint32_t{1});
        return 0;
      }
      place[b] = (place[b] + 1) & (table.capacity - 1);
      look(b);
    }
  }
  mask_t before = members;
  GSOFA_UNROLL for (int b = 0; b < Batch; ++b) {
    if (b >= count) break;
    before = found[b].mask;
    if ((members & ~before) != 0) before = simt::atomic_or(&table.slots[place[b]].mask, members);
  }
  return members & ~before;
}

struct cut_view {
  const index_t* label;  // null: vertices are rows
  const index_t* begin;
  const index_t* panel_of;
  const index_t* panel_parent;
};

/// A table of the column blocks of some entries in shared memory. Entries of rows that lie near
/// each other have few column blocks.
struct near_table {
  std::uint64_t key[near_slots];
  std::uint32_t mask[near_slots][2];

  GSOFA_DEVICE void clear() {
    for (unsigned k = simt::thread_index(); k < near_slots; k += simt::block_size()) {
      key[k] = no_key;
      mask[k][0] = mask[k][1] = 0;
    }
  }
  /// Returns false if there is no free place near the place of the key.
  GSOFA_DEVICE bool insert(std::uint64_t wanted, index_t member) {
    constexpr unsigned most = 4;
    std::uint32_t place = near_slot(wanted);
    for (unsigned probe = 0; probe < most; ++probe, place = (place + 1) % near_slots) {
      std::uint64_t found = simt::load_shared_state(key + place);
      if (found == no_key) found = simt::atomic_cas(key + place, no_key, wanted);
      if (found != no_key && found != wanted) continue;
      std::uint32_t* const half = mask[place] + member / 32;
      const std::uint32_t here = 1U << (member % 32);
      if ((simt::load_shared_state(half) & here) == 0) simt::atomic_or(half, here);
      return true;
    }
    return false;
  }
};

/// Enters the column blocks of the entries of A in the table. Those of a chunk of entries are
/// gathered in shared memory first. Needs sizeof(near_table) bytes of it behind those of
/// for_each_lane(). In the same pass over A it counts what is justified, if `by` has marks: nobody
/// reads the table then unless the tree is the elimination tree.
GSOFA_KERNEL void first_column_blocks_kernel(matrix_view a, cut_view c, column_block_table table,
                                             justification by, structure_totals* totals) {
  simt::after_earlier_launches();
  if (by.marks == nullptr && !totals->is_etree()) return;
  std::uint32_t justified = 0;
  near_table& near = *reinterpret_cast<near_table*>(simt::shared_memory<row_window>() + 1);
  near.clear();
  simt::sync_block();
  const auto visit = [&](bool is_entry, index_t row, index_t column) {
    if (!is_entry || row == column) return;
    if (by.marks != nullptr) justified += by.visit(row, column);
    const index_t i = c.label == nullptr ? row : c.label[row];
    const index_t j = c.label == nullptr ? column : c.label[column];
    const index_t high = i < j ? j : i;
    const index_t k = c.panel_of[i < j ? i : j];
    const index_t target = c.panel_of[high];
    if (k == target) return;
    const index_t member = high - c.begin[target];
    if (!near.insert(column_block_key(k, target), member)) {
      insert<1>(table, &k, 1, target, bit(member), totals);
    }
  };
  for_each_lane(a, visit, [&] {
    for (unsigned q = simt::thread_index(); q < near_slots; q += simt::block_size()) {
      const column_block block{near.key[q],
                               static_cast<mask_t>(near.mask[q][1]) << 32 | near.mask[q][0]};
      if (block.key == no_key) continue;
      const index_t k = block.panel();
      insert<1>(table, &k, 1, block.target(), block.mask, totals);
    }
    simt::sync_block();
    near.clear();
    simt::sync_block();
  });
  if (by.marks != nullptr) add_to(&totals->justified, justified);
}

/// A thread per column block goes up the panel tree as long as it adds members; members that it
/// finds there have been added by other threads. A step adds the members to several panels,
/// whatever it finds in them, and the thread that adds a member to the last panel of a step goes on
/// with that member. So, by induction down from the target, where a member has been added it will
/// be added everywhere above. It does not matter whether a thread meets column blocks that are
/// added meanwhile.
GSOFA_KERNEL void boundary_kernel(cut_view c, column_block_table table, structure_totals* totals) {
  simt::after_earlier_launches();
  if (!totals->is_etree()) return;
  for (const offset_t slot : grid_items(table.capacity)) {
    const column_block block{simt::load_shared_state(&table.slots[slot].key),
                             simt::load_shared_state(&table.slots[slot].mask)};
    if (block.key == no_key) continue;
    const index_t target = block.target();
    mask_t members = block.mask;
    for (index_t k = c.panel_parent[block.panel()]; members != 0 && k >= 0 && k < target;) {
      constexpr int batch = 4;
      index_t path[batch]{};
      int count = 0;
      for (; count < batch && k >= 0 && k < target; ++count, k = c.panel_parent[k]) {
        path[count] = k;
      }
      members = insert<batch>(table, path, count, target, members, totals);
    }
  }
}

/// Counts the column blocks and the boundary positions of each panel.
GSOFA_KERNEL void length_kernel(column_block_table table, std::uint32_t* column_block_count,
                                unsigned long long* length) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(table.capacity)) {
    const column_block block = table.slots[k];
    if (block.key == no_key) continue;
    simt::atomic_add(column_block_count + block.panel(), std::uint32_t{1});
    simt::atomic_add(length + block.panel(),
                     static_cast<unsigned long long>(simt::population(block.mask)));
  }
}

/// Computes where the column blocks and the positions of each panel begin.
struct length_scan {
  struct value {
    offset_t column_blocks, positions, longest;
  };
  const index_t* begin;
  const std::uint32_t* column_block_count;
  const unsigned long long* length;
  offset_t* column_block_begin;
  offset_t* position_begin;
  index_t* lengths;
  structure_totals* totals;
  structure_note* note;

  GSOFA_DEVICE offset_t count() const { return totals->panels; }
  GSOFA_DEVICE static value identity() { return {0, 0, 0}; }
  GSOFA_DEVICE value combine(const value& a, const value& b) const {
    return {a.column_blocks + b.column_blocks, a.positions + b.positions,
            a.longest < b.longest ? b.longest : a.longest};
  }
  GSOFA_DEVICE offset_t positions(index_t j) const {
    return begin[j + 1] - begin[j] + static_cast<offset_t>(length[j]);
  }
  GSOFA_DEVICE value item(index_t j) const {
    return {column_block_count[j], positions(j), positions(j)};
  }
  GSOFA_DEVICE void emit(index_t j, const value& upto) const {
    if (j == 0) column_block_begin[0] = position_begin[0] = 0;
    column_block_begin[j + 1] = upto.column_blocks;
    position_begin[j + 1] = upto.positions;
    lengths[j] = static_cast<index_t>(positions(j));
    if (j + 1 == static_cast<index_t>(totals->panels)) {
      totals->column_blocks = upto.column_blocks;
      totals->positions = upto.positions;
      totals->longest = upto.longest;
      // Earlier launches have set the others.
      note->totals = *totals;
      simt::store_to_host(&note->number, 1);
    }
  }
};

static_assert(sizeof(length_scan::value) <= most_scanned);

GSOFA_KERNEL void collect_kernel(column_block_table table, const offset_t* column_block_begin,
                                 std::uint32_t* cursor, loose_column_blocks out) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(table.capacity)) {
    const column_block block = table.slots[k];
    if (block.key == no_key) continue;
    const index_t j = block.panel();
    out.column_blocks[column_block_begin[j] + simt::atomic_add(cursor + j, std::uint32_t{1})] =
        block;
  }
}

/// The next panels above each of `panels` panels.
struct ancestor_lists {
  index_t panels;
  const index_t* parent;
  const std::uint32_t* children;
  index_t* above;
  index_t* single_child_steps;
};

/// Finds the next panels above each panel, and sorts the column blocks of each panel by their
/// target. The place of a column block is the number of column blocks with a smaller target; its
/// first position is the number of their members, behind the panel's own vertices.
GSOFA_KERNEL void sort_kernel(ancestor_lists a, offset_t column_blocks, loose_column_blocks loose,
                              const index_t* begin, const offset_t* column_block_begin,
                              index_t* column_block_panel, mask_t* column_block_mask,
                              index_t* column_block_first) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(a.panels)) {
    index_t alone = 0;
    index_t at = a.parent[k];
    for (index_t step = 0; step < most_steps; ++step) {
      a.above[k * most_steps + step] = at;
      if (at < 0) continue;
      if (alone == step && a.children[at] == 1) ++alone;
      at = a.parent[at];
    }
    a.single_child_steps[k] = alone;
  }
  for (const offset_t k : grid_items(column_blocks)) {
    const column_block block = loose.column_blocks[k];
    const index_t j = block.panel();
    offset_t place = column_block_begin[j];
    index_t first = begin[j + 1] - begin[j];
    for (offset_t q = column_block_begin[j]; q < column_block_begin[j + 1]; ++q) {
      const column_block other = loose.column_blocks[q];
      if (other.key >= block.key) continue;
      ++place;
      first += static_cast<index_t>(simt::population(other.mask));
    }
    column_block_panel[place] = block.target();
    column_block_mask[place] = block.mask;
    column_block_first[place] = first;
    loose.first[k] = first;
  }
}

column_block_table table_of(const panel_arrays& p) {
  return {p.table.data(), static_cast<std::uint32_t>(p.capacity)};
}

// Finds where the lists begin, from the sizes of the boundaries.
void place_lists(panel_arrays& p) {
  scan(length_scan{p.begin.data(), p.zeros(p.in_column_block_count), p.boundary_length(),
                   p.column_block_begin.data(), p.position_begin.data(), p.lengths(), p.totals(),
                   &p.note()},
       p.by_targets ? p.panels : p.n, reinterpret_cast<length_scan::value*>(p.partial.data()));
}

// Finds the lengths of the position lists of a table that has all column blocks.
void measure(panel_arrays& p) {
  launch_overlapping(length_kernel, blocks_for(p.capacity), threads_per_block, 0, table_of(p),
                     p.zeros(p.in_column_block_count), p.boundary_length());
  place_lists(p);
}

// The table has the column blocks of A's entries unless it was too small or the tree is another
// one: the note says so.
void climb_by_targets(panel_arrays& p, const panel_limits& limits, memory_budget& budget) {
  copy_to_host(&p.note().totals, static_cast<const structure_totals*>(p.totals()), 1);
  structure_totals& found = p.note().totals;
  p.by_targets = true;
  if (!is_elimination_tree(found) || found.overflow != 0) {
    found.column_blocks = found.overflow != 0 ? p.capacity : 0;
    p.note().number = 1;
    return;
  }
  p.panels = static_cast<index_t>(found.panels);
  p.boundaries.list_first(p.table.data(), p.capacity, p.panels, budget);
  p.table = {};
  const first_panels subtrees = find_first_panels(p);
  const boundary_sizes sizes{p.zeros(p.in_column_block_count), p.boundary_length()};
  p.too_many = !p.boundaries.climb(p.panel_parent.data(), subtrees, sizes, budget);
  p.bytes_missing = budget.used() + limits.reserve;
  place_lists(p);
}

}  // namespace

void find_lists(const matrix_view& a, panel_arrays& p, const panel_limits& limits,
                memory_budget& budget, bool justifies) {
  const cut_view panels{p.label.data(), p.begin.data(), p.panel_of.data(), p.panel_parent.data()};
  launch_with_table<near_table>(first_column_blocks_kernel, a, panels, table_of(p),
                                justification_of(p, justifies), p.totals());
  if (p.n >= limits.many_vertices) return climb_by_targets(p, limits, budget);
  launch_overlapping(boundary_kernel, blocks_for(p.capacity), threads_per_block, 0, panels,
                     table_of(p), p.totals());
  measure(p);
}

// A table that is far from full had many keys near each other.
void grow_table(panel_arrays& p, offset_t found, const panel_limits& limits,
                const memory_budget& budget) {
  p.table = {};
  const offset_t fit = limits.bytes_left(budget) / static_cast<offset_t>(sizeof(column_block));
  p.capacity *= fit >= 4 * p.capacity && found > p.capacity / 4 * 3 ? 4 : 2;
  fill_bytes(&p.totals()->overflow, 0, 1);
  fill_bytes(p.zeros(p.in_length), 0, 3 * offset_t{p.n});
}

void collect_column_blocks(const panel_arrays& p) {
  launch_overlapping(collect_kernel, blocks_for(p.capacity), threads_per_block, 0, table_of(p),
                     static_cast<const offset_t*>(p.column_block_begin.data()),
                     p.zeros(p.in_cursor), p.loose());
}

void sort_column_blocks(const panel_arrays& p, offset_t count) {
  launch_overlapping(sort_kernel, blocks_for(count + p.panels), threads_per_block, 0,
                     ancestor_lists{p.panels, p.panel_parent.data(), p.children(), p.above(),
                                    p.single_child_steps()},
                     count, p.loose(), static_cast<const index_t*>(p.begin.data()),
                     static_cast<const offset_t*>(p.column_block_begin.data()),
                     p.column_block_panel(), p.by_column_block.data(), p.column_block_first());
}

}  // namespace gsofa::panels

#endif
