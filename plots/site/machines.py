"""Machines of records, with names that a person can read: "2 × NVIDIA H200, Intel Xeon, 32 threads, host C"."""

import collections
import re
from pathlib import Path

from records import ROOT


def place(run):
    """(file relative to the tree, line) of a record."""
    file, line = run.place.rsplit(":", 1)
    path = Path(file)
    return (path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else file), int(line)


def key_of(run):
    """Identifies the machine of a record: its id and its processor, because copies of a virtual machine share the id. Records
    without an id belong to the folder of their session."""
    identity = run.get("machine", {}).get("id", "")
    if not identity:
        return Path(place(run)[0]).parent.name
    return f"{identity}.{re.sub(r'[^A-Za-z0-9]+', '-', run['cpu']).strip('-')}"


def processor(cpu):
    """"Intel Xeon" of "Intel(R) Xeon(R) Processor"."""
    return " ".join(re.sub(r"\((?:R|TM)\)|\b(?:Processor|CPU)\b", " ", cpu).split())


Part = collections.namedtuple("Part", "group text")
Group = collections.namedtuple("Group", "is_cpu several text")  # sorts GPUs first, then one before several


def part_of(run):
    """The part of its machine that a run used: "2 × NVIDIA H200", "Intel Xeon, 16 threads", of a group of such parts."""
    uses_gpu = run["device"] == "gpu" or "gpus_per_rank" in run["options"] or run["variant"] == "peer_cudss"
    if uses_gpu and run["gpus"]:
        count, name = max(run["options"].get("gpus_per_rank", 1), 1) * run["mpi"]["ranks"], run["gpus"][0]["name"]
        group = Group(False, count > 1, f"Several {name}" if count > 1 else f"One {name}")
        return Part(group, f"{count} × {name}" if count > 1 else name)
    count, name = max(run["threads"], run["mpi"]["ranks"]), processor(run["cpu"])
    text = f"{name}, {count} thread{'s' if count > 1 else ''}"
    return Part(Group(True, count > 1, f"{name}, several threads" if count > 1 else text), text)


def letters(k):
    """A to Z, AA, AB, ..."""
    return (letters(k // 26 - 1) if k >= 26 else "") + chr(ord("A") + k % 26)


class Machine:
    """What the records of one machine say about it."""

    def __init__(self, run):
        self.key, self.identified = key_of(run), bool(run.get("machine", {}).get("id"))
        self.cpu, self.first = run["cpu"], run["time_utc"]
        self.gpus, self.drivers, self.threads, self.host = {}, set(), set(), ""

    def add(self, run):
        names = [g["name"] for g in run["gpus"]]
        for name in names:
            self.gpus[name] = max(self.gpus.get(name, 0), names.count(name))
        self.drivers.update(g.get("driver_version") or f"CUDA {g['driver']}" for g in run["gpus"])
        self.threads.add(run.get("machine", {}).get("threads_online"))
        self.first = min(self.first, run["time_utc"])

    def gpu_text(self):
        return ", ".join(f"{count} × {name}" if count > 1 else name for name, count in sorted(self.gpus.items()))

    def threads_text(self):
        return ", ".join(map(str, sorted(self.threads - {None})))

    def text(self):
        threads = self.threads_text()
        return ", ".join(filter(None, (self.gpu_text(), processor(self.cpu), threads and f"{threads} threads", self.host)))


def machines_of(runs):
    """{key: Machine}, hosts lettered by the time of their first record: later records leave the letters as they are."""
    found = {}
    for run in runs:
        key = key_of(run)
        if key not in found:
            found[key] = Machine(run)
        found[key].add(run)
    ordered = sorted(found.values(), key=lambda m: (m.first, m.key))
    for k, machine in enumerate(ordered):
        machine.host = f"host {letters(k)}"
    return {m.key: m for m in ordered}
