#pragma once

#include <span>
#include <vector>

#include "common/pattern.hpp"
#include "common/variant.hpp"

namespace gsofa::library {

/// Square patterns one behind the other on the diagonal of one, which has no other entries.
class direct_sum {
 public:
  /// Of patterns of these sizes, which put() then gives entries. chunk_size: as
  /// analysis_options::chunk_size of each pattern, 0 where supernodes are not asked for. Where a
  /// pattern is longer than that, every pattern begins at a multiple of it, behind isolated
  /// vertices; else no chunk ends inside of a pattern. Throws overflow_error where the order of the
  /// sum does not fit.
  direct_sum(index_t chunk_size, std::span<const pattern_view> patterns);

  /// Copies pattern k; threads may copy different ones at the same time.
  void put(std::size_t k, const pattern_view& a);

  [[nodiscard]] const pattern& all() const { return all_; }
  /// The chunk size of the sum that gives the supernodes of the patterns.
  [[nodiscard]] index_t chunk_size() const { return chunk_; }
  /// What `of_all`, the result of the sum with want::counts and `wants`, says of pattern k.
  [[nodiscard]] result part(std::size_t k, const result& of_all, want_set wants) const;

 private:
  struct range {
    index_t begin, end;  // rows
    offset_t entries;    // before row `begin`
  };
  index_t chunk_ = 0;
  pattern all_;
  std::vector<range> ranges_;
};

}  // namespace gsofa::library
