"""Figure 20 of the paper: gain by testing fill before maxId (line 9.5)."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    gain = m.ratio(paper.ALL, paper.MAXID, ("gpu_maxid_line95", {}))
    series = [("gain by line 9.5", {k: 100 * (v - 1) for k, v in gain.items()})]
    stated = [{"BB": p.value("fig20.max"), "LH": p.value("fig20.min")}]
    m.need(any(values for _, values in series))
    fig, (axis,) = paper.figure()
    rows = paper.bars(axis, m, paper.ALL, series, stated, log=False, line=0, label="%")
    paper.legend(axis)
    style.save(fig, args.out, "fig20_line95", paper.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
