#!/usr/bin/env python3
"""Fetches matrices of the SuiteSparse Matrix Collection into a folder outside of the tree.

    fetch.py HB/bcsstk15 bbmat              # by group/name, or by the name in a suite
    fetch.py --suite orders-2026 --size S   # what the suite lacks here

The folder is GSOFA_MATRICES, by default ~/.cache/gsofa/matrices; a file in it is GROUP/NAME.mtx.gz and appears complete or not at
all. A broken download leaves GROUP/.NAME.part, which the next fetch continues. The sha256 comes from the suite. If the suite lacks
it, the first fetch writes it to datasets.lock.toml, which belongs in the repository; every later fetch and the program compare.
Exit status: 0 all matrices are here, 1 some are missing, 2 bad usage. Standard library only (Python 3.11 or newer).
"""
import argparse
import fcntl
import gzip
import hashlib
import http.client
import io
import json
import os
import pathlib
import re
import signal
import sys
import tarfile
import tomllib
import urllib.error
import urllib.request
import zlib

import suites
from terminal_text import printable

HERE = pathlib.Path(__file__).resolve().parent
MIRRORS = ["https://suitesparse-collection-website.herokuapp.com/MM", "https://sparse.tamu.edu/MM"]
TIMEOUT_S = 30
BLOCK = 1 << 20
LIMIT = 1 << 38  # bytes of a matrix whose size no suite has


class FetchError(Exception):
    """Something went wrong with one matrix; the message is one line."""


class Unreachable(FetchError):
    """No connection: the other downloads would fail in the same way."""


class Lock:
    """The digests of first fetches: tables [[matrix]] with name (group/name) and sha256."""

    HEAD = ("# Written by fetch.py: the content (uncompressed) of each matrix at its first fetch.\n"
            "# Later fetches must have the same; to accept another one, remove its table.\n")

    def __init__(self, path):
        self.path = path
        self.entries = self.read()

    def read(self):
        try:
            tables = tomllib.loads(self.path.read_text(encoding="utf-8")).get("matrix", [])
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as e:
            raise FetchError(f"{self.path}: {e}") from e
        try:
            entries = {t["name"]: t["sha256"] for t in tables}
        except (KeyError, TypeError) as e:
            raise FetchError(f"{self.path}: [[matrix]] without name or sha256") from e
        if wrong := [name for name, sha256 in entries.items() if not re.fullmatch("[0-9a-f]{64}", str(sha256))]:
            raise FetchError(f"{self.path}: {wrong[0]}: not a sha256")
        return entries

    def check(self, matrix, sha256):
        known, place = (matrix.sha256, "the suite") if matrix.sha256 else (self.entries.get(matrix.source, sha256), self.path)
        if known != sha256:
            raise FetchError(f"sha256 {sha256}, expected {known} by {place}")

    def record(self, matrix, sha256):
        """Keeps the digest of a matrix of a suite that has none. Other fetches may do the same at this time."""
        if matrix.sha256 or not matrix.n or matrix.source in self.entries:
            return
        folder = os.open(self.path.parent, os.O_RDONLY)
        part = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            self.entries = self.read()
            self.check(matrix, sha256)
            self.entries[matrix.source] = sha256
            # A JSON string is TOML, too.
            part.write_text(self.HEAD + "".join(f"\n[[matrix]]\nname = {json.dumps(name)}\nsha256 = \"{self.entries[name]}\"\n"
                                                for name in sorted(self.entries)), encoding="utf-8")
            os.replace(part, self.path)
        except OSError as e:
            raise FetchError(f"{self.path}: the digest cannot be recorded: {e.strerror}") from e
        finally:
            part.unlink(missing_ok=True)
            os.close(folder)


def largest(matrix):
    """Bytes that the Matrix Market file may have: several times what 20 to 30 bytes an entry make."""
    return BLOCK + 64 * matrix.n + 128 * matrix.nnz if matrix.n else LIMIT


class Unpacked(gzip.GzipFile):
    """A gzip'd file of at most `limit` bytes uncompressed, read in pieces of at most BLOCK: tarfile reads the header of a member
    in one piece."""

    def __init__(self, file, limit):
        super().__init__(fileobj=file, mode="rb")
        self.limit = limit

    def check(self, end):
        if end > self.limit:
            raise FetchError(f"more than {self.limit} bytes uncompressed")

    def read(self, size=-1):
        if not 0 <= size <= BLOCK:
            raise FetchError(f"a header of {size} bytes in the archive")
        block = super().read(size)
        self.check(self.tell())
        return block

    def seek(self, offset, whence=io.SEEK_SET):
        self.check(offset)
        return super().seek(offset, whence)


def download(url, out, limit, report):
    """Appends to the file `out` what it lacks of `url`, at most `limit` bytes in all; report(done, total) is called now and then."""
    done = out.seek(0, io.SEEK_END)
    request = urllib.request.Request(url, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as source:
            if done and source.status != 206:  # this server begins anew
                done = 0
                out.truncate(0)
            length = source.headers.get("Content-Length")
            total = done + int(length) if length else 0
            while max(done, total) <= limit and (block := source.read(BLOCK)):
                done += out.write(block)
                report(done, total)
    except urllib.error.HTTPError as e:
        if e.code == 416 and done:  # nothing is lacking
            return
        raise FetchError(f"{url}: HTTP status {e.code} {e.reason}") from e
    except urllib.error.URLError as e:
        if isinstance(e.reason, FileNotFoundError):
            raise FetchError(f"{url}: no such file") from e
        raise Unreachable(f"{url} cannot be reached ({e.reason}); is this machine online?") from e
    except (TimeoutError, ConnectionError) as e:
        raise Unreachable(f"{url}: the connection broke ({e})") from e
    except (ValueError, http.client.HTTPException) as e:
        raise FetchError(f"{url}: {e}") from e
    if max(done, total) > limit:
        out.truncate(0)
        raise FetchError(f"{url}: {max(done, total)} bytes, more than the {limit} that this matrix may have")
    if total and done != total:
        raise FetchError(f"{url}: {done} of {total} bytes arrived")


def check_head(head, matrix):
    """Refuses a file that does not begin as a Matrix Market file of this order. The program checks the entries when it reads them."""
    lines = head.splitlines() or [b""]
    if not lines[0].lower().startswith(b"%%matrixmarket matrix coordinate "):
        raise FetchError("not a Matrix Market coordinate file")
    size = next((line.split() for line in lines[1:] if line.strip() and not line.startswith(b"%")), [])
    if len(size) != 3 or matrix.n and [int(w) if w.isdigit() else -1 for w in size[:2]] != 2 * [matrix.n]:
        raise FetchError(f"{b' x '.join(size[:2]).decode('latin-1') or 'no size'}, expected order {matrix.n}")


def copy_checked(source, matrix, out=None):
    """Copies a Matrix Market file to `out`; returns its sha256."""
    digest = hashlib.sha256()
    head = block = source.read(BLOCK)
    check_head(head, matrix)
    while block:
        digest.update(block)
        if out:
            out.write(block)
        block = source.read(BLOCK)
    return digest.hexdigest()


def convert(archive, matrix, target):
    """Streams NAME/NAME.mtx out of the archive into the gzip'd file `target`; returns its sha256. Nothing is extracted by path."""
    name = matrix.source.split("/")[1]
    archive.seek(0)
    try:
        with Unpacked(archive, 4 * largest(matrix)) as unpacked, tarfile.open(fileobj=unpacked, mode="r:") as tar:
            for member in tar:
                if member.isfile() and member.name.removeprefix("./") == f"{name}/{name}.mtx":
                    if member.size > largest(matrix):
                        raise FetchError(f"{member.size} bytes, more than the {largest(matrix)} that this matrix may have")
                    with open(target, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as out:
                        return copy_checked(tar.extractfile(member), matrix, out)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as e:
        raise FetchError(f"damaged archive ({e})") from e
    raise FetchError(f"the archive has no {name}/{name}.mtx")


def download_from(mirrors, matrix, out):
    """Downloads from the first mirror that has the matrix."""
    for number, base in enumerate(mirrors, 1):
        try:
            download(f"{base.rstrip('/')}/{matrix.source}.tar.gz", out, largest(matrix), progress(matrix.name))
            return
        except FetchError:
            if number == len(mirrors):
                raise


def fetch(matrix, file, lock, args):
    """Puts one matrix into `file`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part, done = file.with_name(f".{file.name}.part"), file.with_name(f".{file.name}.{os.getpid()}")
    with open(part, "a+b") as archive:
        fcntl.flock(archive, fcntl.LOCK_EX)  # another fetch of this matrix may be at work
        keep = True
        try:
            if file.is_file() and not args.force:
                return
            download_from(args.mirror or MIRRORS, matrix, archive)
            keep = False
            sha256 = convert(archive, matrix, done)
            lock.check(matrix, sha256)
            lock.record(matrix, sha256)
            os.replace(done, file)
        finally:
            done.unlink(missing_ok=True)
            archive.flush()
            if not keep or not os.fstat(archive.fileno()).st_size:
                part.unlink(missing_ok=True)
    print(f"{file}: fetched, sha256 {sha256}")


def verify(matrix, file, lock):
    """Compares a fetched file that is here with its digest. A file that is not the matrix is moved away, so that the program does
    not use it."""
    try:
        try:
            with open(file, "rb") as raw, (Unpacked(raw, largest(matrix)) if file.suffix == ".gz" else raw) as source:
                sha256 = copy_checked(source, matrix)
        except (EOFError, zlib.error, gzip.BadGzipFile) as e:
            raise FetchError(f"damaged ({e})") from e
        lock.check(matrix, sha256)
    except FetchError as e:
        aside = file.with_name(file.name + ".refused")
        os.replace(file, aside)
        raise FetchError(f"{file}: {e}; moved to {aside.name}") from e
    lock.record(matrix, sha256)


def progress(name):
    """A reporter that keeps one line on a terminal up to date; silent elsewhere."""
    def report(done, total):
        if sys.stderr.isatty():
            of_total = f" of {total >> 20}" if total else ""
            sys.stderr.write(f"\r{name}: {done >> 20}{of_total} MiB" + "\n" * (done == total))
    return report


def select(words):
    """The matrices that words name: by group/name, or by name where a suite has it."""
    for word in words:
        found = next((m for m in suites.of_collection().values() if word.lower() in (m.name.lower(), m.source.lower())), None)
        if found is None and not re.fullmatch(r"[\w-]+/[\w.+-]+", word):
            raise ValueError(f"no suite has a matrix '{word}'; a matrix of the collection is named GROUP/NAME")
        yield found or suites.Matrix(word.split("/")[1], "", "", word, 0, 0)


def get(matrix, args, lock):
    """Makes sure that a matrix is here. FetchError if not."""
    place = None if args.force or not (found := matrix.locate()) else pathlib.Path(found)
    if place is None:
        fetch(matrix, suites.cache() / f"{matrix.source}.mtx.gz", lock, args)
        return
    if HERE not in place.parents:
        verify(matrix, place, lock)
    print(f"{place}: already here")


def main():
    parser = argparse.ArgumentParser(prog="fetch", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="GROUP/NAME, or a name of a suite")
    parser.add_argument("--suite", help=f"all matrices of a suite: {', '.join(suites.names())}")
    parser.add_argument("--size", default=suites.SIZES, help="only these sizes of the suite, for example SM")
    parser.add_argument("--list", action="store_true", help="say what is here, and fetch nothing")
    parser.add_argument("--force", action="store_true", help="download again what is here")
    parser.add_argument("--mirror", action="append", metavar="URL",
                        help=f"take URL/GROUP/NAME.tar.gz (may be repeated; default: {', '.join(MIRRORS)})")
    parser.add_argument("--lock", type=pathlib.Path, default=suites.LOCK, help="the digests of first fetches")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        chosen = list(select(args.names)) + (suites.load(args.suite).select(args.size) if args.suite else [])
        lock = Lock(args.lock)
        if not chosen:
            raise ValueError("names neither a matrix nor a suite with matrices of this size")
    except (FetchError, ValueError) as e:
        print(f"fetch: {printable(e)}", file=sys.stderr)
        return 2
    if args.list:
        for m in chosen:
            print(f"{m.name:32} {m.size:1} {m.n:>9} {m.nnz:>11}  {m.locate() or 'absent'}")
        return 0
    missing, online = [], True
    for m in (m for m in chosen if m.is_fetched()):
        try:
            if online or m.locate():
                get(m, args, lock)
                continue
        except (FetchError, OSError) as e:
            online = online and not isinstance(e, Unreachable)
            print(f"fetch: {m.source}: {printable(e)}", file=sys.stderr)
        missing.append(m.source)
    if missing:
        print(f"fetch: missing: {', '.join(missing)}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("fetch: interrupted")
