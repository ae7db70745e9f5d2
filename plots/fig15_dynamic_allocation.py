"""Figure 15 of the paper: time of fixed over dynamic allocation within 1 GB, by the share of memory for queues, and the
frontiers that dynamic allocation copies to the host."""

import sys

import style
import style_dots as dots
import style_paper as paper

GAIN = "mean({}, bare(gpu_maxid_no_dynamic_allocation, {}) / bare(gpu_maxid, {}))"
SPILLED = "mean({}, derived(spilled_entries, gpu_maxid, {}))"


def draw(args):
    m = paper.Measured(args)
    stated = paper.Paper().series("fig15_dynamic_allocation", "gain")
    gains, spilled = [], []
    for share, setting in paper.queue_shares(m):
        here, there = f"memory_budget_mb=1024{setting}", f"memory_budget_mb=16{setting}"
        of_paper = ({}, None) if gains else (stated, sum(stated.values()) / len(stated))
        gains.append(m.series(share or "fixed over dynamic", GAIN.format("large", here, here), *of_paper,
                              GAIN.format("all", there, there)))
        spilled.append(m.series(share, SPILLED.format("large", here), there=SPILLED.format("all", there)))
    m.need(any(s.value.each for s in gains))
    with_spills = any(s.value.each for s in spilled)
    fig, panels = dots.panels(1 + with_spills, paper.strips(gains, spilled), 4.6 if with_spills else 2.7)
    within = "1 GB" + (" (real: 16 MB)" if m.names else "")
    rows = paper.both(m, panels[0], gains, paper.LARGE, line=1, label=f"time, fixed over dynamic,\n{within}")
    if with_spills:
        for s in spilled:
            s.label += ", spilled"
        rows += paper.both(m, panels[1], spilled, paper.LARGE, log="symlog", average="",
                           label=f"entries copied to the host,\n{within}")
    style.save(fig, args.out, "fig15_dynamic_allocation", dots.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
