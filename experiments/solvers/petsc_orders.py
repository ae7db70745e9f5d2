#!/usr/bin/env python3
"""PETSc's own orders and gsofa's in PETSc's LU: entries of L + U and seconds of KSPSetUp, one line of CSV per matrix and order.

  petsc_orders.py --example PROGRAM --plugin libgsofa_petsc.so --out FILE.csv --commit HASH [--limit 110] [--repeat 3] MATRIX...

PROGRAM is harness/library/petsc/example.c compiled. MATRIX is a file that gsofa.read() reads, with the values of splu_solve.py, or grid:N.
The orders run one after another in each repetition; `seconds` is the least, empty if a run passed the limit. One thread."""

import argparse
import csv
import datetime
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import gsofa
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from splu_solve import with_values  # noqa: E402

ORDERS = ("nd", "rcm", "qmd", "gsofa")
LINE = re.compile(r"set-up ([0-9.]+) s, ([0-9]+) entries, residual (\S+)")
COLUMNS = ["matrix", "n", "nnz", "order", "runs", "seconds", "nnz_lu", "residual", "commit", "cpu", "time_utc"]


def write(a, path):
    """A in PETSc's binary form."""
    a = a.tocsr()
    a.sort_indices()
    with path.open("wb") as file:
        for numbers, kind in (((1211216, *a.shape, a.nnz), ">i4"), (np.diff(a.indptr), ">i4"), (a.indices, ">i4"), (a.data, ">f8")):
            file.write(np.asarray(numbers).astype(kind).tobytes())


def run(command, limit):
    """(seconds, entries, residual), None past the limit."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=True)
    except subprocess.TimeoutExpired:
        return None
    return LINE.search(done.stdout).groups()


def measure(arguments, asked):
    """{order: its runs within the limit}; an order that passed the limit does not run again."""
    found = {order: [] for order in ORDERS}
    for repetition in range(asked.repeat):
        for order, runs in found.items():
            plugin = ["-dll_append", asked.plugin] if order == "gsofa" else []
            if len(runs) == repetition and (one := run([asked.example, *arguments, *plugin, "-pc_factor_mat_ordering_type", order], asked.limit)):
                runs.append(one)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--example", "--plugin", "--commit"):
        parser.add_argument(name, required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--limit", type=float, default=110)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("matrices", nargs="+")
    asked = parser.parse_args()
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    cpu = next((line.split(": ")[1] for line in lines if line.startswith("model name")), "")
    with asked.out.open("w", encoding="utf-8", newline="") as file, tempfile.TemporaryDirectory() as folder:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        for matrix in asked.matrices:
            grid = re.fullmatch(r"grid:(\d+)", matrix)
            if grid:
                side = int(grid[1])
                n, nnz, arguments = side ** 3, 7 * side ** 3 - 6 * side ** 2, ["-n", grid[1]]
            else:
                a = with_values(gsofa.read(matrix))
                write(a, binary := Path(folder) / "a.petsc")
                n, nnz, arguments = a.shape[0], a.nnz, ["-f", str(binary)]
            for order, runs in measure(arguments, asked).items():
                seconds, entries, residual = min(runs, key=lambda r: float(r[0]), default=("", "", ""))
                now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
                out.writerow([matrix if grid else Path(matrix).name.partition(".")[0], n, nnz, order, len(runs), seconds, entries, residual,
                              asked.commit, cpu, now])
            file.flush()


if __name__ == "__main__":
    main()
