"""Growth of the maxId search's edges, of the entries of L+U and of times on one core with the order, and fitted exponents."""

import math
import statistics
import sys

import records
import style
import style_dots as dots
from growth import family

QUANTITIES = ("edges of the maxId search", "entries of L+U", "cpu_bitmap_panels", "cpu_gilbert_peierls",
              "peer_superlu_dist")


def exponent(points):
    """Least squares of log value over log n; None for fewer than three sizes."""
    if len(points) < 3:
        return None
    xs, ys = [math.log(n) for n, _ in points], [math.log(v or 1) for _, v in points]
    mx, my = statistics.mean(xs), statistics.mean(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)


def draw(args):
    runs = [r for r in map(records.warm, records.read_runs(args.records))
            if r["experiment"] == "growth" and family(r["matrix"]["name"]) is not None]
    usable = style.accept(runs, args)
    series = {}  # {(family, quantity): {sha256 of a matrix: (n, value)}}
    for r in usable:
        name, matrix, n = family(r["matrix"]["name"]), r["matrix"]["sha256"], r["matrix"]["n"]
        if r["counting"]:
            series.setdefault((name, QUANTITIES[0]), {})[matrix] = n, r["counters"]["edges_traversed"]
        elif len(r["samples_s"]) > 1:
            series.setdefault((name, r["variant"]), {})[matrix] = n, 1e3 * records.seconds(r)
            if r["variant"] == "cpu_bitmap_panels":
                series.setdefault((name, QUANTITIES[1]), {})[matrix] = n, r["result"]["nnz_l"] + r["result"]["nnz_u"]
    fits = {key: exponent(sorted(points.values())) for key, points in series.items()}
    names = sorted({name for name, _ in series})
    if not any(fits.values()):
        raise records.Absent("no family in three sizes")
    panels = [(quantity, label) for quantity, label in ((QUANTITIES[0], "edges traversed by the maxId search"),
                                                        (QUANTITIES[2], "ms, cpu_bitmap_panels, one core"))
              if any(key[1] == quantity for key in series)]
    if not panels:
        raise records.Absent("neither edges of the maxId search nor times of cpu_bitmap_panels")
    fig, axes = style.row_of_axes(len(panels), height=3.2, width=8.6)
    for (quantity, label), axis in zip(panels, axes):
        ends = []
        for k, name in enumerate(names):
            points = sorted(series.get((name, quantity), {}).values())
            if not points:
                continue
            fit = fits[(name, quantity)]
            axis.plot([n for n, _ in points], [v for _, v in points], marker=style.MARKERS[k % len(style.MARKERS)],
                      color=dots.COLOURS[k % 4], markersize=4)
            ends.append((*points[-1], f"{name}: {fit:.2f}" if fit else name, dots.COLOURS[k % 4]))
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("order n")
        axis.set_ylabel(label)
        low, high = axis.get_xlim()
        axis.set_xlim(low, high * (high / low) ** 0.85)
        dots.names(axis, ends)
        axis.set_title("at the ends: fitted exponents", fontsize=dots.TEXT)
    rows = [(name, *(f"{fits[(name, q)]:.2f}" if fits.get((name, q)) else "-" for q in QUANTITIES)) for name in names]
    style.save(fig, args.out, "growth_fits", ("family", *QUANTITIES), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
