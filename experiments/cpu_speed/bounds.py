#!/usr/bin/env python3
"""Time and bound of SuiteSparse's analyses compared with the exact fill, on one core.

Prints a Markdown table: median ms of a variant and, for those that bound, nnz(L+U) as they bound
it over the exact one. Every result is verified or found to be no lower than the fill; the script
stops if one is refuted. Standard library only.
"""
import argparse
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from verified_runs import ROOT, records  # noqa: E402

# The bundled matrices of order 2000 and above.
MATRICES = ["bcsstk18", "g7jac040sc", "add32", "circuit_2", "sherman5", "lhr02", "orani678",
            "west2021"]
EXACT = ["cpu_gilbert_peierls", "cpu_bitmap_panels"]
BOUNDS = ["peer_superlu_dist", "peer_cholmod", "peer_umfpack"]


def milliseconds(record):
    ms = 1e3 * statistics.median(record["samples_s"])
    return f"{ms:.2f}" if ms < 100 else f"{ms:.0f}"


def entries(record):
    return record["result"]["nnz_l"] + record["result"]["nnz_u"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--order", default="metis")
    parser.add_argument("--repeat", type=int, default=11)
    args = parser.parse_args()
    timed = os.path.join(args.build, "gsofa")
    common = ["--order", args.order, "--warmup", "1", "--repeat", str(args.repeat),
              "--threads", "1"]

    print("| matrix | n | nnz(L+U) | " + " | ".join(EXACT) + " | " +
          " | ".join(f"{v} | bound / exact" for v in BOUNDS) + " |")
    print("|---|" + "---:|" * (2 + len(EXACT) + 2 * len(BOUNDS)))
    for m in MATRICES:
        r = records(timed, m, EXACT, common + ["--want", "counts"])
        r |= records(timed, m, BOUNDS, common)  # peer_umfpack gives totals only
        exact = entries(r["cpu_gilbert_peierls"])
        cells = [m, f"{r['peer_cholmod']['matrix']['n']:,}", f"{exact:,}"]
        cells += [milliseconds(r[v]) for v in EXACT]
        for v in BOUNDS:
            cells += [milliseconds(r[v]), f"{entries(r[v]) / exact:.3f}"]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
