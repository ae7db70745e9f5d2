#!/usr/bin/env python3
"""Orders of gsofa for CHOLMOD through scikit-sparse, next to CHOLMOD's AMD and METIS: CPU seconds, one line of CSV per matrix.

  sksparse_cholmod.py --out FILE.csv --commit HASH [--repeat 3] MATRIX...

The pattern of A + A' gets entries -1 and a dominant diagonal. Each number is the least of the repetitions; the times by AMD and METIS contain
the order. Needs scikit-sparse 0.4 and gsofa, one thread (OMP_NUM_THREADS=1)."""

import gsofa
import numpy as np
import scipy.sparse as sp
from scipy_splu import timed, write
from sksparse.cholmod import cholesky

COLUMNS = ["matrix", "n", "nnz", "repeats", "order_cpu_s", "cholmod_cpu_s", "cholmod_amd_cpu_s", "cholmod_metis_cpu_s", "nnz_l", "amd_nnz_l",
           "metis_nnz_l", "residual", "scikit_sparse", "commit", "cpu", "time_utc"]


def positive_definite(pattern):
    """CSC of the pattern of A + A': -1 off the diagonal, the number of entries of the row on it."""
    a = sp.csr_matrix(pattern, dtype=float)
    a = a + a.T
    a.data[:] = -1
    a.setdiag(np.diff(a.indptr) + 1)
    return a.tocsc()


def measure(a, repeat):
    """Least CPU times of the four cases, entries of the three factors, the residual in gsofa's order."""
    times, b = [], np.ones(a.shape[0])
    for _ in range(repeat):
        order_s, p = timed(lambda: gsofa.order(a, threads=1))
        permuted = a[p][:, p].tocsc()
        found = [timed(lambda: cholesky(permuted, ordering_method="natural")), timed(lambda: cholesky(a, ordering_method="amd")),
                 timed(lambda: cholesky(a, ordering_method="metis"))]
        times.append([order_s, *(s for s, _ in found)])
    x = np.empty_like(b)
    x[p] = found[0][1](b[p])
    return np.min(times, axis=0), [factor.L().nnz for _, factor in found], abs(a @ x - b).max()


if __name__ == "__main__":
    write(__doc__, COLUMNS, positive_definite, measure, "scikit-sparse")
