#!/usr/bin/env python3
"""Times of entire solves in many orders, a line of JSON for each input, program and order.

  regret.py --build FOLDER --out FILE.jsonl [--programs splu,cholmod,superlu_dist,cudss] [--threads 1] [--order SPEC]...
            [--folder FOLDER]... INPUTS.tsv [NAME...]

INPUTS.tsv has a family and an input (a file of a --folder, without .mtx.gz, or gen:SPEC) in each line; NAMEs (lines, families, or shell
patterns of inputs) select some. `gsofa order` computes every order; then each program solves in all of them and in its own. Equal orders are solved
once. cudss_solve computes the orders itself. Inputs that FILE.jsonl already has for a program are left out. README.md explains the fields.
Exit status 1 if a program has no times for an input, or a residual of 1e-6 or more.
"""
import argparse
import fnmatch
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

EXPERIMENTS = Path(__file__).resolve().parents[1]
sys.path += [str(EXPERIMENTS.parent), str(EXPERIMENTS / "solvers")]
from experiments import json_lines  # noqa: E402
from superlu_dist import GRIDS  # noqa: E402

LIMIT_S = 60  # CPU seconds of an order; a program has four times as many for all orders of an input
DISSECTION = "cpu_nested_dissection"
ORDERS = ["amd", "amf", "metis", "scotch", DISSECTION, f"{DISSECTION}:replicas=1,tries=1",
          f"{DISSECTION}:replicas=2,tries=2", f"{DISSECTION}:room=8,stride=2"]
# Of each program: what `automatic` takes it for, and the orders that it computes itself.
KINDS = {"splu": "left_looking", "cholmod": "supernodal", "superlu_dist": "distributed", "cudss": "gpu"}
OWN = {"splu": ["mmd", "colamd"], "cholmod": ["default", "amd", "metis"], "superlu_dist": ["metis", "mmd"], "cudss": ["own_threads", "own_1"]}


def automatic(program, threads):
    """Our choices for a program and 1, 10 and 1,000 factorizations."""
    return [f"automatic:factorizations={k},kind={KINDS[program]},cores={threads}" for k in (1, 10, 1000)]


def limit_resources(seconds):
    """SuperLU_DIST's solve is recursive: on chains it needs more than the usual stack."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    most = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 30 if most == resource.RLIM_INFINITY else most, most))


def run(words, threads=1, limit=LIMIT_S):
    """The objects that a program printed before it ended or had used up its CPU seconds; a fault is told."""
    environment = {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    seconds = limit * threads
    done = subprocess.run([*map(str, words)], capture_output=True, env=os.environ | environment, check=False,
                          preexec_fn=lambda: limit_resources(seconds))
    if done.returncode:
        why = done.stderr.decode(errors="replace").strip()[-300:] if done.returncode > 0 else f"signal {-done.returncode}, {seconds} s of CPU?"
        print(f"regret.py: {' '.join(map(str, words[:5]))}: {why}", file=sys.stderr, flush=True)
    complete = b"".join(line for line in done.stdout.splitlines(keepends=True) if line.startswith(b"{") and line.endswith(b"\n"))
    return list(json_lines.lines_of(complete, str(words[0])))


def order(args, matrix, spec, file):
    """The fields of a line that the order determines; None if it was not found in time. The order goes to the file."""
    repeat = 3 if matrix.stat().st_size < 1 << 21 else 2
    found = run([args.build / "gsofa", "order", "--matrix", matrix, "--match", "none", "--order", spec, "--threads", args.threads,
                 "--repeat", repeat, "--order-out", file, "--json"], args.threads)
    record = next((r for r in found if r["status"] == "pass"), None)
    if not record:
        return None
    return {"cpu": record["cpu"], "commit": record["git"]["sha"], "machine": {"id": record["machine"]["id"]}, "order": spec,
            "method": record["method"], "note": record.get("note", ""), "order_s": min(record["samples_s"]),
            "order_cpu_s": min(record["samples_cpu_s"]), "operations": record["result"]["flops"], "height": record["result"]["height"],
            "nnz_l": record["result"]["nnz_l"], "digest": record["result"]["digest"], "file": str(file)}


def superlu_dist(args, matrix, words):
    """The distribution of the values is part of each factorization; what is in no other step is analysis. CPU seconds in proportion."""
    rows, columns = GRIDS[args.threads]
    bound = ["--bind-to", "core"] if args.threads > 1 else ["--oversubscribe", "--bind-to", "none"]
    command = ["mpirun", *bound, "-n", args.threads, args.build / "superlu_dist_solve", matrix,
               "--rows", rows, "--columns", columns, "--repeat", 3, *(text for word in words for text in ("--column-order", word))]
    runs = {}
    for found in run(command, args.threads, 4 * LIMIT_S):
        taken = dict(zip(found["phases"], found["seconds"][0]))
        found["step"] = {"order": taken["column_order"], "factor": taken["distribution"] + taken["numeric"],
                         "solve": taken["solve"] + taken["refine"]}
        # Each phase is the time of its slowest rank, so that the sum of the phases may exceed the total.
        found["step"]["analysis"] = max(0, taken["all"] - sum(found["step"].values()))
        found["cpu"] = found["cpu_seconds"] / taken["all"]
        runs.setdefault(found["column_order"], []).append(found)
    return [{"order": word, "n": mine[0]["n"], "nnz": mine[0]["nnz"], "residual": mine[0]["residual"],
             **{f"{step}_s": min(found["step"][step] for found in mine) for step in mine[0]["step"]},
             **{f"{step}_cpu_s": min(found["step"][step] * found["cpu"] for found in mine) for step in mine[0]["step"]}}
            for word, mine in runs.items()]


def cudss(args, matrix):
    """Of each configuration the least run. A further factorization takes refactor_s."""
    words = [args.build / "cudss_solve", matrix, "--threads", args.threads, "--configurations", "own_1,own_threads,ours_tree"]
    words += ["--threading-layer", args.threading_layer] if args.threading_layer else []
    runs = {}
    specs = args.order or [*automatic("cudss", args.threads), *(spec for spec in ORDERS if spec != "scotch")]  # the library has no Scotch
    for found in run([*words, *(word for spec in specs for word in ("--order", spec))], args.threads, 4 * LIMIT_S):
        if found["status"] == "ok":
            runs.setdefault(found["order"] if found["configuration"] == "ours_tree" else f"cudss:{found['configuration']}", []).append(found)
    for spec, mine in runs.items():
        found = min(mine, key=lambda r: r["seconds"]["all"])
        taken = found["seconds"]
        yield {"cpu": found["gpu"], "commit": found["git"]["sha"], "order": spec, "method": found.get("method", ""), "n": found["n"],
               "nnz": found["nnz"], "residual": found["residual"], "nnz_l": found["lu_nnz"], "operations": found["exact"]["flops"],
               "height": found["exact"]["height"], "order_s": taken["ordering"], "factor_s": taken["numeric"], "solve_s": taken["solve"],
               "analysis_s": sum(taken[step] for step in ("conversion", "handing", "reordering", "symbolic")),
               "refactor_s": taken["refactorization"]}


def solved(args, program, matrix, words):
    if program == "superlu_dist":
        return superlu_dist(args, matrix, words)
    solver = [sys.executable, EXPERIMENTS / "solvers" / "splu_solve.py"] if program == "splu" else [args.build / "cholmod_solve"]
    return run([*solver, matrix, *words], args.threads, 4 * LIMIT_S)


def measure(args, matrix, programs, folder):
    """The lines of one input, without what identifies it."""
    file = Path(folder) / "matrix.mtx"
    run([args.build / "cholmod_solve", matrix, "--pattern-out", file])
    chosen = {program: automatic(program, args.threads) for program in programs if program != "cudss"}
    specs = args.order or (dict.fromkeys(spec for mine in chosen.values() for spec in mine) | dict.fromkeys(ORDERS) if chosen else [])
    known = [found for k, spec in enumerate(specs) if (found := order(args, file, spec, Path(folder) / f"{k}.perm"))]
    files = {found["digest"]: found.pop("file") for found in known}
    for program in programs:
        if program == "cudss":
            yield from ({**line, "program": program} for line in cudss(args, file))
            continue
        lines = {line["order"]: line for line in solved(args, program, file, [*files.values(), *OWN[program]])}
        for found in known:
            for_another = found["order"].startswith("automatic:") and found["order"] not in [*chosen[program], *(args.order or [])]
            if not for_another and (line := lines.get(files[found["digest"]])):
                yield {**found, **line, **{key: found[key] for key in ("order", "order_s", "order_cpu_s")}, "program": program}
        for word in OWN[program]:
            if line := lines.get(word):
                yield {"order_s": 0, "order_cpu_s": 0, **line, "order": f"{program}:{word}", "program": program}


def inputs(args):
    """(family, name, what programs read) of the inputs that the arguments select."""
    for text in args.inputs.read_text(encoding="utf-8").splitlines():
        family, name = text.split("\t")
        if args.names and not any(fnmatch.fnmatch(name, word) or word in (family, text) for word in args.names):
            continue
        place = name if name.startswith("gen:") else next((f / f"{name}.mtx.gz" for f in args.folder if (f / f"{name}.mtx.gz").is_file()), None)
        if place:
            yield family, name, place
        else:
            sys.exit(f"regret.py: {name}: no file in {', '.join(map(str, args.folder)) or 'a --folder'}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True, type=Path)
    p.add_argument("--out", required=True, type=Path)
    p.add_argument("--programs", default="splu,cholmod", type=lambda text: text.split(","))
    p.add_argument("--threads", type=int, default=1, help="host threads, ranks of SuperLU_DIST")
    p.add_argument("--order", action="append", help="instead of all, also several times")
    p.add_argument("--threading-layer", type=Path, help="of cuDSS")
    p.add_argument("--folder", action="append", type=Path, default=[])
    p.add_argument("inputs", type=Path)
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    failed = False
    done = {(r["matrix"], r["program"], r["threads"]) for r in json_lines.read(args.out)} if args.out.exists() else set()
    for family, name, matrix in inputs(args):
        programs = [program for program in args.programs if (name, program, args.threads) not in done]
        if programs:
            common = {"kind": "regret", "matrix": name, "family": family, "threads": args.threads}
            with tempfile.TemporaryDirectory() as folder:
                lines = [common | line for line in measure(args, matrix, programs, folder)]
            with open(args.out, "ab", buffering=0) as out:  # one write: several processes may append
                out.write("".join(json.dumps(line) + "\n" for line in lines).encode())
            faults = [f"{p}: no times" for p in programs if all(line["program"] != p for line in lines)]
            faults += [f"{line['program']}, {line['order']}: residual {line['residual']:.1g}" for line in lines if not line["residual"] < 1e-6]
            for fault in faults:
                print(f"regret.py: {name}, {fault}", file=sys.stderr)
            failed |= bool(faults)
            print(f"{family} {name}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
