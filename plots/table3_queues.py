"""Table 3 of the paper: average and peak usage of the frontier queues, #C = 1,024, by the counting build."""

import sys

import records_ratios as ratios
import style
import style_kinds as kinds

ANSWER = ("On real matrices {average} % of the queues are used on average, and {peak} % at the peak")


def counted(numbers):
    """A quantity of the counters of a run, in percent of the queues' |V| #C entries."""
    def of(run):
        c = run["counters"]
        return 100 * numbers(c) / c["queue_capacity_VC"] if {"queue_capacity_VC", "queue_entries_sum", "queue_peak", "levels"} <= set(c) else None
    return ratios.case("gpu_maxid", of, counting=True, concurrent_sources=1024)


def parts(table):
    average = counted(lambda c: c["queue_entries_sum"] / c["levels"])
    peak = counted(lambda c: c["queue_peak"])
    for case, title, low, high in ((average, "average", 0.01, 0.12), (peak, "peak", 1, 25)):
        yield table.quantity(lambda a: a, case), title, "used of |V| #C entries, %", ((low, str(low)), (high, str(high)))


def draw(args):
    kinds.figure(args, "table3_queues", parts, "median", answer=ANSWER, line=None)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
