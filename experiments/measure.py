#!/usr/bin/env python3
"""Checks, times and profiles the variants on one machine: one queue of jobs over its GPUs and cores.

  measure.py build OUT                             configures and compiles
  measure.py check OUT --suite full                checks every variant against the oracles, under sanitizers too
  measure.py prepare OUT STUDY... --group GROUP    matches and orders the matrices of studies
  measure.py run OUT STUDY... --group GROUP        checks the variants of studies, then runs their cases and commands

A study is a folder next to this program. Its spec.toml has the cases (keys: harness/commands/experiment.hpp); its
commands.toml, if there is one, has a [[command]] table for each thing that no case can say:

  name         of the job
  groups       in which the command runs, as for cases
  argv         the program and its arguments; placeholders are {gsofa} {counting} {build} {python} {out}, {commit} of
               the program, {log} and {part}, two files of the job's own, {kept}, the folder of prepared matrices,
               {prepared}, the file there of `matrix` in METIS order, and the names in `each`
  each         a table of lists: the command runs for every combination of their values; a value with a * stands for
               the files that match it, @FILE for the values in the lines of a file
  then, to     `then` is a command after it, whose output is added to the file `to` of OUT; without `then`, {part} is
  after        names of commands of the study that must have passed before
  gpus, cores  what the job takes (0 GPUs, 1 core); 0 cores: all
  exit         the exit statuses that are right ([0])
  environment  a table of environment variables

A job has its GPUs and cores for itself until it ends; with --alone it has the machine for itself, and all matrices of a group are
one job, so that its cases alternate (prepared first: several matrices at a time). OUT receives records.jsonl and counting.jsonl (groups paper and
smoke) or GROUP.jsonl, checks.txt, a log of each job in logs/, and jobs.jsonl: verdict, exit status, seconds and cores. These
files are always whole: they are joined from parts/, where each job has a file of its own. Called again with the same
OUT, the program leaves out what passed and goes on with the rest. Exit status: 0 if all jobs passed, 1 if one did not,
2 for a wrong call or file. Python 3.11, standard library only.
"""
import argparse
import fnmatch
import functools
import glob
import hashlib
import itertools
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tomllib

import json_lines
from job_queue import ROOT, Fault, Job, Machine, Queue, Results, latest
from specs import read_tables
from terminal_text import printable
from verified_runs import launcher

HERE = pathlib.Path(__file__).resolve().parent
KINDS = ("gpu", "mpi", "cpu", "peer")
MATRIX_KINDS = {"@real": "real", "@fem": "finite elements", "@kkt": "power grid"}  # by the word of specs
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")  # of compute-sanitizer
SLOW = ("*scan_enqueue", "gpu_maxid*")  # their checks take longest and begin first
COMMAND_KEYS = {"name", "groups", "argv", "each", "then", "to", "after", "gpus", "cores", "exit", "environment"}


def file_name(text):
    """The text if it is a short name of a file, else as much of it as can be and a digest of it."""
    name = re.sub(r"[^A-Za-z0-9_.=-]", "_", text)
    return name if name == text and len(name) <= 80 else f"{name[:80]}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def kept_file(folder, matrix, order="metis", match="auto", seed=-1):
    """The file in which `gsofa experiment --prepared` keeps a matrix (harness/matrices/kept_matrix.hpp)."""
    unmatched, seeded = ".unmatched" if match == "none" else "", f".seed{seed}" if seed >= 0 else ""
    return folder / f"{file_name(matrix)}.{file_name(order)}{unmatched}{seeded}.bin"


def is_path(matrix):
    return "/" in matrix and not matrix.startswith("gen:")


def expand(matrices, folders):
    """The matrices of a case as the program names them. folders: of @real, @fem and @kkt, each of which stands for the bundled
    matrices of its kind if it has none."""
    bundled = tomllib.loads((HERE / "datasets.toml").read_text())["bundled"]
    for m in matrices:
        if folder := folders.get(m):
            found = [f for f in (ROOT / folder).iterdir() if f.name.endswith((".mtx", ".mtx.gz", ".bin"))]
            yield from (str(folder / f.name) for f in sorted(found, key=lambda f: (f.stat().st_size, f)))
        elif m == "@bundled" or m in MATRIX_KINDS:
            yield from (b["name"] for b in bundled if m == "@bundled" or b.get("kind", "real") == MATRIX_KINDS[m])
        else:
            yield str(ROOT / m) if is_path(m) else m


def read_lines(name):
    return (ROOT / name).read_text(encoding="utf-8").split("\n")[:-1]


def machine_id():
    """16 digits that tell this machine from others of its name: of the system's id, the processor's model, GPUs or GiB of memory."""
    def text(path, pattern):
        try:
            found = re.search(pattern, pathlib.Path(path).read_text(errors="replace"), re.M)
        except OSError:
            return ""
        return found[1] if found else ""
    try:
        gpus = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True, check=False).stdout
    except OSError:
        gpus = ""
    gib = 0 if gpus else round(int(text("/proc/meminfo", r"^MemTotal:\s*(\d+)") or 0) / 2**20)
    parts = text("/etc/machine-id", r"^(.*)$"), text("/proc/cpuinfo", r"^model name\s*: (.*)$"), str(gib), gpus
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


class Plan:
    """The jobs that a call asks for."""

    def __init__(self, args, machine):
        self.args, self.machine, self.jobs, self.left_out = args, machine, {}, {}
        # Commands go into records: paths relative to the tree mean something on other machines too.
        self.build, self.out, self.prepared = (
            pathlib.Path(os.path.relpath(p, ROOT)) for p in (args.build, args.out, args.prepared))
        self.gsofa, self.counting = str(self.build / "gsofa"), str(self.build / "gsofa_counting")
        self.preparing = args.action == "prepare"
        self.alone = getattr(args, "alone", False)
        self.folders = {word: pathlib.Path(os.path.relpath(folder, ROOT)) for word in MATRIX_KINDS if (folder := getattr(args, word[1:], None))}

    def add(self, job):
        self.jobs.setdefault(job.name, job)
        return job.name

    def ask(self, *words):
        """What the program prints."""
        try:
            return subprocess.run([ROOT / self.gsofa, *words], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError) as e:
            raise Fault(f"{self.gsofa} {' '.join(words)}: {getattr(e, 'strerror', None) or e}") from e

    @functools.cached_property
    def variants(self):
        """All variants of the program, planted faults included, by name."""
        return {v["name"]: v for v in json.loads(self.ask("list", "--json", "--planted"))}

    @functools.cached_property
    def version(self):
        return f"{self.ask('--version').strip()} on {platform.node()} ({machine_id()})"

    def add_build(self):
        cuda = ["-DGSOFA_WITH_CUDA=ON"] if self.machine.gpus else []
        made = self.add(Job("build.configure", ["cmake", "-S", ".", "-B", self.build, "-G", "Ninja",
                                                "-DCMAKE_BUILD_TYPE=Release", *cuda, *self.args.cmake]))
        cores = len(self.machine.cores)
        self.add(Job("build.compile", ["ninja", "-C", self.build, "-j", cores], cores=cores, after=[made]))

    def add_prepare(self, matrix, order="metis", match="auto", seed=-1):
        """The names of the jobs to wait for: none where the matrix was prepared before, or is a file that its job orders. With --alone that is
        a file of @real, whose order is timed while nothing else runs."""
        file = kept_file(self.prepared, matrix, order, match, seed)
        by_its_job = is_path(matrix) and (not self.alone or matrix.endswith(".bin") or pathlib.Path(matrix).parent == self.folders.get("@real"))
        if by_its_job or (ROOT / file).exists():
            return []
        return [self.add(Job(f"prepare.{file.stem}", [self.gsofa, "prepare", "--matrix", matrix, "--order", order,
                                                      "--match", match, "--seed", seed, "--out", file]))]

    def add_check(self, variant, suite, tool="check"):
        """`gsofa check` of one variant, by itself or under a tool of compute-sanitizer."""
        command = [self.gsofa, "check", "--suite", suite, "--variant", variant, "--rotate", self.args.rotate,
                   "--save", self.out / "counterexamples"]
        command += ["--patterns", self.args.patterns or 4] if self.args.patterns or tool != "check" else []
        prepared = self.prepared / "check"
        if tool != "check":
            prepared = self.out / "nothing"  # in place of the bundled matrices, which would take hours
            command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", 86, *command, "--in-process"]
        command += ["--prepared", prepared] if tool != "check" or (ROOT / prepared).is_dir() else []
        gpus = int(bool(self.machine.gpus) and self.variants[variant]["device"] != "cpu")
        return self.add(Job(f"check.{suite}.{tool}.{variant}", command, gpus=gpus,
                            verdict=f"^{variant}( |:)|rejected" if tool == "check" else "SUMMARY"))

    def add_checks(self):
        kinds = self.args.device or ["gpu" if self.machine.gpus else "cpu"]
        chosen = [v for v in self.variants.values() if v["device"] in kinds and
                  any(fnmatch.fnmatch(v["name"], p) for p in self.args.variant or "*")]
        absent = [v for v in chosen if not v["available"]]
        if absent or not chosen:
            raise Fault(f"{absent[0]['name']} is unavailable: {absent[0]['reason']}" if absent else "no such variant")
        chosen.sort(key=lambda v: [not fnmatch.fnmatch(v["name"], p) for p in SLOW])
        for tool, v in itertools.product(self.args.tool or ["check"], chosen):
            if tool == "check" or not v["planted"]:
                self.add_check(v["name"], self.args.suite, tool)

    def add_study(self, study, group):
        def read(file, key):
            try:
                tables = read_tables((HERE / study / file).read_text(), key)
            except FileNotFoundError as e:
                if file == "spec.toml":
                    raise Fault(f"there is no study '{study}'") from e
                return []
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
                raise Fault(f"{HERE / study / file}: {e}") from e
            return [t for t in tables if group in t.get("groups", [])]
        cases, commands = read("spec.toml", "case"), read("commands.toml", "command")
        if not cases and not commands:
            raise Fault(f"{study}: neither cases nor commands in group '{group}'")
        self.add_cases(study, group, cases)
        for command in commands:
            try:
                self.add_command(study, command)
            except (KeyError, TypeError, ValueError) as e:
                raise Fault(f"{study}/commands.toml: '{command.get('name', '')}': {e!r}") from e

    def add_cases(self, study, group, cases):
        """A job runs the cases of one matrix (with --alone of all) for one program, one kind of device (all) and one number of ranks."""
        jobs = {}
        for case, kind in itertools.product(cases, self.args.device or KINDS):
            named = [v for v in self.variants.values() if v["device"] == kind and not v["planted"] and
                     any(fnmatch.fnmatch(v["name"], p) for p in case.get("variants", "*"))]
            gpus, ranks = max(case.get("gpus", 0), int(kind == "gpu")), case.get("ranks", 1)
            most = len(self.machine.cores)
            enough = gpus <= len(self.machine.gpus) and (ranks == 1 or shutil.which("mpirun") and (ranks <= most or not self.alone))
            here = [v for v in named if v["available"] and enough]
            if named and not here and not self.preparing:
                self.left_out.update({(study, v["name"]): None for v in named})
            if not (named if self.preparing else here):
                continue
            threads = case.get("threads", 0) or (most if any(v["multithreaded"] for v in here) else 1)
            # A program alone on the machine has the cores of its threads; one of several GPUs has a thread for each and helpers.
            shared = self.machine.share(gpus) if gpus > (1 if self.alone else 0) else ranks * threads
            cores = most if self.alone and ranks > 1 else min(most, max(ranks, shared))
            for m in expand(case["matrices"], self.folders):
                if self.args.matrix and m not in self.args.matrix:
                    continue
                after = [a for order in case.get("orders", ["metis"]) for a in
                         self.add_prepare(m, order, case.get("match", "auto"), case.get("seed", -1))]
                if self.preparing:
                    continue
                if self.args.check != "none":
                    after += [self.add_check(v["name"], self.args.check) for v in here]
                which = ("", "") if self.alone else (m, kind)
                job = jobs.setdefault((*which, case.get("counting", False), ranks), Job("", [], alone=self.alone))
                job.gpus, job.cores, job.after = max(job.gpus, gpus), max(job.cores, cores), job.after + after
        for (m, kind, counting, ranks), job in jobs.items():
            matrix = pathlib.Path(m).stem if is_path(m) else file_name(m)
            job.name = f"{study}.{group if self.alone else f'{matrix}.{kind}'}" + (f".{ranks}ranks" if ranks > 1 else "") + ".counting" * counting
            file = group if group not in ("paper", "smoke") else "" if counting else "records"
            file += "_counting" * counting if file else "counting"
            job.part, job.judged = self.args.out / "parts" / f"{file}.jsonl" / f"{job.name}.jsonl", True
            job.argv = [*launcher(ranks, self.alone), self.counting if counting else self.gsofa, "experiment",
                        f"experiments/{study}/spec.toml", "--group", group, "--prepared", self.prepared, "--resume",
                        "--out", os.path.relpath(job.part, ROOT)]
            words = [*(("matrix", name) for name in ([m] if m else self.args.matrix or ())),
                     *(("device", name) for name in ([kind] if kind else self.args.device or ())),
                     *((word[1:], folder) for word, folder in self.folders.items())]
            job.argv += [text for word, value in words for text in (f"--{word}", value)]
            self.add(job)

    def add_command(self, study, command):
        """A job for every combination of the values in `each`."""
        if set(command) - COMMAND_KEYS:
            raise ValueError(f"unknown key {min(set(command) - COMMAND_KEYS)}")
        gpus = command.get("gpus", 0)
        if gpus > len(self.machine.gpus) and not self.preparing:
            self.left_out[study, command["name"]] = None
            return
        each = {k: [f for v in values for w in (read_lines(v[1:]) if str(v).startswith("@") else [str(v)])
                    for f in (sorted(glob.glob(w, root_dir=ROOT)) if "*" in w else [w])]
                for k, values in command.get("each", {}).items()}
        for values in itertools.product(*each.values()):
            chosen = dict(zip(each, values))
            words = [command["name"], *(pathlib.Path(v).stem if is_path(v) else v for v in values)]
            name = ".".join([study, *(re.sub(r"[^A-Za-z0-9_=-]", "_", w) for w in words)])
            after = [f"{study}.{a}" for a in command.get("after", [])]
            if any("{prepared}" in word for word in command["argv"]):
                m = chosen["matrix"]
                after += self.add_prepare(m)
                chosen["prepared"] = m if is_path(m) else kept_file(self.prepared, m)
            if self.preparing:
                continue
            part = self.args.out / "parts" / command["to"] / f"{name}{pathlib.Path(command['to']).suffix}" \
                if "to" in command else None
            places = {"gsofa": self.gsofa, "counting": self.counting, "build": self.build, "python": sys.executable,
                      "out": self.out, "kept": self.prepared, "log": self.out / "logs" / f"{name}.log",
                      "commit": re.search(r"\b[0-9a-f]{40}\b|$", self.version)[0],
                      "part": os.path.relpath(part or ROOT, ROOT), **chosen}
            argv, then = ([w.format_map(places) for w in command.get(k, [])] for k in ("argv", "then"))
            most = len(self.machine.cores)
            self.add(Job(name, argv, gpus, min(command.get("cores", self.machine.share(gpus)) or most, most), after,
                         command.get("exit", [0]), part, then, bool(part) and not then and part.suffix == ".jsonl",
                         environment=command.get("environment", {}), alone=self.alone))


def print_table(plan, results, verdicts):
    """Jobs by study and verdict, records by status, and what this machine could not run."""
    columns = [c for c in ("passed", "passed before", "failed", "not begun", "out of time", "interrupted")
               if c in verdicts.values()]
    for study in dict.fromkeys(name.split(".")[0] for name in verdicts):
        mine = {name: v for name, v in verdicts.items() if name.split(".")[0] == study}
        counts = [f"{list(mine.values()).count(c):4} {c}" for c in columns]
        seconds = sum(results.jobs[name]["seconds"] for name in mine)
        print(f"{study:24}{'  '.join(counts)}  {seconds:8.1f} s")
    statuses = [r["status"] for job in plan.jobs.values() if job.judged for r in latest(job.part)]
    if statuses:
        print("records: " + ", ".join(f"{statuses.count(s)} {s}" for s in sorted(set(statuses))))
    if plan.left_out:
        names = {}
        for study, name in plan.left_out:
            names.setdefault(study, []).append(name)
        listed = "; ".join(f"{study}: {', '.join(mine)}" for study, mine in names.items())
        print(f"left out, for lack of a device or library: {listed}")


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True, metavar="COMMAND")

    def absolute(text):
        return pathlib.Path(text).resolve()

    for name, what in (("build", "configures and compiles"), ("check", "checks variants against the oracles"),
                       ("prepare", "matches and orders matrices"), ("run", "runs cases and commands of studies")):
        p = actions.add_parser(name, help=what, description=what)
        p.set_defaults(study=[], device=None)
        option = p.add_argument
        option("out", type=absolute, metavar="OUT", help="the folder that receives the results")
        if name in ("prepare", "run"):
            option("study", nargs="+", metavar="STUDY", help="a folder of experiments/")
            option("--group", action="append", help="smoke (default), paper, or another group of the study; may be repeated with --alone")
            option("--matrix", action="append", help="only the cases of this matrix; may be repeated")
            for word, kind in MATRIX_KINDS.items():
                option(f"--{word[1:]}", type=absolute, metavar="FOLDER", help="Matrix Market files, or prepared ones, as "
                       f"{word} in a spec (default: the bundled matrices of kind {kind})")
        if name in ("check", "run"):
            option("--device", action="append", choices=KINDS, help="only variants of this kind; may be repeated")
            option("--rotate", type=int, default=1,
                   help="check each random pattern with the defaults and N other settings, which rotate (0: all)")
            option("--patterns", type=int, help="at most N patterns of each kind are checked instead of the suite's")
        if name == "build":
            option("--cmake", action="append", default=[], metavar="=-DKEY=VALUE", help="for CMake; may be repeated")
        if name == "check":
            option("--suite", choices=("small", "full"), default="small", help="the patterns (default: small)")
            option("--variant", action="append", metavar="PATTERN", help="only such variants; may be repeated")
            option("--tool", action="append", choices=("check", *TOOLS),
                   help="no tool (check, the default) or one of compute-sanitizer; may be repeated")
        if name == "run":
            option("--check", choices=("none", "small", "full"), default="small",
                   help="the suite that a variant must pass before it runs (default: small)")
            option("--alone", action="store_true", help="one job at a time, which has all matrices of a group; ranks are bound to cores")
        option("--build", type=absolute, default=ROOT / "build" / "release", help="the folder of the programs")
        option("--prepared", type=absolute, default=ROOT / "results" / "prepared",
               help="the folder that keeps prepared matrices (default: results/prepared)")
        option("--seconds", type=float, default=0, help="all jobs are ended after this many seconds (default: no limit)")
        option("--gpus", metavar="0,1,...", help="the GPUs to use (default: all that are visible)")
        option("--dry-run", action="store_true", help="prints the jobs and runs none")
    args = parser.parse_args(words)
    args.group = getattr(args, "group", None) or ["smoke"]
    if len(args.group) > 1 and not getattr(args, "alone", False):
        parser.error("several groups need --alone")
    return args


def main(words):
    args = parse(words)
    os.environ["PATH"] += os.pathsep + "/usr/local/cuda/bin"
    plan = Plan(args, Machine.find(args.gpus))
    if args.action == "build":
        plan.add_build()
    if args.action == "check":
        plan.add_checks()
    for study, group in itertools.product(args.study, args.group):
        plan.add_study(study, group)
    jobs = sorted(plan.jobs.values(), key=lambda j: not j.name.startswith(("prepare.", "check.")))
    if args.dry_run:
        for j in jobs:
            print(f"{j.name}: {j.gpus} GPUs, {j.cores} cores: {j.line()}")
        return 0
    for folder in (args.prepared, args.out / "nothing"):
        folder.mkdir(parents=True, exist_ok=True)
    results = Results(args.out, "" if args.action == "build" else plan.version)
    verdicts = Queue(plan.machine, results, args.seconds).run(jobs)
    print_table(plan, results, verdicts)
    return 0 if all(v.startswith("passed") for v in verdicts.values()) else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (Fault, json_lines.BadLine, OSError) as fault:
        print(f"measure: error: {printable(fault)}", file=sys.stderr)
        sys.exit(2)
