"""Figure 4 of the paper: average frontier size of each source of gpu_maxid, 1,024 at a time, over the source ID (of
cpu_maxid if only cpu_maxid was recorded), and its correlation with the source on real matrices."""

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


SIZES = "frontier_size, gpu_maxid, concurrent_sources=1024"
# (expression, title, logarithmic, series of the paper's values) of the values compared with real matrices.
BESIDE = ((f"median(all, series_rank({SIZES}))", "rank correlation\nwith the source", False, ""),
          (f"median(all, series_max({SIZES}) / series_min({SIZES}))", "largest over\nsmallest source", True, "ratio"))


def strip_of(axis, measured, series, title, log):
    """The real matrices, with BC and TT and the paper's values next to them; rows for the CSV."""
    dots.fit(axis, [series], log, () if log else (0, 1))
    dots.strip(axis, [series])
    axis.tick_params(axis="y", labelleft=True, labelsize=dots.TEXT, pad=1)
    axis.set_title(title, fontsize=dots.TEXT)
    axis.set_xlim(-0.55, 1.1)
    for name, e in series.value.each.items():
        dots.point(axis, 0.66, e, dots.COLOURS[1], "s", not measured.is_stand_in(name))
        axis.annotate(f"  {name}", (0.72, e.number), fontsize=dots.TEXT, color=dots.COLOURS[1], va="center")
        if name in series.paper:
            dots.stated(axis, 0.66, series.paper[name])
    return [(name, title.replace("\n", " "), "", f"{e.number:.6g}", "") for name, e in series.real.each.items()]


def beside(args):
    """[(Measured, Series, title, logarithmic)] of BESIDE that there are real matrices for."""
    if not args.population:
        return []
    m = paper.Measured(args)
    found = [(m, m.series("", measure, paper.Paper().series(EXPERIMENT, stated)), title, log)
             for measure, title, log, stated in BESIDE]
    for _, series, _, _ in found:
        series.value.each = {name: e for name, e in series.value.each.items() if name in ("BC", "TT")}
    return [f for f in found if f[1].real]


def with_sizes(args):
    """The last run of each matrix with the frontier size of every source: of gpu_maxid as the claims have it, or else of
    cpu_maxid."""
    runs = [r for r in records.read_runs(args.records) if r["experiment"] == EXPERIMENT and
            r.get("series", {}).get("frontier_size") and not records.is_replaced(r)]
    if not runs:
        raise records.Absent(f"{records.named(args.records)} has no frontier sizes of {EXPERIMENT}")
    judged = [r for r in runs if r["variant"] == "gpu_maxid" and r["options"].get("concurrent_sources") == 1024]
    of = {r["matrix"]["name"]: r for r in style.accept(judged or runs, args)}
    if not of:
        raise records.Refused(f"{records.named(args.records)}: no record of {EXPERIMENT} was verified")
    return of.values()


def sources(axis, r, of_paper):
    """Every source of a run as a dot, and their moving average; rows for the CSV."""
    sizes = r["series"]["frontier_size"]
    half = max(1, round(len(sizes) * WINDOW_SHARE / 2))
    means = moving_average(sizes, half)
    axis.plot(range(len(sizes)), sizes, color="#9aa3c7", rasterized=True, marker=".", markersize=1.6, linestyle="none")
    axis.plot(range(len(sizes)), means, color=dots.COLOURS[0])
    axis.set_title(f"{style.matrix_label(r)},\n{r['ordering']['col'].upper()} order, {r['variant']}", fontsize=dots.TEXT)
    ratio = ratio_of(sizes)
    if ratio:
        said = f"\npaper: {style.short(of_paper)}" if of_paper else ""
        axis.annotate(f"largest / smallest: {style.short(ratio)}{said}",
                      (0.02, 0.97), xycoords="axes fraction", fontsize=dots.TEXT, va="top")
    axis.set_xlabel(f"source ID; line: mean\nof {2 * half + 1:,} neighbours", fontsize=dots.TEXT)
    axis.tick_params(labelsize=dots.TEXT)
    axis.xaxis.set_major_locator(ticker.MaxNLocator(4))
    axis.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))
    axis.set_xlim(0, len(sizes) - 1)
    axis.set_ylim(0, 1.15 * max(sizes) or 1)
    return [(r["matrix"]["name"], r["variant"], i, f"{s:.6g}", f"{mean:.6g}") for i, (s, mean) in enumerate(zip(sizes, means))]


def draw(args):
    panels = with_sizes(args)
    stated = paper.Paper().series(EXPERIMENT, "ratio")
    figure = plt.figure(figsize=(6.6, 2.7), layout="constrained")
    others = beside(args)
    grid = figure.add_gridspec(1, len(panels) + len(others), width_ratios=[1] * len(panels) + [0.55] * len(others))
    rows = []
    for k, r in enumerate(panels):
        axis = figure.add_subplot(grid[k])
        rows += sources(axis, r, stated.get(records.abbreviation(r["matrix"]["name"])))
        if k == 0:
            axis.set_ylabel("average frontier size")
    for k, (m, series, title, log) in enumerate(others):
        rows += strip_of(figure.add_subplot(grid[len(panels) + k]), m, series, title, log)
    style.save(figure, args.out, "fig04_frontier_size",
               ("matrix", "variant", "source", "frontier_size", "moving_average"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
