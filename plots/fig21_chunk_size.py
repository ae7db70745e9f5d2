"""Figure 21 of the paper: time by chunk size over the time with 64, simulated on 36 GPUs and measured on two."""

import sys

import style
import style_dots as dots
import style_paper as paper

SIZES = (128, 256)


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()

    def series(over, claims):
        """Of each size; over: the expression of a size over 64."""
        largest = {p.value(f"{claims}.max_on"): p.value(f"{claims}.max")}
        return [m.series(f"chunks of {size} rows", f"mean(all, {over.format(size)})", largest if size == SIZES[-1] else None,
                         p.value(f"{claims}.{size}")) for size in SIZES]
    six_nodes = series("chunk_{}_on_36 / chunk_64_on_36", "fig21.on_36")
    two = series("chunk_{} / chunk_64", "fig21")
    labels = ("time over chunks of 64,\nsimulated, 36 GPUs", "time over chunks of 64,\nmeasured, two GPUs")
    drawn = [(s, label) for s, label in zip((six_nodes, two), labels) if any(x.value.each for x in s)]
    m.need(drawn)
    fig, panels = dots.panels(len(drawn), paper.strips(*(s for s, _ in drawn)), 2.5 * len(drawn) + 0.2)
    rows = []
    for (s, label), panel in zip(drawn, panels):
        rows += paper.both(m, panel, s, line=1, label=label)
    style.save(fig, args.out, "fig21_chunk_size", dots.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
