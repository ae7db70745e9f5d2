"""Figure 16 of the paper: gpu_maxid within 16, 5 and 1 GB of device memory, its time by phase, and the entries that it
copies to the host."""

import sys

import records
import style
import style_dots as dots
import style_paper as paper
from style import plt

BUDGETS = {16384: "16 GB", 5120: "5 GB", 1024: "1 GB"}
REAL = {16384: 256, 5120: 80, 1024: 16}  # the real matrices are a hundredth of the size
SLOWER = "mean({}, bare(gpu_maxid, memory_budget_mb={}{}) / bare(gpu_maxid, memory_budget_mb={}{}))"
SPILLED = "mean({}, derived(spilled_entries, gpu_maxid, memory_budget_mb={}{}))"
SHADES = (dots.COLOURS[0], dots.COLOURS[1], "#f3d9a4")
PARTS = ("fill-in detection", "supernode detection", "others")


def label_of(measured, budget):
    return BUDGETS[budget] + (f" (real: {REAL[budget]} MB)" if measured.names else "")


def slower(measured, setting, budget, *of_paper):
    """Series of the time within a budget over that within 16 GB."""
    return measured.series(label_of(measured, budget), SLOWER.format("large", budget, setting, 16384, setting), *of_paper,
                           there=SLOWER.format("all", REAL[budget], setting, REAL[16384], setting))


def parts(axis, measured, setting, series):
    """Stacked: where the time goes, over the time within 16 GB, of the runs that the values of `series` by budget rest on;
    rows for the CSV."""
    rows = []
    how = {"concurrent_sources": 0} | (dict([setting.strip(", ").split("=")]) if setting else {})
    for x, name in enumerate(paper.LARGE):
        for k, budget in enumerate(BUDGETS):
            at = x + (k - 1) * 0.28
            machine = series[budget].value.machines.get(name)
            if machine is None:
                dots.missing(axis, at)
                continue
            r, base = (machine.find(name, "gpu_maxid", memory_budget_mb=b, **how) for b in (budget, 16384))
            total = records.bare_seconds(r)
            found = [r["phases_s"].get(phase, 0) for phase in ("traverse", "supernode")]
            bottom = 0
            for part, shade, seconds in zip(PARTS, SHADES, (*found, max(0, total - sum(found)))):
                height = seconds / records.bare_seconds(base)
                axis.bar(at, height, 0.25, bottom=bottom, color=shade, edgecolor="black", linewidth=0.4)
                bottom += height
                rows.append((f"{part}, {BUDGETS[budget]}", name, f"{height:.6g}", "", "", "", "", "paper"))
    axis.set_xlim(-0.6, len(paper.LARGE) - 0.4)
    axis.set_xticks(range(len(paper.LARGE)), [measured.label(n) for n in paper.LARGE])
    axis.tick_params(axis="x", length=0, labelsize=dots.TEXT + 1)
    axis.grid(False, axis="x")
    axis.set_ylabel("time over 16 GB\n(bars: 16, 5, 1 GB)")
    handles = [plt.Rectangle((0, 0), 1, 1, facecolor=shade, edgecolor="black", linewidth=0.4) for shade in SHADES]
    axis.legend(handles, PARTS, fontsize=dots.TEXT, ncols=3, loc="lower left", bbox_to_anchor=(0, 1), borderpad=0.1)
    return rows


def draw(args):
    m = paper.Measured(args)
    stated = paper.Paper().series("fig16_memory_budget", "slowdown")
    shares = paper.queue_shares(m)
    m.need(shares)
    share, setting = shares[0]
    small = slower(m, setting, 1024, stated, paper.Paper().value("fig16.slowdown.mean"))
    series = {16384: small, 5120: slower(m, setting, 5120), 1024: small}
    m.need(any(s.value.each for s in series.values()))
    spilled = [m.series(label_of(m, b), SPILLED.format("large", b, setting), there=SPILLED.format("all", REAL[b], setting))
               for b in BUDGETS]
    with_spills = any(s.value.each for s in spilled)
    drawn = [series[5120], small]
    fig, panels = dots.panels(2 + with_spills, paper.strips(drawn, *[spilled] * with_spills), 2.3 * (2 + with_spills))
    rows = paper.both(m, panels[0], drawn, paper.LARGE, line=1, label="time over 16 GB" + (f",\n{share}" if share else ""))
    rows += parts(panels[1].axis, m, setting, series)
    if panels[1].strip:
        panels[1].strip.remove()
    if with_spills:
        for s in spilled:
            s.label += ", spilled"
        rows += paper.both(m, panels[2], spilled, paper.LARGE, log="symlog", average="", label="entries copied\nto the host")
    style.save(fig, args.out, "fig16_memory_budget", dots.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
