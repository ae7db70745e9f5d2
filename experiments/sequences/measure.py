#!/usr/bin/env python3
"""Measures Analyzer.update() of the Python package on sequences of patterns, next to a new order at every step, METIS and AMD.

    measure.py BUILD OUT.jsonl [--only 'rewired*'] [--threads 1,16] [--devices cpu,gpu] [--anchors metis,amd]
    measure.py BUILD OUT.jsonl --matrices DIR --kkt DIR          also sequences of real matrices that are not bundled
    measure.py BUILD OUT.jsonl --from NAME A.mtx B.mtx.gz ...    a sequence of Matrix Market files

Appends a record for each sequence, number of threads and device (README.md describes the fields), and prints the rows of the
README's table: means over the steps except the first pattern, CPU seconds of one thread on the host, else wall seconds. BUILD is
a build folder of the commit of the package; its program gsofa says which commit, compiler and machine that is. With gpu the
host has the last of the numbers of threads. Needs the package and scipy; contact and remeshing also need NGSolve.
made.tsv has the sha256 of the sequences that were measured; exit status 1 if a sequence differs from it.
"""
import argparse
import csv
import fnmatch
import functools
import hashlib
import json
import pathlib
import statistics
import subprocess
import sys
import time

try:
    import numpy
    import scipy.io
    import scipy.sparse
    import changes
except ImportError as e:
    sys.exit(f"measure.py: {e}: pip install scipy")

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
import json_lines  # noqa: E402

BUNDLED = HERE.parent / "matrices"
SHARES = {"001": 1e-4, "01": 1e-3, "1": 0.01, "5": 0.05, "20": 0.2}  # of the vertices, in percent without the point
HEAD = ("schema", "run_id", "time_utc", "git", "build", "host", "cpu", "gpus", "machine")  # of records of the program
HEADER = ("sequence", "where", "n", "rows changed", "adapted steps", "update, adapted, ms", "update, all, ms", "new order, ms", "METIS, ms",
          "AMD, ms", "operations / new order: mean (worst)", "steps above 1.05", "operations / METIS's")


def sequences(matrices=None, kkt=None):
    """{name: (kind, source, function of no arguments that yields the steps)}"""
    found = {}

    def add(name, kind, make, *given, source="", **options):
        words = ",".join(f"{k}={v}" for k, v in options.items())
        found[name] = kind, f"{source or make.__name__}:{words}", functools.partial(make, *given, **options)

    for dim in 2, 3:
        for name, share in SHARES.items():
            add(f"rewired{dim}_{name}", "rewired", changes.rewired, n=100_000, dim=dim, share=share, steps=5)
    add("rewired2_long", "rewired", changes.rewired, n=20_000, dim=2, share=1e-3, steps=100)
    add("contact", "contact", changes.two_bodies, cells=60_000, steps=20)
    add("contact_small", "contact", changes.two_bodies, cells=600, steps=20)
    add("remesh_plate", "remeshing", changes.refined, body="plate", cells=180_000, levels=3, steps=10)
    add("remesh_block", "remeshing", changes.refined, body="block_with_holes", cells=120_000, levels=3, steps=10)
    add("remesh_small", "remeshing", changes.refined, body="plate", cells=4_000, levels=3, steps=10)
    for name in ("add32", "circuit_2", "memplus", "onetone1", "G2_circuit"):
        for file in [f for d in (BUNDLED, matrices) if d and (f := d / f"{name}.mtx.gz").exists()][:1]:
            add(f"switching_{name}", "circuit", of_file, changes.switching, file, source=f"switching:{name}", share=0.003, steps=20)
    add("limits_grid", "interior point", changes.limits, nx=60, steps=15, dropped=True)
    for file in sorted(kkt.glob("kkt_7336*.mtx.gz")) if kkt else ():
        name = file.name.split(".")[0]
        for dropped in False, True:
            add(f"{name}_{'dropped' if dropped else 'emptied'}", "interior point", of_file, changes.active_set, file,
                source=f"active_set:{name}", steps=15, dropped=dropped)
    return found


def of_file(change, file, **options):
    return change(scipy.io.mmread(file), **options)


def given(files):
    """The patterns of Matrix Market files; rows keep their numbers."""
    return ((scipy.io.mmread(file), None) for file in files)


def sorted_rows(pattern):
    a = scipy.sparse.csr_matrix(pattern, copy=True)
    a.sum_duplicates()
    return a


def sha256(steps):
    """Of all patterns of a sequence: row pointers, columns and previous rows of one after the other."""
    found = hashlib.sha256()
    for a, previous in steps:
        for part, kind in ((a.indptr, numpy.int64), (a.indices, numpy.int32), (previous, numpy.int32)):
            found.update(b"" if part is None else numpy.asarray(part, kind).tobytes())
    return found.hexdigest()


def timed(out, name, call):
    wall, cpu = time.perf_counter(), time.process_time()
    found = call()
    out[f"{name}_s"], out[f"{name}_cpu_s"] = time.perf_counter() - wall, time.process_time() - cpu
    return found


def measure(gsofa, steps, threads, device, anchors=()):
    """The objects of the steps of a record. The two analyses of a step take turns to be the first."""
    analyzer, found = gsofa.Analyzer(device=device, threads=threads), []
    for k, (a, previous) in enumerate(steps):
        out = {"n": a.shape[0], "nnz": a.nnz}
        calls = {"update": lambda a=a, p=previous: analyzer.update(a, p),
                 "new": lambda a=a: gsofa.Analyzer(device=device, threads=threads).update(a)}
        results = {name: timed(out, name, calls[name]) for name in (("update", "new") if k % 2 == 0 else ("new", "update"))}
        for name, s in results.items():
            out[f"{name}_order_s"] = s.seconds["order"]
            out[f"{name}_operations"] = gsofa.estimate(a, s.col_order, threads=threads).flops  # of A + A^T
        update = results["update"].update
        out |= {"change": update.kind, "compared": update.compared, "rows_changed": update.rows_changed,
                "vertices_moved": update.vertices_moved, "method": results["new"].order}
        for name in anchors:
            out[f"{name}_operations"] = timed(out, name, lambda a=a, o=name: gsofa.estimate(a, o, threads=threads)).flops
        found.append(out)
    return found


def head_of(build):
    """The fields of a record that say what ran where."""
    done = subprocess.run([build / "gsofa", "order", "--matrix", "gen:tridiagonal:n=2", "--order", "natural", "--json"],
                          check=True, capture_output=True)
    record = next(iter(json_lines.lines_of(done.stdout, "gsofa order")))
    return {key: record[key] for key in HEAD}


def mean(values):
    """As text with three digits; empty without values."""
    values = list(values)
    return f"{statistics.fmean(values):.3g}" if values else ""


def row(line):
    """The cells of a record in the table."""
    steps, gpu = line["steps"][1:], line["device"] == "gpu"
    clock = "_cpu_s" if line["threads"] == 1 and not gpu else "_s"
    adapted = [s for s in steps if not s["compared"] and s["change"] != "new_order"]

    def ms(name, of):
        return mean(1e3 * s[name + clock] for s in of if name + clock in s)

    ratios = [s["update_operations"] / s["new_operations"] for s in steps]
    return (line["sequence"]["name"], "GPU" if gpu else f"{line['threads']} thread{'s' * (line['threads'] > 1)}",
            f"{round(statistics.fmean(s['n'] for s in steps)):,}", f"{statistics.fmean(s['rows_changed'] / s['n'] for s in steps):.2%}",
            f"{len(adapted)} of {len(steps)}", ms("update", adapted), ms("update", steps), ms("new", steps), ms("metis", steps), ms("amd", steps),
            f"{statistics.fmean(ratios):.3f} ({max(ratios):.3f})", str(sum(r > 1.05 for r in ratios)),
            mean(s["update_operations"] / s["metis_operations"] for s in steps if s.get("metis_operations")))


def recorded():
    """{name: sha256} of made.tsv."""
    with open(HERE / "made.tsv", encoding="utf-8", newline="") as f:
        return {r["name"]: r["sha256"] for r in csv.DictReader(f, delimiter="\t")}


def main(words, gsofa):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder")
    parser.add_argument("out", type=pathlib.Path, help="file that the records are appended to")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="only sequences whose name matches")
    parser.add_argument("--matrices", type=pathlib.Path, help="folder of Matrix Market files (memplus.mtx.gz, ...)")
    parser.add_argument("--kkt", type=pathlib.Path, help="folder of the KKT patterns of power grids")
    parser.add_argument("--from", dest="files", nargs="+", metavar=("NAME", "FILE"), help="a sequence of these files alone")
    parser.add_argument("--threads", default="1", help="numbers of host threads (default: 1)")
    parser.add_argument("--devices", default="cpu", help="cpu, gpu or both (default: cpu)")
    parser.add_argument("--anchors", default="metis,amd", help="other orders of every step (default: metis,amd); '' for none")
    args = parser.parse_args(words)
    chosen = sequences(args.matrices, args.kkt)
    if args.files:
        name, *files = args.files
        chosen = {name: ("files", "files:" + ",".join(pathlib.Path(f).name for f in files), functools.partial(given, files))}
    threads, known, differs = [int(t) for t in args.threads.split(",")], recorded(), False
    cases = [(t, "cpu") for t in threads if "cpu" in args.devices] + [(threads[-1], "gpu")] * ("gpu" in args.devices)
    for cells in (HEADER, ["---"] + ["---:"] * (len(HEADER) - 1)):
        print("| " + " | ".join(cells) + " |", flush=True)
    for name, (kind, source, make) in chosen.items():
        if not fnmatch.fnmatch(name, args.only):
            continue
        try:
            steps = [(sorted_rows(a), previous) for a, previous in make()]
        except ImportError as e:
            print(f"measure.py: {name}: left out: {e}", file=sys.stderr)
            continue
        about = {"name": name, "kind": kind, "source": source, "sha256": sha256(steps)}
        if known.get(name, about["sha256"]) != about["sha256"]:
            print(f"measure.py: {name}: made.tsv has sha256 {known[name]}", file=sys.stderr)
            differs = True
        for k, (count, device) in enumerate(cases):
            anchors = [a for a in args.anchors.split(",") if a] if k == 0 else []
            line = head_of(args.build) | {"argv": sys.argv, "kind": "sequence", "sequence": about, "threads": count, "device": device,
                                          "steps": measure(gsofa, steps, count, device, anchors)}
            with open(args.out, "a", encoding="utf-8") as out:
                out.write(json.dumps(line) + "\n")
            print("| " + " | ".join(row(line)) + " |", flush=True)
    return int(differs)


if __name__ == "__main__":
    try:
        import gsofa as package
        sys.exit(main(sys.argv[1:], package))
    except (ImportError, OSError, subprocess.CalledProcessError, ValueError) as fault:
        sys.exit(f"measure.py: {fault}")
