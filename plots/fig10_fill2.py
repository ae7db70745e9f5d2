"""Figure 10 of the paper: fill2 on the GPU and on the CPU over gpu_maxid."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    series = [("fill2 on the GPU", m.ratio(paper.ALL, ("gpu_fill2_naive", {}), paper.MAXID)),
              ("fill2 on 16 threads", m.ratio(paper.ALL, ("cpu_fill2_parallel", {"threads": 16}), paper.MAXID))]
    stated = [{"RM": p.value("fig10.naive.max"), "ST": p.value("fig10.naive.min")},
            {"RM": p.value("fig10.cpu.max"), "G7": p.value("fig10.cpu.min")}]
    m.need(any(values for _, values in series))
    fig, (axis,) = paper.figure()
    rows = paper.bars(axis, m, paper.ALL, series, stated, log=True, line=1, label="time over gpu_maxid")
    paper.mean_line(axis, p.value("fig10.naive.mean"), "paper, GPU,\nmean", len(paper.ALL) + -0.1)
    paper.mean_line(axis, p.value("fig10.cpu.mean"), "paper, CPU,\nmean", len(paper.ALL) + 1.3)
    paper.legend(axis)
    style.save(fig, args.out, "fig10_fill2", paper.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
