#!/usr/bin/env python3
"""Prints the table of results of the project's README from committed records; style_test.py compares the README with it."""

import collections
import dataclasses
import functools
import statistics
from pathlib import Path

import headline
import numbers_records
import records
import records_ratios as ratios
import style
from fig12_superlu import RIVAL

ORDERS = headline.FOLDER / "2026-11-30_h200_campaign_a2" / "orders.jsonl"
BASES = {"`symbfact`": headline.BASE, "its default": ratios.case("peer_superlu_dist", "time", relax=60),
         "SuperLU_DIST at its best": RIVAL}
HEADER = ("how many times as fast as", "inputs", *BASES, "its best, allocation and upload included")


def digits(value):
    """Two digits, three of numbers above 10."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def table_of(files):
    """headline.Inputs of files of records."""
    return headline.Inputs(style.parser("", files, Path()).parse_args([]))


@functools.cache
def committed():
    """That of the README's picture."""
    return table_of(headline.COMMITTED)


def real(values):
    """The values of a Quantity on real matrices."""
    return [v.number for v in values.each.values() if v.kind in records.REAL]


def mean(values):
    return digits(statistics.geometric_mean(values))


def uploading(case):
    """The case with the time of allocation and upload."""
    return dataclasses.replace(case, of=lambda run: numbers_records.seconds(run, "prepare_s"))


def span(values):
    return f"{digits(min(values))} to {digits(max(values))}"


def speeds():
    """Rows of patterns analysed for the first time: of real matrices, of the large ones of them, of finite elements, and on one core."""
    inputs = committed()
    gpu, core = (case for _, case in headline.SERIES.values())
    for name, case, of in (("`gpu_bitmap_panels`, real", gpu, real), ("real, 10,000 rows or more", gpu, lambda q: real(inputs.large(q))),
                           ("finite elements", gpu, lambda q: [v.number for v in q.of_kind("finite elements").values()]),
                           ("`cpu_bitmap_panels` on one core, real", core, real)):
        found = [of(inputs.speeds(case, base)) for base in BASES.values()]
        uploaded = mean(of(inputs.speeds(uploading(gpu), RIVAL))) if case is gpu else "-"
        yield name, str(len(found[0])), f"{mean(found[0])} ({span(found[0])})", *map(mean, found[1:]), uploaded


def beside():
    """What the README's first paragraphs say beyond the table: {what: text}."""
    inputs, case = committed(), headline.SERIES["gpu_bitmap_panels"][1]
    of_real = dict(headline.groups(inputs, inputs.speeds(case)))["real"]
    slower = [sum(v.number < 1 for m, v in inputs.speeds(of, base).each.items() if m in of_real.each)
              for of, base in ((case, headline.BASE), (case, RIVAL), (uploading(case), RIVAL))]
    hosts = {}
    for r in inputs.runs:
        if r["variant"] == "gpu_bitmap_panels" and r["matrix"]["name"] in of_real.each:
            of = hosts.setdefault(records.machine(r), {}).setdefault(r["matrix"]["name"], [])
            of.append(r["ordering"]["seconds"] / statistics.median(r["samples_s"]))
    order = [statistics.geometric_mean(map(statistics.median, of.values())) for of in hosts.values()]
    runs = {(r["matrix"]["name"], r["variant"], records.settings(r).get("relax")): r["result"] for r in inputs.runs}
    entries = {v: [runs[m, v, relax]["nnz_l"] + runs[m, v, relax]["nnz_u"] for m in of_real.each]
               for v, relax in (("peer_superlu_dist", 1), ("gpu_bitmap_panels", None))}
    more = max(a / b for a, b in zip(*entries.values()))
    return {"slower": "`symbfact` is faster on {}, SuperLU_DIST at its best on {}, with allocation and upload on {}".format(*slower),
            "order": f"{min(order):.0f} to {max(order):.0f}", "more": f"at most {100 * more - 100:.1f} % more",
            "interval": "95 % interval " + " to ".join(map(digits, of_real.over(records.KINDS)[1])), "least rows": f"{ratios.LEAST_ROWS:,}",
            "orders": orders()}


def orders():
    """An order compared with METIS, in the given numbering, on the real matrices of the other rows."""
    lines = collections.defaultdict(dict)
    for r in records.read_orders([ORDERS]):
        if r.get("shuffle", 0) == 0 and r["status"] == "pass":
            lines[r["matrix"]["name"]][r["order"]] = r["result"]["flops"]
    counted = {m for m, v in committed().speeds(headline.SERIES["gpu_bitmap_panels"][1]).each.items() if v.kind in records.REAL}
    found = [of["tournament"] / of["metis"] for m, of in lines.items() if m in counted]
    return f"{mean(found)} of METIS's operations on {len(found)} real matrices"


def table():
    """Lines of Markdown."""
    return ["| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER), *("| " + " | ".join(r) + " |" for r in speeds())]


if __name__ == "__main__":
    print("\n".join(table()), *(f"{what}: {text}" for what, text in beside().items()), sep="\n")
