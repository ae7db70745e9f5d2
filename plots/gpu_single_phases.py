"""Time of a run on the GPU by phase, for a small input and the largest input."""

import sys

import records
import style
from style import plt

VARIANTS = ("gpu_maxid", "gpu_fill2_bitparallel", "gpu_fill2_naive")
PHASES = ("init", "traverse", "spill", "compact", "supernode", "d2h")
SMALL = "bcsstk18"


def median_run(record):
    """Phases of the median run, ms."""
    return {name: 1e3 * s for name, s in record["phases_s"].items()}


def draw(args):
    runs = [r for r in records.read_runs(args.records)
               if r["variant"] in VARIANTS and r["phases_s"] and "pattern" not in r["wants"]]
    if not runs:
        raise records.Absent(f"{records.named(args.records)} has no timed runs of GPU variants")
    last = {}
    for r in style.accept(runs, args):
        last[(r["matrix"]["name"], r["variant"])] = r
    solved = {}
    for (m, v), r in last.items():
        solved.setdefault(m, {})[v] = r
    # The largest input: most entries in L+U among those that gpu_maxid solved.
    candidates = [m for m in solved if VARIANTS[0] in solved[m]]
    if not candidates:
        raise records.Absent(f"{records.named(args.records)} has no verified run of {VARIANTS[0]}")
    size = {m: sum(solved[m][VARIANTS[0]]["result"][k] for k in ("nnz_l", "nnz_u"))
            for m in candidates}
    largest = max(candidates, key=size.get)
    shown = [m for m in dict.fromkeys((SMALL, largest)) if m in candidates]

    figure, axes = plt.subplots(1, len(shown), figsize=(4.6 * len(shown), 2.6), squeeze=False,
                                layout="constrained")
    rows = []
    for axis, m in zip(axes[0], shown):
        names = [v for v in VARIANTS if v in solved[m]]
        for y, v in enumerate(names):
            at = 0.0
            spent = median_run(solved[m][v])
            for k, name in enumerate(PHASES):
                ms = spent.get(name, 0.0)
                axis.barh(y, ms, left=at, height=0.6, edgecolor="black", linewidth=0.5,
                          color=("white", *style.GREYS[::-1], "white")[k], hatch=style.HATCHES[k],
                          label=name if y == 0 else None)
                at += ms
                rows.append((m, v, name, f"{ms:.6g}"))
            axis.text(at, y, f" {style.short(at)} ms, {spent.get('traverse', 0.0) / max(at, 1e-9):.0%} traverse",
                      va="center", fontsize=8)
        axis.set_yticks(range(len(names)), names)
        axis.invert_yaxis()
        label = style.matrix_label(solved[m][names[0]]).removeprefix("gen:").split(",seed")[0]
        axis.set_title(f"{label}, {size[m]:,} entries in L+U")
        axis.set_xlabel("ms, median run")
        axis.set_xlim(0, 1.75 * axis.get_xlim()[1])
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0),
                  ncols=len(PHASES))
    style.save(figure, args.out, "gpu_single_phases", ("matrix", "variant", "phase", "ms"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
