#!/usr/bin/env python3
"""Small services of device_session.sh. Standard library only.

  tools.py unpack FROM TO          decompress FROM/**/*.bin.xz into TO, what is newer only
  tools.py variants GSOFA [planted]  names of the available GPU variants, the most important first
  tools.py judge FILE...           count the statuses of records; exit 1 if one is not acceptable
  tools.py throughput MATRIX VARIANT LOG BANDWIDTH COMMIT  one JSON line: throughput over all launches of ncu's CSV log,
                                   beside that of a copy (what copy_bandwidth printed)
  tools.py ncu MATRIX VARIANT LOG  rows of ncu's CSV log as matrix,variant,launch,kernel,metric,unit,value
"""
import collections
import csv
import json
import lzma
import os
import subprocess
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import json_lines

# Timed first, so that a session cut short has measured what matters most.
FIRST = ["gpu_maxid", "gpu_maxid_tuned", "gpu_fill2_bitparallel", "gpu_fill2_naive"]
# Its own digests are what results are compared with, so that it cannot pass by digest.
TRUSTED = "cpu_gilbert_peierls"


def unpack(source, target):
    count = 0
    for folder, _, names in os.walk(source):
        for name in sorted(names):
            if not name.endswith(".bin.xz"):
                continue
            packed = os.path.join(folder, name)
            out = os.path.join(target, os.path.relpath(packed, source)[:-len(".xz")])
            if os.path.exists(out) and os.path.getmtime(out) >= os.path.getmtime(packed):
                continue
            os.makedirs(os.path.dirname(out), exist_ok=True)
            with lzma.open(packed) as f:
                data = f.read()
            with open(out + ".part", "wb") as f:
                f.write(data)
            os.replace(out + ".part", out)
            count += 1
    print(f"unpacked {count} files into {target}")


def variants(program, planted):
    listed = json.loads(subprocess.run(
        [program, "list", "--json"] + (["--planted"] if planted else []), check=True,
        stdout=subprocess.PIPE, text=True).stdout)
    gpu = [v for v in listed if v["device"] == "gpu" and bool(v["planted"]) == planted]
    away = [v for v in gpu if not v["available"]]
    for v in away:
        print(f"{v['name']} is unavailable: {v['reason']}", file=sys.stderr)
    names = [v["name"] for v in gpu if v["available"]]
    names.sort(key=lambda n: (FIRST.index(n) if n in FIRST else len(FIRST), n))
    if names:
        print("\n".join(names))
    elif not planted and not away:
        print("the program has no GPU variants", file=sys.stderr)
    if away or (not names and not planted):
        sys.exit(1)


def read_records(paths):
    for path in paths:
        yield from json_lines.read(path)


def acceptable(record):
    """A run that takes longer than it is given is no fault; any other failure is."""
    if record["status"] == "unverified":
        return record["device"] == "peer" or record["variant"] == TRUSTED
    return record["status"] in ("pass", "timeout")


def judge(paths):
    counts = collections.Counter()
    bad = 0
    for r in read_records(paths):
        counts[r["status"]] += 1
        if not acceptable(r):
            bad += 1
            print(f"{r['matrix']['name']} {r['variant']}: {r['status']}: {r['reason']}")
    print(", ".join(f"{n} {status}" for status, n in sorted(counts.items())) or "no records")
    sys.exit(1 if bad or not counts else 0)


def ncu(matrix, variant, log):
    with open(log) as f:
        lines = [line for line in f if line.startswith('"')]
    out = csv.writer(sys.stdout, lineterminator="\n")
    count = 0
    for row in csv.DictReader(lines):
        out.writerow([matrix, variant, row["ID"], row["Kernel Name"], row["Metric Name"],
                      row["Metric Unit"], row["Metric Value"].replace(",", "")])
        count += 1
    if count == 0:
        sys.exit(f"{log}: no metrics")


def throughput(matrix, variant, log, bandwidth, commit):
    with open(log) as f:
        lines = [line for line in f if line.startswith('"')]
    sums = collections.Counter()
    launches = set()
    for row in csv.DictReader(lines):
        sums[row["Metric Name"]] += float(row["Metric Value"].replace(",", ""))
        launches.add(row["ID"])
    seconds = sums["gpu__time_duration.sum"] * 1e-9
    if seconds <= 0:
        sys.exit(f"{log}: no metrics")
    copy = json_lines.load(bandwidth)
    print(json.dumps({
        "matrix": matrix, "variant": variant, "gpu": copy["gpu"], "commit": commit,
        "launches": len(launches), "seconds": seconds,
        "dram_gb_per_s": sums["dram__bytes.sum"] / seconds / 1e9,
        "l2_gb_per_s": sums["lts__t_bytes.sum"] / seconds / 1e9,
        "copy_gb_per_s": copy["bytes_per_s"] / 1e9}))


def main(arguments):
    match arguments:
        case ["unpack", source, target]:
            unpack(source, target)
        case ["variants", program]:
            variants(program, False)
        case ["variants", program, "planted"]:
            variants(program, True)
        case ["judge", *paths] if paths:
            judge(paths)
        case ["throughput", matrix, variant, log, bandwidth, commit]:
            throughput(matrix, variant, log, bandwidth, commit)
        case ["ncu", matrix, variant, log]:
            ncu(matrix, variant, log)
        case _:
            sys.exit(__doc__.strip())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except json_lines.BadLine as fault:
        print(fault, file=sys.stderr)
        sys.exit(2)
