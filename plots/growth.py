"""Time of gpu_bitmap_panels per entry of L+U, over the order n, for generated families of growing size.

Times of counts only are drawn if records have them; a hollow marker: no run with digests has verified the counts. A time is a median of
at least two samples, without the first run of a process.
"""

import sys

import records
import style
import style_dots as dots

GENERATORS = {"grid7": "7-point", "grid27": "27-point", "circuit": "circuit", "elasticity3d": "elasticity",
              "dissected": "dissected"}
SIZES = ("n", "nx", "ny", "nz", "seed")


def family(name):
    """Generator and options of a generated matrix, all but its size, as text; None of other matrices."""
    generator, _, options = name.removeprefix("gen:").partition(":")
    if not name.startswith("gen:") or generator not in GENERATORS:
        return None
    return ", ".join([GENERATORS[generator], *sorted(o for o in options.split(",") if o.partition("=")[0] not in SIZES)])


def key(run):
    """What a run with digests verifies: the counts of a matrix at one commit on one machine."""
    return (run["matrix"]["sha256"], run["git"]["sha"], records.machine(run), run["result"]["nnz_l"], run["result"]["nnz_u"])


def counts_alone(run):
    return not {"digest", "pattern", "supernodes"} & set(run["wants"])


def draw(args):
    runs = [r for r in map(records.warm, records.read_runs(args.records))
            if r["variant"] == "gpu_bitmap_panels" and r["samples_s"] and "pattern" not in r["wants"]
            and not r["counting"] and family(r["matrix"]["name"]) is not None]
    verified = {key(r) for r in runs if r["status"] == "pass"}
    runs = [r for r in runs if len(r["samples_s"]) > 1]
    alone = [r for r in runs if counts_alone(r) and r["status"] == "unverified"]
    if alone:
        runs = records.accept(alone, "take", args.allow_mixed)
    else:
        runs = style.accept(runs, args)
    points = {}
    for r in runs:
        entries = r["result"]["nnz_l"] + r["result"]["nnz_u"]
        sure = r["status"] == "pass" or key(r) in verified
        points.setdefault(family(r["matrix"]["name"]), {})[r["matrix"]["sha256"]] = (r["matrix"]["n"], records.seconds(r), entries, sure)
    points = {k: sorted(v.values()) for k, v in points.items() if len({n for n, *_ in v.values()}) > 2}
    if not points:
        raise records.Absent("no family in several sizes")
    fig, (axis,) = style.row_of_axes(height=3.2)
    rows, ends = [], []
    for k, (name, mine) in enumerate(sorted(points.items())):
        values = [1e12 * seconds / entries for _, seconds, entries, _ in mine]
        colour = dots.COLOURS[k % 4]
        axis.plot([n for n, *_ in mine], values, color=colour)
        for (n, _, _, sure), v in zip(mine, values):
            axis.plot(n, v, marker=style.MARKERS[k % len(style.MARKERS)], color=colour, markersize=4, markerfacecolor=colour if sure else "white")
        ends.append((mine[-1][0], values[-1], name, colour))
        rows += [(name, n, entries, f"{1e3 * seconds:.4g}", f"{v:.4g}", "yes" if sure else "no") for (n, seconds, entries, sure), v in zip(mine, values)]
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
