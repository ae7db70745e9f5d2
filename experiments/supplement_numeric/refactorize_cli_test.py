"""Tests of gsofa_refactorize on the emulated device: what it writes, and that bad input is refused in one line.
$REFACTORIZE names the program."""

import csv
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.environ.get("REFACTORIZE", "gsofa_refactorize_emulated")
MATRICES = Path(__file__).resolve().parent.parent / "matrices"
HEAD = "%%MatrixMarket matrix coordinate real general\n"


def call(*args):
    return subprocess.run([PROGRAM, *map(str, args)], capture_output=True, text=True, timeout=120)


class Refactorize(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def refused(self, expected, *args):
        done = call(*args)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(expected, done.stderr)

    def test_bad_matrices(self):
        self.refused("cannot be opened", self.folder / "gone.mtx")
        for text, reason in (
                ("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n", "not a real Matrix Market file"),
                (HEAD + "2 2 3\n1 1 1\n1 2 1\n", "the number of entries is wrong"),
                (HEAD + "2 3 1\n1 1 1\n", "no size line of a square matrix"),
                (HEAD + "2 2 2\n1 1 nan\n2 2 1\n", "the value of entry (1, 1) is not finite"),
                (HEAD + "2 2 2\n1 1 1\n2 2 inf\n", "the value of entry (2, 2) is not finite"),
                (HEAD + "2 2 2\n1 1 1\n1 2 1\n", "numerically singular: row 2 has no nonzero value"),
                (HEAD + "2 2 3\n1 1 1\n1 2 1\n2 1 0\n", "numerically singular: row 2 has no nonzero value")):
            path = self.file("bad.mtx", text)
            self.refused(f"{path}: {reason}", path)
        self.refused("structurally singular", self.file("bad.mtx", HEAD + "2 2 2\n1 1 1\n1 2 1\n"),
                     "--rows", "structural")
        zero = self.file("zero.mtx", HEAD + "2 2 3\n1 1 0\n1 2 1\n2 1 1\n")
        self.refused("entry (1, 1) of the diagonal is zero", zero, "--rows", "none")
        self.assertEqual(call(zero).returncode, 0)

    def test_bad_options(self):
        good = MATRICES / "worked_example.mtx"
        self.assertEqual(call().returncode, 2)
        self.assertEqual(call(good, "--steps", "0").returncode, 2)
        self.assertEqual(call(good, "--with", "mumps").returncode, 2)
        self.assertEqual(call("--help").returncode, 0)
        one = self.file("one.mtx", HEAD + "1 1 1\n1 1 4\n")
        self.refused("threads of a block: 33", one, "--threads", "33")
        self.refused("cannot be written", one, "--csv", self.folder / "no" / "folder.csv")

    def test_a_bad_matrix_keeps_no_other_from_being_run(self):
        out = self.folder / "out.csv"
        done = call(self.folder / "gone.mtx", MATRICES / "rajat19.mtx.gz", "--steps", "2", "--csv", out,
                    "--with", "klu,klu-given,rf", self.file("one.mtx", HEAD + "1 1 1\n1 1 4\n"))
        self.assertEqual(done.returncode, 2)
        with out.open(newline="") as lines:
            rows = list(csv.DictReader(lines))
        self.assertEqual([row["matrix"] for row in rows], ["rajat19", "one"])
        for row in rows:
            self.assertEqual(row["outside"], "0")
            self.assertLess(float(row["residual"]), 1e-10)
            self.assertGreater(float(row["refactor_ms"]), 0)
            self.assertEqual(row["rf_refactor_ms"], "-")
            if row["klu_refactor_ms"] != "-":
                self.assertLess(float(row["klu_residual"]), 1e-10)
                self.assertLess(float(row["klu_given_residual"]), 1e-10)
        self.assertEqual(rows[1]["nnz_lu"], "1")
        other = self.folder / "other.csv"
        self.assertEqual(call(MATRICES / "rajat19.mtx.gz", "--steps", "2", "--repeats", "3", "--threads", "64",
                              "--schedule-mb", "0", "--csv", other).returncode, 0)
        with other.open(newline="") as lines:
            row, = csv.DictReader(lines)
        self.assertEqual(row["scheduled"], "0")
        self.assertEqual(row["digest"], rows[0]["digest"])
        self.assertIn("this build has no cusolverRf", done.stderr)
        table = done.stdout.splitlines()
        self.assertEqual(len(table), 3)
        self.assertTrue(table[0].startswith("matrix"))


if __name__ == "__main__":
    unittest.main()
