"""Figure 20 of the paper: speed gained by testing fill before maxId (line 9.5)."""

import sys

import records_ratios as ratios
import style
import style_kinds as kinds
from fig10_fill2 import MAXID

ANSWER = ("On real matrices line 9.5 changes the speed by {line 9.5} %")


def parts(table):
    tested = ratios.case("gpu_maxid_line95", concurrent_sources=0, memory_budget_mb=0)
    return [(table.quantity(lambda a, b: 100 * (a / b - 1), MAXID, tested), "line 9.5", "speed gained, %",
             ((5.5, "5.5"), (-4.6, "−4.6")))]


def draw(args):
    kinds.figure(args, "fig20_line95", parts, "mean", answer=ANSWER, line=0, log=False, limits=(-12, 8))


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
