"""Table 2 of the paper: size of the six data structures in units of |V| #C entries."""

import sys

import style
import style_dots as dots
import style_paper as paper

SHADES = ("#f3d9a4", dots.COLOURS[1], dots.COLOURS[0])


def draw(args):
    m = paper.Measured(args)
    parts = {"queues and trackers": "queues_and_trackers", "maxId": "maxid", "fill": "fill"}
    kinds = (("formula", "gpu_maxid", None), ("no external frontier", "gpu_maxid_no_external_frontier", 1),
             ("no bubble removal", "gpu_maxid_no_bubble_removal", 1), ("all on", "gpu_maxid", 1))
    sizes = {}
    for label, variant, measured in kinds:
        for name in paper.ALL:
            r = m.find(name, variant, concurrent_sources=1024, memory_budget_mb=0)
            if not r:
                continue
            unit = r["mem"]["predicted"]["fill"]
            for part, key in parts.items():
                value = ({"fill": 1, "maxid": 1, "queues_and_trackers": 4}[key] if measured is None
                         else r["mem"]["predicted"][key] / unit)
                sizes.setdefault((label, part), {})[name] = value
    m.need(sizes)
    fig, (axis,) = paper.figure()
    rows = []
    for x, (label, _, _) in enumerate(kinds):
        bottom = 0
        for k, part in enumerate(parts):
            values = sizes.get((label, part))
            if not values:
                continue
            height = sum(values.values()) / len(values)
            axis.bar(x, height, 0.6, bottom=bottom, color=SHADES[k], edgecolor="black", linewidth=0.4,
                     label=part if x == 0 else None)
            bottom += height
            rows.append((label, part, len(values), f"{height:.5g}"))
        axis.annotate(f"{bottom:.2f}", (x, bottom), xytext=(0, 3), textcoords="offset points", ha="center")
    axis.set_xticks(range(len(kinds)), [k[0] for k in kinds])
    axis.grid(False, axis="x")
    axis.set_ylabel("entries / (|V| #C), predicted,\nmean of the matrices")
    paper.legend(axis)
    style.save(fig, args.out, "table2_space", ("version", "structure", "matrices", "units"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
