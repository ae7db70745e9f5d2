"""gpu_bitmap_panels compared with its CPU form, the row search and the time to write the result; its time by phase."""

import statistics
import sys

import records
import style
from style import plt

PANELS = "gpu_bitmap_panels"
SERIES = ((PANELS, "one GPU", "o", "#000000"), ("cpu_bitmap_panels", "one core", "s", "white"),
          (records.TRUSTED, "one core", "^", "white"))
PHASES = ("schedule", "traverse", "compact", "supernode")
COPY = 4.267e12  # bytes per second, read and written: experiments/records/2026-11-21_h200_x4/bandwidth.json


def size(record):
    return record["result"]["nnz_l"] + record["result"]["nnz_u"]


def draw(args):
    runs = [r for r in records.read_runs(args.records)
               if r["samples_s"] and "pattern" not in r["wants"] and not r["counting"]
               and r["variant"] in [v for v, *_ in SERIES]]
    first = {}
    for r in style.accept(runs, args):
        first.setdefault((r["variant"], r["matrix"]["name"]), r)
    panels = sorted((r for (v, _), r in first.items() if v == PANELS), key=size)
    if not panels:
        raise records.Absent(f"{records.named(args.records)} has no timed runs of {PANELS}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.4), layout="constrained",
                                         width_ratios=(1, 1))
    rows = []
    for variant, where, marker, face in SERIES:
        points = sorted((size(r), 1e3 * statistics.median(r["samples_s"]), m)
                        for (v, m), r in first.items() if v == variant)
        if not points:
            continue
        left.plot([p[0] for p in points], [p[1] for p in points], linestyle="none", marker=marker,
                  color="black", markerfacecolor=face, markersize=5, label=f"{variant}, {where}")
        rows += [("ms", m, variant, str(n), f"{ms:.6g}") for n, ms, m in points]
    ends = (size(panels[0]), size(panels[-1]))
    # Written once: half of the bytes that a copy moves in the time.
    left.plot(ends, [1e3 * 4 * n / (COPY / 2) for n in ends], color=style.GREYS[1], linewidth=1,
              label="writing 4 bytes an entry at the copy rate")
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_xlabel("nnz(L+U)")
    left.set_ylabel("ms, median")
    left.legend(fontsize=7)

    begin = [0.0] * len(panels)
    for k, phase in enumerate(PHASES):
        share = [r["phases_s"].get(phase, 0) / (sum(r["phases_s"].values()) or 1) for r in panels]
        right.barh(range(len(panels)), share, left=begin, height=0.8, edgecolor="black",
                   linewidth=0.4, color=("white", *style.GREYS[:0:-1])[k], hatch=style.HATCHES[k],
                   label=phase)
        begin = [b + s for b, s in zip(begin, share)]
        rows += [("share", r["matrix"]["name"], phase, str(size(r)), f"{s:.4g}")
                 for r, s in zip(panels, share)]
    right.set_yticks(range(len(panels)), [
        style.matrix_label(r).removeprefix("gen:").split(",seed")[0] for r in panels], fontsize=6)
    right.set_xlim(0, 1)
    right.set_xlabel("share of the time (compact: counts and digests)")
    right.legend(fontsize=7, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1))
    style.save(figure, args.out, "panels", ("panel", "matrix", "what", "nnz", "value"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
