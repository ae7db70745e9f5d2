"""Time of gpu_bitmap_panels per entry of L+U, over the order, for generated families of growing size."""

import sys

import records
import style
import style_dots as dots
import style_paper as paper

FAMILIES = (("grid7:", "7-point grid"), ("grid27:", "27-point grid"), ("grid7:oneway", "7-point grid, one-way"),
            ("circuit:", "circuit"), ("elasticity3d:", "elasticity"))


def family(name):
    """Index into FAMILIES, or None."""
    if not name.startswith("gen:"):
        return None
    spec = name.removeprefix("gen:")
    if spec.startswith("grid7:") and "oneway" in spec:
        return 2
    return next((k for k, (start, _) in enumerate(FAMILIES) if spec.startswith(start)), None)


def draw(args):
    runs = [r for r in records.read_runs(args.records)
            if r["variant"] == "gpu_bitmap_panels" and r["samples_s"] and "pattern" not in r["wants"]]
    points = {}
    for r in style.accept(runs, args):
        k = family(r["matrix"]["name"])
        if k is not None:
            entries = r["result"]["nnz_l"] + r["result"]["nnz_u"]
            points.setdefault(k, {})[r["matrix"]["n"]] = (records.seconds(r), entries)
    points = {k: v for k, v in points.items() if len(v) > 2}
    if not points:
        raise records.Absent("no family in several sizes")
    fig, (axis,) = paper.figure(height=3.2)
    rows, ends = [], []
    for k in sorted(points):
        ns = sorted(points[k])
        values = [1e12 * points[k][n][0] / points[k][n][1] for n in ns]
        axis.plot(ns, values, marker=style.MARKERS[k], color=dots.COLOURS[k % 4], markersize=4)
        ends.append((ns[-1], values[-1], FAMILIES[k][1], dots.COLOURS[k % 4]))
        rows += [(FAMILIES[k][1], n, points[k][n][1], f"{1e3 * points[k][n][0]:.4g}", f"{v:.4g}")
                 for n, v in zip(ns, values)]
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("order n")
    axis.set_ylabel("picoseconds per entry of L+U")
    low, high = axis.get_xlim()
    axis.set_xlim(low, high * 2.4)
    dots.names(axis, ends)
    style.save(fig, args.out, "growth", ("family", "n", "nnz_lu", "ms", "ps_per_entry"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
