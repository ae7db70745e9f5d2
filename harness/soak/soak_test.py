"""Tests of soak.py: what it must notice, it notices. $GSOFA_BUILD is the folder of the build."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import programs  # noqa: E402

BUILD = Path(os.environ.get("GSOFA_BUILD", "build/ci"))


class NoticeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def record(self, **changes):
        return {"matrix": {"name": "m"}, "ordering": {"col": "amd"}, "variant": "v", "options": {},
                "chunk_size": 1, "counting": False, "status": "pass", "result": {"fill": 1}, **changes}

    def test_torn_and_broken_records(self):
        line = json.dumps(self.record())
        self.assertEqual(programs.json_lines(self.folder / "absent"), [])
        self.assertEqual(len(programs.json_lines(self.write("whole", line + "\n" + line + "\n"))), 2)
        for text in (line, line + "\n" + line[:20], line[:20] + line + "\n", "x\n"):
            with self.assertRaises(programs.Failed):
                programs.json_lines(self.write("broken", text))

    def test_a_case_that_is_recorded_twice(self):
        self.assertEqual(len(programs.results([self.record(), self.record(variant="w")])), 2)
        with self.assertRaises(programs.Failed):
            programs.results([self.record(), self.record(status="fail")])

    def test_part_files(self):
        self.write("m.part00000of00002.L.mtx", "")
        programs.require_no_parts(self.folder)
        self.write(".p.part-12-0", "")
        with self.assertRaises(programs.Failed):
            programs.require_no_parts(self.folder)

    def test_how_a_program_may_end(self):
        def done(code, err=""):
            return programs.Done(["p"], code, "", err)

        done(4, "note\ngsofa: error: x\n").require_refused()
        for code, err in ((0, ""), (4, ""), (4, "gsofa: error: x\ngsofa: error: y\n"),
                          (1, "gsofa: error: x\n"), (-6, "gsofa: error: x\n"),
                          (4, "gsofa: error: x\nx.cpp:1:2: runtime error: overflow\n")):
            with self.assertRaises(programs.Failed):
                done(code, err).require_refused()
        for code, err in ((-9, ""), (99, ""), (0, "==1==ERROR: LeakSanitizer: 1 byte\n")):
            with self.assertRaises(programs.Failed):
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

    def test_a_planted_fault_is_found_saved_and_found_again(self):
        done = subprocess.run(
            [sys.executable, HERE / "soak.py", "--build", BUILD, "--seconds", "1", "--seed", "1",
             "--only", "fuzz", "--target", "planted_fault", "--out", self.folder / "saved"],
            capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"fuzz +planted_fault +[0-9]+ +1")
        again = re.search(r"again by (.*)", done.stdout).group(1).split()
        self.assertTrue(again[-1].startswith(str(self.folder / "saved")))
        repeated = subprocess.run(again, capture_output=True, text=True, timeout=300)
        self.assertNotEqual(repeated.returncode, 0)
        self.assertIn("the planted property", repeated.stderr)

    def soak_python(self, script):
        """The part `python` with a program in place of the interpreter."""
        python = self.write("python", "#!/bin/sh\ntest \"$1\" = -c && exit 0\n" + script)
        python.chmod(0o755)
        return subprocess.run(
            [sys.executable, HERE / "soak.py", "--build", BUILD, "--seconds", "0.2", "--seed", "1", "--only", "python",
             "--python", python, "--out", self.folder / "saved"], capture_output=True, text=True, timeout=300)

    def test_failures_of_the_package_are_found(self):
        for script, message in (("echo 'failed: case 7: check_fork: x'; echo 8 executions; exit 1", "case 7: check_fork: x"),
                                ("echo 'Fatal Python error: SEGV' >&2; kill -SEGV $$",
                                 "case 0: the interpreter died, exit status -11: Fatal Python error")):
            done = self.soak_python(script + "\n")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn(message, done.stdout)
        self.assertEqual(self.soak_python("echo 3 executions\n").returncode, 0)

    def test_where_the_package_is_not_built_the_part_says_so(self):
        done = subprocess.run(
            [sys.executable, HERE / "soak.py", "--build", BUILD, "--seconds", "1", "--seed", "1", "--only", "python",
             "--python", self.folder / "none"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"python +package \(not built\) +0")

    def test_the_oracle_finds_a_planted_fault(self):
        oracle = BUILD / "harness/soak/gsofa_soak_oracle"
        for planted, code in ((["--planted"], 1), ([], 0)):
            done = subprocess.run([oracle, "--seed=1", "--cases=40", *planted], capture_output=True,
                                  text=True, timeout=300)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertEqual("counts of row 7 differ" in done.stdout, code == 1)

    def test_every_attack_runs(self):
        oracle = BUILD / "harness/soak/gsofa_soak_oracle"
        for command in ([oracle, "--attack=cpp", "--cases=10"], [oracle, "--attack=fork", "--cases=10"],
                        [oracle, "--attack=starved", "--cases=4"],
                        [BUILD / "harness/soak/gsofa_soak_plugin", "--cases=20"]):
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertRegex(done.stdout, r"(?m)^[1-9][0-9]* executions")
        done = subprocess.run([oracle, "--attack=none"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 2)

    def test_the_soak_calls_all_that_the_library_exports(self):
        exported = set((HERE.parent / "library/package/exports.txt").read_text().split())
        oracle = BUILD / "harness/soak/gsofa_soak_oracle"
        done = subprocess.run([oracle, "--attack=c", "--seed=1", "--cases=40", "--list-calls"],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        called = set(re.findall("(?m)^called: (.*)$", done.stdout))
        self.assertEqual(called, {name for name in exported if name.startswith("gsofa_")})
        # Of C++, what the program asks the library for. Variants of constructors and destructors for
        # base classes, and what describes types, are used by compilers as they see fit.
        done = subprocess.run([os.environ.get("NM", "nm"), "-D", "--undefined-only", oracle],
                              capture_output=True, text=True, check=True, timeout=60)
        wanted = {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}
        implicit = re.compile(r"_ZT|_ZN\w*(C2E|D0E|D2E|C1ESt10shared_ptr)|"
                              r"_ZN5gsofa(13invalid_input|14analysis_error)[CD]")
        left = {name for name in exported - wanted
                if name.startswith("_Z") and not implicit.match(name)}
        self.assertEqual(left, set())

    def test_a_failure_of_the_drop_in_is_counted_and_named(self):
        folder = self.folder / "harness" / "soak"
        folder.mkdir(parents=True)
        lines = "failed: case 3: silence: the arrays differ\\n5 runs, 0 failures: file\\n2 runs, 1 failures: silence\\n"
        for path in (self.folder / "gsofa", *(folder / f"gsofa_{name}" for name in (
                "fuzz", "soak_oracle", "soak_plugin", "failing", "soak_superlu"))):
            path.write_text(f"#!/bin/sh\nprintf '{lines}'\nexit 1\n")
            path.chmod(0o755)
        done = subprocess.run([sys.executable, HERE / "soak.py", "--build", self.folder, "--seconds", "1",
                               "--seed", "1", "--only", "superlu"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"superlu +file +5 +[0-9]+ +0\n")
        self.assertRegex(done.stdout, r"superlu +silence +2 +[0-9]+ +1\n")
        self.assertIn("superlu/silence: the arrays differ", done.stdout)
        self.assertRegex(done.stdout, r"again by .*gsofa_soak_superlu --seed=1 --first=3 --cases=1\n")

    def test_wrong_arrays_among_hostile_neighbours_are_found(self):
        program = BUILD / "harness/soak/gsofa_soak_superlu"
        if not program.exists():
            self.skipTest("no SuperLU_DIST")
        for planted, code in ((["--planted"], 1), ([], 0)):
            done = subprocess.run([program, "--seed=1", "--cases=1", *planted], capture_output=True, text=True,
                                  timeout=300)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertEqual("full queue: the arrays differ" in done.stdout, code == 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
