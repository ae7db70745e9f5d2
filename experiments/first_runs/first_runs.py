#!/usr/bin/env python3
"""Times gpu_bitmap_panels on patterns that it has never seen: in a new process, in a warm one, and its kernels alone.

  first_runs.py OUT [KIND=FILE ...]   writes OUT/first_runs.csv and prints a Markdown table

A FILE is a matrix of the kind (real, finite elements, power grids, ...) beside those that the project has. Every row is an
input and a way to count (panels, or tree where the pattern admits it):
  cold_ms     the first run of a new process; the CUDA context exists and kernels are loaded; median of three processes
  first_ms    the first run of the pattern in a process that has run another pattern; median of three processes, each with
              another order of the inputs
  kernels_ms  time in which the device is busy during a run (kernel_times.cpp, mean of two runs that are not the first of their
              process; needs CUPTI, else the column is empty)
Needs a GPU and Python 3.11. Exit status: 0, 1 where a run failed, 2 for a wrong call.
"""
import argparse
import csv
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "experiments"))

import json_lines  # noqa: E402
from ratios import geometric_mean, markdown  # noqa: E402

COLUMNS = ("input", "kind", "n", "nnz", "entries", "counts", "cold_ms", "first_ms", "kernels_ms", "commit", "gpu", "cpu")
GENERATED = ("grid5:nx=300", "grid7:nx=40", "grid7:nx=64,drop=0.3", "grid27:nx=40,drop=0.3", "elasticity3d:nx=26", "circuit:n=100000,hubs=30",
             "convection:nx=52", "fields:nx=36", "fields:nx=36,coupling=random", "dg:nx=22", "dg:nx=186,nz=1", "grid7:nx=36,oneway=1")
BUNDLED = ("add32", "circuit_2", "epb0", "g7jac040sc", "lhr02", "orani678", "rajat19", "sherman5", "west2021")
PROCESSES, WARM_UP = 3, "gen:grid9:nx=60,drop=0.1"


def inputs(given):
    """(kind, name, argument of the program) of every input."""
    bundled = ROOT / "experiments" / "matrices"
    found = [("original", "bcsstk18", str(bundled / "bcsstk18.mtx.gz"))]
    found += [("real", name, str(bundled / f"{name}.mtx.gz")) for name in BUNDLED]
    found += [("finite elements", file.name.removesuffix(".mtx.gz"), str(file)) for file in sorted((bundled / "fem").glob("*.mtx.gz"))]
    found += [("generated", spec, f"gen:{spec}") for spec in GENERATED]
    return found + [(kind, pathlib.Path(file).name.split(".")[0], file) for kind, file in given]


def named(text):
    kind, equals, file = text.partition("=")
    if not kind or not equals or not pathlib.Path(file).is_file():
        raise argparse.ArgumentTypeError(f"'{text}' is no KIND=FILE of a file that exists")
    return kind, file


class Program:
    def __init__(self, gsofa, out):
        self.gsofa, self.out = gsofa, out

    def call(self, *words, env=None):
        """Standard output; the program's complaint ends this one."""
        done = subprocess.run([self.gsofa, *map(str, words)], capture_output=True, text=True, env=os.environ | (env or {}))
        if done.returncode != 0:
            raise SystemExit(f"first_runs: {done.stderr.strip().splitlines()[-1]}")
        return done.stdout

    def prepare(self, number, argument):
        file = self.out / "prepared" / f"{number}.bin"
        if not file.exists():
            self.call("prepare", "--matrix", argument, "--order", "cpu_nested_dissection", "--out", file)
        return file

    def run(self, files, counts, runs=1, env=None):
        """Records of one process, a new variant object for every run."""
        said = self.call("run", *files, "--variant", "gpu_bitmap_panels", "--want", "counts", "--set", f"counts={counts}",
                         "--verify", "none", "--warmup", 0, "--repeat", runs, "--json", env=env)
        return list(json_lines.lines_of(said, "gsofa run"))


def injection(out):
    """The library of kernel_times.cpp, or None where CUPTI is absent."""
    library = out / "libkernel_times.so"
    cuda = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    done = subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-fPIC", "-shared", f"-I{cuda}/include",
                           f"-I{cuda}/extras/CUPTI/include", "-o", library, HERE / "kernel_times.cpp", f"-L{cuda}/lib64",
                           f"-L{cuda}/extras/CUPTI/lib64", f"-Wl,-rpath,{cuda}/lib64:{cuda}/extras/CUPTI/lib64", "-lcupti"],
                          capture_output=True, text=True)
    return library if done.returncode == 0 else None


def kernel_ms(program, library, file, counts):
    """Busy milliseconds of the device in a run that is not the first of its process."""
    busy = []
    for runs in (1, 3):
        report = program.out / "kernel_times.txt"
        program.run([file], counts, runs, {"CUDA_INJECTION64_PATH": str(library), "KERNEL_TIMES": str(report)})
        busy.append(1e-6 * int(report.read_text().split()[0]))
    return (busy[1] - busy[0]) / 2


def measure(program, given):
    """Rows of the table."""
    all_inputs = inputs(given)
    files = [program.prepare(k, argument) for k, (_, _, argument) in enumerate(all_inputs)]
    library = injection(program.out)
    rows = []
    for counts in ("panels", "tree"):
        firsts = [[] for _ in files]
        for process in range(PROCESSES):
            turn = [(k + process * len(files) // PROCESSES) % len(files) for k in range(len(files))]
            records = program.run([WARM_UP, *(files[k] for k in turn)], counts)[1:]
            for k, record in zip(turn, records):
                firsts[k].append(record)
        for (kind, name, _), file, records in zip(all_inputs, files, firsts):
            by_tree = records[0]["derived"].get("counted_by_tree") == 1
            if counts == "tree" and not by_tree:
                continue
            result, git = records[0]["result"], records[0]["git"]
            cold = statistics.median(program.run([file], counts)[0]["samples_s"][0] for _ in range(PROCESSES))
            rows.append({
                "input": name, "kind": kind, "n": records[0]["matrix"]["n"], "nnz": records[0]["matrix"]["nnz"],
                "entries": result["nnz_l"] + result["nnz_u"], "counts": counts, "cold_ms": f"{1e3 * cold:.4g}",
                "first_ms": f"{1e3 * statistics.median(r['samples_s'][0] for r in records):.4g}",
                "kernels_ms": f"{kernel_ms(program, library, file, counts):.4g}" if library else "",
                "commit": git["sha"] + "-dirty" * git["dirty"], "gpu": "".join(g["name"] for g in records[0]["gpus"][:1]),
                "cpu": records[0]["cpu"]})
    return rows


def mean_ratio(rows, above, below):
    return f"{geometric_mean(float(r[above]) / float(r[below]) for r in rows if r[above] and r[below]):.2f}"


def report(rows):
    """Lines of a Markdown table, and of the means by kind."""
    def two_ratios(some):
        return mean_ratio(some, "first_ms", "kernels_ms"), mean_ratio(some, "cold_ms", "first_ms")
    ranges = ("below 50,000", 0, 50_000), ("50,000 and more", 50_000, 1 << 31)
    means = []
    for counts in ("panels", "tree"):
        for text, least, most in ranges:
            some = [r for r in rows if r["counts"] == counts and least <= int(r["n"]) < most]
            means.append((counts, text, len(some), *two_ratios(some)))
    return [*markdown(["input", "kind", "n", "nnz(L+U)", "counts by", "cold", "first", "kernels", "first / kernels", "cold / first"],
                      [(r["input"], r["kind"], f"{int(r['n']):,}", f"{int(r['entries']):.3g}", r["counts"], r["cold_ms"], r["first_ms"],
                        r["kernels_ms"], *two_ratios([r])) for r in rows]), "",
            *markdown(["counts by", "n", "inputs", "first / kernels", "cold / first"], means)]


def main(words):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out", type=lambda text: pathlib.Path(text).resolve(), metavar="OUT", help="the folder that receives the results")
    p.add_argument("given", nargs="*", type=named, metavar="KIND=FILE", help="further matrices")
    p.add_argument("--gsofa", default=ROOT / "build" / "release" / "gsofa", type=lambda text: pathlib.Path(text).resolve(),
                   metavar="FILE", help="the program (default: build/release/gsofa)")
    args = p.parse_args(words)
    (args.out / "prepared").mkdir(parents=True, exist_ok=True)
    try:
        rows = measure(Program(args.gsofa, args.out), args.given)
    except OSError as e:
        raise SystemExit(f"first_runs: {e}")
    with open(args.out / "first_runs.csv", "w", newline="", encoding="utf-8") as f:
        writer = csv.DictWriter(f, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print("\n".join(report(rows)))


if __name__ == "__main__":
    main(sys.argv[1:])
