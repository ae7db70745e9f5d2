"""Numbers that the READMEs of studies print, from committed records (numbers_records.py)."""

import statistics

import records
from numbers_records import RECORDS, Rows, digits, document, mean, number, row, table

STUDIES = "experiments/{}/README.md"
SEQUENCES = "2026-11-27_cpu2_sequences"


@document(STUDIES.format("first_runs"))
def first_runs():
    runs = table("2026-11-27_h200_first_runs/first_runs.csv")

    def ratio(run, over, under):
        return number(run, over) / number(run, under)
    shown = [("panels", m) for m in ("bcsstk18", "memplus", "G2_circuit", "onetone1", "kkt_7336_epigrids", "elasticity1_gear", "fields_block",
                                     "dg:nx=22")]
    for counts, matrix in [*shown, ("tree", "memplus"), ("tree", "elasticity1_gear")]:
        r = runs.only(input=matrix, counts=counts)
        yield row(matrix, r["kind"], f"{int(r['n']):,}", counts, *(r[c] for c in ("cold_ms", "first_ms", "kernels_ms")),
                  f"{ratio(r, 'first_ms', 'kernels_ms'):.2f}", f"{ratio(r, 'cold_ms', 'first_ms'):.2f}")
    panels = runs.where(counts="panels")
    large, small = ([ratio(r, "first_ms", "kernels_ms") for r in panels if (int(r["n"]) >= 50000) == is_large] for is_large in (True, False))
    yield f"takes {mean(large):.2f} times as long as its kernels on patterns with 50,000 rows or more, and {mean(small):.2f} times on smaller ones"
    cold = [ratio(r, "cold_ms", "first_ms") for r in runs]
    yield "The limit of 3 holds everywhere." if max(cold) <= 3 else "The limit of 3 does not hold everywhere."
    means = cold_over_first()
    yield "takes {:.2f} times as long by panels as a first run in a warm process, and {:.2f} times by the tree".format(*means)
    yield f"at worst {max(cold):.1f}"
    within = [sum(ratio(r, "first_ms", "kernels_ms") <= 1.25 for r in runs.where(counts=c)) for c in ("panels", "tree")]
    yield f"on {within[0]} of {len(panels)} inputs by panels and on {within[1] or 'none'} by the tree"


def cold_over_first():
    """Geometric means of the first run of a process over a first run in a warm process: by panels, by the tree."""
    runs = table("2026-11-27_h200_first_runs/first_runs.csv")
    return [mean(number(r, "cold_ms") / number(r, "first_ms") for r in runs.where(counts=c)) for c in ("panels", "tree")]


@document("harness/library/docs/analyze.md", "| View | pointers | indices | read in place |")
def analyze():
    yield "takes {:.2f} times as long by panels, and {:.2f} times by the elimination tree".format(*cold_over_first())


@document(STUDIES.format("cliffs"))
def cliffs():
    panels = [r for r in table("2026-11-27_h200_cliffs/panels.csv") if r["n"] and int(r["n"]) >= 20000]
    worst = sorted(panels, key=lambda r: number(r, "core_ms") / number(r, "gpu_ms"))
    for r in worst[:10]:
        yield row(f"`{r['input'].removeprefix('gen:')}`", f"{int(r['n']):,}", r["core_ms"], r["gpu_ms"],
                  digits(number(r, "core_ms") / number(r, "gpu_ms"), 3))
    beyond = [r for r in worst if number(r, "core_ms") / number(r, "gpu_ms") >= 5]
    yield f"on {len(beyond)} of {len(worst)} inputs with n >= 20,000"
    orders = table("2026-11-27_h200_cliffs/orders.csv")
    yield f"{len(orders)} inputs with n = 5,000 to 200,000, {sum(int(r['n']) <= 50000 for r in orders)} of\nthem with n <= 50,000"

    def better(r, order="automatic"):
        return number(r, order) / min(number(r, "metis"), number(r, "amd"))
    counted = [r for r in orders if r["metis"] and float(r["metis"]) > 0]
    found = sorted(counted, key=better, reverse=True)
    for r in found[:10]:
        cells = (digits(number(r, c), 3) if number(r, c) < 1e3 else f"{number(r, c):.2e}" for c in ("automatic", "metis", "amd"))
        yield row(f"`{r['input'].removeprefix('gen:')}`", f"{int(r['n']):,}", *cells, f"{better(r):.2f}").removesuffix("|")
    above = [sum(better(r, o) > 1.1 for r in counted) for o in ("automatic", "cpu_nested_dissection")]
    yield f"needs {mean(map(better, counted)):.3f} of the operations of the better of METIS and AMD (geometric mean of {len(counted)} inputs)"
    yield f"is above the limit of 1.1 on {('no', 'one', 'two', 'three', 'four', 'five')[above[0]]} inputs"
    host = [better(r, "cpu_nested_dissection") for r in counted]
    worst = {f: max(v for v, r in zip(host, counted) if r["input"].startswith(f"gen:{f}")) for f in ("banded", "random:n=200000", "tridiagonal")}
    yield f"needs {mean(host):.3f} of the operations and is above 1.1 on {above[1]} inputs: " + " … ".join(f"{v:.1f} on" for v in worst.values())
    yield f"The orders of {sum(not r['commit'].startswith('00ff925') for r in orders)} inputs are of commit 06a9893"


def sequence_lines():
    return {s["sequence"]["name"]: s for s in records.json_lines.read(RECORDS / SEQUENCES / "sequences.jsonl")}


@document("harness/library/docs/analyzer.md")
def analyzer():
    steps = steps_of(sequence_lines()["rewired2_01"])[0]
    yield f"a step that changes {100 * changed(steps):.2f} % of {steps[0]['n']:,} rows"


def steps_of(line):
    """Steps of a sequence but the first pattern, those that adapt, and the times of one thread in milliseconds: update, new, METIS."""
    steps = line["steps"][1:]
    return steps, [s for s in steps if not s["compared"] and s["change"] != "new_order"]


def milliseconds(steps, name):
    return 1e3 * statistics.fmean(s[f"{name}_cpu_s"] for s in steps) if steps else None


def short(value):
    """Two digits, whole numbers from 100 on, - without a value."""
    return "-" if value is None else digits(value) if value < 100 else f"{value:,.0f}"


@document(STUDIES.format("sequences"), "| sequence | what changes | n | steps |",
          "| file | |")
def sequences():
    lines = sequence_lines()
    peers = {name: Rows(r for r in steps if int(r["step"])) for name, steps in table(f"{SEQUENCES}/peers.csv").each("sequence").items()}
    names = {"parth": "Parth's own", "kkt_7336_epigrids_dropped": "`kkt_*_dropped`"}
    for name in ("parth", "rewired2_long", "rewired2_01", "rewired2_1", "rewired3_1", "contact", "remesh_plate", "switching_memplus",
                 "switching_G2_circuit", "kkt_7336_epigrids_dropped"):
        steps, adapted = steps_of(lines[name])
        ratios = [s["update_operations"] / s["new_operations"] for s in steps]
        parth = 1e3 * statistics.fmean(peers[name].numbers("parth_cpu_s"))
        if name == "parth":
            yield "`update()` takes {:.2f} ms, Parth {:.0f} ms and METIS {:.0f} ms".format(
                milliseconds(steps, "update"), parth, milliseconds(steps, "metis"))
        yield row(names.get(name, f"`{name}`"), f"{statistics.fmean(s['n'] for s in steps):,.0f}", f"{digits(100 * changed(steps))} %",
                  f"{len(adapted)} of {len(steps)}",
                  short(milliseconds(adapted, "update")), *(short(milliseconds(steps, c)) for c in ("update", "new", "metis")), short(parth),
                  f"{statistics.fmean(ratios):.3f} ({max(ratios):.3f})")
    beyond = {n: sum(s["update_operations"] > 1.05 * s["new_operations"] for s in steps_of(line)[0]) for n, line in lines.items()}
    count = sum(beyond.values())
    yield f"At {count} of {sum(len(steps_of(line)[0]) for line in lines.values())} steps the operations exceed 1.05"
    yield f"The {count} steps above 1.05: " + ", ".join(f"`{n}` {b}" for n, b in sorted(beyond.items(), key=lambda v: -v[1]) if b) + "."
    shares = {n: (milliseconds(steps, "update") / milliseconds(steps, "new"), changed(steps), len(steps), 1 - len(adapted) / len(steps))
              for n, (steps, adapted) in ((n, steps_of(line)) for n, line in lines.items())}
    little = [100 * time for name, (time, share, *_) in shares.items() if share < 0.003 and name != "rewired2_long"]
    much = [(time, 100 * new) for time, share, _, new in shares.values() if share > 0.01]
    long = 100 * shares["rewired2_long"][0]
    yield f"takes {little_to_most(little)} % of the time of a new order, and {long:.0f} % in the mean of {shares['rewired2_long'][2]} such steps"
    yield f"at {little_to_most([n for _, n in much])} % of the steps, and {min(t for t, _ in much):.1f} to {max(t for t, _ in much):.2f}"
    more = {n: [number(r, "parth_operations") / number(r, "metis_operations") for r in peers[n]]
            for n in ("remesh_plate", "kkt_7336_epigrids_dropped")}
    yield "the operations are {:.1f} times those of METIS (median; {:.0f} at worst) on the first and {:.0f} times on the second".format(
        statistics.median(more["remesh_plate"]), max(more["remesh_plate"]), statistics.median(more["kkt_7336_epigrids_dropped"]))
    if not any(peers["rewired2_1"].numbers("parth_reuse") + peers["contact"].numbers("parth_reuse")):
        yield "On `rewired2_1` and `contact` it reuses nothing."
    update = table("2026-11-27_h200_first_runs/update.csv").where(sequence="rewired2_01")
    host, gpu = update.only(where="16 threads"), update.only(where="GPU")
    yield f"`rewired2_01`: {host['update, all, ms']} ms on 16 threads, {gpu['update, all, ms']} ms with the pattern on the GPU"
    yield f"a new order takes {host['new order, ms']} and {number(gpu, 'new order, ms'):.0f} ms there"
    yield f"{100 * shares['switching_onetone1'][1]:.0f} % of the rows change for `update()`"


def little_to_most(percents):
    return f"{min(percents):.0f} to {max(percents):.0f}"


def changed(steps):
    return statistics.fmean(s["rows_changed"] / s["n"] for s in steps)
