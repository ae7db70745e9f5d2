#!/usr/bin/env python3
"""Prints the table of results of the project's README from committed records; style_test.py compares the README with it."""

import collections
import dataclasses
import math
import statistics
from pathlib import Path

import headline
import numbers_records
import records
import records_ratios as ratios
import style

ORDERS = headline.FOLDER / "2026-11-26_h200_orders" / "kinds.jsonl"
SEARCH = sorted(headline.FOLDER.glob("2026-11-27_h*_judgement"))
BASES = {"`symbfact`": headline.BASE, "its default": ratios.case("peer_superlu_dist", "time", relax=60),
         "SuperLU_DIST at its best": ratios.case(("peer_superlu_dist", "peer_superlu_dist_parallel"), "time", fewest=True)}
HEADER = ("how many times as fast as", "inputs", *BASES, "its best, allocation and upload included")


def with_upload(run):
    """Seconds of the median sample with its allocation and upload."""
    return statistics.median_low(map(sum, zip(run["samples_s"], run["prepare_s"]))) if run.get("prepare_s") else None


def digits(value):
    """Two digits, three of numbers above 10."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def table_of(files):
    """headline.Inputs of files of records."""
    return headline.Inputs(style.parser("", files, Path()).parse_args([]))


def real(values):
    """The values of a Quantity on real matrices."""
    return [v.number for v in values.each.values() if v.kind in records.REAL]


def mean(values, how=statistics.geometric_mean):
    return f"{digits(how(values))}"


def span(values):
    return f"{digits(min(values))} to {digits(max(values))}"


def speeds():
    """Rows of patterns analysed for the first time: of real matrices, of the large ones of them, of finite elements, and on one core."""
    inputs = table_of(headline.COMMITTED)
    gpu, core = (case for _, case in headline.SERIES.values())
    groups = {"`gpu_bitmap_panels`, real": real, "real, 10,000 rows or more": lambda q: real(inputs.large(q)),
              "finite elements": lambda q: [v.number for v in q.of_kind("finite elements").values()], "`cpu_bitmap_panels` on one core, real": real}
    for name, of in groups.items():
        case = core if "one core" in name else gpu
        found = [of(inputs.speeds(case, base)) for base in BASES.values()]
        uploaded = "-" if case is core else mean(of(inputs.speeds(dataclasses.replace(case, of=with_upload), BASES["SuperLU_DIST at its best"])))
        yield name, str(len(found[0])), f"{mean(found[0])} ({span(found[0])})", *map(mean, found[1:]), uploaded


def beside():
    """What the README's first paragraphs say beyond the table: {what: text}."""
    inputs = table_of(headline.COMMITTED)
    fast = inputs.speeds(headline.SERIES["gpu_bitmap_panels"][1])
    of_real = dict(headline.groups(inputs, fast))["real"]
    slower = {name: [m for m, v in inputs.speeds(headline.SERIES["gpu_bitmap_panels"][1], BASES[name]).each.items() if m in of_real.each and v.number < 1]
              for name in ("`symbfact`", "SuperLU_DIST at its best")}
    order = statistics.geometric_mean(statistics.median(r["ordering"]["seconds"] / statistics.median(r["samples_s"]) for r in inputs.runs
                                      if r["variant"] == "gpu_bitmap_panels" and r["matrix"]["name"] == m) for m in of_real.each)
    runs = {(r["matrix"]["name"], r["variant"], records.settings(r).get("relax")): r["result"] for r in inputs.runs}
    entries = {v: [runs[m, v, relax]["nnz_l"] + runs[m, v, relax]["nnz_u"] for m in of_real.each]
               for v, relax in (("peer_superlu_dist", 1), ("gpu_bitmap_panels", None))}
    more = max(a / b for a, b in zip(*entries.values()))
    largest = max(inputs.size[m] for of in slower.values() for m in of)
    return {"slower": f"`symbfact` is faster on {len(slower['`symbfact`'])}, SuperLU_DIST at its best on {len(slower['SuperLU_DIST at its best'])}, "
                      f"all with fewer than {math.ceil(largest / 10 ** (d := len(str(largest)) - 1)) * 10 ** d:,} entries of L+U",
            "default": numbers_records.by_default(), "order": f"{order:.0f}", "more": f"at most {100 * more - 100:.1f} % more",
            "interval": "95 % interval " + " to ".join(map(digits, of_real.over(records.KINDS)[1])), "least rows": f"{ratios.LEAST_ROWS:,}",
            "search": searches(), "orders": orders()}


def searches():
    """The paper's search compared with fill2."""
    found = real(table_of(SEARCH).ratio(ratios.case("gpu_fill2_naive"), ratios.case("gpu_maxid", concurrent_sources=0, memory_budget_mb=0)))
    return f"{mean(found, statistics.fmean)} times as fast as `gpu_fill2_naive` (arithmetic mean of {len(found)} real matrices)"


def orders():
    """An order compared with METIS, in the given numbering, on the real matrices of the other rows."""
    lines = collections.defaultdict(dict)
    for r in records.read_orders([ORDERS]):
        if r.get("shuffle", 0) == 0 and r["status"] == "pass":
            lines[r["matrix"]["name"]][r["order"]] = r["result"]["flops"]
    counted = {m for m, v in table_of(headline.COMMITTED).speeds(headline.SERIES["gpu_bitmap_panels"][1]).each.items() if v.kind in records.REAL}
    found = [of["tournament"] / of["metis"] for m, of in lines.items() if m in counted]
    return f"{mean(found)} of METIS's operations on {len(found)} real matrices"


def table():
    """Lines of Markdown."""
    return ["| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER), *("| " + " | ".join(r) + " |" for r in speeds())]


if __name__ == "__main__":
    print("\n".join(table()), *(f"{what}: {text}" for what, text in beside().items()), sep="\n")
