"""Speed of the main variants by input, as a multiple of that of SuperLU_DIST's symbfact on one core. Both times of a ratio
are from one folder of records and of one order of the matrix, the least where there are several; gpu_maxid without its digests. Of
gpu_bitmap_panels and of cpu_bitmap_panels on threads, counts.csv has runs for counts alone, whose entries must be those of
verified runs. Without --records: the picture of the README, headline.png beside this script, from committed records."""

import collections
import csv
import math
import statistics
import sys
from pathlib import Path

from PIL import Image

import peers
import records
import style
import style_paper as paper

HERE = Path(__file__).resolve().parent
FOLDER = records.ROOT / "experiments" / "records"
NEW = FOLDER / "2026-11-22_h200_x2_panels"
CUDSS = FOLDER / "2026-11-22_h200_cudss"
COMMITTED = [FOLDER / "2026-11-21_h200_paper" / "records.jsonl",
             *(CUDSS / name for name in ("panels.jsonl", "peers.jsonl", "own_order.jsonl", "counts.csv")),
             *(NEW / name for name in ("panels.jsonl", "peers.jsonl", "counts.csv"))]
BASE = "peer_superlu_dist"
# (variant, several threads or ranks), label, marker, face; drawn in this order.
SERIES = ((("gpu_bitmap_panels", False), "gpu_bitmap_panels, one GPU", "o", "#000000"),
          ((peers.OWN, False), "cuDSS, symbolic phase in its own order, one GPU", "P", "#8c8c8c"),
          (("gpu_maxid", False), "gpu_maxid, one GPU", "^", "#8c8c8c"),
          (("cpu_bitmap_panels", True), "cpu_bitmap_panels, up to 16 threads", "D", "white"),
          (("cpu_bitmap_panels", False), "cpu_bitmap_panels, one core", "s", "white"),
          (("peer_superlu_dist_parallel", True), "SuperLU_DIST, best of up to 16 ranks", "v", "white"))


def seconds(record):
    return records.bare_seconds(record) if record["variant"] == "gpu_maxid" else peers.seconds(record)


def draw(args):
    tables = [path for path in args.records if path.suffix == ".csv"]
    sources = [path for path in args.records if path not in tables]
    # {folder: {(matrix, its order): {what: seconds}}}
    times = collections.defaultdict(lambda: collections.defaultdict(dict))
    names, entries, order_of = {}, {}, {}
    for path in records.files_of(sources):
        runs = [r for r in records.read_runs([path]) if r["samples_s"] and "pattern" not in r["wants"] and not r["counting"]]
        for r in style.accept(runs, args):
            key = r["matrix"]["name"], r["ordering"]["digest"]
            several = r["threads"] > 1 or r["mpi"]["ranks"] > 1 or r["variant"] == "peer_superlu_dist_parallel"
            found = times[path.parent][key]
            what = peers.series_of(r), several
            found[what] = min(seconds(r), found.get(what, math.inf))
            names[key] = peers.name_of(r)
            if r["status"] == "pass":
                entries[key] = r["result"]["nnz_l"] + r["result"]["nnz_u"]
                order_of[names[key]] = key
    counted = {}
    for path in tables:
        with open(path, encoding="utf-8") as f:
            for row in csv.DictReader(f):
                key = order_of.get(peers.label_of(row["matrix"], row["stand_in"] == "1"))
                if key and int(row["nnz_lu"]) != entries[key]:
                    raise records.Refused(f"{path}: {row['variant']} found {row['nnz_lu']} entries of {row['matrix']}, "
                                          f"not {entries[key]}")
                if key:
                    counted[path.parent, key, row["variant"], int(row["threads"]) > 1] = float(row["ms"]) / 1e3
    for (folder, key, *columns), s in counted.items():
        times[folder][key][tuple(columns)] = s
    ratios = collections.defaultdict(dict)
    for of_folder in times.values():  # the last one that has both times counts
        for key, found in of_folder.items():
            for what, s in found.items():
                if (BASE, False) in found and key in entries:
                    ratios[what][key] = found[BASE, False] / s
    inputs = sorted({key for what, *_ in SERIES for key in ratios[what]}, key=lambda key: (entries[key], key))
    if not inputs:
        raise records.Absent(f"{records.named(args.records)}: no runs of {BASE} and another on one order of a matrix")

    fig, (axis,) = paper.figure(height=4, width=8)
    rows = []
    for what, label, marker, face in SERIES:
        points = [(x, ratios[what][key]) for x, key in enumerate(inputs) if key in ratios[what]]
        if not points:
            continue
        mean = statistics.geometric_mean(y for _, y in points)
        axis.plot(*zip(*points), marker=marker, color="black" if face == "white" else face, markerfacecolor=face,
                  linestyle="-" if what == SERIES[0][0] else "none", linewidth=1, markersize=5,
                  label=f"{label}: {style.short(mean)}×, {len(points)} inputs")
        rows += [(label, names[inputs[x]], entries[inputs[x]], f"{y:.4g}") for x, y in points]
    axis.axhline(1, color="black", linewidth=0.8)
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter(lambda y, _: f"{y:g}×")
    axis.set_ylabel("times as fast as symbfact, one core")
    axis.set_xticks(range(len(inputs)), [names[key] for key in inputs], rotation=90, fontsize=6.5)
    axis.set_xlabel(f"inputs by nnz(L+U), from {entries[inputs[0]]:.1e} to {entries[inputs[-1]]:.1e}; *: stand-in",
                    fontsize=8)
    axis.legend(fontsize=7, ncols=2, loc="lower left", bbox_to_anchor=(0, 1), title="geometric mean of the multiples",
                title_fontsize=7, alignment="left")
    style.save(fig, args.out, "headline", ("variant", "matrix", "nnz_lu", "times_symbfact"), rows)
    picture = args.out / "headline.png"  # small enough to travel with the sources
    with Image.open(picture) as full:
        small = full.convert("L").quantize(16)
    small.save(picture, optimize=True)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__, records=COMMITTED, out=HERE))
