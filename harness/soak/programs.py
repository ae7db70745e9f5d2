"""Programs under attack: how they run, how they may end, and what they must leave."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "experiments"))

import json_lines as record_lines  # noqa: E402

OK, BAD_INPUT, RUN_FAILED = 0, 2, 4
LIMIT = 180  # seconds after which a program that needs one or two counts as hanging
DIED = ("AddressSanitizer", "LeakSanitizer", "runtime error:", "terminate called", "Assertion",
        "UndefinedBehaviorSanitizer", "fuzz: violated")


class Failed(Exception):
    """Something did not hold."""


def require(holds, message):
    if not holds:
        raise Failed(message)


def names_of(program, offsets):
    """Functions of a program by their offsets, from its symbols."""
    if not offsets or shutil.which("addr2line") is None:
        return {}
    done = subprocess.run(["addr2line", "-C", "-f", "-e", str(program), *offsets],
                          capture_output=True, text=True)
    return dict(zip(offsets, done.stdout.splitlines()[::2]))


def died_outside(program, stack):
    """True if a program ended within code that it only uses: the first frame of the call stack that
    is neither of the C++ run-time nor of gsofa_failing's own handlers is of another library."""
    frames = re.findall(r"^(\S+)\((\S*?)\+(0x[0-9a-f]+)\)", stack, re.MULTILINE)
    names = names_of(program, [at for place, _, at in frames if place.endswith(Path(program).name)])
    for place, symbol, at in frames:
        if not place.endswith(Path(program).name):
            # Directory iterators of libstdc++ allocate in functions that may not throw.
            if "10filesystem" in symbol or not re.search(r"/lib(c|stdc\+\+|gcc_s|asan|ubsan)\.so", place):
                return True
        elif not re.match(r"std::|__|\?|\(anonymous namespace\)::(print_stack|terminated)|crashed",
                          names.get(at, "?")):
            return names[at].startswith(("nlohmann::", "CLI::", "fmt::", "Eigen::"))
    return False


class Done:
    """A program that ended."""

    def __init__(self, command, code, out, err):
        self.command, self.code, self.out, self.err = command, code, out, err

    def errors(self):
        return [line for line in self.err.splitlines() if line.startswith("gsofa: error: ")]

    def text(self):
        return (f"{' '.join(map(str, self.command))}\nexit status {self.code}\n--- stdout\n{self.out}"
                f"\n--- stderr\n{self.err}\n")

    def require_alive(self):
        """A crash or a report of a sanitizer is a failure whatever the input was."""
        for word in DIED:
            for line in self.err.splitlines():
                require(word not in line, f"the program died: {line.strip()[:200]}")
        require(0 <= self.code < 90, f"the program died with exit status {self.code}")

    def require_refused(self):
        """An error as the user should meet it: status 4 (or 2), one line."""
        self.require_alive()
        require(self.code in (RUN_FAILED, BAD_INPUT), f"exit status {self.code}, not {RUN_FAILED}")
        require(len(self.errors()) == 1, f"{len(self.errors())} error lines, not 1")


def environment(leaks=True, **more):
    env = dict(os.environ, **more)
    env["ASAN_OPTIONS"] = ("allocator_may_return_null=1:abort_on_error=1:"
                           f"detect_leaks={1 if leaks else 0}:exitcode=99")
    env["UBSAN_OPTIONS"] = "halt_on_error=1:abort_on_error=1:print_stacktrace=1"
    env["LSAN_OPTIONS"] = "exitcode=99"
    env.pop("TERM", None)
    return env


def json_lines(path):
    """The records of a file, each of which must be whole."""
    if not path.exists():
        return []
    text = path.read_bytes()
    require(text == b"" or text.endswith(b"\n"), f"{path.name} ends with a torn record")
    return records_of(text, path.name)


def records_of(text, name):
    """The records that a program printed or wrote."""
    try:
        return list(record_lines.lines_of(text, name))
    except record_lines.BadLine as e:
        raise Failed(f"no record: {e}") from e


def case_of(record):
    """What a record measures."""
    return json.dumps([record["matrix"]["name"], record["ordering"]["col"], record["variant"],
                       record["options"], record["chunk_size"], record["counting"]])


def results(records):
    """Status and result by case; each case must be there once."""
    found = {}
    for r in records:
        require(case_of(r) not in found, f"a case is recorded twice: {case_of(r)}")
        found[case_of(r)] = (r["status"], r.get("result"))
    return found


def require_no_parts(folder):
    left = [str(p.relative_to(folder)) for p in folder.rglob("*part-[0-9]*")]
    require(not left, f"part files are left: {', '.join(left)}")


def run(command, env=None, **how):
    """Runs a program to its end; raises Failed after LIMIT seconds."""
    command = [str(word) for word in command]
    try:
        done = subprocess.run(command, env=env or environment(), stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=LIMIT, **how)
    except subprocess.TimeoutExpired:
        raise Failed(f"no end after {LIMIT} s: {' '.join(command)}") from None
    return Done(command, done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def run_undisturbed(command, **how):
    """Runs a program that nothing disturbs and that must succeed."""
    done = run(command, **how)
    done.require_alive()
    require(done.code == OK, done.text())
    return done


def run_killed(command, seconds):
    """Runs a program and kills it after some seconds, if it still runs then."""
    process = subprocess.Popen([str(word) for word in command], env=environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    process.kill()
    code = process.wait(LIMIT)
    require(code in (OK, -signal.SIGKILL), f"exit status {code}")
