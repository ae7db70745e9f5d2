"""Strong scaling of mpi_maxid on the GPUs of one host: one rank with g GPUs, and all GPUs shared out among ranks."""

import statistics
import sys

import records
import style
from style import plt

VARIANT = "mpi_maxid"


def layout(record):
    return record["mpi"]["ranks"], record["derived"]["workers_per_node"]


def times(runs):
    """{(matrix, ranks, GPUs of a rank): least median over the schedules, with its record}"""
    best = {}
    for r in runs:
        ms = 1e3 * statistics.median(r["samples_s"])
        key = (r["matrix"]["name"], *layout(r))
        if key not in best or ms < best[key][0]:
            best[key] = (ms, r)
    return best


def draw(args):
    runs = [r for r in records.read_runs(args.records)
               if r["variant"] == VARIANT and r["samples_s"] and not r["counting"]
               and r["chunk_size"] == 128 and r["options"]["sharing"] == "peer"
               and r["options"]["concurrent_sources"] == 0]
    if not runs:
        raise records.Absent(f"{records.named(args.records)} has no timed runs of {VARIANT}")
    best = times(style.accept(runs, args))
    matrices = sorted({m for m, ranks, gpus in best if ranks * gpus == 1},
                      key=lambda m: best[m, 1, 1][0])
    if not matrices:
        raise records.Refused(f"{records.named(args.records)}: no run on one GPU to compare with")
    most = max(ranks * gpus for _, ranks, gpus in best)

    figure, axes = plt.subplots(1, 2, figsize=(7.4, 3.8), sharey=True, layout="constrained")
    rows = []
    axes[0].plot([1, most], [1, most], color=style.GREYS[3], linewidth=0.8)
    layouts = sorted({(n, g) for _, n, g in best if n * g == most})
    for k, m in enumerate(matrices):
        alone = best[m, 1, 1][0]

        def row(n, g, m=m, alone=alone):
            ms, record = best[m, n, g]
            rows.append((m, n, g, record["options"]["schedule"], f"{ms:.6g}", f"{alone / ms:.4g}"))
            return alone / ms

        lines = [(g, row(1, g)) for g in sorted(g for name, n, g in best if name == m and n == 1)]
        axes[0].plot(*zip(*lines), color=style.GREYS[k % 4], marker=style.MARKERS[k], markersize=4,
                     label=f"{style.matrix_label(best[m, 1, 1][1])}, {alone / 1e3:.3g} s on one GPU")
        for x, (n, g) in enumerate(layouts):
            if (m, n, g) in best:
                axes[1].plot(x, lines[-1][1] if n == 1 else row(n, g), color=style.GREYS[k % 4],
                             marker=style.MARKERS[k], markersize=5, linestyle="none")
    axes[0].set_xticks([g for g in (1, 2, 4, 8, 16) if g <= most])
    axes[0].set_xlabel("GPUs of one rank")
    axes[0].set_ylim(bottom=0)
    axes[0].set_ylabel("speedup over one GPU, best schedule")
    axes[1].set_xticks(range(len(layouts)), [f"{n} x {g}" for n, g in layouts])
    axes[1].set_xlim(-0.5, len(layouts) - 0.5)
    axes[1].axhline(most, color=style.GREYS[3], linewidth=0.8)
    axes[1].set_xlabel(f"ranks x GPUs of a rank, {most} GPUs in all")
    handles, labels = axes[0].get_legend_handles_labels()
    axes[1].legend(handles, labels, fontsize=7, loc="lower left")
    style.save(figure, args.out, "scaling_measured",
               ("matrix", "ranks", "gpus_per_rank", "schedule", "ms", "speedup"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
