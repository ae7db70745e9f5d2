#!/usr/bin/env python3
"""Runs experiments one after another, one line each, and ends with passed and skipped cases, reasons, and the page of results.

  reproduce.py --build FOLDER --out FOLDER --group GROUP [--resume] [--prepared FOLDER] [--numeric] SPEC.toml...

`./testbed reproduce` calls it on a finished build. The folder gets records.jsonl, log.txt (all that the programs said),
figures/ and index.html. Exit status 1 if a case failed, or a figure that has records could not be drawn.
"""

import argparse
import collections
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import json_lines
from specs import read_tables
from terminal_text import printable

ROOT = Path(__file__).resolve().parent.parent
NUMERIC = ("bcsstk18", "add32", "west2021")
# Those of a run by themselves; what else a case can end with is named in the lines.
GOOD, SKIPPED = "pass", "skipped"
FAILED = ("fail", "error")
WIDTH = 24
# Of groups that were run whole: cases that ran, seconds, machine.
MEASURED = {"smoke": (209, 16, "2 cores of an AMD EPYC (virtual)")}


def duration(seconds):
    """45 s, 3 min, 2.5 h."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def cases_of(spec, group):
    return [c for c in read_tables(spec.read_text(encoding="utf-8")) if group in c.get("groups", ())]


def bundled(word):
    """How many matrices of the repository a word of a spec stands for; 1 if it is the name of one."""
    kinds = {"@bundled": None, "@real": "real", "@fem": "finite elements", "@kkt": "power grid"}
    if word not in kinds:
        return 1
    matrices = tomllib.loads((ROOT / "experiments" / "datasets.toml").read_text(encoding="utf-8")).get("bundled", ())
    return sum(kinds[word] in (None, m.get("kind", "real")) for m in matrices)


def expected(cases, registry):
    """(cases, those of them that this machine will skip) of the [[case]] tables; registry: the lines of `gsofa list`."""
    total = skipped = 0
    for c in cases:
        matrices = sum(bundled(m) for m in c["matrices"])
        several = matrices * len(c.get("orders", ("",))) * len(c.get("chunk_sizes", ("",)))
        for name in c.get("variants") or registry:
            variant = registry.get(name, {"options": (), "available": True})
            keys = {o["name"] for o in variant["options"]}
            values = 1
            for text in c.get("options", ()):
                key, _, given = text.partition("=")
                of, _, key = key.rpartition(".")
                values *= len(given.split(",")) if key in keys and of in ("", name) else 1
            total += several * values
            skipped += several * values * (not variant["available"])
    return total, skipped


def registry_of(build):
    """{variant: its entry of `gsofa list --json`}."""
    done = subprocess.run([build / "gsofa", "list", "--json"], capture_output=True, text=True)
    listed = json.loads(done.stdout) if done.returncode == 0 else []
    return {v["name"]: v for v in listed}


class Log:
    """All that was said, in a file; the line of progress of the running case over itself on a terminal."""

    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8")
        self.terminal = sys.stderr.isatty()
        self.shown = 0

    def progress(self, text=""):
        if self.terminal:
            text = printable(text)[:max(20, shutil.get_terminal_size().columns - 1)]
            sys.stderr.write("\r" + text + " " * max(0, self.shown - len(text)) + ("" if text else "\r"))
            sys.stderr.flush()
            self.shown = len(text)

    def say(self, text):
        """A line for the reader and for the file."""
        self.progress()
        print(printable(text), flush=True)
        self.file.write(text + "\n")
        self.file.flush()

    def run(self, command):
        """(exit status, the last line of an error or "") of a program whose output goes to the file."""
        self.file.write("$ " + " ".join(map(str, command)) + "\n")
        self.file.flush()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        fault = ""
        try:
            for line in child.stdout:
                self.file.write(line)
                if line.startswith("["):
                    self.progress("  " + line.strip())
                if "error:" in line:
                    fault = line.strip()
            return child.wait(), fault
        except BaseException:
            child.send_signal(signal.SIGINT)
            child.wait()
            raise


def launcher(ranks):
    """mpirun for this number of ranks on this host."""
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
    more = []
    if re.search("open *mpi|open-mpi", version, re.I):
        more = ["--oversubscribe", "--bind-to", "none"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
    return ["mpirun", "-np", str(ranks), *more]


def programs(cases, build):
    """(commands that the cases need, as the words before `experiment`; numbers of ranks that there is no mpirun for)."""
    out = []
    if any(not c.get("counting") and c.get("ranks", 1) == 1 for c in cases):
        out.append([build / "gsofa"])
    if any(c.get("counting") for c in cases):
        out.append([build / "gsofa_counting"])
    ranks = sorted({c["ranks"] for c in cases if c.get("ranks", 1) > 1})
    if ranks and not shutil.which("mpirun"):
        return out, ranks
    return out + [[*launcher(k), build / "gsofa"] for k in ranks], []


def recorded(path, offset):
    """(statuses, {(status, reason): cases} without the cases that passed, where the file ends) of the records after a place
    in the file."""
    statuses, reasons = collections.Counter(), collections.Counter()
    with open(path, "rb") as f:
        f.seek(offset)
        for line in f:
            offset += len(line)
            r = json.loads(line)
            if r.get("kind") == json_lines.HEADER:
                continue
            statuses[r["status"]] += 1
            if r["status"] != GOOD:
                # Numbers and names of a case aside, reasons are few.
                why = r["reason"].removeprefix(f"{r['variant']} ")
                reasons[r["status"], why if r["status"] == SKIPPED else re.sub(r"\b\d[\d.,]*", "…", why)] += 1
    return statuses, reasons, offset


def counted(statuses):
    """"12 pass, 3 skipped, 0 failed, 1 timeout"."""
    failed = sum(statuses[s] for s in FAILED)
    others = [f"{n} {s}" for s, n in sorted(statuses.items()) if s not in (GOOD, SKIPPED, *FAILED)]
    return ", ".join([f"{statuses[GOOD]} pass", f"{statuses[SKIPPED]} skipped", f"{failed} failed", *others])


def several(number, noun):
    """1 case, 2 cases."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def last_duration(out, group, experiments):
    """Seconds that the last finished call for this number of experiments of the group took, from the logs in the folders next
    to `out`; None if no log has such a call."""
    logs = sorted((p for p in out.parent.glob("*/log.txt") if p.parent != out), key=lambda p: p.stat().st_mtime, reverse=True)
    for path in logs:
        line = rf"^total of group {group}, {several(experiments, 'experiment')}: .* in (\d+) s$"
        found = re.findall(line, path.read_text(encoding="utf-8", errors="replace"), re.M)
        if found:
            return int(found[-1])
    return None


def announce(log, args, plans):
    """What will run, and how long that takes as far as it is known."""
    total, skipped = (sum(p[1][k] for p in plans) for k in (0, 1))
    limits = [c["timeout"] for _, _, cases in plans for c in cases if "timeout" in c]
    log.say(f"{several(len(plans), 'experiment')} of group {args.group}, about {several(total, 'case')}" +
            (f", {skipped:,} of which this machine cannot run" if skipped else "") +
            (", less those already recorded" if args.resume else ""))
    before = last_duration(args.out, args.group, len(plans))
    if before:
        how = f"the last call for as many of this group took {duration(before)}"
    elif args.group in MEASURED:
        cases, seconds, machine = MEASURED[args.group]
        how = f"about {duration(max(1, seconds * (total - skipped) / cases))} by the {seconds} s that {cases} cases took on {machine}"
    else:
        how = "hours; the time left is estimated from the second experiment on"
    if limits:
        span = f"{min(limits):g} to {max(limits):g}" if min(limits) < max(limits) else f"{max(limits):g}"
        how += f"; where an experiment sets a limit, a run ends after {span} s"
    log.say(f"time: {how}")


def run_all(log, args, plans):
    """All experiments. Returns (statuses, reasons of skips, whether a program failed, names without mpirun)."""
    records = args.out / "records.jsonl"
    records.touch()
    offset = records.stat().st_size
    totals, reasons, failed, absent = collections.Counter(), collections.Counter(), False, []
    more = ["--resume"] if args.resume else []
    more += ["--prepared", args.prepared] if args.prepared else []
    begin, done, whole = time.monotonic(), 0, sum(p[1][0] for p in plans)
    for k, (spec, (count, _), cases) in enumerate(plans, 1):
        name, start, faults = spec.parent.name, time.monotonic(), []
        log.progress(f"{k:>3}/{len(plans)} {name}")
        commands, missing = programs(cases, args.build)
        for command in commands:
            code, fault = log.run([*command, "experiment", spec, "--group", args.group, "--out", records, *more])
            if code:
                failed = True
                faults.append(fault or f"exit status {code}")
        statuses, why, offset = recorded(records, offset)
        totals += statuses
        reasons += why
        absent += [name] if missing else []
        now, done = time.monotonic(), done + count
        left = (now - begin) * (whole - done) / done if done else 0
        number = several(sum(statuses.values()), "case")
        log.say(f"{k:>3}/{len(plans)} {name:<{WIDTH}}{number:>11}  {counted(statuses)}; "
                f"{now - start:.1f} s" + (f"; about {duration(left)} left" if k > 1 and left > 20 else ""))
        for fault in dict.fromkeys(faults):
            log.say(f"        {fault}")
    return totals, reasons, failed, absent


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True, type=Path)
    p.add_argument("--out", required=True, type=Path)
    p.add_argument("--group", required=True)
    p.add_argument("--resume", action="store_true")
    p.add_argument("--prepared", type=Path)
    p.add_argument("--numeric", action="store_true", help="the numeric factorization of some bundled matrices too")
    p.add_argument("specs", nargs="+", type=Path, metavar="SPEC.toml")
    args = p.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    log = Log(args.out / "log.txt")
    registry = registry_of(args.build)
    plans = []
    for spec in args.specs:
        try:
            cases = cases_of(spec, args.group)
            plans.append((spec, expected(cases, registry), cases))
        except (OSError, KeyError, TypeError, ValueError) as e:
            print(f"reproduce: error: {spec}: {printable(str(e))}", file=sys.stderr)
            return 2
        if not cases:
            print(f"reproduce: error: {spec}: no [[case]] in group '{args.group}'", file=sys.stderr)
            return 2
    begin = time.monotonic()
    try:
        announce(log, args, plans)
        totals, reasons, failed, absent = run_all(log, args, plans)
        numeric = args.build / "gsofa_numeric"
        if args.numeric and numeric.exists():
            matrices = [ROOT / "experiments" / "matrices" / f"{name}.mtx.gz" for name in NUMERIC]
            with open(args.out / "supplement_numeric.csv", "w", encoding="utf-8") as table:
                done = subprocess.run([numeric, "--csv", *matrices], stdout=table, stderr=log.file)
            failed = failed or done.returncode != 0
            log.say(f"        {'supplement_numeric':<{WIDTH}}{'failed' if done.returncode else 'done'}")
        log.say("")
        log.say(f"total of group {args.group}, {several(len(plans), 'experiment')}: {counted(totals)} "
                f"in {math.ceil(time.monotonic() - begin)} s")
        for (status, reason), count in sorted(reasons.items(), key=lambda item: (item[0][0], -item[1])):
            log.say(f"{status + ':':<12}{count:>5}  {reason}")
        if absent:
            log.say(f"left out: cases of several ranks, for want of mpirun: {', '.join(absent)}")
        log.progress("  drawing figures")
        drawn = subprocess.run([sys.executable, ROOT / "paper" / "results.py", "--records", args.out / "records.jsonl",
                                "--figures", args.out / "figures", "--page", args.out / "index.html"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in drawn.stderr.splitlines():
            log.say(line)
    except KeyboardInterrupt:
        log.say(f"interrupted; log: {args.out / 'log.txt'}")
        return 130
    log.say("")
    for what, path in (("records", "records.jsonl"), ("figures", "figures"), ("log", "log.txt"), ("page", "index.html")):
        if (args.out / path).exists():
            log.say(f"{what + ':':<9}{args.out / path}")
    bad = [text for text, is_so in ((f"some cases failed: {args.out / 'log.txt'} has their tables", failed or
                                     any(totals[s] for s in FAILED)),
                                    ("some figures could not be drawn, see above", drawn.returncode not in (0, 3))) if is_so]
    for text in bad:
        print(f"reproduce: error: {text}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
