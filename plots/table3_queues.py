"""Table 3 of the paper: average and peak usage of the frontier queues."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    series = [m.series(name, f"mean(large, queue_{name})", p.series("table3_queues", name)) for name in ("average", "peak")]
    for s in series:
        s.mean = sum(s.paper.values()) / len(s.paper)
    paper.compared(args, m, "table3_queues", series, paper.LARGE, label="used of |V| #C entries, %")


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
