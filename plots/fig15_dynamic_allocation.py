"""Figure 15 of the paper: fixed over dynamic allocation within 1 GB."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    how = {"concurrent_sources": 0, "memory_budget_mb": 1024, **m.if_known("gpu_maxid", queue_share=25)}
    series = [("fixed over dynamic",
               m.ratio(paper.LARGE, ("gpu_maxid_no_dynamic_allocation", how), ("gpu_maxid", how)))]
    stated = [p.series("fig15_dynamic_allocation", "gain")]
    m.need(any(values for _, values in series))
    fig, (axis,) = paper.figure()
    rows = paper.bars(axis, m, paper.LARGE, series, stated, log=False, line=1, label="time, 1 GB")
    paper.legend(axis)
    style.save(fig, args.out, "fig15_dynamic_allocation", paper.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
