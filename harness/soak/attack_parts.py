"""Programs that attack by themselves: the oracle, the plugin, neighbours of the drop-in, the Python package."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

from programs import DIED, Done, Failed, LIMIT, OK, environment, require


class AttackParts:
    """The parts `oracle`, `superlu` and `python`; a base of Soak."""

    def ask_oracle(self, part, what, seconds, *more):
        end = time.monotonic() + seconds
        first = 0
        while time.monotonic() < end:
            left = max(1.0, end - time.monotonic())
            command = [self.oracle, f"--seed={self.seed}", f"--first={first}",
                       f"--seconds={left:.1f}", *more]
            process = self.start(command, environment(leaks="--attack=starved" not in more))
            try:
                out, err = process.communicate(timeout=left + LIMIT)
                hung = ""
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGABRT)  # the program then names its cases
                out, err = process.communicate()
                hung = "hangs; "
            done = Done(command, process.returncode, out.decode(errors="replace"),
                        err.decode(errors="replace"))
            numbers = []
            for line in done.out.splitlines():
                if line.startswith("failed: case "):
                    number = int(line.split()[2].rstrip(":"))
                    numbers.append(number)
                    # Threads that meet need company.
                    begin, cases = ((number, 1) if "--threads=8" not in more
                                    else (max(0, number - 200), 400))
                    again = (f"{self.oracle} --seed={self.seed} --first={begin} --cases={cases} "
                             f"{' '.join(more)}")
                    cause = next((w.strip() for w in done.err.splitlines()
                                  if any(d in w for d in DIED)), "")
                    self.fail(part, what, f"{hung}{line} {cause}"[:300], lambda _, a=again: a,
                              text=done.text())
                elif line.split()[1:2] and line.split()[1].startswith("executions"):
                    self.count(part, what, int(line.split()[0]))
            if done.code != OK and not numbers:
                cause = next((w.strip() for w in done.err.splitlines()
                              if any(d in w for d in DIED)), f"exit status {done.code}")
                self.fail(part, what, cause[:300],
                          lambda _, c=command: " ".join(map(str, c)), text=done.text())
                return
            if numbers:
                first = max(numbers) + 1

    def compare_with_oracle(self, seconds):
        self.ask_oracle("oracle", "one thread", 0.2 * seconds, "--threads=1")
        self.ask_oracle("oracle", "eight threads", 0.3 * seconds, "--threads=8")
        self.ask_oracle("oracle", "C interface", 0.2 * seconds, "--attack=c", "--threads=2")
        self.ask_oracle("oracle", "C++ interface", 0.1 * seconds, "--attack=cpp", "--threads=2")
        self.ask_oracle("oracle", "fork", 0.1 * seconds, "--attack=fork")
        self.load_as_plugin(0.1 * seconds)

    def load_as_plugin(self, seconds):
        command = [self.plugin, f"--seconds={seconds:.1f}"]
        try:
            done = self.run(command, environment(leaks=False))
            for line in done.out.splitlines():
                if line.endswith(" executions"):
                    self.count("oracle", "plugin", int(line.split()[0]))
            done.require_alive()
            require(done.code == OK, done.out.splitlines()[0] if done.out else "no output")
        except Failed as e:
            self.fail("oracle", "plugin", str(e), lambda _: " ".join(map(str, command)),
                      text=self.last[-1].text())

    def attack_superlu(self, seconds):
        """Ranks that call symbfact among hostile neighbours; the program counts the attacks."""
        if not self.drop_in.exists():
            self.count("superlu", "(no SuperLU_DIST)", 0)
            return
        seeded = [self.drop_in, f"--seed={self.seed}"]
        command = [*seeded, f"--seconds={max(1, round(seconds))}"]
        try:
            done = self.end(self.start(command, environment(leaks=False)), command, seconds + LIMIT)
        except Failed as e:
            self.fail("superlu", "program", str(e), lambda _: " ".join(map(str, command)),
                      text=self.last[-1].text())
            return
        cause = next((w.strip() for w in done.err.splitlines() if any(d in w for d in DIED)), "")
        cases = re.findall(r"^failed: case (\d+): (.*?): (.*)$", done.out, re.MULTILINE)
        for number, attack, message in cases:
            again = " ".join(map(str, [*seeded, f"--first={number}", "--cases=1"]))
            self.fail("superlu", attack, f"{message} {cause}"[:300], lambda _, a=again: a, text=done.text())
        for runs, attack in re.findall(r"^(\d+) runs, \d+ failures: (.*)$", done.out, re.MULTILINE):
            self.count("superlu", attack, int(runs))
        if done.code != OK and not cases:
            self.fail("superlu", "program", (cause or f"exit status {done.code}")[:300],
                      lambda _: " ".join(map(str, command)), text=done.text())

    def has_package(self):
        """Whether there is an interpreter that has the package."""
        try:
            return subprocess.run([self.interpreter, "-c", "import gsofa"], capture_output=True).returncode == 0
        except OSError:
            return False

    def python(self, seconds):
        """python_part.py in processes, each begun after the case that the one before ended with."""
        if not self.has_package():
            self.count("python", "package (not built)", 0)
            return
        part, current = Path(__file__).with_name("python_part.py"), self.work / "current"
        end, first = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            current.write_text(str(first))
            command = [self.interpreter, part, f"--seed={self.seed}", f"--first={first}",
                       f"--seconds={end - time.monotonic():.1f}", f"--current={current}"]
            done = self.end(self.start(command, os.environ), command, seconds + LIMIT)
            last = int(current.read_text())
            faults = [line for line in done.out.splitlines() if line.startswith("failed: case ")]
            if not done.out.rstrip().endswith(" executions"):
                cause = next((line for line in done.err.splitlines() if line), "no output")
                faults.append(f"failed: case {last}: the interpreter died, exit status {done.code}: {cause}")
            for line in faults:
                number = int(line.split()[2].rstrip(":"))
                again = f"{self.interpreter} {part} --seed={self.seed} --first={number} --cases=1"
                self.fail("python", "package", line[:300], lambda _, a=again: a, text=done.text())
            self.count("python", "package", last + 1 - first)
            first = last + 1
