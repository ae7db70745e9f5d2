"""Figure 19 of the paper: speedup over the GPUs, measured on one host and simulated beyond."""

import sys

import style
import style_paper as paper


def read_simulated():
    """Speedup over one node by matrix and GPUs, intra_node, of the largest member of the family of its stand-in."""
    entries = paper.read_toml(paper.ROOT / "experiments" / "datasets.toml")["matrix"]
    family = {":".join(e["stand_in"].split(":")[:2]): e["abbr"] for e in entries
              if e["abbr"] in ("AU", "DI", "HM", "PR")}
    family |= {e["name"]: e["abbr"] for e in entries}
    makespan = {}
    for file in ("simulated.jsonl", "simulated_full.jsonl"):
        path = paper.ROOT / "experiments" / "scaling_simulator" / file
        for r in json_lines.read(path):
            name = family.get(":".join(r["matrix"].split(":")[:2]))
            if name and r["schedule"] == "intra_node" and not r["batch_barrier"] and r["gpus_per_node"] == 6:
                makespan.setdefault(name, {}).setdefault(r["n"], {})[r["gpus"]] = r["makespan_s"]
    largest = {name: sizes[max(sizes)] for name, sizes in makespan.items()}
    return {n: {g: t[6] / s for g, s in t.items()} for n, t in largest.items() if 6 in t}


def draw(args):
    m = paper.Measured(args)
    names = paper.LARGE
    measured = {}
    for name in names:
        for ranks in (1, 2, 4):
            for gpus in (1, 2, 4):
                t = m.time(name, "mpi_maxid", ranks=ranks, gpus_per_rank=gpus, schedule="dynamic")
                if t and (ranks, gpus) in ((1, 1), (1, 2), (1, 4)):
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
    told = paper.Paper().series("fig19_scaling", "speedup")
    for k, name in enumerate(("AU", "DI", "HM", "PR")):
        points = simulated.get(name, {})
        xs = sorted(points)
        right.plot(xs, [points[x] for x in xs], marker=style.MARKERS[k], color=style.GREYS[k % 3],
                   linestyle="--", markersize=4, label=f"{name}{'' if name == 'PR' else ' family'}, simulated")
        rows += [("simulated", name, x, f"{points[x]:.5g}", told[name] if x == 264 else "") for x in xs]
        right.plot([264 * (1 + 0.02 * k)], [told[name]], marker=style.MARKERS[k], color="black",
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
    sys.exit(paper.main(draw, __doc__))
