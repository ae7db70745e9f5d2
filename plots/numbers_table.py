"""One table of the numbers that documents print: CHECKS, rows of (document, pattern, rows of records); numbers_test.py compares.

A pattern is a row of a table of the document, or a part of a sentence with … for any words between. What it has in braces is computed
from each selected row. All of the rows must be in the document; a pattern that begins with … selects some of them."""

import collections
import functools
import math
import re  # noqa: F401, patterns use it
import sys
from statistics import fmean, median

import json_lines
import matchings
import order_kinds as kinds
import records
import records_readme
import regret
from numbers_records import (  # noqa: F401, patterns use them
    DEFAULT, RANKS, RECORDS, Row, Rows, by_default, digits, e, each, mean, mean_and_span, medians, only, one_digit_up, orders,
    over, rivals, seconds, span, spread, table)

CHECKS = []
LIBRARY, STUDY = "harness/library/{}", "experiments/{}/README.md"


def check(document, pattern, rows=(Row(),)):
    """Adds a row to CHECKS: the pattern as it reads with the columns of each row, and whether the document selects some of the rows."""
    code = compile(f"f'''{pattern}'''", f"{document}: {pattern}", "eval")
    CHECKS.append((document, pattern.startswith("…"), [eval(code, {**globals(), **row}) for row in rows]))


# How the tables of sizes and limits begin, without measurements.
FACTS = ("| variable | effect |", "| test | checks |", "| option | |", "| option | effect |", "| option | CPU |", "| option | meaning |", "| result | |", "| what | SuperLU_DIST | extent", "| interface | call",
         "| member | |", "| how many times as fast as", "| file | |", "| field | meaning", "| question about", "| | |", "|  | the paper |", "| variant | runs on", "| exception | also a",
         "| without | the package", "| solver (`-pc_factor", "| candidate | time on one core", "| factorization | an operation", "| program | values",
         "| records | machine | commit |", "| sequence | what changes", "| View | pointers")
NAMES = {"grid:40x40x40": "7-point grid 40³", "grid:56x56x56": "7-point grid 56³", "grid:500x500x1": "5-point grid 500²",
         "grid:1000x1000x1": "5-point grid 1,000²", "gen:grid7:nx=30": "7-point grid of 30³", "gen:grid7:nx=56": "7-point grid of 56³",
         "gen:circuit:n=100000,hubs=20": "circuit, 20 hubs", "gen:circuit:n=200000,hubs=20": "circuit of 200,000, 20 hubs",
         "gen:elasticity3d:nx=34": "elasticity, grid of 34³", "gen:edge_elements:nx=36": "edge elements, grid of 36³",
         "gen:grid27:nx=100,ny=40,nz=11": "27-point grid of 100 x 40 x 11"}


def name(matrix):
    return NAMES.get(matrix, matrix)


# The drop-in for METIS, and README's table of whole solves.
UNCHANGED = "2026-11-26_h200_unchanged_programs"
METIS, SUPERLU, CUDSS = LIBRARY.format("metis/README.md"), LIBRARY.format("superlu/README.md"), LIBRARY.format("docs/cudss.md")


def solve(runs):
    return runs.analyze_s + runs.factor_s + runs.solve_s


def cpu_solve(runs):
    return runs.analyze_cpu_s + runs.factor_cpu_s + runs.solve_cpu_s


runs = table(f"{UNCHANGED}/metis.csv").pivot("matrix", "order", Rows).plus(gpu=lambda r: r.get("gpu_nested_dissection (unasked)") or r.gpu_nested_dissection)
runs.plus(gpu_speed=lambda r: solve(r.metis) / solve(r.gpu))
host = runs.that(lambda r: "nested_dissection" in r).plus(speed=lambda r: solve(r.metis) / solve(r.nested_dissection))
check(METIS, "| {name(matrix)} | {metis.order_s[1]:.2f} | {each(nested_dissection.order_s, '.2f')} | {each(gpu.order_s, '.2f')} | {each(speed, '.1f')} | "
      "{each(gpu_speed, '.1f')} |", host)
check(METIS, "| {name(matrix)} | {metis.order_s[1]:.2f} | {each(gpu.order_s, '.2f')} | {each(gpu_speed, '.1f')} |", [r for r in runs if r not in host])
check(METIS, "| geometric mean | {each(mean(host.speed), '.1f')} | {each(mean(runs.gpu_speed), '.1f')} |")
check(METIS, "CUDA context ({span([r.gpu.order_s[0] - r.gpu.order_s[1] for r in runs], '.2f')} s)")
doors = table(f"{UNCHANGED}/superlu_dist.csv").where(ranks=16).pivot("matrix", "order", only)
cudss = table(f"{UNCHANGED}/cudss.csv").pivot("matrix", "configuration", only)
check("README.md", "| METIS: CHOLMOD (measured), Eigen, MUMPS ([page](harness/library/metis/README.md)) | {mean_and_span([r.gpu_speed[0] for r in runs])} | "
      "{mean_and_span([r.speed[0] for r in host])} |")
check("README.md", "| SuperLU_DIST ([page](harness/library/superlu/README.md)) | {mean_and_span(doors.ratios('own', 'gpu_nested_dissection', 'all_s'))} | "
      "{mean_and_span(doors.ratios('own', 'automatic', 'all_s'))} |")
check("README.md", "| cuDSS ([page](harness/library/docs/cudss.md)) | {mean_and_span(cudss.ratios('own_threads', 'set_order', 'all_ms'))} | - |")

two = table("2026-11-26_cpu2_metis/two_replicas.csv").pivot("matrix", "order", Rows)
four = table("2026-11-26_cpu2_metis/one_thread.csv")
of_four = {r.matrix.replace("grid_", "grid:"): r for r in four.where(program="cholmod").pivot("matrix", "order", Rows)}


def time_and_operations(ours, metis):
    return min(ours.order_cpu_s) / min(metis.order_cpu_s), ours.flops[0] / metis.flops[0]


for r in two:
    r["time"], r["operations"] = time_and_operations(r.default, r.metis)
    r["speed"] = min(cpu_solve(r.metis)) / min(cpu_solve(r.default))
    r["kind"] = "power" if r.matrix.startswith("kkt") else "space" if r.matrix.startswith(("grid:40", "grid:56")) else "others"
kind, both = two.each("kind"), two.that(lambda r: r.matrix in of_four)
for r in both:
    of = time_and_operations(of_four[r.matrix]["nested_dissection"], of_four[r.matrix]["metis"])
    r["times"], r["more"] = r.time / of[0], r.operations / of[1]
three = {True: [], False: []}
for (_, matrix), of in four.each("program", "matrix").items():
    three[matrix.startswith("kkt")].append(median(cpu_solve(of.where(order="metis"))) / median(cpu_solve(of.where(order="nested_dissection"))))
worst = {p.lower(): one_digit_up(max(of.residual)) for p, of in four.each("program").items()}
check(METIS, "| {name(matrix)} | {n:,} | {min(metis.order_cpu_s):.2f} | {min(default.order_cpu_s):.2f} | {operations:.2f} | {speed:.2f} |", two)
check(METIS, "orders power grids {1 / mean(kind['power'].time):.0f} times as fast as METIS, and other matrices in "
      "{span(two.that(lambda r: r.kind != 'power').time)} times METIS's time")
check(METIS, "| power grids | {min(kind['power'].speed):.1f} and {max(kind['power'].speed):.1f} |")
check(METIS, "| grids in space | {min(kind['space'].speed):.1f} and {max(kind['space'].speed):.1f} |")
check(METIS, "| others | {span(kind['others'].speed, '.2f')} |")
check(METIS, "takes {mean_and_span(both.times, '.2f')} of the time of four with {mean(both.more):.2f} times as many operations "
      "({span(both.more, '.2f')}, {len(both)} matrices)")
check(METIS, "| power grids, four replicas, three programs | {span(three[True])} |")
check(METIS, "| others, four replicas, three programs | {span(three[False], '.2f')} |")
check(METIS, "at most {worst['cholmod']} (CHOLMOD), {worst['eigen']} (Eigen), {worst['mumps']} (MUMPS), "
      "{one_digit_up(max(table('2026-11-26_cpu2_superlu_dist/cpu_seconds.csv').residual))} (SuperLU_DIST)")
check(LIBRARY.format("docs/order.md"), "takes {mean(both.times):.2f} of the time of the default")

# The drop-in for SuperLU_DIST.
runs, before = table("2026-11-26_cpu2_superlu_dist/cpu_seconds.csv"), {}
for r in runs:
    before = {**before, r.matrix: r} if r["with"] == "own" else before
    r["own"] = before.get(r.matrix)
pairs = Rows(Row(default=medians(of), own=medians(Rows(of.own)), matrix=m, n=of[0].n) for m, of in runs.where(**{"with": "default"}).each("matrix").items())
speeds = pairs.ratios("own", "default", "all_s")
dissected = pairs.that(lambda r: r.matrix in ("diffusion1_block", "convection_bracket", "gen:grid7:nx=30", "gen:grid27:nx=100,ny=40,nz=11"))
check(SUPERLU, "…| {name(matrix)} | {n:,} | {own.column_order_s:.3f} s | {default.column_order_s:.3f} s | {own.all_s:.2f} s | {default.all_s:.2f} s | "
      "{default.operations / own.operations:.2f} | {own.all_s / default.all_s:.2f} |", pairs)
check(SUPERLU, "…| {name(matrix)} | {own.all_s / default.all_s:.2f} |", pairs)
check(SUPERLU, "a first solve is {median(speeds):.2f} times as fast as with METIS (median of {len(pairs)} inputs")
check(SUPERLU, "is {span([100 * r.default.symbolic_s / r.default.all_s for r in pairs])} % of these solves. It takes "
      "{span(pairs.ratios('default', 'own', 'symbolic_s'))} times the time")
check(SUPERLU, "takes {span(dissected.ratios('default', 'own', 'column_order_s'))} times METIS's time … with "
      "{span(dissected.ratios('default', 'own', 'operations'), '.2f')} times the operations")
for order in ("automatic", "nested_dissection"):
    of = runs.that(lambda r: r["with"] == order and r.matrix in pairs.matrix).each("matrix").values()
    found = [median(r.own.all_s / r.all_s for r in rows) for rows in of]
    slow = [v for v in found if v < 1]
    check(SUPERLU, "| `{order.replace('nested', 'cpu_nested')}` | {len(found)} | {len(slow)} | {span(slow, '.2f')} |")
wall = {}
for (matrix, _, kept), of in table("2026-11-26_cpu2_superlu_dist/wall_seconds.csv").each("matrix", "ranks", "with").items():
    if kept == "own":
        own = median(of.all_s)
    elif kept == "default" and len(of) == 3:
        wall.setdefault(matrix.replace("gen:grid7:nx=30", "7-point grid"), []).append(own / median(of.all_s))
check(SUPERLU, "| {m} | {' | '.join(f'{v:.2f}' for v in values)} |", [Row(m=m, values=v) for m, v in wall.items()])
rows = table("2026-11-30_cpu2_matching/mc64.csv").that(lambda r: r.rows == "given" and r.match_s != "")
check(SUPERLU, "…| {matrix} | {n:,} | {mc64_s:.3f} s | {weighted_s:.3f} s | {match_s:.3f} s |", rows)
check(SUPERLU, "| sum of {len(rows)} | - | {sum(rows.mc64_s):.2f} s | {sum(rows.weighted_s):.2f} s | {sum(rows.match_s):.2f} s |")
check(SUPERLU, "take {mean(rows.weighted_s / rows.mc64_s):.2f} times MC64's time, libgsofa's routine {mean(rows.match_s / rows.mc64_s):.2f} times")
check(SUPERLU, "| {name(matrix)} | {own.order_s:.2f}, {own.all_s:.2f} | {automatic.order_s:.2f}, {automatic.all_s:.2f} | "
      "{gpu_nested_dissection.order_s:.2f}, {gpu_nested_dissection.all_s:.2f} |", doors)

# cuDSS.
elements = table("2026-11-26_h200_orders/cudss.csv").pivot("matrix", "configuration", only)
threads, one = (elements.ratios(c, "ours_tree", "all_ms") for c in ("own_threads", "own_1"))
again = cudss.ratios("set_order", "set_order_1", "all_ms")
check(CUDSS, "| 16 host threads (threading layer) | {mean_and_span(threads)} |")
check(CUDSS, "| 1 host thread (no threading layer) | {mean(one):.1f} ({min(one):.1f} to {max(one):.0f}) |")
check(CUDSS, "| {name(matrix)} | {own_threads.all_ms:,.0f} | {own_1.all_ms:,.0f} | {set_order.all_ms:,.0f} | {own_threads.all_ms / set_order.all_ms:.1f} | "
      "{set_order.order_ms:.0f} |", cudss)
check(CUDSS, "solves the eight matrices above in {mean_and_span(one / threads).replace(' (', ' times the time (')}")
check(CUDSS, "differed by {100 * max(*again, *(1 / again)) - 100:.0f} % at most")
SOLVERS = STUDY.format("solvers")
GRIDS = {"gen:grid27:nx=80,drop=0.3": "27-point 80³, 30 % dropped", "gen:grid7:nx=64": "7-point 64³", "gen:elasticity3d:nx=40": "elasticity 40³",
         "gen:edge_elements:nx=46": "edge elements 46³", "gen:circuit:n=200000,hubs=20": "circuit, 200,000, 20 hubs"}
whole = Rows(r for folder in ("solvers", "tenth_host") for r in table(f"2026-11-24_h200_{folder}/cudss.csv").pivot("matrix", "configuration", medians)
             if "ours_tree" in r)
speeds, slower = whole.ratios("own_threads", "ours_tree", "all_s"), whole.ratios("ours", "ours_tree", "numeric_s")
numeric = elements.ratios("ours_tree", "own_threads", "numeric_ms")
check(SOLVERS, "…| {GRIDS.get(matrix, matrix)} | {own_threads.all_s:.2f} | {ours_tree.all_s:.2f} | {own_threads.all_s / ours_tree.all_s:.2f} | "
      "{ours_tree.numeric_s / own_threads.numeric_s:.2f} |", whole)
check(SOLVERS, "solves {mean(speeds):.2f} times as fast … on 16 host threads (geometric mean of {len(speeds)} inputs, {min(speeds):.2f} to {max(speeds):.1f})")
check(SOLVERS, "{min(slower):.1f} to {max(slower):.0f} times as slow ({len(slower)} inputs).")
check(SOLVERS, "with our order and tree {mean(threads):.1f} times as fast as cuDSS on 16 threads ({span(threads)}), numeric phase "
      "{mean(numeric):.2f} of its own ({span(numeric, '.2f')})")

# The library's other pages.
WHAT = {"tridiagonal:n=1000000": "tridiagonal", "grid5:nx=1000": "grid, 5 points", "grid5:nx=2000": "grid, 5 points", "grid5:nx=300": "grid, 5 points",
        "grid5:nx=1000,oneway=0.67": "grid, 5 points, two thirds of the edges one-way", "grid27:nx=40": "grid, 27 points",
        "circuit:n=200000,hubs=20": "circuit"}
rows = table("2026-11-29_cpu2_memory/memory.csv").that(lambda r: r.pattern in WHAT)
measured, bound = ([round(x) for x in column / rows.n] for column in (rows.measured_bytes, rows.estimated_bytes))
shares = [a / b for a, b in zip(measured, bound)]
check(LIBRARY.format("docs/memory.md"), "| {WHAT[pattern]} | {n:,} | {order} | {measured_bytes / n:.0f} |", rows.that(lambda r: "oneway" not in r.pattern))
check(LIBRARY.format("docs/estimate.md"), "| {WHAT[pattern]} | {n:,} | {order} | {estimated_bytes / n:.0f} | {measured_bytes / n:.0f} |", rows)
check(LIBRARY.format("docs/estimate.md"), "`analyze` took {span(shares, '.2f')} of the bound")
PYTHON, SOLVES = LIBRARY.format("python/README.md"), "2026-11-27_cpu2_solvers"
MESHES = {"elasticity2_plate": "finite elements, elasticity of a plate", "diffusion1_block": "finite elements, diffusion in a block"}
ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh")
splu = table(f"{SOLVES}/scipy_splu.csv")
pays = {r.matrix: ORDINALS[math.ceil(r.order_cpu_s / (r.splu_mmd_cpu_s - r.splu_cpu_s))] for r in splu}
check(PYTHON, "| {MESHES.get(matrix, matrix)} | {n:,} | {order_cpu_s:.2f} | {cholmod_cpu_s:.2f} | {cholmod_amd_cpu_s:.2f} | {cholmod_metis_cpu_s:.2f} |",
      table(f"{SOLVES}/sksparse_cholmod.csv"))
check(PYTHON, "| {MESHES.get(matrix, matrix)} | {n:,} | {order_cpu_s:.2f} | {splu_cpu_s:.2f} | {splu_mmd_cpu_s:.2f} | {splu_colamd_cpu_s:.2f} |", splu)
check(PYTHON, "the order pays at the {pays['wang3']} factorization of wang3, bratu3d and the block, at the {pays['elasticity2_plate']} of the plate, and at the "
      "{pays['epb3']} of epb3" if pays["wang3"] == pays["bratu3d"] == pays["diffusion1_block"] else "wang3, bratu3d and the block differ")
KINDS = {"case_ACTIVSg2000_Jac": "power grid", "memplus": "circuit", "grid:20": "generated"}
check(LIBRARY.format("petsc/README.md"), "| {matrix.replace('grid:20', '7-point grid of 20³')} ({KINDS.get(matrix, 'real')}, {n:,}) | {' | '.join(cells)} |",
      [Row(of[0], cells=[f"{r.nnz_lu:,}, {r.seconds:.2f} s" if r.seconds else "more than 110 s" for r in of])
       for of in table("2026-11-30_cpu2_petsc/petsc_orders.csv").each("matrix").values()])

# Orders.
ORDERS, VARIANTS, FOLDER = STUDY.format("orderings"), "variants/orderings/README.md", RECORDS / "2026-11-26_h200_orders"
FIGURE_ONLY = ("gpu_nested_dissection", "metis:nseps=5", "metis:ufactor=400", "metis:no2hop=1")  # orders without a row on the page
KIND_OF = kinds.read_table(kinds.TABLE)
inputs, _ = kinds.inputs_of([FOLDER / "kinds.jsonl", FOLDER / "anchors.jsonl"], KIND_OF)
by_kind = {k: [i for i in inputs if i.kind == k] for k in kinds.KINDS}
best = [kinds.summary(of, "tournament")["mean"] for of in by_kind.values()]
worst = [kinds.summary(inputs, o)["worst over better"] for o in ("tournament", "automatic")]
outlier = next(i for i in inputs if i.name == "dg1_downstream_bracket")
fem = by_kind["finite elements"]
check(ORDERS, "over the virtual best of {len(inputs)} inputs")
check(ORDERS, "{line.replace('|  |', '| - |')}", [Row(line=x) for x in kinds.overview(by_kind)[2:-1] if x.split("`")[1] not in FIGURE_ONLY])
check(ORDERS, "needs {best[0]:.2f} of the operations … {best[1]:.2f} on finite elements, {best[2]:.2f} on power grids, {best[3]:.2f} on circuits and "
      "{best[4]:.2f} on generated")
check(ORDERS, "`tournament` needs {worst[0]:.2f} and `automatic` {worst[1]:.2f} of")
check(ORDERS, "leaves {outlier.operations('tournament') / outlier.operations('metis'):.2f} of METIS's operations")
check(ORDERS, "on finite elements is {kinds.summary([i for i in fem if i is not outlier], 'tournament')['mean']:.2f}.")
times = orders("2026-11-26_h200_orders/times.jsonl").plus(kind=lambda r: kinds.kind_of(r.line, KIND_OF))
times = {kind: of.pivot("matrix", "order", lambda rows: min(rows.seconds)) for kind, of in times.each("kind").items()}
for order, how in (("gpu_nested_dissection", ""), ("cpu_nested_dissection", ", 16 threads"), ("amf", ", one core"), ("automatic", ", with the GPU"),
                   ("tournament", ", with the GPU")):
    of = [times[k].that(lambda r: order in r) for k in ("finite elements", "power grid")]
    gains, ms = [spread(r.metis / getattr(r, order)) for r in of], [span(1e3 * getattr(r, order), ",.0f") for r in of]
    check(ORDERS, "| `{order}`{how} | {gains[0]} | {ms[0]} | {gains[1]} | {ms[1]} |")
peers = table("2026-11-25_cpu16_rivals/rivals.csv")
base = {r.input: r.seconds for r in peers.where(order="metis")}
for order, who in (("amd", "AMD (Eigen), one core"), ("scotch", "Scotch 7.0.3, one core"), ("mt-Metis 0.7.2",) * 2, ("ParMETIS 4.0.3",) * 2,
                   ("PT-Scotch 7.0.3",) * 2):
    of = peers.where(order=order)
    cells = [mean(r.seconds / base[r.input] for r in of), *(f(of.operations_over_metis) for f in (mean, min, max))]
    check(ORDERS, "| {who} | {' | '.join(map(digits, cells))} |")
final = orders("2026-11-25_h200_final/orders.jsonl").pivot("matrix", "order", lambda rows: rows[-1])
for order, who in (("cpu_nested_dissection", "16 threads"), ("gpu_nested_dissection", "one H200")):
    took, flops = (final.ratios(order, "metis", column) for column in ("seconds", "flops"))
    check(ORDERS, "| `{order}`, {who} | {digits(mean(took))} | {digits(mean(flops))} | {digits(min(flops))} | {digits(max(flops))} |")
newest = table("2026-11-27_cpu2_rivals/orders.csv")
metis = {r.input: r for r in newest.where(package="METIS")}
count = [sum(r.kind == k for r in metis.values()) for k in ("real", "finite elements", "power grid")]
check(ORDERS, "geometric means over {count[0]} real matrices, {count[1]} finite-element matrices and {count[2]} power grids")
for package in ("this program, tournament", "this program, automatic", "this program, cpu_nested_dissection", "this program, amf",
                "SuiteSparse CHOLMOD analyze, NESDIS", "Scotch, default strategy", "SuiteSparse AMD"):
    of = newest.where(package=package)
    version = max(r.version for r in of)
    cells = [digits(mean(r[c] / metis[r.input][c] for r in of.where(version=version, kind=k))) for k in ("real", "finite elements", "power grid")
             for c in ("operations", "seconds")]
    who = f"`{package.split(', ')[1]}`" if package.startswith("this") else f"{package.removesuffix(' strategy')} {version}"
    check(ORDERS, "| {who} | {' | '.join(cells)} |")
options = orders("2026-11-27_cpu2_orders/options.jsonl").pivot("matrix", "order", lambda rows: rows[-1])
reduced = ("cpu_nested_dissection:reduce=0", "cpu_nested_dissection", "amd")
check(VARIANTS, "| {matrix} | {n:,} | {' | '.join(cells)} |",
      [Row(r, cells=[f"{r[o].flops / r.metis.flops:.2f}" for o in reduced]) for r in options.that(lambda r: reduced[0] in r)])
less = [i.operations("gpu_nested_dissection") / i.operations("metis") for i in fem]
check(VARIANTS, "On {len(fem)} finite-element matrices, `gpu_nested_dissection` needs {mean(less):.2f} of METIS's operations (geometric mean, at worst {max(less):.2f};")
degree = {r.input: r for r in newest.where(package="SuiteSparse AMD", version="3.3.3")}
for kind, who in (("real", "real matrices"), ("finite elements", "finite-element matrices"), ("power grid", "KKT systems of power grids")):
    of = newest.where(package="this program, amf", kind=kind)
    cells = [spread([r[c] / degree[r.input][c] for r in of]) for c in ("operations", "nnz_lu")]
    check(VARIANTS, "| {len(of)} {who} | {cells[0]} | {cells[1]} |")
directed = {way: options.ratios(f"cpu_nested_dissection:direction={way}", "cpu_nested_dissection", "flops") for way in ("nodes", "btf", "best")}
check(VARIANTS, "{len(directed['best'])} unsymmetric real matrices of 1,000 to 60,000 rows")
check(VARIANTS, "| `none` | 1 |")
check(VARIANTS, "| `{way}` | {spread(directed[way])} |", [Row(way="nodes"), Row(way="btf")])
check(VARIANTS, "| `best` | the best of `nodes`, `btf`, and `btf` with only the components of at most 128 vertices; then `nodes` again, by least fill among 16 pivots "
      "| {spread(directed['best'])} |")
A2, REGRET = (RECORDS / name for name in ("2026-11-30_h200_campaign_a2", "2026-11-30_h200_regret_6"))
lines, seen = (list(records.read_kind([REGRET / name], "regret")) for name in ("regret.jsonl", "regret_unseen_4.jsonl"))
found = regret.of_all_families(regret.regrets(lines))
on_host = (r for r in records.read_kind([A2 / "regret.jsonl"], "regret") if r["program"] != "cudss")
small = regret.regrets([*on_host, *seen])
least = {of: f"{mean([v for (*who, family, _), orders in small.items() if (*who,) == (*of[:-1], 1) and family.startswith('real') for v in orders[of[-1]]]):.2f}"
         for of in (("splu", 1, "automatic"), ("cholmod", 1, "automatic"), ("cholmod", 1, "cholmod:default"), ("superlu_dist", 1, "automatic"), ("cudss", 16, "automatic"),
                    ("splu", 1, "splu:mmd"), ("superlu_dist", 1, "superlu_dist:mmd"))}
check(STUDY.format("regret"), "`automatic` takes {least['splu', 1, 'automatic']} times the least total in `splu` (MMD {least['splu', 1, 'splu:mmd']}), "
      "{least['cholmod', 1, 'automatic']} in CHOLMOD (by default {least['cholmod', 1, 'cholmod:default']}), {least['superlu_dist', 1, 'automatic']} in SuperLU_DIST "
      "(MMD {least['superlu_dist', 1, 'superlu_dist:mmd']}) and {least['cudss', 16, 'automatic']} in cuDSS")
used = collections.defaultdict(dict)
for line in lines:
    used[line["program"], line["threads"], line["matrix"]][line["order"].split(",")[0]] = line
faster, better, count = collections.Counter(), collections.Counter(), collections.Counter()
for (program, threads, _), of in used.items():
    ours, amd = (regret.total(of[order], 1) for order in ("automatic:factorizations=1", "amd"))
    if min(filter(None, (regret.total(line, 1) for line in of.values()))) >= regret.LEAST_S:
        count[program, threads] += 1
        faster[program, threads] += amd < ours
        better[program, threads] += ours > 1.1 * amd and ours - amd > 0.002
programs = ("splu", 1), ("cholmod", 1), ("superlu_dist", 1), ("cudss", 16), ("superlu_dist", 16)
places, more = [f"{faster[of]} of {count[of]}" for of in programs], [better[of] for of in programs]
check(STUDY.format("regret"), "on {places[0]} inputs in `splu`, {places[1]} in CHOLMOD, {places[2]} in SuperLU_DIST, {places[3]} in cuDSS, and on {places[4]} on 16 ranks, "
      "by more than 10 % and 2 ms on {', '.join(map(str, more[:-1]))} and {more[-1]} of them. AMF alone, which `automatic` often takes, has "
      "{mean(found['splu', 1, 1]['amf']):.2f} in `splu` and {mean(found['cholmod', 1, 1]['amf']):.2f} in CHOLMOD")
cudss_runs = [of for (program, *_), of in used.items() if program == "cudss"]
often = {k: mean([regret.total(of[f"automatic:factorizations={k}"], 1000) / min(regret.total(of[own], 1000) for own in ("cudss:own_threads", "cudss:own_1"))
                  for of in cudss_runs]) for k in (1, 1000)}
check("harness/library/docs/cudss.md", "with the order for one, 1,000 factorizations and solves take {often[1]:.1f} times as long as in cuDSS's own order, with the order for 1,000 {often[1000]:.2f} times")
chains = collections.defaultdict(dict)
for line in records.read_kind([REGRET / "regret_paths.jsonl"], "regret"):
    chains[line["matrix"].split(":")[1]][line["order"].split(",")[0]] = regret.total(line, 1000)
share = {k: f"{min(chains[k]['cudss:own_threads'], chains[k]['cudss:own_1']) / chains[k]['automatic:factorizations=1000']:.2f}" for k in ("tridiagonal", "banded")}
check(STUDY.format("regret"), "cuDSS's own order takes {share['tridiagonal']} of the time for 1,000 factorizations of a tridiagonal matrix, and {share['banded']} for a band")
check("harness/library/docs/cudss.md", "it takes {share['tridiagonal']} of the time for a tridiagonal matrix, and {share['banded']} for a band")
worst = {of: f"{mean(found[of][of[0] + ':mmd']):.2f} ({max(found[of][of[0] + ':mmd']):.2f})" for of in (("superlu_dist", 1, 1), ("superlu_dist", 16, 1), ("splu", 1, 1))}
check(STUDY.format("regret"), "orders by MMD: {worst['superlu_dist', 1, 1]}, on 16 ranks {worst['superlu_dist', 16, 1]}. MMD in `splu`: {worst['splu', 1, 1]}")
for (program, threads, k), of in found.items():
    own = next((of[o] for o in regret.SERIES["program's own"][0] if o in of), None)
    cells = ["{:.2f} ({:.2f})".format(mean(v), max(v)) if v else "-" for v in (of["automatic"], own, of["metis"], of["amd"])]
    if len(of["automatic"]) >= regret.LEAST_INPUTS:
        check(STUDY.format("regret"), "| {regret.NAMES[program]} | {threads} | {k:,} | {len(of['automatic'])} | {' | '.join(cells)} |")
once = [mean(of["automatic"]) for (_, _, k), of in found.items() if k == 1]
unseen = regret.of_all_families(regret.regrets(records.read_kind([RECORDS / "2026-11-30_cpu2_regret" / "regret.jsonl"], "regret")))
then = [mean(of["automatic"]) for (_, _, k), of in unseen.items() if k == 1]
check("README.md", "one solve in the order `automatic` takes {min(once):.2f} to {max(once):.2f} times as long in SciPy's `splu`, CHOLMOD, cuDSS and SuperLU_DIST "
      "(one core, and all) as in the best of the orders that were tried; on inputs that no choice had seen, {min(then):.2f} to {max(then):.2f} times on one core")
for (program, _, k), of in unseen.items():
    own = next(of[o] for o in regret.SERIES["program's own"][0] if o in of)
    cells = ["{:.2f} ({:.2f})".format(mean(v), max(v)) for v in (of["automatic"], own, of["metis"], of["amd"])]
    check(STUDY.format("regret"), "| {regret.NAMES[program]} | {k:,} | {len(of['automatic'])} | {' | '.join(cells)} |")
door = {k: f"{mean(found['cholmod', 1, k]['cholmod:metis']) / mean(found['cholmod', 1, k]['automatic']):.1f}" for k in (1, 10, 1000)}
of = found["superlu_dist", 16, 1]
check("README.md", "SuperLU_DIST with a rank on each core is {mean(of['metis']) / mean(of['automatic']):.1f} times as fast as with METIS, both orders found beforehand, and {'about' if 0.9 < mean(of['superlu_dist:mmd']) / mean(of['automatic']) < 1.1 else 'not'} as fast as with its own minimum degree")
of = found["cholmod", 1, 1]
own = mean(next(of[o] for o in regret.SERIES["program's own"][0] if o in of)) / mean(of["automatic"])
check("README.md", "on one thread CHOLMOD is {door[1]} times as fast with it as with METIS, and in the mean {'as' if 0.95 < own < 1.05 else 'not as'} fast as with its own default")
check(METIS, "one solve by CHOLMOD on one thread is {door[1]} times as fast as with METIS, ten factorizations {door[10]} and 1,000 {door[1000]} times")
for family, of in matchings.ratios(matchings.tables([A2])[0]).items():
    cells = ["{:.2f} ({:.2f})".format(mean(v), max(v)) for v in of.values()]
    check(STUDY.format("matchings"), "| {family} | {len(of['maximum'])} | {' | '.join(cells)} |")

# Panels, and rivals as their users run them.
JUDGEMENT, PANELS, CORES, GRID = (STUDY.format(x) for x in ("judgement", "gpu_panels", "cpu_panels", "large_grids"))
symbfact = [rivals("panels", "peer_superlu_dist", relax=k) for k in (1, DEFAULT)]
gpu, lists, cpu = (rivals(file, v) for file, v in (("panels", "gpu_bitmap_panels"), ("transfers", "gpu_bitmap_panels"), ("panels", "cpu_bitmap_panels")))
users = {what: [digits(over(peer, ours, large)) for peer in symbfact for large in (False, True)] for what, ours in (
    ("one GPU", {m: seconds(r) for m, r in gpu.items()}), ("one GPU with allocation and upload", {m: seconds(r, "prepare_s") for m, r in gpu.items()}),
    ("the same, and L and U on the host", {m: seconds(r, "prepare_s", "collect_s") for m, r in lists.items()}),
    ("one core", {m: seconds(r) for m, r in cpu.items()}),
    ("one core, and L and U", {m: seconds(r, "collect_s") for m, r in rivals("transfers", "cpu_bitmap_panels").items()}))}
_, upload, listed, core, core_listed = users.values()
relaxed = digits(over(symbfact[0], {m: seconds(r) for m, r in symbfact[1].items()}), 3)
glu, marks = (rivals("one_core", v) for v in ("cpu_glu_union", "cpu_set_union"))
ended = [m for m in glu if "timeout" in (glu[m]["status"], marks[m]["status"])]
unions = [seconds(glu[m]) / seconds(marks[m]) for m in glu if m not in ended]
tournament = [only(of.where(package="this program, tournament", version="0.3.0")).operations / min(of.that(
    lambda r: not r.package.startswith("this program") and r.version not in ("2.4.6", "3.0.14", "7.0.3")).operations)  # those have newer releases
    for of in newest.where(kind="real").each("input").values()]
versions = table("2026-11-27_cpu2_rivals/superlu_dist.csv").pivot("input", "version", only)
releases = versions.ratios("9.2.1 (-O3)", "8.1.2 (Debian)", "symbfact_s")
equal = all(set(versions.ratios("9.2.1 (-O3)", "8.1.2 (Debian)", c)) == {1} for c in ("nnz_l", "nnz_u"))
of_newest = functools.partial(rivals, "newest", folder=RECORDS / "2026-11-30_h200_newest")
in_newest = {m: seconds(r) for m, r in of_newest("gpu_bitmap_panels").items()}
by_newest = [digits(over(of_newest("peer_superlu_dist", relax=k), in_newest)) for k in (1, DEFAULT)]
check(JUDGEMENT, "`gpu_bitmap_panels` is {by_newest[0]} times as fast as its `symbfact` without relaxed supernodes, {by_newest[1]} times with them ({len(in_newest)} real")
check(JUDGEMENT, "| {what} | {' | '.join(cells)} |", [Row(what=w, cells=c) for w, c in users.items()])
check(JUDGEMENT, "relaxed supernodes takes {relaxed} times as long as with them")
check(JUDGEMENT, "`cpu_glu_union` takes {mean_and_span(unions)} times as long as `cpu_set_union` ({len(unions)} matrices; {len(ended)} passed 20 s)")
check(JUDGEMENT, "`tournament` needs {mean(tournament):.2f} of the operations of the best of METIS 5.1.0, AMD 3.3.3, CHOLMOD 5.3.0")
check(JUDGEMENT, "and no more operations than the best on {sum(x <= 1 for x in tournament)} of the {len(tournament)}")
check(JUDGEMENT, "SuperLU_DIST 9.2.1 finds {'the same' if equal else 'other'} entries of L and U as 8.1.2, which the table compares with, and `symbfact` takes "
      "{mean(releases):.2f} times the time of Debian's 8.1.2 ({len(releases)} real matrices)")
shown = [row[3] for row in records_readme.speeds()]
check("paper/report.md", "With its default, {shown[0]} times on one GPU and {shown[-1]} on one core")
check("README.md", "With L and U on the host, the GPU is {listed[2]} times as fast as `symbfact` by default, one core {core_listed[2]}")

HOST, COUNTING = RANKS, A2
FOUR_GPUS = RECORDS / "2026-11-27_h200_x4_judgement" / "gpus.jsonl"
times, sizes = {}, {}  # {(variant, threads, ranks): {matrix: median time in ms}}, {matrix: (kind, n, entries of L + U)}
for r in records.read_runs([HOST / f for f in ("threads.jsonl", *(f"ranks_{k}.jsonl" for k in (1, 2, 4, 8, 16, 32)))]):
    if r["samples_s"]:
        relaxed = records.settings(r).get("relax", 1) > 1
        times.setdefault((r["variant"], r["threads"], r["mpi"]["ranks"], *["relaxed"] * relaxed), {})[r["matrix"]["name"]] = 1e3 * median(r["samples_s"])
    if r["status"] == "pass":
        sizes[r["matrix"]["name"]] = r["matrix"]["kind"], r["matrix"]["n"], r["result"]["nnz_l"] + r["result"]["nnz_u"]
one, gpu, panels, threads = (times[v, k, 1] for v, k in (("peer_superlu_dist", 1), ("gpu_bitmap_panels", 1), ("cpu_bitmap_panels", 1), ("cpu_bitmap_panels", 16)))
best = {m: min([t, *(of[m] for (v, *_), of in times.items() if v.startswith("peer_superlu_dist") and m in of)]) for m, t in one.items()}
sized = [Row(m=m, kind=kind, n=n, nnz=nnz) for m, (kind, n, nnz) in sizes.items() if m in gpu and m in panels and m in threads]
groups = {"{} real": [m for m in one if sizes[m][0] in records.REAL and sizes[m][1] >= 1000], "{} finite elements": [m for m in one if sizes[m][0] == "finite elements"]}
real, fem = groups.values()
groups["the {} of them with n >= 10,000"] = [m for m in real if sizes[m][1] >= 10000]


def speed_ups(slow, fast, matrices):
    return [slow[m] / fast[m] for m in matrices if m in slow and m in fast]


for document, slow, fast, what in (
        (PANELS, one, gpu, "`symbfact`, one core"), (PANELS, best, gpu, "SuperLU_DIST at its best"),
        (CORES, one, panels, "one core | `symbfact`, one core"), (CORES, best, threads, "16 threads | SuperLU_DIST at its best"),
        (CORES, panels, threads, "16 threads | `cpu_bitmap_panels`, one core")):
    for which, of in groups.items():
        gains = speed_ups(slow, fast, of)
        check(document, "| {which.format(len(gains))} | {what} | {digits(mean(gains))} | {digits(min(gains))} to {digits(max(gains))} |")
gains = speed_ups(one, gpu, real)
check(PANELS, "On {len(gains)} real matrices `gpu_bitmap_panels` on one GPU is {digits(mean(gains))} times as fast as `symbfact` on one core "
      "({digits(min(gains))} to {digits(max(gains))})")
authors = table("2026-11-22_h200_x2_ranks/authors.csv")
authors = authors.authors_ms / authors.gpu_bitmap_panels_ms
first = table("2026-11-27_h200_first_runs/threads.csv")
gains = [of.pivot("input", "threads", only).ratios("1", "16", "first_run_ms") for of in first.each("what").values()]
check(PANELS, "SuperLU_DIST's default, {by_default()} times")
check(PANELS, "…| {m} | {kind} | {n:,} | {e(nnz)} | {digits(gpu[m], 3)} | {digits(one[m], 3)} | {digits(one[m] / gpu[m], 3)} | {digits(best[m] / gpu[m], 3)} |", sized)
check(PANELS, "authors' code takes {digits(mean(authors))} times as long as the panels ({digits(min(authors))} to {digits(max(authors))}, {len(authors)} matrices)")
check(CORES, "{digits(mean(speed_ups(one, panels, real)))} times as fast as `symbfact` of SuperLU_DIST on {len(real)} real matrices and "
      "{digits(mean(speed_ups(one, panels, fem)))} times on {len(fem)} finite-element matrices")
check(CORES, "with SuperLU_DIST's default {by_default('cpu_bitmap_panels')} times")
first_run = median(r["samples_s"][0] / median(r["samples_s"][1:]) for r in records.read_runs([HOST / "threads.jsonl"]))
check(CORES, "the first of five takes {first_run:.1f} times as long as the others")
first_runs = {r["matrix"]["name"]: 1e3 * r["samples_s"][0] for r in records.read_runs([HOST / "threads.jsonl"])}
check(CORES, "by the first runs, 16 threads are {digits(mean(speed_ups(best, first_runs, real)))} times as fast as SuperLU_DIST at its best on the real matrices, and "
      "{digits(mean(speed_ups(panels, first_runs, real)))} times as fast as one core")
check(CORES, "with these lists one core is {core_listed[2]} times as fast as `symbfact` by default")
by_ranks = {k: times["peer_superlu_dist_parallel", 1, k] for k in (2, 4, 8, 16, 32)}
ranked = [m for m in one if sizes[m][1] >= 10000]
most = sum(by_ranks[32][m] == best[m] for m in ranked)
no_rank = min(of["kkt4_10480_goc"] for of in by_ranks.values()) > times["peer_superlu_dist", 1, 1, "relaxed"]["kkt4_10480_goc"]
check(JUDGEMENT, "32 ranks, the most that were tried, are the best number for {most} of {len(ranked)} matrices with n ≥ 10,000")
check(JUDGEMENT, "on kkt4_10480_goc no number of ranks is {'faster' if no_rank else 'slower'} than `symbfact` by default")
check(CORES, "16 threads are {digits(mean(speed_ups(best, threads, real)))} and {digits(mean(speed_ups(best, threads, fem)))} times as fast as SuperLU_DIST's best")
check(CORES, "…| {m} | {kind} | {n:,} | {e(nnz)} | {digits(one[m], 3)} | {digits(panels[m], 3)} | {digits(threads[m], 3)} | {digits(one[m] / panels[m], 3)} | "
      "{digits(best[m] / threads[m], 3)} |", sized)
check(CORES, "16 threads of an Intel Xeon are {mean(gains[0]):.1f} times as fast as one ({span(gains[0])}), the order `cpu_nested_dissection` "
      "{mean(gains[1]):.1f} times ({span(gains[1])})")

older = table("2026-11-25_large_grids/grids.csv").plus(ms=lambda r: [float(x) for x in str(r.runs_ms).split()])
grids = table("2026-11-27_h200_x4_judgement/grids.csv").where(gpus=1).pivot("matrix", "counts", only)
largest = {form: min(only(older.where(grid="464^3", form=form)).ms) for form in ("tree", "panels")}
peak = {g: max(r.device_peak_gb for r in older.where(grid=g, form="panels", gpus=1) if r.device_peak_gb) for g in ("200^3", "320^3", "464^3")}
hundred = [median(only(older.where(grid=g, gpu="NVIDIA H100 80GB HBM3", host="f", form="panels", gpus=1)).ms) for g in ("200^3", "320^3")]
one_way = [r.ms for r in older.where(grid="128^3, one-way")]
check(GRID, "| {re.search('nx=([0-9]+)', matrix)[1]}^3 | {e(n)} | {e(tree.nnz_lu)} | {digits(tree.ms, 3)} | {digits(panels.ms, 3)} |", grids)
check(GRID, "of 464^3 (n = 10^8, {e(only(older.where(grid='464^3', form='tree')).nnz, 1)} entries) in {largest['tree']:.0f} ms by the elimination tree and in "
      "{largest['panels'] / 1e3:.2f} s by panels")
check(GRID, "need {peak['200^3']} GB of device memory at 200^3, {peak['320^3']} GB at 320^3 and {peak['464^3']:.0f} GB at 464^3")
check(GRID, "One H100 takes {hundred[0]:.1f} ms at 200^3 and {hundred[1]:.0f} ms at 320^3")
check(GRID, "takes {median(one_way[2]):.0f} ms instead of {median(one_way[0]):.0f} ms plus a copy of {one_way[1][0]:.0f} ms (H100)")

# Several GPUs, simulated GPUs, stand-ins.
SCALING, STAND_INS, SIMULATOR = (STUDY.format(x) for x in ("scaling", "stand_ins", "scaling_simulator"))
KINDS, SPILLS = {"original": "original (bcsstk18)"}, "Trefethen_20000"
middle = functools.partial(mean_and_span, how=median)
of, kind_of = {}, {}  # {matrix: {(GPUs, schedule, chunk size): ms}}
for r in records.read_runs([FOUR_GPUS]):
    if r["variant"] == "mpi_maxid":
        of.setdefault(r["matrix"]["name"], {})[r["options"]["gpus_per_rank"], r["options"]["schedule"], r["chunk_size"]] = 1e3 * median(r["samples_s"])
        kind_of[r["matrix"]["name"]] = r["matrix"]["kind"]
alone = {m: t[1, "block", 128] for m, t in of.items()}


def gain(matrices, gpus=4, schedule="intra_node"):
    return [alone[m] / of[m][gpus, schedule, 128] for m in matrices]


groups = {k: [m for m in of if kind_of[m] == k] for k in kind_of.values()}
real, fem = groups["real"], groups["finite elements"]
short, long = [m for m in real if alone[m] < 10], [m for m in real if alone[m] > 40 and m != SPILLS]
better = [[of[m][4, "block", 128] / of[m][4, "intra_node", 128] for m in g] for g in (real, fem)]
chunks = [middle([of[m][4, "intra_node", size] / of[m][4, "intra_node", 64] for m in real], ".2f") for size in (128, 256)]
check(SCALING, "| {KINDS.get(k, k)} | {len(g)} | {middle([alone[m] for m in g])} | {middle(gain(g, 2, 'block'))} | {middle(gain(g, 4, 'block'))} | "
      "{middle(gain(g, 2))} | {middle(gain(g))} |", [Row(k=k, g=g) for k, g in groups.items()])
check(SCALING, "is {median(gain(real)):.1f} times as fast … (median of {len(real)}; {span(gain(real))}), and {median(gain(fem)):.1f} times on")
check(SCALING, "{middle(gain(short))} on the {len(short)} real matrices below 10 ms, and {middle(gain(long))} on the {len(long)} above 40 ms without {SPILLS}")
check(SCALING, "{SPILLS} gains {gain([SPILLS])[0]:.0f} because")
check(SCALING, "is faster than `block` on {sum(x > 1 for x in better[0])} of {len(real)} real matrices and on {sum(x > 1 for x in better[1])} of {len(fem)} finite "
      "elements (median {median(better[0]):.1f} and {median(better[1]):.1f})")
check(SCALING, "chunks of 128 rows take {chunks[0]} and chunks of 256 rows {chunks[1]} times as long as chunks of 64")
found = {r["matrix"]["name"]: r for r in records.read_runs([COUNTING / "counting.jsonl"]) if r["options"]["concurrent_sources"] == 0}
both = [found[m] for m in ("bcsstk18", records.datasets()["BC"]["stand_in"])]
counts = [Row(r["counters"], fill=r["result"]["fill"], rows=r["matrix"]["n"] / r["result"]["supernodes"]) for r in both]
for what, key, form in (("fill-ins", "fill", "{:,}"), ("rows of a supernode, mean", "rows", "{:.2f}"), ("edges traversed", "edges_traversed", "{:.3g}"),
                        ("fill-ins found again", "fills_found_again", "{:,}"), ("expansions of an expanded vertex", "revisits", "{:.3g}"),
                        ("entries in queues, sum over levels", "queue_entries_sum", "{:.3g}")):
    cells = [form.format(c[key]).replace("e+0", "e") for c in counts]
    check(STAND_INS, "| {what} | {cells[0]} | {cells[1]} | {counts[1][key] / counts[0][key]:.2f} |")

pairs = {}
for r in records.read_runs([RECORDS / "2026-11-30_h200_campaign_b2" / "gpus.jsonl"]):
    if r["variant"] == "mpi_maxid" and r["chunk_size"] == 128 and r["matrix"]["kind"] in records.REAL:
        key = r["options"]["gpus_per_rank"], r["options"]["schedule"]
        pairs.setdefault(r["matrix"]["name"], {})[key] = median(s - r["phases_s"].get("compact", 0) for s in r["samples_s"])
interleaved = {m: t[2, "block"] / t[2, "intra_node"] for m, t in pairs.items()}
fastest = {m: v for m, v in interleaved.items() if m != SPILLS}
check(STUDY.format("fig17_schedules"), "Without {SPILLS} ({interleaved[SPILLS]:.1f} times), whose queue spills to the host under `block` alone, the mean of real matrices is {mean(fastest.values()):.2f}")
check(STUDY.format("fig19_scaling"), "{SPILLS} gains {pairs[SPILLS][1, 'block'] / pairs[SPILLS][2, 'intra_node']:.1f} times on two GPUs, because its queue spills to the host on one")

makespan, n_of = {}, {}
for r in json_lines.read(records.ROOT / "experiments" / "scaling_simulator" / "simulated.jsonl"):
    makespan.setdefault(r["matrix"], {})[r["schedule"], r["gpus"], r["chunk_size"]] = r["makespan_s"]
    n_of[r["matrix"]] = r["n"]
groups = {}
for m in makespan:
    groups.setdefault(kind_of.get(m) or ("finite elements" if m.endswith("_0.05") else "real"), []).append(m)


def simulated(matrices, schedule):
    return [makespan[m][schedule, 6, 128] / makespan[m][schedule, 264, 128] for m in matrices]


def larger(kind, size):
    return mean_and_span([makespan[m]["intra_node", 36, size] / makespan[m]["intra_node", 36, 64] for m in groups[kind]], ".2f", fmean)


inter = [t["inter_node", 36, 128] / t["intra_node", 36, 128] for t in makespan.values()]
real = simulated(groups["real"], "intra_node")
check(SIMULATOR, "| {KINDS.get(k, k)} | {len(g)} | {mean_and_span([n_of[m] for m in g], ',').split('(')[-1].strip(')')} | "
      "{' | '.join(middle(simulated(g, s)) for s in ('block', 'inter_node', 'intra_node', 'dynamic'))} |", [Row(k=k, g=g) for k, g in groups.items()])
check(SIMULATOR, "Simulated on {len(real)} real matrices of {span([n_of[m] for m in groups['real']], ',')} rows, `intra_node` is {median(real):.1f} times as fast "
      "on 264 GPUs as on six (median; {min(real):.1f} to {max(real):.0f} times)")
check(SIMULATOR, "on {sum(x < 1.05 for x in simulated(makespan, 'dynamic'))} of the {len(makespan)} matrices it gains less than 5 % beyond six GPUs")
check(SIMULATOR, "On 36 GPUs it is faster than `inter_node` on {sum(x > 1 for x in inter)} of {len(inter)} matrices, by a factor of {span(inter)}")
check(SIMULATOR, "Chunks of 128 rows: {larger('real', 128)} on real matrices, {larger('finite elements', 128)} on finite elements. Chunks of 256 rows: "
      "{larger('real', 256)} and {larger('finite elements', 256)}")
sys.path.append(str(records.ROOT / "experiments" / "scaling_simulator"))
import simulate  # noqa: E402
works = simulate.read_work([RECORDS / "2026-11-27_cpu2_judgement" / "edges.jsonl.gz"])
judged = Rows(Row(r, off=abs(r["error"])) for r in simulate.validate(simulate.arguments(["--work", "", "--validate", str(FOUR_GPUS)]), works)
              if not r["fitted"])
several = judged.that(lambda r: r.gpus > 1)
four = judged.that(lambda r: (r.gpus, r.schedule) == (4, "intra_node") and r.matrix != SPILLS)
short, long = four.that(lambda r: alone[r.matrix] < 10), four.that(lambda r: alone[r.matrix] > 100)
check(SIMULATOR, "| {gpus} | {schedule}{', three chunk sizes' if len(set(g.chunk_size)) == 3 else ''} | {len(g)} | "
      "{' | '.join(f'{digits(100 * x)} %' for x in (median(g.off), max(g.off), max(g.that(lambda r: r.matrix != SPILLS).off)))} |",
      [Row(gpus=gpus, schedule=s, g=g) for (gpus, s), g in judged.each("gpus", "schedule").items()])
check(SIMULATOR, "over all {len(judged)} runs is {100 * median(judged.off):.0f} %, and {100 * median(several.off):.0f} % over the {len(several)} runs "
      "on two and four GPUs")
check(SIMULATOR, "On four GPUs under `intra_node` {sum(four.error < 0)} of {len(four)} simulated times without {SPILLS} are too short")
check(SIMULATOR, "its median is {100 * median(short.off):.0f} % on {len(short) // 3} matrices below 10 ms and {100 * median(long.off):.0f} % on "
      "{len(long) // 3} above 100 ms")

# First runs, cliffs, sequences.
FIRST, CLIFFS, SEQUENCES = (STUDY.format(x) for x in ("first_runs", "cliffs", "sequences"))
runs = table("2026-11-27_h200_first_runs/first_runs.csv").plus(cold=lambda r: r.cold_ms / r.first_ms, slow=lambda r: r.first_ms / r.kernels_ms)
panels, tree = (runs.where(counts=c) for c in ("panels", "tree"))
large, small = (panels.that(lambda r: (r.n >= 50000) == is_large) for is_large in (True, False))
check(FIRST, "…| {input} | {kind} | {n:,} | {counts} | {cold_ms:g} | {first_ms:g} | {kernels_ms:g} | {slow:.2f} | {cold:.2f} |", runs)
check(FIRST, "takes {mean(large.slow):.2f} times as long as its kernels on patterns with 50,000 rows or more, and {mean(small.slow):.2f} times on smaller ones")
check(FIRST, "The limit of 3 {'holds' if max(runs.cold) <= 3 else 'does not hold'} everywhere.")
check(FIRST, "takes {mean(panels.cold):.2f} times as long by panels as a first run in a warm process, and {mean(tree.cold):.2f} times by the tree")
check(FIRST, "at worst {max(runs.cold):.1f}")
check(FIRST, "holds on {sum(panels.slow <= 1.25)} of {len(panels)} inputs by panels and on {sum(tree.slow <= 1.25) or 'none'} by the tree")
check(LIBRARY.format("docs/analyze.md"), "takes {mean(panels.cold):.2f} times as long by panels, and {mean(tree.cold):.2f} times by the elimination tree")

panels = table("2026-11-27_h200_cliffs/panels.csv").that(lambda r: r.n and r.n >= 20000)
panels.sort(key=lambda r: r.core_ms / r.gpu_ms)
rows = table("2026-11-27_h200_cliffs/orders.csv")
counted = rows.that(lambda r: r.metis and r.metis > 0).plus(over=lambda r: r.automatic / min(r.metis, r.amd),
                                                            host=lambda r: r.cpu_nested_dissection / min(r.metis, r.amd))
worst = [max(counted.that(lambda r: r.input.startswith(f"gen:{f}")).host) for f in ("banded", "random:n=200000", "tridiagonal")]
NUMERALS = ("no", "one", "two", "three", "four", "five")
check(CLIFFS, "| `{input[4:]}` | {n:,} | {core_ms:g} | {gpu_ms:g} | {digits(core_ms / gpu_ms, 3)} |", panels[:10])
check(CLIFFS, "on {sum(panels.core_ms / panels.gpu_ms >= 5)} of {len(panels)} inputs with n >= 20,000")
check(CLIFFS, "{len(rows)} inputs with n = 5,000 to 200,000, {sum(rows.n <= 50000)} of them with n <= 50,000")
check(CLIFFS, "| `{input[4:]}` | {n:,} | {' | '.join(digits(x, 3) if x < 1e3 else f'{x:.2e}' for x in (automatic, metis, amd))} | {over:.2f} ",
      sorted(counted, key=lambda r: -r.over)[:10])
check(CLIFFS, "needs {mean(counted.over):.3f} of the operations of the better of METIS and AMD (geometric mean of {len(counted)} inputs)")
check(CLIFFS, "is above the limit of 1.1 on {NUMERALS[sum(counted.over > 1.1)]} inputs")
check(CLIFFS, "alone needs {mean(counted.host):.3f} of the operations (geometric mean) and is above 1.1 on {sum(counted.host > 1.1)} inputs: {worst[0]:.1f} on triangular bands, "
      "{worst[1]:.1f} on `random:n=200000,degree=2`, {worst[2]:.1f} on `tridiagonal`")
check(CLIFFS, "The orders of {sum(not c.startswith('00ff925') for c in map(str, rows.commit))} inputs are of commit 06a9893")

COMPARED = "2026-11-27_cpu2_sequences"
sequences = {}  # the first pattern is no step; times of one thread
for r in json_lines.read(RECORDS / COMPARED / "sequences.jsonl"):
    steps = Rows(Row(s, share=s["rows_changed"] / s["n"], over=s["update_operations"] / s["new_operations"],
                     **{k: 1e3 * s[f"{k}_cpu_s"] for k in ("update", "new", "metis")}) for s in r["steps"][1:])
    adapted = steps.that(lambda s: not s.compared and s.change != "new_order")
    sequences[r["sequence"]["name"]] = Row(
        steps=steps, adapted=adapted, share=steps.share.mean(), exceed=int(sum(steps.over > 1.05)), time=steps.update.mean() / steps.new.mean(),
        anew=1 - len(adapted) / len(steps), at=digits(adapted.update.mean()) if adapted else "-")
for s, of in table(f"{COMPARED}/peers.csv").that(lambda r: r.step > 0).each("sequence").items():
    sequences.get(s, {}).update(peers=of, parth=1e3 * of.parth_cpu_s.mean())


titles = {"parth": "Parth's own", "kkt_7336_epigrids_dropped": "`kkt_*_dropped`"}
shown = [Row(s=sequences[m], title=titles.get(m, f"`{m}`")) for m in (
    "parth", "rewired2_long", "rewired2_01", "rewired2_1", "rewired3_1", "contact", "remesh_plate", "switching_memplus", "switching_G2_circuit",
    "kkt_7336_epigrids_dropped")]
every, parth, remesh, dropped = sequences.values(), sequences["parth"], sequences["remesh_plate"].peers, sequences["kkt_7336_epigrids_dropped"].peers
little = [100 * s.time for m, s in sequences.items() if s.share < 0.003 and m != "rewired2_long"]
much = Rows(s for s in every if s.share > 0.01)
beyond = ", ".join(f"`{m}` {s.exceed}" for m, s in sorted(sequences.items(), key=lambda v: -v[1].exceed) if s.exceed)
unused = not any([*sequences["rewired2_1"].peers.parth_reuse, *sequences["contact"].peers.parth_reuse])
host, gpu = (only(table("2026-11-27_h200_first_runs/update.csv").where(sequence="rewired2_01", where=w)) for w in ("16 threads", "GPU"))
check(SEQUENCES, "| {title} | {s.steps.n.mean():,.0f} | {digits(100 * s.share)} % | {len(s.adapted)} of {len(s.steps)} | {s.at} | {digits(s.steps.update.mean())} | "
      "{digits(s.steps.new.mean())} | {digits(s.steps.metis.mean())} | {digits(s.parth)} | {s.steps.over.mean():.3f} ({max(s.steps.over):.3f}) |", shown)
check(SEQUENCES, "`update()` takes {parth.steps.update.mean():.2f} ms, Parth {parth.parth:.0f} ms and METIS {parth.steps.metis.mean():.0f} ms")
check(SEQUENCES, "At {sum(s.exceed for s in every)} of {sum(len(s.steps) for s in every)} steps the operations exceed 1.05")
check(SEQUENCES, "The {sum(s.exceed for s in every)} steps above 1.05: {beyond}.")
check(SEQUENCES, "takes {span(little, '.0f')} % of the time of a new order on one thread, and {100 * sequences['rewired2_long'].time:.0f} % in the mean of "
      "{len(sequences['rewired2_long'].steps)} such steps")
check(SEQUENCES, "at {span(100 * much.anew, '.0f')} % of the steps, and its mean time is {min(much.time):.1f} to {max(much.time):.2f} of")
check(SEQUENCES, "the operations are {median(remesh.parth_operations / remesh.metis_operations):.1f} times those of METIS (median; "
      "{max(remesh.parth_operations / remesh.metis_operations):.0f} at worst) on the first and "
      "{median(dropped.parth_operations / dropped.metis_operations):.0f} times on the second")
check(SEQUENCES, "On `rewired2_1` and `contact` it reuses {'nothing' if unused else 'orders'}.")
check(SEQUENCES, "`rewired2_01`: {host['update, all, ms']} ms on 16 threads, {gpu['update, all, ms']} ms with the pattern on the GPU")
check(SEQUENCES, "a new order takes {host['new order, ms']} and {gpu['new order, ms']:.0f} ms there")
check(SEQUENCES, "{100 * sequences['switching_onetone1'].share:.0f} % of the rows change for `update()`")
check(LIBRARY.format("docs/analyzer.md"), "a step that changes {100 * sequences['rewired2_01'].share:.2f} % of {sequences['rewired2_01'].steps[0].n:,} rows")
