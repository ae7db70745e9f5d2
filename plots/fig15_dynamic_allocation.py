"""Figure 15 of the paper: time of fixed over dynamic allocation within 16 MB of device memory, queues of 1 %
of |V| #C entries."""

import sys

import records_ratios as ratios
import style
import style_kinds as kinds

ANSWER = ("On real matrices fixed allocation takes {within 16 MB (the paper: 1 GB, six matrices)} times as long as dynamic allocation")


def parts(table):
    how = {"concurrent_sources": 0, "memory_budget_mb": 16, "queue_share": 1}
    found = table.ratio(*(ratios.case(v, **how) for v in ("gpu_maxid_no_dynamic_allocation", "gpu_maxid")))
    return [(found, "within 16 MB (the paper: 1 GB, six matrices)", "time, fixed over dynamic",
             tuple((v, f"{v}") for v in (1.1, 1.2, 1.5, 1.7)))]


def draw(args):
    kinds.figure(args, "fig15_dynamic_allocation", parts, "mean", answer=ANSWER)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
