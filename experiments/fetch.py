#!/usr/bin/env python3
"""Downloads the original matrices of the paper from the SuiteSparse Matrix Collection.

Each is checked against datasets.toml (order, nonzeros, sha256 where given) and left as NAME.mtx.gz
in the folder where the program looks for it. A file appears whole or not at all. The sha256 of a
first fetch goes to the lock file next to the table, datasets.lock.toml, which belongs in the
repository: every later fetch, every file that is there already and the program itself must agree
with it. Standard library only (Python 3.11 or newer).
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
import shutil
import signal
import sys
import tarfile
import tempfile
import tomllib
import urllib.error
import urllib.request
import zlib

HERE = pathlib.Path(__file__).resolve().parent
CACHE = HERE.parent / ".cache" / "matrices"
TIMEOUT_S = 30
BLOCK = 1 << 20
LONGEST_LINE = 1 << 16
LONGEST_HEADER = 1 << 20  # of a member of an archive: a long name, extended attributes


class FetchError(Exception):
    """Something went wrong with one matrix; the message is one line."""


class Unreachable(FetchError):
    """No connection: the other downloads would fail in the same way."""


class Lock:
    """The digests of first fetches: tables [[matrix]] with name, url, sha256 and bytes."""

    HEAD = ("# Written by fetch.py: the content (uncompressed) of each matrix at its first fetch.\n"
            "# Later fetches must have the same; to accept another one, remove its table.\n")

    def __init__(self, path):
        self.path = path
        self.entries = self.read()

    def read(self):
        try:
            with open(self.path, "rb") as f:
                tables = tomllib.load(f).get("matrix", [])
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as e:
            raise FetchError(f"{self.path}: {e}") from e
        entries = {}
        for t in tables if isinstance(tables, list) else [tables]:
            if not (isinstance(t, dict) and all(isinstance(t.get(k), str) for k in ("name", "url")) and
                    isinstance(t.get("bytes"), int) and
                    re.fullmatch("[0-9a-f]{64}", str(t.get("sha256")))):
                raise FetchError(f"{self.path}: [[matrix]] without name, url, sha256 or bytes: {t}")
            entries[t["name"]] = t
        return entries

    def digest(self, matrix):
        """(sha256 that a matrix must have, the file that says so); None where none does."""
        if "sha256" in matrix:
            return matrix["sha256"], "the table"
        if matrix["name"] in self.entries:
            return self.entries[matrix["name"]]["sha256"], str(self.path)
        return None

    def check(self, matrix, place, sha256):
        expected = self.digest(matrix)
        if expected and expected[0] != sha256:
            raise FetchError(f"{place}: sha256 {sha256}, expected {expected[0]} by {expected[1]}")

    def record(self, matrix, sha256, size):
        """Keeps the digest unless one is known. Other fetches may do the same at this time."""
        if self.digest(matrix):
            return
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            self.entries = self.read()
            self.check(matrix, matrix["url"], sha256)
            self.entries[matrix["name"]] = {"name": matrix["name"], "url": matrix["url"],
                                            "sha256": sha256, "bytes": size}
            part = self.path.with_name(f".{self.path.name}.{os.getpid()}")
            try:
                with open(part, "w", encoding="utf-8") as out:
                    out.write(self.HEAD)
                    for name in sorted(self.entries):
                        # A JSON string or integer is TOML too.
                        out.write("\n[[matrix]]\n" + "".join(
                            f"{k} = {json.dumps(v)}\n" for k, v in self.entries[name].items()))
                    out.flush()
                    os.fsync(out.fileno())
                os.replace(part, self.path)
            finally:
                part.unlink(missing_ok=True)
        except OSError as e:
            raise FetchError(f"{self.path}: the digest cannot be recorded: {e.strerror}") from e
        finally:
            os.close(folder)


def largest(matrix):
    """Bytes that the Matrix Market file may have: several times what 20 to 30 bytes an entry make."""
    return (1 << 20) + 64 * matrix["order"] + 128 * matrix["nnz"]


class Unpacked(gzip.GzipFile):
    """A gzip'd file of at most `limit` bytes uncompressed, read in pieces of at most LONGEST_HEADER: tarfile reads
    the header of a member in one piece."""

    def __init__(self, file, limit, what):
        super().__init__(file)
        self.limit, self.what = limit, what

    def check(self, end):
        if end > self.limit:
            raise FetchError(f"{self.what}: more than {self.limit} bytes uncompressed")

    def read(self, size=-1):
        if not 0 <= size <= LONGEST_HEADER:
            raise FetchError(f"{self.what}: a header of {size} bytes in the archive")
        block = super().read(size)
        self.check(self.tell())
        return block

    def seek(self, offset, whence=io.SEEK_SET):
        self.check(offset)
        return super().seek(offset, whence)


def download(url, target, limit, report):
    """Copies `url`, at most `limit` bytes, to the file `target`; report(done, total) is called now
    and then."""
    def too_large(size):
        raise FetchError(f"{url}: {size} bytes, more than the {limit} that this matrix may have")
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as source, open(target, "wb") as out:
            total = int(source.headers.get("Content-Length") or 0)
            done = 0
            if total > limit:
                too_large(total)
            while block := source.read(BLOCK):
                out.write(block)
                done += len(block)
                if done > limit:
                    too_large(f"at least {done}")
                report(done, total)
    except urllib.error.HTTPError as e:
        raise FetchError(f"{url}: HTTP status {e.code} {e.reason}") from e
    except urllib.error.URLError as e:
        if isinstance(e.reason, FileNotFoundError):
            raise FetchError(f"{url}: no such file") from e
        raise Unreachable(f"{url} cannot be reached ({e.reason}); is this machine online?") from e
    except (TimeoutError, ConnectionError) as e:
        raise Unreachable(f"{url}: the connection broke ({e})") from e
    except (ValueError, http.client.HTTPException) as e:
        raise FetchError(f"{url}: {e}") from e
    if total and done != total:
        raise FetchError(f"{url}: {done} of {total} bytes arrived")


class MatrixMarketCheck:
    """Reads the lines of a coordinate file; knows order, nonzeros and explicit zeros at its end."""

    def __init__(self, name):
        self.name = name
        self.rows = self.cols = self.declared = -1
        self.stored = 0  # entries seen
        self.entries = 0  # positions of the matrix, both triangles of symmetric storage
        self.zeros = 0  # positions among them whose value is 0
        self.line = 0
        self.banner = None

    def fail(self, why):
        raise FetchError(f"{self.name}:{self.line}: {why}")

    def feed(self, line):
        self.line += 1
        if len(line) >= LONGEST_LINE:
            self.fail("the line is too long")
        if self.banner is None:
            words = line.decode("latin-1").lower().split()
            if (len(words) != 5 or words[:3] != ["%%matrixmarket", "matrix", "coordinate"]
                    or words[4] not in ("general", "symmetric", "skew-symmetric", "hermitian")):
                self.fail("not a Matrix Market coordinate file")
            self.banner = words
            self.mirrored = words[4] != "general"
            self.values = {"real": 1, "integer": 1, "complex": 2, "pattern": 0}.get(words[3])
            if self.values is None:
                self.fail(f"unknown field {words[3]}")
            return
        if line.startswith(b"%") or not line.strip():
            return
        words = line.split()
        try:
            if self.declared < 0:
                self.rows, self.cols, self.declared = (int(w) for w in words)
                return
            i, j = int(words[0]), int(words[1])
            if len(words) != 2 + self.values:
                raise ValueError
            zero = self.values > 0 and not any(float(w) for w in words[2:])
        except (ValueError, IndexError):
            self.fail("not an entry")
        if not (1 <= i <= self.rows and 1 <= j <= self.cols):
            self.fail("index out of range")
        copies = 2 if self.mirrored and i != j else 1
        self.stored += 1
        self.entries += copies
        if zero:
            self.zeros += copies

    def finish(self, order, nnz):
        if self.stored != self.declared:
            self.fail(f"{self.stored} entries where {self.declared} are declared")
        if (self.rows, self.cols) != (order, order):
            raise FetchError(f"{self.name}: {self.rows} x {self.cols}, expected order {order}")
        # The collection counts explicit zeros apart from the nonzeros; the files hold both.
        if nnz not in (self.entries, self.entries - self.zeros):
            raise FetchError(f"{self.name}: {self.entries} entries, {self.zeros} of them explicit "
                             f"zeros; expected {nnz} nonzeros")


def copy_checked(source, matrix, name, out=None):
    """Reads a Matrix Market file to its end, checks it and copies it to `out`.

    Returns the check, the sha256 and the bytes read.
    """
    check = MatrixMarketCheck(name)
    digest = hashlib.sha256()
    size, limit = 0, largest(matrix)
    while line := source.readline(LONGEST_LINE):
        size += len(line)
        if size > limit:
            check.fail(f"more than the {limit} bytes that this matrix may have")
        check.feed(line)
        digest.update(line)
        if out:
            out.write(line)
    check.finish(matrix["order"], matrix["nnz"])
    return check, digest.hexdigest(), size


def convert(archive, matrix, target):
    """Streams NAME/NAME.mtx out of the archive into the gzip'd file `target`, checking it.

    Nothing is extracted by path. Returns the check, the sha256 and the size of the uncompressed file.
    """
    member_name = f"{matrix['original']}/{matrix['original']}.mtx"
    try:
        with (Unpacked(archive, 4 * largest(matrix), matrix["url"]) as unpacked,
              tarfile.open(fileobj=unpacked, mode="r:") as tar):
            for member in tar:
                if not member.isfile() or member.name.removeprefix("./") != member_name:
                    continue
                with (open(target, "wb") as raw,
                      gzip.GzipFile("", "wb", 6, raw, mtime=0) as out):
                    return copy_checked(tar.extractfile(member), matrix, member_name, out)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as e:
        raise FetchError(f"{matrix['url']}: damaged archive ({e})") from e
    raise FetchError(f"{matrix['url']}: the archive has no {member_name}")


def fetch(matrix, folder, lock, report):
    """Puts one matrix into `folder`; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    final = folder / f"{matrix['name']}.mtx.gz"
    work = pathlib.Path(tempfile.mkdtemp(prefix=f".{matrix['name']}.", dir=folder))
    try:
        download(matrix["url"], work / "archive", largest(matrix), report)
        check, sha256, size = convert(work / "archive", matrix, work / "matrix")
        lock.check(matrix, matrix["url"], sha256)
        lock.record(matrix, sha256, size)
        with open(work / "matrix", "rb") as written:
            os.fsync(written.fileno())
        os.replace(work / "matrix", final)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{final}: order {check.rows}, {check.entries - check.zeros} nonzeros and "
          f"{check.zeros} explicit zeros, sha256 {sha256}")
    return final


def verify(matrix, file, lock):
    """Compares a file that is there already with its digest, or records it where there is none.

    A file that is not the matrix is moved away, so that the program does not use it.
    """
    try:
        try:
            with Unpacked(file, largest(matrix), file) as source:
                if lock.digest(matrix):
                    digest = hashlib.sha256()
                    while block := source.read(BLOCK):
                        digest.update(block)
                    lock.check(matrix, file, digest.hexdigest())
                    return
                _, sha256, size = copy_checked(source, matrix, str(file))
        except (EOFError, zlib.error, gzip.BadGzipFile) as e:
            raise FetchError(f"{file}: damaged ({e})") from e
    except FetchError as e:
        aside = file.with_name(file.name + ".refused")
        os.replace(file, aside)
        raise FetchError(f"{e}; moved to {aside.name}") from e
    lock.record(matrix, sha256, size)


def shown(text):
    """`text` without what a terminal would act on."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def progress(name):
    """A reporter that keeps one line on a terminal up to date; silent elsewhere."""
    if not sys.stderr.isatty():
        return lambda done, total: None

    def report(done, total):
        whole = f" of {total >> 20}" if total else ""
        end = "\n" if done == total else ""
        sys.stderr.write(f"\r{name}: {done >> 20}{whole} MiB{end}")
    return report


def read_table(path):
    """The [[matrix]] tables of a datasets.toml; FetchError if one lacks what a fetch needs."""
    try:
        with open(path, "rb") as f:
            matrices = tomllib.load(f)["matrix"]
    except KeyError as e:
        raise FetchError(f"{path}: no [[matrix]]") from e
    except (OSError, ValueError) as e:
        raise FetchError(f"{path}: {e}") from e
    if not isinstance(matrices, list):
        raise FetchError(f"{path}: [[matrix]] is not an array of tables")
    needed = {"name": str, "abbr": str, "original": str, "url": str, "order": int, "nnz": int}
    for number, m in enumerate(matrices, 1):
        for key, kind in needed.items():
            if not isinstance(m, dict) or not isinstance(m.get(key), kind):
                raise FetchError(f"{path}: [[matrix]] {number} has no '{key}' of type {kind.__name__}")
        if not isinstance(m.get("sha256", ""), str):
            raise FetchError(f"{path}: [[matrix]] {number}: sha256 is not a string")
    return matrices


def select(matrices, only):
    if not only:
        return [m for m in matrices if "file" not in m]
    chosen = []
    for wanted in (w for item in only for w in item.split(",")):
        hits = [m for m in matrices if wanted.lower() in (m["name"].lower(), m["abbr"].lower())]
        if not hits:
            names = ", ".join(m["name"] for m in matrices)
            sys.exit(f"fetch: no matrix is named '{shown(wanted)}'; the matrices are {names}")
        chosen += [m for m in hits if m not in chosen]
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--dir", type=pathlib.Path, default=CACHE,
                        help="where to put the files (default: %(default)s, where the program "
                             "looks for them)")
    parser.add_argument("--only", action="append", metavar="NAME[,NAME]",
                        help="names or abbreviations; default: all that are not in the repository")
    parser.add_argument("--list", action="store_true", help="say what is there and stop")
    parser.add_argument("--force", action="store_true", help="download again what is there")
    parser.add_argument("--table", type=pathlib.Path, default=HERE / "datasets.toml",
                        help="the table of matrices (default: %(default)s)")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        matrices = read_table(args.table)
        lock = Lock(args.table.with_suffix(".lock.toml"))
    except FetchError as e:
        sys.exit(f"fetch: {shown(e)}")
    chosen = select(matrices, args.only)
    if args.list:
        for m in chosen if args.only else matrices:
            file = args.dir / f"{m['name']}.mtx.gz"
            bundled = args.table.parent / m["file"] if "file" in m else None
            place = next((p for p in (file, bundled) if p and p.is_file()), "absent")
            print(f"{m['abbr']:2}  {m['name']:16}  {m['order']:>9}  {m['nnz']:>10}  {place}")
        return 0
    failed = False
    for m in chosen:
        file = args.dir / f"{m['name']}.mtx.gz"
        try:
            if file.is_file() and not args.force:
                verify(m, file, lock)
                print(f"{file}: already there")
            else:
                fetch(m, args.dir, lock, progress(m["name"]))
        except Unreachable as e:
            print(f"fetch: {m['name']}: {shown(e)}", file=sys.stderr)
            return 1
        except (FetchError, OSError) as e:
            print(f"fetch: {m['name']}: {shown(e)}", file=sys.stderr)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("fetch: interrupted")
