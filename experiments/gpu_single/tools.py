#!/usr/bin/env python3
"""Tables of what ncu measured, for commands.toml of several studies. Standard library only.

  tools.py throughput MATRIX VARIANT LOG BANDWIDTH COMMIT [complete]  one JSON line: throughput over all launches of ncu's
                                   CSV log, next to the throughput of a copy (which copy_bandwidth prints), and
                                   as percent of the peaks of DRAM and L2, by time, where the log has it. complete: the
                                   log has every launch of the search, not only the first ones. MATRIX may be a file
  tools.py ncu MATRIX VARIANT LOG  ncu's CSV log as matrix,variant,launch,kernel,metric,unit,value
"""
import collections
import csv
import json
import os
import platform
import re
import sys
import time

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import json_lines
from terminal_text import printable


PERCENT = ".pct_of_peak_sustained_elapsed"


def ncu(matrix, variant, log):
    with open(log) as f:
        lines = [line for line in f if line.startswith('"')]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["matrix", "variant", "launch", "kernel", "metric", "unit", "value"])
    count = 0
    for row in csv.DictReader(lines):
        out.writerow([matrix, variant, row["ID"], row["Kernel Name"], row["Metric Name"],
                      row["Metric Unit"], row["Metric Value"].replace(",", "")])
        count += 1
    if count == 0:
        sys.exit(f"{log}: no metrics")


def throughput(matrix, variant, log, bandwidth, commit, complete=False):
    with open(log) as f:
        lines = [line for line in f if line.startswith('"')]
    launches = collections.defaultdict(dict)
    for row in csv.DictReader(lines):
        launches[row["ID"]][row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
    sums = collections.Counter()
    shares = collections.Counter()  # percent times nanoseconds
    for metrics in launches.values():
        sums.update({name: value for name, value in metrics.items() if name.endswith(".sum")})
        shares.update({name: value * metrics["gpu__time_duration.sum"] for name, value in metrics.items()
                       if name.endswith(PERCENT)})
    seconds = sums["gpu__time_duration.sum"] * 1e-9
    if seconds <= 0:
        sys.exit(f"{log}: no metrics")
    copy = json_lines.load(bandwidth)
    percent = {key: shares[metric + PERCENT] / sums["gpu__time_duration.sum"] for key, metric in
               (("dram_percent", "dram__bytes.sum"), ("l2_percent", "lts__t_bytes.sum")) if metric + PERCENT in shares}
    print(json.dumps({
        "matrix": re.sub(r"^(?!gen:).*/|\.mtx(\.gz)?$", "", matrix), "variant": variant, "gpu": copy["gpu"], "commit": commit,
        "host": platform.node(), "time_utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "launches": len(launches), "complete": complete, "seconds": seconds,
        "dram_gb_per_s": sums["dram__bytes.sum"] / seconds / 1e9,
        "l2_gb_per_s": sums["lts__t_bytes.sum"] / seconds / 1e9,
        "copy_gb_per_s": copy["bytes_per_s"] / 1e9, **percent}))


def main(arguments):
    match arguments:
        case ["throughput", matrix, variant, log, bandwidth, commit]:
            throughput(matrix, variant, log, bandwidth, commit)
        case ["throughput", matrix, variant, log, bandwidth, commit, "complete"]:
            throughput(matrix, variant, log, bandwidth, commit, complete=True)
        case ["ncu", matrix, variant, log]:
            ncu(matrix, variant, log)
        case _:
            sys.exit(__doc__.strip())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except json_lines.BadLine as fault:
        print(printable(fault), file=sys.stderr)
        sys.exit(2)
