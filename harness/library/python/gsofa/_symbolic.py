"""analyze() and what it returns."""
import base64
import functools
import io
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._pattern import canonical, check_shape, csr_of, is_of_cupy, narrowed, pattern_of, pattern_of_rows, rows_of, rows_on_device
from .errors import InvalidInput

ORDERINGS = ("auto", "metis", "amd", "amf", "colamd", "natural", "nested_dissection", "tournament",
             "gpu_nested_dissection")
DEVICES = ("auto", "cpu", "gpu")
Progress = Callable[[str, float | None], object] | None


def whole(value, name, least, most=2**31 - 1):
    """An integer argument."""
    try:
        value = operator.index(value)
    except TypeError:
        raise InvalidInput(f"{name}: {value!r} is not an integer") from None
    if value > most:
        raise OverflowError(f"{name}: {value} is above {most}")
    if value < least:
        raise InvalidInput(f"{name}: {value} is below {least}")
    return value


def one_of(value, name, choices):
    """A word among others."""
    if value not in choices:
        raise InvalidInput(f"{name}: {value!r} is none of {', '.join(choices)}")
    return value


def callable_or_none(progress):
    """The argument `progress`."""
    if progress is not None and not callable(progress):
        raise InvalidInput(f"progress: {type(progress).__name__} is not callable")
    return progress


def analyze(a: Any, ordering: str | ArrayLike = "auto", *, device: str = "auto", variant: str | None = None, threads: int = 0,
            match: bool = True, chunk_size: int = 0, memory_budget_mb: int = -1, stream: Any = None,
            progress: Progress = None) -> "Symbolic":
    """Symbolic LU factorization, without pivoting and without numerical cancellation, of a square sparse matrix.

    a: a scipy.sparse array or matrix of any format, a CuPy one, or a pair (indptr, indices) of compressed sparse rows, unsorted
    and with repeated entries if need be. All stored entries count, stored zeros too. Compressed rows in the memory of a CUDA
    device (__cuda_array_interface__) are analysed there with the ordering "gpu_nested_dissection" and `match`.
    The result owns a copy of the pattern on the host, 4 bytes for each entry and 8 for each row: later changes of `a` change
    nothing. A pattern in device memory is copied to the host when the analysis ends, and `a` must not change until then.
    ordering: of rows and columns alike: "auto" (chosen by structure; on a GPU, for 20,000 rows or more,
    "gpu_nested_dissection"), "metis", "amd", "amf", "colamd", "nested_dissection", "tournament", "gpu_nested_dissection", "natural",
    or a permutation: the old index of each new position.
    device: "auto", "cpu" or "gpu". variant: a name of variants(), which alone is then tried. threads: 0 for all.
    match: permute rows so that the diagonal has no zeros; else missing diagonal entries are added to the pattern.
    chunk_size: supernodes never cross a multiple of it; 0: unlimited. memory_budget_mb: 0 or -1: chosen by the library.
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
    permutation = None
    if isinstance(ordering, str):
        order_name = one_of(ordering, "ordering", ORDERINGS)
    else:
        order_name, permutation = "given", _core.frozen(narrowed(ordering, "ordering"))
    options = (order_name, permutation, one_of(device, "device", DEVICES), variant or "", whole(threads, "threads", 0),
               whole(memory_budget_mb, "memory_budget_mb", -1, 2**53), bool(match), False, whole(chunk_size, "chunk_size", 0),
               callable_or_none(progress))
    there = rows_on_device(a, stream) if device != "cpu" and has_device() else None
    if there is not None:
        found = _core.analyze_there(there[:-1], *options)
        return Symbolic(pattern_of(a), found, threads, is_of_cupy(a), progress)
    pattern = pattern_of(a)
    return Symbolic(pattern, _core.analyze(*pattern, *options), threads, is_of_cupy(a), progress)


@functools.cache
def has_device():
    """Whether this build and machine have a CUDA device to use."""
    return any(v.name == "gpu_bitmap_panels" and not v.unavailable for v in variants())


def order(a: Any, ordering: str | ArrayLike = "auto", *, threads: int = 0, progress: Progress = None) -> NDArray[np.int32]:
    """The permutation of an ordering: the old index of each new position, postordered unless it is natural. Rows that have no
    diagonal entry stay where they are. Arguments as of analyze().

    >>> import scipy.sparse as sp
    >>> sorted(order(sp.eye(3), "amd").tolist())
    [0, 1, 2]
    """
    return analyze(a, ordering, threads=threads, match=False, device="cpu", progress=progress).perm_c


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


class Supernodal(NamedTuple):
    """L + U by supernodes of columns: consecutive columns j - 1, j with L(j, j-1) != 0 and the same rows of L below j (type T2 of
    Demmel et al. 1999). What supernodal solvers store, without a list of the entries."""

    first_column: NDArray[np.int32]  # of each supernode, and n
    row_begin: NDArray[np.int64]  # supernode s: rows[row_begin[s]:row_begin[s + 1]]
    rows: NDArray[np.int32]  # of its first column in L, with the diagonal; column c of it has all but the first c
    segment_begin: NDArray[np.int64]  # column j of U: segments[segment_begin[j]:segment_begin[j + 1]]
    segments: NDArray[np.int32]  # first row of what it has of an earlier supernode, to the end of that supernode


class computed_once:
    """functools.cached_property without its lock: before Python 3.12 that is one lock for all objects, so that one thread waits
    for the computation of another, and a child that is forked meanwhile waits for ever."""

    def __init__(self, find):
        self.find, self.name, self.__doc__ = find, find.__name__, find.__doc__

    def __get__(self, owner, kind=None):
        if owner is None:
            return self
        return owner.__dict__.setdefault(self.name, self.find(owner))


class Symbolic:
    """The patterns of L and U of a permuted matrix, P_r A P_c = L U, and what follows from them. Entry (i, j) of the permuted
    matrix is entry (perm_r[i], perm_c[j]) of A; everything but these two is in the new numbering.

    A Symbolic owns its data, with a copy of the pattern of A. Its arrays are read-only and cannot be made writeable: copy()
    them. It can be pickled and copied; what is computed later is then computed again.

    progress: analyze()'s, also called while L, U, parent and all else is computed that analyze() did not; may be set to another
    callable or to None. Ctrl-C interrupts these computations as it interrupts analyze()."""

    progress: Progress

    def __init__(self, pattern: tuple[NDArray[np.int64], NDArray[np.int32]], found: dict[str, Any], threads: int,
                 of_cupy: bool = False, progress: Progress = None) -> None:
        self._pattern, self._found, self._threads, self._of_cupy = pattern, found, threads, of_cupy
        self.progress = progress

    def __getstate__(self) -> dict[str, Any]:
        return {"pattern": self._pattern, "found": self._found, "threads": self._threads, "of_cupy": self._of_cupy}

    def __setstate__(self, state: dict[str, Any]) -> None:
        found = {k: _core.frozen(v) if isinstance(v, np.ndarray) else v for k, v in state["found"].items()}
        self.__init__(tuple(map(_core.frozen, state["pattern"])), found, state["threads"], state["of_cupy"])

    # --- what the analysis found ---

    @property
    def n(self) -> int:
        """Order of the matrix."""
        return self.perm_c.size

    @property
    def nnz_a(self) -> int:
        """Entries of A, repeated ones once, with the diagonal entries that were added."""
        return self._found["nnz_a"]

    @property
    def lnz(self) -> int:
        """Entries of L below the diagonal."""
        return self._found["nnz_l"]

    @property
    def unz(self) -> int:
        """Entries of U with the diagonal."""
        return self._found["nnz_u"]

    @property
    def nnz(self) -> int:
        """Entries of L + U: lnz + unz."""
        return self.lnz + self.unz

    @property
    def fill(self) -> int:
        """Fill-ins: entries of L + U that A does not have."""
        return self.nnz - self.nnz_a

    @property
    def diagonal_added(self) -> int:
        """Diagonal entries that were added; 0 if rows were matched."""
        return self._found["diagonal_added"]

    @property
    def perm_r(self) -> NDArray[np.int32]:
        """n; old row of each new position."""
        return self._found["row_order"]

    @property
    def perm_c(self) -> NDArray[np.int32]:
        """n; old column of each new position."""
        return self._found["col_order"]

    @property
    def row_counts(self) -> NDArray[np.int32]:
        """n; entries of each row of L + U."""
        return _core.frozen(self._found["l_row_counts"] + self._found["u_row_counts"])

    @property
    def l_row_counts(self) -> NDArray[np.int32]:
        """n; entries of each row of L below the diagonal."""
        return self._found["l_row_counts"]

    @property
    def u_row_counts(self) -> NDArray[np.int32]:
        """n; entries of each row of U with the diagonal."""
        return self._found["u_row_counts"]

    @property
    def supernodes(self) -> NDArray[np.int32]:
        """First rows of the T3 supernodes (Demmel et al. 1999), ascending."""
        return self._found["supernode_starts"]

    @property
    def variant(self) -> str:
        """Name of the algorithm that ran."""
        return self._found["variant"]

    @property
    def ordering(self) -> str:
        """Name of the ordering."""
        return self._found["order"]

    @property
    def fallback(self) -> str:
        """Why the analysis fell back from a device to the host; else empty."""
        return self._found["fallback"]

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds of matching and ordering, allocation, symbolic factorization, copying out."""
        return {name: self._found[name + "_seconds"] for name in ("order", "setup", "analysis", "output")}

    # --- what is computed when it is asked for ---

    @computed_once
    def _permuted(self):
        return _core.permuted(*self._pattern, self.perm_r, self.perm_c, self.progress)

    @computed_once
    def _factors(self):
        found = _core.analyze(*self._permuted, "natural", None, "auto", "", self._threads, -1, False, True, 0, self.progress)
        return tuple(csr_of(*found[name], self.n) for name in "lu")

    @computed_once
    def _profile(self):
        return _core.profile(*self._permuted, 0, self._threads, self.progress)

    @computed_once
    def _permuted_csr(self):
        return csr_of(*self._permuted, self.n)

    def _given(self, factor):
        """What users get of a csr_array of ours: their own, with the same read-only arrays."""
        if not self._of_cupy:
            return sp.csr_array(factor)
        from cupyx.scipy.sparse import csr_matrix

        return csr_matrix(factor)

    @property
    def A(self) -> sp.csr_array:
        """The pattern of the permuted matrix, a csr_array of ones (float64); diagonal entries that were added are not in it."""
        return sp.csr_array(self._permuted_csr)

    @property
    def L(self) -> sp.csr_array | Any:
        """L below the diagonal, a csr_array of ones (float64, so that sums and products count without wrapping), with
        read-only arrays: copy() is writeable. Its lnz entries of 12 bytes are made when L or U is first asked for. Of a matrix
        of CuPy a csr_matrix of CuPy on the current device, copied there each time that it is asked for."""
        return self._given(self._factors[0])

    @property
    def U(self) -> sp.csr_array | Any:
        """U with the diagonal, likewise."""
        return self._given(self._factors[1])

    @property
    def parent(self) -> NDArray[np.int32]:
        """n; elimination tree of the permuted A + A^T: parent of each column, -1 for roots (Liu 1990)."""
        return self._profile["parent"]

    @property
    def levels(self) -> NDArray[np.int32]:
        """n; level of each column in that tree: 0 for leaves, else one more than its highest child."""
        return self._levels

    @computed_once
    def _levels(self):
        return _core.levels(self.parent)

    @property
    def height(self) -> int:
        """Columns on the longest path of the elimination tree."""
        return int(self.levels.max(initial=-1)) + 1

    @property
    def l_col_counts(self) -> NDArray[np.int32]:
        """n; entries of each column of L below the diagonal."""
        return self._profile["l_col_counts"]

    @property
    def flops(self) -> float:
        """Operations of A = L U: the sum over k of l + 2 l u, with l entries below the diagonal in column k of L and u to its
        right in row k of U."""
        return self._profile["flops"]

    @property
    def memory_estimate(self) -> int:
        """Bytes of L and U as compressed sparse rows: 8 of each value, 4 of each column, 8 of each row pointer."""
        return 12 * self.nnz + 16 * (self.n + 1)

    def density(self, cells: int = 512) -> NDArray[np.int64]:
        """cells x cells (at most n x n): how many entries of L + U lie in each cell; (i, j) is in cell (i * cells // n,
        j * cells // n). Computed from the compressed factors, without a list of their entries.

        >>> import scipy.sparse as sp
        >>> analyze(sp.csr_array([[1, 1], [1, 1]]), "natural").density().tolist()
        [[1, 1], [1, 1]]
        """
        found = _core.profile(*self._permuted, whole(cells, "cells", 1, 8192), self._threads, self.progress)
        return found["density"].reshape(found["cells"], found["cells"])

    def supernodal(self, most_columns: int = 0, relax: int = 1) -> Supernodal:
        """L + U by supernodes of columns, of at most most_columns each (0: any number). relax: maximal subtrees of the
        elimination tree with at most `relax` columns are one supernode, as in SuperLU; the result is then of the pattern padded
        with the entries that the columns and rows of a subtree lack. relax > 1 needs a postordered tree, which every ordering
        gives except "natural" and a permutation.

        >>> import scipy.sparse as sp
        >>> s = analyze(sp.csr_array([[1, 0, 1], [1, 1, 0], [0, 1, 1]]), "natural").supernodal()
        >>> s.first_column.tolist(), s.rows.tolist(), s.segments.tolist()
        ([0, 1, 3], [0, 1, 1, 2], [0])
        """
        return Supernodal(*_core.supernodal(*self._permuted, self._threads, whole(most_columns, "most_columns", 0),
                                            whole(relax, "relax", 1), self.progress))

    def matches(self, a: Any) -> bool:
        """True if `a` has the entries of the matrix that was analysed, so that this analysis holds for it.

        >>> import scipy.sparse as sp
        >>> a = sp.csr_array([[1, 1], [0, 1]])
        >>> s = analyze(a)
        >>> s.matches(2 * a), s.matches(sp.eye(2))
        (True, False)
        """
        row_ptr, col_idx = pattern_of(a)
        if row_ptr.size != self.n + 1:
            return False
        if all(map(np.array_equal, (row_ptr, col_idx), self._pattern)):
            return True
        ours, theirs = (canonical(*p, self.progress) for p in (self._pattern, (row_ptr, col_idx)))
        return all(map(np.array_equal, ours, theirs))

    def to_superlu(self) -> dict[str, Any]:
        """As SuperLU has it: perm_r and perm_c (new position of each old row and column), etree (n for roots), the supernode of
        each column and first column of each supernode (xsup, n at the end), L below the diagonal and U as csc_array. The arrays
        are new ones at each call."""
        xsup = np.append(self.supernodes, self.n).astype(np.int32)
        return {
            "perm_r": np.argsort(self.perm_r).astype(np.int32), "perm_c": np.argsort(self.perm_c).astype(np.int32),
            "etree": np.where(self.parent < 0, self.n, self.parent).astype(np.int32), "xsup": xsup,
            "supno": np.repeat(np.arange(xsup.size - 1, dtype=np.int32), np.diff(xsup)),
            "L": self._factors[0].tocsc(), "U": self._factors[1].tocsc(),
        }

    # --- pictures ---

    def spy(self, **options: Any) -> Any:
        """A picture of A, A permuted, and L + U with the fill in another colour; options as of gsofa.pictures.spy."""
        from . import pictures
        return pictures.spy(self, **options)

    def tree(self, **options: Any) -> Any:
        """A picture of the elimination tree; options as of gsofa.pictures.tree."""
        from . import pictures
        return pictures.tree(self, **options)

    def profiles(self, **options: Any) -> Any:
        """Row counts and the work of each pivot along the elimination; options as of gsofa.pictures.profiles."""
        from . import pictures
        return pictures.profiles(self, **options)

    def __repr__(self) -> str:
        return (f"<Symbolic LU of order {self.n:,}: {self.nnz_a:,} entries of A, {self.lnz:,} of L, {self.unz:,} of U; "
                f"ordering {self.ordering}, {self.variant}>")

    def _repr_html_(self) -> str:
        rows = [("order", f"{self.n:,}"), ("entries of A", f"{self.nnz_a:,}"), ("entries of L + U", f"{self.nnz:,}"),
                ("fill-ins", f"{self.fill:,}"), ("L + U over A", f"{self.nnz / max(self.nnz_a, 1):.2f}"),
                ("supernodes", f"{self.supernodes.size:,}"), ("operations", f"{self.flops:.3g}"), ("ordering", self.ordering),
                ("variant", self.variant)]
        table = "".join(f'<tr><td style="text-align:left">{k}</td><td style="text-align:right">{v}</td></tr>' for k, v in rows)
        picture = ""
        try:
            from . import pictures
        except ImportError:  # no matplotlib
            pass
        else:
            if self.n == 0:
                return f"<table>{table}</table>"
            out = io.BytesIO()
            pictures.thumbnail(self, out)
            data = base64.b64encode(out.getvalue()).decode()
            picture = f'<img alt="pattern of L + U" width="200" height="200" src="data:image/png;base64,{data}">'
        return f'<div style="display:flex;gap:1.5em;align-items:center"><table>{table}</table>{picture}</div>'


class SymbfactResult(NamedTuple):
    """What symbfact() returns."""

    count: np.ndarray  # entries of each row of R
    h: int  # height of the elimination tree
    parent: np.ndarray  # elimination tree, -1 for roots
    post: np.ndarray  # a postorder of it: column by position
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


def symbfact(a: Any, kind: str = "sym", *, progress: Progress = None) -> SymbfactResult:
    """Symbolic Cholesky factorization with the five results of MATLAB's function of this name, counted from 0, parents of roots
    -1. kind: "sym": of the upper triangle of `a` and its transpose; "lo": of the lower; "col": of A^T A; "row": of A A^T.
    progress: as of analyze(). SciPy computes A^T A and A A^T, which nothing interrupts.

    >>> import scipy.sparse as sp
    >>> count, h, parent, post, R = symbfact(sp.csr_array([[4, 0, 1], [0, 4, 1], [1, 1, 4]]))
    >>> count.tolist(), h, parent.tolist(), post.tolist(), R.nnz
    ([2, 2, 1], 2, [2, 2, -1], [0, 1, 2], 5)
    """
    one_of(kind, "kind", ("sym", "lo", "col", "row"))
    callable_or_none(progress)
    if kind in ("col", "row"):
        a = pattern_of_product(a, kind)
    # Without repeated entries, so that sums are positive: SciPy leaves out entries that are zero.
    rows = canonical(*pattern_of(a), progress)
    whole_matrix = csr_of(*rows, rows[0].size - 1)
    half = sp.tril(whole_matrix, format="csr") if kind == "lo" else sp.triu(whole_matrix, format="csr")
    p = pattern_of(half + half.T)
    s = Symbolic(p, _core.analyze(*p, "natural", None, "auto", "", 0, -1, False, False, 0, progress), 0, progress=progress)
    return SymbfactResult(s.u_row_counts, s.height, s.parent, postorder(s.parent), s.U)


def postorder(parent):
    """Children before parents, subtrees together, siblings ascending: the vertex of each position."""
    n = parent.size
    children = [[] for _ in range(n + 1)]
    for v, p in enumerate(parent.tolist()):
        children[p if p >= 0 else n].append(v)
    out, stack = [], [(n, iter(children[n]))]
    while stack:
        v, rest = stack[-1]
        child = next(rest, None)
        if child is None:
            stack.pop()
            out.append(v)
        else:
            stack.append((child, iter(children[child])))
    return _core.frozen(np.array(out[:-1], dtype=np.int32))
