"""Types and checks of what users pass."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._pattern import narrowed
from .errors import InvalidInput

Matrix: TypeAlias = Any  # scipy.sparse, CuPy, or a pair (indptr, indices)
OrderName: TypeAlias = Literal["automatic", "metis", "amd", "amf", "colamd", "natural", "cpu_nested_dissection",
                               "gpu_nested_dissection", "tournament"]
Order: TypeAlias = OrderName | str | ArrayLike  # NAME, NAME:OPTION=VALUE,..., or a permutation
Device: TypeAlias = Literal["automatic", "cpu", "gpu"]
Purpose: TypeAlias = Literal["automatic", "left_looking", "supernodal", "distributed", "gpu"]
Triangle: TypeAlias = Literal["lower", "upper"] | None
Layout: TypeAlias = Literal["by_level", "nested"]
Kind: TypeAlias = Literal["sym", "lo", "col", "row"]
Progress: TypeAlias = Callable[[str, float | None], object] | None
Int32Array: TypeAlias = NDArray[np.int32]
Int64Array: TypeAlias = NDArray[np.int64]
UInt64Array: TypeAlias = NDArray[np.uint64]

ORDERS, DEVICES, PURPOSES, LAYOUTS, KINDS = map(get_args, (OrderName, Device, Purpose, Layout, Kind))
TRIANGLES = (None, "lower", "upper")


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
    if value is not None and not isinstance(value, str) or value not in choices:
        raise InvalidInput(f"{name}: {value!r} is none of {', '.join(map(str, choices))}")
    return value


def text_or_empty(value, name):
    """A str; None is empty."""
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"{name}: {value!r} is not a str")
    return value or ""


def callable_or_none(progress):
    """The argument `progress`."""
    if progress is not None and not callable(progress):
        raise InvalidInput(f"progress: {type(progress).__name__} is not callable")
    return progress


def order_options(order, factorizations=1, purpose="automatic", cores=1):
    """The argument `order` and what it is for, as options of the library."""
    if order == "given" if isinstance(order, str) else order is None:
        raise InvalidInput(f"order: {order!r}; pass the permutation itself, as Symbolic.col_order")
    options = {"factorizations": whole(factorizations, "factorizations", 1, 2**63 - 1),
               "purpose": one_of(purpose, "purpose", PURPOSES), "cores": whole(cores, "cores", 1)}
    if isinstance(order, str):
        return {**options, "order": order}
    return {**options, "order": "given", "permutation": _core.frozen(narrowed(order, "order"))}


def analysis_options(order, use, device, variant, threads, match, symmetric, chunk_size, relax, memory_budget_mb, masks):
    """The arguments of analyze() as options of the library."""
    return {**order_options(order, *use), "device": one_of(device, "device", DEVICES), "variant": text_or_empty(variant, "variant"),
            "threads": whole(threads, "threads", 0), "match": bool(match), "supernodes": True,
            "symmetric": TRIANGLES.index(one_of(symmetric, "symmetric", TRIANGLES)),
            "chunk_size": whole(chunk_size, "chunk_size", 0), "relax": whole(relax, "relax", 1),
            "memory_budget_mb": whole(memory_budget_mb, "memory_budget_mb", -1, 2**53), "masks": bool(masks)}
