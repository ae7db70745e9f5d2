"""Growth of the maxId search's edges, of the entries of L+U and of times on one core with the order, and fitted exponents."""

import math
import statistics
import sys

import records
import style
import style_dots as dots
from growth import FAMILIES, family

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
    runs = [r for r in records.read_runs(args.records)
            if r["experiment"] == "growth" and family(r["matrix"]["name"]) is not None]
    usable = style.accept(runs, args)
    series = {}
    for r in usable:
        k, n = family(r["matrix"]["name"]), r["matrix"]["n"]
        if r["counting"]:
            series.setdefault((k, QUANTITIES[0]), {})[n] = r["counters"]["edges_traversed"]
        elif r["samples_s"]:
            series.setdefault((k, r["variant"]), {})[n] = 1e3 * records.seconds(r)
            if r["variant"] == "cpu_bitmap_panels":
                series.setdefault((k, QUANTITIES[1]), {})[n] = r["result"]["nnz_l"] + r["result"]["nnz_u"]
    fits = {key: exponent(sorted(points.items())) for key, points in series.items()}
    if not any(fits.values()):
        raise records.Absent("no family in three sizes")
    panels = [(quantity, label) for quantity, label in ((QUANTITIES[0], "edges traversed by the maxId search"),
                                                        (QUANTITIES[2], "ms, cpu_bitmap_panels, one core"))
              if any(key[1] == quantity for key in series)]
    if not panels:
        raise records.Absent("neither edges of the maxId search nor times of cpu_bitmap_panels")
    fig, axes = style.row_of_axes(len(panels), height=3.2)
    for (quantity, label), axis in zip(panels, axes):
        ends = []
        for k, (_, name) in enumerate(FAMILIES):
            points = sorted(series.get((k, quantity), {}).items())
            if not points:
                continue
            fit = fits[(k, quantity)]
            axis.plot([n for n, _ in points], [v for _, v in points], marker=style.MARKERS[k], color=dots.COLOURS[k % 4],
                      markersize=4)
            ends.append((*points[-1], f"{name}: {fit:.2f}" if fit else name, dots.COLOURS[k % 4]))
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("order n")
        axis.set_ylabel(label)
        low, high = axis.get_xlim()
        axis.set_xlim(low, high * (high / low) ** 0.85)
        dots.names(axis, ends)
        axis.set_title("at the ends: fitted exponents", fontsize=dots.TEXT)
    rows = [(name, *(f"{fits[(k, q)]:.2f}" if fits.get((k, q)) else "-" for q in QUANTITIES))
            for k, (_, name) in enumerate(FAMILIES)]
    style.save(fig, args.out, "growth_fits", ("family", *QUANTITIES), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
