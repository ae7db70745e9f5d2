"""Numbers that the documents about orders and whole solves print, from committed records (numbers_records.py)."""

import math
import statistics

import order_kinds as kinds
import records
import regret
from numbers_records import RECORDS, digits, document, mean, mean_and_span, number, row, span, table

FOLDER = RECORDS / "2026-11-26_h200_orders"
NEWEST = ("this program, tournament", "this program, automatic", "this program, cpu_nested_dissection", "this program, amf",
          "SuiteSparse CHOLMOD analyze, NESDIS",
          "Scotch, default strategy", "SuiteSparse AMD")


def spread(values):
    """'mean (least to most)', two digits each."""
    return "{} ({} to {})".format(*(digits(f(values)) for f in (mean, min, max)))


FIGURE_ONLY = ("gpu_nested_dissection", "metis:no2hop=1", "metis:nseps=5", "metis:ufactor=400")  # orders without a row on the page


@document("experiments/orderings/README.md")
def orderings():
    inputs, _ = kinds.inputs_of([FOLDER / "kinds.jsonl", FOLDER / "anchors.jsonl"], kinds.read_table(kinds.TABLE))
    by_kind = {k: [i for i in inputs if i.kind == k] for k in kinds.KINDS}
    yield f"Geometric means over the virtual best of {len(inputs)} inputs"
    yield from (line.replace("|  |", "| - |") for line in kinds.overview(by_kind)[2:-1] if line.split("`")[1] not in FIGURE_ONLY)
    best = {k: kinds.summary(mine, "tournament")["mean"] for k, mine in by_kind.items()}
    yield "needs {:.2f} of the operations, {:.2f} on finite elements, {:.2f} on power, {:.2f} on circuits and {:.2f} on".format(*best.values())
    yield "needs {:.2f} and `automatic` {:.2f} of".format(*(kinds.summary(inputs, o)["worst over better"] for o in ("tournament", "automatic")))
    outlier, others = ([i for i in by_kind["finite elements"] if (i.name == "dg1_downstream_bracket") == wanted] for wanted in (True, False))
    yield f"the block triangular form leaves {outlier[0].operations('tournament') / outlier[0].operations('metis'):.2f} of METIS's operations"
    yield f"the geometric mean of `tournament` on finite elements is {kinds.summary(others, 'tournament')['mean']:.2f}."
    yield from order_times()
    yield from rivals()
    yield from newest_releases()


def order_times():
    """Rows of the table of times on finite elements and power grids."""
    found, of = {}, kinds.read_table(kinds.TABLE)
    for r in records.read_orders([FOLDER / "times.jsonl"]):
        found.setdefault((kinds.kind_of(r, of), r["order"]), {})[r["matrix"]["name"]] = min(r["samples_s"])
    for order, how in (("gpu_nested_dissection", ""), ("cpu_nested_dissection", ", 16 threads"), ("amf", ", one core"),
                       ("automatic", ", with the GPU"),
                       ("tournament", ", with the GPU")):
        cells = []
        for kind in ("finite elements", "power grid"):
            times = found[kind, order]
            cells += [spread([found[kind, "metis"][m] / t for m, t in times.items()]), span([1e3 * t for t in times.values()], "{:,.0f}")]
        yield row(f"`{order}`{how}", *cells)


def rivals():
    """Rows of the table of other packages, relative to METIS on one core of the same host."""
    runs = table("2026-11-25_cpu16_rivals/rivals.csv")
    base = {r["input"]: number(r, "seconds") for r in runs.where(order="metis")}
    for order, name in (("amd", "AMD (Eigen), one core"), ("scotch", "Scotch 7.0.3, one core"), ("mt-Metis 0.7.2",) * 2, ("ParMETIS 4.0.3",) * 2,
                        ("PT-Scotch 7.0.3",) * 2):
        mine = runs.where(order=order)
        operations = mine.numbers("operations_over_metis")
        yield row(name, digits(mean(number(r, "seconds") / base[r["input"]] for r in mine)),
                  *map(digits, (mean(operations), min(operations), max(operations))))
    found = {}
    for r in records.read_orders([RECORDS / "2026-11-25_h200_final" / "orders.jsonl"]):
        found.setdefault(r["order"], {})[r["matrix"]["name"]] = min(r["samples_s"]), r["result"]["flops"]
    for order, name in (("cpu_nested_dissection", "`cpu_nested_dissection`, 16 threads"),
                        ("gpu_nested_dissection", "`gpu_nested_dissection`, one H200")):
        over = [[found[order][m][k] / v[k] for m, v in found["metis"].items()] for k in (0, 1)]
        yield row(name, digits(mean(over[0])), *map(digits, (mean(over[1]), min(over[1]), max(over[1]))))


def newest_releases():
    """Rows of the table of newest releases on one thread, relative to METIS 5.1.0."""
    runs = table("2026-11-27_cpu2_rivals/orders.csv")
    base = {r["input"]: r for r in runs.where(package="METIS")}
    counts = [sum(r["kind"] == kind for r in base.values()) for kind in ("real", "finite elements", "power grid")]
    yield "geometric means over {} real matrices, {} finite-element matrices and {} power grids".format(*counts)
    for package in NEWEST:
        mine = runs.where(package=package)
        version = max({r["version"] for r in mine})
        cells = []
        for kind in ("real", "finite elements", "power grid"):
            these = mine.where(version=version, kind=kind)
            cells.append(digits(mean(number(r, "operations") / number(base[r["input"]], "operations") for r in these)))
            cells.append(digits(mean(number(r, "seconds") / number(base[r["input"]], "seconds") for r in these)))
        yield row(f"`{package.split(', ')[1]}`" if package.startswith("this") else f"{package.removesuffix(' strategy')} {version}", *cells)


@document("experiments/solvers/README.md")
def solvers():
    names = {"gen:grid27:nx=80,drop=0.3": ("27-point 80³, 30 % dropped", "generated"), "gen:grid7:nx=64": ("7-point 64³", "generated"),
             "gen:elasticity3d:nx=40": ("elasticity 40³", "generated"), "G2_circuit": ("G2_circuit", "real"),
             "gen:edge_elements:nx=46": ("edge elements 46³", "generated"),
             "gen:circuit:n=200000,hubs=20": ("circuit, 200,000, 20 hubs", "generated"),
             "epb3": ("epb3", "real"), "cage11": ("cage11", "real"), "cvxbqp1": ("cvxbqp1", "real")}
    speeds, slower = {}, []
    for folder in ("2026-11-24_h200_solvers", "2026-11-24_h200_tenth_host"):
        for matrix, runs in table(f"{folder}/cudss.csv").each("matrix").items():
            own, tree, alone = (runs.where(configuration=c) for c in ("own_threads", "ours_tree", "ours"))
            if not tree:
                continue
            all_s, numeric_s = ([statistics.median(r.numbers(c)) for r in (own, tree)] for c in ("all_s", "numeric_s"))
            speeds[matrix] = all_s[0] / all_s[1]
            slower += [statistics.median(alone.numbers("numeric_s")) / numeric_s[1]] if alone else []
            if matrix in names:
                yield row(*names[matrix], *(f"{s:.2f}" for s in all_s), f"{speeds[matrix]:.2f}", f"{numeric_s[1] / numeric_s[0]:.2f}")
    yield f"{mean(speeds.values()):.2f} times as fast on 16 host (mean of {len(speeds)} inputs, {min(speeds.values()):.2f} to {max(speeds.values()):.1f})"
    yield f"{min(slower):.1f} to {max(slower):.0f} times as slow ({len(slower)} inputs)."
    elements = table("2026-11-26_h200_orders/cudss.csv").each("matrix").values()

    def over(runs, column, *which):
        return number(runs.only(configuration=which[0]), column) / number(runs.only(configuration=which[1]), column)
    yield "with our order and tree {} times as fast as cuDSS on 16 threads ({})".format(
        *mean_and_span(over(r, "all_ms", "own_threads", "ours_tree") for r in elements).removesuffix(")").split(" ("))
    yield f"phase {mean_and_span((over(r, 'numeric_ms', 'ours_tree', 'own_threads') for r in elements), '{:.2f}')}".replace(" (", " of its own (")


@document("harness/library/python/README.md", "| | |", "| exception | also a | when |", "| without | the package |")
def scipy_solves():
    names = {"elasticity2_plate": "finite elements, elasticity of a plate", "diffusion1_block": "finite elements, diffusion in a block"}
    first = {}
    for r in table("2026-11-27_cpu2_solvers/sksparse_cholmod.csv"):
        yield row(names.get(r["matrix"], r["matrix"]), f"{int(r['n']):,}",
                  *(f"{number(r, f'{c}_cpu_s'):.2f}" for c in ("order", "cholmod", "cholmod_amd", "cholmod_metis")))
    for r in table("2026-11-27_cpu2_solvers/scipy_splu.csv"):
        first[r["matrix"]] = math.ceil(number(r, "order_cpu_s") / (number(r, "splu_mmd_cpu_s") - number(r, "splu_cpu_s")))
        yield row(names.get(r["matrix"], r["matrix"]), f"{int(r['n']):,}",
                  *(f"{number(r, c):.2f}" for c in ("order_cpu_s", "splu_cpu_s", "splu_mmd_cpu_s", "splu_colamd_cpu_s")))
    words = {k: ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")[k - 1] for k in set(first.values())}
    once = [names.get(m, m).replace("finite elements, diffusion in a block", "the block") for m, k in first.items() if k == 1]
    yield f"the order pays at the first factorization of {', '.join(once[:-1])} and {once[-1]}, at the {words[first['elasticity2_plate']]} of the plate, " \
        f"and at the {words[first['epb3']]} of epb3"


@document("harness/library/petsc/README.md", "| option | effect |", "| solver (`-pc_factor_mat_solver_type`) | the order `gsofa` |")
def petsc():
    kind = {"case_ACTIVSg2000_Jac": "power grid", "memplus": "circuit"}
    for matrix, runs in table("2026-11-27_cpu2_solvers/petsc_orders.csv").each("matrix").items():
        name = matrix.replace("grid:", "7-point grid of ") + "³" * matrix.startswith("grid:")
        of = "generated" if matrix.startswith("grid:") else kind.get(matrix, "real")
        yield row(f"{name} ({of}, {int(runs[0]['n']):,})",
                  *(f"{int(r['nnz_lu']):,}, {number(r, 'seconds'):.2f} s" if r["seconds"] else "more than 110 s" for r in runs))


@document("variants/orderings/README.md", "| option | CPU | GPU | effect |", "| option | meaning | default |",
          "| candidate | time on one core for each row | for each entry of L and U | expected to save of the operations |",
          "| factorization | an operation | an entry of L and U | a supernode | a level of the tree |")
def order_variants():
    found = {}
    for r in records.read_orders([RECORDS / "2026-11-27_cpu2_orders" / "options.jsonl"]):
        found.setdefault(r["matrix"]["name"], {})[r["order"]] = r["result"]["flops"], r["matrix"]
    for matrix, kind in (("memplus", "real"), ("powersim", "real"), ("kkt_4661_sdet", "power grid"), ("kkt_9591_goc", "power grid")):
        operations = {order: flops for order, (flops, _) in found[matrix].items()}
        yield row(matrix, kind, f"{found[matrix]['amd'][1]['n']:,}", *(f"{operations[o] / operations['metis']:.2f}" for o in
                                                                     ("cpu_nested_dissection:reduce=0", "cpu_nested_dissection", "amd")))
    inputs, _ = kinds.inputs_of([FOLDER / "kinds.jsonl", FOLDER / "anchors.jsonl"], kinds.read_table(kinds.TABLE))
    over = [i.operations("gpu_nested_dissection") / i.operations("metis") for i in inputs if i.kind == "finite elements"]
    yield f"On {len(over)} finite-element matrices, needs {mean(over):.2f} of METIS's operations (at worst {max(over):.2f};"
    yield from fill_over_degree()
    directed = [orders for orders in found.values() if "cpu_nested_dissection:direction=best" in orders]
    yield f"{len(directed)} unsymmetric real matrices of 1,000 to 60,000 rows"
    yield row("`none`", "the order of A + A^T", 1)
    what = {"nodes": "each node of the separator tree, and each small subtree, by least Markowitz products if that needs fewer operations",
            "btf": "block triangular form first, then `nodes`",
            "best": "the best of `nodes`, `btf`, and `btf` with only the components of at most 128 vertices; then `nodes` again, by least fill among 16 pivots"}
    for way, text in what.items():
        gains = [orders[f"cpu_nested_dissection:direction={way}"][0] / orders["cpu_nested_dissection"][0] for orders in directed]
        yield row(f"`{way}`", text, spread(gains))


def fill_over_degree():
    """Rows of minimum fill over SuiteSparse's newest AMD."""
    runs = table("2026-11-27_cpu2_rivals/orders.csv")
    degree = {r["input"]: r for r in runs.where(package="SuiteSparse AMD", version="3.3.3")}
    for kind, name in (("real", "real matrices"), ("finite elements", "finite-element matrices"), ("power grid", "KKT systems of power grids")):
        mine = runs.where(package="this program, amf", kind=kind)
        yield row(f"{len(mine)} {name}", *(spread([number(r, c) / number(degree[r["input"]], c) for r in mine]) for c in ("operations", "nnz_lu")))


def regrets_of_all_families():
    """{(program, threads, factorizations): {order: regrets}}, where the least total is 20 ms or more."""
    found = regret.regrets(records.read_kind([RECORDS / "2026-11-29_h200_regret" / "regret.jsonl"], "regret"))
    return regret.of_all_families(found)


@document("experiments/regret/README.md", "| program | values | orders of its own | given orders |", "| field | meaning |")
def regrets_of_programs():
    for (program, threads, k), orders in regrets_of_all_families().items():
        if len(orders["automatic"]) >= regret.LEAST_INPUTS:
            own = next(orders[o] for o in regret.SERIES["program's own"][0] if o in orders)
            yield row(regret.NAMES[program], threads, f"{k:,}", len(orders["automatic"]),
                      *("{:.2f} ({:.2f})".format(mean(v), max(v)) for v in (orders["automatic"], own, orders["metis"], orders["amd"])))


def regrets_on_front_page():
    found = regrets_of_all_families()

    def of(program, order, threads=1):
        return "{:.2f}".format(mean(found[program, threads, 1][order]))
    yield (f"one solve in the order `automatic` takes {of('splu', 'automatic')} times as long in SciPy's `splu` as in the best order that is known, "
           f"{of('cholmod', 'automatic')} in CHOLMOD, {of('superlu_dist', 'automatic')} in SuperLU_DIST and {of('cudss', 'automatic', 16)} in cuDSS")
