#!/usr/bin/env python3
"""Whole solves by SuperLU_DIST with its own symbolic factorization and with libgsofa's, alternately, on the same ranks.

  superlu_dist.py --build FOLDER [--ranks 1,2,4] [--repeat 3] [--steps 1] [--out FILE.csv] MATRIX...

MATRIX is a Matrix Market file with values or gen:SPEC. The program is the same in both: the loader finds libgsofa's symbfact
first, or does not. For each matrix and number of ranks one line: the times of the phases (medians over the repeats; with
several steps the sum of all, the first with DOFACT, the others with SamePattern), and the ratio of the symbolic phases.
Exit status 1 if a solve fails, if a solution of one is further from that of the other than rounding explains (residuals and
componentwise backward errors within a factor of ten, or at most 1e-14), or if symbfact of libgsofa was not called.
"""
import argparse
import array
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PHASES = ["all", "column_order", "symbolic", "distribution", "numeric", "solve", "refine"]
GRIDS = {1: (1, 1), 2: (1, 2), 4: (2, 2), 8: (2, 4), 16: (4, 4)}


class Failed(Exception):
    pass


def solve(program, library, ranks, ours, matrix, solution, more):
    """One run: what the program printed, with its solution."""
    rows, columns = GRIDS[ranks]
    environment = os.environ | {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    words = ["mpirun", "--oversubscribe", "-n", str(ranks)]
    if os.geteuid() == 0:
        words.insert(1, "--allow-run-as-root")
    if ours:
        # Of the ranks alone: the launcher is no program of SuperLU_DIST.
        words += ["-x", f"LD_PRELOAD={library}", "-x", "GSOFA_SUPERLU=verbose"]
    words += [str(program), matrix, "--rows", str(rows), "--columns", str(columns), "--solution", str(solution), *more]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    name = "with libgsofa" if ours else "with its own symbfact"
    if done.returncode:
        # Launchers draw lines around what they say.
        said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip(" -")]
        reason = "; ".join(said[:4]) or "no message"
        raise Failed(f"{matrix}, {ranks} ranks, {name}: exit status {done.returncode}: {reason}")
    if ours != ("gsofa: symbfact: n " in done.stderr):
        raise Failed(f"{matrix}, {ranks} ranks, {name}: symbfact of libgsofa was {'not ' if ours else ''}called")
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    found["x"] = array.array("d", Path(solution).read_bytes())
    return found


def seconds(run, phase):
    k = run["phases"].index(phase)
    return sum(step[k] for step in run["seconds"])


def comparable(mine, theirs, floor=1e-14):
    return mine <= max(10 * theirs, floor)


def distance(x, y):
    return max((abs(a - b) for a, b in zip(x, y)), default=0) / max(map(abs, y), default=1)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True, type=Path)
    p.add_argument("--ranks", default="1,2,4", help="numbers of ranks (1, 2, 4, 8 or 16), with commas")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--steps", type=int, default=1)
    p.add_argument("--relax", type=int, default=60)
    p.add_argument("--column-order", default="metis")
    p.add_argument("--out", type=Path, help="CSV file of all runs")
    p.add_argument("matrices", nargs="+", metavar="MATRIX")
    args = p.parse_args()
    try:
        ranks = [int(word) for word in args.ranks.split(",")]
    except ValueError:
        ranks = [0]
    if unknown := set(ranks) - set(GRIDS):
        p.error(f"--ranks: {sorted(unknown)[0]} is none of {', '.join(map(str, GRIDS))}")
    program = args.build / "superlu_dist_solve"
    library = (args.build / "harness" / "library" / "superlu" / "libgsofa_superlu.so").resolve()
    for file in (program, library):
        if not file.is_file():
            p.error(f"{file} is not built")
    more = ["--steps", str(args.steps), "--relax", str(args.relax), "--column-order", args.column_order]
    failed = False
    out = open(args.out, "w", newline="", encoding="utf-8") if args.out else None
    lines = csv.writer(out, lineterminator="\n") if out else None
    if lines:
        lines.writerow(["matrix", "n", "nnz", "ranks", "steps", "relax", "symbfact", "repeat",
                        *(f"{phase}_s" for phase in PHASES), "residual", "backward_error", "distance"])
    print(f"{'matrix':32} ranks {'n':>8}  " + "  ".join(f"{phase + ', ms':>17}" for phase in PHASES) + "  symbolic ratio")
    for matrix in args.matrices:
        for count in ranks:
            try:
                runs = {True: [], False: []}
                with tempfile.TemporaryDirectory() as folder:
                    for _ in range(args.repeat):
                        for ours in (False, True):
                            runs[ours].append(solve(program, library, count, ours, matrix, Path(folder) / "x", more))
                theirs, mine = runs[False][-1], runs[True][-1]
                for key in ("residual", "backward_error"):
                    if not comparable(mine[key], theirs[key]):
                        raise Failed(f"{matrix}, {count} ranks: {key} {mine[key]:.2g} with libgsofa, {theirs[key]:.2g} without")
                apart = distance(mine["x"], theirs["x"])
            except Failed as e:
                print(f"superlu_dist.py: {e}", file=sys.stderr)
                failed = True
                continue
            cells = []
            for phase in PHASES:
                times = [statistics.median(seconds(r, phase) for r in runs[ours]) * 1e3 for ours in (False, True)]
                cells.append(f"{times[0]:8.4g} {times[1]:8.4g}")
                if phase == "symbolic":
                    ratio = times[0] / times[1]
            name = matrix if matrix.startswith("gen:") else Path(matrix).name.split(".mtx")[0]
            print(f"{name:32} {count:5} {mine['n']:8}  " + "  ".join(cells) + f"  {ratio:14.2f}", flush=True)
            for ours in (False, True) if lines else ():
                for k, run in enumerate(runs[ours]):
                    lines.writerow([name, run["n"], run["nnz"], count, args.steps, args.relax, "gsofa" if ours else "own", k,
                                    *(f"{seconds(run, phase):.6g}" for phase in PHASES), f"{run['residual']:.3g}",
                                    f"{run['backward_error']:.3g}", f"{apart:.3g}"])
            if out:
                out.flush()  # a run that is cut short leaves the matrices so far
    if out:
        out.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
