"""What figures of dots and lines share: colours, names next to series, plain ticks of logarithmic axes."""

import math

import numpy
from matplotlib import ticker, transforms

import style

# The lightness of the first three differs too: 20, 50 and 65 of 100; the marker distinguishes the fourth.
COLOURS = ("#1b2a6b", "#1a8a85", "#d08a00", "#a02860")
MARKERS = ("o", "s", "^", "D")
GREY = "#606060"
SIZE = 4.8  # of a marker, points
TEXT = 7  # points, the smallest that is printed


def along(axis, value):
    """Distance of a value from the lower end of a y axis that has its limits and scale, in points, as far as it is known
    before the layout is found."""
    low, high, at = axis.yaxis.get_transform().transform(numpy.array([*axis.get_ylim(), value], dtype=float))
    return 72 * axis.figure.get_size_inches()[1] * axis.get_position().height * (at - low) / (high - low)


def plain_log(along_axis):
    """Ticks of a logarithmic axis.xaxis or axis.yaxis as numbers, close enough to be read."""
    low, high = along_axis.get_view_interval()
    decades = abs(math.log10(high / low))
    if decades < 0.45:
        along_axis.set_major_locator(ticker.MaxNLocator(5, steps=(1, 2, 2.5, 5, 10)))
    else:
        subs = (1, 1.5, 2, 3, 5, 7) if decades < 0.7 else (1, 2, 5) if decades < 2.6 else (1,)
        along_axis.set_major_locator(ticker.LogLocator(subs=subs, numticks=12))
    along_axis.set_minor_locator(ticker.NullLocator() if decades < 0.7 else ticker.LogLocator(subs=range(2, 10), numticks=99))
    along_axis.set_minor_formatter(ticker.NullFormatter())
    along_axis.set_major_formatter(ticker.FuncFormatter(lambda v, _: style.short(v)))


def names(axis, ends):
    """Names of series right of the last points, in a column, moved apart where they would meet; ends: [(x, y, text, colour)].
    The axis has its limits; those of x leave room for the names."""
    ends = sorted(ends, key=lambda e: e[1])
    edge = max(x for x, _, _, _ in ends)
    true = [along(axis, y) for _, y, _, _ in ends]
    high = [(TEXT + 1.5) * (1 + text.count("\n")) for _, _, text, _ in ends]
    at = list(true)
    for _ in range(500):
        for k in range(len(at) - 1):
            push = ((high[k] + high[k + 1]) / 2 - (at[k + 1] - at[k])) / 2
            if push > 0:
                at[k], at[k + 1] = at[k] - push, at[k + 1] + push
    for (x, y, text, colour), here, was in zip(ends, at, true):
        moved = transforms.ScaledTranslation(14 / 72, (here - was) / 72, axis.figure.dpi_scale_trans)
        axis.annotate(text, (x, y), xytext=(edge, y), textcoords=axis.transData + moved, fontsize=TEXT, color=colour,
                      va="center", ha="left", annotation_clip=False, linespacing=1,
                      arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.4, "shrinkA": 0, "shrinkB": 3,
                                  "relpos": (0, 0.5)})
