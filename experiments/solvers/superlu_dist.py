#!/usr/bin/env python3
"""Whole solves by SuperLU_DIST alone and with libgsofa's order and symbolic factorization, alternately, on the same ranks.

  superlu_dist.py --build FOLDER [--with own,default] [--ranks 1,2,4] [--repeat 3] [--steps 1] [--out FILE.jsonl] MATRIX...

MATRIX is a Matrix Market file or gen:SPEC. --with lists what runs: `own` (SuperLU_DIST alone), `symbolic` (SuperLU_DIST's order,
libgsofa's symbolic factorization), `default` (both of libgsofa), or a value of GSOFA_ORDER (harness/library/superlu/README.md). The
program is the same in all: the loader finds libgsofa's routines first, or does not. For each matrix and number of ranks one line per entry of --with: the times
of the phases (medians over the repeats; with several steps the sum of all, the first with DOFACT, the others with SamePattern),
the operations of the numeric factorization, and the total time of the first entry over this one's. --out appends every run as it
ends. Exit status 1 if a solve fails, if a solution is further from that of the first entry than rounding explains (residuals and
componentwise backward errors within a factor of ten, or at most 1e-14), or if libgsofa was not called.
"""
import argparse
import array
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


def solve(program, library, ranks, how, matrix, solution, more):
    """One run: what the program printed, with its solution."""
    rows, columns = GRIDS[ranks]
    environment = os.environ | {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    words = ["mpirun", "--oversubscribe", "-n", str(ranks)]
    if os.geteuid() == 0:
        words.insert(1, "--allow-run-as-root")
    if how != "own":
        # Of the ranks alone: the launcher is no program of SuperLU_DIST.
        for setting in (f"LD_PRELOAD={library}", "GSOFA_SUPERLU=verbose", "GSOFA_ORDER=" + {"symbolic": "off", "default": ""}.get(how, how)):
            words += ["-x", setting]
    words += [str(program), matrix, "--rows", str(rows), "--columns", str(columns), "--solution", str(solution), *more]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        # Launchers draw lines around what they say.
        said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip(" -")]
        reason = "; ".join(said[:4]) or "no message"
        raise Failed(f"{matrix}, {ranks} ranks, {how}: exit status {done.returncode}: {reason}")
    for routine, ours in (("symbfact", how != "own"), ("get_perm_c_dist", how not in ("own", "symbolic"))):
        if ours != (f"gsofa: {routine}: n " in done.stderr):
            raise Failed(f"{matrix}, {ranks} ranks, {how}: {routine} of libgsofa was {'not ' if ours else ''}called")
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    found["x"] = array.array("d", Path(solution).read_bytes())
    found["said"] = [line for line in done.stderr.splitlines() if line.startswith("gsofa: ")]
    return found


def seconds(run, phase):
    k = run["phases"].index(phase)
    return sum(step[k] for step in run["seconds"])


def comparable(mine, theirs, floor=1e-14):
    return mine <= max(10 * theirs, floor)


def distance(x, y):
    return max((abs(a - b) for a, b in zip(x, y)), default=0) / max(map(abs, y), default=1)


def record(run, name, how, repeat, args):
    """A run as one line of --out."""
    return json.dumps({"matrix": name, "n": run["n"], "nnz": run["nnz"], "ranks": run["ranks"], "steps": args.steps, "relax": args.relax,
                       "with": how, "repeat": repeat, "seconds": {phase: round(seconds(run, phase), 6) for phase in run["phases"]},
                       "operations": run["operations"], "residual": run["residual"], "backward_error": run["backward_error"],
                       "said": run["said"]}) + "\n"


def check(matrix, runs, args, count):
    """The solutions are the same up to rounding."""
    first = runs[args.entries[0]][-1]
    for how in args.entries[1:]:
        for key in ("residual", "backward_error"):
            own, other = first[key], runs[how][-1][key]
            if not comparable(other, own):
                raise Failed(f"{matrix}, {count} ranks: {key} {other:.2g} with {how}, {own:.2g} with {args.entries[0]}")


def measure(matrix, count, args, tools, out):
    name = matrix if matrix.startswith("gen:") else Path(matrix).name.split(".mtx")[0]
    runs = {how: [] for how in args.entries}
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(args.repeat):
            for how in args.entries:
                runs[how].append(solve(*tools, count, how, matrix, Path(folder) / "x", args.more))
                if out:
                    out.write(record(runs[how][-1], name, how, repeat, args))
                    out.flush()  # a run that is cut short leaves the runs so far
    check(matrix, runs, args, count)
    totals = {}
    for how in args.entries:
        median = {phase: statistics.median(seconds(r, phase) for r in runs[how]) * 1e3 for phase in PHASES}
        totals[how] = median["all"]
        last = runs[how][-1]
        apart = distance(last["x"], runs[args.entries[0]][-1]["x"])
        print(f"{name:32} {count:5} {last['n']:8}  {how:18}" + "".join(f"{median[phase]:13.4g}" for phase in PHASES)
              + f"{last['operations']:11.3g}{totals[args.entries[0]] / median['all']:7.2f}{apart:10.1e}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True, type=Path)
    p.add_argument("--with", dest="entries", default="own,default", help="what runs, with commas; the others are compared with the first")
    p.add_argument("--ranks", default="1,2,4", help="numbers of ranks (1, 2, 4, 8 or 16), with commas")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--steps", type=int, default=1)
    p.add_argument("--relax", type=int, default=60)
    p.add_argument("--column-order", default="metis")
    p.add_argument("--out", type=Path, help="JSON Lines file to which all runs are appended")
    p.add_argument("matrices", nargs="+", metavar="MATRIX")
    args = p.parse_args()
    try:
        ranks = [int(word) for word in args.ranks.split(",")]
    except ValueError:
        ranks = [0]
    if unknown := set(ranks) - set(GRIDS):
        p.error(f"--ranks: {sorted(unknown)[0]} is none of {', '.join(map(str, GRIDS))}")
    args.entries = args.entries.split(",")
    args.more = ["--steps", str(args.steps), "--relax", str(args.relax), "--column-order", args.column_order]
    tools = [args.build / "superlu_dist_solve", (args.build / "harness" / "library" / "superlu" / "libgsofa_superlu.so").resolve()]
    for file in tools:
        if not file.is_file():
            p.error(f"{file} is not built")
    failed = False
    out = open(args.out, "a", encoding="utf-8") if args.out else None
    print(f"{'matrix':32} ranks {'n':>8}  {'with':18}" + "".join(f"{phase.replace('column_', '').replace('distribution', 'distrib.'):>9}, ms"
                                                                for phase in PHASES) + " operations  ratio  distance")
    for matrix in args.matrices:
        for count in ranks:
            try:
                measure(matrix, count, args, tools, out)
            except Failed as e:
                print(f"superlu_dist.py: {e}", file=sys.stderr)
                failed = True
    if out:
        out.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
