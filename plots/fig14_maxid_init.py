"""Figure 14 of the paper: cost of initialising maxId for each batch."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    series = [m.series("maxId initialised for each batch", "mean(all, reuse_gain)",
                       {"LH": p.value("fig14.max"), "BB": p.value("fig14.min")}, p.value("fig14.mean"))]
    paper.compared(args, m, "fig14_maxid_init", series, log=5, line=0,
                   label="% more time without value\nranges, #C = 1,024 (linear to 5)")


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
