"""Tests of the driver script ./testbed on a copy whose build is made of stand-ins; nothing is built."""

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
  *) echo built >>"$CALLS" ;;
esac
"""
GSOFA = """#!/bin/sh
echo "gsofa $*" >>"$CALLS"
"""
PYTHON = """#!/bin/sh
[ "$1" = -c ] && exit
echo "python $*" >>"$CALLS"
[ "$2" != --parse-only ] || exit ${PARSE_CODE:-0}
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

    def call(self, *args, **variables):
        env = {k: v for k, v in os.environ.items() if k not in ("CI", "GSOFA_PRESET")}
        env |= {"PATH": f"{self.root}/bin:{env['PATH']}", "GSOFA_NO_INSTALL": "1", "GSOFA_JOBS": "1",
                "PYTHON": str(self.root / "bin/python"), "CALLS": str(self.calls)} | variables
        return subprocess.run([str(self.root / "testbed"), *args], capture_output=True, text=True,
                              env=env, timeout=60)

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

    def test_help_of_the_program_is_its_own(self):
        self.assertEqual(self.call("gsofa", "--help").returncode, 0)
        self.assertEqual(self.call("claims", "-h").returncode, 0)
        self.assertEqual(self.called(), ["built", "gsofa --help", f"python {self.root}/paper/claims.py -h"])

    def test_unknown_arguments(self):
        for command in ("report", "site", "build", "plots", "reproduce"):
            self.refused(2, "--nosuch", command, "--nosuch")
        self.refused(2, "too many arguments", "build", "x")
        self.refused(2, "too many arguments", "report", "x", "y")
        self.refused(2, "too many arguments", "plots", "x", "y", "z")
        self.assertEqual(self.call("nosuch").returncode, 2)
        self.assertEqual(self.called(), [])

    def test_control_characters_are_not_printed(self):
        for args in (["no\x1b[31msuch"], ["build", "-\x1b[31m"], ["reproduce", "--only", "\x1b[31m"]):
            done = self.call(*args)
            self.assertEqual(done.returncode, 2)
            self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_report(self):
        done = self.call("report")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.called(), [f"python {self.root}/paper/build.py --out {self.root}/results/report"])

    def test_site(self):
        self.assertEqual(self.call("site").returncode, 0)
        self.assertEqual(self.call("site", "pages").returncode, 0)
        program = f"python {self.root}/plots/site/site.py --out"
        self.assertEqual(self.called(), [f"{program} {self.root}/results/site", f"{program} pages"])

    def test_the_status_of_claims_and_report_is_handed_on(self):
        for code in (1, 2, 4):
            for command in ("claims", "report", "site"):
                self.assertEqual(self.call(command, PYTHON_CODE=str(code)).returncode, code)

    def test_reproduce_ends_with_a_page_of_its_results(self):
        spec = self.root / "experiments" / "x" / "spec.toml"
        spec.parent.mkdir(parents=True)
        spec.write_text('name = "x"\n')
        for code, status in ((0, 0), (3, 0), (1, 1)):
            done = self.call("reproduce", "--only", "x", PYTHON_CODE=str(code))
            self.assertEqual(done.returncode, status, done.stderr)
            out = Path(done.stdout.splitlines()[-1].removeprefix("page: ")).parent
            self.assertEqual(out.parent, self.root / "results")
            self.assertEqual(done.stdout, f"\nrecords: {out}/records.jsonl\nfigures: {out}/figures\npage: {out}/index.html\n")
            self.assertEqual(self.called()[-1], f"python {self.root}/paper/results.py --records {out}/records.jsonl "
                                                f"--figures {out}/figures --page {out}/index.html")
        self.assertIn("some figures could not be drawn", done.stderr)

    def test_figures_of_records(self):
        page = "x/records.jsonl --figures x/figures"
        for code, status in ((0, 0), (1, 1), (2, 2), (3, 1)):
            done = self.call("plots", "x/records.jsonl", PYTHON_CODE=str(code))
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertEqual(self.called()[-1], f"python {self.root}/paper/results.py --records {page}")

    def test_soak_builds_its_programs_and_passes_its_arguments_on(self):
        self.assertEqual(self.call("soak", "1", "--seed", "3", GSOFA_PRESET="release").returncode, 0)
        script = f"python {self.root}/harness/soak/soak.py"
        self.assertEqual(self.called(), [f"{script} --parse-only 1 --seed 3", "built",
                                         f"{script} --build {self.root}/build/release 1 --seed 3"])

    def test_soak_refuses_arguments_before_it_builds(self):
        self.assertEqual(self.call("soak", "--nosuch", PARSE_CODE="2").returncode, 2)
        self.assertEqual(len(self.called()), 1)


if __name__ == "__main__":
    unittest.main()
