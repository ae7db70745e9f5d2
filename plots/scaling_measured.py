"""Strong scaling of mpi_maxid on the GPUs of one host: one rank with g GPUs, and g ranks with one."""

import statistics
import sys

import style
from style import plt

VARIANT = "mpi_maxid"


def layout(record):
    return record["mpi"]["ranks"], record["derived"]["workers_per_node"]


def times(records):
    """{(matrix, ranks, GPUs of a rank): least median over the schedules, with its record}"""
    best = {}
    for r in records:
        ms = 1e3 * statistics.median(r["samples_s"])
        key = (r["matrix"]["name"], *layout(r))
        if key not in best or ms < best[key][0]:
            best[key] = (ms, r)
    return best


def draw(args):
    records = [r for r in style.read_records(args.records)
               if r["variant"] == VARIANT and r["samples_s"] and not r["counting"]
               and r["chunk_size"] == 128 and r["options"]["sharing"] == "peer"
               and r["options"]["concurrent_sources"] == 0]
    if not records:
        raise style.Absent(f"{args.records} has no timed runs of {VARIANT}")
    best = times(style.accept(records, args))
    matrices = sorted({m for m, ranks, gpus in best if ranks * gpus == 1},
                      key=lambda m: best[m, 1, 1][0])
    if not matrices:
        raise style.Refused(f"{args.records}: no run on one GPU to compare with")
    most = max(ranks * gpus for _, ranks, gpus in best)

    figure, axes = plt.subplots(1, 2, figsize=(7.4, 3.2), sharey=True, layout="constrained")
    rows = []
    for axis, title, is_shown in ((axes[0], "one rank, g GPUs", lambda n, g: n == 1),
                                  (axes[1], "g ranks, one GPU each", lambda n, g: g == 1)):
        axis.plot([1, most], [1, most], color=style.GREYS[3], linewidth=0.8)
        for k, m in enumerate(matrices):
            points = sorted((n * g, best[m, 1, 1][0] / best[name, n, g][0], best[name, n, g])
                            for name, n, g in best if name == m and is_shown(n, g))
            record = points[0][2][1]
            axis.plot([p[0] for p in points], [p[1] for p in points], color=style.GREYS[k % 4],
                      marker=style.MARKERS[k], markersize=4,
                      label=f"{style.matrix_label(record)}, {best[m, 1, 1][0] / 1e3:.3g} s on one GPU")
            rows += [(title, m, gpus, r["options"]["schedule"], f"{ms:.6g}", f"{speedup:.4g}")
                     for gpus, speedup, (ms, r) in points]
        axis.set_xticks([g for g in (1, 2, 4, 8, 16) if g <= most])
        axis.set_xlabel(f"GPUs ({title})")
        axis.set_ylim(bottom=0)
    axes[0].set_ylabel("speedup over one GPU, best schedule")
    axes[0].legend(fontsize=7, loc="upper left")
    style.save(figure, args.out, "scaling_measured",
               ("layout", "matrix", "gpus", "schedule", "ms", "speedup"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
