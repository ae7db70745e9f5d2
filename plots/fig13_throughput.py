"""Figure 13 of the paper: throughput of the traversal, DRAM and L2 each in percent of its own peak; records without
peaks show only DRAM, in percent of a copy."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    stated = {p.value("fig13.max_on"): p.value("fig13.max_percent")}
    mean = p.value("fig13.mean_percent")
    profiles = [line for (_, variant), lines in m.profiles.items() if variant == "gpu_maxid" for line in lines]
    m.need(profiles)
    if all("dram_percent" in line for line in profiles):
        label = "% of its peak"
        series = [m.series("DRAM", "mean(all, profile(dram_percent, gpu_maxid))", stated, mean),
                  m.series("L2", "mean(all, profile(l2_percent, gpu_maxid))")]
    else:
        label = "DRAM, % of a copy\n(paper: of the peak)"
        share = "mean(all, 100 * profile(dram_gb_per_s, gpu_maxid) / profile(copy_gb_per_s, gpu_maxid))"
        series = [m.series("DRAM", share, stated, mean)]
    paper.compared(args, m, "fig13_throughput", series, log=False, also=(0,), floor=0, label=label)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
