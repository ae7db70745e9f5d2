"""Table 1 of the paper: fill-ins over nonzeros of the 13 matrices, original or stand-in."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    exact = {}
    rows = []
    for name in paper.ALL:
        r = m.find(name, "cpu_bitmap_panels", alike=False)
        if r:
            exact[name] = r["result"]["fill"] / r["matrix"]["nnz"]
            rows.append((name, r["matrix"]["name"], r["matrix"]["stand_in"], r["matrix"]["n"],
                         r["matrix"]["nnz"], r["result"]["fill"], f"{exact[name]:.4g}"))
    m.need(rows)
    stated = paper.Paper().series("table1_datasets", "fill_ratio")
    fig, (axis,) = paper.figure()
    paper.bars(axis, m, paper.ALL, [("measured, METIS", exact)], [stated], label="fill-ins / nnz(A)")
    paper.legend(axis)
    style.save(fig, args.out, "table1_datasets",
               ("abbr", "matrix", "stand_in", "n", "nnz", "fill", "fill_over_nnz", "paper"),
               [r + (stated.get(r[0], ""),) for r in rows])


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
