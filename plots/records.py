"""Records as figures and claims read them: JSON Lines in, runs by matrix, variant and settings out.

A line is a run (harness/record/README.md), a throughput profile by ncu (it has dram_gb_per_s) or a simulated schedule (it has
`simulated`). Nothing here knows a default of an option: the settings that an expression or a figure names select runs,
and runs selected together that differ in a setting that was not named are refused. The program's defaults may change;
the meaning of a committed record does not.
"""

import csv
import functools
import re
import statistics
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "experiments"))

import json_lines  # noqa: E402

DATASETS = ROOT / "experiments" / "datasets.toml"
MATRICES = ROOT / "experiments" / "matrices"
KINDS = ("original", "real", "finite elements", "power grid", "generated", "stand-in")
REAL = KINDS[:2]  # what "real" means in a headline: the original is a real matrix too
TRUSTED = json_lines.TRUSTED

# The records cannot be read, or do not allow what is asked of them; one line says why. A key that a line lacks is one.
Refused = json_lines.BadLine


class Absent(Exception):
    """There are no records for it at all."""


def files_of(sources):
    """The files themselves, and every *.jsonl of the folders, by name. Refused if one does not exist."""
    files = []
    for source in map(Path, sources):
        if not source.exists():
            raise Refused(f"{source}: no such file or folder")
        files += sorted(source.glob("*.jsonl")) if source.is_dir() else [source]
    return files


@functools.cache
def lines_of(path, _changed):
    """(lines of a file, the fault of the one behind them or None): many figures and claims read it. _changed: when it was."""
    lines = []
    try:
        for line in json_lines.read(path):
            lines.append(line)
    except Refused as fault:
        return tuple(lines), fault
    return tuple(lines), None


def read(sources):
    """(runs, profiles, simulated schedules) of files and folders; each has its place, "file:line". Lines of `gsofa order`
    and of sequences are passed over: read_orders(), read_sequences(). Refused names the place of the first fault."""
    runs, profiles, simulated = [], [], []
    for path in files_of(sources):
        lines, fault = lines_of(path, path.stat().st_mtime_ns)
        for line in lines:
            if "simulated" in line:
                simulated.append(line)
            elif "dram_gb_per_s" in line:
                # Lines of before 27 November 2026 do not say so; ncu then ended after 32 launches.
                line.setdefault("complete", line.get("launches", 32) < 32)
                profiles.append(line)
            elif line.get("kind") in ("order", "sequence"):
                continue
            elif line.get("schema") not in json_lines.SCHEMAS:
                raise Refused(f"{line.place}: schema {line.get('schema')!r}, this reads {json_lines.SCHEMAS}")
            else:
                runs.append(line)
        if fault:
            raise fault
    return runs, profiles, simulated


def read_kind(sources, kind):
    """Lines of a kind."""
    found = []
    for path in files_of(sources):
        lines, fault = lines_of(path, path.stat().st_mtime_ns)
        found += [line for line in lines if line.get("kind") == kind]
        if fault:
            raise fault
    return found


def read_orders(sources):
    """Lines of `gsofa order`: the order of a matrix, whose check passed, with what it costs the factorization."""
    return [line for line in read_kind(sources, "order") if line["status"] == "pass"]


def read_sequences(sources):
    """Lines of experiments/sequences/run.py: a sequence of patterns, with times and operations of every step."""
    return read_kind(sources, "sequence")


def read_runs(sources):
    """All runs of files and folders."""
    return read(sources)[0]


def named(sources):
    """Files for a message."""
    return ", ".join(map(str, sources))


def machine(run):
    """What must agree for two runs to be of one machine; a run may see some of its GPUs only. Older records do not identify
    the machine: in older records all GPUs that a run sees must be of one kind."""
    identity = run.get("machine", {}).get("id", "")
    return identity, run["host"], run["cpu"], frozenset() if identity else frozenset(g["name"] for g in run["gpus"])


def is_open(run):
    """True of runs that nothing verifies: peers, which may report supersets, and the variant that others are compared with."""
    return run["device"] == "peer" or run["variant"] == TRUSTED


def is_usable(run):
    """True of a run that passed, or that nothing could verify, on as many hardware threads as it has threads."""
    if run["threads"] > run.get("machine", {}).get("threads_usable", run["threads"]):
        return False
    return run["status"] == "pass" or (run["status"] == "unverified" and is_open(run))


def accept(runs, unverified="refuse", mixed=False):
    """The usable ones. Other runs that are unverified are refused, left out ("leave out") or taken ("take"); runs of
    several machines are refused unless `mixed`."""
    usable = []
    for run in runs:
        if is_usable(run) or (run["status"] == "unverified" and unverified == "take"):
            usable.append(run)
        elif run["status"] == "unverified" and unverified == "refuse":
            raise Refused(f"{run['variant']} on {run['matrix']['name']} is unverified ({run['reason']}); "
                          "--allow-unverified draws it")
    for run in usable:
        if not mixed and machine(run) != machine(usable[0]):
            raise Refused(f"{run.place}: the records are from several machines")
    return usable


def seconds(run):
    """Lower median of the samples: a run that took place."""
    return statistics.median_low(run["samples_s"])


def bare_seconds(run):
    """The same without the phase compact: the digests of rows, which only verification needs."""
    return seconds(run) - run["phases_s"].get("compact", 0)


def of_last(runs):
    """Those at the commit and on the machine of the last."""
    last = runs[-1]
    return [r for r in runs if machine(r) == machine(last) and r["git"]["sha"] == last["git"]["sha"]]


def pooled(runs):
    """Runs of one case, at one commit on one machine, as one: all their samples, the phases of the median."""
    last = runs[-1]
    if len(runs) == 1 or not last["samples_s"]:
        return last
    samples = [s for r in runs for s in r["samples_s"]]
    median = next(r for r in runs if statistics.median_low(samples) in r["samples_s"])
    return json_lines.Object({**last, "samples_s": samples, "phases_s": median["phases_s"]}, last.place)


LIMIT = re.compile(r"limit of ([0-9.e+]+) s")


def left_out(sources, most=4):
    """Lines that name what no figure shows of the files: cases that failed, and how many were skipped for which reason."""
    failed, skipped = {}, {}
    for r in read_runs(path for path in sources if Path(path).suffix != ".csv"):
        if r["status"] == "skipped":
            skipped.setdefault(r["reason"].removeprefix(f"{r['variant']} "), {})[r["variant"]] = None
        elif r["status"] not in ("pass", "unverified", "timeout"):
            failed.setdefault((r["variant"], r["status"]), {})[r["matrix"]["name"]] = None
    lines = [f"left out: {variant} on {few(matrices, most)} ({status})" for (variant, status), matrices in failed.items()]
    return lines + [f"skipped: {len(variants)} variant{'s' if len(variants) > 1 else ''} ({few(variants, most)}): {reason}"
                    for reason, variants in skipped.items()]


def few(names, most=4):
    """The first of them, for a message."""
    names = list(names)
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def limit_of(run):
    """Seconds after which a run was ended."""
    trials = run.get("trials", {})
    if "timeout_s" in trials:
        return trials["timeout_s"]
    stated = LIMIT.search(run["reason"])
    return float(stated[1]) if stated else None


def case_name(run):
    """What is measured, as text: matrix, variant and settings."""
    return f"{run['matrix']['name']} {run['variant']} {sorted((k, as_text(v)) for k, v in settings(run).items())}"


def settings(run):
    """Everything that can be named to select a run: its options, threads, chunk_size and ranks."""
    return {**run["options"], "threads": run["threads"], "chunk_size": run["chunk_size"], "ranks": run["mpi"]["ranks"]}


def as_text(value):
    """A setting as it is written: true, 128, dynamic."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_toml(path):
    """A TOML file; Refused names the file, and the line of a fault."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as e:
        raise Refused(f"{path}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise Refused(f"{path}: not UTF-8") from e
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as e:
        why, _, place = str(e).partition(" (at ")
        line = re.match(r"line (\d+)", place)
        raise Refused(f"{path}:{line[1] if line else len(text.splitlines())}: {why}") from e


@functools.cache
def datasets():
    """Entries of the 13 matrices in experiments/datasets.toml by abbreviation."""
    return {entry["abbr"]: entry for entry in read_toml(DATASETS).get("matrix", []) if "abbr" in entry}


@functools.cache
def abbreviation(name):
    """Abbreviation of a matrix of the paper by its name or abbreviation; "" of any other."""
    return next((abbr for abbr, entry in datasets().items() if name in (abbr, entry.get("name"))), "")


@functools.cache
def kinds():
    """{sha256 or name of a generated matrix: kind} of the matrices of known populations."""
    known = {}
    for table, kind in (("fem/made.tsv", "finite elements"), ("kkt.tsv", "power grid")):
        with open(MATRICES / table, encoding="utf-8", newline="") as f:
            known |= {row["sha256"]: kind for row in csv.DictReader(f, delimiter="\t")}
    return known | {entry["stand_in"]: "stand-in" for entry in datasets().values() if "stand_in" in entry}


def kind(matrix):
    """One of KINDS, of the `matrix` of a record. Records before schema 2 do not state it."""
    name = matrix["name"]
    if matrix["stand_in"]:
        return "stand-in"
    if known := kinds().get(matrix.get("sha256")) or kinds().get(name):
        return known
    if "kind" in matrix:
        return matrix["kind"]
    if name.startswith("gen:"):
        return "power grid" if family(name) == "gen:kkt" else "generated"
    return "original" if abbreviation(name) else "real"


def is_replaced(run):
    """True of a run of a stand-in that has another in its place since: what it measured is of a matrix that is no more."""
    entry = datasets().get(abbreviation(run["matrix"]["name"]), {})
    source = run["matrix"].get("source", "")
    return run["matrix"]["stand_in"] and source.startswith("gen:") and source != entry.get("stand_in")


def family(spec):
    """"gen:harmonic:nodes=..." -> "gen:harmonic"; a name is its own family."""
    return ":".join(spec.split(":")[:2])


@functools.cache
def of_family(spec, matrix):
    """True if a spec is of the family of a matrix's stand-in, which is the only stand-in of that family."""
    mine = [abbr for abbr, entry in datasets().items() if "file" not in entry and
            family(entry.get("stand_in", "")) == family(spec)]
    return mine == [matrix]


class Measured:
    """What was measured on the 13 matrices, by abbreviation. Runs that hand over the pattern are left out, and those of
    stand-ins that were replaced since.

    counting: True or False takes runs of that build only. unverified: as of accept(). population: on all matrices that are
    no stand-ins, by name. Ratios are of runs on one machine. If several machines measured a matrix, on() has the runs of each
    machine, and the last machine that measured everything requested counts. With `mixed` all machines are taken as one.
    """

    def __init__(self, sources, counting=None, unverified="leave out", mixed=False, population=False):
        self.sources, self.of_real = sources, population

        def key(name):
            return name if population else abbreviation(name)
        runs, profiles, self.simulated_lines = read(sources)
        several = {}
        for p in profiles:
            of_file = several.setdefault((key(p["matrix"]), p["variant"]), {})
            of_file.setdefault((p.place.rpartition(":")[0], p.get("commit")), []).append(p)
        # By abbreviation and variant: those of one file at one commit, the last that repeated it or else the last.
        self.profiles = {k: next((lines for lines in reversed(of_file.values()) if len(lines) > 1), [*of_file.values()][-1])
                         for k, of_file in several.items()}
        taken = [r for r in runs if key(r["matrix"]["name"]) and "pattern" not in r["wants"] and
                 (counting is None or r["counting"] == counting) and
                 not (r["matrix"]["stand_in"] if population else is_replaced(r))]
        self.runs = [(key(r["matrix"]["name"]), r) for r in accept(taken, unverified, True)]
        late = [(key(r["matrix"]["name"]), r) for r in taken if r["status"] == "timeout"]
        self.unknown = set()

        def of(run):
            return None if mixed else machine(run)
        self.nothing = OneMachine(self, [], [])
        several = {of(r): None for _, r in self.runs + late}
        self.machines = {k: OneMachine(self, [x for x in self.runs if of(x[1]) == k], [x for x in late if of(x[1]) == k])
                         for k in several}
        self.order = {}  # of a matrix, the machines that measured it, the last one first
        known = {id(r): m for m, r in self.runs + late}
        for r in taken:
            if id(r) in known:
                self.order.setdefault(known[id(r)], []).append(of(r))
        self.order = {m: list(dict.fromkeys(reversed(those))) for m, those in self.order.items()}

    def on(self, matrix):
        """What each machine measured of a matrix, the last one first; never empty."""
        return [self.machines[k] for k in self.order.get(matrix, ())] or [self.nothing]

    def find(self, matrix, variant, **how):
        """A case on the last machine that has it, or None; arguments as of OneMachine.select()."""
        return next((run for one in self.on(matrix) if (run := one.find(matrix, variant, **how))), None)

    def matrices(self, least_order=0):
        """All matrices of the runs that have at least `least_order` rows, the smallest first."""
        orders = {m: r["matrix"]["n"] for m, r in self.runs if r["matrix"]["n"] >= least_order}
        return sorted(orders, key=lambda m: (orders[m], m))

    def has_variant(self, variant):
        """True if there is any run of it."""
        return any(r["variant"] == variant for _, r in self.runs)

    def has_phase(self, phase):
        """True if any run entered the phase."""
        return any(phase in r["phases_s"] for _, r in self.runs)

    def has_setting(self, variant, name):
        """True if any run of the variant has the setting, or there is no run of it."""
        mine = [r for _, r in self.runs if r["variant"] == variant]
        return not mine or any(name in settings(r) for r in mine)

    def simulated(self, matrix, **case):
        """The schedule with these settings and no batch barrier of the largest member of the family that the matrix's
        stand-in belongs to (or of the matrix itself), or None; of a real matrix, of that itself."""
        entry = {"name": matrix} if self.of_real else datasets().get(matrix)
        found = None
        for line in self.simulated_lines:
            if entry is None or (line["matrix"] != entry.get("name") and (self.of_real or not of_family(line["matrix"], matrix))):
                continue
            if self.of_real and line.get("stand_in", True):
                continue
            if line["batch_barrier"] or any(as_text(line.get(k)) != as_text(v) for k, v in case.items()):
                continue
            if found is None or line["n"] > found["n"]:
                found = line
        return found

    def is_stand_in(self, matrix):
        """True if what was measured under this abbreviation is a stand-in; where no run says it, if the repository does
        not have the original."""
        for m, r in self.runs:
            if m == matrix:
                return r["matrix"]["stand_in"]
        return "file" not in datasets().get(matrix, {})

    def machine(self):
        """"4 x NVIDIA H200, Intel(R) Xeon(R) Processor (0123456789abcdef)" of each: the most GPUs that a run saw."""
        if not self.runs:
            return "no machine"
        several = {}
        for _, run in self.runs:
            best = several.setdefault((run.get("machine", {}).get("id", ""), run["cpu"]), run)
            if len(run["gpus"]) > len(best["gpus"]):
                several[run.get("machine", {}).get("id", ""), run["cpu"]] = run
        return "; ".join((f"{len(r['gpus'])} x {r['gpus'][0]['name']}, " if r["gpus"] else "") + r["cpu"] +
                         (f" ({identity})" if identity else "") for (identity, _), r in several.items())


class OneMachine:
    """What one machine measured; whole: the Measured that it is a part of."""

    def __init__(self, whole, runs, late):
        self.whole, self.runs, self.late = whole, runs, late
        self.selected = {}

    def select(self, variant, counting=False, series=False, alike=True, **case):
        """{matrix: (its runs of_last(), pooled(), and they themselves)} of a variant with the settings that `case` names, of the
        timed or the counting build, with counters by source if `series`. Refused if `alike` and the runs differ in a setting
        that is not named; alike=False is for what no setting changes, the fill. A setting that no run of the variant has selects nothing and
        is noted in `unknown` of the whole."""
        key = (variant, counting, series, alike, tuple(sorted((k, as_text(v)) for k, v in case.items())))
        if key in self.selected:
            return self.selected[key]
        mine = [(m, r) for m, r in self.runs
                if r["variant"] == variant and r["counting"] == counting and (r["samples_s"] or counting) and
                ("series" in r or not series)]
        for name in case:
            if not self.whole.has_setting(variant, name):
                self.whole.unknown.add(f"no run of {variant} has a setting '{name}'")
        found, values = {}, {}
        for m, r in mine:
            of_run = settings(r)
            if all(as_text(of_run.get(k)) == as_text(v) for k, v in case.items()):
                found.setdefault(m, []).append(r)
                for name, value in of_run.items():
                    values.setdefault(name, {})[as_text(value)] = None
        differ = [f"{name} ({', '.join(several)})" for name, several in values.items() if len(several) > 1]
        if differ and alike:
            raise Refused(f"the selected runs of {variant} differ in {' and '.join(differ)}: name it")
        last = {m: of_last(runs) for m, runs in found.items()}
        self.selected[key] = {m: (pooled(runs), runs) for m, runs in last.items()}
        return self.selected[key]

    def on(self, matrix):
        """As of the whole."""
        return self.whole.on(matrix)

    def find(self, matrix, variant, **how):
        """A case, or None; arguments as of select()."""
        return self.select(variant, **how).get(matrix, (None,))[0]

    def each(self, matrix, variant, **how):
        """Each run of a case at one commit; arguments as of select()."""
        return self.select(variant, **how).get(matrix, (None, []))[1]

    def counted(self, matrix, variant, **how):
        """The same of the counting build."""
        return self.each(matrix, variant, counting=True, **how)

    def older(self, matrix, time_utc):
        """True if a run of a matrix that is used is older than a moment."""
        return any(m == matrix and r.get("time_utc", "") < time_utc for m, r in self.runs)

    @functools.cached_property
    def timed(self):
        """{(matrix, variant): its timed runs}."""
        found = {}
        for m, r in self.runs:
            if not r["counting"] and r["samples_s"]:
                found.setdefault((m, r["variant"]), []).append(r)
        return found

    def cases(self, matrix, variant, **case):
        """All timed cases with these settings, whatever the others are."""
        by_case = {}
        for r in self.timed.get((matrix, variant), ()):
            of_run = settings(r)
            if all(as_text(of_run.get(k)) == as_text(v) for k, v in case.items()):
                by_case.setdefault(case_name(r), []).append(r)
        return [pooled(of_last(runs)) for runs in by_case.values()]

    def limit(self, matrix, variant, **case):
        """Seconds after which the last run of a case was ended, or None."""
        late = [r for m, r in self.late if m == matrix and r["variant"] == variant and not r["counting"] and
                all(as_text(settings(r).get(k)) == as_text(v) for k, v in case.items())]
        return limit_of(late[-1]) if late else None
