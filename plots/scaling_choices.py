"""Choices of the distributed variant on all GPUs of one host: schedule, sharing, chunk size."""

import statistics
import sys

import records
import style
from style import plt

VARIANT = "mpi_maxid"
SCHEDULES = ("block", "inter_node", "intra_node", "dynamic")
SHARINGS = ("peer", "managed_advised", "managed_shared_fill", "managed")


def median_ms(record):
    return 1e3 * statistics.median(record["samples_s"])


def gpus(record):
    return record["mpi"]["ranks"] * record["derived"]["workers_per_node"]


def bars(axis, groups, choices, value, base):
    """Grouped bars of value / value of the base choice; returns the rows drawn."""
    rows = []
    shown = [g for g in groups if base in groups[g]]
    named = set()
    for k, choice in enumerate(choices):
        for x, g in enumerate(shown):
            if choice not in groups[g]:
                continue
            ratio = value(groups[g][choice]) / value(groups[g][base])
            axis.bar(x + (k - (len(choices) - 1) / 2) * 0.8 / len(choices), ratio,
                     0.8 / len(choices), edgecolor="black", linewidth=0.5,
                     color=("white", *style.GREYS[::-1])[k], hatch=style.HATCHES[k],
                     label=None if choice in named else str(choice))
            named.add(choice)
            rows.append((g, str(choice), f"{value(groups[g][choice]):.6g}", f"{ratio:.4g}"))
    axis.set_xticks(range(len(shown)), shown, rotation=30, ha="right", fontsize=7)
    axis.legend(fontsize=6, ncols=2)
    axis.set_ylim(top=1.25 * axis.get_ylim()[1])
    return rows


def draw(args):
    runs = [r for r in records.read_runs(args.records)
               if r["variant"] == VARIANT and r["samples_s"] and not r["counting"]]
    if not runs:
        raise records.Absent(f"{records.named(args.records)} has no timed runs of {VARIANT}")
    runs = style.accept(runs, args)
    most = max((gpus(r) for r in runs), default=1)
    if most == 1:
        raise records.Absent(f"{records.named(args.records)} has no verified run on several GPUs")
    schedules, sharings, chunks = {}, {}, {}
    for r in runs:
        if gpus(r) != most:
            continue
        o, name = r["options"], style.matrix_label(r).removeprefix("gen:").split(",seed")[0]
        ranks = r["mpi"]["ranks"]
        if o["concurrent_sources"] != 0:
            sharings.setdefault(name, {})[o["sharing"]] = r
            continue
        if r["chunk_size"] == 128:
            schedules.setdefault(f"{name}, {ranks} x {most // ranks}", {})[o["schedule"]] = r
        if ranks == 1:
            chunks.setdefault(f"{name}, {o['schedule']}", {})[r["chunk_size"]] = r
    # With one rank, block is inter_node: layouts where little was compared are left out.
    schedules = {k: v for k, v in schedules.items() if len(v) > 2} or schedules
    chunks = {k: v for k, v in chunks.items() if len(v) > 1}

    panels = [p for p in (("schedule", schedules, SCHEDULES, "dynamic"),
                          ("sharing", sharings, SHARINGS, "peer"),
                          ("chunk size", chunks, (64, 128, 256, 512), 128))
              if any(p[3] in g for g in p[1].values())]
    figure, axes = plt.subplots(1, len(panels), figsize=(3 + 2.7 * len(panels), 3.4),
                                squeeze=False, layout="constrained")
    rows = []
    for axis, (what, groups, choices, base) in zip(axes[0], panels):
        rows += [(what, *row) for row in bars(axis, groups, choices, median_ms, base)]
        axis.set_ylabel(f"time over that of {base}")
        axis.set_title(f"{what}, {most} GPUs" +
                       (" (ranks x GPUs of a rank)" if what == "schedule" else ""))
        axis.axhline(1, color="black", linewidth=0.6)
    style.save(figure, args.out, "scaling_choices",
               ("panel", "matrix", "choice", "ms", "ratio"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
