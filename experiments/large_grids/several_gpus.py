"""Predicts times of gpu_bitmap_panels_multi on 7-point grids: counts positions of panels by separator, and charges rates.

    several_gpus.py [SIDE ...]

The grid is cut as large_grid.cpp cuts it: boxes of up to 64 vertices are panels, other boxes are halved by a separator of panels of 64. The
list of a panel has its vertices, those of its separator behind it, and the vertices around the box.
"""

import functools
import sys

# Seconds on one H200, as measured on 200^3 (README.md), eliminated panels at 1bb01a9, the rest at c42994a; but COPY is an estimate.
SCHEDULE = 3.04e-11  # per position: column blocks, positions, masks of A
COMPACT = 0.8e-11  # per position, where panels are eliminated
ELIMINATION = 21e-6  # per panel of the longest path
CLOSURE = 2.45e-11  # per position with counts, in place of elimination where A is symmetric
TREE = 2.1e-10  # per vertex, on every GPU: tree and panels
JUSTIFICATION = 0.7e-10  # per vertex, on every GPU of several: one more pass over A
DIVISION = 2.5e-9  # per panel, on every host thread, in the meantime
COPY = 350e9  # bytes a second from another GPU
LAUNCHES = 1.5e-3  # packing and joining of the panels at the top, besides their positions


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


def predict(side, gpus, closes=True, shares_top=False, divides_tree=False, hides_launches=False):
    """Seconds of one run on a power of 2 of GPUs, and the share of positions at the top. As if, of symmetric patterns, the top were divided,
    too (shares_top); the tree were, with 8 bytes a vertex sent to all (divides_tree); the top were joined while own panels are closed
    (hides_launches)."""
    sides, around = (side,) * 3, (False,) * 6
    positions, panels, path = boxes(sides, around)
    by_level = levels(sides, around, gpus.bit_length() - 1)
    at_top = sum(by_level)
    on_path = sum(p / 2**k for k, p in enumerate(by_level))  # what one part holds of the top
    own = (positions - at_top) / gpus
    seconds = (own + on_path) * SCHEDULE
    seconds += own * CLOSURE if closes else own * COMPACT + path * ELIMINATION
    sent = 8 * side**3 * (gpus - 1) / gpus
    if gpus > 1 and divides_tree:
        seconds += TREE * side**3 / gpus + sent / COPY
    else:
        seconds += TREE * side**3
        if gpus > 1:
            seconds += max(JUSTIFICATION * side**3, DIVISION * panels)
    if gpus > 1:
        seconds += (sent + (0 if closes else 20 * (gpus - 1) * on_path)) / COPY
        seconds += 0 if closes and hides_launches else LAUNCHES
        joint = at_top * (SCHEDULE / 4 + (CLOSURE if closes else COMPACT))
        seconds += joint / gpus if shares_top and closes else joint
    return seconds, at_top / positions


FORMS = {
    "closed": {},
    "closed, top shared": {"shares_top": True},
    "closed, tree divided": {"divides_tree": True},
    "closed, launches hidden": {"hides_launches": True},
    "closed, all three": {"shares_top": True, "divides_tree": True, "hides_launches": True},
    "eliminated": {"closes": False},
}


def main(arguments):
    for side in [int(a) for a in arguments] or [128, 200, 320, 464]:
        for form, settings in FORMS.items():
            one = predict(side, 1, **settings)[0]
            row = [f"{side}^3 {form}: 1 GPU {1e3 * one:.1f} ms"]
            for gpus in (2, 4, 8, 16, 32, 64):
                seconds, share = predict(side, gpus, **settings)
                row.append(f"{gpus}: {1e3 * seconds:.1f} ({one / seconds:.2f}, top {100 * share:.0f} %)")
            print("; ".join(row))


if __name__ == "__main__":
    main(sys.argv[1:])
