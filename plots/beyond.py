"""All variants and peers on the 13 matrices, with the time to read the matrix and write the result."""

import math
import sys

import style
import style_dots as dots
import style_paper as paper


def draw(args):
    m = paper.Measured(args)
    whole = {"memory_budget_mb": 0}
    one = {"threads": 1}
    kinds = (("cpu_fill2_parallel", "fill2, 16 threads", {"threads": 16}), ("gpu_fill2_naive", "fill2, GPU", whole),
             ("cpu_set_union", "set union (GLU 3.0), 1 core", one), ("gpu_maxid", "gpu_maxid (the paper)", paper.MAXID[1]),
             ("gpu_maxid_tuned", "gpu_maxid_tuned", whole | {"window": 2048}),
             ("gpu_fill2_bitparallel", "gpu_fill2_bitparallel", whole),
             ("peer_superlu_dist", "SuperLU_DIST, 1 core", {}), ("cpu_gilbert_peierls", "Gilbert-Peierls, 1 core", one),
             ("cpu_bitmap_panels", "cpu_bitmap_panels, 1 core", one), ("gpu_bitmap_panels", "gpu_bitmap_panels", whole))
    fast = {n: m.find(n, "gpu_bitmap_panels", memory_budget_mb=0) for n in paper.ALL}
    names = sorted((n for n in fast if fast[n]),
                   key=lambda n: fast[n]["result"]["nnz_l"] + fast[n]["result"]["nnz_u"])
    m.need(names)
    fig, (axis,) = paper.figure(height=4.2)
    rows, starts = [], []
    for k, (variant, label, how) in enumerate(kinds):
        times = [(x, m.time(n, variant, **how)) for x, n in enumerate(names)]
        points = [(x, 1e3 * t) for x, t in times if t]
        if not points:
            continue
        cpu = not variant.startswith("gpu")
        colour = dots.COLOURS[k % 4]
        # No line across a matrix that was not measured.
        axis.plot(range(len(names)), [1e3 * t if t else math.nan for _, t in times], marker=style.MARKERS[k % 7], color=colour,
                  markerfacecolor="white" if cpu else colour, linestyle=":" if cpu else "-", linewidth=0.8, markersize=4.5)
        starts.append((*points[0], label, colour))
        rows += [(variant, names[x], f"{t:.5g}") for x, t in points]
    if m.profiles:
        copy = next(iter(m.profiles.values()))[-1]["copy_gb_per_s"] * 1e9
        limit = []
        for n in names:
            r = fast[n]
            size = r["mem"]["device"].get("matrix", 0) + r["derived"].get("positions", 0) * 24
            limit.append(1e3 * size / copy)
        axis.plot(range(len(names)), limit, color="black", linewidth=1, linestyle="--")
        starts.append((0, limit[0], "matrix and result\nat copy bandwidth", "black"))
        rows += [("physical_limit", n, f"{t:.5g}") for n, t in zip(names, limit)]
    axis.set_yscale("log")
    axis.set_ylabel("ms")
    axis.set_xticks(range(len(names)), [m.label(n) for n in names])
    axis.set_xlim(-0.36 * len(names), len(names) - 0.5)
    axis.grid(False, axis="x")
    dots.names(axis, starts, left=True)
    style.save(fig, args.out, "beyond", ("variant", "matrix", "ms"), rows)


if __name__ == "__main__":
    sys.exit(style.main(draw, __doc__))
