#!/usr/bin/env python3
"""cpu_bitmap_panels against SuperLU_DIST's symbfact and cpu_gilbert_peierls, one run, one core each.

Per input: least and median time of verified runs (digests equal to cpu_gilbert_peierls), the ratio
of the least times of peer_superlu_dist and cpu_bitmap_panels, where the time of the latter goes,
and, with --counting, its work: positions, and words joined by pushes. With --threads, a second
measurement of it on as many threads. Inputs are files of `gsofa prepare`, or whatever `gsofa run
--matrix` takes. Standard library only.
"""
import argparse
import math
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from verified_runs import ROOT, records  # noqa: E402

PANELS, PEER, ROWS = "cpu_bitmap_panels", "peer_superlu_dist", "cpu_gilbert_peierls"
DEFAULT = ["bcsstk18", "g7jac040sc", "gen:grid5:nx=500", "gen:grid7:nx=40,drop=0.3,seed=1",
           "gen:grid7:nx=64,drop=0.3,seed=1", "gen:grid27:nx=40,drop=0.3,seed=1",
           "gen:circuit:n=300000,hubs=30", "gen:grid7:nx=56,drop=0.3,oneway=0.8,seed=1",
           "gen:grid7:nx=100,drop=0.3,seed=1"]


def least(record):
    return 1e3 * min(record["samples_s"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("matrices", nargs="*", default=DEFAULT)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--counting", action="store_true")
    args = parser.parse_args()
    timed = os.path.join(args.build, "gsofa")
    how = ["--warmup", "1", "--repeat", str(args.repeat), "--want", "counts",
           "--verify", "digest"]
    print("| matrix | n | nnz(L+U) | symbfact | rows | panels: least (median) | symbfact/panels "
          "| rows/panels | schedule | init | traverse | compact |"
          + (" threads |" if args.threads else "") + (" positions | words |" if args.counting else ""))
    ratios = []
    for m in args.matrices:
        r = records(timed, m, [PANELS, ROWS, PEER], how + ["--threads", "1"])
        panels = r[PANELS]
        name = panels["matrix"]["name"] + (" (stand-in)" if panels["matrix"]["stand_in"] else "")
        a, b, c = least(panels), least(r[ROWS]), least(r[PEER])
        ratios.append(c / a)
        result = panels["result"]
        phases = panels["phases_s"]
        line = (f"| {name} | {panels['matrix']['n']} | {result['nnz_l'] + result['nnz_u']:.3g} "
                f"| {c:.3g} | {b:.3g} | {a:.3g} ({1e3 * statistics.median(panels['samples_s']):.3g}) "
                f"| {c / a:.2f} | {b / a:.2f} |")
        for phase in ("schedule", "init", "traverse", "compact"):
            line += f" {1e3 * phases.get(phase, 0):.3g} |"
        if args.threads:
            t = records(timed, m, [PANELS], how + ["--threads", str(args.threads)])
            line += f" {least(t[PANELS]):.3g} |"
        if args.counting:
            w = records(os.path.join(args.build, "gsofa_counting"), m, [PANELS],
                        ["--threads", "1", "--want", "counts", "--verify", "none"])
            counters = w[PANELS]["counters"]
            line += f" {counters.get('positions', 0)} | {counters.get('push_words', 0)} |"
        print(line, flush=True)
    mean = math.exp(sum(math.log(x) for x in ratios) / len(ratios))
    print(f"symbfact/panels: least {min(ratios):.2f}, geometric mean {mean:.2f}, "
          f"{len(ratios)} inputs")


if __name__ == "__main__":
    main()
