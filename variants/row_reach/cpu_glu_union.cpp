// cpu_glu_union: symbolic LU by columns as GLU 3.0 computes it: unions of sorted lists.
//
// Peng & Tan 2020 (IEEE Design & Test 37): column j begins as the sorted rows of A(:,j). For each
// k < j in it, in ascending order, the list is replaced by its union with L(:,k), which is sorted
// too. A union copies the entire list, so an entry of column j is copied once for each entry of U
// that follows it: cost O(sum over U(k,j) != 0 of |L(:,k)| + |(L+U)(:,j)|). cpu_set_union finds
// the same sets without copies. Memory: column_unions.hpp, and two lists.

#include "variants/row_reach/column_unions.hpp"

namespace gsofa {
namespace {

class cpu_glu_union final : public row_reach::column_unions {
  void begin(index_t) override {}

  column unite(index_t j) override {
    const auto a = a_column(j);
    list_.assign(a.begin(), a.end());
    std::size_t head = 0;
    // The diagonal is an entry of A, so the walk ends at j. Rows up to the head stay where they
    // are: L(:,k) has none before k.
    for (; list_[head] < j; ++head) {
      const auto l = l_column(list_[head]);
      count_edges(list_.size() + l.size());
      merged_.resize(list_.size() + l.size());
      merged_.erase(std::ranges::set_union(list_, l, merged_.begin()).out, merged_.end());
      list_.swap(merged_);
    }
    return {std::span(list_).first(head), std::span(list_).subspan(head)};
  }

  std::vector<index_t> list_, merged_;
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "cpu_glu_union",
    .device = "cpu",
    .summary = "column by column as unions of sorted lists (GLU 3.0's method), sequential",
    .citation = "Peng & Tan 2020 (GLU 3.0); paper Figure 11",
    .create = [] { return std::make_unique<gsofa::cpu_glu_union>(); },
});
