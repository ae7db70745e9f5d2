"""Hostile tests of the built programs (README.md), and what the tests themselves must notice.

$GSOFA_BUILD is the folder of the build. Every random number comes from a fixed seed.
"""

import base64
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
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import programs  # noqa: E402
from programs import (BAD_INPUT, OK, RUN_FAILED, Done, Failed, environment, json_lines, require,  # noqa: E402
                      require_no_parts, results, run, run_killed, run_undisturbed)

BUILD = Path(os.environ.get("GSOFA_BUILD", "build/ci")).resolve()
GSOFA, SOAK = BUILD / "gsofa", BUILD / "harness/soak"
FUZZ, ORACLE, FAILING = SOAK / "gsofa_fuzz", SOAK / "gsofa_soak_oracle", SOAK / "gsofa_failing"


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def cases(self, count):
        """Yields random numbers and a new folder for each case."""
        for number in range(count):
            with self.subTest(case=number):
                folder = self.folder / f"{self._testMethodName}-{number}"
                folder.mkdir()
                yield random.Random(number), folder


class NoticeTest(InFolder):

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def record(self, **changes):
        return {"matrix": {"name": "m"}, "ordering": {"col": "amd"}, "variant": "v", "options": {},
                "chunk_size": 1, "counting": False, "status": "pass", "result": {"fill": 1}, **changes}

    def test_torn_and_broken_records(self):
        line = json.dumps(self.record())
        self.assertEqual(json_lines(self.folder / "absent"), [])
        self.assertEqual(len(json_lines(self.write("whole", line + "\n" + line + "\n"))), 2)
        for text in (line, line + "\n" + line[:20], line[:20] + line + "\n", "x\n"):
            with self.assertRaises(Failed):
                json_lines(self.write("broken", text))

    def test_a_case_that_is_recorded_twice(self):
        self.assertEqual(len(results([self.record(), self.record(variant="w")])), 2)
        with self.assertRaises(Failed):
            results([self.record(), self.record(status="fail")])

    def test_part_files(self):
        self.write("m.part00000of00002.L.mtx", "")
        require_no_parts(self.folder)
        self.write(".p.part-12-0", "")
        with self.assertRaises(Failed):
            require_no_parts(self.folder)

    def test_how_a_program_may_end(self):
        def done(code, err=""):
            return Done(["p"], code, "", err)

        done(4, "note\ngsofa: error: x\n").require_refused()
        for code, err in ((0, ""), (4, ""), (4, "gsofa: error: x\ngsofa: error: y\n"),
                          (1, "gsofa: error: x\n"), (-6, "gsofa: error: x\n"),
                          (4, "gsofa: error: x\nx.cpp:1:2: runtime error: overflow\n")):
            with self.assertRaises(Failed):
                done(code, err).require_refused()
        for code, err in ((-9, ""), (99, ""), (0, "==1==ERROR: LeakSanitizer: 1 byte\n")):
            with self.assertRaises(Failed):
                done(code, err).require_alive()

    def test_crashes_of_libraries(self):
        own = "/b/gsofa_failing"
        runtime = "/lib/libc.so.6(abort+0x10)[0x1]\n/lib/libstdc++.so.6(+0x22)[0x2]\n"
        self.assertTrue(programs.died_outside(own, runtime + "/lib/libmetis.so.5(f+0x3)[0x3]\n"))
        self.assertFalse(programs.died_outside(own, runtime))
        self.assertTrue(programs.died_outside(
            own, runtime + "/lib/libstdc++.so.6(_ZNSt10filesystem7__cxx114path9_M_appendEv+0x1)[0x4]\n"))
        names = {"0x1": "gsofa::f()", "0x2": "nlohmann::g()", "0x3": "crashed"}
        before = programs.names_of
        self.addCleanup(setattr, programs, "names_of", before)
        programs.names_of = lambda program, offsets: {at: names[at] for at in offsets}
        stack = [f"{own}(+{at})[0x7]\n" for at in ("0x3", "0x2", "0x1")]
        self.assertTrue(programs.died_outside(own, stack[0] + runtime + stack[1] + stack[2]))
        self.assertFalse(programs.died_outside(own, stack[0] + stack[2] + stack[1]))


class FuzzTest(InFolder):
    """Each reader of files and texts reads its corpus: inputs in base64, one a line."""

    def read(self, target):
        subprocess.run([FUZZ, f"--target={target}", f"--write-seeds={self.folder / target}"], check=True)
        seeds = self.folder / target / "seeds"
        for number, line in enumerate((HERE / "corpus" / f"{target}.txt").read_text().splitlines(), 1):
            (seeds / f"corpus-{number}").write_bytes(base64.b64decode(line, validate=True))
        return run([FUZZ, f"--target={target}", *sorted(seeds.iterdir())])

    def test_readers_accept_or_refuse_every_input_of_the_corpus(self):
        for target in run_undisturbed([FUZZ, "--list"]).out.split():
            with self.subTest(target=target):
                done = self.read(target)
                done.require_alive()
                self.assertEqual(done.code, OK, done.text()[-2000:])

    def test_a_planted_fault_is_found(self):
        done = self.read("planted_fault")
        self.assertNotEqual(done.code, OK)
        self.assertIn("the planted property", done.err)


class OracleTest(unittest.TestCase):
    """The library compared with dense elimination (cases.cpp)."""

    def attack(self, *words):
        done = run([ORACLE, "--seed=1", *words])
        self.assertEqual(done.code, OK, done.text())
        self.assertRegex(done.out, r"(?m)^[1-9][0-9]* executions")
        done.require_alive()

    def test_one_thread(self):
        self.attack("--cases=1000", "--threads=1")

    def test_eight_threads(self):
        self.attack("--cases=1000", "--threads=8")

    def test_a_planted_fault_is_found(self):
        done = run([ORACLE, "--seed=1", "--cases=40", "--planted"])
        self.assertEqual(done.code, 1, done.text())
        self.assertIn("counts of row 7 differ", done.out)

    def test_unknown_attacks_are_refused(self):
        self.assertEqual(run([ORACLE, "--attack=none"]).code, 2)

    def test_the_soak_calls_all_functions_of_the_c_interface(self):
        exported = set((HERE.parent / "library/package/exports.txt").read_text().split())
        done = subprocess.run([ORACLE, "--attack=c", "--seed=1", "--cases=40", "--list-calls"],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        called = set(re.findall("(?m)^called: (.*)$", done.stdout))
        self.assertEqual(called, {name for name in exported if name.startswith("gsofa_")})


def write_spec(rng, folder):
    """A spec of three random matrices and variants in two orders."""
    matrices = rng.sample(["gen:grid5:nx=12", "gen:random:n=60,degree=3", "gen:diagonal:n=1", "west2021",
                           "gen:tridiagonal:n=50", "gen:channel:nx=3,ny=3,nz=3"], 3)
    variants = sorted(rng.sample(["cpu_fill1", "cpu_fill2", "cpu_maxid", "cpu_gilbert_peierls", "cpu_bitmap_panels",
                                  "mpi_maxid_cpu"], 3))
    path = folder / "spec.toml"
    path.write_text('name = "soak"\ntitle = "t"\nclaim = "c"\n[[case]]\ngroups = ["smoke"]\n'
                    f"matrices = {json.dumps(matrices)}\nvariants = {json.dumps(variants)}\n"
                    'orders = ["amd", "natural"]\nrepeat = 1\nwarmup = 0\nthreads = 1\n')
    return path


def commands(rng, folder):
    """The name and the arguments of a random command that writes files."""
    matrix = folder / "m.mtx"
    entries = ((1, 2), (2, 1), (2, 3), (3, 3), (3, 6), (4, 1), (4, 4), (5, 2), (5, 5), (6, 6), (6, 1), (1, 1), (2, 2), (5, 6))
    matrix.write_text("%%MatrixMarket matrix coordinate pattern general\n6 6 14\n" + "".join(f"{i} {j}\n" for i, j in entries))
    variant = rng.choice(("cpu_fill1", "cpu_fill2", "cpu_fill2_parallel", "cpu_maxid", "cpu_gilbert_peierls",
                          "cpu_bitmap_panels", "cpu_set_union", "mpi_maxid_cpu"))
    name = rng.choice(("gen:grid5:nx=9", "gen:random:n=50,degree=3,seed=4", matrix))
    order = rng.choice(("metis", "amd", "colamd", "natural"))
    once = ["run", "--matrix", name, "--order", order, "--threads", "1", "--repeat", "1", "--warmup", "0", "--variant"]
    records = ["--out", folder / "records.jsonl"]
    return rng.choice([
        ("info", ["info", "--json", "--matrix", name]),
        ("list", ["list", "--json"]),
        ("run", [*once, variant, *records]),
        ("run", [*once, variant, "--pattern-out", folder / "pattern"]),
        ("order", ["order", "--matrix", name, "--order", order, "--order-out", folder / "o.perm"]),
        ("prepare", ["prepare", "--matrix", name, "--order", order, "--out", folder / "p", "--order-out", folder / "p.perm"]),
        ("experiment", ["experiment", write_spec(rng, folder), *records, "--prepared", folder / "prepared", "--resume"]),
    ])


def products(folder):
    """The files of a folder by name: the results of records, the text of factors and orders."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".jsonl":
            found[name] = results(json_lines(path))
        elif path.suffix in (".mtx", ".perm"):
            found[name] = path.read_text()
    return found


def remove_products(folder):
    for path in folder.iterdir():
        if path.name not in ("m.mtx", "spec.toml"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


class MemoryTest(InFolder):
    """One allocation of the program fails, or that one and all later ones."""

    def test_failing_allocations(self):
        for rng, folder in self.cases(12):
            what, args = commands(rng, folder)
            count_file = self.folder / "count"
            run_undisturbed([FAILING, *args], env=environment(GSOFA_COUNT_ALLOCATIONS=str(count_file)))
            count, expected = int(count_file.read_text()), products(folder)
            for _ in range(6):
                remove_products(folder)
                k = rng.randint(1, count) if rng.random() < 0.7 else int(count ** rng.random())
                text = f"{max(k, 1)}{rng.choice(('', '+'))}"
                done = run([FAILING, *args], environment(leaks=False, GSOFA_FAIL_ALLOCATION=text))
                if done.code < 0 and programs.died_outside(FAILING, done.err):
                    continue  # a crash within a library that the project only uses
                with self.subTest(allocation=text, of=count, command=what):
                    self.require_refused_or_right(done, folder, expected)

    def require_refused_or_right(self, done, folder, expected):
        done.require_alive()
        require_no_parts(folder)
        found, errors = products(folder), done.errors()
        if done.code == OK:
            require(found == expected, "exit status 0, but what was written differs")
        elif done.code == BAD_INPUT:
            require(len(errors) == 1 and "memory" in errors[0], f"exit status {BAD_INPUT}: {errors}")
        else:
            require(done.code == RUN_FAILED, f"exit status {done.code}: {errors}")
            recorded = any(status in ("oom", "error") for status, _ in found.get("records.jsonl", {}).values())
            printed = "oom" in done.out + done.err or "error" in done.out
            require(len(errors) == 1 or (not errors and (recorded or printed)), f"{len(errors)} error lines, not 1")


class DiskTest(InFolder):
    """Files cannot grow beyond a random size; /dev/full."""

    def test_files_with_a_limit(self):
        for rng, folder in self.cases(20):
            what, args = commands(rng, folder)
            # METIS is copied into a file in memory, which the limit prevents.
            while what in ("info", "list") or "metis" in args:
                what, args = commands(rng, folder)
            command = [GSOFA, *args]
            run_undisturbed(command)
            expected = products(folder)
            sizes = [p.stat().st_size for p in folder.rglob("*") if p.is_file() and p.name not in ("m.mtx", "spec.toml")]
            remove_products(folder)
            limit = rng.randint(0, max(sizes) - 1)
            done = run(command, restore_signals=False, preexec_fn=lambda most=limit: self.limit_files(most))
            with self.subTest(bytes=limit, command=what):
                self.require_refused(done, folder, expected)
                if done.code != OK:
                    run_undisturbed(command)
                require(products(folder) == expected, "with room again, what is written differs")
                require_no_parts(folder)

    @staticmethod
    def limit_files(most):
        # A file that would grow further gets an error, as on a full disk, and no signal.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    @staticmethod
    def require_refused(done, folder, expected):
        if done.code == OK:  # a time with fewer digits leaves just enough room
            done.require_alive()
            require(products(folder) == expected, "exit status 0, but files differ")
        else:
            done.require_refused()
        require_no_parts(folder)

    def test_full_device(self):
        small = ["run", "--matrix", "gen:grid5:nx=4", "--variant", "cpu_fill1"]
        for args in ([*small, "--out", "/dev/full"],
                     ["experiment", write_spec(random.Random(1), self.folder), "--out", "/dev/full"]):
            run([GSOFA, *args]).require_refused()
        for args in (["list", "--json"], [*small, "--json"], ["info", "--matrix", "gen:grid5:nx=4"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([GSOFA, *args], env=environment(), stdin=subprocess.DEVNULL, stdout=full,
                                      stderr=subprocess.PIPE, timeout=programs.LIMIT)
            Done([GSOFA, *args], done.returncode, "", done.stderr.decode(errors="replace")).require_refused()


class KillTest(InFolder):
    def test_an_experiment_that_is_killed_and_resumed_has_the_records_of_an_undisturbed_one(self):
        for rng, folder in self.cases(2):
            command = [GSOFA, "experiment", write_spec(rng, folder), "--resume"]
            begin = time.monotonic()
            run_undisturbed([*command, "--out", folder / "whole.jsonl", "--prepared", folder / "whole"])
            seconds, out = time.monotonic() - begin, folder / "records.jsonl"
            command += ["--out", out, "--prepared", folder / "prepared"]
            for _ in range(3):
                run_killed(command, rng.uniform(0, 1.1 * seconds))
                json_lines(out)
            run_undisturbed(command)
            self.assertEqual(results(json_lines(out)), results(json_lines(folder / "whole.jsonl")))
            require_no_parts(folder)


if __name__ == "__main__":
    unittest.main(verbosity=2)
