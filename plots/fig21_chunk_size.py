"""Figure 21 of the paper: time by chunk size over that with 64, two GPUs."""

import sys

import style
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    p = paper.Paper()
    series = [m.series("chunks of 128 rows", "mean(all, chunk_128 / chunk_64)", mean=p.value("fig21.128")),
              m.series("chunks of 256 rows", "mean(all, chunk_256 / chunk_64)", {p.value("fig21.max_on"): p.value("fig21.max")},
                       p.value("fig21.256"))]
    paper.compared(args, m, "fig21_chunk_size", series, line=1, label="time over chunks of 64")


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
