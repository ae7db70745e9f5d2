"""Pictures of the site: charts as inline SVG whose colours the style sheet sets, patterns as PNG."""

import base64
import html
import math
import struct
import zlib

import numpy

SERIES = 8  # of which the style sheet has colours


def span(values):
    """Powers of ten around positive values."""
    low, high = math.floor(math.log10(min(values)) + 1e-9), math.ceil(math.log10(max(values)) - 1e-9)
    return low, high if high > low else low + 1


def power(exponent):
    """A power of ten in plain digits, or as a power."""
    return f"{10.0 ** exponent:g}" if -4 < exponent < 5 else f"1e{exponent}"


def marker(k, x, y, title, r=4):
    """The marker of series k at a point, with a title that a pointer shows."""
    shapes = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>',
        f'<rect x="{x - r:.1f}" y="{y - r:.1f}" width="{2 * r}" height="{2 * r}"/>',
        f'<path d="M{x:.1f} {y - r - 1:.1f}l{r + 1} {2 * r}h{-2 * r - 2}z"/>',
        f'<path d="M{x:.1f} {y - r - 1:.1f}l{r + 1} {r + 1}l{-r - 1} {r + 1}l{-r - 1} {-r - 1}z"/>',
        f'<path d="M{x:.1f} {y + r + 1:.1f}l{r + 1} {-2 * r}h{-2 * r - 2}z"/>',
        f'<path class="bare" d="M{x - r:.1f} {y - r:.1f}l{2 * r} {2 * r}m0 {-2 * r}l{-2 * r} {2 * r}"/>',
        f'<path class="bare" d="M{x - r:.1f} {y:.1f}h{2 * r}m{-r} {-r}v{2 * r}"/>',
        f'<circle class="bare" cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>')
    return f'<g class="m">{shapes[k % SERIES]}<title>{html.escape(title)}</title></g>'


def svg(width, height, label, parts):
    return (f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
            f'aria-label="{html.escape(label)}">{"".join(parts)}</svg>')


def time_dots(rows, label):
    """Horizontal dots of milliseconds on a logarithmic axis. rows: (name, ms, low or None, high or None, text)."""
    left, right, line, top = 14 + 7 * max(len(row[0]) for row in rows), 90, 20, 6
    width = left + 380 + right
    ends = [v for _, ms, low, high, _ in rows for v in (ms, low or ms, high or ms)]
    low10, high10 = span(ends)
    height = top + line * len(rows) + 40

    def at(ms):
        return left + (math.log10(ms) - low10) / (high10 - low10) * (width - left - right)
    parts = []
    bottom = top + line * len(rows)
    for e in range(low10, high10 + 1):
        x = at(10.0 ** e)
        parts.append(f'<path class="grid" d="M{x:.1f} {top}V{bottom}"/>'
                     f'<text class="tick" x="{x:.1f}" y="{bottom + 15}" text-anchor="middle">{power(e)}</text>')
    parts.append(f'<text class="tick" x="{(left + width - right) / 2}" y="{bottom + 32}" text-anchor="middle">'
                 "median time, ms (logarithmic)</text>")
    for k, (name, ms, low, high, text) in enumerate(rows):
        y = top + line * k + line / 2
        parts.append(f'<text x="{left - 10}" y="{y + 4:.1f}" text-anchor="end">{html.escape(name)}</text>')
        parts.append(f'<path class="lead" d="M{left} {y}H{at(ms):.1f}"/>')
        if low is not None:
            parts.append(f'<path class="interval" d="M{at(low):.1f} {y}H{at(high):.1f}"/>')
        parts.append(f'<g class="s0">{marker(0, at(ms), y, f"{name}: {text}")}</g>')
        end = max(at(ms), at(high or ms)) + 9
        parts.append(f'<text class="value" x="{end:.1f}" y="{y + 4:.1f}">{html.escape(text)}</text>')
    return svg(width, height, label, parts)


def lines(series, x_label, y_label, label, width=430, height=300):
    """Lines on two logarithmic axes. series: (index of its look, name, [(x, y, text)])."""
    left, right, top, bottom = 52, 12, 10, 44
    points = [p for *_, of in series for p in of]
    x10, y10 = span([p[0] for p in points]), span([p[1] for p in points])

    def at(x, y):
        return (left + (math.log10(x) - x10[0]) / (x10[1] - x10[0]) * (width - left - right),
                height - bottom - (math.log10(y) - y10[0]) / (y10[1] - y10[0]) * (height - top - bottom))
    parts = []
    for e in range(x10[0], x10[1] + 1):
        x, _ = at(10.0 ** e, 10.0 ** y10[0])
        parts.append(f'<path class="grid" d="M{x:.1f} {top}V{height - bottom}"/>'
                     f'<text class="tick" x="{x:.1f}" y="{height - bottom + 15}" text-anchor="middle">{power(e)}</text>')
    for e in range(y10[0], y10[1] + 1):
        _, y = at(10.0 ** x10[0], 10.0 ** e)
        parts.append(f'<path class="grid" d="M{left} {y:.1f}H{width - right}"/>'
                     f'<text class="tick" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{power(e)}</text>')
    parts.append(f'<text class="tick" x="{(left + width - right) / 2}" y="{height - 8}" text-anchor="middle">'
                 f"{html.escape(x_label)}</text>")
    parts.append(f'<text class="tick" transform="translate(12 {(top + height - bottom) / 2}) rotate(-90)" '
                 f'text-anchor="middle">{html.escape(y_label)}</text>')
    for k, name, of in series:
        of = sorted(of)
        path = "L".join("{:.1f} {:.1f}".format(*at(x, y)) for x, y, _ in of)
        parts.append(f'<g class="s{k % SERIES}"><path class="line" d="M{path}"/>' +
                     "".join(marker(k, *at(x, y), f"{name}, {text}") for x, y, text in of) + "</g>")
    return svg(width, height, label, parts)


def key(k):
    """The marker of series k alone, for a legend."""
    return f'<svg class="key" viewBox="0 0 24 14" width="24" height="14" aria-hidden="true"><g class="s{k % SERIES}">' \
           f'<path class="line" d="M1 7H23"/>{marker(k, 12, 7, "")}</g></svg>'.replace("<title></title>", "")


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def pattern_png(n, rows, columns, most=200):
    """A data URI of the density of a pattern: black whose opacity grows with the entries of a pixel; an entry alone is seen."""
    side = min(n, most)
    count, _, _ = numpy.histogram2d(rows, columns, bins=side, range=((0, n), (0, n)))
    alpha = numpy.where(count > 0, 70 + 185 * numpy.log1p(count) / max(math.log1p(count.max()), 1e-9), 0)
    pixels = numpy.zeros((side, side, 2), dtype=numpy.uint8)
    pixels[..., 1] = numpy.minimum(alpha, 255)
    raw = b"".join(b"\0" + row.tobytes() for row in pixels)
    png = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 4, 0, 0, 0)) +
           chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))
    return "data:image/png;base64," + base64.b64encode(png).decode()
