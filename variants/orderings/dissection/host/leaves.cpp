// Leaves of the separator tree: minimum fill on bit sets. The halo of a leaf, its neighbours
// outside, is eliminated after it and counts as a clique, so that rows of the leaf's vertices are
// enough (PROOFS.md). Large leaves, which are parts without small separators, have approximate
// minimum fill.

#include <algorithm>
#include <bit>
#include <numeric>

#include "variants/orderings/dissection/host/stages.hpp"
#include "variants/orderings/minimum_degree.hpp"
#include "variants/support/processors.hpp"

namespace gsofa::orders {

namespace {

// The elimination graph of a leaf and its halo. Row v, of a vertex v of the leaf, has two bit sets:
// first the neighbours of v in the leaf, then its neighbours in the halo, each in words of its own.
class leaf_graph {
 public:
  leaf_graph(const graph& g, std::span<const index_t> leaf, std::span<const index_t> halo,
             scratch& s)
      : leaf_(static_cast<index_t>(leaf.size())),
        own_words_((leaf.size() + 63) / 64),
        words_(own_words_ + (halo.size() + 63) / 64) {
    s.bits.assign(leaf.size() * words_ + 2 * own_words_, 0);
    bits_ = s.bits.data();
    live_ = bits_ + leaf.size() * words_;
    changed_ = live_ + own_words_;
    for (index_t i = 0; i < leaf_; ++i) {
      set(live_, i);
      for (const index_t u : g.row(leaf[at(i)])) {
        const index_t j = s.local[at(u)];
        if (j < 0) continue;
        if (j < leaf_) {
          set(row(i), j);
        } else {
          set(row(i) + own_words_, j - leaf_);
        }
      }
    }
  }

  // Orders the leaf's vertices, numbered from 0: the least deficiency first, then the least degree,
  // then the smallest number.
  void order(scratch& s) {
    s.next.resize(at(leaf_));
    s.gain.resize(at(leaf_));
    order(s.next.data(), s.gain.data());
  }

 private:
  GSOFA_FOR_PROCESSORS
  void order(index_t* result, index_t* rank) noexcept {
    for (index_t v = 0; v < leaf_; ++v) rank[v] = deficiency(v);
    for (index_t left = leaf_; left > 0; --left) {
      index_t v = -1;
      for_each(live_, [&](index_t u) {
        if (v < 0 || rank[u] < rank[v] || (rank[u] == rank[v] && degree(u) < degree(v))) v = u;
      });
      *result++ = v;
      clear(live_, v);
      if (rank[v] == 0 && dominates(v)) {
        for_each(live_, [&](index_t u) { *result++ = u; });
        return;
      }
      eliminate(v, rank[v] == 0);
      for_each(changed_, [&](index_t u) { rank[u] = deficiency(u); });
    }
  }

  [[nodiscard]] std::uint64_t* row(index_t v) { return bits_ + at(v) * words_; }
  static void set(std::uint64_t* bits, index_t v) { bits[v / 64] |= std::uint64_t{1} << (v % 64); }
  static void clear(std::uint64_t* bits, index_t v) {
    bits[v / 64] &= ~(std::uint64_t{1} << (v % 64));
  }

  // For the vertices of the leaf in a bit set.
  template <class Body>
  void for_each(const std::uint64_t* bits, Body&& body) const {
    for (std::size_t k = 0; k < own_words_; ++k) {
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
    index_t in_leaf = 0;  // each pair twice, and each neighbour with itself
    index_t of_both = 0;
    index_t neighbours = 0;
    for_each(own, [&](index_t u) {
      const std::uint64_t* other = row(u);
      std::size_t k = 0;
      for (; k < own_words_; ++k) in_leaf += std::popcount(own[k] & ~other[k]);
      for (; k < words_; ++k) of_both += std::popcount(own[k] & ~other[k]);
      ++neighbours;
    });
    return in_leaf - neighbours + 2 * of_both;
  }

  // Whether all live vertices are neighbours of v.
  bool dominates(index_t v) {
    for (std::size_t k = 0; k < own_words_; ++k) {
      if ((live_[k] & ~row(v)[k]) != 0) return false;
    }
    return true;
  }

  // Joins the neighbours of v. changed_: the live vertices whose deficiency may have changed, the
  // neighbours of v and, unless v was simplicial, theirs: of each pair that becomes adjacent one is
  // in the leaf, and who sees both is its neighbour.
  void eliminate(index_t v, bool simplicial) {
    const std::uint64_t* own = row(v);
    std::copy(own, own + own_words_, changed_);
    for_each(own, [&](index_t u) {
      std::uint64_t* other = row(u);
      if (!simplicial) {
        for (std::size_t k = 0; k < own_words_; ++k) changed_[k] |= other[k];
        for (std::size_t k = 0; k < words_; ++k) other[k] |= own[k];
        clear(other, u);
      }
      clear(other, v);
    });
    for (std::size_t k = 0; k < own_words_; ++k) changed_[k] &= live_[k];
  }

  index_t leaf_;
  std::size_t own_words_;  // of a row, those of the leaf
  std::size_t words_;
  std::uint64_t* bits_ = nullptr;
  std::uint64_t* live_ = nullptr;  // vertices of the leaf that are not ordered yet
  std::uint64_t* changed_ = nullptr;
};

// A large leaf. Vertices and rows are sorted, since the order depends on theirs.
void order_large_leaf(const graph& g, std::span<index_t> leaf, scratch& s,
                      const std::atomic<bool>* stop) {
  std::ranges::sort(leaf);
  std::vector<index_t>& vertices = s.queue;  // of the leaf, then of its halo
  vertices.assign(leaf.begin(), leaf.end());
  const auto number = [&](std::size_t from) {
    for (std::size_t i = from; i < vertices.size(); ++i) {
      s.local[at(vertices[i])] = static_cast<index_t>(i);
    }
  };
  number(0);
  for (const index_t v : leaf) {
    for (const index_t u : g.row(v)) {
      if (s.local[at(u)] >= 0) continue;
      s.local[at(u)] = 0;
      vertices.push_back(u);
    }
  }
  std::sort(vertices.begin() + static_cast<offset_t>(leaf.size()), vertices.end());
  number(leaf.size());
  // The rows of the halo are those of the leaf, mirrored.
  std::vector<offset_t> begin(vertices.size() + 1, 0);
  std::vector<index_t> weight;
  std::vector<std::uint8_t> halo(vertices.size(), 0);
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    weight.push_back(g.weight[at(vertices[i])]);
    halo[i] = i < leaf.size() ? 0 : 1;
    if (halo[i] != 0) continue;
    begin[i + 1] = g.degree(vertices[i]);
    for (const index_t u : g.row(vertices[i])) {
      if (at(s.local[at(u)]) >= leaf.size()) ++begin[at(s.local[at(u)]) + 1];
    }
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<index_t> adj(at(begin.back()));
  std::vector<offset_t> next(begin.begin(), begin.end() - 1);
  for (std::size_t i = 0; i < leaf.size(); ++i) {
    for (const index_t u : g.row(vertices[i])) {
      const auto j = at(s.local[at(u)]);
      adj[at(next[i]++)] = static_cast<index_t>(j);
      if (halo[j] != 0) adj[at(next[j]++)] = static_cast<index_t>(i);
    }
    std::sort(adj.begin() + begin[i], adj.begin() + begin[i + 1]);
  }
  const std::vector<index_t> order =
      minimum_degree({.begin = begin, .adj = adj, .weight = weight, .halo = halo}, {.stop = stop});
  for (std::size_t i = 0; i < leaf.size(); ++i) leaf[i] = vertices[at(order[i])];
  for (const index_t v : vertices) s.local[at(v)] = -1;
}

}  // namespace

void order_leaf(const graph& g, std::span<index_t> leaf, scratch& s,
                const std::atomic<bool>* stop) {
  if (leaf.size() < 2) return;
  if (leaf.size() > at(largest_first_cut)) return order_large_leaf(g, leaf, s, stop);
  s.queue.clear();
  for (std::size_t i = 0; i < leaf.size(); ++i) s.local[at(leaf[i])] = static_cast<index_t>(i);
  for (const index_t v : leaf) {
    for (const index_t u : g.row(v)) {
      if (s.local[at(u)] >= 0 || leaf.size() + s.queue.size() >= at(most_leaf_bits)) continue;
      s.local[at(u)] = static_cast<index_t>(leaf.size() + s.queue.size());
      s.queue.push_back(u);
    }
  }
  leaf_graph(g, leaf, s.queue, s).order(s);
  for (const index_t u : s.queue) s.local[at(u)] = -1;
  for (const index_t v : leaf) s.local[at(v)] = -1;
  s.queue.assign(leaf.begin(), leaf.end());
  for (std::size_t i = 0; i < leaf.size(); ++i) leaf[i] = s.queue[at(s.next[i])];
}

}  // namespace gsofa::orders
