#!/usr/bin/env python3
"""Prints the table of the README from records of run.py: means over the steps except the first pattern.

    python3 table.py RECORDS.jsonl... [--only NAME,NAME]

Times of one thread on the host are CPU seconds, all others wall seconds. Standard library only.
"""
import argparse
import pathlib
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))

import json_lines

HEADER = ("sequence", "where", "n", "rows changed", "adapted steps", "update, adapted, ms", "update, all, ms", "new order, ms", "METIS, ms",
          "AMD, ms", "operations / new order: mean (worst)", "steps above 1.05", "operations / METIS's")


def mean(values):
    """As text with three digits; empty without values."""
    values = list(values)
    return f"{statistics.fmean(values):.3g}" if values else ""


def row(line):
    """The cells of a record."""
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=pathlib.Path, nargs="+")
    parser.add_argument("--only", default="", help="names of sequences, separated by commas (default: all)")
    args = parser.parse_args()
    names = args.only.split(",") if args.only else None
    rows = [row(line) for file in args.records for line in json_lines.read(file) if line.get("kind") == "sequence" and
            (names is None or line["sequence"]["name"] in names)]
    for cells in (HEADER, ["---"] + ["---:"] * (len(HEADER) - 1), *rows):
        print("| " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
