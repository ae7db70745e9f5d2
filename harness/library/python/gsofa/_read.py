"""Matrices in files, by the library's reader."""
import os

from . import _core
from ._pattern import csr_of
from .errors import InvalidInput


def read(path):
    """The pattern of the square matrix in a file, as a csr_array of ones.

    Formats: Matrix Market (coordinate, array), Harwell-Boeing and Rutherford-Boeing (assembled), .npz of
    scipy.sparse.save_npz. They may be gzip'd, and, where the machine has libarchive, compressed as .xz, .bz2, .zst or in a
    .tar or .zip. The content decides, not the name. Symmetric storage is expanded, repeated entries are merged, and stored
    zeros are entries: values are not read. InvalidInput names the file, the line and the reason; Unavailable a compression
    that this machine does not read.
    """
    name = os.fsencode(path)
    if b"\0" in name:
        raise InvalidInput(f"{path!r}: the name has a NUL character")
    row_ptr, col_idx = _core.read_pattern(name)
    return csr_of(row_ptr, col_idx, row_ptr.size - 1)
