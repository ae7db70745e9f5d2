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
KINDS = ("original", "real", "finite elements", "power grid", "circuit", "space x time", "generated", "stand-in")
REAL = KINDS[:2]  # what "real" means in a headline: the original is a real matrix too
TRUSTED = json_lines.TRUSTED
load_of = json_lines.load_of

# The records cannot be read, or do not allow what is asked of them; one line says why. A key that a line lacks is one.
Refused = json_lines.BadLine


class Absent(Exception):
    """There are no records for it at all."""


def files_of(sources):
    """The files themselves, and every *.jsonl of the folders, by name, but no jobs of measure.py. Refused if one does not exist."""
    files = []
    for source in map(Path, sources):
        if not source.exists():
            raise Refused(f"{source}: no such file or folder")
        files += [f for f in sorted(source.glob("*.jsonl")) if f.name != "jobs.jsonl"] if source.is_dir() else [source]
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
            elif line.get("kind") in ("order", "sequence", "regret"):
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
    """Lines of experiments/sequences/measure.py: a sequence of patterns, with times and operations of every step."""
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


def warm(run):
    """The run without the sample of the first run of its process, which also creates the GPU's context and maps memory."""
    is_first = run.get("trials", {}).get("first_in_process", False)
    return json_lines.Object({**run, "samples_s": run["samples_s"][1:]}, run.place) if is_first else run


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


LIMIT = re.compile(r"limit (?:of |time_s=)([0-9.e+]+)")  # of a run, of a program


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
    if "timeout_s" in trials and "time_s=" not in run["reason"]:
        return trials["timeout_s"]
    stated = LIMIT.search(run["reason"])
    return float(stated[1]) if stated else None


def case_name(run):
    """What is measured, as text: matrix, variant and settings."""
    return f"{run['matrix']['name']} {run['variant']} {sorted((k, as_text(v)) for k, v in settings(run).items())}"


def settings(run):
    """Everything that can be named to select a run: its options, threads, chunk_size and ranks. Runs of SuperLU_DIST that do not state
    `relax` had no relaxed supernodes."""
    relax = {"relax": 1} if run["variant"].startswith("peer_superlu_dist") else {}
    return {**relax, **run["options"], "threads": run["threads"], "chunk_size": run["chunk_size"], "ranks": run["mpi"]["ranks"]}


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
