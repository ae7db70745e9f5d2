"""Tests of the study of cliffs: five tiny inputs through $GSOFA_EMULATED, and the judgement on made-up rows."""

import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import cliffs

HERE = Path(__file__).resolve().parent
EMULATED = os.environ.get("GSOFA_EMULATED", "gsofa_emulated")


def record(variant, seconds, entries=(3, 4), name="gen:grid7:nx=9", **other):
    return {"matrix": {"name": name, "n": 9, "nnz": 5}, "variant": variant, "samples_s": seconds, "status": "unverified", "reason": "",
            "trials": {"timeout_s": 20}, "result": dict(zip(("nnz_l", "nnz_u"), entries)), "git": {"sha": "a" * 40, "dirty": False},
            "gpus": [{"name": "H"}], "cpu": "c"} | other


def panel(name, n, gpu, core):
    return {"input": name, "n": n, "gpu_ms": gpu, "core_ms": core}


def order(name, **flops):
    return dict.fromkeys(cliffs.OPERATIONS, "") | {"input": name, "n": "9"} | flops


class Study(unittest.TestCase):
    """The commands as a user calls them."""

    def run_part(self, part, *codes):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, HERE / "cliffs.py", part, folder, "--group", "smoke", "--gsofa", EMULATED],
                                  capture_output=True, text=True)
            self.assertIn(done.returncode, codes, done.stdout + done.stderr)
            with open(Path(folder) / f"{part}.csv", newline="") as f:
                rows = {r["input"]: r for r in csv.DictReader(f)}
        self.assertEqual(set(rows), set(cliffs.inputs_of("smoke")))
        return rows, done.stdout

    def test_panels(self):
        rows, said = self.run_part("panels", 0)
        self.assertIn("0 of 0 inputs with n >= 20,000 are below 5 times one core", said)
        for row in rows.values():
            self.assertGreater(int(row["entries"]), int(row["nnz"]))
            self.assertGreater(cliffs.speedup(row), 0)

    def test_orders(self):
        rows, said = self.run_part("orders", 0, 1)
        self.assertIn("| `tridiagonal:n=300` | 300 | 897 |", said)
        self.assertEqual({row["gpu_nested_dissection"] for row in rows.values()}, {""})

    def test_every_family_is_in_the_study(self):
        done = subprocess.run([EMULATED, "run", "gen:none:n=1"], capture_output=True, text=True)
        known = re.search(r"\(known: ([^)]*)\)", done.stderr)
        self.assertEqual(set(map(cliffs.family, cliffs.inputs_of("all"))), set(known[1].split(", ")))

    def test_a_study_without_a_result_is_incomplete(self):
        for group, program, fault in (("smoke", "true", "orders.jsonl: No such file"), ("none", EMULATED, "no input in group 'none'"),
                                      ("smoke", "none", "No such file")):
            with self.subTest(fault), tempfile.TemporaryDirectory() as folder:
                program = shutil.which(program) or program
                done = subprocess.run([sys.executable, HERE / "cliffs.py", "orders", folder, "--group", group, "--gsofa", program],
                                      capture_output=True, text=True)
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
                self.assertRegex(done.stderr, f"cliffs: error: .*{fault}")

    def test_an_input_without_a_result_is_named(self):
        jobs, _, *others = cliffs.PARTS["orders"]
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(cliffs.PARTS, orders=(
                jobs, lambda _: [order("gen:a", metis="1")], *others)):
            with self.assertRaisesRegex(cliffs.Fault, "0 jobs did not pass, 1 of 5 inputs have records, gen:a lacks amd; logs: .*/logs$"):
                cliffs.main(["orders", folder, "--group", "smoke", "--gsofa", EMULATED])
            self.assertFalse((Path(folder) / "orders.csv").exists())


class Judgement(unittest.TestCase):
    def test_rows_of_panels(self):
        (row,) = cliffs.panel_rows([record(cliffs.CORE, [0.3, 0.1, 0.2]), record(cliffs.GPU, [0.1])])
        self.assertEqual((row["core_ms"], row["gpu_ms"], row["entries"], row["family"], row["gpu"]), ("200", "100", 7, "grid7", "H"))
        (row,) = cliffs.panel_rows([record(cliffs.CORE, [0.1]), record(cliffs.GPU, [], (), status="timeout")])
        self.assertEqual((row["gpu_ms"], row["entries"]), ("2e+04", 7))
        with self.assertRaisesRegex(cliffs.Fault, "disagree on the entries of L and U"):
            cliffs.panel_rows([record(cliffs.CORE, [0.1]), record(cliffs.GPU, [0.1], (4, 3))])
        with self.assertRaisesRegex(cliffs.Fault, "gen:grid7:nx=9: gpu_bitmap_panels: skipped: no GPU"):
            cliffs.panel_rows([record(cliffs.GPU, [], (), status="skipped", reason="no GPU")])

    def test_panels_are_judged_from_20000_rows(self):
        lines, beyond = cliffs.panel_report([panel("gen:a", 19999, 2, 1), panel("gen:b", 20000, 2, 10), panel("gen:c", 20000, 2, 9)])
        self.assertEqual(beyond, 1)
        self.assertEqual(lines[0], "1 of 2 inputs with n >= 20,000 are below 5 times one core")
        self.assertEqual([line.split(" | ")[0] for line in lines[4:]], ["| `c`", "| `b`"])

    def test_orders_are_judged_by_the_better_of_metis_and_amd(self):
        rows = [order("gen:a", metis="10", amd="20", automatic="11", cpu_nested_dissection="30"),
                order("gen:b", metis="10", amd="5", automatic="6", cpu_nested_dissection="5"),
                order("gen:c", metis="0", amd="0", automatic="0", cpu_nested_dissection="0")]
        lines, beyond = cliffs.order_report(rows)
        self.assertEqual(beyond, 1)
        self.assertEqual(lines[0], "automatic: 1 of 2 inputs above 1.1 of the better of METIS and AMD, geometric mean 1.149")
        self.assertEqual([line for line in lines if line.startswith("| `")],
                         ["| `b` | 9 | 6 | 10 | 5 | 1.20 |", "| `a` | 9 | 11 | 10 | 20 | 1.10 |",
                          "| `a` | 9 | 30 | 10 | 20 | 3.00 |", "| `b` | 9 | 5 | 10 | 5 | 1.00 |"])


if __name__ == "__main__":
    unittest.main()
