#!/usr/bin/env python3
"""Measures the stand-ins of datasets.toml and writes datasets.md, which compares them with the paper's numbers.

Every number of a stand-in comes from `gsofa info` in this run: METIS on A + A^T, postorder of the
elimination tree, exact fill. Standard library only (Python 3.11 or newer).
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time
import tomllib

from fetch import MIRRORS

HERE = pathlib.Path(__file__).resolve().parent


def measure(program, spec):
    """Facts about the matrix `spec`, with the seconds and the peak memory of measuring them."""
    command = [str(program), "info", "--json", "--order", "metis", "--matrix", spec]
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        text = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"make_datasets_md: {' '.join(command)}: exit {child.returncode}")
    facts = json.loads(text)
    facts["seconds"] = time.monotonic() - begin
    facts["peak_mib"] = usage.ru_maxrss / 1024
    return facts


def percent(value, target):
    return f"{100 * (value / target - 1):+.1f} %"


def paper_row(m):
    source = f"{m['group']}/{m['original']}"
    return (f"| {m['abbr']} | [{source}]({MIRRORS[0]}/{source}.tar.gz) | paper | {m['order']:,} | "
            f"{m['nnz']:,} | {m['symmetry']:.2f} | | {m['fill_ratio']:.2f} | |")


def measured_row(m, what, facts):
    ratio = facts["fill"] / facts["nnz"]
    return (f"| | | {what} | {facts['n_rows']:,} ({percent(facts['n_rows'], m['order'])}) | "
            f"{facts['nnz']:,} ({percent(facts['nnz'], m['nnz'])}) | "
            f"{facts['structural_symmetry']:.3f} | {facts['fill']:,} | "
            f"{ratio:.2f} (x{ratio / m['fill_ratio']:.2f}) | "
            f"{facts['seconds']:.1f} s, {facts['peak_mib']:,.0f} MiB |")


HEAD = """# The paper's matrices and their stand-ins

Written by `make_datasets_md.py` from `datasets.toml` and measurements ({library}); not to be edited by hand.

The originals are in the SuiteSparse Matrix Collection; `./testbed fetch --suite paper` downloads them. Where one is absent, the program uses
its stand-in: a generated matrix of the same order, about the same number of nonzeros and structural symmetry (the
fraction of off-diagonal entries (i,j) with (j,i) present), and of similar fill. A stand-in models the application, not
the original; records made with it carry `stand_in: true`.

Lines "paper" repeat the paper's table. Lines "stand-in" were measured: fill-ins are exact for METIS on A + A^T followed
by a postorder of the elimination tree; in brackets, the distance to the paper's value. The last column is what
generating, ordering and counting the fill took together on one core.

| | matrix | | order | nonzeros | symmetry | fill-ins | fill-ins / nnz | time, peak memory |
|---|---|---|---:|---:|---:|---:|---:|---:|
"""

TAIL = """
Notes:
- The paper's DIELFILTER has the order and nonzeros of dielFilterV2real. It says MARK3JAC without a size; mark3jac140 is
  meant by its order. `fetch.py` refuses an original whose order is not the order of the table.
- `fetch.py` keeps the sha256 of each original's first fetch in `datasets.lock.toml`, to be committed; it and the program
  refuse another file from then on.
- The paper's fill ratio of PRE2 (20.70) is not that of the log which its authors released (74,747,357 fill-ins, a ratio
  of 12.8). Orderings differ from run to run and from version to version; compare variants on one ordering only.
- The stand-in of LH has a deficient diagonal, as lhr matrices have: the program matches its rows first.
- How alike stand-ins and real matrices behave: `stand_ins/README.md`.

Stand-ins:

| | generator spec |
|---|---|
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build" / "release",
                        help="build folder that holds the program gsofa")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "datasets.md")
    args = parser.parse_args()
    program = args.build / "gsofa"
    if not program.is_file():
        sys.exit(f"make_datasets_md: {program}: no such program; build it or give --build")
    with open(HERE / "datasets.toml", "rb") as f:
        matrices = tomllib.load(f)["matrix"]
    lines = []
    library = ""
    for m in matrices:
        lines.append(paper_row(m))
        sources = [("stand-in", m["stand_in"])]
        if "file" in m:
            sources.insert(0, ("original", str(HERE / m["file"])))
        for what, spec in sources:
            facts = measure(program, spec)
            library = facts["order_library"]
            lines.append(measured_row(m, what, facts))
            print(lines[-1], file=sys.stderr)
    specs = [f"| {m['abbr']} | `{m['stand_in']}` |" for m in matrices]
    text = HEAD.format(library=library) + "\n".join(lines) + "\n" + TAIL + "\n".join(specs) + "\n"
    partial = args.out.with_name(args.out.name + ".part")
    partial.write_text(text, encoding="utf-8")
    partial.replace(args.out)


if __name__ == "__main__":
    main()
