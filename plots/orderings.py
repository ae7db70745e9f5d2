"""Orderings of the same matrices: operations of the factorization against the time of the order, both over METIS's (one
core, default options). A small point is a matrix, a large one the geometric mean; left of 1 fewer operations, below 1 less
time. Records: lines of `gsofa order`."""

import math
import statistics
import sys

import records
import style
import style_dots as dots
from matplotlib import ticker
from style import plt

BASE = "metis"
LEFT_OUT = ("natural",)  # not fill-reducing


def geomean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def cases(sources, mixed):
    """{order: {matrix: line}} of the last lines; Refused if they are of several machines or threads of one order differ."""
    found = {}
    lines = [r for r in records.read_orders(sources) if r["order"] not in LEFT_OUT]
    for r in lines:
        if not mixed and r["machine"]["id"] != lines[-1]["machine"]["id"]:
            raise records.Refused(f"{r.place}: the records are from several machines")
        found.setdefault(r["order"], {})[r["matrix"]["name"]] = r
    for order, by_matrix in found.items():
        if len({r["threads"] for r in by_matrix.values()}) > 1:
            raise records.Refused(f"records of {order} are of different numbers of threads")
    return found


def ratios(line, base):
    """Time, entries, operations and height over those of METIS."""
    of, by = line["result"], base["result"]
    return (records.seconds(line) / records.seconds(base), (of["nnz_l"] + of["nnz_u"]) / (by["nnz_l"] + by["nnz_u"]),
            of["flops"] / by["flops"], of["height"] / by["height"])


def draw(args):
    found = cases(args.records, args.allow_mixed)
    base = found.pop(BASE, {})
    series = {order: {m: ratios(r, base[m]) for m, r in lines.items() if m in base and base[m]["result"]["flops"] > 0}
              for order, lines in sorted(found.items())}
    series = {order: points for order, points in series.items() if points}
    if not series:
        raise records.Absent("no orders beside METIS's")
    fig, axis = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
    axis.axhline(1, color="black", linewidth=0.8)
    axis.axvline(1, color="black", linewidth=0.8)
    rows = []
    for k, (order, points) in enumerate(series.items()):
        colour, marker = dots.COLOURS[k % len(dots.COLOURS)], style.MARKERS[k % len(style.MARKERS)]
        times, flops = [p[0] for p in points.values()], [p[2] for p in points.values()]
        axis.plot(flops, times, marker, color=colour, markersize=2.6, alpha=0.55, markeredgewidth=0)
        middle = geomean(flops), geomean(times)
        axis.plot(*middle, marker, color=colour, markersize=9, markeredgecolor="white",
                  label=f"{order} ({len(points)}): {middle[0]:.3g}, {middle[1]:.3g}")
        for m, p in points.items():
            rows.append((order, m, found[order][m]["matrix"]["n"], found[order][m]["threads"], records.seconds(found[order][m]),
                         *(f"{x:.6g}" for x in p)))
        rows.append((order, "geometric mean", "", "", "", *(f"{geomean([p[i] for p in points.values()]):.6g}" for i in range(4))))
    for one in (axis.xaxis, axis.yaxis):
        one.axes.set(**{f"{one.axis_name}scale": "log"})
        one.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        one.set_major_formatter(ticker.FormatStrFormatter("%g"))
        one.set_minor_formatter(ticker.NullFormatter())
    axis.set(xlabel="operations over METIS's", ylabel="time over METIS's")
    axis.legend(title="order (matrices): means of operations, time", loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=7,
                title_fontsize=7)
    style.save(fig, args.out, "orderings", ("order", "matrix", "n", "threads", "seconds", "time ratio", "nnz ratio", "flops ratio",
                                            "height ratio"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
