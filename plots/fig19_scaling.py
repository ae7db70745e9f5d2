"""Figure 19 of the paper: speedup by number of GPUs, measured on one host and simulated for more."""

import operator
import sys

import records
import style
import style_dots as dots
import style_paper as paper
from style_paper import language

GPUS = (1, 2, 4)
PAPER_AT, END = 2600, 16_000  # beyond the simulated numbers of GPUs
FOUR = ("AU", "DI", "HM", "PR")
SIMULATED = sorted((records.ROOT / "experiments" / "scaling_simulator").glob("simulated*.jsonl"))


def read_simulated():
    """Speedup over one node by matrix and GPUs, intra_node, of its stand-in at full size."""
    lines = records.Measured(SIMULATED)
    speedup = {}
    for m in FOUR:
        node = lines.simulated(m, gpus=6, gpus_per_node=6, schedule="intra_node")
        for gpus in sorted({line["gpus"] for line in lines.simulated_lines}) if node else ():
            r = lines.simulated(m, gpus=gpus, gpus_per_node=6, schedule="intra_node")
            if r and r["n"] == node["n"]:
                speedup.setdefault(m, {})[gpus] = node["makespan_s"] / r["makespan_s"]
    return speedup


def measured_panel(axis, m, times):
    """Speedup over one GPU with intervals; a line joins neighbouring numbers of GPUs alone."""
    rows, ends = [], []
    axis.set_xlim(0.8, 5)
    axis.set_ylim(0.8, 4.6)
    axis.plot([1, 4], [1, 4], color=style.GREYS[3], linewidth=0.8, zorder=1)
    axis.annotate("linear", (3, 3), xytext=(-3, 5), textcoords="offset points", fontsize=dots.TEXT, color=style.GREYS[1],
                  ha="right")
    for k, (name, points) in enumerate(times.items()):
        speedup = {g: language.estimate.combined(operator.truediv, points[1], t, True) for g, t in points.items()}
        colour = dots.COLOURS[k % 4]
        xs = sorted(speedup)
        for a, b in zip(xs, xs[1:]):
            if not any(a < g < b for g in GPUS):
                axis.plot([a, b], [speedup[a].number, speedup[b].number], color=colour, linewidth=0.8, zorder=1)
        for g in xs:
            dots.point(axis, g + (k - 2.5) * 0.05 * (g > 1), speedup[g], colour, style.MARKERS[k], not m.is_stand_in(name))
            rows.append(("measured", name, g, *dots.cells(speedup[g])[:4], ""))
        ends.append((xs[-1] + (k - 2.5) * 0.05, speedup[xs[-1]].number, m.label(name), colour))
    dots.names(axis, ends)
    axis.set_xticks(GPUS)
    axis.set_xlabel("GPUs of one host, measured")
    axis.set_ylabel("speedup over one GPU")
    return rows


def simulated_panel(axis, simulated):
    """Speedup over one node of six GPUs on simulated schedules, with the paper's end points."""
    stated = paper.Paper().series("fig19_scaling", "speedup")
    rows, ends = [], []
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlim(5, END)
    axis.set_ylim(0.8, 60)
    axis.plot([6, 264], [1, 44], color=style.GREYS[3], linewidth=0.8, zorder=1)
    for k, name in enumerate(FOUR):
        points = simulated.get(name, {})
        xs = sorted(points)
        axis.plot(xs, [points[x] for x in xs], marker=style.MARKERS[k], color=dots.COLOURS[k], linestyle=":", linewidth=0.8,
                  markersize=4, markerfacecolor="white")
        rows += [("simulated", name, x, f"{points[x]:.5g}", "", "", "", stated[name] if x == 264 else "") for x in xs]
        if xs:
            ends.append((xs[-1], points[xs[-1]], f"{name}*", dots.COLOURS[k]))
        dots.stated(axis, PAPER_AT, stated[name], dots.COLOURS[k])
    dots.names(axis, ends)
    dots.names(axis, [(PAPER_AT, stated[name], f"{name} {stated[name]:g}", dots.COLOURS[k]) for k, name in enumerate(FOUR)])
    axis.axvspan(1700, END, color=dots.SHADE, zorder=0, linewidth=0)
    axis.set_xticks([6, 36, 264, 5000], ["6", "36", "264", "paper,\n264"])
    axis.set_xticks([], minor=True)
    axis.set_xlabel("GPUs, six a node, simulated")
    axis.set_ylabel("speedup over six GPUs")
    dots.plain_log(axis.yaxis)
    return rows


def draw(args):
    m = paper.Measured(args)
    times = {}
    for name in paper.LARGE:
        for gpus in GPUS:
            r = m.find(name, "mpi_maxid", gpus_per_rank=gpus, schedule="dynamic", **paper.DISTRIBUTED)
            if r:
                times.setdefault(name, {})[gpus] = language.estimate.of_samples(r["samples_s"], records.case_name(r))
    times = {name: points for name, points in times.items() if 1 in points and len(points) > 1}
    m.need(times)
    fig, (left, right) = paper.figure(2, height=3.2)
    rows = measured_panel(left, m, times) + simulated_panel(right, read_simulated())
    style.save(fig, args.out, "fig19_scaling", ("kind", "matrix", "gpus", "speedup", "low", "high", "bound", "paper"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
