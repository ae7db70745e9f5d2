"""Table 1 of the paper: fill-ins over nonzeros, in METIS order."""

import sys

import records
import records_ratios as ratios
import style
import style_kinds as kinds

ANSWER = ("The fill of a real matrix is {fill-ins over nonzeros of A} times its nonzeros; bcsstk18, the paper's only matrix here, has "
          "the fill that the authors' log states")


def parts(table):
    fill = ratios.case("cpu_bitmap_panels", lambda r: r["result"]["fill"] / r["matrix"]["nnz"], threads=1)
    each = [(e["fill_ratio"], "") for e in records.datasets().values()]
    return [(table.quantity(lambda a: a, fill), "fill-ins over nonzeros of A", "ratio", ((20.7, "20.7 (median)"), *each))]


def draw(args):
    kinds.figure(args, "table1_datasets", parts, "median", answer=ANSWER, line=None)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
