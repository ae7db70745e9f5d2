"""Figure 16 of the paper: gpu_maxid within 16, 5 and 1 GB of device memory."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    budgets = (16384, 5120, 1024)
    how = {"concurrent_sources": 0, **m.if_known("gpu_maxid", queue_share=25)}
    fig, (left, right) = paper.figure(2)
    times = {b: {} for b in budgets}
    rows = []
    for x, name in enumerate(paper.LARGE):
        for k, b in enumerate(budgets):
            r = m.find(name, "gpu_maxid", memory_budget_mb=b, **how)
            base = m.time(name, "gpu_maxid", memory_budget_mb=16384, **how)
            if not r or not base:
                continue
            total = m.time(name, "gpu_maxid", memory_budget_mb=b, **how)
            times[b][name] = total / base
            search = r["phases_s"].get("traverse", 0)
            supernodes = r["phases_s"].get("supernode", 0)
            bottom = 0
            for part, (label, seconds) in enumerate((("fill-in detection", search),
                                                     ("supernode detection", supernodes),
                                                     ("others", max(0, total - search - supernodes)))):
                right.bar(x + (k - 1) * 0.27, seconds / base, 0.25, bottom=bottom, edgecolor="black",
                          color=style.GREYS[3 - part], hatch=style.HATCHES[part], linewidth=0.5,
                          label=label if not rows else None)
                bottom += seconds / base
                rows.append((b, name, f"{total:.6g}", f"{total / base:.5g}", f"{search:.6g}", f"{supernodes:.6g}"))
    m.need(rows)
    stated = paper.Paper().series("fig16_memory_budget", "slowdown")
    paper.bars(left, m, paper.LARGE, [("5 GB", times[5120]), ("1 GB", times[1024])], [None, stated],
               line=1, label="time over that within 16 GB")
    paper.legend(left)
    handles = [style.plt.Rectangle((0, 0), 1, 1, facecolor=style.GREYS[3 - k], edgecolor="black",
                                   hatch=style.HATCHES[k]) for k in range(3)]
    right.legend(handles, ("fill-in detection", "supernode detection", "others"), fontsize=7, ncols=2,
                 loc="lower left", bbox_to_anchor=(0, 1))
    right.set_xticks(range(len(paper.LARGE)), [m.label(n) for n in paper.LARGE])
    right.set_ylabel("time over that within 16 GB (16, 5, 1 GB)")
    style.save(fig, args.out, "fig16_memory_budget",
               ("budget_mb", "matrix", "time_s", "over_16gb", "traverse_s", "supernode_s"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
