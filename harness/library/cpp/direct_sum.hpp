#pragma once

#include <span>
#include <vector>

#include "common/pattern.hpp"
#include "common/variant.hpp"

namespace gsofa::library {

/// Square patterns one behind the other on the diagonal of one, which has no other entries.
class direct_sum {
 public:
  /// The sum of patterns of these sizes, whose entries put() fills in. Throws overflow_error if the
  /// order of the sum does not fit.
  explicit direct_sum(std::span<const pattern_view> patterns);

  /// Copies pattern k; threads may copy different ones at the same time.
  void put(std::size_t k, const pattern_view& a);

  [[nodiscard]] const pattern& all() const { return all_; }
  /// What `of_all`, the result of the sum with want::counts and `wants`, says of pattern k.
  [[nodiscard]] result part(std::size_t k, const result& of_all, want_set wants) const;

 private:
  struct range {
    index_t begin, end;  // rows
    offset_t entries;    // before row `begin`
  };
  pattern all_;
  std::vector<range> ranges_;
};

}  // namespace gsofa::library
