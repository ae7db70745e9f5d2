#!/usr/bin/env python3
"""Hostile testing of the built programs for a given time; README.md says what is done.

Exit status 1 if anything failed; the failures are then saved in a folder that is named at the end.
"""

import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OK, FAILED, BAD_INPUT, UNAVAILABLE, RUN_FAILED = 0, 1, 2, 3, 4
LIMIT = 180  # seconds after which a program that needs one or two counts as hanging
RANK_LIMIT = 90  # seconds in which ranks end after one of them was killed; they notice in 60
MOST_SAVED = 3  # failures of one kind that are saved; further ones are counted
SHARES = {"fuzz": 0.2, "oracle": 0.2, "kill": 0.2, "memory": 0.1, "disk": 0.1, "superlu": 0.1, "python": 0.1}
DIED = ("AddressSanitizer", "LeakSanitizer", "runtime error:", "terminate called", "Assertion",
        "UndefinedBehaviorSanitizer", "fuzz: violated")


class Failed(Exception):
    """Something did not hold."""


def require(holds, message):
    if not holds:
        raise Failed(message)


def children_of(pid):
    """Processes that a process has started, none if it is gone."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def shares_memory(pid):
    """Whether a process has mapped memory that it shares with others."""
    try:
        return "/dev/shm/" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


def is_alive(pid):
    """False for a process that has ended, whether or not its parent has taken notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


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
    records = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            records.append(json.loads(line))
        except ValueError as e:
            raise Failed(f"{path.name}:{number} is no record: {line[:80]!r}") from e
    return records


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


class Soak:
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
        # The environment that harness/python/package_test.py makes, unless another one is named.
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

    # --- accounts ------------------------------------------------------------------------------

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
            f"{sys.executable} {Path(__file__)} --build {self.build}")
        return f"{prefix} --seed {self.seed} --only {part} --case {number}"

    def cases(self, part, kinds, seconds):
        """Runs kinds[k] in turn, each in a new folder with random numbers of its own."""
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

    # --- programs ------------------------------------------------------------------------------

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

    def launcher(self, ranks):
        words = ["mpirun"]
        version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
        if "Open MPI" in version:
            words += ["--oversubscribe", "--bind-to", "none"]
            if os.geteuid() == 0:
                words.append("--allow-run-as-root")
        return [*words, "-np", str(ranks)]

    def ranks_work(self):
        """True if mpirun starts two ranks of one job; a rank that dies is a failure."""
        if shutil.which("mpirun") is None:
            return False
        command = [*self.launcher(2), self.gsofa, "run", "--matrix", "gen:diagonal:n=4", "--variant",
                   "mpi_maxid_cpu", "--json", "--repeat", "1", "--warmup", "0"]
        done = self.run(command, environment(leaks=False))
        done.require_alive()
        try:
            return json.loads(done.out)["mpi"]["ranks"] == 2
        except (ValueError, KeyError):
            return False

    # --- fuzz ----------------------------------------------------------------------------------

    def fuzz(self, seconds):
        """Every target for its share of the time, as many at once as there are processors."""
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

    # --- oracle --------------------------------------------------------------------------------

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

    # --- kill ----------------------------------------------------------------------------------

    def kill(self, seconds):
        kinds = [("checkpoint", self.kill_checkpointed), ("experiment", self.kill_experiment),
                 ("prepare", self.kill_prepare)]
        try:
            if self.ranks_work():
                kinds.append(("rank", self.kill_rank))
            else:
                self.count("kill", "rank (no mpirun)", 0)
        except Failed as e:
            self.fail("kill", "rank", str(e), lambda _: " ".join(map(str, self.last[-1].command)),
                      text=self.last[-1].text())
        self.cases("kill", kinds, seconds)

    def checkpointed(self, rng):
        matrix = f"gen:grid7:nx={rng.choice((10, 12, 14))},drop=0.3"
        return ["run", "--matrix", matrix, "--variant", "mpi_maxid_cpu", "--verify", "none", "--want",
                "counts", "--want", "digest", "--want", "supernodes", "--chunk-size",
                str(rng.choice((8, 16, 64))), "--set", "concurrent_sources=16", "--set",
                f"schedule={rng.choice(('block', 'dynamic'))}", "--threads", "2", "--json"]

    def checkpointed_result(self, args):
        def whole():
            (record,) = (json.loads(line) for line in
                         self.run_whole([self.gsofa, *args]).out.splitlines())
            return record["result"]
        return self.undisturbed(" ".join(args), whole)

    def require_result(self, out, result):
        """One record for each number of ranks that finished, with the undisturbed result."""
        records = json_lines(out)
        ranks = [r["mpi"]["ranks"] for r in records]
        require(records and len(set(ranks)) == len(ranks), f"{len(records)} records, ranks {ranks}")
        for r in records:
            require(r["status"] == "unverified" and r["result"] == result,
                    f"after resuming the result is {r['status']} {r.get('result')}, undisturbed it "
                    f"is {result}")

    def kill_checkpointed(self, rng, folder):
        args = self.checkpointed(rng)
        result, seconds = self.checkpointed_result(args)
        out = folder / "records.jsonl"
        command = [self.gsofa, *args, "--checkpoint", folder / "chunks", "--out", out, "--resume"]
        for _ in range(rng.randint(1, 4)):
            self.kill_at(command, rng.uniform(0, 1.1 * seconds))
            json_lines(out)
        self.run_whole(command)
        self.require_result(out, result)
        require_no_parts(folder)

    def spec(self, rng, folder):
        matrices = rng.sample(["gen:grid5:nx=12", "gen:random:n=60,degree=3", "gen:diagonal:n=1",
                               "west2021", "gen:tridiagonal:n=50", "gen:channel:nx=3,ny=3,nz=3"], 3)
        variants = sorted(rng.sample(["cpu_fill1", "cpu_fill2", "cpu_maxid", "cpu_gilbert_peierls",
                                      "cpu_bitmap_panels", "mpi_maxid_cpu"], 3))
        path = folder / "spec.toml"
        path.write_text('name = "soak"\ntitle = "t"\nclaim = "c"\n[[case]]\ngroups = ["smoke"]\n'
                        f"matrices = {json.dumps(matrices)}\nvariants = {json.dumps(variants)}\n"
                        'orders = ["amd", "natural"]\nrepeat = 1\nwarmup = 0\nthreads = 1\n')
        return path

    def spec_results(self, path, folder):
        def whole():
            out = folder / "undisturbed.jsonl"
            self.run_whole([self.gsofa, "experiment", path, "--out", out, "--prepared",
                            folder / "undisturbed"])
            return results(json_lines(out))
        return self.undisturbed(path.read_text(), whole)

    def kill_experiment(self, rng, folder):
        path = self.spec(rng, folder)
        expected, seconds = self.spec_results(path, folder)
        out = folder / "records.jsonl"
        command = [self.gsofa, "experiment", path, "--out", out, "--prepared", folder / "prepared",
                   "--resume"]
        for _ in range(rng.randint(1, 5)):
            self.kill_at(command, rng.uniform(0, 1.1 * seconds))
            json_lines(out)
        self.run_whole(command)
        found = results(json_lines(out))
        require(found == expected, "after resuming the records differ from undisturbed ones: "
                f"{len(found)} of {len(expected)}, "
                f"{sum(found.get(k) != v for k, v in expected.items())} differ or are missing")
        require_no_parts(folder)

    def digest_of(self, prepared):
        out = self.run_whole([self.gsofa, "run", "--matrix", prepared, "--variant",
                              "cpu_gilbert_peierls", "--verify", "none", "--json", "--repeat", "1",
                              "--warmup", "0"]).out
        return json.loads(out)["ordering"]["digest"]

    def kill_prepare(self, rng, folder):
        matrix = rng.choice(("gen:random:n=30000,degree=2", "gen:grid7:nx=24", "epb0"))
        order = rng.choice(("natural", "amd", "metis"))
        out = folder / "prepared.bin"
        command = [self.gsofa, "prepare", "--matrix", matrix, "--order", order, "--out", out]

        def whole():
            self.run_whole(command)
            size = out.stat().st_size
            out.unlink()
            return size
        size, seconds = self.undisturbed(f"prepare {matrix} {order}", whole)
        for _ in range(rng.randint(1, 4)):
            self.kill_at(command, rng.choice((rng.uniform(0, 1.1), rng.uniform(0.85, 1))) * seconds)
            # The provenance has its seconds in decimal, so that sizes differ by a few bytes.
            if out.exists():
                require(abs(out.stat().st_size - size) < 128, "the prepared file is cut off")
        self.run_whole(command)
        require_no_parts(folder)
        if matrix == "epb0":
            expected, _ = self.undisturbed(f"digest {order}", lambda: self.digest_of(out))
            require(self.digest_of(out) == expected, "the prepared file is another one")

    def kill_rank(self, rng, folder):
        args = self.checkpointed(rng)
        result, _ = self.checkpointed_result(args)
        out = folder / "records.jsonl"
        command = [self.gsofa, *args, "--checkpoint", folder / "chunks", "--out", out, "--resume"]
        env = environment(leaks=False)
        ranks = rng.randint(2, 3)
        whole = [*self.launcher(ranks), *command]
        _, seconds = self.undisturbed(f"{ranks} ranks {' '.join(args)}", lambda: self.run_whole(
            [*self.launcher(ranks), self.gsofa, *args], env=env))
        process = self.start(whole, env)
        # A rank that is killed while MPI starts shows what mpirun does, which may hang.
        end = time.monotonic() + seconds
        while not self.have_started(process, ranks) and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.8 * seconds))
        pids = children_of(process.pid)
        if pids:
            try:
                os.kill(rng.choice(pids), signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            process.wait(RANK_LIMIT)
        except subprocess.TimeoutExpired:
            if not any(map(is_alive, children_of(process.pid))):
                # The ranks have ended; mpirun, killed here, is what hangs.
                process.kill()
                self.count("kill", "rank (mpirun hung)", 1)
        self.end(process, whole)  # raises where the other ranks hang
        json_lines(out)
        self.run_whole([*self.launcher(rng.randint(1, 3)), *command], env=env)
        self.require_result(out, result)
        require_no_parts(folder)

    @staticmethod
    def have_started(process, ranks):
        """True once all ranks share memory, as far as that can be seen, or the job has ended."""
        pids = children_of(process.pid)
        return process.poll() is not None or (len(pids) >= ranks and all(map(shares_memory, pids)))

    # --- memory --------------------------------------------------------------------------------

    def commands(self, rng, folder):
        """(name, arguments, what of the output must not change) of programs that write files."""
        matrix = folder / "m.mtx"
        matrix.write_text("%%MatrixMarket matrix coordinate pattern general\n6 6 14\n" + "".join(
            f"{i} {j}\n" for i, j in ((1, 2), (2, 1), (2, 3), (3, 3), (3, 6), (4, 1), (4, 4), (5, 2),
                                      (5, 5), (6, 6), (6, 1), (1, 1), (2, 2), (5, 6))))
        variant = rng.choice(("cpu_fill1", "cpu_fill2", "cpu_fill2_parallel", "cpu_maxid",
                              "cpu_gilbert_peierls", "cpu_bitmap_panels", "cpu_set_union",
                              "mpi_maxid_cpu"))
        name = rng.choice(("gen:grid5:nx=9", "gen:random:n=50,degree=3,seed=4", matrix))
        order = rng.choice(("metis", "amd", "colamd", "natural"))
        run = ["run", "--matrix", name, "--order", order, "--threads", "1", "--repeat", "1",
               "--warmup", "0", "--variant", variant]
        return rng.choice([
            ("info", ["info", "--json", "--matrix", name]),
            ("list", ["list", "--json"]),
            ("run", [*run, "--out", folder / "records.jsonl"]),
            ("run", [*run, "--pattern-out", folder / "pattern"]),
            ("checkpoint", [*run[:-1], "mpi_maxid_cpu", "--chunk-size", "4", "--checkpoint",
                            folder / "chunks", "--out", folder / "records.jsonl", "--resume"]),
            ("prepare", ["prepare", "--matrix", name, "--order", order, "--out", folder / "p",
                         "--order-out", folder / "p.perm"]),
            ("experiment", ["experiment", self.spec(rng, folder), "--out",
                            folder / "records.jsonl", "--prepared", folder / "prepared",
                            "--resume"]),
        ])

    @staticmethod
    def products(folder):
        """The files of a folder by name: of records their results, of factors their text."""
        found = {}
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            if path.suffix == ".jsonl":
                found[name] = results(json_lines(path))
            elif path.suffix in (".mtx", ".perm"):
                found[name] = path.read_text()
        return found

    def starve(self, rng, folder):
        what, args = self.commands(rng, folder)
        command = [self.failing, *args]
        # Undisturbed, in a folder of the same name for the same arguments.
        count_file = self.work / "count"
        self.run_whole(command, env=environment(GSOFA_COUNT_ALLOCATIONS=str(count_file)))
        count = int(count_file.read_text())
        expected = self.products(folder)
        inputs = {"m.mtx", "spec.toml"}
        for _ in range(6):
            for path in folder.iterdir():
                if path.name not in inputs:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            k = rng.randint(1, count) if rng.random() < 0.7 else int(count ** rng.random())
            text = f"{max(k, 1)}{rng.choice(('', '+'))}"
            done = self.run(command, env=environment(leaks=False, GSOFA_FAIL_ALLOCATION=text))
            self.count("memory", f"{what}, allocations", 1)
            if done.code < 0 and died_outside(self.failing, done.err):
                self.count("memory", "(crashes of libraries)", 1)
                continue
            try:
                self.require_starved(done, folder, expected)
            except Failed as e:
                raise Failed(f"allocation {text} of {count} fails in `gsofa {what}`: {e}") from None

    def require_starved(self, done, folder, expected):
        done.require_alive()
        require_no_parts(folder)
        found = self.products(folder)
        if done.code == OK:
            require(found == expected, "exit status 0, but what was written differs")
            return
        errors = done.errors()
        if done.code == BAD_INPUT:
            require(len(errors) == 1 and "memory" in errors[0],
                    f"exit status {BAD_INPUT}: {' '.join(errors)}")
            return
        require(done.code == RUN_FAILED, f"exit status {done.code}: {' '.join(errors)}")
        said = [r for r in found.get("records.jsonl", {}).values() if r[0] in ("oom", "error")]
        told = "oom" in done.out + done.err or "error" in done.out
        require(len(errors) == 1 or (not errors and (said or told)),
                f"{len(errors)} error lines, not 1")

    def memory(self, seconds):
        begin = time.monotonic()
        if self.case is None:
            self.ask_oracle("memory", "library", 0.4 * seconds, "--attack=starved")
        self.cases("memory", [("program", self.starve)], seconds - (time.monotonic() - begin))

    # --- disk ----------------------------------------------------------------------------------

    def fill_disk(self, rng, folder):
        while True:
            what, args = self.commands(rng, folder)
            # METIS is copied into a file in memory, which the limit keeps out.
            if what not in ("info", "list") and "metis" not in args:
                break
        command = [self.gsofa, *args]
        self.run_whole(command)
        expected = self.products(folder)
        inputs = {"m.mtx", "spec.toml"}
        made = [p for p in folder.rglob("*") if p.is_file() and p.name not in inputs]
        sizes = [p.stat().st_size for p in made]
        for path in folder.iterdir():
            if path.name not in inputs:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        limit = rng.randint(0, max(sizes) - 1)

        def limited():
            # A file that would grow beyond it gets an error, as on a full disk, no signal.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        done = self.run(command, restore_signals=False, preexec_fn=limited)
        try:
            if done.code == OK:  # a time that takes fewer digits leaves just enough room
                done.require_alive()
                require(self.products(folder) == expected, "exit status 0, but files differ")
            elif "checkpoint" in what and done.code == RUN_FAILED and not done.errors():
                done.require_alive()  # the record or the table tells of it
                require("error" in done.out, "no word of the error")
            else:
                done.require_refused()
            found = self.products(folder).get("records.jsonl", {})
            require_no_parts(folder)
            if any(status == "error" for status, _ in found.values()):
                # A case that ended in an error is recorded; who wants it again drops the record.
                (folder / "records.jsonl").unlink()
            if done.code != OK:
                self.run_whole(command)
            require(self.products(folder) == expected, "with room again, what is written differs")
            require_no_parts(folder)
        except Failed as e:
            raise Failed(f"files of {limit} bytes at most, `gsofa {what}`: {e}") from None

    def fill_device(self, rng, folder):
        what, args = rng.choice((
            ("records", ["run", "--matrix", "gen:grid5:nx=4", "--variant", "cpu_fill1", "--out",
                         "/dev/full"]),
            ("records", ["experiment", self.spec(rng, folder), "--out", "/dev/full"]),
            ("stdout", ["list", "--json"]),
            ("stdout", ["run", "--matrix", "gen:grid5:nx=4", "--variant", "cpu_fill1", "--json"]),
            ("stdout", ["info", "--matrix", "gen:grid5:nx=4"]),
        ))
        if what == "records":
            self.run([self.gsofa, *args]).require_refused()
            return
        command = [str(word) for word in (self.gsofa, *args)]
        with open("/dev/full", "wb") as full:
            done = subprocess.run(command, env=environment(), stdin=subprocess.DEVNULL, stdout=full,
                                  stderr=subprocess.PIPE, timeout=LIMIT)
        done = Done(command, done.returncode, "", done.stderr.decode(errors="replace"))
        self.last.append(done)
        done.require_refused()

    def disk(self, seconds):
        self.cases("disk", [("limit", self.fill_disk), ("limit", self.fill_disk),
                            ("limit", self.fill_disk), ("full device", self.fill_device)], seconds)

    # --- superlu -------------------------------------------------------------------------------

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

    # --- python --------------------------------------------------------------------------------

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

    # --- all -----------------------------------------------------------------------------------

    def run_parts(self, parts, seconds):
        total = sum(SHARES[p] for p in parts)
        actions = {"fuzz": self.fuzz, "oracle": self.compare_with_oracle, "kill": self.kill,
                   "memory": self.memory, "disk": self.disk, "superlu": self.attack_superlu,
                   "python": self.python}
        spent = {}
        try:
            for part in parts:
                begin = time.monotonic()
                print(f"soak: {part}, {seconds * SHARES[part] / total:.0f} s", file=sys.stderr,
                      flush=True)
                actions[part](seconds * SHARES[part] / total)
                spent[part] = time.monotonic() - begin
        finally:
            shutil.rmtree(self.work, ignore_errors=True)
        self.print_summary(spent)
        return 1 if self.failures else 0

    def print_summary(self, spent):
        print(f"\n{'part':<8} {'what':<24} {'runs':>10} {'per minute':>11} {'failures':>9}")
        for (part, what), (runs, failures) in self.counts.items():
            rate = f"{60 * runs / spent[part]:.0f}" if spent.get(part) and part != "fuzz" else ""
            print(f"{part:<8} {what:<24} {runs:>10} {rate:>11} {failures:>9}")
        for part, seconds in spent.items():
            runs = sum(entry[0] for key, entry in self.counts.items() if key[0] == part)
            print(f"{part:<8} {'in all':<24} {runs:>10} {60 * runs / seconds:>11.0f} "
                  f"{self.failed(part):>9}")
        for place, message, command in self.failures:
            print(f"\n{message}\n  saved in {place}\n  again by {command}")
        more = {kind: n - MOST_SAVED for kind, n in self.alike.items() if n > MOST_SAVED}
        for kind, n in more.items():
            print(f"\n{n} more like this: {kind}")
        print(f"\nseed {self.seed}: {sum(self.alike.values())} failures of {len(self.alike)} kinds"
              + (f", saved in {self.saved}" if self.failures else ""))


class FuzzJob:
    """One target in a process, begun again after a failure as long as there is time."""

    def __init__(self, soak, program, target, seconds):
        self.soak, self.program, self.target = soak, program, target
        self.deadline = time.monotonic() + seconds
        self.round = 0
        self.folder = soak.work / f"fuzz-{target}"
        self.folder.mkdir()
        self.begin()

    def begin(self):
        left = max(1.0, self.deadline - time.monotonic())
        seed = self.soak.seed + 1000 * self.round
        self.input = self.folder / f"input-{self.round}"
        self.log = self.folder / f"log-{self.round}"
        command = [str(self.program), f"--target={self.target}"]
        if self.soak.libfuzzer:
            subprocess.run([*command, f"--write-seeds={self.folder}"], check=True)
            self.artifacts = self.folder / f"artifacts-{self.round}"
            self.artifacts.mkdir()
            command += [f"-seed={seed}", f"-max_total_time={int(left)}", "-timeout=20",
                        "-rss_limit_mb=4096", "-max_len=8192", f"-dict={self.folder}/dictionary",
                        f"-artifact_prefix={self.artifacts}/", "-print_final_stats=1",
                        str(self.folder / "seeds")]
        else:
            command += [f"--seed={seed}", f"--seconds={left:.2f}", f"--artifact={self.input}"]
        self.limit = time.monotonic() + left + 60
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=environment(), start_new_session=True)

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
            elif " executions" in line:
                self.soak.count("fuzz", self.target, int(line.split()[0]))
        self.soak.count("fuzz", self.target, 0)
        code = self.process.returncode
        if code == OK:
            return False
        cause = next((line.strip() for line in log.splitlines() if any(d in line for d in DIED)),
                     "hangs" if code == -signal.SIGALRM else f"exit status {code}")
        found = self.input
        if self.soak.libfuzzer:
            found = next(iter(sorted(self.artifacts.iterdir())), self.log)
        again = f"{self.program} --target={self.target}"
        self.soak.fail("fuzz", self.target, cause[:300],
                       lambda place: f"{again} {place / found.name}", [found, self.log], log[-20000:])
        self.round += 1
        if self.round < 3 and time.monotonic() < self.deadline - 1:
            self.begin()
            return True
        return False


def main():
    parser = argparse.ArgumentParser(prog="testbed soak", description="Hostile testing for some time.")
    parser.add_argument("minutes", nargs="?", type=float, default=10.0, help="default: 10")
    parser.add_argument("--seconds", type=float, help="instead of minutes")
    parser.add_argument("--seed", type=int, default=int(time.time()) // 60,
                        help="of all random numbers; default: from the clock")
    parser.add_argument("--only", action="append", choices=list(SHARES),
                        help="this part, may be repeated; default: all")
    parser.add_argument("--case", type=int, help="one case of kill, memory or disk again")
    parser.add_argument("--target", action="append", help="of fuzz only this reader, may be repeated")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "asan",
                        help="folder of the build; default: build/asan")
    parser.add_argument("--libfuzzer", type=Path, help="gsofa_fuzz built with libFuzzer")
    parser.add_argument("--python", type=Path,
                        help="interpreter with the package gsofa; default: BUILD/python_package/bin/python, if it is there")
    parser.add_argument("--out", type=Path, help="folder for failures")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="fuzz targets at once")
    parser.add_argument("--parse-only", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    seconds = options.seconds if options.seconds is not None else 60 * options.minutes
    if not (seconds > 0 and options.seed >= 0 and options.jobs > 0):
        parser.error("a time, a seed or a number of jobs is negative or 0")
    if options.case is not None and (len(options.only or ()) != 1
                                     or options.only[0] in ("fuzz", "oracle", "superlu", "python")):
        parser.error("--case needs --only kill, memory or disk")
    if options.parse_only:
        return 0
    parts = [p for p in SHARES if options.only is None or p in options.only]
    print(f"soak: seed {options.seed}", file=sys.stderr)
    return Soak(options).run_parts(parts, seconds)


if __name__ == "__main__":
    sys.exit(main())
