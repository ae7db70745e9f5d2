"""Regret of orders: order, analysis, factorizations and solves over the least total of any known order.

A panel for each number of factorizations (one solve each), a row for each program; a marker is the geometric mean over the
inputs whose least total is 20 ms or more, a line ends at the worst. Programs with fewer than five of them are in the table alone, which has
the families. Records: lines of experiments/regret. Times are wall seconds, since a clock of the CPU may have ticks of 4 ms.
"""

import collections
import math
import sys

import records
import style
import style_dots as dots
from style import plt

LEAST_S = 0.02
LEAST_INPUTS = 5
NAMES = {"splu": "splu", "cholmod": "CHOLMOD", "superlu_dist": "SuperLU_DIST", "cudss": "cuDSS"}
FACTORIZATIONS = (1, 10, 1000)
# series: its orders, the first that a program has counts; colour and marker
SERIES = {"automatic": (("automatic",), dots.COLOURS[0], "o"), "METIS": (("metis", "superlu_dist:metis"), dots.COLOURS[2], "s"),
          "AMD": (("amd",), dots.COLOURS[1], "^"), "COLAMD": (("splu:colamd",), dots.COLOURS[3], "D"),
          "program's own": (("cholmod:default", "splu:colamd", "superlu_dist:metis", "cudss:own_threads"), dots.GREY, "x")}
COLUMNS = ("program", "threads", "factorizations", "family", "least_total", "order", "inputs", "regret", "worst")


def total(line, factorizations):
    """Seconds of a use; None for several factorizations in SuperLU_DIST's own order on several ranks, where the recorded factorization
    includes the wait for the rank that orders last."""
    if factorizations > 1 and line["threads"] > 1 and line["order"].startswith("superlu_dist:"):
        return None
    order, analysis, factor, solve = (line[f"{step}_s"] for step in ("order", "analysis", "factor", "solve"))
    return order + analysis + factor + (factorizations - 1) * line.get("refactor_s", factor) + factorizations * solve


def name_of(line, factorizations):
    """The order; "automatic" if it was found for this number of factorizations."""
    spec, _, options = line["order"].partition(":")
    made_for = dict(word.split("=", 1) for word in options.split(",") if "=" in word).get("factorizations", factorizations)
    return spec if spec == "automatic" and int(made_for) == factorizations else line["order"]


def regrets(lines):
    """{(program, threads, factorizations, family, whether the least total is large): {order: [regret of each input]}}."""
    totals = collections.defaultdict(dict)
    for line in lines:
        for k in FACTORIZATIONS:
            seconds = total(line, k)
            if seconds is not None:
                name = name_of(line, k)
                mine = totals[line["program"], line["threads"], k, line["family"], line["matrix"]]
                mine[name] = min(seconds, mine.get(name, math.inf))
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for (*where, _), mine in sorted(totals.items()):
        least = min(mine.values())
        for name, seconds in mine.items() if least > 0 else ():
            found[*where, least >= LEAST_S][name].append(seconds / least)
    return found


def of_all_families(found):
    """{(program, threads, factorizations): {order: [regret]}} of the inputs whose least total is large."""
    shown = collections.defaultdict(lambda: collections.defaultdict(list))
    for (program, threads, k, _, is_long), orders in found.items():
        for order, values in orders.items() if is_long else ():
            shown[program, threads, k][order] += values
    return shown


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def panel(axis, programs, shown):
    """shown: {program: {order: regrets}}."""
    for k, (series, (orders, colour, marker)) in enumerate(SERIES.items()):
        drawn = [(y + 0.15 * (k - 2), values) for y, program in enumerate(programs)
                 for values in [next((shown[program][o] for o in orders if o in shown[program]), None)] if values]
        for y, values in drawn:
            axis.plot([mean(values), max(values)], [y, y], color=colour, linewidth=0.8)
        axis.plot([mean(v) for _, v in drawn], [y for y, _ in drawn], marker, color=colour, markersize=3.5, label=series)
    axis.set(xscale="log", ylim=(len(programs) - 0.5, -0.5), xlim=(0.97, None), xlabel="regret")
    axis.set_yticks(range(len(programs)), [f"{NAMES[p]}, {threads} {'rank' if p == 'superlu_dist' else 'thread'}{'s' * (threads > 1)}"
                                           for p, threads in programs])
    dots.plain_log(axis.xaxis)


def draw(args):
    found = regrets(records.read_kind(args.records, "regret"))
    if not found:
        raise records.Absent("no lines of experiments/regret")
    shown = of_all_families(found)
    programs = [p for p in sorted({key[:2] for key in found}, key=lambda p: (list(NAMES).index(p[0]), p[1]))
                if max((len(v) for v in shown[*p, FACTORIZATIONS[-1]].values()), default=0) >= LEAST_INPUTS]
    fig, axes = plt.subplots(1, len(FACTORIZATIONS), squeeze=False, sharey=True, layout="constrained",
                             figsize=(9.5, 0.9 + 0.55 * len(programs)))
    for k, axis in zip(FACTORIZATIONS, axes[0]):
        panel(axis, programs, {p: shown[*p, k] for p in programs})
        axis.set_title(f"{k:,} factorization{'s' * (k > 1)}", fontsize=dots.TEXT)
    axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=dots.TEXT)
    style.save(fig, args.out, "regret", COLUMNS,
               [(*key[:4], ">= 20 ms" if key[4] else "< 20 ms", order, len(values), f"{mean(values):.3f}", f"{max(values):.2f}")
                for key, orders in sorted(found.items()) for order, values in sorted(orders.items())])


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
