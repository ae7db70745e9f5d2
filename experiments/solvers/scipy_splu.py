#!/usr/bin/env python3
"""Orders of gsofa for SciPy's splu, next to splu's own: CPU seconds and entries of L + U, one line of CSV per matrix.

  scipy_splu.py --out FILE.csv --commit HASH [--repeat 3] MATRIX...

MATRIX is a file that gsofa.read() reads. Its pattern gets random values and a dominant diagonal. The four cases of a repetition run one
after another: gsofa.order(A, threads=1), splu of A in this order, splu by MMD of A + A' in symmetric mode, splu by COLAMD. Needs SciPy and
gsofa, one thread (OMP_NUM_THREADS=1). Each number is the least of the repetitions."""

import argparse
import csv
import datetime
import platform
import time
from importlib import metadata
from pathlib import Path

import gsofa
import numpy as np
from scipy.sparse.linalg import splu

SYMMETRIC = {"diag_pivot_thresh": 0.01, "options": {"SymmetricMode": True}}
COLUMNS = ["matrix", "n", "nnz", "repeats", "order_cpu_s", "splu_cpu_s", "splu_mmd_cpu_s", "splu_colamd_cpu_s", "nnz_lu", "mmd_nnz_lu",
           "colamd_nnz_lu", "residual", "scipy", "commit", "cpu", "time_utc"]


def with_values(pattern):
    """CSC of the pattern with values in [-1, 1] and a diagonal that exceeds the sum of its row."""
    a = pattern.tocsr().astype(float)
    a.data = np.random.default_rng(1).uniform(-1, 1, a.nnz)
    a.setdiag(np.asarray(abs(a).sum(axis=1)).ravel() + 1)
    return a.tocsc()


def timed(call):
    begin = time.process_time()
    result = call()
    return time.process_time() - begin, result


def measure(a, repeat):
    """Least CPU times of the four cases, entries of the three factors, the largest residual."""
    times, b = [], np.ones(a.shape[0])
    for _ in range(repeat):
        order_s, p = timed(lambda: gsofa.order(a, threads=1))
        permuted = a[p][:, p].tocsc()
        solvers = [timed(lambda: splu(permuted, permc_spec="NATURAL", **SYMMETRIC)), timed(lambda: splu(a, permc_spec="MMD_AT_PLUS_A", **SYMMETRIC)),
                   timed(lambda: splu(a))]
        times.append([order_s, *(s for s, _ in solvers)])
    x = np.empty_like(b)
    x[p] = solvers[0][1].solve(b[p])
    solutions = [x, *(lu.solve(b) for _, lu in solvers[1:])]
    return np.min(times, axis=0), [lu.nnz for _, lu in solvers], max(abs(a @ s - b).max() for s in solutions)


def cpu():
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.processor())


def write(description, columns, matrix, measure, package):
    """The command line of a script: for each matrix file, writes matrix(pattern), what measure() finds, and the package's version."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--commit", required=True, help="of the installed gsofa")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("matrices", nargs="+")
    asked = parser.parse_args()
    with asked.out.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(columns)
        for path in asked.matrices:
            a = matrix(gsofa.read(path))
            times, entries, residual = measure(a, asked.repeat)
            now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            out.writerow([Path(path).name.partition(".")[0], a.shape[0], a.nnz, asked.repeat, *(f"{t:.4f}" for t in times), *entries,
                          f"{residual:.1e}", metadata.version(package), asked.commit, cpu(), now])
            file.flush()


if __name__ == "__main__":
    write(__doc__, COLUMNS, with_values, measure, "scipy")
