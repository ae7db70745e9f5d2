"""Gaussian elimination of dense boolean matrices, as a textbook has it, and what follows from it."""
import numpy as np


def factors(a):
    """(L below the diagonal, U with it) of a square pattern whose diagonal counts as full."""
    f = np.array(a, dtype=bool) | np.eye(len(a), dtype=bool)
    for k in range(len(f)):
        for i in range(k + 1, len(f)):
            if f[i, k]:
                f[i, k + 1:] |= f[k, k + 1:]
    return np.tril(f, -1), np.triu(f)


def elimination_tree(a):
    """Parents by the definition: the first entry below the diagonal in each column of the factor of A + A^T."""
    low, _ = factors(np.asarray(a, dtype=bool) | np.asarray(a, dtype=bool).T)
    return np.array([np.flatnonzero(c)[0] if c.any() else -1 for c in low.T])


def flops(low, up):
    l, u = low.sum(axis=0), up.sum(axis=1) - 1
    return int((l + 2 * l * u).sum())


def supernodes(low, up):
    """First rows of the T3 supernodes."""
    starts, counts = [0], up.sum(axis=1)
    for s in range(1, len(low)):
        if not (counts[s] == counts[s - 1] - 1 and low[s, starts[-1]]):
            starts.append(s)
    return starts
