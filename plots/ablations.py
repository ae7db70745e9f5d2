"""Ablations and other variants: time over the time of gpu_maxid on every matrix, the paper's matrices above the real ones."""

import sys

import style
import style_dots as dots
import style_paper as paper
from style import plt

BATCH = "bare(gpu_maxid, concurrent_sources=1024)"
BY_1024 = "bare({}, concurrent_sources=1024) / " + BATCH
# (what, over gpu_maxid); #C = 1,024 over gpu_maxid with #C = 1,024.
ABLATIONS = (
    ("line 9.5 on", "bare(gpu_maxid_line95) / maxid"),
    ("no value ranges, #C = 1,024", BY_1024.format("gpu_maxid_no_range_reuse")),
    ("prefix sums for atomics", "bare(gpu_maxid_scan_enqueue) / maxid"),
    ("a queue for each source", "bare(gpu_maxid_separate_queues) / maxid"),
    ("a thread for each frontier", "bare(gpu_maxid_thread_centric) / maxid"),
    ("queues never spill, #C = 1,024", BY_1024.format("gpu_maxid_no_external_frontier")),
    ("no bubble removal, #C = 1,024", BY_1024.format("gpu_maxid_no_bubble_removal")),
    ("bytes of maxId without it", "mem(predicted.maxid, gpu_maxid_no_bubble_removal, concurrent_sources=1024) / "
     "mem(predicted.maxid, gpu_maxid, concurrent_sources=1024)"),
    ("#C = 1,024 (not all that fit)", BATCH + " / maxid"),
    ("thresholds in steps of 2,048", "bare(gpu_maxid_tuned, window=2048) / bare(gpu_maxid_tuned, window=65534)"),
)
OTHERS = (
    ("fill2, a row for each thread", "bare(gpu_fill2_naive) / maxid"),
    ("fill2, bit-parallel", "bare(gpu_fill2_bitparallel) / maxid"),
    ("gpu_maxid_tuned, window 2,048", "bare(gpu_maxid_tuned, window=2048) / maxid"),
    ("gpu_maxid_tuned, window 65,534", "bare(gpu_maxid_tuned, window=65534) / maxid"),
    ("gpu_bitmap_panels", "time(gpu_bitmap_panels) / maxid"),
)
BELOW = 0.8  # of a row: the real matrices


def lines_of(axis, measured, series, notes):
    """A line for each series, the paper's matrices above the real ones, geometric means on the right; rows for the CSV."""
    axis.set_xscale("log")
    values = [e.number for s in series for v in (s.value, s.real) if v for e in v.each.values()] + [1]
    axis.set_xlim(min(values) * 0.87, max(values) * 1.15)
    step = 2 if any(s.real for s in series) else 1
    axis.set_ylim(step * len(series) - 0.62, -0.62)
    axis.axvline(1, color="black", linewidth=0.8, zorder=1)
    rows = []
    for k, s in enumerate(series):
        y = step * k
        if k % 2:
            axis.axhspan(y - 0.62, y + step - 0.62, color="#f4f4f4", zorder=0, linewidth=0)
        for name, e in s.value.each.items():
            stand_in = measured.is_stand_in(name)
            if stand_in:
                dots.note(notes, "stand-in")
            dots.flat_point(axis, e, y, dots.COLOURS[0], not stand_in, notes)
            rows.append((s.label, name, *dots.cells(e)))
        if s.real:
            dots.swarm(axis, y + BELOW, [(e.number, e.bound) for e in s.real.each.values()], dots.COLOURS[1], across=True)
            rows += [(s.label, name, *dots.cells(e, which="real")) for name, e in s.real.each.items()]
        for value, at, colour, which in ((s.value, y, dots.COLOURS[0], "paper"), (s.real, y + BELOW, dots.COLOURS[1], "real")):
            if not value or value.value is None:
                continue
            text = f"{ {1: '≥ ', -1: '≤ ', 0: ''}[value.bound]}{dots.shown(value.value)} ({len(value.measured)})"
            axis.annotate(text, (1.01, at), xycoords=axis.get_yaxis_transform(), fontsize=dots.TEXT, color=colour,
                          va="center", annotation_clip=False)
            total = dots.Total(value.value, value.interval, value.bound)
            rows.append((s.label, "geometric mean", *dots.cells(total, which=which)))
    axis.set_yticks([step * k + BELOW / 2 * (step - 1) for k in range(len(series))], [s.label for s in series],
                    fontsize=dots.TEXT + 1)
    axis.tick_params(axis="y", length=0)
    axis.grid(False, axis="y")
    axis.spines["left"].set_visible(False)
    dots.plain_log(axis.xaxis)
    return rows


def draw(args):
    m = paper.Measured(args)
    groups = [[s for label, ratio in table if (s := m.series(label, f"geomean(all, {ratio})")).value.each]
              for table in (ABLATIONS, OTHERS)]
    groups = [g for g in groups if g]
    m.need(groups)
    count = max((len(s.real.each) for g in groups for s in g if s.real), default=0)
    tall = 0.38 if count else 0.23
    fig, axes = plt.subplots(len(groups), 1, figsize=(6.6, 1 + 0.3 * len(groups) + tall * sum(map(len, groups))), squeeze=False,
                             height_ratios=[len(g) for g in groups], layout="constrained")
    rows, notes = [], []
    for axis, group in zip(axes[:, 0], groups):
        rows += lines_of(axis, m, group, notes)
        axis.set_xlabel("time over gpu_maxid" if group is groups[-1] else "time over that without the change",
                        fontsize=dots.TEXT + 1)
    named = ["the paper's matrices"] + [f"{count} real matrices, median and quartiles"] * bool(count)
    dots.key(axes[0, 0], [dots.Series(label, None) for label in named], notes, "o", 250)
    axes[0, 0].annotate("geometric\nmean (of)", (1.01, 1), xycoords="axes fraction", fontsize=dots.TEXT, va="bottom",
                        annotation_clip=False)
    style.save(fig, args.out, "ablations", dots.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
