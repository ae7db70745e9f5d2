"""Figure 17 of the paper: distribution of the sources, two ranks with two GPUs each."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    def of(schedule):
        return "mpi_maxid", paper.DISTRIBUTED | {"ranks": 2, "gpus_per_rank": 2, "schedule": schedule}
    series = [("inter_node over block", m.ratio(paper.ALL, of("block"), of("inter_node"))),
              ("intra_node over inter_node", m.ratio(paper.ALL, of("inter_node"), of("intra_node")))]
    stated = [{"TT": p.value("fig17.inter.max")}, {"PR": p.value("fig17.intra.max")}]
    m.need(any(values for _, values in series))
    fig, (axis,) = paper.figure()
    rows = paper.bars(axis, m, paper.ALL, series, stated, log=False, line=1, label="speedup, 4 GPUs")
    paper.mean_line(axis, p.value("fig17.inter.mean"), "paper, inter,\nmean", len(paper.ALL) + -0.1)
    paper.mean_line(axis, p.value("fig17.intra.mean"), "paper, intra,\nmean", len(paper.ALL) + 1.3)
    paper.legend(axis)
    style.save(fig, args.out, "fig17_schedules", paper.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
