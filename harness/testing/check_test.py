"""Tests of `gsofa check` with variants that end or block their process. $GSOFA_CHECK_PROBE names the program that has
them, $GSOFA the one with the planted ones."""

import os
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROBE = os.environ.get("GSOFA_CHECK_PROBE", "gsofa_check_probe")
GSOFA = os.environ.get("GSOFA", "gsofa")

# In a build with AddressSanitizer signals are to end the process all the same.
os.environ.setdefault("ASAN_OPTIONS", "handle_segv=0:handle_abort=0")

OK, FAILED, BAD_INPUT, UNAVAILABLE = 0, 1, 2, 3
FATAL = {"cpu_segfault": "signal 11", "cpu_abort": "signal 6", "cpu_exit": "status 0"}
FILE = "%%MatrixMarket matrix coordinate pattern general\n3 3 6\n1 1\n1 3\n2 1\n2 2\n3 2\n3 3\n"


def call(*args, program=PROBE, cwd=None):
    return subprocess.run([program, *map(str, args)], capture_output=True, text=True, timeout=300, cwd=cwd)


class CheckTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = Path(self._folder.name)

    def variants(self, *names):
        return [argument for name in names for argument in ("--variant", name)]

    def entries(self, file):
        lines = [line for line in file.read_text().splitlines() if not line.startswith("%")]
        return lines[0], sorted(tuple(map(int, line.split())) for line in lines[1:])

    def rerun(self, text):
        """The command line that the program printed for its only failure."""
        lines = [line.split("again: ", 1)[1] for line in text.splitlines() if "again: " in line]
        self.assertEqual(len(lines), 1, text)
        return shlex.split(lines[0])

    def test_skeletons_of_new_are_right(self):
        for words in (("--variant", "cpu_skeleton"), ("--order", "order_skeleton")):
            done = call("check", *words, "--patterns", 12)
            self.assertEqual(done.returncode, OK, done.stdout + done.stderr)

    def test_crashes_are_named_shrunk_and_saved_and_the_others_go_on(self):
        save = self.folder / "a folder"
        done = call("check", *self.variants(*FATAL, "cpu_fill1", "planted_over_fill"), "--patterns", 8, "--save", save)
        self.assertEqual(done.returncode, FAILED, done.stderr)
        for name, how in FATAL.items():
            with self.subTest(name):
                self.assertRegex(done.stdout, f"{name} +FAIL .*{how}.*, defaults")
                # What the fault needs, and nothing else.
                size, entries = self.entries(save / f"{name}.mtx")
                self.assertEqual(size, "3 3 4")
                self.assertEqual(entries, [(1, 1), (2, 2), (3, 1), (3, 3)])
        self.assertRegex(done.stdout, "cpu_fill1 +pass")
        self.assertIn("planted_over_fill: rejected", done.stdout)
        # Rows and columns from 0, dots for zeros.
        self.assertIn("counterexample of order 3, numbers from 0; saved as ", done.stdout)
        self.assertIn("    0 1 2\n  0 1 . .\n  1 . 1 .\n  2 1 . 1\nagain: ", done.stdout)

    def test_a_fault_is_told_also_where_its_pattern_cannot_be_saved(self):
        taken = self.folder / "file"
        taken.write_text("text")
        done = call("check", "--variant", "cpu_abort", "--patterns", 4, "--save", taken)
        self.assertEqual(done.returncode, FAILED, done.stderr)
        self.assertIn(f"numbers from 0; not saved: {taken}: cannot create the folder: Not a directory\n", done.stdout)
        self.assertNotIn("again: ", done.stdout)
        self.assertEqual(taken.read_text(), "text")

    def test_the_printed_command_line_shows_the_crash_again(self):
        done = call("check", "--variant", "cpu_abort", "--patterns", 4, "--save", self.folder)
        command = self.rerun(done.stdout)
        self.assertEqual(command[:2], [PROBE, "check"])
        again = call(*command[1:], cwd=self.folder)
        self.assertEqual(again.returncode, FAILED, again.stderr)
        self.assertIn("signal 6", again.stdout)
        # In the same process, for a debugger.
        self.assertEqual(call(*command[1:], "--in-process", cwd=self.folder).returncode, -6)

    def test_a_hang_is_named_and_saved_and_the_others_go_on(self):
        done = call("check", *self.variants("cpu_endless", "cpu_fill1"), "--patterns", 4, "--timeout", 1, "--save",
                    self.folder)
        self.assertEqual(done.returncode, FAILED, done.stderr)
        self.assertRegex(done.stdout, "cpu_endless +FAIL.*does not return")
        self.assertRegex(done.stdout, "cpu_fill1 +pass")
        self.assertTrue((self.folder / "cpu_endless.mtx").exists())
        self.assertEqual(self.rerun(done.stdout)[:4], [PROBE, "check", "--variant", "cpu_endless"])

    def test_planted_faults_that_end_the_process_are_rejected(self):
        planted = {"planted_segfault": "signal 11", "planted_abort": "signal 6", "planted_exit": "status 0",
                   "planted_endless": "does not return"}
        done = call("check", *self.variants(*planted), "--patterns", 3, "--save", self.folder / "save", program=GSOFA)
        self.assertEqual(done.returncode, OK, done.stdout + done.stderr)
        for name, how in planted.items():
            self.assertRegex(done.stdout, f"{name}: rejected: .*{how}")
        self.assertFalse((self.folder / "save").exists())

    def test_in_process(self):
        done = call("check", "--in-process", *self.variants("cpu_fill1", "planted_over_fill"), "--patterns", 3,
                    "--prepared", self.folder, program=GSOFA)
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertRegex(done.stdout, "cpu_fill1 +pass")
        # A fault that ends the process cannot be shown there.
        done = call("check", "--in-process", "--variant", "planted_exit", "--patterns", 3, program=GSOFA)
        self.assertEqual(done.returncode, UNAVAILABLE)
        self.assertIn("planted_exit", done.stderr)

    def test_one_matrix_and_one_setting(self):
        file = self.folder / "a.mtx"
        file.write_text(FILE)
        done = call("check", "--variant", "cpu_fill1", "--matrix", file, "--setting", "chunk size 2", program=GSOFA)
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertRegex(done.stdout, "cpu_fill1 +pass +1 +1 ")
        for wrong in (["--setting", "no such setting"], ["--matrix", self.folder / "absent.mtx"],
                      ["--worker", "0"]):
            done = call("check", "--variant", "cpu_fill1", *wrong, program=GSOFA)
            self.assertEqual(done.returncode, BAD_INPUT)
            self.assertTrue(done.stderr.startswith("gsofa: error: "), done.stderr)

    def test_processes_give_the_same_verdicts_as_one(self):
        arguments = ["check", *self.variants("cpu_fill1", "cpu_maxid", "planted_stale_maxid"), "--patterns", 5]
        runs = [call(*arguments, *more, program=GSOFA) for more in (["--jobs", 3], ["--in-process"])]
        for done in runs:
            self.assertEqual(done.returncode, OK, done.stderr)
        self.assertEqual(runs[0].stdout, runs[1].stdout)


if __name__ == "__main__":
    sys.exit(unittest.main())
