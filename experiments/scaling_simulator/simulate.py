"""Simulated strong scaling from measured per-source work.

  simulate.py --work counting.jsonl --keep edges.jsonl.gz
  simulate.py --work edges.jsonl.gz --scales figures --out simulated.jsonl
  simulate.py --work counting.jsonl --validate timed.jsonl

--work: records of the counting build with the series `edges` (gsofa_counting run --series, also compressed), or files of
`gsofa prepare --predicted-work` (then the work itself is a prediction, and every line says so).
--keep: writes the records of --work with nothing but the series that are simulated, compressed.
--scales figures: every schedule on 6 to 264 GPUs in chunks of 128 rows, and on 36 GPUs in chunks of 64 and 256.
--validate: timed records of the same matrices; the 1 x 1 run of each (matrix, schedule-free) sets the rate,
every other run is simulated and compared with its measured median.
Every line of output has "simulated": true. --out appends a header with command line, commit, host and time, and lines that its
run_id joins with it (json_lines.py). Exit status 2 on bad input, 3 if nothing matches.
"""

import argparse
import gzip
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
import json_lines
from simulator import SCHEDULES, Layout, Machine, fit_rate, simulate
from terminal_text import printable

HERE = Path(__file__).resolve().parent


class BadInput(Exception):
    pass


def read_work(paths):
    """{(matrix, ordering digest): {"edges", "predicted", "kind", "stand_in", "record"}}"""
    found = {}
    for path in paths:
        for r in json_lines.read(path):
            if r.get("kind") == "predicted":
                series, kind = {"predicted_work": r["predicted_work"]}, "predicted"
            else:
                series, kind = r.get("series", {}), "measured"
            predicted = series.get("predicted_work")
            edges = series.get("edges") if kind == "measured" else predicted
            if edges is None:
                continue
            key = (r["matrix"]["name"], r["ordering"]["digest"])
            if len(edges) != r["matrix"]["n"]:
                raise BadInput(f"{r.place}: {key[0]} has {len(edges)} sources for order {r['matrix']['n']}")
            if kind == "measured" or key not in found:
                found[key] = {"edges": edges, "predicted": predicted, "kind": kind, "record": r,
                              "stand_in": r["matrix"].get("stand_in", False)}
    if not found:
        raise BadInput("no per-source work: run gsofa_counting with --series")
    return found


def read_timed(path):
    """Timed, verified records of distributed runs, with their layout and median seconds."""
    runs = []
    for r in json_lines.read(path):
        derived = r.get("derived", {})
        if r.get("counting") or not r.get("samples_s") or "workers_per_node" not in derived:
            continue
        if r["status"] != "pass":
            continue
        layout = Layout(nodes=r["mpi"]["ranks"], workers=derived["workers_per_node"],
                        schedule=r["options"]["schedule"], chunk_size=r["chunk_size"],
                        sources=derived["concurrent_sources"])
        runs.append({"key": (r["matrix"]["name"], r["ordering"]["digest"]), "variant": r["variant"],
                     "host": r["host"], "layout": layout,
                     "seconds": statistics.median_low(r["samples_s"])})
    return runs


def scales(name, gpus_per_node):
    """[(nodes, workers)] by name or as "1x1,2x6,..."."""
    if name == "measurable":
        return [(1, g) for g in range(1, 9)] + [(g, 1) for g in range(2, 9)]
    if name in ("paper", "figures"):
        return [(1, 1)] + [(n, gpus_per_node) for n in (1, 2, 4, 6, 8, 11, 16, 22, 33, 44)]
    if name == "beyond":
        return [(1, 1), (125, 8), (1250, 8)]
    try:
        return [tuple(int(x) for x in pair.split("x")) for pair in name.split(",")]
    except ValueError as e:
        raise BadInput(f"--scales {name}: measurable, paper, figures, beyond, or NODESxGPUS,...") from e


def chunks_and_scales(args):
    """[(chunk size, [(nodes, workers)])]"""
    every = scales(args.scales, args.gpus)
    if args.scales == "figures":
        return [(128, every), (64, [(6, args.gpus)]), (256, [(6, args.gpus)])]
    return [(c, every) for c in args.chunk_size]


def machine_from(args, rate):
    return Machine(rate=rate, overhead=args.overhead * 1e-6,
                   source_rate=args.source_rate or float("inf"), chunk_time=args.chunk_time * 1e-6)


def keep(works, path):
    """Writes the record of each measured work, complete but without its other series. Returns their number."""
    measured = [w["record"] for w in works.values() if w["kind"] == "measured"]
    with gzip.GzipFile(path, "wb", mtime=0) as f:
        for r in measured:
            series = {k: [int(x) for x in r["series"][k]] for k in ("edges", "predicted_work") if k in r["series"]}
            f.write((json.dumps({**r, "series": series}, separators=(",", ":")) + "\n").encode())
    return len(measured)


def header(words):
    """What all lines of this call share."""
    def git(*arguments):
        return subprocess.run(["git", "-C", HERE, *arguments], capture_output=True, text=True, check=False).stdout.strip()
    now = time.gmtime()
    return {"schema": 2, "kind": json_lines.HEADER, "run_id": time.strftime("%Y%m%dT%H%M%SZ", now) + f"-{os.urandom(4).hex()}",
            "time_utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", now), "argv": words,
            "git": {"sha": git("rev-parse", "HEAD") or "unknown", "dirty": bool(git("status", "--porcelain", "-uno"))},
            "host": platform.node()}


def line(key, work, layout, outcome, alone, machine):
    return {"simulated": True, "work": work["kind"], "matrix": key[0], "ordering_digest": key[1],
            "stand_in": work["stand_in"], "work_commit": work["record"].get("git", {}).get("sha", ""), "n": len(work["edges"]), "nodes": layout.nodes,
            "gpus_per_node": layout.workers, "gpus": layout.nodes * layout.workers,
            "schedule": layout.schedule, "chunk_size": layout.chunk_size,
            "concurrent_sources": layout.sources, "batch_barrier": layout.batch_barrier,
            "rate_edges_per_s": machine.rate, "overhead_s": machine.overhead,
            "makespan_s": outcome.makespan, "speedup": alone / outcome.makespan,
            "imbalance": outcome.imbalance}


def extrapolate(args, works):
    rows = []
    for key, work in works.items():
        machine = machine_from(args, args.rate)
        sources = args.sources
        if args.full_order:
            # A smaller member of a family: as many batches as the full-sized one would have.
            sources = max(1, round(sources * len(work["edges"]) / args.full_order))
        for chunk_size, layouts in chunks_and_scales(args):
            chunk = chunk_size
            if args.full_order:
                # A few rows do not divide evenly among the GPUs of a node as a full-sized chunk does.
                scaled = chunk_size * len(work["edges"]) / args.full_order
                chunk = args.gpus * max(1, round(scaled / args.gpus))
            for schedule in args.schedule:
                def run(nodes, workers, schedule=schedule, chunk=chunk):
                    layout = Layout(nodes, workers, schedule, chunk, sources, args.batch_barrier)
                    return layout, simulate(work["edges"], machine, layout, work["predicted"])
                alone = run(1, 1)[1].makespan
                for nodes, workers in layouts:
                    layout, outcome = run(nodes, workers)
                    rows.append(line(key, work, layout, outcome, alone, machine))
    return rows


def shown_name(row):
    """At most 28 characters, with an asterisk for a stand-in."""
    return row["matrix"][:27] + "*" if row["stand_in"] else row["matrix"][:28]


def print_table(rows, out):
    print("SIMULATED (replayed per-source work; nothing here was timed); *: a stand-in", file=out)
    print(f"{'matrix':<28} {'n':>8} {'work':<9} {'schedule':<11} {'chunk':>5} {'#C':>5} {'nodes':>5} "
          f"{'GPUs':>6} {'speedup':>8} {'imbalance':>9}", file=out)
    for r in rows:
        print(f"{shown_name(r):<28} {r['n']:>8} {r['work']:<9} {r['schedule']:<11} "
              f"{r['chunk_size']:>5} {r['concurrent_sources']:>5} {r['nodes']:>5} {r['gpus']:>6} "
              f"{r['speedup']:>8.2f} {r['imbalance']:>9.2f}", file=out)


def validate(args, works):
    """Simulated and measured times, for every timed run of a matrix that has a 1 x 1 run."""
    rows = []
    runs = read_timed(args.validate)
    for key, work in works.items():
        mine = [r for r in runs if r["key"] == key]
        for variant in sorted({r["variant"] for r in mine}):
            group = [r for r in mine if r["variant"] == variant]
            alone = [r for r in group if (r["layout"].nodes, r["layout"].workers) == (1, 1)]
            if not alone:
                continue
            first = alone[0]
            try:
                rate = fit_rate(work["edges"], machine_from(args, 1.0), first["layout"],
                                first["seconds"], work["predicted"])
            except ValueError as e:
                raise BadInput(f"{key[0]}: {e}") from e
            machine = machine_from(args, rate)
            for r in group:
                outcome = simulate(work["edges"], machine, r["layout"], work["predicted"])
                row = line(key, work, r["layout"], outcome, first["seconds"], machine)
                row.update(variant=variant, host=r["host"], measured_s=r["seconds"],
                           measured_speedup=first["seconds"] / r["seconds"],
                           error=outcome.makespan / r["seconds"] - 1, fitted=r is first)
                rows.append(row)
    return rows


def print_validation(rows, out):
    print("SIMULATED compared with measured; error = simulated / measured - 1; *: a stand-in", file=out)
    print(f"{'matrix':<28} {'schedule':<11} {'chunk':>5} {'nodes':>5} {'GPUs':>5} {'simulated ms':>12} "
          f"{'measured ms':>11} {'error':>7}", file=out)
    for r in rows:
        print(f"{shown_name(r):<28} {r['schedule']:<11} {r['chunk_size']:>5} {r['nodes']:>5} "
              f"{r['gpus']:>5} {1e3 * r['makespan_s']:>12.2f} {1e3 * r['measured_s']:>11.2f} "
              f"{100 * r['error']:>6.1f}%{' (sets the rate)' if r['fitted'] else ''}", file=out)
    errors = [abs(r["error"]) for r in rows if not r["fitted"]]
    if errors:
        print(f"absolute error of {len(errors)} runs: median {100 * statistics.median(errors):.1f} %, "
              f"largest {100 * max(errors):.1f} %", file=out)


def arguments(words=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--work", required=True, action="append", metavar="FILE")
    p.add_argument("--validate", metavar="TIMED.jsonl")
    p.add_argument("--scales", default="paper", help="measurable, paper, figures, beyond, or NODESxGPUS,...")
    p.add_argument("--keep", metavar="FILE.jsonl.gz", help="write the edges of --work and end")
    p.add_argument("--gpus", type=int, default=6, help="GPUs on a node of --scales paper")
    p.add_argument("--schedule", action="append", choices=SCHEDULES)
    p.add_argument("--chunk-size", action="append", type=int)
    p.add_argument("--sources", type=int, default=1024, help="#C of a GPU")
    p.add_argument("--full-order", type=int, metavar="N",
                   help="order of the full-sized matrix that --work is a smaller member of: #C and the\n"
                        "chunk size (to a multiple of --gpus) are scaled by n/N")
    p.add_argument("--rate", type=float, default=1e9, help="edges per second of a GPU")
    p.add_argument("--overhead", type=float, default=0.0, help="microseconds for each batch of a GPU")
    p.add_argument("--source-rate", type=float, default=0.0,
                   help="edges per second of one source alone; 0: no limit")
    p.add_argument("--chunk-time", type=float, default=0.0,
                   help="microseconds for the supernodes of a chunk")
    p.add_argument("--batch-barrier", action="store_true",
                   help="GPUs of a node wait for each other after each batch under every schedule")
    p.add_argument("--out", metavar="FILE.jsonl", help="append the lines to this file")
    args = p.parse_args(words)
    args.schedule = args.schedule or list(SCHEDULES)
    args.chunk_size = args.chunk_size or [128]
    return args


def refuse_other_text(path):
    """BadInput if a file has something else than what this program appends to it."""
    path = Path(path)
    if path.is_file():
        with open(path, "rb") as f:
            begin = f.readline(1 << 16).strip()
        if begin and not begin.startswith(b'{"schema":'):
            raise BadInput(f"{path}: its first line is not of a simulation, so nothing is appended to it")


def main():
    args = arguments()
    try:
        if args.out:
            refuse_other_text(args.out)
        works = read_work(args.work)
        if args.keep:
            print(f"{args.keep}: edges of {keep(works, args.keep)} matrices")
            return 0
        rows = validate(args, works) if args.validate else extrapolate(args, works)
    except (BadInput, json_lines.BadLine) as e:
        print(f"simulate.py: error: {printable(e)}", file=sys.stderr)
        return 2
    if not rows:
        print("simulate.py: error: no timed record of these matrices with a 1 x 1 run", file=sys.stderr)
        return 3
    (print_validation if args.validate else print_table)(rows, sys.stdout)
    if args.out:
        with open(args.out, "a", encoding="utf-8") as f:
            head = header(sys.argv)
            f.write(json.dumps(head) + "\n")
            for r in rows:
                f.write(json.dumps({"schema": 2, "run_id": head["run_id"], **r}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
