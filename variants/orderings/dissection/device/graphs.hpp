#pragma once

// The graphs that the stages of nested dissection on a device work on: all graphs of a level at
// once.

#include <cstdint>
#include <utility>
#include <vector>

#include "common/types.hpp"
#include "variants/device/runtime.hpp"
#include "variants/device/simt.hpp"
#include "variants/device/tile_scan.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::orders::device {

using namespace gpu;  // NOLINT(google-build-using-namespace): the services of variants/device

/// Words that one instruction loads or stores.
struct alignas(16) four_words {
  std::uint32_t word[4];
};

/// An array in device memory that grows; its content does not survive growth.
template <class T>
class growing_array {
 public:
  growing_array(memory_budget& budget, const char* structure)
      : budget_(&budget), structure_(structure) {}
  /// Makes room for `size` elements, and for some more where it is not for the first time, most
  /// where they are few.
  T* resize(offset_t size) {
    if (size > array_.size()) {
      const offset_t more = array_.size() == 0 ? 0 : size < few ? 3 * size : size / 16;
      array_ = {};
      array_ = {*budget_, structure_, size + more};
    }
    size_ = size;
    return array_.data();
  }
  [[nodiscard]] T* data() const { return array_.data(); }
  [[nodiscard]] offset_t size() const { return size_; }
  void swap(growing_array& o) noexcept {
    std::swap(budget_, o.budget_);
    std::swap(structure_, o.structure_);
    std::swap(array_, o.array_);
    std::swap(size_, o.size_);
  }

 private:
  static constexpr offset_t few = 1 << 14;
  memory_budget* budget_;
  const char* structure_;
  device_array<T> array_;
  offset_t size_ = 0;
};

/// Graphs, one after the other, as kernels see them. Graph i has vertices first[i] .. first[i+1]-1;
/// the number of vertex v within its graph, v - first[owner[v]], is what hashes take. Row v is
/// adj[begin[v] .. end[v]), in any order, without v; rows may leave gaps.
struct level_view {
  index_t graphs;
  index_t n;                ///< vertices of all graphs
  const index_t* first;     ///< graphs + 1
  const index_t* owner;     ///< n: graph of a vertex
  const offset_t* begin;    ///< n
  const offset_t* end;      ///< n
  const index_t* adj;       ///< neighbours, numbered as the vertices of all graphs
  const index_t* edge;      ///< weight of each entry of adj; null: all are 1
  const index_t* weight;    ///< n: at least 1
  const offset_t* total;    ///< graphs: sum of the vertex weights
  const offset_t* entries;  ///< graphs: sum of the lengths of the rows
};

/// Graphs and, on all but the finest level, how they come from the graphs of the finer level: graph
/// i is a coarser form of graph parent[i] there, whose vertex of local number v is part of vertex
/// map[map_first[i] + v] of this level. Several graphs may have one parent.
struct level {
  explicit level(memory_budget& budget)
      : d_first(budget, "graphs"),
        d_owner(budget, "graphs"),
        d_adj(budget, "edges"),
        d_edge(budget, "edges"),
        d_weight(budget, "graphs"),
        d_parent(budget, "graphs"),
        d_map(budget, "maps"),
        d_begin(budget, "graphs"),
        d_end(budget, "graphs"),
        d_total(budget, "graphs"),
        d_entries(budget, "graphs"),
        d_map_first(budget, "maps") {}
  [[nodiscard]] level_view view() const {
    return {graphs(),        first.back(),   d_first.data(),  d_owner.data(),
            d_begin.data(),  d_end.data(),   d_adj.data(),    weighted ? d_edge.data() : nullptr,
            d_weight.data(), d_total.data(), d_entries.data()};
  }
  /// Removes all graphs.
  void clear() {
    first.assign(1, 0);
    total.clear();
    parent.clear();
    map_first.clear();
    room = 0;
  }
  [[nodiscard]] index_t graphs() const { return static_cast<index_t>(first.size()) - 1; }
  [[nodiscard]] index_t size_of(index_t graph) const {
    return first[at(graph) + 1] - first[at(graph)];
  }

  // Of the host, with copies on the device.
  std::vector<index_t> first{0};    ///< graphs + 1
  std::vector<offset_t> total;      ///< graphs
  std::vector<index_t> parent;      ///< graphs; empty on the finest level
  std::vector<offset_t> map_first;  ///< graphs + 1; empty on the finest level
  offset_t room = 0;                ///< places of adj that rows and gaps take
  bool weighted = false;            ///< false: all edges have weight 1, and `edge` is not used

  growing_array<index_t> d_first, d_owner, d_adj, d_edge, d_weight, d_parent, d_map;
  growing_array<offset_t> d_begin, d_end, d_total, d_entries, d_map_first;
};

}  // namespace gsofa::orders::device

#endif
