#pragma once

/// The algorithm of the paper's Figure 6: the step along one edge v -> w in the search from one
/// source. The kernels decide which lane processes which edge, and where new frontiers are stored.
///
/// maxId(v) of source s: the least value, over the paths s -> v seen so far whose intermediates are
/// all < s, of the largest intermediate; 0 for direct neighbours. maxId(v) never increases. w is a
/// fill-in of s as soon as maxId(w) < w; w then proposes w itself to its neighbours, so a vertex
/// that is already a fill-in is not enqueued again. Every step is monotone: expanding a frontier
/// twice is harmless, and a stale value only causes an atomic that changes nothing, or a revisit.

#include "common/types.hpp"
#include "variants/device/simt.hpp"

namespace gsofa::maxid {

#if defined(GSOFA_GPU)

/// State of the search from one source. maxId m is held as base + m, m in [0, |V|); everything
/// >= base + |V| is infinity.
struct source_search {
  index_t source;
  std::uint32_t base;    ///< of the value window
  std::uint32_t* maxid;  ///< by vertex < source
  std::uint32_t* fill;   ///< by vertex: stamp() where (source, vertex) is in L+U

  GSOFA_DEVICE std::uint32_t stamp() const { return static_cast<std::uint32_t>(source) + 1; }
  GSOFA_DEVICE std::uint32_t value(index_t v) const { return base + static_cast<std::uint32_t>(v); }
};

/// Lowers a maxId; returns the value before.
template <bool Lossy>
GSOFA_DEVICE std::uint32_t lower(std::uint32_t* cell, std::uint32_t value) {
  if constexpr (Lossy) {
    // Planted fault: another thread's minimum may be overwritten between load and store.
    const std::uint32_t old = simt::load_shared_state(cell);
    simt::pause();
    if (value < old) *static_cast<volatile std::uint32_t*>(cell) = value;
    return old;
  } else {
    return simt::atomic_min(cell, value);
  }
}

/// The largest intermediate of the paths that go on through frontier v: max(v, maxId(v)), as of
/// now. Of the source itself, which is no intermediate: 0.
GSOFA_DEVICE std::uint32_t proposal_of(const source_search& s, index_t v) {
  if (v == s.source) return s.base;
  const std::uint32_t seen = simt::load_shared_state(s.maxid + v);
  return seen > s.value(v) ? seen : s.value(v);
}

/// Outcome of the test of edge v -> w.
struct edge_check {
  bool improves;        ///< the proposal is below maxId(w)
  std::uint32_t fill;   ///< of w, valid if `improves`; compared late, so that no lane waits for it
  std::uint32_t new_u;  ///< 1: (source, w) is a new entry of U

  /// w is a fill-in or entry of L already; for an edge that improves it.
  GSOFA_DEVICE bool filled(const source_search& s) const { return fill == s.stamp(); }
};

/// Line 9.5 (option): if w is a fill-in already, stop before reading maxId(w). Lines 10 to 12:
/// reads maxId(w) and fill(w), which relax() changes. A vertex w >= source is an entry of U, has no
/// maxId and is never a frontier; lines 4, 13 and 14 mark and report it here.
template <bool Line95>
GSOFA_DEVICE edge_check check_edge(const source_search& s, index_t w, std::uint32_t proposal) {
  const std::uint32_t stamp = s.stamp();
  if (w >= s.source) {
    if (simt::load_shared_state(s.fill + w) == stamp) return {false, 0, 0};
    return {false, 0, simt::atomic_exchange(s.fill + w, stamp) != stamp ? 1U : 0U};
  }
  if (Line95) {
    const std::uint32_t fill = simt::load_shared_state(s.fill + w);
    return {fill != stamp && proposal < simt::load_shared_state(s.maxid + w), fill, 0};
  }
  if (proposal >= simt::load_shared_state(s.maxid + w)) return {false, 0, 0};
  return {true, simt::load_shared_state(s.fill + w), 0};
}

/// Lines 10 to 15, for an edge that improves w: lowers maxId(w); if the path makes w a fill-in,
/// marks it and adds it to new_l. Returns whether w becomes a frontier: w was not filled before, no
/// other path was as good, and no other lane has just marked w.
template <bool Lossy>
GSOFA_DEVICE bool relax(const source_search& s, index_t w, std::uint32_t proposal,
                        const edge_check& edge, std::uint32_t& new_l) {
  if (lower<Lossy>(s.maxid + w, proposal) <= proposal || edge.filled(s)) return false;
  if (proposal > s.base && proposal >= s.value(w)) return true;
  const bool marked = simt::atomic_exchange(s.fill + w, s.stamp()) != s.stamp();
  new_l += marked ? 1 : 0;
  return marked;
}

#endif

}  // namespace gsofa::maxid
