#!/usr/bin/env python3
"""Runs the case of a record again with the program at hand, and compares.

  rerun.py RECORD[:LINE] [--matrix NAME] [--files FOLDER]... [--out FILE] [--build FOLDER]

RECORD is a file of records, LINE one of its lines; without LINE every record of the file, or of its matrix NAME, runs again. The
case is taken from the fields of the record: matrix, order, variant, options, threads, ranks, results, number of runs. A matrix
that is not in the tree is looked for in the FOLDERs, as its name says, and must have the sha256 of the record. Counts and digests
must be equal; the time is only printed as a ratio. The order must have the digest of the recorded order. --out keeps the new records.

Exit status: 0 equal, 1 a count or a digest differs, 2 wrong call, or a record that cannot be run here, with the reason: no GPU, no
MPI, no file of the matrix, another order or another version of its library, or a command line whose spec, group or file its commit lacks. Standard library only.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import json_lines
import origins
import suites
from terminal_text import printable
from verified_runs import launcher

ROOT = origins.ROOT
MATRICES = [ROOT / "experiments" / "matrices", ROOT / "experiments" / "matrices" / "fem", ROOT / ".cache" / "matrices"]
COMPARED = ("nnz_l", "nnz_u", "fill", "supernodes", "digest", "flops", "height")
SAME, DIFFERS, CANNOT = 0, 1, 2


class Cannot(Exception):
    """A record that cannot be run again here; the message is one line."""


def matrix_words(record, folders):
    """Words that name the matrix of a record for the program: a generator, a bundled matrix or a stand-in by name, or a file."""
    matrix = record["matrix"]
    name, source = matrix["name"], matrix["source"]
    if name.startswith("gen:") or matrix["stand_in"]:
        return [source]  # a stand-in is generated as it was then
    files = [folder / f"{name}{ending}" for folder in [*folders, *MATRICES] for ending in origins.MATRIX_FILES]
    fetched = [suites.cache() / f"{source}{ending}" for ending in origins.MATRIX_FILES]
    found = next((f for f in [ROOT / source, *fetched, *files] if f.is_file()), None)
    if found is None:
        raise Cannot(f"no file of matrix {name} (sha256 {matrix['sha256'][:12]}…): name its folder by --files")
    return [found]


def command_of(record, build, folders, out):
    """The command that runs the case of a record again."""
    order, matrix = record.get("kind") == "order", matrix_words(record, folders)
    program = build / ("gsofa_counting" if record.get("counting") else "gsofa")
    if not program.is_file():
        raise Cannot(f"{program} is not built")
    ordering = record if order else record["ordering"]
    words = [program, "order" if order else "run", "--matrix", *matrix, "--order", record["order"] if order else ordering["col"],
             "--match", "none" if ordering["match" if order else "row"] == "none" else "auto", "--threads", record["threads"],
             "--out", out]
    words += ["--seed", ordering["seed"]] if ordering["seed"] >= 0 else []
    if order:
        return [*words, "--shuffle", record.get("shuffle", 0), "--repeat", len(record["samples_s"])]
    if ordering["col"] == "file":
        raise Cannot("its order came from a file")
    trials = record.get("trials", {})
    words += ["--variant", record["variant"], "--chunk-size", record["chunk_size"], "--repeat", max(1, len(record["samples_s"])),
              "--warmup", trials.get("warmup", 1), "--timeout", trials.get("timeout_s", 0),
              "--verify", "none" if record["verify"]["mode"] == "none" else "digest"]
    for want in record.get("asked") or record["wants"]:
        words += ["--want", want]
    for key, value in record["options"].items():
        words += ["--set", f"{record['variant']}.{key}={str(value).lower() if isinstance(value, bool) else value}"]
    ranks = record["mpi"]["ranks"]
    if ranks > 1 and not shutil.which("mpirun"):
        raise Cannot(f"it ran on {ranks} ranks, and mpirun is absent")
    return [*launcher(ranks), *words]


def run_again(record, build, folders, kept):
    """The record of a new run of the case."""
    try:
        if reason := origins.fault(record):
            raise Cannot(reason)
    except origins.NoHistory as e:
        raise Cannot(str(e)) from e
    if not record.get("result"):
        raise Cannot(f"it has no result: {record['status']}, {record['reason']}")
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "again.jsonl"
        command = [str(w) for w in command_of(record, build, folders, out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                              env=os.environ | {"GSOFA_ROOT": str(ROOT)})
        found = list(json_lines.read(out)) if out.exists() else []
        if kept and found:
            with open(kept, "ab") as file:
                file.write(out.read_bytes())
    if len(found) != 1 or found[0]["status"] == "skipped":
        said = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit status {done.returncode}"]
        if done.returncode < 0:
            said = [f"the program was ended by signal {-done.returncode}"]
        raise Cannot(found[0]["reason"] if found else said[-1].removeprefix("gsofa: error: "))
    return found[0]


def compare(record, again):
    """(status, what there is to say) of a record and a run of the same case."""
    if again["matrix"]["sha256"] != record["matrix"]["sha256"]:
        raise Cannot(f"the file at hand is another one: sha256 {again['matrix']['sha256'][:12]}…, recorded "
                     f"{record['matrix']['sha256'][:12]}…")
    mine, theirs = (r.get("ordering", r).get("library") or "the program itself" for r in (again, record))
    of_another = mine != theirs and record.get("kind") == "order"  # the order itself is the result
    if of_another or again.get("ordering", {}).get("digest") != record.get("ordering", {}).get("digest"):
        raise Cannot(f"the order is by {mine}, the recorded order by {theirs}" if mine != theirs else
                     f"the order differs, both by {mine}: the library or the program may be another version")
    old, new = record["result"], again.get("result", {})
    if not new:
        return DIFFERS, f"no result: {again['status']}, {again['reason']}"
    keys = [k for k in COMPARED if k in old and k in new]
    wrong = [f"{k} is {new[k]}, recorded {old[k]}" for k in keys if new[k] != old[k]]
    text = "; ".join(wrong) if wrong else "equal " + ", ".join(keys)
    if record["samples_s"] and again["samples_s"]:
        times = [statistics.median_low(r["samples_s"]) for r in (again, record)]
        same = again.get("machine", {}).get("id") == record.get("machine", {}).get("id", "") and again["cpu"] == record["cpu"]
        text += f"; {times[0]:.4g} s, {times[0] / times[1]:.2f} of the recorded time" + ("" if same else " on another machine")
    return DIFFERS if wrong else SAME, text


def chosen(text, matrix):
    """The records that RECORD[:LINE] and --matrix name."""
    path, _, line = text.rpartition(":")
    if not path or not line.isdigit():
        path, line = text, ""
    found = [r for r in json_lines.read(path) if (not line or r.place == f"{path}:{line}") and
             (not matrix or r.get("matrix") == matrix or matrix in (dict(r.get("matrix") or {}).get("name"),))]
    if not found:
        raise Cannot(f"{text}: no such record{f' of matrix {matrix}' if matrix else ''}")
    return found


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="rerun")
    parser.add_argument("record", metavar="RECORD[:LINE]")
    parser.add_argument("--matrix", metavar="NAME", help="only records of this matrix")
    parser.add_argument("--files", type=pathlib.Path, action="append", default=[], metavar="FOLDER",
                        help="matrices that are not in the tree")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE.jsonl", help="append the new records to this file")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release", metavar="FOLDER", help="of the programs")
    args = parser.parse_args(words)
    status = SAME
    for record in chosen(args.record, args.matrix):
        try:
            if "result" not in record or "samples_s" not in record:
                raise Cannot("neither a run nor an order")
            what = f"{record['matrix']['name']} {record.get('variant') or record['order']}"
            mine, text = compare(record, run_again(record, args.build.absolute(), args.files, args.out))
            print(printable(f"{record.place}: {what}: {text}"), flush=True)
            status = DIFFERS if DIFFERS in (mine, status) else max(status, mine)
        except Cannot as e:
            print(f"rerun: {printable(record.place)}: cannot be run again here: {printable(e)}", file=sys.stderr)
            status = status or CANNOT
    return status


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (Cannot, json_lines.BadLine, OSError) as fault:
        print(f"rerun: error: {printable(fault)}", file=sys.stderr)
        sys.exit(CANNOT)
