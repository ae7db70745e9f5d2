"""Figures by kind of matrix: a dot for each matrix, real kinds first; colours that colour-blind readers tell apart."""

import json
import math
import re
import textwrap

import numpy
from matplotlib import ticker

import records
import records_ratios as ratios
import style
import style_dots as dots
from style import plt

# (colour, marker) of each kind, after Okabe and Ito; stand-ins are hollow.
LOOKS = dict(zip(records.KINDS, (("#000000", "D"), ("#0072b2", "o"), ("#d55e00", "s"), ("#009e73", "^"), ("#e69f00", "P"),
                                 ("#56b4e9", "X"), ("#cc79a7", "v"), ("#8c8c8c", "o"))))
HEADER = ("panel", "kind", "matrix", "hosts", "value", "low", "high", "bound")
FEWEST = 3  # matrices of a panel
ALL_REAL = "all real"  # an aggregate over records.REAL
SIGN = {1: "≥ ", -1: "≤ ", 0: ""}
BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}  # texts, which lines would cross


def face(kind):
    return "white" if kind == "stand-in" else LOOKS[kind][0]


def look(kind, size=4):
    """Keywords of plot() for dots of a kind."""
    return {"marker": LOOKS[kind][1], "color": LOOKS[kind][0], "markerfacecolor": face(kind), "linestyle": "none",
            "markersize": size, "markeredgewidth": 0.9}


def digits(value):
    """Three digits, of a small number two."""
    return (style.short(value) if abs(value) >= 100 else f"{value:#.2g}" if abs(value) < 0.1 else f"{value:#.3g}").replace("-", "−")


def panels(count, columns=0, height=2.3):
    """(figure, axes) below each other, with room for columns of kinds."""
    fig, axes = plt.subplots(count, 1, figsize=(max(6.6, 0.8 + columns), 0.45 + height * count), squeeze=False, layout="constrained")
    return fig, list(axes[:, 0])


def panel(axis, quantity, title, label, paper=(), how="geometric mean", log=True, line=1, limits=None):
    """A column for each kind: a dot for each matrix, if there are several, and the aggregate `how` with its interval and number.
    paper: (value, text) of the paper's values, in a first column. limits: of a linear axis; values beyond are counted at its
    edge. Returns rows of HEADER."""
    kinds = [k for k in records.KINDS if quantity.of_kind(k)]
    if not kinds:
        raise records.Absent(f"no records for {title}")
    means = {k: quantity.over((k,), how) for k in kinds}
    shown = [v.number for v in quantity.each.values()] + [v for v, _ in paper] + [line] * (line is not None)
    scale(axis, shown, log, limits)
    first = 1.5 if paper else 0  # texts of the paper's values are long
    rows, places, ticks = [], [0] * bool(paper), ["the paper"] * bool(paper)
    for k, kind in enumerate(kinds):
        x = first + k
        each = quantity.of_kind(kind)
        number, between, bound, count = means[kind]
        if count > 1:
            swarm(axis, x - 0.12, kind, each)
        aggregate(axis, x + 0.28 * (count > 1), kind, number, between, SIGN[bound] + digits(number))
        places.append(x)
        ticks.append(f"{kind}\nn = {count}")
        rows += [row(title, kind, m, v.hosts, v.number, v.interval(), v.bound) for m, v in each.items()]
        rows.append(row(title, kind, how, max(v.hosts for v in each.values()), number, between, bound))
    if real := quantity.over(records.REAL, how):
        rows.append(row(title, ALL_REAL, how, max(v.hosts for v in quantity.each.values() if v.kind in records.REAL), *real[:3]))
    rows += [(title, "the paper", text, "", f"{value:.6g}", "", "", "") for value, text in paper if text]
    of_paper(axis, paper)
    if line is not None:
        axis.axhline(line, color="black", linewidth=0.8, zorder=1)
    axis.set_xlim(-0.55, first + len(kinds) - 0.2)
    axis.set_xticks(places, ticks, fontsize=dots.TEXT + 0.5)
    axis.tick_params(axis="x", length=0)
    axis.grid(False, axis="x")
    axis.set_title(title, loc="left", fontsize=8.5)
    axis.set_ylabel(label, fontsize=8)
    return rows


def of_paper(axis, paper):
    """Lines and texts of the paper's values in the first column; a text that would meet the one below it moves up."""
    low, high = axis.get_ylim()
    free = -math.inf
    for value, text in sorted(paper):
        inside = min(max(value, low), high)
        axis.plot([-0.25], [inside], marker="_", color="black", markersize=11, markeredgewidth=1.6, linestyle="none", gid="paper",
                  clip_on=False)
        if not text:
            continue
        y = dots.along(axis, inside)
        up, free = max(0, free - y), max(free, y) + 1.1 * dots.TEXT * (1 + text.count("\n"))
        axis.annotate(text + " ▴" * (value > high), (-0.25, inside), xytext=(8, up), textcoords="offset points", fontsize=dots.TEXT,
                      va="top" if value > high else "center", annotation_clip=False, bbox=BEHIND)


def row(panel, kind, matrix, hosts, number, between, bound):
    low, high = (f"{x:.6g}" if abs(x) < float("inf") else "" for x in between) if between else ("", "")
    return panel, kind, matrix, hosts, f"{number:.6g}", low, high, {1: "at least", -1: "at most", 0: ""}[bound]


def scale(axis, values, log, limits):
    """Scale and limits of y."""
    if limits:
        axis.set_ylim(*limits)
        return
    values = [v for v in values if v > 0] if log else values
    least, most = min(values, default=1), max(values, default=1)
    if log:
        axis.set_yscale("log")
        room = 1.25 * (most / least) ** 0.04
        axis.set_ylim(least / room, most * room)
        dots.plain_log(axis.yaxis)
    else:
        room = 0.06 * (most - least or 1)
        axis.set_ylim(least - room, most + room)
        axis.yaxis.set_major_locator(ticker.MaxNLocator(6))


def swarm(axis, x, kind, each, wide=0.26, step=0.05):
    """Dots side by side where they would meet; arrows are bounds; the edge names the value of a dot beyond it, or their number and the
    farthest value."""
    low, high = axis.get_ylim()
    placed, shown = [], {}
    for v in sorted(each.values(), key=lambda v: v.number):
        if not low <= v.number <= high:
            continue
        y = dots.along(axis, v.number)
        taken = [s for p, s in placed if abs(p - y) < 3.2]
        slots = [s for j in range(int(wide / step) + 1) for s in {j * step, -j * step}]
        free = [s for s in slots if all(abs(s - t) > step * 0.9 for t in taken)]
        side = free[0] if free else slots[len(placed) % len(slots)]
        placed.append((y, side))
        shown.setdefault(v.bound, []).append((x + side, v.number))
    for bound, dots_of in sorted(shown.items(), key=lambda item: abs(item[0])):
        arrow = {"marker": "$↑$" if bound > 0 else "$↓$", "markersize": 6} if bound else {}
        axis.plot(*zip(*dots_of), **look(kind, 2.8) | {"gid": "value", "alpha": 0.75} | arrow)
    for beyond, edge in (([v.number for v in each.values() if v.number > high], 1), ([v.number for v in each.values() if v.number < low], 0)):
        if beyond:
            farthest = digits(max(beyond) if edge else min(beyond))
            text = farthest if len(beyond) == 1 else f"{len(beyond)}, to {farthest}"
            axis.annotate(f"{'▴' if edge else '▾'} {text}", (x - 0.36, edge), xycoords=axis.get_xaxis_transform(), fontsize=dots.TEXT,
                          color=LOOKS[kind][0], ha="center", va="top" if edge else "bottom", gid="beyond", annotation_clip=False)


def aggregate(axis, x, kind, number, between, text):
    """An aggregate with its interval and number, at the edge of the axis if it lies beyond."""
    low, high = axis.get_ylim()
    if between:
        axis.plot([x, x], numpy.clip(between, low, high), color=LOOKS[kind][0], linewidth=1.6, solid_capstyle="butt", gid="interval")
    inside = min(max(number, low), high)
    axis.plot([x], [inside], **look(kind, 6.5) | {"marker": "d", "gid": "mean"})
    axis.annotate(text, (x, inside), xytext=(5, 0), textcoords="offset points", fontsize=dots.TEXT + 0.5, color=LOOKS[kind][0],
                  va="center", annotation_clip=False, bbox=BEHIND)


def of_cell(cell):
    """"12.6 (11 to 15)" of an aggregate, a row of the CSV, or "(from 11)" where a bound leaves the other end open. The third digit
    of a wide interval is one of chance."""
    number, low, high, bound = cell[4:]
    text = {"at least": SIGN[1], "at most": SIGN[-1], "": ""}[bound] + digits(float(number))
    wide = not (low and high) or float(high) - float(low) > 0.1 * abs(float(number))

    def end(text):
        short = digits(float(f"{float(text):.2g}")) if wide else digits(float(text))
        return short.rstrip("0").rstrip(".") if wide and "." in short else short
    if low and high:
        return f"{text} ({end(low)} to {end(high)})"
    return f"{text} (from {end(low)})" if low else f"{text} (up to {end(high)})" if high else text


def markdown(rows):
    """Table of the aggregates of rows of the CSV: a line for each panel, a column for each kind."""
    found = {(r[0], r[1]): r for r in rows if r[2] in ratios.NUMBERS}
    titles = list(dict.fromkeys(title for title, _ in found))
    kinds = [k for k in (ALL_REAL, *records.KINDS[len(records.REAL):]) if any((t, k) in found for t in titles)]
    how = {t: next(r[2] for (title, _), r in found.items() if title == t) for t in titles}
    of_paper = {t: "; ".join(r[2] for r in rows if r[0] == t and r[1] == "the paper").replace("\n", " ") for t in titles}
    lines = [("", "the paper", *(k.replace(ALL_REAL, "real") for k in kinds)), ("---",) * (2 + len(kinds))]
    lines += [(f"{t} ({how[t]})", of_paper[t], *(of_cell(found[t, k]) if (t, k) in found else "" for k in kinds)) for t in titles]
    counts = {k: [len({r[2] for r in rows if r[0] == t and r[1] in (records.REAL if k == ALL_REAL else (k,))} - set(ratios.NUMBERS))
                  for t in titles] for k in kinds}
    counts = {k: [n for n in c if n] for k, c in counts.items()}
    spans = [f"{min(c)} to {max(c)}" if min(c) < max(c) else str(max(c)) for c in counts.values()]
    return ["| " + " | ".join(line) + " |" for line in [*lines, ("number of matrices", "", *spans)]]


def block(table, rows, answer):
    """What a README of an experiment says from the records: `answer` with the aggregate over real matrices in place of a panel's
    {title}, and the table."""
    for title, text in {r[0]: of_cell(r) for r in rows if r[1] == ALL_REAL}.items():
        answer = answer.replace("{" + title + "}", text)
    answered = [*wrapped(f"**Answer.** {re.sub('{.*?}', '(not measured)', answer)}."), ""] if answer else []
    how = "Intervals of 95 % draw hosts first, then matrices, then runs; `./testbed claims` draws other random numbers"
    return [*answered, *markdown(rows), "", *wrapped(f"{how}. \"real\" includes bcsstk18. Records: {table.origin()}.")]


def wrapped(text):
    return textwrap.wrap(text, 140, break_long_words=False, break_on_hyphens=False)


def save(fig, args, name, table, rows, more=(), answer=""):
    """Writes the figure with a caption that says what dots are and what the records are, and its numbers as NAME.md."""
    unverified = [f"Runs left out because nothing verified them: {table.unverified}."] if table.unverified else []
    how = " or ".join(dict.fromkeys(r[2] for r in rows if r[2] in ratios.NUMBERS))
    marks = ["an arrow: a bound"] * any(r[7] for r in rows) + ["hollow: a stand-in"] * any(r[1] == "stand-in" for r in rows)
    said = f"A dot is one matrix ({'; '.join(['median of hosts', *marks])}), a large mark the {how} with its 95\u00a0% interval."
    style.caption(fig, [f"{said} Records: {table.origin()}.", *more, *unverified])
    style.save(fig, args.out, name, HEADER, rows)
    (args.out / f"{name}.md").write_text("\n".join(block(table, rows, answer)) + "\n", encoding="utf-8")


def as_judged(rows, judged):
    """Rows with the interval that the judge of the paper found for the same number, so that a number has one interval. judged: {title of
    a panel: statement of paper/answers.json}."""
    answers = json.loads((records.ROOT / "paper" / "answers.json").read_text(encoding="utf-8")) if judged else {"questions": ()}
    found = {s["id"]: s["kinds"].get("real") for q in answers["questions"] for s in q["statements"]}
    out = []
    for row in rows:
        of = found.get(judged.get(row[0])) if row[1] == ALL_REAL else None
        same = of and abs(of["value"] - float(row[4])) <= 1e-4 * of["value"]
        out.append((*row[:5], *(f"{x:.6g}" for x in of["interval"]), row[7]) if same else row)
    return out


def figure(args, name, parts, how="geometric mean", answer="", judged=None, **options):
    """A figure of panels below each other. parts(table): [(quantity, title, label, the paper's values, aggregate)], the last two if they
    are not () and `how`; judged: of as_judged(); those on fewer than FEWEST matrices are left out if another panel has more, and Absent if there is none."""
    table = ratios.Table(args)
    found = list(parts(table))
    least = min(FEWEST, max(len(part[0].each) for part in found)) or 1
    drawn = [(*part, *((), how)[len(part) - 3:]) for part in found if len(part[0].each) >= least]
    if not drawn:
        raise records.Absent(f"{records.named(args.records)}: no records for it")
    fig, axes = panels(len(drawn), max(len({v.kind for v in part[0].each.values()}) for part in drawn))
    rows = []
    for axis, part in zip(axes, drawn):
        rows += panel(axis, *part, **options)
    save(fig, args, name, table, as_judged(rows, judged or {}), answer=answer)
