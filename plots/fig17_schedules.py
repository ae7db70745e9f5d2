"""Figure 17 of the paper: gain by interleaving the sources, simulated on 36 GPUs and measured on two."""

import sys

import style
import style_dots as dots
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()

    def simulated(over, under):
        return f"mean(all, simulated(schedule={over}, gpus=36) / simulated(schedule={under}, gpus=36))"
    nodes = [m.series("chunks over nodes (inter_node over block)", simulated("block", "inter_node"),
                      {p.value("fig17.inter.max_on"): p.value("fig17.inter.max")}, p.value("fig17.inter.mean")),
             m.series("rows over GPUs too (intra_node over inter_node)", simulated("inter_node", "intra_node"),
                      {p.value("fig17.intra.max_on"): p.value("fig17.intra.max")}, p.value("fig17.intra.mean"))]
    two = [m.series("rows over two GPUs", "geomean(all, two_gpus_block / two_gpus_interleaved)")]
    drawn = [series for series in (nodes, two) if any(s.value.each for s in series)]
    m.need(drawn)
    fig, panels = dots.panels(len(drawn), paper.strips(*drawn), 2.5 * len(drawn))
    rows = []
    for series, panel in zip(drawn, panels):
        if series is nodes:
            shown = [n for n in paper.ALL if any(n in s.value.each or n in s.paper for s in nodes)]
            rows += paper.both(m, panel, nodes, shown, line=1, label="speedup, simulated,\nsix nodes of six GPUs")
        else:
            rows += paper.both(m, panel, two, line=1, label="speedup, measured,\ntwo GPUs", average="geometric\nmean")
    style.save(fig, args.out, "fig17_schedules", dots.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
