#!/usr/bin/env python3
"""Tables of what measure.py recorded of gpu_single: times, ratios, statuses, memory throughput.

  summarize.py FOLDER|FILE.jsonl... [--mixed]

A folder stands for its records.jsonl, ncu.csv and bandwidth.json. Times are medians of verified runs.
Records of different machines or commits are refused unless --mixed is given. Standard library only.
"""
import argparse
import collections
import csv
import math
import os
import statistics
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import json_lines
from terminal_text import printable

# Milliseconds of the paper authors' released code on an H200 (METIS and postorder): its traversal, without supernodes, medians
# of experiments/records/2026-11-22_h200_x2_ranks/authors.csv.
AUTHORS_MS = {
    "bcsstk18": 12.2,
    "g7jac040sc": 24.93,
    "onetone1": 92.86,
    "epb3": 122.3,
    "wang3": 125.9,
    "cage11": 443.1,
    "grid7_40": 543.9,
}
AUTHORS_GPU = "H200"
# Least speed-up over the authors' code in the geometric mean; gpu_maxid also on every matrix.
TARGETS = {"gpu_maxid": 2.0, "gpu_maxid_tuned": 5.0, "gpu_fill2_bitparallel": 10.0}
SHORT = {
    "gen:grid7:nx=40,drop=0.3,seed=1": "grid7_40",
    "gen:grid7:nx=64,drop=0.3,seed=1": "grid7_64",
}
REFERENCES = ["gpu_fill2_naive", "cpu_fill2_parallel"]
FIRST = ["gpu_maxid", "gpu_maxid_tuned", "gpu_fill2_bitparallel", "gpu_fill2_naive"]


# What the memory table shows: everything on, and without each of the space optimizations.
MEMORY = ["gpu_maxid", "gpu_maxid_no_bubble_removal", "gpu_maxid_no_dynamic_allocation",
          "gpu_maxid_no_external_frontier"]


def short_name(record):
    name = record["matrix"]["name"]
    return SHORT.get(name, name)


def read(paths):
    return [r for path in paths for r in json_lines.read(path)]


def machine(record):
    gpus = "+".join(g["name"] for g in record["gpus"]) or "no GPU"
    return gpus, record["cpu"], record["host"], record["git"]["sha"], record["git"]["dirty"]


def latest(records):
    """The last timed record of each (matrix, variant) with a full set of results and default options."""
    table = {}
    for r in records:
        if not r["counting"] and "pattern" not in r["wants"]:
            table[short_name(r), r["variant"]] = r
    return table


def milliseconds(record):
    """Median in ms of a run whose result was verified, else None."""
    if record is None or not record["samples_s"]:
        return None
    if record["status"] not in ("pass", "unverified"):
        return None
    return 1e3 * statistics.median(record["samples_s"])


def geomean(values):
    return math.exp(statistics.fmean(math.log(v) for v in values)) if values else None


def number(value, digits=3):
    """`digits` significant digits without an exponent."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(decimals, 3)}f}"


def print_table(header, rows):
    widths = [max(len(r[k]) for r in [header, *rows]) for k in range(len(header))]
    for row in [header, *rows]:
        cells = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        print("  ".join(cells).rstrip())


def order_variants(names):
    gpu = [n for n in names if n.startswith("gpu_")]
    gpu.sort(key=lambda n: (FIRST.index(n) if n in FIRST else len(FIRST), n))
    return gpu + sorted(n for n in names if not n.startswith("gpu_"))


def cell(record):
    ms = milliseconds(record)
    if ms is not None:
        return number(ms)
    return "" if record is None else record["status"]


def time_table(table, matrices, variants, title):
    """Times, and their geometric mean over that of gpu_maxid on the matrices that both solved."""
    print(title)
    rows = []
    for v in variants:
        cells = [cell(table.get((m, v))) for m in matrices]
        pairs = [(milliseconds(table.get((m, v))), milliseconds(table.get((m, "gpu_maxid"))))
                 for m in matrices]
        mean = geomean([a / b for a, b in pairs if a and b])
        if any(cells):
            rows.append([v, *cells, number(mean)])
    print_table(["", *matrices, "/ gpu_maxid"], rows)


def ratio_row(label, above, below, matrices):
    """above / below per matrix, and the geometric mean where both are known."""
    ratios = [a / b if a and b else None for a, b in zip(above, below)]
    known = [r for r in ratios if r]
    mean = number(geomean(known))
    if len(known) < len(matrices):
        mean += f" of {len(known)}"
    return [label, *(number(r) for r in ratios), mean], known


def speed_ratios(table, variants, is_authors_gpu):
    matrices = list(AUTHORS_MS)
    times = {v: [milliseconds(table.get((m, v))) for m in matrices] for v in variants}
    rows, verdicts = [], []
    authors = list(AUTHORS_MS.values())
    for v in variants:
        if v not in FIRST or not any(times[v]):
            continue
        row, known = ratio_row(v, authors, times[v], matrices)
        rows.append(row)
        if v in TARGETS:
            enough = geomean(known) >= TARGETS[v] and len(known) == len(matrices)
            if v == "gpu_maxid":
                enough = enough and min(known) > 1
            verdicts.append(f"{v} {TARGETS[v]:g}x {'reached' if enough else 'missed'}")
    if rows:
        print(f"\nauthors' released code on an {AUTHORS_GPU} (another host) / variant")
        if not is_authors_gpu:
            print(f"(this is no {AUTHORS_GPU}: two different GPUs are compared)")
        theirs = ["authors, ms", *(number(t, 4) for t in authors), ""]
        print_table(["", *matrices, "geomean"], [theirs, *rows])
        if verdicts:
            print("targets in the geometric mean: " + ", ".join(verdicts))
    rows = [ratio_row(f"{r} / gpu_maxid", times[r], times["gpu_maxid"], matrices)[0]
            for r in REFERENCES if "gpu_maxid" in times and r in times]
    if rows:
        print("\ngpu_maxid against what the paper compares with")
        print_table(["", *matrices, "geomean"], rows)


def phases(table):
    timed = [(m, r) for (m, v), r in table.items() if v == "gpu_maxid" and milliseconds(r)]
    if not timed:
        return
    largest = max(timed, key=lambda x: milliseconds(x[1]))
    chosen = dict([x for x in timed if x[0] == "bcsstk18"] + [largest])
    print("\nphases of gpu_maxid, ms")
    for m, r in chosen.items():
        parts = sorted(r["phases_s"].items(), key=lambda p: -p[1])
        peak = r["mem"].get("device_peak", 0)
        print(f"  {m}: " + ", ".join(f"{name} {number(1e3 * s)}" for name, s in parts) +
              f"; device peak {number(peak / 2**20)} MiB")


def memory(table):
    """Predicted and allocated bytes against the paper's six arrays of |V| x #C words."""
    rows = []
    for (m, v), r in sorted(table.items()):
        if v not in MEMORY:
            continue
        predicted, device = r["mem"].get("predicted", {}), r["mem"].get("device", {})
        paper = predicted.get("paper_6VC")
        if not paper or "arena" not in device:
            continue
        mib = [predicted[k] / 2**20 for k in ("fill", "maxid", "queues_and_trackers")]
        rows.append([f"{m} {v}", number(paper / 2**20), *(number(b) for b in mib),
                     number(sum(mib)), number(device["arena"] / 2**20),
                     f"{100 * device['arena'] / paper:.1f} %"])
    if rows:
        print("\nmemory, MiB: the paper's 6|V|#C words, predicted by structure, the arena allocated")
        print_table(["", "6|V|#C", "fill", "maxId", "queues", "sum", "arena", "of 6|V|#C"], rows)


def work(counting, table):
    """Work of the counting build; edges per second with the time of the plain build."""
    rows, usage = [], []
    for r in counting:
        c, m, v = r["counters"], short_name(r), r["variant"]
        if r["status"] != "pass" or "edges_traversed" not in c:
            continue
        edges, ms = c["edges_traversed"], milliseconds(table.get((m, v)))
        found = r["result"]["nnz_l"] + r["result"]["nnz_u"]
        frontiers = c.get("frontiers")

        def share(key):
            return f"{100 * c[key] / frontiers:.1f} %" if frontiers and key in c else "-"

        rows.append([f"{m} {v}", number(edges / 1e6), number(edges / found),
                     number(edges / ms / 1e6 if ms else None), share("revisits"),
                     number(c["fills_found_again"] / found) if "fills_found_again" in c else "-",
                     str(c.get("spills", "-"))])
        room = c.get("queue_capacity_VC")
        if room and c.get("levels"):
            usage.append([f"{m} {v}", str(c["concurrent_sources"]), str(c["levels"]),
                          f"{100 * c['queue_entries_sum'] / c['levels'] / room:.3f} %",
                          f"{100 * c['queue_peak'] / room:.2f} %"])
    if rows:
        print("\nwork (counting build), 10^6 edges; per entry of L+U; 10^9 edges per second (plain build);"
              " revisits of frontiers; fill-ins found again per entry; spills")
        print_table(["", "edges", "/ entry", "GTEPS", "revisits", "again", "spills"], rows)
    if usage:
        print("\nusage of a frontier queue, in percent of |V| x #C entries")
        print_table(["", "#C", "levels", "average", "peak"], usage)


def throughput(ncu, bandwidth):
    """Bytes moved over time, summed over the profiled launches of each variant and matrix."""
    copy = None
    if os.path.exists(bandwidth):
        measured = json_lines.load(bandwidth)
        copy = measured["bytes_per_s"]
        print(f"\ndevice copy, read + write: {number(copy / 1e9, 4)} GB/s ({measured['gpu']})")
    if not os.path.exists(ncu):
        return
    launches = collections.defaultdict(dict)
    with open(ncu) as f:
        for row in csv.DictReader(f):
            key = row["matrix"], row["variant"], row["launch"]
            try:
                launches[key][row["metric"]] = float(row["value"])
            except ValueError:
                continue
    sums = collections.defaultdict(collections.Counter)
    for (m, v, _), metrics in launches.items():
        sums[m, v]["launches"] += 1
        for name in ("gpu__time_duration.sum", "dram__bytes.sum", "lts__t_bytes.sum"):
            sums[m, v][name] += metrics.get(name, 0.0)
    rows = []
    for (m, v), s in sums.items():
        seconds = 1e-9 * s["gpu__time_duration.sum"]  # base unit: ns
        if seconds <= 0:
            continue
        dram, l2 = s["dram__bytes.sum"] / seconds, s["lts__t_bytes.sum"] / seconds
        share = f"{100 * dram / copy:.1f} %" if copy else "-"
        rows.append([f"{m} {v}", str(s["launches"]), number(1e3 * seconds), number(dram / 1e9),
                     share, number(l2 / 1e9)])
    if rows:
        print("traversal kernels under ncu")
        print_table(["", "launches", "ms", "DRAM GB/s", "of copy", "L2 GB/s"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="+", help="folder of measure.py, or .jsonl files")
    parser.add_argument("--mixed", action="store_true",
                        help="accept records of different machines or commits")
    args = parser.parse_args()

    files, folder = [], None
    for p in args.paths:
        if os.path.isdir(p):
            folder = p
            files.append(os.path.join(p, "records.jsonl"))
        else:
            files.append(p)
    records = read(files)
    if not records:
        sys.exit("no records")
    machines = sorted({machine(r) for r in records})
    for gpu, cpu, host, sha, dirty in machines:
        print(printable(f"{gpu}, {cpu}, host {host}, commit {sha[:12]}{' (changed)' if dirty else ''}"))
    stand_ins = sorted({short_name(r) for r in records if r["matrix"].get("stand_in")})
    if stand_ins:
        print(printable(f"stand-ins, generated in place of the original matrices: {', '.join(stand_ins)}"))
    if len(machines) > 1 and not args.mixed:
        print("records of different machines or commits: no ratios without --mixed", file=sys.stderr)
        return 2

    table = latest(records)
    variants = order_variants({v for _, v in table})
    present = {m for m, _ in table}
    others = sorted(present - set(AUTHORS_MS))
    speed = [m for m in AUTHORS_MS if m in present]
    if speed:
        time_table(table, speed, variants, "\nmedian ms")
    if others:
        time_table(table, others, [v for v in variants if v in FIRST or v.startswith("cpu_")],
                   "\nmedian ms, other matrices")
    speed_ratios(table, variants, all(AUTHORS_GPU in m[0] for m in machines))
    phases(table)
    memory({key: r for key, r in table.items() if key[0] in ("bcsstk18", "cage11")})
    if folder:
        path = os.path.join(folder, "counting.jsonl")
        if os.path.exists(path):
            work(read([path]), table)
        throughput(os.path.join(folder, "ncu.csv"), os.path.join(folder, "bandwidth.json"))
    counts = collections.Counter(r["status"] for r in records)
    print("\n" + ", ".join(f"{n} {status}" for status, n in sorted(counts.items())))
    faults = {(short_name(r), r["variant"], r["status"], r["reason"]) for r in records
              if r["status"] in ("fail", "error", "oom")}
    for m, v, status, reason in sorted(faults)[:8]:
        print("  " + printable(f"{m} {v}: {status}: {reason[:160]}"))
    return 1 if faults else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except json_lines.BadLine as fault:
        print(printable(fault), file=sys.stderr)
        sys.exit(2)
