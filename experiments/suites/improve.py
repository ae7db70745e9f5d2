#!/usr/bin/env python3
"""Finds orders with fewer operations than the best known ones.

    improve.py --gsofa build/release/gsofa [--suite orders-2026] [--size S] [--order SPEC]... [--seeds 4] [NAME...]

`gsofa order` computes each order with each seed, one after the other. An order with fewer operations than the best known order replaces
it in best/: best.tsv has operations, order and seed for each matrix, and NAME.perm.gz has the permutation if n is at most 20,000. A
SPEC may be the file of a permutation.
"""
import argparse
import csv
import gzip
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
import json_lines  # noqa: E402
import suites  # noqa: E402

COLUMNS = ["name", "sha256", "operations", "order", "seed"]
STORED = 20_000  # rows of a matrix whose permutation is in the repository
DISSECTION = "cpu_nested_dissection"
ORDERS = ["amd", "amf", "amf:score=degree", "scotch", "tournament", "metis", "metis:nseps=8", "metis:ufactor=30", DISSECTION,
          f"{DISSECTION}:direction=best", f"{DISSECTION}:room=8,tries=16,replicas=8", f"{DISSECTION}:leaf_order=300,tries=16"]
UNSEEDED = {"amd", "amf", "amf:score=degree", "tournament"}


def write(folder, best, matrix, permutation):
    """Writes the permutation first: a table never names an order that is not here."""
    if matrix.n <= STORED:
        (folder / f"{matrix.name}.perm.gz").write_bytes(gzip.compress(permutation, mtime=0))
    part = folder / ".best.tsv"
    with open(part, "w", encoding="utf-8", newline="") as f:
        table = csv.DictWriter(f, COLUMNS, delimiter="\t", lineterminator="\n")
        table.writeheader()
        table.writerows(sorted(best.values(), key=lambda row: row["name"]))
    part.replace(folder / "best.tsv")


def computed(gsofa, matrix, order, seed, file):
    """Operations of an order, which goes to the file; None if it fails."""
    command = [gsofa, "order", "--matrix", matrix.locate(), "--order", order, "--seed", str(seed), "--threads", "1", "--order-out", file, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return next((r["result"]["flops"] for r in json_lines.lines_of(done.stdout, "gsofa") if r["status"] == "pass"), None)


def improve(args, matrix, best):
    with tempfile.TemporaryDirectory() as scratch:
        for order, seed in ((o, s) for o in args.order or ORDERS for s in ([-1] if o in UNSEEDED else range(1, args.seeds + 1))):
            file = pathlib.Path(scratch) / "order.perm"
            found = computed(args.gsofa, matrix, order, seed, file)
            if found and found < float(best.get(matrix.sha256, {}).get("operations", "inf")):
                best[matrix.sha256] = dict(zip(COLUMNS, (matrix.name, matrix.sha256, f"{found:.0f}", order, seed)))
                write(args.folder, best, matrix, file.read_bytes())
                print(f"{matrix.name}: {found:.6g} operations by {order}, seed {seed}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", help="matrices of the suite; default: all")
    parser.add_argument("--gsofa", required=True, help="the program")
    parser.add_argument("--suite", default="orders-2026")
    parser.add_argument("--size", default="S", help="sizes; default: %(default)s")
    parser.add_argument("--order", action="append", metavar="SPEC", help="try this order instead of the usual ones (may be repeated)")
    parser.add_argument("--seeds", type=int, default=4, help="seeds of each order; default: %(default)s")
    parser.add_argument("--folder", type=pathlib.Path, default=HERE / "best", help="default: %(default)s")
    args = parser.parse_args()
    with open(args.folder / "best.tsv", encoding="utf-8", newline="") as f:
        best = {row["sha256"]: row for row in csv.DictReader(f, delimiter="\t")}
    for matrix in suites.load(args.suite).select(args.size):
        if matrix.locate() and (not args.names or matrix.name in args.names):
            improve(args, matrix, best)


if __name__ == "__main__":
    main()
