// From masks to sorted rows of L and U on the device.

#include "variants/detail/gpu/simt.hpp"

#if defined(GSOFA_GPU)

#include "variants/detail/gpu/bitmap_panels.hpp"
#include "variants/detail/gpu/tile_scan.hpp"

namespace gsofa::gpu {

namespace {

/// A piece is what one position p, of vertex f, says of row f of L: the columns of its panel that
/// are in `lower`, ascending. Positions ascend with panels, so that the pieces of a row in order of
/// their positions are the row. Encoding: p << 7 | number of columns (1..64).
using piece_t = std::uint64_t;
constexpr unsigned piece_shift = 7;

GSOFA_DEVICE unsigned columns_of(piece_t piece) {
  return static_cast<unsigned>(piece) & ((1U << piece_shift) - 1U);
}

/// Number of pieces of each row.
GSOFA_KERNEL void count_pieces_kernel(panel_view p, offset_t positions, std::uint32_t* pieces) {
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < positions; k += offset_t{simt::grid_size()} * simt::block_size()) {
    if (p.masks[k].lower != 0) simt::atomic_add(pieces + p.columns[k], std::uint32_t{1});
  }
}

/// Where the rows of L and of U and the pieces of each row begin.
struct row_scan {
  struct value {
    offset_t l, u, pieces;
  };
  index_t n;
  const std::uint32_t* l_counts;
  const std::uint32_t* u_counts;
  const std::uint32_t* piece_counts;
  offset_t* l_ptr;
  offset_t* u_ptr;
  offset_t* piece_begin;

  GSOFA_DEVICE offset_t count() const { return n; }
  GSOFA_DEVICE static value identity() { return {0, 0, 0}; }
  GSOFA_DEVICE value combine(const value& a, const value& b) const {
    return {a.l + b.l, a.u + b.u, a.pieces + b.pieces};
  }
  GSOFA_DEVICE value item(index_t i) const { return {l_counts[i], u_counts[i], piece_counts[i]}; }
  GSOFA_DEVICE void emit(index_t i, const value& upto) const {
    if (i == 0) l_ptr[0] = u_ptr[0] = piece_begin[0] = 0;
    l_ptr[i + 1] = upto.l;
    u_ptr[i + 1] = upto.u;
    piece_begin[i + 1] = upto.pieces;
  }
};

/// Pieces of each row side by side, in no order; `left` has their number and ends at zero.
GSOFA_KERNEL void collect_pieces_kernel(panel_view p, offset_t positions,
                                        const offset_t* piece_begin, std::uint32_t* left,
                                        piece_t* pieces) {
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < positions; k += offset_t{simt::grid_size()} * simt::block_size()) {
    const mask_t lower = p.masks[k].lower;
    if (lower == 0) continue;
    const index_t f = p.columns[k];
    const offset_t to = piece_begin[f] + (simt::atomic_add(left + f, 0xffffffffU) - 1);
    pieces[to] = (static_cast<piece_t>(k) << piece_shift) | simt::population(lower);
  }
}

/// A warp per row of L at a time: of each piece, the number of columns in smaller ones, then the
/// columns.
GSOFA_KERNEL void l_rows_kernel(panel_view p, const offset_t* piece_begin, const piece_t* pieces,
                                const offset_t* l_ptr, index_t* l_idx) {
  const unsigned lane = lane_index();
  const offset_t warps = offset_t{simt::grid_size()} * (simt::block_size() / 32);
  for (offset_t row =
           offset_t{simt::block_index()} * (simt::block_size() / 32) + simt::thread_index() / 32;
       row < p.n; row += warps) {
    const offset_t begin = piece_begin[row];
    const offset_t end = piece_begin[row + 1];
    for (offset_t k = begin; k < end; ++k) {
      const piece_t piece = pieces[k];
      std::uint32_t before = 0;
      for (offset_t q = begin + lane; q < end; q += 32) {
        if (pieces[q] < piece) before += columns_of(pieces[q]);
      }
      for (unsigned step = 16; step > 0; step /= 2) before += simt::shuffle_xor(before, step);
      const auto at = static_cast<offset_t>(piece >> piece_shift);
      const mask_t lower = p.masks[at].lower;
      // The panel of the position: the last that begins at or before it.
      index_t j = 0;
      for (index_t high = p.panels - 1; j < high;) {
        const index_t middle = high - (high - j) / 2;
        if (p.position_begin[middle] <= at) {
          j = middle;
        } else {
          high = middle - 1;
        }
      }
      index_t* const out = l_idx + l_ptr[row] + before;
      for (unsigned c = lane; c < 64; c += 32) {
        if ((lower >> c & 1U) == 0) continue;
        out[simt::population(lower & below(static_cast<index_t>(c)))] =
            p.begin[j] + static_cast<index_t>(c);
      }
    }
  }
}

/// A block per panel, a warp per row of U: the diagonal, then the positions in order, 32 a time.
GSOFA_KERNEL void u_rows_kernel(panel_view p, const offset_t* u_ptr, index_t* u_idx) {
  const auto warp = static_cast<index_t>(simt::thread_index() / 32);
  const auto warps = static_cast<index_t>(simt::block_size() / 32);
  const auto lane = static_cast<index_t>(lane_index());
  for (unsigned panel = simt::block_index(); panel < static_cast<unsigned>(p.panels);
       panel += simt::grid_size()) {
    const auto j = static_cast<index_t>(panel);
    const offset_t first = p.position_begin[j];
    const index_t length = p.length(j);
    const index_t w = p.width(j);
    for (index_t c = warp; c < w; c += warps) {
      index_t* out = u_idx + u_ptr[p.begin[j] + c];
      if (lane == 0) *out = p.begin[j] + c;
      ++out;
      for (index_t tile = c + 1; tile < length; tile += 32) {
        const index_t z = tile + lane;
        const bool hit = z < length && (p.masks[first + z].upper >> c & 1U) != 0;
        const unsigned hits = simt::ballot(hit);
        if (hit) out[simt::population(hits & lower_lanes())] = p.columns[first + z];
        out += simt::population(hits);
      }
    }
  }
}

}  // namespace

void panel_expansion::release() {
  l_ptr_ = {};
  u_ptr_ = {};
  l_idx_ = {};
  u_idx_ = {};
}

bool panel_expansion::run(const panel_view& panels, const std::uint32_t* l_counts,
                          const std::uint32_t* u_counts, offset_t positions,
                          memory_budget& budget) {
  release();
  const index_t n = panels.n;
  const auto left = [&] { return budget.limit() - budget.used(); };
  const offset_t vertex_bytes = (offset_t{n} + 1) * (3 * 8 + 4);
  if (left() < vertex_bytes + (offset_t{1} << 16)) return false;
  l_ptr_ = {budget, "rows", offset_t{n} + 1};
  u_ptr_ = {budget, "rows", offset_t{n} + 1};
  const device_array<offset_t> piece_begin(budget, "rows", offset_t{n} + 1);
  const device_array<std::uint32_t> piece_counts(budget, "rows", n);
  const device_array<row_scan::value> partial(budget, "rows", threads_per_block);
  fill_bytes(piece_counts.data(), 0, n);
  launch(count_pieces_kernel, blocks_for(positions), threads_per_block, 0, panels, positions,
         piece_counts.data());
  scan(row_scan{n, l_counts, u_counts, piece_counts.data(), l_ptr_.data(), u_ptr_.data(),
                piece_begin.data()},
       n, partial.data());
  offset_t l = 0, u = 0, pieces = 0;
  copy_to_host(&l, static_cast<const offset_t*>(l_ptr_.data() + n), 1);
  copy_to_host(&u, static_cast<const offset_t*>(u_ptr_.data() + n), 1);
  copy_to_host(&pieces, static_cast<const offset_t*>(piece_begin.data() + n), 1);
  if (left() / 8 < pieces || (left() - 8 * pieces) / 4 < l + u) {
    release();
    return false;
  }
  l_idx_ = {budget, "rows", l};
  u_idx_ = {budget, "rows", u};
  const device_array<piece_t> list(budget, "pieces", pieces);
  launch(collect_pieces_kernel, blocks_for(positions), threads_per_block, 0, panels, positions,
         static_cast<const offset_t*>(piece_begin.data()), piece_counts.data(), list.data());
  launch(l_rows_kernel, blocks_for(offset_t{n} * 32), threads_per_block, 0, panels,
         static_cast<const offset_t*>(piece_begin.data()), static_cast<const piece_t*>(list.data()),
         static_cast<const offset_t*>(l_ptr_.data()), l_idx_.data());
  launch(u_rows_kernel, std::min(panels.panels, 1 << 16), threads_per_block, 0, panels,
         static_cast<const offset_t*>(u_ptr_.data()), u_idx_.data());
  return true;
}

pattern panel_expansion::to_host(index_t n, const device_array<offset_t>& ptr,
                                 const device_array<index_t>& idx) {
  pattern out;
  out.n_rows = out.n_cols = n;
  out.row_ptr.resize(static_cast<std::size_t>(n) + 1);
  out.col_idx.resize(static_cast<std::size_t>(idx.size()));
  copy_to_host(out.row_ptr.data(), static_cast<const offset_t*>(ptr.data()), ptr.size());
  copy_to_host(out.col_idx.data(), static_cast<const index_t*>(idx.data()), idx.size());
  return out;
}

}  // namespace gsofa::gpu

#endif
