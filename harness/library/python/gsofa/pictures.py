"""Pictures of patterns, fill, trees and profiles. Matplotlib draws them.

Entries of A are dark, fill-ins light, in grey too. A matrix with more rows than the picture has cells is drawn by density: the
darker a cell, the more of its places are entries.
"""
import io
import pathlib

import numpy as np

from .errors import InvalidInput, needed

matplotlib = needed("matplotlib", "pictures")
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator
from PIL import Image  # Matplotlib needs it

from ._pattern import canonical, cell_counts, pattern_of
from ._symbolic import Symbolic

ENTRY = np.array([0.09, 0.20, 0.38])  # of A: dark blue
FILL = np.array([0.95, 0.58, 0.22])  # of L + U only: orange, light in grey
LINE = "#30b48a"  # borders of supernodes
CELLS = 480  # in each direction: about as many as a picture has pixels
STYLE = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6,
         "xtick.major.width": 0.6, "ytick.major.width": 0.6, "savefig.dpi": 200,
         "text.parse_math": False}  # names may have a $


def places(n, cells):
    """cells x cells: places of the matrix in each cell."""
    sizes = np.bincount(np.arange(n, dtype=np.int64) * cells // n, minlength=cells)
    return np.outer(sizes, sizes)


def strength(counts, n):
    """How dark a cell is, from 0 to 1: a cell with any entry can be seen."""
    share = counts / places(n, counts.shape[0])
    return np.where(counts > 0, 0.22 + 0.78 * share**0.35, 0)


def image(n, entries, factors=None):
    """RGB image of the counts of A's entries and, over them, those of L + U."""
    rgb = np.ones((*entries.shape, 3))
    dark = strength(entries, n)[..., None]
    if factors is not None:
        light = strength(factors, n)[..., None]
        rgb = rgb * (1 - light) + FILL * light
        # Where most entries of a cell are fill-ins, A's are a shade of it.
        dark *= ((entries / np.maximum(factors, 1)) ** 0.25)[..., None]
    return rgb * (1 - dark) + ENTRY * dark


def thousands(axis):
    """Whole numbers with separators at the ticks of an axis."""
    axis.set_major_locator(MaxNLocator(5, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{int(x):,}"))


def draw(ax, n, entries, factors, title, borders=()):
    """One pattern on its axes: rows downwards, columns to the right, both from 0."""
    extent = (-0.5, n - 0.5, n - 0.5, -0.5)
    ax.imshow(image(n, entries, factors), extent=extent, interpolation="nearest", aspect="equal")
    if len(borders):
        squares = [[(b, b), (e, b), (e, e), (b, e), (b, b)] for b, e in borders]
        ax.add_collection(LineCollection(squares, colors=LINE, linewidths=1.1))
    for side in ax.spines.values():
        side.set_visible(True)
    ax.set_title(title, fontsize=9, loc="left")
    ax.xaxis.tick_bottom()
    thousands(ax.xaxis)
    thousands(ax.yaxis)


class Picture(Figure):
    """A Figure that notebooks show, without a window and without need to be closed."""

    def _repr_png_(self):
        drawn, out = io.BytesIO(), io.BytesIO()
        self.savefig(drawn, format="png", dpi=90)
        Image.open(drawn).convert("RGB").quantize(256).save(out, format="png", optimize=True)  # half of the bytes
        return out.getvalue()


def figure_of(columns, width=3.3, height=4.1):
    """A figure with a row of axes."""
    with matplotlib.rc_context(STYLE):
        fig = Picture(figsize=(width * columns + 0.4, height), layout="constrained")
        axes = fig.subplots(1, columns, squeeze=False)[0]
    return fig, axes


def legend(fig, borders):
    """What the colours mean, below the pictures."""
    marks = [Patch(color=ENTRY, label="entry of A"), Patch(color=FILL, label="fill-in")]
    if borders:
        marks.append(Line2D([], [], color=LINE, linewidth=1, label="supernode"))
    fig.get_layout_engine().set(rect=(0, 0.07, 1, 0.93))
    fig.legend(handles=marks, loc="lower center", ncols=len(marks), frameon=False, fontsize=8)


def titles(s):
    """What is said of an analysis above its pictures."""
    return f"L + U, {s.order}: {s.nnz:,}", f"fill-ins {s.fill:,}, {s.fill / s.nnz_a:.2f} times A"


def as_symbolic(s):
    if not isinstance(s, Symbolic):
        raise InvalidInput(f"expected what gsofa.analyze() returns, not {type(s).__name__}")
    drawable(s.n)
    return s


def drawable(n):
    if n == 0:
        raise InvalidInput("the order is 0, so there is nothing to draw")


def factor_axes(ax, s, cells, supernodes):
    """L + U of one analysis on its axes; True if borders of supernodes are drawn."""
    n = s.n
    cells = min(cells, n)
    borders = ()
    if supernodes:
        # The squares on the diagonal that a reader can tell apart.
        begins, ends = s.supernodes - 0.5, np.append(s.supernodes[1:], n) - 0.5
        borders = [(b, e) for b, e in zip(begins, ends) if e - b >= 0.01 * n]
    draw(ax, n, cell_counts(*s._permuted, cells), s.density(cells), "\n".join(titles(s)), borders)
    return len(borders) > 0


def spy(s, *, cells=CELLS, supernodes=True, path=None):
    """A, A permuted, and L + U with the fill-ins in another colour, side by side; a matplotlib Figure. supernodes: draw a
    square for each supernode that is large enough to be seen. path: where to write it (.png, .svg, .pdf, .html)."""
    as_symbolic(s)
    fig, axes = figure_of(3)
    used = min(cells, s.n)
    with matplotlib.rc_context(STYLE):
        title = f"A: order {s.n:,}\n{s.nnz_a - s.diagonal_added:,} entries"
        draw(axes[0], s.n, cell_counts(*canonical(*s._pattern, s.progress), used), None, title)
        draw(axes[1], s.n, cell_counts(*s._permuted, used), None, "A, rows and columns permuted\n")
        legend(fig, factor_axes(axes[2], s, cells, supernodes))
    return written(fig, path)


def compare(first, second, *, cells=CELLS, supernodes=False, path=None):
    """L + U of two analyses of one matrix side by side, as by two orders; a Figure."""
    fig, axes = figure_of(2, 4)
    with matplotlib.rc_context(STYLE):
        drawn = [factor_axes(ax, as_symbolic(s), cells, supernodes) for ax, s in zip(axes, (first, second))]
        legend(fig, any(drawn))
    return written(fig, path)


def pattern(a, *, cells=CELLS, path=None):
    """The pattern of a matrix; a Figure."""
    row_ptr, col_idx = canonical(*pattern_of(a))
    n = row_ptr.size - 1
    drawable(n)
    fig, axes = figure_of(1, 3.6)
    with matplotlib.rc_context(STYLE):
        draw(axes[0], n, cell_counts(row_ptr, col_idx, min(cells, n)), None, f"order {n:,}, {col_idx.size:,} entries")
    return written(fig, path)


def thumbnail(s, out, cells=200):
    """L + U without axes, a PNG of 200 x 200 pixels at most."""
    used = min(cells, s.n)
    matplotlib.image.imsave(out, image(s.n, cell_counts(*s._permuted, used), s.density(used)), format="png")


def leaves_before(parent):
    """For each vertex of a postordered forest the mean position of its leaves, and their number."""
    n = parent.size
    leaves, place = np.zeros(n, dtype=np.int64), np.zeros(n)
    count = 0
    for v, p in enumerate(parent.tolist()):
        if leaves[v] == 0:
            leaves[v], place[v] = 1, count
            count += 1
        if p >= 0:
            leaves[p] += leaves[v]
            place[p] += place[v]
    return place / leaves, leaves


def tree(s, *, path=None, most=20000):
    """The elimination tree: leaves along the bottom, a column above its children at its height; the thicker a path, the more
    work its pivots are. Chains are lines, so that separators are the long ones near the top. Isolated columns, trees of their
    own, are left out next to larger trees, and so are the lowest levels if more than `most` columns remain. A Figure."""
    as_symbolic(s)
    parent, level = s.parent, s.levels
    isolated = (parent < 0) & (level == 0)
    keep = ~isolated if not isolated.all() else isolated
    omitted = [f"{s.n - keep.sum():,} isolated"] if not keep.all() else []
    if (rest := keep.sum()) > most:
        keep &= level >= np.sort(level[keep])[rest - most]
        omitted.append(f"the lowest {rest - keep.sum():,}")
    at = np.flatnonzero(keep)
    index = np.full(s.n, -1)
    index[at] = np.arange(at.size)
    above = np.where(parent[at] >= 0, index[parent[at]], -1)
    place, _ = leaves_before(above)
    height = level[at] + 1
    l_counts, u_counts = s.l_col_counts.astype(float)[at], s.u_row_counts[at] - 1.0
    work = l_counts + 2 * l_counts * u_counts
    child = np.flatnonzero(above >= 0)
    segments = np.stack([np.column_stack([place[child], height[child]]),
                         np.column_stack([place[above[child]], height[above[child]]])], axis=1)
    fig, (ax,) = figure_of(1, 6.5, 4)
    with matplotlib.rc_context(STYLE):
        relative = (work[child] / work.max() if work.size and work.max() > 0 else np.zeros(child.size)) ** 0.5
        ax.add_collection(LineCollection(segments, colors=[tuple(ENTRY)], linewidths=0.4 + 3.6 * relative))
        roots = np.flatnonzero(above < 0)
        ax.plot(place[roots], height[roots], "o", color=LINE, markersize=2.5)
        ax.autoscale()
        ax.set_ylabel("columns on the longest path from a leaf")
        ax.set_xticks([])
        ax.set_title(f"Elimination tree, {s.order}: height {s.height:,} of {s.n:,} columns"
                     + (f"; {' and '.join(omitted)} left out" if omitted else ""), fontsize=9, loc="left")
        thousands(ax.yaxis)
    return written(fig, path)


def profiles(s, *, path=None):
    """Along the elimination: entries of each column of L and row of U, and the share of all operations done; a Figure."""
    as_symbolic(s)
    l_counts, u_counts = s.l_col_counts.astype(float), s.u_row_counts.astype(float)
    work = l_counts + 2 * l_counts * (u_counts - 1)
    fig, axes = figure_of(2, 3.9, 3)
    step = max(1, s.n // 4000)
    pivots = np.arange(0, s.n, step)
    with matplotlib.rc_context(STYLE):
        for counts, colour, name, style in ((u_counts, FILL, "row of U", "-"), (l_counts, ENTRY, "column of L", "--")):
            axes[0].plot(pivots, np.maximum.reduceat(counts, pivots), style, color=tuple(colour), linewidth=0.7, label=name)
        axes[0].set_ylabel("entries" + (f", most of {step:,} pivots" if step > 1 else ""))
        axes[0].set_ylim(bottom=0)
        # Above the curves, which may fill their axes.
        axes[0].legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, ncols=2)
        total = work.sum()
        axes[1].plot(pivots, 100 * np.cumsum(work)[pivots] / (total if total > 0 else 1), color=tuple(ENTRY), linewidth=1)
        axes[1].set_ylabel("operations done, % of all")
        axes[1].set_title(f"{s.flops:.3g} operations", fontsize=9, loc="left")
        for ax in axes:
            ax.set_xlabel("pivot")
            ax.set_xlim(0, s.n)
            thousands(ax.xaxis)
    return written(fig, path)


def written(fig, path):
    """The figure, written to `path` if there is one."""
    if path is not None:
        save(fig, path)
    return fig


def save(fig, path):
    """Writes a figure as the name says: .png, .svg, .pdf, or .html, a page of its own. The file appears whole or not at all."""
    path = pathlib.Path(path)
    kind = path.suffix.lstrip(".").lower()
    if kind not in ("png", "svg", "pdf", "html"):
        raise InvalidInput(f"{path.name}: pictures are .png, .svg, .pdf or .html")
    out = io.BytesIO()
    with matplotlib.rc_context({**STYLE, "svg.fonttype": "none"}):
        fig.savefig(out, format="svg" if kind == "html" else kind)
    data = out.getvalue()
    if kind == "html":
        drawing = data.decode()
        drawing = drawing[drawing.index("<svg"):]
        data = ("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
                "content=\"width=device-width\"><title>gsofa</title><style>body{margin:2em;background:#fff}"
                "svg{max-width:100%;height:auto}</style>" + drawing + "</html>\n").encode()
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


__all__ = ["compare", "pattern", "profiles", "save", "spy", "thumbnail", "tree"]
