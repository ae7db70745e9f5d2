#!/usr/bin/env python3
"""Prints the table of results of the project's README from committed records; style_test.py compares the README with it."""

import statistics
import sys
from pathlib import Path

import headline
import language
import order_kinds
import records
import style


FOLDER = headline.FOLDER
ORDERS = FOLDER / "2026-11-26_h200_orders" / "kinds.jsonl"
PANELS, ONE_CORE, RANKS = ("gpu_bitmap_panels", False), ("cpu_bitmap_panels", False), ("peer_superlu_dist_parallel", True)
HEADER = ("what", "geometric mean", "range", "inputs", "machine")


def digits(value):
    """Two digits, three of numbers above 10."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def row(what, values, text, inputs, machine, mean=statistics.geometric_mean):
    """A row for a list of ratios; text: what follows its mean."""
    values = list(values)
    return what, f"{digits(mean(values))} {text}".strip(), f"{digits(min(values))} to {digits(max(values))}", \
        f"{len(values)} {inputs}", machine


def speeds():
    """Rows of patterns analysed for the first time."""
    args = style.parser("", headline.NEW_PATTERNS, Path()).parse_args([])
    inputs = headline.Inputs(args)
    ratios = inputs.ratios()
    real = [k for k in ratios[PANELS] if inputs.real[k]]
    large = [k for k in real if inputs.rows[k] >= headline.LARGE]
    best = {k: max(1, ratios[RANKS][k]) for k in real if k in ratios[RANKS]}
    fast, slow = ratios[PANELS], ratios[ONE_CORE]
    host = "one H200; one core"
    what = "`gpu_bitmap_panels` compared with `symbfact` of SuperLU_DIST"
    yield row(what, (fast[k] for k in real), "times as fast", "real", host)
    yield row("`gpu_bitmap_panels` compared with `symbfact`, 10,000 rows or more", (fast[k] for k in large), "times as fast", "real", host)
    yield row("`gpu_bitmap_panels` compared with parallel SuperLU_DIST on its best number of ranks, 1 to 16", (fast[k] / best[k] for k in best),
              "times as fast", "real", "one H200; 16 cores")
    yield row("`gpu_bitmap_panels` compared with `symbfact` of SuperLU_DIST", (y for k, y in fast.items() if not inputs.real[k]), "times as fast",
              "generated", host)
    yield row("`cpu_bitmap_panels` compared with `symbfact`, both on one core", (slow[k] for k in real if k in slow),
              "times as fast", "real", "one core")


def with_digests():
    """The first row's mean with the digests of rows."""
    times = {}
    for r in records.read_runs(headline.NEW_PATTERNS[:2]):
        if r["variant"] in (PANELS[0], headline.BASE) and r["samples_s"]:
            times.setdefault(r["matrix"]["name"], {})[r["variant"]] = records.seconds(r)
    return digits(statistics.geometric_mean(t[headline.BASE] / t[PANELS[0]] for t in times.values()))


def searches():
    """The paper's search compared with fill2, as its claim has it."""
    stated = records.read_toml(Path(__file__).with_name("paper.toml"))
    evidence = records.read_toml(records.ROOT / "paper" / "evidence.toml")
    measured = records.Measured([records.ROOT / p for p in evidence["population"]["paper"]], population=True)
    found = language.Expression("mean(all, bare(gpu_fill2_naive) / maxid)", stated["define"], stated["sets"]).evaluate(measured, measured.matrices())
    yield row(f"the paper's `gpu_maxid` compared with `gpu_fill2_naive` (the paper: {stated['value']['fig10.naive.mean']:.1f})",
              [e.number for e in found.each.values()], "times as fast (arithmetic mean)", "real", "one H200", statistics.fmean)


def orders():
    """Orders compared with METIS, in the given numbering."""
    lines = {}
    for r in records.read_orders([ORDERS]):
        if r.get("shuffle", 0) == 0 and r["status"] == "pass":
            lines.setdefault((order_kinds.kind_of(r, order_kinds.read_table(order_kinds.TABLE)), r["matrix"]["name"]), {})[r["order"]] = r
    for kinds, inputs in ((("real", "circuit"), "real"), (("finite elements",), "finite elements"), (("power grid",), "power grids")):
        found = [v["tournament"]["result"]["flops"] / v["metis"]["result"]["flops"] for (k, _), v in lines.items() if k in kinds]
        yield row("order of `tournament`: operations of the factorization", found, "of METIS's", inputs, "any")


def table():
    """Lines of Markdown: real matrices first."""
    rows = [*speeds(), *searches(), *orders()]
    rows.sort(key=lambda r: not r[3].endswith(" real"))
    return ["| " + " | ".join(HEADER) + " |", "|---|---|---|---|---|", *("| " + " | ".join(r) + " |" for r in rows)]


if __name__ == "__main__":
    print("\n".join(table()))
