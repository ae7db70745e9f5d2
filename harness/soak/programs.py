"""Programs under attack: how they are run, how they may end, what they must leave, and the account of failures."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "experiments"))

import json_lines as record_lines  # noqa: E402

OK, FAILED, BAD_INPUT, UNAVAILABLE, RUN_FAILED = 0, 1, 2, 3, 4
LIMIT = 180  # seconds after which a program that needs one or two counts as hanging
MOST_SAVED = 3  # failures of one kind that are saved; further ones are counted
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


class Programs:
    """The programs of a build, and what has failed so far."""

    def __init__(self, options):
        self.build = options.build.resolve()
        self.seed = options.seed
        self.case = options.case
        self.jobs = options.jobs
        self.libfuzzer = options.libfuzzer and options.libfuzzer.resolve()
        self.targets = options.target
        self.gsofa = self.build / "gsofa"
        self.fuzzer = self.build / "harness/soak/gsofa_fuzz"
        self.oracle = self.build / "harness/soak/gsofa_soak_oracle"
        self.failing = self.build / "harness/soak/gsofa_failing"
        self.plugin = self.build / "harness/soak/gsofa_soak_plugin"
        self.drop_in = self.build / "harness/soak/gsofa_soak_superlu"  # where SuperLU_DIST is installed
        # The environment that harness/library/python/package_test.py makes, unless another one is named.
        self.interpreter = options.python or self.build / "python_package/bin/python"
        for program in (self.gsofa, self.fuzzer, self.oracle, self.failing, self.plugin):
            if not program.exists():
                sys.exit(f"soak: error: {program} is not built: target gsofa_soak")
        self.saved = options.out or self.build / "soak" / time.strftime("%Y-%m-%dT%H-%M-%S")
        self.counts = {}  # (part, what): [runs, failures]
        self.failures = []  # (place, message, command that repeats it)
        self.alike = {}  # failures by their message without numbers and paths
        self.known = {}  # undisturbed results
        self.last = []  # programs of the case in progress
        self.work = Path(tempfile.mkdtemp(prefix="gsofa-soak-"))

    def count(self, part, what, runs, failures=0):
        entry = self.counts.setdefault((part, what), [0, 0])
        entry[0] += runs
        entry[1] += failures

    def fail(self, part, what, message, repeat, keep=(), text=""):
        """Notes a failure and copies what shows it; `repeat` is a function of the folder of copies."""
        self.count(part, what, 0, 1)
        kind = f"{part}/{what}: " + re.sub(r"^.*`: |/\S+|0x[0-9a-f]+|[0-9]+", "#", message)
        self.alike[kind] = self.alike.get(kind, 0) + 1
        if self.alike[kind] > MOST_SAVED:
            return
        place = self.saved / f"{len(self.failures) + 1:02d}-{part}-{what}".replace(" ", "_")
        place.mkdir(parents=True, exist_ok=True)
        for path in keep:
            if path.is_dir():
                shutil.copytree(path, place / path.name, dirs_exist_ok=True)
            elif path.exists():
                shutil.copy2(path, place)
        command = repeat(place)
        (place / "failure.txt").write_text(f"{message}\n{command}\n\n{text}", errors="replace")
        self.failures.append((place, f"{part}/{what}: {message}", command))
        print(f"soak: failed: {part}/{what}: {message}", file=sys.stderr, flush=True)

    def failed(self, part):
        return sum(entry[1] for key, entry in self.counts.items() if key[0] == part)

    def again(self, part, number):
        preset = self.build.name if self.build.parent == ROOT / "build" else None
        prefix = f"GSOFA_PRESET={preset} ./testbed soak" if preset else (
            f"{sys.executable} {Path(__file__).with_name('soak.py')} --build {self.build}")
        return f"{prefix} --seed {self.seed} --only {part} --case {number}"

    def cases(self, part, kinds, seconds):
        """Runs the actions of `kinds` cyclically, each in a new folder with random numbers of its own."""
        end = time.monotonic() + seconds
        number = 0 if self.case is None else self.case
        while True:
            what, action = kinds[number % len(kinds)]
            folder = self.work / f"{part}-{number}"
            folder.mkdir()
            self.last = []
            try:
                action(random.Random(f"{self.seed}/{part}/{number}"), folder)
                self.count(part, what, 1)
            except Failed as e:
                self.count(part, what, 1)
                self.fail(part, what, str(e), lambda place, n=number: self.again(part, n), [folder],
                          "\n".join(done.text() for done in self.last[-6:]))
            shutil.rmtree(folder, ignore_errors=True)
            number += 1
            if self.case is not None or time.monotonic() >= end:
                return

    def start(self, command, env=None, **how):
        return subprocess.Popen([str(word) for word in command], env=env or environment(),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, start_new_session=True, **how)

    def end(self, process, command, limit=LIMIT):
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            self.last.append(Done(command, process.returncode, out.decode(errors="replace"),
                                  err.decode(errors="replace")))
            raise Failed(f"hangs: no end after {limit} s") from None
        done = Done(command, process.returncode, out.decode(errors="replace"),
                    err.decode(errors="replace"))
        self.last.append(done)
        return done

    def run(self, command, env=None, **how):
        return self.end(self.start(command, env, **how), command)

    def run_whole(self, command, **how):
        """A program that nothing disturbs and that must succeed."""
        done = self.run(command, **how)
        done.require_alive()
        require(done.code == OK, f"exit status {done.code}: {' '.join(done.errors())}")
        return done

    def undisturbed(self, key, action):
        """What action() returned the first time, and how many seconds it took."""
        if key not in self.known:
            begin = time.monotonic()
            value = action()
            self.known[key] = (value, time.monotonic() - begin)
        return self.known[key]

    def kill_at(self, command, seconds, env=None):
        """Kills a program after some seconds; True if it was still running."""
        process = self.start(command, env)
        time.sleep(seconds)
        process.kill()
        done = self.end(process, command)
        if done.code != -signal.SIGKILL:
            done.require_alive()
            require(done.code == OK, f"exit status {done.code}: {' '.join(done.errors())}")
        return done.code == -signal.SIGKILL
