"""Numbers that the READMEs about panels and large grids print, from committed records (numbers_records.py)."""

import csv
import functools
import re
import statistics

import numbers_rivals
import records
from numbers_records import RECORDS, digits, document, mean, mean_and_span, number, row, span, table

HOST = RECORDS / "2026-11-27_h200_x4_judgement"
SHOWN = ("memplus", "bcsstk18", "epb3", "onetone1", "G2_circuit", "cage11", "Trefethen_20000", "elasticity1_bracket", "diffusion1_block",
         "dg1_vortices_plate")


@functools.cache
def judged():
    """({(variant, threads, ranks): {matrix: median time in ms}}, {matrix: (kind, n, entries of L + U)}) of one host."""
    times, sizes = {}, {}
    runs = records.read_runs([HOST / f for f in ("panels.jsonl", "threads.jsonl", *(f"ranks_{k}.jsonl" for k in (8, 16, 32)))])
    for r in runs:
        matrix = r["matrix"]["name"]
        if r["samples_s"]:
            times.setdefault((r["variant"], r["threads"], r["mpi"]["ranks"]), {})[matrix] = 1e3 * statistics.median(r["samples_s"])
        if r["status"] == "pass":
            sizes[matrix] = (r["matrix"]["kind"], r["matrix"]["n"], r["result"]["nnz_l"] + r["result"]["nnz_u"])
    return times, sizes


def best_peer(matrix):
    """SuperLU_DIST's least time on 1, 8, 16 or 32 ranks."""
    times = judged()[0]
    parallel = [t[matrix] for (variant, _, _), t in times.items() if variant == "peer_superlu_dist_parallel" and matrix in t]
    return min([times["peer_superlu_dist", 1, 1][matrix], *parallel])


def ratio_rows(slow, fast, *names):
    """Rows of a table of ratios: real matrices, those of 10,000 rows or more, finite elements."""
    sizes = judged()[1]
    real = [m for m in slow if m in fast and sizes[m][0] in records.REAL]
    large = [m for m in real if sizes[m][1] >= 10000]
    elements = [m for m in slow if m in fast and sizes[m][0] == "finite elements"]
    for name, matrices in (("{} real", real), ("the {} of them with n >= 10,000", large), ("{} finite elements", elements)):
        values = [slow[m] / fast[m] for m in matrices]
        yield row(name.format(len(matrices)), *names, digits(mean(values)), f"{digits(min(values))} to {digits(max(values))}")


def sized(matrix):
    kind, n, entries = judged()[1][matrix]
    return matrix, kind, f"{n:,}", f"{entries:.2e}".replace("e+0", "e")


@document("experiments/gpu_panels/README.md")
def gpu_panels():
    with (records.ROOT / "plots" / "headline_means.csv").open(encoding="utf-8", newline="") as file:
        real, large, *_ = [r for r in csv.DictReader(file) if r["variant"] == "gpu_bitmap_panels"]
    yield f"**Answer.** On {real['inputs']} real matrices `gpu_bitmap_panels` on one GPU (an H100, an H200) is {number(real, 'geometric mean'):.1f} times as fast as `symbfact` on one core " \
        f"({number(real, 'least'):.2f} to {real['most']})"
    yield f"With SuperLU_DIST's default, {numbers_rivals.by_default()} times"
    for r, name in ((real, "{} real"), (large, "the {} of them with n >= 10,000")):
        yield row(name.format(r["inputs"]), "both", "`symbfact`, one core", digits(number(r, "geometric mean")), f"{digits(number(r, 'least'))} to {r['most']}")
    times = judged()[0]
    gpu, one = times["gpu_bitmap_panels", 1, 1], times["peer_superlu_dist", 1, 1]
    best = {m: best_peer(m) for m in gpu}
    yield from ratio_rows(one, gpu, "second", "`symbfact`, one core")
    yield from ratio_rows(best, gpu, "second", "SuperLU_DIST, best of 1 to 32 ranks")
    for m in SHOWN:
        yield row(*sized(m), digits(gpu[m], 3), digits(one[m], 3), digits(one[m] / gpu[m], 3), digits(best[m] / gpu[m], 3))
    authors = [number(r, "authors_ms") / number(r, "gpu_bitmap_panels_ms") for r in table("2026-11-22_h200_x2_ranks/authors.csv")]
    yield "The paper authors' code takes {} times as long as the panels ({} to {}, {} matrices)".format(
        *(digits(f(authors)) for f in (mean, min, max)), len(authors))


@document("experiments/cpu_panels/README.md")
def cpu_panels():
    times = judged()[0]
    one, panels, threads = times["peer_superlu_dist", 1, 1], times["cpu_bitmap_panels", 1, 1], times["cpu_bitmap_panels", 16, 1]
    best = {m: best_peer(m) for m in panels}
    kinds = {k: [m for m in panels if judged()[1][m][0] in of] for k, of in (("real", records.REAL), ("elements", ("finite elements",)))}
    yield "{} times as fast as `symbfact` of SuperLU_DIST on {} real matrices and {} times on {} finite-element matrices".format(
        *(x for of in kinds.values() for x in (digits(mean(one[m] / panels[m] for m in of)), len(of))))
    yield "after a run of another pattern {} times, with SuperLU_DIST's default {}".format(
        *(numbers_rivals.by_default("cpu_bitmap_panels", relax=k) for k in (1, numbers_rivals.DEFAULT)))
    yield "16 threads are {} and {} times as fast as SuperLU_DIST's best form".format(*(digits(mean(best[m] / threads[m] for m in of))
                                                                                        for of in kinds.values()))
    yield from ratio_rows(one, panels, "one core", "`symbfact`, one core")
    yield from ratio_rows(best, threads, "16 threads", "SuperLU_DIST, best of 1 to 32 ranks")
    yield from ratio_rows(panels, threads, "16 threads", "`cpu_bitmap_panels`, one core")
    for m in SHOWN:
        yield row(*sized(m), digits(one[m], 3), digits(panels[m], 3), digits(threads[m], 3), digits(one[m] / panels[m], 3),
                  digits(best[m] / threads[m], 3))
    first = table("2026-11-27_h200_first_runs/threads.csv").each("what")
    gains = [mean_and_span(number(r.only(threads=1), "first_run_ms") / number(r.only(threads=16), "first_run_ms")
                           for r in runs.each("input").values())
             for runs in first.values()]
    yield "16 threads of an Intel Xeon are {} as fast as one ({}, the order `cpu_nested_dissection` {} ({}".format(
        *(part for gain in gains for part in gain.replace(" (", " times (", 1).split(" (")))


def samples(run, column):
    return [float(v) for v in run[column].split()]


@document("experiments/large_grids/README.md")
def large_grids():
    older, found = table("2026-11-25_large_grids/grids.csv"), {}
    for r in table(f"{HOST.name}/grids.csv"):
        found.setdefault(int(re.search(r"nx=(\d+)", r["matrix"])[1]), {})[r["counts"] or int(r["gpus"])] = r
    for side, each in found.items():
        yield row(f"{side}^3", f"{side ** 3:.2e}".replace("e+0", "e"), f"{float(each['tree']['nnz_lu']):.2e}".replace("e+", "e"),
                  *(digits(number(each[k], "ms"), 3) for k in ("tree", "panels")))
    largest = {form: older.only(grid="464^3", form=form) for form in ("tree", "panels")}
    tree, panels = (min(samples(r, "runs_ms")) for r in largest.values())
    entries = f"{float(largest['tree']['nnz']):.1e}".replace("e+", "e")
    yield f"of 464^3 (n = 10^8, {entries} entries) in {tree:.0f} ms by the elimination tree and in {panels / 1e3:.2f} s by panels"
    memory = {g: max(number(r, "device_peak_gb") for r in older.where(grid=g, form="panels", gpus=1) if r["device_peak_gb"])
              for g in ("200^3", "320^3", "464^3")}
    yield "need {} GB of device memory at 200^3, {} GB at 320^3 and {:.0f} GB at 464^3".format(*memory.values())
    hundred = [statistics.median(samples(older.only(grid=g, gpu="NVIDIA H100 80GB HBM3", host="f", form="panels", gpus=1), "runs_ms"))
               for g in ("200^3", "320^3")]
    yield "One H100 takes {:.1f} ms at 200^3 and {:.0f} ms at 320^3".format(*hundred)
    one_way = [samples(r, "runs_ms") for r in older.where(grid="128^3, one-way")]
    yield f"takes {statistics.median(one_way[2]):.0f} ms instead of {statistics.median(one_way[0]):.0f} ms plus a copy\nof {one_way[1][0]:.0f} ms (H100)"
