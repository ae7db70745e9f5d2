#!/usr/bin/env python3
"""Solves A x = b by SciPy's splu in each order and prints a line of JSON for each: seconds of the wall and of the CPU.

  splu_solve.py MATRIX.mtx ORDER...

The pattern gets random values and a dominant diagonal. ORDER is the file of a permutation, whose matrix is factored in symmetric mode with
diagonal pivots, or `mmd` (of A + A') or `colamd`, splu's own. `analysis` is the permutation of the matrix; the time of an own order is
that of splu with it less that of splu in the same order when given. Medians of three runs, of one where a run takes a second.
"""
import json
import statistics
import sys
import time

import numpy as np
import scipy.io
from scipy.sparse.linalg import splu

SYMMETRIC = {"diag_pivot_thresh": 0, "options": {"SymmetricMode": True}}
OWN = {"mmd": ("MMD_AT_PLUS_A", SYMMETRIC), "colamd": ("COLAMD", {})}


def with_values(pattern):
    """CSC of the pattern with values in [-1, 1] and a diagonal that exceeds the sum of its row."""
    a = pattern.tocsr().astype(float)
    a.data = np.random.default_rng(1).uniform(-1, 1, a.nnz)
    a.setdiag(np.asarray(abs(a).sum(axis=1)).ravel() + 1)
    return a.tocsc()


def timed(times, step, call):
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    times.setdefault(f"{step}_cpu_s", []).append(time.process_time() - cpu)
    times.setdefault(f"{step}_s", []).append(time.perf_counter() - wall)
    return result


def run(a, order, times):
    """One solve, whose times are appended; what is known of it."""
    b = np.ones(a.shape[0])
    settings = SYMMETRIC
    own = isinstance(order, str)
    if own:
        how, settings = OWN[order]
        order = np.argsort(timed(times, "order", lambda: splu(a, permc_spec=how, **settings)).perm_c)
    permuted = timed(times, "analysis", lambda: a[order][:, order].tocsc())
    lu = timed(times, "factor", lambda: splu(permuted, permc_spec="NATURAL", **settings))
    if own:
        for clock in ("order_s", "order_cpu_s"):
            times[clock][-1] = max(0, times[clock][-1] - times[clock.replace("order", "factor")][-1])
            times[clock.replace("order", "analysis")][-1] = 0
    x = np.empty_like(b)
    x[order] = timed(times, "solve", lambda: lu.solve(b[order]))
    return {"nnz_l": lu.L.nnz - a.shape[0], "residual": abs(a @ x - b).max()}


def main():
    name, *orders = sys.argv[1:]
    a = with_values(scipy.io.mmread(name))
    for order in orders:
        times = {}
        for _ in range(3):
            found = run(a, order if order in OWN else np.loadtxt(order, dtype=np.int32, ndmin=1), times)
            if sum(map(sum, times.values())) > 2:  # wall and CPU
                break
        found |= {key: statistics.median_low(values) for key, values in times.items()}
        print(json.dumps({"order": order, "n": a.shape[0], "nnz": a.nnz, **found}), flush=True)


if __name__ == "__main__":
    main()
