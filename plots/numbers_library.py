"""Numbers that the documents of the library print, from committed records (numbers.py)."""

import statistics

import numbers_orders
import numbers_rivals
import records

from numbers_records import document, mean, mean_and_span, number, one_digit_up, row, span, table

UNCHANGED = "2026-11-26_h200_unchanged_programs"
NAMES = {"grid:40x40x40": "7-point grid 40³", "grid:56x56x56": "7-point grid 56³", "grid:500x500x1": "5-point grid 500²",
         "grid:1000x1000x1": "5-point grid 1,000²", "gen:grid7:nx=30": "7-point grid of 30³", "gen:grid7:nx=56": "7-point grid of 56³",
         "gen:circuit:n=100000,hubs=20": "circuit, 20 hubs", "gen:circuit:n=200000,hubs=20": "circuit of 200,000, 20 hubs",
         "gen:elasticity3d:nx=34": "elasticity, grid of 34³", "gen:edge_elements:nx=36": "edge elements, grid of 36³"}


def name_of(matrix):
    return NAMES.get(matrix, matrix)


def solve(run):
    return number(run, "analyze_s", "factor_s", "solve_s")


def solves(runs):
    return runs.numbers("analyze_cpu_s", "factor_cpu_s", "solve_cpu_s")


def on_16_threads():
    """{matrix: {order: (time of the order, speed of the solve) in the first run and in the second}} of metis.csv. The default
    on the GPU, which elasticity1_bracket had without a name, is taken for the named order."""
    found = {}
    for matrix, runs in table(f"{UNCHANGED}/metis.csv").each("matrix").items():
        found[matrix] = {}
        for order, of_order in runs.each("order").items():
            base = [solve(r) for r in runs.where(order="metis")]
            found[matrix].setdefault(order.removesuffix(" (unasked)"), [(number(r, "order_s"), b / solve(r)) for r, b in zip(of_order, base)])
    return found


def default_solves():
    """Speeds of first solves with the default of libgsofa_metis: the GPU for graphs of at least 1,000,000 entries."""
    entries = {r["matrix"]: int(r["nnz"]) - int(r["n"]) for r in table(f"{UNCHANGED}/metis.csv")}
    return [orders["gpu_nested_dissection" if entries[m] >= 1_000_000 else "nested_dissection"][0][1] for m, orders in on_16_threads().items()]


def two_replicas():
    """{matrix: (METIS's better run, ours, operations, speed of the solve)}, one thread."""
    found = {}
    for matrix, runs in table("2026-11-26_cpu2_metis/two_replicas.csv").each("matrix").items():
        metis, ours = (runs.where(order=o) for o in ("metis", "default"))
        cpu = [min(r.numbers("order_cpu_s")) for r in (metis, ours)]
        entire = [min(solves(r)) for r in (metis, ours)]
        found[matrix] = (*cpu, number(ours[0], "flops") / number(metis[0], "flops"), entire[0] / entire[1], metis[0]["n"])
    return found


@document("harness/library/metis/README.md", "| variable | effect |", "| test | checks |")
def metis():
    both = on_16_threads()
    for matrix, orders in both.items():
        def pair(order, k, form, found=orders):
            return ", ".join(form.format(v[k]) for v in found[order]) if order in found else ""
        yield row(name_of(matrix), f"{orders['metis'][1][0]:.2f}",
                  *(pair(o, 0, "{:.2f}") for o in ("nested_dissection", "gpu_nested_dissection")),
                  *(pair(o, 1, "{:.1f}") for o in ("nested_dissection", "gpu_nested_dissection")))
    host, gpu = ([mean(orders[o][k][1] for orders in both.values() if o in orders) for k in (0, 1)]
                 for o in ("nested_dissection", "gpu_nested_dissection"))
    yield row("geometric mean", *("{:.1f}, {:.1f}".format(*pair) for pair in (host, gpu)))
    contexts = [orders["gpu_nested_dissection"] for orders in both.values()]
    yield f"({span([first[0] - second[0] for first, second in contexts], '{:.2f}')} s)"
    one = two_replicas()
    for matrix, (theirs, ours, operations, speed, n) in one.items():
        yield row(name_of(matrix), f"{int(n):,}", f"{theirs:.2f}", f"{ours:.2f}", f"{operations:.2f}", f"{speed:.2f}")
    grids = [v for m, v in one.items() if m.startswith("kkt")]
    rest = [v for m, v in one.items() if not m.startswith("kkt")]
    space = sorted(v[3] for m, v in one.items() if m.count("x1") == 0 and m.startswith("grid"))
    others = [v[3] for m, v in one.items() if not m.startswith(("kkt", "grid:40", "grid:56"))]
    yield f"orders power grids {mean(v[0] / v[1] for v in grids):.0f} times as fast as METIS"
    yield f"other matrices in {span([v[1] / v[0] for v in rest])} times METIS's time"
    yield row("power grids", "{:.1f} and {:.1f}".format(*sorted(v[3] for v in grids)))
    yield row("grids in space", "{:.1f} and {:.1f}".format(*space))
    yield row("others", span(others, "{:.2f}"))
    yield from metis_on_one_thread()


def two_over_four():
    """Time of the order and operations with two replicas over those with four, relative to METIS in the same run, 11 matrices."""
    two, times, operations = two_replicas(), [], []
    for matrix, runs in table("2026-11-26_cpu2_metis/one_thread.csv").where(program="cholmod").each("matrix").items():
        own, ours = runs.where(order="metis"), runs.where(order="nested_dissection")
        theirs, mine, over_metis, *_ = two[matrix.replace("grid_", "grid:")]
        times.append(mine / theirs / (min(ours.numbers("order_cpu_s")) / min(own.numbers("order_cpu_s"))))
        operations.append(over_metis / (number(ours[0], "flops") / number(own[0], "flops")))
    return times, operations


@document("harness/library/docs/order.md", "| option | |", "| result | |")
def order_options():
    yield f"Two take {mean(two_over_four()[0]):.2f} of the time of four"


def metis_on_one_thread():
    runs = table("2026-11-26_cpu2_metis/one_thread.csv")
    speeds = {}
    for (program, matrix), of_matrix in runs.each("program", "matrix").items():
        own, ours = of_matrix.where(order="metis"), of_matrix.where(order="nested_dissection")
        speeds[program, matrix] = statistics.median(solves(own)) / statistics.median(solves(ours))
    times, operations = two_over_four()
    more = mean_and_span(operations, '{:.2f}').replace(' (', ' times as many (').strip(')')
    yield f"{mean_and_span(times, '{:.2f}')} of the time of four with {more}, {len(times)} matrices)"
    grids, rest = ([v for (_, m), v in speeds.items() if m.startswith("kkt") == grid] for grid in (True, False))
    yield row("power grids, four replicas, three programs", span(grids))
    yield row("others, four replicas, three programs", span(rest, "{:.2f}"))
    worst = {p: max(r.numbers("residual")) for p, r in runs.each("program").items()}
    worst["superlu"] = max(table("2026-11-26_cpu2_superlu_dist/cpu_seconds.csv").numbers("residual"))
    yield ", ".join(f"{one_digit_up(worst[p.split('_')[0].lower()])} ({p})" for p in ("CHOLMOD", "Eigen", "MUMPS", "SuperLU_DIST"))


@document("harness/library/superlu/README.md", "| variable | effect |", "| test | checks |",
          "| what | SuperLU_DIST | extent | outcome |")
def superlu():
    pairs = pairs_of_solves("2026-11-26_cpu2_superlu_dist/cpu_seconds.csv")
    shown = ("epb3", "cvxbqp1", "FEM_3D_thermal1", "diffusion1_block", "bcsstk25", "kkt_4661_sdet", "G2_circuit", "memplus",
             "gen:circuit:n=100000,hubs=20", "gen:grid7:nx=30")
    speed = {}
    for matrix, (own, ours) in pairs.items():
        def medians(column, both=(own, ours)):
            return [statistics.median(r.numbers(column)) for r in both]
        alls, operations = medians("all_s"), medians("operations")
        speed[matrix] = alls[0] / alls[1]
        if matrix in shown:
            yield row(name_of(matrix), f"{int(own[0]['n']):,}", *(f"{v:.3f} s" for v in medians("column_order_s")),
                      *(f"{v:.2f} s" for v in alls), f"{operations[1] / operations[0]:.2f}", f"{speed[matrix]:.2f}")
    more = ("Dubcova1", "cage9", "case_ACTIVSg2000_Jac", "kkt_9591_goc", "convection_bracket")
    yield from (row(m, f"{speed[m]:.2f}") for m in more)
    yield row("27-point grid of 100 x 40 x 11", f"{speed['gen:grid27:nx=100,ny=40,nz=11']:.2f}")
    yield f"{statistics.median(speed.values()):.2f} times as fast as with METIS (median of {len(speed)} inputs"
    yield from superlu_phases(pairs)
    yield from superlu_settings(pairs)
    yield from row_permutations()
    for matrix, runs in table(f"{UNCHANGED}/superlu_dist.csv").where(ranks=16).each("matrix").items():
        yield row(name_of(matrix), *(f"{number(r, 'order_s'):.2f}, {number(r, 'all_s'):.2f}" for r in runs))


def row_permutations():
    runs = table("2026-11-29_cpu2_matching/mc64.csv").where(rows="given")
    own, weighted, ours = (runs.numbers(f"{name}_s") for name in ("mc64", "weighted", "match"))
    for k, run in enumerate(runs):
        if run["matrix"] in ("G2_circuit", "cage11", "onetone1", "g7jac040sc", "mhd3200a"):
            yield row(run["matrix"], f"{int(run['n']):,}", *(f"{v[k]:.3f} s" for v in (own, weighted, ours)))
    yield row(f"sum of {len(runs)}", "-", *(f"{sum(v):.2f} s" for v in (own, weighted, ours)))
    ratios = [f"{mean([a / b for a, b in zip(v, own)]):.2f}" for v in (weighted, ours)]
    yield f"take {ratios[0]} times MC64's time, libgsofa's routine {ratios[1]} times"


def superlu_phases(pairs):
    def medians(matrix, column):
        return [statistics.median(runs.numbers(column)) for runs in pairs[matrix]]
    symbolic = {m: medians(m, "symbolic_s") for m in pairs}
    shares = [100 * symbolic[m][1] / medians(m, "all_s")[1] for m in pairs]
    yield f"is {span(shares)} % of these solves. It takes {span([v[1] / v[0] for v in symbolic.values()])} times the time"
    dissected = ("diffusion1_block", "convection_bracket", "gen:grid7:nx=30", "gen:grid27:nx=100,ny=40,nz=11")
    both = {c: [medians(m, c)[1] / medians(m, c)[0] for m in dissected] for c in ("column_order_s", "operations")}
    yield f"takes {span(both['column_order_s'])} times METIS's time, with {span(both['operations'], '{:.2f}')} times the operations"


def superlu_settings(pairs):
    before, speeds = {}, {"automatic": {}, "nested_dissection": {}}
    for run in table("2026-11-26_cpu2_superlu_dist/cpu_seconds.csv"):
        if run["with"] == "own":
            before[run["matrix"]] = number(run, "all_s")
        elif run["with"] in speeds and run["matrix"] in pairs:
            speeds[run["with"]].setdefault(run["matrix"], []).append(before[run["matrix"]] / number(run, "all_s"))
    slower = [[v for v in map(statistics.median, found.values()) if v < 1] for found in speeds.values()]
    yield from (row(f"`{name.replace('nested', 'cpu_nested')}`", len(found), len(v), span(v, "{:.2f}")) for (name, found), v in zip(speeds.items(), slower))
    wall = {}
    for (matrix, ranks), runs in table("2026-11-26_cpu2_superlu_dist/wall_seconds.csv").each("matrix", "ranks").items():
        own, ours = (runs.where(**{"with": w}) for w in ("own", "default"))
        if len(ours) == 3:
            wall.setdefault(matrix.replace("gen:grid7:nx=30", "7-point grid"), []).append(
                f"{statistics.median(own.numbers('all_s')) / statistics.median(ours.numbers('all_s')):.2f}")
    yield from (row(m, *v) for m, v in wall.items())


def pairs_of_solves(path):
    """{matrix: (solves by SuperLU_DIST alone, solves with the default order)} of runs that alternate."""
    solves, found = table(path), {}
    for before, ours in zip(solves, solves[1:]):
        if ours["with"] == "default":
            own, default = found.setdefault(ours["matrix"], (type(solves)(), type(solves)()))
            own.append(before)
            default.append(ours)
    return found


@document("harness/library/docs/cudss.md", "| interface | call | example |")
def cudss():
    yield f"| 16 host threads (threading layer) | {mean_and_span(finite_elements('own_threads'))} |"
    yield f"| 1 host thread (no threading layer) | {span_of_one_thread()} |"
    for matrix, runs in table(f"{UNCHANGED}/cudss.csv").each("matrix").items():
        all_ms = {r["configuration"]: number(r, "all_ms") for r in runs}
        yield row(name_of(matrix), *(f"{all_ms[c]:,.0f}" for c in ("own_threads", "own_1", "set_order")),
                  f"{all_ms['own_threads'] / all_ms['set_order']:.1f}", f"{number(runs.only(configuration='set_order'), 'order_ms'):.0f}")
    layer = [a / b for a, b in zip(finite_elements("own_1"), finite_elements("own_threads"))]
    yield f"Without the layer, cuDSS alone solves the eight matrices above in {mean_and_span(layer).replace(' (', ' times the time (')}"
    once = [number(r.only(configuration="set_order"), "all_ms") / number(r.only(configuration="set_order_1"), "all_ms")
            for r in table(f"{UNCHANGED}/cudss.csv").each("matrix").values()]
    yield f"differed by {max(max(v, 1 / v) for v in once) * 100 - 100:.0f} % at most"


def finite_elements(configuration):
    """Times of whole solves by cuDSS over those with our order and tree, eight matrices."""
    return [number(r.only(configuration=configuration), "all_ms") / number(r.only(configuration="ours_tree"), "all_ms")
            for r in table("2026-11-26_h200_orders/cudss.csv").each("matrix").values()]


def span_of_one_thread():
    values = finite_elements("own_1")
    return f"{mean(values):.1f} ({min(values):.1f} to {max(values):.0f})"


PATTERNS = {"tridiagonal:n=1000000": "tridiagonal", "grid5:nx=1000": "grid, 5 points", "grid5:nx=2000": "grid, 5 points", "grid5:nx=300": "grid, 5 points",
            "grid5:nx=1000,oneway=0.67": "grid, 5 points, two thirds of the edges one-way", "grid27:nx=40": "grid, 27 points",
            "circuit:n=200000,hubs=20": "circuit"}


def bytes_per_row():
    """Rows of memory.csv with (pattern, n, order, estimated bytes per row, measured)."""
    return [(PATTERNS[r["pattern"]], f"{int(r['n']):,}", r["order"],
             *(f"{number(r, c) / number(r, 'n'):.0f}" for c in ("estimated_bytes", "measured_bytes")))
            for r in table("2026-11-29_cpu2_memory/memory.csv") if r["pattern"] in PATTERNS]


@document("harness/library/docs/memory.md")
def memory():
    yield from (row(*names, measured) for *names, _, measured in bytes_per_row() if "one-way" not in names[0])


@document("harness/library/docs/estimate.md", "| member | |")
def estimate():
    yield from (row(*cells) for cells in bytes_per_row())
    shares = [float(measured) / float(estimated) for *_, estimated, measured in bytes_per_row()]
    yield "`analyze` took {:.2f} to {:.2f} of the bound".format(min(shares), max(shares))


@document("README.md", "| what | geometric mean | range | inputs |", "| question about the paper's search on a GPU | paper | here, real matrices | verdict |")
def readme():
    """The cells of the table of whole solves. style_test.py checks the other two tables."""
    host = [orders["nested_dissection"][0][1] for orders in on_16_threads().values() if "nested_dissection" in orders]
    runs = table(f"{UNCHANGED}/superlu_dist.csv").where(ranks=16).each("matrix").values()
    threads = [number(r.only(configuration="own_threads"), "all_ms") / number(r.only(configuration="set_order"), "all_ms")
               for r in table(f"{UNCHANGED}/cudss.csv").each("matrix").values()]

    def speeds(order):
        return [number(r.only(order="own"), "all_s") / number(r.only(order=order), "all_s") for r in runs]
    cells = {"METIS": (default_solves(), host), "SuperLU_DIST": (speeds("gpu_nested_dissection"), speeds("automatic")), "cuDSS": (threads, None)}
    doors = [line.split(" | ") for line in (records.ROOT / "README.md").read_text(encoding="utf-8").splitlines() if "[page](harness" in line]
    yield from numbers_rivals.front_page()
    yield from numbers_orders.regrets_on_front_page()
    for name, (gpu, cores) in cells.items():
        door = next(d for d in doors if d[0].startswith(f"| {name}"))
        yield f"{door[0]} | {door[1]} | {mean_and_span(gpu)} | {mean_and_span(cores) if cores else '-'} |"


for without_measurements in ("harness/library/README.md", "variants/panels/README.md"):
    document(without_measurements, "| variant | runs on | if memory does not suffice |")(lambda: ())
