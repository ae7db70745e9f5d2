"""Time of gpu_bitmap_panels per entry of L+U, over the order n, for generated families of growing size.

Times of counts only are drawn if records have them; a hollow marker: no run with digests has verified the counts.
"""

import sys

import records
import style
import style_dots as dots

FAMILIES = (("grid7:", "7-point grid"), ("grid27:", "27-point grid"), ("grid7:oneway", "7-point grid, one-way"),
            ("circuit:", "circuit"), ("elasticity3d:", "elasticity"))


def family(name):
    """Index into FAMILIES, or None."""
    if not name.startswith("gen:"):
        return None
    spec = name.removeprefix("gen:")
    if spec.startswith("dissected:"):
        return 4 if "dof=3" in spec else 1 if "stencil=27" in spec else 2 if "oneway" in spec else 0
    if spec.startswith("grid7:") and "oneway" in spec:
        return 2
    return next((k for k, (start, _) in enumerate(FAMILIES) if spec.startswith(start)), None)


def key(run):
    """What a run with digests verifies: the counts of a matrix at one commit on one machine."""
    return (run["matrix"]["name"], run["git"]["sha"], records.machine(run), run["result"]["nnz_l"], run["result"]["nnz_u"])


def counts_alone(run):
    return not {"digest", "pattern", "supernodes"} & set(run["wants"])


def draw(args):
    runs = [r for r in records.read_runs(args.records)
            if r["variant"] == "gpu_bitmap_panels" and r["samples_s"] and "pattern" not in r["wants"]
            and not r["counting"] and family(r["matrix"]["name"]) is not None]
    verified = {key(r) for r in runs if r["status"] == "pass"}
    alone = [r for r in runs if counts_alone(r) and r["status"] == "unverified"]
    if alone:
        runs = records.accept(alone, "take", args.allow_mixed)
    else:
        runs = style.accept(runs, args)
    points = {}
    for r in runs:
        entries = r["result"]["nnz_l"] + r["result"]["nnz_u"]
        sure = r["status"] == "pass" or key(r) in verified
        points.setdefault(family(r["matrix"]["name"]), {})[r["matrix"]["n"]] = (records.seconds(r), entries, sure)
    points = {k: v for k, v in points.items() if len(v) > 2}
    if not points:
        raise records.Absent("no family in several sizes")
    fig, (axis,) = style.row_of_axes(height=3.2)
    rows, ends = [], []
    for k in sorted(points):
        ns = sorted(points[k])
        values = [1e12 * points[k][n][0] / points[k][n][1] for n in ns]
        colour = dots.COLOURS[k % 4]
        axis.plot(ns, values, color=colour)
        for n, v in zip(ns, values):
            axis.plot(n, v, marker=style.MARKERS[k], color=colour, markersize=4,
                      markerfacecolor=colour if points[k][n][2] else "white")
        ends.append((ns[-1], values[-1], FAMILIES[k][1], colour))
        rows += [(FAMILIES[k][1], n, points[k][n][1], f"{1e3 * points[k][n][0]:.4g}", f"{v:.4g}",
                  "yes" if points[k][n][2] else "no") for n, v in zip(ns, values)]
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("order n")
    axis.set_ylabel("picoseconds per entry of L+U")
    low, high = axis.get_xlim()
    axis.set_xlim(low, high * 2.4)
    axis.set_ylim(bottom=axis.get_ylim()[0] / 1.6)  # for names next to the lowest points
    dots.names(axis, ends)
    style.save(fig, args.out, "growth", ("family", "n", "nnz_lu", "ms", "ps_per_entry", "verified"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
