#include "variants/maxid/distributed/engine.hpp"

#include "variants/support/supernodes.hpp"

namespace gsofa::maxid {

void node_engine::find_supernodes(int, std::span<const found_chunk> chunks,
                                  const row_results& rows) {
  for (const found_chunk& chunk : chunks) {
    const auto at = static_cast<std::size_t>(chunk.begin);
    const auto size = static_cast<std::size_t>(chunk.end - chunk.begin);
    const auto starts =
        detail::t3_two_phase(rows.u_counts.subspan(at, size), 0, 1, [&](index_t s, index_t r) {
          return worker(chunk.worker_of(chunk.begin + s)).has_l(chunk.begin + s, chunk.begin + r);
        });
    for (const index_t s : starts) rows.starts[at + static_cast<std::size_t>(s)] = 1;
  }
}

}  // namespace gsofa::maxid
