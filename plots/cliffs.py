"""Cliffs: a dot per generated input, its ratio over the order n, in the colour of its family. Left: time of one core over time of
the GPU, first runs. Right: operations in the order `automatic` over those in the better of METIS and AMD. Lines are the limits
of experiments/cliffs. Records: panels.csv and orders.csv of that study, also one of them."""

import csv
import sys

import records
import style
from matplotlib import ticker
from style import plt

sys.path.append(str(records.ROOT))
from experiments.cliffs import cliffs as study  # noqa: E402

COLOURS = ("#1b2a6b", "#1a8a85", "#d08a00", "#a02860", "#8a8a8a", "#5b8c2a", "#6a5acd")
ORDER = study.ORDERS[0]
# By the columns of a table: what it shows, its ratio (None: the input has none), the limit, and the n from which the limit holds.
PARTS = {study.PANELS: ("one core / GPU", study.speedup, study.LEAST_SPEEDUP, study.LEAST_N),
         study.OPERATIONS: (f"operations: {ORDER} / better of METIS and AMD", lambda r: study.over_better(r, ORDER),
                            study.MOST_OPERATIONS, 0)}


def tables(files):
    """{columns: rows (family, input, n, ratio)} of the files that are tables of the study; Refused where a table names an input twice."""
    found = {}
    for file in files:
        if file.suffix != ".csv":
            continue
        with open(file, newline="", encoding="utf-8") as f:
            table = csv.DictReader(f)
            columns = tuple(table.fieldnames or ())
            rows = found.setdefault(columns, {}) if columns in PARTS else {}
            for r in table if columns in PARTS else ():
                if r["input"] in rows:
                    raise records.Refused(f"{file} names {r['input']} twice")
                if ratio := PARTS[columns][1](r):
                    rows[r["input"]] = (r["family"], r["input"], int(r["n"]), ratio)
    if not any(found.values()):
        raise records.Absent("no table of the study of cliffs")
    return {columns: list(found[columns].values()) for columns in PARTS if found.get(columns)}


def draw(args):
    found = tables(args.records)
    families = sorted({row[0] for rows in found.values() for row in rows})
    fig, axes = plt.subplots(1, len(found), figsize=(1.6 + 3.4 * len(found), 3.6), layout="constrained", squeeze=False)
    for axis, (columns, rows) in zip(axes[0], found.items()):
        label, _, limit, least_n = PARTS[columns]
        for k, name in enumerate(families):
            mine = [row for row in rows if row[0] == name]
            axis.plot([row[2] for row in mine], [row[3] for row in mine], style.MARKERS[k // len(COLOURS)], markersize=3.5, alpha=0.8,
                      color=COLOURS[k % len(COLOURS)], markeredgewidth=0, label=name)
        axis.set(xscale="log", yscale="log", xlabel="order n", ylabel=label)
        low, high = axis.get_xlim()
        axis.plot([max(low, least_n), high], [limit, limit], color="black", linewidth=0.9)
        axis.set_xlim(low, high)
        axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
        axis.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=6.5, handletextpad=0.1, labelspacing=0.25)
    style.save(fig, args.out, "cliffs", ("ratio of", "family", "input", "n", "ratio"),
               [(PARTS[columns][0], *row[:3], f"{row[3]:.4g}") for columns, rows in found.items() for row in rows])


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
