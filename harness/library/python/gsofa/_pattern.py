"""What users pass as a matrix, as compressed sparse rows that the library reads."""
import itertools
import os
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from . import _core
from .errors import InvalidInput

LARGEST = 2**31 - 1  # order of a matrix


def narrowed(values, name):
    """`values` as int32; values that do not fit are an OverflowError."""
    values = np.asarray(values)
    if values.ndim != 1:
        raise InvalidInput(f"{name}: expected one dimension, not {values.ndim}")
    if values.dtype.kind not in "iu":
        if values.size:
            raise InvalidInput(f"{name}: expected integers, not {values.dtype}")
        values = values.astype(np.int32)
    if values.dtype != np.int32 and values.size:
        least, most = int(values.min()), int(values.max())
        if least < -2**31 or most > LARGEST:
            k = int(np.argmax((values < -2**31) | (values > LARGEST)))
            raise OverflowError(f"{name}[{k}] is {int(values[k])}, beyond 32 bits")
    return np.ascontiguousarray(values, dtype=np.int32)


def widened(values, name):
    """`values` as int64."""
    values = np.asarray(values)
    if values.ndim != 1:
        raise InvalidInput(f"{name}: expected one dimension, not {values.ndim}")
    if values.dtype.kind not in "iu":
        raise InvalidInput(f"{name}: expected integers, not {values.dtype}")
    if values.dtype == np.uint64 and values.size and int(values.max()) > np.iinfo(np.int64).max:
        raise OverflowError(f"{name}: beyond 64 bits")
    return np.ascontiguousarray(values, dtype=np.int64)


def on_host(array):
    """A NumPy array of an array of the host or, copied, of a CUDA device."""
    if hasattr(array, "__cuda_array_interface__"):
        if hasattr(array, "get"):  # CuPy
            return array.get()
        if hasattr(array, "copy_to_host"):  # Numba
            return array.copy_to_host()
        if hasattr(array, "cpu"):  # PyTorch
            return array.cpu().numpy()
        raise InvalidInput(f"{type(array).__name__}: an array of a device that this package cannot copy to the host")
    if not isinstance(array, np.ndarray) and hasattr(array, "__dlpack__"):
        return np.from_dlpack(array)
    return np.asarray(array)


def is_of_cupy(a):
    """Whether it is a sparse matrix of CuPy."""
    return type(a).__module__.split(".")[0] == "cupyx"


def repeated(count, indptr, indices):
    """0 .. count - 1, each as often as the compressed rows or columns have entries."""
    if len(indptr) != count + 1 or indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise ValueError(f"indptr does not ascend from 0 to {len(indices)}, the number of indices, in {count} steps")
    return np.repeat(np.arange(count), np.diff(indptr))


def positions_of(a):
    """(rows, columns) of the stored entries of a SciPy sparse matrix, stored zeros and repeated entries among them; None of
    the formats csr and lil, which have their own rows, and of formats that are not SciPy's."""
    if a.format == "coo":
        return a.row, a.col
    if a.format == "csc":
        return a.indices, repeated(a.shape[1], a.indptr, a.indices)
    if a.format == "dia":
        columns = [np.arange(max(0, k), min(a.data.shape[1], a.shape[1], a.shape[0] + k)) for k in map(int, a.offsets)]
        rows = [c - int(k) for c, k in zip(columns, a.offsets)]
        return tuple(np.concatenate([np.empty(0, dtype=np.int64), *x]) for x in (rows, columns))
    if a.format == "bsr":
        height, width = a.blocksize
        block_row = repeated(a.shape[0] // height, a.indptr, a.indices)
        inside = np.indices((height, width))
        at = (block_row[:, None, None] * height + inside[0], np.asarray(a.indices)[:, None, None] * width + inside[1])
        return tuple(x.ravel() for x in at)
    if a.format == "dok":
        keys = np.fromiter(itertools.chain.from_iterable(a.keys()), dtype=np.int64)
        return keys[::2], keys[1::2]
    return None


def rows_of(a, by_columns=False):
    """(indptr, indices) of the stored entries of a SciPy sparse matrix of any shape, or those of a square csc matrix by columns.
    Arrays may be those of the matrix, and nobody has checked them."""
    try:
        at = None if by_columns else positions_of(a)
        if at is not None:
            # A copy whose values are not zero, so that SciPy drops nothing; it checks the ranges.
            at = tuple(np.array(x) for x in at)
            a = sp.coo_array((np.ones(at[0].size, dtype=bool), at), shape=a.shape).tocsr()
        elif a.format == "lil":
            lengths = np.fromiter(map(len, a.rows), dtype=np.int64, count=a.shape[0])
            return (np.concatenate([[0], np.cumsum(lengths)]),
                    np.fromiter(itertools.chain.from_iterable(a.rows), dtype=np.int64, count=int(lengths.sum())))
        elif not by_columns:
            a = a.tocsr()
    except (IndexError, TypeError, ValueError) as e:
        raise InvalidInput(f"{a.format} matrix: {e}") from e
    if len(a.indptr) != a.shape[0] + 1:
        raise InvalidInput(f"indptr has {len(a.indptr)} entries, but the matrix has {a.shape[0]} rows")
    return a.indptr, a.indices


def pattern_of_rows(row_ptr, col_idx):
    """The two arrays as read-only copies, int64 and int32."""
    row_ptr = widened(row_ptr, "indptr")
    if row_ptr.size < 1:
        raise InvalidInput("indptr has no entries; a matrix of order 0 has 1")
    if row_ptr.size - 1 > LARGEST:
        raise OverflowError(f"order {row_ptr.size - 1} is beyond 32 bits")
    return _core.frozen(row_ptr), _core.frozen(narrowed(col_idx, "indices"))


def check_shape(a):
    """Refuses more rows or columns than the library counts."""
    for size in a.shape:
        if size > LARGEST:
            raise OverflowError(f"order {size} is beyond 32 bits")


# What makes a sparse matrix of an object of another package.
WAYS = {"numpy": "scipy.sparse.csr_array(a)", "networkx": "networkx.to_scipy_sparse_array(a)",
        "pandas": "scipy.sparse.csr_array(a.to_numpy())", "torch": "a.to_sparse_csr(), as (a.crow_indices(), a.col_indices()),"}


def named(a):
    """What a user passed instead of a matrix, and the way out."""
    if isinstance(a, (str, bytes, os.PathLike)):
        return f"{a!r}; gsofa.read({a!r}) reads the matrix in a file"
    module = type(a).__module__.split(".")[0]
    if module in WAYS:
        return f"{type(a).__name__} of {module}; {WAYS[module]} makes one of it"
    return repr(a) if a is None or isinstance(a, (int, float)) else type(a).__name__


def whole_of(rows, symmetric):
    """The rows of the symmetric matrix whose triangle `rows` are, which nobody checks here; symmetric=None: `rows`."""
    if symmetric is None:
        return rows
    half = csr_of(*canonical(*rows), rows[0].size - 1)
    return pattern_of(half + half.T)


def pattern_of(a, by_columns=False):
    """(row_ptr, col_idx), int64 and int32, of a square matrix: a SciPy sparse array or matrix of any format, where all stored
    entries count; a CuPy one; a pair (indptr, indices) of compressed sparse rows. Both are read-only copies on the host, which
    nobody has checked: the library does. by_columns: of a csc matrix, its columns instead of its rows."""
    if isinstance(a, (tuple, list)):
        if len(a) != 2:
            raise InvalidInput(f"expected a pair (indptr, indices), not {len(a)} values")
        row_ptr, col_idx = (on_host(x) for x in a)
    elif sp.issparse(a) or is_of_cupy(a):
        if a.ndim != 2 or a.shape[0] != a.shape[1]:
            raise InvalidInput(f"expected a square matrix, not one of shape {a.shape}")
        check_shape(a)
        if is_of_cupy(a) and a.format != "csr":
            a = a.get()
        row_ptr, col_idx = rows_of(a, by_columns) if sp.issparse(a) else map(on_host, (a.indptr, a.indices))
    else:
        raise InvalidInput(f"expected a sparse matrix or a pair (indptr, indices), not {named(a)}")
    return pattern_of_rows(row_ptr, col_idx)


def canonical(row_ptr, col_idx, progress=None):
    """The rows sorted, without repeated entries. Raises InvalidInput where they are no rows of a square matrix."""
    same = np.arange(row_ptr.size - 1, dtype=np.int32)
    return _core.permuted(row_ptr, col_idx, same, same, progress)


def cell_counts(row_ptr, col_idx, cells):
    """cells x cells: entries in each; (i, j) is in cell (i * cells // n, j * cells // n)."""
    n = row_ptr.size - 1
    of_row = np.arange(n, dtype=np.int64) * cells // n
    column = col_idx.astype(np.int64) * cells // n
    return np.bincount(np.repeat(of_row, np.diff(row_ptr)) * cells + column, minlength=cells * cells).reshape(cells, cells)


class DeviceRows(NamedTuple):
    """Compressed sparse rows in the memory of a CUDA device, as the library reads them there."""

    row_ptr: int  # addresses
    col_idx: int
    n: int
    nnz: int
    long_row_ptr: bool  # of 64 bits
    long_col_idx: bool
    stream: int  # 0: the legacy default one
    owner: Any  # keeps the arrays


def rows_on_device(a, stream=None):
    """The DeviceRows of a CuPy matrix in compressed sparse rows, or of a pair of arrays with __cuda_array_interface__; None of
    all else, and where the integers are not those that the library reads. stream: of CUDA, an integer or an object with one in
    `ptr` (CuPy) or `cuda_stream` (PyTorch); None: the one that the arrays name."""
    if isinstance(a, (tuple, list)):
        arrays = a
    elif is_of_cupy(a) and getattr(a, "format", "") == "csr" and a.shape[0] == a.shape[1]:
        arrays = a.indptr, a.indices
    else:
        return None
    if len(arrays) != 2 or not all(hasattr(x, "__cuda_array_interface__") for x in arrays):
        return None
    row_ptr, col_idx = (x.__cuda_array_interface__ for x in arrays)
    if (row_ptr["typestr"], col_idx["typestr"]) not in (("<i4", "<i4"), ("<i8", "<i4"), ("<i8", "<i8")):
        return None
    for name, x in ("indptr", row_ptr), ("indices", col_idx):
        if len(x["shape"]) != 1:
            raise InvalidInput(f"{name}: expected one dimension, not {len(x['shape'])}")
        if x.get("strides") not in (None, (int(x["typestr"][2]),)):
            return None
    if row_ptr["shape"][0] < 1:
        raise InvalidInput("indptr has no entries; a matrix of order 0 has 1")
    if row_ptr["shape"][0] - 1 > LARGEST:
        raise OverflowError(f"order {row_ptr['shape'][0] - 1} is beyond 32 bits")
    if stream is None:
        streams = {x.get("stream") for x in (row_ptr, col_idx)} - {None}
        if len(streams) > 1:
            raise InvalidInput("indptr and indices are of two streams: stream= names the one to wait for")
        stream = streams.pop() if streams else 0
    for name in "ptr", "cuda_stream":
        stream = getattr(stream, name, stream)
    return DeviceRows(row_ptr["data"][0], col_idx["data"][0], row_ptr["shape"][0] - 1, col_idx["shape"][0],
                      row_ptr["typestr"] == "<i8", col_idx["typestr"] == "<i8", stream, a)


def csr_of(row_ptr, col_idx, n):
    """csr_array of ones (float64) whose arrays are read-only; sp.csr_array() of it has the same arrays and takes no time."""
    index = np.int64 if row_ptr[-1] > LARGEST else np.int32
    rows = [x if x.dtype == index else _core.frozen(x.astype(index)) for x in (col_idx, row_ptr)]
    return sp.csr_array((_core.ones(col_idx.size), *rows), shape=(n, n))
