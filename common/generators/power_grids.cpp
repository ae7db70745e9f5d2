// Interior-point systems on a grid that grows: AC optimal power flow, and control over time.

#include "common/generators/families.hpp"

#include <algorithm>
#include <limits>

namespace gsofa::generator {

namespace {

struct line {
  index_t from = 0, to = 0;
};

/// Buses on a square, linked by lines. Cells of the square list their buses, about two each in the
/// end, so that the nearest bus is found ring by ring.
class growing_grid {
 public:
  growing_grid(random_source& random, index_t buses) : random_(random), buses_(buses) {
    while (cells_ * cells_ * 2 < buses) ++cells_;
    members_.resize(at(cells_ * cells_));
  }

  /// Source: Schultz, Heitzig & Kurths, A random growth model for power grids and other spatially
  /// embedded infrastructure networks, Eur. Phys. J. Special Topics 223 (2014), 2593-2610: a new
  /// bus splits a line with probability `split`, otherwise it joins the nearest bus. After each bus
  /// `meshes` lines on average are added. Lines of early buses are long, so that the grid has a
  /// backbone.
  void grow(probability split, double meshes, probability reach) {
    for (index_t bus = 0; bus < buses_; ++bus) {
      if (!lines_.empty() && random_.chance(split)) {
        line& cut = lines_[at(draw(static_cast<offset_t>(lines_.size())))];
        const index_t end = cut.to;
        unlink(cut.from, end);
        cut.to = bus;
        place((x_[at(cut.from)] + x_[at(end)]) / 2, (y_[at(cut.from)] + y_[at(end)]) / 2);
        link(cut.from, bus);
        link(bus, end);
        lines_.push_back({bus, end});
      } else {
        place(draw(side), draw(side));
        connect(bus, x_[at(bus)], y_[at(bus)]);
      }
      for (index_t k = rounded_at_random(random_, meshes); k > 0; --k) add_mesh(reach);
    }
  }

  [[nodiscard]] const std::vector<line>& lines() const { return lines_; }

 private:
  static constexpr offset_t side = offset_t{1} << 20;

  index_t draw(offset_t bound) {
    return static_cast<index_t>(random_.below(static_cast<std::uint64_t>(bound)));
  }
  [[nodiscard]] offset_t cell_of(offset_t coordinate) const { return coordinate * cells_ / side; }

  void place(offset_t x, offset_t y) {
    members_[at(cell_of(y) * cells_ + cell_of(x))].push_back(static_cast<index_t>(x_.size()));
    x_.push_back(x);
    y_.push_back(y);
    neighbours_.emplace_back();
  }
  void link(index_t u, index_t v) {
    neighbours_[at(u)].push_back(v);
    neighbours_[at(v)].push_back(u);
  }
  void unlink(index_t u, index_t v) {
    std::erase(neighbours_[at(u)], v);
    std::erase(neighbours_[at(v)], u);
  }
  /// A line from a random bus to the one nearest to a random point of a window around it, whose
  /// half-width is that of a cell and doubles with probability `reach`.
  void add_mesh(probability reach) {
    const index_t bus = draw(static_cast<offset_t>(x_.size()));
    offset_t half = side / cells_;
    while (half < side && random_.chance(reach)) half *= 2;
    const auto near = [&](offset_t c) {
      return std::clamp<offset_t>(c + random_.between(-half, half), 0, side - 1);
    };
    const offset_t x = near(x_[at(bus)]);
    connect(bus, x, near(y_[at(bus)]));
  }
  /// A line from `bus` to the nearest bus to a point that it is not linked to, if there is one.
  void connect(index_t bus, offset_t x, offset_t y) {
    const index_t other = nearest(bus, x, y);
    if (other < 0) return;
    link(bus, other);
    lines_.push_back({bus, other});
  }

  [[nodiscard]] index_t nearest(index_t bus, offset_t x, offset_t y) const {
    const offset_t cx = cell_of(x), cy = cell_of(y);
    index_t best = -1;
    offset_t least = std::numeric_limits<offset_t>::max();
    for (offset_t ring = 0; ring < cells_; ++ring) {
      // Buses in this ring of cells are at least ring - 1 cells away.
      const offset_t reach = (ring - 1) * side / cells_;
      if (ring > 0 && reach * reach > least) break;
      for (offset_t v = std::max<offset_t>(0, cy - ring); v <= std::min(cells_ - 1, cy + ring);
           ++v) {
        const bool edge = v == cy - ring || v == cy + ring;
        for (offset_t u = cx - ring; u <= cx + ring; u += edge || ring == 0 ? 1 : 2 * ring) {
          if (u < 0 || u >= cells_) continue;
          for (const index_t other : members_[at(v * cells_ + u)]) {
            const offset_t dx = x_[at(other)] - x, dy = y_[at(other)] - y;
            const offset_t distance = dx * dx + dy * dy;
            if (distance >= least || other == bus) continue;
            const auto& known = neighbours_[at(bus)];
            if (std::ranges::find(known, other) != known.end()) continue;
            least = distance;
            best = other;
          }
        }
      }
    }
    return best;
  }

  random_source& random_;
  index_t buses_;
  offset_t cells_ = 1;
  std::vector<offset_t> x_, y_;
  std::vector<std::vector<index_t>> members_;     // of each cell
  std::vector<std::vector<index_t>> neighbours_;  // of each bus
  std::vector<line> lines_;
};

}  // namespace

/// Interior-point system of AC optimal power flow: Hessian and constraints in one symmetric
/// pattern, numbered period by period. Variables of a period: angles and magnitudes of the voltages
/// of buses, active and reactive power of generators, four flows of each branch (active and
/// reactive, at both ends). Constraints of a branch: four flow equations (voltages of both ends and
/// the flow), a limit of each end (its two flows and a slack), a limit of the angle difference (two
/// angles and a slack); of a bus: two balances (generators, flows, magnitude of the voltage).
/// Between periods: a ramp limit of each generator (its active power before and after, and a
/// slack). The defaults give the shares of degrees and about the fill of grids of pglib-opf
/// (Babaeinejadsarookolaee et al., arXiv 1908.02788).
pattern make_kkt(const arguments& args) {
  const index_t buses = args.integer("buses"), periods = args.integer("periods");
  random_source random(args.seed());
  growing_grid grid(random, buses);
  const double meshes = args.real("meshes");
  // A branch has about 100 entries.
  args.check_entries(static_cast<offset_t>(100 * (meshes + 1) * args.order({buses, periods})));
  grid.grow(args.chance("split"), meshes, args.chance("reach"));
  std::vector<line> branches;
  const probability parallel = args.chance("parallel");
  for (const line& one : grid.lines()) {
    branches.insert(branches.end(), random.chance(parallel) ? 2 : 1, one);
  }
  std::vector<index_t> generators;  // bus of each
  for (index_t bus = 0; bus < buses; ++bus) {
    const index_t count = rounded_at_random(random, args.real("generators"));
    generators.insert(generators.end(), at(count), bus);
  }
  const auto branch_count = static_cast<offset_t>(branches.size());
  const auto generator_count = static_cast<offset_t>(generators.size());
  const offset_t flows = 2 * (buses + generator_count);  // first of them within a period
  const offset_t limits = flows + 4 * branch_count;
  const offset_t balances = limits + 10 * branch_count;
  const offset_t period_size = balances + offset_t{2} * buses;
  const offset_t ramps = period_size * periods;
  const offset_t n = ramps + 2 * generator_count * (periods - 1);
  if (n > max_index) args.fail("the order does not fit in 32 bits");
  symmetric_entries a(static_cast<index_t>(n));
  for (index_t period = 0; period < periods; ++period) {
    const auto unknown = [&](offset_t k) { return static_cast<index_t>(period * period_size + k); };
    const auto angle = [&](index_t bus) { return unknown(bus); };
    const auto magnitude = [&](index_t bus) { return unknown(offset_t{buses} + bus); };
    const auto balance = [&](index_t bus, index_t part) {
      return unknown(balances + offset_t{2} * bus + part);
    };
    for (index_t bus = 0; bus < buses; ++bus) {
      a.couple(angle(bus), {magnitude(bus)});
      for (const index_t part : {0, 1}) a.couple(balance(bus, part), {magnitude(bus)});
    }
    for (offset_t g = 0; g < generator_count; ++g) {
      for (const index_t part : {0, 1}) {
        const index_t power = unknown(offset_t{2} * buses + part * generator_count + g);
        a.couple(balance(generators[at(g)], part), {power});
      }
    }
    for (offset_t b = 0; b < branch_count; ++b) {
      const auto [u, v] = branches[at(b)];
      // The second derivatives of the flow equations.
      a.couple(angle(u), {angle(v), magnitude(v)});
      a.couple(magnitude(u), {angle(v), magnitude(v)});
      const offset_t flow = flows + 4 * b, row = limits + 10 * b;
      for (index_t k = 0; k < 4; ++k) {
        a.couple(unknown(row + k),
                 {angle(u), angle(v), magnitude(u), magnitude(v), unknown(flow + k)});
        a.couple(balance(k < 2 ? u : v, k % 2), {unknown(flow + k)});
      }
      for (const index_t end : {0, 1}) {
        a.couple(unknown(row + 5 + 2 * end), {unknown(flow + 2 * end), unknown(flow + 2 * end + 1),
                                              unknown(row + 4 + 2 * end)});
      }
      a.couple(unknown(row + 9), {angle(u), angle(v), unknown(row + 8)});
    }
  }
  for (index_t period = 1; period < periods; ++period) {
    for (offset_t g = 0; g < generator_count; ++g) {
      const offset_t slack = ramps + 2 * ((period - 1) * generator_count + g);
      const offset_t power = offset_t{2} * buses + g;
      a.couple(static_cast<index_t>(slack + 1),
               {static_cast<index_t>((period - 1) * period_size + power),
                static_cast<index_t>(period * period_size + power), static_cast<index_t>(slack)});
    }
  }
  return a.take();
}

/// Interior-point system of the optimal control of a network over time, collocated at the points of
/// each element (Radau: the last point ends the element). Numbered: the states of all points, point
/// by point; the controls, constant within an element; the equations, as the states. The equation
/// of a state at a point has this state at all points of the element and at the end of the element
/// before, and its neighbours and its control at the point. With coupling=full all states are
/// neighbours: a chain of stages.
pattern make_space_time_kkt(const arguments& args) {
  const index_t states = args.integer("states"), controls = args.integer("controls");
  const index_t elements = args.integer("elements"), points = args.integer("points");
  const bool full = args.word("coupling") == "full";
  const offset_t state_count = args.order({states, elements, points});
  const offset_t equations = state_count + args.order({controls, elements});
  const double links = full ? states - 1.0 : 2 * (args.real("meshes") + 1);
  if (equations + state_count > max_index) args.fail("the order does not fit in 32 bits");
  args.check_entries(
      static_cast<offset_t>((3 * links + 2 * points + 10) * static_cast<double>(state_count)));
  random_source random(args.seed());
  growing_grid network(random, full ? 1 : states);
  network.grow(probability(0.4), args.real("meshes"), probability(0.4));
  std::vector<line> neighbours = network.lines();
  for (index_t i = 0; full && i < states; ++i) {
    for (index_t j = 0; j < i; ++j) neighbours.push_back({i, j});
  }
  symmetric_entries a(static_cast<index_t>(equations + state_count));
  for (index_t element = 0; element < elements; ++element) {
    for (index_t point = 0; point < points; ++point) {
      const offset_t first = (offset_t{element} * points + point) * states;
      const auto state = [&](index_t i) { return static_cast<index_t>(first + i); };
      const auto equation = [&](index_t i) { return static_cast<index_t>(equations + first + i); };
      for (index_t i = 0; i < states; ++i) {
        // Back to the end of the element before.
        for (index_t k = element == 0 ? 0 : -1; k < points; ++k) {
          a.couple(equation(i), {static_cast<index_t>(first + (offset_t{k} - point) * states + i)});
        }
      }
      for (const auto& [i, j] : neighbours) {
        a.couple(state(i), {state(j)});
        a.couple(equation(i), {state(j)});
        a.couple(equation(j), {state(i)});
      }
      for (index_t k = 0; k < controls; ++k) {
        const auto i = static_cast<index_t>(offset_t{k} * states / controls);
        a.couple(static_cast<index_t>(state_count + offset_t{element} * controls + k),
                 {state(i), equation(i)});
      }
    }
  }
  return a.take();
}

}  // namespace gsofa::generator
