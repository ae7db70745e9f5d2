#!/usr/bin/env python3
"""Solves A x = b by SciPy's splu in each order and prints a line of JSON for each: seconds of the wall and of the CPU.

  splu_solve.py MATRIX.mtx ORDER...

The pattern gets random values and a dominant diagonal. ORDER is the file of a permutation, whose matrix is factored in symmetric mode with
diagonal pivots, or `mmd` (of A + A') or `colamd`, splu's own. `analysis` is the permutation of the matrix; the time of an own order is
that of splu with it less that of splu in the same order when given. A round solves once in each order. The first round warms up; the
least times of three further rounds are printed. An order that took two seconds is not repeated.
"""
import json
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
        order = np.argsort(timed(times, "own", lambda: splu(a, permc_spec=how, **settings)).perm_c)
    permuted = timed(times, "analysis", lambda: a[order][:, order].tocsc())
    lu = timed(times, "factor", lambda: splu(permuted, permc_spec="NATURAL", **settings))
    x = np.empty_like(b)
    x[order] = timed(times, "solve", lambda: lu.solve(b[order]))
    return {"nnz_l": lu.L.nnz - a.shape[0], "residual": abs(a @ x - b).max()}


def main():
    name, *orders = sys.argv[1:]
    a = with_values(scipy.io.mmread(name))
    given = {order: order if order in OWN else np.loadtxt(order, dtype=np.int32, ndmin=1) for order in orders}
    times = {order: {} for order in orders}
    found = {}
    for round_number in range(4):
        for order in orders:
            if round_number > 1 and sum(map(sum, times[order].values())) > 4:  # wall and CPU
                continue
            if round_number == 1:
                times[order].clear()
            found[order] = run(a, given[order], times[order])
    for order in orders:
        least = {key: min(values) for key, values in times[order].items()}
        if order in OWN:
            for clock in ("s", "cpu_s"):
                least |= {f"order_{clock}": max(0, least.pop(f"own_{clock}") - least[f"factor_{clock}"]), f"analysis_{clock}": 0}
        print(json.dumps({"order": order, "n": a.shape[0], "nnz": a.nnz, **found[order], **least}), flush=True)


if __name__ == "__main__":
    main()
