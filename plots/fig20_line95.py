"""Figure 20 of the paper: gain by testing fill before maxId (line 9.5)."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    series = [m.series("line 9.5", "mean(all, line95_gain)", {"BB": p.value("fig20.max"), "LH": p.value("fig20.min")})]
    paper.compared(args, m, "fig20_line95", series, log=False, line=0, label="speed gained by line 9.5, %\n(below 0: lost)")


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
