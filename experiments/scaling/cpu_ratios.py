#!/usr/bin/env python3
"""Speedup of mpi_maxid_cpu on ranks and on workers of a rank over one worker, all from one run.

Each round runs every layout once; the ratios are of the medians over all rounds. Every result is verified;
the script stops if one is refuted. Standard library only.
"""
import argparse
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import json_lines  # noqa: E402
from verified_runs import ROOT, launcher  # noqa: E402

SCHEDULES = ["block", "inter_node", "intra_node", "dynamic"]


def run(args, ranks, workers, schedule):
    command = [*launcher(ranks), os.path.join(args.build, "gsofa"), "run", "--json", "--matrix",
               args.matrix, "--variant", "mpi_maxid_cpu", "--threads", "1", "--chunk-size",
               str(args.chunk_size), "--set", f"schedule={schedule}", "--set",
               f"workers_per_rank={workers}", "--set", f"concurrent_sources={args.sources}",
               "--warmup", "1", "--repeat", "1", "--verify", "digest"]
    if args.out:
        command += ["--out", args.out]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    records = list(json_lines.lines_of(done.stdout, command[0]))
    if done.returncode != 0 or len(records) != 1:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return records[0]["samples_s"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--matrix", default="bcsstk18")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--chunk-size", type=int, default=128)
    parser.add_argument("--sources", type=int, default=128, help="#C of a worker")
    parser.add_argument("--layouts", default="1x1,2x1,1x2", help="ranks x workers, the first is the base")
    parser.add_argument("--out", help="append the records to this file")
    args = parser.parse_args()
    layouts = [tuple(int(x) for x in pair.split("x")) for pair in args.layouts.split(",")]

    seconds = {(s, layout): [] for s in SCHEDULES for layout in layouts}
    for _ in range(args.rounds):
        for s, (ranks, workers) in seconds:
            seconds[s, (ranks, workers)].append(run(args, ranks, workers, s))
    print(f"{args.matrix}, chunk size {args.chunk_size}, #C {args.sources}, median of {args.rounds} "
          f"rounds, ms (speedup over {layouts[0][0]} rank x {layouts[0][1]} worker)")
    print(f"{'schedule':12s}" + "".join(f"{f'{r} x {w}':>20s}" for r, w in layouts))
    for s in SCHEDULES:
        base = statistics.median(seconds[s, layouts[0]])
        cells = []
        for layout in layouts:
            t = statistics.median(seconds[s, layout])
            cells.append(f"{1e3 * t:10.1f} ({base / t:5.2f})")
        print(f"{s:12s}" + "".join(f"{c:>20s}" for c in cells))


if __name__ == "__main__":
    main()
