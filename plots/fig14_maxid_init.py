"""Figure 14 of the paper: what initialising maxId for each batch costs."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    how = {"concurrent_sources": 1024, "memory_budget_mb": 0}
    gain = m.ratio(paper.ALL, ("gpu_maxid_no_range_reuse", how), ("gpu_maxid", how))
    series = [("no range reuse over gpu_maxid, #C = 1,024", {k: 100 * (v - 1) for k, v in gain.items()})]
    stated = [{"LH": p.value("fig14.max"), "BB": p.value("fig14.min")}]
    m.need(any(values for _, values in series))
    fig, (axis,) = paper.figure()
    rows = paper.bars(axis, m, paper.ALL, series, stated, log=False, line=0, label="% more time")
    paper.mean_line(axis, p.value("fig14.mean"), "paper,\nmean", len(paper.ALL) + -0.1)
    paper.legend(axis)
    style.save(fig, args.out, "fig14_maxid_init", paper.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
