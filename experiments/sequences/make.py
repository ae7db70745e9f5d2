#!/usr/bin/env python3
"""Makes sequences of patterns: FOLDER/NAME.npz.xz (sequence.py has the format).

    python3 make.py FOLDER                                   all that can be made here
    python3 make.py FOLDER --only 'rewired*'                 some
    python3 make.py FOLDER --matrices DIR --kkt DIR          also those of real matrices that are not bundled
    python3 make.py FOLDER --from NAME A.mtx B.mtx.gz ...    a sequence of Matrix Market files

contact and remeshing need Netgen and NGSolve (pip install ngsolve scipy). made.tsv has the sizes and the sha256 of the
sequences that were measured; a sequence that differs from it is reported as an error.
"""
import argparse
import collections
import csv
import fnmatch
import functools
import pathlib
import sys

try:
    import numpy
    import scipy.io
    import changes
    import sequence
except ImportError as e:
    sys.exit(f"make.py: {e}: pip install scipy")

HERE = pathlib.Path(__file__).resolve().parent
BUNDLED = HERE.parent / "matrices"
SHARES = {"001": 1e-4, "01": 1e-3, "1": 0.01, "5": 0.05, "20": 0.2}  # of the vertices, in percent without the point
COLUMNS = ("name", "kind", "n", "entries", "steps", "sha256")


def table(matrices, kkt):
    """{name: (kind, how, components, symmetric, function of no arguments that makes the patterns)}"""
    found = {}

    def add(name, kind, make, *given, components=1, symmetric=True, how="", **options):
        words = ",".join([*map(str, given), *(f"{k}={v}" for k, v in options.items())])
        found[name] = (kind, how or f"{make.__name__}:{words}", components, symmetric, functools.partial(make, *given, **options))

    for dim in 2, 3:
        for name, share in SHARES.items():
            add(f"rewired{dim}_{name}", "rewired", changes.rewired, n=100_000, dim=dim, share=share, steps=5)
    add("rewired2_long", "rewired", changes.rewired, n=20_000, dim=2, share=1e-3, steps=100)
    add("rewired2_small", "rewired", changes.rewired, n=1_000, dim=2, share=0.01, steps=3)
    add("contact", "contact", changes.two_bodies, cells=60_000, steps=20, components=3)
    add("contact_small", "contact", changes.two_bodies, cells=600, steps=20, components=3)
    add("remesh_plate", "remeshing", changes.refined, body="plate", cells=180_000, levels=3, steps=10)
    add("remesh_block", "remeshing", changes.refined, body="block_with_holes", cells=120_000, levels=3, steps=10)
    add("remesh_small", "remeshing", changes.refined, body="plate", cells=4_000, levels=3, steps=10)
    for name in ("add32", "circuit_2", "memplus", "onetone1", "G2_circuit"):
        file = next((d / f"{name}.mtx.gz" for d in (BUNDLED, matrices) if d and (d / f"{name}.mtx.gz").exists()), None)
        if file:
            add(f"switching_{name}", "circuit", switching, file, share=0.003, steps=20, symmetric=False,
                how=f"switching:{name},share=0.003,steps=20")
    add("limits_grid", "interior point", limits, 60, steps=15, dropped=True)
    for file in sorted(kkt.glob("kkt_7336*.mtx.gz")) if kkt else ():
        name = file.name.split(".")[0]
        for dropped in False, True:
            add(f"{name}_{'dropped' if dropped else 'emptied'}", "interior point", active_rows, file, steps=15, dropped=dropped,
                how=f"active_set:{name},steps=15,dropped={dropped}")
    return found


def switching(file, **options):
    return changes.switching(scipy.io.mmread(file), **options)


def active_rows(file, **options):
    return changes.active_set(scipy.io.mmread(file), **options)


def limits(nx, **options):
    """changes.active_set() for potentials on a grid of nx x nx and a limit on the flow of each edge."""
    at = numpy.arange(nx * nx).reshape(nx, nx)
    edges = numpy.concatenate([numpy.stack(pair, axis=-1).reshape(-1, 2)
                               for pair in ((at[1:], at[:-1]), (at[:, 1:], at[:, :-1]))])
    row = nx * nx + numpy.arange(len(edges))
    i, j = numpy.concatenate([edges, numpy.column_stack([row, edges[:, 0]]), numpy.column_stack([row, edges[:, 1]])]).T
    return changes.active_set(changes.symmetric(nx * nx + len(edges), i, j), **options)


def given_files(files):
    """The patterns of Matrix Market files, for write(); rows keep their numbers."""
    return ((scipy.io.mmread(file), None) for file in files)


def is_symmetric(files):
    patterns = [scipy.io.mmread(file).astype(bool).tocsr() for file in files]
    return all((p != p.T).nnz == 0 for p in patterns)


def write(folder, name, kind, how, components, symmetric, make):
    """Writes a sequence and returns its row of made.tsv."""
    file = folder / f"{name}{sequence.SUFFIX}"
    about = {"name": name, "kind": kind, "source": how, "symmetric": symmetric, "components": components}
    sequence.write(file, about, make())
    made = sequence.Sequence(file)
    row_ptr, col_idx, _ = collections.deque(made, maxlen=1)[0]
    return {"name": name, "kind": kind, "n": str(row_ptr.size - 1), "entries": str(col_idx.size),
            "steps": str(made.about["steps"]), "sha256": sequence.sha256(made)}


def recorded():
    """{name: its row of made.tsv}"""
    with open(HERE / "made.tsv", encoding="utf-8", newline="") as f:
        return {row["name"]: row for row in csv.DictReader(f, delimiter="\t")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="receives the files; files that are there are made again")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="only sequences whose name matches")
    parser.add_argument("--matrices", type=pathlib.Path, help="folder of Matrix Market files (memplus.mtx.gz, ...)")
    parser.add_argument("--kkt", type=pathlib.Path, help="folder of the KKT patterns of power grids")
    parser.add_argument("--from", dest="files", nargs="+", metavar=("NAME", "FILE"), help="a sequence of these files alone")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.files:
        name, *files = args.files
        row = write(args.folder, name, "files", "files:" + ",".join(pathlib.Path(f).name for f in files), 1,
                    is_symmetric(files), functools.partial(given_files, files))
        print(*row.values(), sep="\t")
        return 0
    known, differs = recorded(), False
    for name, how in table(args.matrices, args.kkt).items():
        if not fnmatch.fnmatch(name, args.only):
            continue
        try:
            row = write(args.folder, name, *how)
        except ImportError as e:
            print(f"make.py: {name}: left out: {e}", file=sys.stderr)
            continue
        print(*row.values(), sep="\t", flush=True)
        if known.get(name, row)["sha256"] != row["sha256"]:
            print(f"make.py: {name}: made.tsv has sha256 {known[name]['sha256']}", file=sys.stderr)
            differs = True
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
