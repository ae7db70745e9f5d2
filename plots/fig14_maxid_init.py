"""Figure 14 of the paper: cost of initialising maxId for each batch of 1,024 sources, compared with value ranges that avoid it."""

import sys

import records_ratios as ratios
import style
import style_kinds as kinds

ANSWER = ("On real matrices initialisation for each batch costs {maxId initialised for each batch, #C = 1,024} % more time")


def parts(table):
    each, none = (ratios.case(v, concurrent_sources=1024, memory_budget_mb=0) for v in ("gpu_maxid_no_range_reuse", "gpu_maxid"))
    return [(table.quantity(lambda a, b: 100 * (a / b - 1), each, none), "maxId initialised for each batch, #C = 1,024",
             "% more time", ((14, "14 (mean, 2 to 50)"), (2, "2")))]


def draw(args):
    kinds.figure(args, "fig14_maxid_init", parts, "mean", answer=ANSWER, line=0, log=False, limits=(-2, 6))


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
