"""Patterns that change little from step to step."""
from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._arguments import Device, Matrix, Order, Progress, Purpose, Triangle, analysis_options, callable_or_none
from ._functions import has_device
from ._pattern import is_of_cupy, narrowed, pattern_of, rows_on_device, whole_of
from ._symbolic import OrderUpdate, Symbolic
from .errors import InvalidInput

__all__ = ["Analyzer", "OrderUpdate"]


class Analyzer:
    """Analyses one pattern after the other, each of which differs little from the one before: contact, remeshing, time steps of
    a circuit, interior-point steps. update() adapts the order of its last result instead of computing another one.

    Arguments as of analyze(), without chunk_size (0), relax (1) and masks (False; Symbolic.masks takes a second elimination).
    An order that is a permutation cannot be adapted and is refused; "natural" is not adapted.

    >>> import scipy.sparse as sp
    >>> analyzer = Analyzer("amf")
    >>> a = sp.diags([1.0, 4.0, 1.0], [-1, 0, 1], shape=(6, 6)).tolil()
    >>> analyzer.update(a).update.kind
    'new_order'
    >>> a[0, 5] = a[5, 0] = 1.0
    >>> s = analyzer.update(a)
    >>> s.update.rows_changed, s.nnz_l, s.fill
    (2, 9, 6)
    """

    def __init__(self, order: Order = "automatic", *, factorizations: int = 1, purpose: Purpose = "automatic", cores: int = 1,
                 device: Device = "automatic", variant: str | None = None, threads: int = 0, match: bool = True, symmetric: Triangle = None, memory_budget_mb: int = -1) -> None:
        if not isinstance(order, str):
            raise InvalidInput("order: an analyzer adapts the order of a method, not a permutation")
        options = analysis_options(order, (factorizations, purpose, cores), device, variant, threads, match, symmetric, 0, 1,
                                   memory_budget_mb, False)
        self._symmetric = symmetric
        self._options = {**options, "supernodes": False}
        self._analyzer = _core.Analyzer(self._options)
        self._lock = threading.Lock()

    def update(self, a: Matrix, previous: ArrayLike | None = None, *, stream: Any = None, progress: Progress = None) -> Symbolic:
        """analyze() of `a`, with the order of the last update() that returned, adapted to `a`. The result is that of analyze()
        with the order col_order.

        previous: for each row of `a`, and its column, the row that it was in the matrix of the last update(), -1 if it is new;
        None: all rows kept their numbers. Wrong rows raise InvalidInput; at the first call rows 0 to n - 1 are allowed and have
        no effect. A matrix of another order without `previous` is ordered anew. So is a matrix where more than a quarter of the
        rows changed, or where the adapted order takes too many operations, which are counted at every step, for A + A^T;
        after larger changes they are compared with those of a new order. Symbolic.update says what was done.
        a, stream, progress: as of analyze(). After an exception the next call refers to the last result.
        """
        callable_or_none(progress)
        rows = np.empty(0, dtype=np.int32) if previous is None else narrowed(previous, "previous")
        if not self._lock.acquire(blocking=False):
            raise InvalidInput("analyzer: an analysis has not ended yet")
        try:
            there = rows_on_device(a, stream) if self._options["device"] != "cpu" and has_device() else None
            pattern = pattern_of(a)
            if previous is not None and rows.size != pattern[0].size - 1:
                raise InvalidInput(f"previous: {rows.size} entries for order {pattern[0].size - 1}")
            if there is not None:
                found = self._analyzer.update_there(there[:-1], _core.frozen(rows), progress)
            else:
                found = self._analyzer.update(*pattern, _core.frozen(rows), progress)
        finally:
            self._lock.release()
        return Symbolic(whole_of(pattern, self._symmetric), found, self._options["threads"], 1, is_of_cupy(a), progress)
