"""SIMULATED strong scaling: per-source work replayed on nodes of GPUs, by schedule."""

import sys

import records
import style
import style_dots as dots
from style import plt

SCHEDULES = ("block", "inter_node", "intra_node", "dynamic")


def draw(args):
    rows = [r for r in records.read(args.records)[2] if not r["batch_barrier"]]
    if not rows:
        raise records.Absent(f"{records.named(args.records)} has no simulated lines")
    matrices = list(dict.fromkeys(r["matrix"] for r in rows))
    figure, axes = plt.subplots(1, len(matrices), figsize=(2.9 * len(matrices), 3.1), sharey=True,
                                squeeze=False, layout="constrained")
    points = []
    for axis, m in zip(axes[0], matrices):
        most = max(r["gpus"] for r in rows if r["matrix"] == m)
        axis.plot([1, most], [1, most], color=style.GREYS[3], linewidth=0.8)
        for k, schedule in enumerate(SCHEDULES):
            mine = sorted((r["gpus"], r["speedup"]) for r in rows
                          if r["matrix"] == m and r["schedule"] == schedule)
            axis.plot([g for g, _ in mine], [s for _, s in mine], marker=style.MARKERS[k],
                      markersize=3.5, color=dots.COLOURS[k], markerfacecolor="white",
                      linestyle="--", label=schedule)
            points += [(m, schedule, g, f"{s:.5g}") for g, s in mine]
        axis.set_xscale("log")
        axis.set_yscale("log")
        family = m.removeprefix("gen:").split(":")[0]
        n = next(r["n"] for r in rows if r["matrix"] == m)
        axis.set_title(f"{family}, n = {n:,}\nSIMULATED", fontsize=8)
        axis.set_xlabel("GPUs")
    axes[0][0].set_ylabel("speedup over one GPU")
    axes[0][0].legend(fontsize=7)
    style.save(figure, args.out, "scaling_simulated", ("matrix", "schedule", "gpus", "speedup"),
               points)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
