"""Figure 5 of the paper: memory of the auxiliary structures over the memory of the matrix, before and after the space
optimizations, and the reduction factor."""

import sys

import style
import style_dots as dots
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    sizes = [m.series(label, f"geomean(all, {when})",
                      {"MK": p.value(f"fig05.{when}.max"), "AU": p.value(f"fig05.{when}.min")})
             for when, label in (("before", "before: six arrays of |V| #C"), ("after", "after: as allocated"))]
    less = [m.series("before over after", "mean(all, before / after)", mean=p.value("fig05.reduction.mean"))]
    m.need(sizes[0].value.each)
    fig, (upper, lower) = dots.panels(2, paper.strips(sizes, less), 4.4, (1.6, 1))
    rows = paper.both(m, upper, sizes, label="auxiliary over matrix,\n#C = 1,024", average="geometric\nmean")
    rows += paper.both(m, lower, less, label="before over after", log=False, also=(0,))
    style.save(fig, args.out, "fig05_memory", dots.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
