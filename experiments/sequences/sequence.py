"""Files of sequences of patterns: the first pattern, and what each step removes from it and adds to it.

A file is NAME.npz.xz: the arrays below as numpy.savez writes them, compressed by xz. Positions (i, j) of an n x n pattern are
keys i n + j, sorted; a file holds the differences of successive keys. Of a symmetric sequence only j <= i is stored.

    about        JSON: name, kind, source (how the sequence was made), symmetric, components, steps
    first        keys of the first pattern
    order        n of the first pattern
    previous_K   of step K = 1, 2, ...: for each row the row of the previous pattern that it was, -1 if it is new; empty if
                 the rows keep their numbers
    removed_K    keys, in the new numbering, that rows kept from the previous pattern lose
    added_K      keys that the pattern has and the previous one, renumbered, lacks

Each vertex stands for `components` unknowns, all of which are coupled with those of its neighbours. Needs numpy and scipy.
"""
import hashlib
import io
import json
import lzma
import os
import pathlib

import numpy
import scipy.sparse

SUFFIX = ".npz.xz"


def keys_of(pattern, symmetric):
    """The sorted keys of a scipy pattern."""
    pattern = pattern.tocoo()
    row, col = (x.astype(numpy.int64) for x in (pattern.row, pattern.col))
    if symmetric:
        row, col = row[col <= row], col[col <= row]
    return numpy.unique(row * pattern.shape[0] + col)


def renumbered(keys, n, previous):
    """The keys that remain if row i of the new pattern is row previous[i] of the old one, whose order is n."""
    to = numpy.full(n, -1, numpy.int64)
    old = numpy.flatnonzero(previous >= 0)
    to[previous[old]] = old
    row, col = to[keys // n], to[keys % n]
    kept = (row >= 0) & (col >= 0)
    return row[kept], col[kept]


def carried(keys, n, previous, symmetric):
    """The keys of the previous pattern in the numbering of the next one."""
    if not previous.size:
        return keys
    row, col = renumbered(keys, n, previous)
    if symmetric:
        row, col = numpy.maximum(row, col), numpy.minimum(row, col)
    return numpy.sort(row * previous.size + col)


def differences(keys):
    return numpy.diff(keys, prepend=0)


def write(file, about, patterns):
    """Writes a sequence. patterns: (scipy pattern, previous or None) of each step; `about` lacks the number of steps."""
    arrays, keys, n, step = {}, None, 0, -1
    for step, (pattern, previous) in enumerate(patterns):
        now = keys_of(pattern, about["symmetric"])
        if step == 0:
            arrays["first"], arrays["order"] = differences(now), numpy.int64(pattern.shape[0])
        else:
            previous = numpy.asarray([] if previous is None else previous, numpy.int32)
            before = carried(keys, n, previous, about["symmetric"])
            arrays[f"previous_{step}"] = previous
            arrays[f"removed_{step}"] = differences(numpy.setdiff1d(before, now, assume_unique=True))
            arrays[f"added_{step}"] = differences(numpy.setdiff1d(now, before, assume_unique=True))
        keys, n = now, pattern.shape[0]
    text = io.BytesIO()
    numpy.savez(text, about=json.dumps({**about, "steps": step}), **arrays)
    part = pathlib.Path(file).with_suffix(f".{os.getpid()}")
    part.write_bytes(lzma.compress(text.getvalue(), preset=6))
    part.replace(file)


class Sequence:
    """A file of patterns, read step by step."""

    def __init__(self, file):
        try:
            with lzma.open(file) as f:
                self.arrays = numpy.load(io.BytesIO(f.read()))
            self.about = json.loads(str(self.arrays["about"]))
        except (OSError, EOFError, ValueError, KeyError, lzma.LZMAError) as e:
            raise SystemExit(f"{file}: no sequence of patterns: {e}") from e

    def __iter__(self):
        """(row_ptr int64, col_idx int32, previous int32 or None) of each pattern, rows sorted."""
        symmetric, n, keys = self.about["symmetric"], int(self.arrays["order"]), numpy.cumsum(self.arrays["first"])
        yield (*self.rows(keys, n), None)
        for step in range(1, self.about["steps"] + 1):
            previous = self.arrays[f"previous_{step}"]
            keys = carried(keys, n, previous, symmetric)
            n = previous.size or n
            removed, added = (numpy.cumsum(self.arrays[f"{what}_{step}"]) for what in ("removed", "added"))
            keys = numpy.union1d(numpy.setdiff1d(keys, removed, assume_unique=True), added)
            yield (*self.rows(keys, n), self.unknowns(previous) if previous.size else None)

    def rows(self, keys, n):
        """(row_ptr, col_idx) of all unknowns."""
        row, col = keys // n, keys % n
        if self.about["symmetric"]:
            off = row != col
            row, col = numpy.concatenate([row, col[off]]), numpy.concatenate([col, row[off]])
        a = scipy.sparse.coo_matrix((numpy.ones(len(row), numpy.int8), (row, col)), shape=(n, n)).tocsr()
        count = self.about["components"]
        if count > 1:
            a = scipy.sparse.kron(a, numpy.ones((count, count), numpy.int8), format="csr")
        a.sort_indices()
        return a.indptr.astype(numpy.int64), a.indices.astype(numpy.int32)

    def unknowns(self, previous):
        """`previous` of vertices as that of unknowns."""
        count = self.about["components"]
        first = previous[:, None] * count + numpy.arange(count)
        return numpy.where(previous[:, None] < 0, -1, first).ravel().astype(numpy.int32)


def sha256(patterns):
    """Of all patterns of a sequence: row_ptr, col_idx and previous of one after the other."""
    found = hashlib.sha256()
    for row_ptr, col_idx, previous in patterns:
        for part in row_ptr, col_idx, previous:
            found.update(b"" if part is None else part.tobytes())
    return found.hexdigest()
