#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "gsofa/gsofa.hpp"

namespace gsofa::metis_abi {

/// The arguments that METIS_NodeND and METIS_NodeNDP share; idx_t is Index.
template <class Index>
struct call_arguments {
  Index n;
  const Index* xadj;
  const Index* adjncy;
  const Index* vwgt;     ///< null: all weights are 1
  const Index* options;  ///< null: defaults
};

/// Places of options in METIS's array, which differ between its versions; -1 is the default.
inline constexpr std::size_t option_count = 40;
inline constexpr std::size_t numbering_5_1 = 17, numbering_5_2 = 18;
inline constexpr std::size_t seed_5_1 = 8, seed_5_2 = 9;

/// 0 or 1: the number of the first vertex. An option that is 1 at one of the two places counts.
template <class Index>
Index numbering(const Index* options) {
  if (options == nullptr) return 0;
  return options[numbering_5_1] == 1 || options[numbering_5_2] == 1 ? 1 : 0;
}

/// The seed; -1: the default. METIS 5.2 has it where METIS 5.1 has a switch of values 0 and 1.
template <class Index>
std::int64_t seed(const Index* options) {
  if (options == nullptr) return -1;
  if (options[seed_5_1] >= 0) return options[seed_5_1];
  return options[seed_5_2] > 1 ? options[seed_5_2] : -1;
}

/// Whether the arguments are a graph: pointers that ascend from the numbering's first number,
/// neighbours in range, weights of 0 or more. Without vertices the arrays are not read. Arrays of
/// the other width of idx_t fail at the first number of xadj that is not zero: read as 32 bits, a
/// zero follows it, the upper half of 64 bits; read as 64 bits, the difference to the number before
/// it is 2^32 or more.
template <class Index>
bool is_graph(const call_arguments<Index>& a) {
  if (a.n == 0) return true;
  if (a.n < 0 || a.n >= std::numeric_limits<std::int32_t>::max() || a.xadj == nullptr) return false;
  const Index base = numbering(a.options);
  if (a.xadj[0] != base) return false;
  // Repeated neighbours are admitted.
  constexpr std::int64_t most_neighbours = std::numeric_limits<std::uint32_t>::max();
  for (Index i = 0; i < a.n; ++i) {
    if (a.xadj[i + 1] < a.xadj[i] || a.xadj[i + 1] - a.xadj[i] > most_neighbours) return false;
  }
  const auto entries = static_cast<std::size_t>(a.xadj[a.n] - base);
  if (entries > 0 && a.adjncy == nullptr) return false;
  const auto in_range = [n = static_cast<std::make_unsigned_t<Index>>(a.n), base](Index j) {
    return std::make_unsigned_t<Index>(j) - std::make_unsigned_t<Index>(base) < n;
  };
  if (!std::ranges::all_of(std::span(a.adjncy, entries), in_range)) return false;
  return a.vwgt == nullptr || std::all_of(a.vwgt, a.vwgt + a.n, [](Index w) { return w >= 0; });
}

/// Entries of adjncy; is_graph() is true.
template <class Index>
std::int64_t entries_of(const call_arguments<Index>& a) {
  return a.n == 0 ? 0 : a.xadj[a.n] - a.xadj[0];
}

/// The graph numbered from 0: the caller's arrays, or copies of them.
template <class Index>
class call_graph {
 public:
  /// is_graph() is true. Throws std::bad_alloc.
  explicit call_graph(const call_arguments<Index>& a) : n_(a.n) {
    static constexpr Index no_entries = 0;
    xadj_ = {a.n == 0 ? &no_entries : a.xadj, static_cast<std::size_t>(a.n) + 1};
    adjncy_ = {a.adjncy, static_cast<std::size_t>(xadj_.back() - xadj_.front())};
    if (xadj_.front() == 0) return;
    copy_ = {{xadj_.begin(), xadj_.end()}, {adjncy_.begin(), adjncy_.end()}};
    for (auto& part : copy_) {
      for (Index& v : part) --v;
    }
    xadj_ = copy_[0];
    adjncy_ = copy_[1];
  }
  call_graph(const call_graph&) = delete;
  call_graph& operator=(const call_graph&) = delete;

  [[nodiscard]] basic_csr_view<Index, Index> view() const { return {n_, xadj_, adjncy_}; }

 private:
  Index n_;
  std::span<const Index> xadj_, adjncy_;
  std::vector<std::vector<Index>> copy_;
};

/// Whether the vertices have different weights.
template <class Index>
bool has_weights(const call_arguments<Index>& a) {
  return a.vwgt != nullptr &&
         std::any_of(a.vwgt, a.vwgt + a.n, [&](Index w) { return w != a.vwgt[0]; });
}

/// The vertex weights as order() takes them: at least 1, with a sum below 2^31, scaled if need be.
/// Empty if all are equal. Throws std::bad_alloc.
template <class Index>
std::vector<std::int32_t> order_weights(const call_arguments<Index>& a) {
  if (!has_weights(a)) return {};
  const std::span given(a.vwgt, static_cast<std::size_t>(a.n));
  const double sum = std::accumulate(given.begin(), given.end(), 0.0);
  const double most = std::numeric_limits<std::int32_t>::max() - static_cast<double>(a.n);
  const double scale = std::min(1.0, most / sum);
  std::vector<std::int32_t> out(given.size());
  std::ranges::transform(given, out.begin(), [&](Index w) {
    return std::max(1, static_cast<std::int32_t>(static_cast<double>(w) * scale));
  });
  return out;
}

}  // namespace gsofa::metis_abi
