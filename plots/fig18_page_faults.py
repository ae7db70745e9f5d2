"""Figure 18 of the paper: GPU page faults by means of sharing, two GPUs."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args, counting=True)
    kinds = (("managed_shared_fill_unadvised", "no advice, one fill array"),
             ("managed", "no advice, separate arrays"), ("managed_shared_fill", "advice, one fill array"),
             ("managed_advised", "advice, separate arrays"))
    series = []
    for sharing, label in kinds:
        values = {}
        for name in paper.ALL:
            r = m.find(name, "mpi_maxid", counting=True, ranks=1, gpus_per_rank=2, chunk_size=128,
                       concurrent_sources=256, schedule="intra_node", sharing=sharing)
            if r:
                values[name] = r["counters"]["gpu_page_faults"]
        if values:
            series.append((label, values))
    matrices = [n for n in paper.ALL if any(n in v for _, v in series)]
    m.need(matrices)
    fig, (axis,) = paper.figure()
    rows = paper.bars(axis, m, matrices, series, label="GPU page faults")
    axis.set_yscale("symlog")
    paper.legend(axis)
    style.save(fig, args.out, "fig18_page_faults", paper.HEADER, rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
