"""Regret of orders by family of inputs: order, analysis, factorizations and solves over the least total of any known order.

A row of panels for each program, a column for each number of factorizations (one solve each); a marker is the geometric mean
over the inputs of a family whose least total is 20 ms or more, a line ends at the worst. Records: lines of experiments/regret.
Times are wall seconds, since a clock of the CPU may have ticks of 4 ms.
"""

import collections
import math
import sys

import records
import style
import style_dots as dots
from style import plt

LEAST_S = 0.02
FACTORIZATIONS = (1, 10, 1000)
# series: its orders, the first that a program has counts; colour and marker
SERIES = {"automatic": (("automatic",), dots.COLOURS[0], "o"), "METIS": (("metis", "superlu_dist:metis"), dots.COLOURS[2], "s"),
          "AMD": (("amd",), dots.COLOURS[1], "^"), "COLAMD": (("splu:colamd",), dots.COLOURS[3], "D"),
          "program's own": (("cholmod:default", "splu:colamd", "superlu_dist:metis", "cudss:own_threads"), dots.GREY, "x")}
COLUMNS = ("program", "threads", "factorizations", "family", "least_total", "order", "inputs", "regret", "worst")


def total(line, factorizations):
    """Seconds of a use; of an order that is found for a number of factorizations, None for another number."""
    spec, _, options = line["order"].partition(":")
    made_for = dict(word.split("=", 1) for word in options.split(",") if "=" in word).get("factorizations") if spec == "automatic" else None
    if made_for and int(made_for) != factorizations:
        return None
    order, analysis, factor, solve = (line[f"{step}_s"] for step in ("order", "analysis", "factor", "solve"))
    return order + analysis + factor + (factorizations - 1) * line.get("refactor_s", factor) + factorizations * solve


def regrets(lines):
    """{(program, threads, factorizations, family, whether the least total is large): {order: [regret of each input]}}."""
    totals = collections.defaultdict(dict)
    for line in lines:
        for k in FACTORIZATIONS:
            seconds = total(line, k)
            if seconds is not None:
                name = line["order"] if not line["order"].startswith("automatic") else "automatic"
                mine = totals[line["program"], line["threads"], k, line["family"], line["matrix"]]
                mine[name] = min(seconds, mine.get(name, math.inf))
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for (*where, _), mine in sorted(totals.items()):
        least = min(mine.values())
        for name, seconds in mine.items() if least > 0 else ():
            found[*where, least >= LEAST_S][name].append(seconds / least)
    return found


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def panel(axis, families, shown):
    """shown: {family: {order: regrets}}."""
    for k, (series, (orders, colour, marker)) in enumerate(SERIES.items()):
        drawn = [(y, values) for y, family in enumerate(families)
                 for values in [next((shown[family][o] for o in orders if o in shown[family]), None)] if values]
        for y, values in drawn:
            axis.plot([mean(values), max(values)], [y + 0.15 * (k - 2)] * 2, color=colour, linewidth=0.8)
        axis.plot([mean(v) for _, v in drawn], [y + 0.15 * (k - 2) for y, _ in drawn], marker, color=colour, markersize=3.5, label=series)
    axis.set(xscale="log", yticks=range(len(families)), ylim=(len(families) - 0.5, -0.5))
    axis.set_yticks(range(len(families)), families)
    axis.set_xlim(0.97, None)
    dots.plain_log(axis.xaxis)


def draw(args):
    found = regrets(records.read_kind(args.records, "regret"))
    programs = sorted({key[:2] for key in found})
    if not programs:
        raise records.Absent("no lines of experiments/regret")
    families = sorted({key[3] for key in found if key[4]})
    fig, axes = plt.subplots(len(programs), len(FACTORIZATIONS), squeeze=False, sharey=True, layout="constrained",
                             figsize=(8.5, len(programs) * (0.8 + 0.32 * len(families))))
    for (program, threads), row in zip(programs, axes):
        for k, axis in zip(FACTORIZATIONS, row):
            panel(axis, families, {f: found.get((program, threads, k, f, True), {}) for f in families})
            axis.set_title(f"{program}, {threads} thread{'s' * (threads > 1)}, {k:,} factorization{'s' * (k > 1)}", fontsize=dots.TEXT)
    for axis in axes[-1]:
        axis.set_xlabel("regret")
    axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=dots.TEXT)
    style.save(fig, args.out, "regret", COLUMNS,
               [(*key[:4], ">= 20 ms" if key[4] else "< 20 ms", order, len(values), f"{mean(values):.3f}", f"{max(values):.2f}")
                for key, orders in sorted(found.items()) for order, values in sorted(orders.items())])


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
