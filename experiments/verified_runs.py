"""Runs of gsofa on ranks, and verified runs, for the scripts of this folder. Standard library only."""
import os
import shutil
import subprocess
import sys

import json_lines

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def launcher(ranks):
    """The words before a command that start it on `ranks` ranks of this host."""
    if ranks == 1:
        return []
    mpirun = shutil.which("mpirun") or sys.exit("no mpirun (Debian: openmpi-bin)")
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout
    more = []
    if "Open MPI" in version:
        more = ["--oversubscribe", "--bind-to", "none"]
        more += ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return ["mpirun", *more, "-np", str(ranks)]


def records(program, matrix, variants, extra):
    """The records of one call of `gsofa run`, by variant; ends the program if one is refuted."""
    command = [program, "run", "--json", "--matrix", matrix]
    for v in variants:
        command += ["--variant", v]
    done = subprocess.run(command + extra, stdout=subprocess.PIPE, text=True, check=False)
    rows = list(json_lines.lines_of(done.stdout, program))
    bad = [r for r in rows if r["status"] not in ("pass", "unverified")]
    if done.returncode not in (0, 3) or bad or len(rows) != len(variants):
        reasons = "; ".join(f"{r['variant']}: {r['status']} {r['reason']}" for r in bad)
        sys.exit(f"{' '.join(command + extra)}: exit {done.returncode} {reasons}")
    return {r["variant"]: r for r in rows}
