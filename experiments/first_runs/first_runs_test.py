"""Tests of first_runs.py: two tiny inputs through $GSOFA_EMULATED, and the report on made-up rows."""

import csv
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import first_runs

EMULATED = os.environ.get("GSOFA_EMULATED", "gsofa_emulated")
TINY = [("generated", "grid5:nx=9", "gen:grid5:nx=9"), ("generated", "grid7:nx=4,oneway=1", "gen:grid7:nx=4,oneway=1")]


class Study(unittest.TestCase):
    def test_rows(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(first_runs, "inputs", lambda given: TINY), \
                mock.patch.object(first_runs, "injection", lambda out: None), mock.patch.object(first_runs, "WARM_UP", "gen:grid5:nx=5"), \
                mock.patch("builtins.print"):
            first_runs.main([folder, "--gsofa", EMULATED])
            with open(pathlib.Path(folder) / "first_runs.csv", newline="") as f:
                rows = list(csv.DictReader(f))
        self.assertEqual([(r["input"], r["counts"]) for r in rows],
                         [(name, "panels") for _, name, _ in TINY] + [("grid5:nx=9", "tree")])
        for r in rows:
            self.assertGreaterEqual(int(r["entries"]), int(r["nnz"]))
            self.assertGreater(float(r["first_ms"]), 0)
            self.assertGreater(float(r["cold_ms"]), 0)

    def test_report(self):
        row = {"input": "a", "kind": "real", "n": "9", "entries": "12", "counts": "panels", "cold_ms": "3", "first_ms": "2",
               "kernels_ms": "1"}
        lines = first_runs.report([row, row | {"first_ms": "8", "kernels_ms": "1", "cold_ms": "8"}])
        self.assertIn("| a | real | 9 | 12 | panels | 3 | 2 | 1 | 2.00 | 1.50 |", lines)
        self.assertIn("| panels | below 50,000 | 2 | 4.00 | 1.22 |", lines)
        self.assertIn("| tree | 50,000 and more | 0 | nan | nan |", lines)

    def test_faults(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(SystemExit) as said, mock.patch.object(first_runs, "inputs", lambda given: [("real", "x", "gen:none:n=1")]):
                first_runs.main([folder, "--gsofa", EMULATED])
            self.assertIn('unknown family "none"', str(said.exception))
            with self.assertRaises(SystemExit), mock.patch("sys.stderr"):
                first_runs.main([folder, "real=absent.mtx", "--gsofa", EMULATED])

    def test_every_input_exists(self):
        for _, _, argument in first_runs.inputs([]):
            self.assertTrue(argument.startswith("gen:") or pathlib.Path(argument).is_file(), argument)


if __name__ == "__main__":
    unittest.main()
