#!/usr/bin/env python3
"""Times of many small patterns as one direct sum, on a GPU and on the processor.

Prints a Markdown table: median ms of each variant for counts alone, microseconds per pattern, and how many times as long as
gpu_diagonal_blocks each other variant takes; behind it the phases of gpu_diagonal_blocks. One run of each is verified first.
Standard library only.
"""
import argparse
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from verified_runs import ROOT, records  # noqa: E402

OURS = "gpu_diagonal_blocks"
OTHERS = ["gpu_bitmap_panels", "cpu_gilbert_peierls", "cpu_bitmap_panels"]


def milliseconds(record):
    return 1e3 * statistics.median(record["samples_s"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--least", type=int, default=100)
    parser.add_argument("--most", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--emulated", action="store_true", help="the program that runs kernels on the host: no times")
    args = parser.parse_args()
    program = os.path.join(args.build, "gsofa_emulated" if args.emulated else "gsofa")
    size = f"count={args.count},least={args.least},most={args.most}"
    common = ["--order", "natural", "--threads", str(args.threads)]
    phases = []
    print("| direct sum | n | nnz(L+U) | " + f"{OURS} | us per pattern | " + " | ".join(f"{v} / ours" for v in OTHERS) + " |")
    print("|---|" + "---:|" * (4 + len(OTHERS)))
    for kind in ("kind=grid5", "kind=circuit", "kind=grid5,oneway=0.3"):
        matrix = f"gen:batch:{size},{kind}"
        records(program, matrix, [OURS], common + ["--repeat", "1", "--verify", "digest"])
        times = ["--repeat", str(args.repeat), "--warmup", "2", "--interleave", "--want", "counts", "--verify", "none"]
        found = records(program, matrix, [OURS] + OTHERS, common + times)
        ours = milliseconds(found[OURS])
        result = found[OURS]["result"]
        cells = [kind, f"{found[OURS]['matrix']['n']:,}", f"{result['nnz_l'] + result['nnz_u']:,}", f"{ours:.2f}",
                 f"{1e3 * ours / args.count:.3f}"]
        cells += [f"{milliseconds(found[v]) / ours:.1f}" for v in OTHERS]
        print("| " + " | ".join(cells) + " |", flush=True)
        phases.append((kind, found[OURS]["phases_s"]))
    for kind, seconds in phases:
        print(f"{kind}: " + ", ".join(f"{name} {1e3 * s:.2f} ms" for name, s in seconds.items()))


if __name__ == "__main__":
    main()
