#!/usr/bin/env python3
"""Prints the table of results of the project's README from committed records; style_test.py compares the README with it."""

import collections
import statistics
from pathlib import Path

import headline
import numbers_records
import records
import records_ratios as ratios
import style

ORDERS = headline.FOLDER / "2026-11-26_h200_orders" / "kinds.jsonl"
RANKS = ratios.case(("peer_superlu_dist", "peer_superlu_dist_parallel"), "time", fewest=True)
NAMES = {"real": "real", "finite elements": "finite elements", "power grid": "power grids", "circuit": "circuits",
         "space x time": "space x time", "generated": "generated"}
HEADER = ("what", "geometric mean", "range", "inputs")


def digits(value):
    """Two digits, three of numbers above 10."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def row(kind, what, values, text, mean=statistics.geometric_mean):
    """A row for a list of ratios of one kind of inputs; text: what follows their mean."""
    values = list(values)
    return f"{kind}: {what}", f"{digits(mean(values))} {text}", f"{digits(min(values))} to {digits(max(values))}", str(len(values))


def table_of(files):
    """headline.Inputs of files of records."""
    return headline.Inputs(style.parser("", files, Path()).parse_args([]))


def numbers(quantity):
    return [v.number for v in quantity.each.values()]


def by_kind(quantity):
    """{kind of NAMES: values}, of the kinds with a mean."""
    found = {"real": [v.number for v in quantity.each.values() if v.kind in records.REAL]}
    found |= {k: [v.number for v in quantity.of_kind(k).values()] for k in NAMES if k != "real"}
    return {k: values for k, values in found.items() if len(values) >= headline.FEWEST}


def speeds():
    """Rows of patterns analysed for the first time."""
    inputs = table_of(headline.COMMITTED)
    fast, slow = (inputs.speeds(case) for _, case in headline.SERIES.values())
    what = "`gpu_bitmap_panels` compared with `symbfact`"
    of_kind = by_kind(fast)
    large = [v.number for v in inputs.large(fast).each.values() if v.kind in records.REAL]
    yield row("real", what, of_kind.pop("real"), "times as fast")
    yield row("real, 10,000 rows or more", what, large, "times as fast")
    rival = by_kind(inputs.speeds(headline.SERIES["gpu_bitmap_panels"][1], RANKS))["real"]
    yield row("real", "`gpu_bitmap_panels` compared with SuperLU_DIST on its best number of ranks", rival, "times as fast")
    yield row("real", "`cpu_bitmap_panels` compared with `symbfact`, both on one core", by_kind(slow)["real"], "times as fast")
    for kind, values in of_kind.items():
        yield row(NAMES[kind], what, values, "times as fast")


def beside():
    """What the README's first paragraphs say beyond the table: {what: text}."""
    inputs = table_of(headline.COMMITTED)
    fast = inputs.speeds(headline.SERIES["gpu_bitmap_panels"][1])
    real = dict(headline.groups(inputs, fast))["real"]
    slower = [m for m, v in real.each.items() if v.number < 1]
    order = statistics.geometric_mean(statistics.median(r["ordering"]["seconds"] / statistics.median(r["samples_s"]) for r in inputs.runs
                                      if r["variant"] == "gpu_bitmap_panels" and r["matrix"]["name"] == m) for m in real.each)
    return {"slower": str(len(slower)), "default": numbers_records.by_default(), "order": f"{order:.0f}",
            "interval": "95 % interval " + " to ".join(map(digits, real.over(records.KINDS)[1])), "least rows": f"{ratios.LEAST_ROWS:,}",
            "entries of the slower": f"{10 ** len(str(max(map(inputs.size.get, slower), default=0))):,}"}


def searches():
    """The paper's search compared with fill2."""
    found = table_of(headline.COMMITTED).ratio(ratios.case("gpu_fill2_naive"), ratios.case("gpu_maxid", concurrent_sources=0, memory_budget_mb=0))
    yield row("real", "the paper's `gpu_maxid` compared with `gpu_fill2_naive`", by_kind(found)["real"],
              "times as fast (arithmetic mean)", statistics.fmean)


def orders():
    """An order compared with METIS, in the given numbering, on the real matrices of the other rows."""
    lines = collections.defaultdict(dict)
    for r in records.read_orders([ORDERS]):
        if r.get("shuffle", 0) == 0 and r["status"] == "pass":
            lines[r["matrix"]["name"]][r["order"]] = r["result"]["flops"]
    counted = {m for m, v in table_of(headline.COMMITTED).speeds(headline.SERIES["gpu_bitmap_panels"][1]).each.items() if v.kind in records.REAL}
    found = [of["tournament"] / of["metis"] for m, of in lines.items() if m in counted]
    yield row("real", "operations of the factorization in the order `tournament`", found, "of METIS's")


def table():
    """Lines of Markdown: real matrices first."""
    rows = [*speeds(), *searches(), *orders()]
    rows.sort(key=lambda r: not r[0].startswith("real"))
    return ["| " + " | ".join(HEADER) + " |", "|---|---|---|---|", *("| " + " | ".join(r) + " |" for r in rows)]


if __name__ == "__main__":
    print("\n".join(table()), *(f"{what}: {text}" for what, text in beside().items()), sep="\n")
