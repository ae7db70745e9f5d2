// Leaves: minimum fill on bit sets. The halo of a leaf, its neighbours outside, is eliminated after
// it; its vertices count as neighbours, and as adjacent to each other.

#include <algorithm>
#include <bit>

#include "variants/orderings/nested_dissection_steps.hpp"

namespace gsofa::orderings {

namespace {

// The elimination graph of a leaf and its halo: row v is a bit set of v's neighbours.
class leaf_graph {
 public:
  leaf_graph(const graph& g, std::span<const index_t> leaf, std::span<const index_t> halo,
             scratch& s)
      : leaf_(static_cast<index_t>(leaf.size())),
        all_(leaf_ + static_cast<index_t>(halo.size())),
        words_((at(all_) + 63) / 64) {
    s.bits.assign(at(all_) * words_ + words_, 0);
    bits_ = s.bits.data();
    live_ = bits_ + at(all_) * words_;
    for (index_t i = 0; i < leaf_; ++i) {
      set(live_, i);
      for (const index_t u : g.row(leaf[at(i)])) {
        const index_t j = s.local[at(u)];
        if (j < 0) continue;
        set(row(i), j);
        if (j >= leaf_) set(row(j), i);
      }
    }
    for (index_t i = leaf_; i < all_; ++i) {
      for (index_t j = leaf_; j < all_; ++j) {
        if (i != j) set(row(i), j);
      }
    }
  }

  // Orders the leaf's vertices, numbered from 0: the least deficiency first, then the least degree,
  // then the smallest number.
  void order(std::vector<index_t>& result, std::vector<index_t>& rank) {
    rank.resize(at(leaf_));
    for (index_t v = 0; v < leaf_; ++v) rank[at(v)] = deficiency(v);
    std::vector<std::uint64_t> changed(words_);
    for (index_t left = leaf_; left > 0; --left) {
      index_t v = -1;
      for_each(live_, [&](index_t u) {
        if (v < 0 || rank[at(u)] < rank[at(v)] ||
            (rank[at(u)] == rank[at(v)] && degree(u) < degree(v))) {
          v = u;
        }
      });
      result.push_back(v);
      clear(live_, v);
      if (rank[at(v)] == 0 && dominates(v)) {
        for_each(live_, [&](index_t u) { result.push_back(u); });
        return;
      }
      eliminate(v, rank[at(v)] == 0, changed);
      for_each(changed.data(), [&](index_t u) { rank[at(u)] = deficiency(u); });
    }
  }

 private:
  [[nodiscard]] std::uint64_t* row(index_t v) { return bits_ + at(v) * words_; }
  static void set(std::uint64_t* bits, index_t v) { bits[v / 64] |= std::uint64_t{1} << (v % 64); }
  static void clear(std::uint64_t* bits, index_t v) {
    bits[v / 64] &= ~(std::uint64_t{1} << (v % 64));
  }

  template <class Body>
  void for_each(const std::uint64_t* bits, Body&& body) const {
    for (std::size_t k = 0; k < words_; ++k) {
      for (std::uint64_t word = bits[k]; word != 0; word &= word - 1) {
        body(static_cast<index_t>(64 * k) + std::countr_zero(word));
      }
    }
  }

  index_t degree(index_t v) {
    int d = 0;
    for (std::size_t k = 0; k < words_; ++k) d += std::popcount(row(v)[k]);
    return d;
  }

  // Twice the number of pairs of neighbours of v that are not adjacent.
  index_t deficiency(index_t v) {
    const std::uint64_t* own = row(v);
    index_t missing = 0;
    index_t neighbours = 0;
    for_each(own, [&](index_t u) {
      const std::uint64_t* other = row(u);
      for (std::size_t k = 0; k < words_; ++k) missing += std::popcount(own[k] & ~other[k]);
      ++neighbours;
    });
    return missing - neighbours;  // u is no neighbour of its own
  }

  // Whether all live vertices are neighbours of v.
  bool dominates(index_t v) {
    for (std::size_t k = 0; k < words_; ++k) {
      if ((live_[k] & ~row(v)[k]) != 0) return false;
    }
    return true;
  }

  // Joins the neighbours of v. changed: the live vertices whose deficiency may have changed, the
  // neighbours of v and, unless v was simplicial, theirs.
  void eliminate(index_t v, bool simplicial, std::vector<std::uint64_t>& changed) {
    const std::uint64_t* own = row(v);
    std::copy(own, own + words_, changed.begin());
    for_each(own, [&](index_t u) {
      std::uint64_t* other = row(u);
      if (!simplicial) {
        for (std::size_t k = 0; k < words_; ++k) {
          changed[k] |= other[k];
          other[k] |= own[k];
        }
        clear(other, u);
      }
      clear(other, v);
    });
    for (std::size_t k = 0; k < words_; ++k) changed[k] &= live_[k];
  }

  index_t leaf_;
  index_t all_;
  std::size_t words_;
  std::uint64_t* bits_ = nullptr;
  std::uint64_t* live_ = nullptr;  // vertices of the leaf that are not ordered yet
};

}  // namespace

void order_leaf(const graph& g, std::span<index_t> leaf, scratch& s) {
  if (leaf.size() < 2) return;
  if (leaf.size() > at(most_leaf_bits)) {
    std::ranges::sort(leaf, {}, [&](index_t v) { return std::pair(g.degree(v), v); });
    return;
  }
  s.queue.clear();
  for (std::size_t i = 0; i < leaf.size(); ++i) s.local[at(leaf[i])] = static_cast<index_t>(i);
  for (const index_t v : leaf) {
    for (const index_t u : g.row(v)) {
      if (s.local[at(u)] >= 0 || leaf.size() + s.queue.size() >= at(most_leaf_bits)) continue;
      s.local[at(u)] = static_cast<index_t>(leaf.size() + s.queue.size());
      s.queue.push_back(u);
    }
  }
  s.next.clear();
  leaf_graph(g, leaf, s.queue, s).order(s.next, s.gain);
  for (const index_t u : s.queue) s.local[at(u)] = -1;
  for (const index_t v : leaf) s.local[at(v)] = -1;
  s.queue.assign(leaf.begin(), leaf.end());
  for (std::size_t i = 0; i < leaf.size(); ++i) leaf[i] = s.queue[at(s.next[i])];
}

}  // namespace gsofa::orderings
