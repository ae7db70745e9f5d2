"""Figure 19 of the paper: parallel efficiency by number of GPUs (speed-up over the ideal one): measured on one host compared with one
GPU, and simulated on nodes of six GPUs compared with one node."""

import sys

import style
import style_kinds as kinds
from fig12_superlu import distributed

SPEEDUPS = {"AU": 31, "DI": 24.9, "PR": 21.5, "HM": 16.1}  # the paper's, 6 to 264 GPUs

ANSWER = ("On real matrices the efficiency is {2 GPUs of one host, measured} % on two GPUs of one host; simulated, it is "
          "{36 GPUs over six, simulated} % on 36 GPUs and {264 GPUs over six, simulated} % on 264, compared with six")


def parts(table):
    yield table.quantity(lambda one, two: 100 * one / two / 2, distributed(1), distributed(2)), "2 GPUs of one host, measured", "efficiency, %"
    for gpus in (36, 264):
        cases = ({"gpus": g, "gpus_per_node": 6, "schedule": "intra_node", "chunk_size": 128} for g in (6, gpus))
        paper = tuple((100 * s * 6 / 264, f"{m} {100 * s * 6 / 264:.0f}") for m, s in SPEEDUPS.items()) if gpus == 264 else ()
        yield (table.simulated(lambda node, several, gpus=gpus: 100 * node / several * 6 / gpus, *cases),
               f"{gpus} GPUs over six, simulated", "efficiency, %", paper)


def draw(args):
    kinds.figure(args, "fig19_scaling", parts, "median", answer=ANSWER, line=100, log=False, limits=(0, 120))


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
