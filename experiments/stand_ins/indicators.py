#!/usr/bin/env python3
"""Compares the stand-ins of datasets.toml with real matrices, by indicators of how algorithms behave on them.

Measures what --csv lacks (a stand-in whose spec changed anew), writes it there, and prints the table and the violations
of the rule in README.md; exit status 1 if there are any. Standard library only (Python 3.11 or newer).
"""
import argparse
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
EXPERIMENTS = HERE.parent
sys.path.append(str(EXPERIMENTS))

import json_lines  # noqa: E402

LEAST_ORDER = 1000  # of the population
LIMIT_S = 120  # of a run
MOST_STEPS = 3e10  # of a search that is not tried
# Real matrices of the application of each original; those that are absent are left out.
RELATIVES = {
    "BB": ("raefsky1", "e20r0100"), "BC": ("bcsstk18", "bcsstk25", "crystm02"), "EP": ("epb0", "epb3"),
    "G7": ("g7jac040sc",), "LH": ("lhr02", "bayer10"), "MK": ("g7jac040sc",), "RM": ("raefsky1", "e20r0100"),
    "AU": ("bcsstk25", "crystm02"), "DI": ("FEM_3D_thermal1", "crystm02"), "HM": ("memplus", "G2_circuit"),
    "PR": ("onetone1",), "ST": ("FEM_3D_thermal1", "wang3", "cage11"), "TT": ("onetone1",),
}
TO_RELATIVES = 4  # the factor by which a stand-in may differ from the geometric mean of its relatives
TO_POPULATION = 2  # the factor by which it may leave the range of the population
SIZE_FREE = ("reach", "rework", "supernode", "gp_edges", "union", "balance", "gp_ns", "superlu_ns")
GROWING = ("fill2_edges", "maxid_edges", "levels", "subtree", "row_max", "col_max", "btf")
SHOWN = ("symmetry", "fill_ratio")
INDICATORS = SIZE_FREE + GROWING + SHOWN
COLUMNS = ("matrix", "role", "source", "n", "nnz", "nnz_lu") + INDICATORS


def call(*command):
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False).stdout


def run(program, matrix, variant, *options):
    """The record of a run, or None if it was not finished."""
    text = call(program, "run", "--json", "--matrix", matrix, "--variant", variant, "--verify", "none", "--threads", 1,
                "--timeout", LIMIT_S, *options)
    record = next(json_lines.lines_of(text, variant), {"status": "error"})
    return record if record["status"] in ("pass", "unverified") else None


def seconds(program, matrix, variant):
    record = run(program, matrix, variant, "--repeat", 15, "--want", "counts")
    return min(record["samples_s"]) if record else math.nan


def measure(build, source, folder):
    """Indicators of a matrix; README.md says what they mean. None if it is structurally singular."""
    prepared, work = folder / "prepared", folder / "work.jsonl"
    work.unlink(missing_ok=True)
    raw = json.loads(call(build / "gsofa", "info", "--json", "--no-fill", "--matrix", source))
    if raw.get("structural_rank", raw["n_rows"]) < raw["n_rows"]:
        return None
    call(build / "gsofa", "prepare", "--matrix", source, "--out", prepared, "--predicted-work", work)
    subtrees = math.fsum(json.loads(work.read_text(encoding="utf-8"))["predicted_work"])
    info = json.loads(call(build / "gsofa", "info", "--json", "--no-fill", "--matrix", prepared))
    counting = build / "gsofa_counting"
    n, nnz = info["n_rows"], info["nnz"]
    pruned = run(counting, prepared, "cpu_gilbert_peierls", "--want", "counts", "--want", "supernodes")
    if pruned is None:
        return None
    result = pruned["result"]
    entries = result["nnz_l"] + result["nnz_u"]
    out = {"n": n, "nnz": nnz, "nnz_lu": entries}
    out["supernode"] = n / result["supernodes"]
    out["gp_edges"] = pruned["counters"]["edges_traversed"] / entries
    out["balance"] = (result["nnz_l"] + n) / result["nnz_u"]
    out["gp_ns"] = 1e9 * seconds(build / "gsofa", prepared, "cpu_gilbert_peierls") / entries
    if entries < 5e8:
        out["superlu_ns"] = 1e9 * seconds(build / "gsofa", prepared, "peer_superlu_dist") / entries
        union = run(counting, prepared, "cpu_set_union", "--want", "counts")
        if union:
            out["union"] = union["counters"]["edges_traversed"] * n / entries ** 2
    if max(subtrees, n * n / 2) < MOST_STEPS:
        fill2 = run(counting, prepared, "cpu_fill2", "--want", "counts")
        if fill2:
            out["reach"] = fill2["counters"]["edges_traversed"] / subtrees
            out["fill2_edges"] = fill2["counters"]["edges_traversed"] / entries
        maxid = run(counting, prepared, "cpu_maxid", "--want", "counts", "--set", "concurrent_sources=64")
        if maxid:
            out["maxid_edges"] = maxid["counters"]["edges_traversed"] / entries
            out["levels"] = maxid["counters"]["levels"] / math.ceil(n / 64)
        if fill2 and maxid:
            out["rework"] = out["maxid_edges"] / out["fill2_edges"]
    out["subtree"] = subtrees / n / nnz
    out["row_max"] = info["row_degree"]["max"] / info["row_degree"]["mean"]
    out["col_max"] = info["col_degree"]["max"] / info["col_degree"]["mean"]
    out["btf"] = raw["btf_largest"] / n if "btf_largest" in raw else math.nan
    out["symmetry"] = raw["structural_symmetry"]
    out["fill_ratio"] = entries / nnz - 1
    return {k: f"{v:.4g}" if k in INDICATORS else str(v) for k, v in out.items() if not math.isnan(v)}


def value(row, key):
    return float(row[key]) if row.get(key) else None


def bounds(stand_in, key, population):
    """(least, most) that the rule allows a stand-in, or None if nothing is known."""
    real = [v for r in population.values() if (v := value(r, key)) is not None]
    if key in SHOWN or not real:
        return None
    low, high = min(real) / TO_POPULATION, max(real) * TO_POPULATION
    near = [v for m in RELATIVES[stand_in] if m in population and (v := value(population[m], key)) is not None]
    if key in SIZE_FREE and near and min(near) > 0:
        middle = statistics.geometric_mean(near)
        low, high = max(low, middle / TO_RELATIVES), min(high, middle * TO_RELATIVES)
    return low, high


def report(rows):
    """Prints the table; returns the violations, a line each."""
    population = {r["matrix"]: r for r in rows if r["role"] == "real"}
    stand_ins = {r["matrix"]: r for r in rows if r["role"] == "stand-in"}
    violations = []

    def line(name, row, marks=()):
        cells = [f"{row.get(k) or '-':>10}" + ("!" if k in marks else " ") for k in INDICATORS]
        print(f"{name:<18}" + "".join(cells).rstrip())

    line("", {k: k for k in INDICATORS})
    quartiles = {}
    for k in INDICATORS:
        real = sorted(v for r in population.values() if (v := value(r, k)) is not None)
        if len(real) > 1:
            quartiles[k] = [real[0], *statistics.quantiles(real, n=4, method="inclusive"), real[-1]]
    for i, name in enumerate(("least", "lower quartile", "median", "upper quartile", "most")):
        line(name, {k: f"{q[i]:.4g}" for k, q in quartiles.items()})
    for name in RELATIVES:
        if name not in stand_ins:
            continue
        row, marks = stand_ins[name], set()
        for k in INDICATORS:
            v, allowed = value(row, k), bounds(name, k, population)
            if v is not None and allowed is not None and not allowed[0] <= v <= allowed[1]:
                marks.add(k)
                violations.append(f"{name} {k} {v:.4g}, allowed {allowed[0]:.3g} to {allowed[1]:.3g}")
        print()
        line(name + " stand-in", row, marks)
        for m in RELATIVES[name]:
            if m in population:
                line("  " + m, population[m])
    return violations


def sources(folder):
    """(name, role, source) of every matrix to be measured."""
    with open(EXPERIMENTS / "datasets.toml", "rb") as f:
        known = tomllib.load(f)
    files = {m["name"]: EXPERIMENTS / m["file"] for m in known["bundled"] if m["name"] != "worked_example"}
    if folder:
        files |= {p.name.removesuffix(".mtx.gz"): p for p in sorted(folder.glob("*.mtx.gz"))}
    yield from ((name, "real", path) for name, path in sorted(files.items()))
    yield from ((m["abbr"], "stand-in", m["stand_in"]) for m in known["matrix"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=EXPERIMENTS.parent / "build" / "release",
                        help="folder of the programs gsofa and gsofa_counting")
    parser.add_argument("--matrices", type=pathlib.Path, help="folder of further real matrices, *.mtx.gz")
    parser.add_argument("--csv", type=pathlib.Path, default=HERE / "indicators.csv")
    parser.add_argument("--only", nargs="+", help="measure these only")
    parser.add_argument("--no-measure", action="store_true", help="print what --csv holds")
    args = parser.parse_args()
    rows = []
    if args.csv.exists():
        with open(args.csv, encoding="utf-8", newline="") as f:
            rows = list(csv.DictReader(f))
    for name, role, source in [] if args.no_measure else sources(args.matrices):
        text = source if role == "stand-in" else source.name
        if (args.only and name not in args.only) or any(
                (r["matrix"], r["role"], r["source"]) == (name, role, text) for r in rows):
            continue
        print(name, role, file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            found = measure(args.build, source, pathlib.Path(folder))
        if found is None or (role == "real" and int(found["n"]) < LEAST_ORDER):
            continue
        rows = [r for r in rows if (r["matrix"], r["role"]) != (name, role)]
        rows.append({"matrix": name, "role": role, "source": text} | found)
        with open(args.csv, "w", encoding="utf-8", newline="") as f:
            writer = csv.DictWriter(f, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(rows, key=lambda r: (r["role"], r["matrix"].lower())))
    violations = report(rows)
    print(f"\n{len(violations)} violations" + "".join("\n  " + v for v in violations))
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
