"""Figure 11 of the paper: GLU 3.0's sequential method over gpu_maxid on one GPU."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    series = [("set union (GLU 3.0's method), one core", m.ratio(paper.ALL, ("cpu_set_union", {}), paper.MAXID)),
              ("Gilbert-Peierls with pruning, one core", m.ratio(paper.ALL, ("cpu_gilbert_peierls", {}), paper.MAXID))]
    stated = [{"BB": p.value("fig11.max"), "BC": p.value("fig11.min")}]
    m.need(any(values for _, values in series))
    fig, (axis,) = paper.figure()
    rows = paper.bars(axis, m, paper.ALL, series, stated, log=True, line=1, label="time over gpu_maxid")
    paper.mean_line(axis, p.value("fig11.mean"), "paper,\nmean", len(paper.ALL) + -0.1)
    paper.legend(axis)
    style.save(fig, args.out, "fig11_glu3", paper.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
