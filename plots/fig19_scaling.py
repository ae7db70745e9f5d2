"""Figure 19 of the paper: speedup over the GPUs, measured on one host and simulated beyond."""

import sys

import records
import style
import style_paper as paper

FOUR = ("AU", "DI", "HM", "PR")
SIMULATED = [records.ROOT / "experiments" / "scaling_simulator" / f for f in ("simulated.jsonl", "simulated_full.jsonl")]


def read_simulated():
    """Speedup over one node by matrix and GPUs, intra_node, of the largest member of the family of its stand-in."""
    lines = records.Measured(SIMULATED)
    speedup = {}
    for m in FOUR:
        node = lines.simulated(m, gpus=6, gpus_per_node=6, schedule="intra_node")
        for gpus in sorted({line["gpus"] for line in lines.simulated_lines}) if node else ():
            r = lines.simulated(m, gpus=gpus, gpus_per_node=6, schedule="intra_node")
            if r and r["n"] == node["n"]:
                speedup.setdefault(m, {})[gpus] = node["makespan_s"] / r["makespan_s"]
    return speedup


def draw(args):
    m = paper.Measured(args)
    names = paper.LARGE
    measured = {}
    for name in names:
        for gpus in (1, 2, 4):
            t = m.time(name, "mpi_maxid", gpus_per_rank=gpus, schedule="dynamic", **paper.DISTRIBUTED)
            if t:
                measured.setdefault(name, {})[gpus] = t
    speedup = {n: {g: t[1] / s for g, s in t.items()} for n, t in measured.items() if 1 in t}
    m.need([n for n, s in speedup.items() if len(s) > 1])
    simulated = read_simulated()
    fig, (left, right) = paper.figure(2, height=3.2)
    rows = []
    for k, (name, points) in enumerate(speedup.items()):
        xs = sorted(points)
        left.plot(xs, [points[x] for x in xs], marker=style.MARKERS[k], color=style.GREYS[k % 3],
                  label=m.label(name))
        rows += [("measured", name, x, f"{points[x]:.5g}", "") for x in xs]
    left.plot([1, 4], [1, 4], color=style.GREYS[3], linewidth=0.8)
    left.set_xlabel("GPUs of one host, measured")
    left.set_ylabel("speedup over one GPU")
    paper.legend(left, ncols=3)
    stated = paper.Paper().series("fig19_scaling", "speedup")
    for k, name in enumerate(FOUR):
        points = simulated.get(name, {})
        xs = sorted(points)
        right.plot(xs, [points[x] for x in xs], marker=style.MARKERS[k], color=style.GREYS[k % 3],
                   linestyle="--", markersize=4, label=f"{name}{'' if name == 'PR' else ' family'}, simulated")
        rows += [("simulated", name, x, f"{points[x]:.5g}", stated[name] if x == 264 else "") for x in xs]
        right.plot([264 * (1 + 0.02 * k)], [stated[name]], marker=style.MARKERS[k], color="black",
                   markerfacecolor="white", markersize=6, linestyle="none",
                   label="paper (same marker)" if k == 0 else None)
    right.plot([6, 264], [1, 44], color=style.GREYS[3], linewidth=0.8)
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_xlabel("GPUs, six a node")
    right.set_ylabel("speedup over six GPUs")
    paper.legend(right, fontsize=6, ncols=2)
    style.save(fig, args.out, "fig19_scaling", ("kind", "matrix", "gpus", "speedup", "paper"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
