"""What users pass as a matrix, as compressed sparse rows that the library reads."""
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

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


def pattern_of(a):
    """(row_ptr, col_idx) of a square matrix: a SciPy sparse array or matrix of any format, where stored zeros count as
    entries; a CuPy one; a pair (indptr, indices) of compressed sparse rows."""
    if isinstance(a, (tuple, list)):
        if len(a) != 2:
            raise InvalidInput(f"expected a pair (indptr, indices), not {len(a)} values")
        row_ptr, col_idx = (on_host(x) for x in a)
    elif sp.issparse(a) or is_of_cupy(a):
        if a.ndim != 2 or a.shape[0] != a.shape[1]:
            raise InvalidInput(f"expected a square matrix, not one of shape {a.shape}")
        a = a.tocsr()
        row_ptr, col_idx = on_host(a.indptr), on_host(a.indices)
    else:
        raise InvalidInput(f"expected a sparse matrix or a pair (indptr, indices), not {type(a).__name__}; "
                           "scipy.sparse.csr_array(a) makes one of a dense array")
    row_ptr = widened(row_ptr, "indptr")
    if row_ptr.size < 2:
        raise InvalidInput(f"indptr has {row_ptr.size} entries: an order of at least 1 is needed")
    if row_ptr.size - 1 > LARGEST:
        raise OverflowError(f"order {row_ptr.size - 1} is beyond 32 bits")
    return row_ptr, narrowed(col_idx, "indices")


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
    if row_ptr["shape"][0] < 2:
        raise InvalidInput(f"indptr has {row_ptr['shape'][0]} entries: an order of at least 1 is needed")
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
    """csr_array of ones."""
    index = np.int64 if row_ptr[-1] > LARGEST else np.int32
    return sp.csr_array((np.ones(col_idx.size, dtype=np.int8), col_idx.astype(index, copy=False), row_ptr.astype(index)),
                        shape=(n, n))
