"""Figure 13 of the paper: throughput of the search's traversal by ncu over all launches of a run, in GB/s and in percent of the peak."""

import sys

import records
import records_ratios as ratios
import style
import style_kinds as kinds

V100 = 900  # GB/s, the peak of the paper's GPU
ANSWER = ("On real matrices the traversal moves {DRAM, GB/s} GB/s of DRAM, {DRAM, percent of its peak} % of the peak, and uses "
          "{L2, percent of its peak} % of the peak of L2")


def draw(args):
    table = ratios.Table(args)
    gigabytes, percent = table.profile("dram_gb_per_s"), table.profile("dram_percent")
    if not gigabytes.each:
        raise records.Absent(f"{records.named(args.records)}: no complete profiles")
    copies = sorted({(line["gpu"], line["copy_gb_per_s"]) for line in table.profiles})
    copied = " and ".join(f"{rate:,.0f} GB/s on one {gpu.removeprefix('NVIDIA ')}" for gpu, rate in copies)
    panels = [(gigabytes, "DRAM, GB/s", "GB/s", ((385.2, "385.2 (mean)"),)),
              (percent, "DRAM, percent of its peak", "%", ((43, "43 (mean, 40 to 47)"), (47, ""), (40, ""))),
              (table.profile("l2_percent"), "L2, percent of its peak", "%")]
    panels = [p for p in panels if p[0].each]
    fig, axes = kinds.panels(len(panels))
    rows = []
    for axis, (quantity, *rest) in zip(axes, panels):
        rows += kinds.panel(axis, quantity, *rest, how="mean", line=None)
    kinds.save(fig, args, "fig13_throughput", table, rows,
               [f"A copy moves {copied}. The paper: 43 % of the {V100} GB/s of a V100."], ANSWER)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
