"""Analyzer.update(): results are those of its order, whatever came before."""
import numpy as np
import pytest
import scipy.sparse as sp

import gsofa


def mesh(n=20):
    """The five-point stencil of a square of n x n vertices."""
    path = sp.diags([1.0, 4.0, 1.0], [-1, 0, 1], shape=(n, n))
    return sp.lil_array(sp.kron(path, sp.eye(n)) + sp.kron(sp.eye(n), path))


def check_is_fresh(a, s, **options):
    f = gsofa.analyze(a, s.col_order, threads=1, **options)
    assert (f.row_order == s.row_order).all() and (f.row_counts == s.row_counts).all() and f.nnz == s.nnz
    assert (f.parent == s.parent).all() and (f.supernodes == s.supernodes).all() and (f.L != s.L).nnz == 0


@pytest.mark.parametrize("order", ["amf", "cpu_nested_dissection", "natural"])
def test_updates_are_the_analysis_of_their_ordering(order):
    rng = np.random.default_rng(1)
    analyzer = gsofa.Analyzer(order, threads=1)
    a = mesh()
    for step in range(8):
        s = analyzer.update(a)
        check_is_fresh(a, s)
        assert s.update.kind == "new_order" if step == 0 or order == "natural" else s.update.rows_changed > 0
        v = int(rng.integers(0, 358))
        a[v, v + 42] = a[v + 42, v] = 1.0
    assert gsofa.analyze(a).update is None


def test_rows_come_and_go():
    rng = np.random.default_rng(2)
    analyzer = gsofa.Analyzer("amf", threads=1)
    a = mesh().tocsr()
    analyzer.update(a)
    for _ in range(4):
        n = a.shape[0]
        old = np.concatenate([rng.permutation(n)[: n - 3], [-1, -1]])
        kept = old[old >= 0]
        grown = sp.block_diag([a[kept][:, kept], sp.eye(2)]).tolil()
        grown[-1, 5] = grown[5, -1] = grown[-2, 9] = grown[9, -2] = 1.0
        a = grown.tocsr()
        s = analyzer.update(a, old)
        check_is_fresh(a, s)
        assert 2 <= s.update.rows_changed < 30
    with pytest.raises(gsofa.InvalidInput, match="entries for order"):
        analyzer.update(a, old[:-1])
    with pytest.raises(gsofa.InvalidInput, match="occurs twice"):
        analyzer.update(a, np.zeros(a.shape[0], dtype=int))
    same = np.arange(a.shape[0])
    assert analyzer.update(a, same).update == ("kept", 0, 0, False)


@pytest.mark.parametrize("order", ["amf", "natural"])
def test_previous_rows_are_checked_before_every_update(order):
    a = mesh(5)
    analyzer = gsofa.Analyzer(order, threads=1)
    same = np.arange(25)
    for _ in range(2):
        for value, why in (25, r"row 3 has 25, outside \[-1, 25\)"), (-2, r"row 3 has -2, outside \[-1, 25\)"), (4, "row 4 occurs twice"):
            with pytest.raises(gsofa.InvalidInput, match=f"previous: {why}"):
                analyzer.update(a, np.where(same == 3, value, same))
        with pytest.raises(gsofa.InvalidInput, match="previous: 24 entries for order 25"):
            analyzer.update(a, same[1:])
        analyzer.update(a, same)
    analyzer.update(sp.csr_array((0, 0)))
    with pytest.raises(gsofa.InvalidInput, match=r"previous: row 0 has 0, outside \[-1, 0\)"):
        analyzer.update(a, same)
    analyzer.update(a, np.full(25, -1))


def test_a_step_that_fails_leaves_the_analyzer_as_it_was():
    a = mesh()
    analyzer = gsofa.Analyzer("amf", threads=1)
    analyzer.update(a)

    class Stop(Exception):
        pass

    def stop(stage, share):
        with pytest.raises(gsofa.InvalidInput, match="has not ended yet"):
            analyzer.update(a)
        raise Stop

    with pytest.raises(Stop):
        analyzer.update(a, progress=stop)
    singular = a.tocsr(copy=True)
    singular = singular.tolil()
    singular[0, :] = 0
    singular = singular.tocsr()
    singular.eliminate_zeros()
    with pytest.raises(gsofa.InvalidInput, match="structurally singular"):
        analyzer.update(singular)
    assert analyzer.update(a).update.kind == "kept"
    with pytest.raises(gsofa.InvalidInput, match="not a permutation"):
        gsofa.Analyzer(np.arange(4))
