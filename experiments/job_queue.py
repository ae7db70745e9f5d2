"""A queue of commands over the GPUs and cores of a machine, and the folder of their results. Standard library only."""
import dataclasses
import fcntl
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import time

import json_lines

ROOT = pathlib.Path(__file__).resolve().parent.parent  # where jobs run
GRACE_S = 10  # between asking a job to end and killing it


class Fault(Exception):
    """Something that the user must mend; the message is one line."""


@dataclasses.dataclass
class Job:
    """A command with what it takes, what it waits for and where its results go."""
    name: str
    argv: list
    gpus: int = 0
    cores: int = 1
    after: list = dataclasses.field(default_factory=list)
    exits: list = dataclasses.field(default_factory=lambda: [0])
    part: pathlib.Path | None = None  # OUT/parts/FILE/NAME, which is joined to OUT/FILE
    then: list | None = None  # prints the part
    judged: bool = False  # the part holds records of verified runs
    verdict: str = r"\S"  # the last line of the log that matches it is noted
    environment: dict = dataclasses.field(default_factory=dict)
    alone: bool = False  # nothing else runs at the same time
    placed: list = dataclasses.field(default_factory=list)  # the cores that it had

    def line(self):
        """The job as a line for the shell, which also reports a program that is absent."""
        line = shlex.join(map(str, self.argv))
        return f"{line} && {shlex.join(map(str, self.then))} >{shlex.quote(str(self.part))}" if self.then else line


@dataclasses.dataclass
class Machine:
    """The GPUs (as CUDA_VISIBLE_DEVICES names them) and cores that jobs may have."""
    gpus: list
    cores: list

    @classmethod
    def find(cls, gpus):
        """All cores of this process; the GPUs given, those of CUDA_VISIBLE_DEVICES, or all."""
        gpus = os.environ.get("CUDA_VISIBLE_DEVICES") if gpus is None else gpus
        if gpus is None:
            listed = subprocess.run("nvidia-smi --list-gpus", shell=True, capture_output=True, text=True, check=False)
            gpus = ",".join(re.findall(r"^GPU (\d+)", listed.stdout, re.MULTILINE))
        return cls([g for g in gpus.split(",") if g], sorted(os.sched_getaffinity(0)))

    def share(self, gpus):
        """The cores of a job: with GPUs their part of one half of all, for the other half is for jobs without."""
        return max(1, len(self.cores) * gpus // (2 * len(self.gpus))) if gpus and self.gpus else 1


def write_whole(path, data):
    """Replaces a file in one step: a reader finds the old content or the new one."""
    fresh = path.with_name(path.name + ".new")
    with open(fresh, "wb") as f:
        f.write(data)
        f.flush()
        os.fsync(f.fileno())
    os.replace(fresh, path)


def acceptable(record):
    """A run that takes longer than it may, or that is not to be verified, is no fault; any other failure is one."""
    if record["status"] == "unverified":
        return record["device"] == "peer" or record["variant"] == json_lines.TRUSTED or record["verify"]["mode"] == "none"
    return record["status"] in ("pass", "timeout", "skipped")


def latest(part):
    """The last record of each case, as a resumed job repeats what ended in an error; an unfinished line is none."""
    cases = {}
    whole = [line for line in part.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")] if part.exists() else []
    for r in json_lines.lines_of(b"".join(whole), part):
        if r.get("kind") == "regret":  # its program judges it
            continue
        if r.get("kind") == "order":
            cases[json.dumps([r["matrix"]["name"], r["order"], r["seed"], r.get("shuffle", 0)])] = r
            continue
        key = [r["matrix"]["name"], r["ordering"]["digest"], r["variant"], r["options"], r["threads"], r["chunk_size"],
               r["asked"], r["counting"], r["mpi"]["ranks"]]
        cases[json.dumps(key)] = r
    return list(cases.values())


class Results:
    """The folder OUT: what became of every job, and the files that are joined from the jobs' parts."""

    def __init__(self, out, version):
        self.out, self.version, self.file = out, version, out / "jobs.jsonl"
        for folder in (out, out / "logs", out / "parts"):
            folder.mkdir(parents=True, exist_ok=True)
        self.lock = open(out / "lock", "w")  # pylint: disable=consider-using-with
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            raise Fault(f"{out} is in use by another process") from e
        self.jobs = {j["name"]: j for j in (json_lines.read(self.file) if self.file.exists() else ())}
        for j in self.jobs.values():
            if version and j["version"] not in ("", version):
                raise Fault(f"{out} has results of another program or machine ({j['version']}): name another folder")

    def passed(self, job):
        """Whether the same command has passed before."""
        known = self.jobs.get(job.name, {"verdict": ""})
        return known["verdict"] == "passed" and known["command"] == job.line()

    def add(self, job, verdict, status, seconds, note):
        """Records what became of a job and joins what it found to what the others did."""
        self.jobs[job.name] = {"name": job.name, "verdict": verdict, "exit_status": status, "note": note,
                               "seconds": round(seconds, 1), "cores": job.placed, "command": job.line(), "version": self.version}
        if job.part and job.part.parent.exists():
            self.join(job.part.parent)
        write_whole(self.file, "".join(json.dumps(j) + "\n" for j in self.jobs.values()).encode())
        checks = [f"{name:48} {j['verdict']}, {j['seconds']} s: {j['note']}\n"
                  for name, j in sorted(self.jobs.items()) if name.startswith("check.")]
        if checks:
            write_whole(self.out / "checks.txt", "".join(checks).encode())

    def join(self, parts):
        """Joins whole lines. All .csv begin with the same line; of .json, one object each, the newest counts."""
        files = sorted(parts.iterdir())
        if parts.suffix == ".json":
            files = [max(files, key=lambda f: f.stat().st_mtime)] if files else []
        whole = b""
        for data in (f.read_bytes() for f in files):
            data = data[:data.rfind(b"\n") + 1]
            head = data[:data.find(b"\n") + 1]
            whole += data[len(head):] if parts.suffix == ".csv" and head and whole.startswith(head) else data
        if whole:
            write_whole(self.out / parts.name, whole)


class Queue:
    """Runs jobs in their order, each as soon as those it waits for have passed and its GPUs and cores are free."""

    def __init__(self, machine, results, limit_s):
        self.machine, self.results = machine, results
        self.gpus, self.cores = list(machine.gpus), list(machine.cores)  # that are free
        self.end = time.monotonic() + limit_s if limit_s else float("inf")
        self.running, self.verdicts, self.stopped = [], {}, ""

    def run(self, jobs):
        """Returns verdicts by name. The time limit or a signal ends running jobs; what they found is kept."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: setattr(self, "stopped", "interrupted"))
        self.verdicts = {j.name: "passed before" for j in jobs if self.results.passed(j)}
        waiting = [j for j in jobs if j.name not in self.verdicts]
        while (waiting or self.running) and not self.stopped:
            waiting = self.start_what_fits(waiting)
            self.collect()
            time.sleep(0.02)
            if time.monotonic() > self.end:
                self.stopped = "out of time"
        self.end_all()
        for job in waiting:
            self.finish(job, "not begun", None, 0, self.stopped)
        return self.verdicts

    def start_what_fits(self, waiting):
        """A job that finds no room keeps later ones of its kind, with a GPU or without, from overtaking it."""
        left, full = [], set()
        unfinished = {j.name for j in waiting} | {r[0].name for r in self.running}
        for job in waiting:
            missed = [a for a in job.after if a not in unfinished
                      and not self.verdicts.get(a, "passed").startswith("passed")]
            if missed:
                self.finish(job, "not begun", None, 0, f"{missed[0]} did not pass")
            elif unfinished.intersection(job.after) or (job.gpus > 0) in full:
                left.append(job)
            elif self.running and (job.alone or self.running[0][0].alone):
                full = {False, True}
                left.append(job)
            elif job.gpus <= len(self.gpus) and job.cores <= len(self.cores):
                self.start(job)
            else:
                full.add(job.gpus > 0)
                left.append(job)
        return left

    def log(self, job):
        """What the job prints."""
        return self.results.out / "logs" / f"{job.name}.txt"

    def start(self, job):
        """Begins a job on GPUs and cores of its own, in a process group of its own."""
        gpus, self.gpus = self.gpus[:job.gpus], self.gpus[job.gpus:]
        cores, self.cores = self.cores[:job.cores], self.cores[job.cores:]
        job.placed = cores
        if job.part:
            job.part.parent.mkdir(exist_ok=True)
        # A job without a GPU sees the first one, so that its records name the same machine as the others.
        seen = ",".join(gpus or self.machine.gpus[:1])
        file = self.log(job)
        if file.exists():  # of an earlier call, whose job was ended
            file.rename(file.with_name(f"{job.name}.{int(file.stat().st_mtime)}.txt"))
        with file.open("wb") as log:
            process = subprocess.Popen(  # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
                ["sh", "-c", job.line()], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT,
                env=os.environ | {"GSOFA_ROOT": str(ROOT), "CUDA_VISIBLE_DEVICES": seen} | job.environment,
                start_new_session=True,
                preexec_fn=lambda: os.sched_setaffinity(0, cores))
        self.running.append((job, gpus, cores, time.monotonic(), process))

    def collect(self):
        """Takes the jobs that have ended and frees what they had."""
        for entry in list(self.running):
            job, gpus, cores, begin, process = entry
            if process.poll() is not None:
                self.running.remove(entry)
                self.gpus = sorted(self.gpus + gpus, key=self.machine.gpus.index)
                self.cores = sorted(self.cores + cores)
                self.finish(job, "", process.returncode, time.monotonic() - begin, "")

    def finish(self, job, verdict, status, seconds, note):
        """Judges a job that ended by itself by its exit status and by the records that it made."""
        if not verdict:
            lines = self.log(job).read_text(errors="replace").splitlines()
            note = next((line for line in reversed(lines) if re.search(job.verdict, line)), "")
            # Status 4 is a timeout, running out of memory or an error in a case: the records tell which.
            good = status in ([*job.exits, 4] if job.judged else job.exits)
            if any(line.endswith("the program was ended)") for line in lines):
                good, note = False, "a run ignored its limit and ended the program: another call goes on behind it"
            try:
                for r in latest(job.part) if job.judged else ():
                    if not acceptable(r):
                        good, note = False, f"{r['matrix']['name']} {r.get('variant') or r['order']}: {r['status']}: {r['reason']}"
            except json_lines.BadLine as e:
                good, note = False, str(e)
            verdict = "passed" if good else "failed"
        self.verdicts[job.name] = verdict
        note = " ".join(note.split())[:240]
        self.results.add(job, verdict, status, seconds, note)
        if verdict != "passed":
            print(f"{job.name}: {verdict}{'' if status is None else f', exit status {status}'}: {note}", flush=True)

    def end_all(self):
        """Asks running jobs to end, and after a while kills what is left of them."""
        for number, wait_s in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, 0)):
            for *_, process in self.running:
                if process.poll() is None:
                    os.killpg(process.pid, number)
            limit = time.monotonic() + wait_s
            while time.monotonic() < limit and any(process.poll() is None for *_, process in self.running):
                time.sleep(0.02)
        for job, *_, begin, process in self.running:
            self.finish(job, self.stopped, process.wait(), time.monotonic() - begin, "ended")
