"""Pictures of the site: charts as SVG whose colours the style sheet sets, patterns as PNG."""

import base64
import html
import io
import math
import re
import struct
import zlib

import numpy
import style
from style import plt
from style_dots import plain_log

MARKS = (("o", "●"), ("s", "■"), ("^", "▲"), ("D", "◆"), ("v", "▼"))  # of a series in a chart, and in its key
COLOURS = {"#020202": "var(--faint)", "#030303": "var(--grid)"} | {
    f"#0404{k:02}": f"var(--s{k})" for k in range(len(MARKS))}
FAINT, GRID, *SERIES = COLOURS
LOOK = {"svg.fonttype": "none", "svg.hashsalt": "gsofa", "axes.labelcolor": FAINT, "axes.edgecolor": FAINT,
        "xtick.color": FAINT, "ytick.color": FAINT, "grid.color": GRID}


class Scale:
    """A logarithmic axis over positive values; positions are percent of its length."""

    def __init__(self, values):
        self.low = math.floor(math.log10(min(values)) + 1e-9)
        self.high = max(math.ceil(math.log10(max(values)) - 1e-9), self.low + 1)

    def at(self, value):
        return round(100 * (math.log10(value) - self.low) / (self.high - self.low), 2)

    def ticks(self):
        """(position, text) of the powers of ten."""
        return [(self.at(10.0 ** e), f"{10.0 ** e:,.0f}" if e >= 0 else f"{10.0 ** e:g}") for e in range(self.low, self.high + 1)]


def chart(series, x_label, y_label, label, joined=False, ratio=False):
    """Series of points on two logarithmic axes, as inline SVG. series: {look: [(x, y, title, address)]}, each point of several a
    link; joined: a line connects the points of a series; ratio: y is a multiple, with a line at 1. At 4.6 inches text stays readable
    on a phone."""
    with plt.rc_context(LOOK):
        figure, axes = plt.subplots(figsize=(4.6, 3.3))
        for k, points in series.items():
            x, y, _, addresses = zip(*points)
            if joined:
                axes.plot(x, y, color=SERIES[k], linewidth=1.3)
            dots = axes.scatter(x, y, s=17, marker=MARKS[k][0], c=[SERIES[k]] * len(x), linewidths=0, zorder=3)
            dots.set_urls(addresses)
        axes.set(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
        plain_log(axes.yaxis)
        if ratio:
            axes.axhline(1, color=FAINT, linewidth=0.9)
            axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}×")
        style.without_mathtext(figure)
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
        plt.close(figure)
    text = out.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r' id="\w+_\d+"', "", text)
    text = re.sub("|".join(COLOURS), lambda m: COLOURS[m[0]], text)
    text = re.sub(r'^<svg .*?viewBox="([^"]+)".*?>', rf'<svg viewBox="\1" role="img" aria-label="{html.escape(label)}">', text, flags=re.S)
    titles = iter([title for points in series.values() if len(points) > 1 for _, _, title, address in points if address])
    return re.sub(r"<a xlink:href=[^>]*>", lambda m: f"{m[0]}<title>{html.escape(next(titles))}</title>", text)


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def pattern_png(n, rows, columns, most=200):
    """A data URI of the density of a pattern: black whose opacity grows with the entries of a pixel; a single entry is visible."""
    side = min(n, most)
    count, _, _ = numpy.histogram2d(rows, columns, bins=side, range=((0, n), (0, n)))
    alpha = numpy.where(count > 0, 70 + 185 * numpy.log1p(count) / max(math.log1p(count.max()), 1e-9), 0)
    pixels = numpy.zeros((side, side, 2), dtype=numpy.uint8)
    pixels[..., 1] = numpy.minimum(alpha, 255)
    raw = b"".join(b"\0" + row.tobytes() for row in pixels)
    png = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 4, 0, 0, 0)) +
           chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))
    return "data:image/png;base64," + base64.b64encode(png).decode()
