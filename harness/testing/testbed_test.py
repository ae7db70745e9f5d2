"""Tests of the driver script ./testbed on a copy whose build is made of stand-ins; nothing is built."""

import fcntl
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TESTBED = Path(__file__).resolve().parents[2] / "testbed"

CMAKE = """#!/bin/sh
case $1 in
  --version) echo cmake version 3.25.1 ;;
  --preset) echo "configured $*" >>"$CALLS"; printf -- "$CONFIGURED"; exit ${CONFIGURE_CODE:-0} ;;
  *) shift 5; echo "built $*" >>"$CALLS"; printf "$STEPS"; [ -z "$MORE" ] || { sleep 2.5; printf "$MORE"; }; exit ${BUILD_CODE:-0} ;;
esac
"""
GSOFA = """#!/bin/sh
echo "gsofa $*" >>"$CALLS"
"""
PYTHON = """#!/bin/sh
[ "$1" = -c ] && exit
echo "python $*" >>"$CALLS"
exit ${PYTHON_CODE:-0}
"""


class TestbedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        shutil.copy(TESTBED, self.root / "testbed")
        self.calls = self.root / "calls.txt"
        for name, text in (("bin/cmake", CMAKE), ("bin/ninja", "#!/bin/sh\n"), ("bin/python", PYTHON),
                           ("build/release/gsofa", GSOFA), ("build/release/build.ninja", "")):
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)

    def environment(self, variables):
        env = {k: v for k, v in os.environ.items() if k not in ("CI", "GSOFA_PRESET", "GSOFA_WITH_CUDA", "GSOFA_PROGRESS")}
        return env | {"PATH": f"{self.root}/bin:{env['PATH']}", "GSOFA_NO_INSTALL": "1", "GSOFA_JOBS": "1",
                "PYTHON": str(self.root / "bin/python"), "CALLS": str(self.calls), "STEPS": "", "CONFIGURED": "", "MORE": ""} | variables

    def call(self, *args, **variables):
        return subprocess.run([str(self.root / "testbed"), *args], capture_output=True, text=True,
                              env=self.environment(variables), timeout=60)

    def called(self):
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def refused(self, code, reason, *args, **variables):
        done = self.call(*args, **variables)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(reason, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_help_of_every_command_does_nothing_else(self):
        listed = self.call("help").stdout
        for command in ("reproduce", "test", "plots", "report", "site", "build", "help"):
            self.assertIn(f"\n  {command} ", listed)
            for option in ("--help", "-h"):
                for args in ([option], ["x", option]):
                    done = self.call(command, *args)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), command)
                    self.assertTrue(done.stdout.startswith(f"Usage: ./testbed {command} "), done.stdout)
        self.assertEqual(self.called(), [])

    def test_help_of_the_program_and_of_scripts_is_their_own_and_builds_nothing(self):
        for args in (("gsofa", "--help"), ("gsofa", "run", "-h"), ("claims", "-h"), ("rerun", "x", "-h")):
            self.assertEqual(self.call(*args).returncode, 0)
        self.assertEqual(self.called(), ["gsofa --help", "gsofa run -h", f"python {self.root}/paper/claims.py -h",
                                         f"python {self.root}/experiments/rerun.py --help"])

    def test_help_of_a_program_that_is_not_built(self):
        done = self.call("gsofa_counting", "run", "--help")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith("Usage: ./testbed gsofa_counting "), done.stdout)
        self.assertIn("not built yet", done.stderr)
        self.assertEqual(self.called(), [])

    def test_a_build_is_announced_only_if_there_is_something_to_build(self):
        self.assertEqual(self.call("gsofa", "list").stderr, "")
        nothing = "[0/2] Re-checking globbed directories...\n[1/4] Looking up the commit\n"
        self.assertEqual(self.call("gsofa", "list", STEPS=nothing).stderr, "")
        done = self.call("gsofa", "list", STEPS=nothing + "[2/4] Building CXX object x.o\n[3/4] Linking\n")
        self.assertRegex(done.stderr, r"\Atestbed: building gsofa \(preset release\): 4 steps\ntestbed: built in \d+ s\n\Z")
        done = self.call("build", STEPS="[1/1] Building CXX object x.o\nx.cpp:3: fault\n", BUILD_CODE="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("building all programs (preset release): 1 step\n", done.stderr)
        self.assertIn("\nx.cpp:3: fault\ntestbed: error: the build failed;", done.stderr)

    def test_without_a_terminal_a_line_now_and_then_says_how_far_the_build_is(self):
        # The build is silent for 2.5 s, in the midst of a line.
        steps = {"STEPS": "[1/4] Building CXX object x.o\n[2/4] Build", "MORE": "ing CXX object y.o\n[4/4] Linking\n"}
        said = self.call("gsofa", "list", GSOFA_PROGRESS="1", **steps).stderr.splitlines()
        self.assertEqual(said[0], "testbed: building gsofa (preset release): 4 steps")
        self.assertGreaterEqual(len(said), 3, said)
        for line in said[1:-1]:
            self.assertRegex(line, r"\Atestbed: [124] of 4 steps, \d+ s\Z")
        self.assertRegex(said[-1], r"\Atestbed: built in \d+ s\Z")
        self.assertEqual(len(self.call("gsofa", "list", STEPS=steps["STEPS"]).stderr.splitlines()), 2)
        self.refused(2, "GSOFA_PROGRESS is a number of seconds", "gsofa", "list", GSOFA_PROGRESS="soon")

    def test_the_first_build_says_whether_it_has_gpu_kernels(self):
        (self.root / "build/release/build.ninja").unlink()
        line = "without CUDA: nvcc was found, but no GPU answers; GSOFA_WITH_CUDA=ON compiles the GPU kernels"
        done = self.call("build", CONFIGURED=f"-- Detecting\n-- gsofa: {line}\n-- gsofa: without CUDSS\n")
        self.assertEqual(done.stderr, f"testbed: running CMake (preset release)\ntestbed: {line}\n")
        self.assertEqual(self.called(), ["configured --preset release", "built all"])

    def test_gpu_kernels_by_environment(self):
        cache = self.root / "build/release/CMakeCache.txt"
        for before, wanted, again in (("AUTO", "ON", True), ("ON", "ON", False), ("ON", "OFF", True), ("ON", "", False)):
            cache.write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={self.root}\nGSOFA_WITH_CUDA:STRING={before}\n")
            self.calls.unlink(missing_ok=True)
            self.assertEqual(self.call("build", GSOFA_WITH_CUDA=wanted).returncode, 0)
            configured = [f"configured --preset release -D GSOFA_WITH_CUDA={wanted}"] if again else []
            self.assertEqual(self.called(), configured + ["built all"])

    def test_a_copied_or_moved_checkout_is_configured_anew(self):
        cache = self.root / "build/release/CMakeCache.txt"
        for home, anew in ((self.root, False), (f"{self.root}x", True), ("/elsewhere", True)):
            cache.write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={home}\n")
            self.calls.unlink(missing_ok=True)
            done = self.call("gsofa", "list")
            self.assertEqual("belongs to another checkout" in done.stderr, anew, done.stderr)
            self.assertEqual(self.called(), ["configured --preset release"] * anew + ["built gsofa", "gsofa list"])
            self.assertEqual(cache.exists(), not anew)

    def test_a_configuration_that_fails(self):
        (self.root / "build/release/build.ninja").unlink()
        done = self.call("build", CONFIGURED="CMake Error: no x\n", CONFIGURE_CODE="1")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "testbed: running CMake (preset release)\nCMake Error: no x\n"
                         "testbed: error: cmake --preset release failed\n")

    @unittest.skipUnless(shutil.which("flock"), "no flock")
    def test_a_second_build_waits_for_the_first(self):
        with open(self.root / "build" / "release" / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            child = subprocess.Popen([str(self.root / "testbed"), "gsofa", "list"], stderr=subprocess.PIPE, text=True,
                                     env=self.environment({}))
            self.assertEqual(child.stderr.readline(), "testbed: waiting for another build of preset release\n")
            self.assertEqual(self.called(), [])
        self.assertEqual((child.wait(30), child.stderr.read()), (0, ""))
        child.stderr.close()
        self.assertEqual(self.called(), ["built gsofa", "gsofa list"])

    def test_unknown_arguments(self):
        for command in ("report", "site", "build", "plots", "reproduce"):
            self.refused(2, "--nosuch", command, "--nosuch")
        self.refused(2, "too many arguments", "build", "x")
        self.refused(2, "too many arguments", "report", "x", "y")
        self.refused(2, "too many arguments", "plots", "x", "y", "z")
        self.assertEqual(self.call("nosuch").returncode, 2)
        self.refused(2, "./testbed gsofa run", "run", "bcsstk18")
        self.assertEqual(self.called(), [])

    def test_control_characters_are_not_printed(self):
        for args in (["no\x1b[31msuch"], ["build", "-\x1b[31m"], ["reproduce", "--only", "\x1b[31m"]):
            done = self.call(*args)
            self.assertEqual(done.returncode, 2)
            self.assertNotIn("\x1b", done.stdout + done.stderr)
        for locale in ("C", "C.UTF-8"):
            done = self.call("no\x1b\x07\nsuch \u00e9\u20ac", LC_ALL=locale)
            self.assertIn("'no???such \u00e9\u20ac'", done.stderr)

    def test_report(self):
        done = self.call("report")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.called(), [f"python {self.root}/paper/build.py --out {self.root}/results/report"])

    def test_judge(self):
        self.assertEqual(self.call("judge", "x", "--size", "M").returncode, 0)
        program = f"python {self.root}/paper/judge.py --gsofa {self.root}/build/release/gsofa"
        self.assertEqual(self.called(), ["built gsofa", f"{program} x --size M"])

    def test_site(self):
        self.assertEqual(self.call("site").returncode, 0)
        self.assertEqual(self.call("site", "pages").returncode, 0)
        program = f"python {self.root}/plots/site/site.py --out"
        self.assertEqual(self.call("site", "--with", "a", "--with", "b", "pages").returncode, 0)
        self.assertEqual(self.called(), [f"{program} {self.root}/results/site", f"{program} pages", f"{program} pages --with a --with b"])
        self.refused(2, "--with needs a file", "site", "--with")

    def test_the_status_of_claims_and_report_is_handed_on(self):
        for code in (1, 2, 4):
            for command in ("claims", "report", "site"):
                self.assertEqual(self.call(command, PYTHON_CODE=str(code)).returncode, code)

    def test_reproduce_says_what_it_does_and_hands_the_experiments_over(self):
        for name, groups in (("reproduce", '["smoke", "paper"]'), ("x", '["smoke"]'), ("y", '["paper"]')):
            spec = self.root / "experiments" / name / "spec.toml"
            spec.parent.mkdir(parents=True)
            spec.write_text(f"groups = {groups}\n")
        begin = f"python {self.root}/experiments/reproduce.py --build {self.root}/build/release --out {self.root}/results/"
        for args, group, more, names in (((), "smoke", " --numeric", ("reproduce", "x")), (("--only", "x"), "smoke", "", ("x",)),
                                         (("--group", "paper"), "paper",
                                          f" --resume --prepared {self.root}/results/prepared --numeric", ("reproduce", "y"))):
            done = self.call("reproduce", *args)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"group {group}: builds the programs, runs {len(names)} experiments ({' '.join(names)})", done.stderr)
            built, call = self.called()[-2:]
            self.assertEqual(built, "built gsofa gsofa_counting gsofa_numeric")
            self.assertTrue(call.startswith(begin), call)
            specs = "".join(f" {self.root}/experiments/{name}/spec.toml" for name in names)
            self.assertTrue(call.endswith(f" --group {group}{more}{specs}"), call)
        for code in (1, 2):
            self.assertEqual(self.call("reproduce", "--only", "x", PYTHON_CODE=str(code)).returncode, code)

    def test_fetch_builds_nothing_and_returns_the_status(self):
        self.assertEqual(self.call("fetch", "--suite", "paper", PYTHON_CODE="1").returncode, 1)
        self.assertEqual(self.called(), [f"python {self.root}/experiments/fetch.py --suite paper"])

    def test_rerun_builds_the_programs_and_passes_its_arguments_on(self):
        self.assertEqual(self.call("rerun", "x.jsonl:3", "--out", "y", PYTHON_CODE="1").returncode, 1)
        self.assertEqual(self.called(), ["built gsofa gsofa_counting", f"python {self.root}/experiments/rerun.py --build {self.root}/build/release "
                                         "x.jsonl:3 --out y"])
        self.refused(2, "rerun: name a record", "rerun")

    def test_figures_of_records(self):
        page = "x/records.jsonl --figures x/figures"
        for code, status in ((0, 0), (1, 1), (2, 2), (3, 1)):
            done = self.call("plots", "x/records.jsonl", PYTHON_CODE=str(code))
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertEqual(self.called()[-1], f"python {self.root}/paper/results.py --records {page}")
            self.assertEqual("figures are in x/figures" in done.stderr, code <= 1)
        self.assertEqual(self.call("plots", "--baseline", "cpu_maxid", "x/records.jsonl").returncode, 0)
        self.assertEqual(self.called()[-1], f"python {self.root}/paper/results.py --records {page} --baseline cpu_maxid")
        self.refused(2, "--baseline needs a variant", "plots", "--baseline")


if __name__ == "__main__":
    unittest.main()
