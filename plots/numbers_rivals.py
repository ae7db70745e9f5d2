"""Numbers that compare with rivals as their users run them: SuperLU_DIST's relaxed supernodes, transfers, GLU 3.0's unions, newer
releases."""

import statistics

import records

from numbers_records import RECORDS, digits, document, mean, mean_and_span, number, row, table

REPLACED = ("2.4.6", "3.0.14", "7.0.3")  # releases of AMD, CHOLMOD and Scotch that have newer ones next to them
OLD, NEW = "8.1.2 (Debian)", "9.2.1 (-O3)"  # of SuperLU_DIST
FOLDER = RECORDS / "2026-11-29_h200_rivals"
DEFAULT = 60  # most columns of SuperLU_DIST's relaxed supernodes
LEAST, LARGE = 1000, 10000  # rows


def runs(file, variant, **options):
    """{matrix: its run}, of matrices that count."""
    return {r["matrix"]["name"]: r for r in records.read_runs([FOLDER / file]) if r["variant"] == variant and
            r["matrix"]["n"] >= LEAST and all(r["options"].get(k, v) == v for k, v in options.items())}


def median(run, *more):
    """Seconds of the median run, with the other times of each run that `more` names."""
    return statistics.median(map(sum, zip(run["samples_s"], *(run[k] for k in more))))


def at_least(run):
    """Seconds, of a run that was ended its limit."""
    return records.limit_of(run) if run["status"] == "timeout" else median(run)


def ratios(over, under, large=False, of=median):
    return [of(over[m]) / under[m] for m in under if m in over and (not large or over[m]["matrix"]["n"] >= LARGE)]


def as_run_by_users():
    """Rows: what is in the time; compared with symbfact for the fill and with symbfact as it is by default, on all and on large matrices."""
    peers = [runs("panels.jsonl", "peer_superlu_dist", relax=k) for k in (1, DEFAULT)]
    gpu, rows, cpu = (runs(f"{file}.jsonl", v) for file, v in
                      (("panels", "gpu_bitmap_panels"), ("transfers", "gpu_bitmap_panels"), ("panels", "cpu_bitmap_panels")))
    for what, ours in (("one GPU", {m: median(r) for m, r in gpu.items()}),
                       ("one GPU with allocation and upload", {m: median(r, "prepare_s") for m, r in gpu.items()}),
                       ("the same, and L and U on the host", {m: median(r, "prepare_s", "collect_s") for m, r in rows.items()}),
                       ("one core", {m: median(r) for m, r in cpu.items()})):
        yield row(what, *(digits(mean(ratios(p, ours, large))) for p in peers for large in (False, True)))
    yield f"`symbfact` without relaxed supernodes takes {digits(mean(ratios(peers[0], {m: median(r) for m, r in peers[1].items()})), 3)} times as long as with them"
    before = [{m: median(r) for m, r in runs("panels_same_pattern.jsonl", v).items()} for v in ("cpu_bitmap_panels", "peer_superlu_dist")]
    yield "`cpu_bitmap_panels` takes {:.2f} times as long as after a run of the same pattern, `symbfact` {:.2f} times".format(
        *(mean(ratios(now, then)) for now, then in zip((cpu, peers[0]), before)))


def by_default(variant="gpu_bitmap_panels", large=False, relax=DEFAULT):
    """How many times as fast as symbfact as SuperLU_DIST's users run it a variant is, on real matrices."""
    ours = {m: median(r) for m, r in runs("panels.jsonl", variant).items()}
    return digits(mean(ratios(runs("panels.jsonl", "peer_superlu_dist", relax=relax), ours, large)))


def front_page():
    """The sentences of README."""
    *table, _, _ = as_run_by_users()
    (_, _, _, run, _), (_, _, _, upload, _), (_, _, _, lists, _), (_, one, *_) = (r.strip("| ").split(" | ") for r in table)
    yield f"With SuperLU_DIST's default, {run} times"
    yield f"{upload} with allocation and upload, and {lists} with L and U"
    yield f"after a run of another pattern the ratio on one core is {one}"


@document("paper/report.md")
def report():
    yield f"With its default, {by_default()} times on one GPU and {by_default('cpu_bitmap_panels')} on one core"


def unions():
    """The two forms of the set union."""
    glu, marks = (runs("one_core.jsonl", v) for v in ("cpu_glu_union", "cpu_set_union"))
    ended = [m for m in glu if "timeout" in (glu[m]["status"], marks[m]["status"])]
    done = {m: median(r) for m, r in marks.items() if m not in ended}
    yield f"`cpu_glu_union` takes {mean_and_span(ratios(glu, done))} times as long as `cpu_set_union` ({len(done)} matrices; {len(ended)} passed 20 s)"


def newest_releases():
    """The sentences on newer releases of rivals."""
    ratios, better = [], 0
    for rows in table("2026-11-27_cpu2_rivals/orders.csv").where(kind="real").each("input").values():
        of = {(r["package"], r["version"]): number(r, "operations") for r in rows}
        best = min(of[k] for k in of if not k[0].startswith("this program") and k[1] not in REPLACED)
        ratios.append(of["this program, tournament", "0.3.0"] / best)
        better += ratios[-1] <= 1
    yield f"`tournament` needs {statistics.geometric_mean(ratios):.2f} of the operations of the best of METIS 5.1.0, AMD 3.3.3, CHOLMOD 5.3.0"
    yield f"and no more operations than the best on {better} of the {len(ratios)}"
    rows = table("2026-11-27_cpu2_rivals/superlu_dist.csv").each("input").values()
    pairs = [{r["version"]: r for r in of} for of in rows]
    times = statistics.geometric_mean(number(of[NEW], "symbfact_s") / number(of[OLD], "symbfact_s") for of in pairs)
    if all(of[NEW][key] == of[OLD][key] for of in pairs for key in ("nnz_l", "nnz_u")):
        yield f"SuperLU_DIST 9.2.1 finds the same entries of L and U as 8.1.2, which the table compares with, and `symbfact` takes {times:.2f} times the time of Debian's 8.1.2 ({len(pairs)} real matrices)"


@document("experiments/judgement/README.md", "| kind | panels and SuperLU_DIST | the paper's search |",
          "| group | one H100, 16 hardware threads | four H200s, 64 hardware threads |")
def rivals():
    yield from as_run_by_users()
    yield from unions()
    yield from newest_releases()


if __name__ == "__main__":
    print(*rivals(), sep="\n")
