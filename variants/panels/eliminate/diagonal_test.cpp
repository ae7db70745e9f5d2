// labels: oracle
// program: emulated
// A diagonal block factored by a warp, and what its vertices reach, against the host forms.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "common/random.hpp"
#include "variants/panels/bits.hpp"
#include "variants/panels/eliminate/pairs.cuh"

using namespace gsofa;
namespace device = gsofa::panels::elimination;
namespace host = gsofa::panels;

namespace {

// The off-diagonal entries of a random w x w matrix, by rows.
host::bit_matrix random_block(index_t w, std::uint64_t odds, random_source& random) {
  host::bit_matrix m{};
  for (int i = 0; i < w; ++i) {
    for (int j = 0; j < w; ++j) {
      if (i != j && random.below(100) < odds) m[i] |= host::bit(j);
    }
  }
  return m;
}

// Lane l holds the masks of vertices l and l + 32 of the block.
device::lane_masks masks_of(const host::bit_matrix& rows, const host::bit_matrix& columns, int l) {
  const auto of = [&](int z) {
    return panels::mask_pair{columns[z] & host::below(z), rows[z] & host::below(z)};
  };
  return {of(l), of(l + 32)};
}

// What the vertices reach by edges k -> i > k of the rows of a matrix.
host::bit_matrix reach_by(const host::bit_matrix& edges, int w) {
  host::bit_matrix m{};
  for (int k = 0; k < w; ++k) m[k] = edges[k] & host::above(k);
  host::close_ascending(m, w);
  return m;
}

void check_reach(const device::reach& r, const host::bit_matrix& from, int w) {
  host::bit_matrix to = from;
  host::transpose(to);
  bool is_chain = true;
  for (int k = 0; k < w; ++k) {
    CHECK(r.from[k] == from[k]);
    CHECK(r.to[k] == to[k]);
    is_chain = is_chain && from[k] == (host::above(k) & host::first_bits(w));
  }
  CHECK(r.is_chain == is_chain);
}

}  // namespace

TEST_CASE("a warp factors a diagonal block as the host does, both sides together and each alone") {
  random_source random(5);
  int chains = 0;
  for (int k = 0; k < 300; ++k) {
    const auto w = static_cast<int>(1 + random.below(64));
    CAPTURE(w);
    const host::bit_matrix rows = random_block(w, k % 4 == 0 ? 90 : random.below(20), random);
    host::bit_matrix columns = rows;
    host::transpose(columns);
    device::diagonal_block together{}, alone{};
    simt::emulator::run_grid(1, 32, 0, false, [&] {
      const device::lane_masks m = masks_of(rows, columns, static_cast<int>(gpu::lane_index()));
      device::factor_block<2>(m, w, together, false);
      device::factor_block_side(m, w, alone, false);
      device::factor_block_side(m, w, alone, true);
    });
    host::bit_matrix factored = rows;
    host::eliminate(factored, w);
    host::bit_matrix transposed = factored;
    host::transpose(transposed);
    for (const device::diagonal_block* b : {&together, &alone}) {
      for (int z = 0; z < w; ++z) {
        CHECK((b->rows[z] & ~host::bit(z)) == (factored[z] & ~host::bit(z)));
        CHECK((b->cols[z] & ~host::bit(z)) == (transposed[z] & ~host::bit(z)));
      }
      check_reach(b->l, reach_by(transposed, w), w);
      check_reach(b->u, reach_by(factored, w), w);
    }
    chains += together.l.is_chain ? 1 : 0;
    // No target inside the panel has both L(s, k) != 0 and U(k, s) != 0.
    host::mask_t unpruned = 0, found = 0;
    for (int z = 0; z < w; ++z) {
      if ((factored[z] & transposed[z] & host::above(z)) == 0) unpruned |= host::bit(z);
    }
    simt::emulator::run_grid(1, 32, 0, false,
                             [&] { found = device::unpruned_inside(together, w); });
    CHECK(found == unpruned);
  }
  CHECK(chains > 20);
  CHECK(chains < 280);
}

TEST_CASE("closures and last members are those of the host, by steps and by tables") {
  random_source random(7);
  for (int k = 0; k < 400; ++k) {
    const auto w = static_cast<int>(1 + random.below(64));
    CAPTURE(w);
    const host::bit_matrix from =
        reach_by(random_block(w, random.below(k % 5 == 0 ? 90 : 9), random), w);
    host::bit_matrix to = from;
    host::transpose(to);
    device::reach r{};
    r.is_chain = true;
    for (int z = 0; z < w; ++z) {
      r.from[z] = from[z];
      r.to[z] = to[z];
      r.is_chain = r.is_chain && from[z] == (host::above(z) & host::first_bits(w));
    }
    const device::closure closure(r, host::first_bits(w));
    device::mask_table table{};
    device::fill_table(
        table, [&](index_t z) { return r.from[z] | host::bit(z); }, 0, 1);
    for (int trial = 0; trial < 20; ++trial) {
      host::mask_t m[3] = {};
      for (host::mask_t& one : m) {
        one = random() & host::first_bits(w);
        for (std::uint64_t sparser = random.below(4); sparser > 0; --sparser) one &= random();
      }
      host::mask_t closed[3], last[3];
      for (int q = 0; q < 3; ++q) {
        closed[q] = last[q] = m[q];
        const host::mask_t expected = host::closure(m[q], from);
        CHECK(closure(m[q]) == expected);
        CHECK(device::tabled_closure{closure, table}(m[q]) == expected);
      }
      const device::closure* const by[3] = {&closure, &closure, &closure};
      device::apply_closures(closed, by);
      const device::reach* const reaches[3] = {&r, &r, &r};
      device::keep_last(last, reaches);
      for (int q = 0; q < 3; ++q) {
        CHECK(closed[q] == host::closure(m[q], from));
        CHECK(last[q] == host::uncovered(m[q], m[q], from));
      }
    }
  }
}
