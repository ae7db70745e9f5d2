"""Time per step over the share of the rows that changed: analyzer.update(), a new order at every step, METIS, AMD and Parth.

One panel for each family of rewired meshes (experiments/sequences); a point is a sequence, its mean over all steps except the
first pattern. Thin lines: only the steps at which update() computed no new order. Records: lines of run.py and, for Parth, a
table with the columns sequence, step and parth_cpu_s. Times of one thread are CPU seconds, all others wall seconds.
"""

import collections
import csv
import re
import statistics
import sys

import records
import style
import style_dots as dots

FAMILY = re.compile(r"(.*)_\d+")  # rewired2_001 belongs to rewired2
TITLES = {"rewired2": "triangles, n = 100,000", "rewired3": "tetrahedra, n = 100,000"}
# series: its colour, line and marker; those of update() have thin lines too
LOOKS = {"METIS": ("#8a8a8a", ":", "s"), "AMD": ("#8a8a8a", "--", "^"), "Parth": (dots.COLOURS[3], "--", "D"),
         "new order": (dots.COLOURS[2], ":", "v"), "update": (dots.COLOURS[0], "-", "o"), "update, GPU": (dots.COLOURS[1], "-", "P")}
COLUMNS = ("sequence", "rows_changed", "series", "threads", "ms_per_step", "operations_over_new_order")


THIN = ", adapted"  # ends the name of a thin line


def milliseconds(steps, name, cpu):
    """Mean over the steps."""
    return 1e3 * statistics.fmean(s[f"{name}_cpu_s" if cpu else f"{name}_s"] for s in steps)


def worst(steps, name):
    """The largest ratio of operations to those of the new order of the same step."""
    return max(s[f"{name}_operations"] / s["new_operations"] for s in steps if s["new_operations"])


def points_of(lines):
    """[(sequence, share of rows changed, series, threads, ms, operations)] of the records of sequences with a family."""
    found = []
    for line in lines:
        name, steps = line["sequence"]["name"], line["steps"][1:]
        if line["sequence"]["kind"] != "rewired" or not FAMILY.fullmatch(name) or not steps:
            continue
        share = statistics.fmean(s["rows_changed"] / s["n"] for s in steps)
        gpu, threads = line["device"] == "gpu", line["threads"]
        cpu = threads == 1 and not gpu  # the host's share of the work on a GPU is not the time of a thread
        own = "update, GPU" if gpu else "update"
        adapted = [s for s in steps if not s["compared"] and s["change"] != "new_order"]
        series = [(own, "update", steps), (own + THIN, "update", adapted)]
        if cpu:
            series += [(title, key, steps) for title, key in (("new order", "new"), ("METIS", "metis"), ("AMD", "amd"))
                       if f"{key}_s" in steps[0]]
        found += [(name, share, title, threads, milliseconds(of, key, cpu), worst(of, key)) for title, key, of in series if of]
    return found


def of_parth(tables, shares):
    """The same for tables of Parth's times, on sequences whose share is known."""
    times = collections.defaultdict(list)
    for path in tables:
        with open(path, newline="", encoding="utf-8") as f:
            for row in csv.DictReader(f):
                if int(row["step"]) > 0:
                    times[row["sequence"]].append(float(row["parth_cpu_s"]))
    return [(name, shares[name], "Parth", 1, 1e3 * statistics.fmean(t), "") for name, t in times.items() if name in shares]


def draw(args):
    tables = [path for path in args.records if path.suffix == ".csv"]
    points = points_of(records.read_sequences(path for path in args.records if path not in tables))
    if not points:
        raise records.Absent("no sequences of a family in several shares")
    points += of_parth(tables, {name: share for name, share, *_ in points})
    families = sorted({FAMILY.fullmatch(p[0])[1] for p in points})
    fig, axes = style.row_of_axes(len(families), height=3.2, width=7)
    for family, axis in zip(families, axes):
        mine = [p for p in points if FAMILY.fullmatch(p[0])[1] == family]
        ends = []
        for series in LOOKS:
            colour, line, marker = LOOKS[series]
            for threads in sorted({p[3] for p in mine if p[2] == series}):
                drawn = sorted((p[1], p[4]) for p in mine if p[2:4] == (series, threads))
                thin = sorted((p[1], p[4]) for p in mine if p[2:4] == (series + THIN, threads))
                if thin:
                    axis.plot(*zip(*thin), color=colour, linewidth=0.6, marker=marker, markersize=2)
                    ends.append((*thin[-1], f"{series}{THIN}", colour))
                axis.plot(*zip(*drawn), marker=marker, color=colour, linestyle=line, markersize=4,
                          markerfacecolor="white" if threads > 1 and series == "update" else colour)
                ends.append((*drawn[-1], f"{series}, {threads} threads" if threads > 1 and series == "update" else series, colour))
        axis.set(xscale="log", yscale="log", xlabel="share of the rows that changed", title=TITLES.get(family, family))
        axis.xaxis.set_major_formatter(lambda v, _: f"{100 * v:g} %")
        low, high = axis.get_xlim()
        axis.set_xticks([x for x in (1e-4, 1e-3, 1e-2, 1e-1, 1) if low <= x <= high])
        axis.set_xticks([], minor=True)
        axis.set_xlim(low, high * (high / low) ** 0.45)  # room for names
        dots.names(axis, ends)
    axes[0].set_ylabel("ms per step")
    rows = [(name, f"{share:.6f}", series, threads, f"{ms:.4g}", f"{ops:.4f}" if ops else "")
            for name, share, series, threads, ms, ops in sorted(points)]
    style.save(fig, args.out, "sequences", COLUMNS, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
