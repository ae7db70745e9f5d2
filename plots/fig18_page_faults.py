"""Figure 18 of the paper: GPU page faults on two GPUs for each way of sharing, and the faults that advice and separate fill
arrays save."""

import sys

import style
import style_dots as dots
import style_paper as paper

COUNT = "geomean(all, 1 + counter(gpu_page_faults, mpi_maxid, sharing={}, concurrent_sources=256))"
KINDS = (("managed_shared_fill_unadvised", "one array, no advice"), ("managed_shared_fill", "one array, advised"),
         ("managed_advised", "separate arrays, advised"))


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    counts = [s for sharing, label in KINDS if (s := m.series(label, COUNT.format(sharing))).value.each]
    advice = [m.series("one array: no advice over advice", "mean(all, (faults_baseline + 1) / (faults_one_array + 1))",
                       {p.value("fig18.advice.max_on"): p.value("fig18.advice.max")}, p.value("fig18.advice.mean"))]
    apart = [m.series("advised: separate arrays", "mean(all, 100 * (1 - (faults_advised + 1) / (faults_one_array + 1)))",
                      {p.value("fig18.separation.max_on"): p.value("fig18.separation.max")}, p.value("fig18.separation.mean"))]
    m.need(counts)
    drawn = [counts] + [series for series in (advice, apart) if series[0].value.each]
    fig, panels = dots.panels(len(drawn), paper.strips(*drawn), 2.2 * len(drawn) + 0.3, [1.3, 1, 1][:len(drawn)])
    rows = []
    for series, panel in zip(drawn, panels):
        how = {"log": True, "line": 1, "label": "fault ratio:\nno advice over advice"}
        if series is counts:
            how = {"log": True, "label": "GPU page faults + 1", "average": "geometric mean"}
        elif series is apart:
            how = {"log": False, "line": 0, "label": "% fewer faults by\nseparate arrays"}
        rows += paper.both(m, panel, series, **how)
    style.save(fig, args.out, "fig18_page_faults", dots.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
