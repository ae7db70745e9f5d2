"""Figure 4 of the paper: average frontier size of each source, over the source ID, and on real matrices how it grows
with the source."""

import sys

from matplotlib import ticker

import records
import style
import style_dots as dots
import style_paper as paper
from style import plt

EXPERIMENT = "fig04_frontier_size"
WINDOW_SHARE = 0.02  # of all sources, for the moving average


def moving_average(values, half):
    """Mean over [k - half, k + half], cut at the ends."""
    sums = [0.0]
    for v in values:
        sums.append(sums[-1] + v)
    n = len(values)
    means = []
    for k in range(n):
        begin, end = max(0, k - half), min(n, k + half + 1)
        means.append((sums[end] - sums[begin]) / (end - begin))
    return means


def ratio_of(values):
    """Largest over smallest positive value, or None."""
    positive = [v for v in values if v > 0]
    return max(values) / min(positive) if positive else None


def strips(figure, grid, measured, population, rows):
    """What the paper says of both matrices, on real ones: correlation of frontier size and source, largest over smallest."""
    numbers = paper.Paper()
    for k, (measure, label, log, stated) in enumerate((
            ("median(all, series_rank(frontier_size, cpu_maxid))", "rank correlation\nwith the source", False, {}),
            ("median(all, series_max(frontier_size, cpu_maxid) / series_min(frontier_size, cpu_maxid))",
             "largest over\nsmallest source", True, numbers.series(EXPERIMENT, "ratio")))):
        axis = figure.add_subplot(grid[k])
        series = dots.Series("", paper.expression(measure).evaluate(measured), stated,
                             real=paper.expression(measure).evaluate(population, population.matrices()))
        dots.fit(axis, [series], log, () if log else (0, 1))
        rows += [(name, label.replace("\n", " "), "", f"{e.number:.6g}", "") for name, e in series.real.each.items()]
        dots.strip(axis, [series])
        axis.tick_params(axis="y", labelleft=True, labelsize=dots.TEXT, pad=1)
        axis.set_title(label, fontsize=dots.TEXT)
        axis.set_xlim(-0.55, 1.1)
        for name, e in series.value.each.items():
            dots.point(axis, 0.66, e, dots.COLOURS[1], "s", not measured.is_stand_in(name))
            axis.annotate(f" {name}", (0.72, e.number), fontsize=dots.TEXT, color=dots.COLOURS[1], va="center")
            if name in stated:
                dots.stated(axis, 0.66, stated[name])


def draw(args):
    runs = [
        r for r in records.read_runs(args.records)
        if r["experiment"] == EXPERIMENT and r.get("series", {}).get("frontier_size")
    ]
    if not runs:
        raise records.Absent(f"{records.named(args.records)} has no frontier sizes of {EXPERIMENT}")
    panels = {}
    for r in style.accept(runs, args):
        # The last record of a matrix counts.
        panels[(r["matrix"]["name"], r["variant"])] = r
    if not panels:
        raise records.Refused(f"{records.named(args.records)}: no record of {EXPERIMENT} was verified")

    stated = paper.Paper().series(EXPERIMENT, "ratio")
    figure = plt.figure(figsize=(6.6, 2.7), layout="constrained")
    beside = 2 if args.population else 0
    grid = figure.add_gridspec(1, len(panels) + beside, width_ratios=[1] * len(panels) + [0.55] * beside)
    rows = []
    for k, r in enumerate(panels.values()):
        axis = figure.add_subplot(grid[k])
        sizes = r["series"]["frontier_size"]
        half = max(1, round(len(sizes) * WINDOW_SHARE / 2))
        means = moving_average(sizes, half)
        axis.plot(range(len(sizes)), sizes, color="#9aa3c7", rasterized=True, marker=".", markersize=1.6, linestyle="none")
        axis.plot(range(len(sizes)), means, color=dots.COLOURS[0])
        axis.set_title(f"{style.matrix_label(r)},\n{r['ordering']['col']} order, {r['variant']}", fontsize=dots.TEXT)
        ratio, of_paper = ratio_of(sizes), stated.get(records.abbreviation(r["matrix"]["name"]))
        if ratio:
            axis.annotate(f"largest / smallest: {style.short(ratio)}" + (f"\npaper: {style.short(of_paper)}" if of_paper else ""),
                          (0.02, 0.97), xycoords="axes fraction", fontsize=dots.TEXT, va="top")
        axis.set_xlabel(f"source ID; line: mean\nof {2 * half + 1} neighbours", fontsize=dots.TEXT)
        axis.tick_params(labelsize=dots.TEXT)
        axis.xaxis.set_major_locator(ticker.MaxNLocator(4))
        axis.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))
        axis.set_xlim(0, len(sizes) - 1)
        axis.set_ylim(0, 1.15 * max(sizes) or 1)
        if k == 0:
            axis.set_ylabel("average frontier size")
        rows += [(r["matrix"]["name"], r["variant"], i, f"{s:.6g}", f"{mean:.6g}")
                 for i, (s, mean) in enumerate(zip(sizes, means))]
    if args.population:
        strips(figure, [grid[len(panels)], grid[len(panels) + 1]], records.Measured(args.records, mixed=args.allow_mixed),
               records.Measured(args.population, mixed=args.allow_mixed, population=True), rows)
    style.save(figure, args.out, "fig04_frontier_size",
               ("matrix", "variant", "source", "frontier_size", "moving_average"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
