"""How many times as fast as SuperLU_DIST's symbfact on one core the panels are, by nnz(L+U): above on one GPU, below on one core.
A dot is one matrix in one order, analysed for the first time in a warm process, both times from one host; the median of the hosts
that measured it. Times on the GPU are those of the entire run, with the digests of rows, which only verification needs. Without
--records: the picture of the README, headline.png next to this script, from committed records."""

import math
import statistics
import sys
from pathlib import Path

from PIL import Image

import records
import records_ratios as ratios
import style
import style_dots as dots
import style_kinds as kinds
from style import plt

HERE = Path(__file__).resolve().parent
FOLDER = records.ROOT / "experiments" / "records"
COMMITTED = sorted(FOLDER.glob("*_campaign_*"))
BASE = ratios.case("peer_superlu_dist", "time", relax=1)
SERIES = {"gpu_bitmap_panels": ("one GPU", ratios.case("gpu_bitmap_panels", "time")),
          "cpu_bitmap_panels": ("one core", ratios.case("cpu_bitmap_panels", "time", threads=1))}
FEWEST = 3  # inputs of a mean, of a median, and of a figure
LARGE = 10000  # rows
MEDIANS = {"real": ("black", 0.985, "top"), "finite elements": ("#d55e00", 0.015, "bottom")}  # of decades: colour and place of the text
HEADER = ("variant", "kind", "matrix", "n", "nnz_lu", "hosts", "times_symbfact", "low", "high")
MEANS = ("variant", "group", "inputs", "geometric mean", "low", "high", "median", "least", "most")


class Inputs(ratios.Table):
    """Runs of new patterns (all runs, if the records are older than that distinction), and the size of each matrix."""

    def __init__(self, args):
        super().__init__(args)
        self.runs = [r for r in self.runs if r.get("trials", {}).get("sampling")] or self.runs
        self.size = {r["matrix"]["name"]: r["result"]["nnz_l"] + r["result"]["nnz_u"] for r in self.runs if r["status"] == "pass"}

    def speeds(self, case, base=BASE):
        """Quantity: time of `base` over that of `case`, on matrices of verified size."""
        found = self.ratio(base, case)
        return ratios.Quantity({m: v for m, v in found.each.items() if m in self.size})

    def large(self, quantity):
        """The same of matrices with LARGE rows or more."""
        return ratios.Quantity({m: v for m, v in quantity.each.items() if self.matrix[m]["n"] >= LARGE})


def groups(inputs, quantity):
    """(name, Quantity) by kind, real matrices with the original first, then the large ones of them."""
    real = ratios.Quantity({m: v for m, v in quantity.each.items() if v.kind in records.REAL})
    yield "real", real
    yield f"real, n >= {LARGE}", inputs.large(real)
    for kind in records.KINDS[len(records.REAL):]:
        yield kind, ratios.Quantity(quantity.of_kind(kind))


def panel(axis, inputs, variant, quantity):
    """Dots by nnz(L+U), and the median of each decade of the real matrices and of the finite elements; rows for the CSV."""
    rows = []
    for kind in reversed(records.KINDS):
        each = quantity.of_kind(kind)
        axis.plot([inputs.size[m] for m in each], [v.number for v in each.values()], **kinds.look(kind, 4), zorder=3)
        rows += [(variant, kind, m, inputs.matrix[m]["n"], inputs.size[m], v.hosts, f"{v.number:.4g}",
                  *(f"{x:.4g}" for x in v.interval() or (v.number, v.number))) for m, v in each.items()]
    axis.axhline(1, color="black", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_yscale("log")
    values = [v.number for v in quantity.each.values()] + [1]
    axis.set_ylim(min(values) / 1.5, max(values) * 4)
    decades = {}
    for m, v in quantity.each.items():
        decades.setdefault((math.floor(math.log10(inputs.size[m])), "real" if v.kind in records.REAL else v.kind), []).append(v.number)
    for (decade, kind), found in decades.items():
        if len(found) >= FEWEST and kind in MEDIANS:
            middle, (colour, height, place) = statistics.median(found), MEDIANS[kind]
            axis.plot([10 ** decade, 10 ** (decade + 1)], [middle, middle], color=colour, linewidth=2.2, zorder=4, solid_capstyle="butt")
            axis.annotate(f"{style.short(middle)}×\nn = {len(found)}", (10 ** (decade + 0.5), height), xycoords=axis.get_xaxis_transform(),
                          color=colour, ha="center", va=place, fontsize=8, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
    dots.plain_log(axis.yaxis)
    axis.yaxis.set_major_formatter(lambda y, _: f"{y:g}×")
    axis.set_title(f"{variant}, {SERIES[variant][0]}", loc="left", fontsize=9.5)
    return rows


def draw(args):
    inputs = Inputs(args)
    found = {variant: inputs.speeds(case) for variant, (_, case) in SERIES.items()}
    found = {variant: q for variant, q in found.items() if len(q.each) >= FEWEST}
    if not found:
        raise records.Absent(f"{records.named(args.records)}: {BASE.variant} and a variant of panels ran on fewer than {FEWEST} matrices")
    fig, axes = plt.subplots(len(found), 1, figsize=(7.2, 1.7 + 2.6 * len(found)), sharex=True, squeeze=False, layout="constrained",
                             height_ratios=(1.7, 1)[:len(found)])
    rows, means = [], []
    for axis, (variant, quantity) in zip(axes[:, 0], found.items()):
        rows += panel(axis, inputs, variant, quantity)
        for name, group in groups(inputs, quantity):
            numbers = [v.number for v in group.each.values()]
            if len(numbers) >= FEWEST:
                number, between, *_ = group.over(records.KINDS)
                of_all = number, *(between or (number, number)), statistics.median(numbers), min(numbers), max(numbers)
                means.append((variant, name, len(numbers), *(f"{x:.3g}" for x in of_all)))
    axes[-1, 0].set_xlabel("entries of L+U")
    fig.supylabel("times as fast as SuperLU_DIST's symbfact on one core, without relaxed supernodes", fontsize=9)
    first = next(iter(found.values()))
    handles = [plt.Line2D([], [], **kinds.look(k, 5), label=f"{k} ({len(first.of_kind(k))})") for k in records.KINDS if first.of_kind(k)]
    handles += [plt.Line2D([], [], color=colour, linewidth=2.2, label=f"median of a decade, {kind}") for kind, (colour, *_) in MEDIANS.items()]
    axes[0, 0].legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1.07), ncols=3, fontsize=8, borderpad=0, columnspacing=1.2)
    style.caption(fig, [f"First analysis of a pattern in a warm process; {inputs.origin()}.", *records.left_out(args.records)])
    style.save(fig, args.out, "headline", HEADER, rows)
    style.write_table(args.out / "headline_means.csv", MEANS, means)
    picture = args.out / "headline.png"  # small enough to travel with the sources
    with Image.open(picture) as full:
        small = full.convert("RGB").quantize(64, Image.Quantize.FASTOCTREE)
    small.save(picture, optimize=True)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__, records=COMMITTED, out=HERE))
