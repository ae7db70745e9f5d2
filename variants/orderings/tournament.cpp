// Computes several orders and keeps the best: choose.hpp decides which of them are computed.
//
// Operations of an unsymmetric A are counted exactly only where `tournament` asks for them, and for
// the last step, which rearranges the order for the directions of the entries. Elsewhere those of
// A + A^T, which the tree alone tells, decide.

#include "variants/orderings/tournament.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <future>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "common/elimination_forest.hpp"
#include "common/order_quality.hpp"
#include "common/symmetrize.hpp"
#include "common/thread_device.hpp"
#include "variants/orderings/direction.hpp"
#include "variants/orderings/dissection/host/reduce.hpp"
#include "variants/orderings/dissection/host/stages.hpp"
#include "variants/orderings/ordered_tree.hpp"

namespace gsofa::orders {

namespace {

// Of rearranging the order of an unsymmetric pattern: a moderate gain in "Direction"
// (experiments/orderings/LOG.md), and the seconds that it takes for each entry of L and U.
constexpr double gain_of_direction = 0.2;
constexpr double seconds_of_direction = 0.4e-6;

// Vertices of a block in the mean, at least, where blocks are ordered in place of vertices. The
// classes of the real matrices of experiments/orderings have at most 6.
constexpr std::size_t least_of_block = 8;
// An estimate from few vertices may be this much too small.
constexpr double least_of_estimate = 6;

// Fewer threads or rows: a dissection next to minimum degree saves little.
constexpr int least_threads_ahead = 4;
constexpr index_t least_rows_ahead = 5000;

// A candidate of this build.
struct entrant {
  const contender* terms;
  order_request request;               // of the host
  const order_info* device = nullptr;  // finds the same order faster
  int orders = 0;                      // that it has computed
};

// The same options for a device; its notation names those that are not its defaults.
order_request on_device(const entrant& e) {
  order_request r{e.device, option_set(e.device->options), e.device->name};
  const auto host = e.request.options.values();
  for (const option_spec& s : e.device->options) {
    const auto value = host.find(s.name);
    if (value == host.end() || value->second == s.default_value) continue;
    r.options.put(s.name, value->second);
    r.spec += (r.spec == e.device->name ? ":" : ",") + s.name + "=" + to_string(value->second);
  }
  return r;
}

order_request request_of(const entrant& e) {
  return e.device != nullptr ? on_device(e) : e.request;
}

std::vector<entrant> entrants(bool host_only) {
  const auto& all = all_orders();
  std::vector<entrant> found;
  for (const contender& c : contenders()) {
    const auto info = std::ranges::find(all, c.method, &order_info::name);
    if (info == all.end() || info->unavailable()) continue;
    entrant e{&c, *find_order(c.method + std::string(*c.options == 0 ? "" : ":") + c.options)};
    const auto twin = std::ranges::find(all, c.method, &order_info::same_as);
    if (!host_only && twin != all.end() && !twin->unavailable()) e.device = &*twin;
    found.push_back(std::move(e));
  }
  return found;
}

class contest {
 public:
  contest(const pattern_view& a, const order_settings& settings, const purpose& use)
      : input_(a),
        settings_(settings),
        use_(use),
        exact_(use.kind == factorization_kind::operations) {
    dissects_ = !settings.weights.empty() || (settings.tree_levels > 1 && !on_gpu());
    if (on_gpu()) {
      dissects_ = dissects_ || !takes_minimum_degree(a, use.factorizations);
      graph_ = a;
      symmetric_ = false;
      return;
    }
    graph_ = graph_of(a, settings.threads, sum_);
    neighbours_ = graph_.nnz();
    symmetric_ = graph_.nnz() + a.n_rows == a.nnz() + count_missing_diagonal(a);
    exact_ = exact_ && !symmetric_;
    if (symmetric_ && !dissects_ && size_of_blocks(graph_) >= least_of_estimate) take_blocks();
    // Minimum fill on one core takes a tenth of a dissection there, and its operations are known.
    const bool asks = use_.kind == factorization_kind::operations || use_.cores > 1;
    mesh_ = asks && symmetric_ && may_be_mesh(graph_) && shape().is_mesh;
  }

  ordering run() {
    const double least = on_gpu() ? least_rows_of_busy_device
                                  : least_rows_of_device * std::pow(std::max(1, settings_.threads),
                                                                    power_of_dissection);
    const bool host_only = settings_.host_only || blocks_ || graph_.n_rows < least;
    std::vector<entrant> all = entrants(host_only);
    if (counts_supernodes(use_)) {
      all.erase(all.begin());  // minimum fill makes long paths of small supernodes
    } else if (begins_with_degree(graph_, use_)) {
      std::swap(all[0], all[1]);
    }
    begin_dissection(all);
    for (entrant& e : all) {
      while (!fills_nothing() && e.orders < use_.seeds && pays(e)) compute(e);
    }
    ahead_.reset();
    if (best_.order.empty() && graph_.n_rows > 0) {
      throw unavailable_error("order automatic: no method is available: " + failures_);
    }
    if (!symmetric_ && !dissects_ && direction_pays()) take_direction();
    if (blocks_) {
      best_.order = blocks_->expand(best_.order);
      best_.note = best_.title() + " of blocks";
      best_.separators = {};
    }
    if (!on_gpu() && use_.factorizations >= several_factorizations) {
      best_.contested_s = seconds_of_use(least_, use_);
    }
    best_.fallback = std::move(failures_);
    best_.candidates = std::move(candidates_);
    return std::move(best_);
  }

 private:
  // An order that is computed on a thread of its own, before it is known whether it pays.
  struct order_ahead {
    const contender* terms;
    std::atomic<bool> stop{false};
    std::future<ordering> result{};

    explicit order_ahead(const contender* c) : terms(c) {}
    ~order_ahead() { stop = true; }  // the future waits
  };

  // On several cores, the first dissection begins while the first order runs on one core.
  void begin_dissection(const std::vector<entrant>& all) {
    const int threads = std::min(use_.cores, settings_.threads);
    if (on_gpu() || threads < least_threads_ahead || graph_.n_rows < least_rows_ahead) return;
    const auto first =
        std::ranges::find(all, true, [](const entrant& e) { return e.terms->dissects; });
    if (first == all.begin() || first == all.end() || fills_nothing() || !pays(all.front())) return;
    ahead_ = std::make_unique<order_ahead>(first->terms);
    order_settings s = settings_of(settings_.seed);
    s.stop = &ahead_->stop;
    s.threads = threads - 1;
    try {
      const int device = thread_device();
      ahead_->result = std::async(std::launch::async, [=, this, request = request_of(*first)] {
        use_thread_device(device);
        return compute_order(graph_, request, s);
      });
    } catch (const std::system_error&) {  // no thread
      ahead_.reset();
    }
  }

  // The next order of an entrant.
  ordering order_of(const entrant& e, std::int64_t seed) {
    if (!ahead_ || ahead_->terms != e.terms || e.orders != 1) {
      return compute_order(graph_, request_of(e), settings_of(seed));
    }
    const std::unique_ptr<order_ahead> mine = std::move(ahead_);
    while (mine->result.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) {
      if (settings_.stop != nullptr && settings_.stop->load()) mine->stop = true;
    }
    return mine->result.get();
  }

  // Orders blocks of vertices with one closed neighbourhood in place of the vertices where they are
  // large, and finds the order at once where there is one without fill.
  void take_blocks() {
    team::run(settings_.threads, [&](team& crew) { blocks_ = find_blocks(crew, graph_); });
    if (!blocks_) return;
    const reduction r = reduce(blocks_->rows, 1, settings_.threads);
    const pattern_view rest = r.graph(blocks_->rows);
    if (rest.nnz() == 0) {
      graph_ = blocks_->rows;
      keep_if_better({.order = expand(r, {.order = identity_order(rest.n_rows), .tree = {}}).order,
                      .method = {},
                      .library = {},
                      .note = "perfect elimination"},
                     -1);
    } else if (blocks_->classes.members.size() < least_of_block * blocks_->weight.size()) {
      blocks_.reset();
    } else {
      graph_ = blocks_->rows;
    }
  }

  [[nodiscard]] bool direction_pays() const {
    return uses_direction(use_) && gain_of_direction * seconds_of_use(least_, use_) >
                                       seconds_of_direction * static_cast<double>(least_.entries);
  }

  // Tries the block triangular form, with each block in the order of the best method, on the host
  // since most blocks are small; then rearranges the best order for the unsymmetric pattern.
  void take_direction() {
    if (!std::exchange(exact_, true)) least_ = cost_of(best_);
    const std::string method = best_.method;
    if (2 * strong_components_of(directed()).largest() <= input_.n_rows) {
      ordering o = order_by_components(directed(), input_.n_rows, [&](const pattern_view& block) {
        return compute_order(block, best_request_, with_seed(best_seed_));
      });
      o.method = method;
      o.note = method + " in blocks";
      o.library = best_.library;
      keep_if_better(std::move(o), best_seed_);
    }
    ordering o = best_direction(directed(), best_, settings_.threads);
    if (o.order == best_.order) return;
    o.method = method;
    o.note = best_.title() + " with direction";
    keep_if_better(std::move(o), best_seed_);
  }

  [[nodiscard]] order_settings with_seed(std::int64_t seed) const {
    order_settings s = settings_;
    s.seed = seed;
    s.weights = weights();
    return s;
  }

  [[nodiscard]] order_settings settings_of(std::int64_t seed) const {
    order_settings s = with_seed(seed);
    s.is_graph = !on_gpu();
    return s;
  }

  // A with its diagonal.
  pattern_view directed() {
    if (own_.n_rows == 0) own_ = with_diagonal(input_);
    return own_;
  }

  // Whether the bound of the order is cost enough. Supernodes of the first order count only when a
  // second one is compared: they cancel in the gain that is expected of it.
  [[nodiscard]] bool bound_suffices(const ordering& o) const {
    if (use_.kind == factorization_kind::operations || exact_ || !o.cost) return false;
    if (!counts_supernodes(use_)) return true;
    return use_.factorizations < several_factorizations && best_.order.empty() &&
           o.cost->height <= most_supernodal_height;
  }

  order_cost cost_of(const ordering& o) {
    const std::vector<index_t>& order = o.order;
    if (bound_suffices(o)) return *o.cost;
    if (exact_) {
      const order_quality q = quality_of(directed(), order, settings_.threads, settings_.stop);
      return {.operations = q.flops, .entries = q.nnz_l + q.nnz_u};
    }
    const ordered_tree t = tree_of_order(graph_, order, weights());
    order_cost cost{.operations = t.operations, .entries = 2 * t.entries};
    if (counts_supernodes(use_)) count_supernodes(t, cost);
    return cost;
  }

  // Counts an order; whether it is the best so far. On a device the last one is.
  bool keep_if_better(ordering o, std::int64_t seed) {
    order_cost cost;
    if (on_gpu()) {
      cost = o.cost.value_or(order_cost{});
      dissects_ = dissects_ || is_long_path(cost);
    } else {
      const bool is_second = !best_.order.empty() && least_.supernodes == 0;
      if (is_second && counts_supernodes(use_)) least_ = cost_of(best_);
      cost = cost_of(o);
      candidates_.push_back({o.title(), seed, cost.operations});
    }
    const bool is_less = seconds_of_use(cost, use_) < seconds_of_use(least_, use_);
    if (!on_gpu() && !is_less && !best_.order.empty()) return false;
    least_ = cost;
    best_ = std::move(o);
    best_seed_ = seed;
    return true;
  }

  [[nodiscard]] bool on_gpu() const { return use_.kind == factorization_kind::gpu; }

  // Of the vertices of graph_.
  [[nodiscard]] std::span<const index_t> weights() const {
    return blocks_ ? std::span<const index_t>(blocks_->weight) : settings_.weights;
  }

  // Whether nothing can win: no order of a symmetric pattern has fewer operations than one without
  // fill (PROOFS.md).
  [[nodiscard]] bool fills_nothing() const {
    return symmetric_ && !best_.order.empty() && least_.entries == neighbours_;
  }

  const graph_shape& shape() {
    if (!shape_) shape_ = shape_of(graph_, settings_.threads);
    return *shape_;
  }

  [[nodiscard]] bool suits_gpu(const contender& c) const {
    if (!dissects_) return std::string_view(c.options) == score_degree;
    const bool is_few = use_.factorizations < many_factorizations;
    return c.dissects && c.where == (is_few ? contender::on_gpu : contender::anywhere);
  }

  bool pays(const entrant& e) {
    const contender& c = *e.terms;
    if (on_gpu()) return (best_.order.empty() || is_long_path(least_)) && suits_gpu(c);
    if ((mesh_ || dissects_) && !c.dissects) return false;
    if (c.where == contender::on_gpu) return false;
    // The first separators of a tree decide how work is divided, and are searched for longer.
    if (c.where == contender::on_host && settings_.tree_levels > 1) return false;
    if (best_.order.empty()) return !c.of_cores;
    // By the name of the host: the choice is the same where a device computes the order.
    const bool again = std::ranges::find(methods_, std::string_view(c.method)) != methods_.end();
    const best_so_far best{.cost = least_, .orders = e.orders, .same_method = again};
    const double gain = expected_gain(c, best, use_);
    double price = seconds_of_order(c, graph_.n_rows, least_.entries, use_);
    if (c.dissects) {
      // The shape takes as long as minimum degree, and is not worth it where little can be saved.
      if (!shape_ && gain < seconds_of_shape(graph_.nnz() + graph_.n_rows)) {
        say_why(gain, price);
        return false;
      }
      if (c.of_cores && shape().left > 0.5) return false;
      price = seconds_of_order(c, graph_.n_rows * shape().left, least_.entries, use_);
    }
    if (c.dissects && gain <= price) say_why(gain, price);
    return gain > price;
  }

  // The reason not to dissect, or not again: that of the first dissection that does not pay.
  void say_why(double gain, double price) {
    if (!best_.why.empty() || use_.kind == factorization_kind::operations) return;
    std::array<char, 160> line{};
    std::snprintf(line.data(), line.size(),
                  "%s dissection is predicted to save %.2g s and to take %.2g s",
                  best_.separators.empty() ? "a" : "another", gain, price);
    best_.why = line.data();
  }

  void compute(entrant& e) {
    const std::int64_t seed =
        e.orders == 0 ? settings_.seed : std::max<std::int64_t>(settings_.seed, 0) + e.orders;
    ++e.orders;
    try {
      if (keep_if_better(order_of(e, seed), seed)) best_request_ = e.request;
      methods_.emplace_back(e.terms->method);
    } catch (const cancelled_error&) {
      throw;
    } catch (const input_error&) {
      throw;
    } catch (const error& failed) {
      failures_ += (failures_.empty() ? "" : "; ") + request_of(e).spec + ": " + failed.what();
      // A device that fails leaves the same order to the host.
      if (std::exchange(e.device, nullptr) == nullptr) {
        e.orders = use_.seeds;
      } else {
        --e.orders;
      }
    }
  }

  const pattern_view& input_;
  const order_settings& settings_;
  const purpose& use_;
  pattern sum_, own_;                    // what graph_ and directed() may view
  pattern_view graph_;                   // of A + A^T, or of its blocks: what is ordered
  std::optional<vertex_blocks> blocks_;  // of a symmetric A that has large ones
  std::optional<graph_shape> shape_;
  offset_t neighbours_ = 0;  // entries of A + A^T
  bool symmetric_ = true;
  bool exact_;  // counts A = L U
  bool mesh_ = false;
  bool dissects_ = false;  // since the caller has weights or asks for a tree
  ordering best_;
  order_cost least_;
  order_request best_request_;
  std::int64_t best_seed_ = -1;
  std::vector<order_candidate> candidates_;
  std::vector<std::string_view> methods_;  // of the orders so far
  std::string failures_;
  std::unique_ptr<order_ahead> ahead_;  // last: it ends before what it reads
};

}  // namespace

ordering tournament(const pattern_view& a, const order_settings& settings, const purpose& use) {
  return contest(a, settings, use).run();
}

namespace {

ordering tournament_order(const pattern_view& a, const order_settings& settings) {
  return tournament(a, settings,
                    {.factorizations = settings.options.integer("factorizations"),
                     .kind = factorization_kind::operations,
                     .seeds = static_cast<int>(settings.options.integer("seeds"))});
}

std::vector<option_spec> tournament_options() {
  return {{.name = "factorizations",
           .default_value = std::int64_t{1000},
           .help = "numeric factorizations that will use the order",
           .minimum = 1,
           .maximum = 1'000'000'000},
          {.name = "seeds",
           .default_value = std::int64_t{8},
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
