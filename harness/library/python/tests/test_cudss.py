"""gsofa.cudss hands nvmath-python's bindings of cuDSS an order and its separator tree. The bindings are recorded here, so that
no GPU is needed."""
import ctypes
import enum
import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp

import gsofa
import gsofa.cudss

ConfigParam = enum.IntEnum("ConfigParam", "REORDERING_ALG MATCHING_ALG ND_NLEVELS", start=0)
DataParam = enum.IntEnum("DataParam", "USER_PERM USER_ND_PARTITION_TREE", start=0)
MatchingAlg = enum.IntEnum("MatchingAlg", "NONE AUTO", start=0)
ReorderingAlg = enum.IntEnum("ReorderingAlg", "DEFAULT AMD", start=0)
HANDLE, DATA, CONFIG = 11, 12, 13


class Bindings(types.ModuleType):
    """nvmath.bindings.cudss, as far as it is called."""

    def __init__(self):
        super().__init__("nvmath.bindings.cudss")
        self.ConfigParam, self.DataParam, self.MatchingAlg, self.ReorderingAlg = ConfigParam, DataParam, MatchingAlg, ReorderingAlg
        self.config = {ConfigParam.REORDERING_ALG: ReorderingAlg.AMD, ConfigParam.MATCHING_ALG: MatchingAlg.NONE,
                       ConfigParam.ND_NLEVELS: 4}
        self.given = {}

    @staticmethod
    def get_config_param_dtype(_parameter):
        return np.int32

    def config_get(self, config, parameter, value, size, written):
        assert (config, size) == (CONFIG, 4)
        ctypes.memmove(value, np.int32(self.config[parameter]).tobytes(), size)
        ctypes.memmove(written, np.uint64(size).tobytes(), 8)

    def config_set(self, config, parameter, value, size):
        assert (config, size) == (CONFIG, 4)
        self.config[parameter] = int.from_bytes(ctypes.string_at(value, size), sys.byteorder)

    def data_set(self, handle, data, parameter, value, size):
        assert (handle, data) == (HANDLE, DATA)
        self.given[parameter] = np.frombuffer(ctypes.string_at(value, size), dtype=np.int32)


@pytest.fixture
def bindings(monkeypatch):
    made = Bindings()
    package = types.ModuleType("nvmath.bindings")
    package.cudss = made
    monkeypatch.setitem(sys.modules, "nvmath", types.ModuleType("nvmath"))
    monkeypatch.setitem(sys.modules, "nvmath.bindings", package)
    monkeypatch.setitem(sys.modules, "nvmath.bindings.cudss", made)
    return made


class Solver:
    """What a DirectSolver has."""

    handle, config_ptr, data_ptr = HANDLE, CONFIG, DATA
    explicitly_batched_lhs = implicitly_batched_lhs = False


def grid(nx, ny):
    x, y = (sp.diags([np.ones(n - 1), np.ones(n), np.ones(n - 1)], offsets=[-1, 0, 1]) for n in (nx, ny))
    return sp.csr_array(sp.kron(x, sp.eye(ny)) + sp.kron(sp.eye(nx), y))


def crossing(a, permutation, sizes, levels):
    """Entries of `a` between two nodes of the tree of which neither is an ancestor of the other."""
    node = np.empty(a.shape[0], dtype=int)
    node[permutation] = np.repeat(np.arange(len(sizes)), sizes)
    depth_begin = [sum(2**k for k in range(d + 1, levels)) for d in range(levels)]  # first node of each depth; the root is 0
    path = {}  # the number of a node in a heap: its parent is half of it
    for depth, begin in enumerate(depth_begin):
        path |= {begin + k: 2**depth + k for k in range(2**depth)}
    count = 0
    rows, cols = a.nonzero()
    for i, j in zip(node[rows], node[cols]):
        u, v = sorted((path[i], path[j]))
        count += v >> (v.bit_length() - u.bit_length()) != u
    return count


@pytest.mark.parametrize("levels", [0, 3])
def test_a_solver_gets_an_order_and_its_tree(bindings, levels):
    a = grid(13, 9)
    permutation, sizes, _ = gsofa.cudss.set_order(Solver() if levels else (HANDLE, CONFIG, DATA), a, levels=levels)
    levels = levels or 4
    assert bindings.config == {ConfigParam.REORDERING_ALG: ReorderingAlg.DEFAULT, ConfigParam.MATCHING_ALG: MatchingAlg.NONE,
                               ConfigParam.ND_NLEVELS: levels}
    assert (bindings.given[DataParam.USER_PERM] == permutation).all()
    assert (bindings.given[DataParam.USER_ND_PARTITION_TREE] == sizes).all()
    assert sorted(permutation) == list(range(a.shape[0]))
    assert len(sizes) == 2**levels - 1
    assert crossing(a, permutation, sizes, levels) == 0
    assert crossing(a, np.random.default_rng(1).permutation(permutation), sizes, levels) > 0


def test_a_triangle_stands_for_the_matrix(bindings):
    a = grid(13, 9)
    permutation, sizes, _ = gsofa.cudss.set_order(Solver(), sp.csr_array(sp.tril(a)))
    assert crossing(a, permutation, sizes, 4) == 0


def test_what_cuDSS_cannot_take_is_refused(bindings):
    a = grid(3, 3)
    bindings.config[ConfigParam.MATCHING_ALG] = MatchingAlg.AUTO
    with pytest.raises(gsofa.InvalidInput, match="matching_algorithm = MatchingAlg.NONE"):
        gsofa.cudss.set_order(Solver(), a)
    bindings.config[ConfigParam.MATCHING_ALG] = MatchingAlg.NONE
    batch = Solver()
    batch.implicitly_batched_lhs = True
    with pytest.raises(gsofa.InvalidInput, match="batch"):
        gsofa.cudss.set_order(batch, a)
    with pytest.raises(gsofa.InvalidInput):
        gsofa.cudss.set_order(Solver(), sp.csr_array((3, 4)))
    assert bindings.given == {}


def test_without_bindings_that_know_the_tree(bindings, monkeypatch):
    bindings.DataParam = enum.IntEnum("DataParam", "USER_PERM", start=0)
    with pytest.raises(gsofa.Unavailable, match="nvmath-python 1.0"):
        gsofa.cudss.set_order(Solver(), grid(3, 3))
    monkeypatch.setitem(sys.modules, "nvmath.bindings", None)
    with pytest.raises(gsofa.Unavailable, match="needs nvmath-python"):
        gsofa.cudss.set_order(Solver(), grid(3, 3))
