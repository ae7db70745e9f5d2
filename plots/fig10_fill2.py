"""Figure 10 of the paper: time of fill2 over the time of the maxId search on one GPU."""

import sys

import records_ratios as ratios
import style
import style_kinds as kinds

MAXID = ratios.case("gpu_maxid", concurrent_sources=0, memory_budget_mb=0)

ANSWER = ("On real matrices fill2 takes {fill2 on one GPU} times as long as `gpu_maxid` on the same GPU and "
          "{fill2 on 16 threads} times as long on 16 threads")


def parts(table):
    return [(table.ratio(ratios.case("gpu_fill2_naive"), MAXID), "fill2 on one GPU", "time over gpu_maxid",
             ((13.01, "13.0 (mean)"), (30.41, "30.4"), (3.7, "3.7"))),
            (table.ratio(ratios.case("cpu_fill2_parallel", "time", threads=16), MAXID), "fill2 on 16 threads", "time over gpu_maxid",
             ((33.06, "33.1 (mean)"), (97.11, "97.1"), (11.32, "11.3")))]


def draw(args):
    kinds.figure(args, "fig10_fill2", parts, "mean", answer=ANSWER)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
