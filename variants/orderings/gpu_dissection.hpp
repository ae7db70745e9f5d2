#pragma once

// Nested dissection on the device: the data that its steps share. The steps do what those of
// nested_dissection_steps.hpp do, for many graphs at once, and find the same separators: all
// choices are hashes of numbers local to a graph, all sums are of integers, and no result depends
// on the order of a row or of a list.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/ordering.hpp"
#include "common/pattern.hpp"
#include "variants/device/runtime.hpp"
#include "variants/device/timeline.hpp"
#include "variants/orderings/nested_dissection_steps.hpp"

namespace gsofa::gpu::dissection {

// ------------------------------------------------------- all of it: gpu_nested_dissection.cu

/// The options of the orders that dissect on the device.
std::vector<option_spec> search_options();

}  // namespace gsofa::gpu::dissection

#if defined(GSOFA_GPU)

namespace gsofa::gpu::dissection {

/// How an order with these options searches.
orderings::dissection_settings search_of(const order_settings& settings);

/// The order of a symmetric graph on the device (`rows` rows, sorted, without diagonal), which is
/// given back as soon as it is compressed, and its separator tree. Adds the phases of its steps to
/// `time`.
orderings::dissection dissect(index_t rows, device_array<offset_t> row_ptr,
                              device_array<index_t> col_idx,
                              const orderings::dissection_settings& search, memory_budget& budget,
                              timeline& time);

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
  explicit level(memory_budget& budget);
  [[nodiscard]] level_view view() const;
  /// Makes it one without graphs.
  void clear();
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

// ------------------------------------------------------------- graphs: gpu_dissection_graphs.cu

/// One graph to be made from graph `parent` of the finer level by one matching.
struct coarsening {
  index_t parent;
  std::uint64_t key;  ///< of the matching's hashes
  offset_t most;      ///< weight that a coarse vertex may have
};

/// Work arrays of compress(), coarsen() and split(), kept from call to call.
class graph_steps {
 public:
  explicit graph_steps(memory_budget& budget);
  ~graph_steps();

  /// Coarsens as orderings::coarsen(). `coarse` gets the graphs that have shrunk, in the order of
  /// `wanted`; returns the places in `wanted` that they come from.
  std::vector<index_t> coarsen(const level& fine, std::span<const coarsening> wanted,
                               level& coarse);

  /// How a graph ends: its separator splits it, or it becomes a leaf and is dropped.
  struct ending {
    bool splits;
    std::uint64_t winner;  ///< its sides are side[winner + local number]
    offset_t weight[2];    ///< of sides A and B
    index_t position;      ///< first position of its vertices in the order
    index_t count[3];      ///< out: vertices of A, B and S; those of a leaf count as of A
  };
  /// Makes the graphs of the sides (side A of a graph, then side B, empty ones too) of the graphs
  /// that split, and puts all vertices at their positions: those of a leaf, of A, of B and of S at
  /// ending.position in order of their numbers, each after those before. vertex[v]: the vertex of
  /// the whole graph that v of `whole` is; `next_vertex` gets that of `sides`.
  void split(const level& whole, const std::uint8_t* side, std::span<ending> endings,
             const index_t* vertex, index_t* order, level& sides,
             growing_array<index_t>& next_vertex);

 private:
  struct space;
  std::unique_ptr<space> space_;
};

// ------------------------------------------------- compression: gpu_dissection_compression.cu

/// Compresses a symmetric pattern on the device (n rows, sorted, without diagonal): `g` gets one
/// graph, with rows in ascending order.
orderings::vertex_classes compress(index_t n, const offset_t* row_ptr, const index_t* col_idx,
                                   memory_budget& budget, level& g);

// ------------------------------------------------------------- leaves: gpu_dissection_leaves.cu

/// Vertices at positions first .. last - 1 of an order.
struct leaf {
  index_t first, last;
};
/// Orders the vertices of each leaf of the one graph of g in place, as orderings::order_leaf().
void order_leaves(const level& g, std::span<const leaf> leaves, index_t* order,
                  memory_budget& budget);

// ------------------------------------------- levels of searches: gpu_dissection_levels.cu

/// The level that separates a graph: vertices of lower levels are its side A, all others its side
/// B.
struct found_level {
  std::uint64_t cost;
  offset_t weight[3];   ///< by side
  std::uint32_t level;  ///< of the separator
  std::uint32_t is;     ///< 0: the graph has no level with even sides
};
/// What searches have found.
struct found_levels {
  const std::uint32_t* level = nullptr;  ///< by vertex, all ones: not reached
  const found_level* found = nullptr;    ///< by graph that was searched
};

/// Work arrays of searches, kept from call to call.
class level_steps {
 public:
  explicit level_steps(memory_budget& budget);
  ~level_steps();

  /// Finds levels that separate as orderings::level_separator(), of `graphs` of `whole`, whose
  /// parts have `keys`. The device does it beside what it is given afterwards, until join();
  /// `whole` stays until then. Nothing waits for the device.
  void search(const level& whole, std::span<const index_t> graphs,
              std::span<const std::uint64_t> keys);
  void join();
  [[nodiscard]] found_levels found() const;

 private:
  struct space;
  std::unique_ptr<space> space_;
};

// ------------------------------------------------------------- separators:
// gpu_dissection_trials.cu

/// A trial on a level: a first separator, or the rank-th best (from 0) of trials from .. to - 1 of
/// the coarser level, ties in the order of those, brought to this level.
struct trial_spec {
  index_t graph;     ///< of this level
  index_t from = 0;  ///< in the trials of the coarser level
  index_t to = 0;    ///< from == to: a first separator
  index_t rank = 0;
  std::uint64_t key = 0;  ///< of a first separator; others keep theirs
  int stage = 0;  ///< 0: first separator, 8 passes; 1: of replicas, 2: of the shared levels, 6
  /// Instead of the rank-th best the level of a search, if it is better than the best is before its
  /// refinement; key is its own.
  bool is_level = false;
};

/// The trials of one level at a time.
class trial_steps {
 public:
  explicit trial_steps(memory_budget& budget);
  ~trial_steps();

  /// Replaces the trials by those of a finer level (trials of one graph stand together). `coarser`
  /// is the level of the trials before, nullptr at first.
  /// levels: of the specs that take one.
  void move(const level* coarser, const level& finer, std::span<const trial_spec> specs,
            const found_levels& levels = {});
  /// Refines all trials of the level, as orderings::refine() with the key and the passes of their
  /// stage. Nothing waits for the device.
  /// number: of the level, 0 being the parts themselves. First separators are refined on any.
  void refine(const level& at, const orderings::dissection_settings& settings, std::size_t number);
  /// The best of each group of trials from .. to - 1, ties in order, of a level of which all trials
  /// remain: its sides, by local number from side() + first on, and its weights by side.
  struct winner {
    std::uint64_t first;
    offset_t weight[3];
  };
  struct group {
    index_t from, to;
    index_t with_level = 0;  ///< 1: the last one is the level of a search, taken if much better
    index_t unused = 0;
  };
  std::vector<winner> best(const level& at, std::span<const group> groups);
  [[nodiscard]] const std::uint8_t* side() const;

 private:
  struct space;
  std::unique_ptr<space> space_;
};

}  // namespace gsofa::gpu::dissection

#endif
