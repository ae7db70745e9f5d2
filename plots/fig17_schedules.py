"""Figure 17 of the paper: gain by interleaving the sources: rows over the GPUs of one host, measured, and both steps on six nodes of
six GPUs, simulated."""

import operator
import sys

import style
import style_kinds as kinds
from fig12_superlu import distributed

SIX_NODES = (("block", "inter_node", "chunks over nodes", ((1.6, "1.6 (mean)"), (4.3, "4.3"))),
             ("inter_node", "intra_node", "rows over the GPUs of a node too", ((3.3, "3.3 (mean)"), (4.9, "4.9"))))

ANSWER = ("On real matrices rows over the GPUs of one host gain {rows over 2 GPUs, measured} times on two GPUs; "
          "simulated on six nodes of six GPUs, chunks over nodes gain "
          "{chunks over nodes, simulated on 36 GPUs} times and rows over the GPUs of a node another "
          "{rows over the GPUs of a node too, simulated on 36 GPUs} times")


def parts(table):
    yield table.ratio(distributed(2, "block"), distributed(2)), "rows over 2 GPUs, measured", "times as fast as blocks"
    for before, after, title, paper in SIX_NODES:
        cases = ({"gpus": 36, "gpus_per_node": 6, "schedule": s, "chunk_size": 128} for s in (before, after))
        found = table.simulated(operator.truediv, *cases)
        yield found, f"{title}, simulated on 36 GPUs", "times as fast", paper, "mean"


def draw(args):
    kinds.figure(args, "fig17_schedules", parts, answer=ANSWER)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
