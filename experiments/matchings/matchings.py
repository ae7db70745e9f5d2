#!/usr/bin/env python3
"""Operations in AMD's order after each row matching: a line of CSV for each input and matching.

  matchings.py --gsofa PROGRAM --out FILE.csv [--folder FOLDER]... INPUTS.tsv
  matchings.py --gsofa PROGRAM --out FILE.csv --picture MATRIX.mtx.gz      # the entries that plots/matchings.py draws

INPUTS.tsv has a family, `given` or `shuffled`, and an input (a file of a --folder, without .mtx.gz, or gen:SPEC) in each line. The rows
of a `shuffled` file are permuted with three seeds, and each number is the median. `base` is what operations are compared with: of the file
before it was shuffled, without a matching, or of the matching `maximum`.
"""
import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import scipy.io

MATCHINGS = ("maximum", "symmetric", "weighted")
COLUMNS = ("family", "matrix", "rows", "n", "nnz", "matching", "base_operations", "operations", "symmetric_entries", "seconds")


def operations(gsofa, matrix, match):
    done = subprocess.run([gsofa, "order", matrix, "--match", match, "--order", "amd", "--json"], capture_output=True, text=True, check=True)
    record = json.loads(done.stdout.splitlines()[-1])
    return record["result"]["flops"], record["matrix"]


def matchings(gsofa, matrix):
    """{matching: (symmetric entries, seconds)} as the program prints them."""
    done = subprocess.run([gsofa, "match", matrix, "--matching", ",".join(MATCHINGS), "--repeat", "3"], capture_output=True, text=True, check=True)
    cells = (line.replace(",", "").split() for line in done.stdout.splitlines()[1:])
    return {row[0]: (int(row[4]), float(row[2]) / 1e3) for row in cells if row and row[0] in MATCHINGS}


def shuffled(matrix, seed, folder):
    a = scipy.io.mmread(matrix).tocsr()
    scipy.io.mmwrite(folder / "shuffled.mtx", a[numpy.random.default_rng(seed).permutation(a.shape[0])], symmetry="general")
    return folder / "shuffled.mtx"


def measured(gsofa, matrix, seed, folder):
    """The fields of a line for each matching."""
    copy = shuffled(matrix, seed, folder) if seed else matrix
    base = operations(gsofa, matrix, "none" if seed else "maximum")[0]
    for matching, (entries, seconds) in matchings(gsofa, copy).items():
        flops, header = operations(gsofa, copy, matching)
        yield {"n": header["n"], "nnz": header["nnz"], "matching": matching, "base_operations": base, "operations": flops,
               "symmetric_entries": entries, "seconds": seconds}


def entries(gsofa, matrix, folder):
    """(picture, row, column, 1 where the mirror is an entry too) of a matrix with shuffled rows, and after two matchings."""
    copy = shuffled(matrix, 1, folder)
    a = scipy.io.mmread(copy).tocsr()
    for picture in ("shuffled", "maximum", "symmetric"):
        rows = numpy.arange(a.shape[0])
        if picture != "shuffled":
            subprocess.run([gsofa, "match", copy, "--matching", picture, "--rows-out", folder / "rows"], check=True, stdout=subprocess.DEVNULL)
            rows = numpy.loadtxt(folder / "rows", dtype=int)
        found = set(zip(*map(numpy.ndarray.tolist, a[rows].nonzero())))
        yield from ((picture, row, column, int((column, row) in found)) for row, column in sorted(found))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--gsofa", required=True, type=Path)
    p.add_argument("--out", required=True, type=Path)
    p.add_argument("--folder", action="append", type=Path, default=[])
    p.add_argument("--picture", type=Path)
    p.add_argument("inputs", type=Path, nargs="?")
    args = p.parse_args()
    if (args.picture is None) == (args.inputs is None):
        p.error("expected INPUTS.tsv or --picture MATRIX")
    with open(args.out, "w", newline="", encoding="utf-8") as out, tempfile.TemporaryDirectory() as folder:
        if args.picture:
            csv.writer(out, lineterminator="\n").writerows([("picture", "row", "column", "mirror"), *entries(args.gsofa, args.picture, Path(folder))])
            return
        table = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        table.writeheader()
        for family, rows, name in (line.split("\t") for line in args.inputs.read_text(encoding="utf-8").splitlines()):
            matrix = name if name.startswith("gen:") else next((f / f"{name}.mtx.gz" for f in args.folder if (f / f"{name}.mtx.gz").is_file()), None)
            if matrix is None:
                sys.exit(f"matchings.py: {name}: no file in {', '.join(map(str, args.folder)) or 'a --folder'}")
            runs = [line for seed in ((1, 2, 3) if rows == "shuffled" else (0,))
                    for line in measured(args.gsofa, matrix, seed, Path(folder))]
            for matching in MATCHINGS:
                mine = [line for line in runs if line["matching"] == matching]
                if mine:
                    table.writerow({"family": family, "matrix": name, "rows": rows, **mine[0],
                                    **{key: statistics.median(line[key] for line in mine) for key in ("operations", "symmetric_entries", "seconds")}})
            out.flush()


if __name__ == "__main__":
    main()
