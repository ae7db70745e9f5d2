"""All orders of the same inputs in one panel: operations of the factorization against the time of the order, both over
METIS's on one core. A small point is one input, a large point the geometric mean. Records: tables with the columns input,
order, threads, time_over_metis and operations_over_metis."""

import csv
import sys

import records
import style
from matplotlib import ticker
from orderings import geomean
from style import plt

COLOURS = ("#8a8a8a", "#b5651d", "#5b8c2a", "#a02860", "#6a5acd", "#333333", "#1a8a85", "#d08a00")
MARKERS = ("o", "v", "P", "D", "X", "*", "s", "^")
OURS = ("cpu_nested_dissection", "gpu_nested_dissection")
COLUMNS = ["input", "order", "threads", "time_over_metis", "operations_over_metis"]


def series_of(files):
    """{(order, threads): {input: (time, operations)}} of the files that are such tables, ours last; Refused where an input is
    named twice."""
    found = {}
    for file in files:
        with open(file, newline="") as f:
            table = csv.DictReader(f)
            for r in table if table.fieldnames == COLUMNS else ():
                points = found.setdefault((r["order"], int(r["threads"])), {})
                if r["input"] in points:
                    raise records.Refused(f"{file} names {r['input']} twice for {r['order']}")
                points[r["input"]] = float(r["time_over_metis"]), float(r["operations_over_metis"])
    if not found:
        raise records.Absent("no table of orders")
    if len(found) > len(MARKERS):
        raise records.Refused(f"{len(found)} orders, at most {len(MARKERS)} can be told apart")
    return dict(sorted(found.items(), key=lambda s: (s[0][0] in OURS, s[0])))


def draw(args):
    fig, axis = plt.subplots(figsize=(7, 4.6), layout="constrained")
    axis.axhline(1, color="black", linewidth=0.8)
    axis.axvline(1, color="black", linewidth=0.8)
    rows = []
    for k, ((order, threads), points) in enumerate(series_of(args.records).items()):
        times, operations = zip(*points.values())
        axis.plot(operations, times, MARKERS[k], color=COLOURS[k], markersize=3.2, alpha=0.5, markeredgewidth=0)
        middle = geomean(operations), geomean(times)
        on = f", {threads} threads" if threads > 1 and order != OURS[1] else ""
        axis.plot(*middle, MARKERS[k], color=COLOURS[k], markersize=10, markeredgecolor="white",
                  label=f"{order}{on}: {middle[0]:.3g}, {middle[1]:.3g}")
        rows.append((order, threads, len(points), f"{middle[0]:.4g}", f"{middle[1]:.4g}"))
    for one in (axis.xaxis, axis.yaxis):
        one.axes.set(**{f"{one.axis_name}scale": "log"})
        one.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        one.set_major_formatter(ticker.FormatStrFormatter("%g"))
        one.set_minor_formatter(ticker.NullFormatter())
    axis.set(xlabel="operations over METIS's", ylabel="time over METIS's on one core")
    axis.legend(title="order: means of operations, time", loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=7, title_fontsize=7)
    style.save(fig, args.out, "all_orders", ("order", "threads", "inputs", "operations", "time"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
