#!/usr/bin/env python3
"""Finds cliffs: inputs on which the GPU or an order of this project falls far behind an established method.

  cliffs.py panels OUT   writes OUT/panels.csv: first runs of gpu_bitmap_panels and of one core of cpu_bitmap_panels
  cliffs.py orders OUT   writes OUT/orders.csv: operations of the factorization in the project's orders, METIS and AMD

Both commands print the ten worst inputs as a Markdown table. The inputs are those of a group of spec.toml. Called again with
the same OUT, the program leaves out the jobs that passed. Exit status: 0 if the study is complete and nothing is beyond the
limits of README.md, 1 if an input is beyond them, 2 for a wrong call or an incomplete study. Python 3.11, standard library only.
"""
import argparse
import collections
import csv
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

import json_lines  # noqa: E402
from job_queue import ROOT, Fault, Job, Machine, Queue, Results  # noqa: E402
from ratios import geometric_mean, markdown  # noqa: E402
from specs import read_tables  # noqa: E402
from terminal_text import printable  # noqa: E402

GPU, CORE = "gpu_bitmap_panels", "cpu_bitmap_panels"
ANCHORS = ("metis", "amd")
HOST_ORDERS = ("automatic", "cpu_nested_dissection")
ORDERS = (*HOST_ORDERS, "gpu_nested_dissection")
AT_ONCE = 8  # one-core runs, so that they disturb each other little
LEAST_N, LEAST_SPEEDUP = 20_000, 5  # of the GPU over one core
MOST_OPERATIONS = 1.1  # of `automatic` over the better of METIS and AMD
WORST = 10
PROVENANCE = ("commit", "gpu", "cpu")
PANELS = ("input", "family", "n", "nnz", "entries", "gpu_ms", "core_ms", *PROVENANCE)
OPERATIONS = ("input", "family", "n", "nnz", *ANCHORS, *ORDERS, *PROVENANCE)


def family(name):
    """grid7 of gen:grid7:nx=36."""
    return name.split(":")[1]


def inputs_of(group):
    """The inputs of a group of spec.toml, in their order; Fault if there are none."""
    cases = read_tables((HERE / "spec.toml").read_text(encoding="utf-8"))
    found = [m for c in cases if group in c["groups"] for m in c["matrices"]]
    if not found:
        raise Fault(f"spec.toml: no input in group '{group}'")
    return found


def panel_jobs(args, machine):
    """One core: a job per family, at most AT_ONCE at the same time. The GPU: one process for all inputs, so that every first
    run of a pattern is one of a warm process, when no other job runs."""
    prepared = os.path.relpath(args.out / "prepared", ROOT)

    def job(name, device, *selected):
        part = args.out / "parts" / "panels.jsonl" / f"{name}.jsonl"
        return Job(name, [args.gsofa, "experiment", "experiments/cliffs/spec.toml", "--group", args.group, "--device", device,
                          "--variant", GPU if device == "gpu" else CORE, *selected, "--prepared", prepared, "--resume",
                          "--out", os.path.relpath(part, ROOT)], part=part, judged=True)

    jobs = []
    for name, _ in collections.Counter(map(family, inputs_of(args.group))).most_common():  # the longest jobs first
        jobs.append(job(f"one_core.{name}", "cpu", "--matrix", f"gen:{name}:*"))
        jobs[-1].cores = math.ceil(len(machine.cores) / AT_ONCE)
    gpu = job("gpu", "gpu")
    gpu.gpus, gpu.cores, gpu.after = min(1, len(machine.gpus)), len(machine.cores), [j.name for j in jobs]
    return [*jobs, gpu]


def order_jobs(args, machine):
    """A job per input for the orders of the host, on one core, and one for the order of the GPU."""
    jobs = []
    for name in inputs_of(args.group):
        file = re.sub(r"[^A-Za-z0-9_.=-]", "_", name.removeprefix("gen:"))
        for where, gpus, orders in (("host", 0, ANCHORS + HOST_ORDERS), ("gpu", 1, ORDERS[-1:])):
            if gpus <= len(machine.gpus):
                part = args.out / "parts" / "orders.jsonl" / f"{where}.{file}.jsonl"
                argv = [args.gsofa, "order", "--matrix", name, "--order", ",".join(orders), "--threads", "1",
                        "--out", os.path.relpath(part, ROOT)]
                jobs.append(Job(f"{where}.{file}", argv, gpus=gpus, part=part, judged=True))
    return jobs


def new_row(record, columns):
    """A row with what all records of an input have in common; its other columns are empty."""
    matrix, git = record["matrix"], record["git"]
    return dict.fromkeys(columns, "") | {
        "input": matrix["name"], "family": family(matrix["name"]), "n": matrix["n"], "nnz": matrix["nnz"],
        "commit": git["sha"] + "-dirty" * git["dirty"], "gpu": "".join(g["name"] for g in record["gpus"][:1]), "cpu": record["cpu"]}


def milliseconds(record):
    """Lower median of the first runs; of a run that passed its limit the limit, which is a lower bound."""
    if record["status"] == "timeout":
        return 1e3 * record["trials"]["timeout_s"]
    if not record["samples_s"]:
        raise Fault(f"{record['matrix']['name']}: {record['variant']}: {record['status']}: {record['reason']}")
    return 1e3 * statistics.median_low(record["samples_s"])


def panel_rows(records):
    """Rows of panels.csv. Fault if the two variants disagree on the entries of L or U."""
    rows, counts = {}, {}
    for r in records:
        name, result = r["matrix"]["name"], r["result"]
        row = rows.setdefault(name, new_row(r, PANELS))
        row["gpu_ms" if r["variant"] == GPU else "core_ms"] = f"{milliseconds(r):.4g}"
        if r["status"] != "timeout":
            row["entries"] = result["nnz_l"] + result["nnz_u"]
            found = (result["nnz_l"], result["nnz_u"])
            if counts.setdefault(name, found) != found:
                raise Fault(f"{name}: the variants disagree on the entries of L and U: {counts[name]} and {found}")
    return list(rows.values())


def order_rows(records):
    """Rows of orders.csv."""
    rows = {}
    for r in records:
        row = rows.setdefault(r["matrix"]["name"], new_row(r, OPERATIONS))
        row[r["order"]] = f"{r['result']['flops']:.10g}"
    return list(rows.values())


def speedup(row):
    return float(row["core_ms"]) / float(row["gpu_ms"])


def over_better(row, order):
    """Operations in an order over those in the better of METIS and AMD, or None without a record or without operations."""
    better = min(float(row[a]) for a in ANCHORS)
    return float(row[order]) / better if row[order] and better else None


def named(row):
    """The first two cells of a row of a report."""
    return f"`{row['input'].removeprefix('gen:')}`", f"{int(row['n']):,}"


def panel_report(rows):
    """(lines of the table of the worst inputs that the limit judges, the number of inputs beyond the limit)."""
    judged = sorted((r for r in rows if int(r["n"]) >= LEAST_N), key=speedup)
    beyond = sum(speedup(r) < LEAST_SPEEDUP for r in judged)
    lines = [f"{beyond} of {len(judged)} inputs with n >= {LEAST_N:,} are below {LEAST_SPEEDUP} times one core", ""]
    lines += markdown(["input", "n", "one core, ms", "GPU, ms", "one core / GPU"],
                      [(*named(r), r["core_ms"], r["gpu_ms"], f"{speedup(r):.2f}") for r in judged[:WORST]])
    return lines, beyond


def order_report(rows):
    """The same for orders: a table of each order that has records; only `automatic` has a limit."""
    lines, beyond = [], 0
    for order in ORDERS:
        judged = sorted(((ratio, r) for r in rows if (ratio := over_better(r, order))), key=lambda pair: -pair[0])
        if not judged:
            continue
        above = sum(ratio > MOST_OPERATIONS for ratio, _ in judged)
        beyond += above if order == ORDERS[0] else 0
        lines += [f"{order}: {above} of {len(judged)} inputs above {MOST_OPERATIONS} of the better of METIS and AMD, "
                  f"geometric mean {geometric_mean(ratio for ratio, _ in judged):.3f}", ""]
        lines += markdown(["input", "n", "operations", "METIS", "AMD", "order / better"],
                          [(*named(r), *(f"{float(r[c]):.3g}" for c in (order, "metis", "amd")), f"{ratio:.2f}")
                           for ratio, r in judged[:WORST]]) + [""]
    return lines, beyond


# Of each part: its jobs, the rows and the report of their records, and the columns of the table with those that a complete row fills.
PARTS = {"panels": (panel_jobs, panel_rows, panel_report, PANELS, ("gpu_ms", "core_ms")),
         "orders": (order_jobs, order_rows, order_report, OPERATIONS, ANCHORS + HOST_ORDERS)}


def main(words):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("part", choices=PARTS)
    p.add_argument("out", type=lambda text: pathlib.Path(text).resolve(), metavar="OUT", help="the folder that receives the results")
    p.add_argument("--group", default="all", help="all (default), small (n <= 50,000) or smoke")
    p.add_argument("--gsofa", default=ROOT / "build" / "release" / "gsofa", type=lambda text: pathlib.Path(text).resolve(),
                   metavar="FILE", help="the program (default: build/release/gsofa)")
    args = p.parse_args(words)
    args.gsofa = os.path.relpath(args.gsofa, ROOT)
    jobs_of, rows_of, report_of, columns, filled = PARTS[args.part]
    try:
        version = subprocess.run([ROOT / args.gsofa, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as e:
        raise Fault(f"{args.gsofa}: {getattr(e, 'strerror', None) or e}") from e
    machine = Machine.find(None)
    verdicts = Queue(machine, Results(args.out, version), 0).run(jobs_of(args, machine))
    rows = rows_of(json_lines.read(args.out / f"{args.part}.jsonl"))
    failed = sum(not v.startswith("passed") for v in verdicts.values())
    lacking, wanted = [f"{r['input']} lacks {c}" for r in rows for c in filled if not r[c]], len(inputs_of(args.group))
    if failed or lacking or len(rows) < wanted:
        raise Fault(f"incomplete: {failed} jobs did not pass, {len(rows)} of {wanted} inputs have records" +
                    (f", {lacking[0]}" if lacking else "") + f"; logs: {args.out / 'logs'}")
    with open(args.out / f"{args.part}.csv", "w", newline="", encoding="utf-8") as f:
        writer = csv.DictWriter(f, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    lines, beyond = report_of(rows)
    print("\n".join(lines))
    return 1 if beyond else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (Fault, json_lines.BadLine, OSError) as fault:
        print(f"cliffs: error: {printable(fault)}", file=sys.stderr)
        sys.exit(2)
