#include <chrono>

#include "common/preprocess.hpp"

namespace gsofa {

prepared_pattern prepare(const pattern& raw, const prepare_options& options, provenance origin,
                         std::span<const double> values) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string& name = origin.source;
  if (raw.n_rows != raw.n_cols) {
    throw input_error(name + ": the matrix is " + std::to_string(raw.n_rows) + " x " +
                      std::to_string(raw.n_cols) + ", not square");
  }
  origin.nnz_input = raw.nnz();

  auto [m, o, postordered] = match_and_order(raw, options, values);
  if (m.structural_rank < raw.n_rows) {
    throw input_error(name + ": structurally singular: structural rank " +
                      std::to_string(m.structural_rank) + " of " + std::to_string(raw.n_rows) +
                      " (--match none adds the missing diagonal entries instead)");
  }
  origin.match = m.how;
  origin.match_note = m.note;
  origin.diagonal_added = m.diagonal_added;
  permuted_pattern& p = m.matched;
  origin.order = o.title();
  origin.order_library = o.library;
  origin.seed = options.seed;
  origin.postordered = postordered;
  origin.prepare_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {std::move(p.a), std::move(p.row_order), std::move(p.col_order), std::move(origin)};
}

}  // namespace gsofa
