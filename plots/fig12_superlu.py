"""Figure 12 of the paper: time of the maxId search on one and two GPUs, and of gpu_bitmap_panels, over the time of the
symbolic factorization of SuperLU_DIST on the same host at its best: on any number of ranks, on one also with relaxed supernodes."""

import sys

import records
import records_ratios as ratios
import style
import style_kinds as kinds
from fig10_fill2 import MAXID

RIVAL = ratios.case(("peer_superlu_dist", "peer_superlu_dist_parallel"), "time", fewest=True)
ONE_NODE = (1.6, 0.833, 2.8, 1.6, 1.03, 2.6, 2, 13.8, 11.3, 19.3, 6.7, 7.4, 3.2)  # the paper's matrices

ANSWER = ("On real matrices `gpu_maxid` on one GPU takes {gpu_maxid, one GPU} times as long as SuperLU_DIST at its best, "
          "on two GPUs {mpi_maxid, two GPUs} times (one GPU on the same matrices: {gpu_maxid, one GPU, matrices of the next panel}), "
          "and `gpu_bitmap_panels` {gpu_bitmap_panels, one GPU} times")


def distributed(gpus, schedule="intra_node", chunk_size=128):
    """mpi_maxid in one process."""
    return ratios.case("mpi_maxid", ranks=1, sharing="peer", concurrent_sources=0, gpus_per_rank=gpus, schedule=schedule,
                       chunk_size=chunk_size)


def parts(table):
    label = "time over SuperLU_DIST"
    of_paper = ((3.57, "3.57 (geometric mean),\nsix GPUs, 42 cores"), *((v, "") for v in ONE_NODE))
    one, two = (table.ratio(case, RIVAL) for case in (MAXID, distributed(2)))
    same = ratios.Quantity({m: v for m, v in one.each.items() if m in two.each})
    return [(one, "gpu_maxid, one GPU", label, of_paper),
            (same, "gpu_maxid, one GPU, matrices of the next panel", label, of_paper),
            (two, "mpi_maxid, two GPUs", label, of_paper),
            (table.ratio(ratios.case("gpu_bitmap_panels"), RIVAL), "gpu_bitmap_panels, one GPU", label)]


def draw(args):
    if not any(r["variant"] == RIVAL.variant[-1] for r in records.read_runs([*args.records, *args.population])):
        raise records.Absent(f"no runs of {RIVAL.variant[-1]}, SuperLU_DIST on ranks")
    kinds.figure(args, "fig12_superlu", parts, answer=ANSWER, judged={
        "gpu_maxid, one GPU": "superlu_one_gpu", "mpi_maxid, two GPUs": "superlu_two_gpus"})


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
