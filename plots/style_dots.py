"""Dot plots by matrix: measured values with their intervals next to the paper's values, and a strip of real matrices next to them.

Filled: the matrix itself; hollow: a stand-in. A vertical line is the interval of 95 %, a small dot a case with fewer than
three runs, an arrow a bound by a run that passed its limit, a cross a case that was not measured, a dash the paper's value.
"""

import dataclasses
import math
import typing

import numpy
from matplotlib import ticker, transforms
from matplotlib.legend import Legend
from matplotlib.path import Path

import style
from style import plt

# The lightness of the first three differs too: 20, 50 and 65 of 100; the marker distinguishes the fourth.
COLOURS = ("#1b2a6b", "#1a8a85", "#d08a00", "#a02860")
MARKERS = ("o", "s", "^", "D")
GREY = "#606060"
SHADE = "#f0f0f0"  # behind aggregates
SIZE, FEW = 4.8, 2.6  # of a marker, points; of a case with too few runs for an interval
ARROW = 11  # points
SLOT = 1.65  # of an aggregate, in matrices
GAP = 0.7  # between the paper's smaller and larger matrices, and before the means
TEXT = 7  # points, the smallest that is printed
STRIP = 0.105  # width of one series of real matrices over that of the panel
LINEAR = 2  # height of the linear half of an axis of both signs, in decades
MOST_SPAN = 3  # real matrices stretch a linear axis so far; what lies beyond is marked at its edge
HEADER = ("series", "matrix", "measured", "low", "high", "bound", "paper", "set")
# An arrow as a marker, without mathtext.
UP = Path([(0, -1), (0, 1), (-0.55, 0.35), (0, 1), (0.55, 0.35)], [Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO, Path.LINETO])
NOTES = {"stand-in": dict(marker="o", markerfacecolor="white"), "fewer than 3 runs, no interval": dict(marker="o", markersize=FEW),
         "paper": dict(marker="_", markersize=9, markeredgewidth=1.8, color="black"),
         "not measured": dict(marker="x", markersize=4), "at least (limit passed)": dict(marker=UP, fillstyle="none", markersize=7),
         "at most (limit passed)": dict(marker=UP.transformed(transforms.Affine2D().rotate_deg(180)), fillstyle="none", markersize=7),
         "limit passed": dict(marker=UP.transformed(transforms.Affine2D().rotate_deg(270)), fillstyle="none", markersize=7)}


@dataclasses.dataclass(eq=False)
class Series:
    """What is drawn in one colour. value: language.Value, its aggregate and each matrix; paper: the paper's values by
    matrix, mean: its aggregate; real: language.Value over real matrices."""

    label: str
    value: object
    paper: dict = dataclasses.field(default_factory=dict)
    mean: float | None = None
    real: object = None


class Panel(typing.NamedTuple):
    """An axis and the strip next to it, which has room for `columns` series."""

    axis: object
    strip: object = None
    columns: int = 1


def panels(count, strips=0, height=2.6, ratios=None):
    """(figure, [Panel]) below each other; strips: the series that the widest strip has."""
    fig = plt.figure(figsize=(6.6, height), layout="constrained")
    grid = fig.add_gridspec(count, 2 if strips else 1, width_ratios=(1, STRIP * strips) if strips else None,
                            height_ratios=ratios)
    axes = []
    for k in range(count):
        axis = fig.add_subplot(grid[k, 0])
        axes.append(Panel(axis, fig.add_subplot(grid[k, 1], sharey=axis) if strips else None, strips))
    return fig, axes


def places(matrices, large):
    """x of each matrix; those of `large` after a gap, if others stand before them."""
    out, x = {}, 0.0
    for k, m in enumerate(matrices):
        if k and m in large and matrices[k - 1] not in large:
            x += GAP
        out[m] = x
        x += 1
    return out


def cells(found, paper=None, which="paper"):
    """Of a row of HEADER what follows series and matrix; found: estimate.Estimate or None."""
    def text(x):
        return f"{x:.6g}" if x is not None and math.isfinite(x) else ""
    if found is None:
        return ("", "", "", "", text(paper), which)
    interval = found.interval() or (None, None)
    return (text(found.number), *map(text, interval), {1: "at least", -1: "at most", 0: ""}[found.bound], text(paper), which)


def point(axis, x, found, colour, marker, filled=True, notes=None, size=SIZE):
    """One value with its interval, or an arrow where it is a bound."""
    interval = found.interval()
    if found.bound:
        up = found.bound > 0
        shifted = axis.transData + transforms.ScaledTranslation(0, (ARROW if up else -ARROW) / 72, axis.figure.dpi_scale_trans)
        axis.annotate("", xy=(x, found.number), xycoords=shifted, xytext=(x, found.number), textcoords="data", gid="bound",
                      arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0})
        note(notes, "at least (limit passed)" if up else "at most (limit passed)")
    elif interval and interval[0] != interval[1]:
        axis.plot([x, x], interval, color=colour, linewidth=1.3, solid_capstyle="butt", gid="interval")
    few = interval is None and not found.bound
    if few:
        note(notes, "fewer than 3 runs, no interval")
    axis.plot([x], [found.number], marker=marker, color=colour, markerfacecolor=colour if filled else "white",
              markersize=FEW if few else size, markeredgewidth=1.1, linestyle="none", gid="few" if few else "value")


def flat_point(axis, found, y, colour, filled=True, notes=None):
    """One value along x, with an arrow where it is a bound."""
    if found.bound:
        side = ARROW if found.bound > 0 else -ARROW
        shifted = axis.transData + transforms.ScaledTranslation(side / 72, 0, axis.figure.dpi_scale_trans)
        axis.annotate("", xy=(found.number, y), xycoords=shifted, xytext=(found.number, y), textcoords="data", gid="bound",
                      arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0})
        note(notes, "limit passed")
    interval = found.interval()
    if not found.bound and interval and interval[0] != interval[1]:
        axis.plot(interval, [y, y], color=colour, linewidth=1, solid_capstyle="butt", gid="interval")
    axis.plot([found.number], [y], marker="o", color=colour, markerfacecolor=colour if filled else "white", markersize=4,
              markeredgewidth=1, linestyle="none", gid="value")


def stated(axis, x, value, colour="black", notes=None):
    """A value of the paper: a dash."""
    axis.plot([x], [value], marker="_", color=colour, markersize=9, markeredgewidth=1.8, linestyle="none", gid="paper",
              zorder=4)
    note(notes, "paper")


def missing(axis, x, notes=None):
    """A case that was not measured: a cross at the foot."""
    axis.plot([x], [0.035], marker="x", color=GREY, markersize=4, linestyle="none", transform=axis.get_xaxis_transform(),
              gid="missing", clip_on=False)
    note(notes, "not measured")


def note(notes, text):
    """Names a mark that was drawn, once."""
    if notes is not None and text not in notes:
        notes.append(text)


def key(axis, series, notes, marker=None, width=415):
    """Above the axis, in one line if `width` points hold it: the series, then the marks that were drawn."""
    named = [plt.Line2D([], [], marker=marker or MARKERS[k], color=COLOURS[k], markersize=SIZE, linestyle="none", label=s.label)
             for k, s in enumerate(series) if len(series) > 1]
    marks = [plt.Line2D([], [], label=text, **({"color": GREY, "linestyle": "none", "markersize": SIZE} | how))
             for text, how in NOTES.items() if text in notes]
    lines = [named + marks]
    if sum(4 * len(h.get_label()) + 20 for h in lines[0]) > width:
        lines = [named, marks]
    lines = [line for line in lines if line]
    for k, line in enumerate(lines):
        raised = transforms.ScaledTranslation(0, (4 + 11 * (len(lines) - 1 - k)) / 72, axis.figure.dpi_scale_trans)
        legend = Legend(axis, line, [h.get_label() for h in line], fontsize=TEXT, ncols=len(line), loc="lower left",
                        handletextpad=0.2, columnspacing=1.1, borderpad=0, handlelength=1.4, borderaxespad=0,
                        bbox_to_anchor=(0, 1), bbox_transform=axis.transAxes + raised)
        # The layout would make the axis as narrow as it needs to hold the line.
        legend.set_in_layout(False)
        axis.add_artist(legend)
    axis.set_title("\n".join(" " for _ in lines), fontsize=TEXT, pad=4 + 2 * len(lines))


def dots(axis, measured, matrices, series, large=(), label="", log=False, line=None, average="mean", also=(), original=None,
         floor=None):
    """Values of all series by matrix, and next to them the aggregates and the paper's values. average: the name of the aggregate,
    "" for none; line: a value without effect; also: values that the axis has to reach; original: True of a matrix that is no
    stand-in; log, floor: as of fit(). Returns rows of HEADER."""
    original = original or (lambda m: not measured.is_stand_in(m))
    fit(axis, series, log, also if line is None else (line, *also), floor)
    at, rows, notes = places(matrices, large), [], []
    slot = SLOT * max(0.5, len(matrices) / 13)
    colours = COLOURS if len(series) > 1 else ("black",)
    step = 0.62 / max(1, len(series)) if len(series) > 1 else 0
    for k, s in enumerate(series):
        shift = (k - (len(series) - 1) / 2) * step
        for m in matrices:
            found = s.value.each.get(m)
            x = at[m] + shift
            if m in s.paper:
                stated(axis, x, s.paper[m], colours[k], notes)
            if found is None:
                # One cross where no series was measured.
                if any(m in other.value.each for other in series):
                    missing(axis, x, notes)
                elif k == 0:
                    missing(axis, at[m], notes)
            else:
                stand_in = not original(m)
                if stand_in:
                    note(notes, "stand-in")
                point(axis, x, found, COLOURS[k], MARKERS[k], not stand_in, notes)
            if found is not None or m in s.paper:
                rows.append((s.label, m, *cells(found, s.paper.get(m))))
    if line is not None:
        axis.axhline(line, color="black", linewidth=0.8, zorder=1)
    ticks = [(x, m) for m, x in at.items()]
    end = max(at.values()) + 0.6
    if average and any(s.value.value is not None or s.mean is not None for s in series):
        parts = {s: f"{len(s.value.measured)} of {len(s.value.asked)}" if len(s.value.measured) < len(s.value.asked) else ""
                 for s in series if s.value.value is not None}
        spare = 0.3
        common = set(parts.values()).pop() if len(set(parts.values())) == 1 else ""
        if common:
            average += f"\n({common})"
        elif any(parts.values()):
            slot *= 1.45
            spare = 0.65  # the longest text next to the last point
        axis.axvspan(end + 0.1, end + spare + slot * len(series), color=SHADE, zorder=0, linewidth=0)
        for k, s in enumerate(series):
            x = end + 0.45 + slot * k
            rows += mean(axis, x, s, k, average, notes, "" if common else parts.get(s, ""), colours[k])
        ticks.append((end + 0.2 + slot / 2 * len(series), average))
        end += spare + slot * len(series)
    axis.set_xlim(-0.6, end)
    axis.set_xticks([x for x, _ in ticks], [t for _, t in ticks])
    axis.tick_params(axis="x", length=0, labelsize=TEXT + 1)
    axis.grid(False, axis="x")
    axis.set_ylabel(label)
    key(axis, series, notes)
    return rows


def mean(axis, x, s, k, average, notes, part, colour):
    """The aggregate of a series, and the paper's, as points with their numbers."""
    texts, found, rows = [], s.value.value, []
    if found is not None:
        total = Total(found, s.value.interval, s.value.bound)
        part = f"\n({part})" if part else ""
        point(axis, x, total, COLOURS[k], MARKERS[k], notes=notes, size=SIZE + 1)
        texts.append((found, {1: "≥ ", -1: "≤ ", 0: ""}[s.value.bound] + shown(found) + part, COLOURS[k]))
    if s.mean is not None:
        stated(axis, x, s.mean, colour, notes)
        texts.append((s.mean, shown(s.mean), colour))
    if texts:
        rows.append((s.label, average.split("\n(")[0].replace("\n", " "), *cells(Total(found, s.value.interval, s.value.bound)
                     if found is not None else None, s.mean)))
    texts.sort(key=lambda t: -t[0])
    apart = 0 if len(texts) < 2 else along(axis, texts[0][0]) - along(axis, texts[1][0])
    need = TEXT + 2 + (TEXT * 0.6 * sum("\n" in text for _, text, _ in texts))
    for (value, text, shade), side in zip(texts, (1, -1)):
        # Numbers that would meet are moved apart.
        moved = side * max(0, need - apart) / 2 if len(texts) > 1 else 0
        axis.annotate(text, (x, value), xytext=(6, moved), textcoords="offset points", fontsize=TEXT,
                      color=shade, va="center", linespacing=0.9,
                      bbox={"facecolor": SHADE, "edgecolor": "none", "pad": 0.4})
    return rows


def along(axis, value, across=False):
    """Distance of a value from the lower end of an axis that has its limits and scale, in points, as far as it is known
    before the layout is found."""
    scale, limits = (axis.xaxis, axis.get_xlim()) if across else (axis.yaxis, axis.get_ylim())
    size, box = axis.figure.get_size_inches(), axis.get_position()
    low, high, at = scale.get_transform().transform(numpy.array([*limits, value], dtype=float))
    return 72 * (size[0] * box.width if across else size[1] * box.height) * (at - low) / (high - low)


@dataclasses.dataclass
class Total:
    """A Value that is a number, as point() and cells() take it."""

    number: float
    between: tuple | None
    bound: int = 0

    def interval(self):
        return self.between


def fit(axis, series, log=False, also=(), floor=None):
    """Scale and limits of the y axis; log: False, True, "symlog" of counts, some of which are 0, or a number up to which an
    axis of both signs is linear. Limits: all values, intervals and bounds; of a linear axis the real matrices only so far.
    floor: no value of a linear axis lies below."""
    main = [x for s in series for e in s.value.each.values() for x in (e.number, *(e.interval() or ())) if math.isfinite(x)]
    main += [x for s in series for x in s.paper.values()] + [s.mean for s in series if s.mean is not None] + list(also)
    main += [s.value.value for s in series if isinstance(s.value.value, float)]
    real = [e.number for s in series if s.real for e in s.real.each.values() if math.isfinite(e.number)]
    if not main:
        return
    if log == "symlog":
        axis.set_yscale("symlog", linthresh=1)
        axis.set_ylim(-0.6, 3 * max(1, *main, *real))
        axis.yaxis.set_major_formatter(ticker.EngFormatter(sep=""))
        return
    if log is True:
        axis.set_yscale("log")
        values = [x for x in main + real if x > 0]
        least, most = math.log10(min(values)), math.log10(max(values))
        room = 0.09 * max(most - least, 0.08)
        axis.set_ylim(10 ** (least - 1.6 * room), 10 ** (most + 1.3 * room))
        plain_log(axis.yaxis)
        return
    least, most = min(main), max(main)
    if log:
        axis.set_yscale("symlog", linthresh=log, linscale=LINEAR)
        axis.set_ylim(min(least, *real, -log / 3) * 1.3, max([most, *real]) * 1.3)
        signed_ticks(axis, log)
        return
    span = max(most - least, 1e-9)
    if real:
        inner = numpy.percentile(real, (2.5, 97.5))
        far = min(real) < least - MOST_SPAN * span or max(real) > most + MOST_SPAN * span
        if far:
            least, most = min(least, max(inner[0], least - MOST_SPAN * span)), max(most, min(inner[1], most + MOST_SPAN * span))
        else:
            least, most = min(least, *real), max(most, *real)
    room = 0.09 * (most - least)
    axis.set_ylim(least - 1.4 * room if floor is None else floor - 0.3 * room, most + room)


def signed_ticks(axis, linear):
    """Ticks of a y axis of both signs that is linear up to a number: 0.4 of that, and 1, 2, 4, 10, ... times it."""
    low, high = axis.get_ylim()
    steps = [linear * f for f in (0.4, 1, 2, 4, 10, 20, 40, 100)]
    at = [0, *steps, *(-s for s in steps)]
    axis.set_yticks([x for x in at if low <= x <= high])
    axis.set_yticks([], minor=True)
    axis.yaxis.set_major_formatter(ticker.FuncFormatter(lambda v, _: shown(v) if v else "0"))


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


def shown(value):
    """A number next to a point: three digits, or two if the number is small."""
    text = f"{value:.2g}" if abs(value) < 0.1 else style.short(value)
    return text.replace("-", "−")


def strip(axis, series, room=1):
    """One dot for each real matrix and series, with median and quartiles; what lies beyond the axis is marked at its edge.
    The axis shares y with one that has its limits; room: the number of series that fit. Returns rows of HEADER."""
    rows, most = [], 0
    columns = [(k, s) for k, s in enumerate(series) if s.real]
    for x, (k, s) in enumerate(columns):
        each = s.real.each
        most = max(most, len(each))
        rows += [(s.label, m, *cells(e, which="real")) for m, e in each.items()]
        swarm(axis, x, [(e.number, e.bound) for e in each.values()], COLOURS[k])
    medians = [numpy.median([e.number for e in s.real.each.values()]) for _, s in columns]
    spare = max(0, room - len(columns)) / 2
    axis.set_xlim(-0.6 - spare, len(columns) - 0.4 + spare)
    axis.set_xticks(range(len(columns)), [shown(v) for v in medians], fontsize=TEXT)
    axis.set_xlabel(f"median,\n{most} real" if len(columns) == 1 else f"medians,\n{most} real matrices", fontsize=TEXT)
    axis.tick_params(axis="x", length=0)
    axis.tick_params(axis="y", labelleft=False, which="both", length=0)
    axis.spines["left"].set_visible(False)
    axis.grid(False, axis="x")
    return rows


def names(axis, ends, left=False):
    """Names of series right of the last points, or left of the first, in a column, moved apart where they would meet; ends:
    [(x, y, text, colour)]. The axis has its limits; those of x leave room for the names."""
    ends = sorted(ends, key=lambda e: e[1])
    edge = (min if left else max)(x for x, _, _, _ in ends)
    true = [along(axis, y) for _, y, _, _ in ends]
    high = [(TEXT + 1.5) * (1 + text.count("\n")) for _, _, text, _ in ends]
    at = list(true)
    for _ in range(500):
        for k in range(len(at) - 1):
            push = ((high[k] + high[k + 1]) / 2 - (at[k + 1] - at[k])) / 2
            if push > 0:
                at[k], at[k + 1] = at[k] - push, at[k + 1] + push
    for (x, y, text, colour), here, was in zip(ends, at, true):
        moved = transforms.ScaledTranslation((-14 if left else 14) / 72, (here - was) / 72, axis.figure.dpi_scale_trans)
        axis.annotate(text, (x, y), xytext=(edge, y), textcoords=axis.transData + moved, fontsize=TEXT, color=colour,
                      va="center", ha="right" if left else "left", annotation_clip=False, linespacing=1,
                      arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.4, "shrinkA": 0, "shrinkB": 3,
                                  "relpos": (1 if left else 0, 0.5)})


def swarm(axis, k, values, colour, across=False, wide=0.42):
    """Dots side by side about k where they would meet; triangles are bounds; median and quartiles as lines. across: along
    x instead of y."""
    limits = axis.get_xlim() if across else axis.get_ylim()
    log = (axis.get_xscale() if across else axis.get_yscale()) == "log"
    kept = sorted((v, b) for v, b in values if math.isfinite(v) and (v > 0 or not log))
    if not kept:
        return
    inside = [(v, b) for v, b in kept if limits[0] <= v <= limits[1]]
    placed = []
    near, step = 2.6, 0.09 if len(kept) > 12 else 0.12
    for v, bound in inside:
        y = along(axis, v, across)
        taken = [s for p, s in placed if abs(p - y) < near]
        slots = [s for j in range(int(wide / step) + 1) for s in {j * step, -j * step}]
        free = [s for s in slots if all(abs(s - t) > step * 0.9 for t in taken)]
        side = free[0] if free else slots[len(placed) % len(slots)]
        placed.append((y, side))
        marker = "^" if bound > 0 else "v" if bound < 0 else "o"
        x, y = (v, k + side) if across else (k + side, v)
        axis.plot([x], [y], marker=marker, markersize=3.2 if bound else 2.4, color=colour, alpha=0.9 if bound else 0.6,
                  markeredgewidth=0, linestyle="none", gid="real")
    low, mid, high = numpy.percentile([v for v, _ in kept], (25, 50, 75))
    for value, weight in ((low, 0.9), (mid, 2.2), (high, 0.9)):
        if limits[0] <= value <= limits[1]:
            xs, ys = ([value, value], [k - wide, k + wide]) if across else ([k - wide, k + wide], [value, value])
            axis.plot(xs, ys, color="black", linewidth=weight, solid_capstyle="butt", zorder=5,
                      gid="median" if weight > 1 else "quartile")
    for beyond, edge in ((sum(v > limits[1] for v, _ in kept), 1), (sum(v < limits[0] for v, _ in kept), 0)):
        if beyond:
            sign = ("▸" if edge else "◂") if across else "▴" if edge else "▾"
            where = ((edge, k), axis.get_yaxis_transform()) if across else ((k, edge), axis.get_xaxis_transform())
            axis.annotate(f"{beyond}{sign}", where[0], xycoords=where[1], fontsize=TEXT, color=colour,
                          ha="center" if not across else "right" if edge else "left",
                          va="center" if across else "top" if edge else "bottom", gid="beyond", annotation_clip=False)
