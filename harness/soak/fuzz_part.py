"""Bytes for every reader of files: chosen by libFuzzer, or those of the corpus.

A file of the folder corpus/ holds one input in a line, in base64, for the target of its name. Each made the target answer in
a way in which no input before it did.
"""

import base64
import signal
import subprocess
import time
from pathlib import Path

from programs import DIED, OK, environment

CORPUS = Path(__file__).with_name("corpus")


def unpack(target, folder):
    """Writes the corpus of a target as files."""
    lines = (CORPUS / f"{target}.txt").read_text().splitlines()
    for number, line in enumerate(lines, 1):
        (folder / f"corpus-{number}").write_bytes(base64.b64decode(line, validate=True))


class FuzzPart:
    """The part `fuzz`; a base of Soak."""

    def fuzz(self, seconds):
        """Every target, as many at once as there are processors: with libFuzzer for its share of the time, else each input once."""
        program = self.libfuzzer or self.fuzzer
        names = self.targets or subprocess.run([str(self.fuzzer), "--list"], capture_output=True,
                                               text=True, check=True).stdout.split()
        rounds = -(-len(names) // self.jobs)
        share = max(1.0, seconds / rounds)
        waiting, running = list(names), []
        while waiting or running:
            while waiting and len(running) < self.jobs:
                running.append(FuzzJob(self, program, waiting.pop(0), share))
            running = [job for job in running if job.goes_on()]
            time.sleep(0.05)


class FuzzJob:
    """One target in a process. libFuzzer is begun again after a failure as long as there is time."""

    def __init__(self, soak, program, target, seconds):
        self.soak, self.program, self.target = soak, program, target
        self.deadline = time.monotonic() + seconds
        self.round = 0
        self.folder = soak.work / f"fuzz-{target}"
        self.folder.mkdir()
        subprocess.run([str(program), f"--target={target}", f"--write-seeds={self.folder}"], check=True)
        unpack(target, self.folder / "seeds")
        self.begin()

    def begin(self):
        left = max(1.0, self.deadline - time.monotonic())
        seed = self.soak.seed + 1000 * self.round
        self.log = self.folder / f"log-{self.round}"
        command = [str(self.program), f"--target={self.target}"]
        if self.soak.libfuzzer:
            self.artifacts = self.folder / f"artifacts-{self.round}"
            self.artifacts.mkdir()
            command += [f"-seed={seed}", f"-max_total_time={int(left)}", "-timeout=20",
                        "-rss_limit_mb=4096", "-max_len=8192", f"-dict={self.folder}/dictionary",
                        f"-artifact_prefix={self.artifacts}/", "-print_final_stats=1",
                        str(self.folder / "seeds")]
        else:
            command += sorted(map(str, (self.folder / "seeds").iterdir()))
        self.limit = time.monotonic() + left + 60
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=environment(), start_new_session=True)

    def input_at_fault(self, log):
        """The file that was being read when the process ended."""
        if self.soak.libfuzzer:
            return next(iter(sorted(self.artifacts.iterdir())), self.log)
        names = [line.partition(": ")[0] for line in log.splitlines() if line.startswith(str(self.folder))]
        return Path(names[-1]) if names else self.log

    def goes_on(self):
        if self.process.poll() is None:
            if time.monotonic() > self.limit:
                self.process.send_signal(signal.SIGABRT)
                self.process.wait()
            else:
                return True
        log = self.log.read_text(errors="replace")
        for line in log.splitlines():
            if line.startswith("stat::number_of_executed_units:"):
                self.soak.count("fuzz", self.target, int(line.split()[1]))
            elif line.endswith(" executions"):
                self.soak.count("fuzz", self.target, int(line.split()[0]))
        self.soak.count("fuzz", self.target, 0)
        code = self.process.returncode
        if code == OK:
            return False
        cause = next((line.strip() for line in log.splitlines() if any(d in line for d in DIED)),
                     "hangs" if code == -signal.SIGALRM else f"exit status {code}")
        found = self.input_at_fault(log)
        again = f"{self.program} --target={self.target}"
        self.soak.fail("fuzz", self.target, cause[:300],
                       lambda place: f"{again} {place / found.name}", [found, self.log], log[-20000:])
        self.round += 1
        if self.soak.libfuzzer and self.round < 3 and time.monotonic() < self.deadline - 1:
            self.begin()
            return True
        return False
