"""Figure 5 of the paper: memory of the auxiliary structures over that of the matrix, before and after, and how many times
less that is."""

import sys

import style
import style_dots as dots
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    sizes = [m.series("before: six arrays of |V| #C", "geomean(all, before)", {"MK": p.value("fig05.before.max"), "AU": p.value("fig05.before.min")}),
             m.series("after: as allocated", "geomean(all, after)", {"MK": p.value("fig05.after.max"), "AU": p.value("fig05.after.min")})]
    less = [m.series("before over after", "mean(all, before / after)", mean=p.value("fig05.reduction.mean"))]
    m.need(sizes[0].value.each)
    fig, (upper, lower) = dots.panels(2, paper.strips(sizes, less), 4.4, (1.6, 1))
    rows = paper.both(m, upper, sizes, label="auxiliary over matrix,\n#C = 1,024", average="geometric\nmean")
    rows += paper.both(m, lower, less, label="before over after", log=False, also=(0,))
    style.save(fig, args.out, "fig05_memory", dots.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
