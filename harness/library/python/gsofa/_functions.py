"""The functions of the package."""
from __future__ import annotations

import functools
import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._arguments import (DEVICES, KINDS, LAYOUTS, Device, Int32Array, Kind, Layout, Matrix, Order, Progress, Purpose,
                         Triangle, analysis_options, callable_or_none, one_of, order_options, whole)
from ._pattern import (canonical, check_shape, csr_of, is_of_cupy, narrowed, pattern_of, pattern_of_rows, rows_of,
                       rows_on_device, whole_of)
from ._symbolic import Symbolic
from .errors import InvalidInput


def analyze(a: Matrix, order: Order = "automatic", *, factorizations: int = 1, purpose: Purpose = "automatic", cores: int = 1,
            device: Device = "automatic", variant: str | None = None, threads: int = 0, match: bool = True, symmetric: Triangle = None, chunk_size: int = 0, relax: int = 1,
            memory_budget_mb: int = -1, masks: bool = False, stream: Any = None, progress: Progress = None) -> Symbolic:
    """Symbolic LU factorization, without pivoting and without numerical cancellation, of a square sparse matrix.

    a: a scipy.sparse array or matrix of any format, a CuPy one, or a pair (indptr, indices) of compressed sparse rows, unsorted
    and with repeated entries if need be. All stored entries count, stored zeros too. Compressed rows in the memory of a CUDA
    device (__cuda_array_interface__) are analysed there with the order "gpu_nested_dissection" and `match`.
    The result owns a copy of the pattern on the host, 4 bytes for each entry and 8 for each row: later changes of `a` change
    nothing. A pattern in device memory is copied to the host when the analysis ends, and `a` must not change until then.
    order: of rows and columns alike: "automatic" (the least predicted time of the order and of what it is for), "metis", "amd", "amf", "colamd", "natural", "cpu_nested_dissection", "gpu_nested_dissection",
    "tournament", with options as NAME:OPTION=VALUE,OPTION=VALUE, or a permutation: the old index of each new position.
    factorizations: how many of them, each with one solve, the order is for. purpose: how they are done: "left_looking" on one
    core (SuperLU, KLU, UMFPACK), "supernodal" on `cores` cores (CHOLMOD), "distributed" on `cores` processes (SuperLU_DIST), "gpu" (cuDSS), or
    "automatic": "gpu" with device="gpu", else "left_looking". They decide the order "automatic", on every machine alike.
    device: "automatic", "cpu" or "gpu". variant: the only algorithm of variants() to try, NAME or
    NAME:OPTION=VALUE,.... threads: 0 for all.
    symmetric: "lower" or "upper": `a` is this triangle, with or without a diagonal, of a symmetric matrix, which is analysed;
    None: `a` is the matrix, and a UserWarning says so where it is triangular.
    match: permute rows so that the diagonal has no zeros; else missing diagonal entries are added to the pattern.
    chunk_size: supernodes never cross a multiple of it; 0: unlimited. memory_budget_mb: 0 or -1: chosen by the library.
    relax: maximal subtrees of the elimination tree with at most `relax` columns become one supernode each, as in SuperLU; all
    results are then those of the pattern padded to full blocks. relax > 1 needs a postordered tree, which every order gives
    except "natural" and a permutation.
    masks: also keep the bits of L + U that the algorithm works with as Symbolic.masks, which otherwise takes a second
    elimination.
    stream: of CUDA (an integer, or an object of CuPy or PyTorch), whose work completes the arrays; None: the one they name.
    progress: called as progress(stage, share) at once and then every 0.1 s in the calling thread; stage is "check", "match",
    "order", "permute", "analyze" or "output", share the part of the stage that is done, from 0 to 1, or None if that is not
    known. What progress returns is ignored. What it raises cancels the analysis and is raised here.

    Ctrl-C, like every signal with a Python handler, is answered every 0.1 s if analyze() runs in the main thread: what the
    handler raises cancels the analysis. A cancelled analysis ends at the next panel of the symbolic factorization, within
    METIS or nested dissection, or at the end of another stage: "amd" and "colamd" are not interrupted.

    Returns a Symbolic. Raises InvalidInput (a ValueError), OverflowError, Unavailable, OutOfMemory (a MemoryError).

    >>> import scipy.sparse as sp
    >>> s = analyze(sp.diags([1.0, 4.0, 1.0], [-1, 0, 1], shape=(5, 5)), "natural")
    >>> s.nnz, s.fill
    (13, 0)
    >>> s.parent.tolist()
    [1, 2, 3, 4, -1]
    """
    options = analysis_options(order, (factorizations, purpose, cores), device, variant, threads, match, symmetric, chunk_size,
                               relax, memory_budget_mb, masks)
    callable_or_none(progress)
    there = rows_on_device(a, stream) if options["device"] != "cpu" and has_device() else None
    pattern = pattern_of(a) if there is None else None
    found = _core.analyze(*pattern, options, progress) if there is None else _core.analyze_there(there[:-1], options, progress)
    if found["warning"]:
        warnings.warn(found["warning"], stacklevel=2)
    return Symbolic(whole_of(pattern or pattern_of(a), symmetric), found, threads, relax, is_of_cupy(a), progress)


class Estimate(NamedTuple):
    """What estimate() returns: upper bounds for the result of an analysis, which is not done, and an estimate of its memory."""

    permutation: Int32Array  # the order: pass it to analyze() with the same `match`
    nnz_a: int  # as Symbolic.nnz_a
    nnz_l: int  # entries of L below the diagonal: those of chol(A + A^T)
    nnz_u: int  # entries of U with the diagonal, likewise
    flops: float  # as Symbolic.flops
    symmetric: bool  # the permuted pattern is symmetric: nnz_l, nnz_u and flops are exact
    result_bytes: int  # of the arrays that analyze() returns, without masks
    working_bytes: int  # of the host during analyze() in addition
    supernodal_bytes: int  # of the values (float64) of L and U
    multifrontal_bytes: int  # the most that a multifrontal factorization holds: factors, stacked contributions and a front

    @property
    def nnz(self) -> int:
        """Entries of L + U: nnz_l + nnz_u."""
        return self.nnz_l + self.nnz_u

    @property
    def memory_estimate(self) -> int:
        """Bytes of L and U, as Symbolic.memory_estimate."""
        return 12 * self.nnz + 16 * (self.permutation.size + 1)


def estimate(a: Matrix, order: Order = "automatic", *, factorizations: int = 1, purpose: Purpose = "automatic", cores: int = 1,
             device: Device = "automatic", threads: int = 0, match: bool = True, symmetric: Triangle = None,
             progress: Progress = None) -> Estimate:
    """Bounds for the results and the memory of analyze() with these arguments, before anything large is allocated: matches and
    orders as analyze() does, and counts the entries of chol(A + A^T) without listing them, in O(n + nnz) memory. Nearly all of
    it takes as long as the order.

    >>> import scipy.sparse as sp
    >>> e = estimate(sp.csr_array([[1, 0, 1], [0, 1, 1], [1, 1, 1]]), "natural")
    >>> e.nnz_l, e.nnz_u, e.symmetric
    (2, 5, True)
    """
    options = analysis_options(order, (factorizations, purpose, cores), device, None, threads, match, symmetric, 0, 1, -1, False)
    return Estimate(**_core.estimate(*pattern_of(a), options, callable_or_none(progress)))


@functools.cache
def has_device():
    """Whether this build and machine have a CUDA device to use."""
    return any(v.name == "gpu_bitmap_panels" and not v.unavailable for v in variants())


def order(a: Matrix, order: Order = "automatic", *, factorizations: int = 1, purpose: Purpose = "automatic", cores: int = 1,
          device: Device = "automatic", threads: int = 0, weights: ArrayLike | None = None, seed: int = -1,
          groups: ArrayLike | None = None, last: ArrayLike | None = None, longest_row: int = 0, stream: Any = None,
          progress: Progress = None) -> Int32Array:
    """A fill-reducing order of A + A^T alone, without a symbolic factorization: the old index of each new position. No rows
    are matched, and the diagonal does not count. The fill is that of analyze() with the same order; the permutation is not
    postordered.

    a, order, factorizations, purpose, cores, device, threads, stream, progress: as of analyze(). device="automatic": a GPU
    dissects graphs of 1,000,000 entries or more, which changes no order. A matrix in device memory is copied to the host.
    weights: of each vertex, 1 or more: nested dissection on the host with separators of small weight, with the orders
    "automatic" and "cpu_nested_dissection" only. seed: of the search; -1: the default of the order.
    groups: of each vertex, 0 or more: a vertex comes after all vertices of lower groups. last: the vertices that come last,
    those of a Schur complement. longest_row: rows of A + A^T with more entries come after all others; 0: none. These three
    go with the order "automatic" only and are for the host.

    >>> import scipy.sparse as sp
    >>> order(sp.eye(4), last=[0, 2]).tolist()
    [1, 3, 0, 2]
    >>> sorted(order(sp.eye(3), "amd").tolist())
    [0, 1, 2]
    """
    return ordered(a, order, (factorizations, purpose, cores), device, threads, weights, seed, (groups, last, longest_row),
                   stream, progress)[0]


class SeparatorTree(NamedTuple):
    """A full binary tree of nested dissection: separators, with domains in the leaves. No entry of A + A^T joins the two
    subtrees of a node."""

    permutation: Int32Array  # the old index of each new position
    sizes: Int32Array  # vertices of each node, by level from the deepest to the root, each level from left to right
    order: str  # its name


def separator_tree(a: Matrix, levels: int, order: Order = "automatic", *, factorizations: int = 1,
                   purpose: Purpose = "automatic", cores: int = 1, layout: Layout = "by_level", device: Device = "automatic",
                   threads: int = 0, weights: ArrayLike | None = None, seed: int = -1, groups: ArrayLike | None = None,
                   last: ArrayLike | None = None, longest_row: int = 0, stream: Any = None,
                   progress: Progress = None) -> SeparatorTree:
    """An order with its separator tree of 2^levels - 1 nodes, as cuDSS and METIS_NodeNDP have it; nodes may be empty.
    layout: the position of the nodes in the permutation: "by_level" (the deepest level from left to right, the level above,
    ..., the root; cuDSS) or "nested" (left subtree, right subtree, separator; METIS). Other arguments as of order().

    >>> import scipy.sparse as sp
    >>> chain = sp.diags([1.0, 1.0, 1.0], [-1, 0, 1], shape=(7, 7))
    >>> tree = separator_tree(chain, 2, "cpu_nested_dissection")
    >>> tree.sizes.size, int(tree.sizes.sum())
    (3, 7)
    """
    return SeparatorTree(*ordered(a, order, (factorizations, purpose, cores), device, threads, weights, seed,
                                  (groups, last, longest_row), stream, progress,
                                  tree_levels=whole(levels, "levels", 1, 24),
                                  nested=one_of(layout, "layout", LAYOUTS) == "nested"))


def ordered(a, order, use, device, threads, weights, seed, constraints, stream, progress, **tree):
    """(permutation, sizes of the nodes of its tree, name) of an order."""
    options = {**order_options(order, *use), "device": one_of(device, "device", DEVICES), "threads": whole(threads, "threads", 0),
               "seed": whole(seed, "seed", -1, 2**63 - 1), **tree}
    groups, last, longest_row = constraints
    options["longest_row"] = whole(longest_row, "longest_row", 0, 2**63 - 1)
    if last is not None:
        if groups is not None:
            raise InvalidInput("last: groups say already which vertices come last")
        last, n = narrowed(last, "last"), len(a[0]) - 1 if isinstance(a, (tuple, list)) else a.shape[0]
        if ((last < 0) | (last >= n)).any():
            raise InvalidInput(f"last: not all are vertices; there are {n}")
        groups = np.isin(np.arange(n), last).astype(np.int32)
    for name, values in (("weights", weights), ("groups", groups)):
        if values is not None:
            options[name] = _core.frozen(narrowed(values, name))
        if values is not None and options[name].size == 0:  # the library takes this as None
            raise InvalidInput(f"{name}: empty; None means equal {name}")
    callable_or_none(progress)
    there = rows_on_device(a, stream) if options["device"] != "cpu" and has_device() else None
    if there is not None:
        return _core.order_there(there[:-1], options, progress)
    by_columns = sp.issparse(a) and a.format == "csc"
    return _core.order(*pattern_of(a, by_columns), by_columns, options, progress)


class Matching(NamedTuple):
    """Rows for the diagonal: a[rows] has a zero-free diagonal if structural_rank is the order of `a`."""

    rows: Int32Array  # the row that belongs at each position; -1: none
    row_scale: NDArray[np.float64]  # empty unless the method weighs values
    col_scale: NDArray[np.float64]
    structural_rank: int
    unmatched_rows: Int32Array
    unmatched_cols: Int32Array
    symmetric_entries: int  # off-diagonal entries of a[rows] whose mirror is present
    least_matched: float  # smallest magnitude of a matched entry over the largest of its column; 1 without values
    method: str
    how: str  # what was done, in words


def match(a: Matrix, method: str | None = None, *, threads: int = 0, keep_symmetric: bool = False) -> Matching:
    """A maximum matching of the rows and columns of a square sparse matrix, before a factorization without pivoting.

    a: a scipy.sparse array or matrix, whose values count, or a pair (indptr, indices) of compressed sparse rows.
    method: "weighted" (the largest product of magnitudes, exact, with scales that make matched entries 1 and no entry larger;
    stored zeros are absent), "symmetric" (many symmetric entries, by pattern alone), "maximum" (any), or None: "weighted" for
    a matrix, "symmetric" for a pair. keep_symmetric: the factorization pivots by 2x2 blocks or tolerates zeros on the
    diagonal: a symmetric pattern keeps its rows. Raises InvalidInput for nan and infinity, which it names by row and column
    from 1. Order the matched rows next: `order(a[m.rows])`, or of the scaled matrix
    `(sp.diags_array(m.row_scale) @ a @ sp.diags_array(m.col_scale))[m.rows]`.

    >>> import scipy.sparse as sp
    >>> m = match(sp.csr_array([[0.5, 8.0], [2.0, 0.0]]))
    >>> m.rows.tolist(), m.structural_rank, m.method
    ([1, 0], 2, 'weighted')
    """
    if sp.issparse(a):
        rows = sp.csr_array(a, copy=True)
        check_shape(rows)
        rows.sum_duplicates()
        pattern = pattern_of((rows.indptr, rows.indices))
        values = np.abs(rows.data).astype(np.float64)
        if rows.shape[0] != rows.shape[1]:
            raise InvalidInput(f"the matrix is {rows.shape[0]} x {rows.shape[1]}, not square")
    else:
        pattern, values = pattern_of(a), np.empty(0)
    if values.size == 0 and method is None:
        method = "symmetric"
    return Matching(*_core.match(*pattern, values, method or "", whole(threads, "threads", 0), bool(keep_symmetric)))


class VariantInfo(NamedTuple):
    """An algorithm of this build."""

    name: str
    device: str
    summary: str
    unavailable: str  # why it cannot run on this machine; empty if it can


def variants() -> list[VariantInfo]:
    """The algorithms that analyze() can be asked for by name.

    >>> [v.name for v in variants() if v.device == "cpu"]
    ['cpu_bitmap_panels']
    """
    return [VariantInfo(*v) for v in _core.variants()]


class SymbfactResult(NamedTuple):
    """What symbfact() returns."""

    count: Int32Array  # entries of each row of R
    h: int  # height of the elimination tree
    parent: Int32Array  # elimination tree, -1 for roots
    post: Int32Array  # a postorder of it: column by position
    R: sp.csr_array  # pattern of the Cholesky factor, upper


def pattern_of_product(a, kind):
    """The pattern of A^T A ("col") or A A^T ("row") of a SciPy sparse matrix of any shape, as a csr_array of True."""
    if not sp.issparse(a) or a.ndim != 2:
        raise InvalidInput(f"expected a sparse matrix, not {type(a).__name__}")
    check_shape(a)
    row_ptr, col_idx = pattern_of_rows(*rows_of(a))
    _core.check_rows(row_ptr, col_idx, a.shape[1])
    a = sp.csr_array((np.ones(col_idx.size, dtype=bool), col_idx, row_ptr), shape=a.shape)
    return a.T @ a if kind == "col" else a @ a.T


def symbfact(a: Matrix, kind: Kind = "sym", *, progress: Progress = None) -> SymbfactResult:
    """Symbolic Cholesky factorization with the five results of MATLAB's function of this name, counted from 0, parents of roots
    -1. kind: "sym": of the upper triangle of `a` and its transpose; "lo": of the lower; "col": of A^T A; "row": of A A^T.
    progress: as of analyze(). SciPy computes A^T A and A A^T, which nothing interrupts.

    >>> import scipy.sparse as sp
    >>> count, h, parent, post, R = symbfact(sp.csr_array([[4, 0, 1], [0, 4, 1], [1, 1, 4]]))
    >>> count.tolist(), h, parent.tolist(), post.tolist(), R.nnz
    ([2, 2, 1], 2, [2, 2, -1], [0, 1, 2], 5)
    """
    one_of(kind, "kind", KINDS)
    callable_or_none(progress)
    if kind in ("col", "row"):
        a = pattern_of_product(a, kind)
    # Without repeated entries, so that sums are positive: SciPy leaves out entries that are zero.
    rows = canonical(*pattern_of(a), progress)
    whole_matrix = csr_of(*rows, rows[0].size - 1)
    half = sp.tril(whole_matrix, format="csr") if kind == "lo" else sp.triu(whole_matrix, format="csr")
    p = whole_of(pattern_of(half), kind)
    s = Symbolic(p, _core.analyze(*p, {"order": "natural", "threads": 0, "match": False}, progress), 0, progress=progress)
    return SymbfactResult(s.u_row_counts, s.height, s.parent, _core.postorder(s.parent), s.U)
