"""Figure 16 of the paper: time of the maxId search within less device memory, queues of 1 % of |V| #C entries. Budgets of the smaller
matrices have the proportions of the paper's 16, 5 and 1 GB."""

import sys

import records_ratios as ratios
import style
import style_kinds as kinds

PAPER = (1.9, 1.9, 3.3, 2.7, 3, 2.6)  # 1 GB over 16 GB, on six matrices

ANSWER = ("On real matrices 16 MB instead of 256 MB cost {16 MB over 256 MB (the paper: 1 over 16 GB)} times the time, and 80 MB "
          "{80 MB over 256 MB} times")


def within(megabytes):
    return ratios.case("gpu_maxid", concurrent_sources=0, memory_budget_mb=megabytes, queue_share=1)


def parts(table):
    of_paper = ((2.567, "2.57 (mean)"), *((v, "") for v in PAPER))
    return [(table.ratio(within(16), within(256)), "16 MB over 256 MB (the paper: 1 over 16 GB)", "ratio of times", of_paper, "mean"),
            (table.ratio(within(80), within(256)), "80 MB over 256 MB", "ratio of times")]


def draw(args):
    kinds.figure(args, "fig16_memory_budget", parts, answer=ANSWER)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
