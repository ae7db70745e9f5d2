"""Every stored entry counts, in every format of SciPy, and no number of repetitions makes one vanish."""
import numpy as np
import oracle
import pytest
import scipy.sparse as sp

import gsofa

FORMATS = ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")


def stored(kind):
    """A matrix of that format whose stored entries are all zero, and the pattern of its stored entries."""
    n = 6
    pattern = np.eye(n, dtype=bool) | np.eye(n, k=2, dtype=bool)
    pattern[5, 0] = kind != "dia"
    rows, cols = np.nonzero(pattern)
    if kind == "dia":
        return sp.dia_array((np.zeros((2, n)), [0, 2]), shape=(n, n)), pattern
    if kind == "bsr":
        a = sp.bsr_array((np.zeros((3, 2, 2)), [0, 1, 2], [0, 1, 2, 3]), shape=(n, n))
        return a, np.kron(np.eye(3), np.ones((2, 2))).astype(bool)
    a = sp.csr_array((np.zeros(rows.size), (rows, cols)), shape=(n, n))
    if kind == "lil":
        out = sp.lil_array((n, n))
        for i in range(n):
            out.rows[i], out.data[i] = np.flatnonzero(pattern[i]).tolist(), [0.0] * int(pattern[i].sum())
        return out, pattern
    return (a if kind == "csr" else a.asformat(kind)), pattern


@pytest.mark.parametrize("kind", FORMATS)
def test_stored_zeros_are_entries(kind):
    a, pattern = stored(kind)
    assert a.format == kind and a.nnz == pattern.sum()
    before = a.toarray().tobytes()
    s = gsofa.analyze(a, "natural")
    assert s.nnz_a == a.nnz and (s.A.toarray() == pattern).all() and (s.row_order == np.arange(6)).all()
    assert s.matches(a) and s.matches(sp.csr_array(pattern))
    assert (gsofa.order(a, "colamd") == gsofa.order(sp.csr_array(pattern), "colamd")).all()
    assert gsofa.symbfact(a).R.nnz == oracle.factors(np.triu(pattern) | np.triu(pattern).T)[1].sum()
    for part, product in (("col", pattern.T @ pattern), ("row", pattern @ pattern.T)):
        assert (gsofa.symbfact(a, part).R.toarray() == oracle.factors(product)[1]).all()
    assert a.format == kind and a.nnz == pattern.sum() and a.toarray().tobytes() == before


@pytest.mark.parametrize("shape, width, offsets", [((4, 4), 4, [0]), ((4, 4), 9, [0, 3, -3]), ((4, 4), 2, [0, 1, -1]),
                                                   ((4, 4), 4, [7, -7, 0]), ((4, 4), 4, []), ((2, 5), 5, [0, 2]), ((5, 2), 3, [-4, 1])])
def test_diagonals_of_any_length(shape, width, offsets):
    a = sp.dia_array((np.ones((len(offsets), width)), offsets), shape=shape)
    for part in ("col", "row"):
        dense = a.toarray() != 0
        product = dense.T @ dense if part == "col" else dense @ dense.T
        assert (gsofa.symbfact(a, part).R.toarray() == oracle.factors(product)[1]).all()
    if shape[0] == shape[1]:
        assert (gsofa.analyze(a, "natural", match=False).A.toarray() == a.toarray()).all()


@pytest.mark.parametrize("times", (1, 128, 255, 256, 257, 512, 65536))
def test_an_entry_may_be_repeated_any_number_of_times(times):
    rows, cols = np.r_[0, np.zeros(times, dtype=int), 1, 2], np.r_[0, np.full(times, 2), 1, 2]
    ptr = np.array([0, times + 1, times + 2, times + 3])
    by_column = np.r_[0, 1, np.zeros(times, dtype=int), 2], [0, 1, 2, times + 3]
    for value in (np.int8(1), np.float32(0)):
        data = np.full(cols.size, value)
        for a in ((ptr, cols), sp.csr_array((data, cols, ptr)), sp.coo_array((data, (rows, cols))),
                  sp.csc_array((data, cols, ptr)).T, sp.csc_array((data, *by_column))):
            s = gsofa.analyze(a, "natural")
            assert (s.nnz_a, s.nnz, s.fill) == (4, 4, 0)
            assert gsofa.symbfact(a).count.tolist() == [2, 1, 1]
            assert s.A.toarray().tolist() == [[1, 0, 1], [0, 1, 0], [0, 0, 1]]
    tall = sp.csr_array((np.ones(2 * times, dtype=np.int8), np.tile([0, 1], times), np.arange(0, 2 * times + 1, 2)))
    assert gsofa.symbfact(tall, "col").count.tolist() == gsofa.symbfact(tall.T, "row").count.tolist() == [2, 1]


def test_factors_are_ones_whose_sums_and_products_do_not_wrap():
    n = 300
    s = gsofa.analyze(sp.csr_array(np.ones((n, n))), "natural")
    assert s.L.dtype == s.U.dtype == s.A.dtype == s.to_superlu()["L"].dtype == gsofa.symbfact(s.A).R.dtype == np.float64
    low = s.L + sp.eye(n, dtype=np.int8, format="csr")
    assert ((low @ s.U).toarray() == np.minimum.outer(np.arange(n), np.arange(n)) + 1).all()
    assert (s.A.sum(axis=0) == n).all() and (s.L.T @ s.L).nnz == (n - 1) ** 2


def broken(kind):
    """A matrix of that format with indices that are out of range, as they are after careless writes."""
    a = stored(kind)[0]
    if kind in ("csr", "csc", "bsr"):
        a.indices[-1] = 10**6
    elif kind == "coo":
        a.row[0] = 10**6
    elif kind == "lil":
        a.rows[0] = [10**6]
    elif kind == "dia":
        a.offsets = np.array([0.5, 2])
        a.data = np.zeros(3)
    else:
        a = sp.dok_array((6, 6))
        dict.__setitem__(getattr(a, "_dict", a), (0, 10**6), 1.0)
    return a


@pytest.mark.parametrize("kind", FORMATS)
def test_indices_out_of_range_are_refused(kind):
    for use in (gsofa.analyze, gsofa.order, gsofa.symbfact, lambda a: gsofa.symbfact(a, "col"), gsofa.analyze(sp.eye(6)).matches):
        with pytest.raises(gsofa.InvalidInput):
            use(broken(kind))


@pytest.mark.parametrize("kind", ("csr", "csc", "bsr"))
@pytest.mark.parametrize("pointers", ([0, 9, 1], [0], [-3, -2, 3], [0, 1, 2**40], [0, 1, -2**31]))
def test_broken_pointers_are_refused(kind, pointers):
    a = stored(kind)[0]
    for fault in ([*pointers, *[pointers[-1]] * (a.indptr.size - len(pointers))], pointers):
        a.indptr = np.array(fault)
        for use in (gsofa.analyze, gsofa.order, lambda a: gsofa.symbfact(a, "row")):
            with pytest.raises(gsofa.InvalidInput):
                use(a)


def test_an_order_beyond_32_bits_is_refused_before_anything_is_made_of_it():
    for kind in ("coo", "dok"):
        with pytest.raises(OverflowError, match="4294967296"):
            gsofa.analyze(sp.coo_array((2**32, 2**32)).asformat(kind))
