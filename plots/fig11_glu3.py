"""Figure 11 of the paper: time of sequential methods on one core over the time of the maxId search on one GPU: GLU 3.0's unions of
sorted lists; the same unions by marks, and Gilbert-Peierls with pruning, which the paper did not run."""

import sys

import records_ratios as ratios
import style
import style_kinds as kinds
from fig10_fill2 import MAXID

ANSWER = ("On real matrices GLU's method on one core takes {sorted unions (GLU 3.0's method), one core} times as long as `gpu_maxid`, and "
          "Gilbert-Peierls with pruning, which the paper did not run, {Gilbert-Peierls with pruning, one core} times")


def parts(table):
    return [(table.ratio(ratios.case("cpu_glu_union", "time", threads=1), MAXID), "sorted unions (GLU 3.0's method), one core",
             "time over gpu_maxid", ((50.1, "50.1 (mean)"), (171.1, "171"), (1.01, "1.01"))),
            (table.ratio(ratios.case("cpu_set_union", "time", threads=1), MAXID), "unions by marks, one core", "time over gpu_maxid"),
            (table.ratio(ratios.case("cpu_gilbert_peierls", "time", threads=1), MAXID), "Gilbert-Peierls with pruning, one core",
             "time over gpu_maxid", (), "geometric mean")]


def draw(args):
    kinds.figure(args, "fig11_glu3", parts, "mean", answer=ANSWER)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
