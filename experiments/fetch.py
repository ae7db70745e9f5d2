#!/usr/bin/env python3
"""Downloads the original matrices of the paper from the SuiteSparse Matrix Collection.

Each is checked against datasets.toml (order, nonzeros, sha256 where given) and left as NAME.mtx.gz
in the folder where the program looks for it. A file appears whole or not at all. Standard library
only (Python 3.11 or newer).
"""
import argparse
import gzip
import hashlib
import http.client
import os
import pathlib
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


class FetchError(Exception):
    """Something went wrong with one matrix; the message is one line."""


class Unreachable(FetchError):
    """No connection: the other downloads would fail in the same way."""


def download(url, target, report):
    """Copies `url` to the file `target`; report(done, total) is called now and then."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as source, open(target, "wb") as out:
            total = int(source.headers.get("Content-Length") or 0)
            done = 0
            while block := source.read(BLOCK):
                out.write(block)
                done += len(block)
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


def convert(archive, matrix, target):
    """Streams NAME/NAME.mtx out of the archive into the gzip'd file `target`, checking it.

    Nothing is extracted by path. Returns the check and the sha256 of the uncompressed file.
    """
    member_name = f"{matrix['original']}/{matrix['original']}.mtx"
    try:
        with tarfile.open(archive, "r|gz") as tar:
            for member in tar:
                if not member.isfile() or member.name.removeprefix("./") != member_name:
                    continue
                check = MatrixMarketCheck(member_name)
                digest = hashlib.sha256()
                source = tar.extractfile(member)
                with (open(target, "wb") as raw,
                      gzip.GzipFile("", "wb", 6, raw, mtime=0) as out):
                    while line := source.readline(LONGEST_LINE):
                        check.feed(line)
                        digest.update(line)
                        out.write(line)
                check.finish(matrix["order"], matrix["nnz"])
                return check, digest.hexdigest()
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as e:
        raise FetchError(f"{matrix['url']}: damaged archive ({e})") from e
    raise FetchError(f"{matrix['url']}: the archive has no {member_name}")


def fetch(matrix, folder, report):
    """Puts one matrix into `folder`; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    final = folder / f"{matrix['name']}.mtx.gz"
    work = pathlib.Path(tempfile.mkdtemp(prefix=f".{matrix['name']}.", dir=folder))
    try:
        download(matrix["url"], work / "archive", report)
        check, sha256 = convert(work / "archive", matrix, work / "matrix")
        if matrix.get("sha256", sha256) != sha256:
            raise FetchError(f"{matrix['url']}: sha256 {sha256}, expected {matrix['sha256']}")
        os.replace(work / "matrix", final)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{final}: order {check.rows}, {check.entries - check.zeros} nonzeros and "
          f"{check.zeros} explicit zeros, sha256 {sha256}")
    return final


def progress(name):
    """A reporter that keeps one line on a terminal up to date; silent elsewhere."""
    if not sys.stderr.isatty():
        return lambda done, total: None

    def report(done, total):
        whole = f" of {total >> 20}" if total else ""
        end = "\n" if done == total else ""
        sys.stderr.write(f"\r{name}: {done >> 20}{whole} MiB{end}")
    return report


def select(matrices, only):
    if not only:
        return [m for m in matrices if "file" not in m]
    chosen = []
    for wanted in (w for item in only for w in item.split(",")):
        hits = [m for m in matrices if wanted.lower() in (m["name"].lower(), m["abbr"].lower())]
        if not hits:
            names = ", ".join(m["name"] for m in matrices)
            sys.exit(f"fetch: no matrix is named '{wanted}'; the matrices are {names}")
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
        with open(args.table, "rb") as f:
            matrices = tomllib.load(f)["matrix"]
    except (OSError, tomllib.TOMLDecodeError, KeyError) as e:
        sys.exit(f"fetch: {args.table}: {e}")
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
        if file.is_file() and not args.force:
            print(f"{file}: already there")
            continue
        try:
            fetch(m, args.dir, progress(m["name"]))
        except Unreachable as e:
            print(f"fetch: {m['name']}: {e}", file=sys.stderr)
            return 1
        except (FetchError, OSError) as e:
            print(f"fetch: {m['name']}: {e}", file=sys.stderr)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("fetch: interrupted")
