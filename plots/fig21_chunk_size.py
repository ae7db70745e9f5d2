"""Figure 21 of the paper: time by chunk size over that with 64, two GPUs."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    def of(chunk):
        return "mpi_maxid", paper.DISTRIBUTED | {"gpus_per_rank": 2, "schedule": "intra_node", "chunk_size": chunk}
    series = [(f"chunk size {c}", m.ratio(paper.ALL, of(c), of(64))) for c in (128, 256)]
    stated = [None, {"MK": p.value("fig21.max")}]
    m.need(any(values for _, values in series))
    fig, (axis,) = paper.figure()
    rows = paper.bars(axis, m, paper.ALL, series, stated, log=False, line=1, label="time over chunk size 64")
    paper.mean_line(axis, p.value("fig21.128"), "paper, 128,\nmean", len(paper.ALL) + -0.1)
    paper.mean_line(axis, p.value("fig21.256"), "paper, 256,\nmean", len(paper.ALL) + 1.3)
    paper.legend(axis)
    style.save(fig, args.out, "fig21_chunk_size", paper.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
