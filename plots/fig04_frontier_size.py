"""Figure 4 of the paper: average frontier size of each source, over the source ID."""

import sys

import records
import style
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

    figure, axes = plt.subplots(
        1, len(panels), figsize=(4.2 * len(panels), 2.9), squeeze=False, layout="constrained"
    )
    rows = []
    for axis, r in zip(axes[0], panels.values()):
        sizes = r["series"]["frontier_size"]
        half = max(1, round(len(sizes) * WINDOW_SHARE / 2))
        means = moving_average(sizes, half)
        axis.plot(range(len(sizes)), sizes, color=style.GREYS[2], rasterized=True,
                  marker=".", markersize=1.6, linestyle="none", label="one source")
        axis.plot(range(len(sizes)), means, color=style.GREYS[0],
                  label=f"mean of {2 * half + 1} neighbouring sources")
        axis.set_title(f"{style.matrix_label(r)}, {r['ordering']['col']} order, {r['variant']}")
        axis.set_xlabel("source ID")
        axis.set_xlim(0, len(sizes) - 1)
        axis.set_ylim(bottom=0)
        rows += [(r["matrix"]["name"], r["variant"], k, f"{s:.6g}", f"{m:.6g}")
                 for k, (s, m) in enumerate(zip(sizes, means))]
    axes[0][0].set_ylabel("average frontier size")
    axes[0][0].legend(loc="upper left", markerscale=4)
    style.save(figure, args.out, "fig04_frontier_size",
               ("matrix", "variant", "source", "frontier_size", "moving_average"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
