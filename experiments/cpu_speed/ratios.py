#!/usr/bin/env python3
"""Speed and work ratios of the CPU variants, all from one run on one machine.

Prints, per matrix, cpu_gilbert_peierls against peer_superlu_dist, cpu_fill2_parallel on one and on
several threads, and the edge visits of cpu_maxid against cpu_fill2. Every result is verified; the
script stops if one is refuted. Standard library only.
"""
import argparse
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from verified_runs import ROOT, records  # noqa: E402

# order above 10,000 in the bundle, and the 7-point grid of 64^3 whole and with 30 % dropped
LARGE = ["bcsstk18", "g7jac040sc", "gen:grid7:nx=64", "gen:grid7:nx=64,drop=0.3,seed=1"]
BUNDLED = ["bcsstk18", "g7jac040sc", "west2021", "sherman5", "add32", "epb0", "rajat19",
           "circuit_2", "orani678", "lhr02"]


def milliseconds(record):
    return 1e3 * statistics.median(record["samples_s"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    timed = os.path.join(args.build, "gsofa")
    counting = os.path.join(args.build, "gsofa_counting")
    repeat = ["--warmup", "1", "--repeat", str(args.repeat), "--want", "counts"]

    print("cpu_gilbert_peierls / peer_superlu_dist, one core, median ms")
    for m in LARGE:
        r = records(timed, m, ["cpu_gilbert_peierls", "peer_superlu_dist"],
                    repeat + ["--verify", "digest", "--threads", "1"])
        a, b = milliseconds(r["cpu_gilbert_peierls"]), milliseconds(r["peer_superlu_dist"])
        print(f"  {m:36s} {a:10.3f} / {b:10.3f} = {a / b:6.3f}", flush=True)

    print(f"cpu_fill2_parallel, 1 thread / {args.threads} threads, median ms")
    for m in ["bcsstk18", "g7jac040sc"]:
        one = records(timed, m, ["cpu_fill2_parallel"],
                      repeat + ["--threads", "1", "--verify", "digest"])
        many = records(timed, m, ["cpu_fill2_parallel"],
                       repeat + ["--threads", str(args.threads), "--verify", "digest"])
        a, b = (milliseconds(x["cpu_fill2_parallel"]) for x in (one, many))
        print(f"  {m:36s} {a:10.3f} / {b:10.3f} = {a / b:6.3f}", flush=True)

    print("edge visits, cpu_maxid / cpu_fill2 (one thread)")
    for m in BUNDLED:
        r = records(counting, m, ["cpu_maxid", "cpu_fill2"],
                    ["--threads", "1", "--verify", "digest"])
        a, b = (r[v]["counters"]["edges_traversed"] for v in ("cpu_maxid", "cpu_fill2"))
        print(f"  {m:36s} {a:12d} / {b:12d} = {a / b:6.3f}", flush=True)


if __name__ == "__main__":
    main()
