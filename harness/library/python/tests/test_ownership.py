"""What analyze() returns owns its data: nothing that a caller changes later changes a result or ends the interpreter."""
import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

import gsofa
from gsofa import _core


def matrix(n=60, seed=2):
    """Sorted rows with stored zeros and a full diagonal."""
    rng = np.random.default_rng(seed)
    a = sp.csr_matrix((rng.random((n, n)) < 0.05) | np.eye(n, dtype=bool), dtype=float)
    a.data[rng.random(a.nnz) < 0.3] = 0
    return a


def results(s):
    """Everything that can be computed of an analysis, as bytes."""
    superlu, supernodal = s.to_superlu(), s.supernodal()
    arrays = [s.row_order, s.col_order, s.row_counts, s.l_row_counts, s.u_row_counts, s.supernodes, s.parent, s.levels, s.l_col_counts,
              s.density(7), *supernodal, *s.masks]
    for m in (s.A, s.L, s.U, s.lower(diagonal=True), superlu.pop("L"), superlu.pop("U")):
        arrays += [m.indptr, m.indices, m.data]
    arrays += superlu.values()
    return [a.tobytes() for a in arrays], (s.n, s.nnz_a, s.nnz, s.fill, s.flops, s.height)


def spoil(a):
    a.indices[:] = 2**31 - 1
    a.indptr[:] = -1
    a.data[:] = np.nan


class Array(np.ndarray):
    """A subclass, as memory maps are."""


class DeviceArray:
    """An array that says that it is of a device, and is of the host."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = array.__array_interface__

    def get(self):
        return self.array

    def __setitem__(self, where, value):
        self.array[where] = value


CHANGES = {
    "zeros are eliminated": lambda a: a.eliminate_zeros(),
    "another pattern": lambda a: a.indices.__setitem__(slice(None), np.random.default_rng(0).permutation(a.indices)),
    "columns out of range": spoil,
    "resized": lambda a: a.resize(3, 3),
    "gone": lambda a: None,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ("csr", "csc", "coo", "pair", "wide pair", "subclass pair", "device pair"))
def test_later_changes_of_the_matrix_change_nothing(kind, change):
    a = matrix()
    expected = results(gsofa.analyze(a.copy(), "amd"))
    if kind in ("csr", "csc", "coo"):
        given = a.asformat(kind, copy=True)
        before = given.copy()
    else:
        integer = np.int64 if kind == "wide pair" else np.int32
        given = (a.indptr.astype(np.int64), a.indices.astype(integer))
        before = tuple(x.copy() for x in given)
        if kind == "subclass pair":
            given = tuple(x.view(Array) for x in given)
        elif kind == "device pair":
            given = tuple(map(DeviceArray, given))
    s = gsofa.analyze(given, "amd", device="cpu")
    if kind == "csr":
        CHANGES[change](given)
    elif kind in ("csc", "coo"):
        for array in (given.data, *((given.indices, given.indptr) if kind == "csc" else (given.row, given.col))):
            array[:] = -1
    else:
        given[1][:] = 2**31 - 1
        given[0][:] = -1
    if change == "gone":
        del given
        gc.collect()
    assert results(s) == expected and s.matches(before)
    if kind == "csr":
        assert s.spy() and s.tree() and s.profiles()


def test_the_matrix_that_was_analysed_is_not_kept():
    a = matrix()
    gone = weakref.ref(a)
    s = gsofa.analyze(a)
    del a
    gc.collect()
    assert gone() is None and s.L.nnz == s.nnz_l


def test_a_changed_matrix_no_longer_matches():
    a = matrix()
    ptr, idx = a.indptr.astype(np.int64), a.indices.copy()
    s = gsofa.analyze((ptr, idx), "natural")
    idx[1:] = idx[:-1]
    assert not s.matches((ptr, idx))
    idx[:] = 2**31 - 1
    with pytest.raises(gsofa.InvalidInput):
        s.matches((ptr, idx))
    b = a[:, ::-1][:, ::-1]  # unsorted rows of the same pattern, sorted in place later
    assert s.matches(b)
    b.sort_indices()
    assert s.matches(b)


def test_a_permutation_that_progress_changes_is_that_of_the_call():
    a, order = matrix(), np.random.default_rng(1).permutation(60).astype(np.int32)
    expected = order.copy()
    s = gsofa.analyze(a, order, progress=lambda *_: order.fill(2**31 - 1))
    assert (s.col_order == expected).all()


def arrays_of(s):
    yield from (s.row_order, s.col_order, s.row_counts, s.l_row_counts, s.u_row_counts, s.supernodes, s.parent, s.levels,
                s.l_col_counts, s.density(3), *s.supernodal(), *s.masks)
    for m in (s.A, s.L, s.U, s.lower(diagonal=True)):
        yield from (m.indptr, m.indices, m.data)


@pytest.mark.parametrize("again", (lambda s: s, lambda s: pickle.loads(pickle.dumps(s)), copy.copy, copy.deepcopy))
def test_arrays_cannot_be_written(again):
    s = again(gsofa.analyze(matrix(), "amd"))
    expected = results(s)
    for a in arrays_of(s):
        with pytest.raises(ValueError, match="read-only"):
            a[:1] = 7
        with pytest.raises(ValueError):
            a.flags.writeable = True
        with pytest.raises(ValueError):
            a.view().setflags(write=True)
    assert results(s) == expected


def test_results_of_functions_cannot_be_written():
    count, _, parent, post, r = gsofa.symbfact(matrix())
    for a in (count, parent, post, r.data, r.indices, r.indptr, gsofa.order(matrix(), "amd"), gsofa.analyze(sp.eye(1)).L.data):
        assert not a.flags.writeable
        with pytest.raises(ValueError):
            a.flags.writeable = True


def test_changes_of_a_factor_are_its_holders_alone():
    s = gsofa.analyze(matrix(), "amd")
    expected = results(s)
    for name in ("A", "L", "U"):
        mine = getattr(s, name)
        mine.data = np.zeros(mine.nnz)
        mine = getattr(s, name)
        mine.indices = mine.indices[::-1].copy()
        mine = getattr(s, name)
        with pytest.raises(ValueError):
            mine *= 2
        mine = getattr(s, name).copy()
        mine.data[:] = 0
        mine.indices[:] = 0
    changed = s.to_superlu()
    for a in (changed["perm_r"], changed["etree"], changed["xsup"], changed["L"].data, changed["U"].indices):
        a[:] = 0
    assert results(s) == expected


def test_a_pickle_is_the_analysis_and_not_its_caches():
    s = gsofa.analyze(matrix(), "amd", progress=lambda *_: None)  # which cannot be pickled
    before = len(pickle.dumps(s))
    expected = results(s)
    assert len(pickle.dumps(s)) == before
    assert results(pickle.loads(pickle.dumps(s))) == expected and pickle.loads(pickle.dumps(s)).progress is None


ROWS = np.array([0, 2, 3], dtype=np.int64), np.array([0, 1, 1], dtype=np.int32)
IDENTITY = np.arange(2, dtype=np.int32)
NATURAL = {"order": "natural"}
FAULTY = {
    "no pointers": (np.empty(0, dtype=np.int64), ROWS[1]),
    "one pointer": (ROWS[0][:1], ROWS[1]),
    "decreasing": (np.array([0, 5, 3]), ROWS[1]),
    "negative": (np.array([0, -5, 3]), ROWS[1]),
    "not from 0": (np.array([1, 2, 3]), ROWS[1]),
    "beyond the columns": (np.array([0, 2, 2**60]), ROWS[1]),
    "large column": (ROWS[0], np.array([0, 2**31 - 1, 1], dtype=np.int32)),
    "negative column": (ROWS[0], np.array([0, -2**31, 1], dtype=np.int32)),
}


@pytest.mark.parametrize("fault", FAULTY)
def test_the_extension_module_checks_its_rows(fault):
    rows = FAULTY[fault]
    for call in (lambda: _core.analyze(*rows, NATURAL, None), lambda: _core.estimate(*rows, NATURAL, None),
                 lambda: _core.profile(*rows, 1, 1, None), lambda: _core.permuted(*rows, IDENTITY, IDENTITY, None)):
        with pytest.raises(gsofa.InvalidInput, match="pattern"):
            call()


@pytest.mark.parametrize("order", ([0], [0, 0], [0, 2], [0, -1], [2**31 - 1, 0], [0, 1, 2]))
def test_the_extension_module_checks_its_orders(order):
    order = np.array(order, dtype=np.int32)
    for orders in ((order, IDENTITY), (IDENTITY, order)):
        with pytest.raises(gsofa.InvalidInput, match="order"):
            _core.permuted(*ROWS, *orders, None)
    with pytest.raises(gsofa.InvalidInput):
        _core.analyze(*ROWS, {"order": "given", "permutation": order}, None)


def test_the_extension_module_checks_its_trees_and_numbers():
    for parent in ([5, -1], [0, -1], [-2, -1], [1, 0], [2**31 - 1, -1]):
        with pytest.raises(gsofa.InvalidInput, match="parent"):
            _core.levels(np.array(parent, dtype=np.int32))
    for cells in (-1, 8193, 2**31 - 1):
        with pytest.raises(gsofa.InvalidInput, match="cells"):
            _core.profile(*ROWS, cells, 1, None)
    for option, value in (("threads", -1), ("most_columns", -1), ("relax", 0), ("relax", -2**31), ("order", "metiss")):
        with pytest.raises(gsofa.InvalidInput, match=option):
            _core.analyze(*ROWS, {option: value}, None)


def test_pictures_of_arrays_out_of_range_are_refused():
    from gsofa import pictures

    with pytest.raises(gsofa.InvalidInput):
        pictures.pattern(([0, 1, 2], [0, 2**31 - 1]))
