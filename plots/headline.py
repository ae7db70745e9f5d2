"""Speed of the main variants as a multiple of SuperLU_DIST's symbfact on one core: real matrices first, generated inputs and
stand-ins next to them. Both times of a ratio are from one folder of records and one order of the matrix, the least of several
times. GPU times exclude the digests of rows, which only verification needs. Times of counts only (counts.csv) are used if
records have them; their entries must equal those of verified runs. Without --records: the picture of the README, headline.png
next to this script, from committed records."""

import collections
import csv
import math
import statistics
import sys
from pathlib import Path

import peers
import records
import style
from PIL import Image
import style_dots as dots
import style_paper as paper

HERE = Path(__file__).resolve().parent
FOLDER = records.ROOT / "experiments" / "records"
NEW = FOLDER / "2026-11-22_h200_x2_panels"
CUDSS = FOLDER / "2026-11-22_h200_cudss"
NEW_PATTERNS = [FOLDER / "2026-11-27_h200_new_patterns" / name for name in ("real.jsonl", "collection.jsonl", "generated.jsonl")]
COMMITTED = [FOLDER / "2026-11-21_h200_paper" / "records.jsonl",
             *(CUDSS / name for name in ("panels.jsonl", "peers.jsonl", "own_order.jsonl", "counts.csv")),
             *(NEW / name for name in ("panels.jsonl", "peers.jsonl", "counts.csv")),
             FOLDER / "2026-11-22_h200_x2_second_host" / "real.jsonl",
             *NEW_PATTERNS]
BASE = "peer_superlu_dist"
GPU = ("gpu_bitmap_panels", "gpu_maxid")  # their digests are left out
# (variant, several threads or ranks), label, marker, face, edge; drawn in this order.
SERIES = ((("gpu_maxid", False), "gpu_maxid (the paper's), one GPU", "^", "#bfbfbf", "#8c8c8c"),
          (("peer_superlu_dist_parallel", True), "SuperLU_DIST, best number of ranks", "v", "white", "#8c8c8c"),
          (("cpu_bitmap_panels", False), "cpu_bitmap_panels, one core", "s", "white", "black"),
          (("cpu_bitmap_panels", True), "cpu_bitmap_panels, several threads", "D", "white", "black"),
          ((peers.OWN, False), "cuDSS, symbolic phase in its own order, one GPU", "P", "#8c8c8c", "#8c8c8c"),
          (("gpu_bitmap_panels", False), "gpu_bitmap_panels, one GPU", "o", "black", "black"))
FEWEST = 3  # inputs of a mean, and of a figure
SMALLEST = 100  # rows; the times of smaller examples are those of a call
LARGE = 10000  # rows
HEADER = ("group", "variant", "matrix", "n", "nnz_lu", "times_symbfact")
MEANS = ("group", "variant", "inputs", "geometric mean", "median", "least", "most")


def seconds(record):
    return records.bare_seconds(record) if record["variant"] in GPU else peers.seconds(record)


def is_real(record):
    """True of a matrix that somebody else made: neither generated here nor a stand-in."""
    return records.kind(record["matrix"]) == "real"


class Inputs:
    """Times by folder of records, input (matrix and order) and what ran, of verified runs and of counts.csv."""

    def __init__(self, args):
        tables = [path for path in args.records if path.suffix == ".csv"]
        self.times = collections.defaultdict(lambda: collections.defaultdict(dict))
        self.entries, self.order_of, self.size, self.rows, self.real = {}, {}, {}, {}, {}
        for path in records.files_of(path for path in args.records if path not in tables):
            self.read(path, args)
        counted = {}
        for path in tables:
            counted |= self.counts_of(path)
        for (folder, key, *columns), s in counted.items():
            self.times[folder][key][tuple(columns)] = s

    def read(self, path, args):
        runs = [r for r in records.read_runs([path]) if r["samples_s"] and "pattern" not in r["wants"] and not r["counting"] and
                r["matrix"]["n"] >= SMALLEST]
        for r in style.accept(runs, args):
            key = r["matrix"]["name"], r["ordering"]["digest"]
            several = r["threads"] > 1 or r["mpi"]["ranks"] > 1 or r["variant"] == "peer_superlu_dist_parallel"
            found = self.times[path.parent][key]
            what = peers.series_of(r), several
            found[what] = min(seconds(r), found.get(what, math.inf))
            self.rows[key[0]], self.real[key[0]] = r["matrix"]["n"], is_real(r)
            if r["status"] == "pass":
                self.entries[key] = r["result"]["nnz_l"] + r["result"]["nnz_u"]
                self.order_of[path.parent, key[0]] = key

    def counts_of(self, path):
        """{(folder, input, variant, several threads): seconds} of a counts.csv."""
        out = {}
        with open(path, encoding="utf-8") as f:
            for row in csv.DictReader(f):
                key = self.order_of.get((path.parent, row["matrix"]))
                if key and int(row["nnz_lu"]) != self.entries[key]:
                    raise records.Refused(f"{path}: {row['variant']} found {row['nnz_lu']} entries of {row['matrix']}, "
                                          f"not {self.entries[key]}")
                if key:
                    out[path.parent, key, row["variant"], int(row["threads"]) > 1] = float(row["ms"]) / 1e3
        return out

    def ratios(self):
        """{what ran: {matrix: times as fast as BASE}}; the last folder that has both times of one order counts."""
        out = collections.defaultdict(dict)
        for of_folder in self.times.values():
            for key, found in of_folder.items():
                for what, s in found.items():
                    if (BASE, False) in found and key in self.entries:
                        out[what][key[0]] = found[BASE, False] / s
                        self.size[key[0]] = self.entries[key]
        return out


def summary(values):
    """(number, geometric mean, median, least, most) of ratios."""
    return (len(values), *(f"{f(values):.3g}" for f in (statistics.geometric_mean, statistics.median, min, max)))


def mean_of(values, noun):
    """"9.01× on 92 real"; without a mean of too few."""
    count = f"{len(values)} {noun}"
    return f"{style.short(statistics.geometric_mean(values))}× on {count}" if len(values) >= FEWEST else f"{count}"


def first_series(values, rows):
    """What a panel's title says of the last of SERIES: geometric mean with range, and that of large matrices."""
    number, mean, _, least, most = summary(list(values.values()))
    large = [y for k, y in values.items() if rows[k] >= LARGE]
    text = f"{SERIES[-1][0][0]}: {mean}× ({least}× to {most}×)"
    return text + (f"\n{summary(large)[1]}× on the {len(large)} with {LARGE:,} rows or more" if FEWEST <= len(large) < number else "")


def panel(axis, title, ratios, inputs, chosen):
    """One group of inputs by nnz(L+U); rows for the CSV."""
    rows = []
    for what, label, marker, face, edge in SERIES:
        points = sorted((inputs.size[k], y, k) for k, y in ratios[what].items() if k in chosen)
        if points:
            axis.plot([p[0] for p in points], [p[1] for p in points], marker=marker, markerfacecolor=face, markeredgecolor=edge,
                      linestyle="none", markersize=4.5)
            rows += [(title, label, k, inputs.rows[k], n, f"{y:.4g}") for n, y, k in points]
    axis.axhline(1, color="black", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("entries of L+U")
    first = {k: y for k, y in ratios[SERIES[-1][0]].items() if k in chosen}
    more = "\n" + first_series(first, inputs.rows) if len(first) >= FEWEST else ""
    axis.set_title(title + more, loc="left", fontsize=8.5)
    return rows


def legend(fig, ratios, groups):
    """Under the panels: each series with its geometric mean on each group."""
    handles = []
    for what, label, marker, face, edge in reversed(SERIES):
        found = [([y for k, y in ratios[what].items() if k in chosen], noun) for _, noun, chosen in groups]
        means = [mean_of(values, noun) for values, noun in found if values]
        if means:
            handles.append(paper.plt.Line2D([], [], marker=marker, markerfacecolor=face, markeredgecolor=edge, linestyle="none",
                                            markersize=4.5, label=f"{label}: {'; '.join(means)}"))
    fig.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.04, 0), fontsize=7.5, title="geometric means of the multiples",
               title_fontsize=7.5, alignment="left", handletextpad=0.2)


def draw(args):
    inputs = Inputs(args)
    ratios = inputs.ratios()
    of = {key for what, *_ in SERIES for key in ratios[what]}
    real = {key for key in of if inputs.real[key]}
    if len(of) < FEWEST:
        raise records.Absent(f"{records.named(args.records)}: {BASE} and another variant ran in one order on {len(of)} "
                             f"{'matrix' if len(of) == 1 else 'matrices'}, a headline needs {FEWEST}")
    groups = [group for group in ((f"{len(real)} real matrices", "real", real),
                                  (f"{len(of - real)} generated inputs and stand-ins", "generated", of - real)) if group[2]]
    fig, axes = paper.figure(len(groups), height=5, width=4.6 * len(groups))
    rows, means = [], []
    for axis, (title, _, chosen) in zip(axes, groups):
        rows += panel(axis, title, ratios, inputs, chosen)
        for name, least in ((title, 0), (f"{title}, n >= {LARGE}", LARGE)):
            for what, label, *_ in reversed(SERIES):
                values = [y for k, y in ratios[what].items() if k in chosen and inputs.rows[k] >= least]
                if len(values) >= FEWEST:
                    means.append((name, label, *summary(values)))
    axes[0].set_ylabel("times as fast as SuperLU_DIST's symbfact, one core")
    limits = [f(axis.get_ylim()[k] for axis in axes) for k, f in ((0, min), (1, max))]
    for axis in axes:
        axis.set_ylim(*limits)
        dots.plain_log(axis.yaxis)
        axis.yaxis.set_major_formatter(lambda y, _: f"{y:g}×")
    legend(fig, ratios, groups)
    style.caption(fig, records.left_out(args.records))
    style.save(fig, args.out, "headline", HEADER, rows)
    style.write_table(args.out / "headline_means.csv", MEANS, means)
    picture = args.out / "headline.png"  # small enough to travel with the sources
    with Image.open(picture) as full:
        small = full.convert("L").quantize(16)
    small.save(picture, optimize=True)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__, records=COMMITTED, out=HERE))
