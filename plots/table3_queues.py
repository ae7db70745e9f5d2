"""Table 3 of the paper: average and peak usage of the frontier queues."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args, counting=True)
    average, peak = {}, {}
    for name in paper.LARGE:
        r = m.find(name, "gpu_maxid", counting=True, concurrent_sources=1024, memory_budget_mb=0)
        if r:
            c = r["counters"]
            average[name] = 100 * c["queue_entries_sum"] / c["levels"] / c["queue_capacity_VC"]
            peak[name] = 100 * c["queue_peak"] / c["queue_capacity_VC"]
    m.need(average)
    p = paper.Paper()
    fig, (axis,) = paper.figure()
    rows = paper.bars(axis, m, paper.LARGE, [("average", average), ("peak", peak)],
                      [p.series("table3_queues", "average"), p.series("table3_queues", "peak")], log=True,
                      label="% of |V| #C entries")
    paper.legend(axis)
    style.save(fig, args.out, "table3_queues", paper.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
