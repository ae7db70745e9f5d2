// Economic models and chemical processes.

#include "common/generators/families.hpp"

#include <algorithm>

namespace gsofa::generator {

/// A whole number of mean `mean`: its floor, or one more with the probability of the rest.
index_t rounded_at_random(random_source& random, double mean) {
  const auto whole = static_cast<index_t>(mean);
  return whole + (random.chance(probability(mean - whole)) ? 1 : 0);
}

/// Multi-country model stacked over time as solved by Newton's method: the equations of a period
/// repeat in every period; some variables enter with a lag, others (expectations) with a lead. In
/// every country two present values depend on three variables over the coming `horizon` periods,
/// one of which is a present value itself, and two accumulated stocks on variables over the last
/// ones, as in g7jac040sc: such rows and columns are far longer than the others.
/// Source: Juillard, Laxton, McAdam & Pioro, J. Econ. Dyn. Control 22 (1998), 1291-1318.
pattern make_economy(const arguments& args) {
  const index_t countries = args.integer("countries");
  const index_t equations = args.integer("equations");
  const index_t periods = args.integer("periods");
  const index_t span = args.integer("span");
  const probability feedback = args.chance("feedback");
  if (countries > equations) args.fail("countries must not exceed equations");
  const index_t n = args.leading(args.order({equations, periods}));
  const double total_terms =
      args.real("terms") + args.real("trade") + args.real("lags") + args.real("leads") + 5;
  const index_t horizon = std::min(args.integer("horizon"), periods - 1);
  const double long_terms = 8.0 * countries * horizon * periods;
  args.check_entries(static_cast<offset_t>(static_cast<double>(n) * total_terms + long_terms));

  random_source random(args.seed());
  const auto first_of = [&](offset_t c) { return static_cast<index_t>(c * equations / countries); };
  struct term {
    index_t variable;
    index_t shift;  // period relative to the equation's
  };
  std::vector<std::vector<term>> model(at(equations));
  // Variables that cross periods are spread evenly over the countries.
  const auto pool = [&](const std::string& key) {
    const auto count = static_cast<index_t>(args.real(key) * equations);
    return std::max<index_t>(1, count);
  };
  const index_t states = pool("states");
  const index_t jumps = pool("jumps");
  const auto pick = [&](index_t count, index_t low, index_t high) {
    // A member of the pool {k * equations / count} within [low, high), or -1.
    const offset_t a = (offset_t{low} * count + equations - 1) / equations;
    const offset_t b = (offset_t{high} * count + equations - 1) / equations;
    if (a >= b) return index_t{-1};
    return static_cast<index_t>(random.between(a, b - 1) * equations / count);
  };
  for (index_t c = 0; c < countries; ++c) {
    const index_t low = first_of(c);
    const index_t high = first_of(offset_t{c} + 1);
    for (index_t e = low; e < high; ++e) {
      std::vector<term>& terms = model[at(e)];
      terms.push_back({e, 0});
      for (index_t k = rounded_at_random(random, args.real("terms")); k > 0; --k) {
        // Models are written in causal order: an equation mostly uses variables before its own.
        const bool ahead = random.chance(feedback);
        const index_t a = ahead ? e : std::max(low, e - span);
        const offset_t b = ahead ? std::min<offset_t>(high - 1, offset_t{e} + span) : e;
        terms.push_back({static_cast<index_t>(random.between(a, b)), 0});
      }
      for (index_t k = rounded_at_random(random, args.real("trade")); k > 0; --k) {
        terms.push_back(
            {static_cast<index_t>(random.below(static_cast<std::uint64_t>(equations))), 0});
      }
      for (index_t k = rounded_at_random(random, args.real("lags")); k > 0; --k) {
        const index_t v = pick(states, low, high);
        if (v >= 0) terms.push_back({v, -1});
      }
      for (index_t k = rounded_at_random(random, args.real("leads")); k > 0; --k) {
        const index_t v = pick(jumps, low, high);
        if (v >= 0) terms.push_back({v, 1});
      }
    }
    if (horizon > 0) {
      const auto draw = [&] { return static_cast<index_t>(random.between(low, high - 1)); };
      const index_t value = draw(), wealth = draw(), stock = draw(), debt = draw();
      const index_t income = draw(), tax = draw(), saving = draw();
      struct sum_over_time {
        index_t equation, direction;
        std::vector<index_t> variables;
      };
      for (const auto& [equation, direction, variables] :
           std::vector<sum_over_time>{{wealth, 1, {wealth, income, tax}},
                                      {value, 1, {wealth, income}},
                                      {stock, -1, {value, saving}},
                                      {debt, -1, {saving}}}) {
        for (const index_t v : variables) {
          for (index_t k = 1; k <= horizon; ++k) {
            model[at(equation)].push_back({v, direction * k});
          }
        }
      }
    }
  }
  offset_t per_period = 0;
  for (const auto& terms : model) per_period += static_cast<offset_t>(terms.size());
  row_writer rows(n, per_period * periods);
  for (index_t i = 0; i < n; ++i) {
    const index_t period = i / equations;
    for (const term& t : model[at(i % equations)]) {
      const offset_t p = offset_t{period} + t.shift;
      if (p >= 0 && p < periods) rows.add(static_cast<index_t>(p * equations + t.variable));
    }
    rows.end_row();
  }
  return rows.take();
}

/// Distillation columns linked by recycle streams. Unknowns of stage s: liquid flows l(s,c) and
/// vapour flows v(s,c) of each component, temperature T, liquid and vapour totals L, V. Equations:
/// component balances (matched with the liquid that enters from above), equilibria (with v), bubble
/// point (with T), liquid sum (with L), enthalpy balance (with V). Hardly any position is matched
/// by its mirror image. Source: Naphtali & Sandholm, AIChE J. 17 (1971), 148-153.
pattern make_columns(const arguments& args) {
  const index_t columns = args.integer("columns");
  const index_t stages = args.integer("stages");
  const index_t c = args.integer("components");
  const index_t block = 2 * c + 3;
  const index_t n = args.leading(args.order({columns, stages, block}));
  const offset_t stage_count = offset_t{columns} * stages;
  const offset_t per_stage = offset_t{c} * (c + 12) + 16;
  args.check_entries(stage_count * per_stage);

  random_source random(args.seed());
  // feed[s] lists the stages whose liquid enters stage s in addition to that from above.
  std::vector<std::vector<index_t>> feed(at(stage_count));
  for (index_t col = 0; col < columns; ++col) {
    for (index_t k = rounded_at_random(random, args.real("recycles")); k > 0; --k) {
      const offset_t reach = std::min<offset_t>(args.integer("reach"), columns - 1);
      offset_t from = col + random.between(-reach, reach);
      from = (from + columns) % columns;
      // Products leave at the top or at the bottom.
      const offset_t outlet = from * stages + (random() % 2 == 0 ? 0 : stages - 1);
      const offset_t inlet =
          offset_t{col} * stages +
          static_cast<offset_t>(random.below(static_cast<std::uint64_t>(stages)));
      if (outlet != inlet) feed[at(inlet)].push_back(static_cast<index_t>(outlet));
    }
  }
  const probability drop = args.chance("drop");
  const std::uint64_t drop_seed = args.seed() ^ 0x64726f70ULL;
  const auto liquid = [&](offset_t s, index_t k) { return static_cast<index_t>(s * block + k); };
  const auto vapour = [&](offset_t s, index_t k) {
    return static_cast<index_t>(s * block + c + k);
  };
  const auto extra = [&](offset_t s, index_t k) {  // 0: T, 1: L, 2: V
    return static_cast<index_t>(s * block + 2 * offset_t{c} + k);
  };
  row_writer rows(n, stage_count * per_stage);
  for (index_t i = 0; i < n; ++i) {
    const offset_t s = i / block;
    const index_t r = i % block;
    const bool top = s % stages == 0;
    const bool bottom = s % stages == stages - 1;
    rows.add(i);
    if (r < c) {
      // The balance of the stage below, into which this stage's liquid flows; at the bottom the
      // liquid leaves and the row is the outlet's own.
      const offset_t below = bottom ? s : s + 1;
      rows.add(liquid(below, r));
      if (!bottom) {
        rows.add(vapour(below, r));
        if (below % stages != stages - 1) rows.add(vapour(below + 1, r));
      } else {
        rows.add(extra(s, 1));
      }
      for (const index_t f : feed[at(below)]) rows.add(liquid(f, r));
    } else if (r < 2 * c) {
      for (index_t k = 0; k < c; ++k) {
        const index_t j = liquid(s, k);
        if (k == r - c || drop.never() ||
            !drop.holds(keyed_random(drop_seed, static_cast<std::uint64_t>(i),
                                     static_cast<std::uint64_t>(j)))) {
          rows.add(j);
        }
      }
      rows.add(extra(s, 0));
      rows.add(extra(s, 1));
    } else if (r == 2 * c) {
      for (index_t k = 0; k < c; ++k) rows.add(liquid(s, k));
    } else if (r == 2 * c + 1) {
      for (index_t k = 0; k < c; ++k) rows.add(liquid(s, k));
    } else {
      for (index_t k = 0; k < c; ++k) {
        rows.add(liquid(s, k));
        rows.add(vapour(s, k));
        if (!top) rows.add(liquid(s - 1, k));
        if (!bottom) rows.add(vapour(s + 1, k));
      }
      rows.add(extra(s, 0));
      if (!top) rows.add(extra(s - 1, 0));
      if (!bottom) rows.add(extra(s + 1, 0));
    }
    rows.end_row();
  }
  return rows.take();
}

/// Flowsheet of separation columns linked by recycle streams, in the layout of a process simulator:
/// the unknowns are those of the streams, then the K-values of the column. Streams of stage s: the
/// liquid that leaves it (flows l(s,c), total L, temperature T, enthalpy) and the vapour (flows
/// v(s,c), total V, enthalpy). Equations of a stage: component balances; for each component its
/// K-value, a function of both compositions and T, and its equilibrium l, v, L, V, K; sums;
/// enthalpies; energy balance. Rows and columns are numbered by different rules, so that the
/// diagonal is deficient; the pattern is structurally nonsingular (balances with l, equilibria with
/// v, sums with L and V, enthalpy of the liquid with T, energy balance with that enthalpy).
/// Source: Zitney, Mallya, Davis & Stadtherr, Comput. Chem. Eng. 20 (1996), 641-646.
pattern make_flowsheet(const arguments& args) {
  const index_t columns = args.integer("columns");
  const index_t stages = args.integer("stages");
  const index_t c = args.integer("components");
  const offset_t streams = 2 * offset_t{c} + 5;  // unknowns of the two streams of a stage
  const offset_t block = streams + c;
  const index_t n = args.order({columns, stages, block});
  const offset_t stage_count = offset_t{columns} * stages;
  const offset_t per_stage = 2 * offset_t{c} * c + 16 * offset_t{c} + 16;
  args.check_entries(stage_count * per_stage);

  random_source random(args.seed());
  // feed[s]: the stages whose liquid enters stage s in addition to that from above.
  std::vector<std::vector<offset_t>> feed(at(stage_count));
  const offset_t reach = std::min<offset_t>(args.integer("reach"), columns - 1);
  for (index_t column = 0; column < columns; ++column) {
    for (index_t k = rounded_at_random(random, args.real("recycles")); k > 0; --k) {
      const offset_t from = (column + random.between(-reach, reach) + columns) % columns;
      // Products leave at the top or at the bottom.
      const offset_t outlet = from * stages + (random() % 2 == 0 ? 0 : stages - 1);
      const offset_t inlet = offset_t{column} * stages + random.between(0, stages - 1);
      if (outlet != inlet) feed[at(inlet)].push_back(outlet);
    }
  }
  const auto stream = [&](offset_t s, offset_t k) {
    return static_cast<index_t>(s / stages * stages * block + s % stages * streams + k);
  };
  const auto liquid = [&](offset_t s, index_t k) { return stream(s, k); };
  const auto vapour = [&](offset_t s, index_t k) { return stream(s, offset_t{c} + 3 + k); };
  const auto k_value = [&](offset_t s, index_t k) {
    return static_cast<index_t>((s / stages * block + streams) * stages + s % stages * c + k);
  };
  // Unknown c of a stream is its total, c + 1 its enthalpy; c + 2 of a liquid is T.
  row_writer rows(n, stage_count * per_stage);
  // Unknown k of all streams that meet in stage s: those that leave it and those that enter.
  const auto balance = [&](offset_t s, index_t k) {
    rows.add(liquid(s, k));
    rows.add(vapour(s, k));
    if (s % stages != 0) rows.add(liquid(s - 1, k));
    if (s % stages != stages - 1) rows.add(vapour(s + 1, k));
    for (const offset_t f : feed[at(s)]) rows.add(liquid(f, k));
    rows.end_row();
  };
  const auto flows = [&](offset_t s, const auto& of) {
    for (index_t k = 0; k < c; ++k) rows.add(of(s, k));
  };
  for (offset_t s = 0; s < stage_count; ++s) {
    const index_t temperature = liquid(s, c + 2);
    for (index_t k = 0; k < c; ++k) balance(s, k);
    for (index_t k = 0; k < c; ++k) {
      flows(s, liquid);
      rows.add(temperature);
      flows(s, vapour);
      rows.add(k_value(s, k));
      rows.end_row();
      for (const index_t i : {k, c}) {
        rows.add(liquid(s, i));
        rows.add(vapour(s, i));
      }
      rows.add(k_value(s, k));
      rows.end_row();
    }
    flows(s, liquid);
    rows.add(liquid(s, c));
    rows.end_row();
    flows(s, vapour);
    rows.add(vapour(s, c));
    rows.end_row();
    flows(s, liquid);
    rows.add(liquid(s, c + 1));
    rows.add(temperature);
    rows.end_row();
    flows(s, vapour);
    rows.add(vapour(s, c + 1));
    rows.add(temperature);
    rows.end_row();
    balance(s, c + 1);
  }
  return rows.take();
}

}  // namespace gsofa::generator
