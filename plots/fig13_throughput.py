"""Figure 13 of the paper: memory throughput of the traversal as a share of a copy."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    profiles = {n: p for (n, variant), p in m.profiles.items() if variant == "gpu_maxid"}
    m.need(profiles)
    names = [n for n in paper.ALL if n in profiles]
    fig, (axis,) = paper.figure()
    share = {kind: {n: 100 * profiles[n][kind] / profiles[n]["copy_gb_per_s"] for n in names}
             for kind in ("dram_gb_per_s", "l2_gb_per_s")}
    p = paper.Paper()
    rows = paper.bars(axis, m, names, [("DRAM", share["dram_gb_per_s"]), ("L2", share["l2_gb_per_s"])],
                      label="% of the copy bandwidth")
    paper.mean_line(axis, p.value("fig13.mean_percent"), "paper, DRAM,\n% of V100 peak", len(names) - 0.1)
    paper.legend(axis)
    style.save(fig, args.out, "fig13_throughput", paper.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
