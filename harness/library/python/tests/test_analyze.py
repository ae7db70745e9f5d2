import ctypes
import pickle
import sys
import threading
import types

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

import gsofa
from gsofa._pattern import rows_on_device
from gsofa._functions import has_device


@st.composite
def square(draw, most=24, full_diagonal=False):
    n = draw(st.integers(1, most))
    seed, share = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from((0.0, 0.03, 0.1, 0.3, 1.0)))
    a = np.random.default_rng(seed).random((n, n)) < share
    return a | np.eye(n, dtype=bool) if full_diagonal else a


@given(square(), st.sampled_from(("natural", "amd", "colamd", "metis", "cpu_nested_dissection", "tournament")))
@settings(max_examples=120, deadline=None)
def test_everything_is_that_of_dense_elimination(a, order):
    if order == "metis" and not gsofa.has_metis():
        order = "amd"
    s = gsofa.analyze(sp.csr_array(a), order, match=False)
    n = len(a)
    p = a[np.ix_(s.row_order, s.col_order)]
    assert sorted(s.row_order) == sorted(s.col_order) == list(range(n))
    low, up = oracle.factors(p)
    assert (s.L.toarray() == low).all() and (s.U.toarray() == up).all()
    assert (s.nnz_l, s.nnz_u, s.nnz) == (low.sum(), up.sum(), low.sum() + up.sum())
    added = n - int(np.trace(a))
    assert s.diagonal_added == added and s.fill == s.nnz - a.sum() - added
    assert (s.A.toarray() == p).all()
    assert (s.l_row_counts == low.sum(axis=1)).all() and (s.u_row_counts == up.sum(axis=1)).all()
    assert (s.row_counts == (low | up).sum(axis=1)).all() and (s.l_col_counts == low.sum(axis=0)).all()
    assert s.flops == oracle.flops(low, up)
    assert s.supernodes.tolist() == oracle.supernodes(low, up)
    parent = oracle.elimination_tree(p)
    assert (s.parent == parent).all()
    level = np.zeros(n, dtype=int)
    for v, q in enumerate(parent):
        if q >= 0:
            level[q] = max(level[q], level[v] + 1)
    assert (s.levels == level).all() and s.height == level.max() + 1
    assert (s.density(n) == (low | up)).all()
    for cells in (1, 3):
        d = s.density(cells)
        of = np.arange(n) * d.shape[0] // n
        for r in range(d.shape[0]):
            for c in range(d.shape[0]):
                assert d[r, c] == (low | up)[np.ix_(of == r, of == c)].sum()


@given(square(full_diagonal=True), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_a_permutation_is_taken_as_it_is(a, random):
    order = list(range(len(a)))
    random.shuffle(order)
    s = gsofa.analyze(sp.coo_array(a), order)
    assert s.col_order.tolist() == s.row_order.tolist() == order and s.order == "given"


@pytest.mark.parametrize("kind", ("csr", "csc", "coo", "lil", "dok", "dia", "bsr"))
@pytest.mark.parametrize("maker", (sp.csr_array, sp.csr_matrix))
def test_every_format_and_index_type_gives_the_same(kind, maker):
    a = np.random.default_rng(1).random((30, 30)) < 0.1
    a |= np.eye(30, dtype=bool)
    given = maker(a.astype(float)).asformat(kind)
    s = gsofa.analyze(given, "amd")
    assert s.nnz_a == given.nnz
    if kind == "dia":  # which stores all places of a diagonal
        a = np.isin(np.subtract.outer(np.arange(30), np.arange(30)), -given.offsets)
    pair = sp.csr_array(a)
    for integer in (np.int32, np.int64, np.uint16):
        again = gsofa.analyze((pair.indptr.astype(integer), pair.indices.astype(integer)), "amd")
        assert (again.nnz, again.col_order.tolist()) == (s.nnz, s.col_order.tolist())


def test_rows_may_be_unsorted_with_duplicates_and_stored_zeros_count():
    s = gsofa.analyze(([0, 3, 5], [1, 0, 1, 1, 0]), "natural")
    assert (s.nnz_a, s.nnz) == (4, 4)
    zero = sp.csr_array((np.zeros(2), [0, 1], [0, 1, 2]))
    assert gsofa.analyze(zero, "natural").nnz == 2


def test_rows_are_matched_where_the_diagonal_has_zeros():
    a = sp.csr_array(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    s = gsofa.analyze(a, "natural")
    assert s.fill == 0 and s.nnz == 3 and (s.A.toarray() == np.eye(3)).all()


@pytest.mark.parametrize("arguments, kind, mention", [
    ((sp.csr_array((2, 3)),), gsofa.InvalidInput, "(2, 3)"),
    ((np.eye(3),), gsofa.InvalidInput, "csr_array"),
    ((([0, 1], [5]),), gsofa.InvalidInput, "row 0: column 5"),
    ((([0, 2, 1], [0, 1]),), gsofa.InvalidInput, "row 1"),
    (((np.array([], dtype=np.int64), []),), gsofa.InvalidInput, "order 0 has 1"),
    ((([0, 1], [0.5]),), gsofa.InvalidInput, "integers"),
    ((([0, 1], [2**40]),), OverflowError, "indices[0]"),
    ((sp.csr_array(np.eye(3)), "metiss"), gsofa.InvalidInput, "metiss"),
    ((sp.csr_array(np.eye(3)), [0, 0, 1]), gsofa.InvalidInput, "permutation"),
    ((sp.csr_array(np.eye(3)), [0, 1]), gsofa.InvalidInput, "permutation"),
    ((sp.csr_array(np.array([[1, 1], [0, 0]])),), gsofa.InvalidInput, "structural rank 1 of 2"),
])
def test_faults_are_named(arguments, kind, mention):
    with pytest.raises(kind) as e:
        gsofa.analyze(*arguments)
    assert mention in str(e.value) and "\n" not in str(e.value)
    assert kind is OverflowError or (isinstance(e.value, ValueError) and isinstance(e.value, gsofa.GsofaError))


@pytest.mark.parametrize("options, kind", [({"threads": -1}, gsofa.InvalidInput), ({"threads": 2**40}, OverflowError),
                                           ({"threads": 1.5}, gsofa.InvalidInput), ({"device": "tpu"}, gsofa.InvalidInput),
                                           ({"variant": "nothing"}, gsofa.InvalidInput), ({"variant": 5}, gsofa.InvalidInput),
                                           ({"chunk_size": -1}, gsofa.InvalidInput),
                                           ({"memory_budget_mb": -2}, gsofa.InvalidInput)])
def test_faults_of_options_are_named(options, kind):
    with pytest.raises(kind, match=next(iter(options))):
        gsofa.analyze(sp.csr_array(np.eye(2)), **options)


def test_a_device_that_is_not_there_is_unavailable_by_name_and_no_fault_by_default():
    lacking = [v.name for v in gsofa.variants() if v.unavailable]
    for name in lacking:
        with pytest.raises(gsofa.Unavailable, match=name):
            gsofa.analyze(sp.csr_array(np.eye(2)), variant=name)
    assert gsofa.analyze(sp.csr_array(np.eye(2))).nnz == 2


def test_the_library_runs_without_the_interpreter_lock():
    k = 60
    one = sp.diags([1.0, 1.0, 1.0], [-1, 0, 1], shape=(k, k))
    a = sp.csr_array(sp.kron(one, sp.kron(one, one)))
    ticks, done = [0], threading.Event()

    def tick():
        while not done.wait(0.001):
            ticks[0] += 1
    t = threading.Thread(target=tick)
    t.start()
    s = gsofa.analyze(a, "natural", threads=1)
    done.set()
    t.join()
    # A thread that waits a millisecond at a time gets at least a tenth of its turns.
    assert ticks[0] >= sum(s.seconds.values()) * 100


def test_matches():
    a = sp.csr_array(np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1]]))
    s = gsofa.analyze(a)
    assert s.matches(a) and s.matches(3 * a) and s.matches(([0, 3, 4, 6], [1, 0, 1, 1, 2, 0]))
    assert not s.matches(a.T) and not s.matches(sp.eye(4)) and not s.matches(sp.eye(3))


@given(square(full_diagonal=True))
@settings(max_examples=30, deadline=None)
def test_to_superlu_permutes_as_superlu_does(a):
    s = gsofa.analyze(sp.csr_array(a), "amd")
    x = s.to_superlu()
    n = len(a)
    for i, j in zip(*np.nonzero(a)):
        assert x["L"][x["perm_r"][i], x["perm_c"][j]] or x["U"][x["perm_r"][i], x["perm_c"][j]]
    assert x["xsup"][0] == 0 and x["xsup"][-1] == n and (x["xsup"][x["supno"]] <= np.arange(n)).all()
    assert ((x["etree"] == n) == (s.parent < 0)).all()


@given(square(most=14))
@settings(max_examples=40, deadline=None)
def test_symbfact_is_that_of_dense_cholesky(a):
    for kind, full in (("sym", np.triu(a) | np.triu(a).T), ("lo", np.tril(a) | np.tril(a).T),
                       ("col", a.T.astype(int) @ a > 0), ("row", a.astype(int) @ a.T > 0)):
        low, up = oracle.factors(full)
        count, h, parent, post, r = gsofa.symbfact(sp.csr_array(a.astype(float)), kind)
        assert (count == up.sum(axis=1)).all() and (r.toarray() == up).all()
        assert (parent == oracle.elimination_tree(full)).all()
        position = np.empty(len(a), dtype=int)
        position[post] = np.arange(len(a))
        assert all(q < 0 or position[v] < position[q] for v, q in enumerate(parent))
        assert 1 <= h <= len(a)


def test_order_one_and_an_empty_diagonal():
    assert gsofa.analyze(([0, 1], [0])).nnz == 1
    s = gsofa.analyze(sp.csr_array((1, 1)), match=False)
    assert (s.nnz, s.fill, s.diagonal_added, s.height) == (1, 0, 1, 1)


def test_text_forms():
    s = gsofa.analyze(sp.csr_array(np.eye(3)), "natural")
    assert "order 3" in repr(s)
    html = s._repr_html_()
    assert "entries of L + U" in html and "data:image/png;base64," in html


@given(square(full_diagonal=True), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_supernodes_of_columns_hold_the_factors(a, most):
    s = gsofa.analyze(sp.csr_array(a), "amd")
    low, up = oracle.factors(a[np.ix_(s.row_order, s.col_order)])
    found, n = s.supernodal(most), len(a)
    first = found.first_column.tolist()
    assert first[0] == 0 and first[-1] == n and (np.diff(first) >= 1).all()
    of = np.repeat(np.arange(len(first) - 1), np.diff(first))
    for j in range(1, n):
        alike = low[j, j - 1] and (low[j + 1:, j] == low[j + 1:, j - 1]).all()
        room = most == 0 or j - first[of[j - 1]] < most
        assert (of[j] == of[j - 1]) == (alike and room)
    for k, begin in enumerate(first[:-1]):
        rows = [begin, *np.flatnonzero(low[:, begin])]
        assert found.rows[found.row_begin[k]:found.row_begin[k + 1]].tolist() == rows
    for j in range(n):
        above = [k for k in range(of[j]) if up[first[k]:first[k + 1], j].any()]
        starts = [first[k] + int(np.flatnonzero(up[first[k]:first[k + 1], j])[0]) for k in above]
        assert found.segments[found.segment_begin[j]:found.segment_begin[j + 1]].tolist() == starts
    relaxed = s.supernodal(relax=n)
    assert len(relaxed.first_column) - 1 == (s.parent < 0).sum()


def test_an_analysis_can_be_pickled():
    s = gsofa.analyze(sp.csr_array([[1, 0, 1], [1, 1, 0], [0, 1, 1]]), "amd")
    again = pickle.loads(pickle.dumps(s))
    assert again.nnz == s.nnz and (again.col_order == s.col_order).all() and (again.L != s.L).nnz == 0


class DeviceArray:
    """What arrays of a device tell of themselves, in front of an array of the host. On the emulator that is the same memory."""

    def __init__(self, array, **more):
        self.array, self.more = array, more

    @property
    def __cuda_array_interface__(self):
        own = self.array.__array_interface__
        return {"shape": own["shape"], "typestr": own["typestr"], "data": own["data"], "strides": own["strides"],
                "version": 3, **self.more}

    def get(self):
        return self.array


def test_arrays_of_a_device_are_named_to_the_library():
    ptr, idx = np.array([0, 2, 3], dtype=np.int32), np.array([0, 1, 1], dtype=np.int32)
    there = rows_on_device((DeviceArray(ptr), DeviceArray(idx)))
    assert there[:-1] == (ptr.ctypes.data, idx.ctypes.data, 2, 3, False, False, 0)
    wide = rows_on_device((DeviceArray(ptr.astype(np.int64)), DeviceArray(idx.astype(np.int64))), stream=2)
    assert wide[2:-1] == (2, 3, True, True, 2)
    assert rows_on_device((DeviceArray(ptr, stream=1), DeviceArray(idx))).stream == 1
    assert rows_on_device((DeviceArray(ptr), DeviceArray(idx)), stream=type("S", (), {"ptr": 77})).stream == 77
    assert rows_on_device((ptr, idx)) is None
    assert rows_on_device((DeviceArray(ptr), idx)) is None
    assert rows_on_device(sp.eye(3)) is None
    assert rows_on_device((DeviceArray(ptr), DeviceArray(idx.astype(np.int16)))) is None
    assert rows_on_device((DeviceArray(ptr), DeviceArray(np.repeat(idx, 2)[::2]))) is None
    with pytest.raises(gsofa.InvalidInput, match="two streams"):
        rows_on_device((DeviceArray(ptr, stream=1), DeviceArray(idx, stream=2)))
    with pytest.raises(gsofa.InvalidInput, match="one dimension"):
        rows_on_device((DeviceArray(ptr[None]), DeviceArray(idx)))
    with pytest.raises(gsofa.InvalidInput, match="order 0 has 1"):
        rows_on_device((DeviceArray(ptr[:0]), DeviceArray(idx)))


def test_factors_of_a_matrix_of_cupy_are_of_cupy(monkeypatch):
    """Of a stand-in that takes and gives what cupyx.scipy.sparse.csr_matrix does."""

    class Matrix:
        format, ndim = "csr", 2

        def __init__(self, a):
            assert sp.issparse(a) and a.dtype in (bool, float)  # CuPy has no sparse matrices of integers
            self.a, self.shape = a, a.shape
            self.indptr, self.indices = DeviceArray(a.indptr), DeviceArray(a.indices)

        def tocsr(self):
            return self

    Matrix.__module__ = "cupyx.scipy.sparse"
    for name in ("cupyx", "cupyx.scipy", "cupyx.scipy.sparse"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["cupyx.scipy.sparse"].csr_matrix = Matrix
    a = (sp.random(40, 40, density=0.05, random_state=2) + sp.eye(40)).tocsr()
    s, expected = gsofa.analyze(Matrix(a.astype(bool)), "amd", device="cpu"), gsofa.analyze(a, "amd")
    assert isinstance(s.L, Matrix) and isinstance(s.U, Matrix) and s.L is not s.L
    assert (s.L.a != expected.L).nnz == 0 and (s.U.a != expected.U).nnz == 0
    assert sp.issparse(expected.L) and (s.to_superlu()["L"] != expected.to_superlu()["L"]).nnz == 0


@pytest.mark.parametrize("widths", ((np.int32, np.int32), (np.int64, np.int32), (np.int64, np.int64)))
def test_arrays_of_a_device_are_analysed(widths):
    a = sp.random(200, 200, density=0.02, random_state=5) + sp.eye(200)
    a = a.tocsr()
    rows = DeviceArray(a.indptr.astype(widths[0])), DeviceArray(a.indices.astype(widths[1]))
    order = "gpu_nested_dissection" if has_device() else "amd"
    try:
        s = gsofa.analyze(rows, order)
    except gsofa.InvalidInput as e:
        # A device that is not emulated has a memory of its own.
        assert has_device() and "is not in memory of device" in str(e)
        return
    expected = gsofa.analyze(a, order)
    assert s.n == 200 and s.nnz == expected.nnz and (s.col_order == expected.col_order).all()
    assert (s.parent == expected.parent).all() and (s.L != expected.L).nnz == 0
    assert s.matches(a) and expected.matches(rows)


class CudaArray:
    """A copy of an array in the memory of the current CUDA device."""

    def __init__(self, runtime, array):
        self.array, self.runtime, self.address = array, runtime, ctypes.c_void_p()
        assert runtime.cudaMalloc(ctypes.byref(self.address), ctypes.c_size_t(max(array.nbytes, 1))) == 0
        assert runtime.cudaMemcpy(self.address, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), 1) == 0

    def __del__(self):
        self.runtime.cudaFree(self.address)

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.array.shape, "typestr": self.array.dtype.str, "data": (self.address.value, False), "strides": None,
                "version": 3}

    def get(self):
        return self.array


def cuda_runtime():
    """The CUDA runtime, or None without one or without a device."""
    for name in ("libcudart.so", "libcudart.so.13", "libcudart.so.12"):
        try:
            runtime = ctypes.CDLL(name)
        except OSError:
            continue
        count = ctypes.c_int(0)
        return runtime if runtime.cudaGetDeviceCount(ctypes.byref(count)) == 0 and count.value > 0 else None
    return None


@pytest.mark.skipif(not has_device() or cuda_runtime() is None, reason="no CUDA device, or no runtime of CUDA to reach it by")
@pytest.mark.parametrize("widths", ((np.int32, np.int32), (np.int64, np.int32), (np.int64, np.int64)))
@pytest.mark.parametrize("order", ("gpu_nested_dissection", "amd"))
def test_arrays_in_the_memory_of_a_device(widths, order):
    runtime = cuda_runtime()
    a = (sp.random(3000, 3000, density=0.001, random_state=6) + sp.eye(3000) + sp.eye(3000, k=1)).tocsr()
    rows = CudaArray(runtime, a.indptr.astype(widths[0])), CudaArray(runtime, a.indices.astype(widths[1]))
    s = gsofa.analyze(rows, order, device="gpu")
    expected = gsofa.analyze(a, order)
    assert s.fallback == "" and s.order == order and s.nnz == expected.nnz
    assert (s.row_order == expected.row_order).all() and (s.col_order == expected.col_order).all()
    assert (s.row_counts == expected.row_counts).all() and (s.supernodes == expected.supernodes).all()
    assert (s.parent == expected.parent).all() and (s.L != expected.L).nnz == 0
    with pytest.raises(gsofa.InvalidInput):
        gsofa.analyze((rows[0], CudaArray(runtime, (a.indices + 3000).astype(widths[1]))), "gpu_nested_dissection")


@pytest.mark.skipif(not has_device(), reason="no CUDA device")
def test_isolated_rows_in_the_memory_of_a_device():
    """Isolated rows are ordered there as on the host."""
    a = (sp.random(3000, 3000, density=0.001, random_state=6) + sp.eye(3000)).tocsr()
    runtime = cuda_runtime()
    there = [(CudaArray(runtime, a.indptr), CudaArray(runtime, a.indices))] if runtime else []
    orders = set()
    for of in [*there, a]:
        s = gsofa.analyze(of, "gpu_nested_dissection", device="gpu")
        orders.add((s.row_order.tobytes(), s.col_order.tobytes()))
        expected = gsofa.analyze(a[s.row_order][:, s.col_order], "natural", device="cpu")
        assert s.fallback == "" and s.nnz == expected.nnz and (s.row_counts == expected.row_counts).all()
        assert (s.L != expected.L).nnz == 0 and (s.U != expected.U).nnz == 0
    assert len(orders) == 1


@given(square(), st.sampled_from(("lower", "upper")))
@settings(max_examples=40, deadline=None)
def test_a_triangle_is_the_half_of_a_symmetric_matrix(a, symmetric):
    a = sp.csr_array(a | a.T | np.eye(len(a), dtype=bool))
    half = (sp.tril if symmetric == "lower" else sp.triu)(a)
    s, expected = gsofa.analyze(half, symmetric=symmetric), gsofa.analyze(a)
    assert (s.nnz, s.fill, s.warning) == (expected.nnz, expected.fill, "") and (s.col_order == expected.col_order).all()
    assert s.matches(half, symmetric) and gsofa.estimate(half, symmetric=symmetric).nnz_a == expected.nnz_a
    assert gsofa.Analyzer(symmetric=symmetric).update(half).nnz == expected.nnz
    if a.nnz > a.shape[0]:
        with pytest.raises(gsofa.InvalidInput, match=f"symmetric: {symmetric}, but row"):
            gsofa.analyze(half.T, symmetric=symmetric)
        with pytest.warns(UserWarning, match=f"symmetric = {symmetric} analyzes"):
            assert gsofa.analyze(half).warning


@pytest.mark.parametrize("given, text", [
    (None, "not None"), (3, "not 3"), ("a.mtx", r"not 'a.mtx'; gsofa.read\('a.mtx'\)"), (np.eye(2), r"ndarray of numpy; scipy.sparse.csr_array\(a\)"),
    (pytest.importorskip("pandas").DataFrame([[1]]), r"DataFrame of pandas; scipy.sparse.csr_array\(a.to_numpy\(\)\)")])
def test_what_is_no_matrix_is_named_with_the_way_out(given, text):
    for call in gsofa.analyze, gsofa.order, gsofa.estimate, gsofa.Analyzer().update:
        with pytest.raises(gsofa.InvalidInput, match=text):
            call(given)


def test_a_module_names_the_extra_that_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "gsofa.pictures", raising=False)
    with pytest.raises(ImportError, match=r"the extra gsofa\[pictures\]: pip install matplotlib"):
        import gsofa.pictures  # noqa: F401
