// cpu_set_union: symbolic LU column by column as unions of columns of L, by marks.
//
// Gilbert & Peierls 1988 without pruning: the sets that GLU 3.0 unites (cpu_glu_union has its
// method), without its copies. Arrays: mark[i] = last column that i entered; rows of a column in
// order of discovery; the U part is also the queue of columns still to be united. Every row of a
// united column is read once. Memory and cost: column_unions.hpp, and 4|V| bytes.

#include "variants/row_reach/column_unions.hpp"

namespace gsofa {
namespace {

class cpu_set_union final : public row_reach::column_unions {
  void begin(index_t n) override { mark_.assign(static_cast<std::size_t>(n), -1); }

  column unite(index_t j) override {
    u_part_.clear();
    l_part_.clear();
    enter(a_column(j), j);
    for (std::size_t head = 0; head < u_part_.size(); ++head) enter(l_column(u_part_[head]), j);
    return {u_part_, l_part_};
  }

  void enter(std::span<const index_t> rows, index_t j) {
    count_edges(rows.size());
    for (const index_t i : rows) {
      if (mark_[static_cast<std::size_t>(i)] == j) continue;
      mark_[static_cast<std::size_t>(i)] = j;
      (i < j ? u_part_ : l_part_).push_back(i);
    }
  }

  std::vector<index_t> mark_, u_part_, l_part_;
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "cpu_set_union",
    .device = "cpu",
    .summary = "column by column as unions of columns of L, by marks, sequential",
    .citation = "Gilbert & Peierls 1988, without pruning",
    .create = [] { return std::make_unique<gsofa::cpu_set_union>(); },
});
