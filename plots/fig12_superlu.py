"""Figure 12 of the paper: gpu_maxid over SuperLU_DIST on one core, with one GPU and two."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    peer = ("peer_superlu_dist", {})
    series = [("one GPU", m.ratio(paper.ALL, paper.MAXID, peer)),
              ("two GPUs", m.ratio(paper.ALL, ("mpi_maxid", paper.DISTRIBUTED | {"gpus_per_rank": 2, "schedule": "dynamic"}), peer)),
              ("gpu_bitmap_panels", m.ratio(paper.ALL, ("gpu_bitmap_panels", {}), peer))]
    stated = [p.series("fig12_superlu", "one_node")]
    m.need(any(values for _, values in series))
    fig, (axis,) = paper.figure()
    rows = paper.bars(axis, m, paper.ALL, series, stated, log=True, line=1, label="time over symbfact, one core")
    paper.legend(axis)
    style.save(fig, args.out, "fig12_superlu", paper.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
