"""Committed records as cases that can be compared: what ran, on which matrix, machine and commit, how long.

A case is all timed runs of one variant with one set of settings on one prepared matrix, on one machine at one commit. A
group is what may be divided by one another: the cases of one prepared matrix on one machine at one commit.
"""

import collections
import functools
import gzip
import hashlib
import math
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "plots"), str(ROOT / "paper")]

import order_kinds  # noqa: E402
import records  # noqa: E402
import records_ratios  # noqa: E402
from records_ratios import of_samples  # noqa: E402
import stale  # noqa: E402
from machines import key_of, part_of, place  # noqa: E402

BASELINE = "peer_superlu_dist"
LONGEST = 150  # characters of a slug
BUNDLED = ROOT / "experiments" / "matrices"
BEST_ORDERS = ("tournament", "automatic", "gpu_nested_dissection", "cpu_nested_dissection")
TIMED = "times.jsonl"


def counted_files(evidence=ROOT / "paper" / "evidence.toml"):
    """{file: names of the entries of its tables that it belongs to}, simulated schedules left out."""
    content = records.read_toml(evidence)
    files = {}
    for table in ("records", "figures"):
        for entry, places in content.get(table, {}).items():
            for file in records.files_of(f for p in places for f in sorted(ROOT.glob(p))):
                files.setdefault(file, []).append(entry)
    return {f: names for f, names in files.items() if f.is_relative_to(ROOT / "experiments" / "records")}


def slug(name):
    """A file name for a matrix; distinct names stay distinct."""
    return re.sub(r"[^A-Za-z0-9._=-]", lambda m: {":": "_", ",": "+"}.get(m[0], f"%{ord(m[0]):x}"), name)


def slugs(names):
    """{name: its file name}: of names whose slugs differ in upper and lower case alone, and of long ones, with a digest."""
    short = {name: slug(name) for name in names}
    count = collections.Counter(s.lower() for s in short.values())

    def digest(name):
        return hashlib.sha256(name.encode()).hexdigest()[:16]
    return {name: s if count[s.lower()] == 1 and len(s) <= LONGEST else f"{s[:LONGEST]}-{digest(name)}" for name, s in short.items()}


def settings(run):
    """Settings of a run as text, with what it was asked to deliver; peers always deliver counts."""
    of_run = {k: records.as_text(v) for k, v in records.settings(run).items()}
    return of_run if run["device"] == "peer" else of_run | {"delivers": "+".join(run["wants"])}


def varied(runs):
    """{variant: names of the settings in which its runs differ}. An option that came with a later commit alone is not one:
    only within a commit does a setting that some runs lack differ."""
    of_variant = {}
    for run in runs:
        of_variant.setdefault(run["variant"], {}).setdefault(run["git"]["sha"], []).append(settings(run))
    found = {}
    for variant, commits in of_variant.items():
        names = set().union(*(s for of_runs in commits.values() for s in of_runs))
        found[variant] = {
            name for name in names
            if len({s[name] for of_runs in commits.values() for s in of_runs if name in s}) > 1 or
            any(len({s.get(name) for s in of_runs}) > 1 for of_runs in commits.values())}
    return found


def is_timed(run):
    """True of a run that can be compared: timed, or ended by its limit, and delivering no pattern."""
    if run["counting"] or "pattern" in run["wants"]:
        return False
    if run["status"] == "timeout":
        return not run["samples_s"] and records.limit_of(run) is not None
    return bool(run["samples_s"]) and records.is_usable(run)


def why_not(run):
    """Why is_timed() leaves a run out."""
    if run["counting"]:
        return "work counters, no times"
    if "pattern" in run["wants"]:
        return "delivers L and U"
    if run["reason"]:
        return run["reason"]
    usable = run.get("machine", {}).get("threads_usable", run["threads"])
    return f"{run['threads']} threads on {usable}" if run["threads"] > usable else f"status {run['status']}"


class Case:
    """Runs of one case, pooled. seconds: the lower median; interval: its bootstrap interval in seconds, None if it was not
    repeated; limit: of a run that was ended, instead of both."""

    def __init__(self, runs, label):
        self.runs, self.label = runs, label
        last = records.pooled(runs)
        self.last, self.variant, self.device = last, last["variant"], last["device"]
        self.samples = last["samples_s"]
        self.status = last["status"]
        self.limit = records.limit_of(last) if last["status"] == "timeout" else None
        self.seconds = self.interval = None
        if self.samples:
            e = of_samples(self.samples, records.case_name(last))
            self.seconds, self.interval = e.number, e.interval()
        self.matrix = last["matrix"]["name"]
        self.machine, self.commit = key_of(last), last["git"]["sha"]
        self.group = self.matrix, last["ordering"]["digest"], self.machine, self.commit

    @property
    def name(self):
        """The variant with the settings that tell its cases apart."""
        return f"{self.variant} {self.label}".strip()


def cases_of(runs):
    """All cases of runs, sorted by order and name of the matrix, then variant."""
    timed = [r for r in runs if is_timed(r)]
    differ = varied(timed)
    grouped = {}
    for run in timed:
        mine = settings(run)
        label = ", ".join(f"{name}={mine[name]}" for name in sorted(differ[run["variant"]]) if name in mine)
        key = run["matrix"]["name"], run["ordering"]["digest"], key_of(run), run["git"]["sha"], run["variant"], label
        grouped.setdefault(key, []).append(run)
    found = []
    for (*_, label), mine in grouped.items():
        # A time is more than a bound.
        done = [r for r in mine if r["samples_s"]]
        found.append(Case(done or mine[-1:], label))
    return sorted(found, key=lambda c: (c.last["matrix"]["n"], c.matrix, c.variant, c.label, c.machine, c.commit))


def ratios(cases, baseline=BASELINE):
    """{case: how many times as fast as the baseline's case of its group, without relaxed supernodes}; cases without such a one are left out."""
    timed = [c for c in cases if c.seconds is not None]
    base = {c.group: c.seconds for c in timed if c.name == baseline or (c.variant, settings(c.last).get("relax")) == (baseline, "1")}
    return {c: base[c.group] / c.seconds for c in timed if c.group in base}


def summary(cases, baseline=BASELINE):
    """{(name, machine, commit): (geometric mean, least, most, matrices)} of ratios(). A matrix that was prepared in several
    ways counts once, by the geometric mean of its ratios."""
    by_row = {}
    for case, ratio in ratios(cases, baseline).items():
        by_row.setdefault((case.name, case.machine, case.commit), {}).setdefault(case.matrix, []).append(math.log(ratio))
    out = {}
    for key, of_matrix in by_row.items():
        logs = [sum(v) / len(v) for v in of_matrix.values()]
        out[key] = math.exp(sum(logs) / len(logs)), math.exp(min(logs)), math.exp(max(logs)), len(logs)
    return out


def commit_times(cases):
    """{commit: time of its last run}."""
    return {c.commit: c.last["time_utc"] for c in sorted(cases, key=lambda c: c.last["time_utc"])}


Standing = collections.namedtuple("Standing", "cases real mean least most matrices")


def is_real(case):
    """True of an original or a real matrix; the times of the smallest ones are those of a call."""
    matrix = case.last["matrix"]
    return records.kind(matrix) in records.REAL and matrix["n"] >= records_ratios.LEAST_ROWS


def standings(cases):
    """{variant: [Standing], the first one leads}: ratios of one set of settings on one machine at one commit. A
    standing counts real matrices only (real), unless it has fewer than half as many as the largest one has: then it counts all.
    The leader has most real matrices, else most matrices, of equals the latest commit, of equals the largest mean."""
    time_of = commit_times(cases)
    on_real = summary(filter(is_real, cases))
    most = max((values[-1] for values in on_real.values()), default=0)
    of_key, found = {}, {}
    for c in cases:
        of_key.setdefault((c.name, c.machine, c.commit), []).append(c)
    for key, values in summary(cases).items():
        real = 2 * on_real.get(key, (0,))[-1] >= most > 0
        mine = [c for c in of_key[key] if is_real(c) or not real]
        found.setdefault(mine[0].variant, []).append(Standing(mine, real, *(on_real[key] if real else values)))
    for rows in found.values():
        rows.sort(key=lambda s: (s.real, s.matrices, time_of[s.cases[0].commit], s.mean), reverse=True)
    return found


def main_cases(cases):
    """Cases of one matrix in its most used preparation: of its last source, the prepared matrix with most variants."""
    source = max(cases, key=lambda c: c.last["time_utc"]).last["matrix"]["sha256"]
    by_digest = {}
    for c in cases:
        if c.last["matrix"]["sha256"] == source:
            by_digest.setdefault(c.group[1], []).append(c)
    return max(by_digest.values(), key=lambda of: len({c.variant for c in of}))


def by_part(cases):
    """{Group of parts of machines: cases, fastest first} of one prepared matrix: of each variant the fastest case at its latest
    commit."""
    time_of, latest = commit_times(cases), {}
    for c in sorted((c for c in cases if c.seconds is not None), key=lambda c: (time_of[c.commit], -c.seconds)):
        latest[part_of(c.last).group, c.variant] = c
    groups = {}
    for (group, _), c in sorted(latest.items(), key=lambda item: (item[0][0], item[1].seconds)):
        groups.setdefault(group, []).append(c)
    return groups


def fill_of(runs, digest=None):
    """The result of a run whose counts are exact, of the prepared matrix with this digest if one is given; None without one. A
    peer's result counts only if there is no other."""
    found = [r for r in runs if "fill" in r["result"] and digest in (None, r["ordering"]["digest"])]
    exact = [r for r in found if r["device"] != "peer"]
    return (exact or found)[-1]["result"] if found else None


def latest_orders(lines, counted):
    """{matrix: {order: (latest record, latest record with a time or None)}} of the matrices' own numberings. A time counts if the
    file is in `counted`, or is named TIMED: other orders were recorded for their operations, on busy machines."""
    found = {}
    for line in sorted(lines, key=lambda line: line["time_utc"]):
        if line.get("shuffle", 0) == 0:
            file = ROOT / place(line)[0]
            of_matrix = found.setdefault(line["matrix"]["name"], {})
            before = of_matrix.get(line["order"], (None, None))[1]
            of_matrix[line["order"]] = line, line if file in counted or file.name == TIMED else before
    return found


def three_orders(of_matrix):
    """Names of METIS, AMD and the best order of this project among the orders of a matrix."""
    return [order for order in ("metis", "amd", next((o for o in BEST_ORDERS if o in of_matrix), None)) if order in of_matrix]


def kind_of(runs, orders):
    """Kind of a matrix by its runs, else by its orders."""
    if runs:
        return records.kind(runs[-1]["matrix"])
    return order_kinds.kind_of(next(iter(orders.values()))[0], order_kinds.read_table(order_kinds.TABLE))


@functools.cache
def sources_of(variant):
    """The text of the sources that a variant's options may be declared in, tests aside; "" of one that is gone."""
    if variant not in stale.registered():
        return ""
    folder = Path(stale.registered()[variant]).parent
    files = sorted(f for place in (folder, "variants/support", "variants/device") for f in (ROOT / place).rglob("*"))
    return "".join(f.read_text(encoding="utf-8") for f in files
                   if f.suffix in stale.SOURCE and not f.stem.endswith("_test"))


@functools.cache
def has_option(variant, name):
    """True if the sources of a variant name the option."""
    return f'"{name}"' in sources_of(variant)


def argument_of(matrix):
    """(what follows --matrix, what the reader needs first)."""
    name = matrix["name"]
    if matrix["source"].startswith("gen:"):
        return matrix["source"], ""
    if records.abbreviation(name) or bundled_file(name) or name.startswith("gen:"):
        return name, ""
    return f"{name}.mtx.gz", f"{name}.mtx.gz is not bundled"


def commands(matrix, kind, orders, variants):
    """Command lines that repeat a page's orders and times on the machine at hand with the program as it is."""
    (name, absent), lines = argument_of(matrix), []
    if absent and kind == "finite elements":
        lines, name = [f"python3 experiments/matrices/fem/make.py results/fem --only {matrix['name']}"], f"results/fem/{name}"
    if orders:
        lines.append(f"./testbed gsofa order --matrix {name} --order {','.join(orders)}")
    here = [v for v in variants if v in stale.registered()]
    for chosen in ([v for v in here if not v.startswith("gpu")], [v for v in here if v.startswith("gpu")]):
        if chosen:
            named = "".join(f" --variant {v}" for v in dict.fromkeys([*chosen, BASELINE]))
            lines.append(f"./testbed gsofa run --matrix {name} --order metis --repeat 7{named}")
    return lines


def command(run):
    """(command line that runs a case again, what it needs or where it differs)."""
    ordering = run["ordering"]
    name, note = argument_of(run["matrix"])
    words, notes = ["run", "--matrix", name], [note] if note else []
    if ordering["row"] == "none":
        words += ["--match", "none"]
    if ordering["col"] == "file":
        notes.append("the recorded order came from a file that is not committed; this takes METIS's")
    elif ordering["col"] != "metis":
        words += ["--order", ordering["col"]]
    if ordering["seed"] >= 0:
        words += ["--seed", str(ordering["seed"])]
    words += ["--variant", run["variant"]]
    for key, value in sorted(run["options"].items()):
        words += ["--set", f"{key}={records.as_text(value)}"]
    words += ["--threads", str(run["threads"]), "--chunk-size", str(run["chunk_size"])]
    gone = [key for key in sorted(run["options"]) if not has_option(run["variant"], key)]
    if gone:
        notes.append(f"of commit {run['git']['sha'][:7]}, to be checked out first: there is no option {', '.join(gone)} "
                     "any more")
    trials = run.get("trials", {})
    words += ["--repeat", str(trials.get("repeat") or max(len(run["samples_s"]), 1))]
    if "warmup" in trials:
        words += ["--warmup", str(trials["warmup"])]
    if trials.get("timeout_s"):
        words += ["--timeout", f"{trials['timeout_s']:g}"]
    ranks = run["mpi"]["ranks"]
    start = ["./testbed", "gsofa"] if ranks == 1 else ["mpirun", "-np", str(ranks), "build/release/gsofa"]
    if trials.get("interleaved"):
        notes.append("its runs took turns with those of the other cases of the matrix")
    return " ".join(start + words), "; ".join(notes)


def bundled_file(name):
    """The file of a bundled matrix, or None."""
    return next((f for folder in (BUNDLED, BUNDLED / "fem") for f in (folder / f"{name}.mtx.gz", folder / f"{name}.mtx")
                 if f.exists()), None)


def read_pattern(path):
    """(n, rows, columns) of a Matrix Market file, from 0, a symmetric one written out."""
    opened = gzip.open if path.suffix == ".gz" else open
    rows, columns = [], []
    with opened(path, "rt", encoding="ascii", errors="replace") as lines:
        head = next(lines).lower().split()
        size = next(line for line in lines if not line.startswith("%")).split()
        for line in lines:
            i, j = line.split()[:2]
            rows.append(int(i) - 1)
            columns.append(int(j) - 1)
    if head[4] != "general":
        both = [(j, i) for i, j in zip(rows, columns) if i != j]
        rows += [i for i, _ in both]
        columns += [j for _, j in both]
    return int(size[0]), rows, columns


def symmetry(rows, columns):
    """Share of the entries off the diagonal whose mirror image is an entry too."""
    entries = set(zip(rows, columns))
    off = [(i, j) for i, j in entries if i != j]
    return sum((j, i) in entries for i, j in off) / len(off) if off else 1.0
