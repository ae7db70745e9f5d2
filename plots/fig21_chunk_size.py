"""Figure 21 of the paper: time by chunk size over the time with chunks of 64 rows: measured on the GPUs of one host, and simulated on
six nodes of six GPUs."""

import operator
import sys

import style
import style_kinds as kinds
from fig12_superlu import distributed

PAPER = {128: ((1.04, "1.04 (mean)"),), 256: ((1.13, "1.13 (mean)"), (1.6, "1.6"))}

ANSWER = ("On real matrices chunks of 128 and 256 rows take {chunks of 128 rows, 2 GPUs, measured} and {chunks of 256 rows, 2 GPUs, measured} "
          "times as long as chunks of 64 on two GPUs, and simulated on 36 GPUs chunks of 128 and 256 rows take {chunks of 128 rows, 36 GPUs, simulated} and "
          "{chunks of 256 rows, 36 GPUs, simulated} times as long")


def parts(table):
    for size, paper in PAPER.items():
        yield table.ratio(distributed(2, chunk_size=size), distributed(2, chunk_size=64)), f"chunks of {size} rows, 2 GPUs, measured", "time over chunks of 64"
        cases = ({"gpus": 36, "gpus_per_node": 6, "schedule": "intra_node", "chunk_size": s} for s in (size, 64))
        yield table.simulated(operator.truediv, *cases), f"chunks of {size} rows, 36 GPUs, simulated", "time over chunks of 64", paper


def draw(args):
    kinds.figure(args, "fig21_chunk_size", parts, "mean", answer=ANSWER)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
