"""Ablations and other variants: time over the time of the maxId search, a line for each kind of matrix, real kinds first."""

import sys

import numpy

import records
import records_ratios as ratios
import style
import style_dots as dots
import style_kinds as kinds
from fig10_fill2 import MAXID
from style import plt

BATCH = ratios.case("gpu_maxid", concurrent_sources=1024, memory_budget_mb=0)


def at_1024(variant):
    return ratios.case(variant, concurrent_sources=1024, memory_budget_mb=0)


# (what, over, under): one thing changed, then other algorithms.
ROWS = (
    ("line 9.5 on", ratios.case("gpu_maxid_line95"), MAXID),
    ("no value ranges, #C = 1,024", at_1024("gpu_maxid_no_range_reuse"), BATCH),
    ("no bubble removal, #C = 1,024", at_1024("gpu_maxid_no_bubble_removal"), BATCH),
    ("prefix sums for atomics", ratios.case("gpu_maxid_scan_enqueue"), MAXID),
    ("a queue for each source", ratios.case("gpu_maxid_separate_queues"), MAXID),
    ("a thread for each frontier", ratios.case("gpu_maxid_thread_centric"), MAXID),
    ("#C = 1,024 (not all that fit)", BATCH, MAXID),
    ("fill2, a row for each thread", ratios.case("gpu_fill2_naive"), MAXID),
    ("gpu_bitmap_panels", ratios.case("gpu_bitmap_panels"), MAXID),
)
ROW, LINE = 1.0, 0.15  # heights: of a row, of a kind in it


def draw(args):
    table = ratios.Table(args)
    found = [(label, q) for label, over, under in ROWS if (q := table.ratio(over, under)).each]
    if not found:
        raise records.Absent(f"{records.named(args.records)}: no records for it")
    drawn = [k for k in records.KINDS if any(q.of_kind(k) for _, q in found)]
    fig, axis = plt.subplots(figsize=(6.6, 0.8 + 0.62 * len(found)), layout="constrained")
    values = [v.number for _, q in found for v in q.each.values()] + [1]
    axis.set_xscale("log")
    axis.set_xlim(min(values) * 0.87, max(values) * 1.15)
    axis.axvline(1, color="black", linewidth=0.8, zorder=1)
    rows = []
    for r, (label, quantity) in enumerate(found):
        if r % 2:
            axis.axhspan(r * ROW - 0.5, r * ROW + 0.5, color="#f4f4f4", zorder=0, linewidth=0)
        for k, kind in enumerate(drawn):
            each, y = quantity.of_kind(kind), r * ROW + (k - (len(drawn) - 1) / 2) * LINE
            axis.plot([v.number for v in each.values()], [y] * len(each), **kinds.look(kind, 2.6) | {"alpha": 0.35, "gid": "value"})
            rows += [kinds.row(label, kind, m, v.hosts, v.number, v.interval(), v.bound) for m, v in each.items()]
            if each:
                number, between, bound, count = quantity.over((kind,))
                if between:
                    axis.plot(numpy.clip(between, *axis.get_xlim()), [y, y], color=kinds.LOOKS[kind][0], linewidth=1.4, gid="interval")
                edge = {} if kind == "stand-in" else {"markeredgecolor": "white"}
                axis.plot([number], [y], **kinds.look(kind, 5) | {"marker": "d", "gid": "mean"} | edge)
                rows.append(kinds.row(label, kind, "geometric mean", max(v.hosts for v in each.values()), number, between, bound))
        real = quantity.over(records.REAL)
        if real:
            hosts = max(v.hosts for v in quantity.each.values() if v.kind in records.REAL)
            rows.append(kinds.row(label, kinds.ALL_REAL, "geometric mean", hosts, *real[:3]))
        text = f"{kinds.SIGN[real[2]]}{kinds.digits(real[0])} ({real[3]})" if real else "none"
        axis.annotate(text, (1.01, r * ROW), xycoords=axis.get_yaxis_transform(), fontsize=dots.TEXT, va="center", annotation_clip=False)
    axis.set_ylim(len(found) - 0.5, -0.5)
    axis.set_yticks(range(len(found)), [label for label, _ in found], fontsize=dots.TEXT + 1)
    axis.tick_params(axis="y", length=0)
    axis.grid(False, axis="y")
    axis.set_xlabel("time over the time of gpu_maxid", fontsize=8)
    dots.plain_log(axis.xaxis)
    axis.annotate("real (n)", (1.01, 1.005), xycoords="axes fraction", fontsize=dots.TEXT, va="bottom", annotation_clip=False)
    axis.legend(handles=[plt.Line2D([], [], **kinds.look(k, 4), label=k) for k in drawn], fontsize=dots.TEXT, ncols=6, loc="lower left",
                bbox_to_anchor=(-0.42, 1), borderpad=0.1, handletextpad=0.1)
    kinds.save(fig, args, "ablations", table, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
