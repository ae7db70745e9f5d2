"""Figure 11 of the paper: time of GLU 3.0's sequential method over the time of gpu_maxid on one GPU."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    series = [m.series("set union (GLU 3.0's method), one core", "mean(all, time(cpu_set_union) / maxid)",
                       {"BB": p.value("fig11.max"), "BC": p.value("fig11.min")}, p.value("fig11.mean")),
              m.series("Gilbert-Peierls with pruning, one core", "mean(all, time(cpu_gilbert_peierls) / maxid)")]
    paper.compared(args, m, "fig11_glu3", series, label="time over gpu_maxid", line=1)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
