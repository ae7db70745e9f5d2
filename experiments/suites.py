"""Suites: frozen lists of matrices. suites/README.md explains them. Standard library only (Python 3.11 or newer).

    for matrix in suites.load("orders-2026").select(sizes="S"):
        if where := matrix.locate():  # a path or gen:SPEC, as `gsofa --matrix` takes it
"""
import dataclasses
import functools
import hashlib
import os
import pathlib
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
SUITES = HERE / "suites"
GENERATED = "gen:"
SIZES = "SML"
LOCK = HERE / "datasets.lock.toml"  # written by fetch.py


def cache():
    """The folder of fetched matrices, outside of the tree."""
    return pathlib.Path(os.environ.get("GSOFA_MATRICES") or pathlib.Path.home() / ".cache" / "gsofa" / "matrices")


@functools.cache
def bundled():
    """(file, sha256) of the matrices in the repository, by their group/name in the SuiteSparse Matrix Collection."""
    tables = tomllib.loads((HERE / "datasets.toml").read_text(encoding="utf-8"))["bundled"]
    return {t["source"]: (HERE / t["file"], t["sha256"]) for t in tables}


@dataclasses.dataclass(frozen=True)
class Matrix:
    """`source`: gen:SPEC, a file of the repository (matrices/...), or group/name of the SuiteSparse Matrix Collection. `sha256`: of
    the uncompressed file; of the specification if the matrix is generated; "" until the first fetch fixes it."""
    name: str
    family: str
    size: str
    source: str
    n: int
    nnz: int
    sha256: str = ""

    def is_generated(self):
        return self.source.startswith(GENERATED)

    def is_fetched(self):
        """True if the matrix comes from the collection."""
        return not self.is_generated() and not self.source.startswith("matrices/")

    def places(self):
        """The files that may hold the matrix, the best first."""
        if not self.is_fetched():
            return [HERE / self.source]
        file, sha256 = bundled().get(self.source, (None, None))
        found = [folder / f"{stem}{ending}" for folder, stem in
                 ((cache(), self.source), (HERE.parent / ".cache" / "matrices", self.name)) for ending in (".mtx.gz", ".mtx")]
        return found + [file] * (file is not None and sha256 == self.sha256)

    def locate(self):
        """What `gsofa --matrix` takes, a path or a specification; None if this machine lacks the file."""
        if self.is_generated():
            return self.source
        return next((str(p) for p in self.places() if p.is_file()), None)


@dataclasses.dataclass(frozen=True)
class Suite:
    name: str
    version: int
    matrices: tuple

    def select(self, sizes=SIZES, families=None):
        """The matrices of these sizes, and families if they are given, in the order of the suite."""
        return [m for m in self.matrices if m.size in sizes and (families is None or m.family in families)]


def names():
    return sorted(p.stem for p in SUITES.glob("*.toml"))


@functools.cache
def locked():
    """The sha256 of matrices that the collection's first fetch has fixed, by group/name."""
    tables = tomllib.loads(LOCK.read_text(encoding="utf-8"))["matrix"] if LOCK.exists() else []
    return {t["name"]: t["sha256"] for t in tables}


def matrix_of(table):
    source = table["source"]
    digest = hashlib.sha256(source.encode()).hexdigest() if source.startswith(GENERATED) else locked().get(source, "")
    return Matrix(**{"sha256": digest} | table)


def load(name):
    """The suite of this name. ValueError, one line, if there is none or its file is wrong."""
    if name not in names():
        raise ValueError(f"no suite is named '{name}'; the suites are {', '.join(names())}")
    file = SUITES / f"{name}.toml"
    try:
        suite = tomllib.loads(file.read_text(encoding="utf-8"))
        return Suite(name, suite["version"], tuple(map(matrix_of, suite["matrices"])))
    except (KeyError, TypeError, ValueError) as e:
        raise ValueError(f"{file}: {e}") from e


@functools.cache
def of_collection():
    """The matrices of all suites that come from the collection, by group/name."""
    return {m.source: m for name in names() for m in load(name).matrices if m.is_fetched()}
