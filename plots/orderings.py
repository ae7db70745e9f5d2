"""Orderings of the same matrices, one panel per machine: operations of the factorization against the time of the order, both
over METIS's on the same machine (one core, default options). A small point is one matrix, a large point the geometric mean;
left of 1: fewer operations, below 1: less time. Records: lines of `gsofa order`."""

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


def cases(sources):
    """{(machine id, processor): {order: {matrix: line}}} of the last lines; Refused if threads of one order differ on a machine.
    Copies of one virtual machine have one id on any processor."""
    machines = {}
    for r in records.read_orders(sources):
        if r["order"] not in LEFT_OUT:
            machines.setdefault((r["machine"]["id"], r.get("cpu", "")), {}).setdefault(r["order"], {})[r["matrix"]["name"]] = r
    for found in machines.values():
        for order, by_matrix in found.items():
            if len({r["threads"] for r in by_matrix.values()}) > 1:
                raise records.Refused(f"records of {order} are of different numbers of threads")
    return machines


def name_of(found):
    """Of a machine: its GPU where an order used one."""
    return next((g["name"] for lines in found.values() for r in lines.values() for g in r.get("gpus", [])), "processor")


def ratios(line, base):
    """Time, entries, operations and height over those of METIS."""
    of, by = line["result"], base["result"]
    return (records.seconds(line) / records.seconds(base), (of["nnz_l"] + of["nnz_u"]) / (by["nnz_l"] + by["nnz_u"]),
            of["flops"] / by["flops"], of["height"] / by["height"])


def draw(args):
    panels = []
    for machine, found in cases(args.records).items():
        base = found.get(BASE, {})
        series = {order: {m: ratios(r, base[m]) for m, r in lines.items() if m in base and base[m]["result"]["flops"] > 0}
                  for order, lines in sorted(found.items()) if order != BASE}
        series = {order: points for order, points in series.items() if points}
        if series:
            panels.append((machine, found, series))
    if not panels:
        raise records.Absent("no orders except METIS's")
    names = sorted({order for _, _, series in panels for order in series})
    fig, axes = plt.subplots(1, len(panels), figsize=(1 + 3 * len(panels), 4.4), layout="constrained", squeeze=False, sharey=True)
    rows = []
    for axis, (machine, found, series) in zip(axes[0], panels):
        axis.axhline(1, color="black", linewidth=0.8)
        axis.axvline(1, color="black", linewidth=0.8)
        for order, points in series.items():
            k = names.index(order)
            colour, marker = dots.COLOURS[k % len(dots.COLOURS)], style.MARKERS[k % len(style.MARKERS)]
            times, flops = [p[0] for p in points.values()], [p[2] for p in points.values()]
            axis.plot(flops, times, marker, color=colour, markersize=2.6, alpha=0.55, markeredgewidth=0)
            middle = geomean(flops), geomean(times)
            threads = next(iter(found[order].values()))["threads"]
            axis.plot(*middle, marker, color=colour, markersize=9, markeredgecolor="white",
                      label=order.replace(":", "\n") + (f", {threads} threads" if threads > 1 else "") +
                      f" ({len(points)}): {middle[0]:.3g}, {middle[1]:.3g}")
            for m, p in points.items():
                line = found[order][m]
                rows.append((*machine, order, m, line["matrix"]["n"], line["threads"], records.seconds(line),
                             *(f"{x:.6g}" for x in p)))
            rows.append((*machine, order, "geometric mean", "", "", "",
                         *(f"{geomean([p[i] for p in points.values()]):.6g}" for i in range(4))))
        for one in (axis.xaxis, axis.yaxis):
            one.axes.set(**{f"{one.axis_name}scale": "log"})
            one.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
            one.set_major_formatter(ticker.FormatStrFormatter("%g"))
            one.set_minor_formatter(ticker.NullFormatter())
        axis.set(xlabel="operations over METIS's", title=name_of(found))
        axis.legend(title="order (matrices): means of operations, time", loc="upper center", bbox_to_anchor=(0.5, -0.16),
                    fontsize=7, title_fontsize=7)
    axes[0][0].set(ylabel="time over METIS's on one core")
    style.save(fig, args.out, "orderings", ("machine", "cpu", "order", "matrix", "n", "threads", "seconds", "time ratio",
                                            "nnz ratio", "flops ratio", "height ratio"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
