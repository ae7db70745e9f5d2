"""Figure 16 of the paper: gpu_maxid within 16, 5 and 1 GB of device memory; where the time goes; and both for several shares
of the memory for queues, with the entries that are copied to the host."""

import sys

import style
import style_dots as dots
import style_paper as paper
from style import plt

BUDGETS = {16384: "16 GB", 5120: "5 GB", 1024: "1 GB"}
REAL = {16384: 256, 5120: 80, 1024: 16}  # the real matrices are a hundredth of the size
SLOWER = "mean({}, bare(gpu_maxid, memory_budget_mb={}{}) / bare(gpu_maxid, memory_budget_mb={}{}))"
SPILLED = "mean(large, derived(spilled_entries, gpu_maxid, memory_budget_mb={}{}))"
SHADES = (dots.COLOURS[0], dots.COLOURS[1], "#f3d9a4")
PARTS = ("fill-in detection", "supernode detection", "others")


def slower(measured, setting, budget, label, *of_paper, base=None):
    """Series of the time within a budget over that within 16 GB, with a share for queues; base: another share there, of the
    paper's matrices alone."""
    def text(matrices, budgets):
        return SLOWER.format(matrices, budgets[budget], setting, budgets[16384], setting if base is None else base)
    return measured.series(label, text("large", {b: b for b in BUDGETS}), *of_paper,
                           there=text("all", REAL) if base is None else "")


def parts(axis, measured, setting):
    """Stacked: where the time goes, over the time within 16 GB; rows for the CSV."""
    rows = []
    how = dict([setting.strip(", ").split("=")]) if setting else {}
    for x, name in enumerate(paper.LARGE):
        base = measured.time(name, "gpu_maxid", concurrent_sources=0, memory_budget_mb=16384, **how)
        for k, budget in enumerate(BUDGETS):
            at = x + (k - 1) * 0.28
            r = measured.find(name, "gpu_maxid", concurrent_sources=0, memory_budget_mb=budget, **how)
            if not r or not base:
                dots.missing(axis, at)
                continue
            total = measured.time(name, "gpu_maxid", concurrent_sources=0, memory_budget_mb=budget, **how)
            found = [r["phases_s"].get(phase, 0) for phase in ("traverse", "supernode")]
            bottom = 0
            for k_part, seconds in enumerate((*found, max(0, total - sum(found)))):
                axis.bar(at, seconds / base, 0.25, bottom=bottom, color=SHADES[k_part], edgecolor="black", linewidth=0.4)
                bottom += seconds / base
                rows.append((f"{PARTS[k_part]}, {BUDGETS[budget]}", name, f"{seconds / base:.6g}", "", "", "", "", "paper"))
    axis.set_xlim(-0.6, len(paper.LARGE) - 0.4)
    axis.set_xticks(range(len(paper.LARGE)), [measured.label(n) for n in paper.LARGE])
    axis.tick_params(axis="x", length=0, labelsize=dots.TEXT + 1)
    axis.grid(False, axis="x")
    axis.set_ylabel("time over 16 GB\n(16, 5, 1 GB)")
    handles = [plt.Rectangle((0, 0), 1, 1, facecolor=shade, edgecolor="black", linewidth=0.4) for shade in SHADES]
    axis.legend(handles, PARTS, fontsize=dots.TEXT, ncols=3, loc="lower left", bbox_to_anchor=(0, 1), borderpad=0.1)
    return rows


def sweep(axis, measured, shares, values, label, log):
    """Six matrices as dots for every budget and share; rows for the CSV. values(setting, budget): a Series."""
    found = [(b, k, values(setting, b)) for b in BUDGETS for k, (_, setting) in enumerate(shares)]
    dots.fit(axis, [s for _, _, s in found], log)
    rows = []
    for b, k, s in found:
        x = list(BUDGETS).index(b) + (k - (len(shares) - 1) / 2) * 0.25
        for name, e in s.value.each.items():
            dots.point(axis, x, e, dots.COLOURS[k], dots.MARKERS[k], not measured.is_stand_in(name), size=3.4)
            rows.append((f"{s.label}, {BUDGETS[b]}", name, *dots.cells(e)))
    axis.set_xlim(-0.6, len(BUDGETS) - 0.4)
    axis.set_xticks(range(len(BUDGETS)), BUDGETS.values())
    axis.tick_params(axis="x", length=0, labelsize=dots.TEXT + 1)
    axis.grid(False, axis="x")
    axis.set_ylabel(label)
    return rows


def draw(args):
    m = paper.Measured(args)
    stated = paper.Paper().series("fig16_memory_budget", "slowdown")
    shares = paper.queue_shares(m)
    m.need(shares)
    share, setting = shares[0]
    series = [slower(m, setting, 5120, "5 GB" + (" (real: 80 MB)" if m.names else "")),
              slower(m, setting, 1024, "1 GB" + (" (real: 16 MB)" if m.names else ""), stated,
                     paper.Paper().value("fig16.slowdown.mean"))]
    m.need(any(s.value.each for s in series))
    spills = {(key, b): m.series("spilled" + (f", {label}" if label else ""), SPILLED.format(b, key), there="")
              for label, key in shares for b in BUDGETS}
    lower = any(s.value.each for s in spills.values())
    rows_of_axes, strips = 2 + lower, paper.strips(series)
    fig = plt.figure(figsize=(6.6, 2.3 * rows_of_axes), layout="constrained")
    grid = fig.add_gridspec(rows_of_axes, 1)
    top = grid[0].subgridspec(1, 2, width_ratios=(1, dots.STRIP * strips)) if strips else grid[0].subgridspec(1, 1)
    axis = fig.add_subplot(top[0])
    panel = dots.Panel(axis, fig.add_subplot(top[1], sharey=axis) if strips else None, strips)
    rows = paper.both(m, panel, series, paper.LARGE, line=1, label="time over 16 GB" + (f",\n{share}" if share else ""))
    rows += parts(fig.add_subplot(grid[1]), m, setting)
    if lower:
        left, right = (fig.add_subplot(g) for g in grid[2].subgridspec(1, 2))
        rows += sweep(left, m, shares, lambda key, b: slower(
            m, key, b, next(label for label, k in shares if k == key), base=setting),
            "time over 16 GB" + (f", {share}" if share else ""), True)
        rows += sweep(right, m, shares, lambda key, b: spills[key, b], "entries copied to the host", "symlog")
        left.axhline(1, color="black", linewidth=0.8, zorder=1)
        dots.key(left, [dots.Series(label, None) for label, _ in shares], [])
        right.set_title(" ", fontsize=dots.TEXT, pad=6)
    style.save(fig, args.out, "fig16_memory_budget", dots.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
