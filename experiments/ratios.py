#!/usr/bin/env python3
"""Medians of recorded runs by variant and matrix, and their ratio to one variant.

  ratios.py FILE.jsonl... [--over VARIANT] [--of QUANTITY] [--mixed]

Prints a Markdown table: a row per case (a variant, with the settings in which its runs on a matrix differ), a column per matrix, and
the geometric mean of the ratios to VARIANT, which is a variant or an entire first cell. QUANTITY is ms (default: the time of a run), entries (of L + U), or the path of a number in a record,
such as counters.edges_traversed or phases_s.traverse. --over FILE.csv:COLUMN compares with a table that has a column `matrix`. The
last of several records counts. A run that was refuted has its status in place of a number. Records of several machines or commits are
refused without --mixed. Exit status: 1 if a run failed, 2 for a bad file. Standard library only.
"""
import argparse
import collections
import csv
import math
import statistics
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))
import json_lines  # noqa: E402
from terminal_text import printable  # noqa: E402


def geometric_mean(values):
    """NaN without values."""
    values = list(values)
    return statistics.geometric_mean(values) if values else math.nan


def markdown(header, rows):
    """Lines of a Markdown table."""
    return ["| " + " | ".join(map(str, cells)) + " |" for cells in (header, ["---"] * len(header), *rows)]


def number(value):
    """Three significant digits, without an exponent and with at most three decimals."""
    if not value or math.isnan(value):
        return "0" if value == 0 else "-"
    return f"{value:,.{min(3, max(0, 2 - math.floor(math.log10(abs(value)))))}f}"


def quantity(record, path):
    """The number of a run, or None without a verified result or without the number."""
    if record["status"] not in ("pass", "unverified"):
        return None
    if path == "ms":
        return 1e3 * statistics.median(record["samples_s"]) if record["samples_s"] else None
    if path == "entries":
        return record["result"]["nnz_l"] + record["result"]["nnz_u"]
    value = record
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, (int, float)) else None


def latest(records):
    """{(case, matrix): the last record} without runs that had to return the pattern."""
    records = [r for r in records if "pattern" not in r["wants"]]
    values = collections.defaultdict(set)
    for r in records:
        for name, value in settings(r).items():
            values[r["variant"], r["matrix"]["name"], name].add(value)
    differ = {(variant, name) for (variant, _, name), several in values.items() if len(several) > 1}

    def case(r):
        return ", ".join([r["variant"], *(f"{k}={v}" for k, v in settings(r).items() if (r["variant"], k) in differ)])
    return {(case(r), r["matrix"]["name"]): r for r in records}


def settings(record):
    return {**record["options"], "threads": record["threads"], "ranks": record["mpi"]["ranks"], "chunk_size": record["chunk_size"]}


def base_of(over, found):
    """{matrix: the number that others are divided by}."""
    if over and ".csv:" in over:
        file, column = over.rsplit(":", 1)
        with open(file, newline="", encoding="utf-8") as rows:
            return {r["matrix"]: float(r[column]) for r in csv.DictReader(rows)}
    return {m: v for (case, m), v in found.items() if over in (case, case.split(", ")[0]) and v}


def report(records, over, path):
    """Lines of the table."""
    runs = latest(records)
    found = {key: quantity(r, path) for key, r in runs.items()}
    base = base_of(over, found)
    matrices, rows = list(dict.fromkeys(m for _, m in runs)), []
    for case in dict.fromkeys(c for c, _ in runs):
        cells = [number(found[case, m]) if found.get((case, m)) is not None else runs[case, m]["status"] if (case, m) in runs else ""
                 for m in matrices]
        ratios = [found[case, m] / base[m] for m in matrices if base.get(m) and found.get((case, m))]
        rows.append([case, *cells, number(geometric_mean(ratios)), len(ratios)])
    return markdown([path, *matrices, f"/ {over}", "of"], rows)


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE.jsonl")
    parser.add_argument("--over", metavar="VARIANT", help="the variant (or FILE.csv:COLUMN) that the others are divided by")
    parser.add_argument("--of", default="ms", metavar="QUANTITY", help="ms (default), entries, or the path of a number")
    parser.add_argument("--mixed", action="store_true", help="accept records of several machines or commits")
    args = parser.parse_args(words)
    records = [r for file in args.files for r in json_lines.read(file)]
    machines = {(" + ".join(g["name"] for g in r["gpus"]) or "no GPU", r["cpu"], r["host"], r["git"]["sha"][:12] + "-dirty" * r["git"]["dirty"])
                for r in records}
    print("\n".join(printable(", ".join(m)) for m in sorted(machines)))
    if not records or len(machines) > 1 and not args.mixed:
        print("ratios: no records" if not records else "ratios: records of several machines or commits (--mixed accepts them)", file=sys.stderr)
        return 2
    print("\n".join(printable(line) for line in ["", *report(records, args.over, args.of)]))
    statuses = sorted(collections.Counter(r["status"] for r in records).items())
    print("\n" + "; ".join([", ".join(f"{n} {status}" for status, n in statuses), *json_lines.load_of(records)]))
    faults = [r for r in records if r["status"] in ("fail", "error", "oom")]
    for r in faults[:8]:
        print(printable(f"{r['matrix']['name']} {r['variant']}: {r['status']}: {r['reason'][:160]}"))
    return 1 if faults else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (json_lines.BadLine, OSError) as fault:
        print(f"ratios: {printable(fault)}", file=sys.stderr)
        sys.exit(2)
