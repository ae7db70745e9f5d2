"""Strong scaling of mpi_maxid on the GPUs of one host: one rank with g GPUs, and all GPUs divided among ranks."""

import statistics
import sys

import records
import style
import style_dots as dots
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
        raise records.Absent(f"{records.named(args.records)} has no run on one GPU to compare with")
    most = max(ranks * gpus for _, ranks, gpus in best)

    figure, axes = plt.subplots(1, 2, figsize=(7.4, 3.8), sharey=True, width_ratios=(1.7, 1), layout="constrained")
    rows, ends = [], []
    axes[0].plot([1, most], [1, most], color=style.GREYS[3], linewidth=0.8)
    layouts = sorted({(n, g) for _, n, g in best if n * g == most})
    counts = sorted({g for _, n, g in best if n == 1})
    for k, m in enumerate(matrices):
        alone = best[m, 1, 1][0]

        def row(n, g, m=m, alone=alone):
            ms, record = best[m, n, g]
            rows.append((m, n, g, record["options"]["schedule"], f"{ms:.6g}", f"{alone / ms:.4g}"))
            return alone / ms

        lines = [(g, row(1, g)) for g in sorted(g for name, n, g in best if name == m and n == 1)]
        colour, marker = dots.COLOURS[k % 4], style.MARKERS[k % len(style.MARKERS)]
        axes[0].plot(*zip(*lines), color=colour, marker=marker, markersize=4, linestyle="none")
        for a, b in zip(lines, lines[1:]):
            if not any(a[0] < g < b[0] for g in counts):
                axes[0].plot(*zip(a, b), color=colour, linewidth=0.8)
        label = style.matrix_label(best[m, 1, 1][1]).removeprefix("gen:").split(",seed")[0]
        ends.append((*lines[-1], f"{label}, {alone / 1e3:.3g} s", colour))
        for x, (n, g) in enumerate(layouts):
            if (m, n, g) in best:
                axes[1].plot(x, lines[-1][1] if n == 1 else row(n, g), color=colour, marker=marker, markersize=5,
                             linestyle="none")
    axes[0].set_xticks([g for g in (1, 2, 4, 8, 16) if g <= most])
    axes[0].set_xlim(0.8, 2.1 * most)
    axes[0].set_xlabel("GPUs of one rank; seconds: on one GPU")
    axes[0].set_ylim(bottom=0)
    axes[0].set_ylabel("speedup over one GPU, best schedule")
    axes[1].set_xticks(range(len(layouts)), [f"{n} x {g}" for n, g in layouts])
    axes[1].set_xlim(-0.5, len(layouts) - 0.5)
    axes[1].axhline(most, color=style.GREYS[3], linewidth=0.8)
    axes[1].set_xlabel(f"ranks x GPUs of a rank, {most} GPUs in all")
    dots.names(axes[0], ends)
    style.save(figure, args.out, "scaling_measured",
               ("matrix", "ranks", "gpus_per_rank", "schedule", "ms", "speedup"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
