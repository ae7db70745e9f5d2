"""Figure 10 of the paper: time of fill2 on the GPU and on the CPU over the time of gpu_maxid."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    series = [m.series("fill2, one GPU", "mean(all, bare(gpu_fill2_naive) / maxid)",
                       {"RM": p.value("fig10.naive.max"), "ST": p.value("fig10.naive.min")}, p.value("fig10.naive.mean")),
              m.series("fill2, 16 threads", "mean(all, time(cpu_fill2_parallel, threads=16) / maxid)",
                       {"RM": p.value("fig10.cpu.max"), "G7": p.value("fig10.cpu.min")}, p.value("fig10.cpu.mean"))]
    paper.compared(args, m, "fig10_fill2", series, label="time over gpu_maxid", line=1)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
