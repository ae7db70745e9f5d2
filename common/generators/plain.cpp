// Plain patterns.

#include "common/generators/families.hpp"

#include <algorithm>

namespace gsofa::generator {

pattern make_random(const arguments& args) {
  const index_t n = args.integer("n");
  const index_t per_row = std::min(args.integer("degree"), n);
  args.check_entries(offset_t{n} * per_row);
  random_source random(args.seed());
  row_writer rows(n, offset_t{n} * per_row);
  std::vector<index_t> row;
  for (index_t i = 0; i < n; ++i) {
    // Floyd's sample of per_row - 1 of the n - 1 columns other than i.
    row.clear();
    const index_t wanted = per_row - 1;
    for (index_t k = n - 1 - wanted; k < n - 1; ++k) {
      const auto j =
          static_cast<index_t>(random.below(static_cast<std::uint64_t>(offset_t{k} + 1)));
      const auto place = std::ranges::lower_bound(row, j);
      if (place != row.end() && *place == j) {
        row.push_back(k);
      } else {
        row.insert(place, j);
      }
    }
    rows.add(i);
    for (const index_t j : row) rows.add(j < i ? j : j + 1);
    rows.end_row();
  }
  return rows.take();
}

pattern make_banded(const arguments& args, index_t lower, index_t upper) {
  const index_t n = args.integer("n");
  const offset_t width = std::min<offset_t>(n, offset_t{lower} + upper + 1);
  args.check_entries(n * width);
  row_writer rows(n, n * width);
  for (index_t i = 0; i < n; ++i) {
    const offset_t last = std::min<offset_t>(offset_t{n} - 1, offset_t{i} + upper);
    for (offset_t j = std::max<offset_t>(0, offset_t{i} - lower); j <= last; ++j) {
      rows.add(static_cast<index_t>(j));
    }
    rows.end_row();
  }
  return rows.take();
}

pattern make_arrow(const arguments& args) {
  const index_t n = args.integer("n");
  const index_t tip = args.word("tip") == "first" ? 0 : n - 1;
  row_writer rows(n, 3 * offset_t{n});
  for (index_t i = 0; i < n; ++i) {
    if (i == tip) {
      for (index_t j = 0; j < n; ++j) rows.add(j);
    } else {
      rows.add(std::min(i, tip));
      rows.add(std::max(i, tip));
    }
    rows.end_row();
  }
  return rows.take();
}

}  // namespace gsofa::generator
