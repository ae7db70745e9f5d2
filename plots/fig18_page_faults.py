"""Figure 18 of the paper: GPU page faults of managed memory on two GPUs that advice saves, and that separate fill arrays save in
addition."""

import sys

import records_ratios as ratios
import style
import style_kinds as kinds

ANSWER = ("On real matrices there are {one array: no advice over advice} times as many page faults without advice, and "
          "{advised: one array over separate arrays} times as many with one fill array as with separate arrays")


def faults(sharing):
    """Counted faults and one, so that none has a ratio."""
    def counted(run):
        return 1 + run["counters"]["gpu_page_faults"] if "gpu_page_faults" in run["counters"] else None
    return ratios.case("mpi_maxid", counted, counting=True, sharing=sharing, concurrent_sources=256, ranks=1)


def draw(args):
    def parts(table):
        yield (table.ratio(faults("managed_shared_fill_unadvised"), faults("managed_shared_fill")), "one array: no advice over advice",
               "ratio of page faults", ((2.2, "2.2 (mean)"), (10.3, "10.3")))
        yield (table.ratio(faults("managed_shared_fill"), faults("managed_advised")), "advised: one array over separate arrays",
               "ratio of page faults", ((1.25, "1.25 (20 % fewer, mean)"), (6.67, "6.67 (85 % fewer)")))
    kinds.figure(args, "fig18_page_faults", parts, "mean", answer=ANSWER)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
