"""Figure 5 of the paper: memory of the auxiliary structures over that of the matrix, before and after."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    before, after = {}, {}
    for name in paper.ALL:
        r = m.find(name, "gpu_maxid", concurrent_sources=1024, memory_budget_mb=0)
        if r:
            before[name] = r["mem"]["predicted"]["paper_6VC"] / r["mem"]["device"]["matrix"]
            after[name] = r["mem"]["device"]["arena"] / r["mem"]["device"]["matrix"]
    m.need(before)
    p = paper.Paper()
    fig, (axis,) = paper.figure()
    stated = [{"MK": p.value("fig05.before.max"), "AU": p.value("fig05.before.min")},
            {"MK": p.value("fig05.after.max"), "AU": p.value("fig05.after.min")}]
    rows = paper.bars(axis, m, paper.ALL, [("six arrays of |V| #C", before), ("allocated", after)], stated,
                      log=True, label="auxiliary / matrix, #C = 1,024")
    paper.legend(axis)
    style.save(fig, args.out, "fig05_memory", paper.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
