// A tournament of orders: exact counts choose. Counting an order takes a tenth of the time of
// finding it, so that several orders can be compared for little more than their own time.
//
// The rules are estimates from the populations of experiments/orderings:
//   * minimum degree and minimum fill win on circuits, power grids, long and thin graphs, and some
//     unsymmetric patterns; on large, wide meshes of symmetric pattern they need 1.2 to 10 times
//     the operations of dissection, and are not tried;
//   * dissection halves the operations of minimum degree where it wins;
//   * operations of dissections with different seeds differ by 2.5 % (standard deviation), so that
//     the best of k + 1 is better than the best of k by 2.5 % times the difference of the expected
//     minima of k and k + 1 normal numbers.

#include "variants/orderings/tournament.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "common/order_quality.hpp"
#include "common/symmetrize.hpp"
#include "variants/orderings/direction.hpp"
#include "variants/orderings/dissection/host/reduce.hpp"
#include "variants/orderings/dissection/host/stages.hpp"
#include "variants/orderings/ordered_tree.hpp"

namespace gsofa::orders {

namespace {

// Expected gains, as shares of the operations of the best order so far. They decide only which
// orders are computed; exact counts choose among them. Estimates from experiments/orderings/LOG.md,
// "Tournament" and "Direction".

// Standard deviation of the operations of dissections with different seeds.
constexpr double spread_of_seeds = 0.025;
// By how many standard deviations the expected minimum of k normal numbers is below that of k - 1,
// for k = 2 to 8.
constexpr std::array<double, 7> gain_of_seed = {0.564, 0.282, 0.183, 0.134, 0.104, 0.085, 0.071};
// Of a method that was not computed yet: dissection halves the operations where it wins.
constexpr double gain_of_method = 0.5;
// Of a dissection where minimum degree is usually better: few vertices on a level of a search.
constexpr double gain_on_thin_graph = 0.05;
constexpr double most_width_of_thin_graph = 16;
// Of rearranging the order of an unsymmetric pattern: a moderate gain in "Direction".
constexpr double gain_of_direction = 0.2;
// What rearranging takes, in operations of a factorization for each entry of L and U.
constexpr double work_of_direction = 2000;

// A mesh is dissected without a rival; with lower limits minimum fill won on a channel
// ("Tournament"), and a long band was taken for a mesh (experiments/cliffs/LOG.md).
constexpr index_t least_mesh = 50000;          // vertices
constexpr double least_left_of_mesh = 0.95;    // share that the reductions leave
constexpr double most_neighbours_in_mesh = 6;  // of a vertex, as multiple of the mean
constexpr double least_width_of_mesh = 128;    // vertices on a level of a search
constexpr double most_squares_of_mesh = 6;     // vertices, as multiple of the squared width

// Vertices of a block in the mean, at least, where blocks are ordered in place of vertices. The
// classes of the real matrices of experiments/orderings have at most 6.
constexpr std::size_t least_of_block = 8;

bool is_thin(const graph_shape& shape) { return shape.width < most_width_of_thin_graph; }

// Visits vertices level by level, from `first` on, until a level ends with enough of them.
struct search_result {
  index_t last = 0;    // vertex
  index_t levels = 0;  // complete
  offset_t vertices = 0;
};
search_result search(const pattern_view& g, index_t first, std::vector<std::uint8_t>& seen,
                     std::vector<index_t>& queue) {
  constexpr std::size_t enough = 200000;
  queue.assign(1, first);
  seen[at(first)] = 1;
  search_result r;
  for (std::size_t k = 0, end = 1; k < end; end = queue.size(), ++r.levels) {
    if (end > enough) break;
    for (; k < end; ++k) {
      for (const index_t u : g.row(queue[k])) {
        if (seen[at(u)] != 0) continue;
        seen[at(u)] = 1;
        queue.push_back(u);
      }
    }
  }
  r.last = queue.back();
  r.vertices = static_cast<offset_t>(queue.size());
  return r;
}

// Vertices by level of breadth-first searches, enough of them: of two searches in a component, the
// second from the end of the first, the one with more levels counts. If both end early, the second
// begins inside the component, where its levels grow in all directions.
struct extent {
  double width = 0;
  double vertices = 0;  ///< visited
};
extent extent_of(const pattern_view& g) {
  constexpr offset_t enough = 50000;
  std::vector<std::uint8_t> seen(at(g.n_rows), 0);
  std::vector<index_t> queue;
  offset_t levels = 0;
  offset_t vertices = 0;
  for (index_t v = 0; v < g.n_rows && vertices < enough; ++v) {
    if (seen[at(v)] != 0 || g.row(v).empty()) continue;
    const search_result first = search(g, v, seen, queue);
    for (const index_t u : queue) seen[at(u)] = 0;
    const search_result second = search(g, first.last, seen, queue);
    const search_result& longer = first.levels > second.levels ? first : second;
    levels += longer.levels;
    vertices += longer.vertices;
  }
  const auto visited = static_cast<double>(vertices);
  return {levels == 0 ? 0 : visited / static_cast<double>(levels), visited};
}

// A method that contends, with one of its sets of options.
struct entrant {
  const order_info* info;
  std::size_t number;  // of its terms
  int orders = 0;      // that it has computed

  [[nodiscard]] const contender& terms() const { return info->contends[number]; }
  [[nodiscard]] std::string spec() const {
    return info->name + (terms().options.empty() ? "" : ":" + terms().options);
  }
};

// The method on the host that finds the same order as a method on a device; null if there is none.
const order_info* host_twin(const order_info& info) {
  const auto& all = all_orders();
  const auto twin = std::ranges::find(all, info.same_as, &order_info::name);
  return info.same_as.empty() || twin == all.end() || twin->contends.size() != info.contends.size()
             ? nullptr
             : &*twin;
}

std::vector<entrant> entrants(bool host_only) {
  const auto is_out = [&](const order_info& info) {
    return info.contends.empty() || (host_only && info.device == "gpu") || info.unavailable();
  };
  std::vector<entrant> all;
  for (const order_info& info : all_orders()) {
    if (is_out(info)) continue;
    // Of two methods that find the same order the device's is faster.
    const bool replaced = std::ranges::any_of(all_orders(), [&](const order_info& other) {
      return other.same_as == info.name && !is_out(other);
    });
    if (replaced) continue;
    for (std::size_t k = 0; k < info.contends.size(); ++k) all.push_back({&info, k});
  }
  return all;
}

class contest {
 public:
  contest(const pattern_view& a, const order_settings& settings, const tournament_settings& rules)
      : settings_(settings), rules_(rules) {
    pattern sum;
    pattern_view s = graph_of(a, settings.threads, sum);
    neighbours_ = s.nnz();
    symmetric_ = neighbours_ + a.n_rows == a.nnz() + count_missing_diagonal(a);
    if (symmetric_) {
      team::run(settings.threads, [&](team& crew) { blocks_ = find_blocks(crew, s); });
    }
    if (blocks_) {
      const reduction r = reduce(blocks_->rows, 1, settings.threads);
      const pattern_view rest = r.graph(blocks_->rows);
      if (rest.nnz() == 0) {
        best_.note = "perfect elimination";
        best_.order = expand(r, {.order = identity_order(rest.n_rows), .tree = {}}).order;
      } else if (blocks_->classes.members.size() < least_of_block * blocks_->weight.size()) {
        blocks_.reset();
      }
    }
    if (blocks_) s = blocks_->rows;
    own_ = symmetric_ ? std::move(sum) : with_diagonal(a);
    a_ = symmetric_ ? s : own_.view();
    if (!best_.note.empty()) {
      keep_if_better(std::move(best_), -1);
      return;
    }
    entries_ = s.nnz() + s.n_rows;
    shape_ = shape_of(s, settings.threads);
    mesh_ = shape_.is_mesh && symmetric_;
  }

  ordering run() {
    std::vector<entrant> all = entrants(settings_.host_only || blocks_);
    std::ranges::stable_sort(all, {}, [&](const entrant& e) { return work_of(e); });
    for (entrant& e : all) {
      while (!fills_nothing() && e.orders < std::min(rules_.seeds, e.terms().seeds) && pays(e)) {
        compute(e);
      }
    }
    if (best_.order.empty() && a_.n_rows > 0) {
      throw unavailable_error("order tournament: no method is available" + failures_);
    }
    if (!symmetric_ && direction_pays()) {
      order_components();
      direct();
    }
    if (blocks_) {
      best_.order = blocks_->expand(best_.order);
      best_.note = best_.title() + " of blocks";
      best_.separators = {};
    }
    best_.library += failures_;
    best_.candidates = std::move(candidates_);
    return std::move(best_);
  }

 private:
  [[nodiscard]] bool direction_pays() const {
    const double gain = gain_of_direction * least_ * static_cast<double>(rules_.factorizations);
    return gain > work_of_direction * static_cast<double>(least_entries_);
  }

  // Tries the block triangular form, with each block in the order of the best method, on the host:
  // most blocks are small.
  void order_components() {
    if (2 * strong_components_of(a_).largest() > a_.n_rows) return;
    const order_info* const twin = host_twin(*best_entrant_.info);
    if (twin != nullptr) best_entrant_.info = twin;
    ordering o = order_by_components(a_, a_.n_rows, [&](const pattern_view& block) {
      return compute_order(block, best_entrant_.spec(), best_seed_, settings_.threads,
                           settings_.stop);
    });
    o.method = best_.method;
    o.note = best_.method + " in blocks";
    o.library = best_.library;
    keep_if_better(std::move(o), best_seed_);
  }

  // Rearranges the best order for the unsymmetric pattern.
  void direct() {
    ordering directed = best_direction(a_, best_, settings_.threads);
    if (directed.order == best_.order) return;
    directed.method = best_.method;
    directed.note = best_.title() + " with direction";
    keep_if_better(std::move(directed), best_seed_);
  }

  // Operations, and entries of L and U. The tree alone tells them for a symmetric pattern, whose
  // diagonal does not count.
  [[nodiscard]] std::pair<double, offset_t> cost_of(const std::vector<index_t>& order) const {
    if (symmetric_) {
      const ordered_tree t = tree_of_order(a_, order, weights());
      return {t.operations, 2 * t.entries};
    }
    const order_quality q = quality_of(a_, order, settings_.threads, settings_.stop);
    return {q.flops, q.nnz_l + q.nnz_u};
  }

  // Counts an order.
  void keep_if_better(ordering o, std::int64_t seed) {
    const auto [flops, entries] = cost_of(o.order);
    candidates_.push_back({o.title(), seed, flops});
    if (flops >= least_ && !best_.order.empty()) return;
    least_ = flops;
    least_entries_ = entries;
    best_ = std::move(o);
    best_seed_ = seed;
  }

  // Of the vertices of a_.
  [[nodiscard]] std::span<const index_t> weights() const {
    return blocks_ ? blocks_->weight : std::span<const index_t>();
  }

  // Whether nothing can win: no order of a symmetric pattern has fewer operations than one without
  // fill (PROOFS.md).
  [[nodiscard]] bool fills_nothing() const { return symmetric_ && least_entries_ == neighbours_; }

  // In operations of a factorization.
  [[nodiscard]] double work_of(const entrant& e) const {
    const bool reduces = e.info->dissects;
    return static_cast<double>(e.terms().work) *
           static_cast<double>(reduces ? shape_.entries + a_.n_rows : entries_);
  }

  [[nodiscard]] bool pays(const entrant& e) const {
    if (mesh_ && !e.info->dissects) return false;
    if (e.terms().of_cores && shape_.left > 0.5) return false;
    if (candidates_.empty()) return true;
    if (e.orders == 0 && work_of(e) <= spent_) return true;
    double gain = e.info->dissects && is_thin(shape_) ? gain_on_thin_graph : gain_of_method;
    if (e.orders > 0) {
      const std::size_t k = std::min(at(e.orders), gain_of_seed.size()) - 1;
      gain = spread_of_seeds * gain_of_seed[k];
    }
    return gain * least_ * static_cast<double>(rules_.factorizations) > work_of(e);
  }

  void compute(entrant& e) {
    const std::int64_t seed =
        e.orders == 0 ? settings_.seed : std::max<std::int64_t>(settings_.seed, 0) + e.orders;
    ++e.orders;
    const std::string spec = e.spec();
    try {
      ordering o = compute_order(a_, spec, seed, settings_.threads, settings_.stop,
                                 settings_.host_only, weights());
      spent_ += work_of(e);
      // Without a rival an order is not counted.
      if (mesh_ && rules_.seeds == 1) {
        candidates_.push_back({spec, seed, 0});
        best_ = std::move(o);
      } else {
        const double least = least_;
        const bool first = best_.order.empty();
        keep_if_better(std::move(o), seed);
        if (first || least_ < least) best_entrant_ = e;
      }
    } catch (const cancelled_error&) {
      throw;
    } catch (const error& failed) {
      failures_ += " (" + spec + ": " + failed.what() + ")";
      // A device that fails leaves the same order to the host.
      if (const order_info* const twin = host_twin(*e.info); twin != nullptr) {
        e.info = twin;
        --e.orders;
      } else {
        e.orders = rules_.seeds;
      }
    }
  }

  std::optional<vertex_blocks> blocks_;  // of a symmetric A that has large ones
  pattern own_;                          // what a_ may view
  pattern_view
      a_;  // what is ordered: the blocks, the graph of a symmetric A, or A with its diagonal
  const order_settings& settings_;
  const tournament_settings& rules_;
  graph_shape shape_;
  offset_t entries_ = 0;
  offset_t neighbours_ = 0;  // entries of the graph of A
  bool symmetric_ = true;
  bool mesh_ = false;
  ordering best_;
  double least_ = 0;            // operations of the best order
  offset_t least_entries_ = 0;  // of L and U in the best order
  entrant best_entrant_{};
  std::int64_t best_seed_ = -1;
  double spent_ = 0;  // work of the orders so far
  std::vector<order_candidate> candidates_;
  std::string failures_;
};

}  // namespace

graph_shape shape_of(const pattern_view& s, int threads) {
  const reduction r = reduce(s, 8, threads);
  const pattern_view g = r.graph(s);
  graph_shape shape;
  index_t vertices = 0;
  index_t most = 0;
  for (index_t v = 0; v < g.n_rows; ++v) {
    const auto degree = static_cast<index_t>(g.row(v).size());
    vertices += degree > 0 ? 1 : 0;
    most = std::max(most, degree);
  }
  shape.entries = static_cast<offset_t>(g.nnz());
  if (vertices == 0) return shape;
  shape.left = static_cast<double>(vertices) / static_cast<double>(s.n_rows);
  shape.most_neighbours = static_cast<double>(most) * vertices / static_cast<double>(shape.entries);
  const extent e = extent_of(g);
  shape.width = e.width;
  // A square of m x m points has 2 m levels of m / 2 points. Longer graphs may be strips, which
  // minimum degree orders better than dissection.
  const bool is_wide =
      e.width >= least_width_of_mesh && e.vertices <= most_squares_of_mesh * e.width * e.width;
  shape.is_mesh = s.n_rows >= least_mesh && shape.left > least_left_of_mesh &&
                  shape.most_neighbours < most_neighbours_in_mesh && is_wide;
  return shape;
}

ordering tournament(const pattern_view& a, const order_settings& settings,
                    const tournament_settings& rules) {
  return contest(a, settings, rules).run();
}

namespace {

ordering tournament_order(const pattern_view& a, const order_settings& settings) {
  return tournament(a, settings,
                    {.factorizations = settings.options.integer("factorizations"),
                     .seeds = static_cast<int>(settings.options.integer("seeds"))});
}

std::vector<option_spec> tournament_options() {
  const tournament_settings defaults;
  return {{.name = "factorizations",
           .default_value = defaults.factorizations,
           .help = "numeric factorizations that will use the order",
           .minimum = 1,
           .maximum = 1'000'000'000},
          {.name = "seeds",
           .default_value = std::int64_t{defaults.seeds},
           .help = "orders that one method may compute, each from another seed",
           .minimum = 1,
           .maximum = 64}};
}

}  // namespace

}  // namespace gsofa::orders

namespace gsofa {

GSOFA_REGISTER_ORDER({
    .name = "tournament",
    .device = "cpu",
    .summary = "computes several orders and keeps the one with the fewest operations",
    .citation = "none",
    .options = orders::tournament_options(),
    .multithreaded = true,
    .compute = orders::tournament_order,
});

}  // namespace gsofa
