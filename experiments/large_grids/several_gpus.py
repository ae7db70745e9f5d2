"""Predicts times of gpu_bitmap_panels_multi on 7-point grids: counts positions of panels by separator, and charges rates.

    several_gpus.py [SIDE ...]

The grid is cut as large_grid.cpp cuts it: boxes of up to 64 vertices are panels, other boxes are halved by a separator of panels of 64. The
list of a panel has its vertices, those of its separator behind it, and the vertices around the box.
"""

import functools
import sys

# Seconds on one H200, as measured on 200^3 (README.md), eliminated panels at 1bb01a9; but COPY is an estimate.
SCHEDULE = 9.1e-11  # per position: column blocks, positions, masks of A
COMPACT = 0.8e-11  # per position
ELIMINATION = 21e-6  # per panel of the longest path
CLOSURE = 2.3e-11  # per position, in place of elimination where A is symmetric
TREE = 2.3e-10  # per vertex, on every GPU: tree and panels
DIVISION = 2.5e-9  # per panel, on every host thread
COPY = 350e9  # bytes a second from another GPU
LAUNCHES = 1.5e-3  # of the panels at the top


@functools.cache
def boxes(sides, around):
    """(positions, panels, panels of the longest path) of a box; around: which of its six faces have vertices behind them."""
    vertices = sides[0] * sides[1] * sides[2]
    if vertices == 0:
        return 0, 0, 0
    if vertices <= 64:
        return vertices + boundary(sides, around), 1, 1
    own = separator(sides, around)
    left, right = (boxes(*half) for half in halves(sides, around))
    panels = -(-own[0] // 64)
    return left[0] + right[0] + own[1], left[1] + right[1] + panels, max(left[2], right[2]) + panels


def boundary(sides, around):
    vertices = sides[0] * sides[1] * sides[2]
    return sum(vertices // sides[k // 2] for k in range(6) if around[k])


def direction(sides):
    return max(range(3), key=lambda k: (sides[k], -k))


def separator(sides, around):
    """(vertices, positions) of the panels of the separator of a box."""
    size = sides[0] * sides[1] * sides[2] // sides[direction(sides)]
    return size, sum(size - k + boundary(sides, around) for k in range(0, size, 64))


def halves(sides, around):
    d = direction(sides)
    middle = sides[d] // 2
    for side, width in ((1, middle), (0, sides[d] - middle - 1)):
        half, faces = list(sides), list(around)
        half[d] = width
        faces[2 * d + side] = True
        yield tuple(half), tuple(faces)


def levels(sides, around, count):
    """Positions of the separators of the first `count` levels, level by level."""
    found = [0] * count
    boxes_here = [(sides, around)]
    for level in range(count):
        found[level] = sum(separator(*b)[1] for b in boxes_here)
        boxes_here = [half for b in boxes_here for half in halves(*b)]
    return found


def predict(side, gpus, closes=True, shares_top=False):
    """Seconds of one run on a power of 2 of GPUs, and the share of positions at the top; shares_top: as if the top were divided, too."""
    sides, around = (side,) * 3, (False,) * 6
    positions, panels, path = boxes(sides, around)
    by_level = levels(sides, around, gpus.bit_length() - 1)
    at_top = sum(by_level)
    on_path = sum(p / 2**k for k, p in enumerate(by_level))  # what one part holds of the top
    own = (positions - at_top) / gpus
    seconds = TREE * side**3 + (own + on_path) * SCHEDULE + own * COMPACT
    seconds += own * CLOSURE if closes else path * ELIMINATION
    if gpus > 1:
        sent = 8 * side**3 * (gpus - 1) / gpus + (0 if closes else 20 * (gpus - 1) * on_path)
        seconds += DIVISION * panels + LAUNCHES + sent / COPY
        joint = at_top * (SCHEDULE / 4 + COMPACT + (CLOSURE if closes else 0))
        seconds += joint / gpus if shares_top and closes else joint
    return seconds, at_top / positions


def main(arguments):
    for side in [int(a) for a in arguments] or [128, 200, 320, 464]:
        for closes, shares_top in ((True, False), (True, True), (False, False)):
            one = predict(side, 1, closes)[0]
            form = ("closed, top shared" if shares_top else "closed") if closes else "eliminated"
            row = [f"{side}^3 {form}: 1 GPU {1e3 * one:.1f} ms"]
            for gpus in (2, 4, 8, 16, 32, 64):
                seconds, share = predict(side, gpus, closes, shares_top)
                row.append(f"{gpus}: {1e3 * seconds:.1f} ({one / seconds:.2f}, top {100 * share:.0f} %)")
            print("; ".join(row))


if __name__ == "__main__":
    main(sys.argv[1:])
