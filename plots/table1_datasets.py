"""Table 1 of the paper: fill-ins over nonzeros of the 13 matrices, original or stand-in."""

import sys

import records
import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    series = [m.series("METIS", "median(all, result(fill, cpu_bitmap_panels) / matrix(nnz))",
                       {n: e["fill_ratio"] for n, e in records.datasets().items()},
                       p.value("table1.fill_ratio.above"))]
    paper.compared(args, m, "table1_datasets", series, label="fill-ins / nnz(A)", average="median")


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
