"""The result of analyze()."""
from __future__ import annotations

import base64
import io
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from . import _core
from ._arguments import TRIANGLES, Int32Array, Int64Array, Matrix, Progress, Triangle, UInt64Array, one_of, whole
from ._pattern import canonical, cell_counts, csr_of, pattern_of, whole_of


class Supernodal(NamedTuple):
    """L + U by supernodes of columns: consecutive columns j - 1, j with L(j, j-1) != 0 and the same rows of L below j (type T2 of
    Demmel et al. 1999). What supernodal solvers store, without a list of the entries."""

    first_column: Int32Array  # of each supernode, and n
    row_begin: Int64Array  # supernode s: rows[row_begin[s]:row_begin[s + 1]]
    rows: Int32Array  # of its first column in L, with the diagonal; column c of it has all but the first c
    segment_begin: Int64Array  # column j of U: segments[segment_begin[j]:segment_begin[j + 1]]
    segments: Int32Array  # first row of what it has of an earlier supernode, to the end of that supernode


class Masks(NamedTuple):
    """L + U as bits. A panel is a range of at most 64 consecutive vertices b, b + 1, ... with an ascending list of vertices that
    begins with the panel itself. Bit c of masks[p, 0] is U(b + c, f) != 0 and bit c of masks[p, 1] is L(f, b + c) != 0, with
    f = vertices[p] and b + c < f: each entry off the diagonal is one bit, and the diagonal has no bits."""

    first_vertex: Int32Array  # of each panel, and n
    position_begin: Int64Array  # panel k: positions position_begin[k] to position_begin[k + 1] - 1
    vertices: Int32Array  # of each position
    masks: UInt64Array  # positions x 2: U, L


ORDER_CHANGES = ("new_order", "kept", "moved")


class OrderUpdate(NamedTuple):
    """What Analyzer.update() did to the order; for the order "natural" and n = 0: "new_order" and zeros."""

    kind: str  # "new_order", "kept" or "moved"
    rows_changed: int  # rows that are new or differ; n if none is compared
    vertices_moved: int  # vertices that are new or moved to an ancestor; subtrees that changed places do not count
    compared: bool  # a new order was computed and counted too, and the better one taken


class computed_once:
    """functools.cached_property without its lock: before Python 3.12 that is one lock for all objects, so that one thread waits
    for the computation of another, and a child that is forked meanwhile waits for ever."""

    def __init__(self, find):
        self.find, self.name, self.__doc__ = find, find.__name__, find.__doc__

    def __get__(self, owner, kind=None):
        if owner is None:
            return self
        return owner.__dict__.setdefault(self.name, self.find(owner))


class AnalysisResults:
    """What the analysis itself found."""

    progress: Progress

    def __init__(self, pattern: tuple[Int64Array, Int32Array], found: dict[str, Any], threads: int, relax: int = 1,
                 of_cupy: bool = False, progress: Progress = None) -> None:
        self._pattern, self._found, self._threads, self._relax, self._of_cupy = pattern, found, threads, relax, of_cupy
        self.progress = progress
        if "masks" in found:
            self._masks = found.pop("masks")

    def __getstate__(self) -> dict[str, Any]:
        return {"pattern": self._pattern, "found": self._found, "threads": self._threads, "relax": self._relax,
                "of_cupy": self._of_cupy}

    def __setstate__(self, state: dict[str, Any]) -> None:
        found = {k: _core.frozen(v) if isinstance(v, np.ndarray) else v for k, v in state["found"].items()}
        self.__init__(tuple(map(_core.frozen, state["pattern"])), found, state["threads"], state["relax"], state["of_cupy"])

    @property
    def n(self) -> int:
        """Order of the matrix."""
        return self.col_order.size

    @property
    def nnz_a(self) -> int:
        """Entries of A, repeated ones once, with the diagonal entries that were added."""
        return self._found["nnz_a"]

    @property
    def nnz_l(self) -> int:
        """Entries of L below the diagonal."""
        return self._found["nnz_l"]

    @property
    def nnz_u(self) -> int:
        """Entries of U with the diagonal."""
        return self._found["nnz_u"]

    @property
    def nnz(self) -> int:
        """Entries of L + U: nnz_l + nnz_u."""
        return self.nnz_l + self.nnz_u

    @property
    def fill(self) -> int:
        """Fill-ins: entries of L + U that A does not have."""
        return self.nnz - self.nnz_a

    @property
    def diagonal_added(self) -> int:
        """Diagonal entries that were added; 0 if rows were matched."""
        return self._found["diagonal_added"]

    @property
    def row_order(self) -> Int32Array:
        """n; old row of each new position."""
        return self._found["row_order"]

    @property
    def col_order(self) -> Int32Array:
        """n; old column of each new position."""
        return self._found["col_order"]

    @property
    def row_counts(self) -> Int32Array:
        """n; entries of each row of L + U."""
        return _core.frozen(self._found["l_row_counts"] + self._found["u_row_counts"])

    @property
    def l_row_counts(self) -> Int32Array:
        """n; entries of each row of L below the diagonal."""
        return self._found["l_row_counts"]

    @property
    def u_row_counts(self) -> Int32Array:
        """n; entries of each row of U with the diagonal."""
        return self._found["u_row_counts"]

    @property
    def variant(self) -> str:
        """Name of the algorithm that ran."""
        return self._found["variant"]

    @property
    def order(self) -> str:
        """NAME or NAME:OPTION=VALUE,..., as analyze() takes it; "given" of a permutation."""
        return self._found["order"]

    @property
    def order_note(self) -> str:
        """What was done besides or instead of `order`, as "perfect elimination of blocks"; else empty."""
        return self._found["order_note"]

    @property
    def fallback(self) -> str:
        """Why the analysis fell back from a device to the host; else empty."""
        return self._found["fallback"]

    @property
    def warning(self) -> str:
        """What the caller may not have meant: a triangular matrix without `symmetric`; else empty."""
        return self._found["warning"]

    @property
    def update(self) -> OrderUpdate | None:
        """What Analyzer.update() did to the order; None of other analyses."""
        return OrderUpdate(ORDER_CHANGES[self._found["update"][0]], *self._found["update"][1:]) if "update" in self._found else None

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds of matching and ordering, allocation, symbolic factorization, copying out."""
        return {name: self._found[name + "_seconds"] for name in ("order", "setup", "analysis", "output")}


class Symbolic(AnalysisResults):
    """The patterns of L and U of a permuted matrix, P_r A P_c = L U, and what follows from them. Entry (i, j) of the permuted
    matrix is entry (row_order[i], col_order[j]) of A; everything but these two is in the new numbering.

    A Symbolic owns its data, with a copy of the pattern of A. Its arrays are read-only and cannot be made writeable: copy()
    them. It can be pickled and copied; what is computed later is then computed again.

    progress: analyze()'s, also called while L, U, parent and all else is computed that analyze() did not; may be set to another
    callable or to None. Ctrl-C interrupts these computations as it interrupts analyze()."""

    @computed_once
    def _permuted(self):
        return _core.permuted(*self._pattern, self.row_order, self.col_order, self.progress)

    def _again(self, relax=None, **wanted):
        """Another analysis of the permuted matrix, with these results."""
        options = {"order": "natural", "match": False, "threads": self._threads, "relax": relax or self._relax, **wanted}
        return _core.analyze(*self._permuted, options, self.progress)

    @computed_once
    def _factors(self):
        found = self._again(factors=True)
        return tuple(csr_of(*found[name], self.n) for name in "lu")

    @property
    def supernodes(self) -> Int32Array:
        """First rows of the T3 supernodes (Demmel et al. 1999), ascending."""
        if "supernode_starts" not in self._found:
            self._found["supernode_starts"] = self._again(supernodes=True)["supernode_starts"]
        return self._found["supernode_starts"]

    @computed_once
    def _tree(self):
        return self._again(tree=True)

    @computed_once
    def _masks(self):
        return self._again(masks=True)["masks"]

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
        read-only arrays: copy() is writeable. Its nnz_l entries of 12 bytes are made when L or U is first asked for. Of a matrix
        of CuPy a csr_matrix of CuPy on the current device, copied there each time that it is asked for."""
        return self._given(self._factors[0])

    @property
    def U(self) -> sp.csr_array | Any:
        """U with the diagonal, likewise."""
        return self._given(self._factors[1])

    def lower(self, *, diagonal: bool = False) -> sp.csr_array | Any:
        """L, with ones on its diagonal if `diagonal`; its arrays are then made at each call.

        >>> import gsofa, scipy.sparse as sp
        >>> s = gsofa.analyze(sp.csr_array([[1, 0], [1, 1]]), "natural")
        >>> s.lower(diagonal=True).toarray().astype(int).tolist()
        [[1, 0], [1, 1]]
        """
        if not diagonal:
            return self.L
        low = self._factors[0]  # the diagonal is the last entry of each row
        columns = np.insert(low.indices, low.indptr[1:], np.arange(self.n, dtype=low.indices.dtype))
        row_ptr = low.indptr.astype(np.int64) + np.arange(self.n + 1)
        return self._given(csr_of(_core.frozen(row_ptr), _core.frozen(columns), self.n))

    @property
    def masks(self) -> Masks:
        """L + U as bits, 20 bytes for each position; analyze(..., masks=True) keeps those of the analysis."""
        first_vertex, position_begin, vertices, masks = self._masks
        return Masks(first_vertex, position_begin, vertices, masks.reshape(-1, 2))

    @property
    def parent(self) -> Int32Array:
        """n; elimination tree of the permuted A + A^T: parent of each column, -1 for roots (Liu 1990)."""
        return self._tree["parent"]

    @property
    def levels(self) -> Int32Array:
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
    def l_col_counts(self) -> Int32Array:
        """n; entries of each column of L below the diagonal."""
        return self._tree["l_col_counts"]

    @property
    def flops(self) -> float:
        """Operations of A = L U: the sum over k of l + 2 l u, with l entries below the diagonal in column k of L and u to its
        right in row k of U."""
        return self._tree["flops"]

    @property
    def memory_estimate(self) -> int:
        """Bytes of L and U as compressed sparse rows: 8 of each value, 4 of each column, 8 of each row pointer."""
        return 12 * self.nnz + 16 * (self.n + 1)

    def density(self, cells: int = 512) -> Int64Array:
        """cells x cells (at most n x n): how many entries of L + U lie in each cell; (i, j) is in cell (i * cells // n,
        j * cells // n). Computed from the compressed factors, without a list of their entries, unless supernodes are relaxed.

        >>> import gsofa, scipy.sparse as sp
        >>> gsofa.analyze(sp.csr_array([[1, 1], [1, 1]]), "natural").density().tolist()
        [[1, 1], [1, 1]]
        """
        cells = whole(cells, "cells", 1, 8192)
        if self._relax > 1:  # the profile is that of the pattern without padding
            cells = min(cells, self.n)
            low, up = (cell_counts(f.indptr, f.indices, cells) for f in self._factors)
            return _core.frozen((low + up).ravel()).reshape(cells, cells)
        found = _core.profile(*self._permuted, cells, self._threads, self.progress)
        return found["density"].reshape(found["cells"], found["cells"])

    def supernodal(self, most_columns: int = 0, relax: int | None = None) -> Supernodal:
        """L + U by supernodes of columns, of at most most_columns each (0: any number). relax: as of analyze(); None: that of
        the analysis.

        >>> import gsofa, scipy.sparse as sp
        >>> s = gsofa.analyze(sp.csr_array([[1, 0, 1], [1, 1, 0], [0, 1, 1]]), "natural").supernodal()
        >>> s.first_column.tolist(), s.rows.tolist(), s.segments.tolist()
        ([0, 1, 3], [0, 1, 1, 2], [0])
        """
        relax = None if relax is None else whole(relax, "relax", 1)
        return Supernodal(*self._again(relax, supernodal=True, most_columns=whole(most_columns, "most_columns", 0))["supernodal"])

    def matches(self, a: Matrix, symmetric: Triangle = None) -> bool:
        """True if `a` has the entries of the matrix that was analysed, so that this analysis holds for it. symmetric: as of
        analyze().

        >>> import gsofa, scipy.sparse as sp
        >>> a = sp.csr_array([[1, 1], [0, 1]])
        >>> s = gsofa.analyze(a)
        >>> s.matches(2 * a), s.matches(sp.eye(2))
        (True, False)
        """
        row_ptr, col_idx = whole_of(pattern_of(a), one_of(symmetric, "symmetric", TRIANGLES))
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
            "perm_r": np.argsort(self.row_order).astype(np.int32), "perm_c": np.argsort(self.col_order).astype(np.int32),
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
        return (f"<Symbolic LU of order {self.n:,}: {self.nnz_a:,} entries of A, {self.nnz_l:,} of L, {self.nnz_u:,} of U; "
                f"order {self.order}, {self.variant}>")

    def _repr_html_(self) -> str:
        return html_of(self)


def html_of(s):
    """A table of an analysis and, with matplotlib, a small picture."""
    rows = [("order", f"{s.n:,}"), ("entries of A", f"{s.nnz_a:,}"), ("entries of L + U", f"{s.nnz:,}"),
            ("fill-ins", f"{s.fill:,}"), ("L + U over A", f"{s.nnz / max(s.nnz_a, 1):.2f}"),
            ("supernodes", f"{s.supernodes.size:,}"), ("operations", f"{s.flops:.3g}"), ("order", s.order),
            ("variant", s.variant)]
    table = "".join(f'<tr><td style="text-align:left">{k}</td><td style="text-align:right">{v}</td></tr>' for k, v in rows)
    picture = ""
    try:
        from . import pictures
    except ImportError:  # no matplotlib
        pass
    else:
        if s.n == 0:
            return f"<table>{table}</table>"
        out = io.BytesIO()
        pictures.thumbnail(s, out)
        data = base64.b64encode(out.getvalue()).decode()
        picture = f'<img alt="pattern of L + U" width="200" height="200" src="data:image/png;base64,{data}">'
    return f'<div style="display:flex;gap:1.5em;align-items:center"><table>{table}</table>{picture}</div>'
