"""Types and checks of what users pass."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._pattern import narrowed
from .errors import InvalidInput

Matrix: TypeAlias = Any  # scipy.sparse, CuPy, or a pair (indptr, indices)
Ordering: TypeAlias = str | ArrayLike  # a name of ORDERINGS, or a permutation
Progress: TypeAlias = Callable[[str, float | None], object] | None
Int32Array: TypeAlias = NDArray[np.int32]
Int64Array: TypeAlias = NDArray[np.int64]
UInt64Array: TypeAlias = NDArray[np.uint64]

ORDERINGS = ("automatic", "metis", "amd", "amf", "colamd", "natural", "cpu_nested_dissection", "gpu_nested_dissection",
             "tournament")
DEVICES = ("automatic", "cpu", "gpu")
# Names of earlier versions.
OLD_NAMES = {"auto": "automatic", "nested_dissection": "cpu_nested_dissection"}


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
    value = OLD_NAMES.get(value, value) if isinstance(value, str) else value
    if value not in choices:
        raise InvalidInput(f"{name}: {value!r} is none of {', '.join(choices)}")
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


def ordering_options(ordering):
    """The argument `ordering` as options of the library."""
    if isinstance(ordering, str):
        return {"order": one_of(ordering, "ordering", ORDERINGS)}
    return {"order": "given", "permutation": _core.frozen(narrowed(ordering, "ordering"))}


def analysis_options(ordering, device, variant, threads, match, chunk_size, relax, memory_budget_mb, masks):
    """The arguments of analyze() as options of the library."""
    return {**ordering_options(ordering), "device": one_of(device, "device", DEVICES), "variant": text_or_empty(variant, "variant"),
            "threads": whole(threads, "threads", 0), "match": bool(match), "supernodes": True,
            "chunk_size": whole(chunk_size, "chunk_size", 0), "relax": whole(relax, "relax", 1),
            "memory_budget_mb": whole(memory_budget_mb, "memory_budget_mb", -1, 2**53), "masks": bool(masks)}
