"""Figure 12 of the paper: time of gpu_maxid on one and two GPUs, and of gpu_bitmap_panels, over the time of the parallel
symbolic factorization of SuperLU_DIST on its best number of ranks."""

import sys

import records
import style
import style_paper as paper

RIVAL = "peer_superlu_dist_parallel"


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    if not m.has_variant(RIVAL):
        raise records.Absent(f"no runs of {RIVAL}, SuperLU_DIST on ranks")
    series = [m.series("gpu_maxid, one GPU", "geomean(all, maxid / superlu)", p.series("fig12_superlu", "one_node"),
                       p.value("fig12.one_node.mean")),
              m.series("mpi_maxid, two GPUs", "geomean(all, two_gpus_interleaved / superlu)"),
              m.series("gpu_bitmap_panels", "geomean(all, time(gpu_bitmap_panels) / superlu)")]
    series = [s for s in series if s.value.measured]
    paper.compared(args, m, "fig12_superlu", series, label="time over SuperLU_DIST, parallel", line=1,
                   average="geometric mean")


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
