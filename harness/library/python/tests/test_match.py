"""match(): permutations, scales, and refusals."""
import numpy as np
import pytest
import scipy.sparse as sp

import gsofa


def shuffled(a, seed):
    return a[np.random.default_rng(seed).permutation(a.shape[0])]


def test_scales_bound_all_entries_and_make_the_diagonal_one():
    for seed, kind in enumerate((np.float64, np.float32, np.complex128)):
        random = sp.random(60, 60, density=0.1, random_state=seed) - 1e-3j * sp.eye(60)
        a = shuffled(sp.csr_matrix(random if kind is np.complex128 else abs(random), dtype=kind), seed)
        m = gsofa.match(a.tocsc())
        scaled = (sp.diags(m.row_scale) @ a @ sp.diags(m.col_scale)).tocsr()[m.rows]
        assert np.allclose(abs(scaled.diagonal()), 1, atol=1e-6)
        assert abs(scaled).max() <= 1 + 1e-6
        assert sorted(gsofa.order(a[m.rows]).tolist()) == list(range(60))


def test_a_shuffled_symmetric_pattern_comes_back():
    n = 12
    line = sp.diags([1.0, 4.0, 1.0], [-1, 0, 1], shape=(n, n))
    a = sp.csr_matrix(sp.kron(sp.eye(n), line) + sp.kron(line, sp.eye(n)))
    m = gsofa.match(shuffled(a, 1), "symmetric")
    assert m.symmetric_entries == a.nnz - n * n
    assert sorted(m.rows.tolist()) == list(range(n * n))


def test_singular_and_refused():
    m = gsofa.match(sp.csr_array([[0.0, 1.0], [0.0, 2.0]]))
    assert (m.structural_rank, m.unmatched_cols.tolist(), m.rows.tolist()) == (1, [0], [-1, 1])
    with pytest.raises(gsofa.InvalidInput, match="row 2, column 1: the value is not a number"):
        gsofa.match(sp.csr_array([[1.0, 1.0], [np.nan, 1.0]]))
    with pytest.raises(gsofa.InvalidInput, match="did you mean 'weighted'"):
        gsofa.match(sp.csr_array([[1.0]]), "wheighted")
    with pytest.raises(gsofa.InvalidInput, match="needs the values"):
        gsofa.match(([0, 1], [0]), "weighted")
