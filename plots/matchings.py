"""Row matchings: one matrix before and after, and the operations of AMD's order after each matching by family.

Left: the entries of a matrix whose rows were permuted at random, of the same matrix after `maximum` and after `symmetric`; dark entries have a mirror
image, and titles count these. Right: for each family of inputs the geometric mean of the operations, over those of the matrix before its rows were permuted, or
of the matching `maximum` where the diagonal has zeros; a line ends at the worst. Records: the table of experiments/matchings.
"""

import collections
import csv
import sys
from statistics import geometric_mean as mean

import records
import style
import style_dots as dots
from style import plt

LOOKS = {"maximum": (dots.COLOURS[2], "^"), "symmetric": (dots.COLOURS[0], "o"), "weighted": (dots.COLOURS[1], "s")}
COLUMNS = ("family", "matching", "inputs", "mean", "worst")
PICTURES = ("shuffled", "maximum", "symmetric")


def tables(paths):
    """(rows of matchings.csv, {picture: [(row, column, whether the entry has a mirror)]}) of the files of a folder or of files."""
    files = [f for path in paths for f in (sorted(path.rglob("*.csv")) if path.is_dir() else [path])]
    lines, entries = [], collections.defaultdict(list)
    for file in files:
        with open(file, newline="", encoding="utf-8") as text:
            for row in csv.DictReader(text):
                if "base_operations" in row:
                    lines.append(row)
                elif "mirror" in row:
                    entries[row["picture"]].append((int(row["row"]), int(row["column"]), row["mirror"] == "1"))
    return lines, entries


def ratios(lines):
    """{family: {matching: [operations over base]}} of the inputs with operations."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in lines:
        if float(line["base_operations"]) > 0:
            found[line["family"]][line["matching"]].append(float(line["operations"]) / float(line["base_operations"]))
    return found


def spy(axis, picture, entries):
    for mirror, colour in ((False, "#a0a0a0"), (True, dots.COLOURS[0])):
        mine = [(row, column) for row, column, has in entries if has == mirror]
        axis.plot([c for _, c in mine], [r for r, _ in mine], "s", color=colour, markersize=1.2, markeredgewidth=0)
    axis.set(title=f"{picture}: {sum(has for *_, has in entries):,} of {len(entries):,}", aspect="equal")
    axis.invert_yaxis()
    axis.set_xticks([])
    axis.set_yticks([])
    axis.grid(False)
    axis.spines[:].set_visible(True)


def draw(args):
    lines, entries = tables(args.records)
    if not lines:
        raise records.Absent("no table of experiments/matchings")
    found = ratios(lines)
    fig, axes = plt.subplots(1, 4, figsize=(13, 3.2), layout="constrained", width_ratios=(1, 1, 1, 1.5))
    for axis, picture in zip(axes, PICTURES):
        spy(axis, picture, entries[picture])
    for y, family in enumerate(found):
        for k, (matching, (colour, marker)) in enumerate(LOOKS.items()):
            values = found[family][matching]
            if values:
                at = y + 0.22 * (k - 1)
                axes[3].plot([mean(values), max(values)], [at, at], color=colour, linewidth=0.8)
                axes[3].plot(mean(values), at, marker, color=colour, markersize=4, label=matching if y == 0 else None)
    axes[3].axvline(1, color=dots.GREY, linewidth=0.6)
    axes[3].set(xscale="log", xlabel="operations", ylim=(len(found) - 0.5, -0.5))
    axes[3].set_yticks(range(len(found)), list(found))
    dots.plain_log(axes[3].xaxis)
    axes[3].legend(fontsize=dots.TEXT, loc="center left", bbox_to_anchor=(1.01, 0.5))
    style.save(fig, args.out, "matchings", COLUMNS, [(family, matching, len(values), f"{mean(values):.3f}", f"{max(values):.2f}")
                                                     for family, of in found.items() for matching, values in of.items()])


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
