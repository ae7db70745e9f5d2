"""Numbers that the READMEs about several GPUs, simulated ones and stand-ins print, from committed records (numbers_records.py)."""

import functools
import statistics
import sys

import json_lines
import records
from numbers_records import RECORDS, digits, document, mean_and_span, row, span

HOST = RECORDS / "2026-11-27_h200_x4_judgement"
KINDS = {"original": "original (bcsstk18)"} | {k: k for k in records.KINDS[1:-1]}
SPILLS = "Trefethen_20000"  # on one GPU


def median_and_span(values, form="{:.1f}"):
    """'median (least to most)', of one value the value."""
    return mean_and_span(values, form, statistics.median) if len(values) > 1 else form.format(*values)


@functools.cache
def searches():
    """({matrix: {(GPUs, schedule, chunk size): ms}}, {matrix: kind}) of mpi_maxid."""
    times, kinds = {}, {}
    for r in records.read_runs([HOST / "gpus.jsonl"]):
        if r["variant"] == "mpi_maxid":
            setting = r["options"]["gpus_per_rank"], r["options"]["schedule"], r["chunk_size"]
            times.setdefault(r["matrix"]["name"], {})[setting] = 1e3 * statistics.median(r["samples_s"])
            kinds[r["matrix"]["name"]] = r["matrix"]["kind"]
    return times, kinds


@document("experiments/scaling/README.md")
def scaling():
    times, kinds = searches()

    def gains(matrices, gpus, schedule="intra_node", chunk=128):
        return [times[m][1, "block", 128] / times[m][gpus, schedule, chunk] for m in matrices]
    of = {kind: [m for m in times if kinds[m] == kind] for kind in KINDS}
    for kind, matrices in of.items():
        yield row(KINDS[kind], len(matrices), median_and_span([times[m][1, "block", 128] for m in matrices]),
                  *(median_and_span(gains(matrices, gpus, schedule)) for schedule in ("block", "intra_node") for gpus in (2, 4)))
    real, elements = of["real"], of["finite elements"]
    medians = [statistics.median(gains(m, 4)) for m in (real, elements)]
    yield f"is {medians[0]:.1f} times as fast (median of {len(real)}; {span(gains(real, 4))}), and {medians[1]:.1f} times on"
    short = [m for m in real if times[m][1, "block", 128] < 10]
    long = [m for m in real if times[m][1, "block", 128] > 40 and m != SPILLS]
    yield f"{median_and_span(gains(short, 4))} on the {len(short)} real matrices below 10 ms, and {median_and_span(gains(long, 4))} on the {len(long)} above 40 ms without {SPILLS}"
    yield f"{SPILLS} gains {gains([SPILLS], 4)[0]:.0f}"
    over = {k: [times[m][4, "block", 128] / times[m][4, "intra_node", 128] for m in k_of] for k, k_of in of.items()}
    yield f"is faster than `block` on {sum(x > 1 for x in over['real'])} of {len(real)} real matrices and on {sum(x > 1 for x in over['finite elements'])} of " \
        f"{len(elements)} finite elements (median {statistics.median(over['real']):.1f} and {statistics.median(over['finite elements']):.1f})"
    chunks = [[times[m][4, "intra_node", size] / times[m][4, "intra_node", 64] for m in real] for size in (128, 256)]
    yield "chunks of 128 rows take {} and chunks of 256 rows {} times as long as chunks of 64".format(*(median_and_span(c, "{:.2f}") for c in chunks))


@document("experiments/stand_ins/README.md")
def stand_ins():
    pair = ["bcsstk18", records.datasets()["BC"]["stand_in"]]
    found = {r["matrix"]["name"]: r for r in records.read_runs([HOST / "counting.jsonl"])
             if r["matrix"]["name"] in pair and r["options"]["concurrent_sources"] == 0}
    runs = [found[name] for name in pair]
    for name, value, form in (("fill-ins", lambda r: r["result"]["fill"], "{:,}"),
                              ("rows of a supernode, mean", lambda r: r["matrix"]["n"] / r["result"]["supernodes"], "{:.2f}"),
                              ("edges traversed", lambda r: r["counters"]["edges_traversed"], "{:.3g}"),
                              ("fill-ins found again", lambda r: r["counters"]["fills_found_again"], "{:,}"),
                              ("expansions of an expanded vertex", lambda r: r["counters"]["revisits"], "{:.3g}"),
                              ("entries in queues, sum over levels", lambda r: r["counters"]["queue_entries_sum"], "{:.3g}")):
        values = [value(r) for r in runs]
        yield row(name, *(form.format(v).replace("e+0", "e") for v in values), f"{values[1] / values[0]:.2f}")


@functools.cache
def validation():
    """Rows of simulate.py --validate, without those that set the rate."""
    sys.path.append(str(records.ROOT / "experiments" / "scaling_simulator"))
    import simulate
    works = simulate.read_work([RECORDS / "2026-11-27_cpu2_judgement" / "edges.jsonl.gz"])
    rows = simulate.validate(simulate.arguments(["--work", "", "--validate", str(HOST / "gpus.jsonl")]), works)
    return [r for r in rows if not r["fitted"]]


@document("experiments/scaling_simulator/README.md")
def scaling_simulator():
    lines = [r for r in json_lines.read(records.ROOT / "experiments" / "scaling_simulator" / "simulated.jsonl")]
    kinds = searches()[1]

    def kind(name):
        return kinds.get(name) or ("finite elements" if name.endswith("_0.05") else "real")
    of, sizes = {}, {}
    for r in lines:
        of.setdefault(kind(r["matrix"]), {}).setdefault(r["matrix"], {})[r["schedule"], r["gpus"], r["chunk_size"]] = r["makespan_s"]
        sizes[r["matrix"]] = r["n"]

    def gain(each, schedule):
        return each[schedule, 6, 128] / each[schedule, 264, 128]
    for name in ("original", "real", "finite elements", "power grid"):
        n = [sizes[m] for m in of[name]]
        rows = f"{min(n):,} to {max(n):,}" if len(n) > 1 else f"{n[0]:,}"
        yield row(KINDS[name], len(n), rows, *(median_and_span([gain(e, s) for e in of[name].values()]) for s in ("block", "inter_node", "intra_node", "dynamic")))
    real = [gain(e, "intra_node") for e in of["real"].values()]
    yield f"Simulated on {len(real)} real matrices of {min(sizes[m] for m in of['real']):,} to {max(sizes[m] for m in of['real']):,} rows, `intra_node` is " \
        f"{statistics.median(real):.1f} times as fast on 264 GPUs as on six (median; {min(real):.1f} to {max(real):.0f} times)"
    every = [e for each in of.values() for e in each.values()]
    yield f"on {sum(gain(e, 'dynamic') < 1.05 for e in every)} of the {len(every)} matrices it gains less than 5 % beyond six GPUs"
    inter = [e["inter_node", 36, 128] / e["intra_node", 36, 128] for e in every]
    yield f"On 36 GPUs it is faster than `inter_node` on {sum(x > 1 for x in inter)} of {len(every)} matrices, by a factor of {span(inter)}"
    slower = {(name, size): [e["intra_node", 36, size] / e["intra_node", 36, 64] for e in of[name].values()]
              for name in ("real", "finite elements") for size in (128, 256)}
    yield "Chunks of 128 rows: {} on real matrices, {} on finite elements. Chunks of 256 rows: {} and {}".format(
        *(mean_and_span(slower[name, size], "{:.2f}", statistics.fmean) for size in (128, 256) for name in ("real", "finite elements")))
    rows = validation()
    for gpus, schedule in ((1, "intra_node"), (2, "block"), (2, "intra_node"), (4, "block"), (4, "intra_node")):
        mine = [r for r in rows if (r["gpus"], r["schedule"]) == (gpus, schedule)]
        sizes_of = {r["chunk_size"] for r in mine}
        errors = {r["matrix"]: max(abs(s["error"]) for s in mine if s["matrix"] == r["matrix"]) for r in mine}
        yield row(gpus, schedule + (", three chunk sizes" if len(sizes_of) == 3 else ""), len(mine),
                  *(f"{digits(100 * e, 2)} %" for e in (statistics.median(abs(r["error"]) for r in mine), max(errors.values()),
                                                      max(e for m, e in errors.items() if m != SPILLS))))
    several = [abs(r["error"]) for r in rows if r["gpus"] > 1]
    every = [abs(r["error"]) for r in rows]
    yield f"{len(every)} runs is {100 * statistics.median(every):.0f} %, and {100 * statistics.median(several):.0f} % over the {len(several)} runs on two and four GPUs"
    four = [(r["error"], searches()[0][r["matrix"]][1, "block", 128]) for r in rows
            if (r["gpus"], r["schedule"]) == (4, "intra_node") and r["matrix"] != SPILLS]
    yield f"On four GPUs under `intra_node` {sum(e < 0 for e, _ in four)} of {len(four)} simulated times without {SPILLS} are too short"
    short, long = ([abs(e) for e, ms in four if (ms < 10 if is_short else ms > 100)] for is_short in (True, False))
    yield f"its median is {100 * statistics.median(short):.0f} % on {len(short) // 3} matrices below 10 ms and {100 * statistics.median(long):.0f} % on " \
        f"{len(long) // 3} above 100 ms"
